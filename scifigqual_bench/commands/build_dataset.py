"""``build_dataset.py``: PDFs, or the benchmark's public release, -> a Hugging Face dataset folder."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scifigqual_bench.commands import release
from scifigqual_bench.commands.common import OK, WITH_PROBLEMS, option, print_problems, run
from scifigqual_bench.errors import InputError
from scifigqual_bench.files import log_lines

if TYPE_CHECKING:
    from scifigqual_bench.dataset.distributed import Executor
    from scifigqual_bench.dataset.extractor import PaperExtractor
    from scifigqual_bench.pdf.engines import Engine


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    p = argparse.ArgumentParser(
        prog="build_dataset.py",
        description="Build a dataset of figures, captions and citing paragraphs from paper PDFs.",
        epilog="Exit codes: 0 written; 1 nothing written, the input has faults; "
        "3 written, but ratings were not placed (or, with --strict, a PDF failed), rows of a release were left out, or "
        "splits share something.",
    )
    source = p.add_mutually_exclusive_group(required=True)
    source.add_argument("--pdfs", nargs="+", type=Path, metavar="PATH", help="PDF files, or folders of them")
    source.add_argument(
        "--explain",
        type=Path,
        metavar="PDF",
        help="build nothing; write a page that shows what was found on each page of one PDF, and why",
    )
    p.add_argument("--out", type=Path, metavar="PATH", help="dataset folder to write; with --explain, the page")
    p.add_argument("--ratings", type=Path, metavar="FILE", help="ratings: .csv, .jsonl or .json")
    p.add_argument("--papers", type=Path, metavar="FILE", help="papers: paper_id, title, venue, year, topic, file")
    p.add_argument("--jsonl", type=Path, metavar="FILE", help="also write the rows without images as JSON Lines")
    p.add_argument(
        "--features",
        choices=("rapidocr", "paddleocr", "pdf", "vision", "none"),
        default="rapidocr",
        help="sidecar features: image statistics and text, from the PDF where it tells it and else by OCR (rapidocr, "
        "the default, or paddleocr); text from the PDF alone (pdf); statistics alone (vision); or a null column "
        "(none). Scanned pages are read only with OCR",
    )
    p.add_argument(
        "--ocr-option",
        type=option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of paddleocr, for example text_detection_model_dir=FOLDER; repeat it for more",
    )
    p.add_argument(
        "--layout-model",
        choices=("off", "on"),
        default="off",
        help="on: keep with every figure how well PyMuPDF's layout model agrees with its region (default: off; "
        "about 0.4 s a page with figures)",
    )
    p.add_argument(
        "--engine",
        choices=("native", "docling", "marker"),
        default="native",
        help="what finds captions, pictures and paragraphs (default: this project's own steps)",
    )
    p.add_argument(
        "--engine-output",
        type=Path,
        metavar="FOLDER",
        help="JSON that docling or marker made elsewhere, STEM.json for each STEM.pdf, instead of running it",
    )
    p.add_argument("--workers", type=_positive(int), metavar="N", help="PDFs read at a time (default: CPUs)")
    p.add_argument(
        "--timeout-per-pdf", type=_positive(float), default=600, metavar="SECONDS", help="default: %(default)s"
    )
    p.add_argument(
        "--memory-per-pdf", type=_positive(int), default=4000, metavar="MB", help="default: %(default)s; Linux only"
    )
    p.add_argument(
        "--executor",
        choices=("local", "slurm", "ray"),
        help="read the papers by the tasks of a datatrove executor instead of worker processes (docs/scale.md)",
    )
    p.add_argument(
        "--executor-option",
        type=option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the executor, for example tasks=100; repeat it for more",
    )
    release.add_arguments(p, source)
    release.add_edition(p)
    p.add_argument("--overwrite", action="store_true", help="replace an existing dataset folder")
    p.add_argument("--strict", action="store_true", help="exit with 3 when a PDF failed")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    args = parser().parse_args(argv)
    return run(lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    done = release.chosen(args)
    if done is not None:
        return done
    return _explain(args) if args.explain else _build(args)


def _positive(kind: type[int] | type[float]) -> Callable[[str], int | float]:
    def number(text: str) -> int | float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise ValueError
        return value

    number.__name__ = f"positive {kind.__name__}"  # argparse names it in its error
    return number


def _executor(args: argparse.Namespace) -> Executor | None:
    if args.executor is None:
        if args.executor_option:
            raise InputError(["--executor-option needs --executor"])
        return None
    from scifigqual_bench.dataset.distributed import Executor

    return Executor(args.executor, dict(args.executor_option))


def _extractor(args: argparse.Namespace) -> PaperExtractor:
    from scifigqual_bench.dataset.extractor import PaperExtractor

    return PaperExtractor(
        args.features,
        tuple(sorted(dict(args.ocr_option).items())),
        layout_model=args.layout_model == "on",
        engine=_engine(args),
    )


def _engine(args: argparse.Namespace) -> Engine | None:
    if args.engine == "native":
        if args.engine_output is not None:
            raise InputError(["--engine-output needs --engine docling or --engine marker"])
        return None
    if args.engine_output is not None and not args.engine_output.is_dir():
        raise InputError([f"{args.engine_output}: no such folder; --engine-output names one of JSON files"])
    from scifigqual_bench.pdf.engines import Engine

    return Engine(args.engine, args.engine_output and args.engine_output.absolute())


def _explain(args: argparse.Namespace) -> int:
    from scifigqual_bench.report.explain import explain

    out = args.out or Path(f"{args.explain.stem}.explain.html")
    explain(args.explain, out, ocr=_extractor(args).ocr_engine())
    print(out)
    return OK


def _build(args: argparse.Namespace) -> int:
    if args.out is None:
        raise InputError("--pdfs needs --out FOLDER")
    from scifigqual_bench.dataset.build import build_dataset, list_pdfs
    from scifigqual_bench.dataset.staging import Limits

    result = build_dataset(
        list_pdfs(args.pdfs),
        args.out,
        ratings=args.ratings,
        papers=args.papers,
        extract=_extractor(args),
        workers=args.workers,
        limits=Limits(args.timeout_per_pdf, args.memory_per_pdf),
        executor=_executor(args),
        jsonl=args.jsonl,
        overwrite=args.overwrite,
        edition=release.edition(args),
        progress=True,
    )
    print(f"{args.out}: " + ", ".join(f"{rows} {split} figures" for split, rows in result.figures.items()))
    print("papers: " + ", ".join(f"{count} {status}" for status, count in sorted(result.papers.items())))
    print(
        f"duplicates left out: {result.duplicates}; the plain hash rule would leave out "
        f"{result.duplicates + result.hash_only}"
    )
    print(f"figures left out: {result.dropped}; ratings not placed: {result.unplaced_ratings}")
    log = args.out / "problems.jsonl"
    print_problems("problems", (line["message"] for line in log_lines(log)), str(log))
    failed = result.papers.get("failed", 0)
    return WITH_PROBLEMS if result.unplaced_ratings or (args.strict and failed) else OK
