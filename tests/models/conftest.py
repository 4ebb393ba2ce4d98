"""Tiny models made once a session, and the figures that they judge. Skipped where what runs them is not installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.judges.base import Backend
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.judges.protocols import ProtocolName
from scifigqual_bench.judges.run import PREDICTIONS, DatasetInfo, run_judge
from scifigqual_bench.records import Prediction, RunManifest
from scifigqual_bench.rubric import COLUMNS
from tests.models import tiny

FIGURES = 4


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny model by its architecture."""
    pytest.importorskip("torch", reason="needs torch and transformers; make test-vllm installs them")
    folder = tmp_path_factory.mktemp("models")
    return cache(lambda architecture: tiny.ARCHITECTURES[architecture](folder / f"tiny-{architecture}"))


@pytest.fixture(scope="session")
def items(sample_dataset: Path) -> list[JudgeItem]:
    """The first figures of the sample papers."""
    folder = DatasetFolder(sample_dataset)
    return [JudgeItem(*row) for row in islice(folder.figures(folder.splits), FIGURES)]


def outside_strings(text: str) -> str:
    """JSON, whole or cut, with empty strings."""
    return re.sub(r'"(\\.|[^"\\])*("|$)', '""', text)


def judged(
    items: Sequence[JudgeItem], protocol: ProtocolName, backend: Backend, out: Path, *, retry_failed: bool = False
) -> tuple[RunManifest, list[Prediction]]:
    """A run over figures: its manifest and its rows."""
    info = DatasetInfo("samples", "f" * 64, ("rated",), len(items))
    manifest = run_judge(items, protocol, backend, out, info, retry_failed=retry_failed, progress=False)
    rows = [Prediction.model_validate_json(line) for line in (out / PREDICTIONS).read_bytes().splitlines()]
    for row in rows:
        assert row.status == "ok" or all(getattr(row, key) is None for key in COLUMNS)
    return manifest, rows
