"""Usage, prices, budgets and limits of rate."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends.limits import LONGEST_BACKOFF, Pace, backoff, retry_after
from scifigqual_bench.judges.costs import Budget, Price, add_usage, price_of, read_prices
from scifigqual_bench.records import CallRecord, Prediction, RunUsage, Usage

PRICE = Price(prompt=2.0, completion=10.0)


def call(prompt: int | None, completion: int | None, **fields: object) -> CallRecord:
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion)
    return CallRecord(role="direct", finish_reason=fields.pop("finish_reason", "stop"), usage=usage, **fields)


def row(*calls: CallRecord, figure_id: str = "p__fig0001") -> Prediction:
    return Prediction(figure_id=figure_id, calls=list(calls))


def test_usage_sums_what_was_spent_and_counts_what_is_not_known() -> None:
    calls = [call(100, 10), call(50, 5, cached=True), call(None, 3), call(None, None, finish_reason="error")]
    usage = add_usage(add_usage(RunUsage(), row(*calls), PRICE), row(call(900, 90)), PRICE)
    counts = {"calls": 4, "cached_calls": 1, "calls_without_usage": 1, "prompt_tokens": 1000, "completion_tokens": 103}
    assert usage.model_dump(exclude={"cost"}) == counts
    assert usage.cost == pytest.approx((1000 * 2 + 103 * 10) / 1e6)
    assert add_usage(RunUsage(), row(*calls), None).cost is None


def test_a_call_about_several_figures_counts_once() -> None:
    shared = call(100, 10, figures=["p__fig0001", "p__fig0002"])
    first, second = row(shared, figure_id="p__fig0001"), row(shared, call(7, 1), figure_id="p__fig0002")
    usage = add_usage(add_usage(RunUsage(), first, None), second, None)
    assert usage == RunUsage(calls=2, prompt_tokens=107, completion_tokens=11)


def test_budgets() -> None:
    spent = RunUsage(calls=1, prompt_tokens=600, completion_tokens=400, cost=0.5)
    assert Budget().exceeded(spent) is None
    assert Budget(max_tokens=1001, max_cost=0.51).exceeded(spent) is None
    assert "1000 tokens" in Budget(max_tokens=1000).exceeded(spent)
    assert "budget of 0.5 is used up" in Budget(max_cost=0.5).exceeded(spent)
    unknown = spent.model_copy(update={"calls_without_usage": 1})
    assert "can't be kept" in Budget(max_tokens=10**9).exceeded(unknown)
    assert Budget().exceeded(unknown) is None


def test_a_price_table(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("a: {prompt: 1, completion: 2.5}\nb/c: {prompt: 0.5, completion: 4}\n")
    prices = read_prices(path)
    assert price_of("a", prices) == Price(prompt=1.0, completion=2.5)
    assert price_of("a + b/c", prices) == Price(prompt=1.0, completion=4.0)
    with pytest.raises(InputError, match="the price table has no d; it has a, b/c"):
        price_of("a + d", prices)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: {prompt: 1}", "a.completion: Field required"),
        ("a: {prompt: -1, completion: 2}", "a.prompt: Input should be greater than or equal to 0"),
        ("a: {prompt: .nan, completion: 2}", "a.prompt: Input should be a finite number"),
        ("a: {prompt: true, completion: 2}", "a.prompt: Input should be a valid number"),
        ("- 1", "table: Input should be a valid dictionary"),
        ("a: {", "not YAML"),
    ],
)
def test_a_bad_price_table_is_told(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"prices\.yaml") as error:
        read_prices(path)
    assert fault in str(error.value)


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(0, 50)), max_size=40), st.floats(1, 1000))
def test_no_minute_takes_more_than_the_pace(spends: list[tuple[float, int]], per_minute: float) -> None:
    pace, now, used = Pace(per_minute), 0.0, []
    for gap, amount in spends:
        now += gap
        used.append((now + pace.reserve(amount, now), amount))
    for start, _ in used:
        window = [amount for at, amount in used if start <= at < start + 60]
        # The last one may begin at the window's end; what it takes counts towards the next minute.
        assert sum(window[:-1]) <= per_minute * (1 + 1e-9)


def test_no_limit_never_waits() -> None:
    assert [Pace(None).reserve(100, 5.0) for _ in range(3)] == [0.0] * 3


@pytest.mark.parametrize("text", ["", "soon", "Mon, 99 Foo", "nan", "inf"])
def test_an_unreadable_retry_after_is_none(text: str) -> None:
    assert retry_after({"retry-after": text}) is None
    assert retry_after({}) is None


@given(st.integers(0, 40), st.integers())
def test_backoff_grows_within_its_bounds(attempt: int, seed: int) -> None:
    seconds = backoff(attempt, 1.0, random.Random(seed))
    full = min(2.0**attempt, LONGEST_BACKOFF)
    assert full / 2 <= seconds <= full
