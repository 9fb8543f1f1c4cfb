"""Decisions by rules: what a question needs beside the one round that every question has."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..answering.extractive.question_type import countries_in
from ..prompts import is_doubted, language_of
from ..types import Answer, Passage
from .direct import answer_without_retrieval
from .hops import find_hop
from .sides import open_side
from .state import (
    Action,
    AskClarification,
    DirectAnswer,
    ReadFound,
    SearchKnowledge,
    SearchMemory,
    SearchWeb,
    State,
)

BRIDGE_FROM = 0.5
"""Confidence of a short answer from which it is filled into the second question."""
SUFFICES_FROM = 0.8
"""Confidence of the first round's short answer from which no inner part is read."""
MOST_HOPS = 3
"""Inner parts that are filled in one after the other."""
_COUNTRY = re.compile(r"^(?:In which|Which|What is\b.*['’]s) (?:home |birth )?country\b")
"""Inner question for a country, of which the library's own words may be a demonym."""
_OWN = re.compile(
    r"\b(?:my|i (?:said|told|asked|mentioned)|last time|remember)\b|我(?:上次|之前|说过|的)|还记得",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:he|she|him|his|hers?|they|them|their|it|its)\b", re.IGNORECASE)
_PRONOUN_ZH = re.compile(r"(?:他|她|它)们?")
_NAMED = re.compile(r"(?<!^)(?<![.?!] )\b(?!I\b)[A-Z]\w|\d|[\"“《]")
_SHORT_WORDS = 7
_QUALIFIED = re.compile(r"^(?P<name>.+?)\s*[(（](?P<which>[^()（）]+)[)）]$")
_WHO = {
    "en": "Whom or what does “{word}” mean? Give the name.",
    "zh": "“{word}”指的是谁或什么？请给出名称。",
}
_WHICH = {
    "en": "Which “{name}” is meant: {choices}?",
    "zh": "指的是哪一个“{name}”：{choices}？",
}


def decide_by_rules(state: State) -> Action:
    """Decide the next action; `DirectAnswer` without a text answers from what was found."""
    if not state.findings:
        return _first(state)
    last = state.findings[-1]
    if isinstance(last.action, SearchMemory) and len(state.findings) == 1:
        return SearchKnowledge(query=state.question, reason="the library beside memory")
    if state.rounds == len(state.findings) == 1 and (action := _instead(state)) is not None:
        return action
    return _next_side(state) or next_hop(state) or DirectAnswer(reason="nothing is open")


def _next_side(state: State) -> Action | None:
    """Return the search for a side of a comparison of which nothing was found."""
    passages = [passage for each in state.findings for passage in each.passages]
    tried = [each.query for each in state.tried]
    query = open_side(state.question, passages, tried)
    if not query:
        return None
    return SearchKnowledge(query=query, reason="a side without evidence", purpose="side")


def next_hop(state: State) -> Action | None:
    """Return the next step of a question of several steps; None where none is open.

    The inner part is read from what was found, else searched; its answer fills the gap.
    """
    question, name = state.question, ""
    for _ in range(MOST_HOPS):
        hop = find_hop(question)
        if hop is None:
            break
        found = next(filter(None, map(bridge_name, _answers(state, hop.inner))), "")
        if not found:
            return _inner(state, hop.inner)
        question, name = hop.outer(found), found
    action = SearchKnowledge(
        query=question, reason="the name found is filled in", purpose="bridge", about=name
    )
    return action if question != state.question and not _answers(state, question) else None


def _inner(state: State, question: str) -> Action | None:
    """Return how an inner part is answered; None where all ways were tried."""
    ways = (
        ReadFound(query=question, reason="inner part of the question"),
        SearchKnowledge(query=question, reason="inner part, not found yet", purpose="inner"),
    )
    tried = {(type(each), each.query) for each in state.tried}
    open_ways = ways if state.reads else ways[1:]
    return next((each for each in open_ways if (type(each), question) not in tried), None)


def _answers(state: State, question: str) -> list[Answer | None]:
    return [each.answer for each in state.findings if each.action.query == question]


def bridge_name(answer: Answer | None) -> str:
    """Return the name that may fill the gap of the next question; empty without a sure one."""
    if answer is None or answer.abstained or is_doubted(answer.text):
        return ""
    if _COUNTRY.search(answer.question):
        told = [answer.short.text] if answer.short is not None else []
        told += [each.quote for each in answer.citations[:1]]
        return next((name for text in told for _, _, name in countries_in(text)), "")
    short = answer.short
    if short is None or short.confidence < BRIDGE_FROM or short.document_id is None:
        return ""
    return short.text


def _first(state: State) -> Action:
    question = state.question
    direct = answer_without_retrieval(question)
    if direct is not None:
        return DirectAnswer(text=direct.text, reason=direct.detail)
    if word := dangling_pronoun(question) if not state.turns else "":
        said = _WHO[language_of(question)].format(word=word)
        return AskClarification(question=said, reason="a pronoun without a name before it")
    if state.has_memory and _OWN.search(question):
        return SearchMemory(query=question, reason="about what the user said")
    return SearchKnowledge(query=question, reason="the question")


def _instead(state: State) -> Action | None:
    """Return what the first round calls for in place of a further step; None without cause."""
    first = state.findings[0]
    question, answer = state.question, first.answer
    if clash := namesakes(question, first.passages):
        name, choices = clash
        said = _WHICH[language_of(question)].format(name=name, choices=" / ".join(choices))
        return AskClarification(question=said, reason="two of one name")
    if open_side(question, first.passages, ()):
        return None
    short = answer.short if answer is not None else None
    if short is not None and short.confidence >= SUFFICES_FROM:
        return DirectAnswer(reason="the evidence is enough")
    if find_hop(question) is not None:
        return None
    if state.has_web and answer is not None and answer.abstained:
        return SearchWeb(query=question, reason="the library has too little")
    return DirectAnswer(reason="one round is enough")


def dangling_pronoun(question: str) -> str:
    """Return the pronoun of a short question without any name; empty otherwise."""
    chinese = _PRONOUN_ZH.search(question) if len(question) <= 2 * _SHORT_WORDS else None
    if chinese is not None and chinese.start() < 2:
        return chinese.group()
    found = _PRONOUN.search(question)
    if found is None or len(question.split()) > _SHORT_WORDS or _NAMED.search(question):
        return ""
    return found.group()


def namesakes(question: str, passages: Sequence[Passage]) -> tuple[str, list[str]] | None:
    """Return a name of the question that the two best passages give to different things.

    Their titles differ in what stands in brackets, of which the question says nothing.
    """
    found = [_QUALIFIED.match(passage.title) for passage in passages[:2]]
    both = [match for match in found if match is not None]
    if len(both) < 2 or both[0]["name"].casefold() != both[1]["name"].casefold():
        return None
    name, asked = both[0]["name"], question.casefold()
    which = [match["which"] for match in both]
    if name.casefold() not in asked or which[0].casefold() == which[1].casefold():
        return None
    if any(word in asked for each in which for word in re.findall(r"\w{3,}", each.casefold())):
        return None
    return name, [f"{name} ({each})" for each in which]
