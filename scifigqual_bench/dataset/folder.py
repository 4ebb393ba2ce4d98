"""The dataset folder on disk: Parquet shards with embedded images, a card, and the logs of the build.

Layout::

    README.md                       card; its YAML tells ``load_dataset`` where the data is
    versions.json                   what changed from one version to the next
    croissant.json                  Croissant metadata
    statistics/                     counts, plots and a page of them
    data/rated-00000-of-00001.parquet
    frozen/eval1200.json            hashes of the rows of a frozen split
    papers.jsonl                    what happened to each PDF
    dropped.jsonl                   figures that were found and left out, with the reason
    problems.jsonl                  everything a person should look at
    release_report.json             what an import of the public release found, in numbers
    leakage.json                    what splits share, or that they share nothing

A folder is written beside its place and swapped in whole, so that a crash leaves the old one as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from scifigqual_bench.dataset.schema import dataset_features
from scifigqual_bench.dataset.statistics import Tally
from scifigqual_bench.errors import InputError
from scifigqual_bench.records import Figure, Record

ROWS_PER_GROUP = 100
"""Rows in a Parquet row group: small enough to stream images of a megabyte each."""
GROUP_BYTES = 100_000_000
"""Image bytes in a row group of larger images: whoever reads one image may have to read its group."""
SHARD_BYTES = 100_000_000
"""Image bytes in a shard, about: ``load_dataset`` holds whole shards in memory, streaming or not."""
SPLITS = ("rated", "unrated")
MARKER = "scifigqual-bench"
"""Tag in the card by which a folder is known as one that may be replaced."""


class DatasetError(InputError):
    """A folder that is no dataset, or can't be written."""


# --- write ----------------------------------------------------------------------------------------------------------


