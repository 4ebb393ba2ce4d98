"""The benchmark's public release -> a dataset folder, with everything odd in it told (SPEC 11).

A release is a folder with some of these files; every row of every file counts, and one bad row never ends the import::

    figures.jsonl       a figure a line: ids, metadata, caption, citing texts, gold (human_*), annotations[]
    human_means.csv     gold alone; figures.csv has the same columns, and more
    ratings.csv         ratings alone: figure_id, rater, five scores, overall_score
    captions.jsonl      captions alone: figure_id, caption
    images/             what the field "image" names, or FIGURE_ID.png
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from PIL import Image, UnidentifiedImageError

from scifigqual_bench import gating, gold
from scifigqual_bench.dataset.folder import DatasetError, check_target, staged
from scifigqual_bench.dataset.markup import plain_text
from scifigqual_bench.dataset.package import UNSAID, Edition, check_edition
from scifigqual_bench.dataset.writer import SplitsWriter
from scifigqual_bench.errors import InputError
from scifigqual_bench.files import file_sha256, log_lines
from scifigqual_bench.pdf.citations import MAX_CHARS, WEIGHTS, cut, find_mentions, kind_of
from scifigqual_bench.private import without_emails
from scifigqual_bench.records import (
    FIGURE_ID,
    Citation,
    Figure,
    Gold,
    Mark,
    Problem,
    Rating,
    Reasons,
    Record,
    figure_id,
    normalised_paper_id,
    paper_of,
)
from scifigqual_bench.rubric import DIMENSION_KEYS, OVERALL, SCALE_MAX, SCALE_MIN

SPLIT = "eval1200"
REPORT = "release_report.json"
Mask = Literal["evidence", "gold"]

FIGURES = ("figures.jsonl", "figures.csv")
MEANS = ("human_means.csv",)
CAPTIONS = ("captions.jsonl", "captions.csv")
RATINGS = ("ratings.csv", "ratings.jsonl")

GOLD_TOLERANCE = 0.5e-4 + 1e-9
"""Stated gold has four decimals."""
OVERALL_TOLERANCE = 0.02 + 1e-9
"""Beyond the rounding of the raters' stored overalls, which have one decimal (SPEC 10)."""
MAX_TEXT = 100_000
"""Characters of one field; no caption or reason is longer."""
MAX_IMAGE_BYTES = 200_000_000
"""Of one image file; a larger one is not read."""
LOST = ("figure-repeated", "file-unreadable", "rating-unreadable", "row-unreadable", "row-without-id")
"""Codes of problems by which something of the files did not get into the dataset."""

HUMAN = {f"human_{key}": key for key in (*DIMENSION_KEYS, OVERALL)}
RATER_FIELDS = ("rater_id", "rater", "annotator", "annotator_id")
FIGURE_FIELDS = {
    "figure_id", "paper_id", "paper_id_norm", "fig_index", "venue", "year", "title", "caption", "section",
    "context_texts", "context_count", "domain_l1", "domain_l2", "width", "height", "annotator_count", "image",
    "annotations", *HUMAN,
}  # fmt: skip
RATING_FIELDS = {
    *RATER_FIELDS, *DIMENSION_KEYS, OVERALL, *(f"{key}_reason" for key in DIMENSION_KEYS), "source_type",
    "source_name", "summary", "suggestion", "annotated_at",
}  # fmt: skip
_PSEUDONYM = re.compile(r"[A-Za-z]{1,20}[ _-]?\d{1,5}")
_LABEL = re.compile(r"\s*(?:Extended Data\s+|Supplementary\s+)?Fig", re.I)
_STORED = ("PNG", "JPEG")
"""Image formats that are kept as they come; others become PNG."""


class ReleaseError(InputError):
    """A folder that is no release, or holds no row that could be imported."""


class OverallReadings(Record):
    """How the stated overall of the figures relates to what their ratings give (SPEC 4).

    Attributes:
        stated: Figures with a stated overall and ratings.
        uneven_nulls: Figures whose raters left different dimensions out.
        off_dimension_first: Stated overalls more than 0.02 away from the mean of the dimensions' gold.
        off_dimension_first_uneven: Those of them with uneven nulls.
        off_rater_mean: Stated overalls more than 0.02 away from the mean of the raters' exact overalls.
        off_stored_rater_mean: Stated overalls that are not, to four decimals, the mean of the overalls that the release
            stores of its raters.
        readings_differ: Figures whose dimension-first overall is more than 0.02 away from the mean of the raters' exact
            overalls.
    """

    stated: int = 0
    uneven_nulls: int = 0
    off_dimension_first: int = 0
    off_dimension_first_uneven: int = 0
    off_rater_mean: int = 0
    off_stored_rater_mean: int = 0
    readings_differ: int = 0


