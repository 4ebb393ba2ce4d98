"""Croissant metadata of a dataset folder (MLCommons Croissant 1.0): files with their hashes, and typed columns.

Reading the data by it: ``mlcroissant.Dataset("scifigqual-bench/croissant.json").records("rated")``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Image, List, Value

from scifigqual_bench.dataset.schema import dataset_features

CROISSANT = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
_TYPES = {"string": "sc:Text", "int64": "sc:Integer", "float64": "sc:Float", "bool": "sc:Boolean"}

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The prefixes and terms that the format prescribes."""


def croissant(
    name: str, version: str, licence: str | None, files: Mapping[str, Sequence[tuple[Path, str]]]
) -> dict[str, Any]:
    """The metadata as JSON-LD.

    Args:
        name: Name of the dataset.
        version: Its version.
        licence: As the card states it; None where it states none.
        files: By split, the shards and their SHA-256, with paths relative to the folder.

    Returns:
        A dictionary for ``json.dump``. Fields that hold records in a list (``citations``, ``ratings``) and the measured
        features are left to the Parquet schema: the format has no nested tables.
    """
    document: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": name,
        "description": "Figures of scientific papers with captions, citing paragraphs and ratings on five dimensions, "
        "for judging scientific figures in their manuscript.",
        "version": version,
        "distribution": [
            *(_file(path, sha256) for shards in files.values() for path, sha256 in shards),
            *(_shards(split) for split in files),
        ],
        "recordSet": [_records(split) for split in files],
    }
    if licence is not None:
        document["license"] = licence
    return document


def _file(path: Path, sha256: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path.as_posix(),
        "name": path.name,
        "contentUrl": path.as_posix(),
        "encodingFormat": "application/x-parquet",
        "sha256": sha256,
    }


def _shards(split: str) -> dict[str, Any]:
    """The shards of a split as one source of records."""
    return {
        "@type": "cr:FileSet",
        "@id": f"{split}-shards",
        "name": f"{split}-shards",
        "encodingFormat": "application/x-parquet",
        "includes": f"data/{split}-*.parquet",
    }


def _records(split: str) -> dict[str, Any]:
    features = dataset_features()
    fields = (_field(split, column, feature) for column, feature in features.items())
    scores = (_field(split, "gold", feature, part) for part, feature in features["gold"].items())
    return {
        "@type": "cr:RecordSet",
        "@id": split,
        "name": split,
        "key": {"@id": f"{split}/figure_id"},
        "field": [field for field in (*fields, *scores) if field is not None],
    }


def _field(split: str, column: str, feature: Any, part: str | None = None) -> dict[str, Any] | None:
    """A column, or a part of the records in it; None where the format can't tell its type."""
    source: dict[str, Any] = {"fileSet": {"@id": f"{split}-shards"}, "extract": {"column": column}}
    name = column
    if part is not None:
        source["transform"] = {"jsonPath": part}
        name = f"{column}.{part}"
    field = {"@type": "cr:Field", "@id": f"{split}/{name}", "name": name, "source": source}
    match feature:
        case Image():
            return {**field, "dataType": "sc:ImageObject", "source": {**source, "transform": {"jsonPath": "bytes"}}}
        case Value():
            return {**field, "dataType": _TYPES[feature.dtype]}
        case List(feature=Value() as item):
            return {**field, "dataType": _TYPES[item.dtype], "repeated": True}
    return None


def write_croissant(stage: Path, document: Mapping[str, Any]) -> None:
    """Write the metadata into a dataset folder."""
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (stage / CROISSANT).write_text(text + "\n", encoding="utf-8")
