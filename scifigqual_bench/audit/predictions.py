"""Read and check a prediction file against the dataset that it answers.

The file's own types are seen here and only here: ``evaluate`` casts ``True`` to 1.0 and ``"8"`` to 8.0 before a metric
sees them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from scifigqual_bench import gating
from scifigqual_bench.dataset.tables import TableError, explain, read_rows
from scifigqual_bench.records import Prediction
from scifigqual_bench.rubric import DIMENSION_KEYS

OVERALL_TOLERANCE = 0.005
"""A stated overall may be rounded to two decimals."""


@dataclass
class PredictionFile:
    """A prediction file that has been read.

    Attributes:
        rows: Valid rows by figure id, in file order.
        errors: Faults that make the file unfit for scoring; one sentence each, with file and line.
        warnings: What a reader should know: figures without a row, scores on closed dimensions, and the like.
    """

    rows: dict[str, Prediction] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_predictions(path: Path, known: Mapping[str, Collection[str]] | None = None) -> PredictionFile:
    """Read ``predictions.jsonl`` and check every row; nothing is raised for a fault of the file.

    Errors: a file or line that can't be read, wrong types (text, bool), NaN or infinity, scores outside 1..10, unknown
    fields, a failed row that has scores, an id twice, an id that the dataset doesn't have. Warnings: figures of the
    dataset without a row, a score where the mask is closed, none where it is open, an overall that is not the mean of
    its dimensions.

    Args:
        path: The file.
        known: Open dimensions by figure id, for every figure that may be predicted; None skips these checks.
    """
    result = PredictionFile()
    try:
        rows = read_rows(path)
    except TableError as error:
        result.errors += error.problems
        return result
    first_line: dict[str, int] = {}
    for row in rows:
        where = f"{path.name}, line {row.line}"
        try:
            prediction = Prediction.model_validate(row.cells)
        except ValidationError as error:
            result.errors += [f"{where}: {phrase}" for phrase in explain(error)]
            first_line.setdefault(str(row.cells.get("figure_id")), row.line)
            continue
        figure_id = prediction.figure_id
        if figure_id in first_line:
            result.errors.append(f"{where}: {figure_id} again (first on line {first_line[figure_id]}); keep one")
            continue
        first_line[figure_id] = row.line
        result.rows[figure_id] = prediction
        if known is not None and figure_id not in known:
            result.errors.append(f"{where}: {figure_id} is not in the dataset; remove the row or name its dataset")
        elif known is not None:
            _check_scores(prediction, known[figure_id], where, result)
        else:
            _check_scores(prediction, prediction.open_dimensions or (), where, result)
    if known is not None:
        missing = [figure_id for figure_id in known if figure_id not in first_line]
        if missing:
            shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
            result.warnings.append(f"{path.name}: {len(missing)} figures of the dataset have no row: {shown}")
    return result


def _check_scores(prediction: Prediction, mask: Collection[str], where: str, result: PredictionFile) -> None:
    scores = {key: getattr(prediction, key) for key in DIMENSION_KEYS}
    scored = [key for key, value in scores.items() if value is not None]
    stated = prediction.overall_score
    if prediction.status != "ok":
        if scored or stated is not None:
            result.errors.append(f"{where}: status {prediction.status!r}, yet it has scores; a failed row has none")
        return
    if not mask:
        return
    closed = [key for key in scored if key not in mask]
    absent = [key for key in mask if scores[key] is None]
    if closed:
        result.warnings.append(f"{where}: {prediction.figure_id}: scores on closed dimensions: {', '.join(closed)}")
    if absent:
        result.warnings.append(f"{where}: {prediction.figure_id}: no score on open dimensions: {', '.join(absent)}")
    own = gating.overall(scores, mask)
    if stated is not None and own is not None and not math.isclose(stated, own, abs_tol=OVERALL_TOLERANCE):
        text = f"overall_score {stated:g} is not the mean of its open dimensions ({own:.4g}); scoring uses the mean"
        result.warnings.append(f"{where}: {prediction.figure_id}: {text}")
