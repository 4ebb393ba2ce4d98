"""Records of SciRIGOR: what would support a claim, and what a run's verification found (SPEC 13).

A case is a graph in layers, ``data -> transform -> result -> mark -> claim``, with a direct step from result to claim:
over it runs the computational side of a claim, over marks the visual side. Transforms may follow one another. A
specification that contradicts itself is no record: building one raises with every fault, each naming its element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from scifigqual_bench.companions._networkx import nx
from scifigqual_bench.companions.support import Support, support_graph
from scifigqual_bench.errors import InputError
from scifigqual_bench.records import Record, Share

Layer = Literal["data", "transform", "result", "mark", "claim"]
LAYERS: tuple[str, ...] = ("data", "transform", "result", "mark", "claim")
assert Layer.__args__ == LAYERS

STEPS: tuple[tuple[str, str], ...] = (
    ("data", "transform"),
    ("transform", "transform"),
    ("transform", "result"),
    ("result", "mark"),
    ("result", "claim"),
    ("mark", "claim"),
)
"""The steps that a support edge may take."""

SIDES: dict[str, str] = {"computational": "result", "visual": "mark"}
"""The sides of a claim, and the layer that each rests on directly."""

Id = Annotated[str, Field(min_length=1)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
SupportSets = Annotated[list[Annotated[list[Id], Field(min_length=1)]], Field(min_length=1)]
"""Alternatives, of which one must hold; each is a list of nodes that must all hold."""

_SHOWN = 8


class EvidenceNode(Record):
    """A piece of evidence, or a claim.

    Attributes:
        id: Name within the case.
        layer: Where it stands.
        label: What it is, for people.
        sha256: Hash of its content; every input (layer ``data``) is declared with it.
        needs: Approved alternatives among its predecessors; None approves each incoming edge on its own. Data rest on
            nothing, and claims have their own record.
    """

    id: Id
    layer: Layer
    label: str | None = None
    sha256: Sha256 | None = None
    needs: SupportSets | None = None


class EvidenceEdge(Record):
    """A relation between two nodes.

    Attributes:
        id: Name within the case.
        source: Node that supports.
        target: Node that is supported.
        kind: ``support`` is a step of a path. ``provenance`` records where the target comes from, over any number of
            layers: it opens no path, and a path over its target is only as strong as it.
    """

    id: Id
    source: Id
    target: Id
    kind: Literal["support", "provenance"] = "support"


class EvidenceClaim(Record):
    """What supports a claim.

    Attributes:
        node: The claim's node.
        primary: Whether the case stands or falls with it.
        computational: Approved alternatives among results; None for a claim without a computational side.
        visual: Approved alternatives among marks; None for a claim without a visual side.
    """

    node: Id
    primary: bool
    computational: SupportSets | None = None
    visual: SupportSets | None = None


class EvidenceCase(Record):
    """The reference specification of one case.

    Attributes:
        case_id: The case.
        article_id: Article that it comes from; cases of one article are not independent.
        domain: Field of science, for the macro averages.
        nodes: Evidence and claims.
        edges: Relations between them.
        claims: Exactly one record for each claim node, at least one of them primary.
    """

    case_id: Id
    article_id: Id
    domain: Id
    nodes: list[EvidenceNode]
    edges: list[EvidenceEdge]
    claims: list[EvidenceClaim]

    @model_validator(mode="after")
    def _check(self) -> EvidenceCase:
        graph = support_graph(self)
        problems = [
            *_node_problems(self),
            *_edge_problems(self),
            *_cycles(graph),
            *_support_problems(self, graph),
            *_claim_problems(self),
        ]
        # Only a graph without faults has paths to follow.
        problems = problems or list(_path_problems(self, graph))
        if problems:
            raise InputError(problems)
        return self


class NodeCheck(Record):
    """Whether a node of a run is faithful to the reference.

    Attributes:
        node: The node.
        fidelity: 0..1, 1 = faithful.
        reason: What was compared, and how it came out.
    """

    node: Id
    fidelity: Share
    reason: str | None = None


class EdgeCheck(Record):
    """Whether a relation holds in a run, whatever the reference says.

    Attributes:
        edge: The edge.
        validity: 0..1, 1 = it holds.
        reason: What was compared, and how it came out.
    """

    edge: Id
    validity: Share
    reason: str | None = None


class EvidenceRun(Record):
    """A run's verification.

    Attributes:
        case_id: The case that was run.
        executed: Whether the run came to its end.
        status_reason: Why not.
        inputs_read: SHA-256 of every file that the run read; None where that was not recorded. A run that read what
            the case does not declare broke its contract and counts like one that did not execute.
        nodes: One check for every node; may be incomplete where the run did not execute.
        edges: One check for every edge; may be incomplete where the run did not execute.
    """

    case_id: Id
    executed: bool
    status_reason: str | None = None
    inputs_read: list[Sha256] | None = None
    nodes: list[NodeCheck] = []
    edges: list[EdgeCheck] = []


class VerifiedCase(Record):
    """A case with the verification of its run: a row of a SciRIGOR file."""

    case: EvidenceCase
    run: EvidenceRun

    @model_validator(mode="after")
    def _check(self) -> VerifiedCase:
        problems = list(_run_problems(self.case, self.run))
        if problems:
            raise InputError(problems)
        return self

    @property
    def undeclared_inputs(self) -> list[str]:
        """Hashes that the run read and the case does not declare."""
        declared = {node.sha256 for node in self.case.nodes if node.layer == "data"}
        return sorted(set(self.run.inputs_read or ()) - declared)


# --- checks ---------------------------------------------------------------------------------------------------------


def _node_problems(case: EvidenceCase) -> Iterator[str]:
    for node in _twice(node.id for node in case.nodes):
        yield f"node {node!r} is there more than once"
    for node in case.nodes:
        if node.layer == "data" and node.sha256 is None:
            yield f"node {node.id!r}: sha256 is missing: every input is declared with its hash"
        if node.layer in ("data", "claim") and node.needs is not None:
            where = "data rest on nothing" if node.layer == "data" else "the support of a claim stands in claims"
            yield f"node {node.id!r}: has needs, yet {where}"


def _edge_problems(case: EvidenceCase) -> Iterator[str]:
    layers = {node.id: node.layer for node in case.nodes}
    for edge in _twice(edge.id for edge in case.edges):
        yield f"edge {edge!r} is there more than once"
    for source, target, kind in _twice((edge.source, edge.target, edge.kind) for edge in case.edges):
        yield f"two {kind} edges run from {source!r} to {target!r}; keep one"
    for edge in case.edges:
        unknown = [end for end in dict.fromkeys((edge.source, edge.target)) if end not in layers]
        for end in unknown:
            yield f"edge {edge.id!r}: there is no node {end!r}"
        if not unknown:
            fault = _step_fault(edge, layers[edge.source], layers[edge.target])
            if fault:
                yield f"edge {edge.id!r} from {edge.source!r} to {edge.target!r} {fault}"


def _step_fault(edge: EvidenceEdge, source: str, target: str) -> str | None:
    way = LAYERS.index(target) - LAYERS.index(source)
    if way < 0:
        return f"goes back from {source} to {target}"
    if edge.kind == "provenance":
        return None if way else f"stays in the layer {source}; provenance lies in an earlier layer"
    if (source, target) in STEPS:
        return None
    return f"skips a layer between {source} and {target}" if way else f"stays in the layer {source}"


def _cycles(graph: nx.DiGraph) -> Iterator[str]:
    """One cycle of each part of the graph that has any, cut where it is long."""
    for part in nx.strongly_connected_components(graph):
        if len(part) > 1 or any(graph.has_edge(node, node) for node in part):
            names = [repr(source) for source, _ in nx.find_cycle(graph.subgraph(part))]
            shown = names if len(names) <= _SHOWN else [*names[:_SHOWN], "..."]
            yield f"cycle: {' -> '.join([*shown, names[0]])}"


def _support_problems(case: EvidenceCase, graph: nx.DiGraph) -> Iterator[str]:
    predecessors = graph.pred
    layers = {node.id: node.layer for node in case.nodes}
    for node in case.nodes:
        if node.needs is not None:
            yield from _set_problems(f"node {node.id!r}: needs", node.needs, predecessors[node.id])
    for claim in case.claims:
        if claim.node in predecessors:
            for side, layer in SIDES.items():
                below = [source for source in predecessors[claim.node] if layers[source] == layer]
                place = f"claim {claim.node!r}: {side}"
                yield from _set_problems(place, getattr(claim, side) or [], below, f"a {layer} with ")


def _set_problems(place: str, sets: SupportSets, allowed: Collection[str], what: str = "") -> Iterator[str]:
    for members in sets:
        for member in dict.fromkeys(members):
            if member not in allowed:
                yield f"{place} names {member!r}, which is not {what or 'a node with '}a support edge to it"
        for member in _twice(members):
            yield f"{place} names {member!r} twice in one set"
    for members in _twice(tuple(sorted(set(members))) for members in sets):
        yield f"{place} lists the set {list(members)} more than once"


def _claim_problems(case: EvidenceCase) -> Iterator[str]:
    nodes = {node.id: node.layer for node in case.nodes}
    for node in _twice(claim.node for claim in case.claims):
        yield f"claim {node!r} is specified more than once"
    for claim in case.claims:
        if nodes.get(claim.node) != "claim":
            layer = nodes.get(claim.node)
            yield f"claim {claim.node!r}: " + (f"its node is a {layer}" if layer else "there is no such node")
        absent = [side for side in SIDES if getattr(claim, side) is None]
        if claim.primary and absent:
            yield f"claim {claim.node!r} is primary and has no {' and no '.join(absent)} side"
        elif len(absent) == len(SIDES):
            yield f"claim {claim.node!r} has no side at all"
    specified = {claim.node for claim in case.claims}
    for node, layer in nodes.items():
        if layer == "claim" and node not in specified:
            yield f"node {node!r} is a claim, and claims does not specify it"
    if not any(claim.primary for claim in case.claims):
        yield "no claim is primary: the case can neither hold nor fail"


def _path_problems(case: EvidenceCase, graph: nx.DiGraph) -> Iterator[str]:
    """Sides that no run could ever support: nothing approved leads from the data to them."""
    perfect = Support.of(case, graph).strengths(
        dict.fromkeys((node.id for node in case.nodes), 1.0), dict.fromkeys((edge.id for edge in case.edges), 1.0)
    )
    for claim, strength in perfect.items():
        for side in SIDES:
            if getattr(strength, side) == 0.0:
                yield f"claim {claim!r}: no complete {side} path leads from the data to it"


def _run_problems(case: EvidenceCase, run: EvidenceRun) -> Iterator[str]:
    if run.case_id != case.case_id:
        yield f"the run is of case {run.case_id!r}, the specification of {case.case_id!r}"
        return
    checked = {"node": [check.node for check in run.nodes], "edge": [check.edge for check in run.edges]}
    specified = {"node": [node.id for node in case.nodes], "edge": [edge.id for edge in case.edges]}
    for kind, names in checked.items():
        for name in _twice(names):
            yield f"run: {kind} {name!r} is checked more than once"
        known, seen = set(specified[kind]), set(names)
        for name in dict.fromkeys(names):
            if name not in known:
                yield f"run: the case has no {kind} {name!r}"
        if run.executed:
            for name in specified[kind]:
                if name not in seen:
                    yield f"run: {kind} {name!r} is not checked; a run that executed is checked whole"


def _twice(values: Iterable) -> list:
    """Values that occur more than once, in the order of their first occurrence."""
    return [value for value, count in Counter(values).items() if count > 1]


def pair_rows(cases: Sequence[object], runs: Sequence[object]) -> list[dict[str, object]]:
    """Join rows of cases with rows of runs by ``case_id``, in the order of the cases.

    Args:
        cases: Mappings, as :class:`EvidenceCase`.
        runs: Mappings, as :class:`EvidenceRun`.

    Returns:
        Rows as :class:`VerifiedCase`, not yet checked.

    Raises:
        InputError: A row has no case_id, a case has no run or several, a run has no case; lists all of it.

    >>> pair_rows([{"case_id": "a"}], [{"case_id": "a", "executed": False}])
    [{'case': {'case_id': 'a'}, 'run': {'case_id': 'a', 'executed': False}}]
    """
    problems: list[str] = []
    found: dict[str, dict[str, object]] = {}
    for kind, rows in (("case", cases), ("run", runs)):
        by_id: dict[str, object] = {}
        for index, row in enumerate(rows):
            case_id = row.get("case_id") if isinstance(row, dict) else None
            if not isinstance(case_id, str):
                problems.append(f"{kind} {index}: expected an object with a case_id")
            elif case_id in by_id:
                problems.append(f"{kind} {index}: {case_id!r} again; keep one")
            else:
                by_id[case_id] = row
        found[kind] = by_id
    problems += [
        f"case {case_id!r} has no run: a run that failed is one with executed false"
        for case_id in found["case"]
        if case_id not in found["run"]
    ]
    problems += [f"run {case_id!r}: there is no such case" for case_id in found["run"] if case_id not in found["case"]]
    if problems:
        raise InputError(problems)
    return [{"case": case, "run": found["run"][case_id]} for case_id, case in found["case"].items()]
