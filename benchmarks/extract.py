"""Extraction on real papers with known truth: how much of it is right, how long it takes, and where the time goes.

    python benchmarks/extract.py [PAPERS] [--peer figcrop=VENV] [--peer pdf-figure-table-extractor=VENV] [--profile 25]

PAPERS (default: ../shared/papers beside the checkout) holds ``pdfs/ID.pdf``, ``truth/ID.json`` and ``score.py``, which
scores every tool alike. A peer lives in a virtual environment of its own and runs once a PDF, in the same run on the
same files. All times are processor time on one core, since a machine may be shared; a peer's start (interpreter,
imports, model) is measured on an empty page and told apart.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib.util
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeVar
from unittest import mock

import pymupdf

from scifigqual_bench.features.ocr import OcrEngine, ocr_engine
from scifigqual_bench.pdf import extract
from scifigqual_bench.pdf.extract import DPI, Extraction, extract_paper
from scifigqual_bench.records import BBox, PaperMeta

PAPERS = Path(__file__).resolve().parents[2] / "shared" / "papers"
T = TypeVar("T")
LIMIT = 900
"""Seconds that a peer may take for one PDF."""
BARE_FLAGS = {
    'bare get_text("dict")': pymupdf.TEXTFLAGS_DICT,
    "the same without images": pymupdf.TEXTFLAGS_DICT & ~pymupdf.TEXT_PRESERVE_IMAGES,
}


@dataclass(frozen=True)
class Peer:
    """A tool to compare with.

    Attributes:
        command: Its command line for one PDF, given the folder of its programs, the PDF and the folder to write.
        option: The option by which score.py reads its folders.
    """

    command: Callable[[Path, Path, Path], list[str]]
    option: str


PEERS = {
    "figcrop": Peer(lambda bin_, pdf, out: [f"{bin_}/figcrop", "extract", str(pdf), str(out), "auto"], "--figcrop"),
    "pdf-figure-table-extractor": Peer(
        lambda bin_, pdf, out: [
            *(f"{bin_}/pdf-assets", "--dpi", str(DPI), "--exclude-figure-captions"),
            *(str(pdf), str(out)),
        ],
        "--pdf-assets",
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    pdfs = sorted((args.papers / "pdfs").glob("*.pdf"))
    pdfs = [pdf for pdf in pdfs if not args.only or pdf.stem in args.only]
    if not pdfs or not (args.papers / "score.py").is_file():
        print(f"skipped: no papers with score.py in {args.papers}; give their folder as the argument")
        return 0
    on_one_core()
    with tempfile.TemporaryDirectory() as name:
        measure(pdfs, args, Path(name))
    return 0


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("papers", nargs="?", type=Path, default=PAPERS)
    p.add_argument("--peer", action="append", default=[], metavar="NAME=VENV", help=f"one of {', '.join(PEERS)}")
    p.add_argument("--only", nargs="+", metavar="ID", help="only these papers")
    p.add_argument("--ocr", action="store_true", help="read scanned pages too; the times then hold the reading")
    p.add_argument("--misses", action="store_true", help="list every miss of this project")
    p.add_argument("--profile", type=int, default=0, metavar="N", help="the N functions that take most of the time")
    return p


def on_one_core() -> None:
    """Keep this process and those it starts on one core, where the system allows to say so."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measure(pdfs: Sequence[Path], args: argparse.Namespace, work: Path) -> None:
    """Run everything and print it."""
    score = load_score(args.papers)
    truth = work / "truth"
    truth.mkdir()
    for pdf in pdfs:
        if (known := args.papers / "truth" / f"{pdf.stem}.json").is_file():
            (truth / known.name).write_bytes(known.read_bytes())

    engine = ocr_engine("rapidocr") if args.ocr else None
    extractions, whole = timed(lambda: [own(pdf, engine) for pdf in pdfs])
    with mock.patch.object(extract, "render_region", side_effect=RuntimeError("not rendered")):
        _, unrendered = timed(lambda: [own(pdf, engine) for pdf in pdfs])
    pages = sum(extraction.report.pages for extraction in extractions)
    figures = work / "figures.jsonl"
    figures.write_text("".join(rows_of(extractions)), encoding="utf-8")
    options = ["--misses"] if args.misses else []
    ratios = {"scifigqual-bench": table("scifigqual-bench", score, [str(figures), *options], truth, work)}
    speeds = {"scifigqual-bench": pages / whole, "scifigqual-bench, without rendering": pages / unrendered}

    for given in args.peer:
        name, _, venv = given.partition("=")
        if name not in PEERS or not Path(venv, "bin").is_dir():
            raise SystemExit(f"--peer {given}: give NAME=VENV with NAME one of {', '.join(PEERS)} and an existing VENV")
        seconds, start, failed = run_peer(PEERS[name], Path(venv), pdfs, work / name)
        ratios[name] = table(name, score, [PEERS[name].option, str(work / name)], truth, work)
        speeds[name] = pages / seconds
        speeds[f"{name}, without its start"] = pages / max(seconds - start * len(pdfs), 1e-9)
        print(f"{name}: {start:.2f} s to start; failed on {', '.join(failed) or 'none'}")

    print_ratios(ratios)
    print(f"\npages a second on one core ({len(pdfs)} papers, {pages} pages, {DPI} DPI)")
    for name, speed in speeds.items():
        print(f"  {name:50}{speed:8.2f}   this project: {speeds['scifigqual-bench'] / speed:5.1f} times as fast")
    print("\ntime as a ratio to reading the text and rendering the same regions")
    for name, flags in BARE_FLAGS.items():
        read, drawn, packed = bare(pdfs, extractions, flags)
        print(
            f"  {name:26}{whole / (read + drawn):5.2f} ({whole:.1f} s to {read:.1f} s text + {drawn:.1f} s pixels); "
            f"with PNG files in both {whole / (read + drawn + packed):5.2f} (+ {packed:.1f} s)"
        )
    if args.profile:
        profile = cProfile.Profile(time.process_time)
        profile.runcall(lambda: [own(pdf, engine) for pdf in pdfs])
        pstats.Stats(profile).strip_dirs().sort_stats("tottime").print_stats(args.profile)


