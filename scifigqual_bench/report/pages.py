"""What every HTML page of this room is made with: templates that escape, one file that asks nothing of any network."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def template_environment() -> Environment:
    """The templates of this room: all that they are given is escaped, and a name they don't know is an error."""
    return Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def inline_parts(styles: Sequence[str], script: str | None = None) -> dict[str, str]:
    """A page's style and script, and the policy that allows these two and data images, and nothing else.

    Args:
        styles: File names of style sheets of this room, joined in this order.
        script: File name of the script; None for a page that runs none.

    Returns:
        ``style``, ``script`` (empty without one) and ``policy``, for the template.
    """
    style = "".join(_text(name) for name in styles)
    code = _text(script) if script else ""
    policy = (
        "default-src 'none'",
        f"style-src '{_csp_hash(style)}'",
        *([f"script-src '{_csp_hash(code)}'"] if script else []),
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    )
    return {"style": Markup(style), "script": Markup(code), "policy": "; ".join(policy)}


def page_path(path: str | os.PathLike[str]) -> Path:
    """Where a page is to be written, its folder made where it is missing.

    Raises:
        IsADirectoryError: ``path`` is a folder.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; name a file for the page, such as {path.name}/report.html")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write_page(path: Path, parts: Iterable[str]) -> None:
    """Write a page beside its place and move it there at the end: a failure leaves what was there before."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as scratch:
        page = Path(scratch, "page.html")
        write_text(page, parts)
        os.replace(page, path)


def write_text(path: Path, parts: Iterable[str]) -> None:
    """Write text as UTF-8; a lone surrogate, which it can't hold, is shown as its code instead of ending the page."""
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as handle:
        handle.writelines(parts)


def _text(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
