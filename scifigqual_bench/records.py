"""The records: what one step hands to the next, and what the files on disk hold.

All records are strict (``"8"`` is not a number, ``True`` is not 1), closed (an unknown field is an error) and free of
NaN. The Hugging Face ``Features`` of the dataset are derived from them (:mod:`scifigqual_bench.dataset.schema`) and so
are the JSON schemas of structured model output: no field is written down twice.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from scifigqual_bench.rubric import BAND_LABELS, DIMENSION_KEYS, SCALE_MAX, SCALE_MIN

Score = Annotated[int, Field(ge=SCALE_MIN, le=SCALE_MAX)]
"""An integer score, 1..10."""
MeanScore = Annotated[float, Field(ge=SCALE_MIN, le=SCALE_MAX)]
"""A mean of scores, 1..10."""
Share = Annotated[float, Field(ge=0.0, le=1.0)]
BBox = Annotated[list[float], Field(min_length=4, max_length=4)]
"""x0, y0, x1, y1 from the top left corner, in the unit that the field's description names."""
DimensionKey = Literal[
    "visual_clarity", "structure_layout", "caption_consistency", "context_consistency", "misleading_risk"
]

FIGURE_ID = re.compile(r"^(?P<paper>.+)__fig(?P<index>\d{4,})\Z")


def figure_id(paper_id: str, fig_index: int) -> str:
    """The join key of a figure (SPEC 1).

    >>> figure_id("2020.acl-main.1", 2)
    '2020.acl-main.1__fig0002'
    """
    return f"{paper_id}__fig{fig_index:04d}"


def paper_of(fig_id: str) -> str:
    """The paper id in a figure id.

    Raises:
        ValueError: The text is not a figure id.

    >>> paper_of("2020.acl-main.1__fig0002")
    '2020.acl-main.1'
    """
    match = FIGURE_ID.match(fig_id)
    if match is None:
        raise ValueError(f"not a figure id: {fig_id!r} (expected PAPER__figNNNN)")
    return match["paper"]


def normalised_paper_id(paper_id: str) -> str:
    """The paper id without the serial prefix of the release (SPEC 1).

    >>> normalised_paper_id("0001_2020.acl-main.1")
    '2020.acl-main.1'
    """
    return re.sub(r"^\d{4}_(?=.)", "", paper_id)


class Record(BaseModel):
    """Base of all records: strict, closed, finite."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class Problem(Record):
    """Something that went wrong or was set aside, told instead of hidden.

    Attributes:
        code: Stable short name, for example ``"pdf-encrypted"``.
        message: One sentence for a person: what, where, and what to do about it.
        page: Page it concerns, from 1.
    """

    code: str
    message: str
    page: int | None = None


class Mark(Record):
    """A curation decision on a figure (SPEC 8).

    Attributes:
        stage: S1 (delete), S2 (flag), S3 (re-crop), S4 (soft metadata), S5 (paper), or gate (no evidence).
        code: Stable short name of the rule, for example ``"aspect"``.
        detail: What was measured, against which threshold.
    """

    stage: Literal["S1", "S2", "S3", "S4", "S5", "gate"]
    code: str
    detail: str


CitationKind = Literal["pointer", "description", "comparison", "trend", "negative"]
"""pointer: only points at the figure; comparison / trend: makes a checkable claim; negative: denies something of the
figure; description: anything between. :func:`scifigqual_bench.pdf.citations.kind_of` says which wins."""


class Span(Record):
    """A piece of a text: positions of its first character and after its last one, counted in code points from 0."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)


class Citation(Record):
    """A body paragraph that references the figure by its number, or several that follow one another (SPEC 7).

    Attributes:
        text: The paragraph, at most :data:`scifigqual_bench.pdf.citations.MAX_CHARS` characters. Merged paragraphs
            are parted by an empty line.
        section: Heading that the paragraph stands under, if known.
        page: Page on which the paragraph begins, from 1.
        kind: What the paragraph does with the figure.
        mentions: The references as printed, in order, for example ``["Figure 3", "Fig. 3(a)"]``. One that a cut
            took away is not among them.
        spans: Where each of ``mentions`` stands in ``text``; empty where that is not known.
        weight: Preference in a prompt, 0..1 (pointers low, claims high).
        length: Characters of the paragraph before any cut.
    """

    text: str
    section: str | None = None
    page: int | None = None
    kind: CitationKind | None = None
    mentions: list[str] = []
    spans: list[Span] = []
    weight: Share | None = None
    length: int | None = None


