"""Decisions by rules: what a question needs beside the one round that every question has."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..answering.self_rag import answer_without_retrieval
from ..prompts import language_of
from ..types import Answer, Passage
from .hops import find_hop
from .state import (
    Action,
    AskClarification,
    DirectAnswer,
    SearchKnowledge,
    SearchMemory,
    SearchWeb,
    State,
)

BRIDGE_FROM = 0.5
"""Confidence of a short answer from which it is filled into the second question."""
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
    if len(state.findings) == 1:
        return _second(state)
    hop = find_hop(state.question)
    if hop is not None and last.action == SearchKnowledge(query=hop.inner, reason="inner part"):
        name = bridge_name(last.answer)
        if name:
            return SearchKnowledge(query=hop.outer(name), reason="bridge")
    return DirectAnswer(reason="nothing is open")


def bridge_name(answer: Answer | None) -> str:
    """Return the short answer that may fill the gap of the second question; empty without one."""
    short = answer.short if answer is not None else None
    if short is None or short.confidence < BRIDGE_FROM or short.document_id is None:
        return ""
    return short.text


def is_better(new: Answer | None, first: Answer | None) -> bool:
    """Check whether the second question's answer replaces the first round's."""
    if new is None or new.abstained or new.short is None:
        return False
    before = first.short.confidence if first is not None and first.short is not None else 0.0
    return new.short.confidence > max(before, BRIDGE_FROM)


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


def _second(state: State) -> Action:
    first = state.findings[0]
    question, answer = state.question, first.answer
    if clash := namesakes(question, first.passages):
        name, choices = clash
        said = _WHICH[language_of(question)].format(name=name, choices=" / ".join(choices))
        return AskClarification(question=said, reason="two of one name")
    if answer is not None and answer.short is not None and answer.short.is_confident:
        return DirectAnswer(reason="the evidence is enough")
    if (hop := find_hop(question)) is not None:
        return SearchKnowledge(query=hop.inner, reason="inner part")
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
