"""Texts that are hard on rules, made from real sentences: cut anywhere, mixed, unbalanced, odd.

`texts` gives as many as are asked for, the same ones for the same seed. `RULES` are the rules that
read documents' texts; each raises where what must hold of its result does not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

from engine.answering.compression import select_key_sentences
from engine.answering.extractive.answer_spans import spans_of
from engine.answering.extractive.question_type import (
    answer_types,
    classify_question,
    countries_in,
    date_of,
    dates_in,
    has_answer_type,
    has_birth_and_death,
    is_dateline,
    strip_question_words,
)
from engine.chunking.llm import context_spans
from engine.chunking.span_parser import ContextSource, SpanNodeParser
from engine.chunking.strategy import ChunkOptions, node_parser, select_strategy
from engine.plain_text import strip_markdown
from engine.prompts import escape_delimiters, is_injection
from engine.retrieval.passages import split_passages, with_neighbours
from engine.types import Passage, Shape, Strategy
from engine.verification.claims import parse_claims
from engine.verification.entailment import EntailmentScorer
from engine.verification.entities_and_numbers import extract_quantities
from graph.extraction.protocol import looks_like, open_type
from graph.extraction.rule_based import LanguageExtractor
from graph.model import Extraction, Name
from graph.resolution.name_parsing import abbreviates, initials_match, parts_of
from graph.resolution.resolver import resolve_names
from graph.resolution.similarity import compare_spellings, spelling_of
from graph.search.global_search import informativeness, mostly_han
from graph.search.snapshot import shorter_names
from graph.text.names import NameMatcher, capitalised_names, introduced_names, is_generic, name_key
from graph.text.sentences import (
    is_near_duplicate,
    lay_out,
    sentence_quality,
    sentence_spans,
    sentences_at,
)
from graph.text.sentences import sentence_words as passage_tokens

CORPUS = Path(__file__).parents[1] / "data" / "corpus"
TRICKY = (
    "世界卫生组织（世卫组织）是联合国的机构。",
    "番茄又名西红柿，别名番柿、六月柿。",
    "刘备，字玄德，人称刘皇叔，绰号“大耳”。",
    "林川之子林潮，乳名阿潮，被乡人称为“海龙王”。",
    "斯凯拉文海洋研究所（以下简称“研究所”）成立于1998年3月5日。",
    "《三国演义》（又称《三国志通俗演义》）的作者是罗贯中。",
    "友人法正。正字孝直，为蜀郡太守法真之孙，父为司徒袁逢。",
    "海鸥码头（英文：Gull Pier，缩写为GP）位于𠮷野镇。",
    "第十二条　当事人应当支付：（一）现金；（二）转账。",
    "问：谁发现了烬藻？\n答：沈望舒。",
    'The Kestrel Marine Institute ("KMI"), also known as the Institute or simply Kestrel, moved.',
    "Dr. Ada Roe (née Brine; 1 May 1900 – 3 June 1950) was “born” in St. Ives (now in Cornwall).",
    "J. R. R. Tolkien's friend C.S. Lewis' book, U.S.A. edition, cost $1,234.50 (about £900).",
    "Q: Who built it?\nA: Maeve Tolland, in 1968–72.\n",
    "[00:01:02] Ann: Hello there. <nick> hi\nBob: I shall!\n",
    "Article 5 Payment\n(a) The buyer shall pay 5% at once; or\n(b) later. § 12.1 applies.",
    "| Name | Year |\n|---|---|\n| Ada | 1901 |\n| Roe | 1902 |\n",
    "# Title\n\n- one [link](http://a.b/c_(d)) `x`\n- **two** $a_1^2$ ada@example.org\n",
    "```python\ndef f(x):\n    return x\n```\nBorn: 1901\nDied: 1990\n",
    "Die Straße nach Ålesund führt über Çanakkale, İstanbul und Dvořák.",
)
"""Sentences of the forms that rules look for."""
MARKS = (
    *"()[]{}<>（）【】［］〈〉《》「」『』“”‘’\"'`*_~#|:：;；,，、.。!！?？…-–—/\\@$%^&=+·",
    *(
        "又名",
        "简称",
        "（以下简称",
        "字",
        "号",
        "’s",
        "'s ",
        "(née ",
        " also known as ",
        "第",
        "的",
    ),
)
ODD = (
    *("\ud800", "\udfff", "\udc80", "\x00", "\x1b", "\x85", "\ufeff", "\ufffd", "\u200b", "\u200d"),
    *(
        "\u202e",
        "\u2066",
        "\u2028",
        "\u2029",
        "\u0301",
        "\u20dd",
        "\ufe0f",
        "\u3000",
        "\xa0",
        "\xad",
    ),
    *(
        "𠮷",
        "👩‍👩‍👧‍👦",
        "🇫🇷",
        "İ",
        "ß",
        "ﬁ",
        "Ǆ",
        "㎏",
        "①",
        "Ⅷ",
        "٣",
        "²",
        "½",
        "ﷺ",
        "한",
        "が",
        "ʿ",
    ),
    *("\n", "\n\n", "\r\n", "\t", " ", "\x0b", "\x0c"),
)
"""What stands in no tidy text: half surrogates, controls, marks that combine, what casts grow."""
FIXED = (
    *(
        "",
        " ",
        "\n",
        "\t \n\u3000",
        "\x00",
        "\ud800",
        "\u0301",
        "\u200b",
        "\ufeff",
        "𠮷",
        "A",
        "汉",
        ".",
    ),
    *(mark * count for mark in MARKS for count in (1, 2, 40)),
    *(odd * count for odd in ODD for count in (1, 3, 40)),
    *("a" * 3_000, "汉" * 3_000, "A" * 1_500, "A." * 800, "1" * 3_000, "A’" * 700, "的" * 2_000),
    *("Ada " * 400, "又名" * 500, "（又名" * 300, "'s " * 500, "A–" * 500, "\ud800" * 900),
)


@cache
def sentences() -> tuple[str, ...]:
    """Sentences of the sample corpus in both languages, and the tricky ones."""
    found: list[str] = [*TRICKY]
    for path in sorted(CORPUS.rglob("*")):
        if path.suffix in {".md", ".txt"}:
            text = path.read_text(encoding="utf-8")
            some = [text[start:end] for start, end in sentence_spans(text) if end - start < 300]
            found += some[:: max(1, len(some) // 12)]
    return tuple(dict.fromkeys(found))


def texts(count: int, *, seed: int) -> list[str]:
    """The fixed texts, then sentences that are cut, joined, opened, closed and made odd."""
    chance = random.Random(seed)  # noqa: S311
    made = list(FIXED[:count])
    while len(made) < count:
        text = chance.choice(sentences())
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            text = chance.choice(CHANGES)(text, chance)
        made.append(text)
    return made


def cuts(text: str) -> list[str]:
    """Every prefix, every suffix, and the text without each of its characters."""
    places = range(len(text))
    without = [text[:place] + text[place + 1 :] for place in places]
    return [*(text[:place] for place in places), *(text[place:] for place in places), *without]


def _prefix(text: str, chance: random.Random) -> str:
    return text[: chance.randint(0, len(text))]


def _suffix(text: str, chance: random.Random) -> str:
    return text[chance.randint(0, len(text)) :]


def _without_one(text: str, chance: random.Random) -> str:
    place = chance.randint(0, len(text))
    return text[:place] + text[place + 1 :]


def _with(pieces: Sequence[str], text: str, chance: random.Random) -> str:
    place = chance.randint(0, len(text))
    return text[:place] + chance.choice(pieces) + text[place:]


def _swapped(text: str, chance: random.Random) -> str:
    """Another mark in the place of one, most often an unbalanced one."""
    places = [found.start() for found in re.finditer(r"[^\w\s]", text)]
    if not places:
        return text
    place = chance.choice(places)
    return text[:place] + chance.choice(MARKS) + text[place + 1 :]


def _joined(text: str, chance: random.Random) -> str:
    """The beginning of one sentence and the end of another, often of another language."""
    other = chance.choice(sentences())
    return text[: chance.randint(0, len(text))] + other[chance.randint(0, len(other)) :]


def _repeated(text: str, chance: random.Random) -> str:
    start = chance.randint(0, len(text))
    end = min(len(text), start + chance.randint(1, 12))
    return text[:start] + text[start:end] * chance.choice((2, 3, 30)) + text[end:]


CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    _prefix,
    _suffix,
    _without_one,
    partial(_with, MARKS),
    partial(_with, ODD),
    _swapped,
    _joined,
    _repeated,
)


class FiveLetterTokeniser:
    """A token is up to five letters, one Chinese character, or one mark."""

    _TOKEN = re.compile(r"[\u2e80-\uffff]|[^\W\u2e80-\uffff]{1,5}|[^\w\s]")

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where tokens stand."""
        return [found.span() for found in self._TOKEN.finditer(text)]

    def count(self, text: str) -> int:
        """How many there are."""
        return len(self._TOKEN.findall(text))