class Reasons(Record):
    """One reason per dimension; None where none was given."""

    visual_clarity: str | None = None
    structure_layout: str | None = None
    caption_consistency: str | None = None
    context_consistency: str | None = None
    misleading_risk: str | None = None


class Rating(Record):
    """What one person said of one figure (SPEC 4).

    Attributes:
        summary: What the rater thinks of the figure as a whole.
        suggestion: What would make it better.
    """

    figure_id: str
    rater_id: str
    visual_clarity: Score | None = None
    structure_layout: Score | None = None
    caption_consistency: Score | None = None
    context_consistency: Score | None = None
    misleading_risk: Score | None = None
    overall_score: MeanScore | None = Field(
        default=None, description="The rater's overall as stored by its source; gold never reads it."
    )
    reasons: Reasons = Reasons()
    summary: str | None = None
    suggestion: str | None = None
    source: str | None = None
    rated_at: str | None = None


class Gold(Record):
    """Gold of one figure: means of the ratings, 1..10 (SPEC 4). A reference row of the metric.

    Attributes:
        overall_score: Dimension-first overall over the dimensions that have gold.
        overall_rater_mean: Mean of the raters' own overalls.
        n_ratings: Number of raters that scored at least one dimension; None when only means are known.
        open_dimensions: The dimensions that the figure's evidence leaves open (SPEC 3).
    """

    figure_id: str
    visual_clarity: MeanScore | None = None
    structure_layout: MeanScore | None = None
    caption_consistency: MeanScore | None = None
    context_consistency: MeanScore | None = None
    misleading_risk: MeanScore | None = None
    overall_score: MeanScore | None = None
    overall_rater_mean: MeanScore | None = None
    n_ratings: int | None = None
    open_dimensions: list[DimensionKey] = []


class TextBox(Record):
    """A piece of text found in the image.

    Attributes:
        text: What was read.
        confidence: 0..1; 1 for text that the PDF itself tells, None where the engine tells none.
        bbox: x0, y0, x1, y1 in pixels of the figure's image.
        rotated: Whether it runs upwards or downwards.
        slanted: Whether it runs at an angle, as the PDF tells it; its box is then much larger than its letters.
        source: ``"pdf"``: told by the PDF; ``"ocr"``: read from the pixels.
        font_size_pt: Font size in print in points, where the PDF tells it.
        contrast: Contrast ratio of WCAG 2 against its ground, 1..21; None where it was not measured.
    """

    text: str
    confidence: Share | None
    bbox: BBox
    rotated: bool = False
    slanted: bool = False
    source: Literal["pdf", "ocr"] = "ocr"
    font_size_pt: float | None = None
    contrast: float | None = None


class MainColour(Record):
    """A colour that covers areas or lines of the figure.

    Attributes:
        colour: As ``"#rrggbb"``.
        share: Of the image's pixels.
    """

    colour: str
    share: Share


class Axis(Record):
    """A numbered axis, as its tick labels tell it.

    Attributes:
        panel: Index of its plot area, from 0 in reading order; the two axes of one plot share it.
        letter: Letter of that panel, where one stands beside it.
        side: Where the labels stand: ``"left"`` of the plot area or below it (``"bottom"``).
        numbers: Upwards, or from the left.
        scale: How the numbers are spaced; None where both scales fit.
        title: Text that stands along the labels.
        unit: From the title or the labels, without brackets.
        factor: What the numbers are to be multiplied by, where a power of ten stands at the end of the axis.
        bbox: Around the labels, in pixels of the figure's image.
    """

    panel: int
    letter: str | None = None
    side: Literal["left", "bottom"]
    numbers: list[float]
    scale: Literal["linear", "logarithmic"] | None = None
    title: str | None = None
    unit: str | None = None
    factor: float = 1.0
    bbox: BBox


