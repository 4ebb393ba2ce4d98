"""The checks behind the rules: each looks at a :class:`View` and says in one sentence what it found, or None.

Thresholds are keyword arguments; their values stand in the table (:mod:`.rule_table`). A check that does not apply
finds nothing: a figure without axes, panels or legend never loses points for them.
"""

from __future__ import annotations

import colorsys
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scifigqual_bench.features.overlap import MIN_INSIDE, content_words, number_values, panels_named
from scifigqual_bench.pdf.citations import PARAGRAPH_BREAK, find_mentions, kind_of, sentences
from scifigqual_bench.records import Axis, Citation, CitationKind, ImageFeatures, TextBox
from scifigqual_bench.text_rules import (
    Direction,
    caption_body,
    caption_labels,
    caption_sentences,
    caption_title,
    is_result_caption,
    measures_named,
    metrics_named,
    omits_groups,
    panel_phrases,
    reversed_pair,
    trend_claims,
    word_count,
)


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
    def has_axes(self) -> bool:
        """Whether a left axis is numbered upwards, in even steps or by a factor; other columns may number rows."""
        return any(_steps(numbers) is not None for numbers in self.axis_numbers)

    @property
    def body(self) -> str:
        """The caption without its label; empty without a caption."""
        return caption_body(self.caption or "")

    @property
    def citing_text(self) -> str:
        """All citing paragraphs in one."""
        return " ".join(text for _, text in self.citations or ())


def citation_kind(citation: Citation) -> CitationKind:
    """What a citing paragraph does: as its row says, else by the rule that extraction uses."""
    if citation.kind is not None:
        return citation.kind
    mentions = find_mentions(citation.text)
    return kind_of(citation.text, mentions) if mentions else "description"


# --- checks on the image --------------------------------------------------------------------------------------------

MIN_EDGES = 0.002
"""Edge density under which sharpness is not divided further."""


def coarse(view: View, *, below: float, above: float = 0.0) -> str | None:
    """Resolution at print size, in dots per inch."""
    dpi = dots_per_inch(view.image) if view.image else None
    if dpi is None or not above <= dpi < below:
        return None
    return f"{dpi:.0f} dots per inch at print size, under {below:g}"


MOSTLY_RASTER = 0.5
"""Share of a figure that embedded images cover, from which it is as coarse as they are."""


def dots_per_inch(image: ImageFeatures) -> float | None:
    """Resolution at print size; None where the size is unknown, infinite for vector graphics.

    Where the PDF tells what is embedded, that counts, and not the resolution at which the figure was rendered. Images
    with all their labels drawn over them are taken for data: their pixels are what they show.
    """
    if image.raster_share is not None:
        labels_drawn = bool(image.text_boxes) and all(box.source == "pdf" for box in image.text_boxes)
        return image.effective_dpi if image.raster_share >= MOSTLY_RASTER and not labels_drawn else math.inf
    return image.width / image.print_width_pt * 72 if image.print_width_pt else None


def blurred(view: View, *, below: float, above: float = 0.0) -> str | None:
    """Soft edges."""
    if view.image is None or not above <= sharpness(view.image) < below:
        return None
    return f"edges are soft (Laplacian variance per edge {sharpness(view.image):.0f}, under {below:g})"


def sharpness(image: ImageFeatures) -> float:
    """Variance of the Laplacian over edge density: how steep the edges are that there are.

    Unlike the variance alone it does not call a figure blurred for having few lines.
    """
    return image.blur_laplacian / max(image.edge_density, MIN_EDGES)


def small_text(view: View, *, below: float, above: float = 0.0) -> str | None:
    """Median text height at print size, in points."""
    height = view.image.text_height_pt_median if view.image else None
    if height is None or not above <= height < below:
        return None
    return f"half of the text is {height:.1f} pt or smaller at print size, under {below:g} pt"


