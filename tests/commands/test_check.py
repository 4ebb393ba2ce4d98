"""The check for authors: planted defects, references, silencing, exit codes, and what it writes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.commands.check import plain, rule_lines, summary
from scifigqual_bench.commands.check_config import Entry, read_config
from scifigqual_bench.commands.eval import main
from scifigqual_bench.errors import InputError
from scifigqual_bench.features.ocr import NoOcr
from scifigqual_bench.judges.backends.rule_table import RULES
from scifigqual_bench.judges.check import COVERED, HELD, check_paper, check_rules
from scifigqual_bench.report.checked import CheckedFigure, CheckFinding, PaperCheck, score_of
from scifigqual_bench.report.sarif import sarif_log
from scifigqual_bench.samples.make import SampleSet
from tests.pdf.hostile_pdf import bars
from tests.pdf.made_pdf import FULL, Paper, caption, prose

PLANTED = {
    "truncated-bars": "MR-TRUNCATED-BARS",
    "tiny-labels": "VC-TINY-TEXT",
    "blurred-raster": "VC-VERY-BLURRED",
    "vague-caption": "CC-NO-METRIC",
    "bare-pointer": "CTX-BARE-POINTER",
    "uncited": "REF-NOT-CITED",
    "swapped-caption": "CC-AXIS-NOT-NAMED",
    "panel-order": "SL-PANEL-ORDER",
}
IDS = [rule.id for rule in check_rules()]


@pytest.fixture(scope="module")
def checked(samples: SampleSet) -> dict[str, PaperCheck]:
    """The checks of all sample papers, without OCR: their figures tell their text."""
    return {pdf.stem: check_paper(pdf, ocr=NoOcr()).check for pdf in samples.pdfs}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def larkspur(samples: SampleSet) -> Path:
    """A paper with cut bars in figure 3, and a figure 4 that nobody cites."""
    return samples.pdf_folder / "larkspur-acl21.pdf"


def written(path: Path, compose: Callable[[Paper], object]) -> Path:
    """A paper that ``compose`` typesets."""
    paper = Paper(path)
    compose(paper)
    paper.pdf.save(path)
    return path


def with_figure(paper: Paper, label: str, text: str, label_text: str = "What is shown here, in words.") -> None:
    """A page with a paragraph, bars and their caption."""
    page = paper.page()
    top = prose(page, FULL, 60, 8, text)
    bars(page, (150, top + 20, 450, top + 200))
    below = caption(page, FULL, top + 210, f"{label}: {label_text}")
    prose(page, FULL, below + 20, 12)


def rules_of(check: PaperCheck, state: str = "open") -> list[str]:
    return [finding.rule for _, finding in check.all_findings() if finding.state == state]


# --- what is found ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("defect", PLANTED)
def test_planted_defects_are_found_where_they_are(checked: dict[str, PaperCheck], samples: SampleSet, defect: str):
    (truth,) = [figure for figure in samples.figures if figure.defect == defect]
    (figure,) = [figure for figure in checked[truth.paper_id].figures if figure.number == truth.number]
    (finding,) = [finding for finding in figure.findings if finding.rule == PLANTED[defect]]
    assert finding.state == ("held" if PLANTED[defect] in HELD else "open")
    assert finding.page is not None
    x0, y0, x1, y1 = finding.bbox
    assert 0 <= x0 < x1 <= 612 + 1 and 0 <= y0 < y1 <= 792 + 1
    if finding.image_bbox:
        left, top, right, bottom = truth.bbox
        assert left - 4 <= (x0 + x1) / 2 <= right + 4 and top - 4 <= (y0 + y1) / 2 <= bottom + 4


def test_sound_figures_are_left_alone(checked: dict[str, PaperCheck], samples: SampleSet):
    sound = {(figure.paper_id, figure.number) for figure in samples.figures if figure.defect is None}
    figures = {(paper, figure.number): figure for paper, check in checked.items() for figure in check.figures}
    assert sound < figures.keys()
    assert {key: rule for key in sound for rule in figures[key].findings if rule.state == "open"} == {}


def test_a_score_is_what_open_findings_leave(checked: dict[str, PaperCheck]):
    for check in checked.values():
        for figure in check.figures:
            open_ones = [finding.weight for finding in figure.findings if finding.state == "open"]
            assert figure.score == pytest.approx(max(1.0, 10.0 - sum(open_ones)), abs=0.005)
        assert check.score == min(figure.score for figure in check.figures)
    assert {check.score for check in checked.values()} > {10.0}


def test_findings_come_by_weight_and_none_twice(checked: dict[str, PaperCheck]):
    for check in checked.values():
        ids = [finding.id for _, finding in check.all_findings()]
        assert len(ids) == len(set(ids))
        for figure in check.figures:
            weights = [finding.weight for finding in figure.findings if finding.state == "open"]
            assert weights == sorted(weights, reverse=True)
            rules = {finding.rule for finding in figure.findings}
            assert not any(rule in rules and rules & set(others) for rule, others in COVERED.items())


def test_the_rules_of_the_check_are_those_that_find_faults():
    assert set(HELD) <= set(IDS)
    assert {rule.id for rule in RULES if rule.is_fault} < set(IDS)
    assert len(IDS) == len(set(IDS))
    for rule in check_rules():
        assert rule.mend and rule.says and (rule.weight >= 0.5 or rule.held)
    assert len(list(rule_lines(check_rules()))) == len(IDS)


def test_references(tmp_path: Path):
    def compose(paper: Paper):
        with_figure(paper, "Figure 1", "As Figure 1 shows, and Figure ?? does not,")
        with_figure(paper, "Figure 2", "Nobody can see Figure 7 in this paper, where")
        with_figure(paper, "Figure 2", "Once more Figure 2 is what")
        with_figure(paper, "Figure 3", "Nothing is named here, where")

    check = check_paper(written(tmp_path / "p.pdf", compose), ocr=NoOcr()).check
    assert [finding.rule for finding in check.findings] == ["REF-UNRESOLVED", "REF-NO-FIGURE"]
    assert [finding.page for finding in check.findings] == [1, 2]
    assert "Figure 7" in check.findings[1].evidence
    assert check.references == score_of(check.findings) == 6.0
    rules = [[f.rule for f in figure.findings if f.rule.startswith("REF")] for figure in check.figures]
    assert rules == [[], [], ["REF-NUMBER-TWICE"], ["REF-NOT-CITED"]]


def test_numbering_that_begins_anew_is_no_fault(tmp_path: Path):
    def compose(paper: Paper):
        for _ in range(2):
            with_figure(paper, "Figure 1", "As Figure 1 shows,")
            with_figure(paper, "Figure 2", "As Figure 2 shows,")

    check = check_paper(written(tmp_path / "p.pdf", compose), ocr=NoOcr()).check
    assert not [rule for rule in rules_of(check) if rule.startswith("REF")]


def test_a_figure_named_only_in_a_footnote_or_list_is_cited(tmp_path: Path):
    def compose(paper: Paper):
        with_figure(paper, "Figure 1", "Nothing is named in the text, where")
        page = paper.page()
        page.insert_text((60, 740), "1 See Figure 1.", fontsize=7)

    check = check_paper(written(tmp_path / "p.pdf", compose), ocr=NoOcr()).check
    assert "REF-NOT-CITED" not in rules_of(check)


def test_a_caption_without_a_graphic_is_told_and_nothing_is_made_up(tmp_path: Path):
    def compose(paper: Paper):
        page = paper.page()
        below = prose(page, FULL, 60, 8, "As Figure 1 shows,")
        below = caption(page, FULL, below + 20, "Figure 1: What is shown here, in the words of a caption.")
        prose(page, FULL, below + 20, 20)

    check = check_paper(written(tmp_path / "p.pdf", compose), ocr=NoOcr()).check
    (figure,) = check.figures
    assert "graphic was not found" in figure.unchecked
    assert figure.findings == [] and figure.bbox is None and figure.score is None
    assert check.score is None
    assert "no score" in "\n".join(summary(check))


def test_a_paper_without_figures_has_no_score(here: Path, capsys: pytest.CaptureFixture[str]):
    pdf = written(here / "p.pdf", lambda paper: prose(paper.page(), FULL, 60, 30))
    assert main(["check", str(pdf), "--ocr", "none", "--fail-under", "9", "--json", "p.json"]) == 0
    assert json.loads(Path("p.json").read_text())["score"] is None
    assert "nothing to check" in capsys.readouterr().out


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_writes_page_json_and_sarif(larkspur: Path, here: Path, capsys: pytest.CaptureFixture[str]):
    files = ["--json", "check.json", "--sarif", "check.sarif"]
    assert main(["check", str(larkspur), "--ocr", "none", *files]) == 0
    out = capsys.readouterr().out
    assert "MR-TRUNCATED-BARS (-3)" in out and "reviewer: The bars are cut" in out and "mend:" in out
    assert "score 7 of 10; 2 findings" in out
    check = PaperCheck.model_validate_json(Path("check.json").read_text())
    assert rules_of(check) == ["MR-TRUNCATED-BARS", "REF-NOT-CITED"]
    assert (here / "larkspur-acl21.check.html").read_text().startswith("<!doctype html>")
    assert_sarif(json.loads(Path("check.sarif").read_text()))


@pytest.mark.parametrize(("limit", "code"), [("6.9", 0), ("7", 0), ("7.1", 3)])
def test_fail_under(larkspur: Path, here: Path, limit: str, code: int):
    assert main(["check", str(larkspur), "--ocr", "none", "--fail-under", limit]) == code
    (here / "scifigqual.toml").write_text(f"fail-under = {limit}\n")
    assert main(["check", str(larkspur), "--ocr", "none"]) == code


def test_silenced_findings_are_counted_and_cost_nothing(larkspur: Path, here: Path, capsys):
    config = here / "own.toml"
    config.write_text(
        '[[silence]]\nrule = "MR-TRUNCATED-BARS"\nfigures = [3]\nreason = "the house\'s style"\n'
        '[[silence]]\nrule = "REF-NOT-CITED"\nfigures = ["1", "A2"]\nreason = "left over"\n'
    )
    files = ["--json", "c.json", "--sarif", "c.sarif", "--config", str(config)]
    assert main(["check", str(larkspur), "--ocr", "none", "--fail-under", "9", *files]) == 0
    out = capsys.readouterr().out
    assert "silenced MR-TRUNCATED-BARS: the house's style" in out and "1 silenced" in out
    assert "silences nothing: REF-NOT-CITED in figure 1, A2 (left over)" in out
    check = PaperCheck.model_validate_json(Path("c.json").read_text())
    assert rules_of(check, "silenced") == ["MR-TRUNCATED-BARS"] and check.score == 9
    (result,) = [r for r in json.loads(Path("c.sarif").read_text())["runs"][0]["results"] if "suppressions" in r]
    assert result["suppressions"][0]["justification"] == "the house's style"
    assert "the house&#39;s style" in Path("larkspur-acl21.check.html").read_text()


def test_all_shows_what_is_held_back(samples: SampleSet, here: Path, capsys: pytest.CaptureFixture[str]):
    pdf = samples.pdf_folder / "quarry-neurips24.pdf"
    for options, shown in ([], False), (["--all"], True):
        assert main(["check", str(pdf), "--ocr", "none", "--sarif", "c.sarif", *options]) == 0
        assert ("note SL-PANEL-ORDER (takes nothing)" in capsys.readouterr().out) is shown
        rules = {result["ruleId"] for result in json.loads(Path("c.sarif").read_text())["runs"][0]["results"]}
        assert ("SL-PANEL-ORDER" in rules) is shown


def test_rules_are_listed(capsys: pytest.CaptureFixture[str]):
    assert main(["check", "--list-rules"]) == 0
    assert re.findall(r"^\S+", capsys.readouterr().out, re.MULTILINE) == IDS


@pytest.mark.parametrize("content", [None, b"", b"no PDF at all"])
def test_what_is_no_pdf_is_an_error_and_writes_nothing(here: Path, capsys, content: bytes | None):
    pdf = here / "paper.pdf"
    if content is not None:
        pdf.write_bytes(content)
    assert main(["check", str(pdf), "--ocr", "none"]) == 1
    assert "paper.pdf" in capsys.readouterr().err
    assert not list(here.glob("*.html"))


def test_a_paper_has_to_be_named(capsys: pytest.CaptureFixture[str]):
    assert main(["check"]) == 1
    assert "needs a PDF" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["check", "p.pdf", "--fail-under", "11"])


# --- the configuration ------------------------------------------------------------------------------------------------


def test_every_fault_of_a_configuration_is_named_at_once(tmp_path: Path):
    path = tmp_path / "scifigqual.toml"
    path.write_text(
        'fail-under = 12\nfoo = 1\n[[silence]]\nrule = "VC-NOTHING"\n'
        '[[silence]]\nrule = "VC-TINY-TEXT"\nfigures = 3\nreason = " "\nwhy = "x"\n'
    )
    with pytest.raises(InputError) as caught:
        read_config(path, IDS)
    text = "\n".join(caught.value.problems)
    for part in (
        "fail-under must be",
        "unknown key 'foo'",
        "unknown rule 'VC-NOTHING'",
        "silence 1: say why",
        "silence 2: say why",
        "unknown key 'why'",
        "figures must be a list",
        "the rules are",
        *IDS,
    ):
        assert part in text
    assert all(problem.startswith(str(path)) for problem in caught.value.problems)


@pytest.mark.parametrize("text", ["= 1", "silence = 3", "silence = [1]", "\udcff"])
def test_what_is_no_configuration_is_an_error(tmp_path: Path, text: str):
    path = tmp_path / "c.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"c\.toml"):
        read_config(path, IDS)


def test_figures_are_compared_as_references_are():
    entry = Entry("VC-TINY-TEXT", "x", ("A.1", "S2"))
    assert entry.covers("VC-TINY-TEXT", "A1") and entry.covers("VC-TINY-TEXT", "Supplementary 2")
    assert not entry.covers("VC-TINY-TEXT", "1") and not entry.covers("VC-SMALL-TEXT", "A1")
    assert not entry.covers("VC-TINY-TEXT", None)
    assert Entry("REF-UNRESOLVED", "x").covers("REF-UNRESOLVED", None)


# --- SARIF and text from papers ---------------------------------------------------------------------------------------

KEYS = {
    "log": {"$schema", "version", "runs"},
    "run": {"tool", "artifacts", "columnKind", "results", "properties"},
    "driver": {"name", "semanticVersion", "rules"},
    "rule": {"id", "shortDescription", "fullDescription", "help", "defaultConfiguration", "properties"},
    "result": {
        "ruleId",
        "ruleIndex",
        "level",
        "rank",
        "message",
        "locations",
        "partialFingerprints",
        "properties",
        "suppressions",
    },
    "location": {"physicalLocation", "logicalLocations"},
    "region": {"startLine", "properties"},
}
"""Properties of SARIF 2.1.0 that may be used; its objects are closed."""


def assert_sarif(log: dict) -> None:
    """What SARIF 2.1.0 asks of a log of this kind."""
    assert log.keys() == KEYS["log"] and log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert run.keys() == KEYS["run"] and driver.keys() == KEYS["driver"]
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", driver["semanticVersion"])
    assert re.fullmatch(r"[0-9a-f]{64}", run["artifacts"][0]["hashes"]["sha-256"])
    for rule in driver["rules"]:
        assert rule.keys() <= KEYS["rule"] and rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    for result in run["results"]:
        assert result.keys() <= KEYS["result"]
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note") and 0 <= result["rank"] <= 100
        assert result["message"]["text"] and all(isinstance(v, str) for v in result["partialFingerprints"].values())
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert location.keys() <= KEYS["location"] and place.keys() == {"artifactLocation", "region"}
        assert re.fullmatch(r"[\w.~!$&'()*+,;=:@%/-]+", place["artifactLocation"]["uri"])
        assert place["artifactLocation"]["index"] == 0
        assert place["region"].keys() == KEYS["region"] and place["region"]["startLine"] >= 1
        assert len(place["region"]["properties"]["bbox"]) == 4
    fingerprints = [str(result["partialFingerprints"]) for result in run["results"]]
    assert len(fingerprints) == len(set(fingerprints))


def test_sarif_of_all_samples(checked: dict[str, PaperCheck]):
    for check in checked.values():
        assert_sarif(sarif_log(check, held=True))
        shown = sarif_log(check)["runs"][0]["results"]
        assert [result["ruleId"] for result in shown] == rules_of(check)


def test_the_same_paper_gives_the_same_ids(checked: dict[str, PaperCheck], larkspur: Path):
    again = check_paper(larkspur, ocr=NoOcr()).check
    assert again == checked[larkspur.stem]


def test_paths_are_uris(checked: dict[str, PaperCheck]):
    check = checked["larkspur-acl21"]
    for path, uri in (("a b/ü.pdf", "a%20b/%C3%BC.pdf"), ("/a b.pdf", "file:///a%20b.pdf")):
        log = sarif_log(check.model_copy(update={"path": path}))
        assert log["runs"][0]["artifacts"][0]["location"]["uri"] == uri


@given(st.text())
def test_plain_text_does_nothing_to_a_terminal(text: str):
    shown = plain(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\ufeff]", shown)
    assert plain(shown) == shown


def test_the_summary_of_a_hostile_paper_is_plain(checked: dict[str, PaperCheck]):
    evil = "\x1b]0;title\x07\x1b[2J\u202e\r\n\x9b31m"
    (rule, *_) = check_rules()
    finding = CheckFinding(id="x", rule=rule.id, evidence=evil, level="error", weight=1.0, state="open", page=1)
    set_aside = finding.model_copy(update={"state": "silenced", "reason": evil})
    figure = CheckedFigure(label=evil, number=evil, caption=evil, page=1, score=9.0, findings=[finding, set_aside])
    check = checked["larkspur-acl21"].model_copy(
        update={"path": evil, "title": evil, "figures": [figure], "findings": [finding], "unused": [evil]}
    )
    text = "".join(summary(check, show_held=True))
    assert all(char.isprintable() for char in text) and "2J" in text
