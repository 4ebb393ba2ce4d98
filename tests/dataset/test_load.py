import pickle
import shutil
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

import scifigqual_bench
from scifigqual_bench.dataset.folder import DatasetError, DatasetFolder
from scifigqual_bench.dataset.frozen import FrozenError
from scifigqual_bench.dataset.load import LoadedFigure, load
from scifigqual_bench.records import Figure
from tests.dataset.release_files import picture, write_dataset
from tests.dataset.test_frozen import with_image
from tests.factory import figure


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Seven figures in three row groups and two shards, one of them without an image; and a second split."""
    patch = pytest.MonkeyPatch()
    patch.setattr("scifigqual_bench.dataset.folder.ROWS_PER_GROUP", 3)
    rows = [with_image(k) for k in range(1, 7)] + [(figure(7), None)]
    out = tmp_path_factory.mktemp("load") / "scifigqual-bench"
    found = write_dataset(out, {"eval7": rows, "train": [with_image(8)]})
    patch.undo()
    return found


def test_typed_rows_with_lazy_images(folder):
    figures = load(folder.path, "eval7")
    assert len(figures) == 7 and repr(figures) == "FigureSplit('scifigqual-bench', 'eval7', 7 figures)"
    first = figures[0]
    assert isinstance(first, Figure) and first.caption.startswith("Figure 1")
    assert first.image_bytes == picture(1)
    assert first.image.size == (160, 100)
    assert figures[6].image is None and figures[-1].image_bytes is None
    assert [row.fig_index for row in figures] == [1, 2, 3, 4, 5, 6, 7]
    assert [row.fig_index for row in figures[1:6:2]] == [2, 4, 6]
    assert [row.image_bytes for row in reversed(figures)][1:] == [picture(k) for k in range(6, 0, -1)]
    assert first.model_dump() == figure(1, image_sha256=first.image_sha256).model_dump()
    for bad in (7, -8):
        with pytest.raises(IndexError, match="7 figures"):
            figures[bad]


def test_images_are_not_read_until_asked_for(folder, monkeypatch):
    read = []
    monkeypatch.setattr(
        "scifigqual_bench.dataset.load._Group.images", lambda self: read.append(self.start) or [None] * 3
    )
    figures = list(load(folder.path, "eval7", verify=False))
    assert read == []
    for row in figures[:3]:
        assert row.image_bytes is None
    assert read == [0]  # a row group at a time


def test_all_splits_by_name(folder):
    splits = scifigqual_bench.load(str(folder.path))
    assert {name: len(rows) for name, rows in splits.items()} == {"eval7": 7, "train": 1}


def test_streaming_gives_the_same_rows(folder):
    rows = load(folder.path, "eval7", streaming=True)
    assert [(row.model_dump(), row.image_bytes) for row in rows] == [
        (row.model_dump(), row.image_bytes) for row in load(folder.path, "eval7")
    ]
    with pytest.raises(DatasetError, match="name of a split"):
        load(folder.path, streaming=True)


def test_rows_can_be_sent_to_another_process(folder):
    row = pickle.loads(pickle.dumps(load(folder.path, "eval7")[1]))
    assert isinstance(row, LoadedFigure) and row.image_bytes == picture(2)


def test_what_does_not_exist_is_told(folder, tmp_path):
    with pytest.raises(DatasetError, match="no split test; it has eval7, train"):
        load(folder.path, "test")
    with pytest.raises(DatasetError, match="no such folder"):
        load(tmp_path / "none")
    with pytest.raises(DatasetError, match="no such folder"):
        load("none")


def test_a_changed_row_is_an_error_at_once(folder, tmp_path):
    copy = swapped(folder, tmp_path, caption="Another.")
    with pytest.raises(FrozenError, match="__fig0002: caption changed"):
        load(copy, "eval7")
    assert load(copy, "eval7", verify=False)[1].caption == "Another."
    assert len(load(copy, "train")) == 1
    stream = load(copy, "eval7", streaming=True)
    assert next(stream).fig_index == 1
    with pytest.raises(FrozenError, match="__fig0002: caption changed"):
        next(stream)


def test_a_changed_image_is_an_error_when_it_is_read(folder, tmp_path):
    figures = load(swapped(folder, tmp_path, image={"bytes": picture(9), "path": None}), "eval7")
    assert figures[0].image is not None
    with pytest.raises(FrozenError, match="__fig0002: image changed"):
        _ = figures[1].image


def test_a_stream_tells_missing_rows_at_its_end(folder, tmp_path):
    copy = shutil.copytree(folder.path, tmp_path / "scifigqual-bench")
    file = DatasetFolder(copy).files["eval7"][0]
    pq.write_table(pq.read_table(file).slice(0, 2), file)
    stream = load(copy, "eval7", streaming=True)
    with pytest.raises(FrozenError, match="is missing"):
        list(stream)


def swapped(folder, tmp_path, **fields):
    """A copy whose second row is another one."""
    copy = shutil.copytree(folder.path, tmp_path / "scifigqual-bench")
    file = DatasetFolder(copy).files["eval7"][0]
    table = pq.read_table(file)
    rows = table.to_pylist()
    rows[1].update(fields)
    pq.write_table(table.from_pylist(rows, schema=table.schema), file)
    return copy


def test_a_dataset_from_before_a_column_was_added_loads(folder, tmp_path):
    copy = shutil.copytree(folder.path, tmp_path / "scifigqual-bench")
    file = DatasetFolder(copy).files["eval7"][0]
    table = pq.read_table(file)
    pq.write_table(table.drop_columns(["caption_raw", "subtopic"]), file)
    assert [row.subtopic for row in load(copy, "eval7")] == [None] * 7
    assert DatasetFolder(copy).fingerprint() == folder.fingerprint()


def test_importing_the_package_stays_light():
    code = (
        "import sys, scifigqual_bench\n"
        "heavy = {'datasets', 'pyarrow', 'pydantic', 'PIL', 'numpy', 'huggingface_hub'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert scifigqual_bench.load.__module__ == 'scifigqual_bench.dataset.load'\n"
        "assert 'torch' not in sys.modules and 'cv2' not in sys.modules and 'pymupdf' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'unload'"):
        _ = scifigqual_bench.unload


def test_the_sample_dataset_loads(sample_dataset):
    for split, rows in load(sample_dataset).items():
        assert all(row.image is not None and (row.gold is not None) == (split == "rated") for row in rows)