class Curve(Record):
    """A line of a plot, as the PDF draws it.

    Attributes:
        panel: As in :class:`Axis`; None where the axes around it were not both read.
        colour: As ``"#rrggbb"``.
        direction: The way of its values as those of the bottom axis grow: up or down on the whole of it, level, or
            anything else.
    """

    panel: int | None = None
    colour: str
    direction: Literal["rising", "falling", "level", "mixed"]


FEATURES_VERSION = "3"


class ImageFeatures(Record):
    """What can be measured in the image alone (SPEC 9): never contains anything of the caption.

    Attributes:
        version: Version of this record and of the code that fills it.
        ocr_engine: What read the text: ``"pdf"``, the engine and its version, both, or ``"none"`` where nobody looked.
        width: Pixels.
        height: Pixels.
        megapixels: width * height / 1e6.
        print_width_pt: Printed width in PDF points, where known.
        print_height_pt: Printed height in PDF points, where known.
        raster_share: Share of the figure that images embedded in the PDF cover; None without the PDF.
        effective_dpi: Lowest resolution in print of the embedded images that cover at least 2% of the figure; None
            where there are none, and without the PDF: the resolution of the rendering says nothing of the figure.
        jpeg_blockiness: Jumps at the borders of 8 x 8 blocks over those elsewhere, about 1 without blocks: of the
            embedded JPEG images or, without the PDF, of the image as it came. None where no JPEG is embedded.
        jpeg_quality: Quality setting, 1..100, with which that JPEG was stored; None where there is none.
        blur_laplacian: Variance of the Laplacian of the grey image (0..255 scale); low is blurred.
        edge_density: Share of pixels that Canny marks as edges.
        whitespace_share: Share of pixels with grey >= 245.
        dominant_colour_share: Share of the most frequent colour (5 bits a channel).
        distinct_hues: Number of 10-degree hue bins that hold at least 0.2% of the pixels with colour.
        colourfulness: Hasler and Suesstrunk's measure; 0 for grey images.
        coloured_share: Share of pixels with colour.
        hue_shares: Share of the image in each of twelve hues with colour, red first, then orange, yellow and so on.
        main_colours: Flat colours, most frequent first.
        colour_distance_min: Smallest CIEDE2000 distance between two main colours that are no greys; None with fewer
            than two, and where colours run into each other (photos, colour maps).
        deuteranopia_distance_min: The same as people without M cones see it.
        deuteranopia_pair: The two colours of that distance.
        protanopia_distance_min: The same as people without L cones see it.
        protanopia_pair: The two colours of that distance.
        ink_offset_x: Centre of the ink's mass from the middle of the image, -0.5 (left) .. 0.5, in widths.
        ink_offset_y: The same downwards, -0.5 (top) .. 0.5, in heights.
        text_boxes: Text found, in reading order.
        text_area_share: Area of the text boxes over the area of the image.
        ocr_confidence_mean: Mean confidence of what OCR read, None where it read nothing.
        ocr_confidence_min: Lowest confidence of what OCR read, None where it read nothing.
        text_height_pt_min: Font size of the smallest text in print in points, None where print size is unknown.
        text_height_pt_median: Median font size of the text in print in points.
        text_contrast_min: Lowest contrast ratio (WCAG 2) of text against its ground, 1..21.
        text_contrast_median: Median of these ratios.
        overlapping_text: Pairs of indices into ``text_boxes`` of pieces that lie on top of each other.
        rotated_text: Number of pieces that run upwards or downwards.
        panel_letters: Panel letters found, lower case, in reading order, for example ``["a", "b"]``.
        axis_numbers: Numbers along the left edge of a plot area, from bottom to top, one list a panel.
        axes: Numbered axes, left and bottom ones, panel by panel.
        curves: Lines of plots with their directions, where the PDF draws them in one go.
        legend: Texts that stand beside a key (a stroke, a patch or a marker), in reading order.
        clipped_edges: Edges ("left", "right", "top", "bottom") where ink runs off the image.
        standing_bars: Bars in the largest row of bars that stand on a common line; None where nobody looked.
        lying_bars: The same of bars that reach to the right from an upright line.
        bar_base: Value of the axis at the foot of the standing bars, or of the lying ones where none stand; 0 for bars
            that start at zero. None where there are no bars or no linear axis beside them.
    """

    version: str = FEATURES_VERSION
    ocr_engine: str
    width: int
    height: int
    megapixels: float
    print_width_pt: float | None = None
    print_height_pt: float | None = None
    raster_share: Share | None = None
    effective_dpi: float | None = None
    jpeg_blockiness: float | None = None
    jpeg_quality: int | None = None
    blur_laplacian: float
    edge_density: Share
    whitespace_share: Share
    dominant_colour_share: Share
    distinct_hues: int
    colourfulness: float
    coloured_share: Share | None = None
    hue_shares: list[Share] = []
    main_colours: list[MainColour] = []
    colour_distance_min: float | None = None
    deuteranopia_distance_min: float | None = None
    deuteranopia_pair: list[str] = []
    protanopia_distance_min: float | None = None
    protanopia_pair: list[str] = []
    ink_offset_x: float | None = None
    ink_offset_y: float | None = None
    text_boxes: list[TextBox] = []
    text_area_share: Share = 0.0
    ocr_confidence_mean: Share | None = None
    ocr_confidence_min: Share | None = None
    text_height_pt_min: float | None = None
    text_height_pt_median: float | None = None
    text_contrast_min: float | None = None
    text_contrast_median: float | None = None
    overlapping_text: list[list[int]] = []
    rotated_text: int = 0
    panel_letters: list[str] = []
    axis_numbers: list[list[float]] = []
    axes: list[Axis] = []
    curves: list[Curve] = []
    legend: list[str] = []
    clipped_edges: list[str] = []
    standing_bars: int | None = None
    lying_bars: int | None = None
    bar_base: float | None = None


