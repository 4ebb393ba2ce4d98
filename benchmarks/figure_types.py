"""Figure types against labels told by eye: fits the model of ``features/figure_type.py`` and states its accuracy.

    python build_dataset.py --pdfs ../shared/papers/pdfs --out DATASET
    python benchmarks/figure_types.py --dataset DATASET [--write]

Accuracy is that of papers that were left out: ten folds, whole papers together. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score, confusion_matrix
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.features import figure_type
from scifigqual_bench.features.figure_type import MEASURES, Coefficients, measures, told
from scifigqual_bench.pdf.curation import decode

ROOT = Path(__file__).resolve().parent.parent
LABELS = ROOT / "tests" / "pdf" / "data" / "figure_types.csv"
FOLDS = 10
PENALTY = 0.1
"""Inverse strength of the penalty on the coefficients."""


def fit(values: np.ndarray, labels: np.ndarray) -> Coefficients:
    """The model of some labelled figures."""
    means = np.nanmean(values, axis=0)
    known = np.where(np.isnan(values), means, values)
    scaler = StandardScaler().fit(known)
    model = LogisticRegression(C=PENALTY, max_iter=3000).fit(scaler.transform(known), labels)
    return Coefficients(
        measures=list(MEASURES),
        means=scaler.mean_.round(6).tolist(),
        scales=scaler.scale_.round(6).tolist(),
        types=model.classes_.tolist(),
        intercepts=model.intercept_.round(6).tolist(),
        slopes=model.coef_.round(6).tolist(),
        figures=len(labels),
    )


def main(argv: Sequence[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--dataset", type=Path, help="a dataset of the labelled papers, with features")
    p.add_argument("--write", action="store_true", help="write the coefficients that the package uses")
    args = p.parse_args(argv)
    if args.dataset is None:
        print("figure types: needs --dataset, a dataset of the labelled papers")
        return 0
    with LABELS.open(encoding="utf-8", newline="") as file:
        known = {(row["paper_id"], row["number"]): row["figure_type"] for row in csv.DictReader(file)}
    rows, labels, papers = [], [], []
    for figure, image in DatasetFolder(args.dataset).figures():
        label = known.get((figure.paper_id, figure.number))
        if label is not None and figure.features is not None and image is not None:
            rows.append(measures(figure.features.image, decode(image)))
            labels.append(label)
            papers.append(figure.paper_id.removeprefix("scan-"))  # a scan and its original are one paper
    values, truth = np.array(rows), np.array(labels)
    found = np.empty(len(truth), dtype=object)
    for train, held in GroupKFold(FOLDS).split(values, groups=papers):
        model = fit(values[train], truth[train])
        found[held] = [told(row, model) for row in values[held]]
    told_of = np.array([kind is not None for kind in found])
    right = found == truth
    print(f"{len(truth)} labelled figures of {len(set(papers))} papers, each told by a model that left its paper out")
    print(f"told: {told_of.mean():.3f}; of those right: {right[told_of].mean():.3f}; of all right: {right.mean():.3f}")
    print(f"kappa of those told: {cohen_kappa_score(truth[told_of], list(found[told_of])):.3f}")
    kinds = sorted(set(labels), key=labels.count, reverse=True)
    counts = confusion_matrix(truth, [kind or "not told" for kind in found], labels=[*kinds, "not told"])
    print(f"{'by eye':<12}" + "".join(f"{kind:>11}" for kind in [*kinds, "not told"]))
    for kind, line in zip(kinds, counts[:-1], strict=True):
        print(f"{kind:<12}" + "".join(f"{count:>11}" for count in line))
    if args.write:
        path = Path(figure_type.__file__).with_name(figure_type.COEFFICIENTS)
        path.write_text(fit(values, truth).model_dump_json(indent=1) + "\n", encoding="utf-8")
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
