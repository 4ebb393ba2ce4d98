"""The command, as a user runs it: another process, the real client, and a Hub on loopback; then people load it."""

import os
import subprocess
import sys

import pytest

from scifigqual_bench.commands.push_to_hub import main
from tests.hub.hub_server import TOKEN, hub_server

REPO, SPACE = "user/scifigqual-bench", "user/scifigqual"


@pytest.fixture(scope="module")
def hub():
    with hub_server() as server:
        server.add_repo("model", "user/judge", private=False)
        yield server


@pytest.fixture(scope="module")
def environment(hub, tmp_path_factory):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PYTEST"))}
    home = str(tmp_path_factory.mktemp("home"))
    return env | {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1", "HF_HOME": home, "HOME": home}


@pytest.fixture(scope="module")
def push(root, environment, sample_dataset):
    def run(*options):
        command = [sys.executable, root / "push_to_hub.py", "--dataset", sample_dataset, "--repo", REPO, *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert TOKEN not in done.stdout + done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def published(push, judged):
    done = push("--metric", SPACE, "--results", str(judged), "--model", "user/judge")
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_another_process(environment, folder, code):
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_dry_run_shows_everything_and_asks_the_hub_nothing(hub, push, sample_dataset):
    before = len(hub.log)
    done = push("--metric", SPACE, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert len(hub.log) == before and "dry run: nothing was uploaded" in done.stdout
    for name in ("README.md", "data/rated-00000-of-00001.parquet", "papers.jsonl", "scifigqual.py"):
        assert name in done.stdout
    assert f"datasets/{REPO} (private)" in done.stdout


@pytest.mark.slow
def test_what_was_published_loads_with_the_libraries_of_its_users(hub, published, environment, tmp_path):
    assert hub.repo("dataset", REPO).private and hub.repo("space", SPACE).private
    assert hub.repo("space", SPACE).sdk == "gradio"
    lines = in_another_process(
        environment,
        tmp_path,
        f"""
from datasets import load_dataset
import evaluate
import scifigqual_bench
data = load_dataset("{REPO}")
print({{split: rows.num_rows for split, rows in data.items()}})
streamed = next(iter(load_dataset("{REPO}", split="rated", streaming=True)))
print(streamed["figure_id"] == data["rated"][0]["figure_id"], streamed["image"].size == data["rated"][0]["image"].size)
typed = scifigqual_bench.load("{REPO}", split="rated")
print(len(typed), typed[0].image.size == data["rated"][0]["image"].size)
metric = evaluate.load("{SPACE}", "caption_consistency")
print(round(metric.compute(predictions=[7, 8], references=[7.33, 8.0])["mae"], 3))
""",
    )
    assert lines[-4:] == ["{'rated': 25, 'unrated': 5}", "True True", "25 True", "0.165"]


@pytest.mark.slow
def test_results_stand_on_the_models_page(hub, published):
    files = hub.files("model", "user/judge")
    (name,) = (name for name in files if name.startswith(".eval_results/"))
    assert hub.repo("dataset", REPO).head.encode() in files[name] and b"model-index" in files["README.md"]


@pytest.mark.slow
def test_the_card_on_the_hub_loads_what_is_there(hub, published):
    card = hub.files("dataset", REPO)["README.md"].decode()
    assert f'load_dataset("{REPO}")' in card and f'scifigqual_bench.load("{REPO}")' in card


def test_without_a_token_nothing_is_checked_in_vain(capsys, sample_dataset, monkeypatch):
    monkeypatch.setattr("scifigqual_bench.hub.publish.get_token", lambda: None)
    monkeypatch.setattr("scifigqual_bench.hub.checks.check_dataset", lambda *_, **__: pytest.fail("checked"))
    assert main(["--dataset", str(sample_dataset), "--repo", REPO]) == 1
    assert "nobody is signed in; sign in with `hf auth login`" in capsys.readouterr().err


def test_options_that_do_not_go_together(capsys, sample_dataset, tmp_path):
    assert main(["--dataset", str(sample_dataset), "--repo", REPO, "--results", str(tmp_path)]) == 1
    assert "--results needs --model" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["figures", "user/", "../x/y", "a/b/c", "user/na me"])
def test_a_repository_needs_an_owner_and_a_name(name, capsys):
    with pytest.raises(SystemExit):
        main(["--dataset", "d", "--repo", name])
    assert "is not USER/NAME" in capsys.readouterr().err


def test_an_unfit_folder_is_not_shown_to_the_hub(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert main(["--dataset", str(tmp_path / "nothing"), "--repo", REPO]) == 1
    assert "no such folder" in capsys.readouterr().err
