"""Hugging Face ``Features`` derived from the records, so that no column is written down twice."""

from __future__ import annotations

import types
import typing
from typing import Any

from datasets import Features, Image, List, Value
from pydantic import BaseModel

from scifigqual_bench.records import Figure

_SCALARS = {str: "string", int: "int64", float: "float64", bool: "bool"}


def feature_of(annotation: Any) -> Any:
    """The feature that stores a value of a type annotation.

    Optional types keep the feature of their value: every column of a Parquet file is nullable. Floats are float64,
    for ``float32`` turns 3.3 into 3.29999995.

    Raises:
        TypeError: The annotation has no counterpart (dictionaries with free keys, unions).

    >>> feature_of(list[float] | None)
    List(Value('float64'))
    """
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return feature_of(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        rest = [arg for arg in typing.get_args(annotation) if arg is not type(None)]
        if len(rest) == 1:
            return feature_of(rest[0])
    if origin is typing.Literal:
        kinds = {type(value) for value in typing.get_args(annotation)}
        if len(kinds) == 1:
            return feature_of(kinds.pop())
    if origin is list:
        return List(feature_of(typing.get_args(annotation)[0]))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return features_of(annotation)
    if annotation in _SCALARS:
        return Value(_SCALARS[annotation])
    raise TypeError(f"no dataset feature for {annotation!r}")


def features_of(record: type[BaseModel]) -> dict[str, Any]:
    """The features of a record's fields, in their order."""
    hints = typing.get_type_hints(record, include_extras=True)
    return {name: feature_of(hints[name]) for name in record.model_fields}


def dataset_features() -> Features:
    """Columns of the dataset: the ``image`` and every field of :class:`~scifigqual_bench.records.Figure`."""
    columns = features_of(Figure)
    return Features({"figure_id": columns.pop("figure_id"), "image": Image(), **columns})