class ReleaseReport(Record):
    """What an import found, in numbers (``release_report.json``); ``problems.jsonl`` names each case.

    Attributes:
        files: SHA-256 of each file that was read, by name; images are not among them.
        split: The split that the figures went to.
        mask: What the figures' ``open_dimensions`` follow.
        papers_with_serial: Papers whose id has a serial prefix, which ``paper_id_norm`` leaves out.
        images: Figures with an image.
        gold: Figures with gold, by dimension.
        evidence: Figures whose evidence opens the dimension.
        context_rated_without_text: Figures with CTX gold and no citing text.
        stated_gold_differs: Figures whose stated gold is not the mean of their ratings.
        problems: Lines in ``problems.jsonl``, by code.
        unknown_fields: Fields that the import doesn't know and left out, with the number of rows that have them.
        fingerprint: Of the split, as run manifests state it.
    """

    schema_version: str = "1"
    files: dict[str, str]
    split: str
    mask: Mask
    figures: int
    papers: int
    papers_with_serial: int
    images: int
    rated: int
    ratings: int
    raters: int
    gold: dict[str, int]
    evidence: dict[str, int]
    context_rated_without_text: int
    stated_gold_differs: int
    overall: OverallReadings
    problems: dict[str, int]
    unknown_fields: dict[str, int]
    fingerprint: str


@dataclass
class _Log:
    """Problems as they are found: on the disk, counted by code."""

    path: Path
    counts: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._handle = self.path.open("w", encoding="utf-8")

    def tell(self, code: str, message: str) -> None:
        self.counts[code] += 1
        message = without_emails(message).encode("utf-8", "replace").decode()
        self._handle.write(Problem(code=code, message=message).model_dump_json() + "\n")

    def close(self) -> None:
        self._handle.close()


@dataclass(frozen=True)
class _Source:
    """A row of a file: where it stands, and its cells without the empty ones."""

    where: str
    cells: dict[str, Any]
    typed: bool


# --- read -----------------------------------------------------------------------------------------------------------


def _sources(path: Path, log: _Log) -> Iterator[_Source]:
    """Rows of a JSON Lines or CSV file, one at a time; what can't be read is told."""
    rows = _csv_sources(path, log) if path.suffix == ".csv" else _jsonl_sources(path, log)
    for where, cells, typed in rows:
        yield _Source(where, {key: value for key, value in cells.items() if value is not None}, typed)


def _jsonl_sources(path: Path, log: _Log) -> Iterator[tuple[str, dict[str, Any], bool]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path.name}, line {number}"
            try:
                cells = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError) as error:
                log.tell("row-unreadable", f"{where}: not JSON in UTF-8 ({error}); left out")
                continue
            if isinstance(cells, dict):
                yield where, cells, True
            else:
                log.tell("row-unreadable", f"{where}: expected an object, found {type(cells).__name__}; left out")


def _csv_sources(path: Path, log: _Log) -> Iterator[tuple[str, dict[str, Any], bool]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        log.tell("file-unreadable", f"{path.name}: not UTF-8 (byte {error.start}); save it as UTF-8")
        return
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="\0extra", strict=True)
    try:
        columns = reader.fieldnames or ()
    except csv.Error as error:
        log.tell("file-unreadable", f"{path.name}, line 1: broken CSV ({error})")
        return
    if repeated := sorted(column for column, times in Counter(columns).items() if times > 1):
        log.tell("file-unreadable", f"{path.name}: repeated columns {', '.join(repeated)}; keep one of each")
        return
    while True:
        begin = reader.reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            lines = f"lines {begin} to {reader.reader.line_num}"
            log.tell("row-unreadable", f"{path.name}, {lines}: broken CSV ({error}); left out")
            continue
        if cells is None:
            return
        where = f"{path.name}, line {reader.line_num}"
        if cells.pop("\0extra", None):
            log.tell("row-unreadable", f"{where}: more cells than columns; left out")
            continue
        yield where, {key: value or None for key, value in cells.items()}, False


