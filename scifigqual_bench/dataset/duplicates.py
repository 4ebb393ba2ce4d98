"""Near duplicates across the papers of a build (S1 of SPEC 8), and what they mean for their papers (S5).

Within a paper extraction has done this already. Here the papers go by in the order of the build's PDFs, and each figure
is held against the figures kept so far whose hashes are near. As within a paper, a hash only proposes: a figure is
deleted if its pixels agree, too (:func:`~scifigqual_bench.pdf.curation.difference`), and keeps a soft mark if not.

- The paper's own faults come first. A paper that extraction dropped has no figure in the comparison, so nothing is
  deleted in favour of a figure that is not in the dataset.
- Then its figures are compared, and what is deleted counts among the deleted figures of S5, whose verdict is passed
  once more. A paper that is dropped now is no original for those that follow either. No decision is taken back later.
- So of two versions of a paper (two PDFs with ids of their own) the one whose PDF comes first stays whole. The other
  keeps the figures that are new in it, or is left out whole where more than 30% of them are not: what is left of such a
  paper has its text in the dataset already. Order the files so that the version you want comes first.

The decisions depend on the order of the PDFs alone. Memory holds a hash a figure, 16 bytes for each pair of distinct
hashes that are near, and the places of the figures that have a neighbour; images are read when they are compared.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from scifigqual_bench.dataset.near_duplicates import near_pairs
from scifigqual_bench.dataset.staging import Job, LookKey, Staging
from scifigqual_bench.pdf.curation import (
    MAX_DISTANCE,
    decisive,
    difference,
    distance,
    duplicate_mark,
    may_be_same,
    paper_unusable,
)
from scifigqual_bench.pdf.extract import Extraction
from scifigqual_bench.records import DroppedFigure, Figure, Mark, Problem

COMPARED = 100
"""Earlier figures with which one is compared, at the most: those whose hashes are nearest. Hundreds of figures that
all hash alike and all differ would cost the square of their number otherwise."""
CACHED = 256
"""Pictures that are kept for the next comparison; 0.2 MB each."""


@dataclass(frozen=True)
class _Kept:
    """A figure in the dataset that others may be a duplicate of."""

    job: Job
    position: int
    figure_id: str
    key: LookKey


class CorpusDuplicates:
    """Finds the figures that an earlier paper of the build has already.

    Args:
        jobs: All papers of the build, in its order.
        staging: Where they are, all of them read.
    """

    def __init__(self, jobs: Iterable[Job], staging: Staging):
        self._staging = staging
        self._look = lru_cache(CACHED)(staging.look)
        hashes = array("Q")
        for job in jobs:
            hashes.extend(key.hash for key in staging.look_keys(job) if key is not None)
        self._hashes, counts = np.unique(np.frombuffer(hashes, dtype=np.uint64), return_counts=True)
        pairs = near_pairs(self._hashes, MAX_DISTANCE)
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        self._near = pairs[:, 1]
        self._bounds = np.searchsorted(pairs[:, 0], np.arange(len(self._hashes) + 1))
        self._alone = (counts == 1) & (np.diff(self._bounds) == 0)
        self._kept: dict[int, list[_Kept]] = defaultdict(list)

    def curated(self, job: Job, extraction: Extraction) -> Extraction:
        """A paper without what earlier ones have; to be asked for each paper once, in the order of the build.

        Args:
            job: The paper.
            extraction: What is staged of it.

        Returns:
            The paper with its duplicates among the dropped figures (S1), soft marks (S4) on figures that only hash
            alike, and all of it dropped where too much of it is (S5).
        """
        if not extraction.figures:
            return extraction
        places = [
            _Kept(job, position, found.figure.figure_id, key) if key else None
            for position, (found, key) in enumerate(zip(extraction.figures, self._staging.look_keys(job), strict=True))
        ]
        marks = [place and self._mark(place) for place in places]
        curated = _marked(job, extraction, marks) if any(marks) else extraction
        if curated.report.status != "dropped":
            for place, mark in zip(places, marks, strict=True):
                if place is not None and not (mark and mark.stage == "S1"):
                    self._keep(place)
        return curated

    def _mark(self, figure: _Kept) -> Mark | None:
        near = sorted(self._neighbours(figure.key), key=lambda found: found[0])  # stable: the earliest of equals first
        return decisive(
            duplicate_mark(earlier.figure_id, bits, self._difference(figure, earlier))
            for bits, earlier in near[:COMPARED]
        )

    def _neighbours(self, key: LookKey) -> Iterator[tuple[int, _Kept]]:
        """Kept figures whose hash is near, with the bits in which it differs."""
        own = int(np.searchsorted(self._hashes, np.uint64(key.hash)))
        for index in (own, *self._near[self._bounds[own] : self._bounds[own + 1]].tolist()):
            if index in self._kept:
                bits = distance(key.hash, int(self._hashes[index]))
                yield from ((bits, earlier) for earlier in self._kept[index])

    def _difference(self, one: _Kept, two: _Kept) -> float:
        if not may_be_same(one.key.aspects, two.key.aspects):
            return 1.0
        return difference(self._look(two.job, two.position), self._look(one.job, one.position))

    def _keep(self, figure: _Kept) -> None:
        index = int(np.searchsorted(self._hashes, np.uint64(figure.key.hash)))
        if not self._alone[index]:
            self._kept[index].append(figure)


def _marked(job: Job, extraction: Extraction, marks: list[Mark | None]) -> Extraction:
    """The extraction with a mark on each figure that has one, and what follows from it for the paper."""
    kept, dropped = [], list(extraction.dropped)
    for found, mark in zip(extraction.figures, marks, strict=True):
        if mark is None:
            kept.append(found)
        elif mark.stage == "S1":
            dropped.append(_left_out(found.figure, [mark, *found.figure.curation_marks]))
        else:
            both = [*found.figure.curation_marks, mark]
            kept.append(replace(found, figure=found.figure.model_copy(update={"curation_marks": both})))
    status, problems = extraction.report.status, list(extraction.report.problems)
    unusable = paper_unusable(len(kept) + len(dropped), len(dropped))
    if unusable is not None:
        dropped += [_left_out(found.figure, found.figure.curation_marks) for found in kept]
        dropped = [drop.model_copy(update={"marks": [*drop.marks, unusable]}) for drop in dropped]
        kept, status = [], "dropped"
        told = f"{job.pdf.name}: {unusable.detail}; counting figures that earlier papers have"
        problems.append(Problem(code=unusable.code, message=told))
    counts = {"figures_kept": len(kept), "figures_dropped": len(dropped)}
    report = extraction.report.model_copy(update={"status": status, "problems": problems, **counts})
    return Extraction(report=report, figures=tuple(kept), dropped=tuple(dropped))


def _left_out(figure: Figure, marks: list[Mark]) -> DroppedFigure:
    return DroppedFigure(
        figure_id=figure.figure_id,
        paper_id=figure.paper_id,
        number=figure.number,
        page=figure.page,
        bbox=figure.bbox,
        caption=figure.caption,
        citations=figure.citations,
        marks=marks,
    )
