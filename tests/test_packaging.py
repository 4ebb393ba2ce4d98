"""What a wheel holds, and that it works away from the checkout."""

import configparser
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOTS = {
    "scifigqual_bench": "scifigqual_bench",
    "judges": "scifigqual_bench.judges",
    "metrics": "scifigqual_bench.metrics",
}


def test_every_package_folder_is_listed(root):
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg")
    listed = set(config["options"]["packages"].split())
    expected = set()
    for folder, package in ROOTS.items():
        expected.add(package)
        for file in (root / folder).rglob("*.py"):
            inner = file.parent.relative_to(root / folder).parts
            expected.add(".".join((package, *inner)))
    assert listed == expected


@pytest.fixture(scope="session")
def wheel(root, tmp_path_factory) -> Path:
    """The project's wheel, built from a copy of what git tracks."""
    source = tmp_path_factory.mktemp("source")
    files = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout.split(b"\0")
    for name in filter(None, map(os.fsdecode, files)):
        if (root / name).is_file():
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((root / name).read_bytes())
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", out, source]
    subprocess.run(command, check=True)
    (file,) = out.glob("*.whl")
    return file


def test_the_wheel_has_no_generic_top_level_name(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"scifigqual_bench"}
    for needed in ("report/page.html.j2", "dataset/card.md.j2", "metrics/scifigqual/README.md", "py.typed"):
        assert f"scifigqual_bench/{needed}" in names
    assert any(name.startswith("scifigqual_bench/judges/prompts/") and name.endswith(".j2") for name in names)


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Path:
    """A fresh environment with the wheel; the dependencies come from this one, the checkout does not."""
    env = tmp_path_factory.mktemp("fresh") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    site = env / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    # A plain path in a .pth file adds the folder, but not the editable hooks in that folder's own .pth files.
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    command = [sys.executable, "-m", "pip", "--python", env / "bin" / "python", "install", "--quiet", "--no-deps"]
    subprocess.run([*command, "--ignore-installed", wheel], check=True)
    return env


@pytest.mark.slow
def test_the_installed_wheel_does_the_whole_job(installed, root, tmp_path):
    def run(*command):
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        env |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
        done = subprocess.run(
            [installed / "bin" / command[0], *command[1:]], cwd=tmp_path, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    place = run("python", "-c", "import scifigqual_bench.judges as j; print(j.__file__)")
    assert str(installed) in place and str(root) not in place
    run("scifigqual-samples", "--out", "samples")
    run("scifigqual-build", "--pdfs", "samples/pdfs", "--ratings", "samples/ratings.csv", "--papers",
        "samples/papers.csv", "--out", "scifigqual-bench", "--features", "vision")  # fmt: skip
    run("scifigqual-eval", "judge", "--dataset", "scifigqual-bench", "--protocol", "direct", "--backend", "rules",
        "--out", "run")  # fmt: skip
    table = run("scifigqual-eval", "score", "--dataset", "scifigqual-bench", "--predictions", "run/predictions.jsonl")
    assert "MAE" in table
    run("scifigqual-eval", "report", "--dataset", "scifigqual-bench", "--predictions", "run/predictions.jsonl",
        "--out", "report.html")  # fmt: skip
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["backend"] == "rules"
    code = (
        "import evaluate; from scifigqual_bench.metrics import metric_path; "
        "m = evaluate.load(metric_path('scifigqual'), 'caption_consistency'); "
        "print(m.compute(predictions=[7, 8], references=[7.33, 8.0]))"
    )
    assert "0.165" in run("python", "-c", code)
