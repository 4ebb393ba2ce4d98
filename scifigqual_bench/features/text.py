"""What the text boxes of a figure say: panel letters, axis numbers, text heights (SPEC 9).

All functions are pure and don't depend on the order in which the boxes come.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
import unicodedata
from collections.abc import Callable, Collection, Sequence

from scifigqual_bench.records import TextBox

BOX_TO_FONT = 1.2
"""Height of a detected box over the font size: median over 863 boxes of real figures; half lie in 1.08..1.32."""
SURE = 0.8
"""Confidence from which a box counts for the font size."""
MIN_TICKS = 3
TICK_TOLERANCE = 0.25
"""How far a tick label may lie from its place on the scale, in text heights."""
REACH = 4
"""How many labels further down a label may find its partner that defines the scale: three in between may be wrong."""
ALIGNMENT_TOLERANCE = 0.6
"""How far the edges of tick labels of one axis may lie apart, in text heights."""

_MARKED_LETTER = re.compile(r"\(\s?([a-z])\s?\)|([a-z])\)(?=\s|$)", re.IGNORECASE)
_BARE_LETTER = re.compile(r"([a-z])[.:]?", re.IGNORECASE)
_PLAIN_NUMBER = re.compile(
    r"(?P<sign>[+-]?)\s?"
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,3}(?:\.\d{1,9})?|\d{1,12}(?:\.\d{0,9})?|\.\d{1,9})"
    r"(?:e(?P<exponent>[+-]?\d{1,2}))?\s?"
    r"(?P<suffix>%|[kKMBG])?"
)
_POWER_OF_TEN = re.compile(r"10\s?\^?\s?(?P<exponent>[+-]?\d{1,2}|°)")
_SUFFIXES = {"": 1.0, "%": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9}
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−﹣", "-"))


def reading_order(boxes: Sequence[TextBox], row_tolerance: float = 0.5) -> list[TextBox]:
    """Boxes row by row from the top, each row from the left.

    Args:
        boxes: Text found, in any order.
        row_tolerance: How far the middle of a box may lie below that of the first box of its row, in text heights.
    """
    rows: list[list[TextBox]] = []
    for box in sorted(boxes, key=_order_key):
        if rows and _middle(box)[1] - _middle(rows[-1][0])[1] <= row_tolerance * text_height(rows[-1][0]):
            rows[-1].append(box)
        else:
            rows.append([box])
    return [box for row in rows for box in sorted(row, key=lambda b: (*b.bbox, *_order_key(b)))]


def text_height(box: TextBox) -> float:
    """Extent of a box across its writing direction, in pixels."""
    x0, y0, x1, y1 = box.bbox
    return x1 - x0 if box.rotated else y1 - y0


def font_sizes_pt(boxes: Sequence[TextBox], points_per_pixel: float) -> list[float]:
    """Estimated font size of each box at print size, in points, smallest first.

    Doubtful boxes (confidence under 0.8) and single characters, whose height says little about the font, count only
    where there is nothing else. Against the font sizes in 33 vector figures the median comes out at 0.99 of the true
    one (half the figures within 0.93..1.12), the smallest at 0.87 (0.78..0.97): a lone lower-case word sits low.
    """
    sure = [box for box in boxes if box.confidence >= SURE and len(box.text.strip()) > 1] or boxes
    return sorted(text_height(box) * points_per_pixel / BOX_TO_FONT for box in sure)


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
    marked = [letter for box in ordered for letter in _marked_letters(box.text)]
    kept = plausible_letters(marked)
    if kept:
        return [letter for letter in dict.fromkeys(marked) if letter in kept]
    return _bare_letters(ordered, width, height)


def _marked_letters(text: str) -> list[str]:
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
        x, y = _middle(places[0])
        if x <= width / 5 and y <= height / 5 and all(_aligned(box, places) for box in places):
            return letters
    return []


def _aligned(box: TextBox, others: Sequence[TextBox]) -> bool:
    """Whether another box stands in the same row or column."""
    (x, y), tolerance = _middle(box), text_height(box)
    return any(
        other is not box and min(abs(x - _middle(other)[0]), abs(y - _middle(other)[1])) <= tolerance
        for other in others
    )


# --- axis numbers ---------------------------------------------------------------------------------------------------


def readings(text: str) -> list[float]:
    """The numbers that a tick label may stand for; none when it is no number.

    Understands signs (any dash), decimals, thousands commas, ``%`` (kept as printed), ``k``, ``M``, ``B``, ``1e-3``
    and powers of ten. A lost superscript leaves two readings, and the other labels of the axis decide.

    >>> readings("−20"), readings("1,500"), readings("2.5k"), readings("75%")
    ([-20.0], [1500.0], [2500.0], [75.0])
    >>> readings("101"), readings("10⁻³"), readings("K = 5")
    ([101.0, 10.0], [0.001], [])
    """
    text = plain(text)
    values = []
    if match := _PLAIN_NUMBER.fullmatch(text):
        digits = match["digits"].replace(",", "")
        values.append(float(f"{match['sign']}{digits}e{match['exponent'] or 0}") * _SUFFIXES[match["suffix"] or ""])
    if match := _POWER_OF_TEN.fullmatch(text):
        values.append(10.0 ** int(match["exponent"].replace("°", "0")))
    return values


def axis_numbers(boxes: Sequence[TextBox]) -> list[list[float]]:
    """Tick labels of vertical axes: values from bottom to top, one list an axis, axes in reading order.

    At least three numbers are taken for an axis when their right edges are aligned, their steps are multiples of one
    step, and their heights lie on a linear or a logarithmic scale, provided that two thirds of the numbers above and
    below them belong to axes, too. That holds for tick labels and hardly for other numbers: among 40 heat maps of 120
    random numbers it found 3 axes. A label that was misread falls off the scale and is left out. Columns that are
    better aligned at their left edges stand right of a plot area and are left out, and so is 1, 2, 3 counted
    downwards: rows of a table.

    A right-hand axis whose labels are all of one width can't be told from a left-hand one. An axis with fewer than
    three labels is not reported.
    """
    rest = [(box, values) for box in sorted(boxes, key=_order_key) if (values := readings(box.text))]
    scales: list[list[Tick]] = []
    while ticks := _best_scale(rest):
        labels = [box for box, _ in ticks]
        rest = [entry for entry in rest if entry[0] not in labels]
        scales.append(ticks)
    members = [box for ticks in scales for box, _ in ticks]
    axes: list[tuple[TextBox, list[float]]] = []
    for ticks in scales:
        labels, values = [box for box, _ in ticks], [value for _, value in reversed(ticks)]
        area = _around(labels)
        strays = sum(_above_or_below(box, area) for box, _ in rest)
        by_chance = 2 * strays > sum(_above_or_below(box, area) for box in members)
        rows_of_a_table = values == list(range(len(values), 0, -1))
        if not (by_chance or rows_of_a_table or _left_aligned(labels)):
            axes.append((area, values))
    areas = reading_order([area for area, _ in axes])
    return [values for area in areas for other, values in axes if other is area]


Number = tuple[TextBox, list[float]]
"""A box and the numbers that it may stand for."""
Tick = tuple[TextBox, float]
"""A box and the number that it stands for."""
Scale = Callable[[float], float | None]


def _best_scale(numbers: Sequence[Number]) -> list[Tick]:
    """The largest set of numbers that are one axis, from top to bottom; empty when there is none.

    Any two numbers define a linear and, when positive, a logarithmic scale; the others lie on it or not.
    """
    best: list[Tick] = []
    best_rank = (0, 0.0, 0.0)
    for first, values in numbers:
        column = [(box, readings) for box, readings in numbers if _right_aligned(box, first)]
        below = [(box, readings) for box, readings in column if _middle(box)[1] > _middle(first)[1]]
        for second, others in below[:REACH]:
            for low, high, scale in itertools.product(values, others, (_linear, _logarithmic)):
                ticks, error = _on_scale(column, scale, (first, low), (second, high))
                if len(ticks) < MIN_TICKS or not _regular([value for _, value in ticks], scale):
                    continue
                # most ticks first; then the axis that is compact, then the better fit
                extent = _middle(ticks[-1][0])[1] - _middle(ticks[0][0])[1]
                rank = (-len(ticks), round(extent), error)
                if rank < best_rank:
                    best, best_rank = ticks, rank
    return best


def _on_scale(column: Sequence[Number], scale: Scale, first: Tick, second: Tick) -> tuple[list[Tick], float]:
    """The numbers on the scale through two of them, each value once, and how far they miss it in all, in pixels."""
    start, end = scale(first[1]), scale(second[1])
    if start is None or end is None or start == end:
        return [], 0.0
    y_start, y_end = _middle(first[0])[1], _middle(second[0])[1]
    slope = (y_end - y_start) / (end - start)
    ticks: list[Tick] = []
    total = 0.0
    for box, values in column:
        misses = [
            (abs(y_start + slope * (place - start) - _middle(box)[1]), value)
            for value in values
            if (place := scale(value)) is not None
        ]
        miss, value = min(misses, default=(math.inf, 0.0))
        if miss <= TICK_TOLERANCE * text_height(box) and all(value != other for _, other in ticks):
            ticks.append((box, value))
            total += miss
    return ticks, total


def _above_or_below(box: TextBox, area: TextBox) -> bool:
    """Whether a box overlaps the vertical strip of an area, anywhere between top and bottom of the image."""
    return box.bbox[0] < area.bbox[2] and area.bbox[0] < box.bbox[2]


def _right_aligned(box: TextBox, other: TextBox) -> bool:
    return abs(box.bbox[2] - other.bbox[2]) <= ALIGNMENT_TOLERANCE * text_height(other)


def _regular(values: Sequence[float], scale: Scale) -> bool:
    """Whether the steps between neighbours are whole multiples of the smallest, give or take rounded labels.

    Three numbers do that by chance often enough: with those the smallest step (ratio, on a logarithmic scale) must be
    round as well, such as 0.2, 25 or 10.
    """
    places = [scale(value) for value in values]
    steps = [abs(b - a) for a, b in itertools.pairwise(places)]
    smallest = min(steps)
    if any(abs(step / smallest - round(step / smallest)) > 0.05 for step in steps):
        return False
    if len(values) > MIN_TICKS:
        return True
    unit = smallest if scale is _linear else 10**smallest
    halves = 2 * unit / 10 ** math.floor(math.log10(unit))
    return abs(halves - round(halves)) < 0.01


def _linear(value: float) -> float | None:
    return value


def _logarithmic(value: float) -> float | None:
    return math.log10(value) if value > 0 else None


def _left_aligned(labels: Sequence[TextBox]) -> bool:
    """Whether labels of different widths share their left edges rather than their right ones."""
    left, right = (max(edges) - min(edges) for edges in ([box.bbox[side] for box in labels] for side in (0, 2)))
    return right - left > 0.25 * statistics.median(text_height(box) for box in labels)


def _around(boxes: Sequence[TextBox]) -> TextBox:
    """One box around several."""
    x0, y0, x1, y1 = zip(*(box.bbox for box in boxes), strict=True)
    return TextBox(text="", confidence=1.0, bbox=[min(x0), min(y0), max(x1), max(y1)])


# --- shared ---------------------------------------------------------------------------------------------------------


def _order_key(box: TextBox) -> tuple:
    """From top to bottom, then from the left; complete, so that the order of input never matters."""
    return (_middle(box)[1], *box.bbox, box.text, box.confidence, box.rotated)


def _middle(box: TextBox) -> tuple[float, float]:
    x0, y0, x1, y1 = box.bbox
    return (x0 + x1) / 2, (y0 + y1) / 2


def plain(text: str) -> str:
    """Text in NFKC, with plain dashes and without surrounding white space.

    >>> plain(" （a） −5 ")
    '(a) -5'
    """
    return unicodedata.normalize("NFKC", text).translate(_DASHES).strip()
