"""What must not be published by accident: local paths, e-mail addresses, access tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}(?:\}|\))?@(?:(?!\d+\.)[\w-]{2,63}\.)+(?:[a-z]{2,24}|[A-Z]{2,24})\b")
_HOMES = "home|Users|root|tmp|mnt|media|scratch|workspace|nfs|gpfs|lustre|Volumes|content/drive|var/folders|private/var"
_PATH = re.compile(
    rf"(?<![\w./-])/(?:{_HOMES})/[^\s\"'<>|]+|(?<![\w./])~/\w[^\s\"'<>|]*/[^\s\"'<>|]+"
    r"|\b[A-Za-z]:[\\/]+Users[\\/]+[^\s\"'<>|]+|\bfile://\S+"
)
_TOKEN = re.compile(
    r"\b(?:(?:hf|hf_oauth|hf_jwt|api_org)_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{20,}|[rs]k_live_[A-Za-z0-9]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[\w-]{20,}|npm_[A-Za-z0-9]{36,}|pypi-[\w-]{50,}"
    r"|gsk_[A-Za-z0-9]{30,}|A[KS]IA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}"
    r"|xox[abprs]-[0-9A-Za-z-]{10,}|eyJ[\w-]{10,300}\.eyJ[\w-]{10,}\.[\w-]{10,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----|\bBearer [A-Za-z0-9._~+/-]{20,}|\bhttps?://[^\s/:@]{1,64}:[^\s/:@]{1,128}@"
)
PATTERNS = {"e-mail": _EMAIL, "local-path": _PATH, "token": _TOKEN}
"""By the name under which a finding is told."""


def private_parts(text: str) -> Iterator[tuple[str, str]]:
    """What in a text looks private: the kind, and the part, of which a token shows its first characters only.

    >>> list(private_parts("ask jane.doe@lab.example.org, or see /home/jane/run7"))
    [('e-mail', 'jane.doe@lab.example.org'), ('local-path', '/home/jane/run7')]
    >>> list(private_parts("mAP@0.5, recall@k.Then https://example.org/home/page"))
    []
    """
    for kind, pattern in PATTERNS.items():
        for match in pattern.finditer(text):
            found = match.group()
            yield kind, f"{found[:6]}..." if kind == "token" else found


def without_emails(text: str) -> str:
    """The text with a remark in the place of each e-mail address.

    >>> without_emails("mAP@0.5 is low, says jane.doe@lab.example.org")
    'mAP@0.5 is low, says [e-mail address]'
    """
    return _EMAIL.sub("[e-mail address]", text)
