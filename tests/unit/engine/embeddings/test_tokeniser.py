from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.embeddings.model_files import EMBEDDING, model_file
from engine.embeddings.tokenizer import (
    SimpleTokeniser,
    Tokeniser,
    WordPieceTokeniser,
    load_tokeniser,
    read_tokeniser,
    split_windows,
    windows_and_sentences,
)
from graph.text.sentences import sentence_spans

ENGLISH = (
    "Maeve Tolland founded the marine station at Port Ansgar in 1961. It measures tides, salt and"
    " temperature. Nobody expected the storm of 2016; the cable broke. "
)
CHINESE = "托兰海洋站由梅芙·托兰于1961年创立，负责测量潮汐、盐度和温度。没有人预料到2016年的风暴。"
MIXED = "The Lantern Cable（灯笼海缆）was laid in 2016，由安斯加港出资。"

_WORD_PIECES = load_tokeniser()

ANY_TEXT = st.text(max_size=300) | st.text(
    alphabet=st.sampled_from("ab É1.,!? \n\t。，海缆안ไทยпр𠀀\u0301\u200b\x00\x0b\x1c\x85豈ﬁ-_[]"),
    max_size=300,
)


@pytest.fixture(params=["word pieces", "simple"])
def tokeniser(request: pytest.FixtureRequest) -> Tokeniser:
    if request.param == "simple":
        return SimpleTokeniser()
    return _word_pieces()


def _word_pieces() -> Tokeniser:
    assert isinstance(_WORD_PIECES, WordPieceTokeniser)
    return _WORD_PIECES


def _both() -> list[Tokeniser]:
    return [SimpleTokeniser(), _word_pieces()]


@given(text=ANY_TEXT)
def test_spans_are_as_many_as_counted_in_order_and_inside_the_text(text: str) -> None:
    for tokeniser in _both():
        spans = tokeniser.spans(text)
        assert len(spans) == tokeniser.count(text)
        assert all(0 <= start <= end <= len(text) for start, end in spans)
        assert [start for start, _ in spans] == sorted(start for start, _ in spans)


@given(text=ANY_TEXT, prefix=st.sampled_from(["", "Title. ", "Title"]), limit=st.integers(4, 40))
@example(text=":000ȴ0A0", prefix="Title. ", limit=4)
def test_windows_join_to_the_text_and_keep_the_limit(text: str, prefix: str, limit: int) -> None:
    for tokeniser in _both():
        pieces = split_windows(text, prefix=prefix, limit=limit, tokeniser=tokeniser)
        whole = tokeniser.count(prefix) * 2 <= limit
        if whole:
            assert all(piece.startswith(prefix) for piece in pieces)
            assert "".join(piece[len(prefix) :] for piece in pieces) == text
        assert all(
            tokeniser.count(piece) <= limit or len(piece.strip()) <= len(prefix) + 1
            for piece in pieces
        )


@given(words=st.lists(st.sampled_from(["tide", "海", "Å", "x" * 120, "…", "naïve"]), max_size=900))
@settings(max_examples=30)
def test_counting_by_blocks_changes_no_token(words: list[str]) -> None:
    text = " ".join(words * 3)
    for tokeniser in _both():
        assert tokeniser.count(text) == sum(tokeniser.count(word) for word in words * 3)


@pytest.mark.parametrize(
    "word", ["[UNK]", "鸥", "Zm9v" * 40, "İstanbul", "a\x0cb", "灯\u0301", "𫠠𫠡"]
)
def test_words_of_which_the_size_is_remembered_are_counted_alike(word: str) -> None:
    text = f"The {word}/{word}, 灯{word} {word}。" * 200
    for _ in range(2):
        assert _word_pieces().count(text) == len(_word_pieces().spans(text))


def test_counts_are_never_below_what_the_encoder_sees() -> None:
    hub = read_tokeniser(model_file(EMBEDDING, "tokenizer.json"))
    for text in (ENGLISH * 60, CHINESE * 80, MIXED * 50, "ภาษาไทย" * 100, "Z" * 9_000, "[SEP]"):
        seen = len(hub.encode(text, add_special_tokens=False).ids)
        assert _word_pieces().count(text) >= seen


def test_a_blob_without_spaces_is_not_a_small_text(tokeniser: Tokeniser) -> None:
    assert tokeniser.count("Zm9vYmFy" * 1_000) >= 1_000


