"""``eval.py judge`` and ``eval.py merge``: predict the ratings of a dataset's figures, on one machine or several."""

from __future__ import annotations

import argparse
import copy
import math
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scifigqual_bench.commands.common import OK, WITH_PROBLEMS, option
from scifigqual_bench.commands.inputs import add_dataset, open_dataset, positive
from scifigqual_bench.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scifigqual_bench.blind import BlindModel
    from scifigqual_bench.dataset.folder import DatasetFolder
    from scifigqual_bench.judges.base import Backend
    from scifigqual_bench.judges.calibration import Calibration
    from scifigqual_bench.judges.costs import Price
    from scifigqual_bench.judges.measure import Measurements
    from scifigqual_bench.judges.payload import JudgeItem
    from scifigqual_bench.judges.protocols import ProtocolName
    from scifigqual_bench.judges.shards import Shard
    from scifigqual_bench.records import Control, RunManifest

STRUCTURED = ("json_schema", "json_schema_ranges", "json_schema_full", "json_object_schema", "json_object", "none")
"""Forms in which answers are asked for (``scifigqual_bench.judges.schemas.Structured``)."""

Fitted = TypeVar("Fitted", "BlindModel", "Calibration")

API_OPTIONS = (
    "model",
    "text_model",
    "revision",
    "base_url",
    "api_key_env",
    "structured",
    "temperature",
    "max_tokens",
    "concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "timeout",
    "retries",
)
"""Arguments that are options of a backend; those that are not given are not in the parsed arguments at all."""


def add_commands(commands: Any) -> None:
    """Add ``judge`` and ``merge``."""
    judge = commands.add_parser("judge", help="predict the ratings of every figure of a dataset")
    add_dataset(judge)
    what = judge.add_argument_group("what is run: --run, or --protocol and --backend")
    what.add_argument("--run", metavar="ID", help="a configuration of the run matrix (D1..D11, S1..S9, F1..F9)")
    what.add_argument("--protocol", choices=("direct", "sidecar", "agent"))
    what.add_argument("--backend", help="rules and blind (no model), openai (a server), vllm, transformers")
    what.add_argument(
        "--fit",
        type=Path,
        metavar="DIR",
        help="blind: rated figures to fit on, a dataset folder or one with captions.jsonl and ratings.csv",
    )
    what.add_argument("--calibrate", type=Path, metavar="DATASET", help="rules: rated figures to fit monotone maps on")
    what.add_argument("--control", choices=("no-image", "no-text", "other-image"), help="withhold or swap evidence")

    what.add_argument(
        "--paper-batch",
        type=positive,
        default=1,
        metavar="N",
        help="ask about up to N figures of a paper in one call of direct or sidecar (default 1)",
    )
    what.add_argument("--figure-map", action="store_true", help="send the captions of the paper's figures with each")

    how = judge.add_argument_group("how it is run")
    how.add_argument("--out", type=Path, metavar="RUN_DIR", help="folder of the run; goes on in it")
    how.add_argument("--batch-size", type=positive, default=32, metavar="N", help="figures per batch (default 32)")
    how.add_argument("--retry-failed", action="store_true", help="judge again the figures that failed before")
    how.add_argument("--shard", type=_shard, metavar="i/n", help="only the papers of part i of n; see merge")
    how.add_argument(
        "--executor",
        choices=("local", "slurm", "ray"),
        help="judge by the tasks of a datatrove executor, a shard each, and merge; each task gets its share of budgets "
        "and rates",
    )
    how.add_argument(
        "--executor-option",
        type=option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the executor, for example tasks=8; repeat it for more",
    )
    how.add_argument("--cache", type=Path, metavar="DIR", help="folder of answers that need not be paid for twice")
    how.add_argument("--seed", type=int, metavar="N", help="of the model's sampling, where the server takes one")
    how.add_argument(
        "--max-failures", type=positive, default=25, metavar="N", help="stop after N failures in a row (default 25)"
    )
    how.add_argument("--dry-run", action="store_true", help="ask nothing; print calls, tokens and cost, estimated")

    costs = judge.add_argument_group("costs; a run that stops at its budget can be resumed")
    costs.add_argument(
        "--prices", type=Path, metavar="FILE", help="YAML, MODEL: {prompt: X, completion: Y}, per million"
    )
    costs.add_argument("--max-cost", type=_amount, metavar="X", help="budget in the currency of --prices")
    costs.add_argument("--max-tokens-total", type=positive, metavar="N", help="budget of prompt and answer tokens")

    # No defaults here: what is not given is left to --run or to the backend.
    api = judge.add_argument_group("options of the backend; they take the place of those of --run")
    absent = argparse.SUPPRESS
    api.add_argument("--model", default=absent, metavar="ID", help="model, as server or hub know it, or its folder")
    api.add_argument("--text-model", default=absent, metavar="ID", help="model of the calls without an image")
    api.add_argument("--revision", default=absent, metavar="TEXT", help="of the weights: commit, tag or branch")
    api.add_argument("--base-url", default=absent, metavar="URL", help="server, up to the version: http://HOST/v1")
    api.add_argument("--api-key-env", default=absent, metavar="NAME", help="variable that holds the key")
    api.add_argument("--no-api-key", dest="api_key_env", action="store_const", const=None, default=absent)
    api.add_argument("--structured", default=absent, choices=STRUCTURED)
    api.add_argument("--temperature", type=_temperature, default=absent, metavar="X", help="or 'none' to send none")
    api.add_argument("--max-tokens", type=positive, default=absent, metavar="N", help="limit of one answer")
    api.add_argument("--concurrency", type=positive, default=absent, metavar="N", help="calls at the same time")
    api.add_argument("--requests-per-minute", type=float, default=absent, metavar="N")
    api.add_argument("--tokens-per-minute", type=float, default=absent, metavar="N")
    api.add_argument("--timeout", type=float, default=absent, metavar="SECONDS", help="of one attempt")
    api.add_argument("--retries", type=int, default=absent, metavar="N", help="attempts after the first")
    api.add_argument(
        "--backend-option",
        type=option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any option of the backend by its name, for example retries=2; repeat it for more",
    )
    judge.set_defaults(command=_judge)

    merge = commands.add_parser("merge", help="put the run folders of all shards together")
    add_dataset(merge)
    merge.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIR", help="finished run folders, one a shard")
    merge.add_argument("--out", type=Path, required=True, metavar="RUN_DIR", help="folder to write")
    merge.set_defaults(command=_merge)


