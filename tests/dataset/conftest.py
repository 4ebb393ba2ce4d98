"""Shared by the tests of dataset folders."""

from __future__ import annotations

import pytest


@pytest.fixture
def without_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics without their plots, as where matplotlib is not installed: drawing takes longer than all the rest."""

    def draw(*_: object) -> None:
        raise ImportError("matplotlib")

    monkeypatch.setattr("scifigqual_bench.dataset.statistics_plots.draw", draw)
