"""The layout model's second opinion: what is kept of it, and that it is asked only on demand."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.dataset.extractor import PaperExtractor
from scifigqual_bench.pdf import layout_model
from scifigqual_bench.pdf.document import Rect
from scifigqual_bench.pdf.extract import extract_paper
from scifigqual_bench.pdf.layout_model import agreement
from scifigqual_bench.records import PaperMeta
from tests.pdf.made_pdf import LEFT, RIGHT, Paper, caption, picture, prose

META = PaperMeta(paper_id="paper")
sides = st.tuples(st.floats(0, 100), st.floats(0, 100), st.floats(1, 100), st.floats(1, 100))
boxes = sides.map(lambda s: (s[0], s[1], s[0] + s[2], s[1] + s[3]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    paper = Paper(tmp_path / "paper.pdf")
    page = paper.page()
    picture(page, (58, 60, 293, 190))
    caption(page, LEFT, 197, "Figure 1: A picture of noise, which is in the way of nothing else on its page.")
    prose(page, LEFT, 230, 40)
    prose(page, RIGHT, 54, 55)
    paper.pdf.save(paper.path)
    return paper.path


def test_the_model_is_asked_only_on_demand(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_):
        raise AssertionError("asked")

    monkeypatch.setattr(layout_model, "_model", never)
    (plain,) = extract_paper(path, META).figures
    assert plain.figure.provenance.layout_model_iou is None


@pytest.mark.parametrize(("seen", "share", "trust"), [((58, 60, 293, 190), 1.0, 0.05), ((300, 60, 500, 190), 0.0, 0.0)])
def test_what_it_sees_is_kept_with_the_figure(
    path: Path, monkeypatch: pytest.MonkeyPatch, seen: Rect, share: float, trust: float
) -> None:
    class Model:
        def predict(self, page: pymupdf.Page) -> list[tuple]:
            assert page.rect.width == 612
            return [(*seen, "picture"), (54, 230, 297, 700, "text")]

    monkeypatch.setattr(layout_model, "_model", lambda _: Model())
    (plain,), (asked,) = extract_paper(path, META).figures, extract_paper(path, META, layout_model=True).figures
    assert asked.figure.provenance.layout_model_iou == pytest.approx(share, abs=0.03)
    assert asked.figure.provenance.confidence == pytest.approx(plain.figure.provenance.confidence + trust)
    assert (asked.figure.bbox, asked.image) == (plain.figure.bbox, plain.image)


@pytest.mark.slow
def test_the_model_that_is_shipped_answers(path: Path) -> None:
    pytest.importorskip("pymupdf.layout")
    (figure,) = extract_paper(path, META, layout_model=True).figures
    assert 0 <= figure.figure.provenance.layout_model_iou <= 1


def test_results_with_and_without_it_are_not_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    with_model, without = PaperExtractor("none", layout_model=True), PaperExtractor("none")
    assert with_model.identity != without.identity
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ImportError, match="pip install"):
        _ = with_model.identity


@given(boxes, st.lists(boxes, max_size=5))
def test_agreement_is_a_share_and_perfect_where_the_box_is_seen(box: Rect, others: list[Rect]) -> None:
    assert 0 <= agreement(box, others) <= 1 + 1e-9
    assert agreement(box, [*others, box]) == pytest.approx(1.0)
