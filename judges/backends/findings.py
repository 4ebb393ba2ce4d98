"""The rules: what moves a score, from which threshold on, by how much, and why. All of them stand in :data:`RULES`.

Each dimension starts from :data:`PRIORS`. A rule that finds something says so in one sentence (the evidence) and moves
the dimensions it names by its effect; a ceiling cuts them (the hard caps of SPEC 2). A rule that does not apply finds
nothing: no axes, no panels and no legend never cost points.

Where the thresholds come from:

- *crops*: 48 figures cropped at 300 dpi from 18 papers of machine learning and computational linguistics. The
  threshold lies outside of what these sound figures show; the note says by how much.
- *captions*: the captions and CC ratings of the half of eval1200's papers whose id hash is even (549 figures).
- *rubric*: the rubric says so (SPEC 2).
- *judgement*: nobody measured it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scifigqual_bench.features.overlap import MIN_INSIDE, content_words, number_values, panels_named
from scifigqual_bench.pdf.citations import find_mentions, kind_of
from scifigqual_bench.records import Citation, CitationKind, ImageFeatures, Severity
from scifigqual_bench.rubric import CAPS
from scifigqual_bench.text_rules import (
    caption_body,
    caption_labels,
    details,
    finding_words,
    is_result_caption,
    metrics_named,
    names_measure,
    omits_groups,
    panel_phrases,
    reversed_pair,
    statements,
    word_count,
)

PRIORS: Mapping[str, float] = {
    "visual_clarity": 8.31,
    "structure_layout": 8.61,
    "caption_consistency": 7.48,
    "context_consistency": 8.27,
    "misleading_risk": 8.04,
}
"""Where a dimension starts: its mean gold on eval1200 (SPEC 10). A figure without findings gets this, rounded."""


@dataclass(frozen=True)
class View:
    """What the rules may look at in one call. A part that the call must not see is None, and its rules find nothing.

    Attributes:
        image: Measurements of the image.
        image_text: Text read in the image.
        axis_numbers: Numbers along left axes, from bottom to top, one tuple a panel.
        panel_letters: Panel letters read in the image, in reading order.
        caption: The caption.
        citations: Citing paragraphs with what each does.
    """

    image: ImageFeatures | None = None
    image_text: str | None = None
    axis_numbers: tuple[tuple[float, ...], ...] = ()
    panel_letters: tuple[str, ...] = ()
    caption: str | None = None
    citations: tuple[tuple[CitationKind, str], ...] | None = None

    @property
    def citing_text(self) -> str:
        """All citing paragraphs in one."""
        return " ".join(text for _, text in self.citations or ())


@dataclass(frozen=True)
class Rule:
    """A named rule.

    Attributes:
        id: Stable name of what it finds.
        effects: Points by dimension.
        check: The evidence sentence, or None where there is nothing to say.
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


@dataclass(frozen=True)
class Finding:
    """A rule that found something, and its evidence."""

    rule: Rule
    evidence: str


def find(view: View) -> list[Finding]:
    """Everything that the rules find in what a call may see, in the order of the table."""
    return [Finding(rule, evidence) for rule in RULES if (evidence := rule.check(view)) is not None]


def citation_kind(citation: Citation) -> CitationKind:
    """What a citing paragraph does: as its row says, else by the rule that extraction uses."""
    if citation.kind is not None:
        return citation.kind
    mentions = find_mentions(citation.text)
    return kind_of(citation.text, mentions) if mentions else "description"


# --- checks on the image --------------------------------------------------------------------------------------------

COARSE_DPI, VERY_COARSE_DPI = 150.0, 100.0
SOFT, VERY_SOFT = 4000.0, 2000.0
MIN_EDGES = 0.002
SMALL_TEXT_PT, TINY_TEXT_PT, LEGIBLE_TEXT_PT = 4.5, 3.0, 6.5
UNSURE_OCR, SURE_OCR = 0.85, 0.95
DENSE_BOXES = 120
FEW_BOXES = 3
MANY_OVERLAPS = 8


def _dpi(image: ImageFeatures) -> float | None:
    return None if not image.print_width_pt else image.width / image.print_width_pt * 72


