"""Conversation: history, and rewriting of follow-up questions before anything is searched.

History comes from the caller and is hostile: limited in every size, cleaned of control characters,
and shown as lines inside a fence. A follow-up is rewritten by a model where there is one and its
reply passes the checks (one line, about the question, no name or figure of its own), else by rules:
a pronoun takes the name that it most likely means; "what about X" asks the previous question of X;
a bare "when?" takes the rest of it; a question plainly linked to the previous one gets its names.
All else stays: a wrong name leads a search astray further than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from graph.text.cjk import count_han, has_han
from graph.text.patterns import lazy_regex

from .answering.extractive.question_type import WH_CHINESE, classify_question, strip_question_words
from .config import AnswerSettings
from .embeddings.tokenizer import TokenCount
from .errors import ModelError, QuestionError
from .events import Listener
from .ingest.document import sanitise_text
from .llm.client import LLMClient
from .prompts import is_abstention, language_of, stage_prompt, without_doubt
from .retrieval.passages import Tracer
from .retrieval.retriever import HybridRetriever
from .routing.rules import classify_scope
from .storage.graph_api import sentence_spans
from .storage.schema import DocumentFilter
from .storage.tokenization import tokens
from .types import Answer, History, Turn
from .verification.claims import without_markers
from .verification.entities_and_numbers import (
    Beside,
    extract_quantities,
    find_mentions,
    missing_names,
    names_in,
)
from .verification.llm_judge import read_object

if TYPE_CHECKING:
    from .storage.graph_api import Prompt

MOST_TURNS = 20
"""Earlier ones are not looked at."""
_LONGEST_QUESTION, _LONGEST_ANSWER = 2_000, 8_000


def parse_history(history: History) -> tuple[Turn, ...]:
    """Parse the last turns of a given history, oldest first; blank ones are dropped.

    An `Answer` is the turn of the question as it was understood. Marks, and the list of sources at
    the end of an answer, are left out: their numbers mean nothing here.

    Raises:
        QuestionError: it is no list of turns and answers.
    """
    listed = isinstance(history, Sequence) and not isinstance(history, str)
    wrong = (
        [each for each in history if not isinstance(each, Turn | Answer)] if listed else [history]
    )
    if wrong:
        kind = type(wrong[0]).__name__
        raise QuestionError(f"history holds no turns: {kind}; give a list of Turn or Answer")
    turns = (_turn(each) for each in history[-MOST_TURNS:])
    return tuple(turn for turn in turns if turn.question)


def _turn(said: Turn | Answer) -> Turn:
    if isinstance(said, Answer):
        asked, answer = said.rewritten_question or said.question, said.text
    else:
        asked, answer = said.question, said.answer
    return Turn(
        question=" ".join(sanitise_text(asked[:_LONGEST_QUESTION]).split()),
        answer=without_markers(sanitise_text(answer[:_LONGEST_ANSWER])).strip(),
    )


def pair_messages(said: Iterable[tuple[str, str]]) -> list[Turn]:
    """Pair chat messages `(role, text)` into turns; other roles are dropped."""
    turns: list[Turn] = []
    for role, text in said:
        if role == "user":
            turns.append(Turn(text))
        elif role == "assistant" and turns:
            before = turns[-1]
            turns[-1] = Turn(before.question, f"{before.answer}\n{text}".strip())
    return turns


def format_history(turns: Sequence[Turn]) -> str:
    """Format turns for a prompt; empty without any."""
    return "\n\n".join(f"Question: {turn.question}\nAnswer: {turn.answer}" for turn in turns)


def trim_history(
    turns: Sequence[Turn], *, budget_tokens: int, count: TokenCount
) -> tuple[Turn, ...]:
    """Return the last turns that fit a token budget together.

    Of the very last one the answer is cut where it alone is too long; a question that is too long
    by itself is left out.
    """
    kept: list[Turn] = []
    for turn in reversed(turns):
        if count(format_history([turn, *kept])) > budget_tokens:
            cut = None if kept else _cut(turn, budget_tokens=budget_tokens, count=count)
            return (cut,) if cut is not None else tuple(kept)
        kept.insert(0, turn)
    return tuple(kept)


def _cut(turn: Turn, *, budget_tokens: int, count: TokenCount) -> Turn | None:
    """Truncate a turn's answer to fit; None if its question does not."""
    while True:
        if count(format_history([turn])) <= budget_tokens:
            return turn
        if not turn.answer:
            return None
        turn = replace(turn, answer=turn.answer[: len(turn.answer) * 3 // 4].rstrip())


def is_refusal(answer: str) -> bool:
    """Check whether an answer is only an abstention."""
    return is_abstention(answer)


_MOST_WORDS_BEFORE = 5
_SHORT_WORDS, _SHORT_HAN = 10, 14
"""A longer question says itself what it is about, as far as it has no pronoun."""
_LONGEST = 300
"""Of so many characters it does in any case."""
MOST_NAMES = 4
"""Maximum names added to a question without any."""
_READ_OF_ANSWER = 600

Kind = Literal["person", "thing", "several"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """Name `text[start:end]`; `type` is an entity type, `NAME` if unknown."""

    start: int
    end: int
    type: str = "NAME"


Names = Callable[[str], Sequence[Name]]
"""The names in a text, in its order, without overlap."""


def resolve_references(question: str, turns: Sequence[Turn], *, names: Names) -> str:
    """Resolve references of a question to earlier turns (oldest first)."""
    before = said = ""
    for turn in turns:
        before = _alone(turn.question, before, said, names)
        said = "" if is_refusal(turn.answer) else turn.answer
    return _alone(question, before, said, names)


def _alone(question: str, before: str, said: str, names: Names) -> str:
    if not before or len(question) > _LONGEST:
        return question
    own = names(question)
    pronoun = _first_pronoun(question)
    if pronoun is not None and not any(name.end <= pronoun.start for name in own):
        return _with_name(question, pronoun.kind, _Topic.of(before, said, names))
    if own:
        return _of_another(question, own, before, names) or question
    return _of_fragment(question, before) or _linked(question, before, said, names)


# --- pronouns -----------------------------------------------------------------------------------

_PERSON = lazy_regex(
    r"\b(?:he|she|him|his|her|hers)\b"
    r"|(?<![吉其])他(?![们人乡国日])|她(?!们)|此人|[这那该]个?人(?![们口民类员])",
    re.IGNORECASE,
)
_HE = lazy_regex(r"\b(?:he|him|his)\b|他", re.IGNORECASE)
_SHE = lazy_regex(r"\b(?:she|hers?)\b|她", re.IGNORECASE)
_THING = lazy_regex(
    r"\b(?:it|its)\b|它(?!们)|(?:(?<=^)|(?<=[，,。？?那与和对在]))其(?![他它中实余次间后])",
    re.IGNORECASE,
)
_SEVERAL = lazy_regex(r"\b(?:they|them|their|theirs)\b|[他她它]们", re.IGNORECASE)
_EMPTY_IT = lazy_regex(
    r"\b(?:is|was) it (?:true|possible|likely|known|clear|said|certain|correct|right)\b"
    r"|\bit (?:is|was) (?:true|possible|likely|known|clear|said|certain)\b|\btime is it\b"
    r"|\b(?:does|did|will|would) it (?:take|rain|snow|matter|mean)\b",
    re.IGNORECASE,
)
_POSSESSIVE = lazy_regex(
    r"\b(?:his|its|hers)\b|\bher(?=\s+(?!(?:and|or|in|at|to|on|by|for|from)\b)[\w-]+)|其",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Pronoun:
    start: int
    kind: Kind


def _first_pronoun(question: str) -> _Pronoun | None:
    """Return the first pronoun if nothing before it can be its antecedent.

    One with a capital inside the question is part of a name ("It'll Be Me").
    """
    empty = [match.span() for match in _EMPTY_IT.finditer(question)]
    tables: tuple[tuple[Kind, re.Pattern[str]], ...] = (
        ("several", _SEVERAL),
        ("person", _PERSON),
        ("thing", _THING),
    )
    found = [
        _Pronoun(match.start(), kind)
        for kind, pattern in tables
        for match in pattern.finditer(question)
        if not any(start <= match.start() < end for start, end in empty)
        and not (match.start() and match.group()[0].isupper())
    ]
    first = min(found, key=lambda each: each.start, default=None)
    if first is None or len(question[: first.start].split()) > _MOST_WORDS_BEFORE:
        return None
    return first


def _with_name(question: str, kind: Kind, topic: _Topic) -> str:
    """Replace an unambiguous pronoun by its name, else append candidate names."""
    name = topic.meant(kind)
    other = _THING if kind == "person" else _PERSON
    of_two = other.search(question) or (_HE.search(question) and _SHE.search(question))
    if name is None or of_two:
        return _beside(question, topic.names)
    pattern = _PERSON if kind == "person" else _THING

    def replaced(match: re.Match[str]) -> str:
        if not _POSSESSIVE.match(question, match.start()):
            return name
        return f"{name}的" if match.group() == "其" else f"{name}'s"

    return _opened(pattern.sub(replaced, question))


# --- what the previous turn was about -------------------------------------------------------------

_PLACED = lazy_regex(r"\b(?:at|in|on|from|near|to|into|the)\s+$", re.IGNORECASE)
_OF = lazy_regex(r"\b(?:of|for)\s+$", re.IGNORECASE)
_WIDER = lazy_regex(
    r"\bthe\s+(?:[\w-]+\s+){1,3}?(?:of|at|in|on|for|from|near)\s+(?:the\s+)?$", re.IGNORECASE
)
_UNTYPED = ("NAME", "")
_NEVER = 9


@dataclass(frozen=True, slots=True)
class _Mention:
    """Name, its phrase ("the station at Gull Quay") and the pronouns it fits.

    `person` and `thing` are ranks: the lower the likelier, `_NEVER` not at all.
    """

    name: str
    phrase: str
    person: int
    thing: int


@dataclass(frozen=True, slots=True)
class _Topic:
    """Candidate antecedents.

    Names of the question and of the answer's opening, likeliest first.
    """

    mentions: tuple[_Mention, ...]

    @classmethod
    def of(cls, before: str, said: str, names: Names) -> _Topic:
        """Return antecedent candidates; the answer's first where a name was asked for."""
        asked = _mentions(before, names)
        known = {each.name.casefold() for each in asked}
        answered = [m for m in _mentions(_opening(said), names) if m.name.casefold() not in known]
        if any(_is_all_that_is_asked(before, name) for name in names(before)):
            return cls((*map(_likeliest, asked), *answered))
        wants_name = classify_question(before).kind in ("person", "place")
        first, second = (answered[:1], asked) if wants_name else (asked, answered[:1])
        return cls((*first, *second, *answered[1:]))

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys(each.name for each in self.mentions))[:MOST_NAMES]

    def meant(self, kind: Kind) -> str | None:
        """Return the antecedent of a pronoun; None if ambiguous or absent."""
        if kind == "several":
            return None
        rank = {id(each): each.person if kind == "person" else each.thing for each in self.mentions}
        best = min(self.mentions, key=lambda each: rank[id(each)], default=None)
        if best is None or rank[id(best)] == _NEVER:
            return None
        return best.name if kind == "person" else best.phrase


_WHO_IS = lazy_regex(
    r"^\W*(?:(?:and|so|but)\s+)?(?:who|where)(?:['’]s|\s+(?:is|was|are|were))\s+(?:the\s+)?$|^\W*谁是$",
    re.IGNORECASE,
)
_IS_WHO = lazy_regex(
    r"^(?:究竟|到底)?(?:是谁|是什么人|是何人|(?:位于|在)(?:哪里|哪儿|何处|什么地方))\W*$"
)


def _is_all_that_is_asked(question: str, name: Name) -> bool:
    """Check whether a question is only "who is …" or "where is …" of this name."""
    front, rest = question[: name.start], question[name.end :]
    if _WHO_IS.match(front):
        return re.fullmatch(r"\W*", rest) is not None
    return re.fullmatch(r"\W*(?:那么?)?", front) is not None and _IS_WHO.match(rest) is not None


def _likeliest(mention: _Mention) -> _Mention:
    """Return the same with this name first for every fitting pronoun."""
    ranks = (mention.person, mention.thing)
    person, thing = (rank if rank == _NEVER else 0 for rank in ranks)
    return replace(mention, person=person, thing=thing)


def _mentions(text: str, names: Names) -> list[_Mention]:
    return [_mention(text, name) for name in names(text)]


def _mention(text: str, name: Name) -> _Mention:
    front, said = text[: name.start], text[name.start : name.end]
    untyped = name.type in _UNTYPED
    if name.type == "PERSON":
        person, thing = 0, _NEVER
    elif not untyped:
        person, thing = _NEVER, 0
    elif _PLACED.search(front):
        person, thing = _NEVER, 1
    elif _OF.search(front):
        person, thing = 2, 1
    else:
        person, thing = 0 if " " in said.strip() else 1, 2
    wider = _WIDER.search(front)
    return _Mention(said, f"{wider.group()}{said}" if wider else said, person, thing)


_HEADINGS = re.compile(r"(?:\s*#{1,6} [^\n]*\n)+")


def _opening(said: str) -> str:
    """Return the first sentence of an answer, below doubt and heading."""
    said = without_doubt(said)
    heading = _HEADINGS.match(said)
    said = said[heading.end() :] if heading else said
    spans = sentence_spans(said[:_READ_OF_ANSWER])
    return said[slice(*spans[0])] if spans else ""


# --- the previous question, asked of something else ---------------------------------------------

_LINK = r"(?:(?:and|but|so|then|ok|okay|well|also)\b[\s,]*)*"
_OF_ANOTHER = lazy_regex(
    rf"^\W*{_LINK}(?:what|how) about\s+(?P<it>.+?)\W*$|^\W*(?:and|but|or)\s+(?P<just>.+?)\W*$"
    r"|^\W*(?:那么?|然后)?[，,]?(?P<zh>.+?)呢\W*$",
    re.IGNORECASE,
)
_ASK = (
    r"(?:(?:in|on|at|from|to|by|for|since|until)\s+)?(?:who|whom|whose|what|which|when|where|why|how)"
    r"(?:\s+(?:year|month|day|time|country|city|place|many|much|often|long|old|far|big|high))?"
)
_FRAGMENT = lazy_regex(rf"^\W*{_LINK}(?P<ask>{_ASK})(?:\s+(?:exactly|then|so))?\W*$", re.IGNORECASE)
_BEGINS = lazy_regex(rf"^\W*{_ASK}\b", re.IGNORECASE)
_FRAGMENT_ZH = lazy_regex(rf"^\W*(?:那么?|又|具体)?(?P<ask>{WH_CHINESE.pattern})(?:呢|的|啊)*\W*$")


def _of_another(question: str, own: Sequence[Name], before: str, names: Names) -> str | None:
    """Repeat the previous question with its matching name replaced."""
    match = _OF_ANOTHER.match(question)
    if match is None:
        return None
    new = (match["it"] or match["just"] or match["zh"]).strip()
    if match["just"] and new != question[own[0].start : own[-1].end]:
        return None
    known = names(before)
    if not known:
        return _beside(before, [new])
    alike = [name for name in known if name.type == own[0].type and name.type not in _UNTYPED]
    old = (alike or list(known))[-1]
    return f"{before[: old.start]}{new}{before[old.end :]}"


def _of_fragment(question: str, before: str) -> str | None:
    """Repeat the previous question with another question word; None for longer questions."""
    chinese = _FRAGMENT_ZH.match(question)
    if chinese is not None:
        ask = chinese["ask"]
        put_in, count = WH_CHINESE.subn(lambda _: ask, before, count=1)
        return put_in if count else f"{ask}，{before}"
    match = _FRAGMENT.match(question)
    if match is None:
        return None
    ask = match["ask"]
    put_in, count = _BEGINS.subn(lambda _: ask, before, count=1)
    return _opened(put_in if count else f"{ask}: {before}")


# --- linked to it ---------------------------------------------------------------------------------

_LINKED = lazy_regex(
    r"^\W*(?:and|but|so|then|also)\b|\b(?:this|these|those)\s+(?!document|text|file|librar|paper)"
    r"|\b(?:at|of|about|after|before|during|since|to|with) that\b"
    r"|\bthat (?:time|year|day|place|one)\b"
    r"|(?<!is )(?<!are )(?<!was )(?<!were )\bthere\W*$|\b(?:what|who|where|anything|anyone) else\b"
    r"|\bthe (?:same|other|latter|former)\b"
    r"|^(?:那|还|然后|后来|接着)|呢\W*$|(?<!应)该(?!不)|[这那](?:[个里儿位座家年时次本部]|之后|之前)|当时|后者|前者",
    re.IGNORECASE,
)
_KNOWN_THING = lazy_regex(r"\b(?:the|that|this)\s+([a-z][\w-]*)")
_DROPPED = lazy_regex(
    r"^(?:是|在)?(?:什么时候|何时|哪一?年|哪里|哪儿|为什么|为何|怎么|如何|多少|几|谁)[^，。,]{0,5}$"
)
"""Pattern of short Chinese questions that drop their subject."""


def _linked(question: str, before: str, said: str, names: Names) -> str:
    """Append names of the previous turn where the topic continues."""
    if len(question.split()) > _SHORT_WORDS or count_han(question) > _SHORT_HAN:
        return question
    bare = re.sub(r"[\W吗呢]+$", "", question)
    definite = _definite(question)
    of_the_same = bool(definite & _things(before))
    is_linked = (
        of_the_same
        or _LINKED.search(question) is not None
        or _DROPPED.match(bare) is not None
        or bool(definite & _things(_opening(said)))
    )
    if not is_linked or classify_scope(question).mode == "global":
        return question
    asked = [before[name.start : name.end] for name in names(before)] if of_the_same else []
    return _beside(question, asked[:MOST_NAMES] or _Topic.of(before, said, names).names)


def _definite(question: str) -> set[str]:
    """Return definite nouns of an English question ("the station").

    All nouns of a Chinese one.
    """
    if has_han(question):
        return _things(question)
    return set(tokens(" ".join(_KNOWN_THING.findall(question))))


def _things(text: str) -> set[str]:
    return set(tokens(strip_question_words(text)))


def _beside(question: str, names: Sequence[str]) -> str:
    if not names:
        return question
    if language_of(question) == "zh" or has_han(question):
        return f"{question}（{'、'.join(names)}）"
    return f"{_opened(question)} ({', '.join(names)})"


def _opened(question: str) -> str:
    """Return the question without its connective, capitalised."""
    bare = re.sub(rf"^\W*{_LINK}", "", question, flags=re.IGNORECASE)
    return f"{bare[:1].upper()}{bare[1:]}" if bare else question


_MOST_CHARACTERS = 600
_KEPT = 0.5
_SCHEMA = {
    "type": "object",
    "properties": {"question": {"type": "string"}},
    "required": ["question"],
    "additionalProperties": False,
}


def follow_up_prompt(question: str, turns: Sequence[Turn]) -> Prompt:
    """Asks for the question as it would be asked by itself."""
    return stage_prompt(
        "follow_up",
        language=language_of(question),
        context=format_history(turns),
        question=question,
        max_output_tokens=256,
        schema=_SCHEMA,
    )


def read_follow_up(reply: str, question: str, turns: Sequence[Turn]) -> tuple[str, str]:
    """Parse the rewritten question of a reply, or return the reason against it."""
    said = read_object(reply).get("question")
    text = " ".join(said.split()) if isinstance(said, str) else ""
    if not any(map(str.isalnum, text)):
        return "", "no question in the reply"
    if len(text) > max(_MOST_CHARACTERS, len(question)):
        return "", "the reply is too long for a question"
    known = f"{format_history(turns)}\n{question}"
    held = set(tokens(question))
    if len(held.intersection(tokens(text))) < _KEPT * len(held):
        return "", "the reply is another question"
    invented = missing_names(names_in(text), known, Beside(), claim=text)
    if invented or extract_quantities(text).numbers - extract_quantities(known).numbers:
        return "", "the reply names what nobody said"
    return text, ""


_SHARE = 4
"""A question may spend a quarter of a model's window on what was said before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenQuery:
    """Standalone question, and the history for the model."""

    question: str
    turns: tuple[Turn, ...] = ()


class QueryRewriter:
    """Reads questions after what was said before them, for one library.

    Args:
        settings: how much of earlier turns is read at most, and whether a model rewrites.
        count: tokens of a text.
        retriever: finds the library's names in a text.
        client: the model that answers, whose window bounds the history; None goes by rules.
    """

    def __init__(
        self,
        settings: AnswerSettings,
        *,
        count: TokenCount,
        retriever: HybridRetriever,
        client: LLMClient | None,
    ) -> None:
        self._budget = settings.history_tokens
        self._by_rules = not settings.follow_up_by_model
        self._count = count
        self._retriever = retriever
        self._client = client

    def read(
        self,
        question: str,
        turns: tuple[Turn, ...],
        *,
        within: DocumentFilter | None,
        on_event: Listener,
    ) -> RewrittenQuery:
        """Rewrite a question to stand alone; unchanged without history."""
        if not turns or not self._budget:
            return RewrittenQuery(question=question)
        steps = Tracer(on_event)
        try:
            shown = trim_history(turns, budget_tokens=self._most(), count=self._count)
            alone, problem = self._by_model(question, shown)
        except ModelError as error:
            shown = trim_history(turns, budget_tokens=self._budget, count=self._count)
            alone, problem = "", str(error)
        by = "a model" if alone else "rules"
        if not alone:
            alone = resolve_references(
                question, shown, names=lambda text: self._named(text, within)
            )
        note = f"; by rules alone: {problem}" if problem else ""
        left_out = len(turns) - len(shown)
        steps.record(
            "understand",
            f"{'as asked' if alone == question else 'a follow-up'}, by {by}{note}",
            alone,
            question,
            turns=len(shown),
            left_out=left_out,
            failed=float(bool(problem)),
        )
        return RewrittenQuery(question=alone, turns=shown)

    def _most(self) -> int:
        if self._client is None:
            return self._budget
        return min(self._budget, self._client.context_window // _SHARE)

    def _by_model(self, question: str, turns: tuple[Turn, ...]) -> tuple[str, str]:
        """Rewrite by a model, or return why not; nothing without a model."""
        if self._client is None or self._by_rules or not turns:
            return "", ""
        prompt = follow_up_prompt(question, turns)
        reply = self._client.ask(prompt, stage="follow_up", keep=True).text
        return read_follow_up(reply, question, turns)

    def _named(self, text: str, within: DocumentFilter | None) -> list[Name]:
        """Find known names and name-like words in a text."""
        known = [
            Name(start=place.start, end=place.end, type=place.type)
            for place in self._retriever.find_entities(text, within)
            if text[place.start].isupper() or has_han(text[place.start])
        ]
        seen = [Name(start=m.start, end=m.end, type=m.type) for m in find_mentions(text)]
        kept: list[Name] = []
        for name in sorted([*known, *seen], key=lambda n: (n.start - n.end, n.type == "NAME")):
            if not any(name.start < other.end and other.start < name.end for other in kept):
                kept.append(name)
        return sorted(kept, key=lambda name: name.start)
