"""English names and noun phrases from a spaCy pipeline.

Offsets returned are offsets into the whole text. Without a model `capital_candidates` still finds
names by their capitals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..resolution.name_parsing import GENERATIONS, TITLES
from ..text.cjk import has_han
from ..text.names import CALENDAR, DEMONYMS, FUNCTION_WORDS, JOINTS, capitalised_names, name_key
from ..text.sentences import Layout, Segment
from ..text.transcripts import speaker_labels
from .aliases import CLASS_NOUNS, NEVER_FIRST, VAGUE_MODIFIERS, VAGUE_NOUNS, Candidate

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span, Token

BATCH_SIZE = 32
_TYPES = {
    "PERSON": "PERSON",
    "ORG": "ORGANISATION",
    "GPE": "PLACE",
    "LOC": "PLACE",
    "FAC": "PLACE",
    "EVENT": "EVENT",
    "WORK_OF_ART": "WORK",
    "LAW": "WORK",
    "PRODUCT": "PRODUCT",
    "NORP": "NAME",
}
_NO_ENTITY = frozenset(
    {"DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL", "LANGUAGE"}
)
_ORDINARY = frozenset(
    {"ADV", "ADP", "VERB", "AUX", "SCONJ", "CCONJ", "PRON", "DET", "INTJ", "NUM", "PART", "PUNCT"}
)
_HONORIFIC = re.compile(
    r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Sir|Lady|Lord|Captain|Capt|Colonel|Col|General|Gen|Major"
    r"|Lieutenant|Lt|Sergeant|Sgt|Reverend|Rev|Madam|Madame|Mme|Father|Sister|Brother|Dame|Judge"
    r"|Aunt|Uncle)\.?[ ]+$"
)
_LEADING = re.compile(r"(?:(?:the|a|an|this|that|these|those)\b[\s\"“]+)+", re.IGNORECASE)
_TRAILING = frozenset(".,;:!?\"”'’)]-–—€$£%&")
_OF_FIRM = re.compile(r"&|\b(?:Inc|Ltd|LLC|Co|Corp|S\.A)\b")
_ENDS_WITH_ITS_DOT = re.compile(r"\b(?:[A-Z]|Inc|Ltd|Co|Jr|Sr|Corp)\.$")
_QUOTE_OR_BULLET = frozenset("\"“‘'(:;-–—•[")
_NUMBER_WORDS = "two three four five six seven eight nine ten eleven twelve several many some both"
_NUMBERS = frozenset(_NUMBER_WORDS.split())
_MAX_PHRASE_WORDS = 4


def parse_segments(language: Language, segments: Sequence[Segment]) -> Iterator[Doc]:
    """Parse English segments with spaCy in order; a parse never crosses a sentence."""
    return language.pipe((_tokens(language, s) for s in segments), batch_size=BATCH_SIZE)


def _tokens(language: Language, segment: Segment) -> Doc:
    doc = language.make_doc(segment.shadow)
    starts = {start - segment.start for start, _ in segment.sentences}
    for token in doc:
        if token.idx in starts:
            token.is_sent_start = True
    return doc


def name_candidates(doc: Doc, segment: Segment) -> list[Candidate]:
    """Names that the tagger or the capitals show, untrimmed of overlaps."""
    found = [c for span in doc.ents for c in _from_tagger(span, segment)]
    for start, end in capitalised_names(segment.shadow):
        span = doc.char_span(start, end, alignment_mode="expand")
        if span is not None:
            found.extend(_from_capitals(doc, segment, start, end, span))
    kept = (_without_labels(c, segment) for c in found)
    return [c for c in kept if c is not None and not _is_label(segment, c)]


def _without_labels(candidate: Candidate, segment: Segment) -> Candidate | None:
    """Cut a name at the labels of speakers; None for what exclaims or greets."""
    start, end = candidate.start - segment.start, candidate.end - segment.start
    for first, last in speaker_labels(segment.shadow):
        if first <= start < last < end:
            end = last
        elif start < first < end:
            end = start + _without_tail(segment.shadow[start:first])
    greeting = _GREETING.match(segment.shadow, start, end)
    start = greeting.end() if greeting else start
    if start >= end or _EXCLAIMS.fullmatch(segment.shadow, start, end):
        return None
    return replace(candidate, start=segment.start + start, end=segment.start + end)


_GREETING = re.compile(
    r"(?:Merry|Happy|Joyous|Blessed)\s+(?=(?:Christmas|Xmas|New\s+Year|Easter|Thanksgiving"
    r"|Birthday|Holidays|Diwali|Eid|Hanukkah)\b)"
)
_EXCLAIMS = re.compile(
    r"(?:(?:Good|Dear|Great|Gracious|My|Oh)\s+)+(?:Heavens?|God|Lord|Gracious|Grief|Gods)"
    r"|yo|(?:(?:yo|ho|ha|hip)[ ,!-]*){2,}",
    re.IGNORECASE,
)


def _is_label(segment: Segment, candidate: Candidate) -> bool:
    """Check whether a single word labels a line: "Subject: …"."""
    start, end = candidate.start - segment.start, candidate.end - segment.start
    line = segment.shadow.rfind("\n", 0, start) + 1
    return (
        " " not in segment.shadow[start:end]
        and segment.shadow[end : end + 3].lstrip(" ").startswith(":")
        and not any(c.isalnum() for c in segment.shadow[line:start])
    )


def _from_tagger(span: Span, segment: Segment) -> Iterator[Candidate]:
    kind = _TYPES.get(span.label_)
    if kind is None or (span.label_ == "NORP" and _is_adjective(span)):
        return
    while len(span) > 1 and span[0].is_sent_start and _is_no_part(span[0], kind):
        span = span[1:]
    if _is_cut(span):
        return
    span = _without_others(span) if kind == "PERSON" else span
    crosses = _EXCLAIMED if kind == "PERSON" else _CROSSES
    crossed = crosses.search(segment.shadow, span.start_char + 1, span.end_char)
    end = crossed.start() if crossed else span.end_char
    start, end = _stripped(segment.shadow, span.start_char, end)
    surface = segment.shadow[start:end]
    if not any(c.isupper() for c in surface) or "\n" in surface:
        return
    if surface.casefold() in FUNCTION_WORDS or surface.casefold() in CALENDAR:
        return
    if surface.casefold() in DEMONYMS:
        return
    if kind == "ORGANISATION" and ", " in surface and not _OF_FIRM.search(surface):
        return  # a list of names
    if kind == "PERSON":
        start = _with_honorific(segment.shadow, start)
    yield Candidate(segment.start + start, segment.start + end, kind)


def _without_others(span: Span) -> Span:
    """Cut a person's name where the sentence goes on: "Anne and Henrietta", "Mr Elliot, Anne"."""
    for number, token in enumerate(span[1:], start=1):
        is_lower = token.text.isalpha() and token.is_lower and token.lower_ not in _IN_NAMES
        has_capital = any(c.isupper() for c in span[:number].text)
        is_junior = span[number + 1 : number + 2].text.casefold().rstrip(".") in GENERATIONS
        after_title = token.text == "," and span[0].lower_.rstrip(".") in TITLES and not is_junior
        is_pronoun = token.text == "I" and token.pos_ == "PRON"
        if has_capital and (after_title or is_pronoun or (is_lower and token.pos_ != "PROPN")):
            return span[:number]
    return span


