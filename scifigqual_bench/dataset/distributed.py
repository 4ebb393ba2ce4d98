"""Reading papers on datatrove's executors: the same function per PDF, the same staging folder, more machines.

Every task takes each n-th job of a plan that lies in the staging folder, which all machines share. What is finished
is known from the staged papers alone, so a task that died is simply run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from scifigqual_bench import executors
from scifigqual_bench.dataset.corpus import extract_corpus
from scifigqual_bench.dataset.extractor import Extractor
from scifigqual_bench.dataset.staging import Job, Staging

JOBS = TypeAdapter(Job)


class ReadShare(executors.PipelineStep):
    """A task: reads its share of a plan, one PDF at a time, each in a process of its own.

    Args:
        plan: A file of jobs (see :func:`write_plan`).
        staging: Where finished papers go, and are found by a task that is run again.
        extract: Reads one PDF.
    """

    name = "figures of papers"
    type = "scifigqual-bench"

    def __init__(self, plan: Path, staging: Staging, extract: Extractor):
        super().__init__()
        self.plan = plan
        self.staging = staging
        self.extract = extract

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> Iterator[None]:
        """Read the papers of this rank that are not staged yet; nothing is passed on."""
        share = (job for job in read_plan(self.plan, rank, world_size) if self.staging.find(job) is None)
        for job in extract_corpus(share, self.staging, self.extract):
            self.stat_update(self.staging.report(job).status, unit="paper")
        yield from ()


class Executor(executors.Executor):
    """An executor that reads papers."""

    def read(self, jobs: Sequence[Job], staging: Staging, extract: Extractor) -> None:
        """Have the jobs read and staged; with Slurm, this returns before they are.

        Raises:
            ExecutorError: The options are not the executor's.
        """
        plan = staging.folder / "plan.jsonl"
        write_plan(plan, jobs)
        self.run(ReadShare(plan, staging, extract), staging.folder / "logs")


def write_plan(path: Path, jobs: Iterable[Job]) -> None:
    """Write jobs as JSON Lines, with absolute paths; the file appears whole."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as handle:
        for job in jobs:
            handle.write(JOBS.dump_json(replace(job, pdf=job.pdf.absolute())) + b"\n")
    partial.replace(path)


def read_plan(path: Path, rank: int = 0, tasks: int = 1) -> Iterator[Job]:
    """The jobs of one task: each ``tasks``-th from the one at ``rank`` on."""
    with path.open("rb") as lines:
        for line in islice(lines, rank, None, tasks):
            yield JOBS.validate_json(line)
