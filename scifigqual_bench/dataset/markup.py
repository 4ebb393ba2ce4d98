"""Captions that went through a PDF parser's Markdown, back to plain text."""

from __future__ import annotations

import html
import re

_TAG = re.compile(r"</?(?:sup|sub|span|b|i|em|strong|u|br|p|a|div|code)\b[^<>]*>", re.I)
_IMAGE = re.compile(r"!\[[^\]\n]*\]\([^()\s]*\)")
_LINK = re.compile(r"\[((?:\\.|[^\[\]\\]|\[[^\[\]]*\])*)\]\((?:#|https?://|mailto:)[^()\s]*\)")
_CODE = re.compile(r"(?<![\\`])`([^`\n]+)`(?!`)")
_STARS = re.compile(r"(?<![\\*\w])(\*{1,3})(?![\s*])((?:\\.|[^*\\])+?)(?<!\s)\1(?![*\w])")
_EMPHASIS_INSIDE = re.compile(r"(?<![\\*])(\*{1,3})(?![\s*])((?:\\.|[^*\\])*?[^\W\d_](?:\\.|[^*\\])*?)(?<!\s)\1(?!\*)")
_ESCAPE = re.compile(r"(\$[^$\n]*\\[^$\n]*\$)|\\([!\"#$%&'()*+,\-./:;<=>?@\[\]^_`|~])")
"""An escaped sign, and TeX, which is passed over."""
_LINE_START = re.compile(r"^(?:#{1,6}\s+|>\s+)", re.M)


def plain_text(text: str) -> str:
    r"""A text without the traces of Markdown: emphasis, links, code, tags, escapes and character references.

    Only what is plainly markup goes: a star for significance or multiplication stays, and so does TeX.

    Args:
        text: As the parser gave it.

    Returns:
        The text; the very same where there is nothing to take out.

    >>> plain_text("The *JLPC* model of [\\(6\\)](#page-3-3), see Section [6.2](#page-3-3).")
    'The JLPC model of (6), see Section 6.2.'
    >>> plain_text("* p < 0.05, a * b * c, $x_1$")
    '* p < 0.05, a * b * c, $x_1$'
    """
    plain = _LINK.sub(r"\1", _IMAGE.sub("", _LINE_START.sub("", text)))
    plain = _CODE.sub(r"\1", _TAG.sub("", plain))
    for _ in range(2):  # bold around italics
        plain = _STARS.sub(r"\2", plain)
        plain = _EMPHASIS_INSIDE.sub(r"\2", plain)
    plain = html.unescape(_ESCAPE.sub(lambda found: found[1] or found[2], plain))
    return text if plain == text else re.sub(r"[ \t]{2,}", " ", plain).strip()
