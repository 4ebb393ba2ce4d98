"""PDFs that were made to do harm, or that were harmed: all from code and fixed seeds."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pymupdf

from scifigqual_bench.pdf.document import Rect
from tests.pdf.made_pdf import FULL, Paper, caption, picture, prose

PATHS = 1_000_000
"""Paths of the page of paths, and points of the one long path."""
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@dataclass(frozen=True)
class Case:
    """A hostile file.

    Attributes:
        statuses: What may become of it.
        code: A problem that must be told, where one must.
        figures: Printed numbers of the figures that must be found; None where that is not fixed.
        memory_mb: Peak resident memory allowed above that of an empty page.
    """

    name: str
    data: bytes
    statuses: tuple[str, ...] = ("ok",)
    code: str | None = None
    figures: tuple[str, ...] | None = ()
    memory_mb: int = 150


# --- files put together by hand ---------------------------------------------------------------------------------------

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
CAPTION = "Figure 1: A caption that is long enough to be taken for one."


def stream(data: bytes, entries: bytes = b"", *, compressed: bool = False) -> bytes:
    """A stream object."""
    if compressed:
        data, entries = zlib.compress(data), entries + b" /Filter /FlateDecode"
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def assembled(objects: dict[int, bytes], trailer: bytes = b"") -> bytes:
    """A file of these objects with a right cross-reference table; object 1 is its catalogue."""
    out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    offsets = {}
    for number, body in objects.items():
        offsets[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    size = max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 n \n" % offsets[number] if number in offsets else b"0000000000 00000 f \n"
    return bytes(out + b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start))


def one_page(
    content: bytes,
    *,
    box: str = "0 0 612 792",
    page: bytes = b"",
    resources: bytes = b"/Font << /F1 5 0 R >>",
    catalogue: bytes = b"",
    more: dict[int, bytes] | None = None,
    compressed: bool = False,
) -> bytes:
    """A file of one page with this content; its font F1 is object 5, further objects count from 6."""
    return assembled(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalogue,
            2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            3: b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents 4 0 R /Resources << %s >> %s >>"
            % (box.encode(), resources, page),
            4: stream(content, compressed=compressed),
            5: FONT,
            **(more or {}),
        }
    )


def written(text: str, x: float = 72, y: float = 500, before: str = "") -> bytes:
    """A line of text in a content stream."""
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"BT /F1 10 Tf {before} {x} {y} Td ({escaped}) Tj ET\n".encode("latin-1")


GRAPHIC = b"1 0 0 RG 2 w 100 560 m 200 700 l 300 580 l 400 720 l S 0 0 1 rg 420 560 60 90 re f 100 540 m 500 540 l S\n"
"""A graphic above where :func:`written` writes."""


# --- real files -------------------------------------------------------------------------------------------------------


def bars(page: pymupdf.Page, box: Rect) -> None:
    """A chart of broad bars on an axis."""
    x0, y0, x1, y1 = box
    step = (x1 - x0) / 8
    for k in range(8):
        top = y0 + (y1 - y0) * (0.1 + 0.8 * (k * 3 % 8) / 8)
        page.draw_rect((x0 + k * step, top, x0 + (k + 0.8) * step, y1), color=None, fill=(0.1 * k, 0.3, 0.6))
    page.draw_line((x0, y1), (x1, y1), width=1)


def honest(path: Path) -> bytes:
    """A small paper with two figures, the second on its second page."""
    paper = Paper(path)
    for number in (1, 2):
        page = paper.page()
        top = prose(page, FULL, 60, 8, f"As Figure {number} shows,")
        if number == 1:
            bars(page, (150, top + 20, 450, top + 200))
        else:
            picture(page, (150, top + 20, 450, top + 200))
        caption(page, FULL, top + 210, f"Figure {number}: What is shown here, in the words of a caption.")
        prose(page, FULL, top + 250, 12)
    return paper.pdf.tobytes(deflate=True, garbage=3)


def encrypted(data: bytes, **passwords: str) -> bytes:
    """The file behind a password."""
    with pymupdf.open(stream=data) as pdf:
        return pdf.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, **passwords)


def rotated(data: bytes, turn: int) -> bytes:
    """The file with its pages displayed turned."""
    with pymupdf.open(stream=data) as pdf:
        for page in pdf:
            page.set_rotation(turn)
        return pdf.tobytes()


def loaded(data: bytes) -> bytes:
    """The file with scripts that run on opening, on pages and on fields, with launch actions and with attachments."""
    with pymupdf.open(stream=data) as pdf:
        script = pdf.get_new_xref()
        pdf.update_object(script, "<< /S /JavaScript /JS (app.alert\\(1\\); this.exportDataObject\\(\\);) >>")
        catalogue = pdf.pdf_catalog()
        pdf.xref_set_key(catalogue, "OpenAction", f"{script} 0 R")
        pdf.xref_set_key(catalogue, "AA", f"<< /WC {script} 0 R /DS {script} 0 R >>")
        launch = "<< /O << /S /Launch /F (/bin/sh) >> /C << /S /URI /URI (http://localhost:9/) >> >>"
        pdf.xref_set_key(pdf.page_xref(0), "AA", launch)
        pdf.embfile_add("../../outside.sh", b"#!/bin/sh\nexit 1\n", filename="../../outside.sh", ufilename="a\0b")
        pdf.embfile_add("again.pdf", data)
        return pdf.tobytes()


def flipped(data: bytes, seed: int, bits: int) -> bytes:
    """The file with that many bits turned over, its header left alone."""
    rng = random.Random(seed)
    out = bytearray(data)
    for _ in range(bits):
        out[rng.randrange(10, len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


# --- kinds of attack --------------------------------------------------------------------------------------------------


def _trees() -> Iterator[Case]:
    """Objects that refer to themselves, and counts that lie."""
    any_end = ("ok", "partial", "failed")
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] >>"
    catalogue = b"<< /Type /Catalog /Pages 2 0 R >>"
    trees = {
        "tree-own-child": {2: b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>"},
        "tree-two-nodes-in-a-ring": {
            2: b"<< /Type /Pages /Kids [3 0 R] /Count 5 >>",
            3: b"<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 4 0 R] /Count 5 >>",
            4: page,
        },
        "tree-count-two-billion": {2: b"<< /Type /Pages /Kids [3 0 R] /Count 2147483647 >>", 3: page},
        "tree-count-below-zero": {2: b"<< /Type /Pages /Kids [3 0 R] /Count -7 >>", 3: page},
        "tree-same-page-often": {2: b"<< /Type /Pages /Kids [%s] /Count 300 >>" % (b"3 0 R " * 300), 3: page},
        "tree-no-kids": {2: b"<< /Type /Pages /Count 3 >>"},
        "tree-kids-are-numbers": {2: b"<< /Type /Pages /Kids [1 2 3] /Count 3 >>"},
        "tree-missing": {3: page},
        "object-is-itself": {2: b"2 0 R"},
        "objects-in-a-ring": {2: b"3 0 R", 3: b"4 0 R", 4: b"2 0 R"},
        "page-parent-in-a-ring": {
            2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 /Parent 4 0 R >>",
            3: b"<< /Type /Page /Parent 2 0 R >>",
            4: b"<< /Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 1 >>",
        },
        "contents-in-a-ring": {
            2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents [4 0 R] >>",
            4: b"[4 0 R 4 0 R]",
        },
        "stream-length-in-a-ring": {
            2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>",
            4: b"<< /Length 4 0 R >>\nstream\n0 0 m 9 9 l S\nendstream",
        },
    }
    for name, objects in trees.items():
        yield Case(name, assembled({1: catalogue, **objects}), any_end, figures=None)
    deep = {1: catalogue, 2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"}
    deep |= {k: b"<< /Type /Pages /Parent %d 0 R /Kids [%d 0 R] /Count 1 >>" % (k - 1, k + 1) for k in range(3, 3000)}
    yield Case("tree-three-thousand-deep", assembled({**deep, 3000: page}), any_end, figures=None)
    nested = b"[" * 20_000 + b"]" * 20_000
    yield Case("array-twenty-thousand-deep", one_page(b"", page=b"/Annots " + nested), any_end, figures=None)


def _sizes() -> Iterator[Case]:
    """Pages of no, of negative and of vast size."""
    content = GRAPHIC + written(CAPTION)
    any_end = ("ok", "partial", "failed", "dropped")
    for name, box in {
        "page-of-no-size": "0 0 0 0",
        "page-of-no-height": "0 0 612 0",
        "page-of-negative-size": "612 792 0 0",
        "page-far-off": "100000 100000 100612 100792",
        "page-vast": "0 0 1000000 1000000",
        "page-box-not-numbers": "/a (b) null true",
        "page-box-overflows": "-1e38 -1e38 1e38 1e38",
        "page-tiny": "0 0 0.001 0.001",
    }.items():
        yield Case(name, one_page(content, box=box), any_end, figures=None)
    yield Case("page-as-large-as-any", one_page(content, box="0 0 7200 7200"), any_end, figures=None, memory_mb=1000)
    yield Case("page-unit-of-a-kilometre", one_page(content, page=b"/UserUnit 1000000"), any_end, figures=None)
    yield Case("page-turned-by-45", one_page(content, page=b"/Rotate 45"), any_end, figures=None)


def _forms() -> Iterator[Case]:
    """Form XObjects within each other."""
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792]"
    use = b"/Font << /F1 5 0 R >> /XObject << /X 6 0 R >>"

    def page(more: dict[int, bytes]) -> bytes:
        return one_page(b"/X Do\n", resources=use, more=more)

    chain = {k: stream(b"/X Do", form + b" /Resources << /XObject << /X %d 0 R >> >>" % (k + 1)) for k in range(6, 56)}
    inner = stream(GRAPHIC + written(CAPTION), form + b" /Resources << /Font << /F1 5 0 R >> >>")
    yield Case("forms-fifty-deep", page({**chain, 56: inner}), ("ok", "partial", "dropped"), figures=None)
    itself = stream(b"/X Do " + GRAPHIC, form + b" /Resources << /XObject << /X 6 0 R >> >>")
    yield Case("form-draws-itself", page({6: itself}))
    ring = {
        6: stream(b"/X Do", form + b" /Resources << /XObject << /X 7 0 R >> >>"),
        7: stream(b"/X Do", form + b" /Resources << /XObject << /X 6 0 R >> >>"),
    }
    yield Case("forms-in-a-ring", page(ring))
    # each draws the next ten times: 10 ** 5 graphics from a file of two kilobytes
    bomb = {
        k: stream(b"/X Do " * 10, form + b" /Resources << /XObject << /X %d 0 R >> >>" % (k + 1)) for k in range(6, 11)
    }
    leaf = stream(b"0 0 m 9 9 l S", form)
    yield Case("forms-multiply", page({**bomb, 11: leaf}), ("ok", "partial"), figures=None, memory_mb=200)


def _text() -> Iterator[Case]:
    """Text that is not what it seems."""
    yield Case("caption-of-html", one_page(GRAPHIC + written(f"Figure 1: {SCRIPT}")), figures=("1",))
    yield Case(
        "caption-of-nul-bytes",
        one_page(GRAPHIC + written("Figure 1: a\0b\x01c, of some words.")),
        ("ok", "dropped"),
        figures=("1",),
    )
    cmap = (
        b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange\n"
        b"3 beginbfchar <41> <D800> <42> <DFFF> <43> <0000> endbfchar endcmap end"
    )
    surrogates = {
        5: FONT.replace(b" >>", b" /ToUnicode 6 0 R >>"),
        6: stream(cmap),
    }
    text = GRAPHIC + written("Figure 1: AAA BBB CCC words of a caption.")
    yield Case("text-of-lone-surrogates", one_page(text, more=surrogates), ("ok", "partial"), figures=None)
    type3 = {
        5: b"<< /Type /Font /Subtype /Type0 /BaseFont /Nope /Encoding /Identity-H /DescendantFonts [6 0 R] >>",
        6: b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Nope /CIDSystemInfo << /Registry (Adobe) "
        b"/Ordering (Identity) /Supplement 0 >> >>",
    }
    yield Case("font-without-tounicode", one_page(text, more=type3), ("ok", "partial"), figures=None)
    yield Case("font-missing", one_page(text, resources=b""), ("ok", "partial"), figures=None)
    yield Case("font-is-itself", one_page(text, more={5: b"5 0 R"}), ("ok", "partial"), figures=None)
    yield Case("font-size-zero", one_page(GRAPHIC + written(CAPTION, before="0 0 0 0 0 0 Tm")), figures=())
    huge = GRAPHIC + written(CAPTION).replace(b"10 Tf", b"1e30 Tf")
    yield Case("font-size-vast", one_page(huge), ("ok", "partial", "dropped"), figures=None)
    yield Case("text-outside-of-the-page", one_page(GRAPHIC + written(CAPTION, y=-500) + written(CAPTION, x=5000)))
    yield Case("text-invisible", one_page(GRAPHIC + written(CAPTION, before="3 Tr")))
    clear = {6: b"<< /ca 0 /CA 0 >>"}
    yield Case(
        "text-of-no-opacity",
        one_page(
            GRAPHIC + b"/G gs " + written(CAPTION),
            resources=b"/Font << /F1 5 0 R >> /ExtGState << /G 6 0 R >>",
            more=clear,
        ),
    )
    yield Case("text-in-a-hidden-layer", _layered(written(CAPTION)))
    many = b"".join(written("x", x=k % 600, y=k // 600) for k in range(30_000))
    yield Case("thirty-thousand-letters", one_page(many), figures=(), memory_mb=600)
    yield Case(
        "one-endless-word", one_page(written("Figure 1: " + "a" * 200_000)), ("ok", "partial", "dropped"), figures=None
    )


def _layered(hidden: bytes) -> bytes:
    """A page with content in a layer that is off."""
    off = b"/OCProperties << /OCGs [6 0 R] /D << /OFF [6 0 R] /Order [6 0 R] >> >>"
    return one_page(
        GRAPHIC + b"/OC /L BDC " + hidden + b" EMC\n",
        catalogue=off,
        resources=b"/Font << /F1 5 0 R >> /Properties << /L 6 0 R >>",
        more={6: b"<< /Type /OCG /Name (hidden) >>"},
    )


def _streams() -> Iterator[Case]:
    """Contents that are empty, broken, or far too much."""
    draws = b"/XObject << /I 6 0 R >> /Font << /F1 5 0 R >>"
    below = written(CAPTION)
    yield Case("content-empty", one_page(b""))
    yield Case("content-of-noise", one_page(random.Random(5).randbytes(20_000)), ("ok", "partial"), figures=None)
    yield Case("content-missing", one_page(b"").replace(b"/Contents 4 0 R", b"/Contents 99 0 R"), ("ok", "partial"))
    yield Case(
        "resources-missing",
        one_page(b"/X Do /G gs /C cs /P scn /S sh " + written("x"), resources=b""),
        ("ok", "partial"),
    )
    yield Case("states-saved-never-restored", one_page(b"q " * 100_000 + GRAPHIC), ("ok", "partial"))
    yield Case("clips-nested", one_page(b"q 0 0 500 500 re W n " * 2_000 + GRAPHIC), ("ok", "partial"))
    yield Case("inflates-to-100-mb", one_page(b" " * 100_000_000, compressed=True), ("ok", "partial"), memory_mb=400)
    paths = b"".join(b"%d %d m %d %d l S\n" % (k % 600, k % 699, k % 600 + 3, k % 699 + 2) for k in range(PATHS))
    yield Case(
        "paths", one_page(paths + below, compressed=True), ("ok", "partial", "dropped"), figures=None, memory_mb=500
    )
    one = b"0 0 m " + b"".join(b"%d %d l " % (k % 600, k % 700) for k in range(PATHS)) + b"S\n"
    yield Case(
        "one-path-of-many-points", one_page(one, compressed=True), ("ok", "partial"), figures=None, memory_mb=500
    )
    image = b"/Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent 1 /ColorSpace /DeviceGray"
    place = b"q 300 0 0 200 100 520 cm /I Do Q "
    rows = bytes(2500) * 20_000
    yield Case(
        "image-20000-by-20000",
        one_page(place + below, resources=draws, more={6: stream(rows, image % (20_000, 20_000), compressed=True)}),
        ("ok", "partial", "dropped"),
        figures=None,
        memory_mb=500,
    )
    for name, size in {
        "image-of-no-size": (0, 0),
        "image-of-negative-size": (-5, -5),
        "image-that-lies": (60_000, 60_000),
    }.items():
        data = one_page(place + below, resources=draws, more={6: stream(b"\0" * 64, image % size)})
        yield Case(name, data, ("ok", "partial", "dropped"), figures=None)
    small = stream(b"\x80", image % (1, 1))
    dots = b"".join(b"q 5 0 0 5 %d %d cm /I Do Q\n" % (5 * (k % 100) + 50, 5 * (k // 100) + 100) for k in range(10_000))
    yield Case(
        "ten-thousand-images",
        one_page(dots, resources=draws, more={6: small}),
        ("ok", "partial"),
        figures=None,
        memory_mb=600,
    )
    pattern = {
        6: stream(
            b"/P scn",
            b"/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1] /XStep 0.001 "
            b"/YStep 0.001 /Resources << /Pattern << /P 6 0 R >> >>",
        )
    }
    tiled = b"/Pattern cs /P scn 100 520 300 200 re f " + below
    yield Case(
        "pattern-of-itself",
        one_page(tiled, resources=b"/Font << /F1 5 0 R >> /Pattern << /P 6 0 R >>", more=pattern),
        ("ok", "partial", "dropped"),
        figures=None,
    )


def _harmed(data: bytes) -> Iterator[Case]:
    """A real file, cut short, with bits flipped, encrypted, turned, and with things hung onto it."""
    for share in (1, 5, 20, 35, 50, 65, 80, 90, 95, 99):
        yield Case(f"cut-at-{share}%", data[: len(data) * share // 100], ("ok", "partial", "failed"), figures=None)
    for seed, bits in enumerate((1, 1, 1, 4, 4, 16, 16, 64, 256, 1024)):
        statuses = ("ok", "partial", "failed", "dropped")
        yield Case(f"bits-flipped-{bits}-seed-{seed}", flipped(data, seed, bits), statuses, figures=None)
    yield Case(
        "zeros-within",
        data[: len(data) // 3] + bytes(2000) + data[len(data) // 3 + 2000 :],
        ("ok", "partial", "failed", "dropped"),
        figures=None,
    )
    yield Case("twice-the-file", data + data, ("ok", "partial"), figures=("1", "2"))
    yield Case("noise-before", random.Random(3).randbytes(500) + data, ("ok", "partial"), figures=("1", "2"))
    yield Case("only-a-header", b"%PDF-1.7\n", ("failed",), "pdf-damaged")
    yield Case("empty", b"", ("failed",), "pdf-empty")
    yield Case("not-a-pdf", b"<html>no</html>", ("failed",), "pdf-not-a-pdf")
    yield Case("encrypted", encrypted(data, user_pw="u", owner_pw="o"), ("failed",), "pdf-encrypted")
    yield Case("encrypted-without-password", encrypted(data, owner_pw="o"), ("ok",), figures=("1", "2"))
    for turn in (90, 180, 270):
        yield Case(f"turned-by-{turn}", rotated(data, turn), figures=("1", "2"))
    yield Case("scripts-and-attachments", loaded(data), figures=("1", "2"))


def cases(scratch: Path) -> list[Case]:
    """The whole corpus, its names unique."""
    makers: list[Callable[[], Iterator[Case]]] = [_trees, _sizes, _forms, _text, _streams]
    data = honest(scratch / "honest.pdf")
    return [Case("honest", data, figures=("1", "2")), *_harmed(data), *(case for maker in makers for case in maker())]
