import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.dataset.markup import plain_text


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("our *JLPC* model", "our JLPC model"),
        ("**Figure 1:** *(left)* and ***both***", "Figure 1: (left) and both"),
        ("Section [6.2](#page-3-3) of [\\(Lee,](#page-1-0) [2020\\)](#page-1-0)", "Section 6.2 of (Lee, 2020)"),
        ("see [here](https://example.org/a_b)", "see here"),
        ("x<sup>2</sup> and H<sub>2</sub>O<br>", "x2 and H2O"),
        ('<span id="page-1-0"></span>Figure 2', "Figure 2"),
        ("GM\\_GEN of \\(Lee et al., 2020)", "GM_GEN of (Lee et al., 2020)"),
        ("a &lt; b &amp; c", "a < b & c"),
        ("`relu` units", "relu units"),
        ("## Figure 3", "Figure 3"),
        ("![](figure.png) Figure 4", "Figure 4"),
    ],
)
def test_traces_go(raw, plain):
    assert plain_text(raw) == plain


@pytest.mark.parametrize(
    "text",
    [
        "* p < 0.05, ** p < 0.01",
        "a * b * c",
        "Ours* needs no tuning",
        "pa(S) \\ biD(S)",
        "$\\alpha_1 = \\{a\\}$",
        "[1] and [2] (both)",
        "if x < y and y > z",
        "f_1 and snake_case_name",
        "  blanks   as they were ",
    ],
)
def test_what_only_looks_like_markup_stays(text):
    assert plain_text(text) == text


@given(st.text(alphabet="ab *`[]()#\\_<>/&;$\n", max_size=80))
def test_any_text_comes_back_in_time_and_no_longer(text):
    assert len(plain_text(text)) <= len(text)


def test_captions_of_the_release(shared):
    lines = (shared / "eval1200" / "captions.jsonl").read_text(encoding="utf-8").splitlines()
    captions = [json.loads(line)["caption"] for line in lines]
    plain = [plain_text(caption) for caption in captions]
    assert sum(one != two for one, two in zip(captions, plain, strict=True)) == 281
    assert not any("](#" in text for text in plain)