class SplitWriter:
    """Streams rows of one split into Parquet shards; holds at most one row group in memory.

    Attributes:
        rows: Rows so far.
        image_bytes: Size of their images.
        tally: Their counts.
        digests: By figure id, the :func:`row_sha256` of each.
    """

    def __init__(self, folder: Path, split: str):
        self.folder = folder
        self.split = split
        self.rows = 0
        self.image_bytes = 0
        self.tally = Tally()
        self.digests: dict[str, str] = {}
        self._schema = dataset_features().arrow_schema
        self._buffer: list[dict[str, Any]] = []
        self._writer: pq.ParquetWriter | None = None
        self._shards: list[Path] = []
        self._group_bytes = 0
        self._shard_bytes = 0

    def add(self, figure: Figure, image: bytes | None) -> None:
        """Append one row; a figure whose image is missing has a null there."""
        row = figure.model_dump()
        row["image"] = None if image is None else {"bytes": image, "path": None}
        size = 0 if image is None else len(image)
        self._buffer.append(row)
        self.rows += 1
        self.tally.add(figure)
        self.digests[figure.figure_id] = row_sha256(figure)
        self.image_bytes += size
        self._group_bytes += size
        if len(self._buffer) == ROWS_PER_GROUP or self._group_bytes >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._buffer:
            return
        self._shard_bytes += self._group_bytes
        self._group_bytes = 0
        if self._writer is None:
            path = self.folder / f"{self.split}-{len(self._shards):05d}.parquet"
            self._shards.append(path)
            # Images are compressed already; a text column gains from dictionaries.
            self._writer = pq.ParquetWriter(path, self._schema, compression="zstd", use_content_defined_chunking=True)
        self._writer.write_table(pa.Table.from_pylist(self._buffer, schema=self._schema))
        self._buffer.clear()
        if self._shard_bytes >= SHARD_BYTES:
            self._close_shard()

    def _close_shard(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            self._shard_bytes = 0

    def close(self) -> list[Path]:
        """Finish the split; its shards get their final names, ``SPLIT-iiiii-of-nnnnn.parquet``."""
        self._flush()
        self._close_shard()
        total = len(self._shards)
        final = [self.folder / f"{self.split}-{i:05d}-of-{total:05d}.parquet" for i in range(total)]
        for old, new in zip(self._shards, final, strict=True):
            old.rename(new)
        return final


def check_target(out: Path, *, overwrite: bool) -> None:
    """Refuse a target that must not be replaced, before any work is done.

    Raises:
        DatasetError: It exists and ``overwrite`` is off, or it is not a dataset of this project.
    """
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise DatasetError(f"{out} exists and is not a folder; give another --out")
    if not out.exists() or not any(out.iterdir()):
        return
    if not overwrite:
        raise DatasetError(f"{out} exists; add --overwrite to replace it, or give another --out")
    card = out / "README.md"
    if not card.is_file() or MARKER not in (_card_metadata(card).get("tags") or []):
        raise DatasetError(f"{out} holds something that is no dataset of this project; it is not overwritten")


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """A folder beside ``out`` that takes its place when the block ends well and vanishes when it does not."""
    out = out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    stage = out.with_name(f".{out.name}.partial-{os.getpid()}")
    old = out.with_name(f".{out.name}.old-{os.getpid()}")
    stage.mkdir()
    try:
        yield stage
        if out.exists():
            out.rename(old)
        try:
            stage.rename(out)
        except OSError:
            if old.exists():
                old.rename(out)
            raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


# --- read -----------------------------------------------------------------------------------------------------------


def content_sha256(record: Record, include: set[str] | None = None, exclude: set[str] | None = None) -> str:
    """SHA-256 of a record's content, the same on every machine.

    Fields at their default don't count, so that a record that later gets a field more keeps its hash.

    Args:
        record: The record.
        include: Its fields that count; all where None.
        exclude: Fields that don't.

    >>> from scifigqual_bench.records import PaperMeta
    >>> content_sha256(PaperMeta(paper_id="a")) == content_sha256(PaperMeta(paper_id="a", title=None))
    True
    """
    content = record.model_dump(include=include, exclude=exclude, exclude_defaults=True)
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _card_metadata(card: Path) -> dict[str, Any]:
    text = card.read_text(encoding="utf-8")
    if not text.startswith("---\n"):
        return {}
    try:
        return yaml.safe_load(text[4:].split("\n---", 1)[0]) or {}
    except yaml.YAMLError:
        return {}


class DatasetFolder:
    """A written dataset, read straight from its Parquet files: nothing is copied into a cache.

    Args:
        path: The folder.

    Raises:
        DatasetError: The folder is missing or holds no dataset of this project.
    """

    def __init__(self, path: Path):
        self.path = path
        if not path.is_dir():
            raise DatasetError(f"{path}: no such folder; build it with build_dataset.py")
        card = path / "README.md"
        configs = _card_metadata(card).get("configs") if card.is_file() else None
        if not configs:
            raise DatasetError(f"{path}: no dataset (its README.md has no configs); build it with build_dataset.py")
        self.files: dict[str, list[Path]] = {
            entry["split"]: sorted(path.glob(entry["path"])) for entry in configs[0]["data_files"]
        }
        missing = [split for split, files in self.files.items() if not files]
        if missing:
            raise DatasetError(f"{path}: no Parquet files for {', '.join(missing)}; build it again")

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.path.absolute().name

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits, in the card's order."""
        return tuple(self.files)

    def count(self, splits: Iterable[str] | None = None) -> int:
        """Number of rows, from the files' footers alone."""
        return sum(pq.read_metadata(file).num_rows for file in self._files(splits))

    def _files(self, splits: Iterable[str] | None) -> list[Path]:
        wanted = self.splits if splits is None else tuple(splits)
        unknown = [split for split in wanted if split not in self.files]
        if unknown:
            raise DatasetError(f"{self.path}: no split {', '.join(unknown)}; it has {', '.join(self.splits)}")
        return [file for split in wanted for file in self.files[split]]

    def rows(self, splits: Iterable[str] | None = None, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
        """Rows as plain dictionaries, in file order; ``columns`` limits what is read from disk."""
        for file in self._files(splits):
            with pq.ParquetFile(file) as parquet:
                for batch in parquet.iter_batches(batch_size=ROWS_PER_GROUP // 4, columns=columns):
                    yield from batch.to_pylist()

    def figures(self, splits: Iterable[str] | None = None) -> Iterator[tuple[Figure, bytes | None]]:
        """Every figure with its encoded image; None where the image is missing."""
        for row in self.rows(splits):
            image = row.pop("image")
            yield Figure.model_validate(row), image["bytes"] if image else None

    def records(self, splits: Iterable[str] | None = None) -> Iterator[Figure]:
        """Every figure without its image, which is not read."""
        for row in self.rows(splits, columns=list(Figure.model_fields)):
            yield Figure.model_validate(row)

    def fingerprint(self, splits: Iterable[str] | None = None) -> str:
        """SHA-256 over the rows' content: ids, texts, ratings, gold, and the hash of each image that the row states.

        Independent of the machine, of the order of rows, of sharding and of Parquet's encoding. Sidecar features are
        left out: they follow from the image, and a judge measures those of another version anew.
        """
        return fingerprint_of_digests(row_sha256(figure) for figure in self.records(splits))


def row_sha256(figure: Figure) -> str:
    """What one row brings to a fingerprint."""
    return content_sha256(figure, exclude={"features"})


def fingerprint_of_digests(digests: Iterable[str]) -> str:
    """The fingerprint of rows from their :func:`row_sha256`, in any order."""
    return hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()
