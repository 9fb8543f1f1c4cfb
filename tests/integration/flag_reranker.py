"""FlagEmbedding's reranker with a real, tiny cross-encoder that is built here.

Needs the extra `rerank` (torch), so it is not collected by a plain run: name the file.

    pytest tests/integration/flag_reranker.py
"""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config import RerankSettings
from engine.errors import ModelUnavailable
from engine.retrieval.rerank import Reranker, rerank_passages
from engine.retrieval.rerank_models import build_reranker
from engine.types import Passage

torch = pytest.importorskip("torch", reason="the extra `rerank` is not installed")
transformers = pytest.importorskip("transformers", reason="the extra `rerank` is not installed")
pytest.importorskip("FlagEmbedding", reason="the extra `rerank` is not installed")

WORDS = [
    *("where", "is", "the", "dam", "on", "a", "river", "who", "built", "it", "city", "old"),
    *("queen", "stone", "bridge", "水", "坝", "在", "哪", "里"),
]
QUESTION = "where is the dam"
TEXTS = [
    "the old city",
    "the dam is on a river",
    "stone bridge",
    "水坝在河上",
    "the queen built it",
]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers and random weights, larger than usual so that scores differ."""
    folder = tmp_path_factory.mktemp("cross-encoder")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf8")
    torch.manual_seed(7)
    configuration = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=520,
        num_labels=1,
        initializer_range=0.5,
    )
    transformers.BertForSequenceClassification(configuration).save_pretrained(folder)
    tokeniser = transformers.BertTokenizerFast(vocab_file=str(folder / "vocab.txt"))
    tokeniser.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def reranker(model_folder: Path) -> Reranker:
    built = build_reranker(RerankSettings(kind="flag", model=str(model_folder), candidates=20))
    assert built is not None
    return built


def passages(texts: list[str]) -> list[Passage]:
    return [
        Passage(
            text=text,
            score=1.0 / (1 + number),
            relevance=0.5,
            document_id=f"d{number}",
            chunk_id=f"c{number}",
            title="",
            start=0,
            end=len(text),
        )
        for number, text in enumerate(texts)
    ]


def expected_scores(folder: Path, texts: list[str]) -> list[float]:
    """What the model itself says of each pair, one at a time."""
    tokeniser = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return [
            float(model(**tokeniser(QUESTION, text, return_tensors="pt")).logits) for text in texts
        ]


def test_scores_and_order_are_those_of_the_model_itself(
    reranker: Reranker, model_folder: Path
) -> None:
    found = rerank_passages(passages(TEXTS), QUESTION, reranker=reranker, candidates=20, top_k=20)
    expected = dict(zip(TEXTS, expected_scores(model_folder, TEXTS), strict=True))
    assert {each.text: each.scores["rerank"] for each in found} == pytest.approx(expected, abs=1e-4)
    assert [each.text for each in found] == sorted(TEXTS, key=lambda text: -expected[text])
    assert max(expected.values()) - min(expected.values()) > 0.01


def test_scores_do_not_depend_on_the_order_of_arrival(reranker: Reranker) -> None:
    forwards = reranker.rerank(QUESTION, passages(TEXTS))
    backwards = reranker.rerank(QUESTION, passages(TEXTS)[::-1])
    assert [each.text for each in forwards] == [each.text for each in backwards]


def test_a_single_passage_and_a_text_longer_than_the_model_reads_are_judged(
    reranker: Reranker,
) -> None:
    (only,) = reranker.rerank(QUESTION, passages(["the dam"]))
    assert isinstance(only.scores["rerank"], float)
    long = reranker.rerank(QUESTION, passages(["the dam is old " * 900, "a river"]))
    assert {each.text[:7] for each in long} == {"the dam", "a river"}
    assert all("rerank" in each.scores for each in long)


def test_empty_texts_and_no_passages_are_judged(reranker: Reranker) -> None:
    assert reranker.rerank(QUESTION, []) == []
    assert len(reranker.rerank(QUESTION, passages(["", "the dam"]))) == 2


def test_nothing_is_printed(model_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    built = build_reranker(RerankSettings(kind="flag", model=str(model_folder)))
    assert built is not None
    built.rerank(QUESTION, passages(TEXTS))
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_folder_without_a_model_leaves_the_order_and_says_so(tmp_path: Path) -> None:
    built = build_reranker(RerankSettings(kind="flag", model=str(tmp_path)))
    assert built is not None
    with pytest.raises(ModelUnavailable, match="reranker"):
        built.rerank(QUESTION, passages(TEXTS))
    told: list[str] = []
    found = rerank_passages(
        passages(TEXTS), QUESTION, reranker=built, candidates=5, top_k=5, on_event=told.append
    )
    assert found == passages(TEXTS)
    assert told[0].startswith(f"order kept: reranker {str(tmp_path)!r} failed")
