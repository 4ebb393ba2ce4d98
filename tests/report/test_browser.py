"""The page in a real chromium; the ``visit`` fixture fails a test on any dialog, request or console message."""

from __future__ import annotations

import pytest

from scifigqual_bench import records
from scifigqual_bench.report import view, write_report

pytestmark = pytest.mark.browser

SHOWN = "[...document.querySelectorAll('#figures > .card:not([hidden]) .id')].map(e => e.textContent)"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def pairs(make):
    """Seven figures of two papers (the first paper's are given last), each odd in its own way."""
    bad = records.Mark(stage="S2", code="area", detail="large")
    figures = [
        make.figure("zeta", 10, gold=7, caption="Figure 10: Loss of the model."),
        make.figure("zeta", 2, gold=9, caption="Figure 2: Recall at K.", title="On Recall"),
        make.figure("zeta", 3, citations=[]),
        make.figure("alpha", 1, gold=8, curation_status="flagged", curation_marks=[bad]),
        make.figure("alpha", 2, gold=5),
        make.figure("alpha", 3, gold=6),
        make.figure("alpha", 4),
    ]
    scores = [8.0, 4.0, 9.0, 8.5]
    predictions = [make.prediction(figure, score) for figure, score in zip(figures, scores, strict=False)]
    predictions += [
        make.prediction(figures[4], 10, visual_clarity=2),
        make.prediction(figures[5], status="parse_error", status_reason="no JSON in the answer"),
        None,
    ]
    return list(zip(figures, predictions, strict=True))


