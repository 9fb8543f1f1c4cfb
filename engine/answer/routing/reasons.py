"""Explanations of a route in the question's language.

Knows the names of signs (cues, likeness, names in the question), nothing of how they are found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...types import Mode
from ..language import Language

LIKENESS = "likeness to typical questions"
_NAMES = re.compile(r"holds (\d+) name\(s\)")
_MOST_SIGNS = 3
_LEAST_WEIGHT = 0.05

_ENGLISH = {
    "asks for a whole in Chinese": "asks for the whole",
    "quotes": "quotes something",
    "states many conditions": "states many conditions",
}
"""Wording of features whose name does not read well after "it"."""

_CHINESE = {
    "asks for the main matters": "询问主要内容",
    "spans the documents": "涉及多份文档",
    "names the collection": "提到整个资料库",
    "asks for the whole": "询问整体",
    "points at all there is": "指向全部资料",
    "asks for a summary": "要求总结",
    "asks for a bare summary": "只要求总结",
    "asks to put together": "要求归纳整理",
    "asks for themes or trends": "询问主题或趋势",
    "holds an abstract noun": "问的是抽象的事",
    "is about many people or papers": "涉及许多人或资料",
    "asks what recurs": "询问反复出现的内容",
    "asks what goes on and on": "询问一再发生的事",
    "asks what changed": "询问变化",
    "asks for matters in the plural": "询问多方面的事",
    "asks how it came about": "询问来由",
    "asks how many things relate": "询问多个事物的关系",
    "asks how it is seen": "询问看法",
    "asks for kinds": "询问类别",
    "asks who or what matters most": "询问最重要的人或事",
    "asks for a whole in Chinese": "询问整体",
    "asks what part many played": "询问作用或影响",
    "asks how": "询问怎样",
    "asks for several": "询问多项内容",
    "asks who, when or where": "询问人物、时间或地点",
    "asks for an amount": "询问数量",
    "asks which one": "询问哪一个",
    "asks for one attribute": "询问某一属性",
    "asks yes or no": "询问是否",
    "asks for one of a thing": "询问某物的某一点",
    "asks what somebody did": "询问某人做了什么",
    "looks for a place or a rule": "查找地点或规定",
    "names a part of a paper": "提到文档的某一部分",
    "compares two": "比较两者",
    "names one source": "提到某个来源",
    "quotes": "引用了原文",
    "holds a number": "含有数字",
    "asks what one may or how to": "询问可否或如何做",
    "speaks of one thing": "说的是某一个",
    "asks what one thing is": "询问是什么",
    "states many conditions": "列出许多条件",
}

_SURE: dict[tuple[Language, bool], str] = {
    ("en", False): "one thing is asked for: it {signs}",
    ("en", True): "the whole is asked for: it {signs}",
    ("zh", False): "问的是具体的事：{signs}",
    ("zh", True): "问的是整体：{signs}",
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
_MODEL: dict[Language, tuple[str, str]] = {
    "en": ("the model says: {said}", "the model says so"),
    "zh": ("模型判断：{said}", "由模型判断"),
}
_LIKE: dict[tuple[Language, bool], str] = {
    ("en", False): "is like typical questions about one thing",
    ("en", True): "is like typical questions about the whole",
    ("zh", False): "与典型的具体问题相似",
    ("zh", True): "与典型的整体问题相似",
}


def explain_route(signs: Mapping[str, float], mode: Mode, language: Language) -> str:
    """Why the rules choose this way: what speaks most for it.

    `signs` are names with their weights, above 0 for the whole.
    """
    said = _speaking(signs, language, whole=mode == "global")
    if not said:
        return _NO_SIGN[language]
    return _SURE[language, mode == "global"].format(signs=said)


def explain_ambiguous(signs: Mapping[str, float], language: Language) -> str:
    """Why a question goes both ways: what speaks for either."""
    local, whole = (_speaking(signs, language, whole=side) for side in (False, True))
    if not (local and whole):
        return _IN_DOUBT[language]
    return _EITHER[language].format(local=local, whole=whole)


def explain_split(local: str, whole: str, language: Language) -> str:
    """Why a question goes both ways that holds one of either kind."""
    return _TWO[language].format(local=local, whole=whole)


def explain_llm_choice(said: str, language: Language) -> str:
    """Return the reason that a model gives, if any."""
    with_words, without = _MODEL[language]
    return with_words.format(said=said) if said else without


def _speaking(signs: Mapping[str, float], language: Language, *, whole: bool) -> str:
    side = 1 if whole else -1
    found = [(-weight * side, name) for name, weight in signs.items()]
    best = [name for weight, name in sorted(found) if weight <= -_LEAST_WEIGHT][:_MOST_SIGNS]
    return _listed([_in_words(name, language, whole=whole) for name in best], language)


def _in_words(sign: str, language: Language, *, whole: bool) -> str:
    if sign == LIKENESS:
        return _LIKE[language, whole]
    counted = _NAMES.fullmatch(sign)
    if counted is not None:
        return _names(int(counted[1]), language)
    plain = sign.removesuffix(" (Chinese)")
    return _CHINESE.get(plain, plain) if language == "zh" else _ENGLISH.get(plain, plain)


def _names(count: int, language: Language) -> str:
    if language == "zh":
        return f"提到 {count} 个名称"
    return "names something" if count == 1 else f"names {count} things"


def _listed(words: Sequence[str], language: Language) -> str:
    words = list(dict.fromkeys(words))
    if language == "zh":
        return "，".join(words)
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
