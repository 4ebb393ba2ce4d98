import hashlib
import json
import shutil

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.commands.build_dataset import main as build
from scifigqual_bench.commands.eval import main as evaluate
from scifigqual_bench.dataset.folder import DatasetFolder, content_sha256
from scifigqual_bench.dataset.frozen import (
    FrozenError,
    FrozenRow,
    check_frozen,
    frozen_row,
    read_frozen,
    require_frozen,
)
from scifigqual_bench.records import Mark, Rating
from tests.dataset.release_files import picture, write_dataset
from tests.factory import figure, rating

pytestmark = pytest.mark.usefixtures("without_plots")

SPLIT = "eval4"


def with_image(index, **fields):
    """A row that states the hash of its image, and the image."""
    image = picture(index)
    return figure(index, image_sha256=hashlib.sha256(image).hexdigest(), **fields), image


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    out = tmp_path_factory.mktemp("frozen") / "scifigqual-bench"
    rows = [with_image(1), with_image(2), (figure(3), None), with_image(4)]
    return write_dataset(out, {SPLIT: rows, "train": [(figure(1, paper="q"), None)]})


@pytest.fixture
def changed(frozen, tmp_path):
    """Rewrites the frozen split of a copy by a function of its rows."""

    def change(edit):
        folder = shutil.copytree(frozen.path, tmp_path / "scifigqual-bench")
        (file,) = DatasetFolder(folder).files[SPLIT]
        table = pq.read_table(file)
        rows = table.to_pylist()
        rows = edit(rows) or rows
        pq.write_table(table.from_pylist(rows, schema=table.schema), file)
        return DatasetFolder(folder)

    return change


def test_an_untouched_split_passes(frozen):
    assert check_frozen(frozen) == check_frozen(frozen, images=False) == []
    manifest = read_frozen(frozen.path, SPLIT)
    assert (manifest.figures, manifest.papers, len(manifest.rows)) == (4, 1, 4)
    assert manifest.fingerprint == frozen.fingerprint([SPLIT])
    assert read_frozen(frozen.path, "other") is None
    assert build(["--verify", str(frozen.path)]) == 0


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda r: r[0].update(caption="Another."), ["__fig0001: caption changed"]),
        (lambda r: r[0].update(caption_raw="**Another**."), ["__fig0001: caption changed"]),
        (lambda r: r[1]["citations"][0].update(text="Another."), ["__fig0002: citations changed"]),
        (lambda r: r[1].update(title="Another", venue="ICML"), ["__fig0002: metadata changed"]),
        (lambda r: r[0]["gold"].update(visual_clarity=9.0), ["__fig0001: gold changed"]),
        (lambda r: r[0]["ratings"][2].update(visual_clarity=9), ["__fig0001: ratings changed"]),
        (lambda r: r[0].update(open_dimensions=[]), ["__fig0001: metadata changed"]),
        (lambda r: r[:3], ["__fig0004 is missing"]),
        (lambda r: [*r, r[0]], ["__fig0001 comes twice"]),
        (
            lambda r: [*r, r[0] | {"figure_id": "p__fig0001"}],
            ["p__fig0001 is not in the frozen split"],
        ),
        (lambda r: r[0].update(image=r[1]["image"], image_sha256=r[1]["image_sha256"]), ["__fig0001: image changed"]),
        (lambda r: r[2].update(image=r[1]["image"], image_sha256=r[1]["image_sha256"]), ["__fig0003: image changed"]),
        (
            lambda r: [r[0].update(caption="x", title="y"), r[3].update(caption="z")] and r[:2] + r[3:],
            ["__fig0001: caption, metadata changed", "__fig0003 is missing", "__fig0004: caption changed"],
        ),
    ],
)
def test_what_changed_is_named(changed, edit, said):
    folder = changed(edit)
    for images in (True, False):
        problems = sorted(check_frozen(folder, images=images))
        assert len(problems) == len(said)
        for problem, expected in zip(problems, said, strict=True):
            assert problem.startswith(f"scifigqual-bench, {SPLIT}: ") and expected in problem


def test_an_image_swapped_behind_its_hash(changed):
    folder = changed(lambda r: r[0].update(image={"bytes": picture(9), "path": None}))
    assert check_frozen(folder, images=False) == []
    problems = check_frozen(folder)
    assert any("image changed" in problem for problem in problems)
    assert any("states another image_sha256" in problem for problem in problems)


