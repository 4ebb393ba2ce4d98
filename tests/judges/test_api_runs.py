"""Whole runs over a server: resumed after kills, within budgets, with retries, from the cache, in shards."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scifigqual_bench.audit.predictions import read_predictions
from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends import make_backend
from scifigqual_bench.judges.cache import CachedBackend, with_cache
from scifigqual_bench.judges.costs import Budget, Price
from scifigqual_bench.judges.run import PREDICTIONS, RETRIED, DatasetInfo, read_manifest, run_judge
from scifigqual_bench.judges.shards import Shard, merge_runs
from scifigqual_bench.records import Prediction, RunManifest, RunUsage
from tests.judges.chat_server import (
    COMPLETION_TOKENS,
    PROMPT_TOKENS,
    ChatServer,
    Reply,
    completion,
    failure,
    good,
    user_text,
)
from tests.judges.scripted import ScriptedBackend, good_answer, item

pytest.importorskip("openai", reason="needs the extra api")

TOKENS = PROMPT_TOKENS + COMPLETION_TOKENS


def info(count: int) -> DatasetInfo:
    return DatasetInfo("example", "f" * 64, ("rated",), count)


def run(out: Path, server: ChatServer, count: int = 12, *, cache: Path | None = None, **changes: Any) -> RunManifest:
    backend = make_backend(
        "openai", model="m", base_url=server.url, api_key_env=None, retries=2, backoff_base=0.001, concurrency=4
    )
    settings: dict[str, Any] = {"items": (item(n) for n in range(1, count + 1)), "protocol": "direct"}
    try:
        before = backend if cache is None else with_cache(backend, cache)
        settings |= {"backend": before, "out_dir": out, "dataset": info(count), "progress": False}
        return run_judge(**(settings | changes))
    finally:
        backend.close()


def rows(out: Path, name: str = PREDICTIONS) -> list[Prediction]:
    return [Prediction.model_validate_json(line) for line in (out / name).read_bytes().splitlines()]


def number(request: dict[str, Any]) -> int:
    """Which figure a request is about."""
    return int(re.search(r"Figure (\d+): Accuracy", user_text(request))[1])


def ids(numbers: Iterator[int] | range) -> list[str]:
    return [item(n).figure.figure_id for n in numbers]


# --- killed twice ---------------------------------------------------------------------------------------------------

SCRIPT = """
    import sys
    from pathlib import Path
    from scifigqual_bench.judges.backends import make_backend
    from scifigqual_bench.judges.costs import Price
    from scifigqual_bench.judges.run import DatasetInfo, run_judge
    from tests.judges.scripted import item

    out, url, retry = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "retry"
    backend = make_backend(
        "openai", model="m", base_url=url, api_key_env=None, retries=3, backoff_base=0.001, concurrency=16, timeout=60
    )
    run_judge(
        (item(n) for n in range(1, 1201)), "direct", backend, out, DatasetInfo("example", "f" * 64, ("rated",), 1200),
        price=Price(prompt=1.0, completion=10.0), retry_failed=retry, progress=False,
    )
    backend.close()
