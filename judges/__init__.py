"""Judges: evidence in, predictions out. Installed as ``scifigqual_bench.judges``."""
