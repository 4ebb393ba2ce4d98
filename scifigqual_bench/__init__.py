"""SciFigQual-Bench: judging scientific figures in their manuscript.

The library room: records, gating, gold, PDF extraction, features, dataset and scoring. Importing it is cheap: heavy
packages (pymupdf, opencv, datasets) are imported by the room that needs them, never here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scifigqual_bench.dataset.load import load

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def __getattr__(name: str) -> Any:
    """``scifigqual_bench.load``, imported when it is first used (see :func:`scifigqual_bench.dataset.load.load`)."""
    if name == "load":
        from scifigqual_bench.dataset.load import load

        globals()["load"] = load
        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
