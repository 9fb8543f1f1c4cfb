"""Choice of the embedding model for a library, with fallbacks.

    endpoint → bundled MiniLM → TF-IDF hashing

Vectors of two models must never be compared, so the choice is made once, when a library is opened:
its vectors' model, whoever answers; only a library without vectors takes the first that answers.
Where the model of a library does not answer, questions go on without vectors and adding stops:
nothing else can embed for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from ..errors import ModelError, ModelUnavailable
from .naming import identity_of
from .wrapped_embedding import WrappedEmbedding

REST_SECONDS = 30.0
"""Seconds without embedding attempts after a failed one."""
_PROBE = "loregraph"

Clock = Callable[[], float]


class EmbeddingUnavailable(ModelUnavailable):
    """The model of this library's vectors cannot embed now; no other one may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenEmbedding:
    """The one model of an open library.

    `notes` say, a line each, what a reader of a report should know of the choice; `held` is what
    the library held when it was made (see `check_same_model`).
    """

    model: BaseEmbedding
    identity: str
    notes: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()


def choose_embedding(
    chain: Sequence[BaseEmbedding],
    *,
    held: Collection[str],
    reason_against: Callable[[BaseEmbedding], str | None] | None = None,
) -> ChosenEmbedding:
    """Choose the embedding model of a library, once.

    Args:
        chain: the models in the order of preference, at least one; the first is the one wanted.
        held: identities of the models whose vectors the library holds; empty for a new library.
        reason_against: why a model cannot be used now, or None where it can; asked only for a
            library without vectors, once a model at most. The default embeds one word.

    A library that holds vectors of a model of the chain stays with it (the earliest, if of
    several). One that holds only vectors of others gets the first: its settings were changed, and
    its documents count as changed. One without vectors gets the first that can be used.

    Raises:
        EmbeddingUnavailable: a library without vectors, and no model of the chain can be used.
    """
    names = [identity_of(model) for model in chain]
    kept = frozenset(held)
    for place, (model, name) in enumerate(zip(chain, names, strict=True)):
        if name in kept:
            return ChosenEmbedding(
                model=_guarded(model), identity=name, notes=_stays(names, place), held=kept
            )
    if kept or len(chain) == 1:
        model = _guarded(chain[0], holds_vectors=bool(kept))
        return ChosenEmbedding(model=model, identity=names[0], held=kept)
    reasons: list[str] = []
    judge = reason_against or probe_error
    for model, name in zip(chain, names, strict=True):
        reason = judge(model)
        if reason is None:
            notes = (_took(name, reasons),) if reasons else ()
            return ChosenEmbedding(model=_guarded(model), identity=name, notes=notes)
        reasons.append(reason)
    raise EmbeddingUnavailable(f"no embedding can be used: {'; '.join(reasons)}")


def _stays(names: Sequence[str], place: int) -> tuple[str, ...]:
    if place == 0:
        return ()
    return (
        f"this library's vectors are of {names[place]}, which stood in for {names[0]}: it stays"
        " with them, because vectors of two models cannot be compared; to change over, leave out"
        " embedding.fallback and add the documents again",
    )


def _took(name: str, reasons: Sequence[str]) -> str:
    return (
        f"embedded with {name}, which stands in because {'; '.join(reasons)}; the library stays"
        " with it"
    )


def probe_error(model: BaseEmbedding) -> str | None:
    """Why a model cannot embed one word, or None where it can: it costs one call."""
    try:
        model.get_text_embedding(_PROBE)
    except ModelError as error:
        return str(error)
    return None


def skip_probe(_model: BaseEmbedding) -> None:
    """No reason against a model, since nothing is going to be embedded."""


def check_same_model(chosen: ChosenEmbedding, *, held_now: Collection[str]) -> None:
    """To be asked under the writer's lock, before the first vector is stored.

    Another process may have begun the same new library with another model of the chain.

    Raises:
        EmbeddingUnavailable: the library now holds vectors that it did not hold when the choice
            was made, and not of the model chosen.
    """
    others = sorted(set(held_now) - chosen.held - {chosen.identity})
    if others and chosen.identity not in held_now:
        raise EmbeddingUnavailable(
            f"this library has vectors of {others[0]} since it was opened here with"
            f" {chosen.identity}: run the same command again, which will take theirs"
        )


class GuardedEmbedding(WrappedEmbedding):
    """A library's model, whose failure is told from that of any other model.

    Every `ModelUnavailable` becomes an `EmbeddingUnavailable` that says what to do. After one, the
    embedding of questions fails at once for `rest_seconds`, so that a server which hangs costs one
    question its timeout and not each. `holds_vectors` is false of a library's only model until it
    has embedded: then another one can still be chosen, which the error says.
    """

    _holds_vectors: bool = PrivateAttr()
    _rest_seconds: float = PrivateAttr()
    _clock: Clock = PrivateAttr()
    _lock: threading.Lock = PrivateAttr()
    _rests_until: float = PrivateAttr()
    _reason: str = PrivateAttr()

    def __init__(
        self,
        inner: BaseEmbedding,
        *,
        holds_vectors: bool = True,
        rest_seconds: float = REST_SECONDS,
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__(inner)
        self._holds_vectors = holds_vectors
        self._rest_seconds = rest_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._rests_until = float("-inf")
        self._reason = ""

    def _get_query_embedding(self, query: str) -> list[float]:
        with self._lock:
            if self._clock() < self._rests_until:
                raise EmbeddingUnavailable(self._reason)
        try:
            vector = super()._get_query_embedding(query)
        except ModelUnavailable as error:
            raise self._note(error) from error
        return vector

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        try:
            vectors = super()._get_text_embeddings(texts)
        except ModelUnavailable as error:
            raise self._note(error) from error
        self._holds_vectors = True
        return vectors

    def _note(self, error: ModelUnavailable) -> EmbeddingUnavailable:
        reason = (
            f"{error}; this library's vectors are of {self.identity}, and no other model can embed"
            " for it: questions are answered by words and links alone meanwhile, and what was"
            " stored before is kept"
            if self._holds_vectors
            else f"{error}; this library has no vectors yet: add again when it answers, choose"
            " another model (embedding.kind), or one that stands in (embedding.fallback)"
        )
        with self._lock:
            self._reason = reason
            self._rests_until = self._clock() + self._rest_seconds
        return EmbeddingUnavailable(reason)


def _guarded(model: BaseEmbedding, *, holds_vectors: bool = True) -> GuardedEmbedding:
    if isinstance(model, GuardedEmbedding):
        return model
    return GuardedEmbedding(model, holds_vectors=holds_vectors)
