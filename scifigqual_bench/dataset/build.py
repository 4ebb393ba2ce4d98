"""PDFs (+ ratings, + metadata) -> a dataset folder (SPEC 1-4, 7, 8).

Papers are read by as many processes as wanted and staged one by one; then the staged papers are streamed into the
dataset in the order of the PDFs, without what earlier ones have already (:mod:`scifigqual_bench.dataset.duplicates`).
So the output's bytes depend neither on the number of workers nor on how often the build was stopped, and memory holds
one paper at a time, beside a hash a figure.
"""

from __future__ import annotations

import difflib
import fcntl
import glob
import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from scifigqual_bench import gold
from scifigqual_bench.dataset.corpus import default_workers, extract_corpus
from scifigqual_bench.dataset.duplicates import CorpusDuplicates
from scifigqual_bench.dataset.extractor import Extractor, PaperExtractor
from scifigqual_bench.dataset.folder import SPLITS, SplitWriter, check_target, staged
from scifigqual_bench.dataset.package import UNSAID, Edition, check_edition, finish_folder
from scifigqual_bench.dataset.staging import Job, Limits, Staging
from scifigqual_bench.dataset.tables import RatingRow, TableError, read_papers, read_ratings
from scifigqual_bench.errors import InputError
from scifigqual_bench.pdf.document import sha256_of
from scifigqual_bench.pdf.extract import DPI, Extraction, failed
from scifigqual_bench.records import DroppedFigure, Figure, Mark, PaperMeta, Problem, Record
from scifigqual_bench.rubric import DIMENSION_KEYS

if TYPE_CHECKING:
    from scifigqual_bench.dataset.distributed import Executor

SHOWN = 20
"""Problems named by an error that has many."""


class BuildError(InputError):
    """A build that can't start, or has nothing to write."""


class NoFigureError(BuildError):
    """All papers were read and none has a figure to write."""


@dataclass(frozen=True)
class BuildResult:
    """What a build did; its details are in the folder's ``papers.jsonl``, ``dropped.jsonl`` and ``problems.jsonl``.

    Attributes:
        out: The dataset folder.
        figures: Rows by split.
        papers: PDFs by status.
        dropped: Figures found and left out.
        duplicates: Those of them that show what an earlier figure shows, in the paper or in another.
        hash_only: Figures in the dataset that the plain rule of near hashes would have deleted as duplicates, too, and
            whose pixels differ.
        problems: What a person should look at.
        unplaced_ratings: Ratings whose figure is not in the dataset.
    """

    out: Path
    figures: dict[str, int]
    papers: dict[str, int]
    dropped: int
    duplicates: int
    hash_only: int
    problems: int
    unplaced_ratings: int


class _Log:
    """Writes records as JSON Lines, one by one."""

    def __init__(self, path: Path):
        self.path = path
        self.count = 0
        self._handle = path.open("w", encoding="utf-8")

    def add(self, record: Record | dict) -> None:
        data = record.model_dump() if isinstance(record, Record) else record
        self._handle.write(json.dumps(data, ensure_ascii=False) + "\n")
        self.count += 1

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.close()


@dataclass
class _Run:
    """What accumulates while papers go by: logs on the disk, counts, and what ratings need."""

    papers: _Log
    dropped: _Log
    problems: _Log
    rows: _Log
    rated: dict[str, list[RatingRow]]
    source: Path | None
    statuses: Counter[str] = field(default_factory=Counter)
    marked: Counter[str] = field(default_factory=Counter)
    """Figures by the codes of their marks."""
    known_ids: set[str] = field(default_factory=set)
    """Only where there are ratings."""
    dropped_rated: dict[str, DroppedFigure] = field(default_factory=dict)

    def tell(self, code: str, text: str) -> None:
        self.problems.add(Problem(code=code, message=text))


def list_pdfs(inputs: Sequence[Path]) -> list[Path]:
    """PDFs of the given files and folders (searched in depth), sorted by name within each folder.

    A file is taken whatever it is called, so that a wrong one gets a report of its own.

    Raises:
        BuildError: A folder holds no PDF, or no input was given.
    """
    found: list[Path] = []
    problems: list[str] = []
    for item in inputs:
        if item.is_dir():
            inside = sorted(p for p in item.rglob("*") if p.suffix.lower() == ".pdf" and p.is_file())
            if not inside:
                problems.append(f"{item}: the folder holds no .pdf file")
            found += inside
        else:
            found.append(item)
    if problems:
        raise BuildError(problems)
    return list(dict.fromkeys(found))


