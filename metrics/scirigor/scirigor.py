"""SciRIGOR: is a claim supported by its own run, an `evaluate` module over scifigqual_bench.companions.scirigor."""

import datasets
import evaluate

from scifigqual_bench.companions import row_metric
from scifigqual_bench.companions.scirigor import parse_cases, score

_CITATION = """\
@misc{scirigor,
  title = {SciRIGOR},
  note = {arXiv:2609.06192}
}
"""

_DESCRIPTION = """\
Scores generated scientific claims by the evidence of the run behind them, a graph from data over transforms and
results to marks of a figure and to claims: SoftECS (strongest approved complete path, as strong as its weakest
element), Strict, first failures, local agreement and execution rate, per domain and over domains. Intervals come from a
bootstrap of whole articles.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: Verifications of runs, dicts with `case_id`, `executed` (True or False), `nodes` (a list of `node` and
        `fidelity`, 0..1) and `edges` (a list of `edge` and `validity`, 0..1), and optionally `inputs_read` (hashes),
        `status_reason`, and a `reason` beside each number.
    references: Cases, dicts with `case_id`, `article_id`, `domain`, `nodes`, `edges` and `claims`; joined with the
        predictions by `case_id`, in any order.
    combine: How a claim combines its computational side, its visual side and its own fidelity: "min", "product" or
        "mean".
    claims: Claims that SoftECS averages: "all" or "primary".
    provenance: "required", or "ignored" to leave provenance edges out.
    full: Value from which a node or an edge holds.
    resamples: Bootstrap samples for the intervals; 0 leaves the intervals out.
    confidence: Level of the intervals.
    seed: Seed of the bootstrap.

Returns:
    The report as a dict. `overall`, `macro` (mean of the domains) and each entry of `domains` hold `soft_ecs`, `strict`
    and `executed`, 0..1, each with `value`, `low`, `high` and, where one is None, the `reason`. `case_failures` and
    `claim_failures` count first failures by stage, `consistency` is local agreement, and `case_scores` lists every case
    with its claims.

Raises:
    InputError: A case contradicts itself, a check is missing, a number is none or not from 0 to 1, a case has no run:
        lists all of it, with the element's name.

Examples:

    >>> metric = evaluate.load("metrics/scirigor")
    >>> case = {
    ...     "case_id": "reef-2", "article_id": "reef", "domain": "ecology",
    ...     "nodes": [
    ...         {"id": "logger", "layer": "data", "sha256": 64 * "0"},
    ...         {"id": "daily", "layer": "transform"},
    ...         {"id": "peak", "layer": "result"},
    ...         {"id": "curve", "layer": "mark"},
    ...         {"id": "august", "layer": "claim"},
    ...     ],
    ...     "edges": [
    ...         {"id": "e1", "source": "logger", "target": "daily"},
    ...         {"id": "e2", "source": "daily", "target": "peak"},
    ...         {"id": "e3", "source": "peak", "target": "curve"},
    ...         {"id": "e4", "source": "peak", "target": "august"},
    ...         {"id": "e5", "source": "curve", "target": "august"},
    ...     ],
    ...     "claims": [{"node": "august", "primary": True, "computational": [["peak"]], "visual": [["curve"]]}],
    ... }
    >>> run = {
    ...     "case_id": "reef-2", "executed": True,
    ...     "nodes": [{"node": node["id"], "fidelity": 0.5 if node["id"] == "curve" else 1} for node in case["nodes"]],
    ...     "edges": [{"edge": edge["id"], "validity": 1} for edge in case["edges"]],
    ... }
    >>> report = metric.compute(predictions=[run], references=[case], resamples=0)
    >>> report["overall"]["soft_ecs"]["value"], report["overall"]["strict"]["value"], report["case_failures"]
    (0.5, 0.0, {'mark': 1})
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class SciRigor(row_metric.RowMetric):
    """See the module's description."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            # Rows as JSON text, see RowMetric.
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
        )

    def _compute(
        self,
        predictions,
        references,
        combine="min",
        claims="all",
        provenance="required",
        full=1.0,
        resamples=10_000,
        confidence=0.95,
        seed=0,
    ):
        cases = parse_cases(row_metric.decoded(references), row_metric.decoded(predictions))
        return score(
            cases,
            combine=combine,
            claims=claims,
            provenance=provenance,
            full=full,
            resamples=resamples,
            confidence=confidence,
            seed=seed,
        ).to_dict()