def smallest_text(view: View, *, below: float, dense: int) -> str | None:
    """Smallest text at print size, in points; in a figure with ``dense`` pieces of text small ones are normal."""
    height = view.image.text_height_pt_min if view.image else None
    if height is None or height >= below or len(view.image.text_boxes) >= dense:
        return None
    return f"smallest text {height:.1f} pt at print size"


def unsure_ocr(view: View, *, below: float, boxes: int) -> str | None:
    """Mean confidence of OCR over at least ``boxes`` pieces of text; it says nothing of text that the PDF tells."""
    confidence = view.image.ocr_confidence_mean if view.image else None
    if confidence is None or confidence >= below or len(view.image.text_boxes) < boxes:
        return None
    if 2 * sum(box.source == "ocr" for box in view.image.text_boxes) < len(view.image.text_boxes):
        return None
    return f"text is hard to read: mean OCR confidence {confidence:.2f}, under {below:g}"


def clear_text(view: View, *, size: float, smallest: float, confidence: float, dpi: float, sharp: float) -> str | None:
    """Text that is large enough, sure to read, and in a sharp image."""
    image = view.image
    if image is None or image.text_height_pt_median is None:
        return None
    height, sure = image.text_height_pt_median, image.ocr_confidence_mean
    large = height >= size and (image.text_height_pt_min or 0.0) >= smallest
    crisp = sharpness(image) >= sharp and (dots_per_inch(image) or 0.0) >= dpi
    # text that the PDF tells was not read from the pixels, and has no confidence of OCR
    told = any(box.source == "pdf" for box in image.text_boxes)
    if not large or not crisp or (sure < confidence if sure is not None else not told):
        return None
    how = f"read with confidence {sure:.2f}" if sure is not None else "told by the PDF"
    return f"text is {height:.1f} pt at print size and {how}"


def faint_text(view: View, *, below: float, least: int) -> str | None:
    """At least ``least`` pieces of text that stand out little from their ground."""
    faint = faintest(view.image, below) if view.image else []
    if len(faint) < least:
        return None
    lowest = f"{_quote(faint[0].text)} by {faint[0].contrast:.1f}:1"
    return f"{len(faint)} pieces of text stand out by less than {below:g}:1 from their ground, {lowest}"


def faintest(image: ImageFeatures, below: float) -> list[TextBox]:
    """Pieces of text of several characters with less contrast than ``below``, the faintest first."""
    measured = [box for box in image.text_boxes if box.contrast is not None and len(box.text.strip()) > 1]
    return sorted((box for box in measured if box.contrast < below), key=lambda box: box.contrast)


def colours_collapse(view: View, *, below: float, apart: float) -> str | None:
    """Two colours of a plot with a key that are ``apart`` for most people, and nearly one without L or M cones."""
    image = view.image
    if image is None or not image.axes or len(image.legend) < 2 or (image.colour_distance_min or 0.0) < apart:
        return None
    seen = [
        (image.deuteranopia_distance_min, image.deuteranopia_pair, "deuteranopia"),
        (image.protanopia_distance_min, image.protanopia_pair, "protanopia"),
    ]
    distance, pair, kind = min(((d, *rest) for d, *rest in seen if d is not None), default=(math.inf, [], ""))
    if distance >= below:
        return None
    named = " and ".join(f"{colour_name(colour)} ({colour})" for colour in pair)
    return f"{named} look alike to people with {kind} (CIEDE2000 {distance:g}, under {below:g})"


_HUES = ("red", "orange", "yellow", "green", "green", "green", "cyan", "blue", "blue", "purple", "pink", "pink")


def colour_name(colour: str) -> str:
    """Common name of a colour with a hue, given as ``"#rrggbb"``.

    >>> [colour_name(colour) for colour in ("#2ca02c", "#ff7f0e", "#1f77b4", "#8c564b")]
    ['green', 'orange', 'blue', 'brown']
    """
    hue, _, value = colorsys.rgb_to_hsv(*(byte / 255 for byte in bytes.fromhex(colour[1:])))
    name = _HUES[round(12 * hue) % 12]
    return "brown" if name in ("red", "orange") and value < 0.65 else name


