"""ScholScan: does a model that scans whole papers find the error, its places and the reasoning (SPEC 12).

An extractor turns the model's free text into counts; from there on everything is arithmetic. A record is one item: what
the answer was worth in counts and, where a retriever chose the pages, its ranking.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from scifigqual_bench.companions.means import Means, estimate_means, format_mean, interval_lines, reason_lines
from scifigqual_bench.companions.rows import parse_rows, read_records, repeated
from scifigqual_bench.errors import InputError
from scifigqual_bench.records import PREDICTION_STATUSES, PredictionStatus, Record
from scifigqual_bench.scoring.agreement import Estimate, Floats
from scifigqual_bench.scoring.resampling import Bootstrap
from scifigqual_bench.scoring.tables import Document, Table, document, format_table

__all__ = [
    "ERROR_TYPES",
    "ScanItem",
    "ScholScanReport",
    "csv_rows",
    "format_table",
    "parse_items",
    "read_items",
    "score",
]

ErrorType = Literal["A", "B", "C", "D", "E", "F", "G", "H", "I"]
ERROR_TYPES: dict[str, str] = {
    "A": "research question and definitions",
    "B": "design and identifiability",
    "C": "sampling and generalizability",
    "D": "measurement and operationalization",
    "E": "data handling and preprocessing",
    "F": "computation and formulae",
    "G": "inference and conclusions",
    "H": "referential and internal consistency",
    "I": "language and expression",
}
assert ErrorType.__args__ == tuple(ERROR_TYPES)

EXTRA_WEIGHT, EXTRA_POWER = 0.8, 2
"""Penalty of the share of wrong places among the places named: weight and exponent."""
REASONING_POWER = 2
UNRELATED_BASE, UNRELATED_FREE, UNRELATED_RATE, UNRELATED_POWER = 0.9, 2, 0.6, 1.5
"""Factor of unrelated errors: base of the power up to so many, then rate and exponent of the decay."""

MRR_DEPTH, RECALL_DEPTHS = 5, (5, 10)
_KEY = ("item_id",)
MAX_COUNT = 1_000_000
"""More than anybody counts in an answer; what is larger is a fault of the extractor."""

Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Flag = Annotated[int, Field(ge=0, le=1)]
Id = Annotated[str, Field(min_length=1)]


# --- records --------------------------------------------------------------------------------------------------------


class LocationCounts(Record):
    """Places of the paper that bear the error.

    Attributes:
        gold_steps: Places in the reference.
        hit_steps: Those of them that the answer names.
        extra_steps: Places that the answer names and the reference does not.
    """

    gold_steps: Count
    hit_steps: Count
    extra_steps: Count

    @model_validator(mode="after")
    def _agree(self) -> LocationCounts:
        if self.hit_steps > self.gold_steps:
            raise ValueError(f"hit_steps {self.hit_steps} is more than gold_steps {self.gold_steps}")
        return self


class ReasoningCounts(Record):
    """Steps of the argument that shows the error.

    Attributes:
        gold_steps: Steps of the reference.
        reached_steps: Longest valid prefix of the reference that the answer goes; for parallel steps, how many of them.
        missing_steps: ``gold_steps - reached_steps``.
    """

    gold_steps: Count
    reached_steps: Count
    missing_steps: Count

    @model_validator(mode="after")
    def _agree(self) -> ReasoningCounts:
        if self.reached_steps > self.gold_steps:
            raise ValueError(f"reached_steps {self.reached_steps} is more than gold_steps {self.gold_steps}")
        if self.missing_steps != self.gold_steps - self.reached_steps:
            expected = f"gold_steps {self.gold_steps} - reached_steps {self.reached_steps}"
            raise ValueError(f"missing_steps {self.missing_steps} is not {expected}")
        return self


class AnswerCounts(Record):
    """What an extractor found in an answer.

    Attributes:
        existence: 1 where the answer and the reference agree on whether there is an error.
        contains_target_error: 1 where the answer names the error of the reference.
        unrelated_errors: Errors that the answer claims and the reference does not have.
    """

    existence: Flag
    contains_target_error: Flag
    location: LocationCounts
    reasoning: ReasoningCounts
    unrelated_errors: Count


class PageRanking(Record):
    """Pages in the order of a retriever, and those that bear the evidence; both count from 1."""

    ranked_pages: list[int]
    gold_pages: Annotated[list[int], Field(min_length=1)]

    @model_validator(mode="after")
    def _pages(self) -> PageRanking:
        problems = []
        for name in ("ranked_pages", "gold_pages"):
            pages = getattr(self, name)
            below = sorted({page for page in pages if page < 1})
            twice = sorted(page for page, count in Counter(pages).items() if count > 1)
            if below:
                problems.append(
                    f"{name} holds {_listed(below)}: pages count from 1; add 1 to a list that counts from 0"
                )
            if twice:
                problems.append(f"{name} holds {_listed(twice)} more than once: a page has one rank")
        if problems:
            raise InputError(problems)
        return self


class ScanItem(Record):
    """One item: a question on a paper, and what a model's answer was worth.

    Attributes:
        item_id: The item.
        paper_id: The paper; items of one paper are not independent of each other.
        other_paper_ids: Further papers that the question spans.
        error_type: Family of the error that the question is about, A..I (:data:`ERROR_TYPES`).
        error_exists: Whether the paper has the error. An item without one has no gold steps and scores 0 by the
            formula; what can be right about its answer is existence.
        status: ``ok``, or why there are no counts.
        status_reason: More on that.
        counts: What the extractor found; None unless the status is ok.
        retrieval: The ranking behind the answer's pages, where a retriever chose them.
    """

    item_id: Id
    paper_id: Id
    other_paper_ids: list[Id] = []
    error_type: ErrorType
    error_exists: bool
    status: PredictionStatus = "ok"
    status_reason: str | None = None
    counts: AnswerCounts | None = None
    retrieval: PageRanking | None = None

    @model_validator(mode="after")
    def _agree(self) -> ScanItem:
        problems = []
        if (self.status == "ok") != (self.counts is not None):
            told = "there are no counts" if self.counts is None else "there are counts"
            problems.append(f"status is {self.status!r}, yet {told}; only a status of ok has counts")
        if self.counts is not None and not self.error_exists:
            stated = {
                "location.gold_steps": self.counts.location.gold_steps,
                "reasoning.gold_steps": self.counts.reasoning.gold_steps,
                "contains_target_error": self.counts.contains_target_error,
            }
            problems += [
                f"error_exists is false, yet {name} is {value}; there is nothing to find"
                for name, value in stated.items()
                if value
            ]
        if problems:
            raise InputError(problems)
        return self


def _listed(pages: Sequence[int]) -> str:
    return ", ".join(map(str, pages[:5])) + (", ..." if len(pages) > 5 else "")


def read_items(path: Path) -> list[ScanItem]:
    """Items of a ``.jsonl`` or ``.json`` file.

    Raises:
        InputError: With every fault, each with its line and field.
    """
    return read_records(path, ScanItem, _KEY)


def parse_items(rows: Sequence[Any]) -> list[ScanItem]:
    """Items from mappings, for example out of ``json.loads``.

    Raises:
        InputError: With every fault, each with its row and field.
    """
    return parse_rows(rows, ScanItem, _KEY, [f"row {index}" for index in range(len(rows))])


# --- formula --------------------------------------------------------------------------------------------------------


def location_score(gold: int, hit: int, extra: int) -> float:
    """How well the places were found: Dice overlap less a penalty on the share of wrong places.

    Args:
        gold: Places in the reference.
        hit: Those of them that the answer names, 0..gold.
        extra: Other places that the answer names.

    Returns:
        0..1; 1 where there is no place to find and none is named, 0 where only the reference has none.

    >>> location_score(gold=2, hit=2, extra=0), location_score(gold=0, hit=0, extra=3)
    (1.0, 0.0)
    >>> round(location_score(gold=2, hit=2, extra=2), 4)
    0.4667
    """
    named = hit + extra
    dice = 2 * hit / (gold + named) if gold + named else 1.0
    return max(0.0, dice - EXTRA_WEIGHT * (extra / max(named, 1)) ** EXTRA_POWER)


def reasoning_score(gold: int, reached: int) -> float:
    """How far the argument goes: the squared share of its steps; 1 where there is no step.

    Args:
        gold: Steps of the reference.
        reached: Steps that the answer reaches, 0..gold.

    >>> reasoning_score(gold=4, reached=2), reasoning_score(gold=0, reached=0)
    (0.25, 1.0)
    """
    return (reached / gold) ** REASONING_POWER if gold else 1.0


def unrelated_factor(unrelated: int) -> float:
    """What claims of unrelated errors leave of a score, 0..1: a tenth off each for two of them, then a steep fall.

    >>> unrelated_factor(0), round(unrelated_factor(2), 4), round(unrelated_factor(3), 4)
    (1.0, 0.81, 0.4445)
    """
    if unrelated <= UNRELATED_FREE:
        return UNRELATED_BASE**unrelated
    beyond = (unrelated - UNRELATED_FREE) ** UNRELATED_POWER
    return UNRELATED_BASE**UNRELATED_FREE * math.exp(-UNRELATED_RATE * beyond)


@dataclass(frozen=True)
class ItemScore:
    """The score of one answer and its parts, each 0..1."""

    location: float
    reasoning: float
    unrelated: float
    score: float


def item_score(counts: AnswerCounts) -> ItemScore:
    """The score of one answer (SPEC 12): ``sqrt(location * reasoning) * unrelated``.

    It is 0 unless the answer agrees that there is an error and names the one of the reference, and 0 where the
    reference has neither a place nor a step.

    >>> counts = AnswerCounts(
    ...     existence=1, contains_target_error=1, unrelated_errors=1,
    ...     location={"gold_steps": 2, "hit_steps": 1, "extra_steps": 1},
    ...     reasoning={"gold_steps": 2, "reached_steps": 1, "missing_steps": 1},
    ... )
    >>> parts = item_score(counts)
    >>> round(parts.location, 4), parts.reasoning, parts.unrelated, round(parts.score, 4)
    (0.3, 0.25, 0.9, 0.2465)
    """
    place, chain = counts.location, counts.reasoning
    location = location_score(place.gold_steps, place.hit_steps, place.extra_steps)
    reasoning = reasoning_score(chain.gold_steps, chain.reached_steps)
    unrelated = unrelated_factor(counts.unrelated_errors)
    found = counts.existence and counts.contains_target_error and (place.gold_steps or chain.gold_steps)
    return ItemScore(location, reasoning, unrelated, math.sqrt(location * reasoning) * unrelated if found else 0.0)


def reciprocal_rank(ranking: PageRanking, depth: int = MRR_DEPTH) -> float:
    """One over the rank of the first gold page among the first ``depth``; 0 where there is none.

    >>> reciprocal_rank(PageRanking(ranked_pages=[4, 2, 9], gold_pages=[2, 9]))
    0.5
    """
    gold = set(ranking.gold_pages)
    return next((1 / rank for rank, page in enumerate(ranking.ranked_pages[:depth], start=1) if page in gold), 0.0)


def recall(ranking: PageRanking, depth: int) -> float:
    """Share of the gold pages among the first ``depth``.

    >>> recall(PageRanking(ranked_pages=[4, 2, 9], gold_pages=[2, 5]), depth=5)
    0.5
    """
    return len(set(ranking.gold_pages) & set(ranking.ranked_pages[:depth])) / len(ranking.gold_pages)


RETRIEVAL: dict[str, Callable[[PageRanking], float]] = {
    f"mrr_at_{MRR_DEPTH}": reciprocal_rank,
    **{f"recall_at_{depth}": lambda ranking, depth=depth: recall(ranking, depth) for depth in RECALL_DEPTHS},
}
"""Retrieval scores by name, each 0..1 for one ranking."""


# --- report ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """Items of one kind.

    Attributes:
        items: How many there are.
        scored: Those of them with counts.
        value: The mean over all of them; None, with the reason, unless all are scored.
        scored_only: The mean over the scored ones: flatters a run that fails on the hard ones.
    """

    items: int
    scored: int
    value: Estimate
    scored_only: Estimate


@dataclass(frozen=True)
class ScoredItem:
    """One item of the report; numbers are None where the answer gave no counts."""

    item_id: str
    paper_id: str
    error_type: str
    error_exists: bool
    status: str
    existence: int | None
    contains_target_error: int | None
    location: float | None
    reasoning: float | None
    unrelated: float | None
    score: float | None


@dataclass(frozen=True)
class ScholScanReport:
    """What :func:`score` returns.

    Attributes:
        settings: How the intervals were made.
        items: Number of items.
        papers: Number of their papers.
        status: Items per status.
        overall: Mean score times 100, over all items as published: an item without an error counts 0.
        with_error: The same over the items that have an error.
        by_type: The same over all items of each error type, A..I.
        existence: Share of answers that agree with the reference on whether there is an error, on the items
            ``with_error`` and ``without_error``.
        parts: Means over the items that have an error: the share ``contains_target_error``, and the parts of the score
            ``location``, ``reasoning`` and ``unrelated``.
        rankings: Items with a ranking of pages.
        retrieval: Mean of each score in :data:`RETRIEVAL`; empty without rankings.
        notes: What a reader should know of the counts.
        scored_items: Every item with its parts.
    """

    settings: Bootstrap
    items: int
    papers: int
    status: dict[str, int]
    overall: Group
    with_error: Group
    by_type: dict[str, Group]
    existence: dict[str, Group]
    parts: dict[str, Group]
    rankings: int
    retrieval: dict[str, Estimate]
    notes: tuple[str, ...]
    scored_items: tuple[ScoredItem, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, numbers and None: ready for ``json.dump``."""
        return asdict(self)