def test_what_can_be_measured_anew_is_not_frozen(changed):
    mark = Mark(stage="S2", code="wide", detail="x").model_dump()
    folder = changed(lambda r: r[0].update(page=9, bbox=None, curation_marks=[mark], provenance=None))
    assert check_frozen(folder) == []


def test_other_order_and_other_shards_are_the_same_split(changed):
    folder = changed(lambda r: r[::-1])
    assert check_frozen(folder) == []


def test_a_split_that_is_not_frozen_passes(frozen, tmp_path):
    folder = shutil.copytree(frozen.path, tmp_path / "d")
    shutil.rmtree(folder / "frozen")
    assert check_frozen(DatasetFolder(folder)) == []


def test_an_error_names_twenty_rows_and_counts_the_others(tmp_path):
    rows = [(figure(k), None) for k in range(1, 31)]
    folder = write_dataset(tmp_path / "d", {SPLIT: rows})
    manifest = read_frozen(folder.path, SPLIT)
    other = {key: row.model_copy(update={"caption": "0"}) for key, row in manifest.rows.items()}
    text = manifest.model_copy(update={"rows": other}).model_dump_json()
    (folder.path / "frozen" / f"{SPLIT}.json").write_text(text)
    with pytest.raises(FrozenError) as error:
        require_frozen(folder)
    assert len(error.value.problems) == 21 and error.value.problems[-1] == "... and 10 more rows"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema_version": "1"}'])
def test_a_file_that_is_no_manifest(frozen, tmp_path, text):
    folder = shutil.copytree(frozen.path, tmp_path / "d")
    (folder / "frozen" / f"{SPLIT}.json").write_text(text)
    with pytest.raises(FrozenError, match="not a manifest"):
        check_frozen(DatasetFolder(folder))


def test_a_manifest_of_a_newer_version(frozen, tmp_path):
    folder = shutil.copytree(frozen.path, tmp_path / "d")
    path = folder / "frozen" / f"{SPLIT}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": "9"}))
    with pytest.raises(FrozenError, match="version 9"):
        check_frozen(DatasetFolder(folder))


def test_the_commands_refuse_a_changed_row(changed, capsys, tmp_path):
    folder = changed(lambda r: r[0].update(caption="Another."))
    assert build(["--verify", str(folder.path)]) == 1
    run = ["--protocol", "direct", "--backend", "rules", "--out", str(tmp_path / "run")]
    assert evaluate(["judge", "--dataset", str(folder.path), *run]) == 1
    assert evaluate(["ceilings", "--dataset", str(folder.path)]) == 1
    assert capsys.readouterr().err.count("__fig0001: caption changed since the split was frozen") == 3
    assert not (tmp_path / "run").exists()


def test_judging_looks_at_the_bytes_of_images(changed, capsys, tmp_path):
    folder = changed(lambda r: r[0].update(image={"bytes": picture(9), "path": None}))
    run = ["--protocol", "direct", "--backend", "rules", "--out", str(tmp_path / "run")]
    assert evaluate(["judge", "--dataset", str(folder.path), *run]) == 1
    assert "image changed" in capsys.readouterr().err


@given(st.sampled_from(["caption", "title", "section"]), st.text(max_size=20))
def test_a_row_has_its_hashes_and_no_other_text_has(field, text):
    one, two = figure(1), figure(1, **{field: text})
    assert (frozen_row(one, None) == frozen_row(two, None)) == (getattr(one, field) == text or one == two)


def test_hashes_outlive_new_fields_and_know_old_ones():
    plain = rating("p__fig0001", "r1", (7, 7, 7, 7, 7))
    assert content_sha256(plain) == content_sha256(Rating(**plain.model_dump(exclude_defaults=True)))
    assert content_sha256(plain) != content_sha256(plain.model_copy(update={"summary": "x"}))
    # the same on every machine and in every later version
    assert content_sha256(plain) == "759ddfa96a27894e5b35ad4ad70b5cba4b93bbb7f3065932c9143cc089a947cd"
    assert set(FrozenRow.model_fields) == {"image", "caption", "citations", "metadata", "gold", "ratings"}
