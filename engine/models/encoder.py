"""MiniLM on onnxruntime: texts in, unit vectors out.

Each text is run by itself, unpadded. On two cores that costs less CPU than padded batches of 16
or 32, and a vector then depends on its text alone: not on its batch-mates, nor on their order, nor
on the number of threads. For int8 it matters more still, since activations are scaled per run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelUnavailable
from .model_cache import cache_folder, cached_file
from .weights import MODEL_NAME, ModelFiles, find_model_files, read_weights, weights_key

if TYPE_CHECKING:
    from onnx import ModelProto
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MODEL_DIMENSION = 384
MODEL_WINDOW_TOKENS = 254
"""Of the 256 that it was trained on, [CLS] and [SEP] take two."""
_FORMAT = 1
"""Part of the cached file's name: raise it when the graph that is built changes."""
_MAX_THREADS = 4
_VOCABULARY = 30_522


class MiniLmEncoder:
    """all-MiniLM-L6-v2 on onnxruntime; loaded on first use, thread-safe.

    Args:
        quantise: int8 weights: a quarter of the size, about 2.5 times as fast, cosine about .994
            to the exact vector; the two kinds must never be compared with one another.
        threads: threads of one run; by default the processors of this process, four at most.
        environment: where to look for `LOREGRAPH_MINILM` and `LOREGRAPH_CACHE`.
    """

    dimension = MODEL_DIMENSION
    window_tokens = MODEL_WINDOW_TOKENS

    def __init__(
        self,
        *,
        quantise: bool = False,
        threads: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._quantise = quantise
        self._threads = threads
        self._environment = environment
        self._lock = threading.Lock()
        self._loaded: tuple[Tokenizer, InferenceSession] | None = None

    @cached_property
    def identity(self) -> str:
        """Model and precision; vectors of different identities must never be compared.

        Raises:
            ModelUnavailable: the model is not installed.
        """
        files = find_model_files(self._environment)
        name = f"{MODEL_NAME}/{self._precision}"
        return name if files.kind == "safetensors" else f"{name}/{weights_key(files)[:12]}"

    @property
    def _precision(self) -> str:
        return "int8" if self._quantise else "fp32"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32, (len(texts), 384), in input order.

        Only the first 254 tokens of a text are read: cut longer ones with `tokeniser.windows`.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        if texts:
            tokeniser, session = self._parts()
            for row, text in enumerate(texts):
                ids = np.array([tokeniser.encode(text).ids], dtype=np.int32)
                vectors[row] = session.run(["vectors"], {"ids": ids})[0][0]
        return vectors

    def _parts(self) -> tuple[Tokenizer, InferenceSession]:
        with self._lock:
            if self._loaded is None:
                files = find_model_files(self._environment)
                self._loaded = (_load_tokeniser(files), self._session(files))
            return self._loaded

    def _session(self, files: ModelFiles) -> InferenceSession:
        key = weights_key(files)[:16]
        name = f"minilm-{key}-v{_FORMAT}-{self._precision}.onnx"
        folder = cache_folder(self._environment)
        model = cached_file(name, lambda: _model_bytes(files, self._quantise), folder=folder)
        return _open_session(model if isinstance(model, bytes) else str(model), self._threads)


def _load_tokeniser(files: ModelFiles) -> Tokenizer:
    from .tokeniser import read_tokeniser

    tokeniser = read_tokeniser(files.tokeniser)
    if tokeniser.get_vocab_size() != _VOCABULARY:
        raise ModelUnavailable(
            f"{str(files.tokeniser)!r} has {tokeniser.get_vocab_size()} words, "
            f"{MODEL_NAME} has {_VOCABULARY}: it belongs to another model"
        )
    tokeniser.enable_truncation(MODEL_WINDOW_TOKENS + 2)
    return tokeniser


def _open_session(model: str | bytes, threads: int | None) -> InferenceSession:
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as failures

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or min(_processors(), _MAX_THREADS)
    options.inter_op_num_threads = 1
    # A spinning worker burns a core while it waits and makes CPU seconds lie.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except (
        failures.Fail,
        failures.InvalidGraph,
        failures.InvalidProtobuf,
        failures.NoSuchFile,
        failures.NotImplemented,
        failures.RuntimeException,
    ) as error:
        where = "the model built in memory" if isinstance(model, bytes) else repr(model)
        raise ModelUnavailable(
            f"onnxruntime cannot load {where}: {error}; if it is a cached file, delete it"
        ) from error


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _model_bytes(files: ModelFiles, quantise: bool) -> bytes:
    model = _build(files)
    return _quantised(model) if quantise else bytes(model.SerializeToString(deterministic=True))


def _build(files: ModelFiles) -> ModelProto:
    from .bert import graph_from_export, graph_from_tensors

    content = read_weights(files)
    if files.kind == "safetensors":
        from safetensors.numpy import load

        return graph_from_tensors(load(content))
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # no stubs

    try:
        return graph_from_export(onnx.load_model_from_string(content))
    except (DecodeError, IndexError, ValueError) as error:
        raise ModelUnavailable(
            f"{str(files.weights)!r} is not the model hub's ONNX export of {MODEL_NAME}: {error}"
        ) from error


def _quantised(model: ModelProto) -> bytes:
    """Weights as int8, one scale a column (one scale a matrix ranks measurably worse)."""
    import tempfile
    from pathlib import Path

    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # The mark says that shapes need no inference; unmarked, the quantiser configures root logging.
    mark = model.metadata_props.add()
    mark.key, mark.value = "onnx.quant.pre_process", "onnxruntime.quant"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "int8.onnx"
        quantize_dynamic(
            model,
            path,
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )
        return path.read_bytes()
