"""What every dataset folder says of itself: statistics, versions, Croissant, card."""

import json
import re
from collections import Counter

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.dataset.folder import DatasetFolder, SplitWriter, staged
from scifigqual_bench.dataset.package import Edition, check_edition, finish_folder
from scifigqual_bench.dataset.statistics import Statistics
from scifigqual_bench.dataset.versions import following, parse, read_versions
from scifigqual_bench.errors import InputError
from tests.factory import figure, png


def write(out, splits, *, dropped=(), problems=(), papers=None, **edition):
    """A dataset folder as the builders write it."""
    with staged(out) as stage:
        (stage / "data").mkdir()
        for name, lines in {"dropped": dropped, "problems": problems, "papers": papers or ()}.items():
            (stage / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        writers = {split: SplitWriter(stage / "data", split) for split in splits}
        for split, rows in splits.items():
            for row in rows:
                writers[split].add(row, png(row.figure_id))
        statuses = None if papers is None else Counter(line["status"] for line in papers)
        finish_folder(stage, out, writers, papers=statuses, dpi=300, edition=Edition(**edition))
    return out


def card_of(out):
    head, _, page = (out / "README.md").read_text().removeprefix("---\n").partition("\n---\n")
    return yaml.safe_load(head), page


@pytest.fixture
def rows():
    return [figure(i) for i in range(1, 5)], [figure(i, rated=False) for i in range(5, 8)]


def test_statistics_are_those_of_the_rows(tmp_path, rows):
    rated, unrated = rows
    out = write(tmp_path / "d", {"rated": rated, "unrated": unrated})
    found = Statistics.model_validate_json((out / "statistics" / "statistics.json").read_bytes())
    figures = list(DatasetFolder(out).records())
    assert found.splits["rated"].figures == len(rated) and found.splits["unrated"].rated == 0
    years = Counter((f.venue or "unknown", str(f.year or "unknown")) for f in figures)
    counted = Counter()
    for split in found.splits.values():
        for venue, by_year in split.venue_years.items():
            counted.update({(venue, year): count for year, count in by_year.items()})
    assert counted == years
    gold = found.splits["rated"].gold["visual_clarity"]
    assert sum(gold) == sum(f.gold.visual_clarity is not None for f in rated)
    place = round((rated[0].gold.visual_clarity - 1) * 2)
    assert gold[place] >= 1 and len(gold) == 19
    assert sum(found.splits["unrated"].gold["overall_score"]) == 0


def test_the_funnel_and_the_reasons_come_from_the_logs(tmp_path, rows):
    papers = [
        {"status": "ok", "figures_found": 6},
        {"status": "failed", "figures_found": 0},
        {"status": "partial", "figures_found": 3},
    ]
    drops = [
        {"marks": [{"stage": "S4", "code": "similar-hash"}, {"stage": "S1", "code": "small"}]},
        {"marks": [{"stage": "gate", "code": "no-evidence"}]},
    ]
    out = write(tmp_path / "d", {"rated": rows[0], "unrated": rows[1]}, papers=papers, dropped=drops)
    found = Statistics.model_validate_json((out / "statistics" / "statistics.json").read_bytes())
    assert [(step.name, step.count) for step in found.funnel] == [
        ("PDFs", 3),
        ("PDFs read", 2),
        ("figures found", 9),
        ("figures kept", 7),
        ("figures rated", 4),
    ]
    assert found.left_out == {"no-evidence": 1, "small": 1}
    assert "1 PDFs read whole, 1 in part, 1 not at all" in card_of(out)[1]


def test_plots_are_drawn_the_same_each_time_and_stand_in_the_card(tmp_path, rows):
    one = write(tmp_path / "one" / "d", {"rated": rows[0], "unrated": rows[1]})
    two = write(tmp_path / "two" / "d", {"rated": rows[0], "unrated": rows[1]})
    names = sorted(path.relative_to(one).as_posix() for path in one.rglob("*") if path.is_file())
    assert {"statistics/venues.svg", "statistics/index.html", "versions.json", "croissant.json"} <= set(names)
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in names)
    _, page = card_of(one)
    pictures = re.findall(r"!\[\w+\]\(([^)]+)\)", page)
    assert len(pictures) == 4 and all((one / picture).is_file() for picture in pictures)