class _Cells:
    """Typed reading of one row's cells: harmless types are taken, and everything that is not as it should be told."""

    def __init__(self, source: _Source, who: str, log: _Log):
        self._source = source
        self._where = f"{source.where}: {who}" if who else source.where
        self._log = log

    def tell(self, code: str, message: str) -> None:
        self._log.tell(code, f"{self._where}: {message}")

    def has(self, name: str) -> bool:
        """Whether the row says anything of a field."""
        return name in self._source.cells

    def _wrong(self, name: str, expected: str) -> None:
        shown = json.dumps(self._source.cells[name], ensure_ascii=False, default=str)[:80]
        self.tell("field-wrong", f"{name}: expected {expected}, found {shown}; left out")

    def text(self, name: str) -> str | None:
        value = self._source.cells.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            self.tell("field-retyped", f"{name}: the number {value} taken as text")
            value = str(value)
        if value is None:
            return None
        if not isinstance(value, str):
            self._wrong(name, "text")
            return None
        if len(value) > MAX_TEXT:
            self.tell("field-cut", f"{name}: {len(value)} characters, cut to {MAX_TEXT}")
        return value[:MAX_TEXT].encode("utf-8", "replace").decode()  # lone surrogates can't be stored

    def number(self, name: str) -> float | None:
        value = self._source.cells.get(name)
        if isinstance(value, str):
            try:
                number = float(value)
            except ValueError:
                self._wrong(name, "a number")
                return None
            if self._source.typed:
                self.tell("field-retyped", f"{name}: the text {value[:40]!r} taken as a number")
            value = number
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
            self._wrong(name, "a finite number")
            return None
        return value

    def whole(self, name: str, at_least: int = 0) -> int | None:
        value = self.number(name)
        if value is None:
            return None
        if value != int(value) or value < at_least:
            self._wrong(name, f"a whole number of at least {at_least}")
            return None
        return int(value)

    def mean(self, name: str) -> float | None:
        """A mean of scores."""
        value = self.number(name)
        if value is not None and not SCALE_MIN <= value <= SCALE_MAX:
            self.tell("score-out-of-range", f"{name} is {value:g}, not in {SCALE_MIN}..{SCALE_MAX}; left out")
            return None
        return None if value is None else float(value)

    def score(self, name: str) -> int | None:
        """A rater's score."""
        value = self.mean(name)
        if value is not None and value != int(value):
            self.tell("score-not-integer", f"{name} is {value:g}; left out")
            return None
        return None if value is None else int(value)

    def items(self, name: str) -> list[Any]:
        value = self._source.cells.get(name)
        if value is None:
            return []
        if isinstance(value, str) and value.strip():
            self.tell("field-retyped", f"{name}: one text taken as a list of one")
            return [value]
        if not isinstance(value, list):
            if value != "":
                self._wrong(name, "a list")
            return []
        return value


# --- one figure -----------------------------------------------------------------------------------------------------


@dataclass
class _Row:
    """All that the files say of one figure."""

    source: _Source
    ratings: list[_Source] = field(default_factory=list)


