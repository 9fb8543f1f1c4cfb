"""Relations in words from the dependency parse of an English text (ClearNLP labels).

Subject–verb–object, passives, copulas with roles, prepositional objects, appositions, possessives,
and clauses with "where" or "whose". The predicate is made of the text's own words, so that subject,
predicate and object read as a sentence: "was founded by", "is the capital of". Pronouns are not
resolved; what is negated, asked, conditional, or only thought gives nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_ASPECT = frozenset({"begin", "start", "continue", "go", "help", "come", "proceed"})
_IN_PLACES = frozenset({"in", "at", "near", "on", "off"})
_BETWEEN_NOUNS = _IN_PLACES | {"of", "from"}
_ROLE_OF = frozenset({"of", "at", "for", "in", "to", "from", "with", "near", "on"})
_KNOWN_AS = ("known as", "called as", "referred to", "referred to as")
"""Said by `aliases`, which knows where the second name ends."""
_BE = frozenset({"be", "is", "are", "was", "were", "been", "being", "am", "'s", "’s", "'re"})
_HAVE = frozenset({"has", "have", "had", "having"})
_SHORT_FORMS = {"'s": "is", "’s": "is", "'re": "are", "’re": "are", "'ve": "have", "’ve": "have"}
_RELATIVE = frozenset({"WDT", "WP"})
_PLACES = frozenset({"GPE", "LOC", "FAC"})
_POSSIBLE = frozenset(
    {"would", "could", "should", "may", "might", "must", "shall", "ought", "'d", "’d", "'ll", "’ll"}
)
_CONDITION = frozenset({"if", "unless", "whether", "lest"})
_HARDLY = frozenset({"never", "hardly", "scarcely", "barely", "almost", "nearly", "rarely", "not"})
_NONE = frozenset({"no", "neither", "any", "either"})
_THOUGHTS = """
think believe hope wish suppose doubt deny imagine fear expect seem propose suggest claim allege
argue consider want ask wonder pretend rumour
"""
_THOUGHT = frozenset(_THOUGHTS.split())
"""Verbs that do not vouch for the clause they govern."""
_FREE = frozenset({"nsubj", "nsubjpass", "ROOT", "appos"})
"""Functions of a noun behind which a place says where it is, not where something happens."""
_OPEN = frozenset({"this", "that", "these", "those", "such", "another", "every", "each", *_NONE})
_PARTICLES = frozenset(
    {"round", "up", "down", "out", "in", "off", "over", "back", "away", "along", "on", "together"}
)
_EXAMPLES = frozenset({"including", "like", "such", "than", "except", "besides", "unlike"})
_QUOTES = frozenset("\"“”‘’'")
_OF_WORDS = frozenset({"phrase", "word", "words", "name", "term", "title", "illustration"})
"""Nouns that say of a name what kind of expression it is, nothing of what it names."""
_SOME = frozenset(
    {"a", "an", "most", "some", "few", "several", "many", "various", "certain", "more"}
)
_KIN = """
son daughter child brother sister father mother wife husband widow widower uncle aunt nephew niece
cousin grandson granddaughter grandfather grandmother stepson stepdaughter heir
"""
KIN = frozenset(_KIN.split())
_NAMING = frozenset({"call", "name", "term", "dub", "nickname", "entitle", "rename", "consider"})
"""Verbs whose second object says what the first one is called."""
_FAR = 14
_FAR_SUBJECT = 30
"""The most words between a verb and its object, its subject, that a small parser gets right."""
_LONG = 5


class Triple(NamedTuple):
    """A relation between two tokens; `anchor` is the token whose sentence says so.

    `is_direct` marks what follows its governor at once, where a common noun phrase may stand, too.
    """

    anchor: Token
    subject: Token
    predicate: str
    object: Token
    is_direct: bool = False


def dependency_triples(doc: Doc, lemma: Callable[[Token], str]) -> Iterator[Triple]:
    """Return the relations of an English parse, in anchor order."""
    for token in doc:
        found: Iterable[Triple] = ()
        if token.pos_ in {"VERB", "AUX"} and _is_asserted(token, lemma):
            found = _from_verb(token, lemma)
        elif token.pos_ in {"NOUN", "PROPN"}:
            found = _from_noun(token)
        yield from (triple for triple in found if not triple.predicate.endswith(_KNOWN_AS))


def words_before(noun: Token, offset: int) -> str | None:
    """Return a noun phrase's own words before `offset` of its text; None for a list or a bracket.

    Marks around single words are left out.
    """
    own = [token for token in noun.doc[noun.left_edge.i : noun.i] if token.idx < offset]
    if any(token.dep_ == "cc" or token.text in "[]()*" for token in own):
        return None
    if any(token.text == "," for token in own) and any(token.pos_ == "NOUN" for token in own):
        return None
    return _said(own, [token for token in own if not token.is_punct or token.text == "-"])


def is_definite(noun: Token) -> bool:
    """Check that a noun phrase can be understood by itself: no "this port", "his clerk", "any"."""
    return not any(
        child.lower_ in _OPEN or child.dep_ == "poss" or child.tag_ in {"PRP$", "WP$"}
        for child in noun.children
    )


def article(noun: Token) -> str:
    """Return "a" or "an" of a noun, or nothing."""
    return next((child.lower_ for child in noun.children if child.lower_ in {"a", "an"}), "")


def is_some(noun: Token) -> bool:
    """Check for "a port", "most users", "support for X": not one that a reader could point to."""
    before = noun.doc[noun.left_edge.i : noun.i]
    return any(token.lower_ in _SOME for token in before) or bool(_children(noun, "prep"))


def is_subject_of(noun: Token, verb: Token) -> bool:
    """Check that a noun is the grammatical subject of this very verb."""
    return noun.head == verb and noun.dep_ in {"nsubj", "nsubjpass"}


def _is_asserted(verb: Token, lemma: Callable[[Token], str]) -> bool:
    """Check that the text says it: not asked, denied, possible, conditional, or only thought."""
    if any(token.text == "?" for token in verb.sent) or _is_denied(verb):
        return False
    clause = verb
    while clause.dep_ != "ROOT":
        if any(mark.lower_ in _CONDITION for mark in _children(clause, "mark", "advmod")):
            return False
        above = clause.head
        if clause.dep_ in {"ccomp", "xcomp"} and (lemma(above) in _THOUGHT or _is_denied(above)):
            return False
        if clause.dep_ == "conj" and above.pos_ in {"VERB", "AUX"} and _is_denied(above):
            return bool(_children(clause, "nsubj", "nsubjpass"))
        clause = above
    return True


def _is_denied(verb: Token) -> bool:
    """Check for "not", "hardly", "would", "no one", "if" that govern a verb itself."""
    for child in verb.children:
        if child.dep_ == "neg" or child.lower_ in _HARDLY or child.lower_ in _POSSIBLE:
            return True
        if child.dep_ in {"nsubj", "nsubjpass", "dobj", "attr"} and any(
            inner.lower_ in _NONE for inner in child.children
        ):
            return True
        if child.dep_ == "advcl" and any(
            mark.lower_ in {"if", "unless"} for mark in _children(child, "mark")
        ):
            return True
    return False


def _children(token: Token, *labels: str) -> list[Token]:
    return [child for child in token.children if child.dep_ in labels]


def _with_conjuncts(token: Token) -> list[Token]:
    """Return a noun and what is listed with it: names with names, nouns with nouns."""
    found = [token]
    for child in _children(token, "conj"):
        if child.pos_ == token.pos_ and not any(c.lower_ in {"not", "or"} for c in token.children):
            found.extend(_with_conjuncts(child))
    return found


def _subjects(verb: Token, lemma: Callable[[Token], str]) -> tuple[list[Token], bool]:
    """Return the subjects of a verb, and whether it is passive."""
    own = _children(verb, "nsubj", "nsubjpass")
    if own and (verb.tag_ == "VBZ" or verb.lower_ == "was"):
        own = [child for child in own if not _children(child, "conj")]  # "Love and War is a film"
    if own:
        subjects = [s for child in own for s in _antecedents(child, verb)]
        if verb.dep_ == "relcl" and subjects == [verb.head]:
            subjects = _described(verb.head, lemma)
        return subjects, any(child.dep_ == "nsubjpass" for child in own)
    head = verb.head
    if verb.dep_ == "conj" and head.pos_ in {"VERB", "AUX"}:
        if any(token.text in _QUOTES for token in verb.doc[head.i : verb.i]):
            return [], False
        subjects, passive = _subjects(head, lemma)
        return subjects, verb.tag_ == "VBN" and (passive or bool(_children(verb, "auxpass")))
    if verb.dep_ == "xcomp" and head.pos_ == "VERB" and lemma(head) in _ASPECT:
        return _subjects(head, lemma)
    if verb.dep_ == "acl" and verb.tag_ in {"VBN", "VBG"} and not _is_loose_clause(verb):
        return _described(head, lemma), verb.tag_ == "VBN"
    if verb.dep_ == "advcl" and verb.tag_ in {"VBN", "VBG"} and not _children(verb, "mark"):
        return _subjects(head, lemma)[0], verb.tag_ == "VBN"  # "Born in Rome, she …"
    return [], False


def _is_loose(noun: Token, clause: Token) -> bool:
    """Check for a clause behind "a quality of the Ghost", which may describe either.

    It describes the last name where it follows at once and its pronoun fits.
    """
    if noun.pos_ == "PROPN" and clause.lower_ == "that":
        return True  # a name needs no such clause: it is of the noun before
    outer = noun.head if noun.dep_ == "appos" else noun
    if outer.dep_ != "pobj" or outer.head.dep_ != "prep" or outer.head.head.pos_ != "NOUN":
        return False
    is_person = noun.ent_type_ == "PERSON"
    return clause.i - noun.i > 2 or is_person != (clause.lower_ == "who")


def _is_loose_clause(verb: Token) -> bool:
    """Check for "a film directed by Brown starring Dove", "the house of Lin, owned by Chen"."""
    if verb.tag_ == "VBG" and verb.head.head.dep_ == "agent":
        return True
    return _is_loose(verb.head, verb)


def _antecedents(token: Token, verb: Token) -> list[Token]:
    """Return a subject with what is listed with it; of "who" only the noun right before."""
    antecedent = _antecedent(token, verb)
    return _with_conjuncts(token) if antecedent == token else [antecedent]


def _antecedent(token: Token, verb: Token) -> Token:
    """For "who" and "which" of a relative clause, the noun that the clause is about."""
    is_relative = token.tag_ in _RELATIVE and verb.dep_ == "relcl" and verb.head.i < token.i
    return verb.head if is_relative and not _is_loose(verb.head, token) else token


def _described(noun: Token, lemma: Callable[[Token], str]) -> list[Token]:
    """Return the noun a clause describes: in "Moro is a jurist who …" Moro.

    None after "not".
    """
    first = noun.head if noun.dep_ == "conj" else noun
    if noun.pos_ == "NOUN" and first.dep_ == "attr" and first.head.lower_ in _BE:
        named = [s for s in _subjects(first.head, lemma)[0] if s.pos_ != "PRON"]
        return [] if _children(first.head, "neg") else named or [noun]
    if noun.pos_ == "NOUN" and noun.dep_ == "appos" and noun.head.pos_ == "PROPN":
        return [noun.head]
    return [_named(noun)]


def _prepositional(token: Token) -> Iterator[tuple[str, Token, bool]]:
    """Return preposition, object, and whether they follow at once, for each on a token."""
    listed = [child.i for child in _children(token, "conj")]
    for preposition in _children(token, "prep", "dative"):
        if preposition.lower_ in _EXAMPLES or any(i < preposition.i for i in listed):
            continue  # in "a merchant and member of the Council" it is of the last one
        between = token.doc[token.i + 1 : preposition.i]
        follows = preposition.i > token.i and all(t.dep_ in {"prt", "advmod"} for t in between)
        for target in _children(preposition, "pobj"):
            words = _words_up_to(preposition, target)
            for end in _with_conjuncts(target):
                yield words, _named(end), follows
        for inner in _children(preposition, "prep"):
            for target in _children(inner, "pobj"):
                yield f"{preposition.lower_} {inner.lower_}", target, follows


def _words_up_to(preposition: Token, target: Token) -> str:
    """Return a preposition with what belongs to it: "because of"."""
    between = preposition.doc[preposition.i + 1 : target.left_edge.i]
    return " ".join([preposition.lower_, *(t.lower_ for t in between if t.pos_ == "ADP")])


def _group(verb: Token, lemma: Callable[[Token], str]) -> str:
    """Return the words of a verb group: "has been led", "began to study", "drew round"."""
    before = [c for c in _children(verb, "aux", "auxpass") if c.lower_ != "to"]
    if not before and verb.dep_ == "conj" and verb.tag_ == "VBN":
        before = _children(verb.head, "aux", "auxpass")
    words = [_SHORT_FORMS.get(c.lower_, c.lower_) for c in (*before, verb)]
    words += [c.lower_ for c in verb.children if c.dep_ == "prt" or _is_particle(c, verb)]
    if verb.dep_ == "xcomp" and verb.head.pos_ == "VERB" and lemma(verb.head) in _ASPECT:
        link = ["to"] if any(c.lower_ == "to" for c in _children(verb, "aux")) else []
        words = [_group(verb.head, lemma), *link, *words]
    return " ".join(words)


def _is_particle(token: Token, verb: Token) -> bool:
    is_adverb = token.dep_ == "advmod" and token.lower_ in _PARTICLES
    return is_adverb and token.i == verb.i + 1


def _phrase(noun: Token) -> str:
    """Return a noun with its own words before it; of a long phrase the article and the noun."""
    words = list(noun.doc[noun.left_edge.i : noun.i + 1])
    if len(words) > _LONG or any(token.is_punct and token.text != "-" for token in words):
        return _said(words, {noun, *_children(noun, "det", "compound")})
    return _said(words, set(words))


def _said(words: Sequence[Token], kept: Collection[Token]) -> str:
    """Return those of these words that are kept, as they stand, with their hyphens."""
    chosen: list[str] = []
    for place, token in enumerate(words):
        after = words[place + 1 : place + 3]
        hyphened = token.text == "-" or (after and after[0].text == "-" and after[-1] in kept)
        if token in kept or (hyphened and words[-1] in kept):
            chosen.append((token.lower_ if token.tag_ == "DT" else token.text) + token.whitespace_)
        elif chosen and not chosen[-1].endswith(" "):
            chosen[-1] += " "
    return "".join(chosen).strip()


def _from_verb(verb: Token, lemma: Callable[[Token], str]) -> Iterator[Triple]:
    subjects, passive = _subjects(verb, lemma)
    words = _group(verb, lemma)
    is_naming = lemma(verb) in _NAMING
    if is_naming and not (passive and _children(verb, "auxpass")):
        return
    for subject in (s for s in subjects if _is_in_reach(s, verb)):
        yield from _complements(verb, subject, words)
        yield from _where(verb, subject, words)
        if is_naming:
            continue
        if passive and verb.tag_ == "VBN":
            yield from _passive(verb, subject, words)
        elif verb.lower_ not in _BE:
            yield from _active(verb, subject, words)
        elif not _children(verb, "attr", "acomp"):
            for preposition, end, follows in _prepositional(verb):
                if preposition in _BETWEEN_NOUNS or preposition == "with":
                    yield Triple(verb, subject, f"{words} {preposition}", end, follows)


def _is_in_reach(subject: Token, verb: Token) -> bool:
    """Check that a subject is not far away, nor an exclamation."""
    between = verb.doc[min(subject.i, verb.i) : max(subject.i, verb.i)]
    marks = Counter(token.text for token in between)
    is_inside = marks["("] != marks[")"] and verb.tag_ not in {"VBN", "VBG"}
    return len(between) <= _FAR_SUBJECT and not marks["!"] and not is_inside


def _agrees(subject: Token, verb: Token) -> bool:
    """Check the number: in "the HRI note HR-31" a noun was taken for a verb."""
    is_plural = verb.tag_ == "VBP" and verb.lower_ not in _BE
    alone = subject.head == verb and not _children(subject, "conj")
    return not (is_plural and alone and subject.tag_ in {"NN", "NNP"})


def _is_far(token: Token, verb: Token) -> bool:
    return bool(abs(token.i - verb.i) > _FAR)


def _passive(verb: Token, subject: Token, words: str) -> Iterator[Triple]:
    for agent in _children(verb, "agent"):
        for target in _children(agent, "pobj"):
            for end in _with_conjuncts(target):
                yield Triple(verb, subject, f"{words} by", end)
    for preposition, end, follows in _prepositional(verb):
        if not _is_far(end, verb):
            yield Triple(verb, subject, f"{words} {preposition}", end, follows)


def _active(verb: Token, subject: Token, words: str) -> Iterator[Triple]:
    objects = _children(verb, "dobj", "obj")
    for target in objects:
        for role in _own_role(verb):
            yield Triple(verb, target, f"is {role.lower_} of", subject)
        for end in _with_conjuncts(_antecedent(target, verb)):
            if not _is_far(end, verb) and _agrees(subject, verb):
                yield Triple(verb, subject, words, end, is_direct=True)
        for preposition, end, _ in _prepositional(target):
            if target.pos_ == "NOUN":
                yield Triple(verb, subject, f"{words} {_phrase(target)} {preposition}", end)
    is_relative = any(target.tag_ in _RELATIVE for target in objects)
    if _children(verb, "ccomp", "xcomp") or len(objects) > 1 or is_relative:  # no sure object
        return
    with_object = [words, *(_phrase(target) for target in objects)]
    for preposition, end, follows in _prepositional(verb):
        if not _is_far(end, verb):
            yield Triple(verb, subject, " ".join([*with_object, preposition]), end, follows)


def _complements(verb: Token, subject: Token, words: str) -> Iterator[Triple]:
    """ "X is the director of Y", "X was appointed director of Y", "X is famous for Y"."""
    for complement in _children(verb, "attr", "oprd", "acomp"):
        for noun in _with_conjuncts(complement):
            if noun.pos_ in {"NOUN", "PROPN"}:
                yield Triple(verb, subject, words, noun, is_direct=True)
            yield from _roles(verb, subject, noun, words)
    for preposition in _children(verb, "prep"):
        if preposition.lower_ == "as":
            for noun in _children(preposition, "pobj"):
                yield from _roles(verb, subject, noun, f"{words} as")
    # "Lin's sister is Mei", "the leader of Italy is Moro": the owner is related to the complement
    is_part = subject.doc[subject.i + 1 : subject.i + 2].text == "-"
    if subject.tag_ == "NN" and verb.lower_ in _BE and not is_part:
        for noun in _children(verb, "attr"):
            for owner in _owners(subject, verb):
                if _named(noun).pos_ == "PROPN":
                    yield Triple(verb, _named(noun), f"{words} {_role_word(subject)} of", owner)
                elif not _children(noun, "det", "poss"):
                    yield Triple(verb, owner, f"has {_role_word(subject)}", noun, is_direct=True)


def _owners(role: Token, verb: Token) -> Iterator[Token]:
    """Return the owners of a role: "Lin's sister", "whose sister", "the leader of Italy"."""
    for owner in _children(role, "poss"):
        yield verb.head if owner.tag_ == "WP$" and verb.dep_ == "relcl" else owner
    yield from (end for preposition, end, _ in _prepositional(role) if preposition == "of")


def _named(noun: Token) -> Token:
    """Return the name a common noun introduces: "the politician Moro"."""
    names = [c for c in _children(noun, "appos") if c.pos_ == "PROPN"]
    return names[0] if names and noun.pos_ == "NOUN" else noun


def _role_word(role: Token) -> str:
    """Return a role without its owner: "sister" of "Lin's elder sister", "the leader"."""
    labels = ("compound",) if _children(role, "poss") else ("compound", "det")
    words = list(role.doc[role.left_edge.i : role.i + 1])
    return _said(words, {role, *_children(role, *labels)})


def _own_role(verb: Token) -> Iterator[Token]:
    """Return the roles in "has Moro as its leader"."""
    for preposition in _children(verb, "prep") if verb.lower_ in _HAVE else ():
        for role in _children(preposition, "pobj") if preposition.lower_ == "as" else ():
            if any(owner.tag_ == "PRP$" for owner in _children(role, "poss")):
                yield from _with_conjuncts(role)


def _where(verb: Token, subject: Token, words: str) -> Iterator[Triple]:
    """Match "Italy, where Moro is the leader", "where the leader is Moro".

    "where Moro lived".
    """
    if verb.dep_ != "relcl" or not any(c.lower_ == "where" for c in _children(verb, "advmod")):
        return
    if verb.lower_ not in _BE:
        if not _children(verb, "dobj"):
            yield Triple(verb, subject, f"{words} in", verb.head)
        return
    for noun in _children(verb, "attr"):
        if subject.pos_ == "NOUN" and noun.pos_ == "PROPN":
            yield Triple(verb, noun, f"{words} {_phrase(subject)} in", verb.head)
        elif noun.pos_ == "NOUN":
            yield Triple(verb, subject, f"{words} {_phrase(noun)} in", verb.head)


def _roles(anchor: Token, holder: Token, role: Token, words: str) -> Iterator[Triple]:
    """Return roles stated by a noun describing `holder`: "is director of Y", "is Y's director"."""
    if role.pos_ == "PROPN":
        return
    for preposition, end, follows in _prepositional(role):
        phrase = f"{words} {_phrase(role)} {preposition}"
        if role.lower_ == "one" and preposition == "of":
            yield from _roles(anchor, holder, end, phrase)
        elif preposition in _ROLE_OF:
            yield Triple(anchor, holder, phrase, end, follows)
    for owner in _children(role, "poss"):
        yield Triple(anchor, holder, f"{words} {_role_word(role)} of", owner)


def _from_noun(noun: Token) -> Iterator[Triple]:
    of_name = noun.dep_ == "pobj" and noun.head.head.pos_ == "PROPN"  # "Jory of Brannock, a cook"
    for apposed in _children(noun, "appos") if not of_name else ():
        for described, role in ((noun, apposed), (apposed, noun)):
            if _is_role(role, described) and not _is_address(role, described):
                yield Triple(noun, described, "is", role, is_direct=True)
                yield from _roles(noun, described, role, "is")
    if noun.pos_ == "PROPN":
        yield from _places(noun)
        yield from _titles(noun)


def _is_role(role: Token, described: Token) -> bool:
    """Check for "…, a fiddler," and "the fiddler …": a singular noun beside a name, no list."""
    has_article = any(c.lower_ in {"a", "an", "the"} for c in role.children)
    return (
        role.tag_ == "NN"
        and (has_article or described.ent_type_ == "PERSON")
        and role.lower_ not in _OF_WORDS
        and described.pos_ in {"PROPN", "NOUN"}
        and not _children(role, "conj", "cc")
        and not _is_far(role, described)
    )


def _is_address(role: Token, described: Token) -> bool:
    """Check for "I have the power, Spirit": a name behind a comma, not of a subject."""
    between = [token.text for token in role.doc[role.i : described.i]]
    is_apart = "," in between and role.dep_ not in {"nsubj", "nsubjpass", "ROOT"}
    return is_apart or ":" in between


def _places(noun: Token) -> Iterator[Triple]:
    """ "Rostock, Germany", "the Abbey in Rostock", "the Council of Rostock"."""
    for apposed in _children(noun, "appos"):
        if {noun.ent_type_, apposed.ent_type_} <= _PLACES and not _children(apposed, "conj", "cc"):
            yield Triple(noun, noun, "is in", apposed)
    for preposition in _children(noun, "prep"):
        is_known = preposition.lower_ == "of" or (
            preposition.lower_ in _BETWEEN_NOUNS
            and (noun.dep_ in _FREE or noun.ent_type_ in _PLACES)
        )
        for end in _children(preposition, "pobj") if is_known else ():
            if preposition.lower_ == "of":
                yield Triple(noun, noun, "of", end)
            elif end.ent_type_ in _PLACES:
                yield Triple(noun, noun, f"is {preposition.lower_}", end)


def _titles(noun: Token) -> Iterator[Triple]:
    """ "Lin's sister Mei"."""
    titles = [c for c in _children(noun, "compound", "nmod") if c.pos_ == "NOUN" and c.i < noun.i]
    for title in titles:
        owners: Iterable[Token] = _children(noun, "poss") or _children(title, "compound", "poss")
        for owner in owners:
            yield Triple(noun, noun, f"is {title.lower_} of", owner)
