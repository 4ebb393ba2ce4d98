"""The rules: what moves a score, from which threshold on, by how much, and why. All of them stand in :data:`RULES`.

Each dimension starts from :data:`PRIORS`. A rule that finds something says so in one sentence (the evidence) and moves
the dimensions it names by its effect; a hard cap of the rubric cuts them. A rule's id begins with the dimension that it
is about, and stays: people silence rules by id.

Where thresholds and effects come from:

- *crops*: 48 figures cropped at 300 dpi from 18 papers of machine learning and computational linguistics, or all 218 of
  34 papers where that number is given. Thresholds lie where few or none of these sound figures are.
- *captions*: the captions and CC ratings of the half of eval1200's papers whose id hash is even (549 figures).
- *fitted*: the effect that a non-negative ridge regression on these captions gives beside all other findings in the
  caption, times 1.5 and rounded to 0.05 (``benchmarks/rules.py --fit``). It is well under the difference seen, because
  the findings of a caption come together; the factor spreads the whole numbers that scores are, of which a regression,
  drawn to the mean, would use five.
- *rubric*: the rubric says so (SPEC 2).
- *judgement*: nobody measured it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from scifigqual_bench.judges.backends import checks, places
from scifigqual_bench.judges.backends.checks import View
from scifigqual_bench.judges.backends.places import Box
from scifigqual_bench.records import Severity
from scifigqual_bench.rubric import CAPS

PRIORS: Mapping[str, float] = {
    "visual_clarity": 8.31,
    "structure_layout": 8.61,
    "caption_consistency": 7.4,
    "context_consistency": 8.27,
    "misleading_risk": 8.04,
}
"""Where a dimension starts; a figure without findings gets this, rounded.

