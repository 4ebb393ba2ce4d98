"""SciFigQual: agreement of figure scores with mean human gold, an `evaluate` module over scifigqual_bench.scoring."""

from collections.abc import Mapping
from itertools import zip_longest

import datasets
import evaluate

from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS
from scifigqual_bench.scoring import (
    STATISTICS,
    InputProblem,
    ScoringInputError,
    agreement,
    check_rows,
    check_scores,
    score,
)

_CITATION = """\
@misc{scifigqual,
  title = {SciFigQual-Bench: judging scientific figures in their manuscript},
  note = {arXiv:2607.27084}
}
"""

_DESCRIPTION = """\
Agreement of a judge's scores of scientific figures with the mean of several human ratings, on five dimensions from 1 to
10 and overall: mean absolute error, share within one point, Spearman correlation and signed bias, further RMSE, Kendall
tau-b and quadratic-weighted kappa, each with an interval from a bootstrap of whole papers, beside coverage and floors.
"""

_KWARGS_DESCRIPTION = """
The module has a configuration for rows (the default) and one per score column.

Args:
    predictions: Default: rows of a prediction file, dicts with `figure_id`, the five dimensions (a number or None)
        and, where there are any, `status` and `open_dimensions`; further keys are ignored. Column configurations:
        numbers.
    references: Default: gold rows, such as the `gold` column of the data set; joined with the predictions by
        `figure_id`, in any order. A None in place of the gold of an unrated figure needs its prediction at the same
        position. Column configurations: gold numbers in the order of the predictions.
    mask: Default configuration only, as all that follow. "gold" scores what people rated, "evidence" what the caption
        and the citing text of a figure leave open.
    overall: "dimension_first" or "rater_mean".
    min_coverage: Share of the open figures that must have a score for a headline.
    missing: "error", or "unanswered" to count rated figures without a prediction row as unanswered.
    integers: Whether scores must be integers.
    ratings: Rating rows of the rated figures (dicts with `figure_id`, `rater_id` and the five dimensions): adds how
        well the raters agree with each other, and the judge beside them.
    groupings: Labels by figure id, by name of the grouping: adds the scores of each slice.
    resamples: Bootstrap samples for the intervals; 0 leaves the intervals out.
    confidence: Level of the intervals.
    seed: Seed of the bootstrap.

Returns:
    Default: the report as a dict, the same as `eval.py score` writes. `columns` has an entry for each dimension and
    for `overall_score`; its `headline` holds the statistics, each with `value`, `low`, `high` and, where one is None,
    the `reason`. `headline` itself is None, with a `headline_reason`, when coverage is too low.
    Column configurations: a flat dict of the statistics and `n`; `undefined` gives the reason of every None.

Raises:
    ScoringInputError: Rows or numbers are wrong (not on the scale, text, a bool, NaN, repeated or unknown figures):
        lists all of them.

Examples:

    >>> metric = evaluate.load("metrics/scifigqual")
    >>> predictions = [
    ...     {"figure_id": "a__fig0001", "visual_clarity": 8, "structure_layout": 9, "caption_consistency": 6,
    ...      "context_consistency": None, "misleading_risk": 7},
    ...     {"figure_id": "b__fig0001", "visual_clarity": 6, "structure_layout": 7, "caption_consistency": 8,
    ...      "context_consistency": None, "misleading_risk": 8},
    ... ]
    >>> references = [
    ...     {"figure_id": "b__fig0001", "visual_clarity": 5.6667, "structure_layout": 8.0, "caption_consistency": 6.5,
    ...      "context_consistency": None, "misleading_risk": 8.0},
    ...     {"figure_id": "a__fig0001", "visual_clarity": 8.3333, "structure_layout": 9.0, "caption_consistency": 5.0,
    ...      "context_consistency": None, "misleading_risk": 7.0},
    ... ]
    >>> report = metric.compute(predictions=predictions, references=references, resamples=0)
    >>> round(report["columns"]["visual_clarity"]["headline"]["mae"]["value"], 4)
    0.3333
    >>> report["columns"]["caption_consistency"]["headline"]["within_1"]["value"]
    0.5
    >>> report["columns"]["context_consistency"]["headline_reason"]
    'no figure has gold on it'

    >>> metric = evaluate.load("metrics/scifigqual", "caption_consistency")
    >>> result = metric.compute(predictions=[7, 8], references=[7.33, 8.0])
    >>> round(result["mae"], 3), result["within_1"], result["spearman"]
    (0.165, 1.0, 1.0)
"""

