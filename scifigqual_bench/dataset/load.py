"""Typed access to a dataset: records with lazy images, from a folder or from the Hub."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import pyarrow.parquet as pq
from pydantic import PrivateAttr

from scifigqual_bench.dataset.folder import DatasetError, DatasetFolder
from scifigqual_bench.dataset.frozen import (
    Check,
    FrozenError,
    FrozenSplit,
    image_sha256,
    read_frozen,
    refuse,
    require_frozen,
)
from scifigqual_bench.records import Figure

if TYPE_CHECKING:
    from PIL.Image import Image


class LoadedFigure(Figure):
    """A row of a dataset: a :class:`~scifigqual_bench.records.Figure` that can give its image.

    The image is read when it is asked for.
    """

    _images: _Images | _Given = PrivateAttr()
    _position: int = PrivateAttr(0)

    @classmethod
    def of(cls, row: dict[str, Any], images: _Images | _Given, position: int) -> LoadedFigure:
        """A row with the place that its image can be had from."""
        figure = cls.model_validate(row)
        figure._images, figure._position = images, position
        return figure

    @property
    def image_bytes(self) -> bytes | None:
        """The encoded image, PNG or JPEG; None where the row has none.

        Raises:
            FrozenError: The split is frozen, and this is another image.
        """
        return self._images.read(self._position, self)

    @property
    def image(self) -> Image | None:
        """The decoded image, anew with each access; None where the row has none.

        Raises:
            FrozenError: As for :attr:`image_bytes`.
        """
        from PIL import Image

        data = self.image_bytes
        return None if data is None else Image.open(io.BytesIO(data))


class _Images:
    """Encoded images of a split, by position; holds one row group's at a time."""

    def __init__(self, groups: Sequence[_Group], frozen: FrozenSplit | None):
        self._groups = groups
        self._frozen = frozen
        self._held: tuple[_Group | None, list[bytes | None]] = (None, [])

    def read(self, position: int, figure: Figure) -> bytes | None:
        group = next(group for group in self._groups if position < group.end)
        if self._held[0] is not group:
            self._held = (group, group.images())
        return _unchanged(self._held[1][position - group.start], figure, self._frozen)


class _Given:
    """The one image that came with a streamed row."""

    def __init__(self, image: bytes | None):
        self._image = image

    def read(self, position: int, figure: Figure) -> bytes | None:
        return self._image


class _Group:
    """A row group of a Parquet file, and the positions of its rows in the split."""

    def __init__(self, file: Path, index: int, start: int, rows: int):
        self._file, self._index = file, index
        self.start, self.end = start, start + rows

    def rows(self) -> list[dict[str, Any]]:
        """The rows without their images."""
        return self._read(list(Figure.model_fields))

    def images(self) -> list[bytes | None]:
        """The encoded images."""
        return [row["image"] and row["image"]["bytes"] for row in self._read(["image"])]

    def _read(self, columns: list[str]) -> list[dict[str, Any]]:
        with pq.ParquetFile(self._file) as parquet:
            known = set(parquet.schema_arrow.names)  # an older dataset lacks the newer columns
            return parquet.read_row_group(self._index, [name for name in columns if name in known]).to_pylist()


class FigureSplit(Sequence[LoadedFigure]):
    """The figures of one split, in its order; rows are read when they are asked for, a row group at a time.

    Attributes:
        name: Name of the split.
        frozen: Its manifest; None where it is not frozen, or not checked.
    """

    def __init__(self, folder: DatasetFolder, name: str, frozen: FrozenSplit | None):
        self.name = name
        self.frozen = frozen
        self._folder = folder
        self._groups: list[_Group] = []
        start = 0
        for file in folder.files[name]:
            metadata = pq.read_metadata(file)
            for index in range(metadata.num_row_groups):
                rows = metadata.row_group(index).num_rows
                self._groups.append(_Group(file, index, start, rows))
                start += rows
        self._size = start
        self._images = _Images(self._groups, frozen)
        self._held: tuple[_Group | None, list[dict[str, Any]]] = (None, [])

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> LoadedFigure: ...
    @overload
    def __getitem__(self, index: slice) -> list[LoadedFigure]: ...
    def __getitem__(self, index: int | slice) -> LoadedFigure | list[LoadedFigure]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._size))]
        position = index + self._size if index < 0 else index
        if not 0 <= position < self._size:
            raise IndexError(f"{self.name} has {self._size} figures, and no figure {index}")
        group = next(group for group in self._groups if position < group.end)
        if self._held[0] is not group:
            self._held = (group, group.rows())
        return LoadedFigure.of(self._held[1][position - group.start], self._images, position)

    def __iter__(self) -> Iterator[LoadedFigure]:
        return (self[position] for position in range(self._size))

    def __repr__(self) -> str:
        return f"FigureSplit({self._folder.name!r}, {self.name!r}, {self._size} figures)"


