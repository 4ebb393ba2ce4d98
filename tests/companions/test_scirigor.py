import copy
import itertools
import json
import math
import random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scifigqual_bench.companions import example_path
from scifigqual_bench.companions.evidence import EvidenceCase
from scifigqual_bench.companions.scirigor import (
    STAGES,
    Rules,
    csv_rows,
    format_table,
    parse_cases,
    read_cases,
    score,
    score_case,
)
from scifigqual_bench.companions.support import support_graph
from scifigqual_bench.errors import InputError
from tests.companions.evidence_cases import SHA, VALUES, Derivations, least, random_case, run_of, small_case


def verified(case, values=None, **changes):
    return parse_cases([case], [run_of(case, values, **changes)])[0]


def only_claim(values, **rules):
    return score_case(verified(small_case(), values), Rules(**rules)).claims[0]


# --- exact ----------------------------------------------------------------------------------------------------------


def test_scores_equal_those_of_all_derivations_compared():
    for seed in range(500):
        case, values = random_case(random.Random(seed))
        derivations = Derivations(case)
        for claim, scored in zip(case["claims"], score_case(verified(case, values)).claims, strict=True):
            computational, visual, own, failure = derivations.claim(claim, values)
            assert (scored.computational, scored.visual, scored.fidelity) == (computational, visual, own), seed
            assert scored.score == least(computational, visual, own), seed
            assert scored.first_failure == failure, seed


def test_without_sets_a_side_is_the_strongest_of_all_simple_paths():
    for seed in range(100):
        case, values = random_case(random.Random(seed), sets=False)
        case["edges"] = [edge for edge in case["edges"] if "kind" not in edge]
        graph = support_graph(EvidenceCase.model_validate(case))
        data = [node for node, layer in graph.nodes(data="layer") if layer == "data"]
        for claim, scored in zip(case["claims"], score_case(verified(case, values)).claims, strict=True):
            strengths = {"result": [], "mark": []}
            for path in itertools.chain.from_iterable(nx.all_simple_paths(graph, one, claim["node"]) for one in data):
                elements = [*path[:-1], *(graph.edges[step]["id"] for step in itertools.pairwise(path))]
                strengths[graph.nodes[path[-2]]["layer"]].append(min(values[element] for element in elements))
            assert scored.computational == (claim["computational"] and max(strengths["result"])), seed
            assert scored.visual == (claim["visual"] and max(strengths["mark"])), seed


def test_a_chain_of_ten_thousand_transforms_is_scored():
    length = 10_000
    case = small_case()
    case["nodes"] += [{"id": f"t{i}", "layer": "transform"} for i in range(length)]
    chain = ["t", *(f"t{i}" for i in range(length)), "r"]
    case["edges"] = [edge for edge in case["edges"] if edge["id"] != "tr"]
    case["edges"] += [{"id": f"{a}-{b}", "source": a, "target": b} for a, b in itertools.pairwise(chain)]
    scored = score_case(verified(case, {"t7000": 0.25})).claims[0]
    assert (scored.score, scored.first_failure) == (0.25, "transform")


@given(st.randoms(use_true_random=False), st.data())
@settings(max_examples=200, deadline=None)
def test_raising_a_value_never_lowers_a_score(rng, data):
    case, values = random_case(rng)
    element = data.draw(st.sampled_from(sorted(values)))
    raised = values | {element: data.draw(st.sampled_from([value for value in VALUES if value >= values[element]]))}
    for rules in (Rules(), Rules(combine="product"), Rules(combine="mean"), Rules(full=0.5)):
        before, after = (score_case(verified(case, one), rules) for one in (values, raised))
        assert after.soft_ecs >= before.soft_ecs and after.strict >= before.strict
        for low, high in zip(before.claims, after.claims, strict=True):
            assert high.score >= low.score
            assert stage_of(high) >= stage_of(low)


def stage_of(claim):
    return math.inf if claim.first_failure is None else STAGES.index(claim.first_failure)