class _Importer:
    """Rows of the release -> figures with images."""

    def __init__(self, folder: Path, mask: Mask, log: _Log):
        self.folder = folder.resolve()
        self.mask = mask
        self.log = log
        self.readings: Counter[str] = Counter()
        self.raters: set[str] = set()
        self._images: dict[str, str] = {}
        self.stated_gold_differs = 0
        self.context_rated_without_text = 0

    def figure(self, fig_id: str, row: _Row) -> tuple[Figure, bytes | None]:
        """One figure with its image; None where that is missing."""
        cells = _Cells(row.source, fig_id, self.log)
        self._count_unknown(row.source, FIGURE_FIELDS)
        paper_id, index = paper_of(fig_id), int(FIGURE_ID.match(fig_id)["index"])
        norm = normalised_paper_id(paper_id)
        stated_norm = cells.text("paper_id_norm")
        if stated_norm is not None and stated_norm != norm:
            cells.tell(
                "paper-id-norm-differs", f"paper_id_norm is {stated_norm!r}, the id gives {norm!r}, which is kept"
            )

        caption, raw = self._caption(cells)
        number = _number_of(caption or "")
        citations, has_context = self._context(cells, number or str(index))
        ratings = self._ratings(cells, fig_id, row)
        means = {key: cells.mean(name) for name, key in HUMAN.items()}
        known = gold.dimension_means([rating.model_dump() for rating in ratings]) if ratings else means
        evidence = gating.open_dimensions(
            has_caption=bool(caption.strip()) if caption is not None else known["caption_consistency"] is not None,
            has_context=has_context if has_context is not None else known["context_consistency"] is not None,
        )
        unknown = [name for name, is_known in (("caption", caption), ("citing text", has_context)) if is_known is None]
        if unknown:
            cells.tell(
                "evidence-unknown", f"the release does not say its {' and '.join(unknown)}; gold decides the mask"
            )
        found = self._gold(cells, fig_id, ratings, means, evidence)
        marks = self._closed_but_rated(cells, found, evidence)
        image, size = self._image(cells, fig_id)
        sha256 = None if image is None else self._sha256(cells, fig_id, image)
        return Figure(
            figure_id=fig_id,
            paper_id=paper_id,
            paper_id_norm=norm,
            fig_index=index,
            number=number,
            caption=caption or "",
            caption_raw=raw,
            citations=citations,
            venue=cells.text("venue"),
            year=self._year(cells),
            title=cells.text("title"),
            section=cells.text("section"),
            topic=cells.text("domain_l1"),
            subtopic=cells.text("domain_l2"),
            width=size[0],
            height=size[1],
            image_sha256=sha256,
            open_dimensions=self._open(found, evidence),
            gold=found,
            ratings=ratings,
            curation_status="flagged" if marks else "kept",
            curation_marks=marks,
        ), image

    def _count_unknown(self, source: _Source, known: set[str]) -> None:
        for name in source.cells.keys() - known:
            self.log.unknown[name] += 1

    @staticmethod
    def _year(cells: _Cells) -> int | None:
        year = cells.whole("year", at_least=1900)
        if year is not None and year > 2200:
            cells.tell("field-wrong", f"year: expected a year, found {year}; left out")
            return None
        return year

    def _caption(self, cells: _Cells) -> tuple[str | None, str | None]:
        """The plain caption and, where that had to be cleaned, the raw one; None where the release says nothing."""
        raw = cells.text("caption")
        if raw is None:
            return None, None
        plain = plain_text(raw)
        if plain == raw:
            return raw, None
        cells.tell("caption-markup", "the caption has traces of Markdown; kept in caption_raw")
        return plain, raw

    def _context(self, cells: _Cells, number: str) -> tuple[list[Citation], bool | None]:
        """Citing paragraphs, and whether there are any, None where the release doesn't say."""
        items = cells.items("context_texts")
        texts = [item for item in items if isinstance(item, str) and item.strip()]
        if len(texts) < len(items):
            cells.tell(
                "context-item-wrong", f"{len(items) - len(texts)} of {len(items)} citing texts are empty or no text"
            )
        count = cells.whole("context_count")
        citations = [_citation(text.encode("utf-8", "replace").decode(), number) for text in texts]
        if count is None:
            return citations, bool(texts) if cells.has("context_texts") else None
        if not cells.has("context_texts"):
            if count:
                cells.tell("context-texts-absent", f"{count} citing texts are stated, and none is in the files")
        elif count != len(texts):
            cells.tell("context-count-differs", f"context_count is {count}, and there are {len(texts)} citing texts")
            return citations, bool(texts)
        return citations, count > 0

    def _ratings(self, cells: _Cells, fig_id: str, row: _Row) -> list[Rating]:
        ratings: list[Rating] = []
        seen: Counter[str] = Counter()
        where = row.source.where
        sources = list(row.ratings)
        for position, item in enumerate(cells.items("annotations"), start=1):
            if isinstance(item, dict):
                there = {key: value for key, value in item.items() if value is not None}
                sources.append(_Source(f"{where}, annotation {position}", there, row.source.typed))
            else:
                cells.tell("rating-unreadable", f"annotation {position} is no object; left out")
        for position, source in enumerate(sources, start=1):
            self._count_unknown(source, RATING_FIELDS)
            own = _Cells(source, fig_id, self.log)
            scores = {key: own.score(key) for key in DIMENSION_KEYS}
            if all(value is None for value in scores.values()):
                own.tell("rating-empty", "no dimension is scored; the rating is left out")
                continue
            rater = self._rater(own, source, position)
            seen[rater] += 1
            if seen[rater] > 1:
                own.tell("rater-repeated", f"{rater} rates the figure again; kept as {rater}.{seen[rater]}")
                rater = f"{rater}.{seen[rater]}"
            self.raters.add(rater)
            ratings.append(
                Rating(
                    figure_id=fig_id,
                    rater_id=rater,
                    **scores,
                    overall_score=own.mean(OVERALL),
                    reasons=Reasons(**{key: self._said(own, f"{key}_reason") for key in DIMENSION_KEYS}),
                    summary=self._said(own, "summary"),
                    suggestion=self._said(own, "suggestion"),
                    source=_source_of(own),
                    rated_at=own.text("annotated_at"),
                )
            )
        stated = cells.whole("annotator_count")
        if stated is not None and sources and stated != len(ratings):
            cells.tell("rating-count-differs", f"annotator_count is {stated}, and {len(ratings)} ratings were read")
        if gold.needs_adjudication(ratings):
            cells.tell("needs-adjudication", f"raters' overalls differ by more than {gold.ADJUDICATION_GAP:g}")
        return ratings

    @staticmethod
    def _rater(cells: _Cells, source: _Source, position: int) -> str:
        name = next((cells.text(key) for key in (*RATER_FIELDS, "source_name") if key in source.cells), None)
        if name is None or not name.strip():
            cells.tell("rater-unnamed", f"the rating names no rater; kept as unnamed-{position}")
            return f"unnamed-{position}"
        return pseudonym(name)

    @staticmethod
    def _said(cells: _Cells, name: str) -> str | None:
        """What a rater wrote, without e-mail addresses; None for nothing."""
        text = cells.text(name)
        if text is None or not text.strip():
            return None
        clean = without_emails(text)
        if clean != text:
            cells.tell("email-removed", f"{name}: an e-mail address was taken out")
        return clean

    def _gold(
        self,
        cells: _Cells,
        fig_id: str,
        ratings: list[Rating],
        stated: dict[str, float | None],
        evidence: tuple[str, ...],
    ) -> Gold | None:
        """Gold from the ratings, held against what the release states; the stated means where there are no ratings."""
        opened = [key for key in DIMENSION_KEYS if key in evidence]
        dimensions = [key for key in DIMENSION_KEYS if stated[key] is not None]
        if ratings:
            found = gold.gold_from_ratings(fig_id, ratings, evidence)
            self._compare(cells, found, stated, ratings)
            return found
        if not dimensions:
            cells.tell("without-gold", "nobody's ratings and no gold; the figure is not scored")
            return None
        return Gold(
            figure_id=fig_id,
            **{key: stated[key] for key in DIMENSION_KEYS},
            overall_score=gating.overall(stated, dimensions),
            overall_rater_mean=stated[OVERALL],
            n_ratings=cells.whole("annotator_count"),
            open_dimensions=opened,
        )

    def _compare(self, cells: _Cells, found: Gold, stated: dict[str, float | None], ratings: list[Rating]) -> None:
        """Tell where stated gold is not that of the ratings, and count the readings of the overall."""
        if any(value is not None for value in stated.values()):
            off = [
                f"{key} {_shown(stated[key])}, from ratings {_shown(getattr(found, key))}"
                for key in DIMENSION_KEYS
                if not _same(stated[key], getattr(found, key), GOLD_TOLERANCE)
            ]
            if off:
                self.stated_gold_differs += 1
                cells.tell("gold-differs", f"stated {'; '.join(off)}; the ratings count")
        nulls = {tuple(getattr(rating, key) is None for key in DIMENSION_KEYS) for rating in ratings}
        uneven = len(nulls) > 1
        self.readings["uneven_nulls"] += uneven
        first, mean = found.overall_score, found.overall_rater_mean
        self.readings["readings_differ"] += not _same(first, mean, OVERALL_TOLERANCE)
        overall = stated[OVERALL]
        if overall is None:
            return
        stored = [rating.overall_score for rating in ratings if rating.overall_score is not None]
        stored_mean = math.fsum(stored) / len(stored) if stored else None
        self.readings["stated"] += 1
        self.readings["off_rater_mean"] += not _same(overall, mean, OVERALL_TOLERANCE)
        self.readings["off_stored_rater_mean"] += not _same(overall, stored_mean, GOLD_TOLERANCE)
        if not _same(overall, first, OVERALL_TOLERANCE):
            self.readings["off_dimension_first"] += 1
            self.readings["off_dimension_first_uneven"] += uneven
            text = f"stated overall {overall:g}; mean of the dimensions {first:.4f}, of the raters' overalls {mean:.4f}"
            cells.tell("overall-differs", text + (", raters left different dimensions out" if uneven else ""))

    def _closed_but_rated(self, cells: _Cells, found: Gold | None, evidence: tuple[str, ...]) -> list[Mark]:
        if found is None:
            return []
        marks = []
        for key in DIMENSION_KEYS:
            if getattr(found, key) is None or key in evidence:
                continue
            detail = f"{key} is rated, though the figure has no evidence for it"
            marks.append(Mark(stage="gate", code="rated-while-closed", detail=detail))
            if key == "context_consistency":
                self.context_rated_without_text += 1
                cells.tell("context-rated-without-text", "CTX has gold, and the release has no citing text")
            else:
                cells.tell("rated-while-closed", detail)
        return marks

    def _open(self, found: Gold | None, evidence: tuple[str, ...]) -> list[str]:
        """What judges are asked: what the evidence opens or, where that is wanted, what people rated."""
        if self.mask == "gold" and found is not None:
            return [key for key in DIMENSION_KEYS if getattr(found, key) is not None]
        return list(evidence)

    def _image(self, cells: _Cells, fig_id: str) -> tuple[bytes | None, tuple[int | None, int | None]]:
        """The image, checked, and its size; the stated size where there is no image."""
        stated = (cells.whole("width", at_least=1), cells.whole("height", at_least=1))
        path = self._image_path(cells, fig_id)
        if path is None:
            return None, stated
        try:
            if path.stat().st_size > MAX_IMAGE_BYTES:
                raise ValueError(f"larger than {MAX_IMAGE_BYTES:,} bytes")
            data, size = stored_image(path.read_bytes())
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            # Pillow's own sentence has an address in memory, another one each time.
            reason = "of no known format" if isinstance(error, UnidentifiedImageError) else error
            cells.tell("image-unreadable", f"{path.relative_to(self.folder)} is no image that can be read ({reason})")
            return None, stated
        if None not in stated and stated != size:
            cells.tell(
                "image-size-differs", f"stated {stated[0]} x {stated[1]} pixels, the image has {size[0]} x {size[1]}"
            )
        return data, size

    def _sha256(self, cells: _Cells, fig_id: str, image: bytes) -> str:
        """The image's hash; told where an earlier figure has the very same image."""
        sha256 = hashlib.sha256(image).hexdigest()
        first = self._images.setdefault(sha256, fig_id)
        if first != fig_id:
            cells.tell("image-repeated", f"the image is that of {first}")
        return sha256

    def _image_path(self, cells: _Cells, fig_id: str) -> Path | None:
        named = cells.text("image")
        if named is not None:
            tried = [self.folder / named, self.folder / "images" / named, self.folder / "images" / Path(named).name]
        else:
            tried = [self.folder / "images" / f"{fig_id}{suffix}" for suffix in (".png", ".jpg", ".jpeg", ".webp")]
        for path in tried:
            try:
                real = path.resolve()
                if real.is_file() and real.is_relative_to(self.folder):
                    return real
            except (OSError, ValueError):  # a name that no file can have
                continue
        shown = f"{Path(named).name[:80]!r} is not in the folder" if named else f"no file images/{fig_id}.png or .jpg"
        cells.tell("image-missing", f"{shown}; the row has no image")
        return None


