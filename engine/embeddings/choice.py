"""Choice of the embedding models of a library, made when it is opened.

    endpoint → bundled model → hashed words

Vectors of two models must never be compared, so a library stays with the model of its vectors; one
without vectors takes the first that answers. If that model is away, questions go on without vectors
and adding stops. Where the model reads English alone, a second one reads what it cannot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..llm.response import identity_of
from .bundled import BundledEmbedding
from .model_files import EMBEDDING, FETCH_COMMAND, MULTILINGUAL, ModelSource, model_fault
from .multilingual import MultilingualEmbedding
from .wrappers import EmbeddingUnavailable, GuardedEmbedding, unwrap_embedding

if TYPE_CHECKING:
    from .embedding_model import EmbeddingModel

_PROBE = "loregraph"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenEmbedding:
    """The first model of an open library.

    `notes` say, a line each, what a reader of a report should know of the choice; `held` is what
    the library held when it was made (see `check_same_model`).
    """

    model: EmbeddingModel
    identity: str
    notes: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()


def choose_embedding(
    chain: Sequence[EmbeddingModel],
    *,
    held: Collection[str],
    reason_against: Callable[[EmbeddingModel], str | None] | None = None,
) -> ChosenEmbedding:
    """Choose the embedding model of a library, once.

    Args:
        chain: the models in the order of preference, at least one; the first is the one wanted.
        held: identities of the models whose vectors the library holds; empty for a new library.
        reason_against: why a model cannot be used now, or None where it can; asked only for a
            library without vectors, once a model at most. The default embeds one word.

    A library that holds vectors of a model of the chain stays with it (the earliest, if of
    several). One that holds only vectors of others gets the first: its settings were changed, and
    its documents wait to be embedded anew. One without vectors gets the first that can be used.

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


def probe_error(model: EmbeddingModel) -> str | None:
    """Why a model cannot embed one word, or None where it can: it costs one call."""
    try:
        model.get_text_embedding(_PROBE)
    except ModelError as error:
        return str(error)
    return None


