"""Bars are told from lines, cells, legend keys and letters, on figures that matplotlib draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from scifigqual_bench.features.bars import row_of_bars
from scifigqual_bench.features.vision import Pixels

HEIGHTS = (62.0, 71.0, 66.0, 80.0)


def drawn(draw: Callable[[Axes], object], dpi: int = 150) -> Pixels:
    figure = Figure(figsize=(4, 3), dpi=dpi)
    canvas = FigureCanvasAgg(figure)
    draw(figure.subplots())
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def grouped(ax: Axes) -> None:
    for offset in (0, 1):
        ax.bar(
            np.arange(4) * 3 + offset,
            np.array(HEIGHTS) + 4 * offset,
            yerr=2.0,
            width=0.8,
            edgecolor="black",
            label=f"g{offset}",
        )
    ax.set_ylim(50, 90)
    ax.grid(True)
    ax.legend()


@pytest.mark.parametrize("dpi", [72, 150, 300])
def test_bars_are_counted(dpi: int) -> None:
    assert row_of_bars(drawn(lambda ax: ax.bar(range(4), HEIGHTS), dpi)).count == 4


@pytest.mark.parametrize("dpi", [100, 150, 300])
def test_groups_error_bars_outlines_and_grid_lines_do_not_hide_bars(dpi: int) -> None:
    assert row_of_bars(drawn(grouped, dpi)).count == 8


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: ax.plot(range(10), np.random.default_rng(0).normal(size=(10, 4)), lw=3),
        lambda ax: ax.imshow(np.arange(16).reshape(4, 4)),
        lambda ax: ax.scatter(range(20), range(20), s=80, marker="s"),
        lambda ax: ax.barh(range(4), HEIGHTS),
        lambda ax: ax.bar(range(2), HEIGHTS[:2]),
        lambda ax: ax.bar(range(4), [70.0] * 4),
        lambda ax: ax.text(0.1, 0.4, "ILLLI", size=60),
        lambda ax: [ax.plot([], [], "s", ms=12, label=name) for name in "abcd"] and ax.legend(ncols=4),
    ],
    ids=["lines", "heat map", "squares", "lying bars", "two bars", "equal bars", "letters", "legend"],
)
def test_what_is_no_row_of_bars(draw: Callable[[Axes], object]) -> None:
    assert row_of_bars(drawn(draw)) is None


def test_any_image_is_taken() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (80, 120, 3), dtype=np.uint8)
    for image in (noise, noise[:1], noise[:, :1], np.zeros((50, 50, 3), np.uint8)):
        assert row_of_bars(image) is None
