"""Routing rules: whether a question is about one thing, about the whole, or both.

The log odds that a classifier gives (see `scope`) and what is found standing in one place add to a
sum. A positive one means the whole corpus (`global`); its distance from 0 is the confidence. A
compound question goes both ways where each half is a question of its own and surely of its kind.
`explain_*` give the reason in the question's language.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from graph.text.cjk import count_han, has_han
from graph.text.patterns import lazy_regex

from ..prompts import Language, language_of
from ..types import Mode, Passage, Route
from .scope import Scope, ScopeClassifier

ABOUT = {"whole": "asks about the whole", "topic": "asks broadly", "specific": "asks for one thing"}
"""Features of the scopes, with the log odds of the likeliest for the whole."""
FOUND = "stands in one place"
SUMS_UP = "asks to sum up"
_ONE_PLACE = -0.8
"""Weight of what is found standing in one place."""
_FIRST = 12
_BY_SHARE = 0.7
_LEAST_WEIGHT = 0.05
_WORDS_OF: dict[Language, dict[str, str]] = {
    "en": {
        ABOUT["whole"]: "asks about the documents as a whole",
        ABOUT["topic"]: "asks for a broad account",
        ABOUT["specific"]: "asks for something that one place can say",
        FOUND: "stands in one place",
        SUMS_UP: "asks to sum up",
    },
    "zh": {
        ABOUT["whole"]: "询问全部资料",
        ABOUT["topic"]: "要求全面讲述",
        ABOUT["specific"]: "询问某处可答的事",
        FOUND: "所问集中在一处",
        SUMS_UP: "要求概括",
    },
}

_SURE: dict[tuple[Language, bool], str] = {
    ("en", False): "one thing is asked for: it {features}",
    ("en", True): "the whole is asked for: it {features}",
    ("zh", False): "问的是具体的事：{features}",
    ("zh", True): "问的是整体：{features}",
}
_NO_SIGN: dict[Language, str] = {
    "en": "nothing in the question points to the whole library",
    "zh": "问题中没有指向整个资料库的说法",
}
_EITHER: dict[Language, str] = {
    "en": "one thing may be meant (it {local}), or the whole (it {whole}): both are answered",
    "zh": "可能问具体的事（{local}），也可能问整体（{whole}）：两方面都作答",
}
_IN_DOUBT: dict[Language, str] = {
    "en": "it does not say clearly whether one thing or the whole is meant: both are answered",
    "zh": "没有明说问的是具体的事还是整体：两方面都作答",
}
_TWO: dict[Language, str] = {
    "en": "it asks for one thing (“{local}”) and for the whole (“{whole}”)",
    "zh": "既问具体的事（“{local}”），也问整体（“{whole}”）",
}
_CONNECTION: dict[Language, str] = {
    "en": "asks how two things are connected",
    "zh": "询问两者之间的联系",
}
_MODEL: dict[Language, tuple[str, str]] = {
    "en": ("the model says: {said}", "the model says so"),
    "zh": ("模型判断：{said}", "由模型判断"),
}


def explain_route(features: Mapping[str, float], mode: Mode, language: Language) -> str:
    """Why the rules choose this way: what speaks most for it.

    `features` are names with their weights, above 0 for the whole.
    """
    said = _speaking(features, language, whole=mode == "global")
    if not said:
        return _NO_SIGN[language]
    return _SURE[language, mode == "global"].format(features=said)


def explain_ambiguous(features: Mapping[str, float], language: Language) -> str:
    """Why a question goes both ways: what speaks for either."""
    local, whole = (_speaking(features, language, whole=side) for side in (False, True))
    if not (local and whole):
        return _IN_DOUBT[language]
    return _EITHER[language].format(local=local, whole=whole)


def explain_split(local: str, whole: str, language: Language) -> str:
    """Why a question goes both ways that holds one of either kind."""
    return _TWO[language].format(local=local, whole=whole)


def explain_connection(language: Language) -> str:
    """Why a question goes to the passages that asks how two things are connected."""
    return _CONNECTION[language]


def explain_llm_choice(said: str, language: Language) -> str:
    """Return the reason that a model gives, if any."""
    with_words, without = _MODEL[language]
    return with_words.format(said=said) if said else without


def _speaking(features: Mapping[str, float], language: Language, *, whole: bool) -> str:
    side = 1 if whole else -1
    found = sorted((-weight * side, name) for name, weight in features.items())
    best = [_WORDS_OF[language][name] for weight, name in found if weight <= -_LEAST_WEIGHT]
    return ("，" if language == "zh" else " and ").join(best)


_DEFINED = re.compile(r"\W*what(?:['’]s| is) an? [\w-]+(?: [\w-]+)?\W*$", re.IGNORECASE)
_ONE_THING = Scope(whole=0.05, topic=0.05, specific=0.9)
"""*What is a here document?* has a word for documents, and is about none."""
_FATE = re.compile(
    r"\W*what (?:happen(?:s|ed)|bec(?:omes|ame)) (?:to|of) .{2,60}"
    r" (?:in|throughout|during|over the course of) (?:this|the) (?:book|novel|story|tale|play)\W*$"
    r"|\W*(?:[这本部全]{0,3}(?:书|小说|故事)[里中])?[^\W\da-z]{2,8}?的?(?:一生|一路上?)[都里中]{0,2}"
    r"(?:经历|遭遇|做)[了过]?(?:什么|哪些)\w{0,3}\W*$",
    re.IGNORECASE,
)
_OF_A_STORY = Scope(whole=0.05, topic=0.9, specific=0.05)
"""*What happens to Anna in this novel?* asks for more than one place tells."""
_BY_WORDS = ScopeClassifier()
"""Classifier by words alone."""


def classify_scope(
    question: str, *, scope: Scope | None = None, concentration: float = 0.0
) -> Route:
    """Classify the scope of a question.

    Args:
        question: in words.
        scope: its probabilities by a model; None goes by words alone.
        concentration: 0 to 1, how far what retrieval finds answers it in one place (see
            `concentration_of`); 0 where nothing was retrieved.
    """
    language, scope = language_of(question), scope or _BY_WORDS(question)
    if _DEFINED.match(question):
        scope = _ONE_THING
    if _FATE.match(question):
        scope, concentration = _OF_A_STORY, 0.0
    features = {ABOUT[scope.likeliest]: scope.log_odds}
    if concentration:
        features[FOUND] = _ONE_PLACE * concentration
    total = sum(features.values())
    mode: Mode = "global" if total > 0 else "local"
    return Route(
        mode=mode,
        reason=explain_route(features, mode, language),
        confidence=1.0 / (1.0 + math.exp(-abs(total))),
        features=features,
    )


def concentration_of(passages: Sequence[Passage]) -> float:
    """Return how far one place answers: the relevance of the best, or most of the score in one.

    A place is a document; in a library that found one document, a section of it. Half of the score
    there says nothing yet: few documents share it by chance.
    """
    relevance = max((each.relevance for each in passages), default=0.0)
    is_one_document = len({each.document_id for each in passages}) == 1
    scores: dict[object, float] = defaultdict(float)
    for each in passages[:_FIRST]:
        place = each.headings[:1] if is_one_document else each.document_id
        scores[place] += max(each.score, 0.0)
    share = max(scores.values(), default=0.0) / (sum(scores.values()) or 1)
    found = 1.0 - (1.0 - relevance) * (1.0 - _BY_SHARE * max(0.0, 2.0 * share - 1.0))
    return round(found, 4)  # scores are of single precision


SURE = 0.85
"""Confidence required for each half."""
MOST_WORDS = 25
"""A longer question states conditions, and its clauses are no questions."""
_ASKS = (
    r"(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|has|have|can"
    r"|summari[sz]e|outline|describe|tell|give|list|explain|compare)\b"
)
_CUT = lazy_regex(
    rf"[,;?]\s*(?:and\s+|but\s+|also\s+|plus\s+|then\s+)*(?={_ASKS})"
    rf"|\s+and\s+(?:also\s+)?(?={_ASKS})"
    r"|[，；。？]\s*(?:以及|另外|还有|并且|同时|再)?",
    re.IGNORECASE,
)
_ASKS_ZH = lazy_regex(r"谁|什么|哪|何|多少|几|吗|怎|为什么|是否|请|概括|总结|介绍|说说|列出|归纳")
_LEANS = lazy_regex(
    r"\bwhat\b.{0,60}\b(?:do|done|happen(?:s|ed)?)\b.{0,60}\b(?:it|that|this|them)\W{0,9}$",
    re.IGNORECASE,
)
"""Halves that mean the other one: *and what did they do about it?*"""
_FEWEST_WORDS = 3
_FEWEST_HAN = 6


def goes_both_ways(question: str, rule: Callable[[str], Route]) -> tuple[str, str] | None:
    """Split into a local and a global part; None if there are no such two.

    `rule` says where a question goes. It is asked for each part of a question that has several.
    """
    if len(question.split()) > MOST_WORDS:
        return None
    parts = [part.strip() for part in _CUT.split(question) if part and _is_question(part.strip())]
    if len(parts) < 2:
        return None
    found = [(part, rule(part)) for part in parts]
    sure = {route.mode: part for part, route in found if route.confidence >= SURE}
    if "local" in sure and "global" in sure and not _LEANS.search(sure["global"]):
        return sure["local"], sure["global"]
    return None


def _is_question(part: str) -> bool:
    if has_han(part):
        return count_han(part) >= _FEWEST_HAN and _ASKS_ZH.search(part) is not None
    return len(part.split()) >= _FEWEST_WORDS and re.match(_ASKS, part, re.IGNORECASE) is not None