def build_dataset(
    pdfs: Sequence[Path],
    out: Path,
    *,
    ratings: Path | None = None,
    papers: Path | None = None,
    extract: Extractor | None = None,
    workers: int | None = None,
    limits: Limits | None = None,
    executor: Executor | None = None,
    jsonl: Path | None = None,
    overwrite: bool = False,
    edition: Edition = UNSAID,
    progress: bool = False,
) -> BuildResult:
    """Build a dataset folder from PDFs.

    Tables are read and checked whole before the first PDF is opened. A PDF that fails becomes a line of
    ``papers.jsonl``; it never ends the build. Ratings whose figure was not found are told and kept out; the dataset is
    written all the same, so that no work is lost. A build that was stopped goes on when it is started again.

    Args:
        pdfs: The PDF files (see :func:`list_pdfs`).
        out: The dataset folder, written beside and swapped in. Finished papers wait in ``.NAME.staging`` beside it.
        ratings: Ratings file (see :func:`~scifigqual_bench.dataset.tables.read_ratings`).
        papers: Papers file (see :func:`~scifigqual_bench.dataset.tables.read_papers`).
        extract: Reads one PDF, in a process of its own; :class:`~scifigqual_bench.dataset.extractor.PaperExtractor`
            with its defaults where None.
        workers: PDFs that are read at a time; the number of CPUs where None.
        limits: Time and memory for one PDF; the defaults of :class:`~scifigqual_bench.dataset.staging.Limits` where
            None.
        executor: Reads the papers by tasks of its own instead of ``workers`` processes here. One that only submits
            its tasks leaves papers unread: the build then ends with an error, and goes on when it is started again.
        jsonl: Also write every figure that was found here, without images; those that curation dropped have the
            status ``"dropped"``.
        overwrite: Replace an existing dataset folder.
        edition: Licence, version and note of the dataset.
        progress: Show bars on stderr, with rate, failures and time left, if it is a terminal.

    Raises:
        BuildError: Bad tables (all their faults), a target that must not be replaced, another build of the same
            folder at work, papers that an executor has not read yet, or no figure at all.
        CorpusError: The machine, not a PDF, ended the reading; what is finished stays staged.
    """
    check_target(out, overwrite=overwrite)
    check_edition(out, edition)
    if jsonl is not None and jsonl.is_dir():
        raise BuildError([f"{jsonl}: is a folder; --jsonl names a file"])
    meta, rated = _read_tables(papers, ratings)
    extract = extract or PaperExtractor()
    staging = Staging(out.absolute().with_name(f".{out.absolute().name}.staging"), extract.identity, limits or Limits())
    try:
        with _locked(staging.folder, out):
            plan, absent = _plan(pdfs, meta)
            jobs = [entry for entry in plan if isinstance(entry, Job)]
            if executor is None:
                _read_papers(jobs, staging, extract, workers or default_workers(), progress)
            else:
                _have_read(jobs, staging, extract, executor)
            result = _write(plan, absent, staging, out, rated, ratings, jsonl, progress, edition)
    except NoFigureError:  # nothing to go on with
        shutil.rmtree(staging.folder)
        raise
    shutil.rmtree(staging.folder)
    return result


