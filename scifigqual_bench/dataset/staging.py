"""Finished papers of an unfinished build: one file each, beside the dataset that they will become.

A paper's file is named after all that its content depends on (the PDF's bytes and name, what is known of the paper,
the extraction's configuration, the code), and appears whole or not at all. So a build that was stopped, by whatever
means, goes on where it was, and nothing old is ever taken for new.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from scifigqual_bench.pdf.curation import Look
from scifigqual_bench.pdf.extract import ExtractedFigure, Extraction
from scifigqual_bench.records import DroppedFigure, Figure, PaperMeta, PaperReport, Record


@dataclass(frozen=True, slots=True)
class Job:
    """One PDF to be read.

    Attributes:
        pdf: The file.
        meta: What is known of its paper.
        sha256: Of the file's bytes; None where they can't be read.
    """

    pdf: Path
    meta: PaperMeta
    sha256: str | None


@dataclass(frozen=True)
class Limits:
    """What one PDF may cost.

    Attributes:
        seconds: Wall-clock time, above 0.
        megabytes: Address space beyond what a worker has before it opens the PDF (10^6 bytes); enforced on Linux.
    """

    seconds: float = 600
    megabytes: int = 4000

    def __str__(self) -> str:
        return f"{self.seconds:g}s-{self.megabytes}MB"


LIMIT_CODES = ("pdf-timeout", "pdf-out-of-memory", "pdf-crashed")
"""Problems that may go away with other limits; the others are the PDF's own."""


class LookKey(NamedTuple):
    """A look without its pictures: what tells whether they need be compared at all."""

    hash: int
    aspects: tuple[float, float]


class _Rows(Record):
    figures: list[Figure]
    dropped: list[DroppedFigure]


@dataclass(frozen=True)
class Staging:
    """A folder of finished papers.

    Attributes:
        folder: Where they are; made when the first one is written.
        identity: All that an extraction depends on beside the PDF and its metadata.
        limits: What one PDF may cost. A paper that failed under other limits counts as not read yet.
    """

    folder: Path
    identity: str
    limits: Limits

    def _place(self, job: Job, *, limited: bool) -> Path:
        content = [job.sha256, job.pdf.name, job.meta.model_dump(), self.identity, *([str(self.limits)] * limited)]
        key = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        # two levels, so that no folder holds more than some thousand of millions of papers
        return self.folder / key[:2] / key[2:4] / f"{key}.zip"

    def find(self, job: Job) -> Path | None:
        """The file of a finished paper; None where it is still to be read."""
        places = (self._place(job, limited=limited) for limited in (False, True))
        return next((place for place in places if place.is_file()), None)

    def write(self, job: Job, extraction: Extraction) -> None:
        """Stage a finished paper: its file is complete, on the disk, when it gets its name."""
        limited = any(problem.code in LIMIT_CODES for problem in extraction.report.problems)
        place = self._place(job, limited=limited)
        place.parent.mkdir(parents=True, exist_ok=True)
        rows = _Rows(figures=[found.figure for found in extraction.figures], dropped=list(extraction.dropped))
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as handle:
            with zipfile.ZipFile(handle, "w") as archive:  # stored: PNG is compressed already
                archive.writestr("report.json", extraction.report.model_dump_json())
                archive.writestr("rows.json", rows.model_dump_json())
                for index, found in enumerate(extraction.figures):
                    archive.writestr(f"{index}.png", found.image)
                looks = [found.look for found in extraction.figures]
                archive.writestr(
                    "looks.json", json.dumps([look and LookKey(look.hash, look.aspects) for look in looks])
                )
                for index, look in enumerate(looks):
                    if look is not None:
                        archive.writestr(f"{index}.look.png", _png(look.pictures))
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(handle.name, place)

    def report(self, job: Job) -> PaperReport:
        """The report of a finished paper, without reading its figures."""
        with zipfile.ZipFile(self._found(job)) as archive:
            return PaperReport.model_validate_json(archive.read("report.json"))

    def read(self, job: Job) -> Extraction:
        """A finished paper, without what its figures are compared by.

        Raises:
            FileNotFoundError: It is not staged.
        """
        with zipfile.ZipFile(self._found(job)) as archive:
            report = PaperReport.model_validate_json(archive.read("report.json"))
            rows = _Rows.model_validate_json(archive.read("rows.json"))
            images = [archive.read(f"{index}.png") for index in range(len(rows.figures))]
        figures = tuple(ExtractedFigure(row, image) for row, image in zip(rows.figures, images, strict=True))
        return Extraction(report=report, figures=figures, dropped=tuple(rows.dropped))

    def look_keys(self, job: Job) -> list[LookKey | None]:
        """What the figures of a finished paper are compared by, without reading their pictures; None for some."""
        with zipfile.ZipFile(self._found(job)) as archive:
            keys = json.loads(archive.read("looks.json"))
        return [key and LookKey(key[0], tuple(key[1])) for key in keys]

    def look(self, job: Job, index: int) -> Look:
        """What one figure of a finished paper is compared by.

        Raises:
            KeyError: It is not to be compared.
        """
        with zipfile.ZipFile(self._found(job)) as archive:
            key = json.loads(archive.read("looks.json"))[index]
            pictures = np.asarray(Image.open(io.BytesIO(archive.read(f"{index}.look.png"))))
        return Look(key[0], tuple(key[1]), pictures.reshape(2, -1, *pictures.shape[1:]))

    def _found(self, job: Job) -> Path:
        place = self.find(job)
        if place is None:
            raise FileNotFoundError(f"{job.pdf}: not among the finished papers in {self.folder}")
        return place


def _png(pictures: np.ndarray) -> bytes:
    """Pictures, (n, height, width, 3), as one image below the other."""
    buffer = io.BytesIO()
    Image.fromarray(pictures.reshape(-1, *pictures.shape[2:])).save(buffer, format="PNG", compress_level=3)
    return buffer.getvalue()
