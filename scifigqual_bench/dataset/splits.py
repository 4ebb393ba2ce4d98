"""Splits by whole papers: an evaluation split of exactly N figures, and what is left for work and training.

Papers that share a figure, or a title, go together. Which papers are chosen follows from their ids and figures alone:
no seed, and the order of rows doesn't matter.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from scifigqual_bench.dataset.folder import DatasetFolder, check_target, staged
from scifigqual_bench.dataset.package import UNSAID, Edition, check_edition
from scifigqual_bench.dataset.writer import SplitsWriter
from scifigqual_bench.errors import InputError
from scifigqual_bench.records import Figure, Problem

MIN_RATINGS = 3
"""Ratings of every figure of an evaluation split, at the least (SPEC 10)."""

CARRIED = ("papers.jsonl", "dropped.jsonl", "problems.jsonl", "release_report.json")
"""Logs of how the rows came about, which go with them."""

Stratum = tuple[str, str]
"""Venue and year, ``"unknown"`` where the row doesn't tell."""


class SplitError(InputError):
    """A split that can't be made as it is wanted."""


@dataclass
class Unit:
    """Papers that go together: one, or several that share a figure or a title.

    Attributes:
        papers: Their ids, without serial prefix, sorted.
        figures: Number of their figures.
        stratum: Venue and year of most of their figures.
        types: Figures by type, where it is known.
        least_ratings: Of the figure with the fewest; 0 for one without gold.
        rated: Figures with gold.
    """

    papers: tuple[str, ...]
    figures: int
    stratum: Stratum
    types: Mapping[str, int] = field(default_factory=dict)
    least_ratings: int = 0
    rated: int = 0

    @property
    def key(self) -> str:
        """What units are ordered by: as good as random, and always the same."""
        return hashlib.sha256("\n".join(self.papers).encode()).hexdigest()


# --- which papers go together ---------------------------------------------------------------------------------------


def make_units(figures: Iterable[Figure], links: Iterable[tuple[str, str]] = ()) -> list[Unit]:
    """Papers, or groups of linked papers, as units.

    Args:
        figures: Every row of the dataset, in any order.
        links: Pairs of paper ids (without serial prefix) that must not be parted.

    Returns:
        The units, in the order of their keys.
    """
    by_paper: dict[str, list[Figure]] = defaultdict(list)
    for figure in figures:
        by_paper[figure.paper_id_norm].append(figure)
    parent = {paper: paper for paper in by_paper}

    def root(paper: str) -> str:
        while parent[paper] != paper:
            parent[paper] = paper = parent[parent[paper]]
        return paper

    for one, two in links:
        parent[root(one)] = root(two)
    groups: dict[str, list[str]] = defaultdict(list)
    for paper in by_paper:
        groups[root(paper)].append(paper)
    units = [_unit(papers, [row for paper in papers for row in by_paper[paper]]) for papers in groups.values()]
    return sorted(units, key=lambda unit: unit.key)


def _unit(papers: list[str], rows: list[Figure]) -> Unit:
    strata = Counter(_stratum(row) for row in rows)
    return Unit(
        papers=tuple(sorted(papers)),
        figures=len(rows),
        stratum=min(strata, key=lambda stratum: (-strata[stratum], stratum)),
        types=Counter(row.figure_type for row in rows if row.figure_type is not None),
        least_ratings=min(0 if row.gold is None else row.gold.n_ratings or 0 for row in rows),
        rated=sum(row.gold is not None for row in rows),
    )


def _stratum(row: Figure) -> Stratum:
    return row.venue or "unknown", "unknown" if row.year is None else str(row.year)


# --- exactly N figures ----------------------------------------------------------------------------------------------


def choose(units: Sequence[Unit], figures: int) -> list[Unit]:
    """Units with exactly so many figures together, spread over the strata like all units, with their mix of types.

    All numbers of figures that whole units can bring are looked at, stratum by stratum (a subset sum each), and of the
    ways to reach the total the one is taken that lies closest to each stratum's share: least sum of
    ``(n - share)^2 / share``. Which units bring a stratum's number follows from their keys; then units of one stratum
    and one size change places as long as that brings the mix of types closer to that of all units.

    Args:
        units: What can be chosen, in any order.
        figures: How many figures, at least 1.

    Returns:
        The chosen units, in the order of their keys.

    Raises:
        SplitError: No set of whole units has so many figures; names the nearest numbers that can be had.

    >>> papers = [Unit((name,), size, ("ACL", "2020")) for name, size in (("a", 3), ("b", 3), ("c", 4))]
    >>> sum(unit.figures for unit in choose(papers, 7))
    7
    >>> choose(papers, 5)
    Traceback (most recent call last):
    ...
    scifigqual_bench.dataset.splits.SplitError: no set of whole papers has 5 figures; the nearest: 4 and 6
    """
    reachable = _sums(units)
    if figures < 1 or not reachable >> figures & 1:
        near = [n for n in nearest(reachable, figures) if n > 0]
        text = f"the nearest: {' and '.join(map(str, near))}" if near else "there is no paper to choose from"
        raise SplitError(f"no set of whole papers has {figures} figures; {text}")
    strata: dict[Stratum, list[Unit]] = defaultdict(list)
    for unit in sorted(units, key=lambda unit: unit.key):
        strata[unit.stratum].append(unit)
    names = sorted(strata)
    wanted = _allot([strata[name] for name in names], figures)
    chosen = {name: _with_sum(strata[name], number) for name, number in zip(names, wanted, strict=True)}
    _mix_types(strata, chosen, figures)
    return sorted((unit for group in chosen.values() for unit in group), key=lambda unit: unit.key)


