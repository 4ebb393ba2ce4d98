"""What several rooms ask of a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes; the file is read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def log_lines(path: Path) -> Iterator[Any]:
    """The values of a JSON Lines file that this project wrote, one at a time; none where the file was not kept."""
    if path.is_file():
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
