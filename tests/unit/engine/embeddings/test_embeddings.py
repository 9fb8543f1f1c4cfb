from __future__ import annotations

import math
import socket
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.embeddings.base import BaseEmbedding
from openai_server import OpenAIServer, Reply, embed
from pydantic import Field

from engine.config import EmbeddingSettings
from engine.embeddings.choice import (
    ChosenEmbedding,
    EmbeddingChoice,
    EmbeddingUnavailable,
    GuardedEmbedding,
    check_same_model,
    choose_embedding,
    is_english_only,
    probe_error,
    reads_english_only,
)
from engine.embeddings.tfidf import TfidfEmbedding, hashed_vector
from engine.embeddings.wrappers import (
    NO_PREFIXES,
    Prefixes,
    TruncatedEmbedding,
    prefixes_for,
    smallest_size,
    truncate_embedding,
    with_prefixes,
)
from engine.errors import ModelOutputError, ModelUnavailable, SettingsError
from engine.llm.response import identity_of
from engine.providers.factory import build_embedding
from engine.storage.tokenization import tokens


def _endpoint(url: str, model: str = "test-embedding") -> BaseEmbedding:
    # Without prefixes: the tests put their own before it.
    settings = EmbeddingSettings(
        kind="openai_like", model=model, base_url=url, query_prefix="", passage_prefix=""
    )
    found = build_embedding(settings, {})
    assert found is not None
    return found


def _dead_endpoint() -> BaseEmbedding:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return _endpoint(f"http://127.0.0.1:{port}/v1")


def _tfidf(**arguments: Any) -> TfidfEmbedding:
    return TfidfEmbedding(tokens=tokens, **arguments)


class _Fixed(BaseEmbedding):
    """Gives one vector for everything and keeps what it was asked."""

    vector: list[float] = Field(default_factory=lambda: [1.0])
    asked: list[str] = Field(default_factory=list)
    failing: bool = False

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        if self.failing:
            raise ModelUnavailable("no connection")
        self.asked.append(text)
        return list(self.vector)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


# --- prefixes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "question", "passage"),
    [
        pytest.param("intfloat/e5-base-v2", "query: ", "passage: ", id="e5"),
        pytest.param("intfloat/multilingual-e5-large", "query: ", "passage: ", id="multilingual"),
        pytest.param("BAAI/bge-small-en-v1.5", "Represent this sentence", "", id="bge"),
        pytest.param("bge-large-zh-v1.5", "为这个句子", "", id="Chinese bge"),
        pytest.param("nomic-embed-text:latest", "search_query: ", "search_document: ", id="nomic"),
        pytest.param("mxbai-embed-large", "Represent this sentence", "", id="mxbai"),
        pytest.param("Snowflake/snowflake-arctic-embed-m", "Represent this", "", id="arctic 1"),
        pytest.param("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", "", id="arctic 2"),
        pytest.param("Qwen/Qwen3-Embedding-0.6B", "Instruct: ", "", id="qwen"),
        pytest.param("multilingual-e5-large-instruct", "Instruct: ", "", id="e5 instruct"),
        pytest.param("embeddinggemma:300m", "task: search", "title: none", id="gemma"),
    ],
)
def test_prefixes_are_known_by_the_models_name(name: str, question: str, passage: str) -> None:
    found = prefixes_for(name)
    assert found.question.startswith(question)
    assert found.passage.startswith(passage)
    assert bool(found.passage) == bool(passage)


@pytest.mark.parametrize(
    "name",
    [
        "BAAI/bge-m3",
        "thenlper/gte-large",
        "all-MiniLM-L6-v2",
        "text-embedding-3-small",
        "",
        "sage5-x",
    ],
)
def test_models_that_want_no_prefix_get_none(name: str) -> None:
    assert prefixes_for(name) == NO_PREFIXES


def test_a_model_without_prefixes_is_not_wrapped() -> None:
    model = _Fixed(model_name="bge-m3")
    assert with_prefixes(model) is model


