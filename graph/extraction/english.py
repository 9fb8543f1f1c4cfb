"""English names, noun phrases and relations from a spaCy pipeline.

Offsets returned are offsets into the whole text. Without a model `capital_candidates` still finds
names by their capitals. Relations are read from the dependency parse (ClearNLP labels):
subject–verb–object, passives with agents, copulas, prepositional objects, appositions, possessives,
and clauses with "where" or "whose". Pronouns are not resolved, negated verbs give nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..text.cjk import has_han
from ..text.names import CALENDAR, FUNCTION_WORDS, capitalised_names, name_key
from ..text.sentences import Layout, Segment
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
_LEADING = re.compile(r"(?:(?:the|a|an|this|that|these|those)\s+)+", re.IGNORECASE)
_TRAILING = frozenset(".,;:!?\"”'’)]-–—€$£%")
_ENDS_WITH_ITS_DOT = re.compile(r"\b(?:[A-Z]|Inc|Ltd|Co|Jr|Sr|Corp)\.$")
_QUOTE_OR_BULLET = frozenset("\"“‘'(:;-–—•[")
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
    return [c for c in found if not _is_label(segment, c)]


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
    start, end = _stripped(segment.shadow, span.start_char, span.end_char)
    surface = segment.shadow[start:end]
    if not any(c.isupper() for c in surface) or "\n" in surface:
        return
    if surface.casefold() in FUNCTION_WORDS or surface.casefold() in CALENDAR:
        return
    if kind == "PERSON":
        start = _with_honorific(segment.shadow, start)
    yield Candidate(segment.start + start, segment.start + end, kind)


def _is_adjective(span: Span) -> bool:
    """Check whether a nationality is an adjective, not a people ("the Vikings")."""
    return len(span) == 1 and span[0].tag_ not in {"NNS", "NNPS"}


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    leading = _LEADING.match(text, start, end)
    if leading:
        start = leading.end()
    first = text[start:end].split(" ", 1)
    if len(first) == 2 and first[0].casefold() in NEVER_FIRST:
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
    if labels <= _NO_ENTITY:
        return
    tokens = list(span)
    if _is_initial(doc, segment, span):
        while tokens and (
            tokens[0].lower_ in NEVER_FIRST
            or (not tokens[0].ent_type_ and tokens[0].pos_ in _ORDINARY)
        ):
            tokens.pop(0)
        if not tokens or not tokens[0].text[:1].isalnum() or not _has_capital(tokens):
            return
        start = max(start, tokens[0].idx)
    if len(tokens) == 1 and not _is_single_name(tokens[0], initial=start == span.start_char):
        return
    start = _with_honorific(segment.shadow, start)
    kind = "PERSON" if _HONORIFIC.match(segment.shadow[start:end].split(" ")[0] + " ") else "NAME"
    yield Candidate(segment.start + start, segment.start + end, kind)


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
    if head.ent_type_ in _NO_ENTITY or len(head) < 3:
        return []
    return words


def _is_latin(token: Token) -> bool:
    return token.text.replace("-", "").isalpha() and not has_han(token.text)


_ASPECT = frozenset({"begin", "start", "continue", "go", "help", "come", "proceed"})
_MOVING = frozenset({"to", "into", "from", "with", "as", "for", "of", "onto"})
_BETWEEN_NOUNS = frozenset({"in", "at", "near", "of", "from", "on", "off", "to"})
_ROLE_OF = frozenset({"of", "at", "for", "in", "to", "from", "with"})
_KNOWN_AS = frozenset({"known as", "called as", "referred to"})
"""Said by `aliases`, which knows where the second name ends."""
_BE = frozenset({"be", "is", "are", "was", "were", "been", "being", "am", "'s", "’s", "'re"})
_RELATIVE = frozenset({"WDT", "WP"})
_PLACES = frozenset({"GPE", "LOC"})


class Triple(NamedTuple):
    """A relation between two tokens; `anchor` is the token whose sentence says so."""

    anchor: Token
    subject: Token
    predicate: str
    object: Token


def dependency_triples(doc: Doc, lemma: Callable[[Token], str]) -> Iterator[Triple]:
    """Return all subject–verb–object relations of an English parse, in anchor order."""
    for token in doc:
        if token.pos_ in {"VERB", "AUX"}:
            yield from _from_verb(token, lemma)
        elif token.pos_ in {"NOUN", "PROPN"}:
            yield from _from_noun(token, lemma)


def _children(token: Token, *labels: str) -> list[Token]:
    return [child for child in token.children if child.dep_ in labels]


def _with_conjuncts(token: Token) -> list[Token]:
    found = [token]
    for child in _children(token, "conj"):
        found.extend(_with_conjuncts(child))
    return found


def _subjects(verb: Token, lemma: Callable[[Token], str]) -> tuple[list[Token], bool]:
    """Return the subjects of a verb, and whether it is passive."""
    own = _children(verb, "nsubj", "nsubjpass")
    if own:
        subjects = [s for child in own for s in _with_conjuncts(_antecedent(child, verb))]
        if verb.dep_ == "relcl" and subjects == [verb.head]:
            subjects = _described(verb.head, lemma)
        return subjects, any(child.dep_ == "nsubjpass" for child in own)
    head = verb.head
    if verb.dep_ == "conj" and head.pos_ in {"VERB", "AUX"}:
        subjects, passive = _subjects(head, lemma)
        return subjects, verb.tag_ == "VBN" and (passive or bool(_children(verb, "auxpass")))
    if verb.dep_ == "xcomp" and head.pos_ == "VERB" and lemma(head) in _ASPECT:
        return _subjects(head, lemma)
    if verb.dep_ == "acl" and verb.tag_ in {"VBN", "VBG"}:
        return _described(head, lemma), verb.tag_ == "VBN"
    if verb.dep_ == "advcl" and verb.tag_ in {"VBN", "VBG"} and not _children(verb, "mark"):
        return _subjects(head, lemma)[0], verb.tag_ == "VBN"  # "Born in Rome, she …"
    return [], False


def _antecedent(token: Token, verb: Token) -> Token:
    """For "who" and "which" of a relative clause, the noun that the clause is about."""
    return verb.head if token.tag_ in _RELATIVE and verb.dep_ == "relcl" else token


def _described(noun: Token, lemma: Callable[[Token], str]) -> list[Token]:
    """Return the noun a clause describes: in "Moro is a jurist who …" Moro.

    None after "not".
    """
    if noun.pos_ == "NOUN" and noun.dep_ == "attr" and noun.head.lower_ in _BE:
        named = [s for s in _subjects(noun.head, lemma)[0] if s.pos_ != "PRON"]
        return [] if _children(noun.head, "neg") else named or [noun]
    if noun.pos_ == "NOUN" and noun.dep_ == "appos" and noun.head.pos_ == "PROPN":
        return [noun.head]
    return [_named(noun)]


def _prepositional(token: Token) -> Iterator[tuple[str, Token]]:
    """`(preposition, object)` of all prepositional phrases on a token."""
    for preposition in _children(token, "prep", "dative"):
        for target in _children(preposition, "pobj"):
            for end in _with_conjuncts(target):
                yield preposition.lower_, _named(end)
        for inner in _children(preposition, "prep"):
            for target in _children(inner, "pobj"):
                yield f"{preposition.lower_} {inner.lower_}", target


def _from_verb(verb: Token, lemma: Callable[[Token], str]) -> Iterator[Triple]:
    if _children(verb, "neg"):
        return
    subjects, passive = _subjects(verb, lemma)
    word = " ".join([lemma(verb), *(p.lower_ for p in _children(verb, "prt"))])
    for subject in subjects:
        yield from _complements(verb, subject, lemma)
        yield from _where(verb, subject, word, lemma)
        if passive and verb.tag_ == "VBN":
            yield from _passive(verb, subject, word)
        elif verb.lower_ not in _BE:
            yield from _active(verb, subject, word, lemma)
        else:
            for preposition, end in _prepositional(verb):
                yield Triple(verb, subject, preposition, end)


def _passive(verb: Token, subject: Token, word: str) -> Iterator[Triple]:
    for agent in _children(verb, "agent"):
        for target in _children(agent, "pobj"):
            for end in _with_conjuncts(target):
                yield Triple(verb, end, word, subject)
    for preposition, end in _prepositional(verb):
        if f"{verb.lower_} {preposition}" not in _KNOWN_AS:
            yield Triple(verb, subject, f"{verb.lower_} {preposition}", end)


def _active(
    verb: Token, subject: Token, word: str, lemma: Callable[[Token], str]
) -> Iterator[Triple]:
    objects = _children(verb, "dobj", "obj")
    for target in objects:
        for role in _own_role(verb):
            yield Triple(verb, target, f"{lemma(role)} of", subject)
        for end in _with_conjuncts(_antecedent(target, verb)):
            yield Triple(verb, subject, word, end)
        for preposition, end in _prepositional(target):
            if target.pos_ == "NOUN" and preposition != "of":
                yield Triple(verb, subject, f"{word} {lemma(target)} {preposition}", end)
    for preposition, end in _prepositional(verb):
        if not objects:
            yield Triple(verb, subject, f"{word} {preposition}", end)
        elif objects[0].pos_ == "NOUN":
            yield Triple(verb, subject, f"{word} {lemma(objects[0])} {preposition}", end)
        elif preposition not in _MOVING:
            yield Triple(verb, subject, f"{word} {preposition}", end)


def _complements(verb: Token, subject: Token, lemma: Callable[[Token], str]) -> Iterator[Triple]:
    """ "X is the director of Y", "X was appointed director of Y", "X is famous for Y"."""
    for complement in _children(verb, "attr", "oprd", "acomp"):
        for noun in _with_conjuncts(complement):
            yield Triple(verb, subject, "be", noun)
            yield from _roles(verb, subject, noun, lemma)
    for preposition in _children(verb, "prep"):
        if preposition.lower_ == "as":
            for noun in _children(preposition, "pobj"):
                yield from _roles(verb, subject, noun, lemma)
    # "Lin's sister is Mei", "the leader of Italy is Moro": the owner is related to the complement
    for noun in _children(verb, "attr") if subject.pos_ == "NOUN" else ():
        for owner in _owners(subject, verb):
            yield Triple(verb, _named(noun), f"{_role_word(subject, lemma)} of", owner)


def _owners(role: Token, verb: Token) -> Iterator[Token]:
    """Return the owners of a role: "Lin's sister", "whose sister", "the leader of Italy"."""
    for owner in _children(role, "poss"):
        yield verb.head if owner.tag_ == "WP$" and verb.dep_ == "relcl" else owner
    for preposition, end in _prepositional(role):
        if preposition == "of":
            yield end


def _named(noun: Token) -> Token:
    """Return the name a common noun introduces: "the politician Moro"."""
    names = [c for c in _children(noun, "appos") if c.pos_ == "PROPN"]
    return names[0] if names and noun.pos_ == "NOUN" else noun


def _role_word(role: Token, lemma: Callable[[Token], str]) -> str:
    before = [c.lower_ for c in _children(role, "compound") if c.pos_ == "NOUN"]
    return " ".join([*before, lemma(role)])


def _own_role(verb: Token) -> Iterator[Token]:
    """Return the roles in "has Moro as its leader"."""
    for preposition in _children(verb, "prep"):
        if preposition.lower_ == "as" and verb.lemma_ == "have":
            for role in _children(preposition, "pobj"):
                if any(owner.tag_ == "PRP$" for owner in _children(role, "poss")):
                    yield from _with_conjuncts(role)


def _where(
    verb: Token, subject: Token, word: str, lemma: Callable[[Token], str]
) -> Iterator[Triple]:
    """Match "Italy, where Moro is the leader", "where the leader is Moro".

    "where Moro lived".
    """
    if verb.dep_ != "relcl" or not any(c.lower_ == "where" for c in _children(verb, "advmod")):
        return
    if verb.lower_ not in _BE:
        yield Triple(verb, subject, f"{word} in", verb.head)
        return
    for noun in _children(verb, "attr"):
        if subject.pos_ == "NOUN" and noun.pos_ == "PROPN":
            yield Triple(verb, noun, f"{_role_word(subject, lemma)} in", verb.head)
        elif noun.pos_ == "NOUN":
            yield Triple(verb, subject, f"{_role_word(noun, lemma)} in", verb.head)


def _roles(
    anchor: Token, holder: Token, role: Token, lemma: Callable[[Token], str]
) -> Iterator[Triple]:
    """Return roles stated by a noun describing `holder`: "director of Y", "Y's director"."""
    if role.pos_ == "PROPN":
        return
    for preposition, end in _prepositional(role):
        if role.lower_ == "one" and preposition == "of":
            yield from _roles(anchor, holder, end, lemma)
        elif preposition in _ROLE_OF:
            yield Triple(anchor, holder, f"{lemma(role)} {preposition}", end)
    for owner in _children(role, "poss"):
        yield Triple(anchor, holder, f"{lemma(role)} of", owner)


def _from_noun(noun: Token, lemma: Callable[[Token], str]) -> Iterator[Triple]:
    for apposed in _children(noun, "appos"):
        for described, role in ((noun, apposed), (apposed, noun)):
            if role.pos_ == "NOUN":
                yield Triple(noun, described, "be", role)
                yield from _roles(noun, described, role, lemma)
    if noun.pos_ != "PROPN":
        return
    for apposed in _children(noun, "appos"):  # "Rostock, Germany"
        if {noun.ent_type_, apposed.ent_type_} <= _PLACES and not _children(apposed, "conj", "cc"):
            yield Triple(noun, noun, "in", apposed)
    for preposition in _children(noun, "prep"):
        if preposition.lower_ in _BETWEEN_NOUNS:
            for end in _children(preposition, "pobj"):
                yield Triple(noun, noun, preposition.lower_, end)
    titles = [c for c in _children(noun, "compound", "nmod") if c.pos_ == "NOUN" and c.i < noun.i]
    for title in titles:
        for owner in _children(noun, "poss"):
            yield Triple(noun, noun, f"{lemma(title)} of", owner)
        if not _children(noun, "poss"):
            for owner in _children(title, "compound", "poss"):
                yield Triple(noun, noun, f"{lemma(title)} of", owner)
