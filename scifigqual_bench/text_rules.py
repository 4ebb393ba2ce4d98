"""What a caption or a citing paragraph says, told by fixed rules on its words: metrics, groups, directions, commands.

Pure functions on English text; every list of words is written out here. They find what is named, not what is meant:
a caption that names its metric in a word that no list holds counts as naming none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from scifigqual_bench.features.words import content_words
from scifigqual_bench.pdf.citations import sentences

# --- the caption as prose -------------------------------------------------------------------------------------------

_LABEL = re.compile(
    r"^\W*(?:(?:supplementary|extended data)\s+)?"
    r"(?:figure|fig\.?)\s*[A-Z]{0,2}[.\-]?\d+(?:\.\d+)*[a-z]?\s*[.:|\u2013\u2014-]*\s*",
    re.IGNORECASE,
)
_LABEL_INSIDE = re.compile(r"(?<![\w(\[,;])(?:^|(?<=[.!?)\]]\s))(?:Figure|Fig\.)\s*\d+\s*[.:]\s+(?=[A-Z(])")
_MARKDOWN_LINK = re.compile(r"\[([^\]]*?)\\?\]\(#[^)]*\)")


def caption_body(caption: str) -> str:
    r"""The caption without its label and without traces of Markdown.

    >>> caption_body("Figure 3: *Left*: accuracy (see [6.2\\](#page-3-3)).")
    'Left: accuracy (see 6.2).'
    """
    text = re.sub(r"\\([\[\]()_*])", r"\1", _MARKDOWN_LINK.sub(r"\1", caption))
    return _LABEL.sub("", re.sub(r"\*+", "", text)).strip()


def caption_sentences(caption: str) -> list[str]:
    """The sentences of a caption, without its label.

    >>> caption_sentences("Figure 1: Model overview. The encoder is frozen.")
    ['Model overview.', 'The encoder is frozen.']
    """
    body = caption_body(caption)
    return [body[start:end].strip() for start, end in sentences(body)]


def caption_title(caption: str) -> str:
    """The first sentence of a caption, without its label; empty where there is none.

    >>> caption_title("Figure 1: Model overview. The encoder is frozen.")
    'Model overview.'
    """
    return next(iter(caption_sentences(caption)), "")


def caption_labels(caption: str) -> list[str]:
    """The labels in a caption that open a caption of their own; more than one means that captions ran together.

    >>> caption_labels("Figure 6. Impact of noise. Figure 7. Impact of drift.")
    ['Figure 6.', 'Figure 7.']
    >>> caption_labels("Figure 2: As Figure 1. Lower is better; see Fig. 3.")
    ['Figure 2:']
    """
    return [match[0].strip() for match in _LABEL_INSIDE.finditer(caption.replace("*", ""))]


def word_count(text: str) -> int:
    """Words that hold a letter.

    >>> word_count("A 2-layer model, 93.1% accuracy")
    4
    """
    return sum(any(char.isalpha() for char in word) for word in text.split())


# --- metrics and quantities -----------------------------------------------------------------------------------------

METRICS: dict[str, str] = {
    "accuracy": r"(?:top-?\d\s+)?accurac(?:y|ies)|acc\.?",
    "precision": r"precisions?",
    "recall": r"recalls?",
    "F1": r"(?:(?:micro|macro)[- ])?(?<!\|)F-?1(?!\(\w?\))(?:[- ]scores?)?|F-?(?:scores?|measures?)",
    "BLEU": r"(?:sacre)?BLEU(?:-?\d)?",
    "ROUGE": r"ROUGE(?:-?[\dL])?",
    "perplexity": r"perplexit(?:y|ies)|ppl",
    "loss": r"loss(?:es)?",
    "error": r"(?:root[- ])?(?:mean[- ])?(?:squared?|absolute)?[- ]?errors?(?:\s+rates?)?(?! (?:bar|band))|"
    r"RMSE|MSE|MAE|WER|CER",
    "AUC": r"AU(?:RO|PR)?C|ROC",
    "average precision": r"m?AP(?:@?\d+)?",
    "IoU": r"m?IoU",
    "FID": r"FID",
    "PSNR": r"PSNR|SSIM|LPIPS",
    "reward": r"(?:rewards?|returns?|regrets?)",
    "win rate": r"(?:win(?:ning)?|success|hit|pass)[- ]rates?",
    "time": r"(?:wall[- ]clock|running|run|inference|training|response|reading)[- ]times?|runtimes?|latenc(?:y|ies)",
    "throughput": r"throughputs?|speed-?ups?|FLOPs?",
    "memory": r"memory",
    "correlation": r"correlations?|(?:Pearson|Spearman|Kendall)(?:'s)?|kappa|R2|R²|agreements?",
    "divergence": r"divergences?|KL",
    "attachment": r"(?:un)?labell?ed attachment(?: scores?)?|[LU]AS",
    "retrieval": r"MRR|NDCG(?:@\d+)?|hits?@\d+|recall@\d+|NMI",
}
"""Measures by name; each pattern matches whole words, in any case unless it is an acronym of two or three letters."""

QUANTITIES = (
    r"scores?|rates?|ratios?|frequenc(?:y|ies)|probabilit(?:y|ies)|likelihoods?|entrop(?:y|ies)|variances?|number of|"
    r"numbers? of|percentages?|proportions?|fractions?|shares?|distributions?|densit(?:y|ies)|histograms?|counts?|"
    r"gaps?|norms?|confidence|costs?|bias|sizes?|lengths?|weights?|magnitudes?|values?|preferences?|convergence|gradients?|"
    r"eigenvalues?|utilit(?:y|ies)|risks?|quality|efficiency|complexit(?:y|ies)|overheads?|consumption|levels?|"
    r"temperatures?|coefficients?|ranks?|intensit(?:y|ies)|concentrations?|amplitudes?|energ(?:y|ies)|yields?|volumes?|"
    r"times?|durations?|similarit(?:y|ies)|distances?|medians?|means?|deviations?|gains?|speeds?|power|voltages?|currents?|forces?|pressures?|rank(?:ing)?s?|statistics"
)
"""Words for what can be measured without being a measure of quality."""

_METRIC_PATTERNS = {
    name: re.compile(rf"(?<![\w-])(?:{pattern})(?![\w])", 0 if name in ("average precision",) else re.IGNORECASE)
    for name, pattern in METRICS.items()
}
_QUANTITY = re.compile(rf"\b(?:{QUANTITIES})\b|%|\([↑↓]\)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def metrics_named(text: str) -> tuple[str, ...]:
    """Names of the measures of :data:`METRICS` that a text names, in the table's order.

    >>> metrics_named("Top-1 accuracy and training loss on the map of ImageNet")
    ('accuracy', 'loss')
    """
    return tuple(name for name, pattern in _METRIC_PATTERNS.items() if pattern.search(text))


def measures_named(text: str) -> list[str]:
    """What a text says is measured: metrics of :data:`METRICS`, then quantities such as "number of" or "size".

    "Performance" and "results" say that something was measured, not what.

    >>> measures_named("Performance of all models"), measures_named("Accuracy and distribution of sentence lengths")
    ([], ['accuracy', 'distribution', 'lengths'])
    """
    return list(dict.fromkeys([*metrics_named(text), *(match[0].lower() for match in _QUANTITY.finditer(text))]))


# --- results and comparisons ----------------------------------------------------------------------------------------

_RESULT = re.compile(
    r"\b(?:results?|performances?|comparisons?|compar(?:e[sd]?|ing)|ablations?|effects?|impacts?|influences?|sensitivity|"
    r"versus|vs\.?|evaluations?|experiments?|improvements?|scaling|trade-?offs?|robustness)(?!\w)",
    re.IGNORECASE,
)
_NO_RESULT = re.compile(
    r"\b(?:qualitative|depict\w*|examples?|visuali[sz]\w*|illustrat\w*|overviews?|architectures?|frameworks?|pipelines?|"
    r"diagrams?|case stud(?:y|ies)|prompts?|screenshots?|workflows?|schematics?|"
    r"heat ?maps?|samples|images?|photos?|interfaces?)\b",
    re.IGNORECASE,
)
_COMPARISON = re.compile(r"\b(?:comparisons?|compar(?:e[sd]?|ing))\b", re.IGNORECASE)
_NAMES_GROUPS = re.compile(
    r"\b(?:and|or|vs\.?|versus|against|to|than|between|without|w/o|baselines?|respectively|each|different|varying|various|"
    r"methods?|models?|settings?|variants?|algorithms?|approaches|modules?|components?|configurations?|groups?)(?!\w)|,",
    re.IGNORECASE,
)


def is_result_caption(caption: str) -> bool:
    """Whether a caption's first sentence announces results or a comparison, and no example, overview or picture.

    >>> is_result_caption("Figure 2: Performance on the test set"), is_result_caption("Figure 1: Model overview")
    (True, False)
    """
    title = caption_title(caption)
    return _RESULT.search(title) is not None and _NO_RESULT.search(title) is None


def omits_groups(caption: str) -> bool:
    """Whether a caption announces a comparison and gives no hint of what is compared.

    Any name (a capitalised or mixed-case word after the first), any list and any word such as "methods" or "different"
    counts as a hint: the rule is meant to miss rather than to accuse.

    >>> omits_groups("Figure 5: Comparison."), omits_groups("Figure 5: Comparison of LSTM and GRU.")
    (True, False)
    """
    body = caption_body(caption)
    if not _COMPARISON.search(body):
        return False
    named = any(re.search(r"[A-Z]|\d", word) for word in body.split()[1:])
    return not named and _NAMES_GROUPS.search(_COMPARISON.sub(" ", body)) is None


# --- what else a caption tells --------------------------------------------------------------------------------------

_PANEL = re.compile(
    r"\(\s?[a-hA-H]\s?(?:[-–,]\s?[a-hA-H]\s?)?\)|(?:^|[.;]\s+)[A-H][.:]\s|"
    r"\b(?:left|right|top|bottom|middle|cent(?:er|re)|upper|lower)\b(?!\s+bound)|"
    r"\b(?:first|second|third|last) (?:row|column)",
    re.IGNORECASE,
)


def panel_phrases(caption: str) -> list[str]:
    """Words of a caption that point at a part of the figure, as written.

    >>> panel_phrases("Figure 2: (a) Training loss. (b) Test loss, with a zoom at the right.")
    ['(a)', '(b)', 'right']
    """
    return [match[0].strip(" .;") for match in _PANEL.finditer(caption_body(caption))]


# --- directions -----------------------------------------------------------------------------------------------------

_UP = (
    r"increas(?:es?|ed|ing)|ris(?:es?|ing)|rose|grow(?:s|ing)?|grew|improv(?:es?|ed|ing)|climb(?:s|ed|ing)?|gain(?:s|ed)?|"
    r"goes up|higher|larger|greater|better|faster|outperform(?:s|ed|ing)?|exceed(?:s|ed)?|surpass(?:es|ed)?"
)
_DOWN = (
    r"decreas(?:es?|ed|ing)|declin(?:es?|ed|ing)|drop(?:s|ped|ping)?|fall(?:s|ing)?|fell|degrad(?:es?|ed|ing)|"
    r"shrink(?:s|ing)?|worsen(?:s|ed|ing)?|goes down|lower|smaller|less|worse|slower|underperform(?:s|ed|ing)?|"
    r"deteriorat(?:es?|ed|ing)|diminish(?:es|ed|ing)?|reduc(?:es?|ed|ing)"
)
_DIRECTION = re.compile(rf"\b(?:(?P<up>{_UP})|(?P<down>{_DOWN}))\b", re.IGNORECASE)
_DRIVER = re.compile(r"\b(?:as|with|when|if|for|than|over)\b", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:not|no|never|neither|nor|without|cannot|hardly|instead of|rather than)\b|n['’]t\b", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"[;:,]\s|\b(?:while|whereas|but|although|though|and|however)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Direction:
    """A claim that something goes up or down.

    Attributes:
        subject: Content words of what moves.
        driver: Content words of what it moves with, empty where the text does not say.
        up: The direction as the driver grows.
        phrase: The clause as written.
    """

    subject: frozenset[str]
    driver: frozenset[str]
    up: bool
    phrase: str


def directions(text: str) -> list[Direction]:
    """Claims of a rise or a fall in a text, one a clause; negated clauses and clauses without a subject are left out.

    >>> claim = directions("Accuracy drops sharply as the number of layers decreases.")[0]
    >>> sorted(claim.subject), sorted(claim.driver), claim.up
    (['accuracy'], ['layer', 'number'], True)
    """
    clauses = [
        clause.strip() for start, end in sentences(text) for clause in _CLAUSE_END.split(text[start:end]) if clause
    ]
    return [claim for clause in clauses if (claim := _direction(clause)) is not None]


_TREND = re.compile(
    r"\b(?:increas(?:es?|ed|ing)|ris(?:es?|ing)|rose|grow(?:s|ing)?|grew|climb(?:s|ed|ing)?|goes (?:up|down)|"
    r"decreas(?:es?|ed|ing)|declin(?:es?|ed|ing)|drop(?:s|ped|ping)?|fall(?:s|ing)?|fell|shrink(?:s|ing)?)\b"
    r"(?:\s+\w+ly)?\s+(?:with|as|over)\b",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:first|initially|then|until|before|after|up to|only|except|unless|eventually|could|can|may|might|should|"
    r"would|expect\w*|hypothesi\w*|faster|slower|more|less|rate)\b",
    re.IGNORECASE,
)


def trend_claims(text: str) -> list[Direction]:
    """The claims of :func:`directions` that a plot of the subject over its driver shows to be right or wrong.

    Only plain ones, "rises with" or "falls as": what is better or lower is compared, and what is said to hold at first,
    up to a point or perhaps needs a reader.

    >>> [claim.up for claim in trend_claims("Accuracy rises with depth. A has lower loss. Loss falls with n at first.")]
    [True]
    """
    return [
        claim
        for claim in directions(text)
        if claim.driver and _TREND.search(claim.phrase) and not _HEDGE.search(claim.phrase)
    ]


def _direction(clause: str) -> Direction | None:
    verb = _DIRECTION.search(clause)
    if verb is None or _NEGATION.search(clause):
        return None
    before, after = clause[: verb.start()], clause[verb.end() :]
    turn = _DRIVER.search(after)
    moved, driver = (after[: turn.start()], after[turn.end() :]) if turn else (after, "")
    subject = _things(f"{before} {moved}")
    other = _DIRECTION.search(driver)
    up = (verb["up"] is not None) != (other is not None and other["down"] is not None)
    return Direction(subject, _things(_DIRECTION.sub(" ", driver)), up, clause) if subject else None


def _things(text: str) -> frozenset[str]:
    """Content words without adverbs, and names of one capital letter."""
    names = re.findall(r"(?<=\s)[A-Z]\b", text)
    return frozenset([*names, *(word for word in content_words(text) if not word.endswith("ly"))])


def reversed_pair(texts: Sequence[str]) -> tuple[str, str] | None:
    """Two claims, from two different texts, that tell one trend in opposite directions; None where there are none.

    The subjects must share a word and differ by none on one side ("accuracy of A" and "accuracy of B" don't meet); so
    must the drivers, where both claims name one. Without any driver the subjects must be the same.

    >>> reversed_pair(["Accuracy rises with depth.", "In Figure 2, accuracy falls with depth."])
    ('Accuracy rises with depth.', 'accuracy falls with depth.')
    >>> reversed_pair(["Accuracy rises with depth.", "The loss falls with depth."]) is None
    True
    """
    for first, second in combinations([directions(text) for text in texts], 2):
        for a in first:
            for b in second:
                if a.up != b.up and _same(a, b):
                    return a.phrase, b.phrase
    return None


def _same(a: Direction, b: Direction) -> bool:
    if a.driver and b.driver:
        return _nested(a.subject, b.subject) and _nested(a.driver, b.driver)
    return not a.driver and not b.driver and a.subject == b.subject


def _nested(a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(a & b) and (a <= b or b <= a)
