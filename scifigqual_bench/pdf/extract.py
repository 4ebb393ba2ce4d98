"""One PDF -> its figures: the steps of this room in their order.

document -> captions -> regions -> paragraphs -> citations -> crops -> curation. Each step is a function of its own;
here they meet, and what one of them could not do becomes a problem, a mark or a dropped figure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scifigqual_bench import __version__, gating
from scifigqual_bench.pdf.document import PdfError, open_pdf, read_document
from scifigqual_bench.records import (
    DroppedFigure,
    Figure,
    PaperReport,
    Problem,
    figure_id,
    normalised_paper_id,
)

if TYPE_CHECKING:
    from scifigqual_bench.dataset.tables import PaperMeta

DPI = 300
ENGINE = f"scifigqual-bench/{__version__}"


@dataclass(frozen=True)
class ExtractedFigure:
    """A figure that is kept, and its PNG bytes."""

    figure: Figure
    image: bytes


@dataclass(frozen=True)
class Extraction:
    """What one PDF gave."""

    report: PaperReport
    figures: tuple[ExtractedFigure, ...] = ()
    dropped: tuple[DroppedFigure, ...] = ()


def failed(path: Path, paper_id: str, problem: Problem) -> Extraction:
    """The extraction of a PDF that could not be read."""
    return Extraction(PaperReport(paper_id=paper_id, file=path.name, status="failed", problems=[problem]))


def figure_indices(numbers: Sequence[str]) -> list[int]:
    """Indices for the ids of one paper's figures, given their printed numbers in reading order.

    A plain number that comes for the first time is its own index; all others take the next free numbers after the
    largest plain one. So an id survives when extraction finds one figure more.

    >>> figure_indices(["1", "2", "A1", "2"])
    [1, 2, 3, 4]
    >>> figure_indices(["2", "S1", "5"])
    [2, 6, 5]
    """
    taken: set[int] = set()
    own: list[int | None] = []
    for number in numbers:
        plain = int(number) if number.isascii() and number.isdecimal() and int(number) not in taken else None
        own.append(plain)
        if plain is not None:
            taken.add(plain)
    following = max(taken, default=0)
    indices = []
    for plain in own:
        if plain is None:
            following += 1
        indices.append(following if plain is None else plain)
    return indices