def nearest(reachable: int, figures: int) -> list[int]:
    """The largest reachable number below, and the smallest above; a bit per number, as in :func:`_sums`."""
    below = (reachable & ((1 << max(figures, 0)) - 1)).bit_length() - 1
    above = reachable >> (figures + 1)
    return [n for n in (below, figures + (above & -above).bit_length() if above else -1) if n >= 0]


def _sums(units: Iterable[Unit]) -> int:
    """All numbers of figures that sets of units have together: bit n is set where n can be had."""
    bits = 1
    for unit in units:
        bits |= bits << unit.figures
    return bits


def _allot(strata: Sequence[Sequence[Unit]], figures: int) -> list[int]:
    """How many figures each stratum brings, so that together they are exactly ``figures``."""
    pool = sum(unit.figures for group in strata for unit in group)
    best = np.full(figures + 1, np.inf)
    best[0] = 0.0
    choices = []
    for group in strata:
        share = figures * sum(unit.figures for unit in group) / pool
        costs = np.full(figures + 1, np.inf)
        choice = np.zeros(figures + 1, dtype=np.int64)
        bits = _sums(group)
        for number in range(min(figures, bits.bit_length() - 1) + 1):
            if not bits >> number & 1:
                continue
            with_number = best[: figures + 1 - number] + (number - share) ** 2 / share
            better = with_number < costs[number:]
            costs[number:][better] = with_number[better]
            choice[number:][better] = number
        best = costs
        choices.append(choice)
    wanted: list[int] = []
    for choice in reversed(choices):
        wanted.append(int(choice[figures]))
        figures -= wanted[-1]
    return wanted[::-1]


def _with_sum(units: Sequence[Unit], figures: int) -> list[Unit]:
    """Units with so many figures; of two ways the one with the earlier units."""
    before = [1]
    for unit in units:
        before.append(before[-1] | before[-1] << unit.figures)
    chosen = []
    for unit, without in zip(reversed(units), reversed(before[:-1]), strict=True):
        if not without >> figures & 1:
            chosen.append(unit)
            figures -= unit.figures
    return chosen[::-1]


def _mix_types(strata: Mapping[Stratum, Sequence[Unit]], chosen: dict[Stratum, list[Unit]], figures: int) -> None:
    """Exchange units of one stratum and one size while the mix of types comes closer to that of all units."""
    everything = [unit for group in strata.values() for unit in group]
    types = sorted({name for unit in everything for name in unit.types})
    if not types:
        return
    pool = sum(unit.figures for unit in everything)
    counts = {unit.papers: np.array([unit.types.get(name, 0) for name in types], dtype=float) for unit in everything}
    off = sum(counts[unit.papers] for group in chosen.values() for unit in group)
    off = off - figures * sum(counts.values()) / pool
    improved = True
    while improved:
        improved = False
        for name, group in chosen.items():
            taken = {unit.papers for unit in group}
            left = [unit for unit in strata[name] if unit.papers not in taken]
            for place, unit in enumerate(group):
                others = [k for k, other in enumerate(left) if other.figures == unit.figures]
                if not others:
                    continue
                after = off + np.array([counts[left[k].papers] for k in others]) - counts[unit.papers]
                distances = (after**2).sum(axis=1)
                best = int(distances.argmin())
                if distances[best] < (off**2).sum() - 1e-9:
                    off = after[best]
                    group[place], left[others[best]] = left[others[best]], unit
                    improved = True


# --- the splits of a dataset ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """What splits are made, in figures.

    Attributes:
        evaluation: Exactly so many; the split is called ``evalN``.
        dev: About so many, for work on prompts; 0 for none.
        validation: About so many; None for a tenth of what is left, 0 for none.
        min_ratings: Of every figure of the evaluation split.
    """

    evaluation: int
    dev: int = 50
    validation: int | None = None
    min_ratings: int = MIN_RATINGS

    @property
    def evaluation_name(self) -> str:
        """Name of the evaluation split."""
        return f"eval{self.evaluation}"

    @property
    def names(self) -> list[str]:
        """Names of all splits, in the card's order."""
        return ["train", "validation", self.evaluation_name, "dev", "unrated"]


