"""A run's scores in the forms that the Hub shows on a model's page and in a benchmark's leaderboard.

Two forms: ``.eval_results/*.yaml``, and the ``model-index`` of the model card's YAML. The numbers are computed here,
from the predictions and the dataset that is being published: a file of scores is never taken at its word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from huggingface_hub import CommitOperationAdd, EvalResult, HfApi, ModelCard, ModelCardData
from huggingface_hub.errors import EntryNotFoundError
from pydantic import ValidationError

from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.dataset.tables import explain
from scifigqual_bench.errors import InputError
from scifigqual_bench.files import file_sha256
from scifigqual_bench.hub.publish import HubError, Published, Upload, told, verify
from scifigqual_bench.records import RunManifest
from scifigqual_bench.rubric import COLUMNS
from scifigqual_bench.scoring import Report

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

STATISTICS = {"mae": "MAE", "within_1": "Within-1", "spearman": "Spearman"}
DECIMALS = 6
"""Of a published number: more than gold has, fewer than binary arithmetic blurs."""
NAME = "SciFigQual-Bench"
TASK = "image-text-to-text"
RESULTS_FOLDER = ".eval_results"
BENCHMARK_FILE = "eval.yaml"
FRAMEWORK = "scifigqual-bench"
"""By this name the Hub would have to know what evaluates the tasks of the benchmark."""


@dataclass(frozen=True)
class Run:
    """A judge's run over a dataset, and how it scored.

    Attributes:
        manifest: What makes the run repeatable.
        report: Its scores, computed from the predictions.
        splits: The splits whose rated figures were scored.
    """

    manifest: RunManifest
    report: Report
    splits: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of its file: one per dataset, protocol and configuration, so that runs don't replace each other."""
        manifest = self.manifest
        return f"{manifest.dataset_name}-{manifest.protocol}-{manifest.configuration_sha256[:8]}"

    @property
    def notes(self) -> str:
        """What a reader needs to know beside the number."""
        coverage, figures = self.report.coverage, self.report.figures
        parts = [f"protocol {self.manifest.protocol}", f"backend {self.manifest.backend}", f"{figures} rated figures"]
        return ", ".join([*parts, f"{coverage.share:.1%} of the open items scored"])


def read_manifest(predictions: Path, dataset: DatasetFolder) -> RunManifest:
    """The manifest beside a prediction file, after checking that it is of these predictions and of this dataset.

    Raises:
        InputError: It is missing, can't be read, or something differs; names all of it.
    """
    path = predictions.with_name("manifest.json")
    if not path.is_file():
        raise InputError(f"{path}: missing; results are published with the manifest of their run")
    try:
        manifest = RunManifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise InputError([f"{path}: {phrase}" for phrase in explain(error)]) from None
    faults = list(_faults(manifest, predictions, dataset))
    if faults:
        raise InputError([f"{path}: {fault}" for fault in faults])
    return manifest


def _faults(manifest: RunManifest, predictions: Path, dataset: DatasetFolder) -> Iterator[str]:
    if manifest.predictions_sha256 != file_sha256(predictions):
        yield f"{predictions.name} is not the file that the run wrote; judge again"
    splits = [split for split in manifest.splits if split in dataset.splits]
    if len(splits) < len(manifest.splits) or dataset.fingerprint(splits) != manifest.dataset_fingerprint:
        yield f"the run judged other rows than {dataset.name} holds; judge this dataset"
    if manifest.finished_at is None or manifest.stopped is not None:
        yield f"the run did not end ({manifest.stopped or 'it was interrupted'}); run it again, it goes on"
    if manifest.control is not None:
        yield f"it is the blind control {manifest.control!r}, not a result"
    if manifest.shard is not None:
        yield f"it is part {manifest.shard} of a run; merge the parts"


def task_id(splits: Sequence[str], column: str, statistic: str) -> str:
    """The task under which the Hub lists one statistic of one column; numbers of other splits are another task.

    >>> task_id(["eval1200"], "overall_score", "mae")
    'eval1200_overall_score_mae'
    """
    return "_".join([*splits, column, statistic])


