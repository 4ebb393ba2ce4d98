"""Figures, predictions and pages to test the report with: all made here."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image, ImageDraw

from scifigqual_bench import gating, records
from scifigqual_bench.rubric import DIMENSION_KEYS

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</style><style>body{display:none}",
    "</script><script>alert(3)</script>",
    "{{ 7*7 }}{% raw %}",
    "\u202eright to left override",
    "line\u2028separator\u2029and\u0000nul",
    "javascript:alert(4)",
    "&lt;b&gt; &#60;i&#62;",
    "W" * 600,
    "<!--",
    "]]>",
    "'onfocus='alert(5)",
)


@pytest.fixture(scope="session")
def hostile() -> str:
    """Every kind of text that must not do anything but be read."""
    return " ".join(HOSTILE)


def _png(width: int = 320, height: int = 200, text: str = "plot") -> bytes:
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((20, 10, width - 10, height - 20), outline="black")
    draw.line((20, height - 30, width // 2, height // 2, width - 20, 30), fill=(30, 90, 160), width=3)
    draw.text((30, 20), text, fill="black")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _figure(
    paper: str = "paper-1", index: int = 1, *, gold: dict[str, float] | float | None = None, **fields
) -> records.Figure:
    """A figure with a caption and a citing paragraph, unless ``fields`` say otherwise."""
    fig_id = records.figure_id(paper, index)
    fields.setdefault("number", str(index))
    fields.setdefault("caption", f"Figure {index}: Accuracy of both methods over the budget.")
    fields.setdefault(
        "citations",
        [records.Citation(text=f"Figure {index} shows that ours is better.", mentions=[f"Figure {index}"])],
    )
    mask = gating.open_dimensions(has_caption=bool(fields["caption"].strip()), has_context=bool(fields["citations"]))
    fields.setdefault("open_dimensions", list(mask))
    if isinstance(gold, float | int):
        gold = dict.fromkeys(mask, float(gold))
    if gold is not None:
        fields["gold"] = records.Gold(
            figure_id=fig_id, **gold, overall_score=gating.overall(gold, list(gold)), n_ratings=3
        )
    return records.Figure(figure_id=fig_id, paper_id=paper, paper_id_norm=paper, fig_index=index, **fields)


def _prediction(figure: records.Figure, score: float | dict[str, float] = 8, **fields) -> records.Prediction:
    """An ``ok`` prediction on the figure's open dimensions, unless ``fields`` say otherwise."""
    scores = score if isinstance(score, dict) else dict.fromkeys(figure.open_dimensions, float(score))
    if fields.get("status", "ok") == "ok":
        fields = {**scores, "overall_score": gating.overall(scores, figure.open_dimensions), **fields}
    return records.Prediction(figure_id=figure.figure_id, **fields)


def _everything(text: str, *, paper: str = "paper-1", index: int = 1) -> tuple[records.Figure, records.Prediction]:
    """A figure and a prediction that have ``text`` in every field that takes free text."""
    answer = records.DimensionAnswer(score=7, reason=text[:600], evidence=[text[:300]])
    short = text[:400]
    fields_text = records.Reasons(**dict.fromkeys(DIMENSION_KEYS, text))
    image = records.ImageFeatures(
        ocr_engine=text,
        width=320,
        height=200,
        megapixels=0.064,
        blur_laplacian=100.0,
        edge_density=0.1,
        whitespace_share=0.8,
        dominant_colour_share=0.7,
        distinct_hues=1,
        colourfulness=3.0,
        text_boxes=[records.TextBox(text=text, confidence=0.9, bbox=[0.0, 0.0, 9.0, 9.0])],
        text_height_pt_min=4.5,
        panel_letters=[text],
        clipped_edges=[text],
    )
    figure = _figure(
        paper,
        index,
        number=text,
        caption=text,
        title=text,
        venue=text,
        year=2024,
        section=text,
        topic=text,
        page=3,
        citations=[records.Citation(text=text, section=text, page=2, kind="trend", mentions=[])],
        gold=7.5,
        ratings=[records.Rating(figure_id="x", rater_id=text, visual_clarity=7, reasons=fields_text)],
        features=records.SidecarFeatures(image=image, caption=records.CaptionOverlap(panels_named=[text])),
        curation_status="flagged",
        curation_marks=[records.Mark(stage="S2", code=text, detail=text)],
    )
    prediction = _prediction(
        figure,
        7,
        reasons=fields_text,
        evidence={key: [text] for key in DIMENSION_KEYS},
        status_reason=text,
        calls=[records.CallRecord(role="vision", raw=text, finish_reason=text, error=text)],
        vision=records.VisionReport(
            visual_clarity=answer,
            structure_layout=answer,
            visible_facts=[short],
            caption_should_mention=[short],
            citation_should_mention=[short],
            risk_band="7-8",
            risk_reason=short,
        ),
        language=records.LanguageReport(claims=[short], omissions=[short], severity="minor", severity_reason=short),
        fusion=records.FusionReport(caption_consistency=answer, context_consistency=answer, misleading_reason=short),
        runner_trace=[text],
        marks=[text],
    )
    return figure, prediction


def _manifest(text: str = "rules") -> records.RunManifest:
    return records.RunManifest(
        protocol="agent",
        backend=text,
        model=text,
        revision=text,
        rubric_version="1.0",
        prompt_sha256={text: "ab" * 32},
        dataset_name=text,
        dataset_fingerprint="cd" * 32,
        splits=[text],
        configuration_sha256="ef" * 32,
        code_version=text,
        packages={text: text},
        started_at="2026-03-01T09:05:59+00:00",
        figures=1,
    )


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    """Builders: ``png``, ``figure``, ``prediction``, ``everything`` (one text in every field), ``manifest``."""
    return SimpleNamespace(png=_png, figure=_figure, prediction=_prediction, everything=_everything, manifest=_manifest)


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """A real chromium: Debian's, else the one that playwright installed."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")
    with sync_api.sync_playwright() as playwright:
        program = shutil.which("chromium") or playwright.chromium.executable_path
        if not Path(program).exists():
            pytest.skip("needs chromium (apt install chromium, or playwright install chromium)")
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser) -> Iterator[Callable[..., object]]:
    """Open a page file; at the end of the test nothing may have complained, asked or called out."""
    contexts, complaints = [], []

    def open_page(path: Path, fragment: str = "", *, width: int = 1280, height: int = 900, **settings):
        context = browser.new_context(viewport={"width": width, "height": height}, **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: complaints.append(f"script error: {error}"))
        page.on("console", lambda message: complaints.append(f"console {message.type}: {message.text}"))
        page.on(
            "request",
            lambda request: request.url.startswith(("file:", "data:")) or complaints.append(f"request: {request.url}"),
        )
        page.add_init_script(
            "addEventListener('securitypolicyviolation',"
            " event => console.error('policy', event.violatedDirective, event.blockedURI))"
        )
        page.goto(path.as_uri() + fragment)
        page.complaints = complaints
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
