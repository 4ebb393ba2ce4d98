"""What the `evaluate` modules of the companions share."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import Any

import evaluate

from scifigqual_bench.errors import InputError

_ABSENT = ""
"""Fills the shorter of two lists, for `evaluate` keeps them in one table. No row has this text."""


class RowMetric(evaluate.Metric):
    """A metric over rows of any depth.

    Rows are kept as JSON text between `add_batch` and `compute`: a table with a fixed schema would turn True into 1 and
    "8" into 8, and fill in missing fields, before a check could see them.
    """

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add rows, as in `compute`."""
        given = {"predictions": predictions, "references": references}
        columns = [_encoded(name, given[name]) for name in self._feature_names()]
        filled = zip(*zip_longest(*columns, fillvalue=_ABSENT), strict=True)
        super().add_batch(**dict(zip(self._feature_names(), filled, strict=True)))

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one row of each."""
        self.add_batch(predictions=[prediction], references=[reference])


def _encoded(name: str, rows: Any) -> list[str]:
    if rows is None or not len(rows):
        raise InputError(f"{name} is empty: nothing to score")
    texts, problems = [], []
    for index, row in enumerate(rows):
        try:
            texts.append(json.dumps(row))
        except (TypeError, ValueError) as error:
            problems.append(f"{name}[{index}]: not of JSON's types ({error})")
    if problems:
        raise InputError(problems)
    return texts


def decoded(texts: list[str]) -> list[Any]:
    """The rows of a column that :class:`RowMetric` filled."""
    return [json.loads(text) for text in texts if text != _ABSENT]