@contextmanager
def _locked(folder: Path, out: Path) -> Iterator[None]:
    """Hold a folder's build for this process, and clear what a killed one left."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as handle:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # goes with this process, and is not its children's
        except (BlockingIOError, PermissionError):
            raise BuildError([f"{out}: another build of this folder is at work"]) from None
        _clear_leftovers(out.absolute())
        yield


def _clear_leftovers(out: Path) -> None:
    """Remove half-written folders of a killed build; one killed between two renames gets its old folder back."""
    name = glob.escape(out.name)
    for old in out.parent.glob(f".{name}.old-*"):
        if out.exists():
            shutil.rmtree(old)
        else:
            old.rename(out)
    for partial in out.parent.glob(f".{name}.partial-*"):
        shutil.rmtree(partial)


def _unread(jobs: Iterable[Job], staging: Staging) -> list[Job]:
    return [job for job in jobs if staging.find(job) is None]


def _read_papers(jobs: Sequence[Job], staging: Staging, extract: Extractor, workers: int, progress: bool) -> None:
    """Stage every paper that is not staged yet."""
    todo = _unread(jobs, staging)
    failures = 0
    with _bar("reading", len(jobs), len(jobs) - len(todo), progress) as bar:
        for job in extract_corpus(todo, staging, extract, workers=workers) if todo else ():
            failures += staging.report(job).status == "failed"
            bar.set_postfix(failed=failures, refresh=False)
            bar.update()


def _have_read(jobs: Sequence[Job], staging: Staging, extract: Extractor, executor: Executor) -> None:
    """Stage every paper that is not staged yet by an executor's tasks.

    Raises:
        BuildError: Some are not finished yet.
    """
    if todo := _unread(jobs, staging):
        executor.read(todo, staging, extract)
    if left := len(_unread(todo, staging)):
        raise BuildError(
            [f"{left} of {len(jobs)} papers are not read yet; start the same command again when the tasks have ended"]
        )


def _bar(what: str, total: int, done: int, shown: bool) -> tqdm:
    return tqdm(desc=what, total=total, initial=done, unit="paper", disable=None if shown else True)


def _read_tables(papers: Path | None, ratings: Path | None) -> tuple[dict[str, PaperMeta], dict[str, list[RatingRow]]]:
    """Both tables, with the faults of both at once."""
    meta: dict[str, PaperMeta] = {}
    rows: list[RatingRow] = []
    problems: list[str] = []
    try:
        meta = read_papers(papers) if papers else {}
    except TableError as error:
        problems += error.problems
    try:
        rows = read_ratings(ratings) if ratings else []
    except TableError as error:
        problems += error.problems
    if problems:
        raise BuildError(problems)
    rated: dict[str, list[RatingRow]] = defaultdict(list)
    for row in rows:
        rated[row.rating.figure_id].append(row)
    return meta, dict(rated)


def _plan(pdfs: Sequence[Path], meta: dict[str, PaperMeta]) -> tuple[list[Job | Extraction], list[Problem]]:
    """A job per PDF, and what is to be said of papers without one.

    A second PDF of the same paper id or the same bytes is settled as failed beforehand.
    """
    plan: list[Job | Extraction] = []
    by_id: dict[str, Path] = {}
    by_hash: dict[str, Path] = {}
    for pdf in pdfs:
        paper = meta.get(pdf.stem, PaperMeta(paper_id=pdf.stem))
        digest = _digest(pdf)
        if paper.paper_id in by_id:
            text = f"{pdf}: paper id {paper.paper_id!r} is that of {by_id[paper.paper_id]} too; give ids in --papers"
            plan.append(failed(pdf, paper.paper_id, Problem(code="paper-id-repeated", message=text)))
        elif digest is not None and digest in by_hash:
            text = f"{pdf}: the same bytes as {by_hash[digest]}; read once"
            plan.append(failed(pdf, paper.paper_id, Problem(code="pdf-duplicate", message=text)))
        else:
            plan.append(Job(pdf, paper, digest))
            by_id[paper.paper_id] = pdf
            if digest is not None:
                by_hash[digest] = pdf
    stems = {pdf.stem for pdf in pdfs}
    absent = [
        f"papers file: no PDF for {meta[stem].paper_id!r} (expected {stem}.pdf)" for stem in sorted(set(meta) - stems)
    ]
    return plan, [Problem(code="paper-without-pdf", message=text) for text in absent]


def _write(
    plan: Sequence[Job | Extraction],
    absent: Sequence[Problem],
    staging: Staging,
    out: Path,
    rated: dict[str, list[RatingRow]],
    source: Path | None,
    jsonl: Path | None,
    progress: bool,
    edition: Edition,
) -> BuildResult:
    """Stream the staged papers into the dataset, in the plan's order."""
    with staged(out) as stage:
        (stage / "data").mkdir()
        writers = {split: SplitWriter(stage / "data", split) for split in SPLITS}
        with ExitStack() as stack:
            papers, dropped, problems = (
                stack.enter_context(_Log(stage / f"{name}.jsonl")) for name in ("papers", "dropped", "problems")
            )
            rows = stack.enter_context(_Log(staging.folder / "rows.jsonl"))
            run = _Run(papers, dropped, problems, rows, rated, source)
            for problem in absent:
                run.problems.add(problem)
            duplicates = CorpusDuplicates((entry for entry in plan if isinstance(entry, Job)), staging)
            with _bar("writing", len(plan), 0, progress) as bar:
                for entry in plan:
                    paper = duplicates.curated(entry, staging.read(entry)) if isinstance(entry, Job) else entry
                    _add(paper, writers, run)
                    bar.update()
            unplaced = _unplaced(run)
        if not any(writer.rows for writer in writers.values()):
            raise NoFigureError(["no figure was found; nothing is written", *_first_problems(problems)])
        deleted, alike = run.marked["near-duplicate"], run.marked["similar-hash"]
        counts = (deleted, deleted + alike)
        finish_folder(stage, out, writers, papers=run.statuses, dpi=DPI, duplicates=counts, edition=edition)
    if jsonl is not None:
        jsonl.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(rows.path, jsonl)
    return BuildResult(
        out=out,
        figures={split: writer.rows for split, writer in writers.items() if writer.rows},
        papers=dict(run.statuses),
        dropped=dropped.count,
        duplicates=deleted,
        hash_only=alike,
        problems=problems.count,
        unplaced_ratings=unplaced,
    )


