"""Citations: which paragraphs of a paper speak of which of its figures, and what they do with them (SPEC 7).

Only paragraphs of the running text count, never the abstract, captions, footnotes or references, and only references by
a printed number. A figure that no paragraph names has no citations: nothing is ever guessed from nearness.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

from scifigqual_bench.pdf.text import Paragraph
from scifigqual_bench.records import Citation, CitationKind, Problem, Span

MAX_CHARS = 4000
"""Longest text of one citation, in characters. Longer paragraphs are cut at sentence ends around the reference."""
MIN_CHARS = 20
"""Shorter blocks are ignored (SPEC 7)."""
WEIGHTS: dict[CitationKind, float] = {
    "pointer": 0.25,
    "description": 0.6,
    "trend": 1.0,
    "comparison": 1.0,
    "negative": 1.0,
}
"""Preference of each kind in a prompt, 0..1; of merged paragraphs the kind that stands last here counts."""
PARAGRAPH_BREAK = "\n\n"
"""Stands between the paragraphs of a merged citation."""
MAX_RANGE = 40
"""Longest range of figures that is believed to be one."""
CITING_KINDS = ("body", "list")
"""Kinds of paragraphs that can cite a figure."""
Part = Literal["main", "supplement"]
"""A part of a PDF whose figures may be numbered on their own."""


class Mention(NamedTuple):
    """A reference to figures of the paper, as printed.

    Attributes:
        text: The reference, for example ``"Figures 2, 3, and A1"``.
        numbers: The figures it names, ranges expanded: ``("2", "3", "A1")``. A series printed before the word
            stands before the number: ``"Extended Data 1"``.
        start: Position of its first character.
        end: Position after its last character.
        part: Where the text says that the figure stands: ``"main"`` ("Figure 3 of the main paper"), ``"supplement"``
            ("Figure 3 in the supplementary material"), or None.
    """

    text: str
    numbers: tuple[str, ...]
    start: int
    end: int
    part: Part | None = None


class Numbered(Protocol):
    """What is to be known of a figure to tell that a text names it; a caption knows it."""

    @property
    def number(self) -> str:
        """As printed, with its series: ``"3"``, ``"A1"``, ``"Extended Data 1"``."""

    @property
    def page(self) -> int:
        """Page of its caption, from 1."""

    @property
    def continued(self) -> bool:
        """Whether it continues the figure of the same number before it."""


class Bindings(NamedTuple):
    """Citations of each figure, in the order in which the figures were given, and references that lead nowhere."""

    citations: list[list[Citation]]
    problems: list[Problem]


# --- references in a text -------------------------------------------------------------------------------------------

_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_LETTER = rf"[^\W{_CJK}¹²³⁰⁴-⁹]"
"""A letter or digit that goes on a word; scripts without spaces set theirs, and notes their mark, beside a number."""
_GOES_ON = re.compile(_LETTER)
_SERIES = r"Extended[ -]Data|Supplementa(?:ry|l)|Suppl?\.?|Appendix"
_HEAD = re.compile(
    rf"(?<![\w-])(?:(?P<series>{_SERIES})\s+)?"
    r"(?P<word>fig(?:ure|ura|uras)?s?(?:\.|\b|(?=\d))|abb(?:ildung(?:en)?\b|\.)|рис(?:унк\w+|унок|\.))[\s~]*"
    # a chart of another name ("flow chart 3", "map 3") is no reference
    r"|(?<![地视視版截草程意力方框线線谱譜])(?P<ideograph>(?:补充|補充|[附补補])?[图圖図]|그림)[\s~]*",
    re.I,
)
_PLURAL = ("s", "en", "abb", "рис", "图", "圖", "図", "그림")
"""Ends of words that may stand before several numbers."""
_NUMBER = re.compile(
    r"(?P<prefix>[A-Z]{1,2}[.\-–]?)?(?P<main>\d{1,3}(?:\.\d{1,2})*)(?![\d%])"
    rf"|(?P<letters>[IVX]{{1,5}}|[A-Z])(?!\.?{_LETTER})"
)
_PLACE = r"\(\s?(?:far )?(?:left|right|top|bottom|upper|lower|middle|cent(?:er|re))\b[^()]{0,24}\)"
_BRACKETS = rf"(?:\(\s?[a-zA-Z]{{1,3}}(?:\s?(?:[-–—,&/]|and|to)\s?[a-zA-Z])*\s?\)|{_PLACE})"
_PANELS = re.compile(rf"\s?{_BRACKETS}|[.-]?[a-zA-Z](?!{_LETTER}|\.{_LETTER})")
_MORE_PANELS = re.compile(
    rf"(?:\s?[-–—/]\s?|,?\s?(?:and|to|or|&)\s|,\s?){_BRACKETS}"
    r"|\s?[-–—/]\s?[a-zA-Z](?!\w|\.\w)|(?:,\s?|,?\s?(?:and|to|or|&)\s)[b-zB-HJ-Z](?!\w|\.\w)"
)
_RANGE = re.compile(r"\s?(?:[-–—−~～]{1,2}|to|through|bis|至|到)\s?", re.I)
_COMMA = re.compile(r"\s?[,;/、，]\s?(?!and\b|or\b|&)|\s?\+\s?")
_LAST = re.compile(r",?\s(?:and|or|versus|vs\.?|with|to|und|oder|et|ou|y|и)\s|,?\s?&\s?|\s?[和与與及]\s?", re.I)
_PREDICATE = re.compile(
    r"\s*(?:$|[.,;:)(\]–—]|(?:show|illustrat|depict|present|display|demonstrat|report|compar|visuali[sz]|plot|give|"
    r"provid|summari[sz]|contain|highlight|indicat|suggest|reveal|describ|confirm)|"
    r"(?:is|are|was|were|in|for|we|that|which|also|both|further|clearly|respectively|below|above|on|of|from|and|or)\b)"
)
_UNRESOLVED = re.compile(r"(?<![\w-])fig(?:ure)?s?\.?[\s~]*\?\?", re.I)
_YEAR = r"\(?(?:19|20)\d\d[a-z]?"
_AUTHOR = r"[A-Z][\w’'\-]+(?:(?:,| and| &)? [A-Z][\w’'\-]+)*"
_OF_OTHERS = re.compile(
    rf"\s*,?\s*(?:of|in|from|by)\s+(?:the (?:paper|work|study) (?:of|by)\s+)?"
    rf"(?:[(\[]?{_AUTHOR},? (?:et al|{_YEAR})|(?:[Rr]ef(?:erence)?s?\.?\s*)?\[\d|[Rr]ef(?:erence)?s?\.?\s*\d"
    r"|the(?:ir| original| cited) (?:paper|work|publication|article))"
)
_OTHERS_BEFORE = re.compile(
    rf"(?:\bet al\.?,? {_YEAR},\s*(?:see\s+)?|\bet al\.?['’]s\s+|\b(?:their|whose)\s+|"
    rf"[(;] ?(?:e\.g\.,? |cf\.? |see )*{_AUTHOR},? {_YEAR}[,:]\s*(?:see\s+)?|"
    rf"\[\d+(?:\s*,\s*\d+)*,\s*(?:see\s+)?|\b{_AUTHOR}['’]s? ?(?:\({_YEAR}\)|\[\d+\])? )$"
)
_IN_PART = re.compile(
    r"\s*,?\s*(?:of|in|from)\s+(?:the|our)\s+(?:(?P<main>main|submitted)\s+(?:paper|text|manuscript|body|article)"
    r"|(?P<supplement>supplement\w*|online appendix))\b",
    re.I,
)
_QUOTATION = re.compile(
    r"“(?=\S)[^“”]{0,400}(?<=\S)”|„(?=\S)[^„“”]{0,400}[“”]|«[^«»]{0,400}»|``(?=\S).{0,400}?''"
    r'|(?<![\w"])"(?=\S)[^"]{0,400}(?<=\S)"'
)


def find_mentions(text: str) -> list[Mention]:
    """References to figures by number, in order.

    Lists and ranges are expanded; panels ("3a", "3(a)-(c)", "8c,d") belong to their figure. Besides English the words
    of German, French, Spanish, Russian, Chinese, Japanese and Korean are known. References to figures of other works
    ("Fig. 3 of Smith et al.", "Figure 2 in [12]", "their Figure 4") are left out, and so are quoted ones: what stands
    between quotation marks, in a quotation or as a string of code, is not the paper's own word.

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
    quotations = [quotation.span() for quotation in _QUOTATION.finditer(text)]
    for head in _HEAD.finditer(text):
        word = head["word"] or head["ideograph"]
        plural = word.lower().rstrip(".").endswith(_PLURAL)
        numbers, end = _numbers(text, head.end(), plural)
        quoted = any(a < head.start() and end < b for a, b in quotations)
        if not numbers or quoted or _of_others(text, head.start(), end):
            continue
        series = _series("Supplementary" if word[0] in "附补補" else head["series"])
        unique = tuple(dict.fromkeys(series + number for number in numbers))
        place = _IN_PART.match(text, end)
        part: Part | None = None if place is None else "main" if place["main"] else "supplement"
        mentions.append(Mention(text[head.start() : end], unique, head.start(), end, part))
    return mentions


