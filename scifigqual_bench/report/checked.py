"""What a check of one paper found: the record behind its page, its JSON and its SARIF log.

The JSON file is this record as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from scifigqual_bench.records import BBox, DimensionKey, Problem, Record

Level = Literal["error", "warning", "note"]
"""How much a finding weighs, in the words of SARIF."""
State = Literal["open", "held", "silenced"]
"""``open``: counts, and is shown; ``held``: too light or too unsure to count, shown on demand; ``silenced``: set aside
by the user, with a reason."""

BEST, WORST = 10.0, 1.0
"""Score of a figure without an open finding, and the lowest."""


class CheckRule(Record):
    """A rule of the check.

    Attributes:
        id: Stable name, for example ``"VC-TINY-TEXT"``.
        dimension: The dimension that it is about; None for the numbering of figures and the references to them.
        says: What a reviewer would say, in one sentence.
        mend: How to mend it.
        source: Where its thresholds and its weight come from.
        weight: Points that an open finding takes from the score.
        held: Why its findings are held back by default; None where they are not.
    """

    id: str
    dimension: DimensionKey | None
    says: str
    mend: str
    source: str
    weight: float = Field(ge=0.0)
    level: Level
    held: str | None = None


class CheckFinding(Record):
    """One thing to mend.

    Attributes:
        id: Rule and figure, ``"VC-TINY-TEXT/3"``: the same as long as the rule finds something in that figure.
        rule: Id of the rule.
        evidence: What was found, in one sentence.
        page: Page of the PDF, from 1, where it is to be seen.
        bbox: The place on that page as displayed, in points from its top left corner; None where it has no place.
        image_bbox: The place in the figure's image, in pixels; None where it is not in the image.
        reason: Why it is silenced or held.
    """

    id: str
    rule: str
    evidence: str
    level: Level
    weight: float = Field(ge=0.0)
    state: State = "open"
    reason: str | None = None
    page: int | None = None
    bbox: BBox | None = None
    image_bbox: BBox | None = None


class CheckedFigure(Record):
    """A figure of the paper.

    Attributes:
        label: As printed, ``"Figure 3"``.
        number: As printed, ``"3"``.
        page: Page of its graphic or, without one, of its caption.
        bbox: Its graphic on the page as displayed, in points; None where none was found.
        score: :data:`BEST` less the weights of its open findings, not under :data:`WORST`; None where no graphic was
            found, and nothing that can be said without it.
        findings: The heaviest first, open ones before the others.
        unchecked: Why part of it could not be checked; None where all of it was.
    """

    label: str
    number: str
    caption: str
    page: int
    bbox: BBox | None = None
    citing: list[str] = []
    score: float | None = Field(default=None, ge=WORST, le=BEST)
    findings: list[CheckFinding] = []
    unchecked: str | None = None


class PaperCheck(Record):
    """What the check of a paper found.

    Attributes:
        path: The PDF as the user named it.
        version: Version of this package.
        text_from: What read the text of the figures: ``"PDF and rapidocr"``.
        score: The lowest score of the figures and of the references; None where there is nothing to check.
        references: Score of the numbering of figures and of the references to them.
        findings: About the numbering and the references, and about no single figure.
        problems: What could not be read or measured.
        unused: Entries of the configuration that silenced nothing.
        rules: All rules that were applied.
    """

    path: str
    sha256: str
    version: str
    title: str | None = None
    pages: int
    text_from: str
    score: float | None = None
    references: float = BEST
    figures: list[CheckedFigure] = []
    findings: list[CheckFinding] = []
    problems: list[Problem] = []
    unused: list[str] = []
    rules: list[CheckRule] = []

    def all_findings(self) -> Iterator[tuple[CheckedFigure | None, CheckFinding]]:
        """Every finding with its figure; None for those about no single figure."""
        yield from ((None, finding) for finding in self.findings)
        yield from ((figure, finding) for figure in self.figures for finding in figure.findings)

    def count(self, state: State) -> int:
        """Findings in a state."""
        return sum(finding.state == state for _, finding in self.all_findings())

    @property
    def rule_of(self) -> dict[str, CheckRule]:
        """The rules by id."""
        return {rule.id: rule for rule in self.rules}


def score_of(findings: list[CheckFinding]) -> float:
    """:data:`BEST` less the weights of the open findings, not under :data:`WORST`; to hundredths.

    >>> score_of([])
    10.0
    """
    return round(max(WORST, BEST - sum(finding.weight for finding in findings if finding.state == "open")), 2)
