"""Words and numbers of a text, in the form in which caption, image and citing text are compared.

The same for all of them: NFKC, case folded.

- A word is a run of at least two letters and digits with a letter in it ("resnet50", "10k"). Function words and words
  that point at parts of the figure don't count; a plural ending is taken off (-ies becomes -y; -es after ss, x, ch,
  sh; -s after anything but s).
- A number is digits with an optional decimal part that no letter touches. Sign, thousands commas, percent signs and
  trailing zeros don't matter ("0.50" is "0.5").
"""

from __future__ import annotations

import re

from scifigqual_bench.features.text import plain

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

_WORD = re.compile(r"(?=\d*[^\W\d_])[^\W_]{2,}")
_NUMBER = re.compile(r"(?<![^\W_])(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?+(?![^\W_])")


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


def _singular(word: str) -> str:
    """A word without a plural ending. That "bus" becomes "bu" does no harm: it does so on both sides."""
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word
