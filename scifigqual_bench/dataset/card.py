"""The dataset card: YAML that ``load_dataset`` and the Hub read, and a page for people."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets import DatasetInfo, SplitInfo
from datasets.info import DatasetInfosDict
from datasets.splits import SplitDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCardData
from jinja2 import Environment, PackageLoader, StrictUndefined

from scifigqual_bench import __version__
from scifigqual_bench.dataset.folder import MARKER
from scifigqual_bench.dataset.schema import dataset_features
from scifigqual_bench.dataset.versions import Version
from scifigqual_bench.gating import open_dimensions
from scifigqual_bench.rubric import DIMENSIONS

READ = ("ok", "partial", "dropped", "failed")
"""How a PDF can end, in the card's order."""
SPLIT_MEANING = {
    "rated": "figures with gold from people's ratings",
    "unrated": "figures without ratings",
    "eval1200": "the frozen split that judges are compared on; whole papers",
    "dev": "a few whole papers for work on prompts",
    "validation": "whole papers for choosing between trained judges",
    "train": "whole papers for training judges",
}


@dataclass(frozen=True)
class SplitSummary:
    """Size of a split."""

    name: str
    figures: int
    papers: int
    image_bytes: int
    file_bytes: int

    @property
    def meaning(self) -> str:
        """What the split holds, in words."""
        return SPLIT_MEANING.get(self.name, "")


def _markdown(text: str) -> str:
    """Escape what Markdown or HTML would read as markup."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", text)


def _code(text: str) -> str:
    """Text for a Python string literal in a code block."""
    return re.sub(r"[^\w. /-]", "_", text)


@dataclass(frozen=True)
class About:
    """What a card says of its dataset.

    Attributes:
        name: Name of the dataset folder.
        splits: The splits that hold rows.
        papers: PDFs by status; None where the rows were not read from PDFs.
        dropped: Figures that were left out.
        duplicates: How many of them repeat another figure, and how many the plain rule of near hashes would have left
            out as such; None where nobody looked.
        problems: Lines of ``problems.jsonl`` by their code.
        dpi: Resolution of the crops; None where it is not known.
        licence: Identifier as the Hub knows it; None states none.
        versions: Oldest first.
        files: Shards with their SHA-256, paths relative to the folder.
        plots: Pictures of the statistics, relative to the folder.
    """

    name: str
    splits: Sequence[SplitSummary]
    papers: Mapping[str, int] | None = None
    dropped: int = 0
    duplicates: tuple[int, int] | None = None
    problems: Mapping[str, int] = field(default_factory=dict)
    dpi: int | None = None
    licence: str | None = None
    versions: Sequence[Version] = ()
    files: Sequence[tuple[Path, str]] = ()
    plots: Sequence[str] = ()


def render_card(about: About) -> str:
    """The card's text."""
    name = " ".join(about.name.split())
    info = DatasetInfo(features=dataset_features())
    info.splits = SplitDict()
    for split in about.splits:
        info.splits.add(SplitInfo(split.name, num_bytes=split.image_bytes, num_examples=split.figures))
    info.dataset_size = sum(split.image_bytes for split in about.splits)
    info.download_size = sum(split.file_bytes for split in about.splits)
    data = DatasetCardData(
        pretty_name=name,
        license=about.licence,
        tags=[MARKER, "scientific-figures"],
        task_categories=["image-text-to-text", "visual-question-answering"],
        size_categories=[_size_category(sum(split.figures for split in about.splits))],
        **({"version": about.versions[-1].version} if about.versions else {}),
    )
    DatasetInfosDict({"default": info}).to_dataset_card_data(data)
    files: list[dict[str, Any]] = [{"split": s.name, "path": f"data/{s.name}-*.parquet"} for s in about.splits]
    MetadataConfigs({"default": {"data_files": files}}).to_dataset_card_data(data)

    environment = Environment(
        loader=PackageLoader("scifigqual_bench.dataset", "."), undefined=StrictUndefined, keep_trailing_newline=True
    )
    environment.filters |= {"md": _markdown, "code": _code}
    page = environment.get_template("card.md.j2").render(
        about=about,
        name=name,
        papers=None if about.papers is None else {key: about.papers.get(key, 0) for key in READ},
        built_by=__version__,
        dimensions=DIMENSIONS,
        gating=_gating(),
    )
    return f"---\n{data.to_yaml()}\n---\n\n{page}"


def _gating() -> list[tuple[str, tuple[str, ...]]]:
    """What each kind of evidence opens, from the rule itself."""
    cases = {"caption and citing text": (True, True), "only caption": (True, False), "only citing text": (False, True)}
    return [(name, open_dimensions(has_caption=c, has_context=t)) for name, (c, t) in cases.items()]


def _size_category(rows: int) -> str:
    for limit, label in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")):
        if rows < limit:
            return label
    return "n>1M"
