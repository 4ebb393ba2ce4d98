"""What the search for near duplicates costs: time and memory for N made hashes, at several N.

    python benchmarks/duplicates.py [--sizes 10000 100000 1000000]

Three kinds of hashes: uniform ones, which those of different figures nearly are; clusters, in which each of ten
figures comes in versions that differ in a few bits; and copies, of which all belong to a few hundred distinct hashes
and whose pairs are not listed, since they grow with the square. Each run has a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

CLUSTER = 10
"""Versions of one figure."""
KINDS = ("uniform", "clusters", "copies")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--run", nargs=2, metavar=("KIND", "SIZE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        one_run(args.run[0], int(args.run[1]))
        return
    print(f"{'kind':10}{'hashes':>10}{'distinct':>10}{'pairs':>10}{'CPU s':>8}{'peak MB':>9}{'before MB':>11}")
    for kind in KINDS:
        for size in args.sizes:
            subprocess.run([sys.executable, __file__, "--run", kind, str(size)], check=True)


def made(kind: str, size: int) -> np.ndarray:
    """Hashes of a kind."""
    rng = np.random.default_rng(size)
    if kind == "uniform":
        return rng.integers(0, 2**64, size, dtype=np.uint64)
    if kind == "copies":
        return rng.choice(rng.integers(0, 2**64, 300, dtype=np.uint64), size)
    centres = rng.integers(0, 2**64, size // CLUSTER, dtype=np.uint64)
    hashes = np.repeat(centres, CLUSTER)
    for _ in range(5):  # up to five bits from the centre, so that many pairs lie about the limit
        hashes ^= np.uint64(1) << rng.integers(0, 64, len(hashes), dtype=np.uint64)
    return rng.permutation(hashes)


def one_run(kind: str, size: int) -> None:
    """Find the pairs among distinct hashes, and print a line."""
    from scifigqual_bench.dataset.near_duplicates import near_pairs

    hashes = made(kind, size)
    before, started = peak(), time.process_time()
    distinct = np.unique(hashes)
    pairs = near_pairs(distinct)
    seconds = time.process_time() - started
    print(
        f"{kind:10}{size:10}{len(distinct):10}{len(pairs):10}{seconds:8.1f}{peak():9.0f}{before:11.0f}",
        flush=True,
    )


def peak() -> float:
    """Peak memory of this process so far, in 10^6 bytes; needs Linux."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    main()
