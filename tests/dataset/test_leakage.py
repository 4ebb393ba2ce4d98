import io

import pytest
from PIL import Image

from scifigqual_bench.commands.build_dataset import main
from scifigqual_bench.dataset.leakage import check_leakage
from tests.dataset.release_files import picture, write_dataset
from tests.factory import figure

TITLE = "On the origin of the figures"

pytestmark = pytest.mark.usefixtures("without_plots")


def saved_again(image, size, quality=90):
    """The same picture at another size, as JPEG."""
    buffer = io.BytesIO()
    Image.open(io.BytesIO(image)).resize(size, Image.Resampling.LANCZOS).save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def smooth(seed):
    """A picture without hard edges, which scaling would move."""
    buffer = io.BytesIO()
    Image.open(io.BytesIO(picture(seed, (16, 10)))).resize((960, 600), Image.Resampling.BICUBIC).save(buffer, "PNG")
    return buffer.getvalue()


def checked(tmp_path, **splits):
    folder = write_dataset(tmp_path / "scifigqual-bench", splits)
    return check_leakage([(folder, split) for split in folder.splits])


def test_nothing_shared(tmp_path):
    rows = [(figure(1, paper=name, title=f"{TITLE}: {name}"), picture(k)) for k, name in enumerate("abcd")]
    report = checked(tmp_path, train=rows[:2], dev=rows[2:3], eval1=rows[3:])
    assert report.clean
    assert [(pair.one, pair.two) for pair in report.shared] == [("train", "dev"), ("train", "eval1"), ("dev", "eval1")]
    assert main(["--check-leakage", str(tmp_path / "scifigqual-bench")]) == 0


def test_a_paper_under_two_ids(tmp_path):
    rows = [(figure(1, paper="0007_a", paper_id_norm="a"), None), (figure(2, paper="a"), None)]
    (pair,) = checked(tmp_path, train=rows[:1], dev=rows[1:]).shared
    assert (pair.papers, pair.titles, pair.duplicates) == (["a"], [], [])


def test_a_title_under_two_ids(tmp_path):
    rows = [(figure(1, paper=p, title=title), None) for p, title in (("a", TITLE), ("b", f"{TITLE.upper()}!"))]
    short = [(figure(1, paper=p, title="Parsing"), None) for p in "cd"]
    (pair,) = checked(tmp_path, train=[rows[0], short[0]], dev=[rows[1], short[1]]).shared
    assert pair.titles == [("a", "b")]


@pytest.mark.parametrize("size", [(960, 600), (640, 400), (480, 300)])
def test_a_figure_that_was_saved_again(tmp_path, size, capsys):
    image = smooth(1)
    rows = [(figure(1, paper="a"), image), (figure(4, paper="b"), saved_again(image, size))]
    (pair,) = checked(tmp_path, train=rows[:1], eval1=rows[1:]).shared
    (found,) = pair.duplicates
    assert (found.one, found.two) == ("a__fig0001", "b__fig0004")
    assert found.bits <= 8 and found.pixels < 0.002
    assert main(["--check-leakage", str(tmp_path / "scifigqual-bench"), "--out", str(tmp_path / "leaks.json")]) == 3
    assert "a__fig0001 (train) and b__fig0004 (eval1) show the same" in capsys.readouterr().out
    assert "b__fig0004" in (tmp_path / "leaks.json").read_text()


def test_near_hashes_with_other_pixels_are_no_leak(tmp_path):
    one = Image.new("RGB", (300, 200), "white")
    two = one.copy()
    one.paste("black", (100, 60, 200, 140))
    two.paste("navy", (100, 60, 200, 140))
    images = []
    for image in (one, two):
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        images.append(buffer.getvalue())
    rows = [(figure(1, paper=name), image) for name, image in zip("ab", images, strict=True)]
    report = checked(tmp_path, train=rows[:1], dev=rows[1:])
    assert report.clean and report.shared[0].refuted == 1


def test_figures_of_one_paper_are_that_paper_s_leak(tmp_path):
    rows = [(figure(k, paper="a"), picture(1)) for k in (1, 2)]
    (pair,) = checked(tmp_path, train=rows[:1], dev=rows[1:]).shared
    assert (pair.papers, pair.duplicates, pair.leaks) == (["a"], [], 1)


def test_two_datasets(tmp_path, capsys):
    write_dataset(tmp_path / "one", {"eval1": [(figure(1, paper="a"), picture(1))]})
    write_dataset(tmp_path / "two", {"train": [(figure(1, paper="b"), picture(1)), (figure(1, paper="c"), None)]})
    assert main(["--check-leakage", str(tmp_path / "one"), str(tmp_path / "two")]) == 3
    out = capsys.readouterr().out
    assert "a__fig0001 (one/eval1) and b__fig0001 (two/train) show the same" in out
    assert main(["--check-leakage", str(tmp_path / "one")]) == 1
    write_dataset(tmp_path / "x" / "one", {"eval1": [(figure(1, paper="d"), picture(2))]})
    assert main(["--check-leakage", str(tmp_path / "one"), str(tmp_path / "x" / "one")]) == 0
