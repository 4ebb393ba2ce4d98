"""ScholScan: error detection in whole papers, an `evaluate` module over scifigqual_bench.companions.scholscan."""

import datasets
import evaluate

from scifigqual_bench.companions import row_metric
from scifigqual_bench.companions.scholscan import parse_items, score

_CITATION = """\
@misc{scholscan,
  title = {Not Search, But Scan: Benchmarking MLLMs on Scan-Oriented Academic Paper Reasoning},
  note = {arXiv:2603.28651}
}
"""

_DESCRIPTION = """\
Scores answers of a model that reads whole papers and looks for an error in them: from counts of places found, steps of
reasoning reached and unrelated errors claimed, to an item score, means per error type and overall, existence accuracy
and, for runs with a retriever, MRR@5, Recall@5 and Recall@10. Intervals come from a bootstrap of whole papers.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: One row per item, dicts with
        `item_id`, `paper_id`, `error_type` (a letter A..I), `error_exists` (True or False),
        `counts`: `existence` and `contains_target_error` (0 or 1), `location` (`gold_steps`, `hit_steps`,
        `extra_steps`), `reasoning` (`gold_steps`, `reached_steps`, `missing_steps`), `unrelated_errors`,
        and optionally `other_paper_ids`, `retrieval` (`ranked_pages`, `gold_pages`, both from 1), `status` (anything
        but "ok" means that there are no counts) and `status_reason`.
    resamples: Bootstrap samples for the intervals; 0 leaves the intervals out.
    confidence: Level of the intervals.
    seed: Seed of the bootstrap.

Returns:
    The report as a dict. `overall`, `with_error` and each entry of `by_type` hold `items`, `scored` and, from 0 to 100,
    the means `value` and `scored_only`, each with `value`, `low`, `high` and, where one is None, the `reason`.
    `existence`, `parts` and `retrieval` run from 0 to 1. `scored_items` lists every item with its parts.

Raises:
    InputError: Rows are wrong (more hits than there are places, text, a bool or a negative number for a count, pages
        from 0, a page twice, an item twice): lists all of it.

Examples:

    >>> metric = evaluate.load("metrics/scholscan")
    >>> item = {
    ...     "item_id": "q1", "paper_id": "soil-survey", "error_type": "C", "error_exists": True,
    ...     "counts": {
    ...         "existence": 1, "contains_target_error": 1, "unrelated_errors": 1,
    ...         "location": {"gold_steps": 2, "hit_steps": 2, "extra_steps": 0},
    ...         "reasoning": {"gold_steps": 2, "reached_steps": 2, "missing_steps": 0},
    ...     },
    ...     "retrieval": {"ranked_pages": [3, 8, 5], "gold_pages": [8, 9]},
    ... }
    >>> report = metric.compute(predictions=[item], resamples=0)
    >>> report["overall"]["value"]["value"], report["retrieval"]["mrr_at_5"]["value"]
    (90.0, 0.5)
    >>> report["by_type"]["A"]["value"]["reason"]
    'nothing to average'
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ScholScan(row_metric.RowMetric):
    """See the module's description."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            # Rows as JSON text, see RowMetric.
            features=datasets.Features({"predictions": datasets.Value("string")}),
        )

    def _compute(self, predictions, resamples=10_000, confidence=0.95, seed=0):
        items = parse_items(row_metric.decoded(predictions))
        return score(items, resamples=resamples, confidence=confidence, seed=seed).to_dict()