STRATEGIES: tuple[Strategy, ...] = (
    *("recursive", "fixed", "sentence", "markdown", "code", "faq", "transcript", "legal", "page"),
    *("semantic", "agentic", "parent_child", "sentence_window", "entries"),
)
SHAPES: tuple[Shape, ...] = ("text", "markdown", "code", "transcript")


@cache
def _parser(strategy: Strategy) -> SpanNodeParser:
    options = ChunkOptions(strategy=strategy, size_tokens=24, overlap_tokens=6, child_tokens=16)
    return node_parser(strategy, options=options, tokeniser=FiveLetterTokeniser())


def chunked(strategy: Strategy, text: str) -> None:
    """Chunks cover the text, in order, none longer than it may be; contexts go with them."""
    shape = SHAPES[len(text) % len(SHAPES)]
    pages = tuple(sorted({0, len(text) // 2}))
    subject = ContextSource(
        text=text, shape=shape, title=text[:9], language="python", page_starts=pages
    )
    found = _parser(strategy).spans(subject)
    assert [(span.start, span.end) for span in found] == sorted(
        {(span.start, span.end) for span in found}
    )
    reached = 0
    for span in found:
        assert not text[reached : span.start].strip()
        assert span.start < span.end <= len(text)
        assert FiveLetterTokeniser().count(text[span.start : span.end]) <= 24
        reached = max(reached, span.end)
    assert not text[reached:].strip()
    if strategy == "recursive":
        counter = FiveLetterTokeniser()
        context_spans(subject, found, complete=None, budget_tokens=16, tokeniser=counter)


def cut_in_sentences(text: str) -> None:
    """Spans in order, stripped, with white space alone between them; looked up one by one alike."""
    reached = 0
    for start, end in sentence_spans(text):
        assert reached <= start < end
        assert not text[reached:start].strip()
        assert text[start:end] == text[start:end].strip()
        reached = end
    assert not text[reached:].strip()
    lay_out(text)
    longer = text + " " * 700
    whole = sentences_at(longer, range(len(longer)))
    for offset in (0, len(text) // 2, len(text)):
        if offset in whole:
            assert sentences_at(longer, (offset,)) == {offset: whole[offset]}


@cache
def extractor(spacy_model: str) -> LanguageExtractor:
    """The rules for both languages, with a model of English or with capitals alone."""
    return LanguageExtractor(spacy_model=spacy_model)


def extracted(text: str) -> None:
    """What the rules of both languages find without a model of English, twice the same."""
    (found,) = extractor("none").extract([text])
    sound(text, found)
    if len(text) % 10 == 0:
        assert extractor("none").extract([text]) == [found]


def sound(text: str, found: Extraction) -> None:
    """Mentions in order, without overlap, with their text's surface; statements name them."""
    reached = 0
    for mention in found.mentions:
        assert reached <= mention.start < mention.end <= len(text)
        assert mention.key
        reached = mention.end
    for statement in found.statements:
        assert 0 <= statement.start < statement.end <= len(text)
        assert statement.subject and statement.object


def named(text: str) -> None:
    """Names by capitals, by a dictionary made of the text itself, their parts and forms."""
    for start, end in capitalised_names(text):
        assert text[start:end].strip() == text[start:end] != ""
    found = [text[a:b][:200] for a, b in capitalised_names(text)]
    keys = sorted(
        {key for one in (*found, text[:200], text[:12], text[-8:]) if (key := name_key(one))}
    )
    for key in keys:
        is_generic(key)
        looks_like(key)
        open_type(text[:30], key, listed=())
    matcher = NameMatcher(titles=keys[::2], names=keys)
    matches = matcher.match(text)
    assert matcher.occurs_in(text) or not matches
    for match in (*matches, *matcher.match(text, any_case=True)):
        assert 0 <= match.start < match.end <= len(text)
    introduced_names(text, matches, title=text[:20])
    shorter_names(keys, (("d", key) for key in keys))
    for one, other in pairwise(keys):
        abbreviates(one, other)
        initials_match(one, other)
        compare_spellings(spelling_of(one, parts_of(one)), spelling_of(other, parts_of(other)))
    kinds = ("PERSON", "ORGANISATION", "NAME")
    names = [
        Name(
            key=key,
            surfaces={key: 1},
            types={kinds[number % 3]: 1},
            documents=frozenset({"d"}),
            titles=frozenset({"d"} if number == 0 else ()),
        )
        for number, key in enumerate(keys[:12])
    ]
    resolve_names(names, [*pairwise(keys)])


QUESTIONS = ("When was Ada Roe born?", "海鸥码头在哪里？", "How much did it cost?", "What is it?")


def _names(text: str) -> list[tuple[int, int]]:
    return capitalised_names(text)


def answered(text: str) -> None:
    """What answers read in a passage: sentences, spans, dates, figures, countries."""
    passage = _passage(text)
    for sentence in split_passages([passage]):
        assert text[sentence.start : sentence.end] == sentence.text
        with_neighbours(
            strip_markdown(sentence.text, columns=sentence.columns), title=passage.title
        )
        for question in QUESTIONS:
            asked = classify_question(question)
            for span in spans_of(sentence.text, asked, held=question):
                assert 0 <= span.start < span.end <= len(sentence.text)
            has_answer_type(sentence.text, answer_types(question))
    answer_types(text[:300])
    classify_question(text[:300])
    for start, end, _ in (*dates_in(text), *countries_in(text)):
        assert 0 <= start < end <= len(text)
    for event in ("birth", "death", "made"):
        date_of(text, event)
    has_birth_and_death(text)
    is_dateline(text)
    strip_question_words(text)
    informativeness(text)
    mostly_han(text)
    assert 0 <= sentence_quality(text) <= 1
    is_near_duplicate(passage_tokens(text), passage_tokens(text[::2]))


def checked(text: str) -> None:
    """What the checks of an answer read in claims and sources."""
    parse_claims(text, question=text[:30])
    extract_quantities(text)
    is_injection(text)
    assert len(escape_delimiters(text)) == len(text)
    passage = _passage(text)
    reader = EntailmentScorer(weight=lambda _: 1.0)
    reader.support(reader.statement(text[:200]), [reader.source(passage)])
    select_key_sentences(text[:60], [passage], weight=lambda _: 1.0)


def _passage(text: str) -> Passage:
    return Passage(
        text=text,
        score=1.0,
        relevance=1.0,
        document_id="d",
        chunk_id="c",
        title=text[:12],
        start=0,
        end=len(text),
        headings=(text[-9:],),
    )


def strategy_chosen(text: str) -> None:
    """The look of a text decides how it is cut."""
    for shape in SHAPES:
        select_strategy(text, shape)


RULES: dict[str, Callable[[str], None]] = {
    "sentences": cut_in_sentences,
    "extraction": extracted,
    "names": named,
    "answers": answered,
    "checks": checked,
    "choice": strategy_chosen,
    **{f"chunks, {strategy}": partial(chunked, strategy) for strategy in STRATEGIES},
}
