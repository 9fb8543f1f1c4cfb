"""Settings to a shelf of kept answers, and what says by whom they were made."""

from __future__ import annotations

import hashlib
import json
import os
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from ..index.library import Library
from ..models.naming import identity_of
from ..models.stages import Models
from ..settings import CacheSettings, Settings
from .answers import AnswerCache
from .redis_shelf import RedisBackend
from .shelf import CacheBackend, MemoryBackend

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

_OF_NO_ACCOUNT = {"library", "ingest", "budget", "cache", "telemetry", "serve"}
"""Sections that say nothing of what an answer is."""


def build_answer_cache(
    library: Library,
    settings: Settings,
    *,
    models: Models,
    embed_model: BaseEmbedding | None,
    searches_web: bool = False,
) -> AnswerCache | None:
    """Build the answer cache; None where it is disabled.

    `searches_web`: whether there is a tool that looks beyond the library, which others may lack.

    Raises:
        SettingsError: no usable URL of a Redis.
        MissingExtra: the extra `redis` is not installed.
    """
    shelf = _shelf(settings.cache, place=str(library.path.resolve()))
    if shelf is None:
        return None
    made_by = _makers(settings, models, embed_model, searches_web=searches_web)
    return AnswerCache(library, shelf, made_by=made_by)


def _shelf(settings: CacheSettings, *, place: str) -> CacheBackend | None:
    match settings.answers:
        case "none":
            return None
        case "memory":
            return MemoryBackend(max_entries=settings.max_entries, ttl_seconds=settings.ttl_seconds)
        case "redis":
            variable = settings.password_variable
            return RedisBackend(
                settings.url,
                password=os.environ.get(variable, "") if variable else "",
                place=place,
                max_entries=settings.max_entries,
                ttl_seconds=settings.ttl_seconds,
            )


def _makers(
    settings: Settings,
    models: Models,
    embed_model: BaseEmbedding | None,
    *,
    searches_web: bool,
) -> str:
    try:
        own = version("loregraph")
    except PackageNotFoundError:
        own = ""
    parts = [
        own,
        settings.model_dump(mode="json", exclude=_OF_NO_ACCOUNT),
        sorted((stage, gateway.identity) for stage, gateway in models.gateways.items()),
        identity_of(embed_model) if embed_model is not None else "",
        searches_web,
    ]
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