# --- rules, worked by hand ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "computational", "visual", "fidelity", "failure"),
    [
        ({}, 1, 1, 1, None),
        ({"d": 0.5}, 0.5, 0.5, 1, "data"),
        ({"dt": 0.5}, 0.5, 0.5, 1, "transform"),
        ({"t": 0.5, "r": 0.25}, 0.25, 0.25, 1, "transform"),
        ({"tr": 0.5}, 0.5, 0.5, 1, "result"),
        ({"m": 0.5}, 1, 0.5, 1, "mark"),
        ({"rm": 0}, 1, 0, 1, "mark"),
        ({"rc": 0.5}, 0.5, 1, 1, "claim"),
        ({"mc": 0.5, "m": 0.75}, 1, 0.5, 1, "mark"),
        ({"c": 0.5}, 1, 1, 0.5, "claim"),
    ],
)
def test_a_weak_element_and_the_stage_at_which_it_is_felt(values, computational, visual, fidelity, failure):
    claim = only_claim(values)
    assert (claim.computational, claim.visual, claim.fidelity, claim.first_failure) == (
        computational,
        visual,
        fidelity,
        failure,
    )
    assert claim.score == min(computational, visual, fidelity)


def test_ways_to_combine_a_claim():
    values = {"rc": 0.5, "mc": 0.25, "c": 0.75}
    assert only_claim(values).score == 0.25
    assert only_claim(values, combine="product").score == 0.5 * 0.25 * 0.75
    assert only_claim(values, combine="mean").score == 0.5
    with pytest.raises(ValueError, match="combine must be one of min, product, mean, got 'max'"):
        Rules(combine="max")


def test_full_is_the_value_from_which_an_element_holds():
    assert only_claim({"t": 0.9}).first_failure == "transform"
    assert only_claim({"t": 0.9}, full=0.9).first_failure is None
    assert score_case(verified(small_case(), {"t": 0.9}), Rules(full=0.9)).strict
    for full in (0, 1.1):
        with pytest.raises(ValueError, match="full"):
            Rules(full=full)


def with_alternative():
    """Two data sets, both needed or a third instead."""
    case = small_case()
    case["nodes"] += [{"id": "d2", "layer": "data", "sha256": SHA}, {"id": "d3", "layer": "data", "sha256": SHA}]
    case["nodes"][1]["needs"] = [["d", "d2"], ["d3"]]
    case["edges"] += [{"id": "d2t", "source": "d2", "target": "t"}, {"id": "d3t", "source": "d3", "target": "t"}]
    return case


@pytest.mark.parametrize(
    ("values", "expected", "failure"),
    [
        ({"d3": 0}, 1, None),
        ({"d": 0, "d2": 0}, 1, None),
        ({"d": 0.25, "d3": 0.5}, 0.5, "data"),
        ({"d2": 0.75, "d3": 0.5}, 0.75, "data"),
        # One alternative is lost with the data, the other later: the claim is lost with the later.
        ({"d": 0, "d3t": 0.5}, 0.5, "transform"),
    ],
)
def test_all_of_a_set_or_one_of_the_alternatives(values, expected, failure):
    claim = score_case(verified(with_alternative(), values)).claims[0]
    assert (claim.score, claim.first_failure) == (expected, failure)


def test_an_edge_that_no_set_names_is_not_approved():
    case = with_alternative()
    case["nodes"][1]["needs"] = [["d", "d2"]]
    assert score_case(verified(case, {"d2": 0.25})).claims[0].score == 0.25


def test_provenance_cuts_its_target_and_opens_no_path():
    case = small_case()
    case["edges"].append({"id": "origin", "source": "d", "target": "m", "kind": "provenance"})
    claim = score_case(verified(case, {"origin": 0.5})).claims[0]
    assert (claim.computational, claim.visual, claim.first_failure) == (1, 0.5, "provenance")
    ignored = score_case(verified(case, {"origin": 0.5}), Rules(provenance="ignored")).claims[0]
    assert (ignored.score, ignored.first_failure) == (1, None)
    assert score_case(verified(case, {"t": 0})).claims[0].score == 0


