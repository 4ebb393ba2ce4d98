"""The 29 configurations of SPEC 9."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends.openai import OpenAIBackend, OpenAIOptions
from scifigqual_bench.judges.run_matrix import matrix, run_by_id

IDS = [*(f"D{n}" for n in range(1, 12)), *(f"S{n}" for n in range(1, 10)), *(f"F{n}" for n in range(1, 10))]


def test_every_run_is_there_under_its_protocol() -> None:
    assert list(matrix().runs) == IDS
    protocols = {"D": "direct", "S": "sidecar", "F": "agent"}
    assert {run_id: run_by_id(run_id).protocol for run_id in IDS} == {each: protocols[each[0]] for each in IDS}


def test_the_models_are_those_of_the_specification(shared: Path) -> None:
    line = next(line for line in (shared / "SPEC.md").read_text("utf-8").splitlines() if "Run matrix" in line)
    named = dict(re.findall(r"\b([DSF]\d+) ([A-Z][\w.+ -]*?)(?=[,.](?: |$))", line))
    assert len(named) == 29
    for run_id, name in named.items():
        entry = matrix().runs[run_id]
        # "Doubao" stands for the Doubao model named before.
        assert " + ".join(filter(None, [entry.model, entry.text_model])).startswith(name), run_id


@pytest.mark.parametrize("run_id", IDS)
def test_every_run_makes_a_backend(run_id: str) -> None:
    options = run_by_id(run_id).options
    assert set(options) <= set(OpenAIOptions.model_fields)
    OpenAIBackend(OpenAIOptions(**(options | {"api_key_env": None}))).close()
    assert options["base_url"].startswith("https://") or options["api_key_env"] is None


def test_a_models_own_options_take_the_place_of_its_servers_and_unset_ones_are_left_to_the_backend() -> None:
    assert run_by_id("D9").options["structured"] == "none" and run_by_id("D7").options["structured"] == "json_schema"
    assert run_by_id("F3").options["temperature"] is None and "temperature" not in run_by_id("D4").options


def test_an_unknown_run_is_told() -> None:
    with pytest.raises(InputError, match="run 'X1' is unknown; known: D1, D2"):
        run_by_id("X1")