def stored_image(data: bytes) -> tuple[bytes, tuple[int, int]]:
    """An image as the dataset stores it, and its size in pixels.

    PNG and JPEG keep their bytes, other formats that Pillow reads become PNG.

    Raises:
        ValueError, OSError, SyntaxError, PIL.Image.DecompressionBombError: It can't be decoded.
    """
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        if image.format in _STORED:
            return data, image.size
        buffer = io.BytesIO()
        (image if image.mode in ("L", "RGB", "RGBA") else image.convert("RGBA")).save(buffer, "PNG")
        return buffer.getvalue(), image.size


def pseudonym(name: str) -> str:
    """A rater's id: a name that is a pseudonym already, or else the hash of the name.

    The id is the same in every release. It is no secret from those who know the name.

    >>> pseudonym("Rater_07"), pseudonym("someone@example.org")
    ('Rater_07', 'rater-79a6123c')
    """
    name = " ".join(name.split())
    if _PSEUDONYM.fullmatch(name):
        return name
    return f"rater-{hashlib.sha256(name.casefold().encode()).hexdigest()[:8]}"


def _source_of(cells: _Cells) -> str | None:
    kind, name = cells.text("source_type"), cells.text("source_name")
    parts = [None if kind is None else without_emails(kind), None if name is None else pseudonym(name)]
    return "/".join(part for part in parts if part) or None