def test_a_secondary_claim_may_lack_a_side_and_strict_looks_at_primary_claims():
    case = small_case()
    case["nodes"].append({"id": "c2", "layer": "claim"})
    case["edges"].append({"id": "rc2", "source": "r", "target": "c2"})
    case["claims"].append({"node": "c2", "primary": False, "computational": [["r"]]})
    scored = score_case(verified(case, {"rc2": 0.5}))
    assert (scored.claims[1].score, scored.claims[1].visual) == (0.5, None)
    assert (scored.soft_ecs, scored.strict, scored.first_failure) == (0.75, True, None)
    assert score_case(verified(case, {"rc2": 0.5}), Rules(claims="primary")).soft_ecs == 1
    weak = score_case(verified(case, {"m": 0.5, "rc2": 0.5}))
    assert (weak.strict, weak.first_failure) == (False, "mark")


@pytest.mark.parametrize(
    "changes",
    [
        {"executed": False},
        {"executed": False, "nodes": [], "edges": [], "status_reason": "out of memory"},
        {"inputs_read": [SHA, 64 * "b"]},
    ],
)
def test_a_run_that_failed_or_broke_its_contract_scores_0_downstream(changes):
    scored = score_case(verified(small_case(), **changes))
    claim = scored.claims[0]
    assert (claim.score, claim.computational, claim.visual, claim.first_failure) == (0, 0, 0, "execution")
    assert (scored.soft_ecs, scored.strict, scored.first_failure) == (0, False, "execution")


def test_a_run_that_read_what_is_declared_keeps_its_contract():
    assert score_case(verified(small_case(), inputs_read=[SHA])).strict


# --- bad input ------------------------------------------------------------------------------------------------------


def edited(**changes):
    """The small case with one node or edge changed, by its id; None takes it away."""
    case = copy.deepcopy(small_case())
    for kind in ("nodes", "edges"):
        for element in list(case[kind]):
            if element["id"] in changes:
                change = changes[element["id"]]
                case[kind].remove(element) if change is None else element.update(change)
    return case


def added(kind, *elements, **changes):
    case = edited(**changes)
    case[kind] = [*case[kind], *elements]
    return case