It is the mean gold on eval1200 (SPEC 10), but for CC, where nearly every caption has a finding: there it is the start
of the fit, and the mean is 7.5 again once the findings are counted.
"""


@dataclass(frozen=True)
class Rule:
    """A named rule.

    Attributes:
        id: Stable name, its dimension first, for example ``"VC-TINY-TEXT"``.
        effects: Points by dimension.
        check: The evidence sentence, or None where there is nothing to say; thresholds are bound to it.
        says: What a reviewer would say of it, in one sentence.
        source: Where threshold and effects come from.
        mend: How to mend it; empty for what a figure does well.
        cap: The hard cap of the rubric that it triggers, by code.
        severity: What the language report makes of it; rules that need the image have none.
        place: Where in the image it is to be seen; None where it is not in the image.
        amount: How often its effects count, for what is there in degrees; None for what is there or not.
    """

    id: str
    effects: Mapping[str, float]
    check: Callable[[View], str | None]
    says: str
    source: str
    mend: str = ""
    cap: str | None = None
    severity: Severity = "none"
    place: Callable[[View], Box | None] | None = None
    amount: Callable[[View], float] | None = None

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

    @property
    def weight(self) -> float:
        """Points that it takes from the prior of the dimension that it hurts most; negative where it only adds."""
        costs = [-effect for effect in self.effects.values()]
        return max([*costs, *(PRIORS[key] - ceiling for key, ceiling in self.ceilings.items())])


@dataclass(frozen=True)
class Finding:
    """A rule that found something.

    Attributes:
        evidence: What it found, in one sentence.
        bbox: Where, in pixels of the figure's image; None where it is not in the image or the place is unknown.
        amount: How often the rule's effects count.
    """

    rule: Rule
    evidence: str
    bbox: Box | None = None
    amount: float = 1.0

    def effect(self, key: str) -> float:
        """Points by which it moves a dimension."""
        return self.amount * self.rule.effects.get(key, 0.0)


def find(view: View) -> list[Finding]:
    """Everything that the rules find in what a call may see, in the order of the table."""
    return [
        Finding(
            rule,
            evidence,
            rule.place(view) if rule.place else None,
            rule.amount(view) if rule.amount else 1.0,
        )
        for rule in RULES
        if (evidence := rule.check(view)) is not None
    ]


VC, SL, CC, CTX, MR = PRIORS

LEGIBLE_PT = 3.75
"""Text below this is illegible in print."""
FAINT = 3.0
"""Contrast ratio under which no text is easy to read, however large."""
FAR_FROM_ZERO = 0.2
"""An axis that starts above this share of its end does not show zero."""

IMAGE_RULES = (
    Rule(
        "VC-COARSE",
        {VC: -1.0},
        partial(checks.coarse, below=150, above=100),
        "The image is coarse at its printed size: fine detail is lost.",
        "Judgement.",
        "Include the figure as vector graphics, or export it at 300 dots per inch or more at its printed size.",
    ),
    Rule(
        "VC-VERY-COARSE",
        {VC: -3.0},
        partial(checks.coarse, below=100),
        "The image is so coarse that letters break up.",
        "Judgement.",
        "Include the figure as vector graphics, or export it at 300 dots per inch or more at its printed size.",
    ),
    Rule(
        "VC-BLURRED",
        {VC: -2.0},
        partial(checks.blurred, below=4000, above=2000),
        "The image is blurred.",
        "Crops: the lowest of 48 is 5,343; the same figures at 100 dpi, enlarged again, have 2,953 in the median.",
        "Don't enlarge a small image or a screenshot; export the figure again from its source.",
    ),
    Rule(
        "VC-VERY-BLURRED",
        {VC: -4.0},
        partial(checks.blurred, below=2000),
        "The image is badly blurred.",
        "Crops: the same figures at 72 dpi, enlarged again, lie below it in 95 of 100 cases.",
        "Don't enlarge a small image or a screenshot; export the figure again from its source.",
    ),
    Rule(
        "VC-SMALL-TEXT",
        {VC: -1.0},
        partial(checks.small_text, below=4.5, above=LEGIBLE_PT),
        "Most of the text can be read only with effort at print size.",
        "Rubric. Crops: 6 of 48 are below 4.5 pt.",
        "Draw the figure at the size at which it is printed, with text of 6 pt or more.",
        place=places.smallest_text,
    ),
    Rule(
        "VC-TINY-TEXT",
        {VC: -3.0},
        partial(checks.small_text, below=LEGIBLE_PT),
        "Most of the text is illegible at print size.",
        "Rubric. Crops: 1 of 48.",
        "Draw the figure at the size at which it is printed, with text of 6 pt or more.",
        place=places.smallest_text,
    ),
    Rule(
        "VC-TINY-LABELS",
        {VC: -0.5},
        partial(checks.smallest_text, below=LEGIBLE_PT, dense=120),
        "Some labels are lost in print.",
        "Rubric: in a dense figure small labels are normal.",
        "Enlarge the smallest labels, or leave out those that nobody needs.",
        place=places.smallest_text,
    ),
    Rule(
        "VC-UNSURE-TEXT",
        {VC: -1.0},
        partial(checks.unsure_ocr, below=0.85, boxes=3),
        "The text is hard to make out.",
        "What OCR can't read, a reader may not either. Crops: the 5th percentile is 0.86.",
        "Use a plain typeface, dark on light, and nothing behind the text.",
        place=places.least_sure_text,
    ),
    Rule(
        "VC-FAINT-TEXT",
        {VC: -0.5},
        partial(checks.faint_text, below=FAINT, least=3),
        "Some of the text is too pale to read with ease.",
        "WCAG 2.2, criterion 1.4.3: 3:1 is the least for large text, 4.5:1 for any other.",
        "Use a darker colour for text, or a lighter ground.",
        place=partial(places.faintest_text, below=FAINT),
    ),
    Rule(
        "VC-COLOUR-BLIND",
        {VC: -0.5},
        partial(checks.colours_collapse, below=3.0, apart=15.0),
        "Readers with red-green colour blindness can't tell two of the colours apart.",
        "Judgement: Machado's simulation; a distance of about 2 is just seen on large areas, thin lines need more.",
        "Choose a palette that is safe for colour-blind readers, or add markers, line styles or labels at the lines.",
    ),
    Rule(
        "VC-JPEG",
        {VC: -0.5},
        partial(checks.jpeg_artefacts, above=1.4, quality=20),
        "Compression has left blocks and smears around lines and letters.",
        "Crops: 1.34 at most in 218; plots saved as JPEG of quality 20 have 1.31 in the median, of quality 10 1.39, so "
        "that the quality counts as well: of 396 JPEG images embedded in papers none is under 44.",
        "Include the figure as vector graphics or PNG; JPEG is for photographs.",
    ),
    Rule(
        "VC-CUT-TITLE",
        {VC: -2.5},
        partial(checks.cut_title, largest=10.5),
        "The title of an axis is cut off.",
        "Rubric: between effortful and illegible key labels. Crops: none of 4,124 pieces of text in 218.",
        "Leave room for the axis titles when exporting (tight bounding box or constrained layout), or trim less.",
        place=partial(places.cut_title, largest=10.5),
    ),
    Rule(
        "VC-CLIPPED",
        {VC: -0.5},
        checks.clipped,
        "Something is cut off at the edge.",
        "Judgement: it may be only the crop, hence little.",
        "Export the figure with its whole bounding box, and check the trim values with which it is included.",
        place=places.clipped_edge,
    ),
    Rule(
        "VC-CLEAR-TEXT",
        {VC: 0.5},
        partial(checks.clear_text, size=6.5, smallest=LEGIBLE_PT, confidence=0.95, dpi=150, sharp=4000),
        "Everything that was read is legible at print size.",
        "Judgement.",
    ),
    Rule(
        "SL-DENSE",
        {SL: -0.75},
        partial(checks.dense, above=120),
        "There is too much to take in at once.",
        "Crops: 95% have 86 pieces of text or fewer.",
        "Split the figure, or move what the main message does not need to an appendix.",
    ),
    Rule(
        "SL-OVERLAPPING-TEXT",
        {SL: -1.0},
        partial(checks.overlapping, least=3),
        "Text covers text.",
        "Crops: at most one such pair in 217 of 218, and that a false one.",
        "Move, turn or thin out the labels until none lies on another.",
        place=places.overlapping_text,
    ),
    Rule(
        "SL-NO-TEXT",
        {SL: -0.5},
        checks.textless,
        "Nothing in the figure has a name, so its parts are hard to relate.",
        "Judgement; photos may do without.",
        "Label the parts, or letter the panels and explain them in the caption.",
    ),
    Rule(
        "SL-PANEL-ORDER",
        {SL: -3.5},
        checks.panel_order,
        "The panel letters send the eye back and forth.",
        "Rubric.",
        "Letter the panels by rows or by columns, and arrange them in that order.",
        place=places.panel_letters,
    ),
    Rule(
        "SL-PANEL-GAP",
        {SL: -0.75},
        checks.panel_gap,
        "A panel is missing, or has no letter.",
        "Judgement; OCR may have missed it.",
        "Letter all panels, without a gap.",
        place=places.panel_letters,
    ),
    Rule(
        "MR-TRUNCATED-BARS",
        {MR: -3.0},
        partial(checks.truncated_bars, share=FAR_FROM_ZERO),
        "The bars are cut at the foot, which exaggerates the differences between them.",
        "Rubric: bars show amounts by their length.",
        "Start the axis of the bars at zero, or show points instead of bars.",
        place=partial(places.axis_foot, share=FAR_FROM_ZERO),
    ),
    Rule(
        "MR-TRUNCATED-AXIS",
        {MR: -0.25},
        partial(checks.truncated_axis, share=FAR_FROM_ZERO),
        "The axis does not start at zero; a hasty reader may take it for zero.",
        "Judgement: usual for curves.",
        "Say so in the caption, or mark the break of the axis.",
        place=partial(places.axis_foot, share=FAR_FROM_ZERO),
    ),
    Rule(
        "MR-UNTITLED-AXIS",
        {MR: -0.5},
        checks.untitled_axis,
        "An axis has numbers and no name; the reader has to guess what it measures.",
        "Rubric: missing signals; little, for caption or legend may tell.",
        "Give the axis a title with its unit.",
        place=places.untitled_axis,
    ),
    Rule(
        "MR-NO-UNIT",
        {MR: -1.0},
        checks.missing_unit,
        "Without its unit the quantity can't be compared with anything.",
        "Rubric.",
        "Put the unit behind the axis label, as in 'Time (s)'.",
        place=places.quantity,
    ),
)

CAPTION_RULES = (
    Rule(
        "CC-LABEL-ONLY",
        {CC: -0.85, MR: -0.25},
        partial(checks.only_label, words=6),
        "The caption is a mere label.",
        "Fitted; rubric. Captions: CC 5.8 on 51 such, 7.6 on the others.",
        "Say what is shown, of what data, and what is to be seen.",
        severity="minor",
    ),
    Rule(
        "CC-VAGUE-TITLE",
        {CC: -0.2},
        partial(checks.vague_title, most=3),
        "The caption's first sentence is too general to tell which figure it belongs to.",
        "Fitted. Captions: CC 6.7 on 62 such, 7.5 on the others.",
        "Name in the first sentence what is shown, of which models or data.",
    ),
    Rule(
        "CC-MERGED",
        {CC: -3.5, MR: -1.0},
        checks.merged,
        "Two captions stand in one; part of it belongs to another figure.",
        "Rubric: that of another figure. Captions: CC 3.0 on both of two such.",
        "Give each figure a caption of its own.",
        severity="severe",
    ),
    Rule(
        "CC-NO-METRIC",
        {CC: -0.75, MR: -1.0},
        checks.no_metric,
        "The caption announces results, but does not say what was measured.",
        "A hard cap; fitted. Captions: CC 6.2 on 34 such, 7.5 on the others.",
        "Name the metric in the caption, as on the axis.",
        cap="caption-omits-comparison",
        severity="moderate",
    ),
    Rule(
        "CC-NO-GROUPS",
        {CC: -0.75, MR: -0.5},
        checks.no_groups,
        "The caption announces a comparison, but does not say of what.",
        "A hard cap. Captions: CC 5.7 on one such; the effect is that of CC-NO-METRIC.",
        "Name what is compared in the caption, as in the legend.",
        cap="caption-omits-comparison",
        severity="moderate",
    ),
    Rule(
        "CC-MEASURE",
        {CC: 0.1},
        checks.measure,
        "The caption says what is measured.",
        "Fitted; for each measure up to three. Captions: CC 7.7 on 357 with one or more, 7.0 on the others.",
        amount=partial(checks.measures, most=3),
    ),
    Rule(
        "CC-PANELS",
        {CC: 0.25},
        checks.panels_explained,
        "The caption tells the parts of the figure apart.",
        "Fitted; for each part up to four. Captions: CC 8.2 on 127 with one or more, 7.2 on the others.",
        amount=partial(checks.panels, most=4),
    ),
    Rule(
        "CC-FULL-SENTENCE",
        {CC: 0.35},
        checks.full_sentence,
        "The more a sentence of the caption names, the better it can be checked.",
        "Fitted; for each doubling from 9 things, the median of the captions, up to 23.",
        amount=partial(checks.fullness, typical=9, most=23),
    ),
    Rule(
        "CC-NAMES-MUCH",
        {CC: 0.35},
        checks.names_things,
        "The more of what is shown the caption names, the better.",
        "Fitted; for each doubling from 14 things, the median of the captions, up to 45.",
        amount=partial(checks.things_named, typical=14, most=45),
    ),
)

CAPTION_AND_IMAGE_RULES = (
    Rule(
        "CC-AXIS-NOT-NAMED",
        {CC: -1.0, MR: -0.25},
        checks.axis_not_named,
        "The caption does not say what the axes measure.",
        "Rubric: the cap of CC-NO-METRIC, found in the image.",
        "Name the metric in the caption, as on the axis.",
        cap="caption-omits-comparison",
        place=places.metric,
    ),
    Rule(
        "CC-PLOT-NO-MEASURE",
        {CC: -0.75},
        checks.plot_without_measure,
        "The caption does not say what is plotted.",
        "Rubric; the axes may say it, unread.",
        "Name in the caption what the axes show.",
    ),
    Rule(
        "CC-METRIC-DIFFERS",
        {CC: -2.0, MR: -1.0},
        checks.metric_differs,
        "Caption and image speak of different measures.",
        "Rubric.",
        "Make caption and axis name the same measure; check that the caption belongs to this figure.",
        place=places.metric,
    ),
    Rule(
        "CC-TREND-REVERSED",
        {CC: -3.5, MR: -3.0},
        checks.caption_contradicted,
        "The caption tells the opposite of what the plot shows.",
        "Rubric: a mismatch; as heavy as a caption of another figure.",
        "Read the trend off the figure again and correct the caption, or the figure.",
        place=places.contradicting_plot,
    ),
    Rule(
        "CC-WORDS-ABSENT",
        {CC: -1.0},
        checks.words_absent,
        "Nothing that the caption speaks of is found in the image.",
        "Judgement: it may be another figure's caption, or one in other words; absence alone is weak evidence.",
        "Check that the caption belongs to this figure, and use the words of the image.",
    ),
    Rule(
        "CC-WORDS-FOUND",
        {CC: 0.5},
        partial(checks.words_found, least=3),
        "The caption uses the words of the image.",
        "Judgement.",
    ),
    Rule(
        "CC-NUMBERS-ABSENT",
        {CC: -0.5},
        partial(checks.numbers_absent, named=3, read=5),
        "None of the caption's numbers stands in the image.",
        "Judgement; weak: a caption may give numbers that are not drawn.",
        "Check the numbers of the caption against those of the figure.",
    ),
    Rule(
        "CC-PANELS-NOT-DRAWN",
        {CC: -0.5},
        checks.panels_not_drawn,
        "The caption speaks of a panel that is not there.",
        "Judgement: they disagree, or OCR missed a letter.",
        "Letter every panel that the caption names.",
        place=places.panel_letters,
    ),
    Rule(
        "CC-PANELS-NOT-EXPLAINED",
        {CC: -0.5},
        checks.panels_not_explained,
        "The caption does not tell the panels apart; the reader has to guess.",
        "Judgement.",
        "Say in the caption what each panel shows.",
        place=places.panel_letters,
    ),
)

CONTEXT_RULES = (
    Rule(
        "CTX-BARE-POINTER",
        {CTX: -1.5},
        checks.bare_pointer,
        "The text only points at the figure and draws nothing from it.",
        "A hard cap.",
        "Say in the text what the figure shows and what follows from it.",
        cap="bare-pointer",
    ),
    Rule(
        "CTX-CLAIM",
        {CTX: 0.25},
        checks.claims,
        "The text draws a claim from the figure that can be checked.",
        "Judgement.",
    ),
    Rule(
        "CTX-NUMBERS-FOUND",
        {CTX: 0.5},
        partial(checks.claim_numbers_found, least=2),
        "The numbers of the text stand in the figure.",
        "Judgement.",
    ),
    Rule(
        "CTX-WORDS-ABSENT",
        {CTX: -1.5},
        checks.citing_words_absent,
        "The citing text seems to be about another figure.",
        "Judgement.",
        "Check the number of the figure in the text.",
    ),
    Rule(
        "CTX-REVERSED-TREND",
        {},
        checks.reversed_trend,
        "The text contradicts itself, so one side contradicts the figure.",
        "A hard cap.",
        "Read the trend off the figure again and correct the side that is wrong.",
        cap="reversed-trend",
        severity="contradiction",
    ),
    Rule(
        "CTX-TREND-DENIED",
        {},
        checks.citing_contradicted,
        "The text tells the opposite of what the plot shows.",
        "A hard cap.",
        "Read the trend off the figure again and correct the text, or the figure.",
        cap="reversed-trend",
        place=places.contradicting_plot,
    ),
)

RULES: tuple[Rule, ...] = (*IMAGE_RULES, *CAPTION_RULES, *CAPTION_AND_IMAGE_RULES, *CONTEXT_RULES)
