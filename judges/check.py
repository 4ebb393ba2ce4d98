"""One PDF -> what its author should mend: extraction, measurement and the rules, without a model.

Curation deletes figures that are no good for a benchmark; an author wants to hear of them all the more. So every figure
whose graphic is found is checked, and the others are named with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scifigqual_bench import __version__
from scifigqual_bench.features.extract import extract_features
from scifigqual_bench.features.ocr import NoOcr, OcrEngine
from scifigqual_bench.judges.backends.rule_table import RULES, Finding, Rule
from scifigqual_bench.judges.backends.rules import findings
from scifigqual_bench.judges.paper_rules import PAPER_RULES, PaperFinding, PaperRule
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.pdf.document import Rect
from scifigqual_bench.pdf.extract import Candidate, ExtractedFigure, PaperAnalysis, analyse_paper, extraction_of
from scifigqual_bench.pdf.regions import Region
from scifigqual_bench.pdf.text import paper_title
from scifigqual_bench.records import Figure, PaperMeta, Problem
from scifigqual_bench.report.checked import (
    CheckedFigure,
    CheckFinding,
    CheckRule,
    Level,
    PaperCheck,
    score_of,
)
from scifigqual_bench.rubric import DIMENSIONS

ERROR, SHOWN = 2.0, 0.5
"""Weights from which a finding is an error, and from which it is shown by default."""
_LETTERS = "letters are also lost by OCR, and answers and list items are lettered like panels"
HELD = {
    "CC-METRIC-DIFFERS": "the panels of a figure may show different measures, of which only some were read",
    "CC-PANELS-NOT-DRAWN": _LETTERS,
    "CC-PANELS-NOT-EXPLAINED": "panels are often explained by titles of their own; letters may be those of a list",
    "CC-PLOT-NO-MEASURE": "what is plotted may have a name that is no measure",
    "CC-WORDS-ABSENT": "an example and a caption that describes it need not share a word",
    "CTX-WORDS-ABSENT": "a text may describe a figure in words of its own",
    "CC-NUMBERS-ABSENT": "a caption may give numbers that are not drawn",
    "SL-NO-TEXT": "photographs and renderings may do without",
    "SL-OVERLAPPING-TEXT": "the boxes of formulas and of slanted text lie on each other where their letters don't",
    "SL-PANEL-GAP": _LETTERS,
    "SL-PANEL-ORDER": _LETTERS,
    "VC-CLIPPED": "it may be only the way in which the figure was cut out of the page",
    "VC-COARSE": "a photograph may do with it",
    "VC-TINY-LABELS": "OCR also takes icons and digits of a picture for labels",
    "VC-UNSURE-TEXT": "OCR also takes textures and digits of a picture for text",
}
"""Rules that point at something worth a look, and are wrong too often to count; with the reason."""
SUBCAPTIONED = "its panels have captions of their own, which may say it"
"""Why findings about the caption are held back where it is only the title of such panels."""
COVERED = {"VC-TINY-LABELS": ("VC-SMALL-TEXT", "VC-TINY-TEXT"), "CC-VAGUE-TITLE": ("CC-LABEL-ONLY",)}
"""Rules that say no more than others which found something in the same figure."""

MATCHED = 40
"""Characters by which the paragraph of a citation is found again."""
LIGHT = f"weighs less than {SHOWN:g}"

Silence = Callable[[str, str | None], str | None]
"""Rule id and figure number (None: no single figure) to the reason why it is silenced, or None."""


def nothing_silenced(rule: str, figure: str | None) -> None:
    """Silences nothing."""
    return


@dataclass(frozen=True)
class CheckResult:
    """What a check found, and the images to show it with.

    Attributes:
        images: PNG bytes of the figures, in the order of ``check.figures``; None where there is no graphic.
    """

    check: PaperCheck
    images: tuple[bytes | None, ...]


def check_paper(path: Path, *, ocr: OcrEngine, silenced: Silence = nothing_silenced) -> CheckResult:
    """Check a paper.

    Args:
        path: The PDF.
        ocr: Reads the figures, and the pages, whose text the PDF does not tell.
        silenced: Which findings are set aside, and why.

    Raises:
        PdfError: The file can't be read.
    """
    return check_analysis(analyse_paper(path, path.stem, ocr=ocr), ocr=ocr, silenced=silenced)


def check_analysis(analysis: PaperAnalysis, *, ocr: OcrEngine, silenced: Silence = nothing_silenced) -> CheckResult:
    """Check a paper that has been analysed; arguments as for :func:`check_paper`."""
    return _Checker(analysis, ocr, silenced).result()


class _Checker:
    """The check of one paper."""

    def __init__(self, analysis: PaperAnalysis, ocr: OcrEngine, silenced: Silence):
        self._analysis = analysis
        self._ocr = ocr
        self._silenced = silenced
        self._times: Counter[str] = Counter()

    def result(self) -> CheckResult:
        document = self._analysis.document
        extracted = {found.figure.figure_id: found for found in _uncurated(self._analysis)}
        told = [(rule, finding) for rule in PAPER_RULES for finding in rule.check(self._analysis)]
        general = _ordered(self._of_paper(told, None))
        rows = [(candidate, extracted.get(candidate.figure_id)) for candidate in self._analysis.candidates]
        figures = [self._figure(candidate, found, self._of_paper(told, candidate)) for candidate, found in rows]
        references = score_of(general)
        scores = [figure.score for figure in figures if figure.score is not None]
        check = PaperCheck(
            path=document.path.as_posix(),
            sha256=document.sha256,
            version=__version__,
            title=paper_title(document),
            pages=len(document.pages),
            text_from="the PDF alone" if self._ocr.name == NoOcr.name else f"the PDF, else {self._ocr.name}",
            score=min([*scores, references]) if scores or general else None,
            references=references,
            figures=figures,
            findings=general,
            problems=[problem for problem in self._analysis.problems if problem.code not in _TOLD],
            rules=check_rules(),
        )
        return CheckResult(check, tuple(found.image if found else None for _, found in rows))

    def _figure(self, candidate: Candidate, found: ExtractedFigure | None, told: list[CheckFinding]) -> CheckedFigure:
        caption = candidate.caption
        page, bbox = caption.page, None
        if found is None:
            reason = candidate.region.message if isinstance(candidate.region, Problem) else "it can't be rendered"
            unchecked = f"its graphic was not found ({reason})"
        else:
            page, bbox = found.figure.page, found.figure.bbox
            figure, unchecked = self._measured(found)
            told = [*told, *self._of_figure(JudgeItem(figure, found.image), candidate)]
        return CheckedFigure(
            label=caption.label,
            number=caption.number,
            caption=caption.text,
            page=page,
            bbox=bbox,
            citing=[citation.text for citation in candidate.citations],
            score=score_of(told) if found or told else None,
            findings=_ordered(told),
            unchecked=unchecked,
        )

    def _measured(self, found: ExtractedFigure) -> tuple[Figure, str | None]:
        """The row with its features, or without them and why."""
        row = found.figure
        try:
            features = extract_features(
                found.image,
                caption=row.caption,
                print_size_pt=row.print_size_pt,
                ocr=self._ocr,
                printed=found.printed,
            )
        except ImportError:
            raise  # a missing package would fail every figure; its message names the remedy
        except Exception as error:  # an OCR engine or an image library can fail in its own ways
            return row, f"its image can't be measured ({type(error).__name__}: {error})"
        return row.model_copy(update={"features": features}), None

    def _of_figure(self, item: JudgeItem, candidate: Candidate) -> list[CheckFinding]:
        """What the rules find in a figure whose graphic is known."""
        faults = [finding for finding in findings(item) if finding.rule.is_fault]
        found = {finding.rule.id for finding in faults}
        told = []
        for finding in faults:
            if found.isdisjoint(COVERED.get(finding.rule.id, ())):
                page, bbox = self._place(finding, item.figure, candidate)
                number = candidate.caption.number
                told.append(
                    self._finding(
                        finding.rule,
                        finding.evidence,
                        number,
                        held=self._doubt(finding.rule, candidate),
                        page=page,
                        bbox=bbox,
                        image_bbox=finding.bbox,
                    )
                )
        return told

    def _doubt(self, rule: Rule, candidate: Candidate) -> str | None:
        """Why a finding of a rule is held back in a figure; None where it is not."""
        subcaptions = isinstance(candidate.region, Region) and candidate.region.subcaptions
        if subcaptions and main_dimension(rule) == "caption_consistency":
            return SUBCAPTIONED
        return held_back(rule)

    def _place(self, finding: Finding, figure: Figure, candidate: Candidate) -> tuple[int, Rect]:
        """Page and box of what a finding is about: a place in the image, else the caption, the citing text or all."""
        pages, caption = self._analysis.document.pages, candidate.caption
        if finding.bbox:
            return figure.page, self._on_page(finding.bbox, candidate)
        dimension = main_dimension(finding.rule)
        if dimension == "caption_consistency":
            return caption.page, pages[caption.page - 1].displayed(caption.bbox)
        if dimension == "context_consistency" and figure.citations:
            first = figure.citations[0]
            for paragraph in self._analysis.paragraphs:
                if paragraph.page == first.page and first.text.startswith(paragraph.text[:MATCHED]):
                    return paragraph.page, pages[paragraph.page - 1].displayed(paragraph.bbox)
        return figure.page, figure.bbox

    def _of_paper(self, told: list[tuple[PaperRule, PaperFinding]], about: Candidate | None) -> list[CheckFinding]:
        """Those of the findings about the paper that are about a figure, or about none."""
        pages = self._analysis.document.pages
        return [
            self._finding(
                rule,
                finding.evidence,
                about.caption.number if about else None,
                held=held_back(rule),
                page=finding.page,
                bbox=pages[finding.page - 1].displayed(finding.bbox),
            )
            for rule, finding in told
            if finding.figure is about
        ]

    def _on_page(self, box: Rect, candidate: Candidate) -> Rect:
        """A box in a figure's image, in pixels, on its page as displayed, in points."""
        crop, page = candidate.crop, self._analysis.document.pages[candidate.region.page - 1]
        x0, y0, x1, y1 = crop.frame
        across, down = (x1 - x0) / crop.width, (y1 - y0) / crop.height
        return page.displayed((x0 + across * box[0], y0 + down * box[1], x0 + across * box[2], y0 + down * box[3]))

    def _finding(
        self,
        rule: Rule | PaperRule,
        evidence: str,
        number: str | None,
        *,
        held: str | None,
        page: int,
        bbox: Rect | None,
        image_bbox: Rect | None = None,
    ) -> CheckFinding:
        silenced = self._silenced(rule.id, number)
        return CheckFinding(
            id=self._id(rule.id, number),
            rule=rule.id,
            evidence=evidence,
            level="note" if held else level_of(rule.weight),
            weight=round(rule.weight, 2),
            state="silenced" if silenced is not None else "held" if held else "open",
            reason=held if silenced is None else silenced,
            page=page,
            bbox=_rounded(bbox),
            image_bbox=_rounded(image_bbox),
        )

    def _id(self, rule: str, number: str | None) -> str:
        """Rule and figure; a second finding of the same kind gets a number."""
        plain = rule if number is None else f"{rule}/{number}"
        self._times[plain] += 1
        return plain if self._times[plain] == 1 else f"{plain}#{self._times[plain]}"


