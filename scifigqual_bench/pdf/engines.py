"""Other engines behind the same record: what Docling or Marker found, as captions, regions and paragraphs.

An engine says what stands where on a page. Everything that follows is the same as with the project's own extraction:
citations, crops at 300 DPI, curation, rows. An engine is either run here, or its exported JSON is read, for those who
convert on a cluster first: Docling's ``DoclingDocument`` (``export_to_dict``), Marker's JSON output. Captions are the
text blocks that begin with a printed number; a picture without one is told and left out, since nothing could cite it.

Neither package is imported before it is used. Both load models from the Hugging Face Hub when they are run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from scifigqual_bench.pdf.captions import Caption, read_label
from scifigqual_bench.pdf.document import Document, Page, Rect, turned_box
from scifigqual_bench.pdf.regions import Region
from scifigqual_bench.pdf.text import Paragraph
from scifigqual_bench.records import Problem

EngineName = Literal["docling", "marker"]

NEAR = 60.0
"""Points between a picture and a caption that the engine has not joined, at the most."""
CONFIDENCE = {"linked": 0.8, "near": 0.5}
"""A picture that the engine itself joins to its caption is trusted more than one that merely stands near it."""

BlockKind = Literal["picture", "table", "caption", "heading", "body", "list", "footnote", "title", "other"]


class EngineError(Exception):
    """An engine that can't be run, or output that is not its own; the message names the remedy."""


@dataclass(frozen=True)
class Block:
    """Something that an engine found on a page.

    Attributes:
        page: From 1.
        bbox: In the engine's points, from the top left corner of the page as displayed.
        size: Width and height of the page in the same points.
        text: Its text; empty for a picture.
        captions: Positions of its captions among the blocks of the paper, where the engine joins them.
    """

    kind: BlockKind
    page: int
    bbox: Rect
    size: tuple[float, float]
    text: str = ""
    captions: tuple[int, ...] = ()


