"""Memory and time of a release from files to scores: import, load, stream, judge-free scoring, splits, leakage.

    python benchmarks/release.py [--figures 7609] [--side 2000] [--folder DIR] [--keep]

Makes a release of random drawings (cheap to make, expensive enough to decode), and runs every step in a process of its
own: its peak memory is that of the step. Needs the build extra, and about 4 GB on the disk at full size.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from scifigqual_bench.rubric import DIMENSION_KEYS

PER_PAPER = (4, 7, 10)
"""Figures of one paper after the other, in turn."""
VENUES = ("ACL", "EMNLP", "ICML", "NeurIPS")
STEPS = ("import", "load, texts", "load, images", "load_dataset", "streaming", "score", "split", "verify")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", type=int, default=7609)
    parser.add_argument("--side", type=int, default=2000, help="pixels of the longer side")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    parser.add_argument("--keep", action="store_true", help="leave what was written")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step:
        run_step(args.step, args.folder)
        return
    folder = args.folder or Path(tempfile.mkdtemp(prefix="scifigqual-release-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        size = make_release(folder / "release", args.figures, args.side)
        print(f"{args.figures} figures, longer side {args.side} px, {size / 1e9:.2f} GB of images", flush=True)
        for step in STEPS:
            command = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"HF_HUB_OFFLINE": "1"})
            if done.returncode:
                raise SystemExit(f"{step}: {done.stderr[-2000:]}")
            print(f"  {step:<13} {done.stdout.strip().splitlines()[-1]}", flush=True)
    finally:
        if not args.keep:
            shutil.rmtree(folder)


def run_step(step: str, folder: Path) -> None:
    """One step; the last line printed is its CPU time, which other work on the machine disturbs least, and memory."""
    dataset, split = folder / "scifigqual-bench", folder / "split"
    own = OwnMemory()
    match step:
        case "import":
            from scifigqual_bench.dataset.release import import_release

            import_release(folder / "release", dataset)
        case "load, texts":
            from scifigqual_bench import load

            sum(len(figure.caption) for figure in load(dataset, "eval1200"))
        case "load, images":
            from scifigqual_bench import load

            sum(figure.image.size[0] for figure in load(dataset, "eval1200"))
        case "load_dataset":
            from datasets import load_dataset

            table = load_dataset(str(dataset), split="eval1200", cache_dir=folder / "cache")
            sum(row["image"].size[0] for row in table.select(range(0, len(table), 10)))
            shutil.rmtree(folder / "cache")
        case "streaming":
            from datasets import load_dataset

            rows = load_dataset(str(dataset), split="eval1200", streaming=True, cache_dir=folder / "cache")
            sum(row["image"].size[0] for row in rows)
        case "score":
            from scifigqual_bench.commands.eval import main as evaluate

            write_predictions(folder)
            assert evaluate(["score", "--dataset", str(dataset), "--predictions", str(folder / "p.jsonl")]) == 0
        case "split":
            from scifigqual_bench.dataset.splits import Sizes, split_dataset

            print(split_dataset(dataset, split, Sizes(1200 if count(dataset) > 2400 else count(dataset) // 2)))
        case "verify":
            from scifigqual_bench.commands.build_dataset import main as build

            assert build(["--verify", str(split)]) == 0
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{used.ru_utime + used.ru_stime:7.1f} s of CPU time, peak memory {used.ru_maxrss / 1024:.0f} MB, "
        f"of its own {own.peak:.0f} MB"
    )


class OwnMemory:
    """Peak of the memory that the process itself holds, looked at 50 times a second.

    The kernel's own peak counts pages of files that are mapped, too, as ``datasets`` maps its cache: they are given
    back as soon as anybody needs the memory.
    """

    def __init__(self) -> None:
        self.peak = 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            status = Path("/proc/self/status").read_text()
            self.peak = max(self.peak, int(status.split("RssAnon:")[1].split()[0]) / 1024)
            time.sleep(0.02)


def count(dataset: Path) -> int:
    from scifigqual_bench.dataset.folder import DatasetFolder

    return DatasetFolder(dataset).count()


def write_predictions(folder: Path) -> None:
    """A judge that says 7 of everything."""
    from scifigqual_bench.dataset.folder import DatasetFolder

    ids = (row["figure_id"] for row in DatasetFolder(folder / "scifigqual-bench").rows(columns=["figure_id"]))
    rows = ({"figure_id": figure_id, "status": "ok", **dict.fromkeys(DIMENSION_KEYS, 7)} for figure_id in ids)
    (folder / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def make_release(folder: Path, figures: int, side: int) -> int:
    """``figures.jsonl`` and images; returns the images' bytes."""
    (folder / "images").mkdir(parents=True)
    rng = np.random.default_rng(0)
    size = 0
    with (folder / "figures.jsonl").open("w") as file:
        papers = (
            (paper, index + 1) for paper in itertools.count() for index in range(PER_PAPER[paper % len(PER_PAPER)])
        )
        for paper, index in itertools.islice(papers, figures):
            row = made_row(rng, f"{paper % 10_000:04d}_paper-{paper}", index, paper)
            file.write(json.dumps(row) + "\n")
            image = drawing(rng, side)
            size += len(image)
            (folder / "images" / f"{row['figure_id']}.png").write_bytes(image)
    return size


def made_row(rng: np.random.Generator, paper_id: str, index: int, paper: int) -> dict:
    """A figure with three ratings and reasons of the usual length."""
    text = "The curve of the larger model stays above that of the smaller one over the whole range of steps. "
    ratings = [
        {
            "source_type": "human",
            "source_name": f"Rater_{(paper + rater) % 16 + 1:02d}",
            **{key: int(rng.integers(4, 11)) for key in DIMENSION_KEYS},
            **{f"{key}_reason": text * 2 for key in DIMENSION_KEYS},
            "summary": text,
            "suggestion": text,
        }
        for rater in range(3)
    ]
    return {
        "figure_id": f"{paper_id}__fig{index:04d}",
        "paper_id": paper_id,
        "fig_index": index,
        "venue": VENUES[paper % len(VENUES)],
        "year": 2020 + paper % 6,
        "title": f"A made paper about the number {paper}",
        "caption": f"Figure {index}: {text}",
        "context_texts": [f"As Figure {index} shows, the larger model is better. {text * 6}" for _ in range(3)],
        "annotations": ratings,
    }


def drawing(rng: np.random.Generator, side: int) -> bytes:
    """Lines and boxes on white with a strip of noise, as PNG."""
    from scifigqual_bench.features._opencv import cv2

    height = int(side * rng.uniform(0.5, 0.9))
    image = np.full((height, side, 3), 255, np.uint8)
    for _ in range(30):
        x0, x1 = (int(x) for x in rng.integers(0, side, 2))
        y0, y1 = (int(y) for y in rng.integers(0, height, 2))
        colour = [int(c) for c in rng.integers(0, 220, 3)]
        cv2.line(image, (x0, y0), (x1, y1), colour, 5, cv2.LINE_AA)
        cv2.rectangle(image, (x0, y0), (x0 + side // 20, y0 + side // 20), colour, -1)
    image[:60, : side // 2] = rng.integers(0, 256, (60, side // 2, 3), dtype=np.uint8)
    return cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()


if __name__ == "__main__":
    main()
