"""Rows of a file, or of a caller, to records: every fault at once, each with its row and its element."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from scifigqual_bench.dataset.tables import read_rows
from scifigqual_bench.errors import InputError
from scifigqual_bench.records import Record

R = TypeVar("R", bound=Record)

SUFFIXES = (".jsonl", ".json")
_NAMES = ("id", "node", "edge")
"""Fields that name an element of a list; the first that is there is shown."""
_SHOWN = 80


def read_records(path: Path, model: type[R], key: Sequence[str]) -> list[R]:
    """Read the records of a file.

    Args:
        path: A ``.jsonl`` file with one object a line, or a ``.json`` file with a list of objects.
        model: What a row is.
        key: Way to the field that identifies a row.

    Raises:
        InputError: The file can't be read or rows have faults; lists all of them.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InputError([f"{path.name}: unknown kind of file; use {' or '.join(SUFFIXES)}"])
    try:
        rows = read_rows(path)
    except RecursionError:
        raise InputError([f"{path.name}: lists or objects are nested too deeply to be read"]) from None
    unit = "line" if path.suffix.lower() == ".jsonl" else "entry"
    return parse_rows([row.cells for row in rows], model, key, [f"{path.name}, {unit} {row.line}" for row in rows])


def parse_rows(rows: Sequence[Any], model: type[R], key: Sequence[str], places: Sequence[str]) -> list[R]:
    """Rows as records.

    Args:
        rows: Mappings as they come out of JSON.
        model: What a row is.
        key: Way to the field that identifies a row.
        places: Where each row stands, for the messages.

    Raises:
        InputError: There is no row, or some have faults, or two have the same key; lists all of them.
    """
    if not rows:
        raise InputError("there is no row to score")
    records, problems = [], []
    named = []
    for row, place in zip(rows, places, strict=True):
        name = _at(row, key)
        if isinstance(name, str):
            named.append((name, place))
            place = f"{place} ({name!r})"
        try:
            records.append(model.model_validate(row))
        except ValidationError as error:
            problems += [f"{place}: {phrase}" for phrase in explain(error, row)]
    problems += repeated(named)
    if problems:
        raise InputError(problems)
    return records


def _at(row: Any, steps: Iterable[str | int]) -> Any:
    """What stands at a place in a row, None where there is nothing."""
    for step in steps:
        try:
            row = row[step]
        except (KeyError, IndexError, TypeError):
            return None
    return row


def explain(error: ValidationError, row: Any) -> Iterator[str]:
    """One phrase per fault of a row: the field, the element that it belongs to, the fault, what stood there."""
    for fault in error.errors():
        where = locate(row, fault["loc"])
        if fault["type"] == "value_error":
            cause = fault["ctx"]["error"]
            phrases = cause.problems if isinstance(cause, InputError) else [str(cause)]
        else:
            shown = json.dumps(fault["input"], ensure_ascii=False, default=str)
            phrases = [f"{fault['msg']}, found {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '...'}"]
        yield from (f"{where}: {phrase}" if where else phrase for phrase in phrases)


def locate(row: Any, steps: Iterable[str | int]) -> str:
    """A place in a row, with the elements of lists named.

    >>> locate({"nodes": [{"id": "d1"}, {"id": "r1", "layer": "plot"}]}, ("nodes", 1, "layer"))
    "nodes[1] ('r1').layer"
    """
    steps = list(steps)
    text = ""
    for index, step in enumerate(steps):
        if isinstance(step, str):
            shown = step if step.isprintable() else repr(step)
            text += f".{shown}" if text else shown
            continue
        element = _at(row, steps[: index + 1])
        text += f"[{step}]"
        if isinstance(element, Mapping):
            text += next((f" ({element[name]!r})" for name in _NAMES if isinstance(element.get(name), str)), "")
    return text


def repeated(named: Iterable[tuple[Hashable, str]]) -> list[str]:
    """A sentence for each name that was there before.

    Args:
        named: Names and their places.

    >>> repeated([("a", "line 1"), ("b", "line 2"), ("a", "line 3")])
    ["line 3: 'a' again (first at line 1); keep one"]
    """
    first: dict[Hashable, str] = {}
    problems = []
    for name, place in named:
        if name in first:
            problems.append(f"{place}: {name!r} again (first at {first[name]}); keep one")
        first.setdefault(name, place)
    return problems
