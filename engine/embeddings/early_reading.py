"""Early reading: of texts that are read for a question only those near the best are read whole.

Each text is read in stages, behind each of which a logit is foretold; one that lies far below the
best is left there (Xin et al., "Early Exiting BERT for Efficient Document Ranking", 2020). For the
bundled cross-encoder it is a linear function of the states behind some layers: that of the whole,
the mean of the question's and that of the text's. Its weights are fitted by
`tests/benchmarks/fit_early.py` to the last layer's logits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .bundled import map_threads
from .span_reading import Reading, unread_text

STATES = 384
LOGITS = (-6.0, 8.0)
"""Bounds of the logits that are foretold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Layers behind which texts are left.

    Attributes:
        output: name of the last one's states in the model's graph.
        far: logits that a text lies below the best one, from which it is left.
    """

    output: str
    far: float


STAGES = (
    Stage(output="/bert/encoder/layer.2/output/LayerNorm/Add_1_output_0", far=4.5),
    Stage(output="/bert/encoder/layer.5/output/LayerNorm/Add_1_output_0", far=2.5),
)
"""Of 2,292 texts read for 118 questions on three libraries these leave out .38 of the layers; of
386 calls the best text of one is left. A second 1.6 would leave out .43, and the best of six."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Text that was read by some stages, and the logit that they foretell."""

    stages: int = 0
    logit: float = -np.inf


One = TypeVar("One", bound=Begun)


def read_near(
    texts: Sequence[str],
    known: MutableMapping[str, One | Reading],
    read_on: Callable[[One], One | Reading],
    *,
    far: Sequence[float],
    threads: int,
) -> list[Reading]:
    """Return a reading of each text, in input order; those far below the best are left.

    A text that is left has the logit that was foretold, and no words that may be the answer.

    Args:
        texts: texts that are to be read.
        known: texts as far as they were read, begun at least; changed as they are read on.
        read_on: reads a text by its next stage, behind the last one to its end.
        far: logits below the best text of each stage, from which a text is left.
        threads: texts that are read at once.
    """
    found = {text: known[text] for text in texts}
    for stage in range(len(far) + 1):
        near = _near(found, stage, far)
        read = map_threads(read_on, list(near.values()), threads=threads)
        for text, one in zip(near, read, strict=True):
            found[text] = known[text] = one
    best = max((one.logit for one in found.values() if isinstance(one, Reading)), default=0.0)
    return [_reading(found[text], best, far) for text in texts]


def _near(found: Mapping[str, One | Reading], stage: int, far: Sequence[float]) -> dict[str, One]:
    """Return the texts of a stage that are not far below the best one, by text."""
    at = {
        text: one
        for text, one in found.items()
        if not isinstance(one, Reading) and one.stages == stage
    }
    if not stage or not at:
        return at
    read = (one.logit for one in found.values() if isinstance(one, Reading))
    least = max(*(one.logit for one in at.values()), *read, -np.inf) - far[stage - 1]
    return {text: one for text, one in at.items() if one.logit >= least}


def _reading(one: Begun | Reading, best: float, far: Sequence[float]) -> Reading:
    """Return the reading of a text, left where it was far below one that is read as `best`."""
    if isinstance(one, Reading):
        return one
    return unread_text(min(one.logit, best - far[one.stages - 1]))


def foretold(stage: int, states: NDArray[np.float32], types: NDArray[np.int64]) -> float:
    """Return the logit that the states behind a stage foretell (see `features`)."""
    weights = _weights()[:, stage]
    return float(features(states, types) @ weights[:-1] + weights[-1])


def features(states: NDArray[np.float32], types: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the states of the whole, the question and the text, in one row.

    `states` are (tokens, 384), `types` 0 for the tokens of the question and 1 for those of the
    text.
    """
    means = (states[types == one].mean(axis=0, dtype=np.float64) for one in (0, 1))
    return np.concatenate([states[0], *means])


@cache
def _weights() -> NDArray[np.float64]:
    """Read the weights: a row for each state, the last the constants; a column for each stage."""
    text = (files(__package__) / "early_weights.txt").read_text(encoding="ascii")
    return np.array([row.split() for row in text.splitlines()], dtype=np.float64)
