"""A run as tasks of an executor: each judges one shard in a folder of its own, and the folders are merged.

What a task has judged is known from its folder alone, so a task that died is simply run again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from scifigqual_bench.errors import InputError
from scifigqual_bench.executors import Executor, PipelineStep
from scifigqual_bench.judges.run import MANIFEST, read_manifest
from scifigqual_bench.judges.shards import Shard, merge_runs
from scifigqual_bench.records import RunManifest

SHARDS = "shards"
"""Folder of the shards' run folders, in the folder of the whole run."""
LOGS = "logs"
"""Folder of the executor's logs, in the folder of the whole run."""

JudgeShard = Callable[[Shard, Path], RunManifest]
"""Judges a shard in a run folder; has to be such that it can be sent to another machine (pickled)."""


class JudgeShare(PipelineStep):
    """A task: judges the shard of its number.

    Args:
        judge: Judges a shard.
        out_dir: Folder of the whole run.
    """

    name = "predictions of figures"
    type = "scifigqual-bench"

    def __init__(self, judge: JudgeShard, out_dir: Path):
        super().__init__()
        self.judge = judge
        self.out_dir = out_dir

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> Iterator[None]:
        """Judge what the shard's folder lacks; nothing is passed on.

        A fault of the input is left in a file: the other tasks may well go on, and the executor's log of an error
        shows the values of variables.
        """
        shard = Shard(rank + 1, world_size)
        fault = fault_file(self.out_dir, shard)
        fault.unlink(missing_ok=True)
        try:
            manifest = self.judge(shard, shard_folder(self.out_dir, shard))
        except InputError as error:
            fault.parent.mkdir(parents=True, exist_ok=True)
            fault.write_text("\n".join(error.problems) + "\n", encoding="utf-8")
            return
        for status, count in manifest.status_counts.items():
            self.stat_update(status, value=count, unit="figure")
        yield from ()


def shard_folder(out_dir: Path, shard: Shard) -> Path:
    """The run folder of a shard."""
    return out_dir / SHARDS / f"{shard.index:05d}-of-{shard.count:05d}"


def fault_file(out_dir: Path, shard: Shard) -> Path:
    """Where a task says what is wrong with its input."""
    return out_dir / SHARDS / f"{shard.index:05d}-of-{shard.count:05d}.fault.txt"


def run_tasks(executor: Executor, judge: JudgeShard, out_dir: Path, figure_ids: Collection[str]) -> RunManifest | None:
    """Have a run judged by an executor's tasks, and merge their folders.

    Args:
        executor: Runs the tasks, one a shard.
        judge: Judges a shard.
        out_dir: Folder of the whole run. What tasks of an earlier start have judged there is kept.
        figure_ids: The figures that have to be there in the end, each once.

    Returns:
        The manifest of the whole run; None where the tasks were only submitted (Slurm), so that they and the merge
        come later.

    Raises:
        InputError: A task met a fault of its input or did not finish, the folder holds a run that was not judged by so
            many tasks, or the executor does not take its options.
    """
    tasks = executor.options.get("tasks", 1)
    if not isinstance(tasks, int) or tasks < 1:
        raise InputError(f"--executor-option tasks={tasks}: expected a whole number of at least 1")
    shards = [Shard(index, tasks) for index in range(1, tasks + 1)]
    _check_folder(out_dir, tasks)
    executor.run(JudgeShare(judge, out_dir), out_dir / LOGS)
    if executor.kind == "slurm":
        return None
    problems = []
    for shard in shards:
        folder, fault = shard_folder(out_dir, shard), fault_file(out_dir, shard)
        manifest = read_manifest(folder)
        if fault.exists():
            problems += [f"shard {shard}: {line}" for line in fault.read_text("utf-8").splitlines()]
        elif manifest is None or manifest.finished_at is None:
            reason = "its task died" if manifest is None or manifest.stopped is None else manifest.stopped
            problems.append(f"shard {shard}: not finished ({reason}); the same command goes on where it ended")
    if problems:
        raise InputError(problems)
    return merge_runs([shard_folder(out_dir, shard) for shard in shards], out_dir, figure_ids, replace=True)


def _check_folder(out_dir: Path, tasks: int) -> None:
    begun = {int(path.name[-5:]) for path in (out_dir / SHARDS).glob("*-of-?????")}
    if begun - {tasks}:
        raise InputError(f"{out_dir} was begun by {min(begun - {tasks})} tasks; give as many, or another --out")
    if not begun and (out_dir / MANIFEST).exists():
        raise InputError(f"{out_dir} holds a run that was not judged by tasks; give another --out")
