"""``build_dataset.py``: PDFs -> a Hugging Face dataset folder."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scifigqual_bench.commands.common import OK, WITH_PROBLEMS, print_problems, run

if TYPE_CHECKING:
    from scifigqual_bench.dataset.build import FeatureExtractor
    from scifigqual_bench.features.ocr import OcrEngine
    from scifigqual_bench.records import Figure, SidecarFeatures


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    p = argparse.ArgumentParser(
        prog="build_dataset.py",
        description="Build a dataset of figures, captions and citing paragraphs from paper PDFs.",
        epilog="Exit codes: 0 written; 1 nothing written, the input has faults; "
        "3 written, but ratings were not placed (or, with --strict, a PDF failed).",
    )
    p.add_argument("--pdfs", nargs="+", type=Path, required=True, metavar="PATH", help="PDF files, or folders of them")
    p.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="dataset folder to write")
    p.add_argument("--ratings", type=Path, metavar="FILE", help="ratings: .csv, .jsonl or .json")
    p.add_argument("--papers", type=Path, metavar="FILE", help="papers: paper_id, title, venue, year, topic, file")
    p.add_argument("--jsonl", type=Path, metavar="FILE", help="also write the rows without images as JSON Lines")
    p.add_argument(
        "--features",
        choices=("rapidocr", "vision", "none"),
        default="rapidocr",
        help="sidecar features: image statistics and OCR (default), statistics alone, or a null column; "
        "scanned pages are read only with OCR",
    )
    p.add_argument("--overwrite", action="store_true", help="replace an existing dataset folder")
    p.add_argument("--strict", action="store_true", help="exit with 3 when a PDF failed")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    args = parser().parse_args(argv)
    return run(lambda: _build(args))


def _build(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from scifigqual_bench.dataset.build import build_dataset, list_pdfs

    engine = _ocr_engine(args.features)
    result = build_dataset(
        list_pdfs(args.pdfs),
        args.out,
        ratings=args.ratings,
        papers=args.papers,
        features=None if args.features == "none" else _measure_with(engine),
        ocr=engine,
        jsonl=args.jsonl,
        overwrite=args.overwrite,
        progress=lambda pdfs: tqdm(pdfs, unit="paper", disable=None),
    )
    failed = [paper for paper in result.papers if paper.status == "failed"]
    statuses = Counter(paper.status for paper in result.papers)
    print(f"{args.out}: " + ", ".join(f"{rows} {split} figures" for split, rows in result.figures.items()))
    print("papers: " + ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())))
    print(f"figures left out: {len(result.dropped)}; ratings not placed: {result.unplaced_ratings}")
    log = str(args.out / "problems.jsonl")
    print_problems("problems", (problem.message for problem in result.problems), log)
    return WITH_PROBLEMS if result.unplaced_ratings or (args.strict and failed) else OK


def _ocr_engine(choice: str) -> OcrEngine | None:
    """What reads text in images and on scanned pages; None where no image is measured."""
    if choice == "none":
        return None
    from scifigqual_bench.features.ocr import ocr_engine

    return ocr_engine("rapidocr" if choice == "rapidocr" else "none")


def _measure_with(engine: OcrEngine) -> FeatureExtractor:
    from scifigqual_bench.features.extract import extract_features

    def measure(figure: Figure, image: bytes) -> SidecarFeatures:
        size = None
        if figure.bbox is not None:
            x0, y0, x1, y1 = figure.bbox
            size = (x1 - x0, y1 - y0)
        return extract_features(image, caption=figure.caption, print_size_pt=size, ocr=engine)

    return measure
