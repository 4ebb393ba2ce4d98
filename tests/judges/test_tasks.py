"""Runs by the tasks of an executor: killed, resumed, merged, and the same rows as by one machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends import make_backend
from scifigqual_bench.judges.costs import Budget
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.judges.run import MANIFEST, PREDICTIONS, DatasetInfo, read_manifest, run_judge
from scifigqual_bench.judges.shards import Shard, merge_runs
from scifigqual_bench.records import RunManifest
from tests.dataset.test_corpus import SBATCH, SRUN
from tests.judges.scripted import item

tasks = pytest.importorskip("scifigqual_bench.judges.tasks", reason="needs datatrove (extra distributed)")

PAPERS = [f"paper{n}" for n in range(9)]


def items(shard: Shard | None = None) -> Iterator[JudgeItem]:
    for paper in PAPERS:
        if shard is None or paper in shard:
            for n in (1, 2, 3):
                base = item(n)
                update = {"paper_id": paper, "figure_id": f"{paper}__fig{n:04d}"}
                yield JudgeItem(base.figure.model_copy(update=update), base.image)


ALL = [each.figure.figure_id for each in items()]


def judge(shard: Shard | None, out: Path, *, killed_by: Path | None = None, **changes: Any) -> RunManifest:
    """Judge a shard by rules; with ``killed_by``, the second shard's third figure kills all processes of the run."""

    def source() -> Iterator[JudgeItem]:
        for n, each in enumerate(items(shard), start=1):
            if killed_by is not None and shard.index == 2 and n == 3:
                killed_by.touch()
                os.killpg(0, signal.SIGKILL)
            yield each

    info = DatasetInfo("example", "f" * 64, ("rated",), len(list(items(shard))))
    settings = {"batch_size": 1, "progress": False, "shard": shard and str(shard)}
    return run_judge(source(), "agent", make_backend("rules"), out, info, **(settings | changes))


def stopped_at_once(shard: Shard, out: Path) -> RunManifest:
    return judge(shard, out, budget=Budget(max_tokens=0)) if shard.index == 2 else judge(shard, out)


def faulty(shard: Shard, out: Path) -> RunManifest:
    if shard.index == 2:
        raise InputError(["environment variable KEY is not set", "and another fault"])
    return judge(shard, out)


def local(tasks_: int, workers: int = 1) -> Any:
    from scifigqual_bench.executors import Executor

    return Executor("local", {"tasks": tasks_, "workers": workers})


def rows(out: Path) -> list[bytes]:
    return sorted((out / PREDICTIONS).read_bytes().splitlines())


KILLED = """
import sys
from functools import partial
from pathlib import Path
from scifigqual_bench.judges.tasks import run_tasks
from tests.judges import test_tasks

if __name__ == "__main__":
    out, sign = map(Path, sys.argv[1:])
    run_tasks(test_tasks.local(3, 2), partial(test_tasks.judge, killed_by=sign), out, test_tasks.ALL)
"""


@pytest.mark.slow
def test_a_run_by_tasks_that_was_killed_goes_on_and_gives_the_rows_of_a_single_run(tmp_path: Path, root: Path) -> None:
    out, sign = tmp_path / "out", tmp_path / "sign"
    (tmp_path / "killed.py").write_text(KILLED)
    command = [sys.executable, tmp_path / "killed.py", out, sign]
    environment = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run(command, env=environment, start_new_session=True, capture_output=True)
    assert done.returncode == -signal.SIGKILL and sign.exists(), done.stderr
    half = tasks.shard_folder(out, Shard(2, 3))
    kept = (half / PREDICTIONS).read_bytes()
    assert len(kept.splitlines()) == 2 and not (out / MANIFEST).exists()

    manifest = tasks.run_tasks(local(3), judge, out, ALL)
    assert (half / PREDICTIONS).read_bytes().startswith(kept)
    alone = judge(None, tmp_path / "alone")
    assert rows(out) == rows(tmp_path / "alone") and len(rows(out)) == len(ALL)
    varying = {"started_at", "finished_at", "predictions_sha256"}
    assert manifest.model_dump(exclude=varying) == alone.model_dump(exclude=varying)
    assert manifest == read_manifest(out)

    before = rows(out)  # once more: nothing is judged again, and the merge takes the place of the other
    assert tasks.run_tasks(local(3), judge, out, ALL).status_counts == manifest.status_counts and rows(out) == before


