"""Write the report: one HTML page that holds everything it needs and asks nothing of any network.

Figures pass one at a time: each becomes a card in a scratch file, then the page is put together from its head, which
needs to know all figures, and the cards. Only the head's numbers are kept in memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from scifigqual_bench.records import Figure, Prediction, RunManifest
from scifigqual_bench.report import head, view
from scifigqual_bench.report.images import page_image
from scifigqual_bench.report.pages import inline_parts, page_path, template_environment, write_page, write_text
from scifigqual_bench.rubric import BANDS, DIMENSIONS

BLOCK = 1 << 16
"""Characters copied at a time from the scratch file into the page."""


@dataclass(frozen=True)
class ReportCounts:
    """What a report holds, for the message after writing.

    Attributes:
        figures: Cards on the page.
        without_prediction: Figures that the prediction file has no row for.
        without_figure: Predictions of figures that were not given, by figure id.
        unreadable_images: Figures whose image could not be shown, by figure id.
    """

    figures: int
    without_prediction: int
    without_figure: tuple[str, ...]
    unreadable_images: tuple[str, ...]


def write_report(
    path: str | os.PathLike[str],
    *,
    dataset_name: str,
    figures: Iterable[tuple[Figure, bytes | None]],
    predictions: Mapping[str, Prediction],
    manifest: RunManifest | None = None,
    score_report: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    title: str | None = None,
) -> ReportCounts:
    """Write one self-contained HTML page with every figure, its evidence, its scores and its gold.

    The page makes no request: styles, script and images are inside it, and its Content-Security-Policy forbids
    anything else. It reads without JavaScript; with it, figures can be sorted, filtered and enlarged. The same input
    gives the same bytes.

    Args:
        path: The page. Its folder is made where it is missing; a page that is there is replaced at the very end.
        dataset_name: Name of the dataset, for the head.
        figures: Figures with their encoded images, None for a missing one, in the order of the page. Read once, one
            at a time.
        predictions: Prediction by figure id.
        manifest: The run behind the predictions; None where it is not known, and the page says so.
        score_report: Scores against gold, as :func:`scifigqual_bench.report.head.score_table` takes them.
        title: Title of the page; made from the dataset's name where None.

    Returns:
        What the page holds. An image that can't be decoded is not an error: its card says so.

    Raises:
        IsADirectoryError: ``path`` is a folder.
        ValueError: Predictions stand under an id that is not theirs, or figures share an id; all are named.
    """
    _check_keys(predictions)
    path = page_path(path)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as scratch:
        cards = Path(scratch, "cards.html")
        summary, unreadable = _write_cards(cards, figures, predictions)
        orphans = [predictions[fig_id] for fig_id in predictions if fig_id not in summary.figure_ids]
        template = _environment().get_template("page.html.j2")
        parts = template.generate(
            title=title or f"{dataset_name}: figures and scores",
            dataset_name=dataset_name,
            manifest=manifest,
            summary=summary,
            score_table=head.score_table(score_report),
            orphans=orphans,
            cards=_blocks(cards),
            **inline_parts(["page.css"], "page.js"),
        )
        write_page(path, parts)
    return ReportCounts(
        figures=len(summary.index),
        without_prediction=summary.statuses[view.NO_PREDICTION],
        without_figure=tuple(orphan.figure_id for orphan in orphans),
        unreadable_images=tuple(unreadable),
    )


def _check_keys(predictions: Mapping[str, Prediction]) -> None:
    wrong = [f"{key!r} holds {row.figure_id!r}" for key, row in predictions.items() if key != row.figure_id]
    if wrong:
        raise ValueError("predictions must be keyed by their own figure_id: " + "; ".join(wrong))


def _write_cards(
    target: Path, figures: Iterable[tuple[Figure, bytes | None]], predictions: Mapping[str, Prediction]
) -> tuple[head.Summary, list[str]]:
    """Write each figure's card; return what the head needs and the figures whose image can't be shown."""
    template = _environment().get_template("card.html.j2")
    summary = head.Summary()
    unreadable: list[str] = []
    repeated: list[str] = []

    def rendered() -> Iterator[str]:
        for position, (figure, data) in enumerate(figures, start=1):
            if figure.figure_id in summary.figure_ids:
                repeated.append(figure.figure_id)
            prediction = predictions.get(figure.figure_id)
            image, image_problem = None, None
            try:
                if data is None:
                    raise ValueError("the dataset has none for this figure")
                image = page_image(data)
            except ValueError as error:
                image_problem = str(error)
                unreadable.append(figure.figure_id)
            summary.add(figure, prediction)
            yield template.render(
                position=position,
                figure=figure,
                prediction=prediction,
                status=view.status_of(prediction),
                image=image,
                image_problem=image_problem,
                overall=view.overall_row(figure, prediction),
                rows=view.dimension_rows(figure, prediction),
            )

    write_text(target, rendered())
    if repeated:
        raise ValueError("figures must have ids of their own; given more than once: " + ", ".join(repeated))
    return summary, unreadable


def _blocks(path: Path) -> Iterator[Markup]:
    """The finished cards, as the page template's own HTML."""
    with path.open(encoding="utf-8", newline="\n") as handle:
        while block := handle.read(BLOCK):
            yield Markup(block)


@cache
def _environment() -> Environment:
    environment = template_environment()
    environment.globals.update(BANDS=BANDS, DIMENSIONS=DIMENSIONS, view=view)
    environment.globals.update(count=view.count_text, distribution=head.distribution)
    environment.filters.update(score=view.score_text, signed=view.signed_text, when=view.time_text)
    return environment
