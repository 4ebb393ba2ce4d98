"""How much of a caption is found in the figure's own text (SPEC 9).

Tokens, the same for the caption and for text in the image: NFKC, case folded.

- A word is a run of at least two letters and digits with a letter in it ("resnet50", "10k"). Function words and words
  that point at parts of the figure don't count; a plural ending is taken off (-ies becomes -y; -es after ss, x, ch,
  sh; -s after anything but s).
- A number is digits with an optional decimal part that no letter touches. Sign, thousands commas, percent signs and
  trailing zeros don't matter ("0.50" is "0.5").
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from scifigqual_bench.features.text import plain, plausible_letters
from scifigqual_bench.records import CaptionOverlap, TextBox

_WORDS_WITHOUT_CONTENT = """
about above across after again against all along also although always am among an and another any are around as at
be because been before being below between both but by can cannot could did do does doing done down due during each
either else etc even every few for from further given had has have having he hence her here him his how however if
in into is it its itself just less let like may me might more most much must my neither no nor not now of off often
on once one only onto or other otherwise our out over own per rather same see she should show shown shows since so
some such than that the their them then there these they this those through thus to together too toward towards
under until up upon us use used uses using very via was we well were what when where whereas whether which while who
whom whose why will with within without would yet you your
bottom center centre column fig figure illustration left panel plot right row subfigure top
"""
FUNCTION_WORDS = frozenset(_WORDS_WITHOUT_CONTENT.split())
"""Words that say nothing of the content, among them those that point at parts of the figure."""
MIN_INSIDE = 5
"""Length from which a word also counts when it stands inside a longer run: text is often read without its spaces."""

_LABEL = re.compile(r"^(?:figure|fig\.?|table)\s*[a-z]?[.-]?\d+[a-z]?\s*[.:|-]?\s*", re.IGNORECASE)
_WORD = re.compile(r"(?=\d*[^\W\d_])[^\W_]{2,}")
_NUMBER = re.compile(r"(?<![^\W_])(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?+(?![^\W_])")
_LETTERS = r"[a-z](?:\s?(?:,\s?and\b|,|;|&|-|\band\b|\bto\b)\s?[a-z])*(?![a-z])"
_BETWEEN_BRACKETS = re.compile(r"\)\s?(?:-|to|through)\s?\(", re.IGNORECASE)
_RANGE = re.compile(r"\b([a-z])\b(?:\s?(?:-|\bto\b)\s?([a-z])\b)?")
_PANELS = re.compile(
    rf"(?<![^\W_])\(\s?(?P<bracketed>{_LETTERS})\s?\)|\bpanels?\s+\(?(?P<spoken>{_LETTERS})|(?<![\w(])(?P<half>[a-z])\)",
    re.IGNORECASE,
)


def caption_overlap(caption: str, boxes: Sequence[TextBox] | None) -> CaptionOverlap:
    """Shares of the caption's distinct content words and numbers that the image's text has, and the panels it names.

    Args:
        caption: The caption; a leading label ("Figure 3:") is left out of account.
        boxes: Text found in the image; None when nobody looked for text.

    Returns:
        Shares in 0..1; None where the caption has no words (numbers) or ``boxes`` is None.

    >>> boxes = [TextBox(text="Accuracy [%]", confidence=0.9, bbox=[0, 0, 9, 9])]
    >>> caption_overlap("Figure 2: Accuracy of both models at 0.5.", boxes)
    CaptionOverlap(word_share=0.5, number_share=0.0, panels_named=[])
    """
    text = _LABEL.sub("", plain(caption), count=1)
    words, numbers = content_words(text), number_values(text)
    found = [plain(box.text) for box in boxes or []]
    found_words = set().union(*map(content_words, found))
    found_numbers = set().union(*map(number_values, found))
    runs = ["".join(re.findall(r"[^\W_]", piece.casefold())) for piece in found]
    seen = {w for w in words if w in found_words or (len(w) >= MIN_INSIDE and any(w in run for run in runs))}
    return CaptionOverlap(
        word_share=_share(seen, words) if boxes is not None else None,
        number_share=_share(numbers & found_numbers, numbers) if boxes is not None else None,
        panels_named=panels_named(text),
    )


def content_words(text: str) -> set[str]:
    """Distinct content words of a text in the form in which they are compared.

    >>> sorted(content_words("The Accuracies of two ResNet50 models, cross-entropy loss"))
    ['accuracy', 'cross', 'entropy', 'loss', 'model', 'resnet50', 'two']
    """
    words = _WORD.findall(plain(text).casefold())
    return {_singular(word) for word in words if word not in FUNCTION_WORDS}


def number_values(text: str) -> set[float]:
    """Distinct numbers of a text, without their signs.

    >>> sorted(number_values("N = 1,000 at -0.50% for W2GN (4-6)"))
    [0.5, 4.0, 6.0, 1000.0]
    """
    return {float(number.replace(",", "")) for number in _NUMBER.findall(plain(text))}


def panels_named(caption: str) -> list[str]:
    """Panel letters that a caption names, in lower case, in alphabetical order.

    Understands "(a)", "a)", "(a, b)", "(a)-(c)", "(a-c)", "panels A and B". A letter right after a word or a number
    ("Fig. 2(a)", "f(x)") belongs to something else; letters far down the alphabet without those before them ("(x)")
    are variables.

    >>> panels_named("(a) Loss. (b)-(d) Accuracy f(x) for noisy input (left), as in Fig. 2(e).")
    ['a', 'b', 'c', 'd']
    """
    named: set[str] = set()
    for match in _PANELS.finditer(_BETWEEN_BRACKETS.sub("-", plain(caption))):
        for first, last in _RANGE.findall(match[match.lastgroup].lower()):
            named.update(map(chr, range(ord(first), ord(last or first) + 1)))
    return sorted(plausible_letters(named))


def _singular(word: str) -> str:
    """A word without a plural ending. That "bus" becomes "bu" does no harm: it does so on both sides."""
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word


def _share(part: set, whole: set) -> float | None:
    return round(len(part) / len(whole), 4) if whole else None
