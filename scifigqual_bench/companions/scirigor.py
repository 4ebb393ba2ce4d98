"""SciRIGOR: is a generated claim supported by its own run (SPEC 13).

The rules, and what was chosen where the source is silent (each choice is an argument of :func:`score`):

- A path is as strong as its weakest verified node or edge; a side of a claim as its strongest approved complete path,
  from the data to the claim, support sets included.
- A claim combines its computational side, its visual side and its own fidelity by the weakest of the three: the score
  then keeps one meaning from a single edge up to a claim, and no side can buy off another. ``combine="product"``
  counts every weakness, ``combine="mean"`` lets sides compensate. A side that a secondary claim lacks is left out.
- SoftECS is the mean over all claims; ``claims="primary"`` takes the primary ones only.
- Provenance edges cut the strength of their target, since no alternative repairs a wrong record of origin;
  ``provenance="ignored"`` leaves them out.
- An element holds when its value is at least ``full`` (1.0). Strict: all primary claims of a case hold in every part.
- A run that did not execute, or read an input that its case does not declare, scores 0 on every claim.
- The first failure is the earliest of :data:`STAGES` at which a claim is lost even if everything after it were perfect.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from scifigqual_bench.companions.evidence import LAYERS, VerifiedCase, pair_rows
from scifigqual_bench.companions.means import Means, estimate_means, format_mean, interval_lines, reason_lines
from scifigqual_bench.companions.rows import parse_rows, read_records, repeated
from scifigqual_bench.companions.support import ClaimStrength, Support, support_graph
from scifigqual_bench.errors import InputError
from scifigqual_bench.scoring.agreement import Estimate
from scifigqual_bench.scoring.resampling import Bootstrap
from scifigqual_bench.scoring.tables import Document, Table, document, format_table

__all__ = ["Rules", "SciRigorReport", "csv_rows", "format_table", "parse_cases", "read_cases", "score", "score_case"]

Combine = Literal["min", "product", "mean"]
Claims = Literal["all", "primary"]
Provenance = Literal["required", "ignored"]

_KEY = ("case", "case_id")
EXECUTION, PROVENANCE = "execution", "provenance"
STAGES: tuple[str, ...] = (EXECUTION, *LAYERS, PROVENANCE)
"""Where a claim can be lost first: the run did not execute or broke its contract; a node of a layer or a support edge
into it; a record of origin, when all else holds."""


def read_cases(path: Path) -> list[VerifiedCase]:
    """Cases with their runs, of a ``.jsonl`` or ``.json`` file of ``{"case": ..., "run": ...}``.

    Raises:
        InputError: With every fault, each with its line and element.
    """
    return read_records(path, VerifiedCase, _KEY)


def parse_cases(cases: Sequence[Any], runs: Sequence[Any]) -> list[VerifiedCase]:
    """Cases with their runs, from mappings, joined by ``case_id``.

    Raises:
        InputError: With every fault, each with its case and element.
    """
    rows = pair_rows(cases, runs)
    return parse_rows(rows, VerifiedCase, _KEY, [f"row {index}" for index in range(len(rows))])


# --- one case -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """What was chosen where the source leaves a choice; see the module's description."""

    combine: Combine = "min"
    claims: Claims = "all"
    provenance: Provenance = "required"
    full: float = 1.0

    def __post_init__(self) -> None:
        """Refuse unknown options."""
        for name, known in (("combine", Combine), ("claims", Claims), ("provenance", Provenance)):
            if getattr(self, name) not in known.__args__:
                raise ValueError(f"{name} must be one of {', '.join(known.__args__)}, got {getattr(self, name)!r}")
        if not 0 < self.full <= 1:
            raise ValueError(f"expected 0 < full <= 1, got {self.full!r}")


@dataclass(frozen=True)
class ClaimScore:
    """The score of one claim.

    Attributes:
        claim: Its node.
        primary: Whether the case stands or falls with it.
        computational: Strength of that side, 0..1; None for no such side.
        visual: The same.
        fidelity: The claim's own fidelity, cut by the provenance edges that end in it.
        score: The three combined, 0..1.
        first_failure: One of :data:`STAGES`; None for a claim that holds.
    """

    claim: str
    primary: bool
    computational: float | None
    visual: float | None
    fidelity: float
    score: float
    first_failure: str | None


@dataclass(frozen=True)
class CaseScore:
    """The score of one case.

    Attributes:
        case_id: The case.
        article_id: Its article.
        domain: Its field.
        executed: Whether the run came to its end.
        undeclared_inputs: Hashes that the run read although the case does not declare them.
        soft_ecs: Mean over the claims that count, 0..1.
        strict: Whether every primary claim holds.
        first_failure: Earliest first failure of the primary claims; None where all hold.
        claims: All claims, in the order of the case.
    """

    case_id: str
    article_id: str
    domain: str
    executed: bool
    undeclared_inputs: tuple[str, ...]
    soft_ecs: float
    strict: bool
    first_failure: str | None
    claims: tuple[ClaimScore, ...]


