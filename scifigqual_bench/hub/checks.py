"""Is a dataset folder fit to be published: it loads, is what its card and manifest say, and holds nothing private."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import DatasetCard
from PIL import Image
from pydantic import ValidationError

from scifigqual_bench.dataset.croissant import CROISSANT
from scifigqual_bench.dataset.folder import DatasetError, DatasetFolder
from scifigqual_bench.dataset.frozen import FrozenError, check_frozen
from scifigqual_bench.dataset.schema import dataset_features
from scifigqual_bench.dataset.tables import explain
from scifigqual_bench.dataset.versions import read_versions
from scifigqual_bench.errors import InputError
from scifigqual_bench.files import file_sha256
from scifigqual_bench.gating import open_dimensions
from scifigqual_bench.private import private_parts
from scifigqual_bench.records import Figure

MAX_FILE_BYTES = 50_000_000_000
"""Of one file: what the Hub's storage recommendations allow at the most."""
MAX_ENTRIES = 10_000
"""Of one folder: likewise."""
TEXT_ENDINGS = (".md", ".json", ".jsonl", ".csv", ".txt", ".yaml", ".yml", ".svg", ".html")
PUBLISHED = (
    "README.md",
    "*.json",
    "*.jsonl",
    "*.yaml",
    "*.csv",
    "data/*.parquet",
    "frozen/*.json",
    "statistics/*.svg",
    "statistics/*.json",
    "statistics/*.html",
)
"""What a dataset folder may hold; anything else stays at home, and is told."""
ACCEPTABLE = ("e-mail", "local-path", "no-licence")
"""Findings that may be right: a published caption can hold an address. A token can't."""


@dataclass(frozen=True)
class Finding:
    """Why a folder should not be published as it is.

    Attributes:
        code: Stable short name, for example ``"e-mail"``.
        message: The file and row, what is wrong, and the remedy.
    """

    code: str
    message: str


def published_files(folder: Path) -> list[Path]:
    """The files of a dataset folder that are published, in a fixed order.

    Links and hidden files are never among them.
    """
    found = {file for pattern in PUBLISHED for file in folder.glob(pattern)}
    return sorted(file for file in found if file.is_file() and not file.is_symlink() and file.name[0] != ".")


def left_at_home(folder: Path) -> list[str]:
    """Files of the folder that are not published, relative to it."""
    known = set(published_files(folder))
    others = (file for file in folder.rglob("*") if not file.is_dir() and file not in known)
    return sorted(file.relative_to(folder).as_posix() for file in others)


def check_dataset(path: Path, *, accept: Collection[str] = (), public: bool = False) -> list[Finding]:
    """Check a dataset folder before it is published.

    Every row is read: it must fit the record, its image the hash that it states, its mask the evidence; frozen splits
    must be as they were frozen; the card's numbers and hashes must be those of the files; the folder must load with
    ``load_dataset`` in a process that knows nothing of this one. All texts, those inside image files too, are searched
    for local paths, e-mail addresses and tokens.

    Args:
        path: The folder.
        accept: Codes of :data:`ACCEPTABLE` findings that are meant to be there.
        public: Whether anybody will be able to read it; then the card must state a licence.

    Returns:
        All findings; empty for a folder that is fit.
    """
    try:
        folder = DatasetFolder(path)
    except DatasetError as error:
        return [Finding("no-dataset", problem) for problem in error.problems]
    findings = [
        *_check_files(path),
        *_check_rows(folder),
        *_check_frozen(folder),
        *_check_card(folder, public),
        *_check_hashes(folder),
        *_check_loads(folder),
    ]
    return [finding for finding in findings if finding.code not in accept or finding.code not in ACCEPTABLE]


def _check_files(path: Path) -> Iterator[Finding]:
    files = published_files(path)
    for file in files:
        name = file.relative_to(path).as_posix()
        size = file.stat().st_size
        if size > MAX_FILE_BYTES:
            yield Finding(
                "file-size", f"{name}: {size:,} bytes; the Hub takes {MAX_FILE_BYTES:,}; build smaller shards"
            )
        if file.suffix in TEXT_ENDINGS:
            with file.open(encoding="utf-8", errors="replace") as lines:
                for number, line in enumerate(lines, 1):
                    yield from _private(line, f"{name}, line {number}")
    if len(files) > MAX_ENTRIES:
        yield Finding("files", f"{path.name}: {len(files):,} files; the Hub takes {MAX_ENTRIES:,}; build larger shards")


