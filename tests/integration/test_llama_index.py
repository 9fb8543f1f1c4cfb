"""The product as LlamaIndex sees it: two indexes, a retriever, a router, a tool.

The global LlamaIndex `Settings.llm` and `.embed_model` are bombs in every test: what passes here
never reads them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.indices.property_graph import (
    ImplicitPathExtractor,
    LLMSynonymRetriever,
    SimpleLLMPathExtractor,
)
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import Document, NodeWithScore, TextNode
from llama_index.core.storage.storage_context import StorageContext
from sqlalchemy import select

from engine import KnowledgeEngine
from engine.storage.library import Library
from engine.storage.llamaindex import WindowedVectorIndex
from graph import KnowledgeGraphIndex, SqlGraphStore
from graph.errors import GraphInputError
from graph.extraction.llamaindex import ExtractionTransform
from graph.extraction.rule_based import LanguageExtractor
from graph.storage.database import Database
from graph.storage.schema import chunks, mentions, statements

OpenEngine = Callable[..., KnowledgeEngine]
BRINE = "Ada Brine met Tomas Reed at Gull Quay. Ada Brine is a captain."
MERROW = "Tomas Reed met Ada Brine in Port Merrow."


def names_only() -> list[ExtractionTransform]:
    """Our extractor without spaCy: quick, and enough for names that stand together."""
    return [ExtractionTransform(extractor=LanguageExtractor(spacy_model="none"))]


def graph_index(*documents: Document, **options: Any) -> KnowledgeGraphIndex:
    return KnowledgeGraphIndex.from_documents(
        documents, **{"kg_extractors": names_only(), **options}
    )


def names(index: KnowledgeGraphIndex) -> set[str]:
    return {entity.name for entity in index.entities()}


class ScriptedLLM(CustomLLM):
    """Gives one answer to every prompt, and counts the prompts."""

    answer: str
    calls: int = 0

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.calls += 1
        return CompletionResponse(text=self.answer)

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Iterator[CompletionResponse]:
        yield self.complete(prompt)


# --- the engine goes through both -------------------------------------------------------------


def test_what_is_added_goes_through_both_llama_index_indexes(
    open_engine: OpenEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[str]] = {"graph": [], "vector": []}
    for name, index in (("graph", KnowledgeGraphIndex), ("vector", WindowedVectorIndex)):
        original = index.insert_nodes

        def spy(self, nodes, *, name=name, original=original, **kwargs):
            seen[name] += [node.node_id.partition("#")[0] for node in nodes]
            return original(self, nodes, **kwargs)

        monkeypatch.setattr(index, "insert_nodes", spy)
    with open_engine(tmp_path / "library") as engine:
        engine.add([Document(id_="quay", text=BRINE), Document(id_="merrow", text=MERROW)])
        with engine._library.read() as connection:
            stored = sorted(connection.execute(select(chunks.c.id)).scalars())
    assert len(stored) == 2
    assert sorted(seen["graph"]) == sorted(seen["vector"]) == stored


def test_a_document_added_again_is_unchanged_until_its_text_or_title_differs(
    open_engine: OpenEngine, tmp_path: Path
) -> None:
    def document(text: str = BRINE, title: str = "The quay") -> Document:
        return Document(id_="quay", text=text, metadata={"title": title})

    with open_engine(tmp_path / "library") as engine:
        assert engine.add([document()]).added == ("quay",)
        assert engine.add([document()]).unchanged == ("quay",)
        assert engine.add([document(title="Gull Quay")]).changed == ("quay",)
        assert engine.add([document(title="Gull Quay")]).unchanged == ("quay",)
        assert engine.add([document(text=MERROW)]).changed == ("quay",)
        assert engine.document_text("quay") == MERROW
        assert len(engine.documents()) == 1


@pytest.fixture
def filled(open_engine: OpenEngine, tmp_path: Path) -> Iterator[KnowledgeEngine]:
    with open_engine(tmp_path / "library") as engine:
        engine.add([Document(id_="quay", text=BRINE), Document(id_="merrow", text=MERROW)])
        yield engine


def test_the_query_engine_is_llama_indexs_router_with_text_sources_and_reason(
    filled: KnowledgeEngine,
) -> None:
    router = filled.as_query_engine()
    assert isinstance(router, RouterQueryEngine)
    response = router.query("Who met Tomas Reed at Gull Quay?")
    assert "Ada Brine" in str(response)
    assert {node.node.metadata["document_id"] for node in response.source_nodes} >= {"quay"}
    assert response.metadata["selector_result"].reasons[0]
    answer = response.metadata["answer"]
    assert answer.text == str(response)
    assert answer.citations


def test_the_query_engine_waits_without_blocking_the_event_loop(filled: KnowledgeEngine) -> None:
    question = "Who met Tomas Reed at Gull Quay?"
    expected = str(filled.as_query_engine().query(question))

    async def main() -> tuple[str, int]:
        ticks = 0
        asking = asyncio.ensure_future(filled.as_query_engine().aquery(question))
        while not asking.done():
            await asyncio.sleep(0)
            ticks += 1
        return str(asking.result()), ticks

    text, ticks = asyncio.run(main())
    assert text == expected
    assert ticks > 3


def test_the_retriever_gives_scored_nodes_that_stand_in_their_documents(
    filled: KnowledgeEngine,
) -> None:
    retriever = filled.as_retriever()
    assert isinstance(retriever, BaseRetriever)
    found = retriever.retrieve("Where did Tomas Reed meet Ada Brine?")
    assert all(isinstance(node, NodeWithScore) for node in found)
    assert {node.node.ref_doc_id for node in found} == {"quay", "merrow"}
    for node in found:
        text = filled.document_text(node.node.ref_doc_id)
        assert text[node.node.start_char_idx : node.node.end_char_idx] == node.text
    again = asyncio.run(retriever.aretrieve("Where did Tomas Reed meet Ada Brine?"))
    assert [(n.node_id, n.score) for n in again] == [(n.node_id, n.score) for n in found]


def test_the_engine_is_a_tool_for_an_agent(filled: KnowledgeEngine) -> None:
    tool = filled.as_tool()
    assert tool.metadata.name == "knowledge"
    output = tool.call("Who met Tomas Reed at Gull Quay?")
    assert "Ada Brine" in output.content
    assert "Ada Brine" in asyncio.run(tool.acall("Who met Tomas Reed at Gull Quay?")).content


def test_a_chunk_that_comes_through_the_graph_index_alone_is_found_too(
    filled: KnowledgeEngine,
) -> None:
    filled.graph_index.insert(Document(id_="late", text="Orrin Vale repaired the lighthouse."))
    found = filled.retrieve("Who repaired the lighthouse?")
    assert "late" in {passage.document_id for passage in found}
    filled.graph_index.delete_ref_doc("late")
    assert {passage.document_id for passage in filled.retrieve("the lighthouse of Ada Brine")} <= {
        "quay",
        "merrow",
    }


# --- the graph index by itself ----------------------------------------------------------------


def test_the_graph_index_starts_from_nodes() -> None:
    nodes = [TextNode(id_="n1", text=BRINE), TextNode(id_="n2", text=MERROW)]
    index = KnowledgeGraphIndex(nodes, kg_extractors=names_only())
    assert {"Ada Brine", "Tomas Reed", "Gull Quay", "Port Merrow"} <= names(index)
    assert set(index.ref_doc_info) == {"n1", "n2"}
    assert all("nodes" not in node.metadata for node in nodes)


@pytest.mark.parametrize("given", [None, []], ids=["none", "empty"])
def test_the_graph_index_starts_empty(given: list[TextNode] | None) -> None:
    index = KnowledgeGraphIndex(given, kg_extractors=names_only())
    index.insert_nodes([])
    assert index.entities() == index.relations() == index.communities() == []
    assert index.as_retriever().retrieve("Ada Brine") == []


def test_the_default_extractor_needs_no_language_model() -> None:
    index = KnowledgeGraphIndex([TextNode(text=BRINE)])
    assert "Ada Brine" in names(index)


def test_inserting_a_document_replaces_what_stood_under_its_id() -> None:
    index = graph_index(Document(id_="a", text=BRINE, metadata={"title": "The quay"}))
    assert index.ref_doc_info["a"].metadata == {"title": "The quay"}
    ids = index.ref_doc_info["a"].node_ids
    index.insert(Document(id_="a", text=BRINE, metadata={"title": "The quay"}))
    assert index.ref_doc_info["a"].node_ids == ids
    index.insert(Document(id_="a", text="Orrin Vale repaired the Petrel."))
    assert names(index) == {"Orrin Vale", "Petrel"}
    index.update_ref_doc(Document(id_="a", text=MERROW))
    assert names(index) == {"Ada Brine", "Tomas Reed", "Port Merrow"}


def test_a_chunk_inserted_again_with_another_text_says_only_the_new() -> None:
    index = KnowledgeGraphIndex([TextNode(id_="n", text=BRINE)], kg_extractors=names_only())
    index.insert_nodes([TextNode(id_="n", text="Orrin Vale repaired the Petrel.")])
    assert names(index) == {"Orrin Vale", "Petrel"}
    (chunk,) = index.graph_store.get_llama_nodes(["n"])
    assert chunk.get_content() == "Orrin Vale repaired the Petrel."


def test_the_same_document_makes_the_same_chunk_ids_in_every_index() -> None:
    long = Document(id_="a", text=" ".join(f"{BRINE} Paragraph {n}." for n in range(200)))
    first, second = graph_index(long), graph_index(long)
    assert len(first.ref_doc_info["a"].node_ids) > 1
    assert first.ref_doc_info == second.ref_doc_info
    first_chunk, *_ = first.graph_store.get_llama_nodes(first.ref_doc_info["a"].node_ids)
    assert first_chunk.get_content() == long.text[: first_chunk.end_char_idx]


def test_refreshing_takes_only_what_is_new_or_changed(tmp_path: Path) -> None:
    path = f"sqlite:///{tmp_path / 'graph.db'}"
    graph_index(
        Document(id_="a", text=BRINE),
        Document(id_="b", text=MERROW),
        graph_store=SqlGraphStore(Database(path)),
    )
    # Another process, some other day: what is known is in the store, not in memory.
    index = KnowledgeGraphIndex.from_existing(
        SqlGraphStore(Database(path)), kg_extractors=names_only()
    )
    documents = [
        Document(id_="a", text=BRINE),
        Document(id_="b", text="Tomas Reed left Port Merrow."),
        Document(id_="c", text="Orrin Vale came to Port Merrow."),
    ]
    assert index.refresh_ref_docs(documents) == [False, True, True]
    assert index.refresh_ref_docs(documents) == [False, False, False]
    assert asyncio.run(index.arefresh_ref_docs(documents)) == [False, False, False]
    assert set(index.ref_doc_info) == {"a", "b", "c"}


def test_the_second_documents_evidence_for_a_known_relation_is_kept() -> None:
    index = graph_index(Document(id_="a", text=BRINE), Document(id_="b", text=MERROW))
    by_name = {entity.name: entity.id for entity in index.entities()}
    wanted = {by_name["Ada Brine"], by_name["Tomas Reed"]}
    (relation,) = [r for r in index.relations() if {r.source_id, r.target_id} == wanted]
    store = index.graph_store
    documents = {store.get_llama_nodes([e.chunk_id])[0].ref_doc_id for e in relation.evidences}
    assert documents == {"a", "b"}


def test_homonyms_have_ids_that_are_not_their_name() -> None:
    index = graph_index(
        Document(id_="a", text="Ada Brine sailed.", metadata={"title": "Mercury (planet)"}),
        Document(id_="b", text="Ada Brine slept.", metadata={"title": "Ada Brine"}),
    )
    for node in index.graph_store.get():
        assert node.id != node.name
        assert index.graph_store.get(ids=[node.id]) == [node]


def test_deleting_a_document_deletes_its_evidence_and_keeps_what_others_mention() -> None:
    index = graph_index(Document(id_="a", text=BRINE), Document(id_="b", text=MERROW))
    index.delete_ref_doc("a")
    assert names(index) == {"Ada Brine", "Tomas Reed", "Port Merrow"}
    assert set(index.ref_doc_info) == {"b"}
    assert all(len(relation.evidences) == 1 for relation in index.relations())
    index.delete_ref_doc("never there")
    asyncio.run(index.adelete_ref_doc("b"))
    assert names(index) == set()
    with index.graph_store.database.read() as connection:
        for table in (chunks, mentions, statements):
            assert connection.execute(select(table)).all() == []


def test_no_copy_of_the_chunks_stays_in_memory() -> None:
    index = graph_index(Document(id_="a", text=BRINE))
    index.insert_nodes([TextNode(id_="n", text=MERROW)])
    assert index.docstore.docs == {}


def test_the_retriever_answers_names_with_chunks_best_first() -> None:
    index = graph_index(
        Document(id_="a", text=BRINE),
        Document(id_="b", text=MERROW),
        Document(id_="c", text="Orrin Vale repaired the Petrel."),
    )
    found = index.as_retriever(top_k=5).retrieve("Where is Port Merrow?")
    assert found[0].node.ref_doc_id == "b"
    assert "c" not in {node.node.ref_doc_id for node in found}
    assert len(index.as_retriever(top_k=1).retrieve("Where is Port Merrow?")) == 1


def test_a_query_engine_needs_a_language_model_of_its_own() -> None:
    index = graph_index(Document(id_="a", text=BRINE))
    response = index.as_query_engine(llm=MockLLM()).query("Who met Ada Brine?")
    assert BRINE in str(response)
    assert response.source_nodes[0].node.ref_doc_id == "a"
    with pytest.raises(GraphInputError, match="llm="):
        index.as_query_engine()
    with pytest.raises(GraphInputError, match="llm="):
        index.as_chat_engine()
    own = KnowledgeGraphIndex(graph_store=index.graph_store, llm=MockLLM())
    assert BRINE in str(own.as_query_engine().query("Who met Ada Brine?"))


def test_llama_indexs_own_graph_retrievers_work_over_the_store() -> None:
    index = graph_index(Document(id_="a", text=BRINE), Document(id_="b", text=MERROW))
    synonyms = LLMSynonymRetriever(
        index.graph_store, llm=ScriptedLLM(answer="Gull Quay^Harbour"), include_text=True
    )
    found = index.as_retriever(sub_retrievers=[synonyms]).retrieve("Who was at the harbour?")
    assert found
    assert any(BRINE in node.text for node in found)


def test_another_kind_of_graph_store_is_refused() -> None:
    from llama_index.core.graph_stores import SimplePropertyGraphStore

    context = StorageContext.from_defaults(property_graph_store=SimplePropertyGraphStore())
    with pytest.raises(GraphInputError, match="SimplePropertyGraphStore"):
        KnowledgeGraphIndex.from_documents([], storage_context=context)
    store = SqlGraphStore(Database("sqlite://"))
    ours = StorageContext.from_defaults(property_graph_store=store)
    assert KnowledgeGraphIndex.from_documents([], storage_context=ours).graph_store is store


# --- extractors of the user's own -------------------------------------------------------------

TRIPLES = "(Ada Brine, met, Tomas Reed)\n(Ada Brine, visited, Gull Quay)\n(Zeus, rules, Olympus)"


def test_an_extractor_of_llama_index_may_read_instead_of_ours() -> None:
    llm = ScriptedLLM(answer=TRIPLES)
    index = KnowledgeGraphIndex.from_documents(
        [Document(id_="a", text=BRINE)], kg_extractors=[SimpleLLMPathExtractor(llm=llm)]
    )
    name_of = {entity.id: entity.name for entity in index.entities()}
    found = {(name_of[r.source_id], r.predicate, name_of[r.target_id]) for r in index.relations()}
    assert found == {
        ("Ada Brine", "met", "Tomas Reed"),
        ("Ada Brine", "visited", "Gull Quay"),
    }, "what does not stand in the text is left out"
    index.insert(Document(id_="b", text=BRINE))
    assert llm.calls == 1, "the same text is read once"


def test_two_spellings_of_one_name_in_one_place_are_one_mention() -> None:
    llm = ScriptedLLM(answer="(ada brine, met, Tomas Reed)\n(Ada Brine, visited, Gull Quay)")
    index = KnowledgeGraphIndex(
        [TextNode(text=BRINE)], kg_extractors=[SimpleLLMPathExtractor(llm=llm)]
    )
    assert names(index) == {"Ada Brine", "Tomas Reed", "Gull Quay"}


def test_several_extractors_add_up() -> None:
    index = KnowledgeGraphIndex(
        [TextNode(text=BRINE)],
        kg_extractors=[*names_only(), SimpleLLMPathExtractor(llm=ScriptedLLM(answer=TRIPLES))],
    )
    assert {r.predicate for r in index.relations()} == {"occurs with", "met", "visited"}
    assert "SimpleLLM" in index.extractor
    assert "language-" in index.extractor


def test_an_extractor_that_finds_nothing_is_no_error() -> None:
    index = KnowledgeGraphIndex([TextNode(text=BRINE)], kg_extractors=[ImplicitPathExtractor()])
    assert index.entities() == []
    assert len(index.ref_doc_info) == 1


# --- threads and event loops ------------------------------------------------------------------


@pytest.mark.parametrize("language_model", [False, True], ids=["ours", "with a language model"])
def test_all_of_it_works_inside_a_running_event_loop(language_model: bool) -> None:
    llm = ScriptedLLM(answer=TRIPLES)
    extractors = [SimpleLLMPathExtractor(llm=llm)] if language_model else names_only()

    async def main() -> None:
        index = KnowledgeGraphIndex([TextNode(text=BRINE)], kg_extractors=extractors)
        await index.ainsert(Document(id_="b", text=MERROW))
        await index.ainsert_nodes([TextNode(id_="c", text=f"{BRINE} Again.")])
        index.insert(Document(id_="d", text=f"{MERROW} Again."))
        assert "Ada Brine" in names(index)
        assert await index.as_retriever().aretrieve("Ada Brine")
        engine = index.as_query_engine(llm=MockLLM())
        assert "Ada Brine" in str(await engine.aquery("Who met Tomas Reed?"))
        await index.aupdate_ref_doc(Document(id_="b", text="Tomas Reed rests."))
        await index.adelete_ref_doc("c")
        assert set(index.ref_doc_info) >= {"b", "d"}

    asyncio.run(main())


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_threads_may_insert_and_ask_at_the_same_time(kept: str, tmp_path: Path) -> None:
    url = "sqlite://" if kept == "memory" else f"sqlite:///{tmp_path / 'graph.db'}"
    store = SqlGraphStore(Database(url))
    index = graph_index(Document(id_="start", text=BRINE), graph_store=store)
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            index.insert(Document(id_=f"t{number}", text=f"The Ship{number} carries Ada Brine."))
            assert index.as_retriever().retrieve("Ada Brine")
        except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert {f"Ship{number}" for number in range(6)} <= names(index)


# --- the vector index by itself ---------------------------------------------------------------


@pytest.fixture
def vector_index(open_engine: OpenEngine, tmp_path: Path) -> Iterator[WindowedVectorIndex]:
    with open_engine(tmp_path / "library") as engine:
        embed_model = engine.vector_index._embed_model
    library = Library(tmp_path / "library")
    yield WindowedVectorIndex(
        library,
        embed_model=embed_model,
        model="hashed",
        windows=lambda text, prefix: [
            f"{prefix}{text[i : i + 60]}" for i in range(0, len(text), 60)
        ],
    )
    library.close()


def test_the_vector_index_inserts_retrieves_and_forgets(vector_index: WindowedVectorIndex) -> None:
    vector_index.insert(Document(id_="a", text=BRINE))
    vector_index.insert(Document(id_="b", text="A lighthouse keeper counts lamps."))
    retriever = vector_index.as_retriever(similarity_top_k=2)
    found = retriever.retrieve("the keeper counts lamps")
    assert [node.node.ref_doc_id for node in found] == ["b", "a"]
    assert found[0].score > found[1].score
    again = asyncio.run(retriever.aretrieve("the keeper counts lamps"))
    assert [node.node_id for node in again] == [node.node_id for node in found]
    vector_index.delete_ref_doc("b")
    assert [n.node.ref_doc_id for n in retriever.retrieve("the keeper counts lamps")] == ["a"]
    with vector_index._library.read() as connection:
        assert connection.execute(select(chunks.c.document_id)).scalars().all() == ["a"]
    vector_index.delete_nodes([found[1].node_id])
    assert retriever.retrieve("the keeper counts lamps") == []


def test_the_vector_index_works_inside_a_running_event_loop(
    vector_index: WindowedVectorIndex,
) -> None:
    async def main() -> list[str]:
        await vector_index.ainsert(Document(id_="a", text=BRINE))
        await vector_index.ainsert_nodes([TextNode(id_="n", text=MERROW)])
        await vector_index.adelete_ref_doc("n")
        found = await vector_index.as_retriever(similarity_top_k=5).aretrieve("Ada Brine")
        return [node.node.ref_doc_id for node in found]

    assert asyncio.run(main()) == ["a"]


def test_a_new_text_under_a_known_id_replaces_every_old_window(
    vector_index: WindowedVectorIndex,
) -> None:
    vector_index.insert_nodes([TextNode(id_="n", text="lamp " * 60)])
    vector_index.insert_nodes([TextNode(id_="n", text="harbour")])
    assert vector_index._library.counts()["vectors"] == 1
    (found,) = vector_index.as_retriever().retrieve("harbour")
    assert found.text == "harbour"
    assert found.score == pytest.approx(1, abs=1e-6)


def test_all_windows_of_a_chunk_are_kept_however_many_are_inserted(
    vector_index: WindowedVectorIndex,
) -> None:
    texts = [" ".join(f"word{n}x{k}" for k in range(40)) for n in range(400)]
    nodes = [TextNode(id_=f"n{n}", text=text) for n, text in enumerate(texts)]
    windows = vector_index.windows(nodes)
    assert len(windows) > 2048, "more than LlamaIndex puts into one batch"
    with vector_index._library.write() as connection:
        from graph.llamaindex.store import chunk_of_node
        from graph.storage.facts import put_chunks

        put_chunks(connection, [chunk_of_node(node) for node in nodes])
        vector_index.insert_nodes(windows)
    assert vector_index._library.counts()["vectors"] == len(windows)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"vector_store_query_mode": "mmr"}, id="another mode"),
    ],
)
def test_what_the_vector_store_cannot_do_it_refuses(
    vector_index: WindowedVectorIndex, options: dict[str, Any]
) -> None:
    vector_index.insert(Document(id_="a", text=BRINE))
    with pytest.raises(NotImplementedError, match="not offered"):
        vector_index.as_retriever(**options).retrieve("Ada Brine")
