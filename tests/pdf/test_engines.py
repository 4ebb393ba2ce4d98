"""Docling's and Marker's output behind the project's record: real exports of one made paper, and what is wrong."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from scifigqual_bench.commands.build_dataset import main
from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.pdf.document import read_document
from scifigqual_bench.pdf.engines import Block, Engine, EngineError, docling_blocks, findings, marker_blocks
from scifigqual_bench.pdf.extract import analyse_paper, extract_paper
from scifigqual_bench.records import PaperMeta

SIZE = (612, 792)
PLOT = (100.0, 310.0, 400.0, 500.0)
TEXTS = {
    "heading": ("2 Results", (72, 72, 200, 90)),
    "body": ("As Figure 1 shows, the second method is far better than the first.", (72, 100, 540, 130)),
    "caption": ("Figure 1: Accuracy of two methods.", (100, 510, 400, 522)),
    "reference": ("References", (72, 600, 200, 615)),
    "list": ("Smith. Figure 1 in colour. 2020.", (72, 620, 540, 640)),
}


def docling_box(box: tuple[float, ...]) -> dict[str, Any]:
    x0, y0, x1, y1 = box
    return {"l": x0, "t": SIZE[1] - y0, "r": x1, "b": SIZE[1] - y1, "coord_origin": "BOTTOMLEFT"}


def docling() -> dict[str, Any]:
    """A ``DoclingDocument`` as version 1.10 exports it, with what the adapter reads."""
    labels = {"heading": "section_header", "body": "text", "reference": "section_header", "list": "list_item"}
    texts, order = [], []
    for k, (name, (text, box)) in enumerate(TEXTS.items()):
        texts.append(
            {
                "self_ref": f"#/texts/{k}",
                "content_layer": "body",
                "label": labels.get(name, name),
                "children": [],
                "prov": [{"page_no": 1, "bbox": docling_box(box), "charspan": [0, len(text)]}],
                "text": text,
            }
        )
        order.append({"$ref": f"#/texts/{k}"})
    picture = {
        "self_ref": "#/pictures/0",
        "content_layer": "body",
        "label": "picture",
        "children": [],
        "prov": [{"page_no": 1, "bbox": docling_box(PLOT), "charspan": [0, 0]}],
        "captions": [{"$ref": "#/texts/2"}],
    }
    head = {"self_ref": "#/texts/5", "content_layer": "furniture", "label": "page_header", "children": []}
    head |= {"prov": texts[0]["prov"], "text": "Figure 1: no caption but a page head"}
    group = {"self_ref": "#/groups/0", "content_layer": "body", "label": "list", "children": [order[4]]}
    return {
        "schema_name": "DoclingDocument",
        "version": "1.10.0",
        "body": {
            "self_ref": "#/body",
            "content_layer": "body",
            "label": "unspecified",
            "children": [{"$ref": "#/texts/5"}, *order[:2], {"$ref": "#/pictures/0"}, order[3], {"$ref": "#/groups/0"}],
        },
        "groups": [group],
        "texts": [*texts, head],
        "pictures": [picture],
        "tables": [],
        "pages": {"1": {"size": {"width": SIZE[0], "height": SIZE[1]}, "page_no": 1}},
    }


def polygon(box: tuple[float, ...], scale: float = 1.0) -> list[list[float]]:
    x0, y0, x1, y1 = (value * scale for value in box)
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


def marker(scale: float = 1.0) -> dict[str, Any]:
    """Marker's JSON output of the same page, in points or in pixels of another resolution."""

    def block(kind: str, name: str) -> dict[str, Any]:
        text, box = TEXTS[name]
        html = f"<p>{text.replace('far', '<b>far</b>')}</p>"
        return {"id": f"/page/0/{kind}/1", "block_type": kind, "html": html, "polygon": polygon(box, scale)}

    figure = {"id": "/page/0/Figure/2", "block_type": "Figure", "html": "", "polygon": polygon(PLOT, scale)}
    group = {"id": "/page/0/FigureGroup/3", "block_type": "FigureGroup", "html": "", "polygon": polygon(PLOT, scale)}
    group["children"] = [figure, block("Caption", "caption")]
    items = {"id": "/page/0/ListGroup/4", "block_type": "ListGroup", "html": "", "polygon": polygon(PLOT, scale)}
    items["children"] = [block("ListItem", "list")]
    children = [block("PageHeader", "caption"), block("SectionHeader", "heading"), block("Text", "body"), group]
    children += [block("SectionHeader", "reference"), items]
    page = {"id": "/page/0/Page/0", "block_type": "Page", "polygon": polygon((0, 0, *SIZE), scale)}
    return {"children": [page | {"children": children}], "block_type": "Document", "metadata": {}}


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    """The page that both describe."""
    path = tmp_path / "paper.pdf"
    with pymupdf.open() as document:
        page = document.new_page(width=SIZE[0], height=SIZE[1])
        for text, box in TEXTS.values():
            page.insert_text((box[0], box[3] - 3), text, fontsize=9)
        page.draw_rect(PLOT, color=(0, 0, 0))
        for k in range(6):
            page.draw_rect((115 + 47 * k, 480 - 25 * k, 145 + 47 * k, 490), fill=(0.1, 0.15 * k, 0.6), color=None)
        document.save(path)
    return path


