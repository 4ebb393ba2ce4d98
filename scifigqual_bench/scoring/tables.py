"""Results as text: a table for a terminal, Markdown, and CSV with one number a line."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from scifigqual_bench.rubric import COLUMNS, SHORT_COLUMNS
from scifigqual_bench.scoring.agreement import STATISTICS, Agreement, Estimate
from scifigqual_bench.scoring.ceilings import BesideRaters, Ceiling, CeilingReport
from scifigqual_bench.scoring.comparison import Comparison
from scifigqual_bench.scoring.floors import FLOORS
from scifigqual_bench.scoring.report import Report
from scifigqual_bench.scoring.resampling import Bootstrap

Result = Report | CeilingReport | Comparison

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
BLIND_TITLE = "Blind floor: told from the texts alone, no figure seen"
RATER_TITLES = {
    "pairwise_within_1": "pairwise W-1",
    "loo_mae": "leave-one-out MAE",
    "loo_within_1": "leave-one-out W-1",
    "loo_spearman": "leave-one-out Spearman",
}
RELIABILITY_TITLES = {
    "alpha_ordinal": "alpha, ordinal",
    "alpha_interval": "alpha, interval",
    "icc_1": "ICC(1,1)",
    "icc_k": "ICC(1,k)",
    "reliability": "reliability of gold",
    "max_spearman": "highest Spearman",
}
BESIDE_TITLES = {
    "mae": "MAE",
    "mae_ratio": "/ raters",
    "within_1": "Within-1",
    "within_1_ratio": "/ raters",
    "spearman": "Spearman",
    "spearman_ratio": "/ raters",
    "spearman_of_max": "Spearman / highest",
    "pairwise_within_1": "pairwise W-1",
    "pairwise_within_1_ratio": "/ raters",
}
CSV_FIELDS = (
    "part",
    "name",
    "column",
    "view",
    "statistic",
    "n",
    "value",
    "low",
    "high",
    "p_value",
    "p_holm",
    "reason",
)


@dataclass(frozen=True)
class Table:
    """A table with a title; the first row is the header."""

    title: str
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Document:
    """What a table of results says, before it is laid out.

    Attributes:
        summary: Sentences that come first.
        tables: The tables.
        notes: Sentences that come last: the reasons of dashes.
    """

    summary: Sequence[str]
    tables: Sequence[Table]
    notes: Sequence[str]


def format_table(result: Result) -> str:
    """Results for a terminal: coverage first, aligned tables, then the reason of every dash."""
    content = document(result)
    tables = [f"{table.title}\n{_aligned(table.rows)}" for table in content.tables]
    return "\n\n".join(block for block in ("\n".join(content.summary), *tables, "\n".join(content.notes)) if block)


def to_markdown(result: Result) -> str:
    """The same as Markdown; names and labels are escaped."""
    content = document(result)
    blocks = [markdown_list(content.summary)]
    for table in content.tables:
        header, *body = [[_markdown_text(cell) for cell in row] for row in table.rows]
        rule = ["---", *["---:"] * (len(header) - 1)]
        lines = [f"| {' | '.join(row)} |" for row in (header, rule, *body)]
        blocks.append("\n".join([f"### {_markdown_text(table.title)}", "", *lines]))
    blocks.append(markdown_list(content.notes))
    return "\n\n".join(block for block in blocks if block) + "\n"


def to_csv(result: Result) -> str:
    """Every number on a line of its own, with its interval, p-values and reason (:data:`CSV_FIELDS`)."""
    out = io.StringIO()
    writer = csv.DictWriter(out, CSV_FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_records(result))
    return out.getvalue()


def format_number(name: str, value: float | None) -> str:
    """A statistic as tables print it: shares in percent, a bias with its sign, a dash for None.

    >>> format_number("within_1", 0.8333), format_number("bias", 0.25), format_number("mae", None)
    ('83.3%', '+0.250', '-')
    """
    if value is None:
        return "-"
    if name.endswith(("within_1", "coverage")):
        return f"{value:.1%}"
    value = round(value, 3) + 0.0  # adding zero turns -0.0 into 0.0
    return f"{value:+.3f}" if name == "bias" else f"{value:.3f}"


def format_estimate(name: str, estimate: Estimate) -> str:
    """A statistic with its interval, for example ``0.520 [0.491, 0.549]``."""
    text = format_number(name, estimate.value)
    if estimate.low is None:
        return text
    return f"{text} [{format_number(name, estimate.low)}, {format_number(name, estimate.high)}]"


@singledispatch
def document(result: Result) -> Document:
    """The sentences and tables of a result."""
    raise TypeError(f"no table for {type(result).__name__}")


@document.register
def _(report: Report) -> Document:
    views = list(_views(report))
    tables = [
        Table("Agreement with mean gold", [_header(HEADLINE), *_agreement_rows(views, HEADLINE)]),
        Table("Further statistics", [_header(FURTHER), *_agreement_rows(views, FURTHER)]),
        Table("Floors: always the same score (MAE, Within-1)", list(_floor_rows(report))),
    ]
    blind = [
        (SHORT_COLUMNS[key], column.blind_floor)
        for key, column in report.columns.items()
        if column.blind_floor is not None
    ]
    if blind:
        tables.append(Table(BLIND_TITLE, [_header(HEADLINE), *_agreement_rows(blind, HEADLINE)]))
    ceilings = {key: column.ceiling for key, column in report.columns.items() if column.ceiling is not None}
    beside = {key: column.beside_raters for key, column in report.columns.items() if column.beside_raters is not None}
    if ceilings:
        tables += [*_ceiling_tables(ceilings), _beside_table(beside)]
    return Document(
        list(_summary(report)),
        [*tables, *_slice_tables(report)],
        [
            *_headline_notes(report),
            *_reason_notes([*views, *((f"{label}, blind floor", item) for label, item in blind)]),
            report.blind_floor,
        ],
    )


@document.register
def _(report: CeilingReport) -> Document:
    summary = [
        f"{report.ratings} ratings of {report.figures} figures, {report.papers} papers. "
        f"Overall of a rater: {report.rater_overall}.",
        *_interval_sentence(report.bootstrap),
    ]
    return Document(summary, _ceiling_tables(report.columns), [])


@document.register
def _(comparison: Comparison) -> Document:
    summary = [
        f"{comparison.figures} rated figures, {comparison.papers} papers. Mask: {comparison.mask}. "
        f"Gold overall: {comparison.overall.replace('_', ' ')}.",
        "Each column on the figures that all systems scored.",
        *_interval_sentence(comparison.bootstrap),
        "p: two-sided, systems swapped on random papers; p (Holm): corrected for all pairs on the same statistic.",
    ]
    systems = [["", "system", "scored", "n", *(TITLES[name] for name in HEADLINE)]]
    for column in COLUMNS:
        for name, by_column in comparison.systems.items():
            entry = by_column[column]
            cells = [format_estimate(statistic, getattr(entry.agreement, statistic)) for statistic in HEADLINE]
            counts = [f"{entry.scored} of {entry.open}", str(entry.agreement.n)]
            systems.append([SHORT_COLUMNS[column], name, *counts, *cells])
    differences = [["", "statistic", "first - second", "difference (Within-1: points)", "p", "p (Holm)"]]
    for item in comparison.differences:
        pair = f"{item.first} - {item.second}"
        cells = [_difference(item.statistic, item.estimate), *map(_p_value, (item.p_value, item.p_holm))]
        differences.append([SHORT_COLUMNS[item.column], TITLES[item.statistic], pair, *cells])
    tables = [Table("Systems", systems), Table("Differences", differences)]
    if comparison.ceilings is not None:
        tables += _ceiling_tables(comparison.ceilings)
    views = [
        (f"{SHORT_COLUMNS[column]} {name}", by_column[column].agreement)
        for name, by_column in comparison.systems.items()
        for column in COLUMNS
    ]
    return Document(summary, tables, list(_reason_notes(views)))


def _summary(report: Report) -> Iterator[str]:
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
    yield from _interval_sentence(settings.bootstrap)


def _interval_sentence(bootstrap: Bootstrap) -> list[str]:
    if not bootstrap.resamples:
        return []
    return [f"Brackets: {bootstrap.confidence:.0%} interval, {bootstrap.resamples} resamples of whole papers."]


def _views(report: Report) -> Iterator[tuple[str, Agreement | None]]:
    """What is shown of each column: the headline, or a dash and then the two substitutes by name."""
    for key, column in report.columns.items():
        yield SHORT_COLUMNS[key], column.headline
    for key, column in report.columns.items():
        if column.headline is None and column.open:
            yield f"{SHORT_COLUMNS[key]}, answered only", column.answered_only
            yield f"{SHORT_COLUMNS[key]}, unanswered as floor", column.unanswered_as_floor


def _header(names: Sequence[str]) -> list[str]:
    return ["", "n", *(TITLES[name] for name in names)]


def _agreement_rows(views: Iterable[tuple[str, Agreement | None]], names: Sequence[str]) -> Iterator[list[str]]:
    for label, result in views:
        if result is None:
            yield [label, "-", *["-"] * len(names)]
        else:
            yield [label, str(result.n), *(format_estimate(name, getattr(result, name)) for name in names)]


def _floor_rows(report: Report) -> Iterator[list[str]]:
    yield ["", *(FLOOR_TITLES[floor] for floor in FLOORS)]
    for key, column in report.columns.items():
        cells = []
        for name in FLOORS:
            floor = column.floors.get(name)
            if floor is None:
                cells.append("-")
                continue
            constant = "" if floor.constant is None else f"{floor.constant:.2f}: "
            numbers = [format_number(statistic, getattr(floor, statistic).value) for statistic in ("mae", "within_1")]
            cells.append(constant + ", ".join(numbers))
        yield [SHORT_COLUMNS[key], *cells]


def _ceiling_tables(ceilings: Mapping[str, Ceiling]) -> list[Table]:
    agreement = [["", "figures", "ratings", "pairs", *RATER_TITLES.values(), "spread: mean, median"]]
    reliability = [["", *RELIABILITY_TITLES.values()]]
    for key, item in ceilings.items():
        name = SHORT_COLUMNS[key]
        spread = "-" if item.spread_mean is None else f"{item.spread_mean:.2f}, {item.spread_median:.1f}"
        counts = [str(item.items), str(item.ratings), str(item.pairs)]
        agreement.append([name, *counts, *_cells(item, RATER_TITLES), spread])
        reliability.append([name, *_cells(item, RELIABILITY_TITLES)])
    title = "Raters: pairwise compares two ratings, leave-one-out a rating with the mean of the others"
    return [Table(title, agreement), Table("Reliability of the ratings", reliability)]


def _beside_table(beside: Mapping[str, BesideRaters]) -> Table:
    rows = [["", "ratings", *BESIDE_TITLES.values()]]
    rows += [[SHORT_COLUMNS[key], str(item.ratings), *_cells(item, BESIDE_TITLES)] for key, item in beside.items()]
    return Table("Judge and raters against the same mean of the other raters (pairwise: against single ratings)", rows)


def _cells(item: object, titles: Mapping[str, str]) -> list[str]:
    return [format_estimate(name, getattr(item, name)) for name in titles]


def _slice_tables(report: Report) -> Iterator[Table]:
    parts = [
        (f"{grouping}: {label}", part)
        for grouping, by_label in report.slices.items()
        for label, part in by_label.items()
    ]
    header = ["slice", "figures", *(SHORT_COLUMNS[key] for key in COLUMNS)]
    for statistic in ("mae", "within_1", "spearman") if parts else ():
        rows = [
            [name, str(part.figures)]
            + [format_number(statistic, getattr(column.agreement, statistic).value) for column in part.columns.values()]
            for name, part in parts
        ]
        yield Table(f"Slices: {TITLES[statistic]}", [header, *rows])
    rows = [
        [name, str(part.figures)]
        + [format_number("within_1", column.pairwise_within_1.value) for column in part.columns.values()]
        for name, part in parts
        if all(column.pairwise_within_1 is not None for column in part.columns.values())
    ]
    if rows:
        yield Table("Slices: pairwise Within-1 of the raters", [header, *rows])


def _headline_notes(report: Report) -> Iterator[str]:
    for key, column in report.columns.items():
        if column.headline_reason:
            yield f"{SHORT_COLUMNS[key]}: no headline: {column.headline_reason}."


def _reason_notes(views: Iterable[tuple[str, Agreement | None]]) -> Iterator[str]:
    """One sentence a reason, naming the statistics and columns that it concerns."""
    places: dict[str, dict[str, list[str]]] = {}
    for label, result in views:
        for name in STATISTICS if result else ():
            reason = getattr(result, name).reason
            if reason:
                places.setdefault(reason, {}).setdefault(TITLES[name], []).append(label)
    for reason, by_statistic in places.items():
        where: dict[str, list[str]] = {}
        for statistic, labels in by_statistic.items():
            where.setdefault(", ".join(labels), []).append(statistic)
        yield "; ".join(f"{', '.join(names)} of {labels}" for labels, names in where.items()) + f": {reason}."


def _difference(name: str, estimate: Estimate) -> str:
    """A difference with its signs; shares in percentage points."""
    if estimate.value is None:
        return "-"
    factor, digits = (100, 1) if name == "within_1" else (1, 3)
    numbers = [
        f"{round(factor * value, digits) + 0.0:+.{digits}f}"
        for value in (estimate.value, estimate.low, estimate.high)
        if value is not None
    ]
    return numbers[0] if len(numbers) == 1 else f"{numbers[0]} [{numbers[1]}, {numbers[2]}]"


def _p_value(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _aligned(rows: Iterable[Sequence[str]]) -> str:
    """Cells in columns, the first to the left and the others to the right; control characters become spaces."""
    rows = [["".join(char if char.isprintable() else " " for char in cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _markdown_text(text: str) -> str:
    safe = html.escape(" ".join(text.split()), quote=False)
    for char in "\\`*_[]|":
        safe = safe.replace(char, f"\\{char}")
    return safe


def markdown_list(sentences: Iterable[str]) -> str:
    r"""Sentences as a Markdown list; Markdown and HTML in them are escaped.

    >>> print(markdown_list(["a <b>", "2*3*4"]))
    - a &lt;b&gt;
    - 2\*3\*4
    """
    return "\n".join(f"- {_markdown_text(sentence)}" for sentence in sentences)


@singledispatch
def _records(result: Result) -> Iterator[dict[str, Any]]:
    raise TypeError(f"no CSV for {type(result).__name__}")


@_records.register
def _(report: Report) -> Iterator[dict[str, Any]]:
    for key, column in report.columns.items():
        for view in ("headline", "answered_only", "unanswered_as_floor"):
            result = getattr(column, view)
            if result is None:
                yield {"part": "score", "column": key, "view": view, "reason": column.headline_reason}
            else:
                yield from _estimates(result, n=result.n, part="score", column=key, view=view)
        for floor, result in column.floors.items():
            yield from _estimates(result, n=column.open, part="floor", name=floor, column=key)
        if column.blind_floor is not None:
            yield from _estimates(column.blind_floor, n=column.open, part="floor", name="blind", column=key)
        if column.ceiling is not None and column.beside_raters is not None:
            yield from _estimates(column.ceiling, n=column.ceiling.ratings, part="raters", column=key)
            yield from _estimates(
                column.beside_raters, n=column.beside_raters.ratings, part="beside raters", column=key
            )
    for grouping, by_label in report.slices.items():
        for label, part in by_label.items():
            for key, column in part.columns.items():
                place = {"part": "slice", "name": f"{grouping}: {label}", "column": key}
                yield from _estimates(column.agreement, n=column.agreement.n, **place)
                yield from _estimates(column, n=column.open, **place)


@_records.register
def _(report: CeilingReport) -> Iterator[dict[str, Any]]:
    for key, item in report.columns.items():
        yield from _estimates(item, n=item.ratings, part="raters", column=key)


@_records.register
def _(comparison: Comparison) -> Iterator[dict[str, Any]]:
    for name, by_column in comparison.systems.items():
        for key, entry in by_column.items():
            yield from _estimates(entry.agreement, n=entry.agreement.n, part="system", name=name, column=key)
    for item in comparison.differences:
        yield {
            "part": "difference",
            "name": f"{item.first} - {item.second}",
            "column": item.column,
            "statistic": item.statistic,
            "p_value": item.p_value,
            "p_holm": item.p_holm,
            **vars(item.estimate),
        }
    for key, item in (comparison.ceilings or {}).items():
        yield from _estimates(item, n=item.ratings, part="raters", column=key)


def _estimates(item: object, **place: Any) -> Iterator[dict[str, Any]]:
    """A record for each estimate that the item has."""
    for name, value in vars(item).items():
        if isinstance(value, Estimate):
            yield {**place, "statistic": name, **vars(value)}
