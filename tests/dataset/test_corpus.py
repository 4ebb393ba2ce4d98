"""Corpus runs: what one PDF does to its process never reaches the others, and a stopped build goes on."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pymupdf
import pytest

from scifigqual_bench.dataset.build import BuildError, build_dataset, list_pdfs
from scifigqual_bench.dataset.corpus import CorpusError, extract_corpus
from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.dataset.staging import Job, Limits, Staging
from scifigqual_bench.records import PaperMeta
from tests.dataset.stand_ins import StandIn, one_figure
from tests.factory import png

QUICK = Limits(seconds=3, megabytes=200)


def make_pdfs(folder: Path, *stems: str) -> list[Path]:
    """Files with their own bytes each; the stand-in reads nothing but them."""
    folder.mkdir(exist_ok=True)
    for stem in stems:
        (folder / f"{stem}.pdf").write_text(stem)
    return list_pdfs([folder])


def papers(count: int) -> list[str]:
    return [f"paper-{index:02d}" for index in range(count)]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def codes(out: Path) -> dict[str, tuple[str, str | None]]:
    rows = map(json.loads, (out / "papers.jsonl").read_text().splitlines())
    return {r["paper_id"]: (r["status"], r["problems"][0]["code"] if r["problems"] else None) for r in rows}


def test_what_one_pdf_does_never_reaches_the_others(tmp_path: Path):
    fates = {
        "exits": "pdf-crashed",
        "greedy": "pdf-out-of-memory",
        "hangs": "pdf-timeout",
        "killed": "pdf-crashed",
        "raises": "pdf-crashed",
        "segfaults": "pdf-crashed",
        "spins": "pdf-timeout",
    }
    pdfs = make_pdfs(tmp_path / "pdfs", *fates, *papers(3))
    out = tmp_path / "out"
    result = build_dataset(pdfs, out, extract=StandIn(), workers=2, limits=QUICK)
    assert codes(out) == {stem: ("failed", code) for stem, code in fates.items()} | dict.fromkeys(
        papers(3), ("ok", None)
    )
    assert result.papers == {"failed": 7, "ok": 3} and result.figures == {"unrated": 3}
    said = (out / "problems.jsonl").read_text()
    assert "SIGKILL" in said and "SIGSEGV" in said and "exit code 3" in said
    assert "took longer than 3 s" in said and "needs more than 200 MB" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "pdfs"]


def test_the_bytes_do_not_depend_on_the_number_of_workers(tmp_path: Path):
    pdfs = make_pdfs(tmp_path / "pdfs", *papers(5), "killed")
    built = []
    for workers in (1, 2, 3):
        out, rows = tmp_path / str(workers) / "out", tmp_path / f"{workers}.jsonl"
        build_dataset(pdfs, out, extract=StandIn(), workers=workers, jsonl=rows)
        built.append((content(out), rows.read_bytes()))
    assert built[0] == built[1] == built[2]
    assert [row.paper_id for row in DatasetFolder(out).records()] == papers(5)


def test_a_real_pdf_over_its_memory_is_told_so(tmp_path: Path, root: Path):
    """By the command, in a process of its own: its workers start with PyMuPDF loaded."""
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_image((72, 72, 540, 640), stream=png("a figure as large as the page", (3000, 3600)))
        page.insert_text((72, 670), "Figure 1: A picture of some ten million pixels.")
        document.save(tmp_path / "large.pdf")
    argv = ["--pdfs", tmp_path / "large.pdf", "--out", tmp_path / "out"]
    argv += ["--features", "none", "--workers", "1", "--memory-per-pdf", "1"]
    done = subprocess.run([sys.executable, root / "build_dataset.py", *argv], capture_output=True, text=True)
    assert done.returncode == 1
    assert "no figure was found" in done.stderr and "needs more than 1 MB" in done.stderr


BUILD = """
import sys
from pathlib import Path
from scifigqual_bench.dataset.build import build_dataset, list_pdfs
from tests.dataset.stand_ins import StandIn
if __name__ == "__main__":
    pdfs, out, calls, pipe = map(Path, sys.argv[1:5])
    extract = StandIn(calls, (sys.argv[5], pipe))
    executor = None
    if sys.argv[6:]:
        from scifigqual_bench.dataset.distributed import Executor
        executor = Executor("local", {"tasks": 3, "workers": 2})
    build_dataset(list_pdfs([pdfs]), out, extract=extract, workers=1, executor=executor)