def _amount(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text}")
    return value


def _temperature(text: str) -> float | None:
    return None if text == "none" else float(text)


def _shard(text: str) -> Shard:
    from scifigqual_bench.judges.shards import Shard

    try:
        return Shard.parse(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected i/n with i from 1 to n, found {text}") from None


def _judge(args: argparse.Namespace) -> int:
    if args.out is None and not args.dry_run:
        raise InputError("give --out RUN_DIR, or --dry-run")
    if args.max_cost is not None and args.prices is None:
        raise InputError("--max-cost needs --prices: no price is known to this program")
    if args.executor is None and args.executor_option:
        raise InputError("--executor-option needs --executor")
    if args.dry_run:
        return _dry_run(args)
    if args.executor is None:
        return _told(args.out, _run(args, args.shard, args.out))
    return _by_tasks(args)


@dataclass(frozen=True)
class _Job:
    """What the arguments ask for: figures, protocol, and who answers at what price."""

    folder: DatasetFolder
    splits: tuple[str, ...]
    measurements: Measurements
    protocol: ProtocolName
    backend: Backend
    price: Price | None


@contextmanager
def _job(args: argparse.Namespace) -> Iterator[_Job]:
    """Make ready what a run and a dry run both need; the backend is closed in the end."""
    from scifigqual_bench.judges.costs import price_of, read_prices
    from scifigqual_bench.judges.measure import ocr_measurements

    measurements = ocr_measurements()
    folder, splits = _opened(args)
    prices = None if args.prices is None else read_prices(args.prices)
    with ExitStack() as stack:
        protocol, backend = _protocol_and_backend(args, measurements)
        if hasattr(backend, "close"):
            stack.callback(backend.close)
        price = None if prices is None else price_of(backend.model, prices)
        yield _Job(folder, splits, measurements, protocol, backend, price)


def _run(args: argparse.Namespace, shard: Shard | None, out: Path) -> RunManifest:
    """Judge a shard, or all, into a run folder."""
    from scifigqual_bench.judges.cache import with_cache
    from scifigqual_bench.judges.costs import Budget
    from scifigqual_bench.judges.run import DatasetInfo, run_judge

    with _job(args) as job:
        figures = _count(job.folder, job.splits, shard)
        return run_judge(
            _items(job, args.control, shard),
            job.protocol,
            job.backend if args.cache is None else with_cache(job.backend, args.cache),
            out,
            DatasetInfo(job.folder.name, job.folder.fingerprint(job.splits), job.splits, figures),
            features=job.measurements,
            batch_size=args.batch_size,
            paper_batch=args.paper_batch,
            with_map=args.figure_map,
            seed=args.seed,
            control=args.control,
            shard=None if shard is None else str(shard),
            retry_failed=args.retry_failed,
            price=job.price,
            budget=Budget(args.max_tokens_total, args.max_cost),
            max_failures=args.max_failures,
            progress=args.executor is None,  # the bars of several tasks would be drawn over each other
        )


def _by_tasks(args: argparse.Namespace) -> int:
    from scifigqual_bench.executors import Executor
    from scifigqual_bench.judges.tasks import SHARDS, run_tasks

    if args.shard is not None:
        raise InputError("--executor makes the shards itself; leave --shard out")
    folder, splits = _opened(args)
    ids = [row["figure_id"] for row in folder.rows(splits, columns=["figure_id"])]
    executor = Executor(args.executor, dict(args.executor_option))
    manifest = run_tasks(executor, partial(_run_share, args), args.out, ids)
    if manifest is not None:
        return _told(args.out, manifest)
    print("submitted; the same command goes on with what a task has not finished. When all are done:")
    print(f"  eval.py merge --dataset {args.dataset} --out {args.out} {args.out / SHARDS}/*-of-*[0-9]")
    return OK


def _run_share(args: argparse.Namespace, shard: Shard, out: Path) -> RunManifest:
    """Judge a shard as one of several tasks at the same time, within its share of budgets and rates."""
    own = copy.copy(args)
    for name in ("max_cost", "requests_per_minute", "tokens_per_minute"):
        if getattr(own, name, None) is not None:
            setattr(own, name, getattr(own, name) / shard.count)
    if own.max_tokens_total is not None:
        own.max_tokens_total = max(1, own.max_tokens_total // shard.count)
    return _run(own, shard, out)


def _opened(args: argparse.Namespace) -> tuple[DatasetFolder, tuple[str, ...]]:
    folder = open_dataset(args.dataset, args.split, images=not args.dry_run)
    return folder, tuple(args.split or folder.splits)


def _protocol_and_backend(args: argparse.Namespace, measurements: Measurements) -> tuple[ProtocolName, Backend]:
    """What the arguments ask for; a run's options, and over them those that are given."""
    from scifigqual_bench.judges.backends import make_backend
    from scifigqual_bench.judges.run_matrix import run_by_id

    given = {name: getattr(args, name) for name in API_OPTIONS if hasattr(args, name)} | dict(args.backend_option)
    if args.seed is not None:
        given["seed"] = args.seed
    asks_server = args.run is not None or args.backend == "openai"
    keyless = {"api_key_env": None} if args.dry_run and asks_server else {}  # nothing is asked, so no key is needed
    if args.run is not None:
        if args.protocol or args.backend:
            raise InputError("--run names protocol and backend; leave --protocol and --backend out")
        run = run_by_id(args.run)
        if not run.verified and "model" not in given:
            print(f"warning: the model id of {args.run} is not verified; --model gives another", file=sys.stderr)
        return run.protocol, make_backend("openai", **(run.options | given | keyless))
    if not (args.protocol and args.backend):
        raise InputError("give --run ID, or --protocol and --backend")
    for name, backend in (("fit", "blind"), ("calibrate", "rules")):
        if getattr(args, name) is not None and args.backend != backend:
            raise InputError(f"--{name} goes with --backend {backend}")
    if args.backend == "rules":
        calibration = None if args.calibrate is None else _calibrated(args, measurements)
        return args.protocol, make_backend("rules", measurements=measurements, calibration=calibration, **given)
    if args.backend == "blind":
        return args.protocol, make_backend("blind", fitted=_fitted(args), **given)
    if "model" not in given:
        raise InputError(f"--backend {args.backend} needs --model")
    return args.protocol, make_backend(args.backend, **(given | keyless))


def _fitted(args: argparse.Namespace) -> BlindModel:
    """The blind floor, fitted and laid down in the run folder."""
    from scifigqual_bench import blind
    from scifigqual_bench.commands.rated import read_rated
    from scifigqual_bench.judges.backends.blind import MODEL_FILE, SINGLE_CALLS
    from scifigqual_bench.judges.payload import chosen_citations

    if args.protocol not in SINGLE_CALLS:
        raise InputError(f"--backend blind answers single calls: use --protocol {' or '.join(SINGLE_CALLS)}")
    if args.fit is None:
        raise InputError("--backend blind needs --fit DIR, a folder of rated figures")
    rated = read_rated(args.fit)
    fitted = blind.fit(
        rated.figures,
        source=rated.name,
        fingerprint=rated.fingerprint,
        citing=lambda figure: [citation.text for citation in chosen_citations(figure.citations)],
    )
    return _laid_down(args, MODEL_FILE, fitted)


def _calibrated(args: argparse.Namespace, measurements: Measurements) -> Calibration:
    """The calibration of the rules, fitted and laid down in the run folder."""
    from scifigqual_bench.commands.inputs import open_dataset
    from scifigqual_bench.judges import calibration
    from scifigqual_bench.judges.backends import rules
    from scifigqual_bench.judges.payload import JudgeItem

    folder = open_dataset(args.calibrate, None)
    items = (JudgeItem(*row) for row in folder.figures() if row[0].gold is not None)
    prepared = (measurements.prepared(item, measure=True) for item in items)
    known = [(item.figure.gold, rules.values(item)) for item in prepared if item.problem is None]
    fitted = calibration.fit(
        {gold.figure_id: values for gold, values in known},
        [gold for gold, _ in known],
        source=folder.name,
        fingerprint=folder.fingerprint(),
        rules_revision=rules.revision(),
    )
    return _laid_down(args, calibration.CALIBRATION_FILE, fitted)


def _laid_down(args: argparse.Namespace, name: str, fitted: Fitted) -> Fitted:
    """Print what was fitted, and write it beside the predictions unless nothing is asked."""
    print(f"fitted on {fitted.source}: {fitted.figures} figures, {fitted.papers} papers", *fitted.summary(), sep="\n  ")
    if args.out is not None and not (args.out / name).exists():
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / name).write_text(fitted.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return fitted


def _items(job: _Job, control: Control | None, shard: Shard | None) -> Iterator[JudgeItem]:
    """The figures to judge. The control comes before the shard, so that a figure gets the same image in any shard."""
    from scifigqual_bench.judges.controls import under_control
    from scifigqual_bench.judges.payload import JudgeItem

    items = under_control((JudgeItem(*row) for row in job.folder.figures(job.splits)), control, job.protocol)
    return items if shard is None else (item for item in items if item.figure.paper_id in shard)


def _count(folder: DatasetFolder, splits: tuple[str, ...], shard: Shard | None) -> int:
    if shard is None:
        return folder.count(splits)
    return sum(row["paper_id"] in shard for row in folder.rows(splits, columns=["paper_id"]))


def _dry_run(args: argparse.Namespace) -> int:
    from scifigqual_bench.judges.dry_run import DryRunBackend
    from scifigqual_bench.judges.payload import paper_groups
    from scifigqual_bench.judges.protocols import PROTOCOLS
    from scifigqual_bench.judges.run import check_batches

    with _job(args) as job:
        protocol, counting = PROTOCOLS[job.protocol], DryRunBackend(job.backend)
        check_batches(job.protocol, counting, args.paper_batch)
        items = _items(job, args.control, args.shard)
        for group in paper_groups(items, args.paper_batch, with_map=args.figure_map):
            prepared = [job.measurements.prepared(item, measure=protocol.needs_features) for item in group]
            if args.paper_batch > 1:
                protocol.judge_together([prepared], counting)
            else:
                protocol.judge(prepared, counting)
    print(f"{job.protocol} by {counting.name}, model {counting.model}; nothing was asked")
    for line in counting.summary(job.price):
        print(line)
    return OK


def _told(out: Path, manifest: RunManifest) -> int:
    """Print what came of a run; returns the exit code."""
    from scifigqual_bench.judges.run import PREDICTIONS

    counts = ", ".join(f"{status} {count}" for status, count in sorted(manifest.status_counts.items()))
    print(f"{out / PREDICTIONS}: {sum(manifest.status_counts.values())} figures ({counts})")
    usage = manifest.usage
    if usage.prompt_tokens or usage.completion_tokens:
        cost = "" if usage.cost is None else f", cost {usage.cost:.4f}"
        cached = f" and {usage.cached_calls} from the cache" if usage.cached_calls else ""
        tokens = f"{usage.prompt_tokens} prompt and {usage.completion_tokens} answer tokens"
        print(f"{usage.calls} calls{cached}, {tokens}{cost}")
    if manifest.stopped:
        print(f"stopped: {manifest.stopped}; the same command goes on once that is mended", file=sys.stderr)
        return WITH_PROBLEMS
    failed = manifest.status_counts.keys() - {"ok", "skipped"}
    if failed and "ok" not in manifest.status_counts:
        print(f"no figure got a score; status_reason in {out / PREDICTIONS} says why", file=sys.stderr)
        return WITH_PROBLEMS
    return OK


def _merge(args: argparse.Namespace) -> int:
    from scifigqual_bench.dataset.folder import DatasetFolder
    from scifigqual_bench.judges.shards import merge_runs

    folder = DatasetFolder(args.dataset)
    splits = tuple(args.split or folder.splits)
    ids = [row["figure_id"] for row in folder.rows(splits, columns=["figure_id"])]
    return _told(args.out, merge_runs(args.runs, args.out, ids))
