"""Features of real figures: how fast their text is read, and how much of it is right.

    python benchmarks/features.py [PAPERS] [--every N]

PAPERS (default: ../shared/papers beside the checkout) holds ``pdfs/ID.pdf``. The figures are cut out first. Then each
of them is read by rapidocr with its defaults, by this project's engine, and the way that builds read it, from the PDF
first: in turn, figure by figure, so that what else a shared machine does slows all of them alike. Times are processor
time on one core; models are loaded before.

Accuracy is counted on the figures whose text the PDF tells in full (no embedded image, no text drawn as shapes). Words
are the distinct content words and numbers of a figure, as for the overlap with captions. Axes and panel letters are
what the same rules find in the PDF's text: what OCR loses of them, not what the rules lose. A figure without panel
letters counts as right when none is found.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scifigqual_bench.features._opencv import cv2
from scifigqual_bench.features.axes import bottom_axes, left_axes
from scifigqual_bench.features.extract import decode, extract_features
from scifigqual_bench.features.ocr import RapidOcr, text_box
from scifigqual_bench.features.reading import read_text
from scifigqual_bench.features.text import panel_letters, reading_order
from scifigqual_bench.features.words import content_words, number_values
from scifigqual_bench.pdf.extract import ExtractedFigure, extract_paper
from scifigqual_bench.records import PaperMeta, TextBox

PAPERS = Path(__file__).resolve().parents[2] / "shared" / "papers"


@dataclass(frozen=True)
class Case:
    """A figure and its pixels."""

    found: ExtractedFigure
    rgb: np.ndarray

    @property
    def told(self) -> bool:
        """Whether the PDF tells all of its text."""
        printed = self.found.printed
        return bool(printed and printed.words and not (printed.rasters or printed.unread or printed.outlined))


def main(argv: Sequence[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("papers", nargs="?", type=Path, default=PAPERS)
    p.add_argument("--every", type=int, default=1, metavar="N", help="every N-th figure only")
    args = p.parse_args(argv)
    pdfs = sorted((args.papers / "pdfs").glob("*.pdf"))
    if not pdfs:
        print(f"skipped: no papers in {args.papers}; give their folder as the argument")
        return 0
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    figures = [found for pdf in pdfs for found in extract_paper(pdf, PaperMeta(paper_id=pdf.stem)).figures]
    cases = [Case(found, decode(found.image)) for found in figures[:: args.every]]
    told = [k for k, case in enumerate(cases) if case.told]
    print(f"{len(cases)} figures of {len(pdfs)} papers; of {len(told)} the PDF tells all text\n")
    measure(cases, told)
    return 0


def measure(cases: Sequence[Case], told: Sequence[int]) -> None:
    """Run everything and print it."""
    engine = RapidOcr()
    readers: dict[str, Callable[[Case], list[TextBox]]] = {
        "rapidocr, defaults": by_defaults(),
        "this project, OCR alone": lambda case: engine.read(case.rgb),
        "this project, PDF first": lambda case: read_text(case.rgb, engine, case.found.printed).boxes,
    }
    texts: dict[str, list[list[TextBox]]] = {name: [] for name in readers}
    seconds = dict.fromkeys(readers, 0.0)
    for read in readers.values():
        read(cases[0])  # loads the models
    for case in cases:
        for name, read in readers.items():
            start = time.process_time()
            texts[name].append(read(case))
            seconds[name] += time.process_time() - start
    base = seconds["rapidocr, defaults"]
    print(f"{'speed':28}{'figures/s':>10}{'times':>8}")
    for name, spent in seconds.items():
        print(f"{name:28}{len(cases) / spent:10.2f}{base / spent:8.2f}")
    start = time.process_time()
    for case in cases:
        figure = case.found.figure
        extract_features(
            case.found.image,
            caption=figure.caption,
            print_size_pt=figure.print_size_pt,
            ocr=engine,
            printed=case.found.printed,
        )
    spent = time.process_time() - start
    print(f"{'all features, PDF first':28}{len(cases) / spent:10.2f}\n")
    accuracy(cases, told, {name: texts[name] for name in list(readers)[:2]})


def accuracy(cases: Sequence[Case], told: Sequence[int], texts: dict[str, list[list[TextBox]]]) -> None:
    """What each engine reads of what the PDF tells."""
    print(f"{'accuracy':28}{'recall':>10}{'precision':>11}{'left axes':>11}{'bottom axes':>13}{'panel letters':>15}")
    for name, read in texts.items():
        hits = true = found = letters = 0
        axes = {find: [0, 0] for find in (left_axes, bottom_axes)}
        for k in told:
            size = cases[k].rgb.shape[1], cases[k].rgb.shape[0]
            words = list(cases[k].found.printed.words)
            expected, got = tokens(words), tokens(read[k])
            hits, true, found = hits + len(expected & got), true + len(expected), found + len(got)
            letters += panel_letters(words, *size) == panel_letters(reading_order(read[k]), *size)
            for find, counts in axes.items():
                left = [axis.numbers for axis in find(read[k])]
                for axis in find(words):
                    counts[1] += 1
                    if axis.numbers in left:
                        left.remove(axis.numbers)
                        counts[0] += 1
        shares = [f"{right}/{all_}" for right, all_ in axes.values()]
        right = f"{letters}/{len(told)}"
        print(f"{name:28}{hits / true:10.3f}{hits / found:11.3f}{shares[0]:>11}{shares[1]:>13}{right:>15}")


def tokens(boxes: Sequence[TextBox]) -> set[str | float]:
    text = " ".join(box.text for box in boxes)
    return content_words(text) | number_values(text)


def by_defaults() -> Callable[[Case], list[TextBox]]:
    """Rapidocr as it comes, but for its messages; it uses the one core that this process may."""
    from rapidocr import RapidOCR

    engine = RapidOCR(params={"Global.log_level": "error"})

    def read(case: Case) -> list[TextBox]:
        found = engine(cv2.cvtColor(case.rgb, cv2.COLOR_RGB2BGR))
        if found.boxes is None:
            return []
        return [
            text_box(text, float(score), np.asarray(corners, np.float64))
            for text, score, corners in zip(found.txts, found.scores, found.boxes, strict=True)
        ]

    return read


if __name__ == "__main__":
    raise SystemExit(main())