class CaptionOverlap(Record):
    """How much of the caption is found in the image's text (SPEC 9); None where the caption has nothing of the kind.

    Attributes:
        word_share: Share of the caption's content words found in the image.
        number_share: Share of the caption's numbers found in the image.
        panels_named: Panel letters that the caption names.
        panels_drawn: Those of them that the image shows.
        metrics_named: Measures that the caption names.
        metrics_found: Those of them that the image names, too.
        groups_named: What the caption says is compared, in its own words.
        groups_found: Those of them whose words all stand in the image.
    """

    word_share: Share | None = None
    number_share: Share | None = None
    panels_named: list[str] = []
    panels_drawn: list[str] = []
    metrics_named: list[str] = []
    metrics_found: list[str] = []
    groups_named: list[str] = []
    groups_found: list[str] = []


class SidecarFeatures(Record):
    """The sidecar of one figure: image features and, apart from them, the overlap with the caption.

    They are kept apart because the agent's vision call sees features but must not learn anything of the caption.
    """

    image: ImageFeatures
    caption: CaptionOverlap | None = None


FigureType = Literal["plot", "diagram", "table", "composite", "photo"]


class Provenance(Record):
    """Where a figure comes from and how sure the extraction is of it.

    Attributes:
        pdf_sha256: Hash of the PDF's bytes.
        engine: Name and version of what found the figure.
        method: How the region was found, for example ``"graphics-above-caption"``.
        confidence: 0..1, a rank of trust, not a probability.
        dpi: Resolution at which the region was rendered.
        text_layer: ``"native"`` or ``"ocr"``.
        turn: Quarter turns clockwise, 0..3, by which the image is turned against the page as displayed: figures that
            are printed sideways or upside down are stored upright, their ``bbox`` stays in the page's coordinates.
        layout_model_iou: Intersection over union of the region with what a layout model sees there, 0 where it sees
            no figure; None where it was not asked.
    """

    pdf_sha256: str | None = None
    engine: str
    method: str | None = None
    confidence: Share | None = None
    dpi: float | None = None
    text_layer: Literal["native", "ocr"] | None = None
    turn: Annotated[int, Field(ge=0, le=3)] | None = None
    layout_model_iou: Share | None = None


