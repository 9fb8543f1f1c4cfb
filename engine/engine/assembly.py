"""Assembly of what an open engine is made of, from its settings and models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ..agent.web import WebSearch
from ..answering.extractive.likeness import LikenessReader
from ..cache import build_answer_cache
from ..components import Components, derive_copy, settings_of_copy
from ..config import Settings
from ..embeddings.choice import EmbeddingChoice
from ..embeddings.cross_encoder import CrossEncoder
from ..namespaces import NamespaceReadings, Reading
from ..observability import Telemetry
from ..providers.llm_clients import Models
from ..query import QueryPipeline
from ..storage.library import Library
from ..types import StageUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """Shared by all readings of an engine: settings, models, readers and telemetry."""

    settings: Settings
    models: Models
    history: Callable[[], Sequence[StageUsage]]
    reader: CrossEncoder | None
    likeness: LikenessReader | None
    web_search: WebSearch | None
    telemetry: Telemetry | None

    def reading(
        self, library: Library, embedding: EmbeddingChoice, *, settings: Settings | None = None
    ) -> Reading:
        """Return the components, questions and cached answers of one library.

        `settings` are the engine's where none are given.
        """
        settings = settings or self.settings
        make = partial(
            Components,
            library,
            settings=settings,
            models=self.models,
            history=self.history,
            reader=self.reader,
            likeness=self.likeness,
            web_search=self.web_search,
        )
        parts = make(embed_models=embedding.models)
        cache = build_answer_cache(
            library,
            settings,
            models=self.models,
            embedding=embedding,
            searches_web=self.web_search is not None,
        )
        queries = QueryPipeline(
            parts,
            budget=self.models.budget,
            without_vectors=lambda: make(embed_models=()),
            cache=cache,
            telemetry=self.telemetry,
        )
        return Reading(library=library, parts=parts, queries=queries, cache=cache)

    def readings_by_namespace(
        self, whole: Reading, embedding: EmbeddingChoice
    ) -> NamespaceReadings:
        """Return the readings of namespaces, each from a copy that holds them alone."""
        inside = settings_of_copy(self.settings)
        return NamespaceReadings(
            whole,
            make=partial(self.reading, embedding=embedding, settings=inside),
            derive=partial(derive_copy, settings=inside),
        )