def _number_of(caption: str) -> str | None:
    """The number that a caption's label prints."""
    if not _LABEL.match(caption):
        return None
    mentions = find_mentions(caption[:60])
    return mentions[0].numbers[0] if mentions and len(mentions[0].numbers) == 1 else None


def _citation(text: str, number: str) -> Citation:
    """A citing text; without a reference to the figure, its kind is not known."""
    mentions = [mention for mention in find_mentions(text) if number in mention.numbers]
    if not mentions:
        shown = text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"
        return Citation(text=shown, length=len(text))
    shown = cut(text, mentions, MAX_CHARS)
    kind = kind_of(text, mentions)
    return Citation(
        text=shown,
        kind=kind,
        mentions=[mention.text for mention in mentions if mention.text in shown],
        weight=WEIGHTS[kind],
        length=len(text),
    )


def _same(one: float | None, two: float | None, tolerance: float) -> bool:
    if one is None or two is None:
        return one is two
    return abs(one - two) <= tolerance


def _shown(value: float | None) -> str:
    return "null" if value is None else f"{value:.4f}"


# --- the whole release ----------------------------------------------------------------------------------------------


def import_release(
    folder: Path,
    out: Path,
    *,
    split: str = SPLIT,
    mask: Mask = "evidence",
    overwrite: bool = False,
    edition: Edition = UNSAID,
) -> ReleaseReport:
    """Import the public release as a dataset folder like one that is built from PDFs.

    Gold is computed from the ratings, where there are any, and held against the release's own. A score that is no
    integer from 1 to 10 is left out; a figure whose image is missing or broken keeps its row, with a null there.

    Args:
        folder: The release; see the module for its files.
        out: The dataset folder, written beside and swapped in.
        split: Name of the split.
        mask: What ``open_dimensions`` of a figure follow: its evidence (SPEC 3) or, as the release itself does, the
            dimensions that have gold. ``gold.open_dimensions`` is of the evidence in any case.
        overwrite: Replace an existing dataset folder.
        edition: Licence, version and note of the dataset.

    Returns:
        Counts; the dataset folder has them as ``release_report.json``, and each case in ``problems.jsonl``.

    Raises:
        ReleaseError: There is nothing to import.
        DatasetError: The target must not be replaced.
    """
    if not re.fullmatch(r"\w+(?:\.\w+)*", split):
        raise DatasetError(f"{split!r} can't be the name of a split; use letters, digits and _")
    check_target(out, overwrite=overwrite)
    check_edition(out, edition)
    files = _files(folder)
    with staged(out) as stage:
        log = _Log(stage / "problems.jsonl")
        try:
            importer = _Importer(folder, mask, log)
            writer = SplitsWriter(stage, [split])
            counts: Counter[str] = Counter()
            gold_counts, evidence_counts = Counter(), Counter()
            papers: dict[str, str] = {}
            for fig_id, row in _rows(folder, files, log):
                figure, image = importer.figure(fig_id, row)
                writer.add(split, figure, image)
                papers[figure.paper_id] = figure.paper_id_norm
                counts["figures"] += 1
                counts["images"] += image is not None
                counts["ratings"] += len(figure.ratings)
                if figure.gold is not None:
                    counts["rated"] += 1
                    gold_counts.update(key for key in DIMENSION_KEYS if getattr(figure.gold, key) is not None)
                    evidence_counts.update(figure.gold.open_dimensions)
            _tell_of_the_whole(papers, log)
        finally:
            log.close()
        if not counts["figures"]:
            raise ReleaseError([f"{folder}: no row could be imported", *_first_problems(log.path)])
        (stage / "dropped.jsonl").touch()
        manifests = writer.finish(out, edition)
        report = ReleaseReport(
            files={path.name: file_sha256(path) for paths in files.values() for path in paths},
            split=split,
            mask=mask,
            figures=counts["figures"],
            papers=len(papers),
            papers_with_serial=sum(paper != norm for paper, norm in papers.items()),
            images=counts["images"],
            rated=counts["rated"],
            ratings=counts["ratings"],
            raters=len(importer.raters),
            gold={key: gold_counts[key] for key in DIMENSION_KEYS},
            evidence={key: evidence_counts[key] for key in DIMENSION_KEYS},
            context_rated_without_text=importer.context_rated_without_text,
            stated_gold_differs=importer.stated_gold_differs,
            overall=OverallReadings(**importer.readings),
            problems=dict(sorted(log.counts.items())),
            unknown_fields=dict(sorted(log.unknown.items())),
            fingerprint=manifests[split].fingerprint,
        )
        (stage / REPORT).write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return report