@pytest.fixture(scope="module")
def report(pairs, make, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(
        path,
        dataset_name="demo",
        figures=((figure, make.png(1600, 900)) for figure, _ in pairs),
        predictions={figure.figure_id: prediction for figure, prediction in pairs if prediction},
        manifest=make.manifest(),
        score_report={"overall_score": {"n": 4, "mae": 1.5, "within_1": 0.5, "spearman": None, "bias": 0.2}},
    )
    return path


@pytest.fixture(scope="module")
def hostile_report(hostile, make, tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    pairs = [make.everything(hostile, paper=paper) for paper in (hostile, "plain")]
    gone = make.prediction(make.figure("gone " + hostile, 9))
    write_report(
        path,
        dataset_name=hostile,
        title=hostile,
        figures=((figure, make.png(900, 500)) for figure, _ in pairs),
        predictions={row.figure_id: row for row in (*(prediction for _, prediction in pairs), gone)},
        manifest=make.manifest(hostile),
        score_report=[{"column": hostile, hostile: 1.0, "mae": 0.5}],
    )
    return path


def choose(page, **fields):
    """Set fields of the form as a user does, and wait for the page to follow."""
    page.evaluate("document.getElementById('filters').open = true")
    for name, value in fields.items():
        field = page.locator(f"#controls [name={name}]")
        if field.evaluate("element => element.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    return page.evaluate(SHOWN)


# --- safe -----------------------------------------------------------------------------------------------------------


def test_hostile_text_is_shown_and_does_nothing(hostile_report, hostile, visit):
    page = visit(hostile_report)
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    page.locator(".zoom").first.click()
    page.keyboard.press("Escape")
    expected = hostile.replace("\u0000", "")  # HTML has no NUL
    assert page.locator(".caption").first.text_content() == expected
    assert page.locator("h1").text_content() == expected
    assert page.locator("pre").last.text_content() == expected
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    assert page.evaluate("getComputedStyle(document.body).display") != "none"
    assert page.locator("img").count() == 2


def test_a_hostile_paper_can_be_filtered_by(hostile_report, hostile, visit):
    page = visit(hostile_report)
    assert len(choose(page, paper="plain")) == 1
    page.reload()
    assert page.locator("#shown").text_content() == "Figures shown: 1 of 2"


def test_the_policy_blocks_what_is_not_of_the_page(report, visit):
    page = visit(report)
    blocked = page.evaluate("""async () => {
        const directives = [];
        const all = new Promise((done) => addEventListener("securitypolicyviolation", (event) => {
            directives.push(event.effectiveDirective);
            if (directives.length === 4) done();
        }));
        document.body.append(Object.assign(document.createElement("img"), { src: "https://example.invalid/a.png" }));
        document.body.append(Object.assign(document.createElement("style"), { textContent: "body { display: none }" }));
        document.body.setAttribute("style", "display: none");
        fetch("https://example.invalid/b").catch(() => null);
        await all;
        return directives.sort();
    }""")
    assert blocked == ["connect-src", "img-src", "style-src-attr", "style-src-elem"]
    assert page.locator("body").is_visible()
    page.complaints.clear()


def test_an_override_of_direction_ends_with_its_element(make, visit, tmp_path):
    text = "left\u202eright"
    citation = records.Citation(text=text, section=text, page=4, kind="trend")
    figure = make.figure(venue=text, year=2024, section=text, page=3, citations=[citation])
    path = tmp_path / "report.html"
    write_report(path, dataset_name="demo", figures=[(figure, make.png())], predictions={})
    page = visit(path)
    for line, pieces in ((".where", 4), ("figcaption", 3)):
        lefts = page.evaluate(
            f"[...document.querySelector('{line}').children].map(e => e.getBoundingClientRect().left)"
        )
        assert len(lefts) == pieces
        assert lefts == sorted(lefts), f"the pieces of {line} must stay in their order"


# --- sort, filter, state --------------------------------------------------------------------------------------------


def test_every_sort_order_is_right_in_both_directions(report, pairs, visit):
    page = visit(report)
    entries = [(figure.figure_id, view.index_entry(figure, prediction)) for figure, prediction in pairs]
    by_paper = sorted(entries, key=lambda item: (item[1]["paper"], item[1]["number"]))

    def value(entry, code):
        who, key = code.split(":")
        if who != "error":
            return entry[who][key]
        judge, gold = entry["judge"][key], entry["gold"][key]
        return None if judge is None or gold is None else abs(judge - gold)

    codes = page.locator("[name=sort] option").evaluate_all("options => options.map(option => option.value)")
    assert len(codes) == 3 + 3 * 6
    for code in codes:
        for order in ("", "down"):
            shown = choose(page, sort=code, order=order)
            if code == "":
                expected = entries[::-1] if order else entries
            elif code == "paper":
                expected = by_paper[::-1] if order else by_paper
            elif code == "status":
                expected = sorted(by_paper, key=lambda item: item[1]["status"], reverse=bool(order))
            else:
                there = [item for item in by_paper if value(item[1], code) is not None]
                absent = [item for item in by_paper if value(item[1], code) is None]
                expected = sorted(there, key=lambda item: value(item[1], code), reverse=bool(order)) + absent
            assert shown == [fig_id for fig_id, _ in expected], (code, order)


FILTERS = [
    ({"q": "recall"}, ["zeta__fig0002"]),
    ({"q": "MODEL loss"}, ["zeta__fig0010"]),
    ({"q": "alpha__fig0003"}, ["alpha__fig0003"]),
    ({"q": "<b>"}, []),
    ({"paper": "zeta"}, ["zeta__fig0010", "zeta__fig0002", "zeta__fig0003"]),
    ({"status": "parse_error"}, ["alpha__fig0003"]),
    ({"status": view.NO_PREDICTION}, ["alpha__fig0004"]),
    ({"gold": "no"}, ["zeta__fig0003", "alpha__fig0004"]),
    ({"gold": "yes", "paper": "zeta"}, ["zeta__fig0010", "zeta__fig0002"]),
    ({"curation": "flagged"}, ["alpha__fig0001"]),
    ({"only": "low"}, ["zeta__fig0002", "alpha__fig0002"]),
    ({"only": "marked"}, ["alpha__fig0001"]),
    ({"only": "either"}, ["zeta__fig0002", "alpha__fig0001", "alpha__fig0002"]),
    ({"dimension": "visual_clarity", "max": "4"}, ["zeta__fig0002", "alpha__fig0002"]),
    ({"dimension": "visual_clarity", "min": "8.2", "max": "9"}, ["zeta__fig0003", "alpha__fig0001"]),
    (
        {"dimension": "context_consistency", "min": "1"},
        ["zeta__fig0010", "zeta__fig0002", "alpha__fig0001", "alpha__fig0002"],
    ),
]


def test_filters(report, visit):
    page = visit(report)
    for fields, expected in FILTERS:
        page.get_by_role("button", name="Reset").click()
        assert choose(page, **fields) == expected, fields
        assert page.locator("#shown").text_content() == f"Figures shown: {len(expected)} of 7"
        assert page.locator("#nothing").is_visible() is (expected == []), fields


def test_the_state_lives_in_the_fragment(report, visit):
    page = visit(report)
    shown = choose(page, sort="judge:overall_score", order="down", q="figure", dimension="visual_clarity", min="3")
    fragment = page.evaluate("location.hash")
    again = visit(report, fragment)
    assert again.evaluate(SHOWN) == shown != []
    assert again.evaluate("document.getElementById('filters').open")
    assert again.input_value("[name=min]") == "3"
    again.get_by_role("button", name="Reset").click()
    again.wait_for_function("location.hash === '' || location.hash === '#'")
    assert len(again.evaluate(SHOWN)) == 7


def test_a_strange_fragment_shows_everything(report, visit):
    for fragment in ("#sort=nonsense&paper=%3Cscript%3E&min=x&__proto__=1&=", "#figure-2", "#%E0%A4%A"):
        assert len(visit(report, fragment).evaluate(SHOWN)) == 7, fragment


def test_a_link_to_a_figure_keeps_the_filters(report, visit):
    page = visit(report)
    shown = choose(page, paper="zeta")
    page.locator("#figure-2 h2 a").click()
    assert page.evaluate("location.hash") == "#figure-2"
    assert page.evaluate(SHOWN) == shown


# --- for everyone ---------------------------------------------------------------------------------------------------


def test_an_image_enlarges_with_mouse_and_keyboard(report, visit):
    page = visit(report)
    button = page.get_by_role("button", name="Enlarge the image of Figure 10")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Enlarged figure")
    assert dialog.is_visible() and page.locator("#viewer-name").text_content() == "Figure 10"
    fitted = page.locator("#viewer-stage img").bounding_box()
    assert fitted["width"] <= 1280 and fitted["height"] <= 900
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert button.evaluate("element => element === document.activeElement")
    button.click()
    page.set_viewport_size({"width": 600, "height": 500})
    size = page.get_by_role("button", name="Full size")
    size.click()
    assert size.get_attribute("aria-pressed") == "true"
    assert page.locator("#viewer-stage img").bounding_box()["width"] == 1200
    page.get_by_role("button", name="Close").click()
    assert not dialog.is_visible()


def test_the_keyboard_reaches_the_figures_at_once_and_focus_is_seen(report, visit):
    page = visit(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the figures"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.card').id") == "figure-1"


def test_everything_has_a_name(report, visit):
    page = visit(report)
    nameless = page.evaluate("""() => [
        ...[...document.querySelectorAll("input, select")].filter(e => !e.labels.length && !e.ariaLabel),
        ...[...document.querySelectorAll("button, a, summary")].filter(e => !e.textContent.trim() && !e.ariaLabel),
        ...[...document.querySelectorAll("img")].filter(e => !e.alt),
        ...[...document.querySelectorAll("[aria-labelledby]")]
            .filter(e => !document.getElementById(e.getAttribute("aria-labelledby"))),
    ].map(e => e.outerHTML.slice(0, 120))""")
    assert nameless == []
    assert (
        page.evaluate("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size")
        == page.locator("[id]").count()
    )


def test_a_phone_never_scrolls_sideways(report, hostile_report, visit):
    for path in (report, hostile_report):
        page = visit(path, width=390, height=844, has_touch=True, is_mobile=True)
        page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
        assert page.evaluate(OVERFLOW) == 0
        wide = page.evaluate("""() => [...document.querySelectorAll("body *")]
            .filter(e => !e.closest(".scroll, dialog, .unseen") && e.getBoundingClientRect().right > 390.5)
            .map(e => e.outerHTML.slice(0, 120))""")
        assert wide == []


def test_no_width_scrolls_sideways_or_clips_a_score(hostile_report, visit):
    page = visit(hostile_report)
    for width in (320, 600, 800, 961, 1100, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(OVERFLOW) == 0, width
        clipped = page.evaluate("""() => [...document.querySelectorAll(".line > *")]
            .filter(e => e.getBoundingClientRect().right > e.closest(".judgement").getBoundingClientRect().right + 0.5)
            .map(e => e.className)""")
        assert clipped == [], width


def test_dark_and_light_follow_the_system(report, visit):
    lightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).reduce((a, b) => a + b) / 3"
    assert visit(report, color_scheme="light").evaluate(lightness) > 200
    dark = visit(report, color_scheme="dark")
    assert dark.evaluate(lightness) < 60
    assert dark.evaluate("getComputedStyle(document.querySelector('.zoom')).backgroundColor") == "rgb(255, 255, 255)"


def test_nothing_moves_where_motion_is_not_wanted(report, visit):
    moving = "[...document.querySelectorAll('*')].filter(e => getComputedStyle(e).transitionDuration !== '0s').length"
    assert visit(report).evaluate(moving) > 0
    assert visit(report, reduced_motion="reduce").evaluate(moving) == 0


def test_the_page_reads_without_javascript(report, visit):
    page = visit(report, java_script_enabled=False)
    assert page.locator(".caption").count() == 7
    assert page.get_by_text("Figure 2: Recall at K.").is_visible()
    assert not page.locator("#controls").is_visible()
    assert page.locator("img").first.is_visible()


def test_print_leaves_out_the_controls_and_keeps_the_figures(report, visit):
    page = visit(report)
    page.emulate_media(media="print")
    assert not page.locator("#controls").is_visible()
    assert page.locator("#figure-7 .caption").is_visible()
    assert page.pdf()[:5] == b"%PDF-"
