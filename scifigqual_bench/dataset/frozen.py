"""A frozen split: the hash of every image and of every text of its rows, so that a changed row is found, and named.

``frozen/SPLIT.json`` stands in the dataset folder. What can be measured anew (sidecar features) and what says how a
figure was found (page, boxes, curation, provenance) is not frozen: no judge's number depends on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from scifigqual_bench.dataset.folder import DatasetFolder, content_sha256, fingerprint_of_digests, row_sha256
from scifigqual_bench.errors import InputError
from scifigqual_bench.records import Figure, Record

FROZEN = "frozen"
"""Folder of the manifests in a dataset folder."""
SCHEMA_VERSION = "1"

PARTS: dict[str, set[str]] = {
    "caption": {"caption", "caption_raw"},
    "citations": {"citations"},
    "metadata": {
        "paper_id", "paper_id_norm", "fig_index", "number", "venue", "year", "title", "section", "topic", "subtopic",
        "figure_type", "open_dimensions",
    },
    "gold": {"gold"},
    "ratings": {"ratings"},
}  # fmt: skip
"""What is hashed beside the image, and the fields of the row that it covers."""


class FrozenRow(Record):
    """SHA-256 of the parts of one row; ``image`` is None where the row has no image."""

    image: str | None
    caption: str
    citations: str
    metadata: str
    gold: str
    ratings: str


class FrozenSplit(Record):
    """The manifest of a frozen split.

    Attributes:
        fingerprint: Hash of all rows, as run manifests state it.
        rows: By figure id, in the ids' order.
    """

    schema_version: str = SCHEMA_VERSION
    split: str
    figures: int
    papers: int
    fingerprint: str
    rows: dict[str, FrozenRow]


class FrozenError(InputError):
    """Rows that are not those that were frozen; ``problems`` names each."""


def image_sha256(image: bytes | None) -> str | None:
    """SHA-256 of an encoded image; None of a missing one."""
    return None if image is None else hashlib.sha256(image).hexdigest()


def frozen_row(figure: Figure, image: str | None) -> FrozenRow:
    """The hashes of one row.

    Args:
        figure: The row.
        image: SHA-256 of its image's bytes, None where it has none.
    """
    return FrozenRow(image=image, **{part: content_sha256(figure, fields) for part, fields in PARTS.items()})


class Freezer:
    """Takes the rows of a split one by one and gives its manifest."""

    def __init__(self, split: str):
        self._split = split
        self._rows: dict[str, FrozenRow] = {}
        self._papers: set[str] = set()
        self._digests: list[str] = []

    def add(self, figure: Figure, image: bytes | None) -> None:
        """One row."""
        self._rows[figure.figure_id] = frozen_row(figure, image_sha256(image))
        self._papers.add(figure.paper_id_norm)
        self._digests.append(row_sha256(figure))

    def manifest(self) -> FrozenSplit:
        """The manifest of the rows so far."""
        return FrozenSplit(
            split=self._split,
            figures=len(self._rows),
            papers=len(self._papers),
            fingerprint=fingerprint_of_digests(self._digests),
            rows=dict(sorted(self._rows.items())),
        )


def write_frozen(folder: Path, frozen: FrozenSplit) -> Path:
    """Write a manifest into a dataset folder; the same rows give the same bytes."""
    path = folder / FROZEN / f"{frozen.split}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(frozen.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return path


def read_frozen(folder: Path, split: str) -> FrozenSplit | None:
    """The manifest of a split; None where the split is not frozen.

    Raises:
        FrozenError: The file is no manifest, or one of a newer version.
    """
    path = folder / FROZEN / f"{split}.json"
    if not path.is_file():
        return None
    try:
        frozen = FrozenSplit.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise FrozenError(f"{path}: not a manifest of a frozen split ({error.error_count()} faults)") from None
    if frozen.schema_version != SCHEMA_VERSION:
        raise FrozenError(f"{path}: manifest of version {frozen.schema_version}; this program knows {SCHEMA_VERSION}")
    return frozen


class Check:
    """Compares rows with their manifest, one by one.

    Args:
        frozen: The manifest.
        where: How messages name the split.
    """

    def __init__(self, frozen: FrozenSplit, where: str):
        self._frozen = frozen
        self._where = where
        self._missing = set(frozen.rows)

    def row(self, figure: Figure, image: str | None) -> Iterator[str]:
        """What is wrong with one row.

        Args:
            figure: The row.
            image: SHA-256 of its image: of the bytes, or as the row states it where the bytes are not at hand.
        """
        figure_id = figure.figure_id
        expected = self._frozen.rows.get(figure_id)
        if expected is None:
            yield f"{self._where}: {figure_id} is not in the frozen split"
            return
        if figure_id not in self._missing:
            yield f"{self._where}: {figure_id} comes twice"
            return
        self._missing.discard(figure_id)
        found = frozen_row(figure, image)
        changed = [part for part in FrozenRow.model_fields if getattr(found, part) != getattr(expected, part)]
        if changed:
            yield f"{self._where}: {figure_id}: {', '.join(changed)} changed since the split was frozen"

    def end(self) -> Iterator[str]:
        """The rows that did not come."""
        for figure_id in sorted(self._missing):
            yield f"{self._where}: {figure_id} is missing"


def frozen_splits(folder: DatasetFolder, splits: Iterable[str] | None = None) -> dict[str, FrozenSplit]:
    """The manifests of a dataset's splits, by split; splits that are not frozen are left out."""
    found = {split: read_frozen(folder.path, split) for split in (folder.splits if splits is None else splits)}
    return {split: frozen for split, frozen in found.items() if frozen is not None}


def check_frozen(folder: DatasetFolder, splits: Iterable[str] | None = None, *, images: bool = True) -> list[str]:
    """Compare the frozen splits of a dataset with their manifests.

    Args:
        folder: The dataset.
        splits: The splits; all where None. Those that are not frozen pass.
        images: Read every image and hash its bytes; else the hash that each row states is compared, in a fraction of
            the time.

    Returns:
        One sentence for every changed, missing, repeated or additional row.

    Raises:
        FrozenError: A manifest can't be read.
    """
    problems = []
    for split, frozen in frozen_splits(folder, splits).items():
        check = Check(frozen, f"{folder.name}, {split}")
        if images:
            hashed = ((figure, image_sha256(image)) for figure, image in folder.figures([split]))
        else:
            hashed = ((figure, figure.image_sha256) for figure in folder.records([split]))
        for figure, image in hashed:
            if images and figure.image_sha256 != image:
                problems.append(f"{folder.name}, {split}: {figure.figure_id}: the row states another image_sha256")
            problems += check.row(figure, image)
        problems += check.end()
    return problems


SHOWN = 20
"""Rows that an error names."""


def require_frozen(folder: DatasetFolder, splits: Iterable[str] | None = None, *, images: bool = False) -> None:
    """Refuse a dataset whose frozen splits are not what they were.

    Raises:
        FrozenError: Names the rows, the first :data:`SHOWN` of them.
    """
    refuse(check_frozen(folder, splits, images=images))


def refuse(problems: list[str]) -> None:
    """Raise for problems, if there are any.

    Raises:
        FrozenError: With the first :data:`SHOWN`, and how many more there are.
    """
    if problems:
        rest = [f"... and {len(problems) - SHOWN} more rows"] * (len(problems) > SHOWN)
        raise FrozenError([*problems[:SHOWN], *rest])
