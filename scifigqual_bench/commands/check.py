"""``eval.py check``: one PDF, and what its author should mend in its figures before a reviewer says so. No model."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scifigqual_bench.commands.check_config import FILE, CheckConfig, read_config
from scifigqual_bench.commands.common import OK, WITH_PROBLEMS
from scifigqual_bench.errors import InputError

if TYPE_CHECKING:
    from scifigqual_bench.report.checked import CheckFinding, CheckRule, PaperCheck

WIDTH = 110
"""Columns of the summary."""
FAILED = WITH_PROBLEMS
"""The check was made, and the score is under the one asked for."""


def add_commands(commands: Any) -> None:
    """Add this module's command to the parser's."""
    p = commands.add_parser(
        "check",
        help="check the figures of one paper, for its authors",
        description="Check the figures of one paper: what a reviewer would say of them, where, and how to mend it.",
        epilog="Exit codes: 0 checked; 1 not checked, the input has faults; 3 checked, and the score is under "
        "--fail-under. A figure's score is 10 less the weights of its findings, not under 1; the paper's is that of "
        "its lowest figure, or of its references to figures. Silenced findings and notes take nothing.",
    )
    p.add_argument("pdf", nargs="?", type=Path, metavar="PDF", help="the paper")
    p.add_argument("--out", type=Path, metavar="FILE", help="page to write (default: NAME.check.html here)")
    p.add_argument("--json", type=Path, metavar="FILE", help="also write everything as JSON")
    p.add_argument("--sarif", type=Path, metavar="FILE", help="also write a SARIF 2.1.0 log")
    p.add_argument("--config", type=Path, metavar="FILE", help=f"TOML file that silences rules (default: {FILE} here)")
    p.add_argument("--fail-under", type=_score, metavar="SCORE", help="exit with 3 where the score is lower, 1 to 10")
    p.add_argument("--all", action="store_true", help="also show notes: what is light or unsure, and takes nothing")
    p.add_argument(
        "--ocr",
        choices=("rapidocr", "none"),
        default="rapidocr",
        help="what reads the text that the PDF does not tell (default: rapidocr)",
    )
    p.add_argument("--list-rules", action="store_true", help="list the rules and their weights, and check nothing")
    p.set_defaults(command=_check)


def _score(text: str) -> float:
    value = float(text)
    if not 1 <= value <= 10:
        raise argparse.ArgumentTypeError(f"{text} is not a score from 1 to 10")
    return value


def _check(args: argparse.Namespace) -> int:
    from scifigqual_bench.judges.check import check_rules

    rules = check_rules()
    if args.list_rules:
        print("\n".join(rule_lines(rules)))
        return OK
    if args.pdf is None:
        raise InputError("check needs a PDF")
    config = _config(args.config, [rule.id for rule in rules])
    from scifigqual_bench.features.ocr import ocr_engine
    from scifigqual_bench.judges.check import check_paper
    from scifigqual_bench.pdf.document import PdfError
    from scifigqual_bench.report.check import write_check
    from scifigqual_bench.report.sarif import sarif_log

    try:
        result = check_paper(args.pdf, ocr=ocr_engine(args.ocr), silenced=config.silenced)
    except PdfError as error:
        raise InputError(plain(str(error))) from None
    check = result.check.model_copy(update={"unused": config.unused})
    out = args.out or Path(f"{args.pdf.stem}.check.html")
    write_check(out, check, result.images, show_held=args.all)
    if args.json:
        _write_json(args.json, check.model_dump(mode="json"))
    if args.sarif:
        _write_json(args.sarif, sarif_log(check, held=args.all))
    for line in summary(check, show_held=args.all):
        _print(line)
    _print("", *(str(path) for path in (out, args.json, args.sarif) if path))
    limit = config.fail_under if args.fail_under is None else args.fail_under
    if limit is not None and check.score is not None and check.score < limit:
        print(f"failed: the score is {check.score:g}, under {limit:g}", file=sys.stderr)
        return FAILED
    return OK


def _config(path: Path | None, known: Sequence[str]) -> CheckConfig:
    """The named file, else the one in the working directory, else none."""
    if path is None and not Path(FILE).is_file():
        return CheckConfig()
    return read_config(path or Path(FILE), known)


def _write_json(path: Path, data: dict[str, Any]) -> None:
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def _print(*lines: str) -> None:
    """Print lines; what the terminal's encoding lacks is shown as its code."""
    encoding = sys.stdout.encoding or "utf-8"
    for line in lines:
        print(line.encode(encoding, "backslashreplace").decode(encoding))


