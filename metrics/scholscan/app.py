"""A Gradio page that scores a file of ScholScan items: ``python app.py``, or a Space of the Hub."""

from pathlib import Path

import gradio as gr

from scifigqual_bench.companions.scholscan import format_table, read_items, score
from scifigqual_bench.errors import InputError

CARD = Path(__file__).with_name("README.md").read_text(encoding="utf-8").split("---", 2)[-1]


def score_file(items: str | None):
    """The report as text and as JSON, or every problem of the file.

    Args:
        items: Path of a JSONL or JSON file of items.
    """
    if items is None:
        return "Choose a file of items.", None
    try:
        report = score(read_items(Path(items)))
    except InputError as error:
        return str(error), None
    return format_table(report), report.to_dict()


def build() -> gr.Blocks:
    """The page."""
    with gr.Blocks(title="ScholScan") as page:
        gr.Markdown("# ScholScan: score a file of items")
        items = gr.File(label="items (JSONL or JSON)", file_types=[".jsonl", ".json"], type="filepath")
        run = gr.Button("Score", variant="primary")
        table = gr.Textbox(label="Report", lines=30, elem_id="report")
        details = gr.JSON(label="The same as JSON")
        gr.Markdown(CARD)
        run.click(score_file, [items], [table, details])
    return page


if __name__ == "__main__":
    build().launch()
