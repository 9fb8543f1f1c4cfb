"""Statistics of evaluations: intervals, paired tests, corrections and agreement; pure functions.

All are deterministic: resampling has a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from .retrieval import Interval, paired_bootstrap

RESAMPLES = 5_000
SEED = 20240601
_TWO_SIDED, _POWER = 1.959964, 0.841621
"""Normal quantiles of 97.5 % and of a power of 80 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A measure's paired difference with its interval and test.

    `p` is of a two-sided sign-flip test, or McNemar's where all values are 0 or 1; `p_holm` is
    corrected over the family of measures that decide, and None outside of it. `detectable` is the
    difference that `n` questions show with a power of 80 %.
    """

    measure: str
    n: int
    interval: Interval
    p: float
    p_holm: float | None
    detectable: float

    @property
    def is_clear(self) -> bool:
        """Check whether the corrected test rejects that there is no difference."""
        return self.p_holm is not None and self.p_holm < 0.05


def mean_interval(values: Sequence[float]) -> Interval:
    """Return a mean with its 95 % bootstrap interval; nil without values."""
    if not values:
        return Interval(mean=0.0, low=0.0, high=0.0)
    return paired_bootstrap(values, [0.0] * len(values))


def mcnemar(values: Sequence[float], against: Sequence[float]) -> float:
    """Return the exact two-sided p of McNemar's test for paired 0 and 1 (binomial)."""
    better = sum(one > other for one, other in zip(values, against, strict=True))
    worse = sum(one < other for one, other in zip(values, against, strict=True))
    if not better + worse:
        return 1.0
    return float(binomtest(better, better + worse).pvalue)


def sign_flip(values: Sequence[float], against: Sequence[float]) -> float:
    """Return the two-sided p of a paired permutation test on the mean difference."""
    differences = np.asarray(values, dtype=np.float64) - np.asarray(against, dtype=np.float64)
    differences = differences[differences != 0]
    if not differences.size:
        return 1.0
    signs = np.random.default_rng(SEED).choice((-1.0, 1.0), (RESAMPLES, differences.size))
    observed = abs(differences.sum())
    reached = np.abs((signs * differences).sum(axis=1)) >= observed - 1e-12
    return float((reached.sum() + 1) / (RESAMPLES + 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected for their number (Holm 1979), in the order given."""
    order = sorted(range(len(p_values)), key=lambda n: p_values[n])
    corrected, highest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return corrected


def detectable(values: Sequence[float], against: Sequence[float]) -> float:
    """Return the smallest mean difference that this many pairs show, at 5 % and a power of 80 %."""
    if len(values) < 2:
        return 1.0
    spread = float(np.std(np.asarray(values) - np.asarray(against), ddof=1))
    return min(1.0, (_TWO_SIDED + _POWER) * spread / math.sqrt(len(values)))


def compare_measures(
    pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, family: Collection[str]
) -> tuple[Difference, ...]:
    """Compare measures of two runs, each with its values in the same order of questions.

    Only measures of `family` are decided on, corrected for their number; the others are shown.
    """
    tests = {}
    for name, (values, against) in pairs.items():
        binary = {*values, *against} <= {0.0, 1.0}
        tests[name] = (mcnemar if binary else sign_flip)(values, against)
    deciding = [name for name in pairs if name in family]
    corrected = dict(zip(deciding, holm([tests[name] for name in deciding]), strict=True))
    return tuple(
        Difference(
            measure=name,
            n=len(values),
            interval=paired_bootstrap(values, against),
            p=tests[name],
            p_holm=corrected.get(name),
            detectable=detectable(values, against),
        )
        for name, (values, against) in pairs.items()
    )


def kappa(one: Sequence[bool], other: Sequence[bool]) -> float:
    """Return Cohen's κ of two judges; 1 where both always say the same thing."""
    n = len(one)
    if not n:
        return 0.0
    agreed = sum(a == b for a, b in zip(one, other, strict=True)) / n
    yes, also = sum(one) / n, sum(other) / n
    chance = yes * also + (1 - yes) * (1 - also)
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def balanced_accuracy(gold: Sequence[bool], said: Sequence[bool]) -> float:
    """Return the mean of the shares of true and of false cases that were judged right."""
    shares = []
    for value in (True, False):
        some = [b == value for a, b in zip(gold, said, strict=True) if a == value]
        if some:
            shares.append(sum(some) / len(some))
    return sum(shares) / len(shares) if shares else 0.0


def risk_coverage(cases: Sequence[tuple[float, bool]]) -> float:
    """Return the area under the risk–coverage curve: mean error when the surest come first.

    `cases` are confidences with whether the answer was right; equal confidences keep their order.
    """
    wrong, total = 0, 0.0
    for n, (_, right) in enumerate(sorted(cases, key=lambda case: -case[0]), start=1):
        wrong += not right
        total += wrong / n
    return total / len(cases) if cases else 0.0
