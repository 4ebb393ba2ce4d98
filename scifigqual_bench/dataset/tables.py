"""Read the tables that people bring: ratings and papers, as CSV or JSON Lines.

Every problem of a file is found before anything is said, and each names the file, the row and the remedy. Rows are
numbered as an editor shows them: the header of a CSV file is line 1.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scifigqual_bench.errors import InputError
from scifigqual_bench.records import FIGURE_ID, PaperMeta, Rating, Reasons, figure_id
from scifigqual_bench.rubric import DIMENSION_KEYS


class TableError(InputError):
    """A table with faults."""


@dataclass(frozen=True)
class Row:
    """A row as read: its line in the file and its cells. ``typed`` is False for CSV, where all cells are text."""

    line: int
    cells: dict[str, Any]
    typed: bool


def read_rows(path: Path) -> list[Row]:
    """Rows of a ``.csv``, ``.jsonl`` or ``.json`` (a list of objects) file; empty CSV cells are None.

    Raises:
        TableError: The file is missing, empty, not UTF-8 or not of its format.
    """
    if not path.is_file():
        raise TableError([f"{path.name}: no such file"])
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError([f"{path.name}: not UTF-8 text (byte {error.start}); save it as UTF-8"]) from None
    if not text.strip():
        raise TableError([f"{path.name}: the file is empty"])
    readers = {".csv": _csv_rows, ".jsonl": _jsonl_rows, ".json": _json_rows}
    if path.suffix.lower() not in readers:
        raise TableError([f"{path.name}: unknown kind of file; use .csv, .jsonl or .json"])
    problems: list[str] = []
    rows = list(readers[path.suffix.lower()](path.name, text, problems))
    if problems:
        raise TableError(problems)
    return rows


def _csv_rows(name: str, text: str, problems: list[str]) -> Iterator[Row]:
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="\0extra", strict=True)
    header = reader.fieldnames or []
    repeated = sorted({column for column in header if header.count(column) > 1})
    if repeated:
        problems.append(f"{name}: repeated columns {repeated}")
        return
    try:
        for cells in reader:
            if "\0extra" in cells:
                problems.append(f"{name}, line {reader.line_num}: more cells than columns; quote text with commas")
                continue
            yield Row(reader.line_num, {key: value or None for key, value in cells.items()}, typed=False)
    except csv.Error as error:
        problems.append(f"{name}, line {reader.line_num}: broken CSV ({error})")


def _jsonl_rows(name: str, text: str, problems: list[str]) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            cells = json.loads(line)
        except json.JSONDecodeError as error:
            problems.append(f"{name}, line {number}: not JSON ({error.msg} at column {error.colno})")
            continue
        if isinstance(cells, dict):
            yield Row(number, cells, typed=True)
        else:
            problems.append(f"{name}, line {number}: expected an object, found {type(cells).__name__}")


def _json_rows(name: str, text: str, problems: list[str]) -> Iterator[Row]:
    try:
        items = json.loads(text)
    except json.JSONDecodeError as error:
        problems.append(f"{name}, line {error.lineno}: not JSON ({error.msg})")
        return
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        problems.append(f"{name}: expected a list of objects")
        return
    for number, cells in enumerate(items, start=1):
        yield Row(number, cells, typed=True)


def explain(error: ValidationError) -> Iterator[str]:
    """One phrase per fault of a record: the field, the fault and what stood there."""
    for fault in error.errors():
        field = ".".join(str(part) for part in fault["loc"])
        shown = json.dumps(fault["input"], ensure_ascii=False, default=str)
        yield f"{field}: {fault['msg']}, found {shown[:80]}"


# --- ratings --------------------------------------------------------------------------------------------------------

_RATER_NAMES = ("rater_id", "rater", "annotator")
_REASON_SUFFIX = "_reason"


@dataclass(frozen=True)
class RatingRow:
    """A rating and the line that it stands on."""

    line: int
    rating: Rating


def read_ratings(path: Path) -> list[RatingRow]:
    """Read a ratings file.

    Columns: ``figure_id`` (or ``paper_id`` and ``fig_index``), ``rater_id``, the five dimensions as integers 1..10
    (an empty cell or null = not scored), optionally ``overall_score``, ``<dimension>_reason``, ``source``,
    ``rated_at``.

    Args:
        path: A ``.csv``, ``.jsonl`` or ``.json`` file.

    Raises:
        TableError: With every fault of the file: unknown columns, wrong types, scores out of range, ratings without
            any score, the same rater twice on one figure.
    """
    rows = read_rows(path)
    problems: list[str] = []
    found: list[RatingRow] = []
    first_line: dict[tuple[str, str], int] = {}
    for row in rows:
        try:
            rating = _rating(row)
        except ValidationError as error:
            problems += [f"{path.name}, line {row.line}: {phrase}" for phrase in explain(error)]
            continue
        except ValueError as error:
            problems.append(f"{path.name}, line {row.line}: {error}")
            continue
        if all(getattr(rating, key) is None for key in DIMENSION_KEYS):
            problems.append(f"{path.name}, line {row.line}: no dimension is scored; remove the row")
        key = (rating.figure_id, rating.rater_id)
        if key in first_line:
            problems.append(
                f"{path.name}, line {row.line}: {rating.rater_id} rates {rating.figure_id} again "
                f"(first on line {first_line[key]}); keep one"
            )
        first_line.setdefault(key, row.line)
        found.append(RatingRow(row.line, rating))
    if problems:
        raise TableError(problems)
    return found


def _rating(row: Row) -> Rating:
    cells = {key: value for key, value in row.cells.items() if value is not None}
    values: dict[str, Any] = {"figure_id": _pop_figure_id(cells)}
    raters = [name for name in _RATER_NAMES if name in cells]
    if len(raters) != 1:
        raise ValueError(f"needs exactly one of the columns {', '.join(_RATER_NAMES)}")
    values["rater_id"] = cells.pop(raters[0])
    values["reasons"] = Reasons(
        **{key: cells.pop(key + _REASON_SUFFIX) for key in DIMENSION_KEYS if key + _REASON_SUFFIX in cells}
    )
    if not row.typed:
        cells = {
            key: _number(value) if key in (*DIMENSION_KEYS, "overall_score") else value for key, value in cells.items()
        }
    return Rating(**values, **cells)


def _pop_figure_id(cells: dict[str, Any]) -> str:
    paper, index = cells.pop("paper_id", None), cells.pop("fig_index", None)
    joined = None
    if paper is not None and index is not None:
        if isinstance(index, bool) or not str(index).isdigit():
            raise ValueError(f"fig_index: expected a whole number, found {index!r}")
        joined = figure_id(str(paper), int(index))
    given = cells.pop("figure_id", None)
    if given is None and joined is None:
        raise ValueError("needs figure_id, or paper_id and fig_index")
    if given is not None and joined is not None and given != joined:
        raise ValueError(f"figure_id {given!r} is not that of paper_id and fig_index ({joined!r})")
    result = given if given is not None else joined
    if not isinstance(result, str) or not FIGURE_ID.match(result):
        raise ValueError(f"not a figure id: {result!r} (expected PAPER__figNNNN)")
    return result


def _number(cell: str) -> int | float | str:
    """A CSV cell as a number where it is one (``8`` and pandas' ``8.0`` are the integer 8), else as it stands."""
    try:
        value = float(cell)
    except ValueError:
        return cell
    return int(value) if value.is_integer() else value


# --- papers ---------------------------------------------------------------------------------------------------------


def read_papers(path: Path) -> dict[str, PaperMeta]:
    """Read a papers file: ``paper_id`` and, where known, ``file``, ``title``, ``venue``, ``year``, ``topic``.

    Returns:
        The metadata by the stem of the PDF's file name.

    Raises:
        TableError: With every fault of the file.
    """
    problems: list[str] = []
    found: dict[str, PaperMeta] = {}
    ids: dict[str, int] = {}
    for row in read_rows(path):
        cells = {key: value for key, value in row.cells.items() if value is not None}
        if not row.typed and "year" in cells:
            cells["year"] = _number(cells["year"])
        try:
            meta = PaperMeta(**cells)
        except ValidationError as error:
            problems += [f"{path.name}, line {row.line}: {phrase}" for phrase in explain(error)]
            continue
        stem = Path(meta.file).stem if meta.file else meta.paper_id
        if stem in found or meta.paper_id in ids:
            problems.append(f"{path.name}, line {row.line}: {meta.paper_id} stands there twice; keep one row")
        ids[meta.paper_id] = row.line
        found[stem] = meta
    if problems:
        raise TableError(problems)
    return found