@pytest.mark.parametrize(
    ("text", "coverage", "readable"),
    [
        pytest.param("", (1.0, 1.0), (1.0, 1.0), id="empty"),
        pytest.param("12.5 + 7 = 19.5", (1.0, 1.0), (1.0, 1.0), id="digits only"),
        pytest.param(ENGLISH, (0.99, 1.0), (0.99, 1.0), id="English"),
        pytest.param(CHINESE, (0.2, 0.7), (0.0, 0.0), id="Chinese"),
        pytest.param("Привет, мир, как дела", (0.9, 1.0), (0.0, 0.0), id="Russian"),
        pytest.param("스테이션은 항구에 있다", (0.9, 1.0), (0.0, 0.0), id="Korean"),
        pytest.param(MIXED, (0.3, 0.9), (0.1, 0.7), id="mixed"),
        pytest.param(ENGLISH + "灯笼海缆", (0.8, 1.0), (0.7, 0.99), id="English with a name"),
        pytest.param("[UNK] [SEP] [MASK] are words here", (1.0, 1.0), (1.0, 1.0), id="literals"),
    ],
)
def test_coverage_and_readability_of_scripts(
    text: str, coverage: tuple[float, float], readable: tuple[float, float]
) -> None:
    tokeniser = _word_pieces()
    assert coverage[0] <= tokeniser.coverage(text) <= coverage[1]
    assert readable[0] <= tokeniser.readable(text) <= readable[1]


@given(text=ANY_TEXT)
def test_shares_stay_between_nought_and_one(text: str) -> None:
    for tokeniser in _both():
        assert 0.0 <= tokeniser.coverage(text) <= 1.0
        assert 0.0 <= tokeniser.readable(text) <= 1.0


def test_both_tokenisers_agree_on_what_can_be_read() -> None:
    for text in (ENGLISH, CHINESE, "Привет"):
        assert SimpleTokeniser().readable(text) == pytest.approx(
            _word_pieces().readable(text), abs=0.05
        )


def test_windows_end_with_sentences_and_are_of_like_size(tokeniser: Tokeniser) -> None:
    text = (ENGLISH * 12).strip()
    pieces = split_windows(text, limit=100, tokeniser=tokeniser)
    sizes = [tokeniser.count(piece) for piece in pieces]
    assert len(pieces) > 3
    assert all(piece.rstrip().endswith(".") for piece in pieces)
    assert min(sizes) > max(sizes) / 2


def test_windows_end_with_chinese_sentences(tokeniser: Tokeniser) -> None:
    pieces = split_windows(CHINESE * 10, limit=120, tokeniser=tokeniser)
    assert len(pieces) > 2
    assert all(piece.endswith("。") for piece in pieces)


def test_every_window_carries_the_prefix(tokeniser: Tokeniser) -> None:
    pieces = split_windows(
        ENGLISH * 10, prefix="Station > History\n", limit=64, tokeniser=tokeniser
    )
    assert len(pieces) > 2
    assert all(piece.startswith("Station > History\n") for piece in pieces)


def test_an_overlong_prefix_leaves_half_the_window_to_the_text(tokeniser: Tokeniser) -> None:
    pieces = split_windows(ENGLISH * 4, prefix="heading " * 100, limit=40, tokeniser=tokeniser)
    assert all(piece.startswith("heading heading") for piece in pieces)
    assert all(tokeniser.count(piece) <= 40 for piece in pieces)
    assert len(pieces) <= tokeniser.count(ENGLISH * 4) / 10


def test_what_fits_is_one_window(tokeniser: Tokeniser) -> None:
    assert split_windows("", prefix="p ", limit=10, tokeniser=tokeniser) == ["p "]
    assert split_windows("tide", prefix="p ", limit=10, tokeniser=tokeniser) == ["p tide"]


def test_a_limit_of_nothing_is_refused(tokeniser: Tokeniser) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        split_windows("tide", limit=0, tokeniser=tokeniser)


def test_cost_grows_with_length_and_not_faster(tokeniser: Tokeniser) -> None:
    def seconds(text: str) -> float:
        begin = time.process_time()
        tokeniser.count(text)
        return time.process_time() - begin

    for sample in (ENGLISH, CHINESE, "x"):
        small = sample * (100_000 // len(sample))
        seconds(small)
        assert seconds(small * 4) < 12 * max(seconds(small), 0.02)


def test_without_the_model_the_simple_rule_counts_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "loregraph.models")
    tokeniser = load_tokeniser({"LOREGRAPH_MODELS": str(tmp_path / "nothing here")})
    assert isinstance(tokeniser, SimpleTokeniser)
    assert "simple rule" in caplog.text


def test_a_tokeniser_is_loaded_once() -> None:
    _word_pieces()
    assert load_tokeniser({}) is load_tokeniser({})


def test_sentences_are_windows_beside_the_whole(tokeniser: Tokeniser) -> None:
    text = "The lamp was lit in May. A whale was seen. The lamp was lit in May. "
    found = windows_and_sentences(
        text, prefix="Log. ", limit=60, tokeniser=tokeniser, sentence_spans=sentence_spans
    )
    assert found == [f"Log. {text}", "Log. The lamp was lit in May.", "Log. A whale was seen."]
    assert windows_and_sentences(
        "One sentence alone.", limit=60, tokeniser=tokeniser, sentence_spans=sentence_spans
    ) == ["One sentence alone."]
