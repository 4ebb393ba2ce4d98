"""SciFigQual-Bench: judging scientific figures in their manuscript.

The library room: records, gating, gold, PDF extraction, features, dataset and scoring. Importing it is cheap: heavy
packages (pymupdf, opencv, datasets) are imported by the room that needs them, never here.
"""

__version__ = "0.1.0"
