"""Runs the extraction on files, each in a process of its own, and writes what became of each: a line of JSON a file.

It is a program and not a part of the test, so that a crash is a result and memory is measured where nothing else is.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

import cv2  # noqa: F401 - loaded once, before the children
import pymupdf  # noqa: F401
import scipy.ndimage  # noqa: F401

from scifigqual_bench.pdf.extract import extract_paper
from scifigqual_bench.records import PaperMeta

SECONDS = 60
"""Processor time after which a file counts as hung."""
ADDRESS_SPACE = 4 << 30


def extracted(path: Path) -> dict[str, object]:
    """What the extraction says of a file."""
    extraction = extract_paper(path, PaperMeta(paper_id=path.stem))
    all_figures = [*(item.figure for item in extraction.figures), *extraction.dropped]
    return {
        "status": extraction.report.status,
        "problems": [problem.model_dump() for problem in extraction.report.problems],
        "figures": [item.figure.model_dump() for item in extraction.figures],
        "numbers": [figure.number for figure in all_figures],
        "captions": [figure.caption for figure in all_figures],
    }


def run(path: Path) -> dict[str, object]:
    """The same in a child with limits; with how it ended, its peak memory in MB and its processor seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        with os.fdopen(writing, "w", encoding="utf-8") as answer:
            json.dump(extracted(path), answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as answer:
        text = answer.read()
    _, status, used = os.wait4(child, 0)
    return {
        "name": path.stem,
        "exit": os.waitstatus_to_exitcode(status),
        "peak_mb": used.ru_maxrss / 1024,
        "cpu_s": used.ru_utime + used.ru_stime,
        **(json.loads(text) if text else {}),
    }


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        print(json.dumps(run(file)), flush=True)
