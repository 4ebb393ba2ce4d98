"""The rubric (SPEC 2): the one place that names the dimensions, the bands and the hard caps.

Everything that asks for, stores or explains a score takes its names from here: records, prompts, the rating tool, the
metric and the report page.
"""

from __future__ import annotations

from dataclasses import dataclass

SCALE_MIN = 1
SCALE_MAX = 10

RUBRIC_VERSION = "1.0"


@dataclass(frozen=True)
class Band:
    """A range of scores with one meaning on all five dimensions.

    Attributes:
        low: Lowest score of the band (1..10).
        high: Highest score of the band (1..10).
        meaning: What a figure in this band is like, in one sentence.
    """

    low: int
    high: int
    meaning: str

    @property
    def label(self) -> str:
        """The band as written in reports, for example ``"9-10"``."""
        return f"{self.low}-{self.high}"

    @property
    def middle(self) -> float:
        """Arithmetic middle of the band, for example 9.5."""
        return (self.low + self.high) / 2


BANDS: tuple[Band, ...] = (
    Band(9, 10, "No defect that matters for reading the figure."),
    Band(7, 8, "Small defects that leave the main reading unharmed."),
    Band(5, 6, "Friction that a reader notices and has to work around."),
    Band(3, 4, "A serious defect: part of the figure's message is lost or wrong."),
    Band(1, 2, "Close to unusable, or gravely misleading."),
)
BAND_LABELS: tuple[str, ...] = tuple(band.label for band in BANDS)


@dataclass(frozen=True)
class Dimension:
    """One rated dimension.

    Attributes:
        key: Field name in every record, for example ``"visual_clarity"``.
        short: Abbreviation used in tables, for example ``"VC"``.
        title: Heading for people.
        question: What a rater answers.
        looks_at: What the score depends on.
        low_bands: What the 5-6, 3-4 and 1-2 bands mean on this dimension, by band label.
        tie_to_lower: Whether a tie between neighbouring scores resolves to the lower one.
    """

    key: str
    short: str
    title: str
    question: str
    looks_at: str
    low_bands: dict[str, str]
    tie_to_lower: bool


DIMENSIONS: tuple[Dimension, ...] = (
    Dimension(
        "visual_clarity",
        "VC",
        "Visual clarity",
        "Can everything that carries meaning be seen and read at the size it is printed?",
        "Resolution, sharpness, contrast, and whether tick labels, legends and annotations are legible in print.",
        {
            "5-6": "Readable only with effort.",
            "3-4": "Labels that the message depends on cannot be read.",
            "1-2": "The figure as a whole cannot be read.",
        },
        tie_to_lower=False,
    ),
    Dimension(
        "structure_layout",
        "SL",
        "Structure and layout",
        "Does the arrangement lead the eye through the figure in the intended order?",
        "Reading path, order and letters of panels, spacing and alignment, decoration that carries no information.",
        {
            "5-6": "The structure costs the reader time.",
            "3-4": "Disordered: parts are hard to relate to each other.",
            "1-2": "No recognisable hierarchy.",
        },
        tie_to_lower=False,
    ),
    Dimension(
        "caption_consistency",
        "CC",
        "Caption consistency",
        "Does the caption say what the image shows?",
        "Whether objects, metrics, compared groups, panels and trends named in the caption are those of the image.",
        {
            "5-6": "Vague: the caption leaves out what is measured or compared.",
            "3-4": "Caption and image disagree.",
            "1-2": "The caption belongs to another figure.",
        },
        tie_to_lower=True,
    ),
    Dimension(
        "context_consistency",
        "CTX",
        "Context consistency",
        "Does the image support what the citing paragraphs claim about it?",
        "Claims, comparisons and trends in the paragraphs that reference the figure; not how well they are written.",
        {
            "5-6": "The text only points at the figure and claims nothing that could be checked.",
            "3-4": "A claim is not supported by the image.",
            "1-2": "The text describes another figure, or the trend the other way round.",
        },
        tie_to_lower=True,
    ),
    Dimension(
        "misleading_risk",
        "MR",
        "Misleading risk (10 = a careful reader is not misled)",
        "Would a careful reader take away the right message?",
        "Truncated axes, missing baselines, error bars or units, unfair comparisons, figure and text in conflict.",
        {
            "5-6": "Ambiguous: more than one reading is possible.",
            "3-4": "Signals that are needed to read it rightly are missing.",
            "1-2": "The figure or its text contradicts the evidence shown.",
        },
        tie_to_lower=True,
    ),
)

DIMENSION_KEYS: tuple[str, ...] = tuple(dim.key for dim in DIMENSIONS)
SHORT_NAMES: dict[str, str] = {dim.key: dim.short for dim in DIMENSIONS}
OVERALL = "overall_score"
COLUMNS: tuple[str, ...] = (*DIMENSION_KEYS, OVERALL)
SHORT_COLUMNS: dict[str, str] = {**SHORT_NAMES, OVERALL: "overall"}


@dataclass(frozen=True)
class Cap:
    """A hard cap: a condition that bounds a dimension from above, however good the figure looks (SPEC 2)."""

    code: str
    dimensions: tuple[str, ...]
    ceiling: int
    condition: str


CAPS: tuple[Cap, ...] = (
    Cap(
        "caption-omits-comparison",
        ("caption_consistency",),
        6,
        "The figure shows results or a comparison, and its caption names no metric or not the compared groups.",
    ),
    Cap("bare-pointer", ("context_consistency",), 6, "The citing text only points at the figure."),
    Cap(
        "reversed-trend",
        ("context_consistency", "misleading_risk"),
        2,
        "The citing text states the figure's trend the wrong way round.",
    ),
)

GENERAL_RULES: tuple[str, ...] = (
    "Judge the five dimensions independently of each other.",
    "A criterion that does not apply (no axes, no panels, no legend) is left out; it never costs points.",
    "In dense figures (heat maps, Sankey diagrams, large grids) small but legible labels are normal.",
    "On caption consistency, context consistency and misleading risk a tie between two scores goes to the lower.",
)
