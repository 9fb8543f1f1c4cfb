from __future__ import annotations

import logging
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chunking.recursive import RecursiveNodeParser
from engine.chunking.semantic import (
    Embed,
    SemanticNodeParser,
    gap_distances,
    semantic_boundaries,
    term_vectors,
)
from engine.chunking.span_parser import ContextSource, Measure, Span
from engine.embeddings.tokenizer import SimpleTokeniser
from engine.errors import ModelOutputError

TOKENISER = SimpleTokeniser()
SHIPS = "The ship left the port at dawn. Sailors set the sails for the sea. "
BREAD = "Knead the dough with flour. Bake the bread in a hot oven. "
SHIPS_ZH = "船在黎明离开港口。水手们扬帆出海。"
BREAD_ZH = "用面粉和面团。面包放进热烤箱。"


def terms(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.lower())


by_words = term_vectors(terms)


def parser(embed: Embed = by_words, *, size: int = 64, **given: object) -> SemanticNodeParser:
    options = {"overlap_tokens": 0, "atom_tokens": 16, **given}
    return SemanticNodeParser(size_tokens=size, tokeniser=TOKENISER, embed=embed, **options)


def never(texts: Sequence[str]) -> list[list[float]]:
    raise AssertionError(f"embedded {texts!r}")


def texts_of(text: str, spans: Sequence[Span]) -> list[str]:
    return [text[span.start : span.end] for span in spans]


@pytest.mark.parametrize(
    ("ships", "bread"),
    [
        pytest.param(SHIPS * 3, BREAD * 3, id="english"),
        pytest.param(SHIPS_ZH * 3, BREAD_ZH * 3, id="chinese"),
    ],
)
def test_a_chunk_ends_where_the_subject_changes(ships: str, bread: str) -> None:
    text = ships + bread
    found = texts_of(text, parser(size=TOKENISER.count(text) - 1).spans(ContextSource(text=text)))
    assert found == [ships.strip(), bread.strip()]


def test_a_section_that_fits_is_never_embedded() -> None:
    text = f"# One\n\n{SHIPS}\n\n# Two\n\n{BREAD}"
    subject = ContextSource(text=text, shape="markdown")
    recursive = RecursiveNodeParser(size_tokens=64, overlap_tokens=0, tokeniser=TOKENISER)
    assert parser(never).spans(subject) == recursive.spans(subject)


def test_what_is_embedded_is_the_text_itself_each_part_once_in_one_call() -> None:
    calls: list[list[str]] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        calls.append(list(texts))
        return by_words(texts)

    text = (SHIPS + BREAD) * 6
    parser(embed).spans(ContextSource(text=text))
    assert len(calls) == 1
    assert " ".join(calls[0]) == text.strip()


def test_no_chunk_crosses_a_heading_that_stands_over_enough_text() -> None:
    text = f"# Ships\n\n{SHIPS * 4}\n\n# Bread\n\n{BREAD * 4}"
    found = parser().spans(ContextSource(text=text, shape="markdown"))
    assert [span.path for span in found] == sorted((span.path for span in found), reverse=True)
    begun = {span.path: text[span.start :] for span in reversed(found)}
    assert begun[("Ships",)].startswith("# Ships\n")
    assert begun[("Bread",)].startswith("# Bread\n")


def test_a_table_stays_whole_and_a_heading_keeps_what_follows() -> None:
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | {n} |" for n in range(4))
    text = f"# Head\n\n{SHIPS * 4}\n\n{table}\n\n{BREAD * 4}"
    found = texts_of(text, parser().spans(ContextSource(text=text, shape="markdown")))
    assert sum(table in chunk for chunk in found) == 1
    assert found[0].startswith("# Head\n\nThe ship")


def test_the_last_bits_of_a_vector_never_decide() -> None:
    text = "".join((SHIPS, BREAD)[n % 3 == 0] for n in range(30))

    def shaken(texts: Sequence[str]) -> list[list[float]]:
        return (np.array(by_words(texts)) + 1e-9).tolist()  # type: ignore[no-any-return]

    subject = ContextSource(text=text)
    assert parser(shaken).spans(subject) == parser().spans(subject)


def test_a_text_too_long_to_embed_is_cut_as_by_default_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    subject = ContextSource(text=SHIPS * 20)
    recursive = RecursiveNodeParser(size_tokens=64, overlap_tokens=0, tokeniser=TOKENISER)
    with caplog.at_level(logging.WARNING, logger="loregraph.chunk"):
        found = parser(never, max_embedded_tokens=100).spans(subject)
    assert found == recursive.spans(subject)
    assert "max_embedded_tokens=100" in caplog.text


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param([], id="nothing"),
        pytest.param([[1.0, 0.0]], id="too few"),
        pytest.param([1.0, 2.0], id="no vectors"),
    ],
)
def test_vectors_that_do_not_match_the_texts_are_refused(answer: list[list[float]]) -> None:
    with pytest.raises(ModelOutputError, match="one vector a text"):
        parser(lambda texts: answer).spans(ContextSource(text=SHIPS * 10))