def engine(name: str, folder: Path, data: Any) -> Engine:
    (folder / "json").mkdir(exist_ok=True)
    (folder / "json" / "paper.json").write_text(json.dumps(data))
    return Engine(name, folder / "json")


@pytest.mark.parametrize(
    ("name", "data"), [("docling", docling()), ("marker", marker()), ("marker", marker(scale=4 / 3))]
)
def test_a_paper_comes_out_as_rows(pdf: Path, name: str, data: Any) -> None:
    extraction = extract_paper(pdf, PaperMeta(paper_id="p"), engine=engine(name, pdf.parent, data))
    (found,) = extraction.figures
    row = found.figure
    assert (row.figure_id, row.number, row.caption) == ("p__fig0001", "1", "Figure 1: Accuracy of two methods.")
    assert row.bbox == pytest.approx(PLOT, abs=1.5)
    assert row.caption_bbox == pytest.approx(TEXTS["caption"][1], abs=0.1)
    (citation,) = row.citations  # neither from the references nor from a page head
    assert citation.section == "2 Results" and citation.kind == "comparison" and "far better" in citation.text
    assert (row.provenance.method, row.provenance.confidence) == (f"{name}-linked-caption", 0.8)
    assert name in row.provenance.engine
    assert extraction.report.status == "ok" and found.image[:4] == b"\x89PNG"


def test_docling_core_makes_what_the_adapter_reads(pdf: Path) -> None:
    """Against the package that defines the format."""
    doc = pytest.importorskip("docling_core.types.doc", reason="needs docling-core")
    document = doc.DoclingDocument(name="paper")
    document.add_page(1, doc.Size(width=SIZE[0], height=SIZE[1]))

    def place(box: tuple[float, ...]) -> Any:
        return doc.ProvenanceItem(page_no=1, bbox=doc.BoundingBox(**docling_box(box)), charspan=(0, 1))

    document.add_heading(TEXTS["heading"][0], prov=place(TEXTS["heading"][1]))
    document.add_text(label=doc.DocItemLabel.TEXT, text=TEXTS["body"][0], prov=place(TEXTS["body"][1]))
    caption = document.add_text(
        label=doc.DocItemLabel.CAPTION, text=TEXTS["caption"][0], prov=place(TEXTS["caption"][1])
    )
    document.add_picture(prov=place(PLOT), caption=caption)
    read = engine("docling", pdf.parent, document.export_to_dict())
    (found,) = extract_paper(pdf, PaperMeta(paper_id="p"), engine=read).figures
    assert found.figure.bbox == pytest.approx(PLOT, abs=1.5) and len(found.figure.citations) == 1


def test_panels_of_one_caption_are_one_region(pdf: Path) -> None:
    data = docling()
    left, right = (100.0, 310.0, 240.0, 500.0), (260.0, 310.0, 400.0, 500.0)
    first = data["pictures"][0]
    first["prov"][0]["bbox"] = docling_box(left)
    second = first | {"self_ref": "#/pictures/1", "captions": []}
    second["prov"] = [{"page_no": 1, "bbox": docling_box(right), "charspan": [0, 0]}]
    data["pictures"].append(second)
    data["body"]["children"].insert(4, {"$ref": "#/pictures/1"})
    (region,) = analyse_paper(pdf, "p", engine=engine("docling", pdf.parent, data)).regions
    assert region.bbox == pytest.approx(PLOT) and region.method == "docling-linked-caption"


