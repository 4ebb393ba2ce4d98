"""An extractor that stands in for the real one in worker processes, and misbehaves where a PDF's name says so."""

from __future__ import annotations

import ctypes
import io
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from scifigqual_bench.pdf.curation import Look
from scifigqual_bench.pdf.document import sha256_of
from scifigqual_bench.pdf.extract import ExtractedFigure, Extraction
from scifigqual_bench.records import DroppedFigure, Mark, PaperMeta, PaperReport, figure_id
from tests.factory import figure, png


@dataclass(frozen=True)
class StandIn:
    """Makes one figure a paper, or does what the file's name says.

    Attributes:
        calls: A file for one line per call, in any process.
        held: Stop at the paper of this stem until killed, with this pipe open for writing; it gets the process id of
            the build, or of its task.
    """

    calls: Path | None = None
    held: tuple[str, Path] | None = None
    identity: str = "stand-in"
    modules: tuple[str, ...] = ()

    def __call__(self, pdf: Path, meta: PaperMeta) -> Extraction:
        if self.calls is not None:
            with self.calls.open("a") as handle:
                handle.write(f"{pdf.stem}\n")
        if self.held is not None and pdf.stem == self.held[0]:
            with self.held[1].open("w") as pipe:
                print("held by", pid_of_build(), file=pipe, flush=True)
                threading.Event().wait()
        kind = pdf.stem.split("-")[0]
        if kind == "hangs":
            threading.Event().wait()
        elif kind == "spins":
            while True:
                pass
        elif kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        elif kind == "terminated":
            os.kill(os.getpid(), signal.SIGTERM)
        elif kind == "segfaults":
            ctypes.string_at(0)
        elif kind == "exits":
            os._exit(3)
        elif kind == "greedy":
            bytearray(300_000_000)
        elif kind == "raises":
            raise ValueError("a fault of the extractor")
        elif kind == "copy":
            return made_paper(pdf, meta, [picture(seed) for seed in range(3)])
        return one_figure(pdf, meta)


def one_figure(pdf: Path, meta: PaperMeta) -> Extraction:
    """A paper with one figure, which shows the file's hash."""
    sha256 = sha256_of(pdf)
    found = ExtractedFigure(figure(1, meta.paper_id, rated=False), png(sha256[:12], (120, 80)))
    report = PaperReport(paper_id=meta.paper_id, file=pdf.name, sha256=sha256, status="ok", pages=1, figures_kept=1)
    return Extraction(report=report, figures=(found,))


def picture(seed: int) -> np.ndarray:
    """A picture of coloured clouds, unlike that of any other seed."""
    coarse = Image.fromarray(np.random.default_rng(seed).integers(0, 200, (6, 8, 3), dtype=np.uint8))
    return np.asarray(coarse.resize((320, 240), Image.Resampling.BICUBIC))


def made_paper(pdf: Path, meta: PaperMeta, images: Sequence[np.ndarray], dropped: int = 0) -> Extraction:
    """A paper of these figures, and of some that are dropped."""
    found = []
    for index, image in enumerate(images, start=1):
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, "PNG")
        found.append(ExtractedFigure(figure(index, meta.paper_id, rated=False), buffer.getvalue(), Look.of(image)))
    marks = [Mark(stage="S1", code="small", detail="40 x 30 pixels")]
    ids = [figure_id(meta.paper_id, 100 + k) for k in range(dropped)]
    drops = tuple(DroppedFigure(figure_id=fig, paper_id=meta.paper_id, marks=marks) for fig in ids)
    report = PaperReport(paper_id=meta.paper_id, file=pdf.name, status="ok", pages=1, figures_kept=len(images))
    return Extraction(report, tuple(found), drops)


def pid_of_build() -> int:
    """The process that had this one forked: the parent of the server of processes."""
    fields = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])
