"""Blind controls and the dry run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.base import ImageInput
from scifigqual_bench.judges.controls import CONTROLS, under_control
from scifigqual_bench.judges.costs import Price
from scifigqual_bench.judges.dry_run import (
    MOST_PIXELS,
    PIXELS_PER_TOKEN,
    DryRunBackend,
    image_tokens,
    prompt_tokens,
)
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.judges.protocols import PROTOCOLS
from scifigqual_bench.records import SidecarFeatures
from tests.factory import png
from tests.judges.scripted import MARKERS, ScriptedBackend, good_answer, image_features, item


def papers(*sizes: int) -> Iterator[JudgeItem]:
    """Papers of so many figures; each image and its features name paper and figure."""
    for paper, size in enumerate(sizes):
        for n in range(1, size + 1):
            name = f"p{paper}f{n}"
            base = item(n, features=SidecarFeatures(image=image_features(ocr_engine=name)))
            figure = base.figure.model_copy(update={"paper_id": f"p{paper}", "figure_id": f"p{paper}__fig{n:04d}"})
            yield JudgeItem(figure, name.encode())


@pytest.mark.parametrize(("control", "protocols"), CONTROLS.items())
def test_the_mask_and_the_number_of_figures_stay(control: str, protocols: tuple[str, ...]) -> None:
    for protocol in protocols:
        before, after = list(papers(2, 1)), list(under_control(papers(2, 1), control, protocol))
        assert [each.figure.open_dimensions for each in after] == [each.figure.open_dimensions for each in before]
        assert [each.figure.figure_id for each in after] == [each.figure.figure_id for each in before]
        assert all(each.control == control for each in after)
        rows = PROTOCOLS[protocol].judge(after, ScriptedBackend(good_answer))
        assert {row.status for row in rows} == {"ok"}


def test_no_control_changes_nothing() -> None:
    assert list(under_control(papers(2), None, "agent")) == list(papers(2))


def test_without_the_image_nothing_of_it_is_sent() -> None:
    backend = ScriptedBackend(good_answer)
    PROTOCOLS["direct"].judge(list(under_control([item()], "no-image", "direct")), backend)
    (request,) = backend.requests
    assert request.evidence.image is None and request.evidence.features is None
    assert MARKERS["caption"] in request.user and MARKERS["ocr"] not in request.user


@pytest.mark.parametrize("protocol", ["direct", "sidecar"])
def test_without_the_text_nothing_of_it_is_sent(protocol: str) -> None:
    backend = ScriptedBackend(good_answer)
    figure = item()
    with_map = JudgeItem(figure.figure, figure.image, figure_map=(("1", "ZEBRAMAP"),))
    PROTOCOLS[protocol].judge(list(under_control([with_map], "no-text", protocol)), backend)
    (request,) = backend.requests
    assert request.evidence.image is not None
    for name in ("caption", "citation", "title", "overlap"):
        assert MARKERS[name] not in request.user
    assert "ZEBRAMAP" not in request.user and "word_share" not in request.user
    assert (MARKERS["ocr"] in request.user) == (protocol == "sidecar")
    assert "caption_consistency" in request.open_dimensions


def test_each_figure_gets_the_first_image_of_the_next_paper_with_what_was_measured_in_it() -> None:
    swapped = list(under_control(papers(2, 1, 2), "other-image", "sidecar"))
    assert [each.image for each in swapped] == [b"p1f1", b"p1f1", b"p2f1", b"p0f1", b"p0f1"]
    assert [each.figure.features.image.ocr_engine for each in swapped] == [each.image.decode() for each in swapped]
    # No word of the caption stands in the other image's text but the axis labels that both share.
    assert swapped[0].figure.features.caption.word_share is not None
    assert [each.figure.caption for each in swapped] == [each.figure.caption for each in papers(2, 1, 2)]


def test_another_image_needs_another_paper() -> None:
    with pytest.raises(InputError, match="one paper only"):
        list(under_control(papers(3), "other-image", "direct"))
    assert list(under_control([], "other-image", "direct")) == []


@pytest.mark.parametrize(
    ("control", "protocol"), [("no-image", "agent"), ("no-image", "sidecar"), ("no-text", "agent")]
)
def test_a_control_that_leaves_a_call_nothing_is_refused(control: str, protocol: str) -> None:
    with pytest.raises(InputError, match=f"--control {control} leaves a call of {protocol} nothing to judge"):
        under_control([item()], control, protocol)


# --- dry run --------------------------------------------------------------------------------------------------------


def counted(protocol: str, count: int = 3) -> tuple[DryRunBackend, ScriptedBackend]:
    inner = ScriptedBackend(good_answer)
    inner.settings = lambda: {"sampling": {"max_tokens": 500}}
    counting = DryRunBackend(inner)
    rows = PROTOCOLS[protocol].judge([item(n) for n in range(1, count + 1)], counting)
    assert {row.status for row in rows} == {"ok"}
    return counting, inner


@pytest.mark.parametrize(("protocol", "calls"), [("direct", 3), ("sidecar", 3), ("agent", 9)])
def test_the_calls_are_counted_and_none_is_made(protocol: str, calls: int) -> None:
    counting, inner = counted(protocol)
    assert inner.requests == [] and counting.calls.total() == calls
    assert counting.calls == dict.fromkeys(PROTOCOLS[protocol].roles, 3)
    assert counting.completion_tokens() == calls * 500


def test_a_closed_dimension_makes_the_agents_fusion_smaller_and_valid() -> None:
    counting = DryRunBackend(ScriptedBackend(good_answer))
    rows = PROTOCOLS["agent"].judge([item(citations=[])], counting)
    assert rows[0].status == "ok" and counting.completion_tokens() is None


def test_the_estimate_is_of_what_would_be_sent() -> None:
    backend = ScriptedBackend(good_answer)
    PROTOCOLS["direct"].judge([item(n) for n in range(1, 4)], backend)
    counting, _ = counted("direct")
    assert counting.prompt_tokens == sum(map(prompt_tokens, backend.requests))
    text = sum((len(request.system) + len(request.user)) // 4 for request in backend.requests)
    assert counting.prompt_tokens > text + 3 * (320 * 200 // PIXELS_PER_TOKEN)


def test_images_are_counted_by_their_pixels_up_to_a_limit() -> None:
    assert image_tokens(ImageInput(png("", (750, 100)), "x")) == 100
    assert image_tokens(ImageInput(png("", (3000, 2000)), "x")) == MOST_PIXELS // PIXELS_PER_TOKEN
    assert image_tokens(ImageInput(b"broken", "x")) == MOST_PIXELS // PIXELS_PER_TOKEN


def test_the_summary_states_the_cost_at_most() -> None:
    counting, _ = counted("direct")
    price = Price(prompt=1e6, completion=1e6)
    lines = counting.summary(price)
    assert lines[0] == "calls: 3 (direct 3)"
    assert lines[2] == "answer tokens: at most 1500"
    assert lines[3] == (
        f"cost: about {counting.prompt_tokens:.2f} for the prompts,"
        f" at most {counting.prompt_tokens + 1500:.2f} with the answers"
    )
    assert len(counting.summary(None)) == 3
