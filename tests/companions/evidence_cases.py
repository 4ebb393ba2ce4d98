"""Cases and runs for tests: one by hand, many at random, and what they score by comparing all derivations."""

from __future__ import annotations

import itertools
import math
import random

from scifigqual_bench.companions.scirigor import STAGES

SHA = 64 * "a"
VALUES = (0.0, 0.25, 0.5, 0.75, 1.0)


def small_case(**changes):
    """One claim over a chain: d -> t -> r -> m -> c, and r -> c."""
    case = {
        "case_id": "case",
        "article_id": "article",
        "domain": "domain",
        "nodes": [
            {"id": "d", "layer": "data", "sha256": SHA},
            {"id": "t", "layer": "transform"},
            {"id": "r", "layer": "result"},
            {"id": "m", "layer": "mark"},
            {"id": "c", "layer": "claim"},
        ],
        "edges": [
            {"id": "dt", "source": "d", "target": "t"},
            {"id": "tr", "source": "t", "target": "r"},
            {"id": "rm", "source": "r", "target": "m"},
            {"id": "rc", "source": "r", "target": "c"},
            {"id": "mc", "source": "m", "target": "c"},
        ],
        "claims": [{"node": "c", "primary": True, "computational": [["r"]], "visual": [["m"]]}],
    }
    return case | changes


def run_of(case, values=None, **changes):
    """A run in which everything is worth 1 but for the elements given."""
    values = values or {}
    run = {
        "case_id": case["case_id"],
        "executed": True,
        "nodes": [{"node": node["id"], "fidelity": values.get(node["id"], 1.0)} for node in case["nodes"]],
        "edges": [{"edge": edge["id"], "validity": values.get(edge["id"], 1.0)} for edge in case["edges"]],
    }
    return run | changes


def random_case(rng: random.Random, *, sets: bool = True) -> tuple[dict, dict[str, float]]:
    """A small case that can be supported, and a value for each node and edge.

    Args:
        rng: Source of chance.
        sets: Whether nodes and claims get support sets of several members; else each input is approved on its own, and
            derivations are plain paths.
    """
    names = {
        layer: [f"{layer[0]}{i}" for i in range(rng.randint(1, most))]
        for layer, most in (("data", 3), ("transform", 3), ("result", 3), ("mark", 2), ("claim", 2))
    }
    nodes, edges, claims = [], [], []

    def connect(target: str, pool: list[str]) -> list[str]:
        sources = rng.sample(pool, rng.randint(1, min(3, len(pool))))
        edges.extend({"id": f"{source}-{target}", "source": source, "target": target} for source in sources)
        return sources

    def alternatives(sources: list[str]) -> list[list[str]]:
        if not sets:
            return [[source] for source in sources]
        found = [rng.sample(sources, rng.randint(1, len(sources))) for _ in range(rng.randint(1, 3))]
        return [list(members) for members in dict.fromkeys(tuple(sorted(members)) for members in found)]

    for name in names["data"]:
        nodes.append({"id": name, "layer": "data", "sha256": SHA})
    for index, name in enumerate(names["transform"]):
        node = {"id": name, "layer": "transform"}
        sources = connect(name, names["data"] + names["transform"][:index])
        nodes.append(node | ({"needs": alternatives(sources)} if sets and rng.random() < 0.6 else {}))
    for layer, below in (("result", "transform"), ("mark", "result")):
        for name in names[layer]:
            sources = connect(name, names[below])
            nodes.append(
                {"id": name, "layer": layer} | ({"needs": alternatives(sources)} if sets and rng.random() < 0.6 else {})
            )
    free = [node["id"] for node in nodes if node["layer"] == "result" and "needs" not in node]
    if free and rng.random() < 0.5:
        # A transform without any input supports nothing, so a way over it may not count.
        nodes.append({"id": "lost", "layer": "transform"})
        edges.append({"id": f"lost-{free[0]}", "source": "lost", "target": free[0]})
    for index, name in enumerate(names["claim"]):
        nodes.append({"id": name, "layer": "claim"})
        claim = {
            "node": name,
            "primary": index == 0,
            "computational": alternatives(connect(name, names["result"])),
            "visual": alternatives(connect(name, names["mark"])),
        }
        if index and rng.random() < 0.5:
            claim[rng.choice(["computational", "visual"])] = None
        claims.append(claim)
    above = [name for layer in ("transform", "result", "mark", "claim") for name in names[layer]]
    for index in range(rng.randint(0, 2)):
        edge = {"id": f"origin{index}", "source": rng.choice(names["data"]), "target": rng.choice(above)}
        if all(edge["target"] != other["target"] or "kind" not in other for other in edges):
            edges.append(edge | {"kind": "provenance"})
    case = small_case(nodes=nodes, edges=edges, claims=claims)
    # From runs full of faults to runs with hardly any, so that claims fail early, late and not at all.
    sound = rng.choice((0.5, 0.8, 0.95))
    return case, {element["id"]: 1.0 if rng.random() < sound else rng.choice(VALUES) for element in (*nodes, *edges)}


class Derivations:
    """Everything that could support the claims of a case, written out: sets of elements that must all hold."""

    def __init__(self, case: dict):
        self.nodes = {node["id"]: node for node in case["nodes"]}
        self.edges = {(edge["source"], edge["target"]): edge["id"] for edge in case["edges"] if "kind" not in edge}
        self.origins = [edge for edge in case["edges"] if "kind" in edge]
        self.stages = {node["id"]: node["layer"] for node in case["nodes"]}
        self.stages |= {
            edge["id"]: "provenance" if "kind" in edge else self.nodes[edge["target"]]["layer"]
            for edge in case["edges"]
        }

    def itself(self, node: str) -> frozenset[str]:
        return frozenset({node, *(edge["id"] for edge in self.origins if edge["target"] == node)})

    def of(self, node: str) -> list[frozenset[str]]:
        """All derivations of a node."""
        if self.nodes[node]["layer"] == "data":
            return [self.itself(node)]
        alternatives = self.nodes[node].get("needs") or [[source] for source, target in self.edges if target == node]
        return [self.itself(node) | rest for rest in self.side(node, alternatives)]

    def side(self, node: str, alternatives: list[list[str]]) -> list[frozenset[str]]:
        """All derivations of what a node rests on."""
        return [
            frozenset({self.edges[member, node] for member in members}).union(*choice)
            for members in alternatives
            for choice in itertools.product(*(self.of(member) for member in members))
        ]

    def claim(self, claim: dict, values: dict[str, float]) -> tuple[float | None, float | None, float, str | None]:
        """Computational side, visual side, own fidelity and first failure of a claim."""
        sides = [
            None if claim[side] is None else self.side(claim["node"], claim[side])
            for side in ("computational", "visual")
        ]
        own = self.itself(claim["node"])
        strengths = [
            None if found is None else max((min(values[x] for x in one) for one in found), default=0.0)
            for found in sides
        ]
        failure = None
        for stage in STAGES[1:]:
            holds = {x for x in values if values[x] == 1 or STAGES.index(self.stages[x]) > STAGES.index(stage)}
            if not own <= holds or not all(any(one <= holds for one in found) for found in sides if found is not None):
                failure = stage
                break
        return *strengths, min(values[x] for x in own), failure


def least(*parts: float | None) -> float:
    """The least of what is there."""
    return min((part for part in parts if part is not None), default=math.nan)
