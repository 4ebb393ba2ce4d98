"""The last step of every dataset folder: shards closed, statistics, versions, Croissant metadata, card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from scifigqual_bench.dataset import versions
from scifigqual_bench.dataset.card import About, SplitSummary, render_card
from scifigqual_bench.dataset.croissant import croissant, write_croissant
from scifigqual_bench.dataset.folder import DatasetError, DatasetFolder, SplitWriter
from scifigqual_bench.dataset.statistics import gather, write_statistics
from scifigqual_bench.errors import InputError
from scifigqual_bench.files import file_sha256, log_lines


@dataclass(frozen=True)
class Edition:
    """What a person says of a dataset that is written.

    Attributes:
        licence: Identifier as the Hub knows it, for example ``"cc-by-4.0"``; None states none.
        version: Its number; None takes the next one, see :func:`scifigqual_bench.dataset.versions.following`.
        note: What is new in it.
    """

    licence: str | None = None
    version: str | None = None
    note: str | None = None


UNSAID = Edition()


def finish_folder(
    stage: Path,
    out: Path,
    writers: Mapping[str, SplitWriter],
    *,
    papers: Mapping[str, int] | None,
    dpi: int | None,
    duplicates: tuple[int, int] | None = None,
    edition: Edition = UNSAID,
) -> None:
    """Close the shards and write everything that describes them.

    Args:
        stage: The folder being written; its logs are complete.
        out: The folder whose place it takes; versions go on from the one there.
        writers: By split; one without rows is left out.
        papers: PDFs by status; None where the rows were not read from PDFs.
        dpi: Resolution of the crops; None where it is not known.
        duplicates: See :class:`~scifigqual_bench.dataset.card.About`.
        edition: What a person says of it.

    Raises:
        InputError: The version's number does not fit the changes.
    """
    shards = {split: writer.close() for split, writer in writers.items() if writer.rows}
    files = {split: [(path.relative_to(stage), file_sha256(path)) for path in paths] for split, paths in shards.items()}
    tallies = {split: writers[split].tally.result() for split in shards}
    summaries = [
        SplitSummary(
            split,
            tallies[split].figures,
            tallies[split].papers,
            writers[split].image_bytes,
            sum(path.stat().st_size for path in paths),
        )
        for split, paths in shards.items()
    ]
    rows = {figure_id: (split, digest) for split in shards for figure_id, digest in writers[split].digests.items()}
    history = versions.following(*_before(out), rows, number=edition.version, note=edition.note)
    versions.write_versions(stage, history)
    name = out.absolute().name
    version = history[-1].version
    write_croissant(stage, croissant(name, version, edition.licence, files))
    about = About(
        name=name,
        splits=summaries,
        papers=papers,
        dropped=_count(stage / "dropped.jsonl"),
        duplicates=duplicates,
        problems=_codes(stage / "problems.jsonl"),
        dpi=dpi,
        licence=edition.licence,
        versions=history,
        files=[entry for entries in files.values() for entry in entries],
        plots=write_statistics(stage, gather(stage, tallies), name),
    )
    (stage / "README.md").write_text(render_card(about), encoding="utf-8")


def check_edition(out: Path, edition: Edition) -> None:
    """Refuse a version number that can't be, before any work is done.

    Raises:
        InputError: It is no version, or not higher than the last one of the folder that is replaced.
    """
    before = versions.read_versions(out)
    if edition.version is not None:
        number = versions.parse(edition.version)
        if before and number <= versions.parse(before[-1].version):
            last = before[-1].version
            raise InputError(f"version {edition.version}: {out.name} is {last} already; take a higher one")


def _before(out: Path) -> tuple[list[versions.Version], versions.Rows | None]:
    """Versions of the folder that is replaced, and its rows; None where those can't be compared with today's."""
    before = versions.read_versions(out)
    if not before:
        return [], None
    try:
        return before, versions.rows_of(DatasetFolder(out))
    except (DatasetError, ValidationError):
        return before, None


def _count(log: Path) -> int:
    return sum(1 for _ in log_lines(log))


def _codes(log: Path) -> dict[str, int]:
    """Lines of ``problems.jsonl`` by their code, the most frequent first."""
    counts = Counter(line["code"] for line in log_lines(log))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
