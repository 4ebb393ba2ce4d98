"""Captions and claims computed from the plotted numbers, and reference lists of works that do not exist."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import Template

import numpy as np

from scifigqual_bench.samples.figures import (
    Bars,
    Curves,
    Flow,
    Histogram,
    Matrix,
    Panels,
    Picture,
    Plot,
    Scatter,
    sentence_case,
)

# --- words ----------------------------------------------------------------------------------------------------------


def expand(template: str, slots: dict[str, str], rng: np.random.Generator) -> str:
    """Fill a template: choices by the generator, slots by name.

    Raises:
        KeyError: The template names a slot that is not given.

    >>> expand("{$a and b|$a and b}.", {"a": "this"}, np.random.default_rng(0))
    'this and b.'
    """
    chosen = re.sub(r"\{([^{}]*)\}", lambda match: str(rng.choice(match[1].split("|"))), template)
    return Template(chosen).substitute(slots)


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


_NUMERALS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def numeral(count: int) -> str:
    """A count in words up to ten.

    >>> numeral(3), numeral(24)
    ('three', '24')
    """
    return _NUMERALS[count] if 0 <= count < len(_NUMERALS) else str(count)


def quantity(value: float, unit: str) -> str:
    """A value with its unit as printed in running text.

    >>> quantity(81.25, "%"), quantity(3.0, "dB"), quantity(0.5, "")
    ('81.2%', '3.0 dB', '0.5')
    """
    return f"{value:.1f}{'%' if unit == '%' else f' {unit}' if unit else ''}"


def margin(value: float, unit: str) -> str:
    """A difference between two values with its unit.

    >>> margin(1.96, "%"), margin(1.0, "dB")
    ('2.0 points', '1.0 dB')
    """
    return f"{abs(value):.1f} {'points' if unit in ('%', '') else unit}"


# --- what a plot shows ----------------------------------------------------------------------------------------------


def _ranked(plot: Curves | Bars) -> list[str]:
    """Groups from best to worst by their mean over the plot."""
    sign = -1 if plot.better == "higher" else 1
    return sorted(plot.groups, key=lambda name: sign * float(plot.means[name].mean()))


def _wins(plot: Curves | Bars, best: str) -> int:
    """Number of positions at which a group is strictly better than every other."""
    sign = 1 if plot.better == "higher" else -1
    others = [sign * plot.means[name] for name in plot.groups if name != best]
    return int((sign * plot.means[best] > np.max(others, axis=0)).sum())


def _at_most(wins: int, total: int, what: str) -> str:
    return f"all {numeral(total)} {what}" if wins == total else f"{numeral(wins)} of the {numeral(total)} {what}"


def _caption_parts(plot: Plot) -> tuple[str, str]:
    """What a plot shows, and what its bands, bars or lines mean."""
    match plot:
        case Curves():
            what = f"{sentence_case(plot.measure)} against {plot.x_name} for {listed(plot.groups)}."
            return what, "Bands show one standard deviation over five seeds."
        case Bars():
            count = numeral(len(plot.clusters))
            what = f"{sentence_case(plot.measure)} of {listed(plot.groups)} on {count} {plot.kind}."
            return what, "Error bars show one standard deviation over five seeds."
        case Scatter():
            what = f"{sentence_case(plot.measure)} against {plot.x_name} for {len(plot.x)} {plot.items}."
            return what, "The line is a least-squares fit."
        case Matrix():
            what = (
                f"Confusion of {numeral(len(plot.classes))} classes: rows are the {plot.rows}, columns the "
                f"{plot.columns}."
            )
            return what, "Each cell gives its share of the row in per cent."
        case Histogram():
            count = len(next(iter(plot.samples.values())))
            what = f"Distribution of {plot.measure} over {count} {plot.items} each for {listed(plot.groups)}."
            return what, "Dashed lines mark the medians."
        case Flow():
            names = [name.lower() for name in plot.groups]
            return f"Overview of the method in {numeral(len(names))} stages, from {names[0]} to {names[-1]}.", ""
        case Picture():
            return f"{sentence_case(plot.subject)}.", f"The scale gives {plot.measure} in {plot.unit}." * bool(
                plot.unit
            )


def caption_of(plot: Plot | Panels) -> str:
    """A good caption: what is measured, of whom, against what, and what bars, bands and lines mean.

    Panels are described in the order of their letters, whatever the order in print.
    """
    if not isinstance(plot, Panels):
        return " ".join(filter(None, _caption_parts(plot)))
    parts = [(letter, *_caption_parts(part)) for letter, part in sorted(zip(plot.letters, plot.plots, strict=False))]
    whats = [f"({letter}) {what}" for letter, what, _ in parts]
    return " ".join([*whats, *dict.fromkeys(note for *_, note in parts if note)])


def claims_of(plot: Plot, ref: str, rng: np.random.Generator) -> str:
    """Two to four sentences about a plot, every one of them true of its numbers.

    Args:
        plot: What the figure shows.
        ref: How the text calls it, for example ``"Figure 3"``.
        rng: Chooses between wordings.
    """
    match plot:
        case Curves():
            return _curve_claims(plot, ref, rng)
        case Bars():
            return _bar_claims(plot, ref, rng)
        case Scatter():
            r = plot.correlation
            way = "rises with" if r > 0 else "falls with"
            low, high = (quantity(float(value), plot.unit) for value in plot.line)
            return (
                f"As {ref} shows, {plot.measure} {way} {plot.x_name}: over {len(plot.x)} {plot.items} the correlation "
                f"is {f'{r:.2f}'.replace('-', '−')}, and the fitted line goes from {low} at its left end to {high} at "
                "its right."
            )
        case Matrix():
            return _matrix_claims(plot, ref)
        case Histogram():
            medians = [f"{quantity(plot.median(name), plot.unit)} for {name}" for name in plot.groups]
            low, high = sorted(map(plot.median, plot.groups))
            return (
                f"{ref} gives the distribution of {plot.measure}. The median is {listed(medians)}, a difference of "
                f"{margin(high - low, plot.unit)}."
            )
        case Flow():
            rest = [name.lower() for name in plot.groups[1:]]
            return (
                f"{ref} gives an overview. Work starts with {plot.groups[0].lower()} and goes on with {listed(rest)}, "
                "in this order and without a way back."
            )
        case Picture():
            return f"{ref} shows {plot.subject}."


def _curve_claims(plot: Curves, ref: str, rng: np.random.Generator) -> str:
    best, second, *_ = _ranked(plot)
    first, last = (quantity(float(plot.means[best][k]), plot.unit) for k in (0, -1))
    gaps = np.abs(plot.means[best] - plot.means[second])
    verb = "rises" if plot.means[best][-1] > plot.means[best][0] else "falls"
    change = "grows" if gaps[-1] > gaps[0] else "shrinks"
    lead = _at_most(_wins(plot, best), len(plot.x), "settings")
    opening = rng.choice(
        [
            f"{ref} plots {plot.measure} against {plot.x_name}.",
            f"How {plot.measure} depends on {plot.x_name} is shown in {ref}.",
        ]
    )
    return (
        f"{opening} For {best} it {verb} from {first} to {last} over the range, and {best} is ahead of the other "
        f"methods at {lead}. Its distance to {second}, the next best, {change} from {margin(gaps[0], plot.unit)} at "
        f"the left end to {margin(gaps[-1], plot.unit)} at the right."
    )


def _bar_claims(plot: Bars, ref: str, rng: np.random.Generator) -> str:
    best, second, *_ = _ranked(plot)
    extreme = "highest" if plot.better == "higher" else "lowest"
    sign = 1 if plot.better == "higher" else -1
    gains = sign * (plot.means[best] - plot.means[second])
    top, low = int(gains.argmax()), int(gains.argmin())
    opening = rng.choice(
        [f"In {ref} we compare {listed(plot.groups)}.", f"{ref} breaks the result down by {plot.kind}."]
    )
    lead = _at_most(_wins(plot, best), len(plot.clusters), plot.kind)
    return (
        f"{opening} {best} has the {extreme} {plot.measure} on {lead}. "
        f"Against {second} the difference is largest on {plot.clusters[top]} ({margin(gains[top], plot.unit)}) and "
        f"smallest on {plot.clusters[low]} ({margin(gains[low], plot.unit)})."
    )


def _matrix_claims(plot: Matrix, ref: str) -> str:
    diagonal = np.diag(plot.values)
    off = plot.values - np.diag(diagonal)
    row, column = np.unravel_index(int(off.argmax()), off.shape)
    return (
        f"The confusion matrix in {ref} is dominated by its diagonal, which lies between {diagonal.min()}% and "
        f"{diagonal.max()}%. The most frequent mistake is {plot.classes[row]} taken for {plot.classes[column]}, with "
        f"{off.max()}% of its row; {plot.classes[int(diagonal.argmax())]} is recognised best."
    )


def reversed_claims(plot: Curves, ref: str) -> str:
    """The trend of the best group told the wrong way round: its end values are swapped."""
    best = _ranked(plot)[0]
    first, last = (quantity(float(plot.means[best][k]), plot.unit) for k in (-1, 0))
    verb = "falls" if plot.means[best][-1] > plot.means[best][0] else "rises"
    return (
        f"{ref} plots {plot.measure} against {plot.x_name}. It {verb} steadily: for {best} from {first} at the left "
        f"end to {last} at the right, so that a larger {plot.x_name} does harm."
    )


# --- references -----------------------------------------------------------------------------------------------------

_SURNAMES = """
    Abernathy Brandvold Castellane Dunmore Eskildsen Farrowgate Grindel Halloway Ivanisko Jorvik Kestrel Lindqvar
    Marchetto Nordhagen Okonjo Pellworm Quillon Rastelli Sandoval-Ruiz Thornquist Ulverston Vanterpool Wexcombe Yarrowby
    Zetterlund
