"""The one error that people meet: their input has faults."""

from __future__ import annotations

from collections.abc import Sequence


class InputError(ValueError):
    """Input that can't be worked with.

    Attributes:
        problems: One sentence per fault, each naming the file or the item, and the remedy.

    >>> InputError(["a.csv, line 2: ...", "a.csv, line 7: ..."]).problems[1]
    'a.csv, line 7: ...'
    """

    def __init__(self, problems: Sequence[str] | str):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))
