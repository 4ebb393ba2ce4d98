"""The blind floor and the calibration of the rules: what they learn, and that no figure is scored by its own paper."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from scifigqual_bench import blind
from scifigqual_bench.commands.eval import main
from scifigqual_bench.commands.rated import read_rated
from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.errors import InputError
from scifigqual_bench.judges import calibration
from scifigqual_bench.judges.backends import make_backend, rules
from scifigqual_bench.judges.backends.rules import RulesBackend, score
from scifigqual_bench.judges.calibration import Curve
from scifigqual_bench.judges.measure import ocr_measurements
from scifigqual_bench.judges.protocols import PROTOCOLS
from scifigqual_bench.records import Figure, Gold
from scifigqual_bench.scoring import format_table
from scifigqual_bench.scoring import score as score_rows
from tests.factory import figure
from tests.judges.scripted import item

pytest.importorskip("sklearn")

PAPERS = 12


def rated(paper: str, index: int, words: int, cc: float) -> Figure:
    """A figure whose caption has so many words, with gold."""
    row = figure(index, paper, rated=False, caption=f"Figure {index}: {'thing ' * words}".strip() + ".")
    scores = {"visual_clarity": 8.0 + index % 2, "caption_consistency": cc, "misleading_risk": 8.0}
    gold = Gold(figure_id=row.figure_id, **scores, overall_score=8.0, open_dimensions=row.open_dimensions)
    return row.model_copy(update={"gold": gold})


@pytest.fixture(scope="module")
def figures() -> list[Figure]:
    """CC follows the caption's length; the other dimensions follow nothing."""
    return [
        rated(f"p{paper}", index, words, 4.0 + np.log1p(words))
        for paper in range(PAPERS)
        for index, words in enumerate((2, 10, 30, 80 + paper), start=1)
    ]


def test_what_can_be_told_from_the_text_is_learnt_and_what_can_not_stays_constant(figures: list[Figure]) -> None:
    model = blind.fit(figures, source="x", fingerprint="f")
    assert (model.papers, model.figures) == (PAPERS, 4 * PAPERS)
    assert model.dimensions["caption_consistency"].learnt and not model.dimensions["misleading_risk"].learnt
    assert model.dimensions["caption_consistency"].spearman > 0.95
    assert "structure_layout" not in model.dimensions  # nobody rated it
    short, long_ = (model.predict("new", f"Figure 1: {'thing ' * words}.") for words in (3, 60))
    assert short["caption_consistency"] < long_["caption_consistency"]
    assert short["misleading_risk"] == long_["misleading_risk"] == 8.0


def test_a_paper_is_never_scored_by_coefficients_that_have_seen_it(figures: list[Figure]) -> None:
    model = blind.fit(figures, source="x", fingerprint="f")
    changed = [
        each.model_copy(update={"gold": each.gold.model_copy(update={"caption_consistency": 1.0})})
        if each.paper_id == "p3"
        else each
        for each in figures
    ]
    other = blind.fit(changed, source="x", fingerprint="g")
    caption = figures[0].caption
    assert model.predict("p3", caption)["caption_consistency"] == other.predict("p3", caption)["caption_consistency"]
    assert model.predict("0001_p3", caption) == model.predict("p3", caption)  # a serial prefix changes nothing
    assert model.predict("new", caption)["caption_consistency"] != other.predict("new", caption)["caption_consistency"]


def test_too_few_papers_are_refused_and_the_table_says_so(figures: list[Figure]) -> None:
    few = [each for each in figures if each.paper_id in ("p1", "p2")]
    with pytest.raises(InputError, match="2 rated papers; a fit needs 10 or more"):
        blind.fit(few, source="x", fingerprint="f")
    rows, reason = blind.floor_rows(few)
    assert rows is None and reason.startswith("No blind floor: ")


