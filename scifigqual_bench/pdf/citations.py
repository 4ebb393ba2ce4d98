"""Citations: which paragraphs of a paper speak of which of its figures, and what they do with them (SPEC 7).

Only paragraphs of the running text count, never the abstract, captions, footnotes or references, and only references by
a printed number. A figure that no paragraph names has no citations: nothing is ever guessed from nearness.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scifigqual_bench.pdf.text import Paragraph
from scifigqual_bench.records import Citation, CitationKind, Problem

MAX_CHARS = 4000
"""Longest text of one citation, in characters. Longer paragraphs are cut at sentence ends around the reference."""
MIN_CHARS = 20
"""Shorter blocks are ignored (SPEC 7)."""
WEIGHTS: dict[CitationKind, float] = {"pointer": 0.25, "description": 0.6, "comparison": 1.0, "trend": 1.0}
"""Preference of each kind in a prompt, 0..1."""
MAX_RANGE = 40
"""Longest range of figures that is believed to be one."""
CITING_KINDS = ("body", "list")
"""Kinds of paragraphs that can cite a figure."""


class Mention(NamedTuple):
    """A reference to figures of the paper, as printed.

    Attributes:
        text: The reference, for example ``"Figures 2, 3, and A1"``.
        numbers: The figures it names, ranges expanded: ``("2", "3", "A1")``. A series printed before the word
            stands before the number: ``"Extended Data 1"``.
        start: Position of its first character.
        end: Position after its last character.
    """

    text: str
    numbers: tuple[str, ...]
    start: int
    end: int


class Bindings(NamedTuple):
    """Citations of each figure number, and references that lead nowhere."""

    citations: dict[str, list[Citation]]
    problems: list[Problem]


# --- references in a text -------------------------------------------------------------------------------------------

_HEAD = re.compile(
    r"(?<![\w-])(?:(?P<series>Extended[ -]Data|Supplementa(?:ry|l)|Suppl?\.)\s+)?"
    r"(?P<word>fig(?:ure)?s?(?:\.|\b|(?=\d)))[\s~]*",
    re.I,
)
_NUMBER = re.compile(
    r"(?P<prefix>[A-Z]{1,2}[.\-–]?)?(?P<main>\d{1,3}(?:\.\d{1,2})*)(?![\d%])"
    r"|(?P<letters>[IVX]{1,5}|[A-Z])(?![\w.]\w|\w)"
)
_PLACE = r"\(\s?(?:far )?(?:left|right|top|bottom|upper|lower|middle|cent(?:er|re))\b[^()]{0,24}\)"
_BRACKETS = rf"(?:\(\s?[a-zA-Z]{{1,3}}(?:\s?(?:[-–—,&/]|and|to)\s?[a-zA-Z])*\s?\)|{_PLACE})"
_PANELS = re.compile(rf"\s?{_BRACKETS}|[.-]?[a-zA-Z](?!\w|\.\w)")
_MORE_PANELS = re.compile(
    rf"(?:\s?[-–—/]\s?|,?\s?(?:and|to|or|&)\s|,\s?){_BRACKETS}"
    r"|\s?[-–—/]\s?[a-zA-Z](?!\w|\.\w)|(?:,\s?|,?\s?(?:and|to|or|&)\s)[b-zB-HJ-Z](?!\w|\.\w)"
)
_RANGE = re.compile(r"\s?(?:[-–—−]{1,2}|to|through)\s?", re.I)
_COMMA = re.compile(r"\s?[,;/]\s?(?!and\b|or\b|&)|\s?\+\s?")
_LAST = re.compile(r",?\s(?:and|or|versus|vs\.?|with|to)\s|,?\s?&\s?", re.I)
_PREDICATE = re.compile(
    r"\s*(?:$|[.,;:)(\]–—]|(?:show|illustrat|depict|present|display|demonstrat|report|compar|visuali[sz]|plot|give|"
    r"provid|summari[sz]|contain|highlight|indicat|suggest|reveal|describ|confirm)|"
    r"(?:is|are|was|were|in|for|we|that|which|also|both|further|clearly|respectively|below|above|on|of|from|and|or)\b)"
)
_UNRESOLVED = re.compile(r"(?<![\w-])fig(?:ure)?s?\.?[\s~]*\?\?", re.I)
_YEAR = r"\(?(?:19|20)\d\d"
_AUTHOR = r"[A-Z][\w’'\-]+(?:(?:,| and| &)? [A-Z][\w’'\-]+)*"
_OF_OTHERS = re.compile(
    rf"\s*,?\s*(?:of|in|from|by)\s+(?:the (?:paper|work|study) (?:of|by)\s+)?"
    rf"(?:[(\[]?{_AUTHOR},? (?:et al|{_YEAR})|(?:refs?\.?\s*)?\[\d|the original (?:paper|work|publication))"
)
_OTHERS_BEFORE = re.compile(
    rf"(?:\bet al\.?,? {_YEAR}[a-z]?,\s*(?:see\s+)?|\bet al\.?['’]s\s+|\b(?:their|whose)\s+|"
    rf"\[\d+(?:\s*,\s*\d+)*,\s*(?:see\s+)?|\b{_AUTHOR}['’]s? ?(?:\({_YEAR}[a-z]?\)|\[\d+\])? )$"
)


def find_mentions(text: str) -> list[Mention]:
    """References to figures by number, in order.

    Lists and ranges are expanded; panels ("3a", "3(a)-(c)", "8c,d") belong to their figure. References to figures of
    other works ("Fig. 3 of Smith et al.", "Figure 2 in [12]", "their Figure 4") are left out.

    Args:
        text: A paragraph in one line.

    Returns:
        The references, with positions in ``text``.

    >>> [m.numbers for m in find_mentions("Figures 2-4 and A1; see Fig. 3(a)-(c), and Figure 2 in [12].")]
    [('2', '3', '4', 'A1'), ('3',)]
    >>> find_mentions("compare Figure 13b with 9e")[0].numbers
    ('13', '9')
    """
    mentions = []
    for head in _HEAD.finditer(text):
        plural = head["word"].rstrip(".").lower().endswith("s")
        numbers, end = _numbers(text, head.end(), plural)
        if not numbers or _of_others(text, head.start(), end):
            continue
        series = " ".join(head["series"].replace("-", " ").split()).title() + " " if head["series"] else ""
        unique = tuple(dict.fromkeys(series + number for number in numbers))
        mentions.append(Mention(text[head.start() : end], unique, head.start(), end))
    return mentions


def _of_others(text: str, start: int, end: int) -> bool:
    return bool(_OF_OTHERS.match(text, end) or _OTHERS_BEFORE.search(text[max(0, start - 80) : start]))


def _numbers(text: str, start: int, plural: bool) -> tuple[list[str], int]:
    """The numbers of a list that begins at ``start``, and where it ends."""
    first = _one(text, start)
    if first is None:
        return [], start
    number, end, panelled = first
    numbers = [number]
    closed = False
    while True:
        step = _RANGE.match(text, end)
        following = _one(text, step.end()) if step else None
        span = _expand(numbers[-1], following[0]) if following else None
        if following and span is not None:
            numbers += span
            _, end, panelled = following
            continue
        last = _LAST.match(text, end)
        step = last or _COMMA.match(text, end)
        following = _one(text, step.end()) if step else None
        if following is None:
            return numbers, end
        number, stop, has_panels = following
        both = panelled and has_panels
        # a list ends with its "and", unless panels show that it goes on: "Figures 3 and 4, 5 models"
        if closed and not both:
            return numbers, end
        # "Figure 3 and 4 show" is a list; "Figure 3 and 10 runs" and "in Figure 3, 5 models" are not
        if not plural and not both:
            more = _LAST.match(text, stop)
            if not (_PREDICATE.match(text, stop) if last else more and _one(text, more.end())):
                return numbers, end
        numbers.append(number)
        end, panelled, closed = stop, has_panels, last is not None


def _one(text: str, start: int) -> tuple[str, int, bool] | None:
    """One number with its panels: the number, where it ends, and whether it has panels."""
    match = _NUMBER.match(text, start)
    if match is None:
        return None
    end = match.end()
    if end < len(text) and text[end].isalpha() and not _PANELS.match(text, end):
        return None  # "3D", "2nd"
    panels = _PANELS.match(text, end)
    panelled = panels is not None
    while panels:
        end = panels.end()
        panels = _MORE_PANELS.match(text, end)
    number = match["letters"] or (match["prefix"] or "").rstrip(".-–").upper() + match["main"]
    return number, end, panelled


def _expand(first: str, last: str) -> list[str] | None:
    """The numbers after ``first`` up to ``last``; None where the two span no range."""
    a, b = re.fullmatch(r"([A-Z]*)(\d+)", first), re.fullmatch(r"([A-Z]*)(\d+)", last)
    if not a or not b or (b[1] and a[1] != b[1]):
        return None
    low, high = int(a[2]), int(b[2])
    return [f"{a[1]}{n}" for n in range(low + 1, high + 1)] if low <= high <= low + MAX_RANGE else None


# --- sentences ------------------------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]⁰¹²³⁴⁵⁶⁷⁸⁹]*\s+(?=[\"'“‘(\[]*[A-Z0-9\[])")
_NO_END = re.compile(
    r"\b(?:figs?|secs?|eqs?|eqns?|tabs?|refs?|alg|app|no|al|vs|cf|resp|approx|dr|prof|e\.g|i\.e|w\.r\.t|(?-i:[A-Z]))\.$",
    re.I,
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans of a paragraph's sentences; together they cover it.

    >>> sentences("As Fig. 2 shows, it works. So does B.")
    [(0, 27), (27, 37)]
    """
    spans = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        stop = re.match(r"[.!?]", text[match.start() :])
        if stop and stop[0] == "." and _NO_END.search(text[start : match.start() + 1]):
            continue
        spans.append((start, match.end()))
        start = match.end()
    if start < len(text):
        spans.append((start, len(text)))
    return spans


