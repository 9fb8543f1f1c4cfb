"""Span reading: where in a text the answer to a question begins and ends.

Linear probe over the hidden states of one layer of the bundled cross-encoder: the layer has to know
which words are asked for to tell whether a text answers. Its weights, 384 for the begin and as many
for the end, are fitted by `tests/benchmarks/fit_reader.py` to exact spans of SQuAD 2.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LAYER_OUTPUT = "/bert/encoder/layer.8/output/LayerNorm/Add_1_output_0"
"""Name of the layer's states in the model's graph."""
LEAST = -12.0
"""Log-probability of a place that was not read."""
LONGEST_TOKENS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Text as it was read: its logit, and for each token its place and log-probabilities.

    `begins` and `ends` are of the answer's beginning and ending with that token, over the text.
    """

    logit: float
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    begins: Floats
    ends: Floats

    def span(self, start: int, end: int) -> float:
        """Return the log-probability of the answer `text[start:end]`."""
        first = np.flatnonzero((self.starts <= start) & (start < self.stops))
        last = np.flatnonzero((self.starts < end) & (end <= self.stops))
        if not first.size or not last.size:
            return 2 * LEAST
        return float(max(self.begins[first[0]], LEAST) + max(self.ends[last[-1]], LEAST))

    def best(self) -> float:
        """Return the log-probability of the likeliest span of at most `LONGEST_TOKENS`."""
        if not self.begins.size:
            return 2 * LEAST
        ends = np.append(self.ends, np.full(LONGEST_TOKENS, 2 * LEAST))
        behind = np.lib.stride_tricks.sliding_window_view(ends, LONGEST_TOKENS)
        return float((self.begins + behind[: self.begins.size].max(axis=1)).max())


def read_states(logit: float, states: NDArray[np.float32], offsets: NDArray[np.int64]) -> Reading:
    """Return the reading of the tokens of a text by their states (tokens, 384)."""
    odds = states.astype(np.float64) @ _weights()[:-1] + _weights()[-1]
    if odds.size:
        top = odds.max(axis=0)
        odds = odds - top - np.log(np.exp(odds - top).sum(axis=0))
    return Reading(
        logit=logit, starts=offsets[:, 0], stops=offsets[:, 1], begins=odds[:, 0], ends=odds[:, 1]
    )


def unread_text(logit: float) -> Reading:
    """Return what is known of a text that was not read to its end: its logit."""
    none, nowhere = np.empty(0), np.empty(0, dtype=np.int64)
    return Reading(logit=logit, starts=nowhere, stops=nowhere, begins=none, ends=none)


@cache
def _weights() -> Floats:
    """Read the probe: a row for each state, the last the constants; columns begin and end."""
    text = (files(__package__) / "span_weights.txt").read_text(encoding="ascii")
    return np.array([row.split() for row in text.splitlines()], dtype=np.float64)