def _series(printed: str | None) -> str:
    """The series before a reference's word, as it stands before the number: ``"Extended Data "``."""
    words = (printed or "").replace("-", " ").rstrip(".").split()
    return " ".join(words).title() + " " if words else ""


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
    if _GOES_ON.match(text, end) and not _PANELS.match(text, end):
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
    joined = "|".join(re.sub(r"\|\s+", "|", patterns).split())
    return re.compile(rf"\b(?:{joined})\b".replace("_", r"\s"), re.I)


_ENGLISH = _words("the of and is are we to for with this that from by")
_FLOAT = re.compile(r"\b(?:fig(?:ure)?s?|tab(?:le)?s?|tbl|alg(?:orithm)?s?)\b\.?[\s~]*[A-Z]?\d", re.I)
_DENIES = _words(
    r"""
    no_(?:\w+_){0,2}(?:differences?|effects?|impact|influence|improvements?|gains?|benefits?|advantages?|correlations?|
    relation(?:ship)?|evidence|trends?|changes?|degradation|sign_of)
    (?:(?:do|does|did|would|could|can)_not|(?:do|does|did|would|could|ca)n['’]t|cannot|not)_(?:\w+ly_)?(?:support|confirm|
    show|exhibit|reveal|indicate|suggest|affect|influence|change|differ|improve|increase|decrease|help|benefit|hold|
    correlate|degrade|outperform|converge|recover|generali[sz]e|scale|matter|lead_to)
    (?:(?:is|are|was|were|seems?)_not|(?:is|are|was|were)n['’]t|not)_(?:(?:very|\w+ly|a|an|the)_)?(?:case|supported|
    confirmed|significant\w*|sensitive|affected|observed|practical|effective|helpful|sufficient|better|worse)
    insensi(?:tive|ble)_to insignificant little_(?:\w+_)?(?:difference|effect|impact|improvement)
    """
)
_CONTRADICTS = re.compile(
    r"\b(?:contrary to|at odds with|in (?:contradiction|conflict) (?:to|with)|inconsistent with|contradict\w*(?: by)?"
    r"|(?:not|never|neither) (?:seen|shown|visible|reflected|evident|supported|apparent) (?:in|by|from)) @",
    re.I,
)
_COMPARES = _words(
    r"""
    than compared_(?:to|with) in_comparison versus vs outperform\w* underperform\w* surpass\w* exceed\w* better worse
    best worst higher(?!\sup) highest lower(?![-\s](?:left|right|bound|layers?)) lowest larger largest smaller
    smallest faster slower fewer stronger weaker superior inferior in_contrast whereas unlike on_par comparable
    competitive (?:similarly|identical)_to relative_to differs?_(?:from|between) gap_between
    as_(?:much|good|many|few)_as advantages? improve\w*_(?:over|upon|on)
    (?:more|less)_(?:of|\w+ly|efficient|effective|robust|accurate) most_(?:of|popular|common|frequent)
    """
)
_FINDS = _words(
    r"""
    increas(?:e|es|ed) decreas(?:e|es|ed) rises? rising grows? growing drops? dropp\w+ declin\w+ falls? reduced
    improve[sd]? improvements? degrad\w+ converge[sd]? convergence diverg\w+ saturate[sd]? plateau\w* monoton\w+
    correlat\w+ trends? scales?_(?:with|to) peaks? deteriorat\w+ over_time skewed negligible achieve[sd]
    attain(?:s|ed) obtain(?:s|ed) varies variable depends?_on the_same_as promising
    remain(?:s|ed)?_(?:\w+ly_)?(?:stable|constant|high|low|flat|unchanged)
    (?:shows?|reveals?|demonstrates?|confirms?|see|seen|observed?|find|found|notice)_that
    suggest(?:s|ing)? indicat(?:es?|ing) agreement is_evidence surprisingly unsurprisingly strikingly
    """
)
_RESULTS = _words(
    r"""
    results? performances? compar\w+ evaluat\w+ measur\w+ effects? impacts? curves? accurac(?:y|ies) loss(?:es)?
    errors? scores? rates? distributions? variances? var(?:y|ying|ied) investigat\w+ analy[sz]\w+
    stud(?:y|ied) examin\w+ quantif\w+ experiment\w* tested running scalability sensitivit(?:y|ies) ablat\w+
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
    that names another float. negative: one of them denies an effect, a difference or a support ("no significant
    effect", "does not improve", "contrary to Figure 3"). comparison: one compares ("than", "outperforms", "in
    contrast"). trend: one tells a direction or another finding ("increases", "suggests"). Where several hold, what
    stands in a sentence that names the figure goes before what follows it; within either, negative goes before
    comparison and comparison before trend. What goes on after an aside or an illustration ("(see
    Figure 3)", "an overview") is no claim about the figure, unless that sentence speaks of results. pointer: nothing
    follows, and the sentence only presents the figure ("The losses are shown in Figure 3."). description: the rest, and
    text of another language, which the rules can't read.

    Args:
        text: The paragraph.
        mentions: Its references to the figure.

    >>> kind_of("Details are shown in Figure 3.", find_mentions("Details are shown in Figure 3."))
    'pointer'
    """
    if not _is_english(text):
        return "description"
    spans = sentences(text)
    starts = [start for start, _ in spans]
    hosts = sorted({bisect_right(starts, mention.start) - 1 for mention in mentions})
    everything = find_mentions(text)
    hosting = [_marked(text, spans[k], everything) for k in hosts]
    telling = [k for k, sentence in zip(hosts, hosting, strict=True) if _tells_results(sentence)]
    if claim := _claim(hosting) or _claim(_following(text, spans, telling)):
        return claim
    only_points = not _following(text, spans, hosts) and all(map(_only_presents, hosting))
    return "pointer" if only_points else "description"


def _is_english(text: str) -> bool:
    """Whether a text may be English: short, or with one of the commonest words, and mostly in Latin letters."""
    letters = [c for c in text if c.isalpha()]
    latin = 2 * sum(c < "\u0250" for c in letters) >= len(letters)
    return latin and (len(text.split()) < 10 or _ENGLISH.search(text) is not None)


def _marked(text: str, span: tuple[int, int], mentions: Iterable[Mention]) -> str:
    """A sentence with "@" for each of a text's references that stands in it."""
    pieces, at = [], span[0]
    for mention in mentions:
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
    if any(_DENIES.search(text) or _CONTRADICTS.search(text) for text in texts):
        return "negative"
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


def bind_citations(paragraphs: Sequence[Paragraph], figures: Sequence[Numbered]) -> Bindings:
    """The citations of each of a paper's figures.

    A paragraph that names a figure several times is one citation of it; one that names several figures is a citation
    of each. Paragraphs of one section that name the same figure one after the other are merged into one citation
    (SPEC 7), as long as they stay within :data:`MAX_CHARS` together; :data:`PARAGRAPH_BREAK` stands between them.

    Where the numbering begins anew (a supplement or a second paper in one PDF), a number names the figure of its own
    part: see :class:`_Figures`.

    Args:
        paragraphs: All paragraphs of the paper (:func:`scifigqual_bench.pdf.text.paragraphs`).
        figures: Its figures in the order of the PDF.

    Returns:
        For every figure its citations in reading order; one problem for each number that is named and that no figure
        has, and for unresolved references ("Figure ??"). Of figures that bear the same number within one part, such
        as a figure and its continuation, the first has the citations.
    """
    known = _Figures(figures)
    hosts: list[list[_Host]] = [[] for _ in figures]
    dangling: dict[str, Problem] = {}
    citing = [p for p in paragraphs if p.kind in CITING_KINDS and len(p.text) >= MIN_CHARS]
    for place, paragraph in enumerate(citing):
        named: dict[int, dict[Mention, None]] = {}
        for mention in find_mentions(paragraph.text):
            for printed in mention.numbers:
                figure = known.named(printed, paragraph.page, mention.part)
                if figure is None:
                    dangling.setdefault(printed, _dangling(paragraph, mention.text, printed))
                else:
                    named.setdefault(figure, {})[mention] = None
        if unresolved := _UNRESOLVED.search(paragraph.text):
            dangling.setdefault("??", _dangling(paragraph, unresolved[0], "??"))
        for figure, mentions in named.items():
            hosts[figure].append(_Host(place, paragraph, list(mentions)))
    citations = [[_citation(run) for run in _runs(found)] for found in hosts]
    return Bindings(citations, list(dangling.values()))


def figure_key(number: str) -> str:
    """A printed number in the form in which numbers are compared.

    The series counts, its spelling doesn't: a number of the supplement is one with "S".

    >>> [figure_key(number) for number in ("3.2", "A.1", "Extended Data Fig. 1", "Supplementary Figure S2", "Supp. 2")]
    ['3.2', 'A1', 'EXTENDED DATA 1', 'S2', 'S2']
    """
    bare = " ".join(re.sub(r"(?i)\bfig(?:ure)?\b\.?", " ", number).split()).upper().replace("-DATA", " DATA")
    return re.sub(r"^([A-Z]{1,2})[.\-–]?(?=\d)", r"\1", re.sub(r"^SUPP\S* S?", "S", bare))


class _Figures:
    """A paper's figures, found by the numbers that texts name.

    Numbering begins anew where a figure 1 comes a second time and doesn't say that it continues the first. The part
    that it opens reaches back halfway to the figure before it; so a paragraph names the figure of the nearer part,
    unless it says in which part the figure stands, or only the other part has the number.
    """

    def __init__(self, figures: Sequence[Numbered]):
        self.starts = [0]
        self.parts: list[dict[str, int]] = [{}]
        before = 0
        for index, figure in enumerate(figures):
            key = figure_key(figure.number)
            if key in self.parts[-1] and re.fullmatch(r"\D*1", key) and not figure.continued:
                self.starts.append((before + figure.page + 1) // 2)
                self.parts.append({})
            self.parts[-1].setdefault(key, index)
            before = figure.page

    def named(self, printed: str, page: int, part: Part | None) -> int | None:
        """Index of the figure that a printed number on a page names; None where the paper has none.

        "Figure 1.2" is a number of its own or panel 2 of figure 1; "Appendix Figure 2" may be figure A2 or a plain 2.
        """
        key = figure_key(printed)
        bare = re.sub(r"^APPENDIX A?", "", key)
        forms = dict.fromkeys((key, f"A{bare}" if bare != key else key, bare, bare.split(".")[0]))
        own = max(k for k, start in enumerate(self.starts) if start <= max(page, 0))
        own = {"main": 0, "supplement": max(own, min(1, len(self.parts) - 1)), None: own}[part]
        order = sorted(range(len(self.parts)), key=lambda k: abs(k - own))
        return next((self.parts[k][form] for k in order for form in forms if form in self.parts[k]), None)


def _dangling(paragraph: Paragraph, text: str, number: str) -> Problem:
    return Problem(
        code="citation-without-figure",
        message=f'"{text}" on page {paragraph.page} names figure {number}, which was not found in this PDF',
        page=paragraph.page,
    )


class _Host(NamedTuple):
    """A paragraph that names a figure: its place among the citing paragraphs, and its references to the figure."""

    place: int
    paragraph: Paragraph
    mentions: list[Mention]


def _runs(hosts: Iterable[_Host]) -> list[list[_Host]]:
    """Paragraphs of one section that follow one another, as far as they fit into one citation."""
    runs: list[list[_Host]] = []
    for host in hosts:
        run = runs[-1] if runs else []
        if (
            run
            and host.place == run[-1].place + 1
            and host.paragraph.section == run[-1].paragraph.section
            and len(PARAGRAPH_BREAK.join(h.paragraph.text for h in [*run, host])) <= MAX_CHARS
        ):
            run.append(host)
        else:
            runs.append([host])
    return runs


def _citation(run: Sequence[_Host]) -> Citation:
    first = run[0].paragraph
    kinds = {kind_of(host.paragraph.text, host.mentions) for host in run}
    kind = next(kind for kind in reversed(WEIGHTS) if kind in kinds)
    whole = PARAGRAPH_BREAK.join(host.paragraph.text for host in run)
    references: list[tuple[str, int, int]] = []
    offset = 0
    for host in run:
        references += [(m.text, m.start + offset, m.end + offset) for m in host.mentions]
        offset += len(host.paragraph.text) + len(PARAGRAPH_BREAK)
    kept = _kept(whole, references[0][1], MAX_CHARS)
    shift = len(kept.lead) - kept.start
    left = [(text, a, b) for text, a, b in references if kept.start <= a and b <= kept.end]
    return Citation(
        text=kept.of(whole),
        section=first.section,
        page=first.page,
        kind=kind,
        mentions=[text for text, _, _ in left],
        spans=[Span(start=a + shift, end=b + shift) for _, a, b in left],
        weight=WEIGHTS[kind],
        length=len(whole),
    )


class _Kept(NamedTuple):
    """What a cut leaves of a text, and the marks for what it takes away."""

    start: int
    end: int
    lead: str
    tail: str

    def of(self, text: str) -> str:
        return f"{self.lead}{text[self.start : self.end]}{self.tail}"


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
    return _kept(text, mentions[0].start, limit).of(text)


def _kept(text: str, reference: int, limit: int) -> _Kept:
    """What :func:`cut` keeps of a text whose first reference begins at ``reference``."""
    if len(text) <= limit:
        return _Kept(0, len(text), "", "")
    room = limit - 4
    spans = sentences(text)
    host = next(k for k, (a, b) in enumerate(spans) if a <= reference < b)
    first = (
        0
        if spans[host][1] <= room
        else next(k for k in range(host + 1) if spans[host][1] - spans[k][0] <= room or k == host)
    )
    last = max((k for k in range(host, len(spans)) if spans[k][1] - spans[first][0] <= room), default=host)
    start, end = spans[first][0], spans[last][1]
    if end - start > room:
        start = max(start, min(reference - room // 2, end - room))
        end = start + room
    lead, tail = "… " if start else "", " …" if end < len(text) else ""
    piece = text[start:end]
    start, end = start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
    return _Kept(start, end, lead, tail)