def skip_probe(_model: EmbeddingModel) -> None:
    """No reason against a model, since nothing is going to be embedded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingChoice:
    """The models of an open library, in order: each reads what those before it cannot.

    `first` is the one chosen among those of the settings, None where it is not there; `notes` say,
    a line each, what a reader of a report should know.
    """

    models: tuple[EmbeddingModel, ...] = ()
    first: ChosenEmbedding | None = None
    notes: tuple[str, ...] = ()

    @property
    def identities(self) -> frozenset[str]:
        """The identities of all models."""
        return frozenset(identity_of(model) for model in self.models)


NO_EMBEDDING = EmbeddingChoice()


def choose_models(
    chain: Sequence[EmbeddingModel],
    *,
    held: Collection[str],
    multilingual: bool,
    holds_english: Callable[[], bool] | None = None,
    reason_against: Callable[[EmbeddingModel], str | None] | None = None,
    environment: Mapping[str, str] | None = None,
) -> EmbeddingChoice:
    """Choose the models of a library, once.

    Args:
        chain: as for `choose_embedding`; empty for none at all.
        held: identities of the models whose vectors the library holds; empty for a new library.
        multilingual: whether a second model shall read what an English one cannot.
        holds_english: whether the library holds text that a model of English reads; without such
            text no vectors of that model are missed. None takes it to hold some.
        reason_against: as for `choose_embedding`.
        environment: names the folder of the model files.

    Raises:
        EmbeddingUnavailable: a library without vectors, and no model of the chain can be used.
    """
    if not chain:
        return NO_EMBEDDING
    fault = model_fault(EMBEDDING, environment, by_size=True)
    usable = [model for model in chain if not (fault and is_bundled(model))]
    notes = [_without(EMBEDDING, fault)] if len(usable) < len(chain) else []
    second = MultilingualEmbedding(environment=environment) if multilingual else None
    first = None
    if usable:
        own = frozenset(held) - ({second.identity} if second else set())
        first = choose_embedding(usable, held=own, reason_against=reason_against)
        notes += first.notes
    models = [first.model] if first else []
    if second is not None and (first is None or reads_english_only(first.model)):
        if fault := model_fault(MULTILINGUAL, environment, by_size=True):
            notes.append(_without(MULTILINGUAL, fault))
        else:
            models.append(_guarded(second, holds_vectors=bool(held)))
    choice = EmbeddingChoice(models=tuple(models), first=first)
    others = sorted(set(held) - choice.identities)
    lacking = choice.identities - set(held)
    if held and len(models) > 1 and first is not None and lacking == {first.identity}:
        lacking = lacking if holds_english is None or holds_english() else frozenset()
    if held and models and (others or lacking):
        of = f"of {', '.join(others)}" if others else f"of {', '.join(sorted(held))} alone"
        notes.append(
            f"this library's vectors are {of}, the present models are"
            f" {', '.join(identity_of(model) for model in models)}: run `loregraph reembed`;"
            " until then questions are answered without what is missing"
        )
    return replace(choice, notes=tuple(notes))


def is_bundled(model: EmbeddingModel) -> bool:
    """Check for the bundled model, behind whatever wraps it."""
    return isinstance(unwrap_embedding(model), BundledEmbedding)


def _without(model: ModelSource, fault: str) -> str:
    return (
        f"embedding goes without {model.name}, which {fault}: run `{FETCH_COMMAND}`, then"
        " `loregraph reembed`"
    )


def check_same_model(choice: EmbeddingChoice, *, held_now: Collection[str]) -> None:
    """To be asked under the writer's lock, before the first vector is stored.

    Another process may have begun the same new library with another model of the chain.

    Raises:
        EmbeddingUnavailable: the library now holds vectors that it did not hold when the choice
            was made, and not of the model chosen.
    """
    chosen = choice.first
    if chosen is None:
        return
    others = sorted(set(held_now) - chosen.held - choice.identities)
    if others and chosen.identity not in held_now:
        raise EmbeddingUnavailable(
            f"this library has vectors of {others[0]} since it was opened here with"
            f" {chosen.identity}: run the same command again, which will take theirs"
        )


def _guarded(model: EmbeddingModel, *, holds_vectors: bool = True) -> GuardedEmbedding:
    if isinstance(model, GuardedEmbedding):
        return model
    return GuardedEmbedding(model, holds_vectors=holds_vectors)


_ENGLISH_ONLY = re.compile(
    r"minilm|mpnet|(?:^|[/_:-])(?:e5-(?:small|base|large)|gte-(?:small|base|large))(?!.*-zh)"
    r"|bge-(?:small|base|large)(?!-zh)|nomic-embed-text(?!-v2)|mxbai-embed|uae-large"
    r"|arctic-embed(?!2|.*v2)|modernbert|-en(?:-|$)"
)


def reads_english_only(model: EmbeddingModel) -> bool:
    """Check whether a model learned English alone; False where that is not known."""
    inner = unwrap_embedding(model)
    return isinstance(inner, BundledEmbedding) or is_english_only(inner.model_name)


def is_english_only(model_name: str) -> bool:
    """Check whether a model is known by its name to read English only; False if unknown."""
    name = model_name.strip().casefold()
    return "multilingual" not in name and _ENGLISH_ONLY.search(name) is not None


_FLOORS = ((re.compile(r"bge-(?:small|base|large)(?:-en)?-v1"), 0.35), (re.compile(r"e5-"), 0.7))


def cosine_floor(model: EmbeddingModel) -> float:
    """Return the cosine of two texts that have nothing to do with each other, by the model's name.

    Models trained with a low temperature (bge, e5) crowd their vectors into a cone; others, and the
    multilingual one without the mean of its language, are taken to begin at 0.
    """
    inner = unwrap_embedding(model)
    if isinstance(inner, MultilingualEmbedding):
        return 0.0
    name = inner.model_name.casefold()
    return next((floor for pattern, floor in _FLOORS if pattern.search(name)), 0.0)
