"""What a dataset holds, counted while its rows go by: ``statistics/statistics.json``, plots, and a page of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from scifigqual_bench.files import log_lines
from scifigqual_bench.records import Figure, Record
from scifigqual_bench.rubric import COLUMNS, SCALE_MAX, SCALE_MIN

FOLDER = "statistics"
UNKNOWN = "unknown"
BINS_PER_POINT = 2
BINS = (SCALE_MAX - SCALE_MIN) * BINS_PER_POINT + 1
"""Bins of gold, one around each half point from 1 to 10."""


class SplitStatistics(Record):
    """Counts of one split.

    Attributes:
        rated: Figures with gold.
        venue_years: Figures by venue, then by year; ``"unknown"`` where a row does not say.
        types: Figures by figure type.
        citation_kinds: Citing paragraphs by what they do with the figure.
        open_dimensions: Figures on which a dimension is open.
        ratings: Figures by the number of their ratings.
        gold: By dimension and overall, the figures whose gold lies in each bin of half a point, from 1 to 10.
    """

    figures: int
    papers: int
    rated: int
    venue_years: dict[str, dict[str, int]]
    types: dict[str, int]
    citation_kinds: dict[str, int]
    open_dimensions: dict[str, int]
    ratings: dict[str, int]
    gold: dict[str, list[int]]


class Step(Record):
    """A step of the way from PDFs to rated figures, and what is left after it."""

    name: str
    count: int


class Statistics(Record):
    """Counts of a dataset.

    Attributes:
        funnel: From PDFs to rated figures; steps that are not known are absent.
        left_out: Figures that were found and left out, by the code of the mark that decided it.
    """

    splits: dict[str, SplitStatistics]
    funnel: list[Step]
    left_out: dict[str, int]


class Tally:
    """Counts the rows of a split as they go by."""

    def __init__(self) -> None:
        self.figures = 0
        self._rated = 0
        self._papers: set[str] = set()
        self._venue_years: Counter[tuple[str, str]] = Counter()
        self._types: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._open: Counter[str] = Counter()
        self._ratings: Counter[int] = Counter()
        self._gold: Counter[tuple[str, int]] = Counter()

    def add(self, figure: Figure) -> None:
        """Count one row."""
        self.figures += 1
        self._papers.add(figure.paper_id_norm)
        self._venue_years[figure.venue or UNKNOWN, str(figure.year or UNKNOWN)] += 1
        self._types[figure.figure_type or UNKNOWN] += 1
        self._kinds.update(citation.kind or UNKNOWN for citation in figure.citations)
        self._open.update(figure.open_dimensions)
        if figure.gold is None:
            return
        self._rated += 1
        self._ratings[len(figure.ratings)] += 1
        for column in COLUMNS:
            value = getattr(figure.gold, column)
            if value is not None:
                self._gold[column, round((value - SCALE_MIN) * BINS_PER_POINT)] += 1

    def result(self) -> SplitStatistics:
        """The counts, in an order that does not depend on that of the rows."""
        venue_years: dict[str, dict[str, int]] = {}
        for (venue, year), count in sorted(self._venue_years.items()):
            venue_years.setdefault(venue, {})[year] = count
        return SplitStatistics(
            figures=self.figures,
            papers=len(self._papers),
            rated=self._rated,
            venue_years=venue_years,
            types=dict(sorted(self._types.items())),
            citation_kinds=dict(sorted(self._kinds.items())),
            open_dimensions=dict(sorted(self._open.items())),
            ratings={str(number): count for number, count in sorted(self._ratings.items())},
            gold={column: [self._gold[column, place] for place in range(BINS)] for column in COLUMNS},
        )


def gather(stage: Path, splits: Mapping[str, SplitStatistics]) -> Statistics:
    """The counts of a dataset, from its splits and the logs beside them."""
    left_out = Counter(
        next((mark["code"] for mark in line["marks"] if mark["stage"] in ("S1", "S5", "gate")), UNKNOWN)
        for line in log_lines(stage / "dropped.jsonl")
    )
    return Statistics(splits=dict(splits), funnel=list(_funnel(stage, splits)), left_out=dict(sorted(left_out.items())))


def _funnel(stage: Path, splits: Mapping[str, SplitStatistics]) -> Iterator[Step]:
    reports = list(log_lines(stage / "papers.jsonl"))
    if reports:
        yield Step(name="PDFs", count=len(reports))
        yield Step(name="PDFs read", count=sum(report["status"] != "failed" for report in reports))
        yield Step(name="figures found", count=sum(report["figures_found"] for report in reports))
    yield Step(name="figures kept", count=sum(split.figures for split in splits.values()))
    yield Step(name="figures rated", count=sum(split.rated for split in splits.values()))


def write_statistics(stage: Path, statistics: Statistics, name: str) -> list[str]:
    """Write the counts and, where matplotlib is installed, the plots and a page that holds them.

    Args:
        stage: The dataset folder.
        statistics: The counts.
        name: The dataset's name.

    Returns:
        Names of the plots, relative to the folder; empty without matplotlib.
    """
    from scifigqual_bench.dataset.statistics_plots import draw

    folder = stage / FOLDER
    folder.mkdir(exist_ok=True)
    (folder / "statistics.json").write_text(statistics.model_dump_json(indent=1) + "\n", encoding="utf-8")
    try:
        plots = draw(statistics, folder)
    except ImportError:
        return []
    environment = Environment(
        loader=PackageLoader("scifigqual_bench.dataset", "."), undefined=StrictUndefined, autoescape=True
    )
    pictures = {title: Markup(_inline(path)) for title, path in plots.items()}
    page = environment.get_template("statistics.html.j2").render(name=name, pictures=pictures, statistics=statistics)
    (folder / "index.html").write_text(page, encoding="utf-8")
    return [f"{FOLDER}/{path.name}" for path in plots.values()]


def _inline(path: Path) -> str:
    """An SVG as a part of a page: without the declaration that only a file of its own may have."""
    text = path.read_text(encoding="utf-8")
    return text[text.index("<svg") :]
