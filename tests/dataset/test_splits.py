"""Splits by whole papers: exact, stable, proportional, and without anything shared."""

import hashlib
import random
from collections import Counter, defaultdict
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.dataset.frozen import check_frozen
from scifigqual_bench.dataset.leakage import LeakageReport
from scifigqual_bench.dataset.release import import_release
from scifigqual_bench.dataset.splits import (
    Sizes,
    SplitError,
    Unit,
    choose,
    make_units,
    nearest,
    plan_splits,
    split_dataset,
)
from tests.dataset.release_files import picture, write_dataset
from tests.factory import figure

STRATA = [(venue, year) for venue in ("ACL", "ICML") for year in ("2020", "2021")]


def paper(name, figures, stratum=STRATA[0], **fields):
    return Unit((name,), figures, stratum, **{"least_ratings": 3, "rated": figures} | fields)


units = st.lists(
    st.builds(
        lambda size, stratum, types: (size, stratum, types),
        st.integers(1, 9),
        st.sampled_from(STRATA),
        st.sampled_from([{}, {"plot": 1}, {"diagram": 1}, {"plot": 1, "table": 1}]),
    ),
    min_size=1,
    max_size=12,
).map(lambda rows: [paper(f"p{k}", size, stratum, types=types) for k, (size, stratum, types) in enumerate(rows)])


def all_sums(pool):
    return {sum(unit.figures for unit in group) for n in range(len(pool) + 1) for group in combinations(pool, n)}


@settings(deadline=None)
@given(units, st.integers(1, 60))
def test_exact_where_a_solution_exists_and_else_the_nearest_are_told(pool, figures):
    sums = all_sums(pool)
    if figures in sums:
        chosen = choose(pool, figures)
        assert sum(unit.figures for unit in chosen) == figures
        assert len({unit.papers for unit in chosen}) == len(chosen)
        return
    with pytest.raises(SplitError) as error:
        choose(pool, figures)
    below = max((n for n in sums if n < figures), default=0)
    above = min((n for n in sums if n > figures), default=None)
    for n in (below, above):
        if n:
            assert str(n) in str(error.value).split("nearest")[1]


@settings(deadline=None)
@given(units, st.randoms(use_true_random=False))
def test_the_order_of_papers_does_not_matter(pool, rng):
    figures = sum(unit.figures for unit in pool) // 2
    if figures not in all_sums(pool) or not figures:
        return
    shuffled = pool[:]
    rng.shuffle(shuffled)
    assert choose(shuffled, figures) == choose(pool, figures)


@settings(deadline=None)
@given(units)
def test_no_other_spread_over_the_strata_is_closer(pool):
    """Against all subsets: the least sum of (n - share)^2 / share."""
    figures = sum(unit.figures for unit in pool) // 2
    whole = Counter()
    for unit in pool:
        whole[unit.stratum] += unit.figures
    total = sum(whole.values())

    def cost(group):
        own = Counter()
        for unit in group:
            own[unit.stratum] += unit.figures
        shares = {name: figures * size / total for name, size in whole.items()}
        return sum((own[name] - share) ** 2 / share for name, share in shares.items())

    groups = [g for n in range(1, len(pool) + 1) for g in combinations(pool, n) if sum(u.figures for u in g) == figures]
    if not groups:
        return
    assert cost(choose(pool, figures)) == pytest.approx(min(map(cost, groups)))


@given(st.sets(st.integers(0, 40), min_size=1), st.integers(0, 50))
def test_nearest(numbers, figures):
    bits = sum(1 << n for n in numbers)
    below = [n for n in numbers if n < figures]
    above = [n for n in numbers if n > figures]
    assert nearest(bits, figures) == [f(side) for f, side in ((max, below), (min, above)) if side]


def test_the_mix_of_types_follows_the_pool():
    pool = [paper(f"p{k}", 2, types={"plot": 2} if k % 2 else {"diagram": 2}) for k in range(40)]
    chosen = choose(pool, 40)
    assert sum(unit.types.get("plot", 0) for unit in chosen) == 20


def test_a_choice_looks_random_and_is_fixed():
    pool = [paper(f"p{k:02d}", 1) for k in range(40)]
    chosen = [unit.papers[0] for unit in choose(pool, 20)]
    assert len(set(chosen) & {f"p{k:02d}" for k in range(20)}) not in (0, 20)
    assert sorted(chosen)[:4] == ["p01", "p02", "p03", "p07"]


def test_papers_that_share_something_are_one_unit():
    rows = [figure(k, paper=name, venue="ACL", year=2020) for name in "abcd" for k in (1, 2)]
    found = make_units(rows, [("a", "b"), ("b", "c"), ("a", "c")])
    assert sorted((unit.papers, unit.figures) for unit in found) == [(("a", "b", "c"), 6), (("d",), 2)]
    assert all(unit.stratum == ("ACL", "2020") and unit.least_ratings == 3 for unit in found)
    prefixed = [figure(1, paper="0001_a", paper_id_norm="a"), figure(2, paper="a")]
    assert [unit.papers for unit in make_units(prefixed)] == [("a",)]