def score_case(verified: VerifiedCase, rules: Rules | None = None) -> CaseScore:
    """Score one case; takes time in proportion to its nodes and edges.

    Args:
        verified: The case with its run.
        rules: Choices; None takes the defaults.
    """
    rules = rules or Rules()
    case, run = verified.case, verified.run
    undeclared = tuple(verified.undeclared_inputs)
    if run.executed and not undeclared:
        claims = tuple(_claim_scores(verified, rules))
    else:
        claims = tuple(
            ClaimScore(
                claim=claim.node,
                primary=claim.primary,
                computational=None if claim.computational is None else 0.0,
                visual=None if claim.visual is None else 0.0,
                fidelity=0.0,
                score=0.0,
                first_failure=EXECUTION,
            )
            for claim in case.claims
        )
    failures = [claim.first_failure for claim in claims if claim.primary and claim.first_failure is not None]
    return CaseScore(
        case_id=case.case_id,
        article_id=case.article_id,
        domain=case.domain,
        executed=run.executed,
        undeclared_inputs=undeclared,
        soft_ecs=math.fsum(claim.score for claim in counted(claims, rules)) / len(counted(claims, rules)),
        strict=not failures,
        first_failure=min(failures, key=STAGES.index, default=None),
        claims=claims,
    )


def counted(claims: Sequence[ClaimScore], rules: Rules) -> list[ClaimScore]:
    """The claims that SoftECS averages; a case always has one."""
    return [claim for claim in claims if claim.primary or rules.claims == "all"]


def _claim_scores(verified: VerifiedCase, rules: Rules) -> Iterator[ClaimScore]:
    case, run = verified.case, verified.run
    layers = {node.id: node.layer for node in case.nodes}
    # An edge belongs to the stage at which it is needed.
    stages = {edge.id: PROVENANCE if edge.kind == PROVENANCE else layers[edge.target] for edge in case.edges}
    fidelity = {check.node: check.fidelity for check in run.nodes}
    validity = {check.edge: check.validity for check in run.edges}
    if rules.provenance == "ignored":
        validity |= {edge: 1.0 for edge, stage in stages.items() if stage == PROVENANCE}

    support = Support.of(case, support_graph(case))
    strengths = support.strengths(fidelity, validity)
    # The same pass, on the stage at which each element is lost: all of a set are needed, so the first loss counts; one
    # of the alternatives is enough, so the last one to be lost does.
    losses = support.strengths(
        {node: _loss(value, layers[node], rules.full) for node, value in fidelity.items()},
        {edge: _loss(value, stages[edge], rules.full) for edge, value in validity.items()},
    )
    for claim in case.claims:
        strength = strengths[claim.node]
        yield ClaimScore(
            claim=claim.node,
            primary=claim.primary,
            computational=strength.computational,
            visual=strength.visual,
            fidelity=strength.local,
            score=_combined(strength, rules.combine),
            first_failure=_stage(losses[claim.node].weakest),
        )


def _loss(value: float, stage: str, full: float) -> float:
    return math.inf if value >= full else STAGES.index(stage)


def _stage(loss: float) -> str | None:
    return None if loss == math.inf else STAGES[int(loss)]


def _combined(strength: ClaimStrength, combine: Combine) -> float:
    if combine == "min":
        return strength.weakest
    parts = [part for part in (strength.computational, strength.visual, strength.local) if part is not None]
    return math.prod(parts) if combine == "product" else math.fsum(parts) / len(parts)