_TOLD = ("citation-without-figure", "no-region", "paper-unusable")
"""Problems that are told otherwise, or that concern only a dataset."""


def check_rules() -> list[CheckRule]:
    """Every rule that can find a fault, those about references first."""
    faults = [rule for rule in RULES if rule.is_fault]
    return [
        *(_rule(rule, None) for rule in PAPER_RULES),
        *(_rule(rule, main_dimension(rule)) for rule in faults),
    ]


def main_dimension(rule: Rule) -> str:
    """The dimension that its id names."""
    short = rule.id.partition("-")[0]
    return next(dimension.key for dimension in DIMENSIONS if dimension.short == short)


def _rule(rule: Rule | PaperRule, dimension: str | None) -> CheckRule:
    return CheckRule(
        id=rule.id,
        dimension=dimension,
        says=rule.says,
        mend=rule.mend,
        source=rule.source,
        weight=round(rule.weight, 2),
        level=level_of(rule.weight),
        held=held_back(rule),
    )


def held_back(rule: Rule | PaperRule) -> str | None:
    """Why the findings of a rule are not shown by default; None where they are."""
    return HELD.get(rule.id) or (LIGHT if rule.weight < SHOWN else None)


def level_of(weight: float) -> Level:
    """What a weight is called.

    >>> [level_of(weight) for weight in (3.0, 1.0, 0.25)]
    ['error', 'warning', 'note']
    """
    return "error" if weight >= ERROR else "warning" if weight >= SHOWN else "note"


def _uncurated(analysis: PaperAnalysis) -> tuple[ExtractedFigure, ...]:
    """The rows of all figures that have a graphic, those too that curation would delete."""
    kept = [
        replace(candidate, marks=tuple(mark for mark in candidate.marks if mark.stage != "S1"))
        for candidate in analysis.candidates
    ]
    whole = replace(analysis, candidates=tuple(kept), unusable=None)
    return extraction_of(whole, PaperMeta(paper_id=analysis.document.path.stem)).figures


def _rounded(box: Sequence[float] | None) -> list[float] | None:
    return None if box is None else [round(float(value), 2) for value in box]


def _ordered(found: list[CheckFinding]) -> list[CheckFinding]:
    """Open ones first, then those held back, then the silenced; among them the heaviest first."""
    order = ("open", "held", "silenced")
    return sorted(found, key=lambda finding: (order.index(finding.state), -finding.weight))