def jpeg_artefacts(view: View, *, above: float, quality: int) -> str | None:
    """Visible blocks of JPEG compression in a figure that is an image; a small photo in a drawing is left alone.

    Told by the blocks themselves, or by the ``quality`` with which a figure with text was stored, at most.
    """
    image = view.image
    if image is None or (image.raster_share is not None and image.raster_share < MOSTLY_RASTER):
        return None
    if (image.jpeg_blockiness or 0.0) > above:
        return f"steps at the borders of JPEG blocks are {image.jpeg_blockiness:.2f} times those within, over {above:g}"
    if image.text_boxes and image.jpeg_quality is not None and image.jpeg_quality <= quality:
        return f"the figure is stored as JPEG of quality {image.jpeg_quality} of 100"
    return None


_TALL = re.compile(r"[A-Zbdfhkl0-9]")


def cut_title(view: View, *, largest: float) -> str | None:
    """A title that runs up the left side and reaches beyond the ink there, in a size of at most ``largest`` points."""
    title = beyond_the_left(view.image, largest) if view.image else None
    return f"{_quote(title.text)} is cut off at the left" if title else None


def beyond_the_left(image: ImageFeatures, largest: float) -> TextBox | None:
    """Rising text with tall letters whose box, as the PDF tells it, does not end within the image.

    A figure is cut at its ink with a margin, so letters that are drawn in full leave the margin free. The margin has
    one width, so that the box of a large font, a tenth of its size taller than the letters, may fill it.
    """
    for box in image.text_boxes:
        told = box.source == "pdf" and box.rotated and (box.font_size_pt or math.inf) <= largest
        if told and box.bbox[0] <= 0 and len(box.text.strip()) > 2 and _TALL.search(box.text):
            return box
    return None


def clipped(view: View) -> str | None:
    """Ink that runs off the image."""
    edges = view.image.clipped_edges if view.image else []
    return f"ink runs off the image at the {' and '.join(edges)}" if edges else None


def dense(view: View, *, above: int) -> str | None:
    """Number of pieces of text of two characters or more: OCR takes shapes in pictures for single ones.

    A grid of numbered plots is read plot by plot, so there it is their mean number.
    """
    boxes = sum(len(box.text.strip()) > 1 for box in view.image.text_boxes) if view.image else 0
    plots = max(1, len({axis.panel for axis in view.image.axes})) if view.image else 1
    return f"{boxes} pieces of text in one figure, over {above}" if boxes > above * plots else None


def overlapping(view: View, *, least: int) -> str | None:
    """Words on top of others."""
    count = len(overlapping_words(view.image)) if view.image else 0
    return f"{count} words lie on top of others" if count >= least else None


def overlapping_words(image: ImageFeatures) -> list[tuple[TextBox, TextBox]]:
    """Words of one size on top of each other, not the parts of a formula and not the boxes around slanted text."""
    pairs = ((image.text_boxes[i], image.text_boxes[j]) for i, j in image.overlapping_text)
    return [(a, b) for a, b in pairs if _is_level_word(a) and _is_level_word(b) and _alike(a, b)]


def _is_level_word(box: TextBox) -> bool:
    """At least three letters, read surely, in a box as long as level letters of its height are together."""
    count, width, height = len(box.text.strip()), box.bbox[2] - box.bbox[0], box.bbox[3] - box.bbox[1]
    level = not box.rotated and height / 4 <= width / max(count, 1) <= 1.1 * height
    return count >= 3 and level and (box.confidence or 0.0) >= 0.8


def _alike(a: TextBox, b: TextBox) -> bool:
    """Whether two pieces of text come from one source, and are of about one height."""
    low, high = sorted(box.bbox[3] - box.bbox[1] for box in (a, b))
    return a.source == b.source and high < 1.6 * low


def textless(view: View) -> str | None:
    """No text at all, where somebody looked for it."""
    if view.image is None or view.image.ocr_engine == "none" or view.image.text_boxes:
        return None
    return "no text was read in the image: nothing in it is labelled"


