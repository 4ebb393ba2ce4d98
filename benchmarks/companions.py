"""How long the companion metrics take: SciRIGOR on one case of 10,000 nodes, ScholScan on 1,800 items of 715 papers."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from scifigqual_bench.companions import scholscan, scirigor
from scifigqual_bench.companions.evidence import LAYERS

NODES, INPUTS = 10_000, 3
ITEMS, PAPERS = 1_800, 715
REPEATS = 5


def large_case(rng: random.Random) -> tuple[dict, dict]:
    """A case and its run as plain rows: each node has INPUTS inputs of the layer below, a third need two of them."""
    by_layer = {layer: [f"{layer}{i}" for i in range(NODES // len(LAYERS))] for layer in LAYERS}
    nodes, edges, claims = [], [], []

    def connect(target: str, layer: str) -> list[str]:
        sources = rng.sample(by_layer[layer], INPUTS)
        edges.extend({"id": f"{source}>{target}", "source": source, "target": target} for source in sources)
        return sources

    for below, layer in zip((None, *LAYERS), LAYERS, strict=False):
        for name in by_layer[layer]:
            node = {"id": name, "layer": layer}
            if layer == "data":
                node["sha256"] = f"{len(nodes):064x}"
            elif layer == "claim":
                sides = {
                    "computational": [connect(name, "result")],
                    "visual": [[mark] for mark in connect(name, "mark")],
                }
                claims.append({"node": name, "primary": True, **sides})
            else:
                sources = connect(name, below)
                if rng.random() < 1 / 3:
                    node["needs"] = [sources[:2], sources[2:]]
            nodes.append(node)
    case = {"case_id": "c", "article_id": "a", "domain": "d", "nodes": nodes, "edges": edges, "claims": claims}
    run = {
        "case_id": "c",
        "executed": True,
        "nodes": [{"node": node["id"], "fidelity": 1 - 0.1 * rng.random()} for node in nodes],
        "edges": [{"edge": edge["id"], "validity": 1 - 0.1 * rng.random()} for edge in edges],
    }
    return case, run


def answer(rng: random.Random, index: int) -> dict:
    """An item of ScholScan as a plain row."""
    gold, steps = rng.randint(1, 4), rng.randint(1, 5)
    reached = rng.randint(0, steps)
    return {
        "item_id": f"q{index}",
        "paper_id": f"paper{rng.randrange(PAPERS)}",
        "error_type": rng.choice(list(scholscan.ERROR_TYPES)),
        "error_exists": True,
        "counts": {
            "existence": rng.randint(0, 1),
            "contains_target_error": rng.randint(0, 1),
            "location": {"gold_steps": gold, "hit_steps": rng.randint(0, gold), "extra_steps": rng.randint(0, 3)},
            "reasoning": {"gold_steps": steps, "reached_steps": reached, "missing_steps": steps - reached},
            "unrelated_errors": rng.randint(0, 4),
        },
        "retrieval": {"ranked_pages": rng.sample(range(1, 31), 10), "gold_pages": rng.sample(range(1, 31), 2)},
    }


def seconds(work: Callable[[], object]) -> float:
    """Processor time of the fastest of some runs; one thread does the work."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    rng = random.Random(0)
    case, run = large_case(rng)
    verified = scirigor.parse_cases([case], [run])
    size = f"{len(case['nodes']):,} nodes, {len(case['edges']):,} edges"
    print(f"SciRIGOR, {size}: check {seconds(lambda: scirigor.parse_cases([case], [run])):.3f} s", end="")
    print(f", score {seconds(lambda: scirigor.score(verified, resamples=0)):.3f} s")
    rows = [answer(rng, index) for index in range(ITEMS)]
    items = scholscan.parse_items(rows)
    print(f"ScholScan, {ITEMS:,} items: check {seconds(lambda: scholscan.parse_items(rows)):.3f} s", end="")
    print(f", score with 10,000 resamples {seconds(lambda: scholscan.score(items)):.3f} s")


if __name__ == "__main__":
    main()