_SCORES = {key: datasets.Value("float64") for key in DIMENSION_KEYS}
_ROW_FEATURES = datasets.Features(
    {
        "predictions": {
            "figure_id": datasets.Value("string"),
            **_SCORES,
            "status": datasets.Value("string"),
            "open_dimensions": datasets.List(datasets.Value("string")),
        },
        "references": {
            "figure_id": datasets.Value("string"),
            **_SCORES,
            "overall_rater_mean": datasets.Value("float64"),
            "open_dimensions": datasets.List(datasets.Value("string")),
        },
    }
)
_NUMBER_FEATURES = datasets.Features(
    {"predictions": datasets.Value("float64"), "references": datasets.Value("float64")}
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class SciFigQual(evaluate.Metric):
    """See the module's description."""

    @property
    def _takes_rows(self) -> bool:
        return self.config_name == "default"

    def _info(self) -> evaluate.MetricInfo:
        if not self._takes_rows and self.config_name not in COLUMNS:
            raise ValueError(
                f"unknown configuration {self.config_name!r}: leave it out, or one of {', '.join(COLUMNS)}"
            )
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=_ROW_FEATURES if self._takes_rows else _NUMBER_FEATURES,
        )

    def add_batch(self, *, predictions=None, references=None):
        """Add rows or numbers, as in :meth:`compute`.

        They are checked here, while a bool is still a bool and text is still text: the table that `evaluate` keeps them
        in would turn both into numbers.
        """
        predictions, references = _as_list(predictions), _as_list(references)
        _raise(
            InputProblem(source, None, None, "is empty: nothing to score")
            for source, rows in (("predictions", predictions), ("references", references))
            if not rows
        )
        if self._takes_rows:
            predictions, references = _prepare(predictions, references)
        else:
            _raise([*check_scores("predictions", predictions), *check_scores("references", references)])
        super().add_batch(predictions=predictions, references=references)

    def add(self, *, prediction=None, reference=None):
        """Add one prediction with its reference."""
        self.add_batch(predictions=[prediction], references=[reference])

    def _compute(
        self,
        predictions,
        references,
        mask="gold",
        overall="dimension_first",
        min_coverage=1.0,
        missing="error",
        integers=False,
        ratings=None,
        groupings=None,
        resamples=10_000,
        confidence=0.95,
        seed=0,
    ):
        options = {
            "mask": mask,
            "overall": overall,
            "min_coverage": min_coverage,
            "missing": missing,
            "integers": integers,
            "ratings": ratings,
            "groupings": groupings,
            "resamples": resamples,
            "confidence": confidence,
            "seed": seed,
        }
        if self._takes_rows:
            predictions = [row for row in predictions if row is not None]
            references = [row for row in references if row is not None]
            return score(predictions, references, **options).to_dict()
        without_effect = [name for name, value in options.items() if value != score.__kwdefaults__[name]]
        if without_effect:
            raise ValueError(
                f"{', '.join(without_effect)}: only for rows, not for the configuration {self.config_name}"
            )
        result = agreement(predictions, references)
        found = {name: getattr(result, name) for name in STATISTICS}
        return {
            "n": result.n,
            **{name: estimate.value for name, estimate in found.items()},
            "undefined": {name: estimate.reason for name, estimate in found.items() if estimate.value is None},
        }


def _as_list(values):
    """A list of Python objects, from a list, a data set column, an array or a tensor."""
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _prepare(predictions, references):
    """Rows cut to the features, padded with None to equal length: `evaluate` keeps both lists in one table."""
    if len(predictions) == len(references):
        # An unrated figure's gold is a bare None: its prediction at the same place tells which figure it is.
        references = [
            {"figure_id": prediction.get("figure_id")} if row is None and isinstance(prediction, Mapping) else row
            for prediction, row in zip(predictions, references, strict=True)
        ]
    _raise([*check_rows("predictions", predictions), *check_rows("references", references)])
    predictions = [_project(row, "predictions") for row in predictions]
    references = [_project(row, "references") for row in references]
    return tuple(zip(*zip_longest(predictions, references), strict=True))


def _project(row, side):
    cut = {name: row.get(name) for name in _ROW_FEATURES[side]}
    # `evaluate` accepts no null in a column of text; a row without a status counts as ok.
    return {**cut, "status": "ok"} if "status" in cut and cut["status"] is None else cut


def _raise(problems):
    problems = list(problems)
    if problems:
        raise ScoringInputError(problems)