# --- report ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    """Some cases, in three numbers, each 0..1.

    Attributes:
        cases: Number of cases.
        claims: Number of claims that SoftECS averages.
        soft_ecs: Mean score of the claims.
        strict: Share of cases in which every primary claim holds.
        executed: Share of cases whose run came to its end.
    """

    cases: int
    claims: int
    soft_ecs: Estimate
    strict: Estimate
    executed: Estimate


@dataclass(frozen=True)
class Consistency:
    """Does a claim agree with the result that it rests on (local agreement), by whether that result is faithful.

    A pair is an approved support edge from a result to a claim in a run that executed. It agrees where the validity of
    the edge is full, and the result is faithful where its fidelity is full.

    Attributes:
        faithful: Pairs with a faithful result.
        unfaithful: Pairs with an unfaithful one.
        given_faithful: P(claim agrees with result | result faithful), 0..1.
        given_unfaithful: P(claim agrees with result | result unfaithful), 0..1. As high as the other: local agreement
            shows nothing about correctness.
    """

    faithful: int
    unfaithful: int
    given_faithful: Estimate
    given_unfaithful: Estimate


@dataclass(frozen=True)
class Settings:
    """What was chosen, so that two reports can be told apart."""

    rules: Rules
    bootstrap: Bootstrap


@dataclass(frozen=True)
class SciRigorReport:
    """What :func:`score` returns.

    Attributes:
        settings: What was chosen.
        articles: Number of articles.
        overall: All cases; SoftECS over all their claims.
        macro: Unweighted mean over the domains.
        domains: By domain.
        not_executed: Runs that did not execute.
        contract_broken: Runs that executed and read an undeclared input.
        claim_failures: Claims by first failure, in the order of :data:`STAGES`.
        case_failures: Cases by first failure.
        consistency: Local agreement.
        case_scores: Every case with its claims.
    """

    settings: Settings
    articles: int
    overall: Summary
    macro: Summary
    domains: dict[str, Summary]
    not_executed: int
    contract_broken: int
    claim_failures: dict[str, int]
    case_failures: dict[str, int]
    consistency: Consistency
    case_scores: tuple[CaseScore, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, numbers and None: ready for ``json.dump``."""
        return asdict(self)


MEASURES = ("soft_ecs", "strict", "executed")