def _files(folder: Path) -> dict[str, list[Path]]:
    """The release's files by what they are."""
    if not folder.is_dir():
        raise ReleaseError(f"{folder}: no such folder")
    kinds = {"figures": FIGURES, "means": MEANS, "captions": CAPTIONS, "ratings": RATINGS}
    found = {kind: [folder / name for name in names if (folder / name).is_file()] for kind, names in kinds.items()}
    if any(found.values()):
        return found
    deeper = [path for name in (*FIGURES, *MEANS) for path in folder.rglob(name)]
    hint = f"; there is one in {deeper[0].parent}" if deeper else ""
    raise ReleaseError(f"{folder}: holds neither figures.jsonl nor human_means.csv nor ratings.csv{hint}")


def _rows(folder: Path, files: dict[str, list[Path]], log: _Log) -> Iterator[tuple[str, _Row]]:
    """Each figure once, in the files' order, with what all files say of it.

    The first file that has a field wins; side tables are held in memory, the main one is streamed.
    """
    main, *rest = [*files["figures"], *files["means"]] or [None]
    beside: dict[str, _Source] = {}
    for path in [*rest, *files["captions"]]:
        for fig_id, source in _identified(path, log, set()):
            first = beside.get(fig_id)
            beside[fig_id] = source if first is None else _merged(first, source, fig_id, log)
    ratings: dict[str, list[_Source]] = defaultdict(list)
    for path in files["ratings"]:
        for fig_id, source in _identified(path, log, None):
            ratings[fig_id].append(source)
    done: set[str] = set()
    for fig_id, source in _identified(main, log, done) if main else ():
        other = beside.pop(fig_id, None)
        yield fig_id, _Row(source if other is None else _merged(source, other, fig_id, log), ratings.pop(fig_id, []))
    for fig_id in [*beside, *(fig_id for fig_id in ratings if fig_id not in beside)]:
        if main is not None:
            log.tell(
                "figure-not-listed", f"{folder.name}: {fig_id} is not in {main.name}; imported from the other files"
            )
        own = ratings.get(fig_id, [])
        source = beside.get(fig_id) or _Source(own[0].where, {}, own[0].typed)
        yield fig_id, _Row(source, own)