def test_a_missing_package_is_named(figures: list[Figure], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.model_selection", None)
    rows, reason = blind.floor_rows(figures)
    assert rows is None and "pip install 'scifigqual-bench[floors]'" in reason


def test_the_floor_stands_in_the_table_of_scores(figures: list[Figure]) -> None:
    golds = [each.gold.model_dump() for each in figures]
    predictions = [{"figure_id": each.figure_id, "caption_consistency": 7} for each in figures]
    rows, sentence = blind.floor_rows(figures)
    report = score_rows(predictions, golds, blind=rows, blind_floor=sentence, resamples=0, min_coverage=0.0)
    floor = report.columns["caption_consistency"].blind_floor
    assert floor.spearman.value > 0.95 > 0 < floor.mae.value < report.columns["caption_consistency"].headline.mae.value
    text = format_table(report)
    assert "Blind floor: told from the texts alone" in text and blind.MEANING in text
    without = score_rows(predictions, golds, resamples=0, min_coverage=0.0)
    assert without.columns["caption_consistency"].blind_floor is None
    assert "gold rows don't have" in format_table(without)


def test_the_backend_answers_single_calls_in_integers_and_refuses_the_agent(figures: list[Figure]) -> None:
    backend = make_backend("blind", fitted=blind.fit(figures, source="x", fingerprint="f"))
    of = item(open_dimensions=["caption_consistency", "misleading_risk"])
    (prediction,) = PROTOCOLS["direct"].judge([of], backend)
    assert prediction.status == "ok" and prediction.caption_consistency.is_integer()
    assert "not looked at" in prediction.reasons.caption_consistency
    assert "tells nothing" in prediction.reasons.misleading_risk
    (unrated,) = PROTOCOLS["direct"].judge([item(open_dimensions=["structure_layout"])], backend)
    assert unrated.status == "api_error" and "without ratings of structure_layout" in unrated.status_reason
    (agent,) = PROTOCOLS["agent"].judge([of], backend)
    assert agent.status == "api_error" and "answers direct and sidecar calls only" in agent.status_reason


def test_the_same_fit_is_the_same_revision(figures: list[Figure]) -> None:
    first, again = (make_backend("blind", fitted=blind.fit(figures, source=name, fingerprint="f")) for name in "ab")
    assert first.revision == again.revision
    assert first.revision != make_backend("blind", fitted=blind.fit(figures[4:], source="a", fingerprint="f")).revision


# --- calibration ----------------------------------------------------------------------------------------------------


def values_of(figures: list[Figure]) -> dict[str, dict[str, float]]:
    """Rules that put CC in the right order, two points too high; what they say of the rest is noise."""
    return {
        each.figure_id: {
            "visual_clarity": 8.0 + each.fig_index % 3,
            "structure_layout": 8.0,
            "caption_consistency": each.gold.caption_consistency + 2,
            "context_consistency": 8.0,
            "misleading_risk": 8.0,
        }
        for each in figures
    }


def fitted(figures: list[Figure]) -> calibration.Calibration:
    golds = [each.gold for each in figures]
    return calibration.fit(values_of(figures), golds, source="x", fingerprint="f", rules_revision="r")


def test_a_calibration_moves_values_to_where_people_stand_and_keeps_their_order(figures: list[Figure]) -> None:
    found = fitted(figures)
    cc = found.dimensions["caption_consistency"]
    assert cc.learnt and cc.mae < 0.5 < cc.mae_before
    assert not found.dimensions["misleading_risk"].learnt  # it was right already
    curve = found.curves("new")["caption_consistency"]
    mapped = [curve.at(value) for value in np.linspace(1, 10, 50)]
    assert mapped == sorted(mapped)
    assert "misleading_risk" not in found.curves("new")


def test_a_calibration_keeps_a_paper_out_of_its_own_curve(figures: list[Figure]) -> None:
    changed = [
        each.model_copy(update={"gold": each.gold.model_copy(update={"caption_consistency": 1.0})})
        if each.paper_id == "p3"
        else each
        for each in figures
    ]
    golds = [each.gold for each in changed]
    other = calibration.fit(values_of(figures), golds, source="x", fingerprint="g", rules_revision="r")
    assert fitted(figures).curves("p3") == other.curves("p3")
    assert fitted(figures).curves("new") != other.curves("new")


def test_a_calibrated_score_says_so_and_stays_under_its_caps() -> None:
    low = Curve(x=[1.0, 10.0], y=[3.0, 3.0])
    high = Curve(x=[1.0, 10.0], y=[9.0, 9.0])
    answer = score("structure_layout", [], low)
    assert (answer.score, answer.reason) == (3, "Calibrated from 8.61 to 3.00. No finding: 8.61 stays.")
    view = rules.View(caption="Figure 1: Results of all models on both tasks.")
    assert score("caption_consistency", rules.find(view), high).score == 6


def test_the_backend_maps_by_the_figures_paper(figures: list[Figure]) -> None:
    backend = RulesBackend(ocr_measurements("none"), fitted(figures))
    plain = RulesBackend(ocr_measurements("none"))
    (mapped,), (as_is,) = (PROTOCOLS["sidecar"].judge([item()], each) for each in (backend, plain))
    assert mapped.caption_consistency < as_is.caption_consistency
    assert mapped.misleading_risk == as_is.misleading_risk
    assert backend.settings()["sampling"]["calibration"]["papers"] == PAPERS
    assert plain.settings()["sampling"] == {}


# --- commands -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables(figures: list[Figure], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captions and ratings as two tables."""
    folder = tmp_path_factory.mktemp("tables")
    lines = [json.dumps({"figure_id": each.figure_id, "caption": each.caption}) for each in figures]
    (folder / "captions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [
        f"{each.figure_id},r1,8,9,{round(each.gold.caption_consistency)},8,{7 + each.fig_index % 2}" for each in figures
    ]
    head = "figure_id,rater_id,visual_clarity,structure_layout,caption_consistency,context_consistency,misleading_risk"
    (folder / "ratings.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return folder


def test_a_run_by_the_blind_floor_holds_its_fit(sample_dataset: Path, tables: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    asked = ["judge", "--dataset", str(sample_dataset), "--backend", "blind", "--out", str(run), "--protocol"]
    assert main([*asked, "agent", "--fit", str(tables)]) == 1
    assert main([*asked, "direct"]) == 1
    for _ in range(2):  # the second time it goes on, by the same fit
        assert main([*asked, "direct", "--fit", str(tables)]) == 0
    model = blind.BlindModel.model_validate_json((run / "blind.json").read_text("utf-8"))
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    assert manifest["sampling"]["fitted"]["fingerprint"] == model.fingerprint
    assert manifest["status_counts"] == {"ok": DatasetFolder(sample_dataset).count()}


def test_options_of_one_backend_are_refused_by_another(sample_dataset: Path, tables: Path, tmp_path: Path) -> None:
    asked = ["judge", "--dataset", str(sample_dataset), "--protocol", "direct", "--out", str(tmp_path / "run")]
    assert main([*asked, "--backend", "rules", "--fit", str(tables)]) == 1
    assert main([*asked, "--backend", "blind", "--fit", str(tables), "--calibrate", str(sample_dataset)]) == 1


def test_faults_of_the_tables_are_named(tmp_path: Path) -> None:
    (tmp_path / "captions.jsonl").write_text(
        '{"figure_id": "no id", "caption": "x"}\n{"caption": 3}\n', encoding="utf-8"
    )
    (tmp_path / "ratings.csv").write_text("figure_id\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_rated(tmp_path)
    assert len(error.value.problems) == 2 and "captions.jsonl, line 2" in error.value.problems[1]


# --- the real captions ----------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_the_blind_floor_of_the_real_captions(shared: Path) -> None:
    data = read_rated(shared / "eval1200")
    model = blind.fit(data.figures, source=data.name, fingerprint=data.fingerprint)
    assert (model.papers, model.figures) == (254, 1200)
    cc = model.dimensions["caption_consistency"]
    assert cc.spearman == pytest.approx(0.51, abs=0.015)
    assert cc.mae == pytest.approx(0.91, abs=0.01)
    assert cc.constant_mae == pytest.approx(1.09, abs=0.01)
    assert [key for key, item in model.dimensions.items() if item.learnt] == ["caption_consistency"]
    gold = [each.gold.caption_consistency for each in data.figures]
    said = [model.predict(each.paper_id, each.caption)["caption_consistency"] for each in data.figures]
    assert spearmanr(said, gold).statistic == pytest.approx(cc.spearman)
    assert np.abs(np.round(said) - gold).mean() == pytest.approx(0.909, abs=0.002)  # what rounding leaves