def support(source, target, name="x", **fields):
    return {"id": name, "source": source, "target": target, **fields}


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (edited(r={"layer": "plot"}), "case.nodes[2] ('r').layer: Input should be 'data'"),
        (edited(d={"sha256": None}), "node 'd': sha256 is missing"),
        (edited(d={"sha256": "abc"}), "case.nodes[0] ('d').sha256: String should match"),
        (edited(d={"needs": [["t"]]}), "node 'd': has needs, yet data rest on nothing"),
        (edited(c={"needs": [["r"]]}), "node 'c': has needs, yet the support of a claim stands in claims"),
        (edited(t={"needs": []}), "case.nodes[1] ('t').needs: List should have at least 1 item"),
        (edited(t={"needs": [[]]}), "case.nodes[1] ('t').needs[0]: List should have at least 1 item"),
        (edited(t={"needs": [["r"]]}), "node 't': needs names 'r', which is not a node with a support edge to it"),
        (edited(t={"needs": [["d", "d"]]}), "node 't': needs names 'd' twice in one set"),
        (edited(t={"needs": [["d"], ["d"]]}), "node 't': needs lists the set ['d'] more than once"),
        (added("nodes", {"id": "d", "layer": "data", "sha256": SHA}), "node 'd' is there more than once"),
        (added("edges", support("d", "t", "dt")), "edge 'dt' is there more than once"),
        (added("edges", support("d", "t")), "two support edges run from 'd' to 't'; keep one"),
        (added("edges", support("ghost", "t")), "edge 'x': there is no node 'ghost'"),
        (added("edges", support("d", "r")), "edge 'x' from 'd' to 'r' skips a layer between data and result"),
        (added("edges", support("d", "c")), "edge 'x' from 'd' to 'c' skips a layer between data and claim"),
        (added("edges", support("t", "m")), "edge 'x' from 't' to 'm' skips a layer between transform and mark"),
        (added("edges", support("r", "t")), "edge 'x' from 'r' to 't' goes back from result to transform"),
        (added("edges", support("r", "r")), "edge 'x' from 'r' to 'r' stays in the layer result"),
        (added("edges", support("t", "t")), "cycle: 't' -> 't'"),
        (added("edges", support("m", "d", kind="provenance")), "edge 'x' from 'm' to 'd' goes back"),
        (
            added("edges", support("r", "r", kind="provenance")),
            "stays in the layer result; provenance lies in an earlier",
        ),
        (small_case(claims=[]), "node 'c' is a claim, and claims does not specify it"),
        (small_case(claims=[]), "no claim is primary"),
        (small_case(claims=2 * small_case()["claims"]), "claim 'c' is specified more than once"),
        (edited(dt=None), "claim 'c': no complete computational path leads from the data to it"),
        (edited(rm=None), "claim 'c': no complete visual path leads from the data to it"),
        (edited(mc=None), "claim 'c': visual names 'm', which is not a mark with a support edge to it"),
    ],
)
def test_a_contradictory_case_names_the_element(case, message):
    with pytest.raises(InputError) as caught:
        parse_cases([case], [run_of(case)])
    assert any(problem.startswith("row 0 ('case'): ") and message in problem for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"visual": None}, "claim 'c' is primary and has no visual side"),
        ({"visual": None, "computational": None}, "has no computational and no visual side"),
        ({"primary": False, "visual": None, "computational": None}, "claim 'c' has no side at all"),
        ({"node": "r"}, "claim 'r': its node is a result"),
        ({"node": "ghost"}, "claim 'ghost': there is no such node"),
        (
            {"computational": [["m"]]},
            "claim 'c': computational names 'm', which is not a result with a support edge to it",
        ),
        ({"computational": [["r"], ["r"]]}, "claim 'c': computational lists the set ['r'] more than once"),
        ({"primary": "yes"}, "case.claims[0] ('c').primary: Input should be a valid boolean"),
    ],
)
def test_a_contradictory_claim_names_the_claim(claim, message):
    case = small_case()
    case["claims"] = [case["claims"][0] | claim]
    with pytest.raises(InputError) as caught:
        parse_cases([case], [run_of(case)])
    assert any(message in problem for problem in caught.value.problems)


def test_a_cycle_of_transforms_names_its_nodes():
    case = added("nodes", {"id": "t2", "layer": "transform"}, {"id": "t3", "layer": "transform"})
    case["edges"] += [support("t", "t2", "a"), support("t2", "t3", "b"), support("t3", "t", "c")]
    with pytest.raises(InputError) as caught:
        parse_cases([case], [run_of(case)])
    (cycle,) = [problem for problem in caught.value.problems if "cycle" in problem]
    assert all(f"'{name}'" in cycle for name in ("t", "t2", "t3"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda run: run["nodes"].pop(0), "run: node 'd' is not checked"),
        (lambda run: run["edges"].pop(0), "run: edge 'dt' is not checked"),
        (lambda run: run["nodes"].append({"node": "ghost", "fidelity": 1.0}), "run: the case has no node 'ghost'"),
        (lambda run: run["edges"].append({"edge": "ghost", "validity": 1.0}), "run: the case has no edge 'ghost'"),
        (lambda run: run["nodes"].append({"node": "d", "fidelity": 1.0}), "run: node 'd' is checked more than once"),
        (lambda run: run["nodes"][2].update(fidelity=math.nan), "run.nodes[2] ('r').fidelity: Input should be"),
        (lambda run: run["nodes"][2].update(fidelity=math.inf), "run.nodes[2] ('r').fidelity: Input should be"),
        (lambda run: run["nodes"][2].update(fidelity=1.1), "run.nodes[2] ('r').fidelity: Input should be less than"),
        (
            lambda run: run["nodes"][2].update(fidelity=None),
            "run.nodes[2] ('r').fidelity: Input should be a valid number",
        ),
        (
            lambda run: run["edges"][0].update(validity=True),
            "run.edges[0] ('dt').validity: Input should be a valid number",
        ),
        (
            lambda run: run["edges"][0].update(validity="1"),
            "run.edges[0] ('dt').validity: Input should be a valid number",
        ),
        (lambda run: run.update(executed="true"), "run.executed: Input should be a valid boolean"),
        (lambda run: run.update(inputs_read=["x"]), "run.inputs_read[0]: String should match"),
    ],
)
def test_a_bad_check_names_the_element(change, message):
    run = run_of(small_case())
    change(run)
    with pytest.raises(InputError) as caught:
        parse_cases([small_case()], [run])
    assert len(caught.value.problems) == 1
    assert message in caught.value.problems[0]


