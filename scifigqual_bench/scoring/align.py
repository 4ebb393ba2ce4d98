"""Rows to arrays: check prediction and gold rows, join them by figure id, and lay them out under one mask."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scifigqual_bench.records import FIGURE_ID, PREDICTION_STATUSES, paper_of
from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS, SCALE_MAX, SCALE_MIN
from scifigqual_bench.scoring.agreement import Floats, decimal
from scifigqual_bench.scoring.errors import InputProblem, ScoringInputError

Row = Mapping[str, Any]
Mask = Literal["gold", "evidence"]
Overall = Literal["dimension_first", "rater_mean"]
Missing = Literal["error", "unanswered"]

ON_SCALE = f"expected a number from {SCALE_MIN} to {SCALE_MAX}"
MISSING = "missing"
"""Status of a figure that has gold but no prediction row."""


@dataclass(frozen=True)
class ColumnScores:
    """Scores beside gold on the open figures of one column.

    Attributes:
        predictions: Shape (n,); NaN where there is none.
        golds: Shape (n,).
        papers: Number of each figure's paper, shape (n,).
        n_papers: Number of papers, those without an open figure included.
    """

    predictions: Floats
    golds: Floats
    papers: NDArray[np.intp]
    n_papers: int


@dataclass(frozen=True)
class Aligned:
    """Predictions beside gold, one row per rated figure in the order of figure ids.

    Attributes:
        figure_ids: Rated figures, length N.
        papers: Number of each figure's paper, shape (N,).
        paper_ids: Name of each paper number, length P.
        predictions: Scores in the order of :data:`~scifigqual_bench.rubric.COLUMNS`, shape (N, 6); NaN where there is
            none or the mask is closed. The overall is recomputed from the dimensions.
        golds: Gold in the same layout; NaN where the mask is closed.
        open: Where the mask is open, shape (N, 6): the items that count.
        scored_closed: Scores that a prediction has where the mask is closed, shape (N, 5).
        null_open: Nulls of a row with status ok where the mask is open, shape (N, 5).
        without_gold: Items that the evidence opens and nobody rated, shape (N, 5); none under the gold mask.
        not_asked: Nulls at open items that the judge's own mask had closed, shape (N, 5).
        status: Status of each figure's prediction, length N.
        unrated: Gold rows without any gold; they are left out.
    """

    figure_ids: tuple[str, ...]
    papers: NDArray[np.intp]
    paper_ids: tuple[str, ...]
    predictions: Floats
    golds: Floats
    open: NDArray[np.bool_]
    scored_closed: NDArray[np.bool_]
    null_open: NDArray[np.bool_]
    without_gold: NDArray[np.bool_]
    not_asked: NDArray[np.bool_]
    status: tuple[str, ...]
    unrated: int

    def column(self, index: int) -> ColumnScores:
        """The open figures of one column."""
        opened = self.open[:, index]
        return ColumnScores(
            predictions=self.predictions[opened, index],
            golds=self.golds[opened, index],
            papers=self.papers[opened],
            n_papers=len(self.paper_ids),
        )


def align(
    predictions: Iterable[Row],
    golds: Iterable[Row],
    *,
    mask: Mask = "gold",
    overall: Overall = "dimension_first",
    missing: Missing = "error",
    integers: bool = False,
) -> Aligned:
    """Join predictions with gold.

    Args:
        predictions: Rows of a prediction file (:class:`~scifigqual_bench.records.Prediction`); other keys are ignored.
        golds: Gold rows (:class:`~scifigqual_bench.records.Gold`). A row whose five dimensions are all null is an
            unrated figure: known, but left out.
        mask: ``"gold"`` opens what people rated, ``"evidence"`` what the figure's caption and citing text leave open
            (SPEC 3). The gold of an item that only the evidence opens is unknown, so it can't be scored either way.
        overall: ``"dimension_first"`` or ``"rater_mean"`` (SPEC 4). The rater mean is an overall over what people
            rated, so it goes with the gold mask only.
        missing: Whether a rated figure without a prediction row is an error or an unanswered item.
        integers: Whether the protocol promises integer scores, so that 7.5 is an error.

    Raises:
        ScoringInputError: Anything is wrong with the rows; lists all of it.
        ValueError: The options exclude each other.
    """
    for name, value, known in (
        ("mask", mask, ("gold", "evidence")),
        ("overall", overall, ("dimension_first", "rater_mean")),
        ("missing", missing, ("error", "unanswered")),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    if mask == "evidence" and overall == "rater_mean":
        raise ValueError(
            "overall='rater_mean' is a mean over the dimensions that people rated; it has no counterpart under "
            "mask='evidence'. Use mask='gold' or overall='dimension_first'."
        )
    predictions, golds = list(predictions), list(golds)
    gold_by_id = {row["figure_id"]: row for row in golds if figure_of(row)}
    prediction_by_id = {row["figure_id"]: row for row in predictions if figure_of(row)}
    problems = [
        *check_rows("golds", golds),
        *_check_golds(golds, mask, overall),
        *check_rows("predictions", predictions, integers=integers),
        *_check_status(predictions),
        *_check_join(predictions, gold_by_id, prediction_by_id, missing),
    ]
    if problems:
        raise ScoringInputError(problems)

    rated = sorted(rated_ids(golds))
    if not rated:
        raise ScoringInputError([InputProblem("golds", None, None, "no figure has gold: there is nothing to score")])
    gold_rows = [gold_by_id[fig] for fig in rated]
    rows = [prediction_by_id.get(fig, {"status": MISSING}) for fig in rated]
    status = tuple(map(_status, rows))

    gold = score_matrix(gold_rows)
    has_gold = ~np.isnan(gold)
    mask_open = has_gold if mask == "gold" else _listed(gold_rows, "open_dimensions")
    opened = mask_open & has_gold
    answers = score_matrix(rows)
    answered = ~np.isnan(answers)
    ok = np.array([entry == "ok" for entry in status])
    asked = _listed(rows, "open_dimensions", absent=True)

    gold_overall = (
        gated_mean(gold, mask_open)
        if overall == "dimension_first"
        else np.array([_number(row.get("overall_rater_mean")) for row in gold_rows])
    )
    papers, codes = np.unique([paper_of(fig) for fig in rated], return_inverse=True)
    return Aligned(
        figure_ids=tuple(rated),
        papers=codes,
        paper_ids=tuple(papers.tolist()),
        predictions=decimal(np.column_stack([np.where(opened, answers, np.nan), gated_mean(answers, mask_open)])),
        golds=decimal(np.column_stack([np.where(opened, gold, np.nan), gold_overall])),
        open=np.column_stack([opened, ~np.isnan(gold_overall)]),
        scored_closed=answered & ~mask_open,
        null_open=~answered & opened & ok[:, None],
        without_gold=mask_open & ~has_gold,
        not_asked=~answered & opened & ~asked,
        status=status,
        unrated=len(gold_by_id) - len(rated),
    )


def score_matrix(rows: Sequence[Row], columns: Sequence[str] = DIMENSION_KEYS) -> Floats:
    """The scores of checked rows, shape (rows, columns); NaN for null."""
    return np.array([[_number(row.get(key)) for key in columns] for row in rows]).reshape(len(rows), len(columns))


def check_rows(source: str, rows: Sequence[Any], *, integers: bool = False) -> list[InputProblem]:
    """Problems of rows: no mapping, no id, a repeated id (but for ratings), a score that is none, an unknown dimension.

    An absent score and None both mean "no score".

    Args:
        source: What the rows are, for the messages.
        rows: The rows.
        integers: Whether dimension scores must be integers.
    """
    problems = []
    first: dict[str, int] = {}
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            problems.append(InputProblem(source, index, None, f"is {_show(row)}, expected a row (a dict)"))
            continue
        fig = figure_of(row)

        def add(message: str, index: int = index, fig: str | None = fig) -> None:
            problems.append(InputProblem(source, index, fig, message))

        if fig is None:
            add(f"figure_id is {_show(row.get('figure_id'))}, expected PAPER__figNNNN")
        elif source != "ratings" and first.setdefault(fig, index) != index:
            add(f"repeats the figure of row {first[fig]}: keep one")
        for key in COLUMNS:
            value = row.get(key)
            if value is None:
                continue
            if not _is_score(value):
                add(f"{key} is {_show(value)}, {ON_SCALE}, or null")
            elif integers and key in DIMENSION_KEYS and value != int(value):
                add(f"{key} is {value}: the protocol gives integers")
        opened = row.get("open_dimensions")
        listed = isinstance(opened, list | tuple) and all(key in DIMENSION_KEYS for key in opened)
        if opened is not None and not listed:
            add(f"open_dimensions is {_show(opened)}, expected a list of some of {', '.join(DIMENSION_KEYS)}")
    return problems


def gated_mean(scores: Floats, opened: NDArray[np.bool_]) -> Floats:
    """Gated mean of each row (SPEC 3), shape (N,); NaN where an open score is missing or nothing is open.

    Args:
        scores: Shape (N, 5); NaN for null.
        opened: The mask, shape (N, 5).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(opened, scores, 0.0).sum(axis=1) / opened.sum(axis=1)


