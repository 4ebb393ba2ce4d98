"""Writes a dataset folder of named splits, row by row: shards, frozen manifests, card."""

from __future__ import annotations

from pathlib import Path

from scifigqual_bench.dataset.folder import SplitWriter
from scifigqual_bench.dataset.frozen import Freezer, FrozenSplit, write_frozen
from scifigqual_bench.dataset.package import UNSAID, Edition, finish_folder
from scifigqual_bench.records import Figure


class SplitsWriter:
    """Rows of several splits, each frozen.

    Args:
        stage: An empty folder, see :func:`~scifigqual_bench.dataset.folder.staged`.
        splits: Names of the splits, in the card's order; one that gets no row is left out.
    """

    def __init__(self, stage: Path, splits: list[str]):
        self._stage = stage
        (stage / "data").mkdir()
        self._writers = {split: SplitWriter(stage / "data", split) for split in splits}
        self._freezers = {split: Freezer(split) for split in splits}

    def add(self, split: str, figure: Figure, image: bytes | None) -> None:
        """Append a row to a split."""
        self._writers[split].add(figure, image)
        self._freezers[split].add(figure, image)

    def finish(self, out: Path, edition: Edition = UNSAID) -> dict[str, FrozenSplit]:
        """Close the shards, write manifests and what describes them; the folder's logs are complete.

        Args:
            out: The folder whose place it takes.
            edition: What a person says of it.

        Returns:
            The manifest of each split that has rows.
        """
        manifests = {split: self._freezers[split].manifest() for split, writer in self._writers.items() if writer.rows}
        for manifest in manifests.values():
            write_frozen(self._stage, manifest)
        finish_folder(self._stage, out, self._writers, papers=None, dpi=None, edition=edition)
        return manifests
