"""Figures -> a Hugging Face dataset folder, and back. Reading needs no PDF library."""