PARTS = ("contains_target_error", "location", "reasoning", "unrelated")


def score(
    items: Sequence[ScanItem], *, resamples: int = 10_000, confidence: float = 0.95, seed: int = 0
) -> ScholScanReport:
    """Score a run.

    Args:
        items: Its items, in any order.
        resamples: Bootstrap samples of papers; 0 leaves the intervals out.
        confidence: Level of the percentile intervals, 0..1.
        seed: Seed of the bootstrap.

    Raises:
        InputError: There is no item, or an item is there twice.
        ValueError: An option is out of range.

    >>> from scifigqual_bench.companions import example_path
    >>> report = score(read_items(example_path("scholscan")), resamples=0)
    >>> report.items, round(report.overall.value.value, 2), report.existence["without_error"].value.value
    (8, 32.14, 0.5)
    """
    bootstrap = Bootstrap(resamples, confidence, seed)
    if not items:
        raise InputError("there is no item to score")
    problems = repeated((item.item_id, f"items[{index}]") for index, item in enumerate(items))
    if problems:
        raise InputError(problems)
    scored = tuple(map(_scored_item, items))
    papers, codes = np.unique([item.paper_id for item in items], return_inverse=True)

    with_error = np.array([item.error_exists for item in items])
    has_counts = np.array([item.counts is not None for item in items])
    scores = 100 * _column(scored, "score")
    existence = _column(scored, "existence")
    everything = np.ones(len(items), dtype=bool)
    types = {kind: np.array([item.error_type == kind for item in items]) for kind in ERROR_TYPES}
    kinds = {
        "overall": (scores, everything),
        "with_error": (scores, with_error),
        **{("type", kind): (scores, keep) for kind, keep in types.items()},
        ("existence", "with_error"): (existence, with_error),
        ("existence", "without_error"): (existence, ~with_error),
        **{("part", name): (_column(scored, name), with_error) for name in PARTS},
    }
    means = {
        key: Means.of(values[kept], codes[kept], len(papers))
        for key, (values, keep) in kinds.items()
        for kept in [keep & has_counts]
    }
    rankings = {index: item.retrieval for index, item in enumerate(items) if item.retrieval is not None}
    for name, measure in RETRIEVAL.items() if rankings else ():
        means["retrieval", name] = Means.of(map(measure, rankings.values()), codes[list(rankings)], len(papers))

    found = estimate_means(means, bootstrap, "paper")
    groups = {
        key: _group(int(keep.sum()), int((keep & has_counts).sum()), found[key]) for key, (_, keep) in kinds.items()
    }
    counts = Counter(item.status for item in items)
    return ScholScanReport(
        settings=bootstrap,
        items=len(items),
        papers=len(papers),
        status={name: counts[name] for name in PREDICTION_STATUSES if counts[name]},
        overall=groups["overall"],
        with_error=groups["with_error"],
        by_type={kind: groups["type", kind] for kind in ERROR_TYPES},
        existence={name: groups["existence", name] for name in ("with_error", "without_error")},
        parts={name: groups["part", name] for name in PARTS},
        rankings=len(rankings),
        retrieval={name: found["retrieval", name] for name in RETRIEVAL} if rankings else {},
        notes=tuple(_notes(items)),
        scored_items=scored,
    )


