"""All pairs of 64-bit hashes within a Hamming distance, exactly, in time that doesn't grow with the square.

Multi-index hashing: the 64 bits are dealt out to three bands of 22, 21 and 21 bits. Two hashes that differ in at most
8 bits differ in at most 2 bits of some band (pigeonhole), so it is enough to look up each band's value, and each value
that differs from it in one or two bits, in a table of that band, and to count the bits of what is found there. The
table has four million places, so a million hashes meet few strangers in it. Bits are dealt out in turn, so that bits
that go together, as neighbouring frequencies of an image do, land in different bands.

Equal hashes are looked up once. The number of pairs among n equal hashes is n (n - 1) / 2 all the same: a caller who
does not want each of them asks about distinct hashes, ``np.unique(hashes)``, or goes through :class:`HashIndex`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

MAX_DISTANCE = 8
"""Bits in which the hashes of near duplicates differ, at the most (SPEC 8)."""
BANDS = 3
FARTHEST = 11
"""The largest distance that can be asked for: from 12 on a hash has 7,000 values a band to look up."""
BATCH = 1 << 16
"""Hashes looked up at a time."""
CANDIDATES = 1 << 21
"""Candidates held at a time, beyond those of a single hash; each takes some 40 bytes."""

Hashes = NDArray[np.uint64]
Pairs = NDArray[np.int64]

_BITS = [np.arange(band, 64, BANDS, dtype=np.uint64) for band in range(BANDS)]
_MASKS = [np.bitwise_or.reduce(np.uint64(1) << bits) for bits in _BITS]


class HashIndex:
    """Hashes that are asked for their neighbours many times.

    Args:
        hashes: (n,) the hashes; equal ones are allowed, and each is found.
        max_distance: Bits in which neighbours differ, at the most; 0..11.

    Raises:
        ValueError: Not a flat array of uint64, or a distance that is not served.
    """

    def __init__(self, hashes: Hashes, max_distance: int = MAX_DISTANCE):
        if not 0 <= max_distance <= FARTHEST:
            raise ValueError(f"max_distance must be in 0..{FARTHEST}, not {max_distance}")
        self._distance = max_distance
        self._flips = max_distance // BANDS
        values, self._groups = _collapsed(hashes)
        self._tables = [_Table(values, band, self._flips) for band in range(BANDS)]

    def query(self, hashes: Hashes) -> Pairs:
        """Neighbours of some hashes.

        Args:
            hashes: (m,) what is looked for.

        Returns:
            (k, 2) pairs (position among ``hashes``, position among the indexed ones), sorted.

        Raises:
            ValueError: Not a flat array of uint64.
        """
        values, groups = _collapsed(hashes)
        return _sorted(_expanded(self._near(values), groups, self._groups))

    def _near(self, values: Hashes) -> Pairs:
        """Pairs (position among the values, position among the distinct hashes indexed), each once."""
        found = [np.empty((0, 2), dtype=np.int64)]
        for start in range(0, len(values), BATCH):
            batch = values[start : start + BATCH]
            for band, table in enumerate(self._tables):
                for rows, positions, bits in table.candidates(batch):
                    near = np.bitwise_count(bits) <= self._distance
                    for earlier in _MASKS[:band]:  # what an earlier band finds, too, was found there
                        near &= np.bitwise_count(bits & earlier) > self._flips
                    found.append(np.stack([rows[near] + start, positions[near]], axis=1))
        return np.concatenate(found)


class _Table:
    """Distinct hashes by the value that one band of their bits has."""

    def __init__(self, values: Hashes, band: int, flips: int):
        self._bits = _BITS[band]
        keys = self._keys(values)
        self._order = np.argsort(keys, kind="stable")
        self._values = values[self._order]
        places = np.bincount(keys, minlength=1 << len(self._bits))
        self._starts = np.concatenate([[0], np.cumsum(places)]).astype(np.int32)
        self._changes = [
            sum(1 << bit for bit in chosen)
            for count in range(flips + 1)
            for chosen in combinations(range(len(self._bits)), count)
        ]

    def _keys(self, values: Hashes) -> NDArray[np.int32]:
        keys = np.zeros(len(values), dtype=np.int32)
        for place, bit in enumerate(self._bits):
            keys |= ((values >> bit) & np.uint64(1)).astype(np.int32) << place
        return keys

    def candidates(self, values: Hashes) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Hashes]]:
        """Rows of the values, positions of what shares or nearly shares their key, and the bits that differ."""
        keys = self._keys(values)
        for change in self._changes:
            wanted = keys ^ np.int32(change)
            starts = self._starts[wanted]
            counts = self._starts[wanted + 1] - starts
            rows = np.flatnonzero(counts)
            for part in _parts(counts[rows]):
                some = rows[part]
                places = _ranges(starts[some], counts[some])
                repeated = np.repeat(some, counts[some])
                yield repeated, self._order[places], values[repeated] ^ self._values[places]


def near_pairs(hashes: Hashes, max_distance: int = MAX_DISTANCE) -> Pairs:
    """All pairs of hashes within a distance.

    Args:
        hashes: (n,) 64-bit hashes.
        max_distance: Bits in which two hashes differ, at the most; 0..11.

    Returns:
        (k, 2) pairs of positions i < j, sorted; none is missing and none comes twice.

    Raises:
        ValueError: Not a flat array of uint64, or a distance that is not served.

    >>> near_pairs(np.array([0b0111, 0b0001, 2**40 - 1, 0b0111], dtype=np.uint64), max_distance=2)
    array([[0, 1],
           [0, 3],
           [1, 3]])
    """
    values, groups = _collapsed(hashes)
    pairs = HashIndex(values, max_distance)._near(values)
    pairs = _expanded(pairs[pairs[:, 0] <= pairs[:, 1]], groups, groups)
    # pairs of one group come in both orders, pairs of two groups in any one
    one_group = groups.of[pairs[:, 0]] == groups.of[pairs[:, 1]]
    pairs = pairs[~one_group | (pairs[:, 0] < pairs[:, 1])]
    pairs.sort(axis=1)
    return _sorted(pairs)


def near_pairs_between(one: Hashes, two: Hashes, max_distance: int = MAX_DISTANCE) -> Pairs:
    """All pairs within a distance of which one hash is of one set and the other of another.

    Args:
        one: (m,) 64-bit hashes.
        two: (n,) 64-bit hashes.
        max_distance: Bits in which two hashes differ, at the most; 0..11.

    Returns:
        (k, 2) pairs (position in ``one``, position in ``two``), sorted.

    Raises:
        ValueError: Not flat arrays of uint64, or a distance that is not served.

    >>> near_pairs_between(np.array([1, 255], dtype=np.uint64), np.array([3, 2**30 - 1], dtype=np.uint64), 1)
    array([[0, 0]])
    """
    return HashIndex(two, max_distance).query(one)


class _Groups:
    """Which positions hold each distinct hash.

    Attributes:
        of: (n,) the number of each position's group.
        members: (n,) positions, group by group, rising within each.
        starts: Where each group's members begin.
        sizes: How many they are.
    """

    def __init__(self, of: NDArray[np.intp]):
        self.of = of
        self.members = np.argsort(of, kind="stable")
        self.sizes = np.bincount(of)
        self.starts = np.cumsum(self.sizes) - self.sizes


def _collapsed(hashes: Hashes) -> tuple[Hashes, _Groups]:
    """The distinct hashes, rising, and where each of them stands."""
    hashes = np.asarray(hashes)
    if hashes.dtype != np.uint64 or hashes.ndim != 1:
        raise ValueError(f"hashes must be a flat array of uint64, not {hashes.dtype} of shape {hashes.shape}")
    values, of = np.unique(hashes, return_inverse=True)
    return values, _Groups(of)


def _expanded(pairs: Pairs, one: _Groups, two: _Groups) -> Pairs:
    """Pairs of groups -> all pairs of their members."""
    first, second = pairs[:, 0], pairs[:, 1]
    rows = _ranges(one.starts[first], one.sizes[first])
    second = np.repeat(second, one.sizes[first])
    columns = _ranges(two.starts[second], two.sizes[second])
    return np.stack([one.members[np.repeat(rows, two.sizes[second])], two.members[columns]], axis=1)


def _ranges(starts: NDArray[np.integer], counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """``[start, start + 1, ...]`` of each start, so many as its count says, one after the other."""
    ends = np.cumsum(counts, dtype=np.int64)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - counts), counts)


def _parts(counts: NDArray[np.integer]) -> Iterator[slice]:
    """Slices of rows that have together no more than CANDIDATES, or are one row."""
    ends = np.cumsum(counts, dtype=np.int64)
    start = 0
    while start < len(counts):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + CANDIDATES, side="right")))
        yield slice(start, stop)
        start = stop


def _sorted(pairs: Pairs) -> Pairs:
    """Rising by the first position, then by the second."""
    keys = (pairs[:, 0] << 32) | pairs[:, 1]
    keys.sort()
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1)