@dataclass(frozen=True)
class Findings:
    """What an engine found in a paper, in this project's terms; see the steps of the same names."""

    captions: tuple[Caption, ...]
    regions: tuple[Region | Problem, ...]
    paragraphs: tuple[Paragraph, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Engine:
    """One of the other engines.

    Attributes:
        name: Which.
        output: A folder of its exported files, ``STEM.json`` for each ``STEM.pdf``; None runs the engine.
    """

    name: EngineName
    output: Path | None = None

    @property
    def identity(self) -> list[str]:
        """What its findings depend on beside the PDF: its version, or the exported files.

        Raises:
            ImportError: Its package is missing; names the remedy.
        """
        if self.output is not None:
            files = sorted(self.output.glob("*.json"))
            digest = hashlib.sha256(repr([(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files]).encode())
            return [self.name, digest.hexdigest()]
        package = _PACKAGES[self.name]
        try:
            return [self.name, version(package)]
        except PackageNotFoundError:
            raise ImportError(
                f'{self.name} is not installed: pip install "scifigqual-bench[{self.name}]", or give the JSON that it '
                "made elsewhere with --engine-output"
            ) from None

    def __call__(self, document: Document) -> Findings:
        """What it found in a paper.

        Raises:
            EngineError: The engine or its models are missing, or its file is missing or none of its own.
        """
        data = _run(self.name, document.path) if self.output is None else _exported(self.output, document.path)
        try:
            blocks = _BLOCKS[self.name](data)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise EngineError(
                f"{document.path.name}: not the JSON of {self.name} ({type(error).__name__}: {error})"
            ) from None
        return findings(blocks, document, self.name)


def _exported(folder: Path, pdf: Path) -> Any:
    path = folder / f"{pdf.stem}.json"
    try:
        return json.loads(path.read_bytes())
    except OSError:
        raise EngineError(f"{pdf.name}: no {path.name} in {folder.name}; convert the PDF, or leave it out") from None
    except ValueError as error:
        raise EngineError(f"{path.name}: not JSON ({error})") from None


def _run(name: EngineName, pdf: Path) -> Any:
    try:
        return _RUNS[name](pdf)
    except ImportError as error:
        raise EngineError(f'{name} is not installed: pip install "scifigqual-bench[{name}]" ({error})') from None
    except OSError as error:  # what the Hub's client raises when it is not reached is one
        raise EngineError(
            f"{name} can't load its models ({error}); download them where the Hugging Face Hub is reached, or convert "
            "elsewhere and give the JSON with --engine-output"
        ) from None


def _run_docling(pdf: Path) -> Any:
    from docling.document_converter import DocumentConverter

    return DocumentConverter().convert(pdf).document.export_to_dict()


def _run_marker(pdf: Path) -> Any:
    from marker.converters.pdf import PdfConverter
    from marker.models import create_model_dict

    converter = PdfConverter(artifact_dict=create_model_dict(), renderer="marker.renderers.json.JSONRenderer")
    return json.loads(converter(str(pdf)).model_dump_json())


_PACKAGES: dict[EngineName, str] = {"docling": "docling", "marker": "marker-pdf"}
_RUNS: dict[EngineName, Callable[[Path], Any]] = {"docling": _run_docling, "marker": _run_marker}


# --- Docling ----------------------------------------------------------------------------------------------------------

_DOCLING_KINDS: dict[str, BlockKind] = {
    "title": "title",
    "section_header": "heading",
    "text": "body",
    "paragraph": "body",
    "list_item": "list",
    "footnote": "footnote",
    "caption": "caption",
    "picture": "picture",
    "chart": "picture",
    "table": "table",
}


def docling_blocks(data: dict[str, Any]) -> list[Block]:
    """The blocks of an exported ``DoclingDocument``, in reading order; page heads and feet are not among them."""
    if data["schema_name"] != "DoclingDocument":
        raise ValueError(f"schema_name is {data['schema_name']!r}")
    sizes = {int(no): (page["size"]["width"], page["size"]["height"]) for no, page in data["pages"].items()}
    items = [item for item in _docling_items(data, data["body"]) if item.get("prov")]
    positions = {item["self_ref"]: k for k, item in enumerate(items)}
    blocks = []
    for item in items:
        place = item["prov"][0]
        size = sizes[place["page_no"]]
        box = place["bbox"]
        edges = (box["t"], box["b"])
        if box.get("coord_origin", "TOPLEFT") == "BOTTOMLEFT":
            edges = (size[1] - box["t"], size[1] - box["b"])
        captions = [ref["$ref"] for ref in item.get("captions", ())]
        blocks.append(
            Block(
                kind=_DOCLING_KINDS.get(item["label"], "other"),
                page=place["page_no"],
                bbox=(box["l"], min(edges), box["r"], max(edges)),
                size=size,
                text=item.get("text", ""),
                captions=tuple(positions[ref] for ref in captions if ref in positions),
            )
        )
    return blocks


def _docling_items(data: dict[str, Any], node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The items below a node, depth first; captions follow their picture where the tree does not hold them."""
    seen: set[str] = set()
    waiting = [node]
    while waiting:
        item = waiting.pop()
        ref = item.get("self_ref", "")
        if ref in seen or item.get("content_layer") == "furniture":
            continue
        seen.add(ref)
        if "label" in item and "prov" in item:
            yield item
        below = [*item.get("captions", ()), *item.get("children", ())]
        waiting += [_docling_resolved(data, child["$ref"]) for child in reversed(below)]


def _docling_resolved(data: dict[str, Any], ref: str) -> dict[str, Any]:
    _, collection, index = ref.split("/")
    return data[collection][int(index)]


# --- Marker -----------------------------------------------------------------------------------------------------------

_MARKER_KINDS: dict[str, BlockKind] = {
    "SectionHeader": "heading",
    "Text": "body",
    "TextInlineMath": "body",
    "ListItem": "list",
    "Footnote": "footnote",
    "Caption": "caption",
    "Picture": "picture",
    "Figure": "picture",
    "Table": "table",
}
_MARKER_FURNITURE = ("PageHeader", "PageFooter")


def marker_blocks(data: dict[str, Any]) -> list[Block]:
    """The blocks of Marker's JSON output, in reading order; page heads and feet are not among them."""
    blocks: list[Block] = []
    for page in data["children"]:
        if page["block_type"] != "Page":
            raise ValueError(f"a {page['block_type']} where a Page was expected")
        number = int(page["id"].split("/")[2]) + 1
        x0, y0, x1, y1 = _marker_box(page)
        _marker_collect(page, number, (x1 - x0, y1 - y0), blocks)
    return blocks


def _marker_collect(node: dict[str, Any], page: int, size: tuple[float, float], blocks: list[Block]) -> list[int]:
    """Append what is below a node; returns the positions of the captions among it."""
    own, captions = [], []
    for child in node.get("children") or ():
        kind = child["block_type"]
        if kind in _MARKER_FURNITURE:
            continue
        if child.get("children") and _MARKER_KINDS.get(kind) is None:
            captions += _marker_collect(child, page, size, blocks)
            continue
        block = Block(_MARKER_KINDS.get(kind, "other"), page, _marker_box(child), size, _plain(child.get("html") or ""))
        (captions if block.kind == "caption" else own).append(len(blocks))
        blocks.append(block)
    if node["block_type"].endswith("Group"):  # FigureGroup, PictureGroup, TableGroup: floats with their captions
        for k in own:
            if blocks[k].kind in ("picture", "table"):
                block = blocks[k]
                blocks[k] = Block(block.kind, block.page, block.bbox, block.size, block.text, tuple(captions))
    return captions


def _marker_box(node: dict[str, Any]) -> Rect:
    xs, ys = zip(*node["polygon"], strict=True)
    return min(xs), min(ys), max(xs), max(ys)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def _plain(html: str) -> str:
    parser = _Words()
    parser.feed(html)
    return " ".join("".join(parser.parts).split())


_BLOCKS: dict[EngineName, Callable[[Any], list[Block]]] = {"docling": docling_blocks, "marker": marker_blocks}


# --- blocks -> findings -----------------------------------------------------------------------------------------------

_ABSTRACT = re.compile(r"^\W*abstract\W*$", re.I)
_REFERENCES = re.compile(r"^\W*(?:\d+\W*)?(?:references|bibliography)\W*$", re.I)


def findings(blocks: Sequence[Block], document: Document, engine: str) -> Findings:
    """An engine's blocks as captions, regions and paragraphs.

    Args:
        blocks: What it found, in reading order.
        document: The paper as read here; its pages give lines and upright coordinates.
        engine: Its name, for the method of the regions.

    Raises:
        EngineError: A block stands on a page that the PDF does not have.
    """
    if missing := sorted({block.page for block in blocks if not 1 <= block.page <= len(document.pages)}):
        raise EngineError(
            f"{document.path.name}: {engine} has page {missing[0]}, the PDF {len(document.pages)} pages; "
            "its output is of another file"
        )
    boxes = [_upright(block, document.pages[block.page - 1]) for block in blocks]
    captions = {k: found for k, block in enumerate(blocks) if (found := _caption(block, boxes[k], document))}
    owners = {k: _owner(k, blocks, boxes, captions) for k, block in enumerate(blocks) if block.kind == "picture"}
    regions = [_region(k, captions[k], blocks, boxes, owners, engine) for k in captions]
    problems = [
        Problem(
            code="picture-without-caption",
            message=f"{document.path.name}, page {blocks[k].page}: {engine} found a picture and no numbered caption",
            page=blocks[k].page,
        )
        for k, owner in owners.items()
        if owner is None
    ]
    text = _paragraphs(blocks, boxes, captions, document)
    return Findings(tuple(captions.values()), tuple(regions), tuple(text), tuple(problems))


def _upright(block: Block, page: Page) -> Rect:
    """A block's box in points of the upright page."""
    width, height = (page.height, page.width) if page.turn % 2 else (page.width, page.height)
    across, along = width / block.size[0], height / block.size[1]
    x0, y0, x1, y1 = block.bbox
    return turned_box((x0 * across, y0 * along, x1 * across, y1 * along), page.turn, width, height)


def _caption(block: Block, box: Rect, document: Document) -> Caption | None:
    """A caption block with a printed number; None for any other."""
    label = read_label(block.text) if block.kind == "caption" else None
    if label is None:
        return None
    return Caption(
        kind=label.kind,
        number=label.number,
        label=label.label,
        page=block.page,
        bbox=box,
        text=block.text,
        lines=tuple(_lines(document.pages[block.page - 1], box)),
        continued=label.continued,
    )


def _lines(page: Page, box: Rect) -> Iterator[int]:
    """The lines of a page whose middle is in a box."""
    for line in page.lines:
        x, y = (line.bbox[0] + line.bbox[2]) / 2, (line.bbox[1] + line.bbox[3]) / 2
        if box[0] <= x <= box[2] and box[1] <= y <= box[3]:
            yield line.index


def _owner(k: int, blocks: Sequence[Block], boxes: Sequence[Rect], captions: dict[int, Caption]) -> int | None:
    """The caption of a picture: the one that the engine joins to it, else the nearest of a figure."""
    linked = [c for c in blocks[k].captions if c in captions]
    if linked:
        return linked[0]
    near = {
        c: _gap(boxes[k], caption.bbox)
        for c, caption in captions.items()
        if caption.kind == "figure" and caption.page == blocks[k].page
    }
    nearest = min(near, key=lambda c: near[c], default=None)
    return nearest if nearest is not None and near[nearest] <= NEAR else None


def _gap(one: Rect, two: Rect) -> float:
    across = max(one[0], two[0]) - min(one[2], two[2])
    along = max(one[1], two[1]) - min(one[3], two[3])
    return max(across, 0.0) + max(along, 0.0)


def _region(
    k: int,
    caption: Caption,
    blocks: Sequence[Block],
    boxes: Sequence[Rect],
    owners: dict[int, int | None],
    engine: str,
) -> Region | Problem:
    """The pictures of a caption as one region; of a table's caption, its table."""
    own = [p for p, owner in owners.items() if owner == k and blocks[p].page == caption.page]
    own += [t for t, b in enumerate(blocks) if b.kind == "table" and k in b.captions and b.page == caption.page]
    if not own:
        told = f"{caption.label}, page {caption.page}: {engine} found no picture that belongs to its caption"
        return Problem(code="no-region", message=told, page=caption.page)
    linked = any(k in blocks[p].captions for p in own)
    return Region(
        page=caption.page,
        bbox=(
            min(boxes[p][0] for p in own),
            min(boxes[p][1] for p in own),
            max(boxes[p][2] for p in own),
            max(boxes[p][3] for p in own),
        ),
        method=f"{engine}-{'linked' if linked else 'near'}-caption",
        confidence=CONFIDENCE["linked" if linked else "near"],
        subcaptions=False,
    )


def _paragraphs(
    blocks: Sequence[Block], boxes: Sequence[Rect], captions: Iterable[int], document: Document
) -> Iterator[Paragraph]:
    """All text blocks, with the heading that each stands under."""
    section, excluded = None, set(captions)
    for k, (block, box) in enumerate(zip(blocks, boxes, strict=True)):
        if k in excluded or not block.text or block.kind in ("picture", "table"):
            continue
        kind = block.kind
        if kind == "heading":
            section = block.text
        elif kind in ("body", "list") and section and _ABSTRACT.match(section):
            kind = "abstract"
        elif kind in ("body", "list") and section and _REFERENCES.match(section):
            kind = "reference"
        lines = tuple((block.page, index) for index in _lines(document.pages[block.page - 1], box))
        yield Paragraph(block.text, block.page, section, kind, lines, box)