"""


@contextmanager
def held_build(folder: Path, root: Path, held: str, *options: str) -> Iterator[int]:
    """A build in a process group of its own that has come to a paper and stays there.

    Yields the process that is to be killed: the build, or the executor's task. Afterwards the worker must have ended
    with it; then all the others are killed.
    """
    script, pipe = folder / "build.py", folder / "pipe"
    script.write_text(BUILD)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    argv = [sys.executable, script, folder / "pdfs", folder / "out", folder / "calls", pipe, held, *options]
    process = subprocess.Popen(argv, env=os.environ | {"PYTHONPATH": str(root)}, start_new_session=True)
    try:
        assert select.select([reader], [], [], 120)[0], "the build did not come to the paper"
        yield int(os.read(reader, 100).decode().removeprefix("held by "))
        assert select.select([reader], [], [], 120)[0] and os.read(reader, 100) == b"", "the worker was left behind"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(reader)


def test_a_killed_build_goes_on_where_it_was(tmp_path: Path, root: Path):
    """SIGKILL while the fourth paper is read; the next start reads that one and the rest, and nothing twice."""
    pdfs = make_pdfs(tmp_path / "pdfs", *papers(6))
    out, calls = tmp_path / "out", tmp_path / "calls"
    with held_build(tmp_path, root, papers(6)[3]) as build:
        os.kill(build, signal.SIGKILL)
    assert calls.read_text().split() == papers(4) and not out.exists()

    calls.unlink()
    build_dataset(pdfs, out, extract=StandIn(calls), workers=1)
    assert calls.read_text().split() == papers(6)[3:]
    build_dataset(pdfs, tmp_path / "whole" / "out", extract=StandIn(), workers=1)
    assert content(out) == content(tmp_path / "whole" / "out")
    assert not list(tmp_path.glob(".out*"))


@pytest.fixture
def distributed() -> ModuleType:
    """The room of executors; the test is skipped where datatrove is missing."""
    name = "scifigqual_bench.dataset.distributed"
    return pytest.importorskip(name, reason="needs datatrove (extra distributed)", exc_type=ImportError)


@pytest.mark.slow
def test_a_killed_task_of_an_executor_is_run_again(tmp_path: Path, root: Path, distributed: ModuleType):
    """One of three local tasks is killed at its second paper; the next start reads what is left, and nothing twice."""
    pdfs = make_pdfs(tmp_path / "pdfs", *papers(7), "killed")
    out, calls = tmp_path / "out", tmp_path / "calls"
    tasks = distributed.Executor("local", {"tasks": 3, "workers": 2})
    with held_build(tmp_path, root, papers(7)[3], "local") as task:
        os.kill(task, signal.SIGKILL)
    first = calls.read_text().split()
    assert papers(7)[3] in first and papers(7)[6] not in first and not out.exists()

    calls.unlink()
    build_dataset(pdfs, out, extract=StandIn(calls), executor=tasks)
    again = calls.read_text().split()
    assert papers(7)[3] in again and papers(7)[0] not in again
    assert set(first) | set(again) == {pdf.stem for pdf in pdfs} and len(again) == len(set(again))
    build_dataset(pdfs, tmp_path / "whole" / "out", extract=StandIn(), workers=1)
    assert content(out) == content(tmp_path / "whole" / "out")


def test_options_that_an_executor_does_not_take_are_named(tmp_path: Path, distributed: ModuleType):
    for kind, named in (("local", "'taks'"), ("slurm", "'partition'")):
        executor = distributed.Executor(kind, {"taks": 3} if kind == "local" else {"tasks": 3, "time": "1:00:00"})
        with pytest.raises(distributed.executors.ExecutorError, match=f"--executor {kind}.*{named}"):
            build_dataset(make_pdfs(tmp_path / "pdfs", "paper"), tmp_path / kind, extract=StandIn(), executor=executor)


SBATCH = """#!/bin/sh
for file; do :; done
cp "$file" "{folder}/submitted-$(ls {folder} | grep -c submitted)"
echo Submitted batch job 7
"""
SRUN = """#!/bin/sh
while [ "$1" = -l ] || [ "$1" = -n ]; do [ "$1" = -n ] && shift; shift; done
exec "$@"
"""


@pytest.mark.slow
def test_slurm_gets_tasks_that_read_the_papers(
    tmp_path: Path, root: Path, distributed: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    """Against stand-ins of Slurm's commands: one that only notes what is submitted, and the two that a task calls."""
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
    pdfs, out = make_pdfs(tmp_path / "pdfs", *papers(5)), tmp_path / "out"
    executor = distributed.Executor("slurm", {"tasks": 2, "time": "0:10:00", "partition": "any"})
    with pytest.raises(BuildError, match="5 of 5 papers are not read yet"):
        build_dataset(pdfs, out, extract=StandIn(), executor=executor)
    for task in ("0", "1"):
        variables = {"SLURM_ARRAY_TASK_ID": task, "SLURM_NODELIST": "here", "PYTHONPATH": str(root)}
        subprocess.run(["bash", tmp_path / "submitted-0"], env=os.environ | variables, check=True, capture_output=True)
    build_dataset(pdfs, out, extract=StandIn(), executor=executor)
    assert [row.paper_id for row in DatasetFolder(out).records()] == papers(5)