def load_score(papers: Path) -> ModuleType:
    """The papers' own score.py."""
    spec = importlib.util.spec_from_file_location("papers_score", papers / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What some work gives, and its processor time in seconds. Nothing is left in MuPDF's store from work before it."""
    pymupdf.TOOLS.store_shrink(100)
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def own(pdf: Path, engine: OcrEngine | None) -> Extraction:
    return extract_paper(pdf, PaperMeta(paper_id=pdf.stem), ocr=engine)


def rows_of(extractions: Sequence[Extraction]) -> list[str]:
    """Every figure that was found, kept or not, as score.py reads it."""
    figures = [found.figure for e in extractions for found in e.figures] + [d for e in extractions for d in e.dropped]
    return [
        json.dumps(
            {
                **figure.model_dump(include={"paper_id", "number", "page", "bbox", "caption"}),
                "citing": [citation.text for citation in figure.citations],
            }
        )
        + "\n"
        for figure in figures
    ]


def table(name: str, score: ModuleType, arguments: list[str], truth: Path, work: Path) -> dict[str, float | None]:
    """Print score.py's table of one tool; returns its overall ratios."""
    print(f"\n{name}")
    out = work / "score.json"
    with mock.patch.object(sys, "argv", ["score.py", *arguments, "--truth", str(truth), "--json", str(out)]):
        score.main()
    return json.loads(out.read_text(encoding="utf-8"))["ratios"]


def run_peer(peer: Peer, venv: Path, pdfs: Sequence[Path], out: Path) -> tuple[float, float, list[str]]:
    """Run a peer on every PDF: its processor time in seconds, that of one start, and the papers it failed on."""
    out.mkdir()
    empty = out.parent / f"{out.name}-empty.pdf"
    with pymupdf.open() as document:
        document.new_page()
        document.save(empty)
    start, _ = child(peer.command(venv / "bin", empty, out.parent / f"{out.name}-empty"))
    seconds, failed = 0.0, []
    for pdf in pdfs:
        taken, ok = child(peer.command(venv / "bin", pdf, out / pdf.stem))
        seconds += taken
        failed += [] if ok else [pdf.stem]
    return seconds, start, failed


def child(command: Sequence[str]) -> tuple[float, bool]:
    """Run a program: its processor time in seconds, and whether it ended well."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, timeout=LIMIT, check=False, env=environment)
        ok = done.returncode == 0
    except subprocess.TimeoutExpired:
        ok = False
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ok


def bare(pdfs: Sequence[Path], extractions: Sequence[Extraction], flags: int) -> tuple[float, float, float]:
    """Seconds that the least would take: reading the pages' text, rendering the regions, packing them as PNG."""
    read = drawn = packed = 0.0
    for pdf, extraction in zip(pdfs, extractions, strict=True):
        found = [(x.figure.page, x.figure.bbox) for x in extraction.figures]
        found += [(x.page, x.bbox) for x in extraction.dropped]
        regions: list[tuple[int, BBox]] = [(page, box) for page, box in found if page and box]
        with pymupdf.open(pdf) as document:
            read += timed(lambda document=document: [page.get_text("dict", flags=flags) for page in document])[1]
        with pymupdf.open(pdf) as document:
            pixmaps, seconds = timed(
                lambda document=document, regions=regions: [
                    document[page - 1].get_pixmap(clip=box, dpi=int(DPI), alpha=False) for page, box in regions
                ]
            )
            drawn += seconds
            packed += timed(lambda pixmaps=pixmaps: [pixmap.tobytes("png") for pixmap in pixmaps])[1]
    return read, drawn, packed


def print_ratios(ratios: dict[str, dict[str, float | None]]) -> None:
    """All tools side by side."""
    names = list(ratios)
    print("\n" + "".ljust(20) + "".join(name.rjust(max(20, len(name) + 2)) for name in names))
    for row in ratios[names[0]]:
        cells = (ratios[name][row] for name in names)
        texts = ["-" if value is None else f"{value:.3f}" for value in cells]
        print(row.ljust(20) + "".join(t.rjust(max(20, len(n) + 2)) for t, n in zip(texts, names, strict=True)))


if __name__ == "__main__":
    sys.exit(main())
