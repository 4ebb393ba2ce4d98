"""The page that explains an extraction: what it draws, that it is safe, and what a browser shows of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pymupdf
import pytest

from scifigqual_bench.pdf.extract import analyse_paper, extract_paper
from scifigqual_bench.records import PaperMeta
from scifigqual_bench.report.explain import LAYERS, Overlay, explain
from scifigqual_bench.samples.make import SampleSet
from tests.pdf.hostile_pdf import GRAPHIC, SCRIPT, bars, honest, one_page, rotated, written
from tests.pdf.made_pdf import FULL, LEFT, RIGHT, Paper, caption, prose

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Elements(HTMLParser):
    """The elements of a page, each with its attributes; its text apart."""

    def __init__(self, html: str):
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def count(self, tag: str, **attributes: str) -> int:
        return sum(name == tag and attributes.items() <= given.items() for name, given in self.found)


def explained(pdf: Path) -> Elements:
    out = pdf.with_suffix(".html")
    explain(pdf, out)
    return Elements(out.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def sample(samples: SampleSet) -> Path:
    return sorted(samples.pdf_folder.glob("*.pdf"))[0]


@pytest.fixture(scope="module")
def page_file(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("explained") / "deep" / "page.html"
    explain(sample, out)
    return out


@pytest.fixture
def incomplete(tmp_path: Path) -> Path:
    """A paper that has figure 1, and names figures 1 on its page and after it, and figure 7, which it does not have."""
    paper = Paper(tmp_path / "incomplete.pdf")
    page = paper.page()
    top = prose(page, FULL, 60, 6, "The bars of Figure 1 are what")
    bars(page, (150, top + 20, 450, top + 200))
    below = caption(page, FULL, top + 210, "Figure 1: What is shown here, in the words of a caption.")
    prose(page, FULL, below + 20, 6, "Nobody can see Figure 7 in this paper, where")
    page = paper.page()
    prose(page, FULL, 60, 9, "Once more the reader is sent to Figure 1 while")
    paper.pdf.save(paper.path)
    return paper.path


# --- what is on the page ----------------------------------------------------------------------------------------------


def test_every_page_and_figure_is_there(sample: Path, page_file: Path):
    extraction = extract_paper(sample, PaperMeta(paper_id=sample.stem))
    page = Elements(page_file.read_text(encoding="utf-8"))
    assert page.count("svg", **{"class": "overlay"}) == extraction.report.pages
    assert page.count("article") == extraction.report.figures_found > 0
    for item in extraction.figures:
        assert item.figure.figure_id in page.text
        assert item.figure.caption in page.text
    assert f"{extraction.report.figures_kept} kept" in page.text


def test_links_lead_somewhere(page_file: Path):
    found = Elements(page_file.read_text(encoding="utf-8")).found
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {attributes["href"] for tag, attributes in found if tag == "a"}
    assert {target.removeprefix("#") for target in targets} <= set(ids)
    assert any(target.startswith("#figure-") for target in targets)


def test_a_figure_that_is_missing_shows(incomplete: Path):
    page = explained(incomplete)
    assert page.text.count("Figure 7?") == 1
    assert "names figure 7, which was not found" in page.text


def test_mentions_are_drawn_where_they_are_printed(incomplete: Path):
    overlay = Overlay(analyse_paper(incomplete, "p"))
    with pymupdf.open(incomplete) as pdf:
        for number, layer, text in ((1, "link", "Figure 1"), (1, "dangling", "Figure 7"), (2, "link", "Figure 1")):
            (shape,) = [shape for shape in overlay.shapes[number] if shape.layer == layer]
            box = pymupdf.Rect(*(float(v) for v in re.findall(r"[\d.]+", shape.outline)[:2]), 0, 0)
            distance = min(abs(box.x0 - hit.x0) + abs(box.y0 - hit.y0) for hit in pdf[number - 1].search_for(text))
            assert distance < 8, (number, text)
    (here,) = [shape for shape in overlay.shapes[1] if shape.layer == "link"]
    (away,) = [shape for shape in overlay.shapes[2] if shape.layer == "link"]
    assert (here.label, "L" in here.outline) == ("→ Figure 1", True)
    assert (away.label, "L" in away.outline) == ("→ Figure 1, p. 1", False)
    assert here.target == away.target == "figure-1"


def test_a_list_with_one_missing_figure_is_linked_and_marked(tmp_path: Path):
    paper = Paper(tmp_path / "p.pdf")
    page = paper.page()
    top = prose(page, FULL, 60, 6, "Compare Figures 1 and 8 with each other, for")
    bars(page, (150, top + 20, 450, top + 200))
    caption(page, FULL, top + 210, "Figure 1: What is shown here, in the words of a caption.")
    paper.pdf.save(paper.path)
    layers = [shape.layer for shape in Overlay(analyse_paper(paper.path, "p")).shapes[1]]
    assert (layers.count("link"), layers.count("dangling")) == (1, 1)


def test_paragraphs_are_numbered_across_columns(tmp_path: Path):
    paper = Paper(tmp_path / "columns.pdf")
    page = paper.page()
    for edges in (LEFT, RIGHT):
        prose(page, edges, 60, 40, "A column of text.")
    paper.pdf.save(paper.path)
    shapes = [s for s in Overlay(analyse_paper(paper.path, "p")).shapes[1] if s.place is not None]
    places = [(shape.place, shape.at[0] > 300) for shape in shapes]
    assert places == sorted(places)
    assert {right for _, right in places} == {False, True}


def test_nothing_printed_is_forgotten(sample: Path):
    analysis = analyse_paper(sample, "p")
    overlay = Overlay(analysis)
    for page in analysis.document.pages:
        boxes = [[float(v) for v in re.findall(r"-?[\d.]+", s.outline)[:4]] for s in overlay.shapes[page.number]]
        for line in page.lines:
            x, y = (line.bbox[0] + line.bbox[2]) / 2, (line.bbox[1] + line.bbox[3]) / 2
            assert any(x0 - 1 <= x <= x1 + 1 and y0 - 1 <= y <= y1 + 1 for x0, y0, x1, y1 in boxes), line.text


# --- papers that go wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "code"), [(b"%PDF-1.7\n", "pdf-damaged"), (b"", "pdf-empty"), (b"<html>", "pdf-not-a-pdf")]
)
def test_a_pdf_that_cannot_be_read_says_why(tmp_path: Path, data: bytes, code: str):
    path = tmp_path / "bad.pdf"
    path.write_bytes(data)
    page = explained(path)
    assert code in page.text
    assert "not read" in page.text
    assert page.count("svg") == 0


def test_a_page_without_size_does_not_cost_the_others(tmp_path: Path):
    path = tmp_path / "p.pdf"
    with pymupdf.open(stream=honest(tmp_path / "honest.pdf")) as pdf:
        pdf.xref_set_key(pdf.page_xref(0), "MediaBox", "[0 0 9000000 792]")
        pdf.save(path)
    page = explained(path)
    assert "page-unreadable" in page.text
    assert (page.count("section", **{"class": "card sheet"}), page.count("svg", **{"class": "overlay"})) == (2, 1)


def test_a_page_displayed_sideways_is_shown_upright(tmp_path: Path):
    path = tmp_path / "turned.pdf"
    path.write_bytes(rotated(honest(tmp_path / "honest.pdf"), 90))
    page = explained(path)
    boxes = [given["viewbox"] for tag, given in page.found if given.get("class") == "overlay"]
    assert boxes == ["0 0 612.0 792.0"] * 2
    assert "printed sideways" in page.text


def test_text_of_the_paper_is_text(tmp_path: Path):
    path = tmp_path / "<b>bold&name.pdf"
    path.write_bytes(one_page(GRAPHIC + written(f"Figure 1: {SCRIPT}")))
    page = explained(path)
    assert page.count("script") == page.count("b", onerror="alert(2)") == 0
    assert not any(name.startswith("on") for _, attributes in page.found for name in attributes)
    assert SCRIPT in page.text
    assert not (tmp_path / "<b>bold").exists()


def test_the_policy_allows_no_script(page_file: Path):
    page = Elements(page_file.read_text(encoding="utf-8"))
    (policy,) = [a["content"] for tag, a in page.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in policy
    assert page.count("script") == 0
    assert not any("style" in attributes for _, attributes in page.found)
    sources = {attributes["src"].partition(";")[0] for tag, attributes in page.found if tag == "img"}
    assert sources <= {"data:image/png", "data:image/jpeg"}


def test_the_same_paper_gives_the_same_bytes(sample: Path, page_file: Path, tmp_path: Path):
    explain(sample, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page_file.read_bytes()


def test_a_folder_is_refused_before_any_work(sample: Path, tmp_path: Path):
    with pytest.raises(IsADirectoryError, match=r"name a file for the page"):
        explain(sample, tmp_path)


def test_every_layer_has_a_colour_and_a_switch():
    style = (files("scifigqual_bench.report") / "explain.css").read_text(encoding="utf-8")
    for layer in LAYERS:
        assert f".layer-{layer} {{ --shape:" in style
        assert f"#show-{layer}:not(:checked)) .overlay .layer-{layer}" in style


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_the_drawing_lies_on_the_page(visit, page_file: Path, width: int, scheme: str):
    page = visit(page_file, width=width, color_scheme=scheme)
    assert page.evaluate(OVERFLOW) == 0
    for image, overlay in zip(
        page.locator(".sheet-image img").all(), page.locator(".sheet-image svg").all(), strict=True
    ):
        one, two = image.bounding_box(), overlay.bounding_box()
        assert one == pytest.approx(two, abs=1)


@pytest.mark.browser
def test_layers_are_switched_without_a_script(visit, page_file: Path):
    page = visit(page_file)
    for layer in ("text", "caption", "region", "furniture"):
        shapes = page.locator(f".overlay .layer-{layer}")
        assert shapes.first.is_visible()
        page.locator(f"#show-{layer}").uncheck()
        assert not any(shape.is_visible() for shape in shapes.all())
    assert page.locator(".overlay .layer-link").first.is_visible()


@pytest.mark.browser
def test_a_mention_leads_to_its_figure(visit, page_file: Path):
    page = visit(page_file)
    page.locator(".overlay .layer-link a").first.click()
    assert re.search(r"#figure-\d+$", page.url)
    assert page.locator(":target").is_visible()


@pytest.mark.browser
def test_hostile_text_does_nothing(visit, tmp_path: Path):
    path = tmp_path / "p.pdf"
    path.write_bytes(one_page(GRAPHIC + written(f"Figure 1: {SCRIPT}") + written(f"See Figure 1 {SCRIPT}", y=300)))
    explain(path, tmp_path / "p.html")
    page = visit(tmp_path / "p.html")
    assert SCRIPT in page.locator("#figure-1").inner_text()