def _identified(path: Path, log: _Log, done: set[str] | None) -> Iterator[tuple[str, _Source]]:
    """Rows with the id of their figure; ids are taken off the cells.

    Args:
        path: The file.
        log: Where rows without an id, and repeated ones, are told.
        done: Ids that came already; None where an id may repeat.
    """
    for source in _sources(path, log):
        fig_id = _figure_id(source, log)
        if fig_id is None:
            continue
        if done is not None and fig_id in done:
            log.tell("figure-repeated", f"{source.where}: {fig_id} comes again; the first row is kept")
            continue
        if done is not None:
            done.add(fig_id)
        cells = {key: value for key, value in source.cells.items() if key not in ("figure_id", "paper_id", "fig_index")}
        yield fig_id, _Source(source.where, cells, source.typed)


def _figure_id(source: _Source, log: _Log) -> str | None:
    """The id that a row states, or that its paper and index give."""
    cells = _Cells(source, "", log)
    stated, paper, index = cells.text("figure_id"), cells.text("paper_id"), cells.whole("fig_index")
    joined = figure_id(paper, index) if paper and index is not None else None
    if stated and FIGURE_ID.match(stated):
        if joined is not None and joined != stated:
            cells.tell(
                "figure-id-differs", f"figure_id is {stated}, paper_id and fig_index give {joined}; kept {stated}"
            )
        return stated
    if joined is None:
        shown = f"figure_id {stated!r} is none" if stated else "neither figure_id nor paper_id with fig_index"
        cells.tell("row-without-id", f"{shown}; left out")
    return joined


def _merged(first: _Source, second: _Source, fig_id: str, log: _Log) -> _Source:
    """Cells of both rows; where they disagree, those of the first, and it is told."""
    for name in sorted(first.cells.keys() & second.cells.keys()):
        one, two = first.cells[name], second.cells[name]
        if str(one) != str(two) and not _same_number(one, two):
            log.tell(
                "files-disagree", f"{first.where}: {fig_id}: {name} is another one in {second.where}; the first is kept"
            )
    return _Source(first.where, second.cells | first.cells, first.typed and second.typed)


def _same_number(one: Any, two: Any) -> bool:
    try:
        return float(one) == float(two)
    except (TypeError, ValueError):
        return False


def _tell_of_the_whole(papers: dict[str, str], log: _Log) -> None:
    """What concerns no single row."""
    by_norm: dict[str, list[str]] = defaultdict(list)
    for paper, norm in papers.items():
        by_norm[norm].append(paper)
    for norm, ids in by_norm.items():
        if len(ids) > 1:
            log.tell("paper-twice", f"{' and '.join(ids)} are one paper, {norm}")
    by_letters: dict[str, list[str]] = defaultdict(list)
    for norm in by_norm:
        by_letters[unicodedata.normalize("NFKC", norm).casefold()].append(norm)
    for norms in by_letters.values():
        if len(norms) > 1:
            log.tell("paper-ids-alike", f"{' and '.join(norms)} differ in capitals or signs alone; kept as two papers")
    for name, count in sorted(log.unknown.items()):
        log.tell("unknown-field", f"field {name!r}, in {count} rows, is not known; left out")


def _first_problems(path: Path, shown: int = 20) -> list[str]:
    return [line["message"] for line in islice(log_lines(path), shown)]