def _coarse(below: float, above: float = 0.0) -> Callable[[View], str | None]:
    def check(view: View) -> str | None:
        dpi = _dpi(view.image) if view.image else None
        if dpi is None or not above <= dpi < below:
            return None
        return f"{dpi:.0f} dots per inch at print size, under {below:.0f}"

    return check


def sharpness(image: ImageFeatures) -> float:
    """Variance of the Laplacian over edge density: how steep the edges are that there are.

    Unlike the variance alone it does not call a figure blurred for having few lines.
    """
    return image.blur_laplacian / max(image.edge_density, MIN_EDGES)


def _blurred(below: float, above: float = 0.0) -> Callable[[View], str | None]:
    def check(view: View) -> str | None:
        if view.image is None or not above <= sharpness(view.image) < below:
            return None
        return f"edges are soft (Laplacian variance per edge {sharpness(view.image):.0f}, under {below:.0f})"

    return check


def _small_text(below: float, above: float = 0.0) -> Callable[[View], str | None]:
    def check(view: View) -> str | None:
        height = view.image.text_height_pt_median if view.image else None
        if height is None or not above <= height < below:
            return None
        return f"half of the text is {height:.1f} pt or smaller at print size, under {below:g} pt"

    return check


def _smallest_text(view: View) -> str | None:
    height = view.image.text_height_pt_min if view.image else None
    if height is None or height >= TINY_TEXT_PT or len(view.image.text_boxes) >= DENSE_BOXES:
        return None
    return f"smallest text {height:.1f} pt at print size"


def _unsure_ocr(view: View) -> str | None:
    confidence = view.image.ocr_confidence_mean if view.image else None
    if confidence is None or confidence >= UNSURE_OCR or len(view.image.text_boxes) < FEW_BOXES:
        return None
    return f"text is hard to read: mean OCR confidence {confidence:.2f}, under {UNSURE_OCR:g}"


def _clear_text(view: View) -> str | None:
    image = view.image
    if image is None or image.text_height_pt_median is None or image.ocr_confidence_mean is None:
        return None
    if image.text_height_pt_median < LEGIBLE_TEXT_PT or image.ocr_confidence_mean < SURE_OCR:
        return None
    if _blurred(SOFT)(view) or _coarse(COARSE_DPI)(view) or _smallest_text(view):
        return None
    return f"text is {image.text_height_pt_median:.1f} pt at print size and read with confidence " + (
        f"{image.ocr_confidence_mean:.2f}"
    )


def _clipped(view: View) -> str | None:
    edges = view.image.clipped_edges if view.image else []
    return f"ink runs off the image at the {' and '.join(edges)}" if edges else None


def _dense(view: View) -> str | None:
    boxes = len(view.image.text_boxes) if view.image else 0
    return f"{boxes} pieces of text in one figure, over {DENSE_BOXES}" if boxes > DENSE_BOXES else None


def _overlapping(view: View) -> str | None:
    pairs = itertools.combinations([box.bbox for box in view.image.text_boxes] if view.image else [], 2)
    count = sum(_covers(a, b) for a, b in pairs)
    return f"{count} pieces of text lie on top of others" if count >= MANY_OVERLAPS else None


