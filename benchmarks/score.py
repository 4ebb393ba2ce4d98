"""How fast scoring is: against a plain loop over resamples, as figures grow, and through `evaluate`.

    python benchmarks/score.py [--eval1200 FOLDER] [--resamples 10000] [--loop 200]

Needs the ratings of eval1200 (figures.csv, ratings.csv). Times are of the CPU; ratios compare times of the same run.
The predictions are gold with noise, rounded; only their shape matters here.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
from scipy.stats import kendalltau, spearmanr

from scifigqual_bench.gating import open_dimensions
from scifigqual_bench.metrics import metric_path
from scifigqual_bench.records import figure_id, paper_of
from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS
from scifigqual_bench.scoring import Report, score, standard_groupings
from scifigqual_bench.scoring.agreement import Cells, within
from scifigqual_bench.scoring.ceilings import ratings_by_column
from scifigqual_bench.scoring.resampling import Bootstrap, Sample, resample

Rows = list[dict[str, Any]]
NOISE = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[2] / "shared" / "eval1200"
    parser.add_argument("--eval1200", type=Path, default=default, help="folder with figures.csv and ratings.csv")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--loop", type=int, default=200, help="resamples of the plain loop; its time is scaled up")
    args = parser.parse_args()
    golds, ratings = read(args.eval1200)
    predictions = predict(golds)

    headline, _ = timed(lambda: resample_headline(score(predictions, golds, resamples=0), args.resamples))
    agreement, _ = timed(lambda: score(predictions, golds, resamples=args.resamples))
    whole, report = timed(lambda: score(predictions, golds, ratings=ratings, resamples=args.resamples))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{args.resamples} resamples of papers; the plain loop runs {args.loop} of them, its time is scaled up")
    for name, seconds, level in (
        ("MAE, Within-1, bias, Spearman", headline, 0),
        ("report: all seven statistics, and floors", agreement, 1),
        (f"report with rater ceilings (peak memory {peak:.0f} MB)", whole, 2),
    ):
        loop, _ = timed(lambda level=level: plain_loop(report, ratings, args.loop, level))
        loop *= args.resamples / args.loop
        print(f"  {name}: {seconds:.2f} s; plain loop {loop:.1f} s, {loop / seconds:.0f} times as long")

    by_figure: dict[str, Rows] = {}
    for row in ratings:
        by_figure.setdefault(row["figure_id"], []).append(row)
    figures = [{**row, "gold": row, "ratings": by_figure[row["figure_id"]]} for row in golds]
    grouped, _ = timed(
        lambda: score(
            predictions, golds, ratings=ratings, groupings=standard_groupings(figures), resamples=args.resamples
        )
    )
    print(f"with {len(standard_groupings(figures))} groupings: {grouped:.2f} s")

    metric = evaluate.load(metric_path("scifigqual"))
    for resamples in (0, args.resamples):
        bare = min(timed(lambda n=resamples: score(predictions, golds, resamples=n))[0] for _ in range(5))
        through = min(
            timed(lambda n=resamples: metric.compute(predictions=predictions, references=golds, resamples=n))[0]
            for _ in range(5)
        )
        print(
            f"through evaluate, {resamples} resamples: {through:.3f} s, bare {bare:.3f} s: {through / bare:.1f} times"
        )

    few = args.resamples // 10
    print(f"growth, {few} resamples, without ratings:")
    for copies in (1, 10, 100):
        many = [row for copy in range(copies) for row in renamed(golds, copy)]
        guesses = predict(many)
        seconds, _ = timed(lambda p=guesses, g=many: score(p, g, resamples=few))
        checked, _ = timed(lambda p=guesses, g=many: score(p, g, resamples=0))
        each = 1e6 * seconds / len(many)
        print(
            f"  {len(many)} figures: {seconds:.2f} s, {each:.0f} microseconds a figure; no resamples: {checked:.2f} s"
        )


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of this process's CPU time, which other work on the machine disturbs least, and the result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def read(folder: Path) -> tuple[Rows, Rows]:
    """Gold and rating rows of eval1200."""
    golds, ratings = [], []
    for row in records(folder / "figures.csv"):
        evidence = open_dimensions(has_caption=True, has_context=int(row["context_count"]) > 0)
        means = {key: number(row[f"human_{key}"]) for key in DIMENSION_KEYS}
        golds.append({"figure_id": row["figure_id"], **means, "open_dimensions": list(evidence)})
    for row in records(folder / "ratings.csv"):
        scores = {key: int(row[key]) if row[key] else None for key in DIMENSION_KEYS}
        ratings.append({"figure_id": row["figure_id"], "rater_id": row["rater"], **scores})
    return golds, ratings


def records(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def number(text: str) -> float | None:
    return float(text) if text else None


def predict(golds: Rows) -> Rows:
    """Gold with noise, rounded, where there is gold."""
    rng = np.random.default_rng(0)
    return [
        {
            "figure_id": row["figure_id"],
            **{
                key: None if row[key] is None else float(np.clip(np.rint(row[key] + rng.normal(0, NOISE)), 1, 10))
                for key in DIMENSION_KEYS
            },
        }
        for row in golds
    ]


def renamed(golds: Rows, copy: int) -> Rows:
    """The same figures under the papers of another copy."""
    return [
        {**row, "figure_id": figure_id(f"copy{copy}-{paper_of(row['figure_id'])}", int(row["figure_id"][-4:]))}
        for row in golds
    ]


def resample_headline(report: Report, resamples: int) -> None:
    """Intervals of the headline statistics of all six columns."""
    aligned = report.aligned
    n_papers = len(aligned.paper_ids)
    samples = {}
    for index, column in enumerate(COLUMNS):
        scores = aligned.column(index)
        cells = Cells.build(scores.predictions, scores.golds, scores.papers, n_papers)
        samples[column] = Sample(cells, ("mae", "within_1", "bias", "spearman"))
    found = resample(samples, n_papers, Bootstrap(resamples))
    for column in COLUMNS:
        found.estimates(column)


def plain_loop(report: Report, ratings: Rows, resamples: int, level: int) -> None:
    """What a first script would do: draw papers, put their figures together, call NumPy and scipy.

    Args:
        report: A report, for its aligned scores.
        ratings: Rating rows.
        resamples: Times to draw.
        level: 0 for MAE, Within-1, bias and Spearman; 1 also for RMSE, Kendall and kappa; 2 also for pairwise Within-1
            of the raters, and for MAE, Within-1 and Spearman of raters and judge against the other raters' mean. The
            report's alpha, ICC, reliability and floors are left out of the loop.
    """
    aligned = report.aligned
    n_papers = len(aligned.paper_ids)
    rng = np.random.default_rng(0)
    members = members_of(aligned.papers, n_papers)
    by_column = ratings_by_column(aligned, ratings)
    raters = []
    for index, column in enumerate(COLUMNS):
        known = by_column[column].repeated
        first, second = known.pairs
        gaps = np.abs(known.values[first] - known.values[second])
        judge = aligned.predictions[known.items, index]
        rows, pairs = members_of(known.papers, n_papers), members_of(known.papers[first], n_papers)
        raters.append((known.values, known.others, judge, gaps, rows, pairs))
    for _ in range(resamples):
        draw = rng.integers(n_papers, size=n_papers)
        drawn = np.concatenate([members[paper] for paper in draw])
        for index in range(len(COLUMNS)):
            figures = drawn[aligned.open[drawn, index]]
            x, g = aligned.predictions[figures, index], aligned.golds[figures, index]
            close(x, g), (x - g).mean()
            if level > 0:
                np.sqrt(((x - g) ** 2).mean()), kendalltau(x, g)
                quadratic_kappa(np.rint(x).astype(int), np.rint(g).astype(int))
            if level > 1:
                values, others, judge, gaps, rows, pairs = raters[index]
                chosen = np.concatenate([rows[paper] for paper in draw])
                close(values[chosen], others[chosen]), close(judge[chosen], others[chosen])
                within(gaps[np.concatenate([pairs[paper] for paper in draw])], 0).mean()


def members_of(papers: np.ndarray, n_papers: int) -> list[np.ndarray]:
    return [np.flatnonzero(papers == paper) for paper in range(n_papers)]


def close(x: np.ndarray, g: np.ndarray) -> tuple:
    return np.abs(x - g).mean(), within(x, g).mean(), spearmanr(x, g)


def quadratic_kappa(a: np.ndarray, b: np.ndarray) -> float:
    counts = np.zeros((11, 11))
    np.add.at(counts, (a, b), 1)
    weights = np.subtract.outer(np.arange(11), np.arange(11)) ** 2
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / a.size
    return 1 - (weights * counts).sum() / (weights * expected).sum()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
