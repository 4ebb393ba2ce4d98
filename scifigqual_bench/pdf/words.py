"""Characters and words: what a PDF prints in pieces, made whole.

Accents and ligatures are composed, and words that a line end cut are joined. Nothing is spelled anew: what the authors
wrote stays as they wrote it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

# --- characters -----------------------------------------------------------------------------------------------------

_COMBINING = {
    "`": "\u0300", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¯": "\u0304", "˘": "\u0306", "˙": "\u0307",
    "¨": "\u0308", "˚": "\u030a", "˝": "\u030b", "ˇ": "\u030c", "¸": "\u0327", "˛": "\u0328",
}  # fmt: skip
_ACCENT_FIRST = re.compile(r"( ?)([`´ˆ˜¯˘˙¨˚˝ˇ]) ?([^\W\d_])")
_ACCENT_LAST = re.compile(r"([^\W\d_])([¸˛])")
_NOT_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd\u200b\ufeff]")
_LIGATURES = {ord(c): unicodedata.normalize("NFKC", c) for c in "ﬀﬁﬂﬃﬄﬅﬆ"}


def clean_text(text: str) -> str:
    """Compose what the PDF prints in pieces: ligatures apart, accents onto their letters; drop what is no text.

    Unlike NFKC it leaves superscripts and mathematical letters as they are, and it agrees with NFKC on what it changes.

    >>> clean_text("Saarbr¨ucken, Tram`er, na¨ıve, Franc¸ois: ﬁne-tuning")
    'Saarbrücken, Tramèr, naïve, François: fine-tuning'
    """
    text = _NOT_TEXT.sub("", text).translate(_LIGATURES)
    if any(accent in text for accent in _COMBINING):
        text = _ACCENT_FIRST.sub(_compose_first, text)
        text = _ACCENT_LAST.sub(lambda m: _composed(m[1], m[2]) or m[0], text)
    return unicodedata.normalize("NFC", text)


def _compose_first(match: re.Match[str]) -> str:
    space, accent, letter = match.groups()
    whole = _composed({"ı": "i", "ȷ": "j"}.get(letter, letter), accent)
    if whole is None:
        return match[0]
    # some PDFs print a blank before an accent within a word ("Schr ¨odinger"); in formulas it parts words
    inside = accent in "`´¨" and letter in "aeiouı" and match.start() and match.string[match.start() - 1].isalpha()
    return whole if inside else space + whole


def _composed(letter: str, accent: str) -> str | None:
    whole = unicodedata.normalize("NFC", letter + _COMBINING[accent])
    return whole if len(whole) == 1 else None


# --- words across line ends -----------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_LAST_PIECE = re.compile(r"([^\W_]+(?:[-‐][^\W_]+)*)[-‐\u00ad]$")  # of the last word only: quadratic in a long text
_FIRST_PIECE = re.compile(r"[^\W_]+(?:[-‐][^\W_]+)*")


def vocabulary(rows: Iterable[str]) -> Counter[str]:
    """Words of a paper in lower case, with their counts; a word cut at the end of a row is not one of them.

    The parts of a compound count too.

    >>> vocabulary(["the n-gram model in-", "formation theory"])["n-gram"]
    1
    """
    words: Counter[str] = Counter()
    cut = False
    for text in rows:
        found = [match[0].lower() for match in _WORD.finditer(text)]
        ends_cut = _cut_word(text) is not None
        whole = found[cut : len(found) - ends_cut]
        words.update(whole)
        words.update(part for word in whole if "-" in word for part in word.split("-"))
        cut = ends_cut
    return words


def join_rows(first: str, second: str, words: Mapping[str, int]) -> str:
    """Two rows of a paragraph in one line, a word cut at the end of the first made whole.

    A hyphen at the end of a row is soft ("infor-mation") or belongs to the word ("n-gram"). The paper's own words
    decide; where they are silent, the hyphen stays between two words that both occur alone, after a prefix of one
    letter, and next to digits and capitals.

    Args:
        first: The row before.
        second: The row after.
        words: :func:`vocabulary` of the paper.

    >>> join_rows("the n-", "gram model", {"gram": 1})
    'the n-gram model'
    >>> join_rows("the infor-", "mation in it", {"information": 2})
    'the information in it'
    """
    left, right = _cut_word(first), _FIRST_PIECE.match(second)
    if (re.search(r"\S[—–/]$", first) and second[:1].isalnum()) or (left and not right):
        return first + second
    if not left or not right:
        return f"{first} {second}"
    return (first[:-1] if _soft_hyphen(left[1], right[0], words) else first.removesuffix("\u00ad")) + second


def _cut_word(text: str) -> re.Match[str] | None:
    """The piece of a word that a hyphen cuts at the end of a text, as group 1."""
    return _LAST_PIECE.search(text[text.rfind(" ") + 1 :])


def _soft_hyphen(left: str, right: str, words: Mapping[str, int]) -> bool:
    if not right[0].islower() or not left[-1].islower() or len(left) == 1:
        # TeX never cuts after one letter; capitals and digits beside the hyphen make a compound ("GPT-based")
        return False
    head, tail = left.lower(), right.lower()
    joined, hyphened = words.get(head + tail, 0), words.get(f"{head}-{tail}", 0)
    if joined or hyphened:
        return joined >= hyphened
    last, first = re.split("[-‐]", head)[-1], re.split("[-‐]", tail)[0]
    if last != head or first != tail:  # "state-of-the-" + "art", "multi-dimen-" + "sional"
        return bool(words.get(last + first, 0)) or not (words.get(last, 0) and words.get(first, 0))
    return not (len(last) > 2 and words.get(last, 0) and words.get(first, 0))


def join_all(texts: Sequence[str], words: Mapping[str, int]) -> str:
    """All rows of a paragraph in one line (see :func:`join_rows`).

    >>> join_all(["Fig-", "ure 3 shows the", "loss."], {"figure": 1})
    'Figure 3 shows the loss.'
    """
    whole = ""
    for text in texts:
        whole = join_rows(whole, text, words) if whole else text
    return whole