def summary(check: PaperCheck, *, show_held: bool = False) -> Iterator[str]:
    """The lines of the terminal's summary; all that comes from the paper is stripped of control characters.

    Args:
        check: What was found.
        show_held: Whether findings that are held back are shown.
    """
    yield plain(f"{check.path}: {check.title}" if check.title else check.path)
    yield f"{_count(check.pages, 'page')}, {_count(len(check.figures), 'figure')}"
    for problem in check.problems:
        yield from _wrapped(f"{problem.code}: {problem.message}", "! ", "  ")
    for entry in check.unused:
        yield from _wrapped(f"silences nothing: {entry}", "! ", "  ")
    rules = check.rule_of
    if check.findings:
        yield from ("", f"References to figures · {check.references:g}")
        yield from _finding_lines(check.findings, rules, show_held)
    for figure in check.figures:
        if figure.unchecked or any(_is_shown(finding, show_held) for finding in figure.findings):
            score = "no score" if figure.score is None else f"{figure.score:g}"
            yield from ("", plain(f"{figure.label} (page {figure.page}) · {score}"))
            if figure.unchecked:
                yield from _wrapped(f"not checked in full: {figure.unchecked}", "  ! ", "    ")
            yield from _finding_lines(figure.findings, rules, show_held)
    held, silenced = check.count("held"), check.count("silenced")
    notes = f"{_count(held, 'note')}{'' if show_held or not held else ' not shown (--all)'}"
    yield ""
    if check.score is None:
        yield "no figure was found: there is nothing to check"
        return
    yield f"score {check.score:g} of 10; {_count(check.count('open'), 'finding')}, {notes}, {silenced} silenced"


def _is_shown(finding: CheckFinding, show_held: bool) -> bool:
    return show_held or finding.state != "held"


def _finding_lines(findings: Sequence[CheckFinding], rules: dict[str, CheckRule], show_held: bool) -> Iterator[str]:
    for finding in findings:
        rule = rules[finding.rule]
        if finding.state == "silenced":
            yield from _wrapped(f"silenced {finding.rule}: {finding.reason}", "  ", "    ")
        elif _is_shown(finding, show_held):
            takes = f"-{finding.weight:g}" if finding.state == "open" else "takes nothing"
            yield f"  {finding.level} {finding.rule} ({takes})"
            yield from _wrapped(finding.evidence, "    found:    ", "              ")
            yield from _wrapped(rule.says, "    reviewer: ", "              ")
            yield from _wrapped(rule.mend, "    mend:     ", "              ")


def rule_lines(rules: Sequence[CheckRule]) -> Iterator[str]:
    """A line for each rule: id, weight, and what a reviewer would say."""
    width = max(len(rule.id) for rule in rules)
    for rule in rules:
        held = " (note)" if rule.held else ""
        yield f"{rule.id:<{width}}  {rule.weight:>5.2f}  {rule.says}{held}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(plain(text), WIDTH, initial_indent=first, subsequent_indent=rest)


def plain(text: str) -> str:
    r"""A text in one line that does nothing to a terminal: no control, direction or private characters.

    >>> plain("red \x1b[31m alert\n\u202eabc")
    'red  [31m alert abc'
    """
    kept = ((char, unicodedata.category(char)) for char in text)
    return "".join(
        " " if kind in ("Cc", "Zl", "Zp") else char for char, kind in kept if kind not in ("Cf", "Co", "Cn", "Cs")
    )
