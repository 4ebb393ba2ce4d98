"""The configuration of ``eval.py check``: which findings an author sets aside, and why.

.. code-block:: toml

    fail-under = 7.0

    [[silence]]
    rule = "CC-LABEL-ONLY"
    reason = "the venue wants short captions"

    [[silence]]
    rule = "VC-SMALL-TEXT"
    figures = [3, "A1"]
    reason = "printed over two columns in the final version"
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scifigqual_bench.errors import InputError
from scifigqual_bench.pdf.citations import figure_key

FILE = "scifigqual.toml"
"""Read from the working directory where no other file is named."""


@dataclass(frozen=True)
class Entry:
    """A rule that is silenced.

    Attributes:
        figures: Printed numbers of the figures in which it is; None for all, and for findings about no single figure.
    """

    rule: str
    reason: str
    figures: tuple[str, ...] | None = None

    def __str__(self) -> str:
        where = "" if self.figures is None else f" in figure {', '.join(self.figures)}"
        return f"{self.rule}{where} ({self.reason})"

    def covers(self, rule: str, figure: str | None) -> bool:
        """Whether a finding of a rule, in a figure or in none, is silenced."""
        if rule != self.rule or self.figures is None:
            return rule == self.rule
        return figure is not None and figure_key(figure) in map(figure_key, self.figures)


@dataclass
class CheckConfig:
    """What a configuration file asks for.

    Attributes:
        fail_under: Score under which the check fails; None for no such score.
    """

    fail_under: float | None = None
    entries: tuple[Entry, ...] = ()
    _used: set[Entry] = field(default_factory=set)

    def silenced(self, rule: str, figure: str | None) -> str | None:
        """Why a finding is silenced; None where it is not."""
        entry = next((entry for entry in self.entries if entry.covers(rule, figure)), None)
        if entry is None:
            return None
        self._used.add(entry)
        return entry.reason

    @property
    def unused(self) -> list[str]:
        """Entries that silenced nothing so far: left over, or of a figure that has another number now."""
        return [str(entry) for entry in self.entries if entry not in self._used]


def read_config(path: Path, known: Collection[str]) -> CheckConfig:
    """Read a configuration file.

    Args:
        path: A TOML file.
        known: The ids of all rules.

    Raises:
        InputError: It can't be read as TOML, or says something that is not understood; every fault is named.
        OSError: It can't be opened.
    """
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file ({error})") from None
    faults = list(_faults(data, known))
    if faults:
        raise InputError([f"{path}: {fault}" for fault in faults])
    return CheckConfig(
        None if "fail-under" not in data else float(data["fail-under"]),
        tuple(_entry(entry) for entry in data.get("silence", [])),
    )


def _entry(entry: dict[str, Any]) -> Entry:
    figures = entry.get("figures")
    return Entry(entry["rule"], entry["reason"].strip(), None if figures is None else tuple(map(str, figures)))


def _faults(data: dict[str, Any], known: Collection[str]) -> Iterator[str]:
    for key in sorted(set(data) - {"fail-under", "silence"}):
        yield f"unknown key {key!r}; there are fail-under and silence"
    if not _is_number(data.get("fail-under", 1)):
        yield f"fail-under must be a number from 1 to 10, not {data['fail-under']!r}"
    entries = data.get("silence", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        yield "silence must be a list of tables: write [[silence]] over each"
        return
    unknown = []
    for place, entry in enumerate(entries, start=1):
        for key in sorted(set(entry) - {"rule", "figures", "reason"}):
            yield f"silence {place}: unknown key {key!r}; there are rule, figures and reason"
        rule, reason, figures = entry.get("rule"), entry.get("reason"), entry.get("figures")
        if rule not in known:
            unknown.append(f"silence {place}: {'no rule is named' if rule is None else f'unknown rule {rule!r}'}")
        if not isinstance(reason, str) or not reason.strip():
            yield f'silence {place}: say why, as in reason = "..."'
        if figures is not None and not (isinstance(figures, list) and figures and all(map(_is_figure, figures))):
            yield f'silence {place}: figures must be a list of printed numbers, as in [3, "A1"], not {figures!r}'
    yield from unknown
    if unknown:
        yield f"the rules are {', '.join(sorted(known))}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= 10


def _is_figure(value: object) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, str) and bool(value.strip()))
