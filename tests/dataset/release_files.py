"""A small release, made to the public schema, and datasets with pictures that can be told apart."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from scifigqual_bench.dataset.folder import DatasetFolder, staged
from scifigqual_bench.dataset.writer import SplitsWriter
from scifigqual_bench.records import Figure
from scifigqual_bench.rubric import DIMENSION_KEYS

RATERS = ("Rater_01", "Rater_02", "Rater_03")


def picture(seed: int, size: tuple[int, int] = (160, 100), kind: str = "PNG") -> bytes:
    """An image of coarse random blocks: two seeds give two pictures that no hash takes for each other."""
    blocks = np.random.default_rng(seed).integers(0, 256, (10, 16, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(blocks).resize(size, Image.Resampling.NEAREST).save(buffer, kind)
    return buffer.getvalue()


def annotation(rater: str, scores: Iterable[int | None], **fields: Any) -> dict[str, Any]:
    """One of a figure's ratings, with a reason for each score."""
    values = dict(zip(DIMENSION_KEYS, scores, strict=True))
    given = [value for value in values.values() if value is not None]
    reasons = {f"{key}_reason": None if value is None else f"{key}: because" for key, value in values.items()}
    return {
        "source_type": "human",
        "source_name": rater,
        **values,
        "overall_score": round(sum(given) / len(given), 1),
        "summary": "Reads well.",
        "suggestion": "Larger labels.",
        **reasons,
        "annotated_at": "2026-01-01T10:00:00",
        **fields,
    }


def row(index: int = 1, paper: str = "0001_2020.acl-main.1", **fields: Any) -> dict[str, Any]:
    """A figure of ``figures.jsonl`` without any fault: the worked example of SPEC 4."""
    figure_id = f"{paper}__fig{index:04d}"
    return {
        "figure_id": figure_id,
        "paper_id": paper,
        "paper_id_norm": paper.removeprefix("0001_"),
        "fig_index": index,
        "venue": "ACL",
        "year": 2020,
        "title": "Reading figures in the wild and elsewhere",
        "caption": f"Figure {index}: Accuracy (%) of A and B.",
        "section": "Results",
        "context_texts": [f"As Figure {index} shows, A is better than B by four points."],
        "context_count": 1,
        "domain_l1": "Language",
        "domain_l2": "Parsing",
        "width": 160,
        "height": 100,
        "annotator_count": 3,
        "image": f"images/{figure_id}.png",
        "human_visual_clarity": 6.3333,
        "human_structure_layout": 6.6667,
        "human_caption_consistency": 5.3333,
        "human_context_consistency": 6.3333,
        "human_misleading_risk": 4.3333,
        "human_overall_score": 5.8,
        "annotations": [
            annotation(rater, scores)
            for rater, scores in zip(RATERS, ((6, 5, 5, 6, 4), (5, 6, 5, 6, 4), (8, 9, 6, 7, 5)), strict=True)
        ],
        **fields,
    }


def write_release(folder: Path, rows: list[Any], *, images: bool = True) -> Path:
    """``figures.jsonl`` (an item that is text goes in as it is) and, where wanted, the images that rows name."""
    (folder / "images").mkdir(parents=True)
    lines = [item if isinstance(item, str) else json.dumps(item) for item in rows]
    (folder / "figures.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for seed, item in enumerate(rows):
        if images and isinstance(item, dict) and item.get("figure_id"):
            (folder / "images" / f"{item['figure_id']}.png").write_bytes(picture(seed))
    return folder


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """A CSV file; None is an empty cell."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def write_dataset(out: Path, splits: dict[str, list[tuple[Figure, bytes | None]]]) -> DatasetFolder:
    """A dataset folder with frozen splits."""
    with staged(out) as stage:
        writer = SplitsWriter(stage, list(splits))
        for split, rows in splits.items():
            for figure, image in rows:
                writer.add(split, figure, image)
        writer.finish(out)
    return DatasetFolder(out)