def panel_order(view: View) -> str | None:
    """Panel letters, complete from a on, whose order is neither that of rows nor that of columns."""
    letters = list(view.panel_letters)
    if view.image is None or sorted(letters) != [chr(ord("a") + index) for index in range(len(letters))]:
        return None
    places = [place_of_letter(letter, view.image) for letter in sorted(letters)]
    if None in places or not any(_goes_back(a, b) for a, b in itertools.pairwise(places)):
        return None
    return f"panels are lettered {', '.join(letters)} in reading order"


def place_of_letter(letter: str, image: ImageFeatures) -> Sequence[float] | None:
    """Box of the text that begins with a panel letter in brackets, else of the letter alone."""
    for pattern in (rf"\(?\s?{letter}\s?\)", rf"{letter}[.:]?\s*$"):
        for box in image.text_boxes:
            if re.match(pattern, box.text, re.IGNORECASE):
                return box.bbox
    return None


def _goes_back(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether the way from one panel letter to the next leads against both ways of reading, by rows and by columns."""
    height = max(a[3] - a[1], b[3] - b[1])
    left, above = b[0] < a[0] - height, b[1] < a[1] - height
    below, right = b[1] > a[1] + height, b[0] > a[0] + height
    return (left and not below) or (above and not right)


def panel_gap(view: View) -> str | None:
    """Panel letters with one missing in between."""
    letters = sorted(set(view.panel_letters))
    if len(letters) < 2:
        return None
    missing = [chr(code) for code in range(ord("a"), ord(letters[-1])) if chr(code) not in letters]
    return f"panel letters {', '.join(letters)} without {', '.join(missing)}" if missing else None


def truncated_bars(view: View, *, share: float) -> str | None:
    """Bars on an axis that starts above ``share`` of its end."""
    cut = foot_of_bars(view, share)
    if cut is None:
        return None
    foot, numbers = cut
    bars = f"{view.image.standing_bars} bars stand" if view.image.standing_bars else f"{view.image.lying_bars} bars lie"
    return f"{bars} on an axis that starts at {foot:.3g} and ends at {numbers[-1]:g}"


def foot_of_bars(view: View, share: float) -> tuple[float, Sequence[float]] | None:
    """Value at the foot of bars that are cut there, with the numbers of their axis; None for whole bars, or none.

    Bars whose foot was measured have to end where their axis begins: the boxes of a box plot hang above it. Of standing
    bars whose foot is unknown every left axis has to be linear and to start high.
    """
    image = view.image
    if image is None or not (image.standing_bars or image.lying_bars):
        return None
    base = image.bar_base
    axes = view.axis_numbers if image.standing_bars else [axis.numbers for axis in image.axes if axis.side == "bottom"]
    if base is None:
        cut = image.standing_bars and axes and all(starts_high(numbers, share) for numbers in axes)
        return (axes[0][0], axes[0]) if cut else None
    high = (numbers for numbers in axes if _steps(numbers) == "linear" and base >= share * numbers[-1] > 0)
    return next(((base, numbers) for numbers in high if _begins_at(numbers, base)), None)


def _begins_at(numbers: Sequence[float], value: float) -> bool:
    """Whether an axis begins at a value: at its first number, or less than a step below."""
    step = numbers[1] - numbers[0]
    return numbers[0] - step < value < numbers[0] + step / 10


def truncated_axis(view: View, *, share: float) -> str | None:
    """A linear axis that starts above ``share`` of its end, under anything but bars."""
    cut = next((numbers for numbers in view.axis_numbers if starts_high(numbers, share)), None)
    if cut is None or truncated_bars(view, share=share):
        return None
    return f"left axis starts at {cut[0]:g} and ends at {cut[-1]:g}"


def starts_high(numbers: Sequence[float], share: float) -> bool:
    """Whether a linear axis starts well above zero.

    By one step is not enough: 1, 2, 3 are categories, and 20, 40, 60 may stand above an unlabelled zero.
    """
    return _steps(numbers) == "linear" and numbers[0] >= max(2 * (numbers[1] - numbers[0]), share * numbers[-1])


def _steps(numbers: Sequence[float]) -> Literal["linear", "logarithmic"] | None:
    """How the numbers of an axis rise; None where they fall or rise unevenly. From four on, some may be missing."""
    pairs = list(itertools.pairwise(numbers))
    steps = [later - earlier for earlier, later in pairs]
    if not steps or min(steps) <= 0:
        return None
    if max(steps) < (3.1 if len(numbers) > 3 else 1.1) * min(steps):
        return "linear"
    ratios = [later / earlier for earlier, later in pairs if earlier > 0]
    return "logarithmic" if len(ratios) == len(pairs) and min(ratios) > 1.9 else None


def untitled_axis(view: View) -> str | None:
    """Numbered left axes without a title, in a figure that names no metric; only where the PDF tells all text.

    OCR loses titles that are a single letter or run upwards.
    """
    axis = leftmost_axis(view.image) if view.image and view.image.ocr_engine == "pdf" else None
    if axis is None or view.image.rotated_text or metrics_named(view.image_text or ""):
        return None
    if any(each.title for each in view.image.axes if each.side == "left"):
        return None
    if any(_may_name(box, axis) for box in view.image.text_boxes):
        return None
    return "the left axis has numbers and no title"


def leftmost_axis(image: ImageFeatures) -> Axis | None:
    """The left axis of a plot at the left edge of the figure."""
    return min((axis for axis in image.axes if axis.side == "left"), key=lambda axis: axis.bbox[0], default=None)


def _may_name(box: TextBox, axis: Axis) -> bool:
    """Whether a piece of text stands left of an axis's numbers or on top of them."""
    x0, y0, x1, y1 = axis.bbox
    left, top, right, bottom = box.bbox
    beside = right <= x0 + 1 and top < y1 and bottom > y0
    above = left < x1 and right > x0 and y0 - 3 * (bottom - top) < bottom <= y0 + 1
    return beside or above


NEEDS_UNIT = re.compile(
    r"\b(?:(?:wall[- ]clock|running|run|inference|training|elapsed|response) times?|runtimes?|latenc(?:y|ies)|"
    r"durations?|memory(?: usage)?|bandwidth|temperature|pressure|voltage|velocity|speed|power consumption)\b",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"[(\[/,]\s?(?:[munµkMGT]?s|sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|days?|years?|[kKMGT]i?B|[munµkc]?m|[KkMG]?Hz|"
    r"[mk]?W|[mk]?V|k?g|°?\s?[CFK]|[kM]?Pa|bits?|bytes?|epochs?|steps?|iterations?|log|relative|normali[sz]ed|×|x|%|"
    r"a\.u\.)\b|%|\b(?:seconds?|minutes?|hours?|ms|GB|MB|km/h|m/s)\b",
)


def missing_unit(view: View) -> str | None:
    """A quantity on a numbered figure that makes no sense without a unit, and none in figure or caption."""
    if not view.image_text or not view.has_axes:
        return None
    named = NEEDS_UNIT.search(view.image_text)
    if named is None or _UNIT.search(f"{view.image_text} {view.caption or ''}"):
        return None
    return f"{_quote(named[0])} is on the figure, and neither figure nor caption gives a unit"


# --- checks on the caption ------------------------------------------------------------------------------------------


def only_label(view: View, *, words: int) -> str | None:
    """A caption of at most ``words`` words."""
    count = word_count(view.body)
    if not view.caption or count > words:
        return None
    return f"the caption is a label of {count} words: {_quote(view.body)}"


def vague_title(view: View, *, most: int) -> str | None:
    """A first sentence that names at most ``most`` different things."""
    named = content_words(caption_title(view.caption or ""))
    if not view.caption or len(named) > most:
        return None
    return f"the caption opens with {_quote(caption_title(view.caption))}, which names no more than {most} things"


def merged(view: View) -> str | None:
    """A second caption inside the caption."""
    labels = caption_labels(view.caption or "")
    return f"two captions ran together: {' and '.join(map(_quote, labels))}" if len(labels) > 1 else None


def no_metric(view: View) -> str | None:
    """A caption that announces results and does not say what was measured."""
    if not view.caption or not is_result_caption(view.caption) or measures_named(view.body):
        return None
    return f"the caption announces results and names no metric: {_quote(view.body)}"


def no_groups(view: View) -> str | None:
    """A caption that announces a comparison and does not say of what."""
    if not view.caption or not omits_groups(view.caption):
        return None
    return f"the caption announces a comparison and names nothing that is compared: {_quote(view.body)}"


def measure(view: View) -> str | None:
    """What is measured, said."""
    named = _credited(view) and measures_named(view.body)
    return f"the caption says what is measured ({', '.join(named[:3])})" if named else None


def measures(view: View, *, most: int) -> float:
    """Number of measures that the caption names, at most ``most``."""
    return min(len(measures_named(view.body)), most)


def panels_explained(view: View) -> str | None:
    """Parts of the figure, told apart."""
    phrases = _credited(view) and panel_phrases(view.caption or "")
    return f"the caption says what stands where ({', '.join(phrases[:4])})" if phrases else None


def panels(view: View, *, most: int) -> float:
    """Number of parts that the caption tells apart, at most ``most``."""
    return min(len(set(map(str.lower, panel_phrases(view.caption or "")))), most)


def full_sentence(view: View) -> str | None:
    """The sentence that names most: the more, the better it can be checked against the image."""
    fullest = _fullest_sentence(view) if view.caption and _credited(view) else ""
    count = len(content_words(fullest))
    return f"the fullest sentence of the caption names {count} different things: {_quote(fullest)}" if fullest else None


def fullness(view: View, *, typical: int, most: int) -> float:
    """Doublings of what the fullest sentence names, from what is typical."""
    return _doublings(len(content_words(_fullest_sentence(view))), typical, most)


def _fullest_sentence(view: View) -> str:
    return max(caption_sentences(view.caption or ""), key=lambda part: len(content_words(part)), default="")


def names_things(view: View) -> str | None:
    """What the whole caption names."""
    if not view.caption or not _credited(view):
        return None
    return f"the caption names {len(content_words(view.body))} different things"


def things_named(view: View, *, typical: int, most: int) -> float:
    """Doublings of what the caption names, from what is typical."""
    return _doublings(len(content_words(view.body)), typical, most)


def _doublings(count: int, typical: int, most: int) -> float:
    """How often ``typical`` has to be doubled to give a count, which is taken for 2 at least; negative for halvings."""
    return math.log2(min(max(count, 2), most) / typical)


def _credited(view: View) -> bool:
    """What a caption does well counts only while nothing says that it is another figure's."""
    return not words_absent(view) and not metric_differs(view)


# --- checks of the caption against the image ------------------------------------------------------------------------

WORDS_TO_COMPARE = 8
"""Fewest content words on either side for their absence to mean anything."""


_NAMED_AXIS = re.compile(r"\b(?:[xy]|vertical|horizontal)[- ]ax[ie]s", re.IGNORECASE)


def axis_not_named(view: View) -> str | None:
    """A metric on a figure with axes that the caption leaves out; one that speaks of its axes names them itself."""
    shown, named = metrics_named(view.image_text or ""), metrics_named(view.body)
    if not view.caption or not view.has_axes or not shown or set(shown) & set(named):
        return None
    if no_metric(view) or metric_differs(view) or _NAMED_AXIS.search(view.body):
        return None
    return f"the figure has numbered axes and shows {shown[0]}, which the caption does not name"


def plot_without_measure(view: View) -> str | None:
    """Axes, and a caption that names nothing measured; what the axes measure was not read either."""
    if not view.caption or not view.has_axes or measures_named(view.body):
        return None
    if no_metric(view) or axis_not_named(view):
        return None
    return "the figure has numbered axes, and the caption names nothing that is measured"


def metric_differs(view: View) -> str | None:
    """Metrics on both sides, and none in common."""
    named, shown = metrics_named(view.body), metrics_named(view.image_text or "")
    if not named or not shown or set(named) & set(shown):
        return None
    return f"the caption names {named[0]}, the image {shown[0]}"


def words_absent(view: View) -> str | None:
    """Words enough on both sides, and none in common."""
    named, read = content_words(view.body), content_words(view.image_text or "")
    if min(len(named), len(read)) < WORDS_TO_COMPARE or _found(named, view.image_text or ""):
        return None
    return f"none of the caption's {len(named)} content words is among the {len(read)} words read in the image"


def words_found(view: View, *, least: int) -> str | None:
    """Words of the caption in the image."""
    found = _found(content_words(view.body), view.image_text or "")
    return f"words of the caption stand in the image: {', '.join(found[:5])}" if len(found) >= least else None


def _found(words: set[str], image_text: str) -> list[str]:
    """Words that a text read by OCR holds, also where OCR lost the spaces around a longer one."""
    read, run_together = content_words(image_text), "".join(image_text.lower().split())
    return sorted(word for word in words if word in read or (len(word) >= MIN_INSIDE and word in run_together))


def numbers_absent(view: View, *, named: int, read: int) -> str | None:
    """At least ``named`` numbers in the caption, ``read`` in the image, and none in common."""
    ours, theirs = _numbers(view.body), _numbers(view.image_text or "")
    if len(ours) < named or len(theirs) < read or ours & theirs:
        return None
    return f"none of the caption's numbers ({_listed(ours)}) is read in the image"


def _numbers(text: str) -> set[float]:
    """Numbers from 10 and fractions: small whole numbers agree by chance."""
    return {number for number in number_values(text) if number >= 10 or number % 1}


def _listed(numbers: set[float]) -> str:
    return ", ".join(f"{number:g}" for number in sorted(numbers)[:4])


def panels_not_drawn(view: View) -> str | None:
    """Panel letters in the caption that a lettered figure does not have."""
    missing = [letter for letter in panels_named(view.body) if letter not in view.panel_letters]
    if not missing or len(view.panel_letters) < 2:
        return None
    return f"the caption names panel {', '.join(missing)}, the image has {', '.join(view.panel_letters)}"


def panels_not_explained(view: View) -> str | None:
    """A lettered figure whose caption speaks of no part of it."""
    if not view.caption or len(view.panel_letters) < 2 or panel_phrases(view.caption):
        return None
    return f"the caption explains none of the panels {', '.join(view.panel_letters)}"


@dataclass(frozen=True)
class Contradiction:
    """A claim of a trend that the lines of a plot deny.

    Attributes:
        phrase: The claim as written.
        up: What it says.
        lines: Number of lines that go the other way.
        axis: The left axis of their plot.
    """

    phrase: str
    up: bool
    lines: int
    axis: Axis


def contradicted(view: View, texts: Sequence[str]) -> Contradiction | None:
    """The first claim that an axis goes up (down) over another where every line of that plot goes down (up).

    Level lines say nothing, and one line that goes the claimed way or to and fro is enough to believe the claim; so is
    one in a plot whose axes were not read.
    """
    image = view.image
    if image is None or not image.curves:
        return None
    for claim in (claim for text in texts for claim in trend_claims(text)):
        plots = _plots_of(claim, image)
        lines = [curve for curve in image.curves if curve.panel is None or curve.panel in plots]
        moving = [curve for curve in lines if curve.direction != "level"]
        other = "falling" if claim.up else "rising"
        if plots and moving and all(curve.direction == other for curve in moving):
            axis = next(axis for axis in image.axes if axis.side == "left" and axis.panel in plots)
            return Contradiction(claim.phrase, claim.up, len(moving), axis)
    return None


def _plots_of(claim: Direction, image: ImageFeatures) -> set[int]:
    """Panels whose left axis is titled as what moves, and the bottom one as what it moves with."""
    named = {
        side: {a.panel for a in image.axes if a.side == side and _titled(a, words)}
        for side, words in (("left", claim.subject), ("bottom", claim.driver))
    }
    return named["left"] & named["bottom"]


def _titled(axis: Axis, words: frozenset[str]) -> bool:
    title = axis.title or ""
    return bool((content_words(title) | {name.lower() for name in metrics_named(title)}) & words)


def caption_contradiction(view: View) -> Contradiction | None:
    """Where the lines of a plot deny the caption."""
    return contradicted(view, [view.caption] if view.caption else [])


def citing_contradiction(view: View) -> Contradiction | None:
    """Where they deny the citing text."""
    return contradicted(view, _cited_paragraphs(view))


def caption_contradicted(view: View) -> str | None:
    """A caption that tells the opposite of what all lines of the plot do."""
    return _told_contradiction("the caption says", caption_contradiction(view))


def citing_contradicted(view: View) -> str | None:
    """The same of the citing text."""
    return _told_contradiction("the text says", citing_contradiction(view))


def _told_contradiction(who: str, found: Contradiction | None) -> str | None:
    if found is None:
        return None
    lines = f"all {found.lines} lines go" if found.lines > 1 else "the line goes"
    return f"{who} {_quote(found.phrase)}, and {lines} {'down' if found.up else 'up'} along {_quote(found.axis.title)}"


def _cited_paragraphs(view: View) -> list[str]:
    return [part for _, text in view.citations or () for part in text.split(PARAGRAPH_BREAK)]


# --- checks on the citing text --------------------------------------------------------------------------------------


def bare_pointer(view: View) -> str | None:
    """Paragraphs that only point, all of them."""
    if not view.citations or any(kind != "pointer" or _goes_on(view, text) for kind, text in view.citations):
        return None
    return f"the citing text only points at the figure: {_quote(_pointing(view.citations[0][1]))}"


def _pointing(text: str) -> str:
    """The sentence of a text that refers to the figure first; all of it where no reference is told."""
    mentions = find_mentions(text)
    places = [text[start:end] for start, end in sentences(text) if mentions and start <= mentions[0].start < end]
    return places[0].strip() if places else text


def _goes_on(view: View, text: str) -> bool:
    """Whether the sentences after the reference speak of what the figure shows, in two of its own words or more."""
    mentions = find_mentions(text)
    after = [text[start:end] for start, end in sentences(text) if mentions and start > mentions[-1].start]
    shown = content_words(f"{view.body} {view.image_text or ''}")
    return len(content_words(" ".join(after)) & shown) >= 2


def claims(view: View) -> str | None:
    """A comparison, a trend or a denial."""
    kinds = [kind for kind, _ in view.citations or () if kind in ("comparison", "trend", "negative")]
    return f"the citing text makes a claim that can be checked ({kinds[0]})" if kinds else None


def claim_numbers_found(view: View, *, least: int) -> str | None:
    """Numbers of the citing text in the image."""
    found = _numbers(view.citing_text) & _numbers(view.image_text or "")
    return f"numbers of the citing text stand in the image: {_listed(found)}" if len(found) >= least else None


def citing_words_absent(view: View) -> str | None:
    """Words enough on both sides, and none in common with image and caption."""
    citing = content_words(view.citing_text)
    shown = content_words(f"{view.image_text or ''} {view.body}")
    if view.image_text is None or min(len(citing), len(shown)) < WORDS_TO_COMPARE or citing & shown:
        return None
    return "the citing text shares no content word with caption and image"


def reversed_trend(view: View) -> str | None:
    """One trend told in two directions, by caption and citing text or by two paragraphs."""
    pair = reversed_pair([*([view.caption] if view.caption else []), *_cited_paragraphs(view)])
    return f"opposite trends: {_quote(pair[0])} against {_quote(pair[1])}" if pair else None


def _quote(text: str) -> str:
    return f'"{text if len(text) <= 80 else text[:79] + "…"}"'
