from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import HfApi, constants
from huggingface_hub.utils import disable_progress_bars

from tests.hub.hub_server import TOKEN, HubServer, hub_server


@pytest.fixture
def hub() -> Iterator[HubServer]:
    """The stand-in for the Hub, empty."""
    with hub_server() as server:
        yield server


@pytest.fixture
def api(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> HfApi:
    """The real client, signed in there; the other tests' client stays offline."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    disable_progress_bars()
    return HfApi(endpoint=hub.url, token=TOKEN)


@pytest.fixture(scope="session")
def judged(sample_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the rules over the sample dataset."""
    from scifigqual_bench.commands.eval import main

    out = tmp_path_factory.mktemp("judged") / "run"
    options = ["--protocol", "direct", "--backend", "rules", "--out", str(out)]
    assert main(["judge", "--dataset", str(sample_dataset), *options]) == 0
    return out


@pytest.fixture
def edited_manifest(judged: Path, tmp_path: Path):
    """A copy of the run whose manifest says something else."""

    def edit(**changes: object) -> Path:
        folder = tmp_path / "run"
        folder.mkdir()
        (folder / "predictions.jsonl").write_bytes((judged / "predictions.jsonl").read_bytes())
        manifest = json.loads((judged / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps(manifest | changes))
        return folder

    return edit
