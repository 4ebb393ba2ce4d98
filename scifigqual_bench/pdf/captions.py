"""Find the captions of a paper: figures, tables, algorithms and listings, each with its printed number.

A line that begins with "Figure 3" may be a caption or a sentence that happens to start a line. The label decides
where it can (a colon follows); else the paper's own habit does: the style in which most of its captions are set, and
whether the line before flows into this one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from scifigqual_bench.pdf.document import Document, Line, Rect, Span
from scifigqual_bench.pdf.layout import EDGE, WORD_GAP, Layout, PageLayout, Role, analyse, rows_of
from scifigqual_bench.pdf.reading import LineKey, row_text
from scifigqual_bench.pdf.words import join_all, vocabulary

CaptionKind = Literal["figure", "table", "algorithm", "listing"]

_WORDS: dict[CaptionKind, str] = {
    # small capitals may come with a space after the first letter
    "figure": r"f ?ig(?:ure|ura|\.)?|abb(?:ildung|\.)|рис(?:унок|\.)|图|圖|図|그림|scheme|chart",
    "table": r"t ?ab(?:le|ela|la|elle|\.)?|таблица|表|표",
    "algorithm": r"alg(?:orithm|\.)",
    "listing": r"listing",
}
_LABEL = re.compile(
    r"^\s*(?P<label>(?:(?P<series>extended data|supplementa(?:ry|l)|suppl?\.?|appendix)\s+|(?P<annex>[附补補]))?(?:"
    + "|".join(f"(?P<{kind}>{words})" for kind, words in _WORDS.items())
    + r")\s*(?P<number>(?:[A-Z]{1,2}[.\-]?)?\d{1,3}(?:[.\-]\d{1,3})*[a-z]?(?![\w%])"
    r"|[IVXL]{1,6}(?!\w)|[A-Z](?=\s*[:.|])))(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
PARAGRAPH_GAP = 2.4
"""Font sizes from one baseline to the next at which two paragraphs of a caption stand, at the most."""
NEIGHBOUR = 8
"""So many font sizes above or below a caption's first row the label of one may stand that lies to its right."""
CLEAR = 2.0
"""From this score on a label is taken for a caption's."""
_SENTENCE_END = re.compile(r"[.!?:;。！？][)\]’”\"']*$")
_CONTINUED = re.compile(r"^\s*[:.,\-–—]?\s*[(\[]?\s*(?:continued|cont\.|cont’d|cont'd|contd)\b", re.IGNORECASE)
_SEPARATOR = re.compile(r"^\s*(?P<mark>[:|：]|\.(?!\d)|[—–-](?=\s))")
_WIDE_SCRIPT = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
"""Scripts that set no mark but a space after the number of a caption, and none after that of a mention."""
_BARE = re.compile(
    r"^\s*(?:(?:extended data|supplementa(?:ry|l)|suppl?\.?|appendix)\s+)?(?:"
    + "|".join(_WORDS.values())
    + r")\s*(?:(?:[A-Z]{1,2}[.\-]?)?\d{1,3}(?:[.\-]\d{1,3})*[.:|]?\s*)?$",
    re.IGNORECASE,
)
"""The word of a label, or all of it, without anything that follows."""
_BLANK = Span(" ", (0.0, 0.0, 0.0, 0.0), 0.0, "", bold=False, italic=False, superscript=False)
_SCORES = {":": 3.0, "：": 3.0, "|": 3.0, ".": 2.0, "—": 2.0, "–": 2.0, " ": 2.0, "-": 1.0}
"""How much the mark after the number speaks for a caption."""