"""

FAULTS: dict[int, tuple[Any, str]] = {
    0: (lambda request: completion("no JSON"), "parse_error"),
    20: (lambda request: completion(None, refusal="no"), "refusal"),
    40: (lambda request: completion("{", finish_reason="length"), "truncated"),
    60: (lambda request: failure(400), "api_error"),
    # These pass at the second attempt.
    80: (lambda request: failure(500), "ok"),
}
"""What goes wrong with every 100th figure, from each offset: 5% in all."""


@pytest.mark.slow
def test_1200_figures_with_faults_killed_twice_are_judged_once_each(tmp_path: Path, root: Path) -> None:
    running: list[subprocess.Popen[bytes]] = []
    kill_at = [400, 800]  # requests
    asked: Counter[int] = Counter()
    ill = True

    def script(request: dict[str, Any]) -> Reply:
        n = number(request)
        asked[n] += 1
        if kill_at and asked.total() >= kill_at[0]:
            kill_at.pop(0)
            running[-1].send_signal(signal.SIGKILL)
        fault, status = FAULTS.get(n % 100, (good, "ok"))
        return good(request) if not ill or (status == "ok" and asked[n] > 1) else fault(request)

    def sitting(mode: str = "go on") -> int:
        command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path), server.url, mode]
        running.append(subprocess.Popen(command, cwd=root, env={**os.environ, "PYTHONPATH": "."}))
        return running[-1].wait()

    with ChatServer(script) as server:
        assert [sitting(), sitting(), sitting()] == [-signal.SIGKILL, -signal.SIGKILL, 0]
        judged = rows(tmp_path)
        expected = {item_id: FAULTS.get(n % 100, (good, "ok"))[1] for n, item_id in enumerate(ids(range(1, 1201)), 1)}
        assert {row.figure_id: row.status for row in judged} == expected and len(judged) == 1200
        manifest = read_manifest(tmp_path)
        assert manifest.status_counts == dict(Counter(expected.values()))
        answered = 1200 - 12  # HTTP 400 uses nothing
        assert manifest.usage == RunUsage(
            calls=1200,
            prompt_tokens=answered * PROMPT_TOKENS,
            completion_tokens=answered * COMPLETION_TOKENS,
            cost=manifest.usage.cost,
        )
        assert manifest.served_models == ["m-0324"]
        assert manifest.usage.cost == pytest.approx(answered * (PROMPT_TOKENS + 10 * COMPLETION_TOKENS) / 1e6)

        before, ill = Counter(asked), False
        assert sitting() == 0 and asked == before  # nothing is left to ask
        assert sitting("retry") == 0
    failed = {n for n in range(1, 1201) if FAULTS.get(n % 100, (good, "ok"))[1] != "ok"}
    assert asked - before == Counter(failed)
    assert {row.figure_id: row.status for row in rows(tmp_path)} == dict.fromkeys(expected, "ok")
    assert len(rows(tmp_path)) == 1200 and len(rows(tmp_path, RETRIED)) == len(failed)
    assert read_manifest(tmp_path).usage.prompt_tokens == (answered + len(failed)) * PROMPT_TOKENS
    assert read_predictions(tmp_path / PREDICTIONS).errors == []


# --- what ends a run ------------------------------------------------------------------------------------------------


def test_a_budget_of_tokens_stops_cleanly_and_the_run_goes_on_with_more(tmp_path: Path) -> None:
    with ChatServer() as server:
        manifest = run(tmp_path, server, budget=Budget(max_tokens=3 * TOKENS))
        done = len(rows(tmp_path))
        # The calls under way at the limit are finished and kept: at most two a worker.
        assert 3 <= done <= 3 + 8 and len(server.requests) == done
        assert manifest.finished_at is None and manifest.predictions_sha256 is None
        assert manifest.stopped.startswith(f"the budget of {3 * TOKENS} tokens is used up")
        assert manifest == read_manifest(tmp_path) and manifest.status_counts == {"ok": done}

        assert run(tmp_path, server, budget=Budget(max_tokens=3 * TOKENS)).stopped  # nothing more is asked
        assert len(server.requests) == done
        manifest = run(tmp_path, server, budget=Budget(max_tokens=100 * TOKENS))
    assert (manifest.stopped, manifest.status_counts) == (None, {"ok": 12})
    assert manifest.usage.prompt_tokens == 12 * PROMPT_TOKENS and len(server.requests) == 12


def test_figures_that_wait_for_a_worker_when_the_budget_is_used_up_are_left(tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return Reply(good(request).body, latency=0.5 if 1 < number(request) <= 4 else 0.0)

    with ChatServer(script) as server:
        manifest = run(tmp_path, server, 40, budget=Budget(max_tokens=1))
        # Of the four that wait behind the first four, the first one's worker may have taken some at once.
        used = len(server.requests) * TOKENS
        assert f"({used} used)" in manifest.stopped and manifest.finished_at is None
        assert {row.figure_id for row in rows(tmp_path)} == set(ids(range(1, len(server.requests) + 1)))
        assert run(tmp_path, server, 40).status_counts == {"ok": 40} and len(server.requests) == 40


def test_a_budget_that_the_last_figure_reaches_is_enough(tmp_path: Path) -> None:
    with ChatServer() as server:
        manifest = run(tmp_path, server, budget=Budget(max_tokens=12 * TOKENS))
        assert manifest.stopped is None and manifest.finished_at is not None
        assert run(tmp_path, server, budget=Budget(max_tokens=1)).stopped is None
    assert len(server.requests) == 12


def test_a_budget_of_money(tmp_path: Path) -> None:
    price = Price(prompt=1000.0, completion=0.0)
    with ChatServer() as server:
        manifest = run(tmp_path, server, price=price, budget=Budget(max_cost=2 * PROMPT_TOKENS / 1000))
    assert "is used up" in manifest.stopped and 2 <= len(rows(tmp_path)) < 12
    assert manifest.usage.cost == pytest.approx(len(rows(tmp_path)) * PROMPT_TOKENS / 1000)


def test_a_budget_can_not_be_kept_where_tokens_are_not_told(tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        body = good(request).body
        return Reply({key: value for key, value in body.items() if key != "usage"})

    with ChatServer(script) as server:
        assert "can't be kept" in run(tmp_path / "a", server, budget=Budget(max_tokens=10**9)).stopped
        assert run(tmp_path / "b", server).usage.calls_without_usage == 12


def test_a_server_that_fails_every_figure_stops_the_run(tmp_path: Path) -> None:
    with ChatServer(lambda _: failure(400, "temperature is not supported")) as server:
        manifest = run(tmp_path, server, 100, max_failures=10)
        assert manifest.stopped == (
            "10 figures in a row failed, the last one by direct call: HTTP 400: temperature is not supported"
        )
        assert manifest.finished_at is None and 10 <= len(rows(tmp_path)) <= 10 + 8
        server.script = good
        assert run(tmp_path, server, 100, retry_failed=True, max_failures=10).status_counts == {"ok": 100}


def test_scattered_failures_do_not_stop_a_run(tmp_path: Path) -> None:
    with ChatServer(lambda request: good(request) if number(request) % 2 else failure(400)) as server:
        manifest = run(tmp_path, server, 40, max_failures=20)
    assert manifest.status_counts == {"api_error": 20, "ok": 20}


def test_the_manifest_says_which_models_answered_over_all_sittings(tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return Reply({**good(request).body, "model": names[len(server.requests) > 3]})

    names = {False: "m-0324", True: "m-0512"}
    with ChatServer(script) as server:
        run(tmp_path, server, budget=Budget(max_tokens=1))
        manifest = run(tmp_path, server)
    assert manifest.served_models == ["m-0324", "m-0512"]


def test_a_key_that_is_refused_half_way_ends_the_run_and_keeps_what_was_judged(tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return good(request) if len(server.requests) <= 5 else failure(403, "expired")

    with ChatServer(script) as server:
        with pytest.raises(InputError, match="HTTP 403: expired"):
            run(tmp_path, server, 100)
        assert len(server.requests) <= 5 + 4  # no more than were under way
        kept = rows(tmp_path)
        assert {row.status for row in kept} <= {"ok"} and len(kept) <= 5
        server.script = good
        server.requests.clear()
        assert run(tmp_path, server, 100).status_counts == {"ok": 100}
        assert len(server.requests) == 100 - len(kept)


def test_a_full_disk_ends_the_run_and_the_rows_before_are_kept(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ChatServer() as server:
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, limits[1]))
        try:
            with pytest.raises(InputError, match=f"{PREDICTIONS}: File too large; the rows that were written are kept"):
                run(tmp_path, server)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert (tmp_path / PREDICTIONS).stat().st_size == 6000  # its last line is torn
        assert run(tmp_path, server).status_counts == {"ok": 12}
    assert sorted(row.figure_id for row in rows(tmp_path)) == ids(range(1, 13))


def test_an_interrupt_ends_the_run_at_once_and_leaves_a_valid_file(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Any]:
        for n in range(1, 100):
            yield item(n)
            if (tmp_path / PREDICTIONS).stat().st_size:
                raise KeyboardInterrupt

    with ChatServer(lambda request: Reply(hang=True) if number(request) > 1 else good(request)) as server:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, server, items=interrupted())
        assert [row.figure_id for row in rows(tmp_path)] == ids(range(1, 2))
        assert read_predictions(tmp_path / PREDICTIONS).errors == []
        server.script = good
        assert run(tmp_path, server).status_counts == {"ok": 12}


def test_ctrl_c_ends_a_process_whose_server_hangs(tmp_path: Path, root: Path) -> None:
    running: list[subprocess.Popen[bytes]] = []

    def script(request: dict[str, Any]) -> Reply:
        if len(server.requests) == 40:
            running[0].send_signal(signal.SIGINT)
        return good(request) if len(server.requests) <= 10 else Reply(hang=True)

    with ChatServer(script) as server:
        command = [
            sys.executable,
            "-c",
            textwrap.dedent(SCRIPT.replace("16", "40")),
            str(tmp_path),
            server.url,
            "go on",
        ]
        environment = {**os.environ, "PYTHONPATH": "."}
        running.append(subprocess.Popen(command, cwd=root, env=environment, stderr=subprocess.PIPE))
        _, told = running[0].communicate(timeout=60)
    assert running[0].returncode == -signal.SIGINT and b"KeyboardInterrupt" in told
    assert {row.status for row in rows(tmp_path)} <= {"ok"}
    assert read_manifest(tmp_path).finished_at is None


def test_the_agents_calls_of_many_figures_run_together(tmp_path: Path) -> None:
    with ChatServer(lambda request: Reply(good(request).body, latency=0.02)) as server:
        manifest = run(tmp_path, server, protocol="agent")
    assert manifest.status_counts == {"ok": 12} and manifest.usage.calls == 36
    assert server.most_under_way == 4
    assert all([call.role for call in row.calls] == ["vision", "language", "fusion"] for row in rows(tmp_path))


# --- failed figures -------------------------------------------------------------------------------------------------


def ill_then_well(*numbers: int) -> Any:
    """Refuses some figures once."""
    left = set(numbers)

    def script(request: dict[str, Any]) -> Reply:
        if number(request) in left:
            left.discard(number(request))
            return completion(None, refusal="no")
        return good(request)

    return script


def test_failed_figures_are_judged_again_on_demand_only(tmp_path: Path) -> None:
    with ChatServer(ill_then_well(3, 7)) as server:
        assert run(tmp_path, server).status_counts == {"ok": 10, "refusal": 2}
        assert run(tmp_path, server).status_counts == {"ok": 10, "refusal": 2}
        assert len(server.requests) == 12
        manifest = run(tmp_path, server, retry_failed=True)
        assert len(server.requests) == 14
    assert manifest.status_counts == {"ok": 12} and manifest.usage.calls == 14
    assert Counter(row.figure_id for row in rows(tmp_path)) == Counter(ids(range(1, 13)))
    assert {row.figure_id for row in rows(tmp_path, RETRIED)} == {*ids(iter([3, 7]))}


def test_setting_failed_rows_aside_may_be_stopped_half_way(tmp_path: Path) -> None:
    with ChatServer(ill_then_well(3)) as server:
        run(tmp_path, server)
        failed = next(line for line in (tmp_path / PREDICTIONS).read_bytes().splitlines(True) if b'"refusal"' in line)
        (tmp_path / RETRIED).write_bytes(failed)  # the row is in both files
        assert run(tmp_path, server).usage.calls == 12
        assert run(tmp_path, server, retry_failed=True).usage.calls == 13
    assert len(rows(tmp_path, RETRIED)) == 1


# --- cache ----------------------------------------------------------------------------------------------------------


def test_an_answer_is_paid_for_once(tmp_path: Path) -> None:
    with ChatServer() as server:
        run(tmp_path / "a", server, cache=tmp_path / "cache", protocol="agent")
        asked = len(server.requests)
        manifest = run(tmp_path / "b", server, cache=tmp_path / "cache", protocol="agent")
        assert len(server.requests) == asked
    assert manifest.usage == RunUsage(cached_calls=36)
    first, second = ({row.figure_id: row for row in rows(tmp_path / name)} for name in "ab")
    for key, row in second.items():
        assert all(call.cached for call in row.calls)
        assert row.model_dump(exclude={"calls"}) == first[key].model_dump(exclude={"calls"})
    assert not list((tmp_path / "cache").rglob("*.partial"))


def test_no_failure_is_kept(tmp_path: Path) -> None:
    with ChatServer(lambda request: completion("no JSON")) as server:
        run(tmp_path / "a", server, cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.json"))
    with ChatServer(ill_then_well(3)) as server:
        run(tmp_path / "b", server, cache=tmp_path / "cache")
        assert len(list((tmp_path / "cache").rglob("*.json"))) == 11


@pytest.mark.parametrize("change", ["model", "revision", "sampling", "prompt", "image"])
def test_whatever_an_answer_depends_on_makes_another_key(tmp_path: Path, change: str) -> None:
    from scifigqual_bench.judges.payload import build_request
    from tests.factory import png

    inner = ScriptedBackend(good_answer)
    CachedBackend(inner, tmp_path).generate([build_request("direct", item(1))])
    other = ScriptedBackend(good_answer)
    changed = item(1)
    match change:
        case "model":
            other.model = "another"
        case "revision":
            other.revision = "2"
        case "sampling":
            other.settings = lambda: {"sampling": {"temperature": 1}}
        case "prompt":
            changed = item(1, caption="Figure 1: another caption")
        case "image":
            changed = item(1, image=png("another"))
    (response,) = CachedBackend(other, tmp_path).generate([build_request("direct", changed)])
    assert not response.cached and len(other.requests) == 1
    same = ScriptedBackend(good_answer)
    (response,) = CachedBackend(same, tmp_path).generate([build_request("direct", item(1))])
    assert response.cached and same.requests == []


def test_a_damaged_file_of_the_cache_is_asked_again(tmp_path: Path) -> None:
    from scifigqual_bench.judges.payload import build_request

    request = build_request("direct", item(1))
    CachedBackend(ScriptedBackend(good_answer), tmp_path).generate([request])
    (path,) = tmp_path.rglob("*.json")
    whole = path.read_bytes()
    path.write_bytes(whole[:20])
    (response,) = CachedBackend(ScriptedBackend(good_answer), tmp_path).generate([request])
    assert not response.cached and path.read_bytes() == whole


# --- shards ---------------------------------------------------------------------------------------------------------

PAPERS = [f"paper{n}" for n in range(10)]


def paper_items(shard: Shard | None = None) -> Iterator[Any]:
    for paper in PAPERS:
        if shard is None or paper in shard:
            for n in (1, 2):
                base = item(n)
                figure_id = f"{paper}__fig{n:04d}"
                figure = base.figure.model_copy(update={"paper_id": paper, "figure_id": figure_id})
                yield type(base)(figure, base.image)


def sharded(out: Path, shard: Shard | None, **changes: Any) -> RunManifest:
    chosen = list(paper_items(shard))
    settings = {"items": chosen, "shard": shard and str(shard), "dataset": info(len(chosen)), "progress": False}
    return run_judge(protocol="direct", backend=ScriptedBackend(good_answer), out_dir=out, **(settings | changes))


ALL = [each.figure.figure_id for each in paper_items()]


def test_shards_share_out_papers_and_merge_into_the_whole_run(tmp_path: Path) -> None:
    folders = [tmp_path / str(n) for n in (1, 2, 3)]
    parts = [sharded(folder, Shard(n, 3)) for n, folder in enumerate(folders, 1)]
    assert sum(part.figures for part in parts) == 20 and [part.shard for part in parts] == ["1/3", "2/3", "3/3"]
    papers = [{row.figure_id.split("__")[0] for row in rows(folder)} for folder in folders]
    assert sorted(paper for part in papers for paper in part) == PAPERS
    whole = merge_runs(folders, tmp_path / "whole", ALL)
    alone = sharded(tmp_path / "alone", None)
    assert sorted(row.figure_id for row in rows(tmp_path / "whole")) == sorted(ALL)
    assert whole == read_manifest(tmp_path / "whole")
    varying = {"started_at", "finished_at", "predictions_sha256"}
    assert whole.model_dump(exclude=varying) == alone.model_dump(exclude=varying)


def test_a_merge_names_every_fault(tmp_path: Path) -> None:
    one = tmp_path / "one"
    sharded(one, Shard(1, 2))
    sharded(tmp_path / "again", Shard(1, 2))
    sharded(tmp_path / "other", Shard(2, 2), seed=3)
    with pytest.raises(InputError) as error:
        merge_runs(
            [one, tmp_path / "again", tmp_path / "other", tmp_path / "none"], tmp_path / "out", [*ALL, "x__fig0001"]
        )
    problems = "\n".join(error.value.problems)
    assert f"in {one} and in {tmp_path / 'again'}" in problems
    assert "another configuration" in problems and "seed: None -> 3" in problems
    assert f"{tmp_path / 'none'}: no run" in problems
    assert "x__fig0001: in no folder" in problems
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match="not in the dataset"):
        merge_runs([one], tmp_path / "out", [])


def test_an_unfinished_shard_is_not_merged(tmp_path: Path) -> None:
    sharded(tmp_path / "a", None)
    manifest = read_manifest(tmp_path / "a").model_copy(update={"finished_at": None})
    (tmp_path / "a" / "manifest.json").write_text(manifest.model_dump_json())
    with pytest.raises(InputError, match="not finished"):
        merge_runs([tmp_path / "a"], tmp_path / "out", ALL)


def test_another_shards_folder_is_refused(tmp_path: Path) -> None:
    sharded(tmp_path, Shard(1, 2))
    with pytest.raises(InputError, match="shard: '1/2' -> '2/2'"):
        sharded(tmp_path, Shard(2, 2))


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", ""])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(ValueError):
        Shard.parse(text)


def test_the_manifest_and_the_rows_hold_no_image_bytes(tmp_path: Path) -> None:
    with ChatServer() as server:
        run(tmp_path, server, 2)
    text = (tmp_path / PREDICTIONS).read_text() + (tmp_path / "manifest.json").read_text()
    assert "base64" not in text and json.loads(text.splitlines()[0])["calls"][0]["image_sha256"]
