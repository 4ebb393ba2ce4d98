"""When a call may go out, and when it may go out again: rates, waiting and retries, as arithmetic on times."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

TRANSIENT_STATUSES = frozenset({408, 409, 429})
"""HTTP statuses after which the same request may well succeed; so may it after any 5xx."""
LONGEST_BACKOFF = 60.0
"""Seconds between two attempts at most, where the server does not ask for more."""


class Pace:
    """Spreads what is spent evenly over time: at most ``per_minute`` units a minute, without bursts.

    >>> pace = Pace(per_minute=60)
    >>> [pace.reserve(1, now=0.0), pace.reserve(1, now=0.0), pace.reserve(1, now=5.0)]
    [0.0, 1.0, 0.0]
    """

    def __init__(self, per_minute: float | None):
        self._seconds_per_unit = 60.0 / per_minute if per_minute else 0.0
        self._free_at = 0.0

    def reserve(self, amount: float, now: float) -> float:
        """Take ``amount`` units; returns the seconds to wait before they may be used. A negative amount gives back."""
        start = max(now, self._free_at)
        self._free_at = start + amount * self._seconds_per_unit
        return start - now


def is_transient(status: int) -> bool:
    """Whether a request that got this HTTP status is worth sending again.

    >>> [is_transient(status) for status in (429, 503, 400, 422)]
    [True, True, False, False]
    """
    return status in TRANSIENT_STATUSES or status >= 500


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a server asks to wait by ``Retry-After``, as a number or a date; None where it does not ask.

    Some servers add the exact time as ``retry-after-ms``, which then counts.

    >>> retry_after({"retry-after": "1", "retry-after-ms": "250"})
    0.25
    >>> retry_after({"retry-after": "7.5"})
    7.5
    >>> retry_after({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, datetime(1994, 11, 6, 8, 49, tzinfo=UTC))
    37.0
    """
    for name, seconds in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "")
        if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text):
            return float(text) * seconds
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max((date - (now or datetime.now(UTC))).total_seconds(), 0.0)


def backoff(attempt: int, base: float, jitter: random.Random) -> float:
    """Seconds before the attempt after ``attempt`` (from 0): doubling, of which half is by chance.

    The chance keeps calls that failed together from coming back together.
    """
    return min(base * 2**attempt, LONGEST_BACKOFF) * jitter.uniform(0.5, 1.0)