def _add(extraction: Extraction, writers: dict[str, SplitWriter], run: _Run) -> None:
    """One paper's rows, and what is to be said of it."""
    run.papers.add(extraction.report)
    run.statuses[extraction.report.status] += 1
    for problem in extraction.report.problems:
        run.problems.add(problem)
    for found in extraction.figures:
        row = _with_ratings(found.figure, run)
        split = "rated" if row.gold else "unrated"
        writers[split].add(row, found.image)
        run.rows.add(_plain_row(row))
        run.marked.update({mark.code for mark in row.curation_marks})
        if run.rated:
            run.known_ids.add(row.figure_id)
    for drop in extraction.dropped:
        run.dropped.add(drop)
        run.marked.update({mark.code for mark in drop.marks if mark.stage == "S1"})
        if drop.figure_id in run.rated:
            run.dropped_rated[drop.figure_id] = drop
        if drop.bbox is not None:
            run.rows.add(_plain_row(drop))


def _digest(pdf: Path) -> str | None:
    """The file's hash; None where it is missing, empty or can't be read, which its report will tell."""
    try:
        return sha256_of(pdf) if pdf.stat().st_size else None
    except OSError:
        return None


def _with_ratings(figure: Figure, run: _Run) -> Figure:
    """The figure with its ratings and gold; ratings on closed dimensions and adjudication cases are told."""
    rows = run.rated.get(figure.figure_id)
    if not rows:
        return figure
    marks = list(figure.curation_marks)
    closed = [key for key in DIMENSION_KEYS if key not in figure.open_dimensions]
    for key in closed:
        lines = [row.line for row in rows if getattr(row.rating, key) is not None]
        if lines:
            detail = f"{key} is rated, though the figure has no evidence for it"
            marks.append(Mark(stage="gate", code="rated-while-closed", detail=detail))
            text = f"{run.source.name}, lines {', '.join(map(str, lines))}: {figure.figure_id}: {detail}; kept in gold"
            run.tell("rating-on-closed-dimension", text)
    ratings = [row.rating for row in rows]
    if gold.needs_adjudication(ratings):
        gap = f"raters' overalls differ by more than {gold.ADJUDICATION_GAP:g}"
        run.tell("needs-adjudication", f"{run.source.name}: {figure.figure_id}: {gap}")
    return figure.model_copy(
        update={
            "ratings": ratings,
            "gold": gold.gold_from_ratings(figure.figure_id, ratings, figure.open_dimensions),
            "curation_marks": marks,
        }
    )


def _unplaced(run: _Run) -> int:
    """Tell of each rating whose figure is not in the dataset, with the reason or the nearest id where there is one."""
    count = 0
    for figure_id, rows in run.rated.items():
        if figure_id in run.known_ids:
            continue
        count += len(rows)
        drop = run.dropped_rated.get(figure_id)
        near = difflib.get_close_matches(figure_id, run.known_ids, n=1, cutoff=0.8)
        hint = (
            f"it was left out ({drop.marks[0].detail})" if drop else f"nearest: {near[0]}" if near else "check the id"
        )
        lines = ", ".join(str(row.line) for row in rows)
        run.tell("rating-unplaced", f"{run.source.name}, lines {lines}: no figure {figure_id} in the dataset; {hint}")
    return count


def _plain_row(row: Figure | DroppedFigure) -> dict:
    """A row without its image, as extraction scorers read it; a figure that curation dropped is told by its status."""
    data = row.model_dump(exclude={"features", "ratings", "gold"})
    status = {"curation_status": "dropped"} if isinstance(row, DroppedFigure) else {}
    return {**data, **status, "citing": [citation.text for citation in row.citations]}


def _first_problems(log: _Log) -> list[str]:
    with log.path.open(encoding="utf-8") as lines:
        messages = [json.loads(line)["message"] for line in islice(lines, SHOWN)]
    return messages + [f"... and {log.count - SHOWN} more"] * (log.count > SHOWN)