def test_questions_and_passages_arrive_with_their_prefixes(openai_server: OpenAIServer) -> None:
    model = with_prefixes(_endpoint(openai_server.base_url, "e5-small"))
    assert model.get_query_embedding("who?") == pytest.approx(embed("query: who?"), abs=1e-6)
    assert model.get_text_embedding_batch(["a", "b"]) == [
        pytest.approx(embed("passage: a"), abs=1e-6),
        pytest.approx(embed("passage: b"), abs=1e-6),
    ]
    assert [request.body["input"] for request in openai_server.requests] == [
        ["query: who?"],
        ["passage: a", "passage: b"],
    ]


def test_prefixes_given_outweigh_those_of_the_name() -> None:
    inner = _Fixed(model_name="e5-small", asked=[])
    model = with_prefixes(inner, question="Q ", passage="")
    model.get_query_embedding("who")
    model.get_text_embedding("it")
    assert inner.asked == ["Q who", "it"]


def test_the_identity_tells_passages_with_a_prefix_from_those_without() -> None:
    inner = _Fixed(model_name="e5-small")
    bare, known = identity_of(inner), identity_of(with_prefixes(inner))
    other = identity_of(with_prefixes(inner, passage="text: "))
    assert len({bare, known, other}) == 3


def test_a_prefix_of_questions_alone_leaves_stored_vectors_what_they_are() -> None:
    inner = _Fixed(model_name="bge-small-en")
    assert identity_of(with_prefixes(inner)) == identity_of(inner)


def test_a_wrapped_model_keeps_its_window_and_batch_size() -> None:
    from engine.embeddings.bundled import BundledEmbedding

    inner = BundledEmbedding(embed_batch_size=7)
    model = with_prefixes(inner, question="q ")
    assert getattr(model, "window_tokens", 0) == inner.window_tokens
    assert model.embed_batch_size == 7
    assert getattr(with_prefixes(_Fixed(), question="q "), "window_tokens", 512) == 512


async def _asynchronous(model: BaseEmbedding) -> tuple[list[float], list[list[float]]]:
    return await model.aget_query_embedding("q"), await model.aget_text_embedding_batch(["a", "b"])


def test_asked_asynchronously_a_wrapped_model_gives_the_same() -> None:
    import asyncio

    model = with_prefixes(_tfidf(), question="lamp ", passage="light ")
    question, passages = asyncio.run(_asynchronous(model))
    assert question == model.get_query_embedding("q")
    assert passages == model.get_text_embedding_batch(["a", "b"])


# --- shorter vectors ----------------------------------------------------------------------------


@given(st.lists(st.floats(-1, 1, width=32), min_size=4, max_size=12))
def test_a_shortened_vector_is_the_beginning_at_length_one(vector: list[float]) -> None:
    model = TruncatedEmbedding(_Fixed(vector=vector), dimensions=3)
    short = np.array(model.get_text_embedding("text"))
    assert short.shape == (3,)
    length = math.sqrt(math.fsum(value * value for value in vector[:3]))
    if length:
        assert short * length == pytest.approx(vector[:3], abs=1e-6)
    assert model.get_query_embedding("text") == model.get_text_embedding("text")


def test_the_number_of_dimensions_is_in_the_identity() -> None:
    model = _Fixed(model_name="text-embedding-3-small")
    names = {identity_of(truncate_embedding(model, dimensions=size)) for size in (256, 512)}
    assert len({identity_of(model), *names}) == 3


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [
        pytest.param("bge-m3", 256, id="not made for it"),
        pytest.param("all-MiniLM-L6-v2", 128, id="the bundled one"),
        pytest.param("text-embedding-ada-002", 256, id="the older one"),
        pytest.param("nomic-embed-text-v1", 256, id="nomic before 1.5"),
        pytest.param("text-embedding-3-large", 8, id="too short"),
    ],
)
def test_a_model_not_known_for_it_is_not_cut_unless_forced(name: str, dimensions: int) -> None:
    model = _Fixed(model_name=name)
    with pytest.raises(SettingsError, match=r"^embedding\.dimensions"):
        truncate_embedding(model, dimensions=dimensions)
    forced = truncate_embedding(model, dimensions=dimensions, force=True)
    assert identity_of(forced).endswith(f"@{dimensions}")


