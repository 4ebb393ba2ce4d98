"""A Gradio page that scores a file of SciRIGOR cases: ``python app.py``, or a Space of the Hub."""

from pathlib import Path

import gradio as gr

from scifigqual_bench.companions.scirigor import format_table, read_cases, score
from scifigqual_bench.errors import InputError

CARD = Path(__file__).with_name("README.md").read_text(encoding="utf-8").split("---", 2)[-1]


def score_file(cases: str | None, combine: str, claims: str, provenance: str):
    """The report as text and as JSON, or every problem of the file.

    Args:
        cases: Path of a JSONL or JSON file of cases with their runs.
        combine: ``"min"``, ``"product"`` or ``"mean"``.
        claims: ``"all"`` or ``"primary"``.
        provenance: ``"required"`` or ``"ignored"``.
    """
    if cases is None:
        return "Choose a file of cases.", None
    try:
        report = score(read_cases(Path(cases)), combine=combine, claims=claims, provenance=provenance)
    except InputError as error:
        return str(error), None
    return format_table(report), report.to_dict()


def build() -> gr.Blocks:
    """The page."""
    with gr.Blocks(title="SciRIGOR") as page:
        gr.Markdown("# SciRIGOR: score a file of cases")
        cases = gr.File(label="cases with their runs (JSONL or JSON)", file_types=[".jsonl", ".json"], type="filepath")
        with gr.Row():
            combine = gr.Radio(["min", "product", "mean"], value="min", label="A claim combines its sides by")
            claims = gr.Radio(["all", "primary"], value="all", label="SoftECS averages the claims")
            provenance = gr.Radio(["required", "ignored"], value="required", label="Provenance")
        run = gr.Button("Score", variant="primary")
        table = gr.Textbox(label="Report", lines=30, elem_id="report")
        details = gr.JSON(label="The same as JSON")
        gr.Markdown(CARD)
        run.click(score_file, [cases, combine, claims, provenance], [table, details])
    return page


if __name__ == "__main__":
    build().launch()
