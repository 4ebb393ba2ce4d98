"""The blind floor: how far a regression on surface features of the texts gets, which never sees a figure.

Raters reward captions that say much, so that the length of a caption alone tells much of its CC. A judge whose CC does
not beat this floor has not shown that it looked. The regression is fitted on rated figures; a figure is always scored
by coefficients that were fitted without its paper.

Fitting needs scikit-learn (extra ``floors``); a fitted model is plain numbers and needs nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from operator import mul
from typing import TYPE_CHECKING, Literal

import numpy as np

from scifigqual_bench.errors import InputError
from scifigqual_bench.records import DimensionKey, Figure, Record, normalised_paper_id
from scifigqual_bench.rubric import DIMENSION_KEYS, SCALE_MAX, SCALE_MIN, SHORT_NAMES
from scifigqual_bench.text_rules import caption_body, caption_sentences, metrics_named, word_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

CAPTION_FEATURES = ("words", "panel letters", "digits", "commas", "sentences", "metric word")
CONTEXT_FEATURES = ("citing paragraphs", "citing words", "citing digits")
FEATURES = (*CAPTION_FEATURES, *CONTEXT_FEATURES)
RIDGE = 1.0
"""Penalty on the squared coefficients of the standardised features."""
FOLDS = 10
MIN_PAPERS = 10
"""Rated papers under which nothing is fitted: one paper a fold."""
NEEDS = "fitting needs scikit-learn: pip install 'scifigqual-bench[floors]'"
MEANING = "a judge whose CC does not beat it has not shown that it looked"

_PANEL = re.compile(r"\([a-hA-H]\)")


def features(caption: str, citing: Sequence[str] = ()) -> list[float]:
    """The surface of a figure's texts, in the order of :data:`FEATURES`; counts of much are taken as logarithms.

    >>> features("Figure 2: (a) Accuracy of A, B and C. (b) Loss.")[1:6]
    [2.0, 0.0, 1.0, 1.0, 1.0]
    """
    body, context = caption_body(caption), " ".join(citing)
    return [
        math.log1p(word_count(body)),
        float(len(_PANEL.findall(body))),
        math.log1p(sum(char.isdigit() for char in body)),
        float(body.count(",")),
        float(len(caption_sentences(caption))),
        float(bool(metrics_named(body))),
        float(len(citing)),
        math.log1p(word_count(context)),
        math.log1p(sum(char.isdigit() for char in context)),
    ]


class Coefficients(Record):
    """A line through :data:`FEATURES`."""

    intercept: float
    slopes: list[float]

    def at(self, values: Sequence[float]) -> float:
        """The score there, kept to the scale."""
        return min(max(self.intercept + sum(map(mul, self.slopes, values)), SCALE_MIN), SCALE_MAX)


class BlindDimension(Record):
    """What was fitted on one dimension.

    Attributes:
        learnt: Whether the features beat the constant on papers held out; where not, the constant is what remains.
        figures: Rated figures.
        mean: Their mean gold.
        mae: Mean absolute error of the regression, each paper predicted by the fold that left it out.
        constant_mae: The same of the mean of the papers of the other folds.
        spearman: Rank correlation of the regression with gold, on the same held-out papers; None where undefined.
        folds: Fitted without the papers of each fold.
        whole: Fitted on all papers.
    """

    learnt: bool
    figures: int
    mean: float
    mae: float
    constant_mae: float
    spearman: float | None
    folds: list[Coefficients]
    whole: Coefficients


class BlindModel(Record):
    """A fitted blind floor, with its provenance.

    Attributes:
        source: What it was fitted on.
        fingerprint: SHA-256 of that data.
        fold_of_paper: Fold that left a paper out, by normalised paper id.
        dimensions: By dimension; those without ratings are absent.
    """

    schema_version: Literal["1"] = "1"
    source: str
    fingerprint: str
    papers: int
    figures: int
    features: list[str] = list(FEATURES)
    ridge: float = RIDGE
    packages: dict[str, str]
    fitted_at: str
    fold_of_paper: dict[str, int]
    dimensions: dict[DimensionKey, BlindDimension]

    def predict(self, paper_id: str, caption: str, citing: Sequence[str] = ()) -> dict[str, float]:
        """Scores of one figure, 1..10, not rounded; by coefficients that were fitted without its paper."""
        values = features(caption, citing)
        fold = self.fold_of_paper.get(normalised_paper_id(paper_id))
        return {
            key: (item.whole if fold is None else item.folds[fold]).at(values) for key, item in self.dimensions.items()
        }

    def summary(self) -> list[str]:
        """A sentence a dimension: what was learnt."""
        return [
            f"{SHORT_NAMES[key]}: {'learnt' if item.learnt else 'nothing learnt, its mean remains'}; on papers held out"
            f" MAE {item.mae:.3f}, constant {item.constant_mae:.3f}; {item.figures} figures"
            for key, item in self.dimensions.items()
        ]


def paper_folds(papers: Sequence[str], source: str) -> dict[str, int]:
    """A fold for each paper, so that the folds hold about as many figures each.

    Args:
        papers: The paper of each figure.
        source: Name of the data, for the error.

    Raises:
        InputError: Fewer than :data:`MIN_PAPERS` papers.
        ImportError: scikit-learn is missing; the message says how to get it.
    """
    if len(set(papers)) < MIN_PAPERS:
        raise InputError(f"{source}: {len(set(papers))} rated papers; a fit needs {MIN_PAPERS} or more")
    try:
        from sklearn.model_selection import GroupKFold
    except ImportError:
        raise ImportError(NEEDS) from None
    parts = GroupKFold(FOLDS).split(papers, groups=papers)
    return {papers[place]: number for number, (_, held) in enumerate(parts) for place in held}


Citing = Callable[[Figure], Sequence[str]]
"""The citing text of a figure that is looked at."""


def whole_paragraphs(figure: Figure) -> list[str]:
    """All citing text of a figure."""
    return [citation.text for citation in figure.citations]


def fit(figures: Sequence[Figure], *, source: str, fingerprint: str, citing: Citing = whole_paragraphs) -> BlindModel:
    """Fit the blind floor on rated figures.

    Args:
        figures: Figures; those without gold are left out.
        source: Name of the data, for provenance.
        fingerprint: SHA-256 of the data, for provenance.
        citing: The citing text that a prediction will see.

    Raises:
        InputError: Fewer than :data:`MIN_PAPERS` rated papers.
        ImportError: scikit-learn is missing; the message says how to get it.
    """
    rated = [figure for figure in figures if figure.gold is not None]
    papers = np.array([normalised_paper_id(figure.paper_id) for figure in rated])
    fold_of_paper = paper_folds(papers.tolist(), source)
    fold = np.array([fold_of_paper[paper] for paper in papers])
    values = np.array([features(figure.caption, citing(figure)) for figure in rated])
    dimensions = {}
    for key in DIMENSION_KEYS:
        gold = np.array([np.nan if (score := getattr(f.gold, key)) is None else score for f in rated])
        if len(set(papers[~np.isnan(gold)].tolist())) >= MIN_PAPERS:
            dimensions[key] = _fit_dimension(values, gold, fold)
    return BlindModel(
        source=source,
        fingerprint=fingerprint,
        papers=len(fold_of_paper),
        figures=len(rated),
        packages={name: metadata.version(name) for name in ("numpy", "scikit-learn")},
        fitted_at=datetime.now(UTC).isoformat(timespec="seconds"),
        fold_of_paper=fold_of_paper,
        dimensions=dimensions,
    )


def _fit_dimension(values: NDArray[np.float64], gold: NDArray[np.float64], fold: NDArray[np.intp]) -> BlindDimension:
    """One dimension, on the figures that are rated on it."""
    from scipy.stats import spearmanr

    rated = ~np.isnan(gold)
    values, gold, fold = values[rated], gold[rated], fold[rated]
    lines = [_line(values[fold != number], gold[fold != number]) for number in range(FOLDS)]
    flats = [_flat(gold[fold != number]) for number in range(FOLDS)]

    def held_out(fitted: Sequence[Coefficients]) -> NDArray[np.float64]:
        return np.array([fitted[number].at(row) for number, row in zip(fold, values, strict=True)])

    by_line = held_out(lines)
    mae, constant_mae = (float(np.abs(scores - gold).mean()) for scores in (by_line, held_out(flats)))
    learnt = mae < constant_mae
    defined = bool(np.ptp(by_line)) and bool(np.ptp(gold))
    return BlindDimension(
        learnt=learnt,
        figures=len(gold),
        mean=float(gold.mean()),
        mae=mae,
        constant_mae=constant_mae,
        spearman=float(spearmanr(by_line, gold).statistic) if defined else None,
        folds=lines if learnt else flats,
        whole=_line(values, gold) if learnt else _flat(gold),
    )


def _line(values: NDArray[np.float64], gold: NDArray[np.float64]) -> Coefficients:
    """Ridge regression on standardised features, told in the features' own units."""
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(values)
    ridge = Ridge(alpha=RIDGE).fit(scaler.transform(values), gold)
    slopes = ridge.coef_ / scaler.scale_
    return Coefficients(intercept=float(ridge.intercept_ - slopes @ scaler.mean_), slopes=slopes.tolist())


