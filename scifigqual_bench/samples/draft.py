"""Writing a paper: sections, figures and tables are numbered as they come, references are resolved at the end."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from scifigqual_bench.samples.figures import Defect, Panels, Plot, Theme, render
from scifigqual_bench.samples.prose import BANK, IN_ORDER
from scifigqual_bench.samples.text import Bibliography, caption_of, claims_of, expand
from scifigqual_bench.samples.typeset import (
    Abstract,
    Block,
    Equation,
    FigureBlock,
    Heading,
    NewPage,
    Paragraph,
    Reference,
    Style,
    TableBlock,
    Title,
)


@dataclass(frozen=True)
class PlannedFigure:
    """A figure as planned, before it is placed on a page.

    Attributes:
        number: As printed, for example ``"3"`` or ``"A1"``.
        plot: What it shows.
        caption: Full caption as printed, label included.
        defect: The planted defect; None for a sound figure.
        raster: Embedded as pixels.
    """

    number: str
    plot: Plot | Panels
    caption: str
    defect: Defect | None
    raster: bool

    @property
    def panels(self) -> tuple[str, ...]:
        """Panel letters in the order of print; empty for a figure without panels."""
        return self.plot.letters[: len(self.plot.plots)] if isinstance(self.plot, Panels) else ()


@dataclass(frozen=True)
class Manuscript:
    """A paper ready for the typesetter."""

    paper_id: str
    title: str
    venue: str
    year: int
    topic: str
    style: Style
    blocks: tuple[Block, ...]
    figures: tuple[PlannedFigure, ...]


_REFERENCE = re.compile(r"\[\[(?P<label>Figures?|Figs?\.|Tables?) (?P<rest>[^\]]+)\]\]")
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")


def resolve(text: str, numbers: dict[str, str]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Turn marks such as ``[[Figures loss and sweep(a)]]`` into printed references.

    Args:
        text: With marks; ``-`` between two keys is a range.
        numbers: Printed number by key.

    Returns:
        The text as printed, and for every figure it references the number and the reference as printed, in order.

    >>> resolve("See [[Figs. loss-map]].", {"loss": "2", "map": "3"})
    ('See Figs. 2–3.', (('2', 'Figs. 2–3'), ('3', 'Figs. 2–3')))
    """
    cited: list[tuple[str, str]] = []

    def one(match: re.Match[str]) -> str:
        found: list[str] = []

        def number(key: re.Match[str]) -> str:
            found.append(numbers[key[0]])
            return found[-1]

        printed = re.sub(r"(?!and\b)[a-z_]{3,}", number, match["rest"]).replace("-", "–")
        reference = f"{match['label']} {printed}"
        if not match["label"].startswith("Table"):
            if "–" in printed:
                found = [str(k) for k in range(int(found[0]), int(found[1]) + 1)]
            cited.extend((each, reference) for each in found)
        return reference

    return _REFERENCE.sub(one, text), tuple(cited)