def rated_ids(golds: Iterable[Any]) -> set[str]:
    """Ids of the gold rows that have gold on any dimension."""
    rows = [row for row in golds if figure_of(row)]
    return {row["figure_id"] for row in rows if any(row.get(key) is not None for key in DIMENSION_KEYS)}


def check_scores(source: str, values: Sequence[Any]) -> list[InputProblem]:
    """Problems of bare scores: text, bools, None, NaN, or off the scale."""
    return [
        InputProblem(source, index, None, f"is {_show(value)}, {ON_SCALE}")
        for index, value in enumerate(values)
        if not _is_score(value)
    ]


def _check_golds(golds: Sequence[Any], mask: Mask, overall: Overall) -> Iterator[InputProblem]:
    for index, row in enumerate(golds):
        if not isinstance(row, Mapping):
            continue
        fig = figure_of(row)
        rated = [key for key in DIMENSION_KEYS if row.get(key) is not None]
        opened = row.get("open_dimensions")
        if mask == "evidence" and rated and (opened is None or np.size(opened) == 0):
            yield InputProblem("golds", index, fig, "has no open_dimensions: use mask='gold'")
        if overall == "rater_mean" and rated and row.get("overall_rater_mean") is None:
            yield InputProblem("golds", index, fig, "has no overall_rater_mean: use overall='dimension_first'")
        elif row.get("overall_rater_mean") is not None and not _is_score(row["overall_rater_mean"]):
            value = _show(row["overall_rater_mean"])
            yield InputProblem("golds", index, fig, f"overall_rater_mean is {value}, {ON_SCALE}, or null")


