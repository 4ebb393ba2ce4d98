"""The page for authors: what it shows, that it is safe, and what a browser makes of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from scifigqual_bench.features.ocr import NoOcr
from scifigqual_bench.judges.check import CheckResult, check_paper, check_rules
from scifigqual_bench.records import Problem
from scifigqual_bench.report.check import OUTLINE, close_up, write_check
from scifigqual_bench.report.checked import CheckedFigure, CheckFinding, PaperCheck
from scifigqual_bench.samples.make import SampleSet
from tests.report.test_explain import OVERFLOW, Elements


@pytest.fixture(scope="module")
def result(samples: SampleSet) -> CheckResult:
    return check_paper(samples.pdf_folder / "larkspur-acl21.pdf", ocr=NoOcr())


@pytest.fixture(scope="module")
def page_file(result: CheckResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("check") / "deep" / "page.html"
    write_check(out, result.check, result.images)
    return out


@pytest.fixture(scope="module")
def hostile_file(hostile: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page whose every text that comes from a paper or a configuration is hostile."""
    buffer = io.BytesIO()
    Image.new("RGB", (300, 200), "white").save(buffer, "PNG")
    states = ("open", "held", "silenced")
    findings = [
        CheckFinding(
            id=f"{state} {hostile}",
            rule=check_rules()[0].id,
            evidence=hostile,
            level="warning",
            weight=1.0,
            state=state,
            reason=hostile,
            page=1,
            bbox=[0.0, 0.0, 10.0, 10.0],
            image_bbox=[0.0, 0.0, 300.0, 2.0],
        )
        for state in states
    ]
    figure = CheckedFigure(
        label=hostile,
        number=hostile,
        caption=hostile,
        page=1,
        citing=[hostile],
        score=9.0,
        findings=findings,
        unchecked=hostile,
    )
    check = PaperCheck(
        path=f"no such {hostile}".replace("\0", ""),
        sha256="0" * 64,
        version="1",
        title=hostile,
        pages=1,
        text_from=hostile,
        score=9.0,
        figures=[figure, figure],
        findings=findings,
        problems=[Problem(code=hostile, message=hostile)],
        unused=[hostile],
        rules=check_rules(),
    )
    out = tmp_path_factory.mktemp("hostile") / "page.html"
    write_check(out, check, [buffer.getvalue(), None], show_held=True)
    return out


def test_every_finding_is_there_with_its_place(result: CheckResult, page_file: Path):
    page = Elements(page_file.read_text(encoding="utf-8"))
    for figure in result.check.figures:
        assert figure.caption in page.text
    findings = [finding for _, finding in result.check.all_findings()]
    assert page.count("li") == len(findings) > 0
    rules = result.check.rule_of
    for finding in findings:
        for text in (finding.evidence, rules[finding.rule].says, rules[finding.rule].mend, finding.rule):
            assert text in page.text
    placed = [finding for finding in findings if finding.image_bbox or finding.rule == "REF-NOT-CITED"]
    assert page.count("img", **{"class": "close-up"}) == len(placed) > 1


def test_links_lead_somewhere(page_file: Path):
    found = Elements(page_file.read_text(encoding="utf-8")).found
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {attributes["href"].removeprefix("#") for tag, attributes in found if tag == "a"} <= set(ids)


def test_nothing_of_a_paper_becomes_markup(hostile_file: Path):
    page = Elements(hostile_file.read_text(encoding="utf-8"))
    assert page.count("script") == 0
    assert page.count("style") == 1
    assert {tag for tag, _ in page.found if tag in ("iframe", "object", "form", "link", "base")} == set()
    assert not [name for _, attributes in page.found for name in attributes if name.startswith("on")]
    assert all(given["src"].startswith("data:image/") for tag, given in page.found if tag == "img")


def test_a_folder_is_no_page(result: CheckResult, tmp_path: Path):
    with pytest.raises(IsADirectoryError, match="name a file"):
        write_check(tmp_path, result.check, result.images)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 400), st.integers(1, 400), st.tuples(*[st.floats(0, 1)] * 4))
def test_a_close_up_lies_within_the_figure_and_shows_its_place(width: int, height: int, shares: tuple[float, ...]):
    x0, x1 = sorted(share * width for share in shares[:2])
    y0, y1 = sorted(share * height for share in shares[2:])
    shown = close_up(Image.new("RGB", (width, height), "white"), [x0, y0, x1, y1])
    assert 1 <= shown.original_width <= width and 1 <= shown.original_height <= height


def test_a_close_up_outlines_its_place():
    import base64

    shown = close_up(Image.new("RGB", (1000, 400), "white"), [480, 190, 520, 210])
    picture = Image.open(io.BytesIO(base64.b64decode(shown.uri.partition(",")[2]))).convert("RGB")
    assert picture.getpixel((150 - 20 - 1, 60)) == OUTLINE
    assert picture.getpixel((150, 60)) == (255, 255, 255)


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_fit_and_ask_for_nothing(visit, page_file: Path, hostile_file: Path, width: int):
    for path in (page_file, hostile_file):
        page = visit(path, width=width)
        assert page.evaluate(OVERFLOW) <= 0
        assert page.evaluate("document.title").endswith("figures checked")
    assert page.locator("details.set-aside[open]").count() == 3
    assert page.evaluate("getComputedStyle(document.body).display") != "none"


@pytest.mark.browser
def test_marks_stand_where_the_findings_are(visit, page_file: Path):
    page = visit(page_file)
    mark = page.locator(".picture .overlay path").first.bounding_box()
    image = page.locator(".picture img").nth(0).evaluate_handle("e => e")
    assert image and mark["width"] > 0 and mark["height"] > 0
    inside = page.locator(".picture:has(path)").first.bounding_box()
    assert inside["x"] - 3 <= mark["x"] and mark["x"] + mark["width"] <= inside["x"] + inside["width"] + 3
    assert inside["y"] - 3 <= mark["y"] and mark["y"] + mark["height"] <= inside["y"] + inside["height"] + 3
