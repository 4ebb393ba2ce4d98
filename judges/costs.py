"""What a run has used, what that costs under the user's prices, and when it has to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from scifigqual_bench.errors import InputError
from scifigqual_bench.records import Prediction, Record, RunUsage

Amount = Annotated[float, Field(ge=0)]


class Price(Record):
    """Price of a million tokens, in the currency of the table."""

    prompt: Amount
    completion: Amount

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Price of so many tokens.

        >>> Price(prompt=2.0, completion=10.0).cost(500_000, 100_000)
        2.0
        """
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


def read_prices(path: Path) -> dict[str, Price]:
    """A price table: YAML (or JSON) that maps a model id to ``prompt`` and ``completion``, per million tokens.

    Raises:
        InputError: The file is no such table.
    """
    try:
        return TypeAdapter(dict[str, Price]).validate_python(yaml.safe_load(path.read_bytes()))
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not YAML ({' '.join(str(error).split())})") from None
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc'])) or 'table'}: {fault['msg']}" for fault in error.errors()]
        form = "expected MODEL: {prompt: NUMBER, completion: NUMBER}, per million tokens"
        raise InputError([f"{path}, {fault}; {form}" for fault in faults]) from None


def price_of(model: str, prices: Mapping[str, Price]) -> Price:
    """The price of a backend's model; of two models (``a + b``) the dearer, so that an estimate is no less than due.

    Raises:
        InputError: The table has no price for it.
    """
    names = model.split(" + ")
    missing = [name for name in names if name not in prices]
    if missing:
        raise InputError(f"the price table has no {', '.join(missing)}; it has {', '.join(prices) or 'nothing'}")
    known = [prices[name] for name in names]
    return Price(prompt=max(price.prompt for price in known), completion=max(price.completion for price in known))


@dataclass(frozen=True)
class Budget:
    """Where a run stops by itself; calls under way at that moment are finished and kept.

    Attributes:
        max_tokens: Prompt and completion tokens of the whole run, over all its sittings.
        max_cost: In the currency of the price table.
    """

    max_tokens: int | None = None
    max_cost: float | None = None

    def exceeded(self, usage: RunUsage) -> str | None:
        """Why the run has to stop now; None where it may go on.

        >>> Budget(max_tokens=100).exceeded(RunUsage(calls=1, prompt_tokens=90, completion_tokens=10))
        'the budget of 100 tokens is used up (100 used)'
        """
        if self.max_tokens is None and self.max_cost is None:
            return None
        if usage.calls_without_usage:
            return "the backend does not tell the tokens of every call, so a budget can't be kept"
        tokens = usage.prompt_tokens + usage.completion_tokens
        if self.max_tokens is not None and tokens >= self.max_tokens:
            return f"the budget of {self.max_tokens} tokens is used up ({tokens} used)"
        if self.max_cost is not None and usage.cost is not None and usage.cost >= self.max_cost:
            return f"the budget of {self.max_cost:g} is used up ({usage.cost:.4f} spent)"
        return None


UNLIMITED = Budget()


def add_usage(usage: RunUsage, row: Prediction, price: Price | None) -> RunUsage:
    """The usage with the calls of another row in it; a call about several figures counts with the first of them.

    A failed call without token counts is not one whose tokens are missing: nothing was answered.
    """
    new, cached, unknown, prompt, completion = 0, 0, 0, 0, 0
    for call in row.calls:
        if call.figures and call.figures[0] != row.figure_id:
            continue
        if call.cached:
            cached += 1
            continue
        new += 1
        told = (call.usage.prompt_tokens, call.usage.completion_tokens)
        unknown += None in told and call.finish_reason != "error"
        prompt += told[0] or 0
        completion += told[1] or 0
    spent = None if price is None else (usage.cost or 0.0) + price.cost(prompt, completion)
    return RunUsage(
        calls=usage.calls + new,
        cached_calls=usage.cached_calls + cached,
        calls_without_usage=usage.calls_without_usage + unknown,
        prompt_tokens=usage.prompt_tokens + prompt,
        completion_tokens=usage.completion_tokens + completion,
        cost=spent,
    )
