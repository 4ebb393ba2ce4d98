"""What the text boxes of a figure say: reading order, panel letters, text heights, overlaps (SPEC 9).

All functions are pure and don't depend on the order in which the boxes come.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

from scifigqual_bench.records import TextBox

BOX_TO_FONT = 1.2
"""Height of a detected box over the font size: median over 863 boxes of real figures; half lie in 1.08..1.32."""
SURE = 0.8
"""Confidence from which a box counts for the font size."""

_MARKED_LETTER = re.compile(r"\(\s?([a-z])\s?\)|([a-z])\)(?=\s|$)", re.IGNORECASE)
_BARE_LETTER = re.compile(r"([a-z])[.:]?", re.IGNORECASE)
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−﹣", "-"))


def reading_order(boxes: Sequence[TextBox], row_tolerance: float = 0.5) -> list[TextBox]:
    """Boxes row by row from the top, each row from the left.

    Args:
        boxes: Text found, in any order.
        row_tolerance: How far the middle of a box may lie below that of the first box of its row, in text heights.
    """
    rows: list[list[TextBox]] = []
    for box in sorted(boxes, key=order_key):
        if rows and middle(box)[1] - middle(rows[-1][0])[1] <= row_tolerance * text_height(rows[-1][0]):
            rows[-1].append(box)
        else:
            rows.append([box])
    return [box for row in rows for box in sorted(row, key=lambda b: (*b.bbox, *order_key(b)))]


OVERLAP = 0.3
"""Share of the smaller of two boxes from which they lie on top of each other; what letters with tails share is less."""


def overlapping(boxes: Sequence[TextBox]) -> list[list[int]]:
    """Pairs of indices of boxes that lie on top of each other, in order.

    What two engines, or the PDF and an engine, read in one place is no overlap: pairs of one text are left out. So is
    slanted text, whose boxes meet where its letters don't.

    >>> at = [[0, 0, 40, 10], [30, 0, 70, 10], [38, 2, 90, 12]]
    >>> overlapping([TextBox(text=t, confidence=1.0, bbox=box) for t, box in zip("abc", at)])
    [[1, 2]]
    """
    level = [k for k, box in enumerate(boxes) if not box.slanted]
    order = sorted(level, key=lambda k: boxes[k].bbox[1])
    pairs = []
    for place, i in enumerate(order):
        for j in order[place + 1 :]:
            if boxes[j].bbox[1] >= boxes[i].bbox[3]:
                break
            if _covers(boxes[i], boxes[j]) and plain(boxes[i].text) != plain(boxes[j].text):
                pairs.append(sorted((i, j)))
    return sorted(pairs)


def _covers(box: TextBox, other: TextBox) -> bool:
    a, b = box.bbox, other.bbox
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    smaller = min((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b))
    return width > 0 and height > 0 and width * height > OVERLAP * smaller


def text_height(box: TextBox) -> float:
    """Extent of a box across its writing direction, in pixels."""
    x0, y0, x1, y1 = box.bbox
    return x1 - x0 if box.rotated else y1 - y0


def font_sizes_pt(boxes: Sequence[TextBox], points_per_pixel: float) -> list[float]:
    """Font size of each box in print, in points, smallest first: as the PDF tells it, else estimated from its height.

    Doubtful boxes (confidence under 0.8) and single characters, whose height says little about the font, count only
    where there is nothing else. Against the font sizes in 33 vector figures the median comes out at 0.99 of the true
    one (half the figures within 0.93..1.12), the smallest at 0.87 (0.78..0.97): a lone lower-case word sits low.
    """
    sure = [
        box for box in boxes if (box.confidence is None or box.confidence >= SURE) and len(box.text.strip()) > 1
    ] or boxes
    return sorted(box.font_size_pt or text_height(box) * points_per_pixel / BOX_TO_FONT for box in sure)


# --- panel letters --------------------------------------------------------------------------------------------------


def plausible_letters(letters: Collection[str]) -> set[str]:
    """Letters that can be panel letters together: not further down the alphabet than their number, plus one missed.

    >>> sorted(plausible_letters(["a", "b", "d", "x"]))
    ['a', 'b', 'd']
    >>> plausible_letters(["x"])
    set()
    """
    kept = set(letters)
    while kept and ord(max(kept)) - ord("a") > len(kept):
        kept.discard(max(kept))
    return kept


def panel_letters(boxes: Sequence[TextBox], width: float, height: float) -> list[str]:
    """Panel letters in lower case, each once, in reading order.

    Letters in brackets at the start of a piece of text ("(a)", "b)", "(c) Accuracy") count wherever they stand.
    Letters without brackets ("A", "b.", "c:") are more often data labels. They count only when there are no bracketed
    ones, all are of one case, none occurs twice, they run from a without a gap, the reading order is the alphabet's,
    the first stands in the upper left fifth of the image, and each shares its row or column with another.

    Args:
        boxes: Text found in the image.
        width: Width of the image in pixels.
        height: Height of the image in pixels.
    """
    # labels of panels of unequal height, or below them, are often some lines apart
    ordered = reading_order(boxes, row_tolerance=2)
    marked = [letter for box in ordered for letter in marked_letters(box.text)]
    kept = plausible_letters(marked)
    if kept:
        return [letter for letter in dict.fromkeys(marked) if letter in kept]
    return _bare_letters(ordered, width, height)


def marked_letters(text: str) -> list[str]:
    """The bracketed letters that a text begins with: one, or several that were read as one piece."""
    letters, rest = [], plain(text)
    while match := _MARKED_LETTER.match(rest):
        letters.append((match[1] or match[2]).lower())
        rest = rest[match.end() :].lstrip(" ,.:")
    return letters


def _bare_letters(ordered: Sequence[TextBox], width: float, height: float) -> list[str]:
    """Panel letters without brackets, where their arrangement leaves little doubt."""
    found = [(match[1], box) for box in ordered if (match := _BARE_LETTER.fullmatch(plain(box.text)))]
    for case in (str.isupper, str.islower):
        letters = [letter.lower() for letter, _ in found if case(letter)]
        places = [box for letter, box in found if case(letter)]
        in_sequence = len(letters) > 1 and letters == [chr(ord("a") + i) for i in range(len(letters))]
        if not in_sequence:
            continue
        x, y = middle(places[0])
        if x <= width / 5 and y <= height / 5 and all(_aligned(box, places) for box in places):
            return letters
    return []


def _aligned(box: TextBox, others: Sequence[TextBox]) -> bool:
    """Whether another box stands in the same row or column."""
    (x, y), tolerance = middle(box), text_height(box)
    return any(
        other is not box and min(abs(x - middle(other)[0]), abs(y - middle(other)[1])) <= tolerance for other in others
    )


# --- shared ---------------------------------------------------------------------------------------------------------


def order_key(box: TextBox) -> tuple:
    """From top to bottom, then from the left; complete, so that the order of input never matters."""
    return (middle(box)[1], *box.bbox, box.text, box.confidence or 0.0, box.rotated)


def middle(box: TextBox) -> tuple[float, float]:
    """Centre of a box."""
    x0, y0, x1, y1 = box.bbox
    return (x0 + x1) / 2, (y0 + y1) / 2


def plain(text: str) -> str:
    """Text in NFKC, with plain dashes and without surrounding white space.

    >>> plain(" （a） −5 ")
    '(a) -5'
    """
    return unicodedata.normalize("NFKC", text).translate(_DASHES).strip()