# --- what a paragraph does with a figure ----------------------------------------------------------------------------

FOLLOWING = 3
"""So many sentences after a reference are read as going on about the figure."""


def _words(patterns: str) -> re.Pattern[str]:
    """Whole words or phrases, given one after the other between blanks; "_" is a blank within a phrase."""
    return re.compile(rf"\b(?:{'|'.join(patterns.split())})\b".replace("_", r"\s"), re.I)


_FLOAT = re.compile(r"\b(?:fig(?:ure)?s?|tab(?:le)?s?|tbl|alg(?:orithm)?s?)\b\.?[\s~]*[A-Z]?\d", re.I)
_COMPARES = _words(
    r"""
    than compared_(?:to|with) in_comparison versus vs outperform\w* underperform\w* surpass\w* exceed\w* better worse
    best worst higher highest lower(?![-\s](?:left|right|bound)) lowest larger largest smaller smallest faster slower
    fewer stronger weaker superior inferior in_contrast whereas unlike on_par comparable competitive
    (?:similar|close|identical)(?:ly)?_to relative_to differs?_(?:from|between) differences?_in gap_between
    as_(?:much|good|many|few)_as no_(?:\w+_)?difference advantages? improve\w*_(?:over|upon|on)
    (?:more|less)_(?:\w+ly|efficient|effective|robust|accurate) most_(?:of|popular|common|frequent)
    """
)
_FINDS = _words(
    r"""
    increas(?:e|es|ed) decreas(?:e|es|ed) rises? rising grows? growing drops? dropp\w+ declin\w+ falls? reduced
    improve[sd]? improvements? degrad\w+ converge[sd]? convergence diverg\w+ saturat\w+ plateau\w* monoton\w+
    correlat\w+ trends? scales?_(?:with|to) peaks? deteriorat\w+ over_time skewed negligible achieve[sd]?
    attain(?:s|ed)? obtain(?:s|ed)? remain(?:s|ed)?_(?:\w+ly_)?(?:stable|constant|high|low|flat|unchanged)
    (?:shows?|reveals?|demonstrates?|confirms?|see|seen|observed?|find|found|notice)_that
    suggest(?:s|ing)? indicat(?:es?|ing) agreement is_evidence surprisingly unsurprisingly strikingly
    """
)
_RESULTS = _words(
    r"""
    results? performances? compar\w+ evaluat\w+ measur\w+ effects? impacts? curves? accurac(?:y|ies) loss(?:es)?
    errors? scores? rates? distributions? variances? var(?:y|ying|ied) investigat\w+ scalability
    sensitivit(?:y|ies) ablat\w+
    """
)
_ASIDE = re.compile(r"\([^()]*@")
_ILLUSTRATES = _words(
    r"illustrat\w+ schematic\w* overviews? diagrams? architectures? depict\w* examples? process procedures? frameworks?"
)
_SHOWN = (
    r"(?:show|display|present|plot|depict|visuali[sz]|illustrat|summari[sz]|provid|giv|report|list|compar|explor)\w*"
)
_PRESENTS = re.compile(
    rf"^\W*(?:[\w ]{{0,20}}, )?@[^@]{{0,20}} {_SHOWN}\b(?! that)"
    rf"|(?<!as )\b(?:{_SHOWN}|(?:examples?|samples?|details)(?: is| are)?) in @[^@]{{0,30}}$",
    re.I,
)
_POINTS = _words(
    r"""
    see shown? shows showing illustrat\w+ depict\w* present\w* display\w* visuali[sz]\w+ summari[sz]\w+
    plott?\w* given? gives provide\w* report\w* demonstrat\w* found refer reader examples? overview details?
    detailed results? visuali[sz]ations? illustrations? figures? figs? left right top bottom upper lower panels?
    respectively also more additional further several some various complete full qualitative appendix section
    supplement\w* paper cf the and for are was were with from our this that these can be following below above
    here all each its which have has been corresponding together includ\w+ please we in of as is it to an? by on
    at or
    """
)


