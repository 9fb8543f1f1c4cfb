from __future__ import annotations

import subprocess
import sys

import pytest

from engine.config import EmbeddingSettings, LlmSettings
from engine.errors import EngineError, ModelUnavailable, SettingsError
from engine.llm.response import identity_of
from engine.providers.factory import build_embedding, build_llm

_LOCAL = "http://127.0.0.1:9/v1"


def test_none_builds_nothing() -> None:
    assert build_llm(LlmSettings(kind="none"), {}) is None
    assert build_embedding(EmbeddingSettings(kind="none"), {}) is None


def test_bundled_builds_the_bundled_model_with_the_settings_batch() -> None:
    pytest.importorskip("llama_index.core")
    settings = EmbeddingSettings(kind="bundled", batch_size=7)
    embedding = build_embedding(settings, {})
    assert embedding is not None
    assert embedding.embed_batch_size == 7
    assert identity_of(embedding) == "bge-small-en-v1.5/int8"


def test_an_identity_without_one_of_its_own_is_class_and_model() -> None:
    from llama_index.core.embeddings import MockEmbedding

    embedding = MockEmbedding(embed_dim=3, model_name="mock")
    assert identity_of(embedding) == f"{embedding.class_name()}/mock"


@pytest.mark.parametrize(
    ("model", "url", "error", "words"),
    [
        pytest.param("", _LOCAL, SettingsError, "model", id="no model"),
        pytest.param("m", "", SettingsError, "base_url", id="no URL"),
        pytest.param("m", "127.0.0.1:9", SettingsError, "base_url", id="no scheme"),
        pytest.param("m", "file:///etc", SettingsError, "base_url", id="another scheme"),
        pytest.param("m", "http://h:port/v1", SettingsError, "base_url", id="a port of letters"),
        pytest.param("m", "http://[::1/v1", SettingsError, "base_url", id="a broken address"),
        pytest.param("m", "https://me:pw@h/v1", SettingsError, "base_url", id="a password"),
        pytest.param("m", "https://h/v1", ModelUnavailable, "MY_KEY", id="no key for a far host"),
        pytest.param("m", "https://localhost.evil/v1", ModelUnavailable, "MY_KEY", id="look-alike"),
    ],
)
def test_settings_that_cannot_work_are_named(
    model: str, url: str, error: type[EngineError], words: str
) -> None:
    names = {"model": model, "base_url": url, "api_key_variable": "MY_KEY"}
    environment = {"MY_KEY": "  "}
    with pytest.raises(error, match=rf"^llm.*{words}") as caught:
        build_llm(LlmSettings(kind="openai_like", **names), environment)  # type: ignore[arg-type]
    assert "pw" not in str(caught.value)
    with pytest.raises(error, match=rf"^embedding.*{words}"):
        build_embedding(EmbeddingSettings(kind="openai_like", **names), environment)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url", [_LOCAL, "http://localhost:9/v1", "http://[::1]:9/v1", "https://127.1.2.3/v1"]
)
def test_a_server_on_this_machine_needs_no_key(url: str) -> None:
    llm = build_llm(LlmSettings(kind="openai_like", model="m", base_url=url), {})
    assert llm is not None
    metadata = llm.metadata
    assert (metadata.model_name, metadata.is_chat_model) == ("m", True)
    assert (metadata.context_window, metadata.num_output) == (16_000, 1_024)


def test_importing_the_models_loads_neither_llama_index_nor_onnxruntime() -> None:
    code = (
        "import sys, engine.llm, engine.embeddings.model_files, engine.providers.factory;"
        "heavy = {'llama_index', 'onnxruntime', 'openai', 'httpx'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
