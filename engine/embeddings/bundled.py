"""The bundled English embedding: bge-small-en-v1.5 on onnxruntime.

The file is the model hub's graph with int8 weights (inputs `input_ids`, `attention_mask`,
`token_type_ids`, int64, texts × tokens; output `last_hidden_state`, float32, texts × tokens × 384).
A vector is the first token's state, L2-normalised, as the model's card says (Xiao et al., "C-Pack",
2023). Each text is run by itself, unpadded: int8 activations are scaled once a run, so a vector
depends on its text alone, not on its batch, their order or the number of threads.

The weights lie between −64 and 64, so that a product of unsigned activations and signed weights
never saturates: processors with AVX2, AVX-512 or VNNI give equal bits; older ones, which round
elsewhere, cosines of .998 to those.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelUnavailable
from .model_files import EMBEDDING, FETCH_COMMAND, model_file
from .tokenizer import read_tokeniser
from .wrappers import LocalEmbedding

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MODEL_NAME = EMBEDDING.name
MODEL_DIMENSION = 384
MODEL_WINDOW_TOKENS = 510
"""Of the 512 that it reads, [CLS] and [SEP] take two."""
_MAX_THREADS = 4
REMEMBERED_QUESTIONS = 16
"""Questions whose vectors are remembered: each is embedded for its scope and for the search."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class OnnxEncoder:
    """The bundled English encoder; loaded on first use, thread-safe.

    Args:
        threads: texts that are read at once, each by one thread; by default the processors of this
            process, four at most.
        environment: where to look for `LOREGRAPH_MODELS`.
    """

    dimension = MODEL_DIMENSION
    window_tokens = MODEL_WINDOW_TOKENS
    identity = f"{MODEL_NAME}/int8"

    def __init__(
        self, *, threads: int | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._threads = threads or thread_count()
        self._environment = environment
        self._lock = threading.Lock()
        self._loaded: tuple[Tokenizer, InferenceSession] | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32, (len(texts), 384), in input order.

        Only the first 510 tokens of a text are read: cut longer ones with
        `tokenizer.split_windows`.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        if texts:
            self._parts()
            for row, vector in enumerate(map_threads(self._embed, texts, threads=self._threads)):
                vectors[row] = vector
        return vectors

    def _embed(self, text: str) -> NDArray[np.float32]:
        tokeniser, session = self._parts()
        ids = np.array([tokeniser.encode(text).ids], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        state = session.run(["last_hidden_state"], inputs)[0][0, 0]
        return np.asarray(state / np.linalg.norm(state), dtype=np.float32)

    def _parts(self) -> tuple[Tokenizer, InferenceSession]:
        with self._lock:
            if self._loaded is None:
                tokeniser = read_tokeniser(
                    model_file(EMBEDDING, "tokenizer.json", self._environment)
                )
                tokeniser.enable_truncation(MODEL_WINDOW_TOKENS + 2)
                model = model_file(EMBEDDING, "model.onnx", self._environment)
                self._loaded = (tokeniser, open_session(str(model)))
            return self._loaded


class BundledEmbedding(LocalEmbedding):
    """bge-small-en-v1.5 without torch, key or network; unit vectors of 384.

    Cheap to construct; the model loads at the first text. A vector depends on its text alone.
    Only the first 510 tokens of a text are read: longer ones are embedded in windows
    (`tokenizer.split_windows`). Questions want the model's prefix (`wrappers.with_prefixes`).
    """

    def __init__(
        self,
        *,
        embed_batch_size: int = 32,
        threads: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(model_name=MODEL_NAME, embed_batch_size=embed_batch_size)
        self._encoder = OnnxEncoder(threads=threads, environment=environment)
        self._question = lru_cache(maxsize=REMEMBERED_QUESTIONS)(self._embed_question)

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return MODEL_DIMENSION

    @property
    def window_tokens(self) -> int:
        """Tokens of a text that the model reads."""
        return MODEL_WINDOW_TOKENS

    @property
    def identity(self) -> str:
        """Model and precision; vectors of different identities must never be compared."""
        return self._encoder.identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32, (len(texts), 384), in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        return self._encoder.embed(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return list(self._question(query))

    def _embed_question(self, query: str) -> tuple[float, ...]:
        return tuple(self.embed([query])[0].tolist())


def map_threads(
    run: Callable[[_Item], _Result], items: Sequence[_Item], *, threads: int
) -> list[_Result]:
    """Return `run` of each item, in input order; several at once where there are several."""
    if min(threads, len(items)) < 2:
        return [run(item) for item in items]
    with ThreadPoolExecutor(max_workers=min(threads, len(items))) as pool:
        return list(pool.map(run, items))


def open_session(model: str | bytes) -> InferenceSession:
    """Open an ONNX graph, a file or its bytes, on one thread of the processor.

    Two threads of one run cost a quarter more processor time than two runs side by side. Sums are
    normalised by two operators: onnxruntime's joint one takes a tenth of a whole run more.

    Raises:
        ModelUnavailable: onnxruntime cannot load the file.
    """
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as failures

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            model,
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=["SkipLayerNormFusion"],
        )
    except (
        failures.Fail,
        failures.InvalidGraph,
        failures.InvalidProtobuf,
        failures.NoSuchFile,
        failures.NotImplemented,
        failures.RuntimeException,
    ) as error:
        name = repr(model) if isinstance(model, str) else "the bundled model"
        raise ModelUnavailable(
            f"onnxruntime cannot load {name}: {error}; run `{FETCH_COMMAND}`"
        ) from error


def thread_count() -> int:
    """Return the processors of this process, four at most."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _MAX_THREADS)
    return min(os.cpu_count() or 1, _MAX_THREADS)
