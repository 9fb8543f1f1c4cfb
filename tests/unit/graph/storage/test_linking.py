"""Which names occur in which chunk: brought up to date, or matched all anew, the same links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, select

from graph.linking import mark_unlinked, write_links
from graph.model import Chunk
from graph.storage.database import Database, write_difference
from graph.storage.facts import put_chunks
from graph.storage.schema import chunks, links, metadata, names
from graph.text.names import NameMatcher

NAMES = [
    "ada",
    "ada brine",
    "ada brine society",
    "brine",
    "brine society",
    "gull quay",
    "gull quay society of port merrow",
    "society",
    "port merrow",
    "leo fong and george nicholas",
    "leo fong",
    "海鸥",
    "海鸥码头",
    "码头协会",
    "海鸥码头协会",
    "who? when",
    "march | april",
    "トヨタ",
    "yahoo! トヨタ",
]
"""Longer names that hide shorter ones, in words and in Chinese characters; some without a word."""
TEXTS = [
    "Ada Brine Society met at Gull Quay. Brine left.",
    "The Gull Quay Society of Port Merrow; Ada; the Brine Society of Ada Brine.",
    "Leo Fong and George Nicholas wrote. Leo Fong read. The society was not Society.",
    "海鸥码头协会在海鸥码头。海鸥飞过码头协会。",
    "Ada Brine 加入海鸥码头协会, a Society in Port Merrow.",
    "Nothing of all this stands here.",
    "Who? When? Yahoo! トヨタ was founded in March | April.",
]

Library = Mapping[str, str]
"""Name key → its kind."""

libraries = st.dictionaries(
    st.sampled_from(NAMES), st.sampled_from(["title", "name", "concept"]), max_size=len(NAMES)
)


def _apply(connection: Connection, library: Library) -> None:
    """As `derive` does it: write the names, mark, match what waits."""
    rows = [
        {"key": key, "entity_id": f"e-{key}", "reason": "", "kind": kind, "dirty": False}
        for key, kind in sorted(library.items())
    ]
    difference = write_difference(connection, names, rows)
    gone, come = (
        {(row[0], row[3]) for row in side.values()}
        for side in (difference.before, difference.after)
    )
    mark_unlinked(connection, gone=gone, come=come)
    write_links(connection, lambda _stage, _done, _total: None)


def _expected(library: Library) -> set[tuple[str, str]]:
    matcher = NameMatcher(
        titles=[key for key, kind in library.items() if kind == "title"],
        names=[key for key, kind in library.items() if kind != "concept"],
    )
    return {
        (f"c{number}", match.key)
        for number, text in enumerate(TEXTS)
        for match in matcher.match(text)
    }


def _links(connection: Connection) -> set[tuple[str, str]]:
    return {(row.chunk_id, row.key) for row in connection.execute(select(links))}


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    database = Database("sqlite://")
    with database.write() as opened:
        metadata.create_all(opened)
        put_chunks(
            opened,
            [Chunk(id=f"c{n}", document_id="d", title="", text=t) for n, t in enumerate(TEXTS)],
        )
        yield opened


@given(history=st.lists(libraries, min_size=1, max_size=4))
def test_links_kept_up_to_date_are_those_of_matching_everything(
    connection: Connection, history: list[Library]
) -> None:
    for library in history:
        _apply(connection, library)
        assert _links(connection) == _expected(library)


@given(library=libraries, change=st.sampled_from(NAMES), kind=st.sampled_from(["title", "name"]))
def test_one_name_that_comes_and_goes_leaves_no_trace(
    connection: Connection, library: Library, change: str, kind: str
) -> None:
    _apply(connection, library)
    before = _links(connection)
    _apply(connection, {**library, change: kind})
    _apply(connection, library)
    assert _links(connection) == before


def test_only_chunks_where_a_changed_name_may_occur_are_matched_again(
    connection: Connection,
) -> None:
    library = dict.fromkeys([name for name in NAMES if name != "leo fong"], "name")
    _apply(connection, library)
    mark_unlinked(connection, gone=set(), come={("leo fong", "name")})
    waiting = connection.execute(select(chunks.c.id).where(chunks.c.linked.is_(False)))
    assert waiting.scalars().all() == ["c2"]
    write_links(connection, lambda _stage, _done, _total: None)


def test_a_longer_name_hides_a_shorter_one_until_it_goes(connection: Connection) -> None:
    _apply(connection, {"brine": "name", "ada brine society": "name"})
    assert ("c0", "brine") in _links(connection), "it stands there by itself too"
    _apply(connection, {"ada": "name", "ada brine society": "name"})
    assert ("c0", "ada") not in _links(connection)
    _apply(connection, {"ada": "name"})
    assert ("c0", "ada") in _links(connection)


def test_a_noun_phrase_is_no_link(connection: Connection) -> None:
    _apply(connection, {"gull quay": "concept"})
    assert _links(connection) == set()