def kind_of(text: str, mentions: Iterable[Mention]) -> CitationKind:
    """What a paragraph does with a figure, by fixed rules on English words.

    Two kinds of sentences are read: those that name the figure, and those after them that go on about it, up to one
    that names another float. comparison: one of them compares ("than", "outperforms", "in contrast"). trend: one tells
    a direction or another finding ("increases", "suggests"). What goes on after an aside or an illustration ("(see
    Figure 3)", "an overview") is no claim about the figure, unless that sentence speaks of results. pointer: nothing
    follows, and the sentence only presents the figure ("The losses are shown in Figure 3."). description: the rest.

    Args:
        text: The paragraph.
        mentions: Its references to the figure.

    >>> kind_of("Details are shown in Figure 3.", find_mentions("Details are shown in Figure 3."))
    'pointer'
    """
    spans, mentions = sentences(text), list(mentions)
    hosts = [k for k, (a, b) in enumerate(spans) if any(a <= m.start < b for m in mentions)]
    hosting = [_marked(text, spans[k]) for k in hosts]
    telling = [k for k, sentence in zip(hosts, hosting, strict=True) if _tells_results(sentence)]
    if claim := _claim(hosting) or _claim(_following(text, spans, telling)):
        return claim
    only_points = not _following(text, spans, hosts) and all(map(_only_presents, hosting))
    return "pointer" if only_points else "description"


