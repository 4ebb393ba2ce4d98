"""What is wrong with the rows handed to the scorer: every problem at once, each with its place and its remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from scifigqual_bench.errors import InputError


@dataclass(frozen=True)
class InputProblem:
    """One thing wrong with one row.

    Attributes:
        source: Which list the row belongs to: ``predictions``, ``golds`` or ``ratings``.
        row: Its position in that list, from 0; None when the problem is the absence of a row.
        figure_id: The figure it concerns, where known.
        message: What is wrong, and what to do about it.
    """

    source: str
    row: int | None
    figure_id: str | None
    message: str

    def __str__(self) -> str:
        """The problem on one line."""
        place = self.source if self.row is None else f"{self.source}[{self.row}]"
        return f"{place}{f' ({self.figure_id})' if self.figure_id is not None else ''}: {self.message}"

    def of_system(self, name: str) -> InputProblem:
        """The same problem with the system's name, where several prediction files are compared."""
        return replace(self, source=f"predictions of {name}") if self.source == "predictions" else self


class ScoringInputError(InputError):
    """The rows can't be scored.

    Attributes:
        problems: All that is wrong, a sentence each, row by row.
        details: The same with place and message apart.
    """

    def __init__(self, details: Iterable[InputProblem]):
        # Lists in the order they came, rows in ascending order, what concerns the absence of a row last.
        by_source: dict[str, list[InputProblem]] = {}
        for problem in details:
            by_source.setdefault(problem.source, []).append(problem)
        self.details = tuple(
            problem
            for group in by_source.values()
            for problem in sorted(group, key=lambda item: (item.row is None, item.row or 0))
        )
        super().__init__([str(problem) for problem in self.details])
