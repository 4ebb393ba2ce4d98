"""Versions of a dataset: what changed from one to the next, and the number that says how much.

A number has three parts, as in semantic versioning. The first rises when rows that people may have used change, go, or
move to another split, the second when rows are added, the third when no row does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from scifigqual_bench.dataset.folder import DatasetFolder, fingerprint_of_digests, row_sha256
from scifigqual_bench.errors import InputError
from scifigqual_bench.records import Record

VERSIONS = "versions.json"
FIRST = "1.0.0"
_NUMBER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)\Z")


class Version(Record):
    """One version of a dataset, and how its rows differ from those of the version before.

    Attributes:
        fingerprint: Of all its rows, in any order.
        added: Rows that are new; None, as the other counts, for a first version and where earlier rows can't be read.
        changed: Rows with another content, or in another split.
        note: What a person says of it.
    """

    version: str
    fingerprint: str
    figures: int
    added: int | None = None
    removed: int | None = None
    changed: int | None = None
    note: str | None = None


_LIST = TypeAdapter(list[Version])

Rows = Mapping[str, tuple[str, str]]
"""By figure id, a row's split and the digest of its content."""


def parse(number: str) -> tuple[int, int, int]:
    """The three parts of a version number.

    Raises:
        InputError: It is none.

    >>> parse("1.10.2")
    (1, 10, 2)
    """
    match = _NUMBER.match(number)
    if match is None:
        raise InputError(f"{number!r} is no version; write three numbers, for example 1.2.0")
    major, minor, patch = map(int, match.groups())
    return major, minor, patch


def read_versions(folder: Path) -> list[Version]:
    """The versions that a dataset folder lists, oldest first; empty where it lists none.

    Raises:
        InputError: The file can't be read.
    """
    path = folder / VERSIONS
    if not path.is_file():
        return []
    try:
        return _LIST.validate_json(path.read_bytes())
    except ValidationError as error:
        raise InputError(f"{path}: no list of versions ({error.error_count()} faults); restore or remove it") from None


def write_versions(stage: Path, versions: list[Version]) -> None:
    """Write the list into a dataset folder."""
    (stage / VERSIONS).write_bytes(_LIST.dump_json(versions, indent=1) + b"\n")


def rows_of(folder: DatasetFolder) -> Rows:
    """The rows of a dataset; images count by the hash that the row states."""
    return {
        figure.figure_id: (split, row_sha256(figure)) for split in folder.splits for figure in folder.records([split])
    }


def following(
    before: list[Version],
    old: Rows | None,
    new: Rows,
    *,
    number: str | None = None,
    note: str | None = None,
) -> list[Version]:
    """The versions of a dataset that takes the place of an earlier one.

    Args:
        before: The versions so far, oldest first.
        old: The rows of the earlier dataset; None where they can't be had. Ignored without ``before``.
        new: Those of the new one.
        number: The version's number; None takes the next one that says how much changed.
        note: What a person says of it.

    Returns:
        ``before`` and the new version; ``before`` alone where no row changed and nobody asked for a new number.

    Raises:
        InputError: The number is not higher than the last one, or does not say that rows changed.

    >>> one, two = {"a__fig0001": ("rated", "x")}, {"a__fig0002": ("rated", "y")}
    >>> [v.version for v in following(following([], None, one), one, one | two)]
    ['1.0.0', '1.1.0']
    """
    fingerprint = fingerprint_of_digests(digest for _, digest in new.values())
    if not before:
        parse(number or FIRST)
        return [Version(version=number or FIRST, fingerprint=fingerprint, figures=len(new), note=note)]
    if number is None and note is None and old == new:
        return before
    counts = _counts(old, new)
    lowest = _raised(before[-1].version, counts)
    if number is not None and parse(number) < parse(lowest):
        what = "rows changed" if parse(number) > parse(before[-1].version) else "it is not higher than the last one"
        raise InputError(f"version {number} after {before[-1].version}: {what}; take {lowest} or a higher one")
    version = Version(version=number or lowest, fingerprint=fingerprint, figures=len(new), note=note, **counts)
    return [*before, version]


def _counts(old: Rows | None, new: Rows) -> dict[str, int | None]:
    if old is None:
        return {"added": None, "removed": None, "changed": None}
    return {
        "added": len(new.keys() - old.keys()),
        "removed": len(old.keys() - new.keys()),
        "changed": sum(old[figure_id] != new[figure_id] for figure_id in old.keys() & new.keys()),
    }


def _raised(last: str, counts: Mapping[str, int | None]) -> str:
    """The lowest number that says how much changed."""
    major, minor, patch = parse(last)
    if counts["removed"] is None or counts["removed"] or counts["changed"]:
        return f"{major + 1}.0.0"
    return f"{major}.{minor + 1}.0" if counts["added"] else f"{major}.{minor}.{patch + 1}"
