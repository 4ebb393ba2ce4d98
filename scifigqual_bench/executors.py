"""datatrove's executors: the same step run as tasks on this machine, by Slurm or on a Ray cluster."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from scifigqual_bench.errors import InputError

try:
    from datatrove.pipeline.base import PipelineStep
except ImportError as error:
    raise ImportError(f'an executor needs datatrove: pip install "scifigqual-bench[distributed]" ({error})') from error

ExecutorKind = Literal["local", "slurm", "ray"]


class ExecutorError(InputError):
    """Options that an executor does not take."""


@dataclass(frozen=True)
class Executor:
    """One of datatrove's executors with its options.

    Attributes:
        kind: ``"local"`` ends when every task has; ``"slurm"`` only submits them; ``"ray"`` waits for its cluster.
        options: Arguments of the executor by name, ``tasks`` among them.
    """

    kind: ExecutorKind
    options: Mapping[str, Any] = field(default_factory=dict)

    def run(self, step: PipelineStep, logs: Path) -> None:
        """Run a step as so many tasks, also those that ended well before; with Slurm, this returns before they do.

        Args:
            step: Its ``run`` gets the number of its task and how many there are.
            logs: Folder of the executor's logs.

        Raises:
            ExecutorError: The options are not the executor's.
        """
        module = importlib.import_module(f"datatrove.executor.{self.kind}")
        executor_type = getattr(module, f"{self.kind.capitalize()}PipelineExecutor")
        try:
            executor = executor_type(pipeline=[step], logging_dir=str(logs), skip_completed=False, **self.options)
        except (TypeError, ValueError) as error:
            raise ExecutorError([f"--executor {self.kind}: {error}"]) from None
        executor.run()
