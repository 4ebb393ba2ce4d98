"""What the head of the page says of all figures: counts, distributions and the table of scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from scifigqual_bench.records import Figure, Prediction
from scifigqual_bench.report.view import COLUMN_NAMES, band_of, index_entry
from scifigqual_bench.rubric import BANDS, SHORT_COLUMNS, Band
from scifigqual_bench.scoring.tables import TITLES, format_number


@dataclass
class Summary:
    """What the head of the page tells about all figures, gathered while they pass by.

    Attributes:
        index: An entry for each figure, in the order of the page (:func:`~scifigqual_bench.report.view.index_entry`).
        figure_ids: Their ids.
        papers: Figures by paper id.
        statuses: Figures by status of their prediction.
        titles: Titles by paper id, where known.
    """

    index: list[dict[str, Any]] = field(default_factory=list)
    figure_ids: set[str] = field(default_factory=set)
    papers: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    titles: dict[str, str] = field(default_factory=dict)

    def add(self, figure: Figure, prediction: Prediction | None) -> None:
        """Count one figure."""
        entry = index_entry(figure, prediction)
        self.index.append(entry)
        self.figure_ids.add(figure.figure_id)
        self.papers[figure.paper_id] += 1
        self.statuses[entry["status"]] += 1
        if figure.title:
            self.titles[figure.paper_id] = figure.title

    def scores(self, who: Literal["judge", "gold"], column: str) -> list[float]:
        """All scores that ``who`` gave on a column."""
        return [entry[who][column] for entry in self.index if entry[who][column] is not None]

    @property
    def rated(self) -> int:
        """Figures with gold on at least one column."""
        return sum(any(value is not None for value in entry["gold"].values()) for entry in self.index)


@dataclass(frozen=True)
class Portion:
    """A band's part of a distribution: how many scores, and where its piece of the bar lies (percent)."""

    band: Band
    tone: int
    count: int
    start: float
    width: float


def distribution(scores: Sequence[float]) -> list[Portion]:
    """How many scores fall into each band, from the lowest to the highest.

    >>> [(part.band.label, part.count, part.width) for part in distribution([8, 8.2, 4, 9]) if part.count]
    [('3-4', 1, 25.0), ('7-8', 2, 50.0), ('9-10', 1, 25.0)]
    """
    portions, start = [], 0.0
    for tone, band in enumerate(reversed(BANDS), start=1):
        count = sum(band_of(score) is band for score in scores)
        width = 100 * count / len(scores) if scores else 0.0
        portions.append(Portion(band, tone, count, start, width))
        start += width
    return portions


@dataclass(frozen=True)
class Table:
    """A table of numbers.

    Attributes:
        headings: One for each column of numbers.
        rows: A label and the cells as text; a label with a remark ends in an asterisk.
        remarks: What is to be said of rows, each with the label that it is about.
    """

    headings: list[str]
    rows: list[tuple[str, list[str]]]
    remarks: list[tuple[str, str]]


_HEADINGS = {"n": "n"} | {name: title[0].upper() + title[1:] for name, title in TITLES.items()}
_NAMES = COLUMN_NAMES | {SHORT_COLUMNS[key]: name for key, name in COLUMN_NAMES.items()}


def score_table(report: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None) -> Table | None:
    """A score report as a table of every numeric column in it.

    Args:
        report: ``{"visual_clarity": {"n": 40, "mae": 0.6, ...}, ...}``, or a list of such rows, each with its name
            in its first text field. A name may be a column's key or abbreviation, with a comma and a remark after it.

    Returns:
        The table, columns in the order in which they appear; None when there is no number to show. A value that is
        None (a correlation that is undefined) shows as "undefined".

    >>> table = score_table({"overall_score": {"n": 3, "mae": 0.5, "within_1": 1.0, "spearman": None, "bias": -0.25}})
    >>> table.headings
    ['n', 'MAE', 'Within-1', 'Spearman', 'Bias']
    >>> table.rows
    [('Overall', ['3', '0.500', '100.0%', 'undefined', '−0.250'])]
    """
    rows = list(_labelled(report or ()))
    cells = [(key, value) for _, _, row in rows for key, value in row.items()]
    if not any(_is_number(value) for _, value in cells):
        return None
    columns = list(dict.fromkeys(key for key, value in cells if _is_number(value) or key in _HEADINGS))
    return Table(
        [_HEADINGS.get(column, column.replace("_", " ")) for column in columns],
        [(f"{label} *" if remark else label, [_cell(key, row) for key in columns]) for label, remark, row in rows],
        [(label, remark) for label, remark, _ in rows if remark],
    )


def _labelled(report: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Label, remark and numbers of each row."""
    if isinstance(report, Mapping):
        pairs = [(key, row) for key, row in report.items() if isinstance(row, Mapping)]
    else:
        pairs = [(next((v for v in row.values() if isinstance(v, str)), ""), row) for row in report]
    for label, row in pairs:
        name, _, remark = label.partition(", ")
        yield _NAMES.get(name, name), remark, row


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _cell(column: str, row: Mapping[str, Any]) -> str:
    if column not in row:
        return ""
    value = row[column]
    if not _is_number(value):
        return "undefined"
    if isinstance(value, int):
        return f"{value:,}"
    return format_number(column, value).replace("-", "−")
