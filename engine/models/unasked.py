"""Models that are named and never asked, as an estimate or a look into a library needs them.

Their names, windows and prices count; their keys need not be there, since nothing is sent.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..settings import RerankSettings, Settings
from .endpoint import NO_KEY
from .gateways import stage_settings
from .vendors import ANTHROPIC_KEY_VARIABLE


def with_stand_in_keys(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, with something in the place of every key of these models that is not set.

    Raises:
        SettingsError: as `stage_settings`.
    """
    names = {ANTHROPIC_KEY_VARIABLE, settings.embedding.api_key_variable}
    names.update(one.api_key_variable for one in stage_settings(settings.llm).values())
    missing = [name for name in names if name and not environment.get(name, "").strip()]
    return {**environment, **dict.fromkeys(missing, NO_KEY)}


def without_reranker(settings: Settings) -> Settings:
    """The settings of an engine that finds nothing for a question, so that nobody judges it."""
    return settings.model_copy(update={"rerank": RerankSettings()})