def test_every_fault_is_listed():
    bad_edge = added("edges", support("d", "r"), support("ghost", "t", "y"), d={"sha256": None}) | {"case_id": "a"}
    bad_run = run_of(small_case(case_id="b"), {"d": 2.0, "dt": math.nan})
    with pytest.raises(InputError) as caught:
        parse_cases([bad_edge, small_case(case_id="b")], [bad_run, run_of(bad_edge)])
    assert [problem.split(": ")[0] for problem in caught.value.problems] == 3 * ["row 0 ('a')"] + 2 * ["row 1 ('b')"]


@pytest.mark.parametrize(
    ("cases", "runs", "message"),
    [
        ([small_case()], [], "case 'case' has no run: a run that failed is one with executed false"),
        ([], [run_of(small_case())], "run 'case': there is no such case"),
        ([small_case(), small_case()], [run_of(small_case())], "case 1: 'case' again; keep one"),
        ([small_case()], 2 * [run_of(small_case())], "run 1: 'case' again; keep one"),
        ([small_case(), "text"], [run_of(small_case())], "case 1: expected an object with a case_id"),
        ([], [], "there is no row to score"),
    ],
)
def test_cases_and_runs_are_joined_one_to_one(cases, runs, message):
    with pytest.raises(InputError) as caught:
        parse_cases(cases, runs)
    assert caught.value.problems == [message]


def test_a_file_pairs_a_case_with_its_own_run(tmp_path):
    path = tmp_path / "cases.jsonl"
    other = run_of(small_case(case_id="other"))
    path.write_text(json.dumps({"case": small_case(), "run": other}) + "\n")
    with pytest.raises(InputError, match=r"line 1 \('case'\): the run is of case 'other', the specification of 'case'"):
        read_cases(path)


def test_nan_in_a_file_names_the_element(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps({"case": small_case(), "run": run_of(small_case(), {"m": math.nan})}) + "\n")
    with pytest.raises(InputError, match=r"cases.jsonl, line 1 \('case'\): run.nodes\[3\] \('m'\).fidelity"):
        read_cases(path)


def test_records_that_were_built_apart_may_not_repeat():
    with pytest.raises(InputError, match=r"cases\[1\]: 'case' again"):
        score(2 * [verified(small_case())])
    with pytest.raises(InputError, match="no case"):
        score([])


# --- report ---------------------------------------------------------------------------------------------------------


def named(case_id, article, domain, **changes):
    return small_case(case_id=case_id, article_id=article, domain=domain, **changes)


@pytest.fixture
def report():
    cases = [named("1", "a", "x"), named("2", "a", "x"), named("3", "b", "x"), named("4", "c", "y")]
    runs = [
        run_of(cases[0]),
        run_of(cases[1], {"r": 0.5, "rc": 0.5}),
        run_of(cases[2], executed=False, nodes=[], edges=[]),
        run_of(cases[3], {"r": 0.25, "m": 0}),
    ]
    return score(parse_cases(cases, runs), resamples=200)