def _flat(gold: NDArray[np.float64]) -> Coefficients:
    return Coefficients(intercept=float(gold.mean()), slopes=[0.0] * len(FEATURES))


def floor_rows(figures: Sequence[Figure]) -> tuple[list[Mapping[str, object]] | None, str]:
    """The floor of a dataset's own rated figures, each paper predicted from the others, for a table of scores.

    Returns:
        Prediction rows, not rounded, and a sentence that says what they are; None and the reason where there are none.
    """
    rated = [figure for figure in figures if figure.gold is not None]
    try:
        model = fit(rated, source="this dataset", fingerprint="")
    except (InputError, ImportError) as error:
        return None, f"No blind floor: {error}."
    rows = [{"figure_id": f.figure_id, **model.predict(f.paper_id, f.caption, whole_paragraphs(f))} for f in rated]
    learnt = [SHORT_NAMES[key] for key, item in model.dimensions.items() if item.learnt]
    flat = [SHORT_NAMES[key] for key, item in model.dimensions.items() if not item.learnt]
    return rows, (
        f"Blind floor: ridge regression on the texts' length, panel letters, digits, commas, sentences and metric word,"
        f" {model.papers} papers, each told from the others, no figure seen: {MEANING}."
        f" It learnt something on {', '.join(learnt) or 'nothing'}"
        + (f"; on {', '.join(flat)} the constant remains." if flat else ".")
    )
