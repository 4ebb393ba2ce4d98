"""What keeps a folder from being published."""

import hashlib
import io
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.dataset.frozen import Freezer, write_frozen
from scifigqual_bench.hub import checks
from scifigqual_bench.hub.checks import check_dataset, left_at_home, published_files


@pytest.fixture
def folder(sample_dataset, tmp_path):
    """A copy of the sample dataset that a test may spoil."""
    return shutil.copytree(sample_dataset, tmp_path / "scifigqual-bench")


@pytest.fixture
def quick(monkeypatch):
    """Without the process that loads the folder and the hashes of files, for tests of the other checks."""
    monkeypatch.setattr(checks, "_check_loads", lambda folder: iter(()))
    monkeypatch.setattr(checks, "_check_hashes", lambda folder: iter(()))


def codes(findings):
    return sorted({finding.code for finding in findings})


def change_rows(folder, change):
    """Rewrite the rated split with changed rows."""
    file = next(folder.glob("data/rated-*.parquet"))
    table = pq.read_table(file)
    rows = [change(index, row) for index, row in enumerate(table.to_pylist())]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), file)


def test_a_built_dataset_is_fit(folder):
    assert check_dataset(folder) == []


def test_a_public_one_needs_a_licence(folder, quick):
    card = folder / "README.md"
    text = "\n".join(line for line in card.read_text().splitlines() if not line.startswith("license"))
    card.write_text(text)
    assert codes(check_dataset(folder, public=True)) == ["no-licence"]
    assert check_dataset(folder, public=True, accept=["no-licence"]) == []
    card.write_text(text.replace("---\n", "---\nlicense: cc-by-4.0\n", 1))
    assert check_dataset(folder, public=True) == []


def test_all_private_texts_are_found_with_their_rows(folder, quick):
    def change(index, row):
        if index == 1:
            row["caption"] += " Code: /home/ann/project"
        if index == 2:
            row["ratings"][0]["reasons"]["visual_clarity"] = "ask ann@example.org"
        return row

    change_rows(folder, change)
    with (folder / "problems.jsonl").open("a") as log:
        log.write(json.dumps({"message": "key hf_" + "k" * 34}) + "\n")
    findings = check_dataset(folder)
    assert codes(findings) == ["e-mail", "local-path", "token"]
    messages = [finding.message for finding in findings]
    assert messages[0].startswith("problems.jsonl, line ") and "k" * 10 not in messages[0]
    assert messages[1].startswith("split rated, row 1 (") and "'/home/ann/project'" in messages[1]
    assert messages[2].startswith("split rated, row 2 (") and "--accept e-mail" in messages[2]
    assert codes(check_dataset(folder, accept=["e-mail", "local-path", "token"])) == ["token"]  # never acceptable


def test_private_texts_inside_image_files(folder, quick):
    def with_text(row, kind, **options):
        buffer = io.BytesIO()
        Image.open(io.BytesIO(row["image"]["bytes"])).convert("RGB").save(buffer, kind, **options)
        data = buffer.getvalue()
        row |= {"image": {"bytes": data, "path": None}, "image_sha256": hashlib.sha256(data).hexdigest()}

    def change(index, row):
        if index == 0:
            chunks = PngInfo()
            chunks.add_text("Source", "/home/ann/plot.py")
            with_text(row, "PNG", pnginfo=chunks)
        if index == 1:
            exif = Image.Exif()
            exif[0x9286] = exif[0x010E] = "by ann@example.org"  # user comment, description
            with_text(row, "JPEG", exif=exif)
        if index == 2:
            row["image"]["path"] = "/tmp/run/fig.png"
        return row

    change_rows(folder, change)
    found = [(finding.code, finding.message) for finding in check_dataset(folder)]
    assert sorted({code for code, _ in found}) == ["e-mail", "local-path"]
    assert all("inside the image file" in message for _, message in found if "row 2" not in message)
    assert {message.split(" (")[0] for _, message in found} == {f"split rated, row {index}" for index in range(3)}