@dataclass
class Draft:
    """A paper while it is written: sections and figures are numbered as they come, references resolved at the end."""

    paper_id: str
    title: str
    venue: str
    year: int
    topic: str
    authors: str
    style: Style
    theme: Theme
    slots: dict[str, str]
    rng: np.random.Generator
    label: str = "Figure {}: "
    numbering: Literal["plain", "dot", "roman"] = "plain"
    numeric_citations: bool = False
    works: int = 18
    blocks: list[Block] = field(default_factory=list)
    figures: dict[str, PlannedFigure] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    in_appendix: bool = False

    def __post_init__(self) -> None:
        """Prepare the bank's order, the references and the title."""
        self.stock = {
            topic: list(texts if topic in IN_ORDER else self.rng.permutation(texts)) for topic, texts in BANK.items()
        }
        self.works_cited = Bibliography(self.rng, self.slots, self.year, self.works, numeric=self.numeric_citations)
        self.sections = self.subsections = 0
        self.blocks.append(Title(self.title, self.authors))

    def abstract(self, text: str, *, wide: bool = False) -> None:
        """Add the abstract."""
        self.blocks.append(Abstract(" ".join(text.split()), wide))

    def section(self, title: str) -> None:
        """Start a numbered section."""
        self.sections, self.subsections = self.sections + 1, 0
        match self.numbering:
            case "roman":
                self.blocks.append(Heading(f"{_ROMAN[self.sections]}. {title.upper()}"))
            case "dot":
                self.blocks.append(Heading(f"{self.sections}. {title}"))
            case "plain":
                self.blocks.append(Heading(f"{self.sections} {title}"))

    def subsection(self, title: str) -> None:
        """Start a numbered subsection."""
        self.subsections += 1
        match self.numbering:
            case "roman":
                self.blocks.append(Heading(f"{chr(64 + self.subsections)}. {title}", 2))
            case "dot":
                self.blocks.append(Heading(f"{self.sections}.{self.subsections}. {title}", 2))
            case "plain":
                self.blocks.append(Heading(f"{self.sections}.{self.subsections} {title}", 2))

    def say(self, text: str, *, head: str = "", footnote: str = "", continues: bool = False) -> None:
        """Add a paragraph; ``[[cite]]`` and ``[[Figure key]]`` are resolved."""
        expanded = self.works_cited.cite(expand(" ".join(text.split()), self.slots, self.rng))
        self.blocks.append(Paragraph(expanded, head, footnote=footnote, continues=continues))

    def claim(self, key: str, *, panel: str = "", head: str = "", before: str = "", after: str = "") -> None:
        """Add a paragraph of true claims about a figure, or about one of its panels."""
        plot = self.figures[key].plot
        if isinstance(plot, Panels):
            plot = plot.plots[plot.letters.index(panel)]
        label = "Fig." if panel else self.label.split(" ")[0]
        mark = f"[[{label} {key}{f'({panel})' if panel else ''}]]"
        self.say(f"{before} {claims_of(plot, mark, self.rng)} {after}", head=head)

    def stockpile(self, topic: str, count: int = 1) -> None:
        """Add paragraphs of the bank that this paper has not used yet."""
        for _ in range(count):
            text = str(self.stock[topic].pop(0))
            head = re.match(r"<b>(.+?)</b> ", text)
            self.say(text[head.end() :] if head else text, head=head[1] if head else "")

    def equation(self, text: str) -> None:
        """Add a numbered display."""
        count = sum(isinstance(block, Equation) for block in self.blocks)
        self.blocks.append(Equation(text, f"({count + 1})"))

    def figure(
        self,
        key: str,
        plot: Plot | Panels,
        size: tuple[float, float],
        caption: str | None = None,
        *,
        defect: Defect | None = None,
        raster: bool = False,
        wide: bool = False,
        here: bool = False,
    ) -> None:
        """Add a figure; without ``caption`` it gets the one computed from its plot."""
        same_part = sum(figure.number.startswith("A") == self.in_appendix for figure in self.figures.values())
        number = f"A{same_part + 1}" if self.in_appendix else str(same_part + 1)
        printed, _ = resolve(caption or caption_of(plot), self._numbers())
        full = self.label.format(number) + printed
        self.figures[key] = PlannedFigure(number, plot, full, defect, raster)
        graphic = render(plot, *size, theme=self.theme, defect=defect, raster=raster)
        self.blocks.append(FigureBlock(graphic, full, number, wide, here))

    def table(self, key: str, caption: str, *rows: tuple[str, ...]) -> None:
        """Add a table; the first row is its header."""
        self.tables[key] = str(len(self.tables) + 1)
        label = re.sub(r"Fig(ure|\.)", "Table", self.label).format(self.tables[key])
        self.blocks.append(TableBlock(rows, label + caption, self.tables[key]))

    def references(self) -> None:
        """Add the reference list."""
        self.blocks.append(Heading("REFERENCES" if self.numbering == "roman" else "References"))
        self.blocks += [Reference(entry) for entry in self.works_cited.entries]

    def appendix(self, title: str) -> None:
        """Start the appendix on a page of its own; its figures count from A1."""
        self.blocks += [NewPage(), Heading(f"A{'.' if self.numbering == 'dot' else ''} {title}")]
        self.in_appendix = True

    def _numbers(self) -> dict[str, str]:
        return {**{key: figure.number for key, figure in self.figures.items()}, **self.tables}

    def finish(self) -> Manuscript:
        """Resolve references and hand over."""
        numbers = self._numbers()

        def final(block: Block) -> Block:
            if not isinstance(block, Paragraph):
                return block
            text, cites = resolve(block.text, numbers)
            return replace(block, text=text, cites=cites)

        return Manuscript(
            self.paper_id,
            self.title,
            self.venue,
            self.year,
            self.topic,
            self.style,
            tuple(map(final, self.blocks)),
            tuple(self.figures.values()),
        )