class Figure(Record):
    """A row of the dataset, without its image: ``(I, c, T, m)`` of SPEC 1 and what is known about it.

    Attributes:
        fig_index: Part of the id. The printed number where it is a plain, unrepeated number, else the next free one,
            so that finding one more figure does not rename the others.
        number: The number as printed (``"3"``, ``"A1"``).
        caption_raw: The caption as its source gave it, where that had to be cleaned of markup.
        subtopic: Finer than ``topic``, where the source has two levels.
        section: Heading over the first paragraph that cites the figure; a float itself stands in no section.
        bbox: The graphic without its caption, in PDF points from the top left corner of the page.
        caption_bbox: The caption, in the same coordinates.
        open_dimensions: What the evidence leaves open (SPEC 3).
        gold: Means of the ratings; None for an unrated figure.
        curation_status: ``"kept"``; ``"flagged"`` for a kept figure with a doubt; ``"recropped"`` after S3.
        curation_marks: Every decision with its reason.
    """

    figure_id: str
    paper_id: str
    paper_id_norm: str
    fig_index: Annotated[int, Field(ge=0)]
    number: str | None = None
    caption: str = ""
    caption_raw: str | None = None
    citations: list[Citation] = []
    venue: str | None = None
    year: int | None = None
    title: str | None = None
    section: str | None = None
    topic: str | None = None
    subtopic: str | None = None
    figure_type: FigureType | None = None
    page: int | None = None
    bbox: BBox | None = None
    caption_bbox: BBox | None = None
    width: int | None = None
    height: int | None = None
    image_sha256: str | None = None
    open_dimensions: list[DimensionKey] = []
    gold: Gold | None = None
    ratings: list[Rating] = []
    features: SidecarFeatures | None = None
    curation_status: Literal["kept", "flagged", "recropped"] = "kept"
    curation_marks: list[Mark] = []
    provenance: Provenance | None = None

    @property
    def print_size_pt(self) -> tuple[float, float] | None:
        """Printed width and height of the image in PDF points; None where the region on the page is unknown."""
        if self.bbox is None:
            return None
        x0, y0, x1, y1 = self.bbox
        sideways = self.provenance is not None and (self.provenance.turn or 0) % 2 == 1
        return (y1 - y0, x1 - x0) if sideways else (x1 - x0, y1 - y0)


class PaperMeta(Record):
    """What is known of a paper apart from its PDF.

    Attributes:
        file: File name of the PDF, where the paper id is not its stem.
    """

    paper_id: str = Field(min_length=1)
    file: str | None = None
    title: str | None = None
    venue: str | None = None
    year: int | None = Field(default=None, ge=1900, le=2200)
    topic: str | None = None


class DroppedFigure(Record):
    """A figure that was found and did not enter the dataset, with the reason."""

    figure_id: str
    paper_id: str
    number: str | None = None
    page: int | None = None
    bbox: BBox | None = None
    caption: str = ""
    citations: list[Citation] = []
    marks: list[Mark]


class PaperReport(Record):
    """What happened to one PDF (a line of ``papers.jsonl`` in the dataset folder).

    Attributes:
        status: ``ok``; ``partial``: read, with losses that ``problems`` names; ``dropped``: read, and left out whole
            because too many of its figures are unusable (S5); ``failed``: not read.
    """

    paper_id: str
    file: str = Field(description="File name, without its folder.")
    sha256: str | None = None
    status: Literal["ok", "partial", "dropped", "failed"]
    problems: list[Problem] = []
    pages: int = 0
    figures_found: int = 0
    figures_kept: int = 0
    figures_dropped: int = 0
    tables_found: int = 0
    captions_without_region: int = 0
    citations_found: int = 0


# --- what a judge answers -------------------------------------------------------------------------------------------


