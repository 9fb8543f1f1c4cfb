"""Deriving goes on without the documents whose facts it cannot take, and without no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select

from graph.errors import GraphInputError
from graph.model import Chunk, Extraction, Mention
from graph.pipeline import FEW, derived_without_suspects
from graph.storage.database import Database
from graph.storage.facts import put_chunks, put_extractions
from graph.storage.schema import chunks, faults, mentions, metadata


@contextmanager
def writing() -> Iterator[Connection]:
    database = Database("sqlite://")
    with database.write() as connection:
        metadata.create_all(connection)
        yield connection
    database.close()


@pytest.fixture
def connection() -> Iterator[Connection]:
    with writing() as opened:
        yield opened


def fill(connection: Connection, count: int) -> None:
    values = [
        Chunk(
            id=f"c{n}",
            document_id=f"d{n:03}",
            title=f"Title {n}x",
            text="Ada Brine",
            start=0,
            end=9,
            position=0,
        )
        for n in range(count)
    ]
    put_chunks(connection, values)
    found = Extraction(
        mentions=(Mention(start=0, end=9, surface="Ada Brine", key="ada brine", type="PERSON"),)
    )
    put_extractions(connection, {one.id: found for one in values}, extractor="rules")


def speaking(connection: Connection) -> set[str]:
    """The documents of which anything is said."""
    query = select(chunks.c.document_id).join(mentions, mentions.c.chunk_id == chunks.c.id)
    titled = select(chunks.c.document_id).where(chunks.c.title_key != "")
    return {*connection.execute(query).scalars(), *connection.execute(titled).scalars()}


@settings(max_examples=10, deadline=None, derandomize=True)
@given(count=st.integers(1, 20), bad=st.sets(st.integers(0, 19), max_size=3))
def test_only_the_documents_at_fault_are_left_out(count: int, bad: set[int]) -> None:
    culprits = {f"d{n:03}" for n in bad if n < count}
    derived = 0
    with writing() as connection:
        fill(connection, count)

        def derive() -> int:
            nonlocal derived
            derived += len(speaking(connection))
            if speaking(connection) & culprits:
                raise ZeroDivisionError("division by zero")
            return len(speaking(connection))

        assert derived_without_suspects(connection, derive) == count - len(culprits)
        query = select(chunks.c.document_id).join(faults, faults.c.chunk_id == chunks.c.id)
        assert set(connection.execute(query).scalars()) == culprits
    assert derived <= count * (2 + count.bit_length())


def test_of_two_documents_that_fail_together_one_is_left_out(connection: Connection) -> None:
    fill(connection, 9)

    def derive() -> int:
        if {"d002", "d007"} <= speaking(connection):
            raise ZeroDivisionError("division by zero")
        return len(speaking(connection))

    assert derived_without_suspects(connection, derive) == 8


def test_what_fails_without_any_document_is_raised(connection: Connection) -> None:
    fill(connection, 3)

    def derive() -> int:
        raise ZeroDivisionError("division by zero")

    with pytest.raises(ZeroDivisionError):
        derived_without_suspects(connection, derive)
    assert len(speaking(connection)) == 3
    assert connection.execute(select(faults)).all() == []


def test_an_error_that_is_raised_on_purpose_is_tried_once(connection: Connection) -> None:
    fill(connection, 3)
    attempts = []

    def derive() -> int:
        attempts.append(1)
        raise GraphInputError("refused")

    with pytest.raises(GraphInputError):
        derived_without_suspects(connection, derive)
    assert (len(attempts), len(speaking(connection))) == (1, 3)


def test_where_most_documents_would_have_to_go_none_does(connection: Connection) -> None:
    fill(connection, 2 * FEW)

    def derive() -> int:
        if speaking(connection):
            raise ZeroDivisionError("division by zero")
        return 0

    with pytest.raises(ZeroDivisionError):
        derived_without_suspects(connection, derive)
    assert len(speaking(connection)) == 2 * FEW
    assert connection.execute(select(faults)).all() == []