@overload
def load(
    path: str | Path,
    split: str,
    *,
    streaming: Literal[False] = False,
    verify: bool = True,
    revision: str | None = None,
) -> FigureSplit: ...
@overload
def load(
    path: str | Path,
    split: None = None,
    *,
    streaming: Literal[False] = False,
    verify: bool = True,
    revision: str | None = None,
) -> dict[str, FigureSplit]: ...
@overload
def load(
    path: str | Path, split: str, *, streaming: Literal[True], verify: bool = True, revision: str | None = None
) -> Iterator[LoadedFigure]: ...
def load(
    path: str | Path,
    split: str | None = None,
    *,
    streaming: bool = False,
    verify: bool = True,
    revision: str | None = None,
) -> FigureSplit | dict[str, FigureSplit] | Iterator[LoadedFigure]:
    """Open a dataset of this project as typed records.

    ``datasets.load_dataset`` opens the same data as a table.

    Args:
        path: A dataset folder, or an id on the Hub (``"user/scifigqual-bench"``), whose files come into the Hub's
            cache. A folder of that name wins.
        split: One split; all of them, by name, where None.
        streaming: Iterate over the rows of one split instead, images included; nothing is kept, and from the Hub
            nothing is stored.
        verify: Hold frozen splits against their manifests: texts, gold and stated hashes at once, the bytes of an image
            when it is read. A streamed row is checked as it comes, and missing rows at the end.
        revision: Branch, tag or commit on the Hub.

    Returns:
        A :class:`FigureSplit` (a sequence of :class:`LoadedFigure`), a dictionary of them, or an iterator.

    Raises:
        DatasetError: No such dataset or split, or ``streaming`` without a split.
        FrozenError: Rows are not those that were frozen; names them.
    """
    if streaming:
        if split is None:
            raise DatasetError("streaming needs the name of a split")
        return _stream(path, split, verify, revision)
    folder = _folder(path, revision)
    wanted = list(folder.splits) if split is None else [split]
    folder.count(wanted)  # refuses unknown splits
    if verify:
        require_frozen(folder, wanted)
    found = {name: FigureSplit(folder, name, read_frozen(folder.path, name) if verify else None) for name in wanted}
    return found if split is None else found[split]


def _folder(path: str | Path, revision: str | None) -> DatasetFolder:
    """The folder itself, or the Hub's files in its cache."""
    if Path(path).is_dir() or isinstance(path, Path) or not _is_hub_id(path):
        return DatasetFolder(Path(path))
    from huggingface_hub import snapshot_download

    return DatasetFolder(Path(snapshot_download(path, repo_type="dataset", revision=revision)))


def _is_hub_id(path: str) -> bool:
    return path.count("/") == 1 and not path.startswith((".", "/", "~"))


def _stream(path: str | Path, split: str, verify: bool, revision: str | None) -> Iterator[LoadedFigure]:
    if Path(path).is_dir() or isinstance(path, Path) or not _is_hub_id(path):
        folder = DatasetFolder(Path(path))
        folder.count([split])
        rows, frozen = folder.rows([split]), read_frozen(folder.path, split) if verify else None
    else:
        rows, frozen = _remote(path, split, verify, revision)
    return _checked(rows, frozen, f"{Path(path).name}, {split}")


def _remote(
    path: str, split: str, verify: bool, revision: str | None
) -> tuple[Iterable[dict[str, Any]], FrozenSplit | None]:
    from datasets import Image, load_dataset
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    rows = load_dataset(path, split=split, streaming=True, revision=revision).cast_column("image", Image(decode=False))
    frozen = None
    if verify:
        try:
            file = hf_hub_download(path, f"frozen/{split}.json", repo_type="dataset", revision=revision)
            frozen = read_frozen(Path(file).parent.parent, split)
        except EntryNotFoundError:
            pass
    return rows, frozen


def _checked(rows: Iterable[dict[str, Any]], frozen: FrozenSplit | None, where: str) -> Iterator[LoadedFigure]:
    check = None if frozen is None else Check(frozen, where)
    for row in rows:
        image = row.pop("image")
        data = image["bytes"] if image else None
        figure = LoadedFigure.of(row, _Given(data), 0)
        if check is not None:
            refuse(list(check.row(figure, image_sha256(data))))
        yield figure
    if check is not None:
        refuse(list(check.end()))


def _unchanged(image: bytes | None, figure: Figure, frozen: FrozenSplit | None) -> bytes | None:
    if frozen is not None and image_sha256(image) != frozen.rows[figure.figure_id].image:
        raise FrozenError(f"{frozen.split}: {figure.figure_id}: image changed since the split was frozen")
    return image
