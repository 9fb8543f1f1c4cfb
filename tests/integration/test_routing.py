"""Questions that go both ways: asked for, or because nobody could tell which way is right."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from llama_index.core.embeddings import MockEmbedding
from openai_server import Reply

from engine import KnowledgeEngine
from engine.embeddings.multilingual import MultilingualEmbedding
from engine.events import CitationsEvent, PassagesEvent, RouteEvent, TokensEvent
from engine.routing.llamaindex import ANSWER_KEY
from engine.routing.rules import classify_scope
from engine.routing.scope import Scope, ScopeClassifier

NOTES = {
    "lamp": "# The lamp\n\nAda Brine lit the lamp at Gull Quay in 1901. The lamp burned whale oil.",
    "storm": "# The storm\n\nThe storm of 1907 broke the lamp at Gull Quay. Orrin Vale repaired it "
    "with Ada Brine.",
    "ferry": "# The ferry\n\nThe ferry to Gull Quay was named after Ada Brine and burned coal.",
}
IN_DOUBT = {"sure": 1.0}
"""No rule is so sure: every question is in doubt."""
QUESTION = "Who lit the lamp at Gull Quay?"


def add_notes(engine) -> None:
    for name, text in NOTES.items():
        engine.add_text(text, document_id=name)


@pytest.fixture(scope="module")
def engine(open_engine, tmp_path_factory: pytest.TempPathFactory):
    with open_engine(tmp_path_factory.mktemp("both") / "library", route=IN_DOUBT) as engine:
        add_notes(engine)
        yield engine


@pytest.fixture
def written(open_engine, openai_server, tmp_path: Path):
    llm = openai_server.settings(retries=0)
    with open_engine(tmp_path / "library", llm=llm, route=IN_DOUBT) as engine:
        add_notes(engine)
        yield engine


def stands(engine, answer) -> bool:
    return all(
        engine.document_text(each.document_id)[each.start : each.end] == each.quote
        for each in answer.citations
    )


def test_both_gives_the_local_answer_first_and_the_overview_after_it(engine) -> None:
    question = "When did the storm break the lamp at Gull Quay?"
    local = engine.ask(question, mode="local")
    answer = engine.ask(question, mode="both")

    assert answer.mode == "both"
    assert answer.text.startswith(f"{local.text}\n\nOn the whole:\n\n")
    assert [each.number for each in answer.citations] == list(range(1, len(answer.citations) + 1))
    spans = [(each.document_id, each.start, each.end) for each in answer.citations]
    assert len(set(spans)) == len(spans) > len(local.citations)
    assert stands(engine, answer)
    assert answer.route is None
    assert {"extract", "reduce", "merge"} <= {step.stage for step in answer.trace}


def test_a_model_that_nothing_is_shipped_for_has_no_part_in_routing(tmp_path: Path) -> None:
    bundled = MultilingualEmbedding()
    question = "I was handed this folder; what should I know of it?"
    own = MockEmbedding(embed_dim=8, model_name="somebody/else")
    with KnowledgeEngine.open(tmp_path / "library", embed_model=own) as engine:
        add_notes(engine)
        route = engine._whole.parts.router.selector.rule(question)
    scope = ScopeClassifier({bundled.identity: bundled.get_query_embedding})(question)

    assert route == classify_scope(question, scope=scope)
    assert route.confidence != classify_scope(question).confidence


def test_an_overview_that_cites_nothing_else_is_not_added(engine) -> None:
    local = engine.ask(QUESTION, mode="local")
    (cited,) = local.citations
    overview = engine.ask(QUESTION, mode="global").citations
    assert all(each.quote in cited.quote for each in overview)
    assert engine.ask(QUESTION, mode="both").text == local.text


def test_a_question_in_doubt_goes_both_ways_and_says_so(engine) -> None:
    answer = engine.ask(QUESTION)

    assert answer.mode == "both"
    assert answer.route is not None
    assert answer.route.mode == "both"
    assert answer.route.reason.endswith("both are answered")
    assert answer.text == engine.ask(QUESTION, mode="both").text


def test_what_deciding_retrieved_is_not_searched_again(open_engine, tmp_path: Path) -> None:
    question = "What did Ada Brine do over the years?"
    with open_engine(tmp_path / "library") as engine:
        add_notes(engine)
        selector = engine._whole.parts.router.selector
        selector._scope = lambda _: Scope(whole=0.01, topic=0.38, specific=0.61)
        route, found = selector.route_with_passages(question)
        assert route.mode == "local"
        assert found is not None
        searched = []
        search = engine._whole.parts.retriever.search
        engine._whole.parts.retriever.search = lambda *args, **how: (
            searched.append(args) or search(*args, **how)
        )
        routed = engine.ask(question)
        assert len(searched) == 1
        assert routed.text == engine.ask(question, mode="local").text
        assert len(searched) == 2


def test_llama_index_s_router_gives_the_same_answer_by_both_of_its_faces(engine) -> None:
    router = engine.as_query_engine()
    response = router.query(QUESTION)
    again = asyncio.run(router.aquery(QUESTION))

    assert response.response == engine.ask(QUESTION).text == again.response
    assert response.metadata[ANSWER_KEY].mode == "both"
    assert len(response.metadata["selector_result"].selections) == 2
    assert {node.node_id for node in response.source_nodes} == {
        passage.chunk_id for passage in response.metadata[ANSWER_KEY].passages
    }


def test_where_neither_way_finds_anything_both_abstain(engine) -> None:
    events = list(engine.stream("Zyzzyva quokka xylem?", mode="both"))
    answer = events[-1].answer

    assert answer.abstained
    assert answer.citations == ()
    assert "".join(e.text for e in events if isinstance(e, TokensEvent)) == answer.text


def test_a_listener_hears_one_answer_whose_marks_are_numbers_of_all_passages(engine) -> None:
    events = list(engine.stream(QUESTION))
    said = "".join(event.text for event in events if isinstance(event, TokensEvent))
    shown = [event.passages for event in events if isinstance(event, PassagesEvent)]

    assert isinstance(events[0], RouteEvent)
    assert said.count("On the whole:") == 1
    assert shown[-1][: len(shown[0])] == shown[0]
    places = [number for number in range(1, len(shown[-1]) + 1) if f"[{number}]" in said]
    assert max(places) > len(shown[0]) >= min(places)
    (final,) = [event for event in events if isinstance(event, CitationsEvent)]
    assert final.text == events[-1].answer.text


def test_the_model_is_asked_for_the_way_once_and_that_is_booked(written, openai_server) -> None:
    def reply(request) -> Reply:
        if "local" in str(request.body["messages"][0]["content"]):
            return Reply('Well: {"MODE": "Local", "reason": "one lamp"')
        return Reply("Ada Brine lit the lamp. [1]")

    openai_server.answer_with(reply)
    answer = written.ask(QUESTION)
    again = written.ask(QUESTION)

    assert (answer.mode, answer.text) == ("local", "Ada Brine lit the lamp. [1]")
    assert answer.route is not None
    assert answer.route.reason == "the model says: one lamp"
    assert answer.usage.calls == 2
    assert again.usage.calls == 0
    assert [row.calls for row in written.usage() if row.stage == "route"] == [1]


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(Reply(status=500), id="fails"),
        pytest.param(Reply("I cannot help with that."), id="refuses"),
        pytest.param(Reply("<think>hm, local or glo"), id="only-thinks"),
    ],
)
def test_without_the_model_s_word_the_rules_decide(written, openai_server, bad: Reply) -> None:
    def reply(request) -> Reply | str:
        system = str(request.body["messages"][0]["content"])
        if '"local"' in system:
            return bad
        return "Ada Brine lit the lamp. [1]"

    openai_server.answer_with(reply)
    answer = written.ask(QUESTION)

    assert answer.mode == "both"
    assert answer.route is not None
    assert "the model" in answer.route.reason
    assert answer.text.startswith("Ada Brine lit the lamp. [1]\n\nOn the whole:\n\n")
    assert stands(written, answer)


def test_a_question_both_ways_shows_a_model_a_bounded_context(
    written, openai_server, tmp_path: Path
) -> None:
    folder = tmp_path / "long"
    folder.mkdir()
    for number in range(12):
        words = " ".join(f"Gull Quay lamp note{number}word{each}." for each in range(200))
        (folder / f"{number}.txt").write_text(words, encoding="utf8")
    written.add(folder)
    openai_server.answer_with(lambda request: "A lamp. [1]")
    answer = written.ask(QUESTION, mode="both")
    shown = sum(len(str(each.body["messages"][-1])) for each in openai_server.requests)

    assert answer.usage.calls == 2
    assert shown < 60_000 < sum(len(file.read_text()) for file in folder.iterdir())
