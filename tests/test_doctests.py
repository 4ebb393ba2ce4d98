"""Every doctest of the project, each module under the name by which users import it."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {
    "scifigqual_bench": "scifigqual_bench",
    "judges": "scifigqual_bench.judges",
    "metrics": "scifigqual_bench.metrics",
}
GRADIO_APPS = "app"  # needs a package of its own


def modules() -> list[str]:
    names = []
    for folder, package in ROOMS.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = [package, *file.relative_to(ROOT / folder).with_suffix("").parts]
            if parts[-1] != GRADIO_APPS:
                names.append(".".join(parts).removesuffix(".__init__"))
    return names


@pytest.mark.parametrize("name", modules())
def test_doctests(name: str):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_there_are_doctests_to_run():
    found = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for name in modules() for test in found.find(importlib.import_module(name)) if test.examples]
    assert len(examples) > 50
