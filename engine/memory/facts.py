"""Facts about a user, by rules, from first-person sentences of their own turns.

Four kinds in English and Chinese: preference, knowledge, feedback and event. Questions, quotations
and suppositions state nothing. A later fact about the same thing (`slot`) replaces an earlier one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from graph.text.cjk import HAN_CHARACTER

from ..storage.graph_api import sentence_spans
from .records import Fact, FactKind
from .transcript import Line, parse, session_of

_MAX_CHARACTERS = 300
FACT_KINDS: tuple[FactKind, ...] = ("preference", "knowledge", "feedback", "event")
_LEAD = re.compile(
    r"(?:(?:and|but|so|well|also|oh|yes|yeah|no|ok|okay|hi|hello|hey|hmm|actually|btw|by the way"
    r"|just so you know|fyi|please note(?: that)?|remember(?: that)?|note(?: that)?|sorry"
    r"|thanks|thank you|besides|since|because)\b[,!. ]*)+"
    r"|(?:(?:另外|还有|对了|顺便说一下|其实|你好|好的|请记住|记住)[，,！。 ]*)+",
    re.IGNORECASE,
)
_NOT_SAID = re.compile(
    r"[?？]\s*$|[吗呢]\s*[。.]?\s*$|^[\"“「'>`]"
    r"|\b(?:if i|would i|should i|could i|suppose|imagine|pretend|for example|e\.g\.)\b"
    r"|如果|假如|假设|比如",
    re.IGNORECASE,
)
_NO_FACT = re.compile(
    r"i(?:'m| am| was)? (?:just )?(?:look(?:ing)?|want|would like|'d like|need|think|thought|guess"
    r"|mean|see|know|wonder(?:ing)?|hope|trying|asking|not sure|sorry|afraid|understand|sure"
    r"|have (?:a |another |one )?(?:more )?question"
    r"|(?:don't|do not) (?:know|understand|see|think))\b"
    r"|我(?:想(?:知道|问)|觉得|认为|不知道|需要|要问|有(?:一)?个问题|明白)",
    re.IGNORECASE,
)
_ADVERB = r"(?:(?:really|absolutely|also|always|now|still|just|much|usually|currently|generally) )*"
_PAST = (
    r"(?:went|met|bought|sold|got|took|came|left|began|became|flew|drove|ran|won|lost|saw|had"
    r"|made|gave|found|broke|wrote|built|taught|spent|paid|ate|chose|\w{2,}ed)"
)
_RULES: tuple[tuple[FactKind, str], ...] = (
    (
        "preference",
        r"my (?P<slot>(?:favou?rite|preferred) [\w' -]{2,40}?) (?:is|are|was|has become)\b",
    ),
    (
        "preference",
        rf"i {_ADVERB}(?:do not |don't |no longer |can't |cannot |would rather |would |'d )?"
        rf"{_ADVERB}(?:like|love|prefer|enjoy|adore|hate|dislike|detest|stand|rather)\b"
        r"(?: to)? (?P<object>[\w' -]{2,60})",
    ),
    (
        "preference",
        r"i(?:'m| am) (?:not )?(?:fond of|into|a (?:big )?fan of|keen on)"
        r" (?P<object>[\w' -]{2,60})",
    ),
    ("knowledge", r"(?:my name is|i(?:'m| am) called|call me|you can call me) (?P<name>\S)"),
    ("knowledge", rf"i {_ADVERB}(?:(?:have )?moved to|live|reside) (?P<home>\S)"),
    ("knowledge", rf"i(?:'m| am)? {_ADVERB}(?:work|working|employed) (?P<job>at|for|as|in|with)\b"),
    ("knowledge", rf"i(?:'m| am) {_ADVERB}(?P<age>\d+) years old"),
    ("knowledge", r"my (?P<slot>[\w' -]{2,40}?) (?:is|are|was|lives|works|has|changed|will be)\b"),
    (
        "event",
        r"i(?:'m| am| will|'ll| have to|'m going to| am going to) (?:be )?(?:going|flying|meeting"
        r"|starting|planning|moving|travell?ing|leaving|visit|go|fly|meet|start|move|travel|leave"
        r"|attend|marry|buy|get)\w*\b",
    ),
    ("knowledge", r"i(?:'m| am) (?:not )?(?!\w+ing\b)\w+"),
    (
        "knowledge",
        rf"i(?:'ve| have)? {_ADVERB}(?:have|own|speak|drive|use|play|study|collect|teach|run"
        r"|manage|volunteer|been)\b",
    ),
    (
        "feedback",
        r"(?:that|this|it|your|the|my)(?: last| previous)? ?(?:answer|summary|explanation|reply"
        r"|response|list)?(?: is|'s| was| were) (?:not |too |very |quite |exactly |really )*"
        r"(?:wrong|correct|right|helpful|useful|useless|incorrect|outdated|long|short|perfect|great|good"
        r"|bad|clear|unclear|what i)",
    ),
    ("feedback", r"please (?:always|never|don't|do not|stop|keep|use|answer|write|reply|call)\b"),
    ("feedback", r"(?:from now on|in (?:the )?future|next time)\b"),
    (
        "event",
        rf"(?:(?:yesterday|today|tomorrow|last \w+|this \w+|next \w+|on \w+|in \w+|\w+ \w+ ago)"
        rf"[, ]+)?(?:i|we)(?:'ve| have| had)? "
        rf"(?:(?:just|recently|already|finally|also|once) )*{_PAST}\b",
    ),
    ("preference", r"我(?P<slot>最喜欢的[^是，。]{1,12})是"),
    (
        "preference",
        r"我(?:现在|一直|最|更|很|非常|特别|比较|真的|也|还|并)*(?:不)?(?:太|再)?"
        r"(?:喜欢|偏好|偏爱|讨厌|爱|受不了)(?P<object>[^，。！]{1,30})",
    ),
    ("knowledge", r"(?:我叫|我的名字(?:是|叫)|叫我)(?P<name>.)"),
    ("knowledge", r"(?:我(?:现在|目前)?(?:住在|搬到|搬去)|我家在)(?P<home>.)"),
    ("knowledge", r"我(?:现在|目前)?在[^，。]{1,20}?(?P<job>工作|上班|任职)"),
    ("knowledge", r"我今年(?P<age>.{1,4})岁"),
    ("knowledge", r"我的(?P<slot>[^是叫在有，。]{1,12})(?:现在)?(?:是|叫|在|有|改成)"),
    ("knowledge", r"我(?:现在|也|不)?(?:是|有|会说|会|养|学|负责|对.{1,10}过敏)"),
    (
        "feedback",
        r"(?:这个|那个|你的|刚才的|上次的)?(?:回答|答案|总结|解释|说法)(?:是|很|太|有点|完全)?"
        r"(?:不对|错|不准确|对|准确|好|有用|长|短|清楚)",
    ),
    ("feedback", r"请(?:总是|始终|不要|别|以后|一直|用|继续)|(?:以后|下次|今后)(?:请|不要|都|别)"),
    (
        "event",
        r"(?:我|我们)?(?:昨天|今天|前天|明天|后天|上周\S?|下周\S?|上个月|下个月|去年|今年|明年|刚刚?|最近)"
        r"(?:我|我们)?[^，。]{0,20}?(?:了|过|去|要|会|参加|见|买|搬|开始|完成)",
    ),
    ("event", r"我(?:们)?[^，。是]{0,12}?[^\s，。](?:了|过)(?:[^\s，。].*|)$"),
)
_PATTERNS = tuple((kind, re.compile(rule, re.IGNORECASE)) for kind, rule in _RULES)
_WORDS = re.compile(r"\w+")


def find_facts(document_id: str, text: str) -> list[Fact]:
    """Return the facts in a conversation document, in its order, each text once."""
    found: dict[str, Fact] = {}
    for line in parse(text):
        if line.role != "user":
            continue
        for start, end in sentences_in(line.text, line.start):
            said = text[start:end]
            read = classify(said)
            if read is None:
                continue
            kind, slot = read
            fact = quoted_fact(document_id, line, start, said, kind, slot=slot)
            found.setdefault(normalised(said), fact)
    return list(found.values())


def quoted_fact(
    document_id: str, line: Line, start: int, text: str, kind: FactKind, *, slot: str = ""
) -> Fact:
    """Return the fact that a text at `start` of a document states, in a turn of the user."""
    return Fact(
        id=_id(document_id, text),
        kind=kind,
        text=text,
        session=session_of(document_id),
        document_id=document_id,
        start=start,
        end=start + len(text),
        valid_from=line.at[:10],
        slot=slot,
    )


def classify(sentence: str) -> tuple[FactKind, str] | None:
    """Return the kind and slot of a first-person statement; None for anything else."""
    if not 4 <= len(sentence) <= _MAX_CHARACTERS or _NOT_SAID.search(sentence):
        return None
    lead = _LEAD.match(sentence)
    said = sentence[lead.end() :] if lead is not None else sentence
    said = said.replace("’", "'")
    if _NO_FACT.match(said):
        return None
    for kind, pattern in _PATTERNS:
        match = pattern.match(said)
        if match is not None:
            return kind, _slot(match)
    return None


def without_statements(question: str) -> str:
    """Return a question without the first-person statements in it; empty where it is nothing else.

    Without a statement it stays as it is.
    """
    sentences = [question[start:end] for start, end in sentences_in(question)]
    return " ".join(each for each in sentences if classify(each) is None)


def settled(facts: Iterable[Fact]) -> list[Fact]:
    """Return facts of one user by date, duplicates dropped, replaced ones marked.

    The first of equal texts stays; in a slot the latest is current.
    """
    kept: list[Fact] = []
    current: dict[str, int] = {}
    texts: set[str] = set()
    for fact in sorted(facts, key=lambda each: (each.valid_from, each.document_id, each.start)):
        fact = replace(fact, superseded_by=None)
        key = normalised(fact.text)
        before = current.get(fact.slot) if fact.slot else None
        if before is not None and normalised(kept[before].text) == key:
            continue
        if before is None and key in texts:
            continue
        if before is not None:
            kept[before] = replace(kept[before], superseded_by=fact.id)
        if fact.slot:
            current[fact.slot] = len(kept)
        texts.add(key)
        kept.append(fact)
    return kept


def normalised(text: str) -> str:
    """Return the words of a fact, for comparison."""
    return " ".join(_WORDS.findall(text.casefold()))


def about(question: str, facts: Sequence[Fact]) -> Fact | None:
    """Return the current fact whose slot a question names; None without one."""
    asked = f" {' '.join(_stem(word) for word in _WORDS.findall(question.casefold()))} "
    fitting = [
        fact
        for fact in facts
        if fact.superseded_by is None and fact.slot and _names(question, asked, fact.slot)
    ]
    return max(fitting, key=lambda fact: (len(fact.slot), fact.valid_from), default=None)


_ASKED = {
    "name": re.compile(r"\bmy name\b|am i called|我(?:叫什么|的名字)", re.IGNORECASE),
    "home": re.compile(r"\b(?:do i live|my home|i living)\b|我(?:现在)?住|我家", re.IGNORECASE),
    "job": re.compile(
        r"\b(?:do i work|my job|i working)\b|我(?:现在)?在.*(?:工作|上班)", re.IGNORECASE
    ),
    "age": re.compile(r"\bhow old am i\b|\bmy age\b|我(?:今年)?(?:多大|几岁)", re.IGNORECASE),
}


def _names(question: str, asked: str, slot: str) -> bool:
    if slot in _ASKED:
        return _ASKED[slot].search(question) is not None
    if HAN_CHARACTER.search(slot):
        return slot in question
    return f" my {' '.join(_stem(word) for word in slot.split())} " in asked


def _stem(word: str) -> str:
    word = word.replace("favorite", "favourite").replace("color", "colour")
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def _slot(match: re.Match[str]) -> str:
    """Return what a statement is about, as far as a later one can replace it."""
    for name, value in match.groupdict().items():
        if value is None:
            continue
        if name == "slot":
            return " ".join(_stem(word) for word in _WORDS.findall(value.casefold()))
        if name == "object":
            return f"likes {' '.join(_WORDS.findall(value.casefold())[:3])}"
        return name
    return ""


def _id(document_id: str, text: str) -> str:
    return hashlib.sha256(f"{document_id} {normalised(text)}".encode()).hexdigest()[:12]


def sentences_in(said: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of a text that begins at `start`, stripped."""
    for first, last in sentence_spans(said):
        stripped = said[first:last].strip()
        if stripped:
            begin = start + first + (len(said[first:last]) - len(said[first:last].lstrip()))
            yield begin, begin + len(stripped)
