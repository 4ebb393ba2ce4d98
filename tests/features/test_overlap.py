from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.features.overlap import caption_overlap, content_words, number_values, panels_named
from scifigqual_bench.records import TextBox


def boxes(*texts):
    return [TextBox(text=text, confidence=0.9, bbox=[0, 0, 10, 10]) for text in texts]


@given(st.text(max_size=80), st.lists(st.text(max_size=20), max_size=6), st.randoms(use_true_random=False))
def test_shares_are_shares_whatever_the_text_and_order(caption, texts, rng: random.Random):
    found = caption_overlap(caption, boxes(*texts))
    for share in (found.word_share, found.number_share):
        assert share is None or 0 <= share <= 1
    rng.shuffle(texts)
    assert caption_overlap(caption, boxes(*texts)) == found


@given(st.text(max_size=80))
def test_a_caption_is_wholly_found_in_itself(caption):
    found = caption_overlap(caption, boxes(caption))
    assert found.word_share in (None, 1)
    assert found.number_share in (None, 1)


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=5), st.text(max_size=20))
def test_more_text_never_lowers_a_share(caption, texts, more):
    few, many = caption_overlap(caption, boxes(*texts)), caption_overlap(caption, boxes(*texts, more))
    assert (few.word_share or 0) <= (many.word_share or 0)
    assert (few.number_share or 0) <= (many.number_share or 0)


def test_shares_count_distinct_content_words_and_numbers():
    caption = "Figure 3: Accuracy of the models on CIFAR10 for 50 and 1,000 labels. Accuracy rises."
    found = caption_overlap(caption, boxes("ACCURACY (%)", "Model A", "0", "50.0", "100"))
    assert found.word_share == pytest.approx(2 / 5)  # accuracy, model; not cifar10, label, rise
    assert found.number_share == pytest.approx(1 / 2)


def test_the_label_of_the_caption_is_no_number():
    assert caption_overlap("Fig. 7. Loss curves", boxes("7")).number_share is None
    assert caption_overlap("Figure A2 | Loss at 2", boxes("2")).number_share == 1


def test_a_caption_without_words_or_numbers_has_no_share():
    found = caption_overlap("(a)", boxes("Loss"))
    assert (found.word_share, found.number_share, found.panels_named) == (None, None, ["a"])


def test_nothing_read_is_no_overlap_but_nobody_reading_is_unknown():
    caption = "Loss after 10 epochs"
    assert caption_overlap(caption, []).word_share == 0
    assert caption_overlap(caption, []).number_share == 0
    assert caption_overlap(caption, None).word_share is None
    assert caption_overlap(caption, None).number_share is None


def test_a_long_word_is_found_in_text_read_without_spaces():
    assert caption_overlap("gradient", boxes("GradientSteps")).word_share == 1
    assert caption_overlap("step", boxes("GradientSteps")).word_share == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Curves, losses, studies, boxes, batches", {"curve", "loss", "study", "box", "batch"}),
        ("GPUs and a loss", {"gpu", "loss"}),
        ("cross-entropy ﬁne-tuning", {"cross", "entropy", "fine", "tuning"}),
        ("x = 3 of the left panel", set()),
        ("Größe der 3D-Modelle", {"grösse", "der", "3d", "modelle"}),
    ],
)
def test_content_words(text, words):
    assert content_words(text) == words


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0.50, .5% and −0.5", {0.5, 5}),
        ("1,000 of 2,500.75", {1000, 2500.75}),
        ("1,2,3", {1, 2, 3}),
        ("10k, 3D, W2GN, resnet50", set()),
        ("4–6 or 4-6", {4, 6}),
        ("ε=0.03", {0.03}),
        ("0.5x", set()),
    ],
)
def test_numbers(text, numbers):
    assert number_values(text) == numbers


@pytest.mark.parametrize(
    ("caption", "letters"),
    [
        ("(a) Loss (b) accuracy", "ab"),
        ("(a)-(c) Loss", "abc"),
        ("(a–c) Loss", "abc"),
        ("(a) to (c) Loss", "abc"),
        ("(A, B), and (C)", "abc"),
        ("(a, and b)", "ab"),
        ("(a,f) true, (b,g) random, (c,h), (d,i), (e,j)", "abcdefghij"),
        ("a) Loss b) accuracy", "ab"),
        ("Panels A and B; panel C", "abc"),
        ("(a): Loss; (b): accuracy", "ab"),
        ("image(s) f(a) Fig. 2(a) and Figure 3 (left)", ""),
        ("(i) first (ii) second", ""),
        ("f (x) over (t)", ""),
        ("a panel of figures, panels are good", ""),
        ("left, right, (top)", ""),
        ("", ""),
    ],
)
def test_panels_named(caption, letters):
    assert panels_named(caption) == list(letters)