@pytest.mark.slow
def test_slurm_gets_tasks_whose_folders_can_be_merged(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against stand-ins of Slurm's commands: one that only notes what is submitted, and the two that a task calls."""
    from scifigqual_bench.executors import Executor

    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in {
        "sbatch": SBATCH.format(folder=tmp_path),
        "srun": SRUN,
        "scontrol": "#!/bin/sh\necho here\n",
    }.items():
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    out = tmp_path / "out"
    executor = Executor("slurm", {"tasks": 2, "time": "0:10:00", "partition": "any"})
    assert tasks.run_tasks(executor, judge, out, ALL) is None
    assert not (out / MANIFEST).exists()
    for task in ("0", "1"):
        variables = {"SLURM_ARRAY_TASK_ID": task, "SLURM_NODELIST": "here", "PYTHONPATH": str(root)}
        subprocess.run(["bash", tmp_path / "submitted-0"], env=os.environ | variables, check=True, capture_output=True)
    folders = [tasks.shard_folder(out, Shard(index, 2)) for index in (1, 2)]
    assert merge_runs(folders, out, ALL).figures == len(ALL)


def test_a_task_without_papers_is_a_task(tmp_path: Path) -> None:
    count = next(n for n in range(2, 40) if not all(list(items(Shard(i, n))) for i in range(1, n + 1)))
    assert tasks.run_tasks(local(count), judge, tmp_path, ALL).figures == len(ALL)


def test_the_faults_and_the_stops_of_all_tasks_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        tasks.run_tasks(local(3), faulty, tmp_path / "a", ALL)
    assert error.value.problems == ["shard 2/3: environment variable KEY is not set", "shard 2/3: and another fault"]
    assert read_manifest(tasks.shard_folder(tmp_path / "a", Shard(3, 3))).finished_at
    assert tasks.run_tasks(local(3), judge, tmp_path / "a", ALL).figures == len(ALL)
    with pytest.raises(InputError, match=r"shard 2/3: not finished \(the budget of 0 tokens is used up"):
        tasks.run_tasks(local(3), stopped_at_once, tmp_path / "b", ALL)


def test_a_missing_figure_is_no_whole_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="x__fig0001: in no folder"):
        tasks.run_tasks(local(2), judge, tmp_path, [*ALL, "x__fig0001"])
    assert not (tmp_path / MANIFEST).exists()


def test_another_number_of_tasks_and_another_run_are_refused(tmp_path: Path) -> None:
    tasks.run_tasks(local(2), judge, tmp_path / "a", ALL)
    with pytest.raises(InputError, match="was begun by 2 tasks"):
        tasks.run_tasks(local(3), judge, tmp_path / "a", ALL)
    judge(None, tmp_path / "b")
    with pytest.raises(InputError, match="not judged by tasks"):
        tasks.run_tasks(local(3), judge, tmp_path / "b", ALL)
    with pytest.raises(InputError, match="expected a whole number"):
        tasks.run_tasks(local(0), judge, tmp_path / "c", ALL)


def test_what_an_executor_does_not_take_is_named(tmp_path: Path) -> None:
    from scifigqual_bench.executors import Executor

    with pytest.raises(InputError, match=r"--executor local.*'taks'"):
        tasks.run_tasks(Executor("local", {"taks": 2}), judge, tmp_path, ALL)


def test_other_settings_are_refused_by_each_task(tmp_path: Path) -> None:
    tasks.run_tasks(local(2), judge, tmp_path, ALL)
    with pytest.raises(InputError, match="another configuration") as error:
        tasks.run_tasks(local(2), partial(judge, seed=3), tmp_path, ALL)
    assert len(error.value.problems) == 2
