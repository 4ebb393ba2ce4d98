"""A Gradio page that scores a prediction file against gold rows: ``python app.py``, or a Space of the Hub."""

import json
from pathlib import Path

import gradio as gr

from scifigqual_bench.scoring import ScoringInputError, format_table, score

CARD = Path(__file__).with_name("README.md").read_text(encoding="utf-8").split("---", 2)[-1]


def score_files(predictions: str | None, golds: str | None, mask: str, overall: str, min_coverage: float):
    """The report as text and as JSON, or every problem of the two files.

    Args:
        predictions: Path of a ``predictions.jsonl``.
        golds: Path of a JSONL file of gold rows.
        mask: ``"gold"`` or ``"evidence"``.
        overall: ``"dimension_first"`` or ``"rater_mean"``.
        min_coverage: Share of open figures that must be scored for a headline.
    """
    if predictions is None or golds is None:
        return "Choose a prediction file and a file of gold rows.", None
    try:
        report = score(
            _read(predictions),
            _read(golds),
            mask=mask,
            overall=overall,
            min_coverage=min_coverage,
            missing="unanswered",
        )
    except (ScoringInputError, ValueError) as error:
        return str(error), None
    return format_table(report), report.to_dict()


def _read(path: str) -> list:
    """Rows of a JSONL file.

    Raises:
        ValueError: Lines are no JSON; names them all.
    """
    rows, problems = [], []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:
                problems.append(f"{Path(path).name}, line {number}: {error}")
    if problems:
        raise ValueError("\n".join(problems))
    return rows


def build() -> gr.Blocks:
    """The page."""
    with gr.Blocks(title="SciFigQual") as page:
        gr.Markdown("# SciFigQual: score a prediction file")
        with gr.Row():
            predictions = gr.File(label="predictions.jsonl", file_types=[".jsonl"], type="filepath")
            golds = gr.File(label="gold rows (JSONL)", file_types=[".jsonl"], type="filepath")
        with gr.Row():
            mask = gr.Radio(["gold", "evidence"], value="gold", label="Mask")
            overall = gr.Radio(["dimension_first", "rater_mean"], value="dimension_first", label="Gold overall")
            coverage = gr.Slider(0.0, 1.0, value=1.0, label="Coverage needed for a headline")
        run = gr.Button("Score", variant="primary")
        table = gr.Textbox(label="Report", lines=30, elem_id="report")
        details = gr.JSON(label="The same as JSON")
        gr.Markdown(CARD)
        run.click(score_files, [predictions, golds, mask, overall, coverage], [table, details])
    return page


if __name__ == "__main__":
    build().launch()