def _scored_item(item: ScanItem) -> ScoredItem:
    counts = item.counts
    flags = {name: counts and getattr(counts, name) for name in ("existence", "contains_target_error")}
    parts = asdict(item_score(counts)) if counts else dict.fromkeys(("location", "reasoning", "unrelated", "score"))
    return ScoredItem(item.item_id, item.paper_id, item.error_type, item.error_exists, item.status, **flags, **parts)


def _column(scored: Sequence[ScoredItem], name: str) -> Floats:
    """A field of the items, shape (items,); NaN where there are no counts."""
    values = [getattr(item, name) for item in scored]
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _group(items: int, scored: int, mean: Estimate) -> Group:
    if items == scored:
        return Group(items, scored, mean, mean)
    reason = f"{scored} of {items} items have counts: see the mean over those"
    return Group(items, scored, Estimate(None, reason=reason), mean)


def _notes(items: Sequence[ScanItem]) -> Iterator[str]:
    with_counts = [(item, item.counts) for item in items if item.counts is not None]
    no_steps = sum(
        item.error_exists and not counts.location.gold_steps and not counts.reasoning.gold_steps
        for item, counts in with_counts
    )
    if no_steps:
        yield f"{no_steps} items have an error but neither a place nor a step in the reference: they score 0."
    denied = sum(counts.contains_target_error and not counts.existence for _, counts in with_counts)
    if denied:
        yield f"{denied} answers name the target error although existence is 0: they score 0."