def benchmark_file(split: str) -> bytes:
    """``eval.yaml``, which makes a dataset repository a benchmark of the Hub: the tasks that results refer to.

    The Hub validates the file when it is pushed, takes frameworks and datasets from lists of its own, and ranks every
    task from high to low; so the statistics of which more is better come first.

    Args:
        split: The split that results are of.
    """
    ranked = sorted(STATISTICS, key=lambda statistic: statistic == "mae")
    tasks = [
        {"id": task_id([split], column, statistic), "config": "default", "split": split}
        for statistic in ranked
        for column in COLUMNS
    ]
    content = {
        "name": NAME,
        "description": "Judging scientific figures in their manuscript: agreement of a judge's scores with the mean of "
        "people's ratings, on five dimensions and overall.",
        "evaluation_framework": FRAMEWORK,
        "tasks": tasks,
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode()


def entries(run: Run, dataset_id: str, revision: str) -> list[EvalResultEntry]:
    """The results in the form of ``.eval_results/*.yaml``; statistics that are undefined or lack coverage are absent.

    Raises:
        InputError: The installed client is too old to write the form.
    """
    try:
        from huggingface_hub import EvalResultEntry
    except ImportError:
        raise InputError("publishing results needs huggingface-hub 1.4: pip install -U huggingface-hub") from None
    date = (run.manifest.finished_at or run.manifest.started_at)[:10]
    return [
        EvalResultEntry(
            dataset_id,
            task_id(run.splits, column, name),
            value,
            dataset_revision=revision,
            date=date,
            notes=run.notes,
        )
        for column, name, value in _values(run.report)
    ]


def _values(report: Report) -> Iterator[tuple[str, str, float]]:
    for column in COLUMNS:
        headline = report.columns[column].headline
        for name in STATISTICS:
            estimate = getattr(headline, name) if headline else None
            if estimate is not None and estimate.value is not None:
                yield column, name, round(estimate.value, DECIMALS)


def card_results(run: Run, dataset_id: str, revision: str) -> list[EvalResult]:
    """The results in the form of a model card's ``model-index``."""
    return [
        EvalResult(
            task_type=TASK,
            task_name="Judging scientific figures",
            dataset_type=dataset_id,
            dataset_name=NAME,
            dataset_split=", ".join(run.splits),
            dataset_revision=revision,
            dataset_args={"protocol": run.manifest.protocol, "configuration": run.manifest.configuration_sha256},
            metric_type=name,
            metric_name=f"{STATISTICS[name]}, {column}",
            metric_value=value,
            metric_args={"column": column},
        )
        for column, name, value in _values(run.report)
    ]


def results_upload(api: HfApi, runs: list[Run], model_id: str, dataset_id: str, revision: str) -> Upload:
    """What a model's repository gets: a file per run, and its card with the results in its YAML.

    Results of this dataset and protocol that the card holds already are replaced; everything else in it stays.

    Raises:
        InputError: No run has a number to publish.
        HubError: The card can't be read.
    """
    files: dict[str, Path | bytes] = {}
    for run in runs:
        found = entries(run, dataset_id, revision)
        if not found:
            raise InputError(f"{run.name}: no score reaches the coverage of a headline; there is nothing to publish")
        files[f"{RESULTS_FOLDER}/{run.name}.yaml"] = _yaml(found)
    card = _model_card(api, model_id)
    new = [result for run in runs for result in card_results(run, dataset_id, revision)]
    replaced = {_place(result) for result in new}
    kept = [result for result in card.data.eval_results or [] if _place(result) not in replaced]
    card.data.eval_results = [*kept, *new]
    card.data.model_name = card.data.model_name or model_id.rsplit("/", 1)[-1]
    files["README.md"] = str(card).encode()
    return Upload(model_id, "model", files)


def _yaml(found: list[EvalResultEntry]) -> bytes:
    from huggingface_hub import eval_result_entries_to_yaml

    return yaml.safe_dump(eval_result_entries_to_yaml(found), sort_keys=False, allow_unicode=True).encode()


def _place(result: EvalResult) -> tuple[str, ...]:
    """What two results share when the newer one replaces the older."""
    configuration = (result.dataset_args or {}).get("configuration", "")
    return result.dataset_type, configuration, result.metric_type, result.metric_name or ""


def _model_card(api: HfApi, model_id: str) -> ModelCard:
    with told(f"{model_id}: reading its card"):
        try:
            path = api.hf_hub_download(model_id, "README.md", force_download=True)
        except EntryNotFoundError:
            return ModelCard(f"---\n{ModelCardData().to_yaml()}\n---\n\n# {model_id}\n")
        return ModelCard.load(path)


def publish_results(api: HfApi, upload: Upload, *, user: str) -> Published:
    """Bring results to a model: as a commit to one's own, as a pull request to anybody else's.

    A second run adds to the pull request that the first one opened.

    Raises:
        HubError: Something failed; the model's page shows what it showed before.
    """
    title = f"{NAME} results: {', '.join(sorted(name for name in upload.files if name != 'README.md'))}"
    own = upload.repo_id.split("/")[0] == user
    with told(f"{upload.repo_id}: looking for an open pull request"):
        revision = None if own else _open_request(api, upload.repo_id, title, user)
        before = api.repo_info(upload.repo_id, revision=revision).sha
    additions = [CommitOperationAdd(path, content) for path, content in upload.files.items()]
    with told(f"{upload.repo_id}: publishing results"):
        info = api.create_commit(
            upload.repo_id, additions, commit_message=title, revision=revision, create_pr=not own and revision is None
        )
    if info.oid is None:
        raise HubError(f"{upload.repo_id}: the Hub names no commit; look at the repository")
    verify(api, upload, info.oid)
    return Published(info.oid, info.oid != before, info.pr_url or info.commit_url)


def _open_request(api: HfApi, model_id: str, title: str, user: str) -> str | None:
    found = api.get_repo_discussions(model_id, author=user, discussion_type="pull_request", discussion_status="open")
    return next((f"refs/pr/{request.num}" for request in found if request.title == title), None)
