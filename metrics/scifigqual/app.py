"""A Gradio page that scores a prediction file: ``python app.py``, or a Space of the Hub."""

import json
import tempfile
from pathlib import Path

import gradio as gr

from scifigqual_bench.dataset.tables import read_rows
from scifigqual_bench.errors import InputError
from scifigqual_bench.scoring import plots, score, to_markdown
from scifigqual_bench.scoring.tables import markdown_list

CARD = Path(__file__).with_name("README.md").read_text(encoding="utf-8").split("---\n", 2)[2]
NOTHING = (None, None)


def score_files(
    predictions: str | None,
    golds: str | None,
    ratings: str | None,
    mask: str,
    overall: str,
    min_coverage: float,
) -> tuple[str, str | None, str | None]:
    """Score a prediction file.

    Args:
        predictions: Path of a ``predictions.jsonl``.
        golds: Path of a JSONL file of gold rows.
        ratings: Path of a JSONL file of rating rows, for the rater ceilings.
        mask: ``"gold"`` or ``"evidence"``.
        overall: ``"dimension_first"`` or ``"rater_mean"``.
        min_coverage: Share of open figures that must be scored for a headline, 0..1.

    Returns:
        The report as Markdown, the path of a plot, and the path of the report as JSON. When something is wrong with
        the files, Markdown that lists it, and nothing else.
    """
    if predictions is None or golds is None:
        return ("Choose a prediction file and a file of gold rows.", *NOTHING)
    try:
        report = score(
            _rows(predictions),
            _rows(golds),
            ratings=None if ratings is None else _rows(ratings),
            mask=mask,
            overall=overall,
            min_coverage=min_coverage,
            missing="unanswered",
        )
    except InputError as error:
        return (markdown_list(error.problems), *NOTHING)
    except ValueError as error:
        return (markdown_list([str(error)]), *NOTHING)
    folder = Path(tempfile.mkdtemp())
    details = folder / "scores.json"
    details.write_text(json.dumps(report.to_dict(), indent=1), encoding="utf-8")
    return to_markdown(report), str(plots.dimension_bars(report, folder / "scores.png")), str(details)


def _rows(path: str) -> list[dict]:
    return [row.cells for row in read_rows(Path(path))]


def build() -> gr.Blocks:
    """The page."""
    with gr.Blocks(title="SciFigQual") as page:
        gr.Markdown("# SciFigQual: score a prediction file")
        with gr.Row():
            files = [
                gr.File(label=label, file_types=[".jsonl"], type="filepath", height=120)
                for label in ("Predictions", "Gold rows", "Ratings (optional)")
            ]
        with gr.Row():
            mask = gr.Radio(["gold", "evidence"], value="gold", label="Mask")
            overall = gr.Radio(["dimension_first", "rater_mean"], value="dimension_first", label="Gold overall")
            coverage = gr.Slider(0.0, 1.0, value=1.0, label="Coverage needed for a headline")
        run = gr.Button("Score", variant="primary")
        report = gr.Markdown(elem_id="report")
        plot = gr.Image(label="Scores, floor and raters", show_label=False, interactive=False)
        details = gr.File(label="The report as JSON")
        run.click(score_files, [*files, mask, overall, coverage], [report, plot, details])
        with gr.Accordion("About the metric", open=False):
            gr.Markdown(CARD)
    return page


if __name__ == "__main__":
    build().launch()
