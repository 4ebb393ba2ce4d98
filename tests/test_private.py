import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.private import private_parts, without_emails


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("write to a.b+c@cs.example.edu.", ["e-mail"]),
        ("{ann,bob}@example.org", ["e-mail"]),
        ("saved in /home/ann/run/fig.png and /tmp/x", ["local-path", "local-path"]),
        (r"C:\Users\ann\fig.png", ["local-path"]),
        ("file:///data/fig.png", ["local-path"]),
        ("hf_" + "a" * 34, ["token"]),
        ("sk-proj-" + "a" * 40, ["token"]),
        ("ghp_" + "A" * 36, ["token"]),
        ("AKIA" + "A" * 16, ["token"]),
        ("-----BEGIN RSA PRIVATE KEY-----", ["token"]),
        ("Authorization: Bearer " + "x" * 30, ["token"]),
        ("JANE@LAB.EXAMPLE.ORG", ["e-mail"]),
        ("log:/home/ann/x, ~/runs/7/x.png, C:/Users/ann/x", ["local-path"] * 3),
        ("glpat-" + "a" * 20, ["token"]),
        ("eyJ" + "a" * 30 + ".eyJ" + "b" * 30 + "." + "c" * 40, ["token"]),
        ("https://ann:secret@example.org/x", ["e-mail", "token"]),
    ],
)
def test_what_is_private(text, kinds):
    assert [kind for kind, _ in private_parts(text)] == kinds


@pytest.mark.parametrize(
    "text",
    [
        "mAP@0.5 and Recall@k.The",
        "see https://example.org/home/ann and http://x.org/tmp/y",
        "the train/home/tmp split, and/or /tmp",
        "hf_hub_download, sk-learn, risk-averse",
        "Figure 3 @ 10 epochs",
        "P@10.AUC and mAP@0.5:0.95, approx. ~/2 or 3/4",
        "https://example.org:8080/a@b",
    ],
)
def test_what_is_not(text):
    assert list(private_parts(text)) == []


def test_a_token_is_not_repeated():
    token = "hf_" + "s" * 34
    ((_, shown),) = private_parts(f"key = {token}")
    assert shown == "hf_sss..."


@given(st.text(max_size=300))
def test_any_text_can_be_searched(text):
    assert all(kind in ("e-mail", "local-path", "token") for kind, _ in private_parts(text))


def test_long_texts_without_a_match_take_linear_time():
    """Patterns that try again from every character would need minutes for this."""
    for piece in ("a.", "a@", "/home", "a-", "}@", "sk-", "eyJ-", "~/a", "http://a:"):
        assert list(private_parts(piece * 50_000)) is not None


def test_addresses_go_and_measures_stay():
    text = "mAP@0.5 is low, ask Ann.Lee@LAB.EDU or ann@lab.example.org"
    assert without_emails(text) == "mAP@0.5 is low, ask [e-mail address] or [e-mail address]"


def test_the_real_captions_hold_nothing_private(shared):
    captions = (shared / "eval1200" / "captions.jsonl").read_text(encoding="utf-8")
    assert list(private_parts(captions)) == []