def test_files_and_rows_that_are_not_what_the_folder_says(folder, monkeypatch):
    monkeypatch.setattr(checks, "_check_loads", lambda folder: iter(()))
    change_rows(folder, lambda index, row: row | {"page": 99} if index == 0 else row)
    name = next(folder.glob("data/rated-*")).name
    assert [finding.message for finding in check_dataset(folder)] == [
        f"README.md and croissant.json: not the SHA-256 that data/{name} has; build again",
        "versions.json: the last version's fingerprint is of other rows; build again",
    ]
    (folder / "versions.json").write_text("[1]")
    assert "no list of versions" in check_dataset(folder)[-1].message


def test_an_image_that_is_not_the_rows_own(folder, quick):
    def change(index, row):
        if index == 0:
            row["image"]["bytes"] += b"x"
        if index == 1:
            row["image"] = None
        return row

    change_rows(folder, change)
    first, second = check_dataset(folder)
    assert first.code == second.code == "image"
    assert "row 0" in first.message and "row 1" in second.message and "missing" in second.message


def test_rows_that_break_the_record_the_mask_or_the_id(folder, quick):
    def change(index, row):
        if index == 0:
            row["gold"]["visual_clarity"] = 11.0
        if index == 1:
            row["gold"], row["open_dimensions"] = None, ["visual_clarity"]
        if index == 3:
            row["figure_id"] = ids[2]
        else:
            ids[index] = row["figure_id"]
        return row

    ids = {}
    change_rows(folder, change)
    findings = check_dataset(folder)
    assert codes(findings) == ["id", "mask", "row"]
    assert "less than or equal to 10" in next(finding.message for finding in findings if finding.code == "row")


def test_a_frozen_split_that_changed(folder, quick):
    freezer = Freezer("rated")
    for figure, image in DatasetFolder(folder).figures(["rated"]):
        freezer.add(figure, image)
    write_frozen(folder, freezer.manifest())
    assert check_dataset(folder) == [] and folder / "frozen" / "rated.json" in published_files(folder)
    change_rows(folder, lambda index, row: row | {"caption": "Figure 1: Other."} if index == 4 else row)
    (finding,) = check_dataset(folder)
    assert finding.code == "frozen" and "caption changed since the split was frozen" in finding.message
    (folder / "frozen" / "rated.json").write_text("{}")
    assert codes(check_dataset(folder)) == ["frozen"]


def test_a_card_that_counts_wrongly(folder, quick):
    card = folder / "README.md"
    card.write_text(card.read_text().replace("num_examples: ", "num_examples: 9"))
    (finding,) = check_dataset(folder)
    assert finding.code == "card" and "build again" in finding.message


def test_a_folder_that_other_peoples_code_cannot_load(folder):
    file = next(folder.glob("data/rated-*.parquet"))
    table = pq.read_table(file)
    renamed = table.rename_columns(["captions" if name == "caption" else name for name in table.column_names])
    pq.write_table(renamed, file)
    assert "load" in codes(check_dataset(folder))


def test_what_is_no_dataset(tmp_path):
    (finding,) = check_dataset(tmp_path / "nowhere")
    assert finding.code == "no-dataset" and "no such folder" in finding.message


def test_files_that_stay_at_home(folder):
    (folder / ".env").write_text("HF_TOKEN=x")
    (folder / "notes.docx").write_text("x")
    (folder / "data" / "cache.bin").write_text("x")
    (folder / "link.json").symlink_to("/etc/hostname")
    names = {file.relative_to(folder).as_posix() for file in published_files(folder)}
    assert names >= {"README.md", "papers.jsonl"} and sum(name.startswith("data/") for name in names) == 2
    assert left_at_home(folder) == [".env", "data/cache.bin", "link.json", "notes.docx"]


def test_files_larger_or_more_than_the_hub_takes(folder, quick, monkeypatch):
    monkeypatch.setattr(checks, "MAX_FILE_BYTES", 100_000)
    monkeypatch.setattr(checks, "MAX_ENTRIES", 2)
    assert codes(check_dataset(folder)) == ["file-size", "files"]