_IN_NAMES = frozenset({*JOINTS, "the", "und"}) - {"for"}
_CROSSES = re.compile(r"—|--|[?;]+[\s\"”’)—]")
_EXCLAIMED = re.compile(rf"{_CROSSES.pattern}|!+[\s\"”’)—]")
"""Marks that end what is said before them; a tagger's span may run across."""


def _is_no_part(token: Token, kind: str) -> bool:
    """Check for a first word that is before a name: "Different Linux", "Enter Hamlet"."""
    is_ordinary = token.lower_ in FUNCTION_WORDS or token.pos_ in _ORDINARY
    is_vague = token.pos_ == "ADJ" and token.lower_ in VAGUE_MODIFIERS
    return (kind == "PERSON" and is_ordinary) or is_vague


def _is_adjective(span: Span) -> bool:
    """Check whether a nationality is an adjective, not a people ("the Vikings")."""
    if len(span) == 1:
        return span[0].tag_ not in {"NNS", "NNPS"}
    return span.root.head.i >= span.end and span.root.dep_ in {"amod", "compound", "nmod"}


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    leading = _LEADING.match(text, start, end)
    if leading:
        start = leading.end()
    first = text[start:end].split(" ", 1)
    if len(first) == 2 and (
        first[0].casefold() in NEVER_FIRST or (first[0] in _NUMBERS and first[1][0].isupper())
    ):
        start += len(first[0]) + 1
    kept = text[start:end]
    if "(" in kept and ")" not in kept:
        end = start + kept.index("(")
        kept = text[start:end]
    if not _ENDS_WITH_ITS_DOT.search(kept):
        end = start + _without_tail(kept)
    while start < end and not text[start].isalnum():
        start += 1
    return start, end


def _without_tail(text: str) -> int:
    """Return the length of `text` without trailing marks and possessives."""
    end = len(text)
    while end:
        if text[end - 1] in _TRAILING or text[end - 1].isspace():
            end -= 1
        elif text[max(0, end - 2) : end] in {"'s", "’s"}:
            end -= 2
        elif text[:end].endswith((" and", " or", " of", " de", " du", " von", " van")):
            end = text.rindex(" ", 0, end)
        else:
            break
    return end


def _with_honorific(text: str, start: int) -> int:
    match = _HONORIFIC.search(text[max(0, start - 14) : start])
    return start - len(match.group()) if match else start


