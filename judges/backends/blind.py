"""The ``blind`` backend: the blind floor as a judge, so that it can be run, scored and compared like any other.

It answers the single call of Direct and Sidecar from caption and citing text by :mod:`scifigqual_bench.blind`. It looks
at nothing else. Answers are integers, as those of every judge are; the floor in score tables is not rounded and stands
a little higher (on eval1200, CC: Spearman 0.50 against 0.48, MAE 0.904 against 0.909). Papers that it was fitted on are
scored by the coefficients that were fitted without them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from scifigqual_bench.blind import BlindModel
from scifigqual_bench.judges.base import Request, Response
from scifigqual_bench.judges.runner import to_score
from scifigqual_bench.records import direct_answer, paper_of

MODEL_FILE = "blind.json"
"""The fitted model in the run folder."""
SINGLE_CALLS = ("direct", "sidecar")


class BlindBackend:
    """Answers requests by a fitted blind floor.

    Args:
        fitted: The model.
    """

    name = "blind"
    model = "blind"

    def __init__(self, fitted: BlindModel):
        self.fitted = fitted
        content = fitted.model_dump(mode="json", exclude={"fitted_at", "packages", "source"})
        self.revision: str | None = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]

    def settings(self) -> dict[str, Any]:
        """What it was fitted on."""
        provenance = self.fitted.model_dump(include={"fingerprint", "papers", "figures", "ridge"})
        return {"sampling": {"fitted": provenance}, "image": {}}

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """One answer per request, in order."""
        return [self._respond(request) for request in requests]

    def _respond(self, request: Request) -> Response:
        if request.role not in SINGLE_CALLS:
            return Response("", "error", f"the blind floor answers {' and '.join(SINGLE_CALLS)} calls only")
        citing = [citation.text for citation in request.evidence.citations or ()]
        scores = self.fitted.predict(paper_of(request.figure_id), request.evidence.caption or "", citing)
        missing = [key for key in request.open_dimensions if key not in scores]
        if missing:
            return Response("", "error", f"the blind floor was fitted without ratings of {', '.join(missing)}")
        record = direct_answer(request.open_dimensions)
        answer = {
            key: {"score": to_score(scores[key]), "reason": self._reason(key, scores[key])}
            for key in record.model_fields
        }
        return Response(record.model_validate(answer).model_dump_json())

    def _reason(self, key: str, score: float) -> str:
        if not self.fitted.dimensions[key].learnt:
            return f"The mean of the rated figures, {score:.2f}; the text tells nothing of this dimension."
        return f"Told from the surface of the text alone: {score:.2f}. The figure was not looked at."