def test_means_over_claims_cases_and_domains(report):
    assert report.overall.soft_ecs.value == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert report.domains["x"].soft_ecs.value == pytest.approx(0.5)
    assert report.domains["y"].soft_ecs.value == 0
    assert report.macro.soft_ecs.value == pytest.approx(0.25)
    assert (report.overall.strict.value, report.domains["x"].strict.value) == (0.25, pytest.approx(1 / 3))
    assert report.macro.strict.value == pytest.approx(1 / 6)
    assert (report.overall.executed.value, report.macro.executed.value) == (0.75, pytest.approx((2 / 3 + 1) / 2))
    assert (report.not_executed, report.contract_broken, report.articles) == (1, 0, 3)
    assert report.domains["y"].soft_ecs.reason == "no interval: all of one article"
    assert report.overall.soft_ecs.low < report.overall.soft_ecs.value < report.overall.soft_ecs.high


def test_first_failures_and_local_agreement(report):
    assert report.case_failures == report.claim_failures == {"execution": 1, "result": 2}
    agreement = report.consistency
    # The run that did not execute has no pair: one faithful result, two that are not, and one of those disagrees.
    assert (agreement.faithful, agreement.unfaithful) == (1, 2)
    assert (agreement.given_faithful.value, agreement.given_unfaithful.value) == (1, 0.5)


def test_agreement_without_pairs_is_undefined():
    found = score([verified(small_case(), executed=False)], resamples=0).consistency
    assert found.given_faithful.value is None and found.given_faithful.reason == "nothing to average"


def test_a_broken_contract_is_counted():
    found = score([verified(small_case(), inputs_read=[64 * "b"])], resamples=0)
    assert (found.contract_broken, found.not_executed, found.case_failures) == (1, 0, {"execution": 1})
    assert found.case_scores[0].undeclared_inputs == (64 * "b",)


def test_intervals_draw_articles_not_cases():
    cases = [named(f"{i}", "a" if i < 50 else "b", "x") for i in range(100)]
    runs = [run_of(case, {"t": float(case["article_id"] == "a")}) for case in cases]
    verified_cases = parse_cases(cases, runs)
    wide = score(verified_cases, confidence=0.6).overall.soft_ecs
    narrow = score(verified_cases, confidence=0.4).overall.soft_ecs
    assert (wide.low, wide.value, wide.high, narrow.low, narrow.high) == (0, 0.5, 1, 0.5, 0.5)


def test_the_report_is_json_and_text_and_rows(report):
    again = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert again["case_scores"][3]["claims"][0]["first_failure"] == "result"
    assert again["settings"]["rules"]["combine"] == "min"
    rows = csv_rows(report)
    assert [row["case_id"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[1]["computational"] == 0.5
    text = format_table(report)
    assert "domain y" in text and "none" in text


def test_the_table_holds_no_control_character():
    text = format_table(score([verified(small_case(domain="\x1b[31mred"))], resamples=50))
    assert text.count("domain  [31mred") == 2
    assert all(char.isprintable() or char == "\n" for char in text)


def test_the_example_is_read_and_scored():
    report = score(read_cases(example_path("scirigor")), resamples=50)
    assert report.case_failures == {"execution": 1, "transform": 1, "mark": 1}
    assert report.overall.claims == 5 and report.consistency.unfaithful == 1


def test_a_case_survives_the_way_through_json():
    for item in read_cases(example_path("scirigor")):
        assert type(item).model_validate(json.loads(item.model_dump_json())) == item


def test_a_missing_networkx_names_its_extra(monkeypatch):
    import importlib
    import sys

    monkeypatch.setitem(sys.modules, "networkx", None)
    monkeypatch.delitem(sys.modules, "scifigqual_bench.companions._networkx", raising=False)
    with pytest.raises(ImportError, match=r"scifigqual-bench\[companions\]"):
        importlib.import_module("scifigqual_bench.companions._networkx")