def _check_status(predictions: Sequence[Any]) -> Iterator[InputProblem]:
    for index, row in enumerate(predictions):
        if not isinstance(row, Mapping):
            continue
        fig, status = figure_of(row), _status(row)
        if status not in PREDICTION_STATUSES:
            known = ", ".join(PREDICTION_STATUSES)
            yield InputProblem("predictions", index, fig, f"status is {_show(status)}, expected one of {known}")
        elif status != "ok" and any(row.get(key) is not None for key in COLUMNS):
            yield InputProblem("predictions", index, fig, f"has scores although its status is {status}: null them")


def _check_join(
    predictions: Sequence[Any], gold_by_id: Row, prediction_by_id: Row, missing: Missing
) -> Iterator[InputProblem]:
    for index, row in enumerate(predictions):
        fig = figure_of(row)
        if fig is not None and fig not in gold_by_id:
            yield InputProblem("predictions", index, fig, "is not among the gold rows: remove it")
    if gold_by_id and prediction_by_id and gold_by_id.keys().isdisjoint(prediction_by_id):
        yield InputProblem("predictions", None, None, "share no figure with the gold rows: is this the right data set?")
    elif missing == "error":
        for fig in sorted(rated_ids(gold_by_id.values()) - prediction_by_id.keys()):
            remedy = "add it, with a status other than ok if it failed, or count it with missing='unanswered'"
            yield InputProblem("predictions", None, fig, f"has gold but no prediction row: {remedy}")


def figure_of(row: Any) -> str | None:
    """The figure id of a row, or None when it has none that is valid."""
    fig = row.get("figure_id") if isinstance(row, Mapping) else None
    return fig if isinstance(fig, str) and FIGURE_ID.match(fig) else None


def _is_score(value: Any) -> bool:
    """A number on the scale: no bool, no text, no NaN."""
    # The exact types first: this runs for every score of every row, and the general question is slow.
    number = type(value) in (int, float) or (isinstance(value, Real) and not isinstance(value, bool))
    return number and SCALE_MIN <= value <= SCALE_MAX


def _status(row: Row) -> Any:
    """Status of a prediction row; a row without one counts as ok."""
    return "ok" if row.get("status") is None else row["status"]


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _show(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def _listed(rows: Sequence[Row], field: str, absent: bool = False) -> NDArray[np.bool_]:
    """Whether each dimension is in each row's list, shape (rows, 5); ``absent`` where there is no list."""
    return np.array(
        [[absent if row.get(field) is None else key in row[field] for key in DIMENSION_KEYS] for row in rows]
    )


def status_counts(status: Iterable[str]) -> dict[str, int]:
    """How many figures have each status, in the order of the records, then ``missing``."""
    counts = Counter(status)
    return {name: counts[name] for name in (*PREDICTION_STATUSES, MISSING) if counts[name]}