def stage(folder: Path, identity: str = "stand-in", limits: Limits = QUICK) -> Staging:
    return Staging(folder / "staging", identity, limits)


def job(folder: Path, stem: str = "paper-00", **meta: str) -> Job:
    (pdf,) = make_pdfs(folder / "one", stem)
    return Job(pdf, PaperMeta(paper_id=stem, **meta), stem)


def test_a_staged_paper_comes_back_as_it_was(tmp_path: Path):
    one = job(tmp_path)
    extraction = one_figure(one.pdf, one.meta)
    stage(tmp_path).write(one, extraction)
    assert stage(tmp_path).read(one) == extraction
    assert stage(tmp_path).report(one) == extraction.report


def test_a_paper_is_read_again_when_anything_it_depends_on_is_another(tmp_path: Path):
    one = job(tmp_path)
    stage(tmp_path).write(one, one_figure(one.pdf, one.meta))
    assert stage(tmp_path).find(one) is not None
    assert stage(tmp_path, "other settings or code").find(one) is None
    assert stage(tmp_path).find(job(tmp_path, topic="another topic")) is None
    assert stage(tmp_path).find(Job(one.pdf, one.meta, "other bytes")) is None
    assert stage(tmp_path, limits=Limits(9, 9)).find(one) is not None


def test_other_limits_are_another_chance_for_those_that_broke_them(tmp_path: Path):
    one = job(tmp_path, "hangs")
    assert list(extract_corpus([one], stage(tmp_path), StandIn())) == [one]
    assert stage(tmp_path).report(one).problems[0].code == "pdf-timeout"
    assert stage(tmp_path, limits=Limits(9, 9)).find(one) is None


def test_a_disk_that_takes_nothing_is_no_fault_of_the_pdf(tmp_path: Path):
    (tmp_path / "staging").touch()
    with pytest.raises(CorpusError, match="can't be written to the staging folder"):
        list(extract_corpus([job(tmp_path)], stage(tmp_path), StandIn()))


def test_a_worker_stopped_by_a_scheduler_is_no_fault_of_the_pdf(tmp_path: Path):
    with pytest.raises(CorpusError, match="SIGTERM"):
        list(extract_corpus([job(tmp_path, "terminated")], stage(tmp_path), StandIn()))
    assert stage(tmp_path).find(job(tmp_path, "terminated")) is None


def test_equal_bytes_are_read_once(tmp_path: Path):
    pdfs = make_pdfs(tmp_path / "pdfs", *papers(2))
    (tmp_path / "pdfs" / "paper-02.pdf").write_bytes(pdfs[0].read_bytes())
    calls = tmp_path / "calls"
    build_dataset(list_pdfs([tmp_path / "pdfs"]), tmp_path / "out", extract=StandIn(calls), workers=2)
    assert Counter(calls.read_text().split()) == Counter(papers(2))
    assert codes(tmp_path / "out")["paper-02"] == ("failed", "pdf-duplicate")


def test_two_builds_of_one_folder_do_not_meet(tmp_path: Path, root: Path):
    pdfs = make_pdfs(tmp_path / "pdfs", "paper")
    with held_build(tmp_path, root, "paper") as build:
        with pytest.raises(BuildError, match="another build of this folder"):
            build_dataset(pdfs, tmp_path / "out", extract=StandIn())
        os.kill(build, signal.SIGKILL)


def test_a_build_killed_between_two_renames_gives_the_old_folder_back(tmp_path: Path):
    pdfs, out = make_pdfs(tmp_path / "pdfs", "paper"), tmp_path / "out"
    build_dataset(pdfs, out, extract=StandIn())
    before = content(out)
    out.rename(tmp_path / ".out.old-1")
    (tmp_path / ".out.partial-1").mkdir()
    with pytest.raises(BuildError, match="no figure was found"):
        build_dataset([tmp_path / "missing.pdf"], out, extract=StandIn(), overwrite=True)
    assert content(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "pdfs"]
