"""What `--estimate` tells of the sample corpus, beside the bill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from llama_index.core.utils import get_tokenizer
from openai_server import OpenAIServer, Reply, Request
from reading_model import read_like_a_model, some_name

SAMPLE = Path(__file__).parents[2] / "data" / "corpus"


def count(text: str) -> int:
    """As OpenAI's models count."""
    return len(get_tokenizer()(text))


def answer(request: Request) -> Reply:
    """Of every name it says something; a reply that is too long is cut off."""
    text = read_like_a_model(request, names=some_name)
    schema = request.body["response_format"]["json_schema"]["schema"]
    prompt = count(json.dumps(schema))
    prompt += sum(count(message["content"]) + 4 for message in request.body["messages"])
    limit, said = request.body["max_tokens"], count(text)
    if said <= limit:
        return Reply(text, tokens=(prompt, said))
    return Reply(text[: len(text) * limit // said], tokens=(prompt, limit), finish_reason="length")


def test_an_estimate_of_the_sample_corpus_is_near_the_bill_without_any_experience(
    open_engine, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.answer_with(answer)
    llm = openai_server.settings()
    graph = {"extractor": "llm", "judged_pairs": 0}
    with open_engine(tmp_path / "library", llm=llm, graph=graph) as engine:
        estimate = engine.estimate([SAMPLE])
        assert openai_server.requests == []
        (told,) = estimate.stages
        engine.add([SAMPLE])
        (paid,) = engine.usage()
    assert told.calls == pytest.approx(paid.calls, rel=0.2)
    assert told.prompt_tokens == pytest.approx(paid.prompt_tokens, rel=0.1)
    assert told.completion_tokens == pytest.approx(paid.completion_tokens, rel=0.2)
    assert told.basis is not None
    assert "tokens to a token of text" in told.basis


def test_documents_that_only_rules_have_read_cost_as_much_as_new_ones(
    open_engine, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    llm = openai_server.settings()
    graph = {"extractor": "llm", "judged_pairs": 0}
    documents = SAMPLE / "people"
    with open_engine(tmp_path / "library", llm=llm, graph=graph) as engine:
        (new,) = engine.estimate([documents]).stages
    with open_engine(tmp_path / "library", llm=llm, graph={"judged_pairs": 0}) as engine:
        engine.add([documents])
    with open_engine(tmp_path / "library", llm=llm, graph=graph) as engine:
        estimate = engine.estimate([documents])
    (waiting,) = estimate.stages
    assert estimate.documents == 0
    assert waiting.calls == new.calls
    assert waiting.completion_tokens == pytest.approx(new.completion_tokens, rel=0.1)
    assert new.completion_tokens > 0
