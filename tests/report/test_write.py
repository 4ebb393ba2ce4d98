from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import stat
import tracemalloc
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from scifigqual_bench.report import write_report


class Outline(HTMLParser):
    """The elements and attribute names of a page in order, and the text of each kind of element."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: dict[str, list[str]] = {}
        self._inside: str | None = None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.attributes.extend((tag, name, value) for name, value in attrs)
        self._inside = tag
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside:
            self.texts[self._inside][-1] += data


def write(path, pairs, *, png=b"", **arguments):
    """A report of (figure, prediction) pairs, all with the same image; returns the page's text."""
    write_report(
        path,
        dataset_name=arguments.pop("dataset_name", "demo"),
        figures=((figure, png) for figure, _ in pairs),
        predictions={figure.figure_id: prediction for figure, prediction in pairs if prediction},
        **arguments,
    )
    return path.read_text(encoding="utf-8")


@pytest.fixture
def target(tmp_path):
    return tmp_path / "report.html"


# --- what the page says ---------------------------------------------------------------------------------------------


def test_the_page_holds_everything_about_a_figure(make, target):
    figure, prediction = make.everything("a text in every field")
    page = write(
        target,
        [(figure, prediction)],
        png=make.png(),
        manifest=make.manifest("some-model"),
        score_report={"overall_score": {"n": 1, "mae": 0.5, "within_1": 1.0, "spearman": None, "bias": -0.5}},
    )
    assert page.count("a text in every field") >= 40
    for expected in (
        "some-model",
        "2026-03-01 09:05 UTC",
        "agent",
        "undefined",
        "pairwise Within-1",
        "gold 7.50",
        "−0.50",
        "data:image/png;base64,",
        "4.5 pt",
        "Runner",
        "S2 ",
    ):
        assert expected in page, expected


def test_a_failed_row_says_why_and_shows_no_score(make, target):
    figure = make.figure()
    failed = make.prediction(figure, status="truncated", status_reason="cut at 2,048 tokens")
    page = write(target, [(figure, failed)], png=make.png())
    assert "cut at 2,048 tokens" in page and "Answer cut off" in page
    assert page.count("no score</span>") == 5
    assert not re.search(r"<b>\d+(\.\d+)?</b><span class=\"unseen\"> of 10", page)


def test_closed_dimensions_and_absent_predictions_are_named(make, target):
    page = write(target, [(make.figure(citations=[]), None)], png=make.png())
    assert "closed: no citing text" in page
    assert "No prediction" in page and "There is no run manifest" in page


def test_predictions_without_a_figure_are_listed(make, target):
    figure, gone = make.figure(), make.figure("gone", 7)
    counts = write_report(
        target,
        dataset_name="demo",
        figures=[(figure, make.png())],
        predictions={gone.figure_id: make.prediction(gone)},
    )
    assert counts.figures == 1 and counts.without_prediction == 1 and counts.without_figure == ("gone__fig0007",)
    assert "gone__fig0007" in target.read_text() and "1 prediction without a figure" in target.read_text()


def test_an_unreadable_image_is_told_on_its_card(make, target):
    figure = make.figure()
    counts = write_report(target, dataset_name="demo", figures=[(figure, b"no image")], predictions={})
    assert counts.unreadable_images == (figure.figure_id,)
    assert "No image: the bytes are not an image" in target.read_text()


def test_a_report_of_nothing_says_so(target):
    page = write(target, [])
    assert "There are no figures." in page and "0 figures from 0 papers" in page


def test_the_same_input_gives_the_same_bytes(make, tmp_path):
    pairs = [make.everything("text", index=index) for index in (1, 2)]
    first = write(tmp_path / "a.html", pairs, png=make.png(), manifest=make.manifest())
    assert write(tmp_path / "b.html", pairs, png=make.png(), manifest=make.manifest()) == first


def test_a_lone_surrogate_does_not_end_the_report(target):
    assert r"broken \ud800 name" in write(target, [], dataset_name="broken \ud800 name")


# --- what the page must not do --------------------------------------------------------------------------------------


def test_hostile_text_adds_no_element_and_no_attribute(make, hostile, tmp_path):
    def outline(text):
        pairs = [make.everything(text, paper=paper) for paper in (text, "other")]
        orphan = make.prediction(make.figure("gone " + text, 7))
        write_report(
            tmp_path / "page.html",
            dataset_name=text,
            title=text,
            figures=[(figure, make.png()) for figure, _ in pairs],
            predictions={p.figure_id: p for p in (*(prediction for _, prediction in pairs), orphan)},
            manifest=make.manifest(text),
            score_report=[{"column": text, text: 1.0}],
        )
        return Outline((tmp_path / "page.html").read_text(encoding="utf-8"))

    assert outline(hostile).tags == outline("plain").tags


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_no_text_adds_an_element_or_an_attribute(make, target, text):
    plain = Outline(write(target, [make.everything("x")])).tags
    assert Outline(write(target, [make.everything("x" + text)])).tags == plain


