"""`evaluate` modules, one folder each. Installed as ``scifigqual_bench.metrics``."""

from __future__ import annotations

from pathlib import Path


def metric_path(name: str) -> str:
    """Folder of an installed metric, for ``evaluate.load``.

    Args:
        name: Name of the metric, for example ``"scifigqual"``.

    Raises:
        ValueError: There is no such metric; the message lists those that there are.

    >>> metric_path("scifigqual").endswith("scifigqual")
    True
    """
    root = Path(__file__).resolve().parent
    known = sorted(path.parent.name for path in root.glob("*/*.py") if path.stem == path.parent.name)
    if name not in known:
        raise ValueError(f"no metric {name!r}; there are {', '.join(known)}")
    return str(root / name)
