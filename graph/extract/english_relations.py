"""English: who did what to whom, from spaCy's dependency parse.

Reads subject–verb–object, passives with their agents, copulas either way round, prepositional
objects, appositions, possessives, and clauses that begin with "where" or "whose"; conjuncts share
their head's place. Pronouns are not resolved, negated verbs say nothing. Labels are
those of spaCy's English models (ClearNLP style).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

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


def triples(doc: Doc, lemma: Callable[[Token], str]) -> Iterator[Triple]:
    """Return all relations of a parsed document, in anchor order; ends are any tokens."""
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
