"""How much of a caption is found in the figure's own text (SPEC 9): words, numbers, panels, measures, groups."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from scifigqual_bench.features.groups import groups_named
from scifigqual_bench.features.text import plain, plausible_letters
from scifigqual_bench.features.words import content_words, number_values
from scifigqual_bench.records import CaptionOverlap, TextBox
from scifigqual_bench.text_rules import metrics_named

MIN_INSIDE = 5
"""Length from which a word also counts when it stands inside a longer run: text is often read without its spaces."""

_LABEL = re.compile(r"^(?:figure|fig\.?|table)\s*[a-z]?[.-]?\d+[a-z]?\s*[.:|-]?\s*", re.IGNORECASE)
_LETTERS = r"[a-z](?:\s?(?:,\s?and\b|,|;|&|-|\band\b|\bto\b)\s?[a-z])*(?![a-z])"
_BETWEEN_BRACKETS = re.compile(r"\)\s?(?:-|to|through)\s?\(", re.IGNORECASE)
_RANGE = re.compile(r"\b([a-z])\b(?:\s?(?:-|\bto\b)\s?([a-z])\b)?")
_PANELS = re.compile(
    rf"(?<![^\W_])\(\s?(?P<bracketed>{_LETTERS})\s?\)|\bpanels?\s+\(?(?P<spoken>{_LETTERS})|(?<![\w(])(?P<half>[a-z])\)",
    re.IGNORECASE,
)


def caption_overlap(
    caption: str, boxes: Sequence[TextBox] | None, panels_drawn: Collection[str] = ()
) -> CaptionOverlap:
    """What a caption names, and how much of it the image shows.

    Args:
        caption: The caption; a leading label ("Figure 3:") is left out of account.
        boxes: Text found in the image; None when nobody looked for text.
        panels_drawn: Panel letters of the image.

    Returns:
        Shares in 0..1; None where the caption has no words (numbers) or ``boxes`` is None.

    >>> boxes = [TextBox(text=text, confidence=0.9, bbox=[0, 0, 9, 9]) for text in ("Accuracy [%]", "LSTM")]
    >>> found = caption_overlap("Figure 2: Accuracy of LSTM vs. GRU at 0.5.", boxes)
    >>> found.word_share, found.number_share, found.metrics_found, found.groups_named, found.groups_found
    (0.5, 0.0, ['accuracy'], ['LSTM', 'GRU'], ['LSTM'])
    """
    text = _LABEL.sub("", plain(caption), count=1)
    words, numbers = content_words(text), number_values(text)
    image = _ImageText(boxes or ())
    panels, metrics, groups = panels_named(text), list(metrics_named(text)), groups_named(text)
    return CaptionOverlap(
        word_share=_share(set(filter(image.has, words)), words) if boxes is not None else None,
        number_share=_share(numbers & image.numbers, numbers) if boxes is not None else None,
        panels_named=panels,
        panels_drawn=[letter for letter in panels if letter in panels_drawn],
        metrics_named=metrics,
        metrics_found=[name for name in metrics if name in image.metrics],
        groups_named=groups,
        groups_found=[group for group in groups if image.has_group(group)],
    )


class _ImageText:
    """The text of an image, to look words up in."""

    def __init__(self, boxes: Sequence[TextBox]):
        found = [plain(box.text) for box in boxes]
        self.words = set().union(*map(content_words, found))
        self.numbers = set().union(*map(number_values, found))
        self.metrics = metrics_named(" | ".join(found))
        self._runs = [_run(piece) for piece in found]

    def has(self, word: str) -> bool:
        """Whether a word stands in the image, also inside a longer run."""
        return word in self.words or (len(word) >= MIN_INSIDE and any(word in run for run in self._runs))

    def has_group(self, group: str) -> bool:
        """Whether all content words of a group stand in the image; one without such words, as a piece of its own."""
        words = content_words(group)
        return all(map(self.has, words)) if words else _run(group) in self._runs


def _run(text: str) -> str:
    """Letters and digits alone, in one."""
    return "".join(re.findall(r"[^\W_]", text.casefold()))


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


def _share(part: set, whole: set) -> float | None:
    return round(len(part) / len(whole), 4) if whole else None
