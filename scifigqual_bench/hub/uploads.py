"""What goes to which repository: the dataset folder, and the metric as a Space."""

from __future__ import annotations

import re
from pathlib import Path

import scifigqual_bench
from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.hub.checks import PUBLISHED, published_files
from scifigqual_bench.hub.publish import Upload
from scifigqual_bench.hub.results import BENCHMARK_FILE, benchmark_file

METRIC = "scifigqual"
_LOADED = re.compile(r"""(\bload(?:_dataset)?\(["'])[^"'\n]+""")
"""A call in the card's examples, up to the name of what it loads."""


def dataset_upload(folder: Path, repo_id: str, benchmark: str | None = None) -> Upload:
    """The dataset repository: the published files of a folder; shards and logs of an earlier version give way.

    The card's examples load the repository there, and not a folder of this machine.

    Args:
        folder: The dataset.
        repo_id: ``"user/name"``.
        benchmark: The split that makes it a benchmark of the Hub; None for a dataset like others. See
            :func:`~scifigqual_bench.hub.results.benchmark_file`.

    Raises:
        DatasetError: There is no such split.
    """
    files: dict[str, Path | bytes] = {file.relative_to(folder).as_posix(): file for file in published_files(folder)}
    card = (folder / "README.md").read_text(encoding="utf-8")
    if benchmark is not None:
        DatasetFolder(folder).count([benchmark])  # refuses unknown splits
        files[BENCHMARK_FILE] = benchmark_file(benchmark)
    files["README.md"] = _LOADED.sub(rf"\g<1>{repo_id}", card).encode()
    return Upload(repo_id, "dataset", files, replaced=PUBLISHED)


def metric_upload(repo_id: str) -> Upload:
    """The Space from which ``evaluate.load("user/scifigqual")`` takes the metric, and which scores files by hand.

    ``evaluate`` looks for a file of the repository's name, so the module is called after it.
    """
    files: dict[str, Path | bytes] = {}
    for file in sorted(metric_folder().iterdir()):
        if file.is_file() and file.name != "__init__.py":
            name = f"{repo_id.rsplit('/', 1)[-1]}.py" if file.name == f"{METRIC}.py" else file.name
            files[name] = file
    return Upload(repo_id, "space", files, sdk="gradio")


def metric_folder() -> Path:
    """Where the metric's four files are: in the checkout, or in the installed package."""
    package = Path(scifigqual_bench.__file__).parent
    places = [package / "metrics" / METRIC, package.parent / "metrics" / METRIC]
    return next(place for place in places if (place / f"{METRIC}.py").is_file())
