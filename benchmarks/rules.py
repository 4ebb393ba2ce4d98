"""What the rules and the blind floor make of real captions, against people: on papers that no effect was fitted on.

    python benchmarks/rules.py [--eval1200 FOLDER] [--resamples 2000] [--fit] [--held-out]

Needs captions and ratings of eval1200 (captions.jsonl, ratings.csv); images are not needed, and not looked at. Papers
are split by the parity of their id's hash: rules are made on the even half and reported on the odd one.

--fit prints the effects that a non-negative ridge regression of CC on the caption findings gives on the even half,
spread around the mean, beside those of the table, and their agreement when whole papers are held out of the fit.
--held-out judges the odd half by the table. "length out" is the partial rank correlation with the caption's number of
words held constant.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import rankdata, spearmanr

from scifigqual_bench.judges.backends.checks import View
from scifigqual_bench.judges.backends.rule_table import CAPTION_RULES, PRIORS, find
from scifigqual_bench.judges.backends.rules import score
from scifigqual_bench.records import normalised_paper_id, paper_of
from scifigqual_bench.text_rules import caption_body, word_count

CC = "caption_consistency"
RIDGE = 10.0
"""Penalty on the squared effects; 1 and 30 give the same agreement to a hundredth."""
STRETCH = 1.5
"""By which fitted scores are spread around their mean; without it rounding leaves 5 of the 10 scores in use."""
FOLDS = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Captions:
    """Captions with their CC gold.

    Attributes:
        texts: Captions, n of them.
        gold: Mean CC rating, shape (n,).
        papers: Paper ids, shape (n,).
        words: Words of each caption, shape (n,).
    """

    texts: list[str]
    gold: Floats
    papers: NDArray[np.str_]
    words: Floats


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[2] / "shared" / "eval1200"
    parser.add_argument("--eval1200", type=Path, default=default, help="folder with captions.jsonl and ratings.csv")
    parser.add_argument("--resamples", type=int, default=2_000)
    parser.add_argument("--fit", action="store_true", help="fit effects on the even half")
    parser.add_argument("--held-out", action="store_true", help="judge the odd half")
    args = parser.parse_args()
    even = read(args.eval1200, 0)
    print(f"even half: {len(even.texts)} captions, {len(set(even.papers))} papers")
    report("constant", np.full(len(even.gold), even.gold.mean()), even, args.resamples)
    report("words", even.words, even, args.resamples, errors=False)
    report("table", by_table(even), even, args.resamples)
    if args.fit:
        print_fit(even, args.resamples)
    if args.held_out:
        odd = read(args.eval1200, 1)
        print(f"odd half: {len(odd.texts)} captions, {len(set(odd.papers))} papers")
        report("constant", np.full(len(odd.gold), even.gold.mean()), odd, args.resamples)
        report("words", odd.words, odd, args.resamples, errors=False)
        report("table", by_table(odd), odd, args.resamples)


def read(folder: Path, parity: int) -> Captions:
    """One half of eval1200."""
    ratings = defaultdict(list)
    with (folder / "ratings.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row[CC]:
                ratings[row["figure_id"]].append(float(row[CC]))
    lines = (folder / "captions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if half_of(paper_of(row["figure_id"])) == parity]
    texts = [row["caption"] for row in rows]
    return Captions(
        texts,
        np.array([np.mean(ratings[row["figure_id"]]) for row in rows]),
        np.array([paper_of(row["figure_id"]) for row in rows]),
        np.array([float(word_count(caption_body(text))) for text in texts]),
    )


def half_of(paper_id: str) -> int:
    """0 for the half that rules are made on, 1 for the one that they are reported on."""
    return hashlib.sha256(normalised_paper_id(paper_id).encode()).digest()[-1] % 2


def by_table(captions: Captions) -> Floats:
    """CC by the rules, from the captions alone."""
    return np.array([float(score(CC, find(View(caption=text))).score) for text in captions.texts])


# --- the fit --------------------------------------------------------------------------------------------------------


def print_fit(captions: Captions, resamples: int) -> None:
    """Fitted effects beside those of the table, and how well such a fit does on papers that it has not seen."""
    rules = [rule for rule in CAPTION_RULES if CC in rule.effects]
    amounts = [{finding.rule.id: finding.amount for finding in find(View(caption=text))} for text in captions.texts]
    found = np.array([[each.get(rule.id, 0.0) for rule in rules] for each in amounts])
    signs = np.array([-1.0 if rule.is_fault else 1.0 for rule in rules])
    start, effects = fit(found, captions.gold, signs)
    print(f"  {'start':20} fitted {start:+.2f}, table {PRIORS[CC]:+.2f}")
    for rule, column, effect in zip(rules, found.T, effects, strict=True):
        with_it, without = captions.gold[column != 0], captions.gold[column == 0]
        told = f"CC {with_it.mean():.1f} on {len(with_it)}" if len(with_it) else "on none"
        told += f", {without.mean():.1f} on the others" if len(without) else ""
        print(f"  {rule.id:20} fitted {effect:+.2f}, table {rule.effects[CC]:+.2f}; {told}")
    fitted = np.empty_like(captions.gold)
    for held in folds(captions.papers):
        start, effects = fit(found[~held], captions.gold[~held], signs)
        fitted[held] = start + found[held] @ effects
    report("fit, held out", fitted, captions, resamples)
    report("the same, rounded", np.clip(np.round(fitted), 1, 10), captions, resamples)


def fit(found: Floats, gold: Floats, signs: Floats) -> tuple[float, Floats]:
    """Ridge regression whose effects have the sign of their rule, spread around the mean; the start is free."""
    centre = found.mean(axis=0)
    penalty = np.sqrt(RIDGE) * np.eye(len(signs))
    effects, _ = nnls(np.vstack([(found - centre) * signs, penalty]), np.r_[gold - gold.mean(), np.zeros(len(signs))])
    spread = STRETCH * effects * signs
    return float(gold.mean() - centre @ spread), spread


def folds(papers: NDArray[np.str_]) -> Iterator[NDArray[np.bool_]]:
    """Masks of ten parts, whole papers each."""
    names = np.random.default_rng(0).permutation(np.unique(papers))
    return (np.isin(papers, names[part::FOLDS]) for part in range(FOLDS))


# --- the report -----------------------------------------------------------------------------------------------------


def report(name: str, scores: Floats, captions: Captions, resamples: int, *, errors: bool = True) -> None:
    """One line: Spearman, the same with length out, and MAE; each with a 95% interval over whole papers."""
    parts = []
    if np.ptp(scores):
        parts.append(f"Spearman {interval(rank_correlation, scores, captions, resamples)}")
        if not np.array_equal(scores, captions.words):
            parts.append(f"length out {interval(without_length, scores, captions, resamples)}")
    if errors:
        parts.append(f"MAE {interval(mean_error, scores, captions, resamples)}")
    print(f"  {name:20} {', '.join(parts)}")


def interval(
    statistic: Callable[[Floats, Floats, Floats], float], scores: Floats, captions: Captions, resamples: int
) -> str:
    """A statistic of scores, gold and words, with its interval."""
    data = np.stack([scores, captions.gold, captions.words])
    _, paper = np.unique(captions.papers, return_inverse=True)
    members = [np.flatnonzero(paper == number) for number in range(paper.max() + 1)]
    rng = np.random.default_rng(0)
    drawn = [
        statistic(*data[:, np.concatenate([members[k] for k in rng.integers(len(members), size=len(members))])])
        for _ in range(resamples)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5]) if drawn else (np.nan, np.nan)
    return f"{statistic(*data):.3f} [{low:.3f}, {high:.3f}]"


def rank_correlation(scores: Floats, gold: Floats, words: Floats) -> float:
    """Spearman's rank correlation."""
    return float(spearmanr(scores, gold).statistic)


def without_length(scores: Floats, gold: Floats, words: Floats) -> float:
    """The same between what the caption's length does not explain of either, in ranks."""
    ranks = rankdata(np.stack([scores, gold, words]), axis=1)
    ours, theirs, length = ranks - ranks.mean(axis=1, keepdims=True)
    ours, theirs = (side - length * (side @ length) / (length @ length) for side in (ours, theirs))
    return float(ours @ theirs / np.sqrt((ours @ ours) * (theirs @ theirs)))


def mean_error(scores: Floats, gold: Floats, words: Floats) -> float:
    """Mean absolute error."""
    return float(np.abs(scores - gold).mean())


if __name__ == "__main__":
    main()