"""
_TITLES = (
    "{A note on|On|Notes on} the variance of $measure",
    "{Revisiting|A second look at} $task",
    "$task: {a survey|an overview of the first decade}",
    "Sharing {structure|parameters} between {related|similar} sources",
    "{How many|Which} $items are enough?",
    "{Simple|Strong|Dull} baselines for $task",
    "What {averages|rankings|leaderboards} hide",
    "{Gates|Switches|Adapters} for small $data",
    "{Budgets|Seeds|Splits} matter in the study of $task",
    "Towards {honest|careful|repeatable} comparisons of $systems",
)
_JOURNALS = (
    "Journal of Made-Up Results",
    "Transactions on Invented Methods",
    "Proceedings of the Workshop on Careful Measurement",
    "Annals of Small Data",
    "Proceedings of the Conference on Plausible Experiments",
)


class Bibliography:
    """A seeded list of works that do not exist, and the marks that cite them.

    Attributes:
        entries: The reference list as printed, in order.
    """

    def __init__(self, rng: np.random.Generator, slots: dict[str, str], year: int, count: int, *, numeric: bool):
        self._rng = rng
        surnames = _SURNAMES.split()
        leads = sorted(rng.choice(surnames, count, replace=False))
        self._short: list[str] = []
        self.entries: list[str] = []
        titles = list(rng.permutation(_TITLES)) * (count // len(_TITLES) + 1)
        for k, lead in enumerate(leads):
            others = [
                str(name) for name in rng.choice(surnames, int(rng.integers(0, 3)), replace=False) if name != lead
            ]
            names = [f"{chr(65 + int(rng.integers(26)))}. {name}" for name in [lead, *others]]
            when = int(rng.integers(year - 12, year))
            title = sentence_case(expand(str(titles[k]), slots, rng))
            start = int(rng.integers(1, 900))
            where = f"<i>{rng.choice(_JOURNALS)}</i>, pages {start}–{start + int(rng.integers(6, 18))}"
            short = {0: lead, 1: f"{lead} and {others[0]}" if others else lead}.get(len(others), f"{lead} et al.")
            if numeric:
                self.entries.append(f"[{k + 1}] {listed(names)}, “{title},” {where}, {when}.")
                self._short.append(f"[{k + 1}]")
            else:
                self.entries.append(f"{listed(names)}. {when}. {title.rstrip('?.')}. {where}.")
                self._short.append(f"{short} ({when})")
        self._numeric = numeric

    def cite(self, text: str) -> str:
        """Replace every ``[[cite]]`` by a work: as the subject of a sentence, or in brackets at its end."""

        def one(match: re.Match[str]) -> str:
            subject = re.match(r" [a-z]|, who", text[match.end() :]) is not None
            # The verbs of the bank are plural, so their subject has two authors or more.
            works = [short for short in self._short if not subject or self._numeric or short.count(" ") > 1]
            short = works[int(self._rng.integers(len(works)))]
            if self._numeric:
                return f"the authors of {short}" if subject else short
            return short if subject else f"({short[:-1].replace(' (', ', ')})"

        cited = re.sub(r"\[\[cite\]\]", one, text)
        return re.sub(r"(^|[.?!] )the authors", r"\1The authors", cited)
