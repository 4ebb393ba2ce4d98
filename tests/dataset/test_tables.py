import json

import pytest

from scifigqual_bench.dataset.tables import TableError, read_papers, read_ratings
from scifigqual_bench.rubric import DIMENSION_KEYS

HEAD = "figure_id,rater_id," + ",".join(DIMENSION_KEYS)
GOOD = "p__fig0001,r1,8,8,7,,9"


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def faults(path):
    with pytest.raises(TableError) as caught:
        read_ratings(path)
    return caught.value.problems


def test_ratings_are_read_with_their_lines(tmp_path):
    path = write(tmp_path / "r.csv", HEAD + ",caption_consistency_reason", GOOD + ',"No metric, no groups"', "")
    (row,) = read_ratings(path)
    assert (row.line, row.rating.rater_id, row.rating.context_consistency) == (2, "r1", None)
    assert row.rating.reasons.caption_consistency == "No metric, no groups"


def test_paper_and_index_make_the_id(tmp_path):
    rows = [{"paper_id": "p", "fig_index": 3, "rater": "x", "visual_clarity": 4}]
    path = tmp_path / "r.json"
    path.write_text(json.dumps(rows))
    assert read_ratings(path)[0].rating.figure_id == "p__fig0003"


def test_pandas_floats_of_a_column_with_gaps_are_integers(tmp_path):
    path = write(tmp_path / "r.csv", HEAD, "p__fig0001,r1,8.0,8.0,7.0,,9.0")
    assert read_ratings(path)[0].rating.visual_clarity == 8


def test_all_faults_of_a_file_are_listed_at_once_with_file_and_line(tmp_path):
    path = write(
        tmp_path / "bad.csv",
        HEAD,
        GOOD,
        "p__fig0002,r1,0,8,7,,9",
        "p__fig0003,r1,8,11,7,,9",
        "p__fig0004,r1,8,7.5,7,,9",
        "p__fig0005,r1,8,good,7,,9",
        "p__fig0001,r1,9,9,9,,9",
        "p__fig0006,r1,,,,,",
        "nonsense,r1,8,8,8,8,8",
        "p__fig0007,,8,8,8,8,8",
        "p__fig0008,r1,nan,8,8,8,8",
    )
    found = faults(path)
    assert [text.split(":")[0] for text in found] == [f"bad.csv, line {n}" for n in range(3, 12)]
    assert "greater than or equal to 1" in found[0] and "found 0" in found[0]
    assert "less than or equal to 10" in found[1] and "found 11" in found[1]
    assert "found 7.5" in found[2]
    assert 'found "good"' in found[3]
    assert "again (first on line 2)" in found[4]
    assert "no dimension is scored" in found[5]
    assert "not a figure id: 'nonsense'" in found[6]
    assert "rater_id" in found[7]
    assert "visual_clarity" in found[8]


def test_json_types_are_not_coerced(tmp_path):
    base = {"figure_id": "p__fig0001", "rater_id": "r"}
    rows = [base | {"visual_clarity": value} for value in ("8", True, 8.0, [8])]
    path = write(tmp_path / "r.jsonl", *map(json.dumps, rows))
    found = faults(path)
    assert [text.split(":")[0] for text in found] == [f"r.jsonl, line {n}" for n in (1, 2, 3, 4)]
    assert all("valid integer" in text for text in found)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "empty"),
        ("a.csv", b"\xff\xfe\x00", "not UTF-8"),
        ("a.xlsx", b"x", "unknown kind of file"),
        ("a.jsonl", b'{"figure_id": \n', "line 1: not JSON"),
        ("a.jsonl", b"[1]\n", "expected an object"),
        ("a.json", b'{"a": 1}', "expected a list"),
        ("a.csv", b"rater,rater\n1,2\n", "repeated columns"),
        ("a.csv", HEAD.encode() + b"\np__fig0001,r1,8,8,8,8,8,extra\n", "more cells than columns"),
        ("a.csv", HEAD.encode() + b"\np__fig0001,r1,8,8,8,8," + b'"8\n', "broken CSV"),
        ("a.csv", HEAD.encode() + b",mood\n" + GOOD.encode() + b",fine\n", "mood: Extra inputs are not permitted"),
    ],
)
def test_files_that_are_no_table(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    assert message in faults(path)[0]
    assert faults(path)[0].startswith(name)


def test_missing_file(tmp_path):
    assert faults(tmp_path / "none.csv") == ["none.csv: no such file"]


def test_papers_are_keyed_by_the_stem_of_the_pdf(tmp_path):
    path = write(tmp_path / "p.csv", "paper_id,file,year,venue", "2020.acl-main.1,main.pdf,2020,ACL", "other,,,")
    papers = read_papers(path)
    assert papers["main"].paper_id == "2020.acl-main.1" and papers["main"].year == 2020
    assert papers["other"].venue is None


def test_faults_of_a_papers_file(tmp_path):
    path = write(tmp_path / "p.csv", "paper_id,year,colour", "a,20,", "a,2020,", "b,2020,", "b,2020,red")
    with pytest.raises(TableError) as caught:
        read_papers(path)
    text = "\n".join(caught.value.problems)
    assert "line 2: year" in text and "line 5: colour" in text
    assert len(caught.value.problems) == 2


def test_a_paper_twice_is_a_fault(tmp_path):
    path = write(tmp_path / "p.csv", "paper_id", "a", "a")
    with pytest.raises(TableError, match="line 3: a stands there twice"):
        read_papers(path)


def test_the_real_ratings_read_whole(shared):
    rows = read_ratings(shared / "eval1200" / "ratings.csv")
    assert len(rows) == 3939
    assert len({row.rating.figure_id for row in rows}) == 1200
