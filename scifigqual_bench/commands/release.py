"""``build_dataset.py`` beyond PDFs: import of the public release, splits, what splits share, frozen rows."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scifigqual_bench.commands.common import INPUT_ERROR, OK, WITH_PROBLEMS, print_problems
from scifigqual_bench.errors import InputError
from scifigqual_bench.files import log_lines

if TYPE_CHECKING:
    from scifigqual_bench.dataset.package import Edition
    from scifigqual_bench.dataset.release import ReleaseReport

MEANING = {
    "caption-markup": "captions with traces of Markdown; cleaned, and kept in caption_raw",
    "context-count-differs": "figures whose context_count is not the number of their citing texts",
    "context-item-wrong": "figures with citing texts that are empty or no text",
    "context-rated-without-text": "figures with CTX gold and no citing text",
    "context-texts-absent": "figures that state citing texts which are not in the files",
    "email-removed": "e-mail addresses taken out of what raters wrote",
    "evidence-unknown": "figures whose caption or citing text the release does not tell; gold decides their mask",
    "field-cut": "texts that were cut",
    "field-retyped": "values of another type than stated, taken all the same",
    "field-wrong": "values that can't be taken",
    "figure-id-differs": "figure ids that are not those of paper and index",
    "figure-not-listed": "figures that only side tables name",
    "figure-repeated": "rows of a figure that came before; left out",
    "file-unreadable": "files that can't be read",
    "files-disagree": "values that two files give differently",
    "gold-differs": "figures whose stated gold is not the mean of their ratings",
    "image-missing": "figures without an image",
    "image-repeated": "figures with the image of an earlier figure",
    "image-size-differs": "images of another size than stated",
    "image-unreadable": "images that can't be read",
    "needs-adjudication": "figures whose raters' overalls are more than two points apart",
    "overall-differs": "figures whose stated overall is not the mean of their dimensions",
    "paper-id-norm-differs": "figures whose paper_id_norm is not that of their paper id",
    "paper-ids-alike": "papers whose ids differ in capitals or signs alone",
    "paper-twice": "papers under two ids",
    "rated-while-closed": "ratings on dimensions without evidence",
    "rater-repeated": "raters that rate a figure again",
    "rater-unnamed": "ratings that name no rater",
    "rating-count-differs": "figures whose annotator_count is not the number of their ratings",
    "rating-empty": "ratings without any score; left out",
    "rating-unreadable": "ratings that are no objects; left out",
    "row-unreadable": "rows that can't be read; left out",
    "row-without-id": "rows without a figure id; left out",
    "score-not-integer": "scores that are no integers; left out",
    "score-out-of-range": "scores outside 1 to 10; left out",
    "unknown-field": "fields that are not known; left out",
    "without-gold": "figures without ratings and gold",
}
"""What the codes of an import mean, for its table."""


def add_arguments(p: argparse.ArgumentParser, source: Any) -> None:
    """Add the arguments of this module.

    Args:
        p: The parser.
        source: Its group of things to start from, of which one is given.
    """
    source.add_argument("--release", type=Path, metavar="FOLDER", help="the benchmark's public release; import it")
    source.add_argument(
        "--split-from", type=Path, metavar="DATASET", help="write a dataset anew, with frozen splits of whole papers"
    )
    source.add_argument(
        "--check-leakage",
        nargs="+",
        type=Path,
        metavar="DATASET",
        help="write nothing (with --out, a JSON report); tell which papers, titles and figures the splits share",
    )
    source.add_argument(
        "--verify", type=Path, metavar="DATASET", help="write nothing; compare frozen splits with their manifests"
    )
    release = p.add_argument_group("with --release")
    release.add_argument("--split", default="eval1200", metavar="NAME", help="split of the figures (default: eval1200)")
    release.add_argument(
        "--mask",
        choices=("evidence", "gold"),
        default="evidence",
        help="dimensions that judges are asked for: those that caption and citing text open (default), or those that "
        "have gold, as in the release itself",
    )
    splits = p.add_argument_group("with --split-from")
    splits.add_argument("--figures", type=int, metavar="N", help="figures of the evaluation split, exactly")
    splits.add_argument(
        "--dev", type=int, default=50, metavar="N", help="figures for work on prompts, about (default 50)"
    )
    splits.add_argument(
        "--validation", type=int, metavar="N", help="figures for validation, about (default: a tenth of what is left)"
    )
    splits.add_argument(
        "--min-ratings", type=int, default=3, metavar="N", help="of every figure of the evaluation split (default 3)"
    )


def add_edition(p: argparse.ArgumentParser) -> None:
    """Add what a person says of a dataset that is written."""
    p.add_argument("--licence", metavar="ID", help="of the dataset, as the Hub knows it, for example cc-by-4.0")
    p.add_argument(
        "--dataset-version",
        metavar="X.Y.Z",
        help="default: 1.0.0, or the next one of the folder that is replaced, by what changed in its rows",
    )
    p.add_argument("--note", metavar="TEXT", help="what is new in this version, for the card")


def edition(args: argparse.Namespace) -> Edition:
    """The arguments of :func:`add_edition`."""
    from scifigqual_bench.dataset.package import Edition

    return Edition(args.licence, args.dataset_version, args.note)


def chosen(args: argparse.Namespace) -> int | None:
    """Run what the arguments ask of this module; None where they ask for something else."""
    if args.release:
        return _import(args)
    if args.split_from:
        return _split(args)
    if args.check_leakage:
        return _check_leakage(args)
    if args.verify:
        return _verify(args)
    return None


def _needed(args: argparse.Namespace, option: str) -> Path:
    if args.out is None:
        raise InputError(f"{option} needs --out FOLDER")
    return args.out


def _import(args: argparse.Namespace) -> int:
    from scifigqual_bench.dataset.release import LOST, import_release

    out = _needed(args, "--release")
    report = import_release(
        args.release, out, split=args.split, mask=args.mask, overwrite=args.overwrite, edition=edition(args)
    )
    print("\n".join(summary(report)))
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for problem in log_lines(out / "problems.jsonl"):
        first.setdefault(problem["code"], problem["message"])
        counts[problem["code"]] += 1
    print_problems(
        "told in problems.jsonl, and the first of each kind",
        (f"{counts[code]:>6}  {MEANING[code]}\n          {message[:200]}" for code, message in sorted(first.items())),
        shown=len(MEANING),
    )
    return WITH_PROBLEMS if any(counts[code] for code in LOST) else OK


def summary(report: ReleaseReport) -> list[str]:
    """An import in some lines for people."""
    overall = report.overall
    lines = [
        f"{report.split}: {report.figures} figures of {report.papers} papers, {report.images} with an image",
        f"gold: {report.rated} figures from {report.ratings} ratings of {report.raters} raters; "
        f"{report.stated_gold_differs} stated otherwise",
        f"paper ids with a serial prefix: {report.papers_with_serial}",
        "dimension            gold  evidence",
        *(f"{key:<20} {count:>5} {report.evidence[key]:>9}" for key, count in report.gold.items()),
    ]
    if overall.stated:
        lines += [
            f"stated overall, {overall.stated} figures:",
            f"  {overall.off_stored_rater_mean} are not the mean of the raters' stored overalls",
            f"  {overall.off_rater_mean} are off the mean of the raters' exact overalls by more than 0.02",
            f"  {overall.off_dimension_first} are off the mean of the dimensions by more than 0.02, "
            f"{overall.off_dimension_first_uneven} of them among the {overall.uneven_nulls} with uneven nulls",
        ]
    if report.context_rated_without_text:
        mask = "ask judges for what has gold" if report.mask == "evidence" else "ask judges for what the evidence opens"
        other = "gold" if report.mask == "evidence" else "evidence"
        lines.append(
            f"{report.context_rated_without_text} figures have CTX gold and no citing text: judges are asked under the "
            f"{report.mask} mask, so score with --mask {report.mask}; import with --mask {other} to {mask}"
        )
    return lines


def _split(args: argparse.Namespace) -> int:
    from scifigqual_bench.dataset.splits import Sizes, split_dataset

    out = _needed(args, "--split-from")
    if args.figures is None:
        raise InputError("--split-from needs --figures N")
    sizes = Sizes(args.figures, args.dev, args.validation, args.min_ratings)
    figures = split_dataset(args.split_from, out, sizes, overwrite=args.overwrite, edition=edition(args))
    print(f"{out}: " + ", ".join(f"{count} {split}" for split, count in figures.items()))
    from scifigqual_bench.dataset.leakage import REPORT, LeakageReport

    print(LeakageReport.model_validate_json((out / REPORT).read_bytes()).table())
    return OK


def _check_leakage(args: argparse.Namespace) -> int:
    from scifigqual_bench.dataset.folder import DatasetFolder
    from scifigqual_bench.dataset.leakage import check_leakage

    folders = [DatasetFolder(path) for path in args.check_leakage]
    sides = [(folder, split) for folder in folders for split in folder.splits]
    if len(sides) < 2:
        raise InputError(f"{args.check_leakage[0]} has one split; name another dataset to compare it with")
    report = check_leakage(sides)
    print(report.table())
    if args.out:
        args.out.write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return OK if report.clean else WITH_PROBLEMS


def _verify(args: argparse.Namespace) -> int:
    from scifigqual_bench.dataset.folder import DatasetFolder
    from scifigqual_bench.dataset.frozen import check_frozen, frozen_splits

    folder = DatasetFolder(args.verify)
    frozen = frozen_splits(folder)
    for split in folder.splits:
        print(f"{split}: {frozen[split].figures} figures frozen" if split in frozen else f"{split}: not frozen")
    problems = check_frozen(folder)
    print_problems("rows that are not those that were frozen", problems, shown=len(problems))
    return INPUT_ERROR if problems else OK
