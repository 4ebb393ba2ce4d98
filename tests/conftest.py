"""Shared fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

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