@pytest.mark.parametrize("dimensions", [0, -1])
def test_a_vector_of_no_dimension_is_refused_even_when_forced(dimensions: int) -> None:
    with pytest.raises(SettingsError, match="too small; give 1 or more"):
        truncate_embedding(_Fixed(), dimensions=dimensions, force=True)


def test_a_model_whose_vectors_are_too_short_says_so() -> None:
    model = truncate_embedding(_Fixed(vector=[1.0, 2.0]), dimensions=3, force=True)
    with pytest.raises(ModelOutputError, match="2 dimensions, not the 3"):
        model.get_text_embedding("text")


def test_nomic_is_centred_before_it_is_cut() -> None:
    model = truncate_embedding(_Fixed(model_name="nomic-embed-text-v1.5"), dimensions=64)
    assert smallest_size("nomic-ai/nomic-embed-text-v1.5") == 64
    vector = [2.0] * 64 + [0.0] * 64
    assert model._vector(vector) == pytest.approx([1 / 8] * 64)
    assert model._vector([value + 5 for value in vector]) == pytest.approx(model._vector(vector))


def test_prefixes_and_shortening_go_together(openai_server: OpenAIServer) -> None:
    inner = _endpoint(openai_server.base_url, "nomic-embed-text-v1.5")
    model = truncate_embedding(with_prefixes(inner), dimensions=128)
    assert len(model.get_query_embedding("who?")) == 128
    assert openai_server.requests[0].body["input"] == ["search_query: who?"]
    assert identity_of(model) == "RemoteEmbedding/nomic-embed-text-v1.5+'search_document: '@128"


# --- vectors without weights --------------------------------------------------------------------


def _cosine(model: BaseEmbedding, question: str, passage: str) -> float:
    return float(np.dot(model.get_query_embedding(question), model.get_text_embedding(passage)))


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        pytest.param("Who keeps the lighthouse?", "A lighthouse keeper", "Bread", id="words"),
        pytest.param("the lighthuose keepr", "A lighthouse keeper", "Butter and milk", id="typos"),
        pytest.param("桃园结义是谁", "刘备在桃园结义", "曹操煮酒论英雄", id="Chinese"),
    ],
)
def test_near_texts_have_near_vectors_with_no_model(question: str, near: str, far: str) -> None:
    model = _tfidf()
    assert _cosine(model, question, near) > _cosine(model, question, far) + 0.1


@given(st.text(max_size=60))
def test_a_vector_without_weights_has_length_one_or_none(text: str) -> None:
    vector = np.array(_tfidf(dimension=64).get_text_embedding(text))
    assert vector.shape == (64,)
    assert np.linalg.norm(vector) == pytest.approx(1.0 if tokens(text) and vector.any() else 0.0)


def test_rare_words_of_a_question_weigh_more() -> None:
    rarity = {"keeper": 0.1, "lighthous": 5.0}
    plain, weighed = _tfidf(), _tfidf(idf=lambda: lambda token: rarity.get(token, 1.0))
    question, passage = "lighthouse keeper", "the lighthouse"
    assert _cosine(weighed, question, passage) > _cosine(plain, question, passage) + 0.1
    assert weighed.get_text_embedding(passage) == plain.get_text_embedding(passage)


def test_the_order_of_words_means_nothing_to_the_last_bit() -> None:
    words = tokens("the keeper of the lighthouse lit the lamp of 1901")
    assert hashed_vector(words, size=256).tolist() == hashed_vector(words[::-1], size=256).tolist()


_PLACES = [88, 310, 468, 478, 569, 798, 879, 910]
_SIGNS = [1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0]


def test_a_word_has_the_same_places_in_every_process_and_version() -> None:
    vector = hashed_vector(["lamp"], size=1024)
    assert np.flatnonzero(vector).tolist() == _PLACES
    assert np.sign(vector[_PLACES]).tolist() == _SIGNS


def test_a_size_is_a_space_of_its_own() -> None:
    assert identity_of(_tfidf(dimension=64)) != identity_of(_tfidf(dimension=128))


