"""Placeholder models for estimates and library inspection.

Their names, windows and prices count; their keys need not be there, since nothing is sent.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..settings import RerankSettings, Settings
from .endpoint import NO_KEY
from .gateways import stage_settings
from .vendors import ANTHROPIC_KEY_VARIABLE


def with_placeholder_keys(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with placeholders for missing API keys.

    Raises:
        SettingsError: as `stage_settings`.
    """
    names = {ANTHROPIC_KEY_VARIABLE, settings.embedding.api_key_variable}
    names.update(one.api_key_variable for one in stage_settings(settings.llm).values())
    missing = [name for name in names if name and not environment.get(name, "").strip()]
    return {**environment, **dict.fromkeys(missing, NO_KEY)}


def without_reranker(settings: Settings) -> Settings:
    """Return the settings without a reranker, for engines that answer nothing."""
    return settings.model_copy(update={"rerank": RerankSettings()})
