"""Memory of a library, built from its settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from ..config import (
    CacheSettings,
    CheckSettings,
    ChunkSettings,
    GraphSettings,
    LibrarySettings,
    LlmSettings,
    MemorySettings,
    RerankSettings,
    RetrieveSettings,
    Settings,
    TelemetrySettings,
    VectorSettings,
)
from ..llm.client import LLMClient
from .compression import compress_by_model
from .long_term import ConversationLibrary, LongTermMemory
from .records import FOLDER
from .service import MemoryService
from .store import SessionStore, library_store, server_store
from .topics import TopicBuckets
from .working import ProcessMemory, RedisMemory, WorkingMemory

CHUNK_TOKENS = 64
_DENSE_WEIGHT = 1.5
"""Weight of vectors beside BM25: people repeat themselves in other words."""
_STORE_SECONDS = 5.0


def build_memory(
    library: Path,
    settings: MemorySettings,
    *,
    open_library: Callable[[Path], ConversationLibrary],
    count: Callable[[str], int],
    client: LLMClient | None = None,
) -> MemoryService:
    """Build the memory of a library; no server is asked yet.

    Raises:
        SettingsError: an address or a topic file that cannot be used.
        MissingExtra: a client that is not installed.
    """
    folder = library / FOLDER
    return MemoryService(
        settings,
        working=_working(settings, place=str(library.resolve())),
        store=_store(settings, folder),
        long_term=LongTermMemory(folder, open_library),
        topics=TopicBuckets.load(settings.topics),
        count=count,
        compress=compress_by_model(client) if client is not None else None,
        backend_errors=(SQLAlchemyError,),
    )


def conversation_settings(settings: Settings) -> Settings:
    """Return the settings of a conversation library: chunks of an exchange, no model, no server."""
    return settings.model_copy(
        update={
            "library": LibrarySettings(lock_timeout_seconds=_STORE_SECONDS),
            "chunk": ChunkSettings(
                strategy="transcript", size_tokens=CHUNK_TOKENS, overlap_tokens=0
            ),
            "vectors": VectorSettings(),
            "llm": LlmSettings(),
            "graph": GraphSettings(spacy_model=settings.graph.spacy_model, reports="extractive"),
            "retrieve": RetrieveSettings(
                dictionary=settings.retrieve.dictionary,
                walk=False,
                fusion="weighted_score",
                dense_weight=_DENSE_WEIGHT,
            ),
            "rerank": RerankSettings(),
            "check": CheckSettings(),
            "cache": CacheSettings(answers="none"),
            "telemetry": TelemetrySettings(traces="off"),
        }
    )


def _working(settings: MemorySettings, *, place: str) -> WorkingMemory:
    if settings.working == "process":
        return ProcessMemory(messages=settings.messages, ttl_seconds=settings.idle_seconds)
    return RedisMemory(
        settings.working,
        password=_secret(settings.working_password_variable),
        place=place,
        messages=settings.messages,
        ttl_seconds=settings.idle_seconds,
        timeout_seconds=_STORE_SECONDS,
    )


def _store(settings: MemorySettings, folder: Path) -> SessionStore:
    url = (
        library_store(folder)
        if settings.short_term == "library"
        else server_store(settings.short_term, _secret(settings.short_term_password_variable))
    )
    return SessionStore(url, timeout_seconds=_STORE_SECONDS)


def _secret(variable: str) -> str:
    return os.environ.get(variable, "") if variable else ""