def _marked(text: str, span: tuple[int, int]) -> str:
    """A sentence with "@" for each reference to a figure."""
    pieces, at = [], span[0]
    for mention in find_mentions(text):
        if span[0] <= mention.start < span[1]:
            pieces.append(text[at : mention.start])
            at = mention.end
    return "@".join([*pieces, text[at : span[1]]])


def _following(text: str, spans: Sequence[tuple[int, int]], hosts: Sequence[int]) -> list[str]:
    """The sentences that go on after those at ``hosts``."""
    found: list[int] = []
    for host in hosts:
        for k in range(host + 1, min(host + 1 + FOLLOWING, len(spans))):
            if k in hosts or k in found or _FLOAT.search(text[slice(*spans[k])]):
                break
            found.append(k)
    return [text[slice(*spans[k])] for k in found]


def _claim(texts: Sequence[str]) -> CitationKind | None:
    if any(_COMPARES.search(text) for text in texts):
        return "comparison"
    return "trend" if any(_FINDS.search(text) for text in texts) else None


def _tells_results(sentence: str) -> bool:
    """Whether a sentence that names a figure leads on to what came out."""
    return bool(_RESULTS.search(sentence)) or not (_ASIDE.search(sentence) or _ILLUSTRATES.search(sentence))


def _only_presents(sentence: str) -> bool:
    """Whether a sentence says of a figure no more than a caption's title would."""
    return _content_words(sentence) <= (12 if _PRESENTS.search(sentence) else 2)


def _content_words(text: str) -> int:
    return len(re.findall(r"[^\W\d_]{3,}", _POINTS.sub(" ", text)))


# --- binding --------------------------------------------------------------------------------------------------------


