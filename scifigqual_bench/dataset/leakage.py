"""What splits share: papers, titles, images. Nothing, in a sound benchmark.

Near duplicates are figures of two papers whose 64-bit hashes lie within the distance of SPEC 8 and whose pixels agree;
the hash alone takes line plots on white for each other.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import BinaryIO

import numpy as np

from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.dataset.near_duplicates import near_pairs
from scifigqual_bench.pdf.curation import SAME_SHARE, Look, decode, difference, distance, phash
from scifigqual_bench.records import Figure, Record

REPORT = "leakage.json"
TITLE_WORDS = 4
"""A title with fewer words may belong to two papers."""

Side = tuple[DatasetFolder, str]
"""A dataset and one of its splits."""


@dataclass(frozen=True)
class Seen:
    """What is compared of one figure.

    Attributes:
        side: Name of the split that it stands in.
        paper: Paper id without a serial prefix.
        title: The paper's title in lower-case words; None where it is unknown or too short to tell papers apart.
        image: SHA-256 of the image.
        hash: Perceptual hash; None without an image that can be decoded.
    """

    side: str
    figure_id: str
    paper: str
    title: str | None
    image: str | None
    hash: int | None


class Duplicate(Record):
    """Two figures of different papers that show the same.

    Attributes:
        bits: In which their hashes differ, 0..64.
        pixels: Share of the pixels that visibly differ, 0..1.
    """

    one: str
    two: str
    bits: int
    pixels: float


class Shared(Record):
    """What two splits share.

    Attributes:
        papers: Paper ids that are in both.
        titles: Pairs of paper ids with the same title.
        duplicates: Pairs of figures with the same picture.
        refuted: Pairs of figures with near hashes and other pixels, which are no leak.
    """

    one: str
    two: str
    papers: list[str] = []
    titles: list[tuple[str, str]] = []
    duplicates: list[Duplicate] = []
    refuted: int = 0

    @property
    def leaks(self) -> int:
        """Number of things shared."""
        return len(self.papers) + len(self.titles) + len(self.duplicates)

    def lines(self) -> list[str]:
        """One sentence for each."""
        papers = [f"paper {paper} is in {self.one} and {self.two}" for paper in self.papers]
        titles = [f"{one} ({self.one}) and {two} ({self.two}) have one title" for one, two in self.titles]
        figures = [
            f"{pair.one} ({self.one}) and {pair.two} ({self.two}) show the same: "
            f"hashes differ in {pair.bits} of 64 bits, {pair.pixels:.4f} of the pixels differ"
            for pair in self.duplicates
        ]
        return papers + titles + figures


class SideSummary(Record):
    """One split: its size, and the figures that could not be compared because they have no image."""

    figures: int
    papers: int
    without_image: int


class LeakageReport(Record):
    """What the splits of one or more datasets share, pair by pair."""

    schema_version: str = "1"
    sides: dict[str, SideSummary]
    shared: list[Shared]

    @property
    def clean(self) -> bool:
        """Whether no two splits share anything."""
        return not any(pair.leaks for pair in self.shared)

    def table(self) -> str:
        """The report for people."""
        lines = ["split                figures  papers  without image"]
        lines += [f"{name:<20} {s.figures:>7} {s.papers:>7} {s.without_image:>14}" for name, s in self.sides.items()]
        lines += ["", "pair                                      papers  titles  near duplicates  refuted"]
        for pair in self.shared:
            counts = (len(pair.papers), len(pair.titles), len(pair.duplicates), pair.refuted)
            lines.append(
                f"{f'{pair.one} / {pair.two}':<40} {counts[0]:>7} {counts[1]:>7} {counts[2]:>16} {counts[3]:>8}"
            )
        lines += [line for pair in self.shared for line in pair.lines()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Pair:
    """Two figures of different papers whose hashes are near; a duplicate or, with other pixels, refuted."""

    one: Seen
    two: Seen
    bits: int
    pixels: float

    @property
    def same(self) -> bool:
        """Whether the pixels agree."""
        return self.pixels <= SAME_SHARE


def side_names(sides: Sequence[Side]) -> dict[str, Side]:
    """Names of splits: their own, with the dataset's where there are several datasets."""
    datasets = {folder.path.absolute() for folder, _ in sides}
    if len(datasets) == 1:
        return {split: (folder, split) for folder, split in sides}
    names = {f"{folder.name}/{split}": (folder, split) for folder, split in sides}
    if len(names) < len(sides):
        names = {f"{folder.path}/{split}": (folder, split) for folder, split in sides}
    return names


def look(sides: Mapping[str, Side]) -> list[Seen]:
    """What is compared of every figure; one image is in memory at a time."""
    return [_seen(name, *row) for name, (folder, split) in sides.items() for row in folder.figures([split])]


def _seen(side: str, figure: Figure, image: bytes | None) -> Seen:
    pixels = decode(image) if image else None
    return Seen(
        side,
        figure.figure_id,
        figure.paper_id_norm,
        _title_key(figure.title),
        figure.image_sha256,
        None if pixels is None else phash(pixels),
    )


