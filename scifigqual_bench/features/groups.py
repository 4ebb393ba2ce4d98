"""What a caption says is compared."""

from __future__ import annotations

import re

from scifigqual_bench.text_rules import caption_body, metrics_named

_NOT_IN_A_NAME = r"(?!(?:and|or|vs|versus|against|with|on|in|for|at|over|under|as|to|when|while)\b)"
_ITEM = rf"(?:{_NOT_IN_A_NAME}[^\s,;:.()]+(?:\.\d+)?(?:\s+{_NOT_IN_A_NAME}[^\s,;:.()]+){{0,3}})"
_AND = r"(?:\s*,?\s+(?:and|or|&)\s+)"
_LIST = rf"{_ITEM}(?:\s*,\s*{_ITEM})*(?:{_AND}{_ITEM})"
_GROUPS = re.compile(
    rf"\b(?P<first>{_ITEM})\s+(?:vs\.?|versus|against|compared\s+(?:with|to))\s+(?P<second>{_ITEM})|"
    rf"\b(?:between|comparisons?\s+(?:of|between|among)|compar(?:e[sd]?|ing)|(?:results?|performances?|scores?|accurac(?:y|ies)|"
    rf"error|loss)\s+of)\s+(?P<list>{_LIST})",
    re.IGNORECASE,
)
_KEYED = re.compile(
    r"(?P<before>[A-Z][\w-]*)\s*\(\s*(?:in\s+)?(?:red|blue|green|orange|purple|black|gr[ae]y|yellow|pink|brown|cyan|"
    r"dashed|dotted|solid)\b[^)]*\)|\b(?:red|blue|green|orange|purple|black|gr[ae]y|yellow|pink|brown|cyan|dashed|dotted|"
    r"solid)\s*[:=]\s*(?P<after>[^,;.()]{1,40})",
)
_ARTICLE = re.compile(r"^(?:(?:of|the|an?|our|both|different|various|several|its|their|two|three)\s+)+", re.IGNORECASE)
_SPLIT = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|&)\s+", re.IGNORECASE)


def groups_named(caption: str) -> list[str]:
    """What a caption says is compared, in its own words, each once, in order.

    Understands "A vs. B", "A compared with B", "between A and B", "comparison of A, B and C", "accuracy of A and B",
    "A (blue)" and "blue: A"; "accuracy vs. depth" names axes, not groups. A name of more than four words is cut to
    the four next to the sign of comparison.

    >>> groups_named("Figure 2: Accuracy of LSTM, GRU and a CNN. Ours (red) is best.")
    ['LSTM', 'GRU', 'CNN', 'Ours']
    >>> groups_named("Figure 3: Overview of the model.")
    []
    """
    body = caption_body(caption)
    found: list[tuple[int, str]] = []
    for match in _GROUPS.finditer(body):
        parts = _SPLIT.split(match["list"]) if match["list"] else [_last_name(match["first"]), match["second"]]
        if not match["list"] and metrics_named(" ".join(parts)):
            continue  # "accuracy vs. depth" names two axes
        found += [(match.start(), part) for part in parts]
    found += [(match.start(), match["before"] or match["after"]) for match in _KEYED.finditer(body)]
    names = (_ARTICLE.sub("", part.strip(" .:")) for _, part in sorted(found, key=lambda entry: entry[0]))
    return list(dict.fromkeys(name for name in names if name))


def _last_name(words: str) -> str:
    """The name at the end of some words: what follows the last preposition."""
    return re.split(r"\b(?:of|from|by|between|comparing|for)\s+", words)[-1]