def test_names_from_papers_are_text_on_the_page_and_in_the_plots(tmp_path, rows):
    evil = [row.model_copy(update={"venue": "<script>alert(1)</script> $\\frac$"}) for row in rows[0]]
    out = write(tmp_path / "d<b>", {"rated": evil}, problems=[{"code": "a|b<i>", "message": "x"}])
    page = (out / "statistics" / "index.html").read_text()
    assert "<script" not in page and "<b>" not in page
    assert "a\\|b\\<i\\>" in card_of(out)[1]


def test_without_matplotlib_the_counts_are_there_and_the_card_shows_no_picture(tmp_path, rows, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    out = write(tmp_path / "d", {"rated": rows[0]})
    assert (out / "statistics" / "statistics.json").is_file() and "![" not in card_of(out)[1]


def test_every_table_of_the_card_is_whole(tmp_path, rows):
    out = write(tmp_path / "d", {"rated": rows[0]}, problems=[{"code": "x", "message": "y"}], licence="cc-by-4.0")
    head, page = card_of(out)
    assert head["license"] == "cc-by-4.0" and head["version"] == "1.0.0" and "states none" not in page
    blocks = [block.splitlines() for block in page.split("\n\n") if block.lstrip().startswith("|")]
    assert len(blocks) >= 7
    for lines in blocks:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        assert len(widths) == 1, lines
        assert re.fullmatch(r"\|( --- \|)+", lines[1]), lines


def test_the_card_states_the_hash_of_every_shard(tmp_path, rows):
    import hashlib

    out = write(tmp_path / "d", {"rated": rows[0], "unrated": rows[1]})
    _, page = card_of(out)
    for shard in (out / "data").iterdir():
        assert f"| `data/{shard.name}` | `{hashlib.sha256(shard.read_bytes()).hexdigest()}` |" in page
    assert f"`{DatasetFolder(out).fingerprint()}`" in page


# --- versions ---------------------------------------------------------------------------------------------------------


def numbers(out):
    return [version.version for version in read_versions(out)]


def test_a_version_rises_by_what_changed(tmp_path, rows):
    out = tmp_path / "d"
    write(out, {"rated": rows[0][:3]})
    write(out, {"rated": rows[0][:3]})
    assert numbers(out) == ["1.0.0"]  # nothing changed
    write(out, {"rated": rows[0]})
    assert numbers(out) == ["1.0.0", "1.1.0"]
    write(out, {"rated": [rows[0][0].model_copy(update={"caption": "Figure 1: New."}), *rows[0][1:]]}, note="A caption")
    assert numbers(out) == ["1.0.0", "1.1.0", "2.0.0"]
    last = read_versions(out)[-1]
    assert (last.added, last.removed, last.changed, last.note) == (0, 0, 1, "A caption")
    write(out, {"rated": rows[0][1:]})
    assert (read_versions(out)[-1].removed, numbers(out)[-1]) == (1, "3.0.0")
    head, page = card_of(out)
    assert head["version"] == "3.0.0" and "| 2.0.0 | 4 | 0 | 0 | 1 | A caption |" in page


def test_a_number_may_be_given_if_it_says_enough(tmp_path, rows):
    out = tmp_path / "d"
    write(out, {"rated": rows[0][:3]}, version="0.9.0")
    write(out, {"rated": rows[0]}, version="4.0.0")
    assert numbers(out) == ["0.9.0", "4.0.0"]
    with pytest.raises(InputError, match=r"version 4\.0\.0: d is 4\.0\.0 already; take a higher one"):
        check_edition(out, Edition(version="4.0.0"))
    with pytest.raises(InputError, match=r"version 4\.1\.0 after 4\.0\.0: rows changed; take 5\.0\.0 or a higher one"):
        write(out, {"rated": rows[0][1:]}, version="4.1.0")
    assert numbers(out) == ["0.9.0", "4.0.0"] and DatasetFolder(out).count() == 4  # the old one stands
    with pytest.raises(InputError, match=r"'4\.1' is no version"):
        check_edition(out, Edition(version="4.1"))


def test_a_row_that_moves_to_another_split_changes(tmp_path, rows):
    out = tmp_path / "d"
    write(out, {"train": rows[0][:3], "dev": rows[0][3:]})
    write(out, {"train": rows[0][:2], "dev": rows[0][2:]})
    assert numbers(out) == ["1.0.0", "2.0.0"] and read_versions(out)[-1].changed == 1
    one, two = read_versions(out)
    assert one.fingerprint == two.fingerprint


def test_rows_that_cannot_be_compared_count_as_changed(tmp_path, rows):
    out = write(tmp_path / "d", {"rated": rows[0]})
    next((out / "data").iterdir()).write_bytes(b"")
    (out / "README.md").write_text("gone")
    write(out, {"rated": rows[0]}, note="again")
    assert numbers(out) == ["1.0.0", "2.0.0"] and read_versions(out)[-1].changed is None


def test_a_spoilt_list_of_versions_is_told(tmp_path, rows):
    out = write(tmp_path / "d", {"rated": rows[0]})
    (out / "versions.json").write_text('[{"version": 1}]')
    with pytest.raises(InputError, match="no list of versions"):
        check_edition(out, Edition())


contents = st.dictionaries(
    st.sampled_from("abcdef"), st.tuples(st.sampled_from(["train", "dev"]), st.sampled_from("xyz")), min_size=1
).map(lambda rows: {key: (split, key + text) for key, (split, text) in rows.items()})  # a digest covers the id


@given(st.lists(contents, min_size=1, max_size=6))
def test_numbers_rise_and_say_what_happened(states):
    """Whatever happens to the rows: numbers rise, equal rows add no version, the counts are those of the sets."""
    history, before = [], None
    for rows in states:
        earlier = len(history)
        history = following(history, before, rows)
        if before is not None:
            assert (len(history) == earlier) == (rows == before)
        if before is not None and len(history) > earlier:
            old, new = parse(history[-2].version), parse(history[-1].version)
            broke = bool(before.keys() - rows.keys()) or any(rows[k] != before[k] for k in before.keys() & rows.keys())
            assert new > old and (new[0] > old[0]) == broke
            assert history[-1].figures == history[-2].figures + history[-1].added - history[-1].removed
        before = rows
    assert len({version.version for version in history}) == len(history)


# --- Croissant --------------------------------------------------------------------------------------------------------


def test_croissant_is_valid_and_reads_every_row(tmp_path, rows, monkeypatch, caplog):
    mlcroissant = pytest.importorskip("mlcroissant", reason="needs mlcroissant, which the extra dev brings")
    monkeypatch.setattr("scifigqual_bench.dataset.folder.ROWS_PER_GROUP", 2)
    monkeypatch.setattr("scifigqual_bench.dataset.folder.SHARD_BYTES", 1)
    out = write(tmp_path / "d", {"rated": rows[0], "unrated": rows[1]}, licence="cc-by-4.0")
    assert len(list((out / "data").glob("rated-*"))) == 2
    caplog.clear()
    dataset = mlcroissant.Dataset(jsonld=out / "croissant.json")
    assert not dataset.metadata.issues.errors and "@context" not in caplog.text
    assert str(dataset.metadata.version) == "1.0.0"
    read = {record["rated/figure_id"].decode(): record for record in dataset.records("rated")}
    for row in rows[0]:
        record = read[row.figure_id]
        assert record["rated/caption"].decode() == row.caption and record["rated/year"] == row.year
        assert record["rated/gold.visual_clarity"] == row.gold.visual_clarity
        assert record["rated/image"].size == (320, 200)
    assert sum(1 for _ in dataset.records("unrated")) == len(rows[1])


def test_croissant_hashes_are_those_of_the_files(tmp_path, rows):
    import hashlib

    out = write(tmp_path / "d", {"rated": rows[0]})
    document = json.loads((out / "croissant.json").read_text())
    (shard,) = (entry for entry in document["distribution"] if entry["@type"] == "cr:FileObject")
    assert shard["sha256"] == hashlib.sha256((out / shard["contentUrl"]).read_bytes()).hexdigest()
    assert "license" not in document
