"""Import of the public release: files made to its schema, and the real numbers."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scifigqual_bench.commands.inputs import read_gold
from scifigqual_bench.dataset.folder import DatasetError, DatasetFolder
from scifigqual_bench.dataset.release import ReleaseError, import_release, pseudonym
from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS, OVERALL
from scifigqual_bench.scoring import ceilings, score
from tests.dataset.release_files import RATERS, annotation, picture, row, write_csv, write_release
from tests.scoring.test_eval1200 import TABLE

pytestmark = pytest.mark.usefixtures("without_plots")

VC, SL, CC, CTX, MR = DIMENSION_KEYS
NO_MEANS = {f"human_{key}": None for key in (*DIMENSION_KEYS, OVERALL)}


def imported(tmp_path, rows, **options):
    """Report, rows and problems of an import; of a problem its code and message."""
    write_release(tmp_path / "release", rows)
    return again(tmp_path, **options)


def again(tmp_path, **options):
    out = tmp_path / "scifigqual-bench"
    report = import_release(tmp_path / "release", out, overwrite=True, **options)
    with (out / "problems.jsonl").open(encoding="utf-8") as lines:
        problems = [json.loads(line) for line in lines]
    return report, list(DatasetFolder(out).figures()), [(p["code"], p["message"]) for p in problems]


def codes(problems):
    return sorted(code for code, _ in problems)


def test_a_release_without_faults(tmp_path):
    report, rows, problems = imported(tmp_path, [row(1), row(2)])
    figure, image = rows[0]
    assert image == picture(0)
    assert (figure.figure_id, figure.paper_id_norm, figure.number) == (
        "0001_2020.acl-main.1__fig0001",
        "2020.acl-main.1",
        "1",
    )
    assert (figure.venue, figure.year, figure.section) == ("ACL", 2020, "Results")
    assert (figure.topic, figure.subtopic) == ("Language", "Parsing")
    assert (figure.width, figure.height) == (160, 100)
    assert figure.caption == "Figure 1: Accuracy (%) of A and B." and figure.caption_raw is None
    (citation,) = figure.citations
    assert (citation.kind, citation.mentions) == ("comparison", ["Figure 1"])
    assert figure.open_dimensions == figure.gold.open_dimensions == list(DIMENSION_KEYS)
    assert figure.gold.visual_clarity == 19 / 3
    assert figure.gold.overall_score == pytest.approx(5.8)
    first = figure.ratings[0]
    assert (first.rater_id, first.source, first.rated_at) == ("Rater_01", "human/Rater_01", "2026-01-01T10:00:00")
    assert (first.summary, first.suggestion) == ("Reads well.", "Larger labels.")
    assert first.reasons.misleading_risk == "misleading_risk: because"
    assert (report.figures, report.images, report.rated, report.ratings, report.raters) == (2, 2, 2, 6, 3)
    assert report.papers_with_serial == 1
    assert problems == [] and report.problems == {}


def test_load_dataset_reads_it(tmp_path):
    from datasets import load_dataset

    imported(tmp_path, [row(1)])
    table = load_dataset(str(tmp_path / "scifigqual-bench"), split="eval1200", cache_dir=tmp_path / "cache")
    assert table[0]["image"].size == (160, 100)
    assert table[0]["gold"]["visual_clarity"] == 19 / 3


def test_the_same_release_gives_the_same_bytes(tmp_path):
    found = []
    write_release(tmp_path / "release", [row(1), row(2)])
    for name in ("a", "b"):
        out = tmp_path / name / "scifigqual-bench"
        import_release(tmp_path / "release", out)
        found.append({f.relative_to(out): f.read_bytes() for f in out.rglob("*") if f.is_file()})
    assert found[0] == found[1]
    assert {"release_report.json", "problems.jsonl", "README.md"} <= {path.name for path in found[0]}


@pytest.mark.parametrize("field", sorted(set(row()) - {"figure_id"}))
def test_any_field_may_be_missing(tmp_path, field):
    bare = {key: value for key, value in row(1).items() if key != field}
    report, rows, _ = imported(tmp_path, [bare, row(2, **{field: None})])
    assert report.figures == len(rows) == 2
    assert all(figure.gold is not None for figure, _ in rows)


def test_an_id_alone_is_a_figure_without_gold(tmp_path):
    report, ((figure, image),), problems = imported(tmp_path, [{"figure_id": "p__fig0003"}])
    assert report.rated == 0
    assert (figure.gold, figure.caption, figure.fig_index) == (None, "", 3)
    assert codes(problems) == ["evidence-unknown", "without-gold"]
    assert figure.open_dimensions == []
    assert image == picture(0)  # found by its name


def test_paper_and_index_make_an_id(tmp_path):
    bare = row(1)
    del bare["figure_id"]
    _, ((figure, _),), _ = imported(tmp_path, [bare])
    assert figure.figure_id == "0001_2020.acl-main.1__fig0001"


def test_one_bad_row_never_ends_the_import(tmp_path):
    bad = ["{not json", "[]", "null", "", '{"venue": "ACL"}', '{"figure_id": "nonsense"}', "[" * 100_000]
    report, rows, problems = imported(tmp_path, [*bad, row(1), row(1, caption="Again."), row(2)])
    assert [figure.fig_index for figure, _ in rows] == [1, 2]
    assert report.problems == {
        "figure-repeated": 1,
        "row-unreadable": 4,
        "row-without-id": 2,
    }
    assert rows[0][0].caption.startswith("Figure 1")
    assert any("line 9" in message and "comes again" in message for _, message in problems)


def test_an_editor_s_byte_order_mark_line_ends_and_torn_last_line(tmp_path):
    folder = write_release(tmp_path / "release", [row(1), "", row(2)])
    text = (folder / "figures.jsonl").read_bytes().replace(b"\n", b"\r\n")
    (folder / "figures.jsonl").write_bytes(b"\xef\xbb\xbf" + text + json.dumps(row(3)).encode()[:200])
    report, _, problems = again(tmp_path)
    assert report.figures == 2 and codes(problems) == ["row-unreadable"]
    assert "line 4: not JSON" in problems[0][1]


def test_a_quote_that_is_never_closed_swallows_nothing_in_silence(tmp_path):
    (tmp_path / "release").mkdir()
    lines = ["figure_id,title,human_visual_clarity", "p__fig0001,A,8", 'p__fig0002,"B,8', "p__fig0003,C,8"]
    (tmp_path / "release" / "human_means.csv").write_text("\n".join(lines))
    report, rows, problems = again(tmp_path)
    assert [figure.figure_id for figure, _ in rows] == ["p__fig0001"] and report.problems["row-unreadable"] == 1
    assert "human_means.csv, lines 3 to 4: broken CSV" in dict(problems)["row-unreadable"]


@pytest.mark.parametrize(
    ("header", "told"), [("figure_id,title,title", "repeated columns title"), ('figure_id,"a"b', "broken CSV")]
)
def test_a_header_that_says_nothing_sure(tmp_path, header, told):
    folder = write_release(tmp_path / "release", [row(1)])
    (folder / "human_means.csv").write_text(f"{header}\n0001_2020.acl-main.1__fig0001,A,B\n")
    report, _, problems = again(tmp_path)
    assert report.figures == 1 and told in dict(problems)["file-unreadable"]


def test_bytes_that_are_no_text(tmp_path):
    folder = write_release(tmp_path / "release", [row(1)])
    with (folder / "figures.jsonl").open("ab") as file:
        file.write(b'{"figure_id": "p__fig0001", "caption": "\xff"}\n')
    report, _, problems = again(tmp_path)
    assert report.figures == 1
    assert ("row-unreadable", 1) in report.problems.items()
    assert "line 2" in dict(problems)["row-unreadable"]


@pytest.mark.parametrize(
    ("field", "value", "code", "found"),
    [
        ("year", "2020", "field-retyped", ("year", 2020)),
        ("year", 2020.0, None, ("year", 2020)),
        ("year", "MMXX", "field-wrong", ("year", None)),
        ("year", True, "field-wrong", ("year", None)),
        ("year", 20200, "field-wrong", ("year", None)),
        ("venue", 7, "field-retyped", ("venue", "7")),
        ("venue", ["ACL"], "field-wrong", ("venue", None)),
        ("title", "x" * 200_000, "field-cut", ("title", "x" * 100_000)),
        ("width", -3, "field-wrong", ("width", 160)),
        ("width", 161, "image-size-differs", ("width", 160)),
        ("paper_id_norm", "other", "paper-id-norm-differs", ("paper_id_norm", "2020.acl-main.1")),
        (
            "context_texts",
            "As Figure 1 shows, A is better.",
            "field-retyped",
            ("open_dimensions", list(DIMENSION_KEYS)),
        ),
        ("context_texts", ["", None, 3, "Figure 1."], "context-item-wrong", ("open_dimensions", list(DIMENSION_KEYS))),
        ("context_count", 4, "context-count-differs", ("open_dimensions", list(DIMENSION_KEYS))),
        ("annotator_count", 4, "rating-count-differs", ("fig_index", 1)),
        ("human_misleading_risk", 11, "score-out-of-range", ("fig_index", 1)),
        ("human_visual_clarity", 6.4, "gold-differs", ("fig_index", 1)),
        ("human_overall_score", 5.85, "overall-differs", ("fig_index", 1)),
    ],
)
def test_odd_values_are_told(tmp_path, field, value, code, found):
    _, ((figure, _),), problems = imported(tmp_path, [row(1, **{field: value})])
    assert getattr(figure, found[0]) == found[1]
    assert ({code} if code else set()) <= set(codes(problems))
    if code:
        message = next(message for own, message in problems if own == code)
        assert message.startswith("figures.jsonl, line 1") and figure.figure_id in message
    else:
        assert problems == []


def test_scores_that_are_none(tmp_path):
    ratings = [
        annotation("Rater_01", (11, 0, 7, 7, 7)),
        annotation("Rater_02", (7, 7, 7, 7, 7)) | {VC: 7.5, SL: "8", CC: "eight", CTX: True, MR: 7.0},
        annotation("Rater_03", (7, 7, 7, 7, 7)) | {VC: float("nan"), "overall_score": 99},
        {"source_name": "Rater_04"},
        "no object",
    ]
    _, ((figure, _),), problems = imported(tmp_path, [row(1, annotations=ratings, annotator_count=3)])
    assert [tuple(getattr(r, key) for key in DIMENSION_KEYS) for r in figure.ratings] == [
        (None, None, 7, 7, 7),
        (None, 8, None, None, 7),
        (None, 7, 7, 7, 7),
    ]
    assert figure.gold.visual_clarity is None and figure.gold.structure_layout == 7.5
    assert figure.ratings[2].overall_score is None
    told = codes(problems)
    for code, times in {
        "score-out-of-range": 3,
        "score-not-integer": 1,
        "field-retyped": 1,
        "field-wrong": 3,
        "rating-empty": 1,
        "rating-unreadable": 1,
        "gold-differs": 1,
    }.items():
        assert told.count(code) == times, code


def test_raters_have_pseudonyms_and_no_address_is_left(tmp_path):
    address = "Jane.Doe@example.org"
    ratings = [
        annotation(address, (7, 7, 7, 7, 7), summary=f"ask {address}", visual_clarity_reason=f"{address}: sharp"),
        annotation(address, (8, 8, 8, 8, 8)),
        annotation("", (8, 8, 8, 8, 8), overall_score=address),
    ]
    report, ((figure, _),), problems = imported(tmp_path, [row(1, annotations=ratings)])
    own = pseudonym(address)
    assert [rating.rater_id for rating in figure.ratings] == [own, f"{own}.2", "unnamed-3"]
    assert figure.ratings[0].source == f"human/{own}"
    assert {"rater-repeated", "rater-unnamed", "email-removed"} <= set(codes(problems))
    everything = b"".join(
        p.read_bytes() for p in (tmp_path / "scifigqual-bench").rglob("*.*") if p.suffix != ".parquet"
    )
    assert "@example" not in figure.model_dump_json() and b"@example" not in everything
    assert pseudonym(address) == pseudonym(address.lower()) != pseudonym("John.Doe@example.org")
    assert report.raters == 3


def test_context_without_text_and_both_masks(tmp_path):
    odd = row(1, context_texts=[], context_count=0)
    report, ((figure, _),), problems = imported(tmp_path, [odd])
    assert report.context_rated_without_text == 1
    assert CTX not in figure.open_dimensions and CTX not in figure.gold.open_dimensions
    assert figure.gold.context_consistency is not None
    assert "context-rated-without-text" in codes(problems)
    assert [mark.code for mark in figure.curation_marks] == ["rated-while-closed"]
    _, ((figure, _),), _ = again(tmp_path, mask="gold")
    assert CTX in figure.open_dimensions and CTX not in figure.gold.open_dimensions


def test_the_gold_mask_closes_what_nobody_rated(tmp_path):
    ratings = [annotation(rater, (7, 7, 7, None, 7)) for rater in RATERS]
    _, ((figure, _),), _ = imported(tmp_path, [row(1, annotations=ratings, **NO_MEANS)], mask="gold")
    assert CTX not in figure.open_dimensions and CTX in figure.gold.open_dimensions


def test_neither_caption_nor_text_keeps_the_gold_and_opens_nothing(tmp_path):
    report, ((figure, _),), problems = imported(tmp_path, [row(1, caption=" ", context_texts=[], context_count=0)])
    assert figure.open_dimensions == [] and report.rated == 1
    assert codes(problems).count("rated-while-closed") == 4


def test_uneven_nulls_make_two_overalls(tmp_path):
    ratings = [annotation("Rater_01", (9, 9, 9, 3, 9)), annotation("Rater_02", (9, 9, 9, None, 9))]
    stated = {f"human_{key}": value for key, value in zip(DIMENSION_KEYS, (9, 9, 9, 3, 9), strict=True)}
    odd = row(1, annotations=ratings, annotator_count=2, **stated, human_overall_score=8.4)
    report, ((figure, _),), _ = imported(tmp_path, [odd])
    assert figure.gold.overall_score == 7.8 and figure.gold.overall_rater_mean == 8.4
    overall = report.overall
    assert (overall.uneven_nulls, overall.readings_differ, overall.off_dimension_first_uneven) == (1, 1, 1)
    assert (overall.off_rater_mean, overall.off_stored_rater_mean) == (0, 0)


def test_captions_are_cleaned_and_kept(tmp_path):
    raw = "Figure 1: Our *JLPC* of [\\(6\\)](#page-3-3)."
    _, ((figure, _),), problems = imported(tmp_path, [row(1, caption=raw)])
    assert (figure.caption, figure.caption_raw) == ("Figure 1: Our JLPC of (6).", raw)
    assert "caption-markup" in codes(problems)


def test_images_of_all_kinds(tmp_path):
    rows = [row(k, image=f"{k}{suffix}") for k, suffix in enumerate((".jpg", ".webp", ".png", ".png"), start=1)]
    folder = write_release(tmp_path / "release", rows, images=False)
    (folder / "images" / "1.jpg").write_bytes(picture(1, kind="JPEG"))
    (folder / "images" / "2.webp").write_bytes(picture(2, kind="WEBP"))
    (folder / "images" / "3.png").write_bytes(picture(3)[:-200])
    _, found, problems = again(tmp_path)
    assert found[0][1] == picture(1, kind="JPEG")
    assert found[1][1].startswith(b"\x89PNG") and found[1][0].width == 160
    assert [image for _, image in found[2:]] == [None, None]
    assert found[2][0].image_sha256 is None and found[2][0].width == 160
    told = codes(problems)
    assert told.count("image-unreadable") == 1 and told.count("image-missing") == 1


def test_images_that_cannot_be_read_are_told_alike_each_time(tmp_path, monkeypatch):
    """By any path to the folder, and with no address in memory in the text."""
    rows = [row(index) for index in range(1, 4)]
    folder = write_release(tmp_path / "release", rows)
    names = [folder / "images" / f"{item['figure_id']}.png" for item in rows]
    names[0].write_bytes(b"no image")
    names[1].write_bytes(picture(2)[:-200])
    monkeypatch.setattr("scifigqual_bench.dataset.release.MAX_IMAGE_BYTES", len(picture(2)) - 1)
    monkeypatch.chdir(tmp_path)
    import_release(Path("release"), Path("one"))
    import_release(folder, Path("two"))
    told = [(tmp_path / out / "problems.jsonl").read_bytes() for out in ("one", "two")]
    assert told[0] == told[1] and told[0].count(b"image-unreadable") == 3
    assert b"of no known format" in told[0] and b"larger than" in told[0] and b" at 0x" not in told[0]


def test_an_image_that_comes_twice_and_ids_that_look_alike_are_told(tmp_path):
    first = row(1)
    rows = [first, row(2, image=first["image"]), row(3, paper="2020.ACL-main.1", title="Another title of a paper")]
    report, found, problems = imported(tmp_path, rows)
    assert found[0][1] == found[1][1]
    assert dict(problems)["image-repeated"].endswith("fig0002: the image is that of 0001_2020.acl-main.1__fig0001")
    assert "2020.acl-main.1 and 2020.ACL-main.1 differ in capitals" in dict(problems)["paper-ids-alike"]
    assert report.papers == 2


@pytest.mark.parametrize("name", ["../secret.png", "/etc/hostname", "link.png", "\0", "x" * 5000, "images"])
def test_an_image_is_taken_from_the_folder_only(tmp_path, name):
    (tmp_path / "secret.png").write_bytes(picture(7))
    folder = write_release(tmp_path / "release", [row(1, image=name)], images=False)
    (folder / "images" / "link.png").symlink_to(tmp_path / "secret.png")
    _, ((_, image),), problems = again(tmp_path)
    assert image is None and "image-missing" in codes(problems)


def test_an_image_is_found_by_its_name_where_its_folder_was_another(tmp_path):
    _, ((_, image),), _ = imported(tmp_path, [row(1, image="/home/someone/out/0001_2020.acl-main.1__fig0001.png")])
    assert image == picture(0)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
odd_ratings = st.lists(
    st.dictionaries(st.sampled_from(sorted(annotation("r", (7,) * 5))), anything) | anything, max_size=3
)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(sorted(set(row()) - {"figure_id"})), anything), odd_ratings | anything)
def test_whatever_a_row_holds_it_is_imported(without_plots, fields, ratings):
    with tempfile.TemporaryDirectory() as folder:
        _, rows, _ = imported(Path(folder), [row(1, annotations=ratings) | fields, row(2)])
    assert [figure.fig_index for figure, _ in rows] == [1, 2]
    assert rows[1][0].gold.visual_clarity == 19 / 3


def test_unknown_fields_are_counted(tmp_path):
    rows = [row(1, colour="red"), row(2, colour="blue", annotations=[{**annotation("Rater_01", (7,) * 5), "mood": 1}])]
    report, _, problems = imported(tmp_path, rows)
    assert report.unknown_fields == {"colour": 2, "mood": 1}
    assert codes(problems).count("unknown-field") == 2


def test_two_ids_of_one_paper(tmp_path):
    report, _, problems = imported(tmp_path, [row(1), row(2, paper="2020.acl-main.1")])
    assert "paper-twice" in codes(problems) and report.papers == 2


def test_means_alone_are_gold_without_ratings(tmp_path):
    folder = tmp_path / "release"
    folder.mkdir()
    keys = ("figure_id", "annotator_count", *NO_MEANS)
    full = {key: row(1)[key] for key in keys}
    bare = {key: row(2)[key] for key in keys} | {"human_context_consistency": None, "annotator_count": None}
    write_csv(folder / "human_means.csv", [full, bare])
    report, ((one, image), (two, _)), _ = again(tmp_path)
    assert image is None and one.ratings == []
    assert (one.gold.visual_clarity, one.gold.n_ratings, two.gold.n_ratings) == (6.3333, 3, None)
    assert one.gold.overall_rater_mean == 5.8
    assert two.gold.overall_score == pytest.approx((6.3333 + 6.6667 + 5.3333 + 4.3333) / 4)
    assert one.open_dimensions == list(DIMENSION_KEYS) and CTX not in two.open_dimensions
    assert report.problems == {"evidence-unknown": 2, "image-missing": 2}


def test_files_are_put_together(tmp_path):
    bare = {key: value for key, value in row(1).items() if key not in ("caption", "annotations", *NO_MEANS)}
    folder = write_release(tmp_path / "release", [bare])
    means = {key: row(1)[key] for key in ("figure_id", "venue", *NO_MEANS)} | {"venue": "EMNLP"}
    write_csv(folder / "human_means.csv", [means])
    (folder / "captions.jsonl").write_text(json.dumps({"figure_id": bare["figure_id"], "caption": "Figure 1: A."}))
    ids = (bare["figure_id"], "q__fig0001")
    write_csv(
        folder / "ratings.csv", [{"figure_id": i, "rater": "Rater_01", **dict.fromkeys(DIMENSION_KEYS, 7)} for i in ids]
    )
    report, ((one, _), (two, _)), problems = again(tmp_path)
    assert (one.caption, one.venue, one.gold.visual_clarity) == ("Figure 1: A.", "ACL", 7)
    assert two.figure_id == "q__fig0001" and two.gold.visual_clarity == 7
    assert {"files-disagree", "figure-not-listed", "gold-differs"} <= set(codes(problems))
    assert sorted(report.files) == ["captions.jsonl", "figures.jsonl", "human_means.csv", "ratings.csv"]


def test_folders_that_are_no_release(tmp_path):
    with pytest.raises(ReleaseError, match="no such folder"):
        import_release(tmp_path / "none", tmp_path / "out")
    (tmp_path / "repo" / "data").mkdir(parents=True)
    with pytest.raises(ReleaseError, match=r"neither figures\.jsonl"):
        import_release(tmp_path / "repo", tmp_path / "out")
    (tmp_path / "repo" / "data" / "figures.jsonl").write_text("nonsense\n")
    with pytest.raises(ReleaseError, match=r"there is one in .*data"):
        import_release(tmp_path / "repo", tmp_path / "out")
    with pytest.raises(ReleaseError, match=r"no row could be imported\n.*line 1: not JSON"):
        import_release(tmp_path / "repo" / "data", tmp_path / "out")
    with pytest.raises(DatasetError, match="name of a split"):
        import_release(tmp_path / "repo" / "data", tmp_path / "out", split="../x")
    assert not (tmp_path / "out").exists()


def test_a_failed_import_leaves_the_old_dataset(tmp_path):
    imported(tmp_path, [row(1)])
    before = (tmp_path / "scifigqual-bench" / "README.md").read_bytes()
    (tmp_path / "release" / "figures.jsonl").write_text("nonsense\n")
    with pytest.raises(ReleaseError):
        again(tmp_path)
    assert (tmp_path / "scifigqual-bench" / "README.md").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"release", "scifigqual-bench"}


# --- the real numbers -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def eval1200(shared, tmp_path_factory):
    out = tmp_path_factory.mktemp("eval1200") / "scifigqual-bench"
    return import_release(shared / "eval1200", out), out


def test_counts_of_the_public_release(eval1200):
    report, _ = eval1200
    assert (report.figures, report.papers, report.ratings, report.raters, report.images) == (1200, 254, 3939, 16, 0)
    assert report.gold == dict.fromkeys(DIMENSION_KEYS, 1200) | {CTX: 807}
    assert report.evidence == dict.fromkeys(DIMENSION_KEYS, 1200) | {CTX: 625}
    assert report.context_rated_without_text == 182
    assert report.stated_gold_differs == 0
    assert report.overall.model_dump() == {
        "stated": 1200,
        "uneven_nulls": 51,
        "off_dimension_first": 126,
        "off_dimension_first_uneven": 42,
        "off_rater_mean": 84,
        "off_stored_rater_mean": 0,
        "readings_differ": 44,
    }


@pytest.mark.parametrize("key", COLUMNS)
def test_published_numbers_through_the_imported_dataset(eval1200, key):
    gold = read_gold(eval1200[1], None)
    result = score(constant(gold), gold.rows, ratings=gold.ratings, resamples=0).columns[key]
    mean, n, mae, within_1, spread_mean, spread_median, pairwise, items, loo_mae, alpha = TABLE[key]
    floor, ceiling = result.floors["mean"], result.ceiling
    assert (f"{floor.constant:.2f}", result.open, result.scored) == (mean, n, n)
    assert (f"{floor.mae.value:.3f}", f"{100 * floor.within_1.value:.1f}") == (mae, within_1)
    assert (f"{ceiling.spread_mean:.2f}", f"{ceiling.spread_median:.1f}") == (spread_mean, spread_median)
    assert (f"{100 * ceiling.pairwise_within_1.value:.1f}", ceiling.items) == (pairwise, items)
    assert f"{ceiling.loo_mae.value:.2f}" == loo_mae
    if key != OVERALL:  # the published one is of the stored overalls
        assert f"{ceiling.alpha_ordinal.value:.3f}" == alpha
    stored = ceilings(gold.ratings, rater_overall="stored", resamples=0).columns[OVERALL]
    assert f"{stored.alpha_ordinal.value:.3f}" == TABLE[OVERALL][-1]


def constant(gold):
    """A judge that says 8 of everything that people rated."""
    return [{"figure_id": row["figure_id"], **{key: row[key] and 8 for key in DIMENSION_KEYS}} for row in gold.rows]


def test_the_evidence_mask_of_the_imported_dataset(eval1200):
    gold = read_gold(eval1200[1], None)
    report = score(constant(gold), gold.rows, mask="evidence", resamples=0)
    assert report.columns[CTX].open == 625
    assert report.coverage.scored_closed[CTX].count == 182