def _title_key(title: str | None) -> str | None:
    words = re.findall(r"\w+", (title or "").casefold())
    return " ".join(words) if len(words) >= TITLE_WORDS else None


def near_duplicates(seen: Sequence[Seen], sides: Mapping[str, Side], *, within: bool) -> list[Pair]:
    """Pairs of figures of different papers whose hashes are near, compared pixel by pixel.

    Args:
        seen: The figures, see :func:`look`.
        sides: Where their images are read from again, where they are candidates.
        within: Also pairs within one split.
    """
    hashed = [figure for figure in seen if figure.hash is not None]
    positions = near_pairs(np.array([figure.hash for figure in hashed], dtype=np.uint64))
    candidates = [
        (one, two)
        for one, two in ((hashed[i], hashed[j]) for i, j in positions)
        if one.paper != two.paper and (within or one.side != two.side)
    ]
    with tempfile.TemporaryFile() as file:
        looks = _Looks(file, {(figure.side, figure.figure_id) for pair in candidates for figure in pair}, sides)
        return [Pair(one, two, distance(one.hash, two.hash), looks.difference(one, two)) for one, two in candidates]


class _Looks:
    """What figures are compared by, on the disk: some hundred kilobytes a figure, of thousands perhaps."""

    def __init__(self, file: BinaryIO, wanted: Collection[tuple[str, str]], sides: Mapping[str, Side]):
        self._file = file
        self._places: dict[tuple[str, str], tuple[int, Look]] = {}
        self._read = lru_cache(maxsize=256)(self._read_from_disk)
        for name in sorted({side for side, _ in wanted}):
            folder, split = sides[name]
            for row in folder.rows([split], columns=["figure_id", "image"]):
                key = (name, row["figure_id"])
                if key in wanted:
                    look = Look.of(decode(row["image"]["bytes"]))
                    self._places[key] = self._file.tell(), replace(look, pictures=look.pictures[:0].copy())
                    self._shape = look.pictures.shape
                    self._file.write(look.pictures.tobytes())

    def difference(self, one: Seen, two: Seen) -> float:
        """Share of the pixels in which two figures visibly differ, 0..1."""
        if one.image is not None and one.image == two.image:
            return 0.0
        return difference(self._read((one.side, one.figure_id)), self._read((two.side, two.figure_id)))

    def _read_from_disk(self, key: tuple[str, str]) -> Look:
        place, look = self._places[key]
        self._file.seek(place)
        pixels = np.frombuffer(self._file.read(int(np.prod(self._shape))), dtype=np.uint8).reshape(self._shape)
        return replace(look, pictures=pixels)


def same_title(seen: Iterable[Seen]) -> Iterator[tuple[Seen, Seen]]:
    """Pairs of papers with one title under two ids; a figure stands for each."""
    by_title: dict[str, dict[str, Seen]] = defaultdict(dict)
    for figure in seen:
        if figure.title is not None:
            by_title[figure.title].setdefault(figure.paper, figure)
    for papers in by_title.values():
        yield from combinations(papers.values(), 2)


def check_leakage(sides: Sequence[Side]) -> LeakageReport:
    """Compare splits with each other.

    Args:
        sides: Two splits or more, of one dataset or of several.

    Raises:
        ImportError: OpenCV is missing.
    """
    named = side_names(sides)
    seen = look(named)
    papers: dict[str, set[str]] = {name: set() for name in named}
    titles: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in named}
    for figure in seen:
        papers[figure.side].add(figure.paper)
        if figure.title is not None:
            titles[figure.side][figure.title].add(figure.paper)
    pairs: dict[frozenset[str], list[Pair]] = defaultdict(list)
    for pair in near_duplicates(seen, named, within=False):
        pairs[frozenset((pair.one.side, pair.two.side))].append(pair)
    summaries = {
        name: SideSummary(
            figures=sum(figure.side == name for figure in seen),
            papers=len(papers[name]),
            without_image=sum(figure.side == name and figure.hash is None for figure in seen),
        )
        for name in named
    }
    shared = []
    for one, two in combinations(named, 2):
        found = pairs[frozenset((one, two))]
        shared.append(
            Shared(
                one=one,
                two=two,
                papers=sorted(papers[one] & papers[two]),
                titles=sorted(
                    (a, b)
                    for title in titles[one].keys() & titles[two].keys()
                    for a in titles[one][title]
                    for b in titles[two][title]
                    if a != b
                ),
                duplicates=[_duplicate(pair, one) for pair in found if pair.same],
                refuted=sum(not pair.same for pair in found),
            )
        )
    return LeakageReport(sides=summaries, shared=shared)


def _duplicate(pair: Pair, first_side: str) -> Duplicate:
    one, two = (pair.one, pair.two) if pair.one.side == first_side else (pair.two, pair.one)
    return Duplicate(one=one.figure_id, two=two.figure_id, bits=pair.bits, pixels=round(pair.pixels, 6))
