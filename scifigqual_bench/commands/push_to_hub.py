"""``push_to_hub.py``: check a dataset folder, then publish it, the metric and results on the Hugging Face Hub."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scifigqual_bench.commands.common import OK, run
from scifigqual_bench.errors import InputError

if TYPE_CHECKING:
    from scifigqual_bench.hub.publish import Published, Upload
    from scifigqual_bench.hub.results import Run

_REPO_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*\Z")


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    p = argparse.ArgumentParser(
        prog="push_to_hub.py",
        description="Check a dataset folder, show what would be uploaded, and publish it on the Hugging Face Hub.",
        epilog="The token comes from HF_TOKEN or `hf auth login`; HF_ENDPOINT names another Hub. A run that was cut is "
        "started again with the same command: what was sent is not sent twice. Exit codes: 0 done; 1 nothing was "
        "published, or not all of it: the message says what.",
    )
    p.add_argument("--dataset", type=Path, required=True, metavar="DIR", help="dataset folder")
    p.add_argument("--repo", type=_repo_id, required=True, metavar="USER/NAME", help="dataset repository")
    p.add_argument("--metric", type=_repo_id, metavar="USER/NAME", help="also publish the metric, as this Space")
    p.add_argument(
        "--results", type=Path, action="append", default=[], metavar="RUN_DIR", help="also publish a run's scores"
    )
    p.add_argument("--model", type=_repo_id, metavar="USER/NAME", help="the model that --results are about")
    p.add_argument(
        "--benchmark",
        metavar="SPLIT",
        help="also publish eval.yaml, by which the Hub shows a leaderboard of results on this split; the Hub "
        "validates it, and shows the frameworks and datasets that it lists",
    )
    p.add_argument("--public", action="store_true", help="let anybody read it (default: private)")
    p.add_argument("--dry-run", action="store_true", help="check and show, and upload nothing")
    p.add_argument(
        "--accept",
        action="append",
        default=[],
        choices=("e-mail", "local-path", "no-licence"),
        help="findings of this kind are meant to be there",
    )
    p.add_argument("--message", default="Publish with scifigqual-bench", help="of the commit")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    args = parser().parse_args(argv)
    return run(lambda: _push(args))


def _repo_id(text: str) -> str:
    if not _REPO_ID.match(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not USER/NAME")
    return text


def _push(args: argparse.Namespace) -> int:
    from scifigqual_bench.hub.checks import check_dataset, left_at_home
    from scifigqual_bench.hub.publish import need_token
    from scifigqual_bench.hub.uploads import dataset_upload, metric_upload

    if bool(args.results) != bool(args.model):
        raise InputError("--results needs --model, the model that the run judged with, and --model needs --results")
    if not args.dry_run:
        need_token()  # before the checks, which take their time
    findings = check_dataset(args.dataset, accept=args.accept, public=args.public)
    if findings:
        raise InputError([finding.message for finding in findings])
    runs = [_run(folder, args.dataset) for folder in args.results]
    uploads = [dataset_upload(args.dataset, args.repo, args.benchmark)]
    if args.metric:
        uploads.append(metric_upload(args.metric))
    _show(uploads, public=args.public)
    for name in left_at_home(args.dataset):
        print(f"  not uploaded: {name}")
    for judged in runs:
        print(f"model {args.model}: .eval_results/{judged.name}.yaml and README.md ({judged.notes})")
    if args.dry_run:
        print("dry run: nothing was uploaded")
        return OK
    return _publish(args, uploads, runs)


def _publish(args: argparse.Namespace, uploads: Sequence[Upload], runs: list[Run]) -> int:
    from huggingface_hub import HfApi

    from scifigqual_bench.hub import publish, results

    api = HfApi(library_name="scifigqual-bench")
    user = publish.signed_in(api)
    dataset, *spaces = uploads
    version = _version(args.dataset)
    publish.check_version(api, dataset, version)
    found = publish.publish(api, dataset, public=args.public, message=args.message)
    publish.tag_version(api, dataset, version, found.commit)
    _done(found)
    for space in spaces:
        _done(publish.publish(api, space, public=args.public, message=args.message))
    if runs:
        upload = results.results_upload(api, runs, args.model, args.repo, found.commit)
        _done(results.publish_results(api, upload, user=user))
    return OK


def _run(folder: Path, dataset: Path) -> Run:
    """A run folder, checked against the dataset and scored."""
    from scifigqual_bench.commands.inputs import need_ratings, rated_rows, read_gold, read_predictions_of
    from scifigqual_bench.dataset.folder import DatasetFolder
    from scifigqual_bench.hub.results import Run, read_manifest
    from scifigqual_bench.scoring import score

    path = folder / "predictions.jsonl"
    data = DatasetFolder(dataset)
    manifest = read_manifest(path, data)
    gold = read_gold(dataset, manifest.splits)
    need_ratings(gold)
    file = read_predictions_of([path], gold)[path]
    report = score(rated_rows(file.rows, gold), gold.rows, missing="unanswered", resamples=0)
    rated = (split for split in manifest.splits if any(row["gold"] for row in data.rows([split], columns=["gold"])))
    return Run(manifest, report, tuple(rated))


def _version(folder: Path) -> str | None:
    from huggingface_hub import DatasetCard

    version = DatasetCard.load(folder / "README.md").data.to_dict().get("version")
    return None if version is None else str(version)


def _show(uploads: Iterable[Upload], *, public: bool) -> None:
    from scifigqual_bench.hub.publish import content_hash

    for upload in uploads:
        sizes = {path: len(c) if isinstance(c, bytes) else c.stat().st_size for path, c in upload.files.items()}
        visible = "public" if public else "private"
        print(f"{upload.url_path} ({visible}): {len(sizes)} files, {sum(sizes.values()):,} bytes")
        for path, content in upload.files.items():
            print(f"  {sizes[path]:>15,}  {content_hash(content)[:12]}  {path}")


def _done(found: Published) -> None:
    print(f"{found.url} at {found.commit[:12]}{'' if found.changed else ' (nothing had changed)'}")