# --- for people -----------------------------------------------------------------------------------------------------


@document.register
def _(report: ScholScanReport) -> Document:
    status = ", ".join(f"{name} {count}" for name, count in report.status.items())
    summary = [f"ScholScan: {report.items} items, {report.papers} papers. Items: {status}."]
    groups = {
        "all items": report.overall,
        "items with an error": report.with_error,
        **{f"{kind} {ERROR_TYPES[kind]}": group for kind, group in report.by_type.items()},
    }
    shares = {
        "existence right, items with an error": report.existence["with_error"],
        "existence right, items without an error": report.existence["without_error"],
        **{f"{name.replace('_', ' ')}, items with an error": report.parts[name] for name in PARTS},
    }
    retrieval = {_title(name): value for name, value in report.retrieval.items()}
    tables = [Table("Score x 100", list(_rows(groups, 1))), Table("Shares and parts, %", list(_rows(shares, 100)))]
    if retrieval:
        rows = [[title, str(report.rankings), format_mean(value, 100)] for title, value in retrieval.items()]
        tables.append(Table("Retrieval, %", [["", "rankings", "mean"], *rows]))
    means = {title: group.value for title, group in (groups | shares).items()}
    return Document(
        [*summary, *interval_lines(report.settings, "papers")],
        tables,
        [*report.notes, *reason_lines(means | retrieval)],
    )


def _title(name: str) -> str:
    measure, depth = name.split("_at_")
    return f"{'MRR' if measure == 'mrr' else measure.capitalize()}@{depth}"


def _rows(groups: Mapping[str, Group], scale: float) -> Iterator[list[str]]:
    """Rows of a table; the mean over the scored items is shown where it is another one."""
    partial = any(group.scored < group.items for group in groups.values())
    yield ["", "items", "mean", *(["scored", "mean of the scored"] if partial else [])]
    for title, group in groups.items():
        extra = [str(group.scored), format_mean(group.scored_only, scale)] if partial else []
        yield [title, str(group.items), format_mean(group.value, scale), *extra]


def csv_rows(report: ScholScanReport) -> list[dict[str, Any]]:
    """One row per item, for ``csv.DictWriter``; None where an answer gave no counts."""
    return [asdict(item) for item in report.scored_items]
