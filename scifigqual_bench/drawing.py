"""What all plots share: colours, size, and how they reach a file. Needs matplotlib: ``scifigqual-bench[plots]``.

Nothing here touches matplotlib's global state for good, so it works beside other plots and without a display.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of the Okabe-Ito palette: told apart by colour-blind readers and in print.
BLUE, ORANGE, GREEN, PURPLE, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
GREY, DARK = "#999999", "#333333"
SUFFIXES = (".png", ".svg")

Target = str | PathLike[str]


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, path: Target) -> Path:
    """Write a figure; the same figure gives the same bytes, whenever it is drawn.

    Raises:
        ValueError: The file's ending is neither .png nor .svg.
    """
    from matplotlib import rc_context

    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{target.name}: a plot is written as {' or '.join(SUFFIXES)}")
    metadata = {"Date": None} if target.suffix.lower() == ".svg" else None
    with rc_context({"svg.hashsalt": "scifigqual-bench"}):
        figure.savefig(target, dpi=150, metadata=metadata)
    return target
