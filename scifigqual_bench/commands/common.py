"""What the commands share: exit codes, and how an error reaches a person."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from typing import Any

import yaml

from scifigqual_bench.errors import InputError

OK = 0
INPUT_ERROR = 1
"""Nothing was written: the input has faults, each printed."""
WITH_PROBLEMS = 3
"""The output was written, and something in it needs a person; 2 is argparse's."""

SHOWN = 20


def run(command: Callable[[], int]) -> int:
    """Run a command; faults of the input are printed, one a line, without a traceback.

    Anything but an :class:`InputError`, a file that can't be used or a missing package is a fault of the program and
    keeps its traceback.
    """
    try:
        return command()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except InputError as error:
        problems = error.problems
    except (OSError, ImportError) as error:
        problems = [str(error)]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return INPUT_ERROR


def option(text: str) -> tuple[str, Any]:
    """An argument ``NAME=VALUE`` as name and value, which is a number, text, a list or a mapping as in YAML.

    >>> option("tasks=4"), option("slurm={partition: gpu}")
    (('tasks', 4), ('slurm', {'partition': 'gpu'}))
    """
    name, _, value = text.partition("=")
    if not name.isidentifier() or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def print_problems(title: str, problems: Iterable[str], where: str | None = None, shown: int = SHOWN) -> None:
    """Print problems to stderr, the first of them in full; ``where`` tells where the others are."""
    lines = list(problems)
    if not lines:
        return
    print(f"{title} ({len(lines)}):", file=sys.stderr)
    for line in lines[:shown]:
        print(f"  {line}", file=sys.stderr)
    if len(lines) > shown:
        rest = f" in {where}" if where else ""
        print(f"  ... and {len(lines) - shown} more{rest}", file=sys.stderr)
