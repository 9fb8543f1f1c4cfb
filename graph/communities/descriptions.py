"""Descriptions of entities and relations: collected, merged, summarised.

A description is a language model's summary where one is stored for exactly these texts, else their
distinct sentences, put together; both are functions of the set of texts, in any order. Summaries
are stored under the fingerprint of the texts and deleted when the texts change. Several items share
one call of the model, which comes by argument.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from ..extraction.llm.json_repair import find_json, number_of, rows_with
from ..linking import Ends, relation_ends
from ..llm import Ask, Prompt, fence, list_schema, load_prompt, object_schema
from ..model import content_id
from ..resolution.resolver import resolve_facts
from ..storage.facts import in_batches, raise_generation
from ..storage.schema import descriptions, digests, statements
from ..text.cjk import is_chinese
from ..text.sentences import is_near_duplicate, sentence_spans, sentence_words

MAX_CHARACTERS = 600
_MOST = 200
"""Maximum sentences compared with each other; the first ones are used."""


def join_descriptions(texts: Iterable[str]) -> str:
    """Join distinct sentences of all descriptions of an entity up to `MAX_CHARACTERS`.

    What more descriptions say goes first, then what is longer, then by text; of near-duplicates
    the first stays. A single sentence that is longer than all that is cut at a word.
    """
    chosen: list[str] = []
    left = MAX_CHARACTERS
    ranked = distinct_sentences(texts)
    for sentence in ranked:
        if len(sentence) <= left:
            chosen.append(sentence)
            left -= len(sentence) + len(_BETWEEN)
    if not chosen and ranked:
        chosen.append(_cut(ranked[0]))
    return _joined(chosen)


def is_too_much(texts: Iterable[str]) -> bool:
    """Check whether `combined` drops text, so that a summary would help."""
    return len(_joined(distinct_sentences(texts))) > MAX_CHARACTERS


_BETWEEN = "; "
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’」)）]*$")


def _joined(sentences: Sequence[str]) -> str:
    """Join sentences by a blank, and what does not end as a sentence does by "; "."""
    pieces = [each if _SENTENCE_END.search(each) else each + ";" for each in sentences[:-1]]
    return " ".join([*pieces, *sentences[-1:]])


def distinct_sentences(texts: Iterable[str]) -> list[str]:
    """Return the distinct sentences of all descriptions, best first."""
    counts: Counter[str] = Counter()
    for text in texts:
        plain = " ".join(text.split())
        counts.update({plain[start:end] for start, end in sentence_spans(plain)})
    ranked = sorted(counts, key=lambda one: (-counts[one], -len(one), one))[:_MOST]
    kept: list[str] = []
    heard: list[frozenset[str]] = []
    for sentence in ranked:
        words = sentence_words(sentence)
        if words and not any(is_near_duplicate(other, words) for other in heard):
            kept.append(sentence)
            heard.append(words)
    return kept


def _cut(sentence: str) -> str:
    """Truncate a sentence at a word border."""
    short = sentence[: MAX_CHARACTERS - 1]
    return f"{short.rsplit(' ', 1)[0] if ' ' in short[MAX_CHARACTERS // 2 :] else short}…"


THINGS_A_CALL = 6
CALL_CHARACTERS = 9_000
"""Number of items and characters per call; a single item may be longer."""

SHOWN_CHARACTERS = 3_000
"""Maximum characters shown of one item, best first."""

OUTPUT_TOKENS = 200
"""Answer tokens for one description."""

SCHEMA = object_schema(
    {"descriptions": list_schema({"n": {"type": "integer"}, "text": {"type": "string"}})}
)

_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Described:
    """Item with all its descriptions; `id` is unique."""

    id: str
    name: str
    texts: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """The same for the same name and statements, in any order."""
        return content_id("d", self.name, *sorted(set(self.texts)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summaries:
    """Texts by the id of the thing, and why there is none of others."""

    texts: Mapping[str, str]
    unusable: Mapping[str, str]


def to_summarise(things: Sequence[Described]) -> list[Described]:
    """Those of which more is said than is shown without a summary, sorted by id."""
    return sorted(thing for thing in things if is_too_much(thing.texts))


def summarise_descriptions(things: Sequence[Described], ask: Ask) -> Summaries:
    """Summarise each item, several per call, in order.

    What `ask` raises passes through: whoever wants to keep what was answered until then asks for
    fewer things at a time.
    """
    texts: dict[str, str] = {}
    unusable: dict[str, str] = {}
    for some in batch_descriptions(things):
        found = read_summaries(ask(summary_prompt(some)), some)
        texts |= found.texts
        unusable |= found.unusable
    return Summaries(texts=texts, unusable=unusable)


def batch_descriptions(things: Iterable[Described]) -> Iterator[list[Described]]:
    """Batch the entities and relations to be summarised into calls, in order."""
    pack: list[Described] = []
    size = 0
    for thing in things:
        shown = min(SHOWN_CHARACTERS, sum(map(len, thing.texts)))
        if pack and (len(pack) == THINGS_A_CALL or size + shown > CALL_CHARACTERS):
            yield pack
            pack, size = [], 0
        pack.append(thing)
        size += shown
    if pack:
        yield pack


def summary_prompt(things: Sequence[Described]) -> Prompt:
    """Build the request for descriptions, in their main language."""
    parts: list[str] = []
    for number, thing in enumerate(things, start=1):
        parts.append(f"# {number} {' '.join(thing.name.split())}")
        left = SHOWN_CHARACTERS
        for sentence in distinct_sentences(thing.texts):
            if len(sentence) <= left:
                parts.append(f"- {sentence}")
                left -= len(sentence)
    body = "\n".join(parts)
    chinese = is_chinese(body)
    mark = fence(body)
    return Prompt(
        system=load_prompt("summarise_descriptions", "zh" if chinese else "en"),
        user=f"<{mark}>\n{body}\n</{mark}>",
        max_output_tokens=OUTPUT_TOKENS * len(things) + 50,
        schema=SCHEMA,
    )


def read_summaries(reply: str, things: Sequence[Described]) -> Summaries:
    """Parse the usable summaries of a reply; never raises.

    A text of which the last sentence is cut off loses it.
    """
    found = find_json(reply)
    rows: dict[int, str] = {}
    for row in rows_with("text", str, found.values):
        rows.setdefault(number_of(row), _whole(row["text"]))
    texts = {
        thing.id: rows[number] for number, thing in enumerate(things, start=1) if rows.get(number)
    }
    reason = found.problem or "missing in the reply of the model"
    return Summaries(
        texts=texts,
        unusable={thing.id: reason for thing in things if thing.id not in texts},
    )


def _whole(text: str) -> str:
    """Truncate a text behind a sentence."""
    plain = " ".join(text.split())
    if len(plain) <= MAX_CHARACTERS:
        return plain
    ends = [match.end() for match in re.finditer(r"[.!?](?=\s)|[。！？]", plain[:MAX_CHARACTERS])]
    return plain[: ends[-1]] if ends else f"{plain[: MAX_CHARACTERS - 1]}…"


def has_descriptions(connection: Connection) -> bool:
    """Check whether a model said anything of a name or a relation."""
    said = (descriptions.c.key, None), (statements.c.predicate, statements.c.description != "")
    return any(
        connection.execute(select(column).where(*([] if only is None else [only])).limit(1)).first()
        for column, only in said
    )


def collect_descriptions(
    connection: Connection, names: Mapping[str, str], entity_of: Mapping[str, str]
) -> list[Described]:
    """Every entity and relation of which something is said, sorted by id.

    `names` are those of the entities, `entity_of` gives the entity of each key.
    """
    of_entities: dict[str, list[str]] = defaultdict(list)
    for row in connection.execute(select(descriptions.c.key, descriptions.c.text)):
        if row.key in entity_of:
            of_entities[entity_of[row.key]].append(row.text)
    of_relations: dict[Ends, list[str]] = defaultdict(list)
    columns = (statements.c.subject, statements.c.predicate, statements.c.object)
    query = select(*columns, statements.c.description).where(statements.c.description != "")
    for subject, predicate, target, text in connection.execute(query):
        ends = relation_ends(entity_of.get(subject), predicate, entity_of.get(target))
        if ends is not None:
            of_relations[ends].append(text)
    things = [
        Described(id=entity_id, name=names[entity_id], texts=tuple(texts))
        for entity_id, texts in of_entities.items()
    ]
    for (source, predicate, target), texts in of_relations.items():
        name = f"{names[source]} – {predicate} – {names[target]}"
        id_ = content_id("r", source, predicate, target)
        things.append(Described(id=id_, name=name, texts=tuple(texts)))
    return sorted(things, key=lambda thing: thing.id)


def read_descriptions(connection: Connection, things: Iterable[Described]) -> dict[str, str]:
    """Return the description of each item by id; outdated summaries are deleted."""
    values = list(things)
    held = _read(connection)
    if not held:
        return {thing.id: join_descriptions(thing.texts) for thing in values}
    prints = {thing.id: thing.fingerprint for thing in values}
    for batch in in_batches(held.keys() - prints.values()):
        connection.execute(delete(digests).where(digests.c.fingerprint.in_(batch)))
    return {
        thing.id: held[prints[thing.id]]
        if prints[thing.id] in held
        else join_descriptions(thing.texts)
        for thing in values
    }


def pending_descriptions(connection: Connection) -> list[Described]:
    """Return items with more text than fits and no summary, sorted by id."""
    now = resolve_facts(connection)
    entity_of = {merge.key: merge.entity_id for merge in now.merges}
    held = _read(connection)
    long = [
        thing
        for thing in collect_descriptions(
            connection, {e.id: e.name for e in now.entities}, entity_of
        )
        if sum(len(text) + 1 for text in thing.texts) > MAX_CHARACTERS
    ]
    return to_summarise([thing for thing in long if thing.fingerprint not in held])


def save_summaries(
    connection: Connection,
    things: Iterable[Described],
    texts: Mapping[str, str],
    *,
    model: str,
) -> None:
    """Keep summaries, by the id of the thing; what is derived is to be derived anew."""
    rows = {
        thing.fingerprint: {
            "fingerprint": thing.fingerprint,
            "text": texts[thing.id],
            "model": model,
        }
        for thing in things
        if thing.id in texts
    }
    if not rows:
        return
    for batch in in_batches(rows):
        connection.execute(delete(digests).where(digests.c.fingerprint.in_(batch)))
    connection.execute(insert(digests), [rows[key] for key in sorted(rows)])
    raise_generation(connection)


def _read(connection: Connection) -> dict[str, str]:
    return {row.fingerprint: row.text for row in connection.execute(select(digests))}
