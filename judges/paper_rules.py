"""Rules about the paper as a whole: the numbers of its figures, and the references to them.

They are for authors. A judge of a single figure sees none of this, and no score of the benchmark depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scifigqual_bench.pdf.citations import bind_citations, figure_key, find_mentions
from scifigqual_bench.pdf.document import Rect
from scifigqual_bench.pdf.extract import Candidate, PaperAnalysis


@dataclass(frozen=True)
class PaperFinding:
    """What such a rule found.

    Attributes:
        evidence: One sentence.
        page: From 1.
        bbox: The place on the upright page, in points.
        figure: The figure that it is about; None where it is about none.
    """

    evidence: str
    page: int
    bbox: Rect
    figure: Candidate | None = None


@dataclass(frozen=True)
class PaperRule:
    """A rule about the paper as a whole; its fields mean what those of a :class:`~.backends.rule_table.Rule` mean."""

    id: str
    weight: float
    check: Callable[[PaperAnalysis], Iterator[PaperFinding]]
    says: str
    source: str
    mend: str


UNRESOLVED = "??"


def unresolved(analysis: PaperAnalysis) -> Iterator[PaperFinding]:
    """References that were never resolved: "Figure ??"."""
    return (finding for number, finding in _dangling(analysis) if number == UNRESOLVED)


def no_such_figure(analysis: PaperAnalysis) -> Iterator[PaperFinding]:
    """References to numbers that no figure has; the first of each number.

    A number with which some line of the PDF begins, as captions do, may be that of a figure that extraction did not
    see: that is no fault of the paper.
    """
    printed = _numbers_at_line_starts(analysis)
    for number, finding in _dangling(analysis):
        if number != UNRESOLVED and not {figure_key(number), figure_key(number).split(".")[0]} & printed:
            yield finding


def _numbers_at_line_starts(analysis: PaperAnalysis) -> set[str]:
    return {
        figure_key(number)
        for page in analysis.document.pages
        for line in page.lines
        for mention in find_mentions(line.text)[:1]
        if not line.text[: mention.start].strip()
        for number in mention.numbers
    }


def _dangling(analysis: PaperAnalysis) -> Iterator[tuple[str, PaperFinding]]:
    """Numbers that the analysis tells to be of no figure, each with the paragraph that names it first."""
    captions = [candidate.caption for candidate in analysis.candidates]
    told = {problem.message for problem in analysis.problems}
    for paragraph in analysis.paragraphs:
        for problem in bind_citations([paragraph], captions).problems:
            number = re.search(r"names figure (.+?), which", problem.message)
            if problem.message in told and number:
                told.remove(problem.message)
                yield number[1], PaperFinding(problem.message, paragraph.page, paragraph.bbox)


def never_cited(analysis: PaperAnalysis) -> Iterator[PaperFinding]:
    """Figures whose number stands nowhere in the paper but in captions.

    Every line counts, footnotes, tables and the text inside figures too: extraction may have missed a paragraph, and a
    figure is called uncited only where nothing at all names it.
    """
    captions = {
        key
        for caption in analysis.captions
        for key in [*((caption.page, index) for index in caption.lines), *caption.overflow]
    }
    text = " ".join(
        line.text.strip()
        for page in analysis.document.pages
        for line in page.lines
        if (page.number, line.index) not in captions
    )
    flowing = [text, *(paragraph.text for paragraph in analysis.paragraphs)]
    named = {figure_key(n) for part in flowing for mention in find_mentions(part) for n in mention.numbers}
    named |= {key.split(".")[0] for key in named}
    for candidate in analysis.candidates:
        caption = candidate.caption
        if not candidate.citations and not caption.continued and figure_key(caption.number) not in named:
            evidence = f"no text of the paper names {caption.label}"
            yield PaperFinding(evidence, caption.page, caption.bbox, candidate)


def number_twice(analysis: PaperAnalysis) -> Iterator[PaperFinding]:
    """Figures that bear the number of an earlier one; a numbering that begins anew with 1 is another part's."""
    first: dict[str, Candidate] = {}
    for candidate in analysis.candidates:
        caption, key = candidate.caption, figure_key(candidate.caption.number)
        if caption.continued:
            continue
        if key in first and key.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ ") == "1":
            first = {}
        if key in first:
            earlier = first[key].caption
            evidence = f"{caption.label} is on page {caption.page} and, as {earlier.label}, on page {earlier.page}"
            yield PaperFinding(evidence, caption.page, caption.bbox, candidate)
        first.setdefault(key, candidate)


PAPER_RULES = (
    PaperRule(
        "REF-UNRESOLVED",
        3.0,
        unresolved,
        "The paper was not compiled to the end: a reference to a figure is a question mark.",
        "Judgement: nobody sends this on purpose.",
        "Compile once more, and correct the label that the reference names.",
    ),
    PaperRule(
        "REF-NO-FIGURE",
        1.0,
        no_such_figure,
        "The text sends the reader to a figure that is not in this file.",
        "Judgement; it may be in a supplement of its own.",
        "Correct the number, or say where the figure is to be found.",
    ),
    PaperRule(
        "REF-NUMBER-TWICE",
        2.0,
        number_twice,
        "Two figures have one number, so a reference to it names neither.",
        "Judgement.",
        "Number the figures anew, or let the typesetting system number them.",
    ),
    PaperRule(
        "REF-NOT-CITED",
        1.0,
        never_cited,
        "The text never mentions this figure; it could be left out.",
        "Judgement: journals ask that every figure be cited.",
        "Refer to the figure where the text speaks of what it shows, or leave it out.",
    ),
)
"""The rules about a paper, the heaviest of each kind first."""