@dataclass(frozen=True)
class Caption:
    """A caption as printed.

    Attributes:
        number: As printed: ``"3"``, ``"A1"``, ``"S2"``, ``"IV"``. A series that is printed before the word
            stands before a plain number, ``"Extended Data 1"``, ``"Supplementary 5"``: it counts on its own.
        label: Word and number as printed: ``"Figure 3"``, ``"Fig. 3"``.
        page: From 1.
        bbox: In PDF points from the page's top left corner.
        text: The whole caption with its label; words broken at line ends are joined.
        lines: Indices into ``Page.lines``, in reading order.
        overflow: Its lines in the next column or on the next page, as (page, index); ``bbox`` does not hold them.
        continued: Whether it says that it continues an earlier float.
    """

    kind: CaptionKind
    number: str
    label: str
    page: int
    bbox: Rect
    text: str
    lines: tuple[int, ...]
    continued: bool = False
    overflow: tuple[LineKey, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    """A line that begins with a label, and what speaks for its being a caption.

    Attributes:
        separator: The mark after the number, empty where there is none.
        bold: Whether the label is set in bold; ``italic`` likewise.
        apart: Whether the label is bold and what follows it is not.
        flows: Whether the line before runs on into this one.
        alone: Whether nothing follows the label in its line.
    """

    page: int
    line: int
    kind: CaptionKind
    number: str
    label: str
    separator: str
    continued: bool
    size: float
    bold: bool
    italic: bool
    apart: bool
    flows: bool
    alone: bool

    @property
    def style(self) -> tuple[str, str, bool, bool]:
        """What the captions of one paper have in common."""
        word = re.sub(r"[\s\d].*$", "", self.label)
        return word, self.separator, self.bold, self.italic


def find_captions(document: Document, layout: Layout | None = None) -> list[Caption]:
    """Find every caption of a paper.

    Args:
        document: The paper.
        layout: Its layout, where the caller has it already.

    Returns:
        Captions page by page, within a page in the order of the PDF.
    """
    layout = layout or analyse(document)
    candidates = [found for page in layout.pages for found in _candidates(page, layout)]
    chosen = _choose(candidates, layout)
    words = vocabulary(line.text for page in document.pages for line in page.lines)
    captions = []
    for page in layout.pages:
        here = [c for c in chosen if c.page == page.page.number]
        captions += _grow_all(layout, page, here, words)
    return captions


class Label(NamedTuple):
    """How a caption begins; see :class:`Caption`."""

    kind: CaptionKind
    number: str
    label: str
    continued: bool


def read_label(text: str) -> Label | None:
    """The label of a text that is known to be a caption; None where it has no number.

    >>> read_label("Fig. 3. A plot (continued)")
    Label(kind='figure', number='3', label='Fig. 3', continued=False)
    >>> read_label("A plot") is None
    True
    """
    match = _LABEL.match(text)
    if match is None or not _plausible(match):
        return None
    kind = next(kind for kind in _WORDS if match[kind])
    return Label(kind, _number(match), match["label"].strip(), _CONTINUED.match(match["rest"]) is not None)


# --- labels -----------------------------------------------------------------------------------------------------------


def _candidates(page: PageLayout, layout: Layout) -> list[_Candidate]:
    found = []
    for index, line in enumerate(page.page.lines):
        if not line.horizontal:
            continue
        parted = False
        if _BARE.match(line.text):
            line, parted = _head_line(page, index)
        match = _LABEL.match(line.text)
        if match is None or not _plausible(match):
            continue
        kind = next(kind for kind in _WORDS if match[kind])
        rest = match["rest"]
        label = match["label"].strip()
        spans = _label_spans(line, match.end("label"))
        bold = all(span.bold for span in spans)
        after = [span for span in line.spans if span.text.strip() and span not in spans]
        found.append(
            _Candidate(
                page=page.page.number,
                line=index,
                kind=kind,
                number=_number(match),
                label=label,
                separator=_mark_after(label, rest) or (" " if parted else ""),
                continued=_CONTINUED.match(rest) is not None,
                size=float(page.sizes[index]),
                bold=bold,
                italic=all(span.italic for span in spans),
                apart=bold and bool(after) and not after[0].bold,
                flows=_flows_into(page, index, layout),
                alone=not rest.strip(" .:"),
            )
        )
    return found


def _head_line(page: PageLayout, index: int) -> tuple[Line, bool]:
    """The whole row of a line that is no more than a label or its word, and whether white parts a label from its text.

    The wide spaces of justified text tear the row apart, and so does the white with which some papers set off a label.
    In the first case all words stand apart, in the second only the label does.
    """
    pieces = [page.page.lines[i] for i in _head(page, index)]
    spans = [span for piece in pieces for span in (*piece.spans, _BLANK)][:-1]
    parted = len(pieces) > 1 and _LABEL.match(pieces[0].text) is not None and len(pieces[1].text.split()) > 1
    return replace(pieces[0], spans=tuple(spans)), parted


def _head(page: PageLayout, start: int) -> np.ndarray:
    """The lines of the row that begins with line ``start``: up to a wide gap, another label, text, or a gutter."""
    box, first, size = page.boxes, page.boxes[start], page.sizes[start]
    height = np.minimum(box[:, 3], first[3]) - np.maximum(box[:, 1], first[1])
    beside = page.level & (box[:, 0] >= first[0]) & (height > 0.5 * size) & (page.roles != Role.FURNITURE)
    beside[start] = True
    row = next(row for row in rows_of(box, np.flatnonzero(beside)) if start in row)
    row = _chain(box, row[np.flatnonzero(row == start)[0] :], size)
    texts = [page.page.lines[index].text for index in row]
    for k in range(1, len(row)):
        end, begin = box[row[k - 1], 2], box[row[k], 0]
        gutter = any(end < left + EDGE and begin > left - EDGE for left, _ in page.columns)
        text = page.roles[row[k]] != page.roles[start] and not _BARE.match(texts[k - 1])
        if gutter or text or _BARE.match(texts[k]) or _LABEL.match(texts[k]):
            return row[:k]
    return row


def _number(match: re.Match[str]) -> str:
    """The number as printed, after its series where that is printed apart from it."""
    series = "supplementary" if match["annex"] else match["series"]
    return f"{series.title()} {match['number']}" if series and match["number"][0].isdigit() else match["number"]


def _mark_after(label: str, rest: str) -> str:
    """The mark between a label and what follows it; empty where there is none."""
    separator = _SEPARATOR.match(rest)
    if separator:
        return separator["mark"]
    return " " if _WIDE_SCRIPT.match(label) and rest[:1].isspace() and rest.strip() else ""


def _plausible(match: re.Match[str]) -> bool:
    """A label begins with a capital (or a script without capitals), and a letter alone is one where it is a capital."""
    number = match["number"]
    roman = re.fullmatch(r"[A-Za-z]+", number) is not None
    return not match["label"].lstrip()[0].islower() and (not roman or number.isupper())


def _label_spans(line: Line, end: int) -> list[Span]:
    """The spans that hold the first ``end`` characters, spaces left out."""
    spans, position = [], 0
    for span in line.spans:
        if position < end and span.text.strip():
            spans.append(span)
        position += len(span.text)
    return spans or list(line.spans)


def _flows_into(page: PageLayout, index: int, layout: Layout) -> bool:
    """Whether the line above runs to the end of its column and stands as close as the lines of one paragraph."""
    box, size = page.boxes[index], page.sizes[index]
    left, right = page.column_of(tuple(box))
    step = page.floors[index] - page.floors
    above = (
        (np.abs(page.sizes - size) < 0.6)
        & (step > 0.5 * size)
        & (step < 1.15 * max(layout.leading, 1.15 * size))
        & (page.boxes[:, 0] < box[0] + 4 * EDGE)
        & (page.boxes[:, 0] > left - 2 * EDGE)
        & (page.boxes[:, 2] > right - 4 * EDGE)
        & (page.boxes[:, 2] < right + 2 * EDGE)
        & (page.roles != Role.FURNITURE)
    )
    return bool(above.any())


def _score(candidate: _Candidate, layout: Layout) -> float:
    """What one label shows by itself; 2 and more is a caption if the paper's habit does not say otherwise."""
    score = _SCORES.get(candidate.separator, 0.0)
    if candidate.kind in ("algorithm", "listing") and candidate.bold:
        score += 2.0
    score += candidate.bold + 0.5 * candidate.italic + 1.5 * candidate.continued
    score += 0.5 * (abs(candidate.size - layout.body_size) > 0.4)
    if candidate.separator in (".", "-", " ", ""):
        score -= 3.0 * candidate.flows
    # in the old style the label stands in capitals on a line of its own
    headed = candidate.alone and candidate.label.isupper()
    return score + 0.5 * candidate.alone + candidate.apart + 1.5 * headed


def _choose(candidates: Sequence[_Candidate], layout: Layout) -> list[_Candidate]:
    """Keep the captions: each label's own score, corrected by the habit of the paper's clear captions of that kind."""
    chosen = []
    for kind in _WORDS:
        scored = [(c, _score(c, layout)) for c in candidates if c.kind == kind]
        clear = [c for c, score in scored if score >= CLEAR]
        numbers = len({c.number for c in clear}) or 1
        styles = Counter(style for style, _ in {(c.style, c.number) for c in clear})
        usual_size = float(np.median([c.size for c in clear])) if clear else 0.0
        for candidate, score in scored:
            share = styles[candidate.style] / numbers
            score += 1.0 if share >= 0.5 else -1.5 if share < 0.2 and numbers >= 2 else 0.0
            # text within a figure, a picture of a page for example, is set much smaller than the paper's captions
            if score >= CLEAR and candidate.size > 0.75 * usual_size:
                chosen.append(candidate)
    return sorted(chosen, key=lambda c: (c.page, c.line))


# --- extent -----------------------------------------------------------------------------------------------------------


def _grow_all(
    layout: Layout, page: PageLayout, labels: Sequence[_Candidate], words: Mapping[str, int]
) -> list[Caption]:
    starts = {c.line: c for c in labels}
    captions = []
    for candidate in labels:
        rows = _grow(page, candidate.line, set(starts) - {candidate.line}, layout)
        lines = [int(index) for row in rows for index in row]
        boxes = page.boxes[lines]
        bbox = (boxes[:, 0].min(), boxes[:, 1].min(), boxes[:, 2].max(), boxes[:, 3].max())
        texts = [row_text([page.page.lines[index] for index in row]) for row in rows]
        there, over = _overflow(layout, page, rows[-1], texts[-1])
        texts += [row_text([there.page.lines[index] for index in row]) for row in over]
        captions.append(
            Caption(
                kind=candidate.kind,
                number=candidate.number,
                label=candidate.label,
                page=candidate.page,
                bbox=tuple(float(v) for v in bbox),
                text=join_all(texts, words),
                lines=tuple(lines),
                continued=candidate.continued,
                overflow=tuple((there.page.number, int(index)) for row in over for index in row),
            )
        )
    return captions


def _grow(page: PageLayout, start: int, others: set[int], layout: Layout) -> list[np.ndarray]:
    """The lines of the caption that begins with line ``start``, row by row downwards."""
    box, sizes = page.boxes, page.sizes
    size, first, head = sizes[start], box[start], _head(page, start)
    # of a label that stands apart only its whole row, or the one below it, tells how wide the caption is
    shown = [*head, *(_under(page, start) if _BARE.match(page.page.lines[head[-1]].text) else ())]
    left, right = _bounds(page, np.array([*box[shown, :2].min(axis=0), *box[shown, 2:].max(axis=0)]), others)
    below = [
        box[i, 1] for i in others if box[i, 1] > first[3] - 1 and min(box[i, 2], first[2]) > max(box[i, 0], first[0])
    ]
    below += [rule[1] for rule in page.rules_between(first[0], first[2]) if rule[1] > first[3] - 1]
    middle = (box[:, 1] + box[:, 3]) / 2
    usable = (
        (page.roles != Role.FURNITURE)
        & page.level
        & (box[:, 0] > left - EDGE)
        & (box[:, 2] < right + 2 * EDGE)
        & (middle < min(below, default=np.inf))
    )
    usable[list(others)] = False
    for other in others:  # what stands below a label to the right goes on the caption of that one
        if box[other, 0] > first[2] and abs(first[1] - box[other, 1]) < NEIGHBOUR * size:
            usable &= (box[:, 0] < box[other, 0] - EDGE) | (middle < box[other, 1])
    if page.roles[start] != Role.BODY:  # text that flows around the float
        usable &= (page.roles != Role.BODY) | (box[:, 0] < max(box[head, 2]) + WORD_GAP)
    # captions that stand at one place on several pages look like running heads
    usable[start] = True
    edge = _right_edge(page, start, usable)
    head = head[usable[head]]
    taken = [head[box[head, 0] < edge] if np.isfinite(edge) else _sentence(page, head)]
    edge = max(edge if np.isfinite(edge) else 0.0, box[taken[0], 2].max())
    centred = np.abs(box[:, 0] + box[:, 2] - first[0] - edge) < 4 * EDGE
    usable &= (middle > first[3]) & (((box[:, 0] > first[0] - 2 * EDGE) & (box[:, 0] < edge + EDGE)) | centred)
    step, plain = 0.0, abs(size - layout.body_size) < 0.4
    leading = 1.2 * layout.leading * size / max(layout.body_size, 1.0)
    widest = max(leading, 1.55 * size)
    for row in rows_of(box, np.flatnonzero(usable)):
        row = _reach(page, row, taken, size)
        if len(row) == 0:
            break
        main = row[np.argmax(box[row, 2] - box[row, 0])]
        above = taken[-1][np.argmax(box[taken[-1], 2] - box[taken[-1], 0])]
        gap = page.floors[main] - page.floors[above]
        # where rows stand far apart nothing but the type tells a caption from the text
        if abs(sizes[main] - size) > (0.12 * size if gap < 1.55 * size else 0.3):
            break
        if plain and _text_begins(page, taken, row, far=gap > (1.2 * step if step else leading)):
            break
        spaced = not step and not plain and gap < 2.5 * size and _runs_on(page, taken, row)
        if gap > (1.3 * step if step else widest) and not spaced:
            if not _next_paragraph(page, taken, row, gap, layout.body_size):
                break
            gap = step
        taken.append(row)
        step = max(step, gap)
    return taken


def _under(page: PageLayout, start: int) -> list[int]:
    """The line right below a label that stands in a row of its own, where one begins at its left edge."""
    step = page.floors - page.floors[start]
    near = (step > 0.5 * page.sizes[start]) & (step < 1.55 * page.sizes[start]) & page.level
    near &= (np.abs(page.boxes[:, 0] - page.boxes[start, 0]) < EDGE) & (page.roles != Role.FURNITURE)
    near &= np.abs(page.sizes - page.sizes[start]) < 0.12 * page.sizes[start]
    return np.flatnonzero(near)[:1].tolist()


def _next_paragraph(
    page: PageLayout, taken: Sequence[np.ndarray], row: np.ndarray, gap: float, body_size: float
) -> bool:
    """Whether a row that is set apart from a caption of several rows begins another paragraph of it.

    It is set like the caption and unlike the body, and runs from edge to edge of the caption.
    """
    box, so_far = page.boxes, np.concatenate(taken)
    first, line = page.page.lines[so_far[0]], page.page.lines[row[0]]
    left, right = box[so_far, 0].min(), box[so_far, 2].max()
    return bool(
        len(taken) > 1
        and gap < PARAGRAPH_GAP * first.size
        and abs(first.size - body_size) > 0.4
        and abs(line.size - first.size) < 0.3
        and line.main.font == page.page.lines[taken[-1][0]].main.font
        and abs(box[row, 0].min() - left) < EDGE
        and abs(box[row, 2].max() - right) < EDGE
    )


def _text_begins(page: PageLayout, taken: Sequence[np.ndarray], row: np.ndarray, *, far: bool) -> bool:
    """Whether a row below a caption that is set like the text begins a paragraph.

    The row above ends a sentence, and the distance is more than that of two rows or the first word had found room
    beside it.
    """
    above, first = (page.page.lines[index] for index in (taken[-1][-1], row[0]))
    begins = abs(first.bbox[0] - page.boxes[taken[0], 0].min()) < 2 * first.size
    return bool(_SENTENCE_END.search(above.text.rstrip()) and (far or (begins and _has_room(page, taken, row))))


def _runs_on(page: PageLayout, taken: Sequence[np.ndarray], row: np.ndarray) -> bool:
    """Whether a caption's row ends within a sentence for want of room, and one of the same type below goes on."""
    above, first = (page.page.lines[index] for index in (taken[-1][-1], row[0]))
    alike = abs(first.bbox[0] - page.boxes[taken[0], 0].min()) < EDGE and first.main.font == above.main.font
    return alike and not _SENTENCE_END.search(above.text.rstrip()) and not _has_room(page, taken, row)


def _has_room(page: PageLayout, taken: Sequence[np.ndarray], row: np.ndarray) -> bool:
    """Whether the first word of a row had found room at the end of the one above."""
    first = page.page.lines[row[0]]
    letter = (first.bbox[2] - first.bbox[0]) / max(len(first.text), 1)
    right = page.boxes[np.concatenate([*taken, row]), 2].max()
    return bool(right - page.boxes[taken[-1], 2].max() > 2 * letter * len(first.text.split()[0]) + first.size)


def _right_edge(page: PageLayout, start: int, usable: np.ndarray) -> float:
    """How far the rows under the label reach, those that begin at its left edge; infinity where there are none.

    The last row of a caption tells nothing: it may be short.
    """
    box, first, size = page.boxes, page.boxes[start], page.sizes[start]
    depth = page.floors - page.floors[start]
    under = usable & (np.abs(box[:, 0] - first[0]) < EDGE) & (depth > 0.5 * size) & (depth < 4 * size)
    under &= np.abs(page.sizes - size) < 0.12 * size
    ends = []
    for row in rows_of(box, np.flatnonzero(usable & (depth > 0.5 * size) & (depth < 4 * size))):
        if under[row].any():
            begun = _chain(box, row[np.argmax(under[row]) :], size)
            ends.append(float(box[_sentence(page, begun), 2].max()))
    return max(ends if len(ends) > 2 else ends[:-1], default=np.inf)


def _bounds(page: PageLayout, first: np.ndarray, others: set[int]) -> tuple[float, float]:
    """Between which edges the caption's lines may stand: its column, cut by labels in the same row."""
    left, right = page.column_of(tuple(first))
    for other in others:
        box = page.boxes[other]
        if min(box[3], first[3]) - max(box[1], first[1]) > 0:
            if box[0] > first[2] - EDGE:
                right = min(right, box[0] - 2 * EDGE)
            elif box[2] < first[0] + EDGE:
                left = max(left, box[2])
    return left, right


def _reach(page: PageLayout, row: np.ndarray, taken: list[np.ndarray], size: float) -> np.ndarray:
    """The lines of a row that continue the caption; none where the row is set apart from it.

    They start at the caption's left edge, a little to the right of it, below the text that follows its label, or lie
    centred under it; what stands beside the caption (wrapped text, a neighbour's sub-caption) begins left of its left
    edge or right of its right edge.
    """
    box, so_far = page.boxes, np.concatenate(taken)
    left, right = box[so_far, 0].min(), box[so_far, 2].max()
    # the second row shows the block's width; from then on nothing reaches beyond it
    widening = len(taken) == 1
    chain = _chain(box, row[box[row, 0] > left - 2 * EDGE], size)
    within = box[chain, 0] < right + EDGE
    chain = chain[within | (np.isin(chain, _sentence(page, chain)) & widening)] if within[:1].any() else chain[:0]
    if len(chain):
        begin, end = box[chain, 0].min(), box[chain, 2].max()
        inner = max(left + 0.2 * (right - left), _text_start(page, taken[0]) + EDGE)
        begins_well = begin < inner or abs(begin + end - left - right) < 4 * EDGE
        if begins_well and (widening or end < right + 3 * EDGE):
            return chain
    chain = _chain(box, row[(box[row, 2] > left) & (box[row, 0] < right)], size)
    if len(chain) and abs(box[chain, 0].min() + box[chain, 2].max() - left - right) < 4 * EDGE:
        return chain
    return np.empty(0, dtype=int)


def _text_start(page: PageLayout, head: np.ndarray) -> float:
    """Where about the text after a label begins, under which some papers set the other rows of the caption."""
    line = page.page.lines[head[0]]
    match = _LABEL.match(line.text)
    if match is None or _BARE.match(line.text):
        return float(page.boxes[head[:2][-1], 0])
    position = len(line.text) - len(match["rest"].lstrip(" .:|–—-"))
    for span in line.spans:
        if position <= len(span.text):
            return span.bbox[0] + (span.bbox[2] - span.bbox[0]) * position / len(span.text)
        position -= len(span.text)
    return line.bbox[2]


def _sentence(page: PageLayout, row: np.ndarray) -> np.ndarray:
    """The lines of a row as far as only a label and words that stand alone, as in stretched text, are torn off."""
    texts = [page.page.lines[index].text for index in row]
    for k in range(1, len(row)):
        if min(len(texts[k - 1].split()), len(texts[k].split())) > 1 and not _BARE.match(texts[k - 1]):
            return row[:k]
    return row


def _chain(box: np.ndarray, row: np.ndarray, size: float) -> np.ndarray:
    """The lines of a row from its first one to the first wide gap."""
    keep: list[int] = []
    for index in row:
        if keep and box[index, 0] - box[keep, 2].max() > 2.5 * size:
            break
        keep.append(int(index))
    return np.array(keep, dtype=int)


# --- captions that go on elsewhere ------------------------------------------------------------------------------------


def _overflow(layout: Layout, page: PageLayout, last: np.ndarray, text: str) -> tuple[PageLayout, list[np.ndarray]]:
    """Where a caption goes on whose last row ends at the foot of its column in the middle of a sentence.

    Only a caption whose type is smaller or larger than the body's shows that it does: what stands at the head of the
    next column, or of the next page, begins in the same type.

    Returns:
        The page on which it goes on, and the rows there; none where it does not.
    """
    main = page.page.lines[last[np.argmax(page.boxes[last, 2] - page.boxes[last, 0])]]
    column = page.column_of(tuple(page.boxes[last[0]]))
    foot = page.boxes[last, 3].max()
    if (
        abs(main.size - layout.body_size) < 0.4
        or _SENTENCE_END.search(text)
        or page.boxes[last, 2].max() < column[1] - 4 * EDGE
        or (page.boxes[_of_column(page, column), 1] > foot - EDGE).any()
    ):
        return page, []
    for there, goal in _next_columns(layout, page, column):
        rows = rows_of(there.boxes, np.flatnonzero(_of_column(there, goal)))
        if not rows:
            continue
        taken: list[np.ndarray] = []
        for row in rows:
            first = there.page.lines[row[0]]
            alike = abs(first.size - main.size) < 0.3 and first.main.font == main.main.font
            near = not taken or there.floors[row[0]] - there.floors[taken[-1][0]] < 1.55 * main.size
            if not alike or not near or abs(there.boxes[row[0], 0] - goal[0]) > EDGE:
                break
            taken.append(row)
        begins_anew = taken and _LABEL.match(there.page.lines[taken[0][0]].text)
        return (there, []) if begins_anew else (there, taken)
    return page, []


def _of_column(page: PageLayout, column: tuple[float, float]) -> np.ndarray:
    """Mask of a page's lines, furniture left out, that lie in a column."""
    inside = (page.boxes[:, 0] > column[0] - EDGE) & (page.boxes[:, 2] < column[1] + EDGE)
    return inside & page.level & (page.roles != Role.FURNITURE)


def _next_columns(
    layout: Layout, page: PageLayout, column: tuple[float, float]
) -> Iterator[tuple[PageLayout, tuple[float, float]]]:
    """The column that is read after one: the next one on its page, else the first one of the next page."""
    width = column[1] - column[0]
    beside = [c for c in page.columns if c[0] > column[1] and abs(c[1] - c[0] - width) < 4 * EDGE]
    if beside:
        yield page, min(beside)
        return
    following = [other for other in layout.pages if other.page.number == page.page.number + 1]
    for other in following:
        alike = [c for c in other.columns if abs(c[1] - c[0] - width) < 4 * EDGE]
        if alike:
            yield other, min(alike)
