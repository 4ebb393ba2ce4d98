"""Which evidence holds up which claim, and how strongly: and/or support over a layered graph (SPEC 13).

A path is as strong as its weakest element, a claim as its strongest approved path. Minimum and maximum distribute over
each other and repeating an element changes neither, so one pass from the data upwards, which keeps for each node the
strength of the best that leads to it, gives exactly what a comparison of all derivations would give. It takes time in
proportion to nodes and edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scifigqual_bench.companions._networkx import nx

if TYPE_CHECKING:
    from scifigqual_bench.companions.evidence import EvidenceCase, SupportSets

Inputs = tuple[tuple[str, str], ...]
"""A support set of a node: (predecessor, id of the edge from it), all of which must hold."""


@dataclass(frozen=True)
class ClaimSupport:
    """The support sets of a claim; None for a side that it does not have.

    Attributes:
        node: The claim.
        computational: Alternatives among results.
        visual: Alternatives among marks.
    """

    node: str
    computational: tuple[Inputs, ...] | None
    visual: tuple[Inputs, ...] | None


@dataclass(frozen=True)
class ClaimStrength:
    """How strongly the three things that a claim needs hold.

    Attributes:
        computational: Strongest approved complete path from the data over results to the claim; None for no such side.
        visual: The same over results and marks.
        local: The claim itself: its fidelity, cut by the provenance edges that end in it.
    """

    computational: float | None
    visual: float | None
    local: float

    @property
    def weakest(self) -> float:
        """The least of the three."""
        return min(part for part in (self.computational, self.visual, self.local) if part is not None)


@dataclass(frozen=True)
class Support:
    """A case's support, laid out for passes from the data upwards.

    Attributes:
        inputs: Alternatives of each node between data and claims, each after all that it rests on.
        provenance: Provenance edges that end in each node; all must hold.
        claims: The claims.
    """

    inputs: dict[str, tuple[Inputs, ...]]
    provenance: dict[str, tuple[str, ...]]
    claims: tuple[ClaimSupport, ...]

    @classmethod
    def of(cls, case: EvidenceCase, graph: nx.DiGraph) -> Support:
        """Lay out a case that has passed its checks, with its :func:`support_graph`."""
        layers = {node.id: node.layer for node in case.nodes}
        needs = {node.id: node.needs for node in case.nodes}

        def inputs(target: str, sets: SupportSets | None) -> tuple[Inputs, ...]:
            alternatives = [[source] for source in graph.pred[target]] if sets is None else sets
            return tuple(
                tuple((source, graph.edges[source, target]["id"]) for source in members) for members in alternatives
            )

        provenance: dict[str, tuple[str, ...]] = {}
        for edge in case.edges:
            if edge.kind == "provenance":
                provenance[edge.target] = (*provenance.get(edge.target, ()), edge.id)
        between = [node for node in nx.topological_sort(graph) if layers[node] not in ("data", "claim")]
        return cls(
            inputs={node: inputs(node, needs[node]) for node in between},
            provenance=provenance,
            claims=tuple(
                ClaimSupport(
                    claim.node,
                    None if claim.computational is None else inputs(claim.node, claim.computational),
                    None if claim.visual is None else inputs(claim.node, claim.visual),
                )
                for claim in case.claims
            ),
        )

    def strengths(self, fidelity: Mapping[str, float], validity: Mapping[str, float]) -> dict[str, ClaimStrength]:
        """How strongly each claim is supported.

        Args:
            fidelity: Of every node, 0..1; any scale works on which more is better and 0 is the least.
            validity: Of every edge, on the same scale.

        Returns:
            By claim, in the order of the case.
        """
        # What each node is worth by itself; then, in order, with the best that leads to it.
        strength = dict(fidelity)
        for node, edges in self.provenance.items():
            strength[node] = min(strength[node], *(validity[edge] for edge in edges))

        def best(alternatives: Sequence[Inputs]) -> float:
            # A node that nothing leads to has no path from the data.
            return max(
                (min(min(strength[source], validity[edge]) for source, edge in members) for members in alternatives),
                default=0.0,
            )

        for node, alternatives in self.inputs.items():
            strength[node] = min(strength[node], best(alternatives))
        return {
            claim.node: ClaimStrength(
                None if claim.computational is None else best(claim.computational),
                None if claim.visual is None else best(claim.visual),
                strength[claim.node],
            )
            for claim in self.claims
        }


def support_graph(case: EvidenceCase) -> nx.DiGraph:
    """Nodes (attribute ``layer``) and support edges (attribute ``id``) of a case.

    Edges between nodes that the case lacks are left out; provenance edges are no part of a path.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from((node.id, {"layer": node.layer}) for node in case.nodes)
    graph.add_edges_from(
        (edge.source, edge.target, {"id": edge.id})
        for edge in case.edges
        if edge.kind == "support" and edge.source in graph and edge.target in graph
    )
    return graph
