"""The scoring of two companion benchmarks: ScholScan (SPEC 12) and SciRIGOR (SPEC 13).

Files of records in, numbers out. The tasks themselves (making items, running models, executing analyses) build on the
same records.
"""

from __future__ import annotations

from pathlib import Path


def example_path(task: str) -> Path:
    """The small example file of a task, made for this project.

    Args:
        task: ``"scholscan"`` or ``"scirigor"``.

    Raises:
        ValueError: There is no such task; the message lists those that there are.

    >>> example_path("scholscan").name
    'scholscan.jsonl'
    """
    files = {path.stem: path for path in (Path(__file__).parent / "examples").iterdir()}
    if task not in files:
        raise ValueError(f"no example for {task!r}; there are {', '.join(sorted(files))}")
    return files[task]
