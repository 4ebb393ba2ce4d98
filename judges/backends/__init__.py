"""Backends: who answers the requests of a protocol. :func:`make_backend` makes one by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends.openai import OpenAIBackend, OpenAIOptions
from scifigqual_bench.judges.backends.transformers import TransformersBackend, TransformersOptions
from scifigqual_bench.judges.backends.vllm import VllmBackend, VllmOptions
from scifigqual_bench.judges.base import Backend
from scifigqual_bench.judges.measure import Measurements, ocr_measurements
from scifigqual_bench.records import Record

if TYPE_CHECKING:
    from scifigqual_bench.blind import BlindModel
    from scifigqual_bench.judges.calibration import Calibration


def _rules(*, measurements: Measurements | None = None, calibration: Calibration | None = None) -> Backend:
    from scifigqual_bench.judges.backends.rules import RulesBackend

    return RulesBackend(measurements or ocr_measurements(), calibration)


def _blind(*, fitted: BlindModel) -> Backend:
    from scifigqual_bench.judges.backends.blind import BlindBackend

    return BlindBackend(fitted)


def _by_record(backend: Callable[[Any], Backend], options: type[Record]) -> Callable[..., Backend]:
    """Makes a backend whose options are a record, from the record's fields."""

    def make(**values: Any) -> Backend:
        try:
            checked = options(**values)
        except ValidationError as error:
            faults = (f"option {'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
            raise InputError(list(faults)) from None
        return backend(checked)

    make.__signature__ = inspect.signature(options)
    return make


BACKENDS: dict[str, Callable[..., Backend]] = {
    "blind": _blind,
    "openai": _by_record(OpenAIBackend, OpenAIOptions),
    "rules": _rules,
    "transformers": _by_record(TransformersBackend, TransformersOptions),
    "vllm": _by_record(VllmBackend, VllmOptions),
}
"""What each name makes; the packages of a backend are imported when it is made or first asked."""


def make_backend(name: str, **options: Any) -> Backend:
    """A backend by name.

    Args:
        name: A key of :data:`BACKENDS`.
        options: Keyword arguments of that backend; for ``rules``, ``measurements`` (a :class:`Measurements`) and
            ``calibration``; for ``blind``, ``fitted`` (a :class:`~scifigqual_bench.blind.BlindModel`).

    Raises:
        InputError: The name or an option is unknown, or a value is none that the option takes.

    >>> make_backend("rules").name
    'rules'
    """
    if name not in BACKENDS:
        raise InputError(f"backend {name!r} is not available; available: {', '.join(sorted(BACKENDS))}")
    known = inspect.signature(BACKENDS[name]).parameters
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise InputError(f"backend {name!r} has no option {', '.join(unknown)}; it has {', '.join(known)}")
    return BACKENDS[name](**options)
