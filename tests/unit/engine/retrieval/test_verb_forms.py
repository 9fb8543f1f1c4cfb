"""The forms of irregular verbs, as the answer's words are compared."""

from __future__ import annotations

import pytest

from engine.retrieval.lexical_variants import FORMS, lexical_variants
from engine.storage.tokenization import tokens


def _stem(word: str) -> str:
    (term,) = tokens(word)
    return term


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("light", "lit"),
        ("sells", "sold"),
        ("choose", "chosen"),
        ("arose", "arises"),
        ("gave", "given"),
        ("flew", "flying"),
        ("leave", "left"),
        ("become", "became"),
        ("underwent", "undergo"),
    ],
)
def test_forms_of_one_verb_say_the_same(asked: str, told: str) -> None:
    assert _stem(told) in lexical_variants(_stem(asked))
    assert _stem(asked) in lexical_variants(_stem(told))


def test_forms_stand_as_the_keyword_index_stems_them() -> None:
    assert [form for form in FORMS if form not in {*tokens(form), *tokens(f"{form}e")}] == []
