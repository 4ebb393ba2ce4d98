"""networkx, or a message that says how to get it."""

from __future__ import annotations

try:
    import networkx as nx
except ModuleNotFoundError as error:
    raise ImportError(
        'evidence chains need networkx, which is not installed: pip install "scifigqual-bench[companions]"'
    ) from error

__all__ = ["nx"]