def bind_citations(paragraphs: Sequence[Paragraph], numbers: Sequence[str]) -> Bindings:
    """The citations of each of a paper's figures.

    A paragraph that names a figure several times is one citation of it; one that names several figures is a citation
    of each.

    Args:
        paragraphs: All paragraphs of the paper (:func:`scifigqual_bench.pdf.text.paragraphs`).
        numbers: The printed numbers of its figures.

    Returns:
        For every number its citations in reading order, and one problem for each number that is named and that no
        figure has, and for unresolved references ("Figure ??").
    """
    by_label = {_label(number): number for number in numbers}
    citations: dict[str, list[Citation]] = {number: [] for number in numbers}
    dangling: dict[str, Problem] = {}
    for paragraph in paragraphs:
        if paragraph.kind not in CITING_KINDS or len(paragraph.text) < MIN_CHARS:
            continue
        named: dict[str, list[Mention]] = {}
        for mention in find_mentions(paragraph.text):
            for printed in mention.numbers:
                number = _figure_named(printed, by_label)
                if number is None:
                    dangling.setdefault(printed, _dangling(paragraph, mention.text, printed))
                elif mention not in named.setdefault(number, []):
                    named[number].append(mention)
        if unresolved := _UNRESOLVED.search(paragraph.text):
            dangling.setdefault("??", _dangling(paragraph, unresolved[0], "??"))
        for number, mentions in named.items():
            citations[number].append(_citation(paragraph, mentions))
    return Bindings(citations, list(dangling.values()))


def _label(number: str) -> str:
    """A printed number in the form in which numbers are compared.

    >>> _label("A.1"), _label("Extended Data Fig. 1"), _label("3.2")
    ('A1', 'EXTENDED DATA 1', '3.2')
    """
    bare = " ".join(re.sub(r"(?i)\bfig(?:ure)?\b\.?", " ", number).split()).upper()
    return re.sub(r"^([A-Z]{1,2})[.\-–]?(?=\d)", r"\1", bare.replace("-DATA", " DATA"))


def _figure_named(printed: str, by_label: dict[str, str]) -> str | None:
    """The figure that a printed number names, None where the paper has none.

    "Figure 1.2" is a number of its own or panel 2 of figure 1; "Supplementary Figure 1" may be numbered S1.
    """
    label = _label(printed)
    for form in (label, label.split(".")[0], re.sub(r"^SUPP\S* S?", "S", label)):
        if form in by_label:
            return by_label[form]
    return None


def _dangling(paragraph: Paragraph, text: str, number: str) -> Problem:
    return Problem(
        code="citation-without-figure",
        message=f'"{text}" on page {paragraph.page} names figure {number}, which was not found in this PDF',
        page=paragraph.page,
    )


def _citation(paragraph: Paragraph, mentions: Sequence[Mention]) -> Citation:
    kind = kind_of(paragraph.text, mentions)
    return Citation(
        text=cut(paragraph.text, mentions, MAX_CHARS),
        section=paragraph.section,
        page=paragraph.page,
        kind=kind,
        mentions=list(dict.fromkeys(mention.text for mention in mentions)),
        weight=WEIGHTS[kind],
        length=len(paragraph.text),
    )


def cut(text: str, mentions: Sequence[Mention], limit: int) -> str:
    """A paragraph in at most ``limit`` characters, cut between sentences, with the first reference's sentence kept.

    As much as fits is kept from the beginning; where the first reference stands too far behind, whole sentences before
    it are dropped instead. "…" stands for what was cut. Only a sentence that is longer than the limit by itself is cut
    within.

    Args:
        text: The paragraph.
        mentions: References in it, at least one.
        limit: Characters.

    >>> cut("One. Two. See Figure 1. Three.", find_mentions("One. Two. See Figure 1. Three."), 20)
    '… See Figure 1. …'
    """
    if len(text) <= limit:
        return text
    room = limit - 4
    spans = sentences(text)
    host = next(k for k, (a, b) in enumerate(spans) if a <= mentions[0].start < b)
    first = (
        0
        if spans[host][1] <= room
        else next(k for k in range(host + 1) if spans[host][1] - spans[k][0] <= room or k == host)
    )
    last = max((k for k in range(host, len(spans)) if spans[k][1] - spans[first][0] <= room), default=host)
    start, end = spans[first][0], spans[last][1]
    if end - start > room:
        start = max(start, min(mentions[0].start - room // 2, end - room))
        end = start + room
    return f"{'… ' if start else ''}{text[start:end].strip()}{' …' if end < len(text) else ''}"