def _from_capitals(
    doc: Doc, segment: Segment, start: int, end: int, span: Span
) -> Iterator[Candidate]:
    labels = {token.ent_type_ for token in span}
    if labels <= _NO_ENTITY or (labels == {"NORP"} and _is_adjective(span)):
        return
    tokens = list(span)
    if _is_initial(doc, segment, span):
        while tokens and (
            tokens[0].lower_ in NEVER_FIRST
            or (
                not tokens[0].ent_type_
                and (tokens[0].pos_ in _ORDINARY or (len(tokens) > 1 and tokens[0].pos_ == "ADJ"))
            )
        ):
            tokens.pop(0)
        if not tokens or not tokens[0].text[:1].isalnum() or not _has_capital(tokens):
            return
        start = max(start, tokens[0].idx)
    if _is_cut(tokens):
        return
    if len(tokens) == 1 and not _is_single_name(tokens[0], initial=start == span.start_char):
        return
    start = _with_honorific(segment.shadow, start)
    kind = "PERSON" if _HONORIFIC.match(segment.shadow[start:end].split(" ")[0] + " ") else "NAME"
    yield Candidate(segment.start + start, segment.start + end, kind)


def _is_cut(tokens: Sequence[Token] | Span) -> bool:
    """Check for what ends inside a phrase: "Archives of the Debian mailing lists"."""
    last = tokens[-1]
    inside = last.head.i > last.i and last.dep_ in {"compound", "amod", "nmod"}
    return inside and last.head.is_lower and any(token.lower_ == "of" for token in tokens)


def _has_capital(tokens: Sequence[Token]) -> bool:
    return any(c.isupper() for token in tokens for c in token.text)


def _is_initial(doc: Doc, segment: Segment, span: Span) -> bool:
    before = span.start - 1
    while before >= 0 and doc[before].is_space:
        before -= 1
    if before < 0 or doc[before].text[0] in _QUOTE_OR_BULLET:
        return True
    if doc[span.start].is_sent_start:
        return True
    begin = segment.start + span.start_char
    last = segment.start + doc[before].idx
    return any(last < start <= begin for start, _ in segment.sentences)


def _is_single_name(token: Token, *, initial: bool) -> bool:
    if token.lower_ in DEMONYMS:
        return False
    if token.ent_type_ in _TYPES:
        return not (token.ent_type_ == "NORP" and _is_adjective(token.doc[token.i : token.i + 1]))
    if token.pos_ in _ORDINARY or token.pos_ == "ADJ":
        return False
    return token.pos_ == "PROPN" or not initial


def capital_candidates(layout: Layout) -> list[Candidate]:
    """Names by their capitals alone, for text that no model has read.

    A single word that begins a sentence counts only if it stands capitalised inside one as well.
    """
    spans = [
        (start, end)
        for start, end in capitalised_names(layout.shadow)
        if "\n" not in layout.shadow[start:end]
    ]
    initial = {span for span in spans if _begins_sentence(layout, span[0])}
    inside = {layout.shadow[a:b] for a, b in spans if (a, b) not in initial}
    return [
        Candidate(a, b, "NAME")
        for a, b in spans
        if (a, b) not in initial or " " in layout.shadow[a:b] or layout.shadow[a:b] in inside
    ]


def _begins_sentence(layout: Layout, start: int) -> bool:
    index = layout.sentence_at(start)
    if index is None:
        return False
    before = layout.shadow[layout.sentences[index][0] : start].rstrip()
    return not any(c.isalnum() for c in before) or before[-1] in _QUOTE_OR_BULLET


def concept_candidates(
    docs: Iterable[tuple[Doc, Segment]], lemma: Callable[[Token], str]
) -> list[Candidate]:
    """Noun phrases of two to four words, and single nouns that the text repeats."""
    phrases: list[Candidate] = []
    singles: list[Candidate] = []
    for doc, segment in docs:
        for chunk in doc.noun_chunks:
            words = _content_words(chunk)
            if not words:
                continue
            first, head = words[0], words[-1]
            end = segment.start + head.idx + len(head)
            key = name_key(" ".join([*(w.lower_ for w in words[:-1]), lemma(head)]))
            candidate = Candidate(segment.start + first.idx, end, "CONCEPT", key)
            (phrases if len(words) > 1 else singles).append(candidate)
    counts = Counter(c.key for c in singles)
    repeated = [
        c for c in singles if counts[c.key] > 1 and len(c.key) > 3 and c.key not in CLASS_NOUNS
    ]
    return [c for c in (*phrases, *repeated) if c.key]


def _content_words(chunk: Span) -> list[Token]:
    """Return a phrase's specific last words up to its head; empty if vague."""
    head = chunk.root
    if head.pos_ != "NOUN" or head.lower_ in VAGUE_NOUNS or not _is_latin(head):
        return []
    words = [head]
    for token in reversed(chunk.doc[chunk.start : head.i]):
        fits = token.pos_ in {"NOUN", "ADJ"} and _is_latin(token)
        if not fits or token.lower_ in VAGUE_MODIFIERS or len(words) == _MAX_PHRASE_WORDS:
            break
        if token.i + 1 != words[0].i:
            break
        words.insert(0, token)
    while words and words[0].i > chunk.start and chunk.doc[words[0].i - 1].text[-1] in "-–":
        words.pop(0)  # of "first-class cricketer" no "class cricketer"
    if head.ent_type_ in _NO_ENTITY or len(head) < 3:
        return []
    return words


def _is_latin(token: Token) -> bool:
    text = token.text
    return text[-1] != "-" and text.replace("-", "").isalpha() and not has_han(text)