class DimensionAnswer(Record):
    """One score with what it rests on.

    Attributes:
        score: Integer, 1..10.
        reason: One or two sentences that name visible marks, caption phrases or citing sentences.
        evidence: The marks, phrases or sentences themselves, each short.
    """

    score: Score
    reason: Annotated[str, StringConstraints(min_length=1, max_length=600)]
    evidence: Annotated[list[Annotated[str, StringConstraints(max_length=300)]], Field(max_length=8)] = []


Severity = Literal["none", "minor", "moderate", "severe", "contradiction"]
SEVERITIES: tuple[str, ...] = ("none", "minor", "moderate", "severe", "contradiction")
RiskBand = Literal["9-10", "7-8", "5-6", "3-4", "1-2"]
assert RiskBand.__args__ == BAND_LABELS  # one source: the rubric

ShortText = Annotated[str, StringConstraints(max_length=400)]
Points = Annotated[list[ShortText], Field(max_length=12)]


class VisionReport(Record):
    """The agent's first call, over image and features only (SPEC 9)."""

    visual_clarity: DimensionAnswer
    structure_layout: DimensionAnswer
    visible_facts: Points = Field(description="What the image shows, each fact on its own.")
    caption_should_mention: Points = Field(description="What a good caption of this image would name.")
    citation_should_mention: Points = Field(description="What a good citing paragraph would claim.")
    risk_band: RiskBand = Field(description="Visual risk of misleading a careful reader, as a band of scores.")
    risk_reason: ShortText = ""


class LanguageReport(Record):
    """The agent's second call, over caption, citations and metadata only (SPEC 9).

    Attributes:
        caption_cap: 6 or None.
        context_cap: 6 or None.
        misleading_cap: 1..10 or None.
        severity: How badly caption and citing text conflict or omit.
    """

    claims: Points
    omissions: Points
    caption_cap: Literal[6] | None = None
    context_cap: Literal[6] | None = None
    misleading_cap: Score | None = None
    severity: Severity
    severity_reason: ShortText = ""


class FusionReport(Record):
    """The agent's third call, over both reports (SPEC 9). MR itself comes from the Runner."""

    caption_consistency: DimensionAnswer | None = None
    context_consistency: DimensionAnswer | None = None
    misleading_reason: ShortText


def direct_answer(open_dims: tuple[str, ...] | list[str]) -> type[Record]:
    """The answer record of a single call over the open dimensions.

    An open dimension is required, a closed one is not part of the record (so a score on it is an error).

    >>> sorted(direct_answer(["visual_clarity", "misleading_risk"]).model_fields)
    ['misleading_risk', 'visual_clarity']
    """
    fields: dict[str, Any] = {key: (DimensionAnswer, ...) for key in DIMENSION_KEYS if key in open_dims}
    return create_model("DirectAnswer", __base__=Record, **fields)


def fusion_answer(open_dims: tuple[str, ...] | list[str]) -> type[FusionReport]:
    """:class:`FusionReport` with the open ones of CC and CTX required and the closed ones null."""
    fields: dict[str, Any] = {
        key: (DimensionAnswer, ...) if key in open_dims else (None, None)
        for key in ("caption_consistency", "context_consistency")
    }
    return create_model("FusionAnswer", __base__=FusionReport, **fields)


# --- predictions ----------------------------------------------------------------------------------------------------

PredictionStatus = Literal["ok", "parse_error", "refusal", "truncated", "api_error", "skipped"]
PREDICTION_STATUSES: tuple[str, ...] = ("ok", "parse_error", "refusal", "truncated", "api_error", "skipped")
CallRole = Literal["direct", "sidecar", "vision", "language", "fusion"]