def plan_splits(units: Sequence[Unit], sizes: Sizes) -> dict[str, str]:
    """Which split each paper goes to.

    The evaluation split takes papers of which every figure has enough ratings, ``dev`` and ``validation`` papers of
    which every figure has gold, ``train`` what is left of papers with any gold, and ``unrated`` papers without.

    Args:
        units: All papers of the dataset, see :func:`make_units`.
        sizes: What is wanted.

    Returns:
        Names of splits by paper id, without serial prefix.

    Raises:
        SplitError: There is no exact evaluation split.
    """
    fit = [unit for unit in units if unit.rated == unit.figures and unit.least_ratings >= sizes.min_ratings]
    try:
        chosen = {sizes.evaluation_name: choose(fit, sizes.evaluation)}
    except SplitError as error:
        figures = sum(unit.figures for unit in fit)
        detail = (
            f"{len(fit)} of {len(units)} papers, {figures} figures, have {sizes.min_ratings} ratings on every figure"
        )
        raise SplitError([*error.problems, detail]) from None
    rest = _without([unit for unit in units if unit.rated == unit.figures], chosen[sizes.evaluation_name])
    chosen["dev"] = _about(rest, sizes.dev)
    rest = _without(rest, chosen["dev"])
    tenth = sum(unit.figures for unit in rest) // 10
    chosen["validation"] = _about(rest, tenth if sizes.validation is None else sizes.validation)
    split_of = {paper: "train" if unit.rated else "unrated" for unit in units for paper in unit.papers}
    return split_of | {paper: name for name, group in chosen.items() for unit in group for paper in unit.papers}


def _about(units: Sequence[Unit], figures: int) -> list[Unit]:
    """Units with the number of figures that is nearest to the one wanted, the smaller of two equally near ones."""
    reachable = _sums(units)
    if figures < 1 or reachable == 1:
        return []
    if not reachable >> figures & 1:
        figures = min(nearest(reachable, figures), key=lambda n: (abs(n - figures), n))
    return choose(units, figures) if figures else []


def _without(units: Iterable[Unit], taken: Iterable[Unit]) -> list[Unit]:
    gone = {unit.papers for unit in taken}
    return [unit for unit in units if unit.papers not in gone]


def split_dataset(
    source: Path, out: Path, sizes: Sizes, *, overwrite: bool = False, edition: Edition = UNSAID
) -> dict[str, int]:
    """Write a dataset anew with frozen splits by whole papers, and the report that they share nothing.

    Papers are parted only where no figure of one is a near duplicate of a figure of the other, and their titles
    differ.

    Args:
        source: A dataset folder; all of its splits are put together.
        out: The dataset folder to write, with ``leakage.json`` beside the data.
        sizes: What splits are made.
        overwrite: Replace an existing dataset folder.
        edition: Licence, version and note of the dataset.

    Returns:
        Figures by split.

    Raises:
        SplitError: There is no exact evaluation split, a figure comes twice, or the splits that were written share
            something all the same.
        DatasetError: No dataset, or a target that must not be replaced.
        ImportError: OpenCV is missing, which compares the images.
    """
    from scifigqual_bench.dataset import leakage

    check_target(out, overwrite=overwrite)
    check_edition(out, edition)
    folder = DatasetFolder(source)
    named = leakage.side_names([(folder, split) for split in folder.splits])
    ids = Counter(row["figure_id"] for row in folder.rows(columns=["figure_id"]))
    if twice := sorted(figure_id for figure_id, count in ids.items() if count > 1):
        raise SplitError([f"{folder.name}: {figure_id} comes more than once" for figure_id in twice])
    seen = leakage.look(named)
    duplicates = [pair for pair in leakage.near_duplicates(seen, named, within=True) if pair.same]
    links = [(pair.one, pair.two) for pair in duplicates] + list(leakage.same_title(seen))
    units = make_units(_light(folder), [(one.paper, two.paper) for one, two in links])
    split_of = plan_splits(units, sizes)
    with staged(out) as stage:
        writer = SplitsWriter(stage, sizes.names)
        for name in CARRIED:
            if (source / name).is_file():
                shutil.copyfile(source / name, stage / name)
        with (stage / "problems.jsonl").open("a", encoding="utf-8") as log:
            for one, two in links:
                text = f"{one.figure_id} and {two.figure_id} are linked; {one.paper} and {two.paper} are in one split"
                log.write(Problem(code="papers-linked", message=text).model_dump_json() + "\n")
        for figure, image in folder.figures():
            writer.add(split_of[figure.paper_id_norm], figure, image)
        manifests = writer.finish(out, edition)
        written = DatasetFolder(stage)
        report = leakage.check_leakage([(written, split) for split in written.splits])
        if not report.clean:
            raise SplitError(["the splits share something after all; nothing is written", report.table()])
        (stage / leakage.REPORT).write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return {split: manifest.figures for split, manifest in manifests.items()}


def _light(folder: DatasetFolder) -> Iterable[Figure]:
    """The rows without the columns that splits don't depend on."""
    needed = ("figure_id", "paper_id", "paper_id_norm", "fig_index", "venue", "year", "figure_type", "gold")
    return (Figure.model_validate(row) for row in folder.rows(columns=list(needed)))
