"""``eval.py judge`` over a server on loopback, and ``eval.py merge``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scifigqual_bench.commands.eval import main
from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.judges.run import MANIFEST, PREDICTIONS, read_manifest
from tests.judges.chat_server import PROMPT_TOKENS, ChatServer, failure, good

pytest.importorskip("openai", reason="needs the extra api")

VARIABLE, KEY = "TEST_JUDGE_KEY", "sk-very-secret-0123456789"


def judge(dataset: Path, server: ChatServer, *rest: Any) -> int:
    """Judge by a server; arguments that follow win."""
    api = ["--backend", "openai", "--model", "m", "--base-url", server.url, "--api-key-env", VARIABLE, "--retries", "0"]
    protocol = [] if "--protocol" in rest else ["--protocol", "direct"]
    return main(["judge", "--dataset", str(dataset), *api, *protocol, *map(str, rest)])


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text("m: {prompt: 1000, completion: 0}\ngpt-5.6-sol: {prompt: 1, completion: 2}\n")
    return path


def ids(dataset: Path) -> list[str]:
    return [figure.figure_id for figure in DatasetFolder(dataset).records()]


def test_a_run_over_a_server(
    sample_dataset: Path, tmp_path: Path, prices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    with ChatServer() as server:
        assert judge(sample_dataset, server, "--out", out, "--prices", prices, "--temperature", "none") == 0
        assert len(server.requests) == len(ids(sample_dataset))
        assert "temperature" not in server.requests[0]
    manifest = read_manifest(out)
    assert manifest.status_counts == {"ok": len(ids(sample_dataset))}
    assert manifest.usage.cost == pytest.approx(manifest.figures * PROMPT_TOKENS / 1000)
    assert (manifest.model, manifest.backend, manifest.sampling["base_url"]) == ("m", "openai", server.url)
    shown = capsys.readouterr()
    written = "".join(path.read_text() for path in out.iterdir())
    assert KEY not in shown.out + shown.err + written
    assert f"{manifest.figures} calls" in shown.out


def test_a_refused_key_is_told_by_its_variable(
    sample_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(lambda _: failure(401, f"bad key {KEY}")) as server:
        assert judge(sample_dataset, server, "--out", tmp_path / "run") == 1
    shown = capsys.readouterr().err
    assert VARIABLE in shown and "HTTP 401" in shown and KEY not in shown and "Traceback" not in shown


def test_a_run_in_which_every_figure_failed_is_no_success(
    sample_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(lambda _: failure(400, "no")) as server:
        assert judge(sample_dataset, server, "--out", tmp_path / "run", "--max-failures", "1000") == 3
        assert "no figure got a score" in capsys.readouterr().err
        server.script = good
        assert judge(sample_dataset, server, "--out", tmp_path / "run", "--retry-failed") == 0


def test_a_budget_ends_with_a_code_of_its_own_and_the_command_goes_on(
    sample_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    with ChatServer() as server:
        assert judge(sample_dataset, server, "--out", out, "--max-tokens-total", 1, "--concurrency", 1) == 3
        assert "stopped: the budget of 1 tokens is used up" in capsys.readouterr().err
        assert judge(sample_dataset, server, "--out", out) == 0
        assert len(server.requests) == len(ids(sample_dataset))


def test_shards_are_judged_and_merged(sample_dataset: Path, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "ab"]
    with ChatServer() as server:
        for n, folder in enumerate(folders, 1):
            assert judge(sample_dataset, server, "--out", folder, "--shard", f"{n}/2") == 0
        assert judge(sample_dataset, server, "--out", tmp_path / "alone") == 0
    merge = ["merge", "--dataset", str(sample_dataset), "--out", str(tmp_path / "whole")]
    assert main([*merge, str(folders[0])]) == 1
    assert main([*merge, *map(str, folders)]) == 0
    whole, alone = read_manifest(tmp_path / "whole"), read_manifest(tmp_path / "alone")
    assert whole.configuration_sha256 == alone.configuration_sha256 and whole.figures == alone.figures
    lines = (tmp_path / "whole" / PREDICTIONS).read_text().splitlines()
    assert sorted(json.loads(line)["figure_id"] for line in lines) == sorted(ids(sample_dataset))


def test_a_run_by_tasks_is_merged_and_gets_its_share_of_the_limits(sample_dataset: Path, tmp_path: Path) -> None:
    pytest.importorskip("datatrove", reason="needs the extra distributed")
    out = tmp_path / "run"
    by_tasks = ["--executor", "local", "--executor-option", "tasks=2", "--executor-option", "workers=1"]
    with ChatServer() as server:
        assert judge(sample_dataset, server, "--out", out, *by_tasks, "--max-tokens-total", 2) == 1
        asked = len(server.requests)
        assert 2 <= asked < len(ids(sample_dataset)) + 1  # each task stops at its half of the budget
        assert judge(sample_dataset, server, "--out", out, *by_tasks) == 0
        assert len(server.requests) == len(ids(sample_dataset))
        assert judge(sample_dataset, server, "--out", tmp_path / "alone") == 0
    whole, alone = read_manifest(out), read_manifest(tmp_path / "alone")
    assert whole.configuration_sha256 == alone.configuration_sha256 and whole.usage == alone.usage
    lines = (out / PREDICTIONS).read_text().splitlines()
    assert sorted(json.loads(line)["figure_id"] for line in lines) == sorted(ids(sample_dataset))
    merged = tmp_path / "again"
    folders = [str(path) for path in sorted((out / "shards").iterdir())]
    assert main(["merge", "--dataset", str(sample_dataset), "--out", str(merged), *folders]) == 0
    assert read_manifest(merged) == whole


def test_several_figures_a_call_and_the_map_of_the_paper(sample_dataset: Path, tmp_path: Path) -> None:
    with ChatServer() as server:
        assert judge(sample_dataset, server, "--out", tmp_path / "run", "--paper-batch", 3, "--figure-map") == 0
        assert len(server.requests) < len(ids(sample_dataset))
        assert all("<figures_of_the_paper>" in str(request["messages"]) for request in server.requests)
    manifest = read_manifest(tmp_path / "run")
    assert manifest.status_counts == {"ok": len(ids(sample_dataset))}
    assert (manifest.payload["paper_batch"], manifest.payload["figure_map"]) == (3, True)


def test_a_dry_run_counts_calls_about_several(sample_dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["judge", "--dataset", str(sample_dataset), "--run", "D2", "--dry-run", "--paper-batch", "100"]
    assert main(command) == 0
    papers = {figure_id.rpartition("__")[0] for figure_id in ids(sample_dataset)}
    assert f"calls: {len(papers)} (" in capsys.readouterr().out


def test_a_control_is_another_configuration(sample_dataset: Path, tmp_path: Path) -> None:
    with ChatServer() as server:
        assert judge(sample_dataset, server, "--out", tmp_path / "a") == 0
        assert judge(sample_dataset, server, "--out", tmp_path / "b", "--control", "other-image") == 0
        assert judge(sample_dataset, server, "--out", tmp_path / "a", "--control", "other-image") == 1
    plain, blind = read_manifest(tmp_path / "a"), read_manifest(tmp_path / "b")
    assert (plain.control, blind.control) == (None, "other-image")
    assert plain.configuration_sha256 != blind.configuration_sha256


@pytest.mark.parametrize("run_id", ["D2", "F3"])
def test_a_dry_run_asks_nothing_and_needs_no_key(
    run_id: str,
    sample_dataset: Path,
    tmp_path: Path,
    prices: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ChatServer() as server:
        command = ["judge", "--dataset", str(sample_dataset), "--run", run_id, "--dry-run", "--prices", str(prices)]
        assert main([*command, "--base-url", server.url]) == 0
        assert server.requests == []
    shown = capsys.readouterr().out
    calls = len(ids(sample_dataset)) * (1 if run_id == "D2" else 3)
    assert f"calls: {calls} (" in shown and "model gpt-5.6-sol" in shown and "cost: about" in shown
    assert not (tmp_path / MANIFEST).exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "F3"], "give --out RUN_DIR, or --dry-run"),
        (["--run", "F3", "--protocol", "agent", "--out", "x"], "leave --protocol and --backend out"),
        (["--protocol", "agent", "--out", "x"], "give --run ID, or --protocol and --backend"),
        (["--protocol", "agent", "--backend", "openai", "--out", "x"], "--backend openai needs --model"),
        (["--run", "Z9", "--out", "x"], "run 'Z9' is unknown"),
        (["--run", "F3", "--out", "x", "--max-cost", "1"], "--max-cost needs --prices"),
        (["--run", "F3", "--out", "x"], "environment variable OPENAI_API_KEY is not set"),
        (["--protocol", "direct", "--backend", "rules", "--model", "m", "--out", "x"], "has no option model"),
        (["--protocol", "agent", "--backend", "rules", "--control", "no-image", "--out", "x"], "nothing to judge"),
        (["--protocol", "direct", "--backend", "rules", "--paper-batch", "2", "--out", "x"], "takes one figure a call"),
        (["--run", "F3", "--no-api-key", "--paper-batch", "2", "--out", "x"], "a call of agent is about one figure"),
        (["--run", "F3", "--dry-run", "--paper-batch", "2"], "a call of agent is about one figure"),
        (["--run", "F3", "--out", "x", "--executor-option", "tasks=2"], "--executor-option needs --executor"),
        (["--run", "F3", "--out", "x", "--executor", "local", "--shard", "1/2"], "leave --shard out"),
    ],
)
def test_what_does_not_fit_together_is_told(
    arguments: list[str],
    message: str,
    sample_dataset: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    placed = [str(tmp_path / "x") if each == "x" else each for each in arguments]
    assert main(["judge", "--dataset", str(sample_dataset), *placed]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shard", "5/4"], "argument --shard: expected i/n with i from 1 to n, found 5/4"),
        (["--shard", "half"], "argument --shard: expected i/n with i from 1 to n, found half"),
        (["--max-cost", "nan"], "argument --max-cost: expected a number above 0, found nan"),
    ],
)
def test_an_argument_of_another_form_is_told(
    arguments: list[str], message: str, sample_dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["judge", "--dataset", str(sample_dataset), "--run", "F3", "--dry-run", *arguments])
    assert message in capsys.readouterr().err
