"""A check as a SARIF 2.1.0 log, which code hosts and editors show.

A PDF has no lines, and SARIF wants a region to have a place in the file: ``startLine`` is the page. The box on the page
stands in the region's properties. Silenced findings are results with a suppression; those held back are left out,
unless they are asked for.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from scifigqual_bench.report.checked import CheckedFigure, CheckFinding, CheckRule, PaperCheck

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
HEAVIEST = 4.0
"""Weight of the highest rank, 100."""


def sarif_log(check: PaperCheck, *, held: bool = False) -> dict[str, Any]:
    """The log, ready for ``json.dump``.

    Args:
        check: What was found.
        held: Whether findings that are held back become results too.

    Returns:
        A log with one run. The id of a finding (rule and figure) is the result's partial fingerprint: the same as long
        as the rule finds something in that figure.
    """
    index = {rule.id: place for place, rule in enumerate(check.rules)}
    results = [
        _result(check, figure, finding, index)
        for figure, finding in check.all_findings()
        if held or finding.state != "held"
    ]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "scifigqual-bench",
                        "semanticVersion": check.version,
                        "rules": [_descriptor(rule) for rule in check.rules],
                    }
                },
                "artifacts": [
                    {
                        "location": _location(check),
                        "mimeType": "application/pdf",
                        "hashes": {"sha-256": check.sha256},
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": results,
                "properties": {"score": check.score, "pages": check.pages},
            }
        ],
    }


def _location(check: PaperCheck) -> dict[str, Any]:
    path = PurePath(check.path)
    return {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}


def _descriptor(rule: CheckRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.says},
        "fullDescription": {"text": f"{rule.says} {rule.source}"},
        "help": {"text": rule.mend},
        "defaultConfiguration": {"level": "note" if rule.held else rule.level, "rank": _rank(rule.weight)},
        "properties": {"dimension": rule.dimension, "weight": rule.weight},
    }


def _result(
    check: PaperCheck, figure: CheckedFigure | None, finding: CheckFinding, index: dict[str, int]
) -> dict[str, Any]:
    rule = check.rules[index[finding.rule]]
    place: dict[str, Any] = {"artifactLocation": {**_location(check), "index": 0}}
    if finding.page is not None:
        box = {"bbox": finding.bbox, "unit": "points from the top left corner"} if finding.bbox else {}
        place["region"] = {"startLine": finding.page, "properties": {"page": finding.page, **box}}
    location: dict[str, Any] = {"physicalLocation": place}
    if figure is not None:
        location["logicalLocations"] = [{"name": figure.label, "kind": "figure"}]
    about = f"{figure.label}: " if figure else ""
    result = {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": finding.level,
        "rank": _rank(finding.weight),
        "message": {"text": f"{about}{finding.evidence}. {rule.says} {rule.mend}"},
        "locations": [location],
        "partialFingerprints": {"finding/v1": finding.id},
        "properties": {"weight": finding.weight, "figure": figure.number if figure else None},
    }
    if finding.state == "silenced":
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": finding.reason}]
    return result


def _rank(weight: float) -> float:
    return round(min(100.0, 100.0 * weight / HEAVIEST), 1)
