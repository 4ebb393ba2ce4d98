"""Writes a dataset folder of named splits, row by row: shards, frozen manifests, card."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from scifigqual_bench.dataset.card import SplitSummary, render_card
from scifigqual_bench.dataset.folder import SplitWriter
from scifigqual_bench.dataset.frozen import Freezer, FrozenSplit, write_frozen
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
        self._papers: dict[str, set[str]] = defaultdict(set)

    def add(self, split: str, figure: Figure, image: bytes | None) -> None:
        """Append a row to a split."""
        self._writers[split].add(figure, image)
        self._freezers[split].add(figure, image)
        self._papers[split].add(figure.paper_id)

    def finish(self, name: str, *, dropped: int, problems: int) -> dict[str, FrozenSplit]:
        """Close the shards, write manifests and card.

        Args:
            name: Name of the dataset folder.
            dropped: Lines in ``dropped.jsonl``.
            problems: Lines in ``problems.jsonl``.

        Returns:
            The manifest of each split that has rows.
        """
        summaries, manifests = [], {}
        for split, writer in self._writers.items():
            files = writer.close()
            if not writer.rows:
                continue
            size = sum(file.stat().st_size for file in files)
            summaries.append(SplitSummary(split, writer.rows, len(self._papers[split]), writer.image_bytes, size))
            manifests[split] = self._freezers[split].manifest()
            write_frozen(self._stage, manifests[split])
        card = render_card(name, summaries, None, dropped, problems, None)
        (self._stage / "README.md").write_text(card, encoding="utf-8")
        return manifests
