"""Paired comparison of two evaluations, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SourceError
from .retrieval import RetrievalReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean difference and its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Check whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    @property
    def is_nil(self) -> bool:
        """Check whether no question differs."""
        return self.mean == self.low == self.high == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Gain of `label` over `against`, by measure; positive is better."""

    label: str
    against: str
    gains: Mapping[str, Interval]


def compare(report: RetrievalReport, against: RetrievalReport) -> Comparison:
    """Compare two evaluations in every measure that both have.

    Raises:
        SourceError: they asked different questions.
    """
    if report.query_ids != against.query_ids:
        raise SourceError(f"{report.label!r} and {against.label!r} were asked different questions")
    return Comparison(
        label=report.label,
        against=against.label,
        gains={
            name: paired_bootstrap(values, against.by_query[name])
            for name, values in report.by_query.items()
            if name in against.by_query
        },
    )


def paired_bootstrap(
    values: Sequence[float],
    against: Sequence[float],
    *,
    resamples: int = 2_000,
    seed: int = 20240601,
) -> Interval:
    """Return the mean of `values` − `against` (n each.

    By question) and its 95 % percentile interval.

    Questions are resampled with both their values (Efron and Tibshirani 1993, chapter 13); the same
    input and seed give the same interval.

    Raises:
        ValueError: there is nothing to compare, or not one value for each question in both.
    """
    differences = np.asarray(values, dtype=np.float64) - np.asarray(against, dtype=np.float64)
    if not differences.size or len(values) != len(against):
        raise ValueError(f"{len(values)} and {len(against)} values cannot be compared")
    random = np.random.default_rng(seed)
    chosen = random.integers(0, differences.size, (resamples, differences.size))
    low, high = np.percentile(differences[chosen].mean(axis=1), [2.5, 97.5])
    return Interval(mean=float(differences.mean()), low=float(low), high=float(high))