# --- the chain ----------------------------------------------------------------------------------


def _never(model: BaseEmbedding) -> str | None:
    raise AssertionError(f"{identity_of(model)} was asked")


def _down(*names: str) -> Callable[[BaseEmbedding], str | None]:
    return lambda model: "is away" if identity_of(model) in names else None


_CHAIN = [_Fixed(model_name="far"), _Fixed(model_name="near"), _tfidf()]
_FAR, _NEAR, _LAST = (identity_of(model) for model in _CHAIN)


@pytest.mark.parametrize(
    ("held", "down", "chosen", "notes"),
    [
        pytest.param([], [], _FAR, 0, id="new: the first that answers"),
        pytest.param([], [_FAR], _NEAR, 1, id="new: the next where the first is away"),
        pytest.param([], [_FAR, _NEAR], _LAST, 1, id="new: the last"),
        pytest.param([_FAR], [_FAR], _FAR, 0, id="held: it stays, though it is away"),
        pytest.param([_NEAR], [], _NEAR, 1, id="held by the next: it stays, and says so"),
        pytest.param([_NEAR, _FAR], [], _FAR, 0, id="held by several: the earliest"),
        pytest.param(["other"], [_FAR], _FAR, 0, id="held by a stranger: settings were changed"),
    ],
)
def test_the_chain_is_decided_by_what_the_library_holds(
    held: list[str], down: list[str], chosen: str, notes: int
) -> None:
    choice = choose_embedding(_CHAIN, held=held, reason_against=_never if held else _down(*down))
    assert (choice.identity, identity_of(choice.model)) == (chosen, chosen)
    assert len(choice.notes) == notes
    assert all(chosen in note for note in choice.notes)


def test_one_model_alone_is_taken_without_asking_it() -> None:
    choice = choose_embedding(_CHAIN[:1], held=[], reason_against=_never)
    assert choice.identity == _FAR


def test_a_new_library_that_nothing_can_embed_for_says_why() -> None:
    with pytest.raises(EmbeddingUnavailable, match="is away; is away"):
        choose_embedding(_CHAIN[:2], held=[], reason_against=_down(_FAR, _NEAR))


def test_a_dead_endpoint_gives_way_in_a_new_library_alone() -> None:
    dead = _dead_endpoint()
    reason = probe_error(dead)
    assert reason is not None
    assert "failed or was cut" in reason
    new = choose_embedding([dead, _tfidf()], held=[])
    assert new.identity == _LAST
    assert "failed or was cut" in new.notes[0]
    kept = choose_embedding([dead, _tfidf()], held=[identity_of(dead)])
    assert kept.identity == identity_of(dead)
    with pytest.raises(EmbeddingUnavailable, match="no other model can embed"):
        kept.model.get_text_embedding_batch(["a text"])


def test_the_only_model_of_a_library_without_vectors_may_be_changed_for_another(
    openai_server: OpenAIServer,
) -> None:
    openai_server.answer_with(lambda request: Reply("away", status=503))
    model = choose_embedding([_endpoint(openai_server.base_url)], held=[]).model
    with pytest.raises(EmbeddingUnavailable, match=r"no vectors yet: .* \(embedding\.fallback\)"):
        model.get_text_embedding_batch(["a text"])
    openai_server.answer_with(lambda request: Reply())
    model.get_text_embedding_batch(["a text"])
    openai_server.answer_with(lambda request: Reply("away", status=503))
    with pytest.raises(EmbeddingUnavailable, match="no other model can embed"):
        model.get_text_embedding_batch(["another text"])


def test_a_living_endpoint_is_taken_after_one_word(openai_server: OpenAIServer) -> None:
    living = _endpoint(openai_server.base_url)
    choice = choose_embedding([living, _tfidf()], held=[])
    assert choice == ChosenEmbedding(model=choice.model, identity=identity_of(living))
    assert len(openai_server.requests) == 1