def test_an_empty_text_has_no_chunks() -> None:
    assert parser(never).spans(ContextSource(text=" \n\t ")) == []


# Boundaries and distances


@pytest.mark.parametrize(
    ("tokens", "gaps", "expected"),
    [
        pytest.param([10, 10, 10, 10], [0.1, 0.9, 0.1], [2], id="above the threshold"),
        pytest.param([10, 10, 10, 10], [0.1, 0.2, 0.1], [], id="fits, nothing above"),
        pytest.param([30, 30, 30], [0.2, 0.1], [1], id="too long: the widest, whatever it is"),
        pytest.param([5, 40, 40], [0.9, 0.1], [2], id="a side would be too small"),
        pytest.param([20, 20, 20, 20], [0.2, 0.2, 0.2], [1], id="of equals the first"),
        pytest.param([80], [], [], id="one atom"),
    ],
)
def test_boundaries_stand_at_the_widest_gaps(
    tokens: list[int], gaps: list[float], expected: list[int]
) -> None:
    found = semantic_boundaries(tokens, gaps, size_tokens=60, smallest_tokens=15, threshold=0.5)
    assert found == expected


def divided(
    tokens: list[int], gaps: list[float], first: int, last: int, smallest: int
) -> list[int]:
    """The same rule as a plain recursion, to compare with."""
    too_long = sum(tokens[first:last]) > 60
    fitting = [
        (-gaps[at - 1], at)
        for at in range(first + 1, last)
        if min(sum(tokens[first:at]), sum(tokens[at:last])) >= smallest
        and (too_long or gaps[at - 1] > 0.5)
    ]
    if not fitting:
        return []
    at = min(fitting)[1]
    left = divided(tokens, gaps, first, at, smallest)
    return [*left, at, *divided(tokens, gaps, at, last, smallest)]


@given(
    st.lists(st.tuples(st.integers(1, 40), st.sampled_from([0.1, 0.3, 0.6, 0.9])), max_size=30),
    st.integers(0, 30),
)
def test_one_pass_finds_the_boundaries_that_recursion_finds(
    atoms: list[tuple[int, float]], smallest: int
) -> None:
    tokens = [size for size, _ in atoms]
    gaps = [gap for _, gap in atoms[1:]]
    found = semantic_boundaries(
        tokens, gaps, size_tokens=60, smallest_tokens=smallest, threshold=0.5
    )
    assert found == divided(tokens, gaps, 0, len(tokens), smallest)


def test_distance_is_none_for_the_same_and_whole_for_unrelated_or_unknown() -> None:
    vectors = np.array([[1.0, 0], [2, 0], [0, 1], [0, 0], [0, 0]])
    assert gap_distances(vectors, window=1) == [0.0, 1.0, 1.0, 1.0]


def test_term_vectors_are_near_for_texts_that_share_terms() -> None:
    near, far = gap_distances(np.array(by_words([SHIPS, SHIPS + "At sea.", BREAD])), window=1)
    assert near < 0.2
    assert far > 0.5


# What holds for any text

FRAGMENTS = st.one_of(
    st.sampled_from(
        [
            "\n\n",
            "# H\n\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
            "```\nx = 1\n```\n\n",
            SHIPS,
            BREAD,
            SHIPS_ZH,
            "👩‍👩‍👧",
            "e\u0301",
            "第一回 宴桃园\n\n",
            "…",
            "\r\n",
        ]
    ),
    st.text(max_size=40),
)
DOCUMENTS = st.lists(FRAGMENTS, max_size=30).map("".join)


@given(DOCUMENTS, st.sampled_from([16, 40, 100]))
def test_chunks_are_ordered_cover_the_text_and_keep_the_limit(text: str, size: int) -> None:
    given_parser = parser(size=size)
    found = given_parser.spans(ContextSource(text=text, shape="markdown"))
    measure = Measure(text, TOKENISER)
    covered = 0
    for span in found:
        assert not text[covered : span.start].strip()
        assert span.end > covered
        assert measure.tokens(span.start, span.end) <= size
        covered = span.end
    assert not text[covered:].strip()
    assert found == given_parser.spans(ContextSource(text=text, shape="markdown"))
