"""Which names look like one thing spelt twice, which never do, and at what price they are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.extraction.rule_based import LanguageExtractor
from graph.model import OCCURS_WITH, Chunk, Extraction, Mention, Name, Statement
from graph.pipeline import DeriveOptions, derive_graph
from graph.resolution.name_parsing import parts_of
from graph.resolution.resolver import resolve_names
from graph.resolution.rules import name_profile
from graph.resolution.similarity import (
    BLOCK,
    DOUBTFUL,
    SURE,
    Likeness,
    SimilarPair,
    Spelling,
    compare_spellings,
    far_pairs,
    near_pairs,
    similar_links,
    similar_pairs,
    spelling_of,
)
from graph.storage.database import Database, read_entities, read_merges, read_relations
from graph.storage.facts import delete_document, put_chunks, put_extractions
from graph.storage.schema import metadata

BESIDE = ("bob cratchit", "jacob marley", "tiny tim")


def name(key: str, kind: str = "PERSON", count: int = 3, titles: str = "") -> Name:
    return Name(
        key=key,
        surfaces={key.title(): count},
        types={kind: count},
        documents=frozenset({"d"}),
        titles=frozenset(titles.split()),
    )


def pairs(names: Sequence[Name], **more: object) -> list[SimilarPair]:
    return similar_pairs({each.key: name_profile(each) for each in names}, **more)  # type: ignore[arg-type]


def together(*keys: str) -> dict[str, frozenset[str]]:
    """Neighbours: each of the keys stands beside the same three names."""
    near = {key: frozenset(BESIDE) for key in keys}
    return near | {key: frozenset(keys) for key in BESIDE}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param("qur'an", "quran", Likeness.SAME_LETTERS, id="apostrophe"),
        pytest.param("jørgensen", "jorgensen", Likeness.SAME_LETTERS, id="letter"),
        pytest.param("哈利·波特", "哈利波特", Likeness.SAME_LETTERS, id="dot"),
        pytest.param("ebenezer scrooge", "ebeneezer scrooge", Likeness.DOUBLED, id="doubled"),
        pytest.param("leo tolstoy", "leo tolstoi", Likeness.ROMANISED, id="romanised"),
        pytest.param("zakhary vale", "zachary vale", Likeness.ROMANISED, id="kh and ch"),
        pytest.param("克利夫兰", "克里夫兰", Likeness.ROMANISED, id="sound in Chinese"),
        pytest.param("michael brown", "micheal brown", Likeness.ONE_LETTER, id="swapped"),
        pytest.param("dostoevsky", "dostoyevsky", Likeness.ONE_LETTER, id="one more"),
        pytest.param("hans andersen", "hans anderson", Likeness.CLOSE, id="another vowel"),
        pytest.param("kim jong-nam", "kim yong-nam", Likeness.CLOSE, id="first letter"),
        pytest.param("george eliot", "george elliott", Likeness.ROMANISED, id="doubled twice"),
        pytest.param("interscope", "interscope records", Likeness.SHORTENED, id="shortened"),
        pytest.param("诸葛亮", "诸葛瑾", Likeness.OTHER, id="brothers"),
        pytest.param("ada", "ida", Likeness.OTHER, id="short"),
    ],
)
def test_how_alike_two_spellings_are(one: str, other: str, expected: Likeness) -> None:
    first, second = (spelling_of(key, parts_of(key)) for key in (one, other))
    assert expected == compare_spellings(first, second) == compare_spellings(second, first)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("petrel 2", "petrel 3", id="numbers"),
        pytest.param("henry vii", "henry viii", id="roman numbers"),
        pytest.param("world war one", "world war two", id="number words"),
        pytest.param("c-170a", "c-170b", id="versions"),
        pytest.param("north korea", "south korea", id="directions"),
        pytest.param("korea", "south korea", id="a direction more"),
        pytest.param("john smith jr", "john smith sr", id="generations"),
        pytest.param("john smith", "john smith jr", id="a generation more"),
        pytest.param("import duty", "export duty", id="opposite prefixes"),
        pytest.param("regular army", "irregular army", id="negation"),
        pytest.param("march offensive", "april offensive", id="months"),
        pytest.param("青岛大学", "青岛小学", id="opposites in Chinese"),
        pytest.param("第一集团军", "第二集团军", id="numbers in Chinese"),
    ],
)
def test_what_tells_two_things_apart_is_stronger_than_likeness(one: str, other: str) -> None:
    beside = together(one, other)
    vectors = {"embed": lambda texts: np.ones((len(texts), 4))}
    assert pairs([name(one, "NAME"), name(other, "NAME")], neighbours=beside, **vectors) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("ebenezer scrooge", "ebeneezer scrooge", id="doubled letter"),
        pytest.param("al-mu'tasim", "al-muʿtasim", id="marks"),
        pytest.param("圣彼得堡", "圣彼德堡", id="sound in Chinese"),
    ],
)
def test_variants_of_a_spelling_are_sure(one: str, other: str) -> None:
    (link,) = similar_links({key: name_profile(name(key)) for key in (one, other)})
    assert {one, other} == {link.key, link.other}
    assert link.reason


def test_sounds_are_sure_only_where_the_same_names_stand_beside_both() -> None:
    names = [name("leo tolstoy"), name("leo tolstoi")]
    (alone,) = pairs(names)
    (beside,) = pairs(names, neighbours=together("leo tolstoy", "leo tolstoi"))
    assert DOUBTFUL <= alone.score < SURE <= beside.score
    assert "stand beside both" in beside.reason


def test_two_names_in_one_sentence_are_hardly_one_thing() -> None:
    keys = ("leo tolstoy", "leo tolstoi")
    beside = together(*keys)
    beside[keys[0]] |= {keys[1]}
    assert not any(pair.is_sure for pair in pairs([name(key) for key in keys], neighbours=beside))


def test_two_names_with_a_document_each_are_left_to_a_reader() -> None:
    names = [name("paul hofmann", titles="a"), name("paul hoffmann", titles="b")]
    assert [pair.is_sure for pair in pairs(names)] == [False]


def test_given_names_that_are_both_common_are_left_to_a_reader() -> None:
    keys = ("mr philip vale", "mr philipp vale")
    assert [pair.is_sure for pair in pairs([name(key) for key in keys])] == [True]
    keys = ("ann vale", "anne vale")
    found = pairs([name(key) for key in keys], neighbours=together(*keys))
    assert not any(pair.is_sure for pair in found)


def test_titles_of_two_genders_and_other_kinds_of_things_are_no_pairs() -> None:
    assert pairs([name("mr. ebenezer vale"), name("mrs. ebeneezer vale")]) == []
    assert pairs([name("ebenezer vale"), name("ebeneezer vale", "PLACE")]) == []


def test_noun_phrases_are_compared_by_their_letters_alone() -> None:
    assert pairs([name("final adress", "CONCEPT"), name("final address", "CONCEPT")]) == []


def test_vectors_find_pairs_that_letters_do_not_but_never_make_them_sure() -> None:
    names = [name("grey elves", "NAME"), name("sindar", "NAME"), name("harbour", "NAME")]

    def embed(texts: Sequence[str]) -> np.ndarray:
        rows = {"grey elves": [1, 0.1, 0], "sindar": [1, 0, 0], "harbour": [0, 0, 1]}
        return np.array([rows[text] for text in texts])

    assert pairs(names) == []
    (pair,) = pairs(names, embed=embed)
    assert (pair.first, pair.second) == ("grey elves", "sindar")
    assert not pair.is_sure


def test_each_text_is_embedded_alone() -> None:
    sizes: list[int] = []

    def embed(texts: Sequence[str]) -> np.ndarray:
        sizes.append(len(texts))
        return np.ones((len(texts), 3))

    pairs([name("ada brine"), name("orrin vale")], embed=embed)
    assert sizes == [1, 1]


@pytest.mark.parametrize(
    ("surface", "kind", "expected"),
    [
        pytest.param("US", "PLACE", True, id="capitals"),
        pytest.param("us", "PLACE", False, id="a pronoun"),
        pytest.param("US", "PERSON", False, id="a person"),
    ],
)
def test_common_abbreviations_are_known(surface: str, kind: str, expected: bool) -> None:
    short = Name(key="us", surfaces={surface: 2}, types={kind: 2}, documents=frozenset("d"))
    entities, _ = resolve_names([short, name("united states", "PLACE")])
    assert expected == (len(entities) == 1)


def test_a_short_name_met_once_beside_the_full_one_is_somebody_else() -> None:
    names = [name("lisa quint"), name("quint", count=1)]
    assert len(resolve_names(names)[0]) == 1
    assert len(resolve_names(names, neighbours={"quint": {"lisa quint"}})[0]) == 2


def test_a_courtesy_name_that_a_text_states_is_one_person_in_either_script() -> None:
    texts = ["劉備，字玄德，涿郡人也。玄德見曹操。", "刘备与曹操饮酒，玄德大惊。"]
    database = Database("sqlite://")
    with database.write() as connection:
        metadata.create_all(connection)
        chunks = [
            Chunk(id=f"c{n}", document_id=f"d{n}", title="", text=text, end=len(text))
            for n, text in enumerate(texts)
        ]
        found = LanguageExtractor(spacy_model="none").extract(texts)
        put_chunks(connection, chunks)
        by_chunk = dict(zip((chunk.id for chunk in chunks), found, strict=True))
        put_extractions(connection, by_chunk, extractor="test")
    derive_graph(database, options=DeriveOptions())
    with database.read() as connection:
        (person,) = [each for each in read_entities(connection) if "刘备" in each.keys]
    database.close()
    assert {"刘备", "玄德"} <= set(person.keys)
    assert "劉備" in {person.name, *person.aliases}
    assert person.document_count == 2


_SYLLABLES = ["".join(letters) for letters in product("bdgklmnprstvz", "aeiou")]


def _many(count: int) -> list[str]:
    """Names of two words, each word of three syllables, hardly alike."""
    size = len(_SYLLABLES)
    words = [
        _SYLLABLES[i % size] + _SYLLABLES[i * 7 // size % size] + _SYLLABLES[i * 31 % size]
        for i in range(count * 2)
    ]
    return [f"{words[2 * i]} {words[(2 * i * 17 + 1) % len(words)]}" for i in range(count)]


@pytest.mark.parametrize(
    ("find", "forms"),
    [pytest.param(near_pairs, 5, id="near"), pytest.param(far_pairs, 6, id="far")],
)
def test_comparisons_grow_as_the_names_do(
    find: Callable[[Mapping[str, Spelling]], Iterator[tuple[str, str]]], forms: int
) -> None:
    for count in (500, 1_000, 2_000):
        keys = sorted(set(_many(count)))
        found = set(find({key: spelling_of(key, parts_of(key)) for key in keys}))
        assert len(found) <= forms * BLOCK * len(keys)


def test_spellings_that_are_nearly_one_are_few() -> None:
    keys = sorted(set(_many(2_000)))
    found = set(near_pairs({key: spelling_of(key, parts_of(key)) for key in keys}))
    assert len(found) < len(keys)


def test_a_given_name_that_thousands_share_does_not_make_every_pair() -> None:
    keys = [f"john {surname}" for surname in sorted(set(_many(1_500)))]
    spellings = {key: spelling_of(key, parts_of(key)) for key in keys}
    found = {*far_pairs(spellings), *near_pairs(spellings)}
    assert len(found) < 12 * BLOCK * len(keys) < len(keys) ** 2 / 2


_KEYS = st.sampled_from(
    [
        *("ebenezer scrooge", "ebeneezer scrooge", "scrooge", "mr scrooge", "fred scrooge"),
        *("leo tolstoy", "leo tolstoi", "tolstoy", "tolstoi", "north vale", "south vale"),
        *("qur'an", "quran", "qurʾan", "圣彼得堡", "圣彼德堡", "henry vii", "henry viii", "henry"),
    ]
)
_NAMES = st.builds(
    lambda key, kind, count, titles: name(key, kind, count, titles),
    _KEYS,
    st.sampled_from(["PERSON", "PLACE", "NAME"]),
    st.integers(1, 4),
    st.sampled_from(["", "d"]),
)
_BESIDE = st.dictionaries(_KEYS, st.frozensets(_KEYS, max_size=4), max_size=8)


@given(st.lists(_NAMES, max_size=10), _BESIDE, st.randoms(use_true_random=False))
def test_order_changes_nothing(
    names: list[Name], beside: dict[str, frozenset[str]], random: object
) -> None:
    shuffled, mixed = list(names), list(beside.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    expected = resolve_names(names, neighbours=beside)
    assert expected == resolve_names(shuffled, neighbours=dict(mixed))


_DOCUMENTS = st.lists(st.lists(_KEYS, min_size=1, max_size=3, unique=True), min_size=2, max_size=3)


@settings(max_examples=8)
@given(_DOCUMENTS)
def test_removing_a_document_is_never_having_added_it(documents: list[list[str]]) -> None:
    held, fresh = _library(documents), _library(documents[1:], first=1)
    with held.write() as connection:
        delete_document(connection, "d0")
    derive_graph(held, options=DeriveOptions())
    assert _derived(held) == _derived(fresh)
    held.close()
    fresh.close()


def _library(documents: list[list[str]], *, first: int = 0) -> Database:
    """A derived library; in each document every name stands in a sentence with the next one."""
    database = Database("sqlite://")
    with database.write() as connection:
        metadata.create_all(connection)
        for number, keys in enumerate(documents, start=first):
            text = "; ".join(keys)
            at = {key: text.index(key) for key in keys}
            chunk = Chunk(id=f"c{number}", document_id=f"d{number}", title="", text=text)
            mentions = [
                Mention(start=at[k], end=at[k] + len(k), surface=k, key=k, type="PERSON")
                for k in keys
            ]
            statements = [
                Statement(start=0, end=len(text), subject=a, predicate=OCCURS_WITH, object=b)
                for a, b in pairwise(keys)
            ]
            found = Extraction(mentions=tuple(mentions), statements=tuple(statements))
            put_chunks(connection, [chunk])
            put_extractions(connection, {chunk.id: found}, extractor="test")
    derive_graph(database, options=DeriveOptions())
    return database


def _derived(database: Database) -> tuple[object, ...]:
    with database.read() as connection:
        return read_entities(connection), read_merges(connection), read_relations(connection)
