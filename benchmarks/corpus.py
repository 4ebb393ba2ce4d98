"""How a corpus run grows: time, memory and disk for N copies of given PDFs, at several N.

    python benchmarks/corpus.py PDF [PDF ...] [--sizes 10 20 40] [--workers 1] [--features none] [--folder F] [--replay]

A copy has a name and a comment of its own, so that every copy is read. All of a copy's figures are near duplicates of
the original's: the search for duplicates has its worst case, and only the originals enter the dataset. With --replay
each PDF is read once and its copies get that result, at the price of a worker process each as ever: how the build
itself grows, when reading would take too long. Images are then random bytes, which are no duplicates, and everything
is written.

With --folder a run that was stopped goes on when it is started again, and what it left can be looked at; without, all
goes to a temporary folder here. Its times are then those of the last sitting, its CPU seconds those of all. Needs
Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from scifigqual_bench.records import PaperMeta

SAMPLED = 0.5
"""Seconds between two looks at the memory of a run's processes."""
REPORTED = 100
"""Papers between two lines of progress."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", nargs="+", type=Path)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10, 20, 40])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--features", choices=("rapidocr", "vision", "none"), default="none")
    parser.add_argument("--folder", type=Path, help="keep PDFs, staged papers and datasets here, and go on from them")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        print(json.dumps(one_run(args)))
        return
    peaks = []
    for size in args.sizes:
        with ExitStack() as stack:
            if args.folder:
                folder = args.folder / str(size)
            else:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=Path.cwd())))
            copy_pdfs(args.pdfs, size, folder / "pdfs")
            run, samples = watch([*sys.argv, "--run", str(folder)])
        peaks.append((size, max(samples.own)))
        print(f"{size} PDFs:", describe(run, samples), flush=True)
    for (size, own), (larger, more) in pairwise(peaks):
        print(f"{size} -> {larger} PDFs: the build's peak grows by {(more - own) / (larger - size) / 1e3:.1f} kB a PDF")


def copy_pdfs(pdfs: list[Path], size: int, folder: Path) -> None:
    """Copies with bytes of their own: a comment after the end of the file."""
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(size):
        pdf = pdfs[index % len(pdfs)]
        copy, content = folder / f"{index:06d}--{pdf.stem}.pdf", pdf.read_bytes() + f"\n% copy {index}\n".encode()
        if not copy.exists() or copy.stat().st_size != len(content):
            copy.write_bytes(content)


@dataclass(frozen=True)
class Replay:
    """An extractor that gives every copy what its original gave."""

    originals: Path
    identity: str = "replay"
    modules: tuple[str, ...] = ()

    def __call__(self, pdf: Path, meta: PaperMeta) -> Any:
        """What the original of this copy gave."""
        found = staging_of(self.originals, self).read(original(pdf.stem.partition("--")[2]))
        bytes_of = random.Random(pdf.stem).randbytes
        figures = tuple(replace(figure, image=bytes_of(len(figure.image))) for figure in found.figures)
        return replace(found, figures=figures)


@dataclass(frozen=True)
class Measured:
    """An extractor that notes what each PDF cost its process: CPU seconds, and address space beyond the start."""

    extract: Any
    notes: Path

    @property
    def identity(self) -> str:
        """That of the extractor."""
        return self.extract.identity

    @property
    def modules(self) -> tuple[str, ...]:
        """Those of the extractor."""
        return self.extract.modules

    def __call__(self, pdf: Path, meta: PaperMeta) -> Any:
        """What the extractor gives."""
        before = time.process_time(), memory(os.getpid(), "status", "VmSize")
        found = self.extract(pdf, meta)
        after = time.process_time(), memory(os.getpid(), "status", "VmPeak")
        with self.notes.open("a") as notes:
            print(after[0] - before[0], after[1] - before[1], file=notes)
        return found


def original(stem: str) -> Any:
    from scifigqual_bench.dataset.staging import Job

    return Job(Path(f"{stem}.pdf"), PaperMeta(paper_id=stem), None)


def staging_of(folder: Path, extract: Any) -> Any:
    from scifigqual_bench.dataset.staging import Limits, Staging

    return Staging(folder, extract.identity, Limits())


def one_run(args: argparse.Namespace) -> dict[str, float]:
    """Hash, read and write, timed one by one."""
    from scifigqual_bench.dataset.build import build_dataset, list_pdfs
    from scifigqual_bench.dataset.corpus import extract_corpus
    from scifigqual_bench.dataset.extractor import PaperExtractor
    from scifigqual_bench.dataset.staging import Job
    from scifigqual_bench.pdf.document import sha256_of

    extract: Any = PaperExtractor(args.features)
    if args.replay:
        reader, extract = extract, Replay(args.run / "originals")
        for pdf in args.pdfs:
            staging_of(extract.originals, extract).write(original(pdf.stem), reader(pdf, PaperMeta(paper_id=pdf.stem)))
    notes = args.run / "notes"
    times = [time.perf_counter()]
    pdfs = list_pdfs([args.run / "pdfs"])
    jobs = [Job(pdf, PaperMeta(paper_id=pdf.stem), sha256_of(pdf)) for pdf in pdfs]
    times.append(time.perf_counter())
    staging = staging_of(args.run / ".out.staging", extract)
    pages = figures = 0
    todo = [job for job in jobs if staging.find(job) is None]
    for done, _ in enumerate(extract_corpus(todo, staging, Measured(extract, notes), workers=args.workers), start=1):
        if done % REPORTED == 0:
            print(f"{done} of {len(todo)} read", file=sys.stderr, flush=True)
    times.append(time.perf_counter())
    for report in map(staging.report, jobs):
        pages, figures = pages + report.pages, figures + report.figures_kept
    staged = size_of(staging.folder)
    # everything is staged: what is left of the build is to hash once more and to write
    started = time.process_time()
    result = build_dataset(pdfs, args.run / "out", extract=extract, overwrite=True)
    writing_cpu = time.process_time() - started
    times.append(time.perf_counter())
    hashing, reading, writing = (b - a for a, b in pairwise(times))
    costs = [tuple(map(float, line.split())) for line in notes.read_text().splitlines()]
    return {
        "pages": pages,
        "figures": figures,
        "written": sum(result.figures.values()),
        "duplicates": result.duplicates,
        "hash_only": result.hash_only,
        "hashing": hashing,
        "reading": reading,
        "writing": writing - hashing,
        "reading_cpu": sum(cpu for cpu, _ in costs),
        "writing_cpu": writing_cpu,
        "address_space": max(space for _, space in costs),
        "read_bytes": sum(pdf.stat().st_size for pdf in pdfs),
        "staged_bytes": staged,
        "out_bytes": size_of(args.run / "out"),
    }


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@dataclass
class Samples:
    """Memory in bytes, sampled while a run went on: of the build's own process, and of all its processes together."""

    own: list[int] = field(default_factory=list)
    together: list[int] = field(default_factory=list)

    def halves(self) -> tuple[int, int]:
        """The build's own peak in the first half of the run and in the second."""
        middle = max(1, len(self.own) // 2)
        return max(self.own[:middle]), max(self.own[middle:], default=0)


def watch(argv: list[str]) -> tuple[dict[str, float], Samples]:
    """A run's figures and its memory."""
    process = subprocess.Popen([sys.executable, *argv], stdout=subprocess.PIPE, text=True, start_new_session=True)
    samples = Samples()
    try:
        while process.poll() is None:
            samples.own.append(memory(process.pid, "status", "VmRSS"))
            group = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
            everyone = (memory(pid, "smaps_rollup", "Pss") for pid in group if is_of(pid, process.pid))
            samples.together.append(sum(everyone))
            time.sleep(SAMPLED)
    finally:
        process.kill()
    if process.returncode:
        sys.exit("the run failed")
    return json.loads(process.stdout.read()), samples


def is_of(pid: int, group: int) -> bool:
    try:
        return os.getpgid(pid) == group
    except ProcessLookupError:
        return False


def memory(pid: int, file: str, field: str) -> int:
    """A line of a process's memory table, in bytes; 0 once it is gone."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0)


def describe(run: dict[str, float], samples: Samples) -> str:
    first, second = samples.halves()
    return (
        f"{run['pages']} pages, {run['figures']} figures, {run['written']} written; {run['duplicates']} duplicates "
        f"left out, the plain hash rule would leave out {run['duplicates'] + run['hash_only']}; "
        f"hashed at {run['read_bytes'] / run['hashing'] / 1e6:.0f} MB/s; "
        f"read in {run['reading']:.1f} s ({run['pages'] / run['reading_cpu']:.1f} pages per CPU second), "
        f"at most {run['address_space'] / 1e6:.0f} MB of address space for a PDF; "
        f"written in {run['writing']:.1f} s (with hashing {run['writing_cpu']:.1f} s of CPU); "
        f"PDFs {run['read_bytes'] / 1e6:.0f} MB, staged {run['staged_bytes'] / 1e6:.0f} MB, "
        f"dataset {run['out_bytes'] / 1e6:.0f} MB; peak memory: build {first / 1e6:.0f} MB in the first half, "
        f"{second / 1e6:.0f} MB in the second, all processes {max(samples.together) / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main()