def test_the_index_for_the_script_can_not_be_broken_out_of(make, hostile, target):
    figure = make.figure(hostile, gold=8)
    page = write(target, [(figure, make.prediction(figure, 7))])
    (embedded,) = re.findall(r'<script type="application/json" id="index">(.*?)</script>', page, re.S)
    assert not set("<>&\u2028\u2029") & set(embedded)
    (entry,) = json.loads(embedded)
    assert entry["paper"] == hostile
    assert entry["judge"]["overall_score"] == 7.0 and entry["gold"]["overall_score"] == 8.0


def test_the_policy_names_the_hashes_of_the_style_and_the_script(make, target):
    outline = Outline(write(target, [make.everything("x")], png=make.png()))
    (policy,) = [value for _, name, value in outline.attributes if name == "content" and "default-src" in value]
    style, (_, script) = outline.texts["style"], outline.texts["script"]
    for kind, text in (("style-src", style[0]), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy and "img-src data:" in policy and "unsafe" not in policy


def test_the_page_points_nowhere_else(make, target):
    outline = Outline(write(target, [make.everything("x")], png=make.png()))
    for tag, name, value in outline.attributes:
        assert name != "style" and not name.startswith("on"), f"<{tag} {name}> would break the policy"
        if name in ("src", "href", "action", "srcset", "data", "poster"):
            assert value.startswith(("#", "data:image/")), f"<{tag} {name}={value[:40]}>"
    assert not {"link", "iframe", "object", "embed", "base"} & {tag for tag, _ in outline.tags}
    assert "@import" not in outline.texts["style"][0] and "url(" not in outline.texts["style"][0]


# --- how it is written ----------------------------------------------------------------------------------------------


def test_a_failure_leaves_the_old_page_and_no_scraps(make, target):
    target.write_text("old")

    def figures():
        yield make.figure(), make.png()
        raise OSError("the dataset ended")

    with pytest.raises(OSError, match="the dataset ended"):
        write_report(target, dataset_name="demo", figures=figures(), predictions={})
    assert target.read_text() == "old"
    assert list(target.parent.iterdir()) == [target]


def test_a_new_page_replaces_the_old_one_and_leaves_no_scraps(make, target):
    target.write_text("old")
    assert write(target, [(make.figure(), None)]).endswith("</html>\n")
    assert list(target.parent.iterdir()) == [target]


def test_the_folder_is_made_and_the_page_is_readable_as_any_file(make, tmp_path):
    target = tmp_path / "a" / "b" / "report.html"
    write(target, [])
    (tmp_path / "plain").write_text("")
    assert stat.S_IMODE(os.stat(target).st_mode) == stat.S_IMODE(os.stat(tmp_path / "plain").st_mode)


def test_a_folder_as_target_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="name a file"):
        write_report(tmp_path, dataset_name="demo", figures=[], predictions={})


def test_repeated_figures_are_all_named(make, target):
    figures = [(make.figure(index=index), make.png()) for index in (1, 2, 1, 2, 3)]
    with pytest.raises(ValueError, match="paper-1__fig0001, paper-1__fig0002"):
        write_report(target, dataset_name="demo", figures=figures, predictions={})
    assert not target.exists()


def test_predictions_under_wrong_ids_are_all_named(make, target):
    rows = {f"wrong-{index}": make.prediction(make.figure(index=index)) for index in (1, 2)}
    with pytest.raises(ValueError, match=r"'wrong-1' holds 'paper-1__fig0001'; 'wrong-2' holds"):
        write_report(target, dataset_name="demo", figures=[], predictions=rows)


def test_memory_does_not_grow_with_the_images(make, tmp_path):
    def peak(count):
        def figures():
            for index in range(count):
                pixels = np.random.default_rng(index).integers(0, 256, (250, 400, 3), dtype=np.uint8)
                yield make.figure(index=index), encoded(pixels)

        tracemalloc.start()
        write_report(tmp_path / f"{count}.html", dataset_name="demo", figures=figures(), predictions={})
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    def encoded(pixels):
        path = tmp_path / "figure.bmp"
        Image.fromarray(pixels).save(path)
        return path.read_bytes()

    peak(1)  # templates compiled
    few, many = peak(4), peak(34)
    image = (tmp_path / "34.html").stat().st_size / 34
    assert image > 80_000
    assert many - few < 5 * image, "thirty more figures must not need the memory of five more images"