def _covers(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether two boxes share 30% of the smaller one; what letters with tails share stays below."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    smaller = min((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return width > 0 and height > 0 and width * height > 0.3 * smaller


def _textless(view: View) -> str | None:
    if view.image is None or view.image.ocr_engine == "none" or view.image.text_boxes:
        return None
    return "no text was read in the image: nothing in it is labelled"


def _panel_order(view: View) -> str | None:
    letters = list(view.panel_letters)
    if len(letters) < 2 or letters == sorted(letters):
        return None
    return f"panels are lettered {', '.join(letters)} in reading order"


def _panel_gap(view: View) -> str | None:
    letters = sorted(set(view.panel_letters))
    if len(letters) < 2:
        return None
    missing = [chr(code) for code in range(ord("a"), ord(letters[-1])) if chr(code) not in letters]
    return f"panel letters {', '.join(letters)} without {', '.join(missing)}" if missing else None


def _truncated_axis(view: View, *, bars: bool) -> str | None:
    if bars != (re.search(r"\b(?:bar|bars|histograms?)\b", view.caption or "", re.IGNORECASE) is not None):
        return None
    cut = next((numbers for numbers in view.axis_numbers if _starts_high(numbers)), None)
    return f"{'bar' if bars else 'left'} axis starts at {cut[0]:g} and ends at {cut[-1]:g}" if cut else None


def _starts_high(numbers: Sequence[float]) -> bool:
    """Whether a linear axis starts well above zero: by two steps or more, and by a fifth of its height.

    One step is not enough: 1, 2, 3 are categories, and 20, 40, 60 may stand above an unlabelled zero.
    """
    steps = [later - earlier for earlier, later in itertools.pairwise(numbers)]
    linear = bool(steps) and min(steps) > 0 and max(steps) < 1.5 * min(steps)
    return linear and numbers[0] >= max(2 * min(steps), 0.2 * numbers[-1])


_NEEDS_UNIT = re.compile(
    r"\b(?:(?:wall[- ]clock|running|run|inference|training|elapsed|response) times?|runtimes?|latenc(?:y|ies)|"
    r"durations?|memory(?: usage)?|bandwidth|temperature|pressure|voltage|velocity|speed|power consumption|weight|"
    r"height|mass)\b",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"[(\[/,]\s?(?:[munµkMGT]?s|sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|days?|years?|[kKMGT]i?B|[munµkc]?m|[KkMG]?Hz|"
    r"[mk]?W|[mk]?V|k?g|°?\s?[CFK]|[kM]?Pa|bits?|bytes?|epochs?|steps?|iterations?|log|relative|normali[sz]ed|×|x|%|"
    r"a\.u\.)\b|%|\b(?:seconds?|minutes?|hours?|ms|GB|MB|km/h|m/s)\b",
)


def _missing_unit(view: View) -> str | None:
    if not view.image_text or not view.axis_numbers:
        return None
    named = _NEEDS_UNIT.search(view.image_text)
    if named is None or _UNIT.search(f"{view.image_text} {view.caption or ''}"):
        return None
    return f"{named[0]!r} is on the figure, and neither figure nor caption gives a unit"


# --- checks on the caption ------------------------------------------------------------------------------------------

LABEL_WORDS = 6
SHORT_WORDS = 17


def _body(view: View) -> str:
    return caption_body(view.caption or "")


def _only_label(view: View) -> str | None:
    words = word_count(_body(view))
    if not view.caption or words > LABEL_WORDS:
        return None
    return f"the caption is a label of {words} words: {_quote(_body(view))}"


def _short(view: View) -> str | None:
    words = word_count(_body(view))
    if not LABEL_WORDS < words <= SHORT_WORDS or statements(view.caption or ""):
        return None
    return f"the caption is a title of {words} words and explains nothing"


def _merged(view: View) -> str | None:
    labels = caption_labels(view.caption or "")
    return f"two captions ran together: {' and '.join(map(_quote, labels))}" if len(labels) > 1 else None


def _no_measure(view: View) -> str | None:
    if not view.caption or not is_result_caption(view.caption) or names_measure(_body(view)):
        return None
    return f"the caption announces results and names no metric: {_quote(_body(view))}"


def _plot_without_measure(view: View) -> str | None:
    if not view.caption or not view.axis_numbers or _no_measure(view) or names_measure(_body(view)):
        return None
    axis = metrics_named(view.image_text or "")
    says = f", the image says {axis[0]}" if axis else ""
    return f"the figure has numbered axes, the caption names no metric{says}"


def _no_groups(view: View) -> str | None:
    if not view.caption or not omits_groups(view.caption):
        return None
    return f"the caption announces a comparison and names nothing that is compared: {_quote(_body(view))}"


def _credited(check: Callable[[str], str | None]) -> Callable[[View], str | None]:
    """What a caption does well counts only while nothing says that it is another figure's caption."""

    def credited(view: View) -> str | None:
        if not view.caption or _words_absent(view) or _metric_differs(view):
            return None
        return check(view.caption)

    return credited


def _measure(caption: str) -> str | None:
    named = metrics_named(caption_body(caption))
    return f"the caption names {', '.join(named[:3])}" if named else None


def _panels_explained(caption: str) -> str | None:
    phrases = panel_phrases(caption)
    return f"the caption says what stands where ({', '.join(phrases[:4])})" if phrases else None


def _many_panels_explained(caption: str) -> str | None:
    phrases = panel_phrases(caption)
    return f"the caption explains {len(phrases)} parts one by one" if len(phrases) >= 3 else None


def _details(caption: str) -> str | None:
    given = details(caption)
    return f"the caption gives details ({'; '.join(given[:2])[:120]})" if given else None


def _explains(caption: str) -> str | None:
    found = statements(caption)
    return f"the caption explains the figure in {len(found)} sentences" if len(found) >= 2 else None


def _tells_finding(caption: str) -> str | None:
    words = finding_words(caption)
    return f"the caption tells what is to be seen ({', '.join(words[:3])})" if words else None


# --- checks of the caption against the image ------------------------------------------------------------------------

WORDS_TO_COMPARE = 5


def _words_absent(view: View) -> str | None:
    named, read = content_words(_body(view)), content_words(view.image_text or "")
    if min(len(named), len(read)) < WORDS_TO_COMPARE or _found(named, view.image_text or ""):
        return None
    return f"none of the caption's {len(named)} content words is among the {len(read)} words read in the image"


def _words_found(view: View) -> str | None:
    found = _found(content_words(_body(view)), view.image_text or "")
    return f"words of the caption stand in the image: {', '.join(found[:5])}" if len(found) >= 3 else None


def _found(words: set[str], image_text: str) -> list[str]:
    """Words that a text read by OCR holds, also where OCR lost the spaces around a longer one."""
    read, run_together = content_words(image_text), "".join(image_text.lower().split())
    return sorted(word for word in words if word in read or (len(word) >= MIN_INSIDE and word in run_together))


def _numbers_absent(view: View) -> str | None:
    named, read = _numbers(_body(view)), _numbers(view.image_text or "")
    if len(named) < 3 or len(read) < WORDS_TO_COMPARE or named & read:
        return None
    return f"none of the caption's numbers ({_listed(named)}) is read in the image"


def _numbers(text: str) -> set[float]:
    """Numbers from 10 and fractions: small whole numbers agree by chance."""
    return {number for number in number_values(text) if number >= 10 or number % 1}


def _listed(numbers: set[float]) -> str:
    return ", ".join(f"{number:g}" for number in sorted(numbers)[:4])


def _metric_differs(view: View) -> str | None:
    named, read = metrics_named(_body(view)), metrics_named(view.image_text or "")
    if not named or not read or set(named) & set(read):
        return None
    return f"the caption names {named[0]}, the image {read[0]}"


def _panels_not_drawn(view: View) -> str | None:
    missing = [letter for letter in panels_named(_body(view)) if letter not in view.panel_letters]
    if not missing or len(view.panel_letters) < 2:
        return None
    return f"the caption names panel {', '.join(missing)}, the image has {', '.join(view.panel_letters)}"


def _panels_not_explained(view: View) -> str | None:
    if not view.caption or len(view.panel_letters) < 2 or panel_phrases(view.caption):
        return None
    return f"the caption explains none of the panels {', '.join(view.panel_letters)}"


# --- checks on the citing text --------------------------------------------------------------------------------------


def _bare_pointer(view: View) -> str | None:
    if not view.citations or any(kind != "pointer" for kind, _ in view.citations):
        return None
    return f"the citing text only points at the figure: {_quote(view.citations[0][1])}"


def _claim(view: View) -> str | None:
    kinds = [kind for kind, _ in view.citations or () if kind in ("comparison", "trend")]
    return f"the citing text makes a claim that can be checked ({kinds[0]})" if kinds else None


def _claim_numbers_found(view: View) -> str | None:
    found = _numbers(view.citing_text) & _numbers(view.image_text or "")
    return f"numbers of the citing text stand in the image: {_listed(found)}" if len(found) >= 2 else None


def _citing_words_absent(view: View) -> str | None:
    citing = content_words(view.citing_text)
    shown = content_words(f"{view.image_text or ''} {_body(view)}")
    if view.image_text is None or min(len(citing), len(shown)) < 2 * WORDS_TO_COMPARE or citing & shown:
        return None
    return "the citing text shares no content word with caption and image"


def _citing_metric_differs(view: View) -> str | None:
    cited = metrics_named(view.citing_text)
    shown = metrics_named(f"{view.image_text or ''} {_body(view)}")
    if view.image_text is None or not cited or not shown or set(cited) & set(shown):
        return None
    return f"the citing text speaks of {cited[0]}, the figure of {shown[0]}"


def _reversed(view: View) -> str | None:
    texts = [*([view.caption] if view.caption else []), *(text for _, text in view.citations or ())]
    pair = reversed_pair(texts)
    return f"opposite trends: {_quote(pair[0])} against {_quote(pair[1])}" if pair else None


def _quote(text: str) -> str:
    return f'"{text if len(text) <= 80 else text[:79] + "…"}"'


# --- the table ------------------------------------------------------------------------------------------------------

VC, SL, CC, CTX, MR = PRIORS

RULES: tuple[Rule, ...] = (
    Rule("coarse", {VC: -1.0}, _coarse(COARSE_DPI, VERY_COARSE_DPI), "Thin lines break up in print. Judgement."),
    Rule("very-coarse", {VC: -3.0}, _coarse(VERY_COARSE_DPI), "Letters break up in print. Judgement."),
    Rule(
        "blurred",
        {VC: -2.0},
        _blurred(SOFT, VERY_SOFT),
        "Crops: the lowest of 48 is 5,343; the same figures at 100 dpi, enlarged again, have 2,953 in the median.",
    ),
    Rule(
        "very-blurred",
        {VC: -4.0},
        _blurred(VERY_SOFT),
        "Crops: at 72 dpi, enlarged again, 95% of the 48 lie under 1,958.",
    ),
    Rule(
        "small-text",
        {VC: -1.0},
        _small_text(SMALL_TEXT_PT, TINY_TEXT_PT),
        "Readable with effort. Crops: 6 of 48 are below.",
    ),
    Rule("tiny-text", {VC: -3.0}, _small_text(TINY_TEXT_PT), "Illegible in print. Crops: the lowest of 48 is 3.3 pt."),
    Rule(
        "tiny-labels",
        {VC: -0.5},
        _smallest_text,
        "Some labels are lost in print; a dense figure may have small ones (rubric).",
    ),
    Rule(
        "unsure-ocr",
        {VC: -1.0},
        _unsure_ocr,
        "What OCR can't read, a reader may not either. Crops: the 5th percentile is 0.86.",
    ),
    Rule("clipped", {VC: -0.5}, _clipped, "Something is cut off; it may be only the crop, hence the small effect."),
    Rule("clear-text", {VC: 0.5}, _clear_text, "Everything that was read is legible at print size. Judgement."),
    Rule("dense", {SL: -0.75}, _dense, "Much to take in at once. Crops: 95% have 86 pieces of text or fewer."),
    Rule("overlapping-text", {SL: -1.0}, _overlapping, "Text covers text. Crops: at most 6 pairs on any of 48."),
    Rule("textless", {SL: -0.5}, _textless, "Parts that have no names are hard to relate. Judgement; photos may do."),
    Rule("panel-order", {SL: -2.0}, _panel_order, "The letters send the eye back and forth (rubric)."),
    Rule("panel-gap", {SL: -0.75}, _panel_gap, "A panel is missing or not lettered; OCR may have missed a letter."),
    Rule(
        "truncated-bars",
        {MR: -3.0},
        lambda view: _truncated_axis(view, bars=True),
        "Bars show amounts by their length: cut at the foot, they exaggerate (rubric).",
    ),
    Rule(
        "truncated-axis",
        {MR: -0.5},
        lambda view: _truncated_axis(view, bars=False),
        "Usual for curves, misleading for bars, and which of the two it is is not known here.",
    ),
    Rule("missing-unit", {MR: -1.0}, _missing_unit, "A quantity without a unit can't be compared (rubric)."),
    Rule(
        "caption-label",
        {CC: -1.5, MR: -0.25},
        _only_label,
        "Vague (rubric). Captions: CC 5.8 up to 6 words, 7.6 above.",
        severity="minor",
    ),
    Rule("caption-short", {CC: -0.25}, _short, "Captions: CC 7.1 from 7 to 17 words, 7.6 elsewhere.", severity="minor"),
    Rule(
        "caption-merged",
        {CC: -3.5, MR: -1.0},
        _merged,
        "Part of it belongs to another figure. Captions: CC 3.0 on both of two such.",
        severity="severe",
    ),
    Rule(
        "caption-no-metric",
        {CC: -0.75, MR: -1.0},
        _no_measure,
        "A hard cap. Captions: CC 6.3 on 35 such, 7.5 elsewhere.",
        cap="caption-omits-comparison",
        severity="moderate",
    ),
    Rule(
        "caption-no-groups",
        {CC: -0.75, MR: -0.5},
        _no_groups,
        "A hard cap.",
        cap="caption-omits-comparison",
        severity="moderate",
    ),
    Rule(
        "plot-no-metric",
        {CC: -0.75, MR: -0.5},
        _plot_without_measure,
        "The same cap, found in the image: numbered axes and no measure in the caption.",
        cap="caption-omits-comparison",
    ),
    Rule("caption-metric", {CC: 0.25}, _credited(_measure), "Captions: CC 7.7 with a measure, 7.0 without."),
    Rule("caption-panels", {CC: 0.5}, _credited(_panels_explained), "Captions: CC 8.2 with, 7.2 without."),
    Rule("caption-many-panels", {CC: 0.25}, _credited(_many_panels_explained), "Captions: CC 8.4 from three parts on."),
    Rule("caption-details", {CC: 0.25}, _credited(_details), "Captions: CC 7.9 with, 7.2 without."),
    Rule("caption-explains", {CC: 0.5}, _credited(_explains), "Captions: CC 8.1 with two such sentences, 7.3 without."),
    Rule("caption-finding", {CC: 0.25}, _credited(_tells_finding), "Captions: CC 8.0 with, 7.4 without."),
    Rule(
        "caption-words-absent",
        {CC: -1.5},
        _words_absent,
        "It may be another figure's caption. Crops: 3 of 48; absence alone is weak evidence, so it is no mismatch yet.",
    ),
    Rule("caption-words-found", {CC: 0.5}, _words_found, "The caption speaks of this image."),
    Rule("caption-numbers-absent", {CC: -0.5}, _numbers_absent, "Weak: a caption may give numbers that are not drawn."),
    Rule("caption-metric-differs", {CC: -2.0, MR: -1.0}, _metric_differs, "Caption and image disagree (rubric)."),
    Rule("caption-panels-not-drawn", {CC: -0.5}, _panels_not_drawn, "Caption and image disagree; OCR may be at fault."),
    Rule("panels-not-explained", {CC: -0.5}, _panels_not_explained, "The reader has to guess what each panel is."),
    Rule("bare-pointer", {CTX: -1.5}, _bare_pointer, "A hard cap.", cap="bare-pointer", severity="minor"),
    Rule("claim", {CTX: 0.25}, _claim, "There is something to agree with. Judgement."),
    Rule("claim-numbers-found", {CTX: 0.5}, _claim_numbers_found, "The image supports the claim. Judgement."),
    Rule("citing-words-absent", {CTX: -1.5}, _citing_words_absent, "It may speak of another figure. Judgement."),
    Rule("citing-metric-differs", {CTX: -1.0, MR: -0.5}, _citing_metric_differs, "The claim is about something else."),
    Rule(
        "reversed-trend",
        {},
        _reversed,
        "A hard cap: caption and citing text, or two citing paragraphs, contradict each other.",
        cap="reversed-trend",
        severity="contradiction",
    ),
)
