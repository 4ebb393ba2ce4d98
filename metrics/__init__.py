"""Modules for the `evaluate` library, one folder each, loaded by ``evaluate.load``."""
