"""Sentences that tell most of a part or of what is asked, to be read alone and cited.

They are chosen one by one: each is the one that tells most of what no earlier one told, for its
length (greedy coverage of weighted words, Lin and Bilmes 2011); a word counts by the parts that
share it (Gillick and Favre 2009), by the question, or both. At the end, the dates in them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from graph.text.cjk import is_chinese

from ...plain_text import strip_markdown
from ...storage.graph_api import Chunk, sentence_spans
from ...storage.tokenization import tokens
from .standalone import (
    MIN_WORDS,
    introduces,
    is_personal,
    is_unpaired,
    leans_back,
    opens,
    speaker_at,
    standalone_spans,
    stands_alone,
    word_count,
)
from .topics import spread_evenly

_BEGUN, _CLAUSE, _LONGEST = 6, 40, 60
"""Sentences of a chapter among which one that names a person begins or ends it; words from which
one is told to its first break, and the most words that are told."""
_BREAK = re.compile(r"[;:]\s|\s*(?<![-—])(?:--|—)(?![-—])|[；：]")
_TURNED = re.compile(
    r"^(?:if|though|although|unless|while|had|were|should)\b|\b(?:not?|never|neither|nor)\b"
    r"|n['’]t\b|^(?:虽|若|如果|假如|倘)|[不没未非]",
    re.IGNORECASE,
)
"""Beginnings of sentences that are not told without their end, which may say the contrary."""
_CAPITAL = re.compile(r"\b[^\W\d_a-z][\w'’-]*")
_FINISHED = re.compile(r"[.!。！][\"'”’)]*$")
_ALIKE = 0.4
"""Share of the shorter sentence's words from which two say the same."""
_OTHER_LANGUAGE, _PERSONAL, _RIGHTS_WORTH, _SPOKEN = 0.1, 0.2, 0.2, 0.2
_SPEECH = re.compile(
    r"(?:曰|道|说|问|答|\b(?:said|says|asked|replied|answered|cried)(?: \w+)?)\s?[:：,，]?\s?“",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\W*[\"“‘']\w|.*[“\"][^”\"]{40}")
"""Sentences that begin with speech, or are little else."""
_INTRODUCES, _DEFINES, _OPENS, _TITLED = 4.0, 1.8, 1.3, 1.0
"""Factors: "This book …", a definition of what the title names, the first chunk of a document, and
what all words of the title add."""
_SHORTEST, _LENGTH = 14, 0.6
"""Words up to which a sentence is not too long, and the power of its length beyond."""
_TOLD, _FIGURE, _SINGLE = 0.15, 0.3, 0.2
"""Share that a word counts again once told, and factors for figures and for words of one part."""
_LEAST = 0.35
"""Least share of the best sentence's value that a further one has."""
_LATER = 0.15
"""Share of a sentence's worth that each one before it in the document takes."""
_RIGHTS = re.compile(
    r"^\d|licen[cs]e|copyright|trademark|available in (?:\w+ )?other languages"
    r"|project gutenberg|^transcriber['’]s note|许可|版权|商标[均都归属]|著作权[归属]"
    r"|^译者?注\s*[：:]",
    re.IGNORECASE,
)
"""Rights, translations, and lines of a log or table that begin with a figure."""
_ANNOUNCES = re.compile(
    r"^(?:here (?:is|are)|(?:the )?following|below)\b|\b(?:as follows|the following)\b.{0,40}$"
    r"|^(?:please )?(?:read|see|refer to|consult)\b"
    r"|^(?:下面|以下|如下)|^请?(?:参见|参阅|参考|阅读)",
    re.IGNORECASE,
)
"""Sentences that say no more than that something follows, or stands elsewhere."""
_DEFINITION = re.compile(
    r"(?P<subject>(?:The |An? )?[A-Z][^,;:]{2,80}?)(?: \([^)]*\))?,? (?:is|are|was|were)"
    r" (?:an?|the|one|part|[a-z]+ed)\b"
    r"|(?P<han>[^，。；：]{2,40})(?:（[^）]*）)?(?:是|为)"
)


@dataclass(frozen=True)
class Said:
    """A sentence of a chunk, what it is worth, and who says it or where, if that matters."""

    chunk: Chunk
    start: int
    end: int
    worth: float = 1.0
    speaker: str = ""

    @cached_property
    def text(self) -> str:
        """Its words on one line."""
        return " ".join(strip_markdown(self.chunk.text[self.start : self.end]).split())

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words as the keyword index has them."""
        return frozenset(tokens(self.text))

    @property
    def place(self) -> tuple[str, int]:
        """Its document and its beginning there."""
        return self.chunk.document_id, self.chunk.start + self.start

    def calls(self, names: Set[str]) -> bool:
        """Check for one of these lower-case words of names; an English one has a capital."""
        if is_chinese(self.text):
            return bool(names & self.words)
        return not names.isdisjoint(tokens(" ".join(_CAPITAL.findall(self.text))))

    def repeats(self, others: Iterable[Said]) -> bool:
        """Check that another sentence says the same."""
        return any(is_alike(self.words, other.words) for other in others)


def sentences_of(chunks: Iterable[Chunk], *, chinese: bool) -> list[Said]:
    """Return the sentences that can be read alone, each once, with what form and place are worth.

    A first-person sentence of a transcript has its speaker before it.
    """
    found: dict[str, Said] = {}
    for chunk in chunks:
        heads = frozenset(tokens(" ".join((chunk.title, *chunk.headings[-1:]))))
        for start, end in standalone_spans(chunk.text, introductions=True):
            said = Said(chunk, start, end)
            if is_personal(said.text) and not introduces(said.text):
                said = replace(said, speaker=speaker_at(chunk.text, start))
            worth = _fitness(said, chinese) * _form(said.text, heads)
            worth *= 1.0 if chunk.position else _OPENS
            worth *= 1.0 + _TITLED * len(said.words & heads) / (len(heads) or 1)
            found.setdefault(said.text, replace(said, worth=worth))
    return list(found.values())


def narrated(chunks: Iterable[Chunk], *, chinese: bool) -> list[Said]:
    """Return the sentences that can be read alone, but for those that are spoken."""
    return [one for one in sentences_of(chunks, chinese=chinese) if not _QUOTED.match(one.text)]


def openings_of(
    chapters: Sequence[Iterable[Chunk]], names: Set[str], *, chinese: bool, ends: bool = False
) -> list[Said]:
    """Return how each chapter of a story begins, in their order.

    That is the first of its first sentences, but for spoken ones, that has one of these words and
    leans on none before it, else the first of all. `ends`: the last chapter also with the last of
    its last ones that has.

    What a text begins with is a strong summary of it that needs no understanding (Nenkova 2005).
    """
    told: list[Said] = []
    for chunks in chapters:
        said = {one.text for one in told}
        found = [one for one in _clauses_of(chunks) if is_in(one.text, chinese)]
        found = [one for one in found if one.text not in said]
        named = [one for one in found[:_BEGUN] if one.calls(names)] or found[:1]
        named.sort(key=lambda one: leans_back(one.text))
        told += named[:1]
        if ends and chunks is chapters[-1]:
            last = (one for one in found[: -_BEGUN - 1 : -1] if one.calls(names))
            told += [one for one in islice(last, 1) if one not in named[:1]]
    return told


def told_in_order(
    chunks: Sequence[Chunk], names: Set[str], most: int, *, chinese: bool
) -> list[Said]:
    """Return how a part of a story begins and ends, and how paragraphs between begin, so many.

    Those that have one of these words, at equal distances; also other sentences where paragraphs
    are few.
    """
    told = openings_of([chunks], names, chinese=chinese, ends=True)
    found = [one for one in _clauses_of(chunks) if is_in(one.text, chinese)]
    named = [one for one in found if one.calls(names) and one not in told]
    begun = [one for one in named if _begins_paragraph(one)]
    for some in (begun, [one for one in named if one not in begun]):
        told += spread_evenly(some, max(0, most - len(told)))
    return sorted(told, key=lambda one: one.place)


def _begins_paragraph(said: Said) -> bool:
    """Check for a sentence behind an empty line, a Chinese one behind any line break."""
    before = said.chunk.text[: said.start].rstrip(" \t\u3000")
    return before.endswith("\n" if is_chinese(said.text) else "\n\n")


def _clauses_of(chunks: Iterable[Chunk]) -> list[Said]:
    """Return the whole sentences of narrated text in their order, long ones to a first break."""
    found: dict[str, Said] = {}
    for chunk in chunks:
        for start, end in sentence_spans(chunk.text):
            text, is_cut = chunk.text[start:end], False
            if word_count(text) > _CLAUSE:
                breaks = (one.start() for one in _BREAK.finditer(text))
                at = next((at for at in breaks if word_count(text[:at]) > MIN_WORDS), None)
                if at is not None and not _TURNED.search(text[:at]):
                    end, is_cut = start + at, True
            said = Said(chunk, start, end)
            is_whole = MIN_WORDS <= word_count(said.text) <= _LONGEST and "\n\n" not in text
            is_whole &= is_cut or _FINISHED.search(said.text) is not None
            begins = said.text[:1].isupper() or is_chinese(said.text)
            before = chunk.text[:start].rpartition("\n\n")[2]
            is_spoken = _QUOTED.match(said.text) or is_unpaired(said.text)
            is_spoken = is_spoken or (before != "" and is_unpaired(before))
            if is_whole and begins and not is_spoken and not is_of_rights(said.text):
                found.setdefault(said.text, said)  # passages may overlap
    return list(found.values())


def opening_of(chunks: Iterable[Chunk], *, chinese: bool) -> Said | None:
    """Return the first whole sentence of a section, to be read below its heading.

    One that only announces what follows is told where there is no other. None without one in the
    language.
    """
    announced: Said | None = None
    for chunk in chunks:
        for start, end in sentence_spans(chunk.text):
            said = Said(chunk, start, end)
            if not opens(chunk.text[start:end]) or is_of_rights(said.text):
                continue
            if not is_in(said.text, chinese):
                return announced
            is_clear = announced is None or stands_alone(chunk.text[start:end])
            if is_clear and _ANNOUNCES.search(said.text) is None:
                return said
            announced = announced or said
    return announced


def leads_of(chunks: Iterable[Chunk], *, chinese: bool) -> list[Said]:
    """Return the sentences that paragraphs begin with, in their order; none of a transcript."""
    found = dict[tuple[str, int], Said]()
    for chunk in chunks:
        paragraph = -1
        for start, end in sentence_spans(chunk.text):
            said, at = Said(chunk, start, end), chunk.text.count("\n\n", 0, start)
            if at != paragraph and opens(chunk.text[start:end]) and is_in(said.text, chinese):
                if speaker_at(chunk.text, start):
                    return []
                if not is_of_rights(said.text):
                    found.setdefault(said.place, said)
            paragraph = at
    return list(found.values())


def is_in(text: str, chinese: bool) -> bool:
    """Check the language of a text; one of both languages is in Chinese."""
    return (is_chinese(text) or "。" in text) == chinese


def _fitness(said: Said, chinese: bool) -> float:
    """Return a factor for sentences that fit a reader badly."""
    value = 1.0 if is_in(said.text, chinese) else _OTHER_LANGUAGE
    value *= _RIGHTS_WORTH if is_of_rights(said.text) else 1.0
    value *= _SPOKEN if is_spoken(said) else 1.0
    if is_personal(said.text) and not introduces(said.text):
        value *= 1.0 if said.speaker else _PERSONAL
    return value


def is_of_rights(text: str) -> bool:
    """Check for a sentence on rights, or on where else a text is to be had."""
    return _RIGHTS.search(text) is not None


def is_spoken(said: Said) -> bool:
    """Check for a sentence that stands in a person's speech, or leads to one."""
    text, start = said.chunk.text, said.start
    paragraph = max(0, text.rfind("\n\n", 0, start))
    opened = text.rfind("“", paragraph, start)
    if opened > text.rfind("”", paragraph, start) and _SPEECH.search(text, paragraph, opened + 1):
        return True
    return _SPEECH.search(text, start, said.end) is not None


def _form(text: str, heads: Set[str]) -> float:
    """Return a factor for sentences that introduce or define."""
    if introduces(text):
        return _INTRODUCES
    return _DEFINES if defines(text, heads) else 1.0


def defines(text: str, heads: Set[str]) -> bool:
    """Check for a sentence that says what something is that has a word of a heading."""
    found = _DEFINITION.match(text)
    return found is not None and bool(heads & set(tokens(found["subject"] or found["han"])))


def shared_words(parts: Sequence[Iterable[Chunk]]) -> dict[str, float]:
    """Return the words of a collection with the weight that parts sharing them give."""
    held = Counter(word for part in parts for word in {w for one in part for w in tokens(one.text)})
    return {
        word: count
        * math.log(1 + len(parts) / count)
        * _figure(word)
        * (1.0 if count > 1 else _SINGLE)
        for word, count in held.items()
    }


@dataclass
class Telling:
    """Coverage of weighted words by the sentences chosen so far."""

    weights: Mapping[str, float]
    power: float = 1.0
    told: set[str] = field(default_factory=set)
    said: list[frozenset[str]] = field(default_factory=list)

    def value(self, said: Said) -> float:
        """Return what a sentence tells of what was not told, for its length."""
        total = sum(
            self.weights.get(word, 0.0) * (_TOLD if word in self.told else 1.0)
            for word in said.words
        )
        length = max(word_count(said.text), _SHORTEST) ** _LENGTH
        return round(float(said.worth * (total / length) ** self.power), 6)

    def choose(
        self, found: Sequence[Said], most: int, *, least: float = _LEAST, per_document: int = 99
    ) -> list[Said]:
        """Return the best sentences, at most so many, in their order of choice."""
        left, chosen, first = list(found), list[Said](), 0.0
        taken: Counter[str] = Counter()
        while left and len(chosen) < most:
            best = max(left, key=lambda one: (self.value(one), one.place))
            value = self.value(best)
            if value <= 0 or value < least * first:
                break
            first = first or value
            left.remove(best)
            is_full = taken[best.chunk.document_id] >= per_document
            if not is_full and not any(is_alike(best.words, other) for other in self.said):
                chosen.append(best)
                taken[best.chunk.document_id] += 1
                self.told |= best.words
                self.said.append(best.words)
        return chosen


def central_words(parts: Sequence[Sequence[Chunk]]) -> list[dict[str, float]]:
    """Return the words of each part, weighted by their frequency there and rarity in the others.

    They are the part's centroid (Radev et al. 2004, MEAD).
    """
    counts = [Counter(word for one in part for word in tokens(one.text)) for part in parts]
    held = Counter(word for count in counts for word in count)
    return [
        {
            word: math.log(1 + often) * math.log(1 + len(parts) / held[word]) * _figure(word)
            for word, often in count.items()
        }
        for count in counts
    ]


def early_first(found: Sequence[Said]) -> list[Said]:
    """Return the sentences of a document, each worth less than those before it."""
    ordered = sorted(found, key=lambda one: one.place)
    return [replace(one, worth=one.worth / (1 + _LATER * at)) for at, one in enumerate(ordered)]


def _figure(word: str) -> float:
    return _FIGURE if any(map(str.isdigit, word)) else 1.0


def is_alike(words: frozenset[str], others: frozenset[str]) -> bool:
    """Check whether two sentences share much of the shorter one's words."""
    least = min(len(words), len(others))
    return len(words & others) > _ALIKE * least or not least


_YEAR = re.compile(
    r"(?:\b(?:in|since|until|from|to|by|of|during|between|and|around|about|early|late|after|before"
    r"|January|February|March|April|May|June|July|August|September|October|November|December|spring"
    r"|summer|autumn|winter),? |\((?=\d{4}\s?[-–—,;)])|[–—]\s?|born |\b\d{1,2}, )"
    r"(1[0-9]\d\d|20\d\d)(?![\d,.:/%-]\d|\d)"
    r"(?![ -]?(?:bits?\b|digits|bytes|packages|files|people|pages|words|k?m\b|tonnes|pounds))"
    r"|(?<!\d)(1[0-9]\d\d|20\d\d)(?=\s?年)"
)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_BEFORE_YEAR = re.compile(
    rf"(?:\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)? )?\b(?P<month>{'|'.join(_MONTHS)})"
    r"(?: (?P<late>\d{1,2})(?:st|nd|rd|th)?)?,? $"
)
_BEHIND_YEAR = re.compile(r"\s?年\s?(?P<month>\d{1,2})\s?月(?:\s?(?P<day>\d{1,2})\s?日)?")
_FEW_YEARS, _OUTER, _GAP, _BEFORE, _NUMBERS = 3, 0.02, 100, 0.4, 2
"""Fewer years are not told; share of the years left out at either end; years before such a gap are
numbers (*uids from 1000*) where they are at most this share of all, and so many different ones."""


def dated(found: Iterable[Said]) -> dict[Said, tuple[int, int, int]]:
    """Return the sentences that hold a year, with their first date (year, month, day)."""
    dates: dict[Said, tuple[int, int, int]] = {}
    for said in found:
        year = _YEAR.search(said.text)
        if year is None:
            continue
        which = 1 if year[1] else 2
        english = _BEFORE_YEAR.search(said.text[: year.start(which)])
        han = _BEHIND_YEAR.match(said.text, year.end(which))
        month, number = 0, 0
        if english:
            month = _MONTHS.index(english["month"]) + 1
            number = int(english["day"] or english["late"] or 0)
        elif han:
            month, number = int(han["month"]), int(han["day"] or 0)
        dates[said] = (int(year[1] or year[2]), month, number)
    return dates


def year_span(texts: Iterable[str]) -> tuple[int, ...]:
    """Return the first and last year named, but for the outermost; none where few are."""
    found = sorted(int(match[1] or match[2]) for text in texts for match in _YEAR.finditer(text))
    if len(found) < _FEW_YEARS:
        return ()
    outer = round(_OUTER * len(found))
    found = found[outer : len(found) - outer]
    for at in range(1, len(found)):
        is_far = found[at] - found[at - 1] > _GAP and at <= _BEFORE * len(found)
        if is_far and len(set(found[:at])) <= _NUMBERS:
            found = found[at:]
            break
    return (found[0], found[-1]) if found[0] < found[-1] else (found[0],)


def told_date(when: tuple[int, int, int], *, chinese: bool) -> str:
    """Return what stands before an event: its year, and its month and day where known."""
    year, month, day = when
    if chinese:
        return f"{year}年" + (f"{month}月" if month else "") + (f"{day}日" if day else "") + "："
    return "-".join((str(year), *(f"{each:02}" for each in (month, day) if each))) + ": "
