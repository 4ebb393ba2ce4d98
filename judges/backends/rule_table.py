"""The rules: what moves a score, from which threshold on, by how much, and why. All of them stand in :data:`RULES`.

Each dimension starts from :data:`PRIORS`. A rule that finds something says so in one sentence (the evidence) and moves
the dimensions it names by its effect; a hard cap of the rubric cuts them.

Where thresholds and effects come from:

- *crops*: 48 figures cropped at 300 dpi from 18 papers of machine learning and computational linguistics. Thresholds
  lie where few or none of these sound figures are.
- *captions*: the captions and CC ratings of the half of eval1200's papers whose id hash is even (549 figures). Effects
  are well under the differences seen, because the findings of a caption come together.
- *rubric*: the rubric says so (SPEC 2).
- *judgement*: nobody measured it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from scifigqual_bench.judges.backends import checks
from scifigqual_bench.judges.backends.checks import View
from scifigqual_bench.records import Severity
from scifigqual_bench.rubric import CAPS

PRIORS: Mapping[str, float] = {
    "visual_clarity": 8.31,
    "structure_layout": 8.61,
    "caption_consistency": 7.48,
    "context_consistency": 8.27,
    "misleading_risk": 8.04,
}
"""Where a dimension starts: its mean gold on eval1200 (SPEC 10). A figure without findings gets this, rounded."""


@dataclass(frozen=True)
class Rule:
    """A named rule.

    Attributes:
        id: Stable name of what it finds.
        effects: Points by dimension.
        check: The evidence sentence, or None where there is nothing to say; thresholds are bound to it.
        why: What it means for a reader, and where threshold and effect come from.
        cap: The hard cap of the rubric that it triggers, by code.
        severity: What the language report makes of it; rules that need the image have none.
    """

    id: str
    effects: Mapping[str, float]
    check: Callable[[View], str | None]
    why: str
    cap: str | None = None
    severity: Severity = "none"

    @property
    def ceilings(self) -> dict[str, int]:
        """Highest score by dimension, where the rule triggers a hard cap."""
        return {key: cap.ceiling for cap in CAPS if cap.code == self.cap for key in cap.dimensions}

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions that it moves or cuts, in rubric order."""
        return tuple(key for key in PRIORS if key in self.effects or key in self.ceilings)

    @property
    def is_fault(self) -> bool:
        """Whether it can lower a score."""
        return self.cap is not None or min(self.effects.values()) < 0


@dataclass(frozen=True)
class Finding:
    """A rule that found something, and its evidence."""

    rule: Rule
    evidence: str


def find(view: View) -> list[Finding]:
    """Everything that the rules find in what a call may see, in the order of the table."""
    return [Finding(rule, evidence) for rule in RULES if (evidence := rule.check(view)) is not None]


VC, SL, CC, CTX, MR = PRIORS

IMAGE_RULES = (
    Rule("coarse", {VC: -1.0}, partial(checks.coarse, below=150, above=100), "Thin lines break up. Judgement."),
    Rule("very-coarse", {VC: -3.0}, partial(checks.coarse, below=100), "Letters break up. Judgement."),
    Rule(
        "blurred",
        {VC: -2.0},
        partial(checks.blurred, below=4000, above=2000),
        "Crops: the lowest of 48 is 5,343; the same figures at 100 dpi, enlarged again, have 2,953 in the median.",
    ),
    Rule(
        "very-blurred",
        {VC: -4.0},
        partial(checks.blurred, below=2000),
        "Crops: the same figures at 72 dpi, enlarged again, lie below it in 95 of 100 cases.",
    ),
    Rule(
        "small-text",
        {VC: -1.0},
        partial(checks.small_text, below=4.5, above=3.75),
        "Readable with effort (rubric). Crops: 6 of 48 are below 4.5 pt.",
    ),
    Rule("tiny-text", {VC: -3.0}, partial(checks.small_text, below=3.75), "Illegible in print. Crops: 1 of 48."),
    Rule(
        "tiny-labels",
        {VC: -0.5},
        partial(checks.smallest_text, below=3.75, dense=120),
        "Some labels are lost in print; in a dense figure small labels are normal (rubric).",
    ),
    Rule(
        "unsure-ocr",
        {VC: -1.0},
        partial(checks.unsure_ocr, below=0.85, boxes=3),
        "What OCR can't read, a reader may not either. Crops: the 5th percentile is 0.86.",
    ),
    Rule("clipped", {VC: -0.5}, checks.clipped, "Something is cut off; it may be only the crop, hence little."),
    Rule(
        "clear-text",
        {VC: 0.5},
        partial(checks.clear_text, size=6.5, smallest=3.75, confidence=0.95, dpi=150, sharp=4000),
        "Everything that was read is legible at print size. Judgement.",
    ),
    Rule("dense", {SL: -0.75}, partial(checks.dense, above=120), "Much to take in. Crops: 95% have 86 or fewer."),
    Rule(
        "overlapping-text",
        {SL: -1.0},
        partial(checks.overlapping, least=12),
        "Text covers text. Crops: 6 pairs at most; OCR itself makes some.",
    ),
    Rule("textless", {SL: -0.5}, checks.textless, "Parts without names are hard to relate; photos may do. Judgement."),
    Rule("panel-order", {SL: -3.5}, checks.panel_order, "The letters send the eye back and forth (rubric)."),
    Rule("panel-gap", {SL: -0.75}, checks.panel_gap, "A panel is missing or has no letter; OCR may have missed it."),
    Rule(
        "truncated-bars",
        {MR: -3.0},
        partial(checks.truncated_bars, share=0.2),
        "Bars show amounts by their length: cut at the foot, they exaggerate (rubric).",
    ),
    Rule(
        "truncated-axis",
        {MR: -0.25},
        partial(checks.truncated_axis, share=0.2),
        "Usual for curves; a hasty reader may take it for zero.",
    ),
    Rule("missing-unit", {MR: -1.0}, checks.missing_unit, "Without a unit it can't be compared (rubric)."),
)

