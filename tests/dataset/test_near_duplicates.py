"""The index of hashes against the double loop that it stands for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scifigqual_bench.dataset.near_duplicates import FARTHEST, HashIndex, near_pairs, near_pairs_between


def array(hashes: Sequence[int]) -> np.ndarray:
    return np.array(hashes, dtype=np.uint64)


def double_loop(one: Sequence[int], two: Sequence[int], most: int) -> list[list[int]]:
    return [[i, j] for i, a in enumerate(one) for j, b in enumerate(two) if (a ^ b).bit_count() <= most]


def flipped(value: int, bits: Sequence[int]) -> int:
    for bit in bits:
        value ^= 1 << bit
    return value


@st.composite
def clusters(draw: st.DrawFn) -> list[int]:
    """Hashes around a few centres, so that many distances lie about the limit; some hashes come twice."""
    centres = draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=3))
    changes = st.lists(st.integers(0, 63), max_size=14)
    members = draw(st.lists(st.tuples(st.sampled_from(centres), changes), max_size=25))
    return [flipped(centre, bits) for centre, bits in members]


@settings(max_examples=40, deadline=None)
@given(clusters(), st.integers(0, 8))
def test_every_pair_is_found_once_and_no_other(hashes: list[int], most: int) -> None:
    expected = [[i, j] for i, j in double_loop(hashes, hashes, most) if i < j]
    assert near_pairs(array(hashes), most).tolist() == expected


@settings(max_examples=25, deadline=None)
@given(clusters(), clusters())
def test_two_sets_are_asked_for_each_others_neighbours(one: list[int], two: list[int]) -> None:
    two = two + [flipped(value, (0, 9, 18, 27, 36, 45, 54, 63)) for value in one]
    assert near_pairs_between(array(one), array(two)).tolist() == double_loop(one, two, 8)


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 1, 3, 8, FARTHEST])
def test_distances_about_the_limit_among_strangers(most: int) -> None:
    rng = np.random.default_rng(most)
    strangers = rng.integers(0, 2**64, 300, dtype=np.uint64)
    pairs = []
    for bits in (most - 1, most, most + 1):
        for value in strangers[:100].tolist():
            pairs.append(flipped(value, rng.choice(64, max(bits, 0), replace=False).tolist()))
    hashes = [*strangers.tolist(), *pairs]
    expected = [[i, j] for i, j in double_loop(hashes, hashes, most) if i < j]
    assert len(expected) >= 200
    assert near_pairs(array(hashes), most).tolist() == expected


def test_an_index_is_asked_again_and_gives_the_same() -> None:
    hashes = np.random.default_rng(5).integers(0, 2**64, 50, dtype=np.uint64)
    index = HashIndex(hashes)
    assert index.query(hashes).tolist() == [[i, i] for i in range(50)] == index.query(hashes).tolist()
    assert index.query(hashes[:0]).shape == HashIndex(hashes[:0]).query(hashes).shape == (0, 2)


def test_many_equal_hashes_are_looked_up_once() -> None:
    """Three thousand of one kind and as many of a near one: all their pairs, without a look at each."""
    hashes = array([7] * 3000 + [2**64 - 1] + [3] * 3000)
    pairs = near_pairs(hashes)
    assert pairs.dtype == np.int64 and len(pairs) == 6000 * 5999 // 2
    assert (pairs[:, 0] < pairs[:, 1]).all() and 3000 not in pairs
    assert (np.diff(pairs[:, 0] * len(hashes) + pairs[:, 1]) > 0).all()


def test_what_cannot_be_answered_is_refused() -> None:
    with pytest.raises(ValueError, match=r"max_distance must be in 0\.\.11, not 12"):
        near_pairs(array([1]), 12)
    for wrong in (np.array([1, 2]), array([1, 2]).reshape(1, 2)):
        with pytest.raises(ValueError, match="flat array of uint64"):
            near_pairs(wrong)
