"""The public parts in LlamaIndex's own pipelines, engines, evaluators and agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.evaluation import BatchEvalRunner, FaithfulnessEvaluator
from llama_index.core.graph_stores.types import KG_NODES_KEY, KG_RELATIONS_KEY
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.query_engine import (
    RetrieverQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import Document, NodeWithScore, TextNode
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import QueryEngineTool
from llama_index.llms.openai_like import OpenAILike
from openai_server import OpenAIServer, Reply

from loregraph import (
    ExtractionTransform,
    KnowledgeEngine,
    KnowledgeGraphIndex,
    LanguageExtractor,
    LocalRetriever,
    RecursiveNodeParser,
    RerankPostprocessor,
    Settings,
)

QUESTION = "Who met Tomas Reed?"
TEXTS = {
    "quay": "Ada Brine met Tomas Reed at Gull Quay. Ada Brine is a captain.",
    "merrow": "Tomas Reed met Bea Hollow in Port Merrow. She is a baker.",
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeEngine]:
    light = {"embedding": {"kind": "none"}, "graph": {"spacy_model": "none"}}
    folder = tmp_path_factory.mktemp("parts") / "library"
    with KnowledgeEngine.open(folder, settings=Settings.model_validate(light)) as engine:
        engine.add([Document(id_=name, text=text) for name, text in TEXTS.items()])
        yield engine


@pytest.fixture
def llm(openai_server: OpenAIServer) -> OpenAILike:
    return OpenAILike(
        model="scripted",
        api_base=openai_server.base_url,
        api_key="none",
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
    )


def tool_call(tool: str, **arguments: object) -> Reply:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"id": "call_1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    frame = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted"}
    return Reply(raw=json.dumps(frame | {"choices": [choice]}).encode())


def tools_of(engine: KnowledgeEngine) -> list[QueryEngineTool]:
    return [
        QueryEngineTool.from_defaults(
            engine.as_query_engine(mode=mode), name=mode, description=f"Answers {mode} questions."
        )
        for mode in ("local", "global")
    ]


# --- parts ------------------------------------------------------------------------------------


def test_an_ingestion_pipeline_splits_and_extracts_for_a_graph_index() -> None:
    pipeline = IngestionPipeline(
        transformations=[
            RecursiveNodeParser(),
            ExtractionTransform(extractor=LanguageExtractor(spacy_model="none")),
        ],
        disable_cache=True,
    )
    nodes = pipeline.run(documents=[Document(id_=n, text=text) for n, text in TEXTS.items()])
    assert all(node.metadata[KG_NODES_KEY] and KG_RELATIONS_KEY in node.metadata for node in nodes)
    index = KnowledgeGraphIndex(nodes=nodes, kg_extractors=[])
    assert {"Ada Brine", "Tomas Reed"} <= {entity.name for entity in index.entities()}


def test_a_retriever_query_engine_reads_what_the_reranker_puts_first(
    filled: KnowledgeEngine, llm: OpenAILike, openai_server: OpenAIServer
) -> None:
    retriever = filled.as_retriever(similarity_top_k=2)
    assert isinstance(retriever, LocalRetriever)
    before = [node.node_id for node in retriever.retrieve(QUESTION)]
    openai_server.script("[2] > [1]", "Both did.")
    engine = RetrieverQueryEngine.from_args(
        retriever, llm=llm, node_postprocessors=[RerankPostprocessor.from_llm(llm, top_n=1)]
    )
    response = engine.query(QUESTION)
    assert str(response) == "Both did."
    assert [node.node_id for node in response.source_nodes] == before[1:]


def test_the_reranker_keeps_the_order_where_its_model_fails(
    llm: OpenAILike, openai_server: OpenAIServer
) -> None:
    nodes = [
        NodeWithScore(node=TextNode(id_=name, text=text), score=score)
        for (name, text), score in zip(TEXTS.items(), (None, 0.5), strict=True)
    ]
    openai_server.script(Reply("no", status=400))
    left = RerankPostprocessor.from_llm(llm).postprocess_nodes(nodes, query_str=QUESTION)
    assert [node.node_id for node in left] == list(TEXTS)
    with pytest.raises(ValueError, match="pass query_str"):
        RerankPostprocessor.from_llm(llm).postprocess_nodes(nodes)


# --- engines ----------------------------------------------------------------------------------


def test_a_router_of_llama_index_chooses_between_ways_to_answer(
    filled: KnowledgeEngine, llm: OpenAILike, openai_server: OpenAIServer
) -> None:
    openai_server.script(json.dumps([{"choice": 1, "reason": "It is about a fact."}]))
    router = RouterQueryEngine(
        selector=LLMSingleSelector.from_defaults(llm=llm),
        query_engine_tools=tools_of(filled),
        llm=llm,
    )
    response = router.query(QUESTION)
    assert response.metadata["selector_result"].ind == 0
    assert response.metadata["answer"].citations
    assert "Tomas Reed" in str(response)


def test_sub_questions_are_answered_by_the_library(
    filled: KnowledgeEngine, llm: OpenAILike, openai_server: OpenAIServer
) -> None:
    asked = [
        {"sub_question": "Who is a captain?", "tool_name": "local"},
        {"sub_question": "Who met Bea Hollow?", "tool_name": "local"},
    ]
    openai_server.script(json.dumps({"items": asked}), "A captain and Tomas Reed.")
    engine = SubQuestionQueryEngine.from_defaults(
        query_engine_tools=tools_of(filled),
        llm=llm,
        question_gen=LLMQuestionGenerator.from_defaults(llm=llm),
        response_synthesizer=get_response_synthesizer(llm=llm),
        use_async=False,
        verbose=False,
    )
    response = engine.query("Who is a captain, and who met Bea Hollow?")
    assert str(response) == "A captain and Tomas Reed."
    read = openai_server.requests[-1].question
    assert "Ada Brine is a captain" in read
    assert "Tomas Reed met Bea Hollow" in read


def test_batches_of_answers_are_judged_by_llama_index_s_evaluators(
    filled: KnowledgeEngine, llm: OpenAILike, openai_server: OpenAIServer
) -> None:
    openai_server.answer_with(lambda request: "YES" if "Brine" in str(request.body) else "NO")
    runner = BatchEvalRunner({"faithful": FaithfulnessEvaluator(llm=llm)}, workers=1)
    questions = ["Who is a captain?", "Who met Bea Hollow?"]

    async def main() -> Any:
        return await runner.aevaluate_queries(filled.as_query_engine(mode="local"), questions)

    results = asyncio.run(main())["faithful"]
    assert [result.query for result in results] == questions
    assert results[0].passing
    assert "Ada Brine is a captain" in results[0].response
    assert all(result.contexts for result in results)


# --- agents -----------------------------------------------------------------------------------


def test_a_function_agent_asks_the_query_engine_s_tool(
    filled: KnowledgeEngine, llm: OpenAILike, openai_server: OpenAIServer
) -> None:
    openai_server.script(tool_call("knowledge", input="Who is a captain?"), "Ada Brine.")

    async def main() -> str:
        agent = FunctionAgent(tools=[filled.as_tool()], llm=llm, streaming=False)
        return str(await agent.run("Name the captain."))

    assert asyncio.run(main()) == "Ada Brine."
    assert "Ada Brine is a captain" in openai_server.requests[-1].question


def test_an_agent_workflow_hands_over_to_one_that_looks_things_up(
    filled: KnowledgeEngine, llm: OpenAILike, openai_server: OpenAIServer
) -> None:
    openai_server.script(
        tool_call("handoff", to_agent="reader", reason="It has the documents."),
        tool_call("ask", question="Who is a captain?"),
        "Ada Brine is.",
    )

    async def main() -> str:
        host = FunctionAgent(
            name="host",
            description="Talks to people.",
            llm=llm,
            can_handoff_to=["reader"],
            streaming=False,
        )
        reader = FunctionAgent(
            name="reader",
            description="Reads the documents.",
            llm=llm,
            tools=filled.tools(),
            streaming=False,
        )
        workflow = AgentWorkflow(agents=[host, reader], root_agent="host")
        return str(await workflow.run(user_msg="Name the captain."))

    assert asyncio.run(main()) == "Ada Brine is."
    assert "Sources:\n[1] " in openai_server.requests[-1].question


# --- notebooks --------------------------------------------------------------------------------


def test_the_graph_shows_inline_in_a_notebook(filled: KnowledgeEngine) -> None:
    export = filled.graph.export()
    picture = export._repr_html_()
    assert picture.startswith("<svg")
    assert "Tomas Reed" in picture
    assert "<script" not in picture
    assert repr(export).startswith("GraphExport(entities=")
    assert len(repr(export)) < 120