@pytest.mark.parametrize(
    ("held", "now", "refused"),
    [
        pytest.param([], [], False, id="still new"),
        pytest.param([], [_FAR], False, id="ours by now"),
        pytest.param([], [_NEAR], True, id="begun by another model meanwhile"),
        pytest.param([_NEAR], [_NEAR], False, id="known when it was chosen"),
        pytest.param([_NEAR], [_NEAR, _LAST], True, id="a third model meanwhile"),
    ],
)
def test_a_library_begun_meanwhile_by_another_model_is_not_mixed(
    held: list[str], now: list[str], refused: bool
) -> None:
    choice = ChosenEmbedding(model=_CHAIN[0], identity=_FAR, held=frozenset(held))
    if not refused:
        check_same_model(EmbeddingChoice(first=choice), held_now=now)
        return
    with pytest.raises(EmbeddingUnavailable, match="since it was opened"):
        check_same_model(EmbeddingChoice(first=choice), held_now=now)


# --- the guard ----------------------------------------------------------------------------------


def test_a_guarded_model_is_the_model_while_it_answers(openai_server: OpenAIServer) -> None:
    inner = _endpoint(openai_server.base_url)
    model = GuardedEmbedding(inner)
    assert identity_of(model) == identity_of(inner)
    assert model.get_query_embedding("who?") == pytest.approx(embed("who?"), abs=1e-6)


def test_after_a_failure_questions_fail_at_once_until_the_rest_is_over() -> None:
    now = [0.0]
    inner = _Fixed(failing=True, asked=[])
    model = GuardedEmbedding(inner, rest_seconds=30.0, clock=lambda: now[0])
    with pytest.raises(EmbeddingUnavailable, match="no connection"):
        model.get_query_embedding("one")
    inner.failing = False
    now[0] = 29.0
    with pytest.raises(EmbeddingUnavailable, match="no connection"):
        model.get_query_embedding("two")
    assert inner.asked == []
    now[0] = 31.0
    assert model.get_query_embedding("three") == [1.0]


def test_adding_tries_the_model_every_time() -> None:
    inner = _Fixed(failing=True)
    model = GuardedEmbedding(inner, clock=lambda: 0.0)
    with pytest.raises(EmbeddingUnavailable):
        model.get_text_embedding("one")
    inner.failing = False
    assert model.get_text_embedding("two") == [1.0]


def test_an_answer_that_cannot_be_used_is_no_absence(openai_server: OpenAIServer) -> None:
    openai_server.script(Reply(raw=b"{}"))
    with pytest.raises(ModelOutputError):
        GuardedEmbedding(_endpoint(openai_server.base_url)).get_query_embedding("who?")


def test_prefixes_default_to_nothing() -> None:
    assert Prefixes() == NO_PREFIXES


# --- what is read -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "english_only"),
    [
        pytest.param("intfloat/e5-base-v2", True, id="e5"),
        pytest.param("intfloat/multilingual-e5-base", False, id="multilingual e5"),
        pytest.param("BAAI/bge-m3", False, id="bge-m3"),
        pytest.param("BAAI/bge-large-en-v1.5", True, id="bge"),
        pytest.param("BAAI/bge-large-zh-v1.5", False, id="Chinese bge"),
        pytest.param("nomic-embed-text:v1.5", True, id="nomic"),
        pytest.param("nomic-embed-text-v2-moe", False, id="nomic 2"),
        pytest.param("snowflake-arctic-embed-l-v2.0", False, id="arctic 2"),
        pytest.param("paraphrase-multilingual-MiniLM-L12-v2", False, id="multilingual MiniLM"),
        pytest.param("text-embedding-3-small", False, id="OpenAI"),
        pytest.param("somebody/model", False, id="unknown"),
    ],
)
def test_an_endpoints_model_reads_every_script_unless_known_for_english(
    name: str, english_only: bool
) -> None:
    assert is_english_only(name) == english_only
    assert reads_english_only(with_prefixes(_Fixed(model_name=name))) == english_only


def test_the_bundled_model_reads_english_only_and_hashed_words_every_script() -> None:
    from engine.embeddings.bundled import BundledEmbedding

    assert reads_english_only(GuardedEmbedding(BundledEmbedding()))
    assert not reads_english_only(GuardedEmbedding(_tfidf()))