CAPTION_RULES = (
    Rule(
        "caption-label",
        {CC: -1.5, MR: -0.25},
        partial(checks.only_label, words=6),
        "Vague (rubric). Captions: CC 5.8 on 51 such, 7.6 on the others.",
        severity="minor",
    ),
    Rule(
        "caption-short",
        {CC: -0.25},
        partial(checks.short, above=6, words=17),
        "Captions: CC 7.1 on 142 such, 7.5 on the others.",
    ),
    Rule(
        "caption-merged",
        {CC: -3.5, MR: -1.0},
        checks.merged,
        "Part of it belongs to another figure (rubric). Captions: CC 3.0 on both of two such.",
        severity="severe",
    ),
    Rule(
        "caption-no-metric",
        {CC: -0.75, MR: -1.0},
        checks.no_metric,
        "A hard cap. Captions: CC 6.2 on 34 such, 7.5 on the others.",
        cap="caption-omits-comparison",
        severity="moderate",
    ),
    Rule(
        "caption-no-groups",
        {CC: -0.75, MR: -0.5},
        checks.no_groups,
        "A hard cap. Captions: CC 5.7 on one such.",
        cap="caption-omits-comparison",
        severity="moderate",
    ),
    Rule("caption-measure", {CC: 0.25}, checks.measure, "Captions: CC 7.7 with, 7.0 without."),
    Rule("caption-panels", {CC: 0.5}, partial(checks.panels_explained, least=1), "Captions: CC 8.2 with, 7.2 without."),
    Rule(
        "caption-many-panels",
        {CC: 0.25},
        partial(checks.panels_explained, least=3),
        "Captions: CC 8.4 with, 7.4 without.",
    ),
    Rule("caption-details", {CC: 0.25}, checks.gives_details, "Captions: CC 7.9 with, 7.2 without."),
    Rule("caption-explains", {CC: 0.5}, partial(checks.explains, least=2), "Captions: CC 8.1 with, 7.3 without."),
    Rule("caption-finding", {CC: 0.25}, checks.tells_finding, "Captions: CC 8.0 with, 7.4 without."),
)

CAPTION_AND_IMAGE_RULES = (
    Rule(
        "axis-not-named",
        {CC: -1.0, MR: -0.25},
        checks.axis_not_named,
        "The cap of caption-no-metric, found in the image.",
        cap="caption-omits-comparison",
    ),
    Rule("plot-no-measure", {CC: -0.75}, checks.plot_without_measure, "Vague (rubric); the axes may say it, unread."),
    Rule("caption-metric-differs", {CC: -2.0, MR: -1.0}, checks.metric_differs, "Caption and image disagree (rubric)."),
    Rule(
        "caption-words-absent",
        {CC: -1.0},
        checks.words_absent,
        "It may be another figure's caption, or one in other words: absence alone is weak evidence.",
    ),
    Rule("caption-words-found", {CC: 0.5}, partial(checks.words_found, least=3), "It speaks of this image. Judgement."),
    Rule(
        "caption-numbers-absent",
        {CC: -0.5},
        partial(checks.numbers_absent, named=3, read=5),
        "Weak: a caption may give numbers that are not drawn.",
    ),
    Rule("caption-panels-not-drawn", {CC: -0.5}, checks.panels_not_drawn, "They disagree, or OCR missed a letter."),
    Rule("panels-not-explained", {CC: -0.5}, checks.panels_not_explained, "The reader has to guess. Judgement."),
)

CONTEXT_RULES = (
    Rule("bare-pointer", {CTX: -1.5}, checks.bare_pointer, "A hard cap.", cap="bare-pointer"),
    Rule("claim", {CTX: 0.25}, checks.claims, "There is something to agree with. Judgement."),
    Rule(
        "claim-numbers-found",
        {CTX: 0.5},
        partial(checks.claim_numbers_found, least=2),
        "The image supports the claim. Judgement.",
    ),
    Rule("citing-words-absent", {CTX: -1.5}, checks.citing_words_absent, "It may be about another figure. Judgement."),
    Rule(
        "reversed-trend",
        {},
        checks.reversed_trend,
        "A hard cap: the text contradicts itself, so one side contradicts the figure.",
        cap="reversed-trend",
        severity="contradiction",
    ),
)

RULES: tuple[Rule, ...] = (*IMAGE_RULES, *CAPTION_RULES, *CAPTION_AND_IMAGE_RULES, *CONTEXT_RULES)