def _check_rows(folder: DatasetFolder) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for split in folder.splits:
        for number, row in enumerate(folder.rows([split])):
            stored = row.pop("image") or {}
            image = stored.get("bytes")
            where = f"split {split}, row {number} ({row.get('figure_id')})"
            try:
                figure = Figure.model_validate(row)
            except ValidationError as error:
                yield from (Finding("row", f"{where}: {phrase}") for phrase in explain(error))
                continue
            if figure.figure_id in seen:
                yield Finding("id", f"{where}: the id stands in split {seen[figure.figure_id]} too; build again")
            seen[figure.figure_id] = split
            yield from _check_image(figure, image, where)
            evidence = open_dimensions(has_caption=bool(figure.caption), has_context=bool(figure.citations))
            if figure.gold is None and tuple(figure.open_dimensions) != evidence:
                yield Finding("mask", f"{where}: the mask is not what the evidence opens; build again")
            for text in _texts([row, stored.get("path")]):
                yield from _private(text, where)
            for text in _image_texts(image or b""):
                yield from _private(text, f"{where}, inside the image file")


def _check_image(figure: Figure, image: bytes | None, where: str) -> Iterator[Finding]:
    if image is None:
        if figure.image_sha256 is not None:
            yield Finding("image", f"{where}: the image is missing; build again")
    elif hashlib.sha256(image).hexdigest() != figure.image_sha256:
        yield Finding("image", f"{where}: the image is not the one that the row's image_sha256 states; build again")


def _check_frozen(folder: DatasetFolder) -> Iterator[Finding]:
    """Frozen splits, by the hash that each row states of its image: the bytes have been compared with that one."""
    try:
        problems = check_frozen(folder, images=False)
    except FrozenError as error:
        problems = error.problems
    yield from (Finding("frozen", problem) for problem in problems)


def _texts(value: Any) -> Iterator[str]:
    """Every text in a row, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _image_texts(image: bytes) -> Iterator[str]:
    """What an image file says beside its pixels: text chunks, comments, EXIF and XMP."""
    try:
        with Image.open(io.BytesIO(image)) as opened:
            found = {name: value for name, value in opened.info.items() if name != "icc_profile"}
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return
    for value in found.values():
        if isinstance(value, str | bytes):
            yield value if isinstance(value, str) else value.decode("latin-1")


def _private(text: str, where: str) -> Iterator[Finding]:
    remedies = {
        "e-mail": "take it out, or pass --accept e-mail where it belongs to a published text",
        "local-path": "take it out, or pass --accept local-path where it belongs to a published text",
        "token": "take it out, and revoke it",
    }
    for kind, part in private_parts(text):
        yield Finding(kind, f"{where}: holds what looks like a private {kind}, {part!r}; {remedies[kind]}")


def _check_card(folder: DatasetFolder, public: bool) -> Iterator[Finding]:
    card = DatasetCard.load(folder.path / "README.md").data.to_dict()
    info = card.get("dataset_info") or {}
    stated = {split["name"]: split["num_examples"] for split in info.get("splits", [])}
    held = {split: folder.count([split]) for split in folder.splits}
    if stated != held:
        yield Finding("card", f"README.md states {stated} figures, the files hold {held}; build again")
    if public and not card.get("license"):
        message = "README.md states no license; add one to its YAML, or pass --accept no-licence"
        yield Finding("no-licence", message)


def _check_hashes(folder: DatasetFolder) -> Iterator[Finding]:
    """What the folder says of its files and rows, held against them."""
    stated = {name: folder.path / name for name in ("README.md", CROISSANT)}
    texts = {
        name: path.read_text(encoding="utf-8", errors="replace") for name, path in stated.items() if path.is_file()
    }
    for shard in (shard for shards in folder.files.values() for shard in shards):
        digest = file_sha256(shard)
        silent = [name for name, text in texts.items() if digest not in text]
        if silent:
            yield Finding(
                "checksum", f"{' and '.join(silent)}: not the SHA-256 that data/{shard.name} has; build again"
            )
    try:
        versions = read_versions(folder.path)
        if versions and versions[-1].fingerprint != folder.fingerprint():
            yield Finding("checksum", "versions.json: the last version's fingerprint is of other rows; build again")
    except ValidationError:
        pass  # told row by row
    except InputError as error:
        yield from (Finding("checksum", problem) for problem in error.problems)


_LOAD = """
import json, sys
from datasets import load_dataset
data = load_dataset(sys.argv[1], cache_dir=sys.argv[2])
print(json.dumps({name: [split.num_rows, repr(split.features)] for name, split in data.items()}))
"""


def _check_loads(folder: DatasetFolder) -> Iterator[Finding]:
    """Load it in a process of its own, away from every cache and from the network."""
    with tempfile.TemporaryDirectory() as home:
        env = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
        env |= {"HF_HOME": home, "HOME": home, "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
        command = [sys.executable, "-c", _LOAD, str(folder.path.absolute()), home]
        done = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        yield Finding("load", f"{folder.path}: load_dataset fails: {done.stderr.strip().splitlines()[-1:]}")
        return
    loaded = json.loads(done.stdout.splitlines()[-1])
    expected = repr(dataset_features())
    for split, (rows, features) in loaded.items():
        if rows != folder.count([split]):
            yield Finding(
                "load", f"split {split}: load_dataset finds {rows} rows, the files hold {folder.count([split])}"
            )
        if features != expected:
            yield Finding("schema", f"split {split}: its columns are not those of this version; build it again")