class Usage(Record):
    """Tokens of one call, as the backend counts them; None where it does not."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class CallRecord(Record):
    """One call to a backend, as it went.

    Attributes:
        role: Which call of the protocol.
        raw: The answer's text exactly as received.
        finish_reason: ``"stop"``, ``"length"``, ``"refusal"`` or ``"error"``.
        error: Why there is no usable answer.
        usage: Token counts.
        prompt_sha256: Hash of the request's text.
        image_sha256: Hash of the image bytes that were sent, None when no image was.
        cached: Whether the answer came from the cache, so that its tokens were not spent again.
        served_model: What the server says answered, where it says so.
        figures: The figures of a call about several, in order; empty for a call about the row's figure alone. Text and
            tokens of such a call stand in the row of the first of them, once.
    """

    role: CallRole
    raw: str = ""
    finish_reason: str | None = None
    error: str | None = None
    usage: Usage = Usage()
    prompt_sha256: str | None = None
    image_sha256: str | None = None
    cached: bool = False
    served_model: str | None = None
    figures: list[str] = []


class Prediction(Record):
    """A row of ``predictions.jsonl``.

    A row whose status is not ``ok`` has no scores: never 0, never a guessed or clamped number.

    Attributes:
        open_dimensions: The mask that the judge was asked under.
        evidence: The marks, phrases and sentences behind each score.
        runner_trace: What the Runner did, step by step (agent only).
    """

    figure_id: str
    visual_clarity: MeanScore | None = None
    structure_layout: MeanScore | None = None
    caption_consistency: MeanScore | None = None
    context_consistency: MeanScore | None = None
    misleading_risk: MeanScore | None = None
    overall_score: MeanScore | None = None
    reasons: Reasons = Reasons()
    evidence: dict[DimensionKey, list[str]] = {}
    status: PredictionStatus = "ok"
    status_reason: str | None = None
    open_dimensions: list[DimensionKey] | None = None
    calls: list[CallRecord] = []
    vision: VisionReport | None = None
    language: LanguageReport | None = None
    fusion: FusionReport | None = None
    runner_trace: list[str] = []
    marks: list[str] = []


Control = Literal["no-image", "no-text", "other-image"]


class RunUsage(Record):
    """What a run has cost so far, over all its sittings, calls that were asked again included.

    Attributes:
        calls: Calls that were answered by the backend, not by the cache.
        cached_calls: Calls that were answered by the cache.
        calls_without_usage: Answered calls whose tokens the backend does not tell; they are missing in the sums.
        prompt_tokens: Sum over the calls whose tokens are known.
        completion_tokens: Sum over the calls whose tokens are known.
        cost: In the currency of the price table; None without one.
    """

    calls: int = 0
    cached_calls: int = 0
    calls_without_usage: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


MANIFEST_VERSION = "2"
"""Of run folders: the manifest and the rows beside it. Version 1 hashed the dataset's features, too."""


class RunManifest(Record):
    """What is needed to know, and to repeat, the run behind a prediction file.

    Attributes:
        control: The blind control that the figures were judged under; None for the real thing.
        shard: ``"i/n"`` for one of n parts of a run, split by paper; None for a whole one.
        payload: What of a figure's evidence a call carries: figures a call, map of the paper, lengths of texts, and
            what measures features.
        resources: Of the last sitting: what calls took of the machine, such as its share of a GPU's memory; no answer
            depends on it, so it is not part of the configuration.
        usage: Calls, tokens and cost.
        served_models: What the server said answered, over all calls.
        stopped: Why the run stopped before its end, where it stopped by itself.
    """

    schema_version: str = MANIFEST_VERSION
    protocol: Literal["direct", "sidecar", "agent"]
    backend: str
    model: str
    revision: str | None = None
    rubric_version: str
    prompt_sha256: dict[str, str]
    dataset_name: str
    dataset_fingerprint: str
    splits: list[str]
    sampling: dict[str, Any] = {}
    image_settings: dict[str, Any] = {}
    resources: dict[str, Any] = {}
    payload: dict[str, Any] = {}
    seed: int | None = None
    configuration_sha256: str
    code_version: str
    packages: dict[str, str]
    started_at: str
    finished_at: str | None = None
    figures: int
    status_counts: dict[str, int] = {}
    predictions_sha256: str | None = None
    control: Control | None = None
    shard: str | None = None
    usage: RunUsage = RunUsage()
    served_models: list[str] = []
    stopped: str | None = None
