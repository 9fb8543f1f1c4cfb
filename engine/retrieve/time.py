"""Time decay of older documents.

Ages are measured from the newest document that may be seen, not from today: the same library and
question give the same answer on any day. Knows dates as text and nothing of where they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from .fuse import Scores

_SECONDS_A_DAY = 86_400.0


def time_decay(dates: Sequence[object], *, half_life_days: float) -> Scores:
    """Return 0.5 ** (age / half life) for each date, `(n)`: 1 for the newest.

    `dates` are ISO 8601 text ("2024", "2024-03", "2024-03-05", with a time or without), of which
    what says no time zone is UTC. What has no date, or none that can be read, counts as old as the
    oldest that has one: nothing is known for it. Where none has a date all are 1.

    Raises:
        ValueError: a half life of nil or less.
    """
    if not half_life_days > 0:
        raise ValueError(f"half_life_days must be above 0, not {half_life_days}")
    days = np.array([_day(date) for date in dates], dtype=np.float64)
    known = days[~np.isnan(days)]
    if not known.size:
        return np.ones(days.size)
    ages = known.max() - np.where(np.isnan(days), known.min(), days)
    return np.asarray(0.5 ** (ages / half_life_days))


def _day(date: object) -> float:
    """Days since 1970, NaN where there is no date to be read."""
    text = date.strip() if isinstance(date, str) else str(date) if isinstance(date, int) else ""
    for ending in ("", "-01", "-01-01"):
        try:
            read = datetime.fromisoformat(text + ending)
        except ValueError:
            continue
        aware = read if read.tzinfo is not None else read.replace(tzinfo=UTC)
        return (aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / _SECONDS_A_DAY
    return float("nan")
