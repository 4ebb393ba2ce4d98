"""Slices: the same scores on a part of the figures, such as one venue or the figures that raters disagree on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from scifigqual_bench.rubric import COLUMNS
from scifigqual_bench.scoring.agreement import STATISTICS, Agreement, Cells, Estimate
from scifigqual_bench.scoring.align import Aligned, Row
from scifigqual_bench.scoring.raters import ItemRatings
from scifigqual_bench.scoring.resampling import Bootstrap, Sample, resample

Grouping = Mapping[str, str]
"""Label by figure id; a figure without a label is in no slice of the grouping."""

HARD_SPREAD = 3
"""Caption consistency is hard where the highest and the lowest rating are at least this far apart."""
METADATA = ("venue", "year", "topic", "figure_type")


@dataclass(frozen=True)
class SliceColumn:
    """One column on one slice.

    Attributes:
        open: Figures of the slice on which the column is open and has gold.
        agreement: Agreement over those that have a score.
        pairwise_within_1: Share of pairs of raters at most one point apart; None when no ratings were given.
    """

    open: int
    agreement: Agreement
    pairwise_within_1: Estimate | None


@dataclass(frozen=True)
class Slice:
    """A part of the figures.

    Attributes:
        figures: Rated figures in it.
        papers: Their papers.
        columns: By the names in :data:`~scifigqual_bench.rubric.COLUMNS`.
    """

    figures: int
    papers: int
    columns: dict[str, SliceColumn]


def standard_groupings(figures: Iterable[Row]) -> dict[str, dict[str, str]]:
    """The usual groupings of a data set, from its rows.

    Args:
        figures: Rows with ``figure_id`` and what is known of ``venue``, ``year``, ``topic``, ``figure_type``,
            ``open_dimensions``, ``gold`` and ``ratings``; other columns are ignored.

    Returns:
        Labels by figure id for each grouping that has any: the metadata; citing text under either mask (``evidence``:
        there is some, ``gold``: people rated it); caption consistency hard (spread of its ratings >= 3) or not, where
        it has two ratings; number of ratings.

    >>> rows = [{"figure_id": "a__fig0001", "venue": "ACL", "open_dimensions": ["context_consistency"]}]
    >>> standard_groupings(rows)
    {'venue': {'a__fig0001': 'ACL'}, 'citing text (evidence)': {'a__fig0001': 'with'}}
    """
    groupings: dict[str, dict[str, str]] = defaultdict(dict)
    for row in figures:
        fig, gold = row["figure_id"], row.get("gold")
        for key in METADATA:
            if row.get(key) is not None:
                groupings[key][fig] = str(row[key])
        if row.get("open_dimensions") is not None:
            open_context = "context_consistency" in row["open_dimensions"]
            groupings["citing text (evidence)"][fig] = "with" if open_context else "without"
        if gold is not None:
            rated_context = gold.get("context_consistency") is not None
            groupings["citing text (gold)"][fig] = "with" if rated_context else "without"
        ratings = row.get("ratings") or []
        captions = [item["caption_consistency"] for item in ratings if item.get("caption_consistency") is not None]
        if len(captions) > 1:
            hard = max(captions) - min(captions) >= HARD_SPREAD
            groupings["caption consistency"][fig] = f"spread {'>=' if hard else '<'} {HARD_SPREAD}"
        if ratings:
            groupings["ratings"][fig] = str(len(ratings))
    return dict(groupings)


def slices(
    aligned: Aligned,
    groupings: Mapping[str, Grouping],
    ratings: Mapping[str, ItemRatings] | None,
    bootstrap: Bootstrap,
) -> dict[str, dict[str, Slice]]:
    """Agreement on each slice of each grouping; intervals resample the papers of the slice.

    Args:
        aligned: Scores beside gold.
        groupings: Labels by figure id, by name of the grouping.
        ratings: Ratings by column, items numbered as in ``aligned``; None for no ceilings.
        bootstrap: How intervals are made.
    """
    result: dict[str, dict[str, Slice]] = {}
    for name, labels in groupings.items():
        label_of = np.array([labels.get(fig, "") for fig in aligned.figure_ids])
        result[name] = {
            str(label): _slice(aligned, label_of == label, ratings, bootstrap)
            for label in sorted(set(label_of) - {""}, key=_natural)
        }
    return result


def _natural(label: str) -> tuple[int, str]:
    """Sort key that puts 9 before 10."""
    return (len(label) if label.isdigit() else 0, label)


def _slice(
    aligned: Aligned, inside: np.ndarray, ratings: Mapping[str, ItemRatings] | None, bootstrap: Bootstrap
) -> Slice:
    present, papers = np.unique(aligned.papers[inside], return_inverse=True)
    paper_of = np.zeros(aligned.papers.size, dtype=np.intp)
    paper_of[inside] = papers
    samples: dict[tuple[str, str], Sample] = {}
    for index, column in enumerate(COLUMNS):
        keep = inside & ~np.isnan(aligned.predictions[:, index]) & aligned.open[:, index]
        scores, golds = aligned.predictions[keep, index], aligned.golds[keep, index]
        samples[column, "judge"] = Sample(Cells.build(scores, golds, paper_of[keep], present.size), STATISTICS)
        if ratings is not None:
            mine = ratings[column].where(inside[ratings[column].items])
            mine = ItemRatings(mine.values, mine.items, paper_of[mine.items], present.size)
            samples[column, "raters"] = Sample(mine.pair_cells(), ("within_1",))
    found = resample(samples, present.size, bootstrap)
    return Slice(
        figures=int(inside.sum()),
        papers=present.size,
        columns={
            column: SliceColumn(
                open=int((inside & aligned.open[:, index]).sum()),
                agreement=Agreement(samples[column, "judge"].data.n, **found.estimates((column, "judge"))),
                pairwise_within_1=None if ratings is None else found.estimate((column, "raters"), "within_1"),
            )
            for index, column in enumerate(COLUMNS)
        },
    )
