"""Many PDFs, each read in a process of its own under limits that the kernel enforces.

A process serves one PDF: a crash, a hang or a leak ends with it, and the memory that a PDF may use does not depend on
what was read before. Processes are forked from a server that has the libraries loaded already, which costs some
hundredths of a second. The time limit is a timer of the process itself whose signal ends it, inside C code as well,
so that it holds even when the build that started the process is gone. A process writes its paper to the staging
folder, where the build finds it; nothing else is sent between them.

Needs Linux or macOS; the memory limit is enforced on Linux.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

from scifigqual_bench.dataset.extractor import Extractor
from scifigqual_bench.dataset.staging import Job, Limits, Staging
from scifigqual_bench.pdf.extract import failed
from scifigqual_bench.records import Problem

PRELOADED = "scifigqual_bench.dataset.build"
"""What a worker, and a script that starts a build, would import again for every PDF; an extractor adds its own."""
NOT_STAGED = os.EX_IOERR
"""Exit code of a process that read its PDF and could not stage the result: no fault of the PDF."""
SERVER_LOST = 255
"""Exit code that multiprocessing gives when the server of processes is gone."""
STOPPED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals by which a person or a scheduler ends a run; they say nothing about a PDF."""
OUT_OF_MEMORY = re.compile(r"MemoryError|malloc.*failed|Insufficient memory|Failed to allocate|bad_alloc")
"""How Python, MuPDF, OpenCV and C++ tell of memory that they did not get."""


class CorpusError(RuntimeError):
    """The run can't go on, for a reason that is none of the PDFs'; what is finished stays staged."""


def default_workers() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def extract_corpus(jobs: Iterable[Job], staging: Staging, extract: Extractor, *, workers: int = 1) -> Iterator[Job]:
    """Read PDFs and stage each as it is finished.

    Args:
        jobs: What to read; taken one by one as workers become free.
        staging: Where finished papers go; its limits hold for each PDF.
        extract: Reads one PDF.
        workers: PDFs that are read at a time, at least 1. One worker runs in a process of its own, too.

    Yields:
        Each job when its paper is staged, in the order in which they end. A PDF that ended its process is staged as
        failed, with the problem ``pdf-timeout``, ``pdf-out-of-memory`` or ``pdf-crashed``.

    Raises:
        CorpusError: Processes can't be started, results can't be staged, or the run was stopped from outside.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PRELOADED, *extract.modules])  # of a first run, for one server serves all
    _try_start(context, extract)
    waiting = iter(jobs)
    running: dict[int, tuple[ForkServerProcess, Job]] = {}
    try:
        while True:
            for job in islice(waiting, workers - len(running)):
                process = context.Process(target=_read, args=(job, staging, extract))
                process.start()
                running[process.sentinel] = process, job
            if not running:
                return
            for sentinel in wait(list(running)):
                process, job = running.pop(sentinel)
                process.join()
                code = process.exitcode
                process.close()
                if code:
                    staging.write(job, failed(job.pdf, job.meta.paper_id, _problem(job.pdf, code, staging.limits)))
                yield job
    finally:
        for process, _ in running.values():
            process.kill()
            process.join()


def _try_start(context: ForkServerContext, extract: Extractor) -> None:
    """Start a process that does nothing, so that a fault of the set-up is not taken for a fault of every PDF."""
    process = context.Process(target=callable, args=(extract,))
    process.start()
    process.join()
    if process.exitcode:
        raise CorpusError(
            "a worker process can't start; its message is above. A script that builds a dataset "
            'does so below `if __name__ == "__main__":`'
        )


def _read(job: Job, staging: Staging, extract: Extractor) -> None:
    """What a worker process does: read one PDF under the limits, and stage the result without them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the build's to handle
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with _enforced(staging.limits):
        try:
            extraction = extract(job.pdf, job.meta)
        except MemoryError as error:
            extraction = failed(job.pdf, job.meta.paper_id, _no_memory(job.pdf, repr(error), staging.limits))
    told = next((p.message for p in extraction.report.problems if OUT_OF_MEMORY.search(p.message)), None)
    if told is not None:  # what else was read depends on when memory ran out
        extraction = failed(job.pdf, job.meta.paper_id, _no_memory(job.pdf, told, staging.limits))
    try:
        staging.write(job, extraction)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(NOT_STAGED)


def _end_with_parent() -> None:
    """Leave no process behind when the build was killed."""
    multiprocessing.parent_process().join()
    os._exit(NOT_STAGED)


@contextmanager
def _enforced(limits: Limits) -> Iterator[None]:
    """Let the kernel end this process after its time, and refuse it memory beyond its share."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        share = pages * resource.getpagesize() + limits.megabytes * 1_000_000
        resource.setrlimit(resource.RLIMIT_AS, (share if hard == resource.RLIM_INFINITY else min(share, hard), hard))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _problem(pdf: Path, code: int, limits: Limits) -> Problem:
    """Why a process ended before its paper was staged.

    Raises:
        CorpusError: Not because of the PDF.
    """
    if code == NOT_STAGED:
        raise CorpusError(f"{pdf}: its result can't be written to the staging folder; the message is above")
    if code == SERVER_LOST:
        raise CorpusError("the server of worker processes was ended from outside; start again to go on")
    if -code in STOPPED:
        raise CorpusError(f"a worker was stopped from outside ({signal.Signals(-code).name}); start again to go on")
    if -code == signal.SIGALRM:
        text = f"{pdf.name}: took longer than {limits.seconds:g} s; a higher --timeout-per-pdf may help"
        return Problem(code="pdf-timeout", message=text)
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    text = f"{pdf.name}: ended the process that read it ({how}; memory limit {limits.megabytes} MB)"
    return Problem(code="pdf-crashed", message=text)


def _no_memory(pdf: Path, told: str, limits: Limits) -> Problem:
    text = f"{pdf.name}: needs more than {limits.megabytes} MB; a higher --memory-per-pdf may help ({told})"
    return Problem(code="pdf-out-of-memory", message=text)