@settings(deadline=None)
@given(units, st.data())
def test_every_paper_has_one_split_and_linked_papers_have_the_same(pool, data):
    fit = [
        data.draw(st.sampled_from([unit, paper(unit.papers[0], unit.figures, unit.stratum, least_ratings=0, rated=0)]))
        for unit in pool
    ]
    rated = [unit for unit in fit if unit.rated]
    figures = data.draw(st.sampled_from(sorted(all_sums(rated) - {0}) or [0]))
    if not figures:
        return
    sizes = Sizes(figures, dev=3, validation=4)
    split_of = plan_splits(fit, sizes)
    assert split_of.keys() == {unit.papers[0] for unit in pool}
    count = Counter()
    for unit in fit:
        count[split_of[unit.papers[0]]] += unit.figures
        assert (split_of[unit.papers[0]] == "unrated") == (unit.rated == 0)
    assert count[sizes.evaluation_name] == figures


def test_papers_with_too_few_ratings_stay_out_of_the_evaluation():
    pool = [paper("few", 5, least_ratings=2), paper("some", 5, rated=4, least_ratings=0), paper("good", 5)]
    split_of = plan_splits(pool, Sizes(5, dev=0, validation=0))
    assert split_of == {"few": "train", "some": "train", "good": "eval5"}
    with pytest.raises(SplitError, match="the nearest: 5\n1 of 3 papers, 5 figures, have 3 ratings on every figure"):
        plan_splits(pool, Sizes(10))
    assert plan_splits(pool, Sizes(10, dev=0, validation=0, min_ratings=2))["few"] == "eval10"


# --- datasets -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """24 papers of two figures; of some pairs of papers one figure, or the title, is the same."""
    rows = []
    for k in range(24):
        for index in (1, 2):
            seed = 100 * k + index
            image = picture(101 if (k, index) == (2, 2) else seed)  # paper 2 shows what paper 1 shows
            title = f"A paper about the number {3 if k == 4 else k}"  # papers 3 and 4 have one title
            fields = {
                "image_sha256": hashlib.sha256(image).hexdigest(),
                "venue": "ACL" if k % 2 else "ICML",
                "year": 2020 + k % 3,
                "title": title,
            }
            if (k, index) == (4, 2):
                image, fields["image_sha256"] = None, None
            row = figure(index, paper=f"{k:04d}_paper{k}", paper_id_norm=f"paper{k}", rated=k < 20, **fields)
            rows.append((row, image))
    return write_dataset(tmp_path_factory.mktemp("source") / "source", {"all": rows})


@pytest.fixture(scope="module")
def split(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("split") / "scifigqual-bench"
    return split_dataset(source.path, out, Sizes(16, dev=4, validation=4)), DatasetFolder(out)


def papers_of(folder):
    found = defaultdict(set)
    for name in folder.splits:
        found[name] = {row.paper_id_norm for row in folder.records([name])}
    return found


def test_a_dataset_is_split(source, split):
    figures, folder = split
    assert figures == {"train": 16, "validation": 4, "eval16": 16, "dev": 4, "unrated": 8}
    everything = {row.figure_id for row in folder.records()}
    assert everything == {row.figure_id for row in source.records()}
    assert folder.fingerprint() == source.fingerprint()
    papers = papers_of(folder)
    assert not any(one & two for one, two in combinations(papers.values(), 2))
    for linked in ({"paper1", "paper2"}, {"paper3", "paper4"}):
        assert sum(bool(linked & own) for own in papers.values()) == 1
    assert check_frozen(folder) == []
    report = LeakageReport.model_validate_json((folder.path / "leakage.json").read_bytes())
    assert report.clean and len(report.shared) == 10
    assert sum(side.without_image for side in report.sides.values()) == 1
    assert (folder.path / "problems.jsonl").read_text().count("papers-linked") == 2


def test_the_same_split_from_rows_in_another_order(source, split, tmp_path):
    rows = list(source.figures())
    random.Random(7).shuffle(rows)
    other = write_dataset(tmp_path / "source", {"one": rows[:20], "two": rows[20:]})
    split_dataset(other.path, tmp_path / "out", Sizes(16, dev=4, validation=4))
    assert papers_of(DatasetFolder(tmp_path / "out")) == papers_of(split[1])


def test_what_can_not_be_split(source, tmp_path):
    with pytest.raises(SplitError, match="no set of whole papers has 17 figures; the nearest: 16 and 18"):
        split_dataset(source.path, tmp_path / "out", Sizes(17))
    rows = list(source.figures())
    twice = write_dataset(tmp_path / "twice", {"one": rows, "two": rows[:2]})
    with pytest.raises(SplitError, match="comes more than once"):
        split_dataset(twice.path, tmp_path / "out", Sizes(16))
    assert not (tmp_path / "out").exists()


def test_the_public_release_is_spread_like_the_whole(shared, tmp_path, without_plots):
    import_release(shared / "eval1200", tmp_path / "release")
    folder = DatasetFolder(tmp_path / "release")
    pool = make_units(folder.records())
    chosen = choose(pool, 600)
    assert sum(unit.figures for unit in chosen) == 600
    whole, part = Counter(), Counter()
    for unit in pool:
        whole[unit.stratum] += unit.figures
    for unit in chosen:
        part[unit.stratum] += unit.figures
    assert len(whole) == 24 or len(whole) > 10
    assert max(abs(part[name] - size / 2) for name, size in whole.items()) <= 1
    assert choose(pool, 1200) == pool