def score(
    cases: Sequence[VerifiedCase],
    *,
    combine: Combine = "min",
    claims: Claims = "all",
    provenance: Provenance = "required",
    full: float = 1.0,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> SciRigorReport:
    """Score the runs of a set of cases.

    Args:
        cases: Cases with their runs, in any order.
        combine: How a claim combines its sides and its fidelity: ``"min"``, ``"product"`` or ``"mean"``.
        claims: Claims that SoftECS averages: ``"all"`` or ``"primary"``.
        provenance: ``"required"``, or ``"ignored"`` to leave provenance edges out.
        full: Value from which an element holds, in (0, 1]; for Strict, first failures and consistency.
        resamples: Bootstrap samples of articles; 0 leaves the intervals out.
        confidence: Level of the percentile intervals, 0..1.
        seed: Seed of the bootstrap.

    Raises:
        InputError: There is no case, or a case is there twice.
        ValueError: An option is unknown or out of range.

    >>> from scifigqual_bench.companions import example_path
    >>> report = score(read_cases(example_path("scirigor")), resamples=0)
    >>> report.overall.soft_ecs.value, report.overall.strict.value, report.case_failures
    (0.6, 0.25, {'execution': 1, 'transform': 1, 'mark': 1})
    """
    rules = Rules(combine, claims, provenance, full)
    bootstrap = Bootstrap(resamples, confidence, seed)
    if not cases:
        raise InputError("there is no case to score")
    problems = repeated((verified.case.case_id, f"cases[{index}]") for index, verified in enumerate(cases))
    if problems:
        raise InputError(problems)
    scored = tuple(score_case(verified, rules) for verified in cases)
    articles, codes = np.unique([case.article_id for case in scored], return_inverse=True)

    domains = sorted({case.domain for case in scored})
    means = {("overall", name): one for name, one in _means(scored, codes, articles.size, rules).items()}
    for domain in domains:
        keep = [case.domain == domain for case in scored]
        members = list(itertools.compress(scored, keep))
        for name, one in _means(members, codes[keep], articles.size, rules).items():
            means["domain", domain, name] = one
    for name in MEASURES:
        means["macro", name] = Means.over([means["domain", domain, name] for domain in domains])
    pairs = list(_pairs(cases, codes, full))
    for kind in (True, False):
        chosen = [(agree, code) for faithful, agree, code in pairs if faithful is kind]
        means["agree", kind] = Means.of([agree for agree, _ in chosen], [code for _, code in chosen], articles.size)
    found = estimate_means(means, bootstrap, "article")

    def summary(members: Sequence[CaseScore], *key: str) -> Summary:
        n_claims = sum(len(counted(case.claims, rules)) for case in members)
        return Summary(len(members), n_claims, *(found[*key, name] for name in MEASURES))

    return SciRigorReport(
        settings=Settings(rules, bootstrap),
        articles=len(articles),
        overall=summary(scored, "overall"),
        macro=summary(scored, "macro"),
        domains={
            domain: summary([case for case in scored if case.domain == domain], "domain", domain) for domain in domains
        },
        not_executed=sum(not case.executed for case in scored),
        contract_broken=sum(case.executed and bool(case.undeclared_inputs) for case in scored),
        claim_failures=_distribution(claim.first_failure for case in scored for claim in case.claims),
        case_failures=_distribution(case.first_failure for case in scored),
        consistency=Consistency(
            faithful=sum(faithful for faithful, _, _ in pairs),
            unfaithful=sum(not faithful for faithful, _, _ in pairs),
            given_faithful=found["agree", True],
            given_unfaithful=found["agree", False],
        ),
        case_scores=scored,
    )


def _means(cases: Sequence[CaseScore], codes: Sequence[int], n_articles: int, rules: Rules) -> dict[str, Means]:
    """The scores of the claims, and by case whether it is strict and whether it was executed."""
    of_claims = [
        (claim.score, code) for case, code in zip(cases, codes, strict=True) for claim in counted(case.claims, rules)
    ]
    return {
        "soft_ecs": Means.of([value for value, _ in of_claims], [code for _, code in of_claims], n_articles),
        "strict": Means.of([case.strict for case in cases], codes, n_articles),
        "executed": Means.of([case.executed for case in cases], codes, n_articles),
    }


def _pairs(cases: Sequence[VerifiedCase], codes: Sequence[int], full: float) -> Iterator[tuple[bool, bool, int]]:
    """Per approved edge from a result to a claim: is the result faithful, do they agree, number of the article."""
    for verified, code in zip(cases, codes, strict=True):
        if not verified.run.executed:
            continue
        fidelity = {check.node: check.fidelity for check in verified.run.nodes}
        validity = {check.edge: check.validity for check in verified.run.edges}
        approved = {
            (result, claim.node)
            for claim in verified.case.claims
            for members in claim.computational or ()
            for result in members
        }
        for edge in verified.case.edges:
            if edge.kind == "support" and (edge.source, edge.target) in approved:
                yield fidelity[edge.source] >= full, validity[edge.id] >= full, code


def _distribution(failures: Iterable[str | None]) -> dict[str, int]:
    counts = Counter(failures)
    return {stage: counts[stage] for stage in STAGES if counts[stage]}


# --- for people -----------------------------------------------------------------------------------------------------


@document.register
def _(report: SciRigorReport) -> Document:
    settings, overall = report.settings, report.overall
    rules = settings.rules
    n_claims = sum(len(case.claims) for case in report.case_scores)
    summary = [
        f"SciRIGOR: {overall.cases} cases, {n_claims} claims, {report.articles} articles, "
        f"{len(report.domains)} domains.",
        f"Not executed: {report.not_executed}; read an undeclared input: {report.contract_broken}.",
        f"A claim combines its sides by {rules.combine}; SoftECS over {rules.claims} claims; "
        f"provenance {rules.provenance}; full from {rules.full:g}.",
        *interval_lines(settings.bootstrap, "articles"),
    ]
    summaries = {"all cases": overall, "mean of domains": report.macro}
    summaries |= {f"domain {domain}": item for domain, item in report.domains.items()}
    rows = [
        [title, str(item.cases), str(item.claims), *(format_mean(getattr(item, name), 100) for name in MEASURES)]
        for title, item in summaries.items()
    ]
    agreement = report.consistency
    local = {
        "result faithful": (agreement.faithful, agreement.given_faithful),
        "result unfaithful": (agreement.unfaithful, agreement.given_unfaithful),
    }
    pairs = [[title, str(count), format_mean(mean, 100)] for title, (count, mean) in local.items()]
    means = {title: item.soft_ecs for title, item in summaries.items()}
    means |= {title: mean for title, (_, mean) in local.items()}
    return Document(
        summary,
        [
            Table("Support, %", [["", "cases", "claims", "SoftECS", "Strict", "executed"], *rows]),
            Table("First failure", list(_failure_rows(report, n_claims))),
            Table("Claim agrees with the result that it rests on, %", [["", "pairs", "share"], *pairs]),
        ],
        reason_lines(means),
    )


def _failure_rows(report: SciRigorReport, n_claims: int) -> Iterator[list[str]]:
    yield ["", "cases", "claims"]
    columns = (report.case_failures, report.claim_failures)
    for stage in STAGES:
        if any(stage in column for column in columns):
            yield [stage, *(str(column.get(stage, 0)) for column in columns)]
    totals = (report.overall.cases, n_claims)
    yield ["none", *(str(total - sum(column.values())) for total, column in zip(totals, columns, strict=True))]


def csv_rows(report: SciRigorReport) -> list[dict[str, Any]]:
    """One row per claim, for ``csv.DictWriter``."""
    return [
        {
            "case_id": case.case_id,
            "article_id": case.article_id,
            "domain": case.domain,
            "executed": case.executed,
            "undeclared_inputs": len(case.undeclared_inputs),
            "strict": case.strict,
            **asdict(claim),
        }
        for case in report.case_scores
        for claim in case.claims
    ]
