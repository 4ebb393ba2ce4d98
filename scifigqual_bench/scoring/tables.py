"""Reports as text: an aligned table for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from scifigqual_bench.rubric import SHORT_COLUMNS
from scifigqual_bench.scoring.agreement import STATISTICS, Agreement, Estimate
from scifigqual_bench.scoring.floors import FLOORS
from scifigqual_bench.scoring.report import Report

TITLES = {
    "mae": "MAE",
    "within_1": "Within-1",
    "spearman": "Spearman",
    "bias": "bias",
    "rmse": "RMSE",
    "kendall": "Kendall",
    "kappa": "kappa",
}
HEADLINE = ("mae", "within_1", "spearman", "bias")
FURTHER = ("rmse", "kendall", "kappa")
FLOOR_TITLES = {
    "mean_of_others": "other papers' mean",
    "median_of_others": "other papers' median",
    "mean": "mean",
    "median": "median",
}


def format_number(name: str, value: float | None) -> str:
    """A statistic as tables print it: shares in percent, a bias with its sign, a dash for None.

    >>> format_number("within_1", 0.8333), format_number("bias", 0.25), format_number("mae", None)
    ('83.3%', '+0.250', '-')
    """
    if value is None:
        return "-"
    if name == "within_1":
        return f"{value:.1%}"
    if name == "bias":
        return f"{round(value, 3) + 0.0:+.3f}"  # adding zero turns -0.0 into 0.0
    return f"{value:.3f}"


def format_estimate(name: str, estimate: Estimate) -> str:
    """A statistic with its interval, for example ``0.520 [0.491, 0.549]``."""
    text = format_number(name, estimate.value)
    if estimate.low is None:
        return text
    return f"{text} [{format_number(name, estimate.low)}, {format_number(name, estimate.high)}]"


def align_text(rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells in columns: the first column to the left, the others to the right."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def format_table(report: Report) -> str:
    """The report for a terminal: coverage first, then agreement, then floors, then the reason of every dash."""
    blocks = [
        "\n".join(_preamble(report)),
        align_text([["", "n", *(TITLES[name] for name in HEADLINE)], *_agreement_rows(report, HEADLINE)]),
        align_text([["", "n", *(TITLES[name] for name in FURTHER)], *_agreement_rows(report, FURTHER)]),
        align_text(_floor_rows(report)),
        "\n".join(_notes(report)),
    ]
    return "\n\n".join(block for block in blocks if block)


def _preamble(report: Report) -> Iterator[str]:
    settings, coverage = report.settings, report.coverage
    yield (
        f"{report.figures} rated figures, {report.papers} papers; {report.unrated} figures without gold left out. "
        f"Mask: {settings.mask}. Gold overall: {settings.overall.replace('_', ' ')}."
    )
    rows = ", ".join(f"{name} {count}" for name, count in coverage.status.items())
    yield f"Coverage: {coverage.scored} of {coverage.open} open items scored ({coverage.share:.1%}). Rows: {rows}."
    for title, counts in (
        ("Scores where the mask is closed", {key: item.count for key, item in coverage.scored_closed.items()}),
        ("Nulls where the mask is open", {key: item.count for key, item in coverage.null_open.items()}),
        ("Open by evidence but without gold, not scored", coverage.without_gold),
    ):
        found = ", ".join(f"{SHORT_COLUMNS[key]} {count}" for key, count in counts.items() if count)
        if found:
            yield f"{title}: {found}."
    bootstrap = settings.bootstrap
    if bootstrap.resamples:
        yield f"Brackets: {bootstrap.confidence:.0%} interval, {bootstrap.resamples} resamples of whole papers."


def _views(report: Report) -> Iterator[tuple[str, Agreement | None]]:
    """What is shown of each column: the headline, or a dash with the two substitutes by name."""
    for key, column in report.columns.items():
        yield SHORT_COLUMNS[key], column.headline
    for key, column in report.columns.items():
        if column.headline is None and column.open:
            yield f"{SHORT_COLUMNS[key]}, answered only", column.answered_only
            yield f"{SHORT_COLUMNS[key]}, unanswered as floor", column.unanswered_as_floor


def _agreement_rows(report: Report, names: Sequence[str]) -> Iterator[list[str]]:
    for label, result in _views(report):
        if result is None:
            yield [label, "-", *["-"] * len(names)]
        else:
            yield [label, str(result.n), *(format_estimate(name, getattr(result, name)) for name in names)]


def _floor_rows(report: Report) -> Iterator[list[str]]:
    yield ["always the same score", *(f"{FLOOR_TITLES[floor]}: MAE, W-1" for floor in FLOORS)]
    for key, column in report.columns.items():
        cells = []
        for name in FLOORS:
            floor = column.floors.get(name)
            if floor is None:
                cells.append("-")
                continue
            constant = "" if floor.constant is None else f"{floor.constant:.2f}: "
            cells.append(
                f"{constant}{format_number('mae', floor.mae.value)}, {format_number('within_1', floor.within_1.value)}"
            )
        yield [SHORT_COLUMNS[key], *cells]


def _notes(report: Report) -> Iterator[str]:
    for key, column in report.columns.items():
        if column.headline_reason:
            yield f"{SHORT_COLUMNS[key]}: no headline: {column.headline_reason}."
    places: dict[str, dict[str, list[str]]] = {}
    for label, result in _views(report):
        for name in STATISTICS if result else ():
            reason = getattr(result, name).reason
            if reason:
                places.setdefault(reason, {}).setdefault(TITLES[name], []).append(label)
    for reason, by_statistic in places.items():
        where: dict[str, list[str]] = {}
        for statistic, labels in by_statistic.items():
            where.setdefault(", ".join(labels), []).append(statistic)
        yield "; ".join(f"{', '.join(names)} of {labels}" for labels, names in where.items()) + f": {reason}."