def test_a_picture_without_a_numbered_caption_is_told(pdf: Path) -> None:
    data = docling()
    data["texts"][2]["text"] = "An ornament"
    extraction = extract_paper(pdf, PaperMeta(paper_id="p"), engine=engine("docling", pdf.parent, data))
    assert not extraction.figures
    assert "picture-without-caption" in [problem.code for problem in extraction.report.problems]


def test_a_caption_without_a_picture_is_told(pdf: Path) -> None:
    data = marker()
    group = data["children"][0]["children"][3]
    group["children"] = group["children"][1:]
    extraction = extract_paper(pdf, PaperMeta(paper_id="p"), engine=engine("marker", pdf.parent, data))
    assert "no-region" in [problem.code for problem in extraction.report.problems]
    assert extraction.dropped[0].number == "1"


def test_a_page_displayed_turned_gives_the_same_picture(pdf: Path) -> None:
    """The engine's boxes are those of the page as displayed, whichever way it is read here."""
    turned = pdf.with_name("turned.pdf")
    with pymupdf.open(pdf) as document:
        document[0].set_rotation(90)
        document.save(turned)
    size = (SIZE[1], SIZE[0])
    blocks = docling_blocks(docling())
    boxes = [(SIZE[1] - b.bbox[3], b.bbox[0], SIZE[1] - b.bbox[1], b.bbox[2]) for b in blocks]
    moved = [Block(b.kind, b.page, box, size, b.text, b.captions) for b, box in zip(blocks, boxes, strict=True)]
    (region,) = findings(moved, read_document(turned), "docling").regions
    page = read_document(turned).pages[0]
    assert page.displayed(region.bbox) == pytest.approx((292, 100, 482, 400))


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("docling", {"schema_name": "Other"}, "not the JSON of docling"),
        ("docling", [], "not the JSON of docling"),
        ("marker", docling(), "not the JSON of marker"),
        ("marker", {"children": [{"block_type": "Text"}]}, "not the JSON of marker"),
    ],
)
def test_output_of_something_else_is_refused(pdf: Path, name: str, data: Any, said: str) -> None:
    report = extract_paper(pdf, PaperMeta(paper_id="p"), engine=engine(name, pdf.parent, data)).report
    assert (report.status, report.problems[0].code) == ("failed", "engine-failed")
    assert said in report.problems[0].message


def test_output_of_another_file_is_refused(pdf: Path) -> None:
    data = marker()
    data["children"][0]["id"] = "/page/6/Page/0"
    with pytest.raises(EngineError, match="has page 7, the PDF 1 pages"):
        analyse_paper(pdf, "p", engine=engine("marker", pdf.parent, data))


def test_missing_and_broken_files_are_named(pdf: Path) -> None:
    read = engine("marker", pdf.parent, {})
    (read.output / "paper.json").write_text("{")
    with pytest.raises(EngineError, match=r"paper\.json: not JSON"):
        analyse_paper(pdf, "p", engine=read)
    (read.output / "paper.json").unlink()
    with pytest.raises(EngineError, match=r"no paper\.json in json; convert the PDF"):
        analyse_paper(pdf, "p", engine=read)


def test_a_package_that_is_not_there_is_named(pdf: Path) -> None:
    for name in ("docling", "marker"):
        if importlib.util.find_spec(name) is not None:
            continue
        with pytest.raises(ImportError, match=rf"scifigqual-bench\[{name}\].*--engine-output"):
            assert Engine(name).identity
        with pytest.raises(EngineError, match=rf"scifigqual-bench\[{name}\]"):
            analyse_paper(pdf, "p", engine=Engine(name))


def test_the_command_builds_from_exports(pdf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read = engine("marker", pdf.parent, marker())
    argv = ["--pdfs", str(pdf), "--out", str(pdf.parent / "out"), "--features", "none", "--workers", "1"]
    assert main([*argv, "--engine-output", str(read.output)]) == 1
    assert "--engine-output needs --engine" in capsys.readouterr().err
    assert main([*argv, "--engine", "marker", "--engine-output", str(read.output)]) == 0
    (row,) = DatasetFolder(pdf.parent / "out").records()
    assert row.provenance.method == "marker-linked-caption"


def test_blocks_are_in_reading_order() -> None:
    kinds = ["heading", "body", "picture", "caption", "heading", "list"]
    assert [b.kind for b in docling_blocks(docling())] == [b.kind for b in marker_blocks(marker())] == kinds
