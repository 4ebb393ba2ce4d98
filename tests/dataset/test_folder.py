import subprocess
import sys

import pytest
import yaml

from scifigqual_bench.dataset.card import About, SplitSummary, render_card
from scifigqual_bench.dataset.folder import DatasetError, DatasetFolder, SplitWriter, check_target, staged
from tests.factory import figure, png


def write(out, figures, images=None):
    """A dataset folder with one split, by the writer that the build uses."""
    with staged(out) as stage:
        (stage / "data").mkdir()
        writer = SplitWriter(stage / "data", "rated")
        for i, row in enumerate(figures):
            writer.add(row, images[i] if images else png(row.figure_id))
        writer.close()
        summary = SplitSummary("rated", writer.rows, 1, writer.image_bytes, 1)
        (stage / "README.md").write_text(render_card(About(out.name, [summary], {"ok": 1}, dpi=300)))
    return DatasetFolder(out)


def test_rows_come_back_as_they_were(tmp_path):
    figures = [figure(i) for i in range(1, 4)] + [figure(4, rated=False, caption="", title=None)]
    images = [png(str(i)) for i in range(4)]
    folder = write(tmp_path / "d", figures, images)
    assert list(folder.figures()) == list(zip(figures, images, strict=True))
    assert list(folder.records()) == figures
    assert folder.count() == 4


def test_load_dataset_reads_it_by_name_in_the_working_directory(tmp_path):
    write(tmp_path / "scifigqual-bench", [figure(1), figure(2, rated=False)])
    code = (
        "from datasets import load_dataset\n"
        "ds = load_dataset('scifigqual-bench')['rated']\n"
        "assert ds[0]['image'].size == (320, 200), ds[0]['image']\n"
        "assert ds[0]['gold']['visual_clarity'] == 19 / 3\n"
        "assert ds[1]['gold'] is None\n"
        "assert ds['gold'][0]['figure_id'] == ds[0]['figure_id']\n"
    )
    env = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, check=True)


def test_shards_split_and_keep_order(tmp_path, monkeypatch):
    monkeypatch.setattr("scifigqual_bench.dataset.folder.ROWS_PER_GROUP", 4)
    monkeypatch.setattr("scifigqual_bench.dataset.folder.SHARD_BYTES", 1)
    figures = [figure(i) for i in range(1, 11)]
    folder = write(tmp_path / "d", figures)
    names = [file.name for file in folder.files["rated"]]
    assert names == [f"rated-{i:05d}-of-00003.parquet" for i in range(3)]
    assert [row.figure_id for row in folder.records()] == [row.figure_id for row in figures]


def test_fingerprint_is_of_the_content_not_of_the_files(tmp_path):
    figures = [figure(i) for i in range(1, 4)]
    one = write(tmp_path / "one", figures).fingerprint()
    assert write(tmp_path / "two", figures[::-1]).fingerprint() == one
    assert write(tmp_path / "three", [*figures[:2], figure(3, caption="Another.")]).fingerprint() != one


def test_same_rows_give_the_same_bytes(tmp_path):
    paths = [write(tmp_path / name / "d", [figure(1), figure(2)]).path for name in ("a", "b")]
    first, second = ({f.relative_to(p): f.read_bytes() for f in p.rglob("*") if f.is_file()} for p in paths)
    assert first == second


def test_a_failed_write_leaves_the_old_folder_and_no_traces(tmp_path):
    out = tmp_path / "d"
    write(out, [figure(1)])
    before = (out / "README.md").read_bytes()
    with pytest.raises(RuntimeError, match="stopped"), staged(out) as stage:
        (stage / "half").write_text("x")
        raise RuntimeError("stopped")
    assert (out / "README.md").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_overwrite_only_what_is_a_dataset_of_this_project(tmp_path):
    out = tmp_path / "d"
    check_target(out, overwrite=False)
    write(out, [figure(1)])
    with pytest.raises(DatasetError, match="--overwrite"):
        check_target(out, overwrite=False)
    check_target(out, overwrite=True)
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.tex").write_text("x")
    with pytest.raises(DatasetError, match="not overwritten"):
        check_target(home, overwrite=True)
    with pytest.raises(DatasetError, match="not a folder"):
        check_target(home / "thesis.tex", overwrite=True)


def test_folders_that_are_no_dataset(tmp_path):
    with pytest.raises(DatasetError, match="no such folder"):
        DatasetFolder(tmp_path / "none")
    with pytest.raises(DatasetError, match="no dataset"):
        DatasetFolder(tmp_path)
    folder = write(tmp_path / "d", [figure(1)])
    with pytest.raises(DatasetError, match="no split test; it has rated"):
        folder.count(["test"])
    folder.files["rated"][0].unlink()
    with pytest.raises(DatasetError, match="no Parquet files for rated"):
        DatasetFolder(tmp_path / "d")


def test_the_name_cannot_break_out_of_the_card():
    card = render_card(About('x"]\n---\n<script>`*', [SplitSummary("rated", 1, 1, 1, 1)]))
    head, _, page = card.removeprefix("---\n").partition("\n---\n")
    assert yaml.safe_load(head)["configs"][0]["data_files"][0]["split"] == "rated"
    assert '# x"\\] --- \\<script\\>\\`\\*' in page
    assert 'load_dataset("x__ --- _script___")' in page
