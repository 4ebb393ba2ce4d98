"""Several machines, one run: each judges the papers of its shard, and the folders are merged with a check."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from scifigqual_bench.errors import InputError
from scifigqual_bench.files import file_sha256
from scifigqual_bench.judges.run import (
    MANIFEST,
    PREDICTIONS,
    RETRIED,
    differing_settings,
    read_manifest,
    read_rows,
    write_manifest,
)
from scifigqual_bench.records import RunManifest, RunUsage


@dataclass(frozen=True)
class Shard:
    """Part ``index`` (from 1) of ``count``. The figures of one paper are in one shard.

    >>> shard = Shard.parse("2/3")
    >>> str(shard), [paper for paper in ("p1", "p2", "p3", "p4", "p5", "p6") if paper in shard]
    ('2/3', ['p2', 'p3', 'p5', 'p6'])
    """

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From ``"i/n"``.

        Raises:
            ValueError: The text is no such pair, or i is not in 1..n.
        """
        index, _, count = text.partition("/")
        shard = cls(int(index), int(count))
        if not 1 <= shard.index <= shard.count:
            raise ValueError(f"shard {text}: expected i/n with i from 1 to n")
        return shard

    def __contains__(self, paper_id: str) -> bool:
        digest = hashlib.sha256(paper_id.encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.index - 1

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def merge_runs(
    folders: Sequence[Path], out_dir: Path, figure_ids: Collection[str], *, replace: bool = False
) -> RunManifest:
    """Put the folders of all shards together into one that looks as if a single machine had judged everything.

    Args:
        folders: The shards' run folders, each finished.
        out_dir: A folder that holds no run yet; made where it is missing.
        figure_ids: The figures that have to be there, each once.
        replace: Take the place of a run that the folder holds.

    Returns:
        The manifest of the whole run.

    Raises:
        InputError: A folder is no finished run or of another configuration, or a figure is missing, there twice or
            unknown; all faults at once.
    """
    if not replace and any((out_dir / name).exists() for name in (PREDICTIONS, MANIFEST)):
        raise InputError(f"{out_dir} holds a run; give another --out")
    manifests = {folder: read_manifest(folder) for folder in folders}
    faults = [f"{folder}: no run (it has no manifest)" for folder, manifest in manifests.items() if manifest is None]
    found = {folder: manifest for folder, manifest in manifests.items() if manifest is not None}
    first = next(iter(found.values()), None)
    for folder, manifest in found.items():
        different = differing_settings(first, manifest)
        if different:
            faults.append(f"{folder}: another configuration than {folders[0]} ({'; '.join(different)})")
        if manifest.finished_at is None:
            faults.append(f"{folder}: not finished; run its eval.py judge command again")
    places: dict[str, list[Path]] = {}
    statuses: Counter[str] = Counter()
    for folder in found:
        for _, row in read_rows(folder / PREDICTIONS):
            places.setdefault(row.figure_id, []).append(folder)
            statuses[row.status] += 1
    faults += [f"{each}: in {' and in '.join(map(str, where))}" for each, where in places.items() if len(where) > 1]
    faults += [f"{each}: in no folder" for each in sorted(set(figure_ids) - set(places))]
    faults += [f"{each}: in {places[each][0]}, not in the dataset" for each in sorted(set(places) - set(figure_ids))]
    if faults or first is None:
        raise InputError(faults or "no folders to merge")

    out_dir.mkdir(parents=True, exist_ok=True)
    for name in (PREDICTIONS, RETRIED):
        sources = [folder / name for folder in found if (folder / name).exists()]
        if sources:
            partial = out_dir / f".{name}.partial"
            with partial.open("wb") as file:
                for source in sources:
                    file.write(source.read_bytes())
            os.replace(partial, out_dir / name)
    whole = first.model_copy(
        update={
            "shard": None,
            "figures": len(places),
            "status_counts": dict(sorted(statuses.items())),
            "served_models": sorted({name for manifest in found.values() for name in manifest.served_models}),
            "usage": _total([manifest.usage for manifest in found.values()]),
            "started_at": min(manifest.started_at for manifest in found.values()),
            "finished_at": max(manifest.finished_at for manifest in found.values()),
            "predictions_sha256": file_sha256(out_dir / PREDICTIONS),
        }
    )
    write_manifest(out_dir, whole)
    return whole


def _total(usages: Sequence[RunUsage]) -> RunUsage:
    """The sum; its cost is None where a part's is."""
    costs = [usage.cost for usage in usages]
    counts = [name for name in RunUsage.model_fields if name != "cost"]
    return RunUsage(
        **{name: sum(getattr(usage, name) for usage in usages) for name in counts},
        cost=None if None in costs else sum(costs),
    )
