"""Shared fixtures, and a Hugging Face home of the tests' own: set before anything imports its libraries."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from scifigqual_bench.samples.make import SampleSet, make_samples

# The libraries read these once, on import. A test must neither use nor fill the cache of whoever runs it.
_HOME = tempfile.mkdtemp(prefix="scifigqual-tests-")
assert "huggingface_hub" not in sys.modules
os.environ |= {"HF_HOME": _HOME, "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)

# A change is judged by the same examples each time, and by none's time: `--hypothesis-profile=explore` looks for new
# examples, ten times as many.
settings.register_profile("gate", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("gate")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The real ratings and papers beside the checkout; the test is skipped where they are absent."""
    folder = ROOT.parent / "shared"
    if not (folder / "SPEC.md").is_file():
        pytest.skip("needs the shared papers and ratings beside the checkout (folder ../shared)")
    return folder


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> SampleSet:
    """The project's sample papers, with their truth and ratings."""
    return make_samples(tmp_path_factory.mktemp("samples") / "set")


@pytest.fixture(scope="session")
def sample_dataset(samples: SampleSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset folder built from the sample papers with their ratings; features without OCR."""
    from scifigqual_bench.commands.build_dataset import main

    out = tmp_path_factory.mktemp("built") / "scifigqual-bench"
    papers, ratings = samples.folder / "papers.csv", samples.folder / "ratings.csv"
    tables = ["--papers", str(papers), "--ratings", str(ratings), "--jsonl", str(out.with_suffix(".jsonl"))]
    assert main(["--pdfs", str(samples.pdf_folder), "--out", str(out), "--features", "vision", *tables]) == 0
    return out
