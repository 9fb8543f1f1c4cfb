"""Is a question about something in the corpus, or about the corpus as a whole?

Cue words of both languages, names, numbers and quotes each add to one sum; likeness to typical
questions adds its part. A positive sum means the whole corpus (`global`). The weights are round
numbers, set by hand on a wide plateau. Knows nothing of models or LlamaIndex: likeness comes in as
a function.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..types import Mode
from .language import HAN, language_of
from .prototypes import GLOBAL_QUESTIONS_ZH, LOCAL_QUESTIONS_ZH

PRIOR = -0.6
"""Where nothing speaks for either, local: a wrong local answer still cites, and costs less."""

_SIMILARITY_WEIGHT = 3.0
_NAME_WEIGHT = -0.6
_MAX_NAMES = 3

_THINGS = (
    r"(?:documents?|corpus|collection|texts?|files?|library|archives?|sources?|papers?|articles?"
    r"|dataset|material|materials|records|writings|knowledge base|stor(?:y|ies)|books?)"
)
_MATTERS = (
    r"(?:themes?|topics?|ideas?|points?|issues?|findings?|takeaways?|conclusions?|trends?|patterns?"
    r"|arguments?|subjects?|threads?|concerns?|messages?|lessons?|conflicts?|disputes?|tensions?"
    r"|actors?|players?|groups?|events?|disagreements?|risks?|challenges?|problems?|motifs?"
    r"|characters?|people|organi[sz]ations?|questions?|storylines?|areas?|causes?|reasons?)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a question goes and why. `confidence` is 0.5 (undecided) to 1."""

    mode: Mode
    reason: str
    confidence: float


@dataclass(frozen=True, slots=True)
class _Cue:
    name: str
    weight: float
    pattern: re.Pattern[str]


def _cue(name: str, weight: float, pattern: str) -> _Cue:
    return _Cue(name, weight, re.compile(pattern, re.IGNORECASE))


_CUES = (
    _cue("asks for the main matters", 2.0,
         rf"\b(?:main|major|key|central|common|recurring|overarching|general|principal|dominant"
         rf"|shared|broad(?:er)?|biggest|(?:most|more) (?:important|common|frequent|prominent"
         rf"|influential|central))\s+(?:[\w-]+\s+){{0,2}}{_MATTERS}\b"),
    _cue("spans the documents", 2.0,
         rf"\b(?:across|throughout|all(?: of)?|whole|entire|these|those|various|different|several)"
         rf"\s+(?:of\s+)?(?:the\s+|these\s+|our\s+|my\s+)?(?:[\w-]+\s+)?{_THINGS}\b"),
    _cue("names the collection", 1.2,
         r"\b(?:corpus|collection|library|archives?|knowledge base|dataset)\b"),
    _cue("asks for the whole", 2.0,
         r"\bas a whole\b|\bbig(?:ger)? picture\b|\bhigh[- ]level\b|\bin (?:general|broad terms)\b"
         r"|\boverall\b|\boverview\b|\bthe gist\b|\beverything\b|\bthe whole (?!of\b)\w+"
         r"|\bthe entire\b|\boverarching\b|\bgeneral (?:discussion|mood|attitudes?|picture)\b"),
    _cue("asks for a summary", 1.0,
         r"\b(?:summari[sz]e|sum up|summary of|outline|recap)\b"),
    _cue("asks for a bare summary", 1.6,
         r"^\W*(?:please\s+)?(?:can you\s+)?(?:summari[sz]e|sum up|outline|recap)\s+"
         r"(?:(?:the|this|these|all|it|everything|whole|entire|our)\s*)*[\w-]*\W*$"),
    _cue("asks for themes or trends", 1.3,
         r"\b(?:themes?|topics?|trends?|patterns?|threads?|takeaways?|motifs?|storylines?)\b"),
    _cue("asks what recurs", 1.0,
         r"\b(?:recur(?:s|ring|rent)?|repeatedly|again and again|in common|run through|keep coming"
         r"|shared by|differ between|disagree|contradict\w*)\b"),
    _cue("asks for matters in the plural", 1.3,
         r"\bwhat (?:[\w-]+ ){0,2}?(?:conflicts|disputes|tensions|disagreements|changes"
         r"|consequences|effects|impacts|lessons|causes|reasons|factors|risks|threats|challenges|problems"
         r"|failures|interests|roles|attitudes|values|motives|opinions|views|developments"
         r"|connections)\b"),
    _cue("asks how it came about", 0.5, r"^\W*how (?:do|does|did|have|has|are|is|was|were)\b"),
    _cue("asks how many things relate", 0.8,
         r"\bhow (?:do|does|did|have|has|are|is|was|were)\b.{0,80}\b(?:evol\w+|chang\w+|differ\w*"
         r"|relate\w*|shap\w+|develop\w*|connect\w*|influenc\w+|affect\w*"
         r"|contribut\w+|respond\w*|react\w*|cop(?:e|es|ed))\b"),
    _cue("asks for kinds", 0.8,
         r"\bwhat (?:kinds|types|sorts|ways|roles?)\b"),
    _cue("asks who or what matters most", 0.8,
         r"\b(?:most (?:important|influential|prominent|central|common|frequent\w*)"
         r"|play(?:s|ed)? (?:the )?(?:largest|biggest|main|a central)|main|dominate\w*)\b"),
    _cue("asks for a whole in Chinese", 2.0,
         r"总体|整体|总的来|总结|概括|概述|归纳|综述|综合|全文|全书|通篇|纵观|贯穿|梳理"
         r"|大致内容|大意|主旨|来龙去脉|全貌|宏观"),
    _cue("spans the documents (Chinese)", 2.0,
         r"(?:所有|这些|全部|各个?|整个|多份|不同|这批|几份)(?:的)?(?:文档|文件|资料|材料|文章|报告"
         r"|来源|文库|文献|记录|语料|故事|档案|资料库)"),
    _cue("asks for the main matters (Chinese)", 1.8,
         r"(?:主要|核心|重要|共同|常见|反复出现|普遍)的?[^，。？?的]{0,4}(?:主题|内容|观点|议题|矛盾|冲突|问题"
         r"|人物|事件|线索|结论|思想|话题|分歧|风险|争议|趋势|教训|领域|势力|机构|组织|挑战|原因|关切)"),
    _cue("asks for themes or trends (Chinese)", 1.2,
         r"主题|趋势|脉络|线索|共同点|共同之处|分歧|议题|异同|资料库|文库|语料"),
    _cue("asks what part many played (Chinese)", 1.6,
         r"(?:起|发挥|扮演|产生|带来|造成)[了过着到]?(?:什么|哪些|怎样的?|何种|多大的?)[^，。？?]{0,3}"
         r"(?:作用|影响|角色|变化|后果)"),
    _cue("asks for a list (Chinese)", 0.3, r"哪些|哪几类|哪几方面|如何看待|怎样看待|演变"),
    _cue("asks who, when or where", -1.2,
         r"\b(?:who|whom|whose|when|where)\b"),
    _cue("asks for an amount", -1.6,
         r"\bhow (?:many|much|old|long|far|tall|big|often|large|high|deep|wide|fast|heavy)\b"),
    _cue("asks which one", -0.7, r"\bwhich\b"),
    _cue("asks for one attribute", -1.2,
         r"\bwhat (?:year|date|day|month|time|number|name|age|city|country|nationality|colou?r|code"
         r"|percentage|address|award|title|job|position|language|is the (?:name|number|date|address"
         r"|price|cost|capital|population|length|height|code|serial|phone|email|version))\b"),
    _cue("asks yes or no", -0.9,
         r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b"
         r"(?! you\b)"),
    _cue("names one source", -0.6, r"\b(?:according to|reported by|published (?:by|in|on))\b"),
    _cue("quotes", -0.8, r"[\"“”]|《[^》]+》|「[^」]+」|(?<!\w)'[^']{3,}'(?!\w)"),
    _cue("holds a number", -0.8, r"\d"),
    _cue("asks who, when or where (Chinese)", -1.6,
         r"谁|何时|什么时候|哪一?年|哪天|哪一天|几月|哪里|哪儿|在哪|何地|何处|哪位|哪一?[个座家所支条部种国省]"
         r"|叫什么|什么名字|什么职|第几|哪两"),
    _cue("asks for an amount (Chinese)", -1.6,
         r"多少|几[个位次年岁米项人天名所部]|多[大长高深远久重]|几公里"),
    _cue("asks yes or no (Chinese)", -0.7, r"吗|是否|是不是|有没有"),
    _cue("asks what one thing is (Chinese)", -0.4, r"是什么|为什么|为何|什么"),
)  # fmt: skip

_NAME = re.compile(r"\b[A-Z][\w'’-]*(?:\s+(?:of|the|de|la|von|van|and)?\s*[A-Z][\w'’-]*)*")
_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "what who when where which how why is are was were do does did the a an in on of for and i"
        " give list name describe summarise summarize outline tell can could please explain compare"
        " across has have had to at by from according considering between if whose whom",
    )
)


def decide(
    question: str,
    *,
    similarity: Callable[[str], tuple[float, float]] | None = None,
    known_names: int = 0,
) -> Route:
    """The scope of a question, from its words, and from likeness to typical ones.

    `similarity` gives likeness to whole-corpus and to specific questions, each in −1…1; a Chinese
    question is compared by character pairs instead, whatever the function could read.
    `known_names` is how many names of the knowledge graph stand in the question.
    """
    parts = [(cue.name, cue.weight) for cue in _CUES if cue.pattern.search(question)]
    names = max(known_names, len(names_in(question)))
    if names:
        parts.append((f"holds {names} name(s)", _NAME_WEIGHT * min(names, _MAX_NAMES)))
    if language_of(question) == "zh":
        similarity = character_similarity
    if similarity is not None:
        to_global, to_local = similarity(question)
        parts.append(("likeness to typical questions", _SIMILARITY_WEIGHT * (to_global - to_local)))
    total = PRIOR + sum(weight for _, weight in parts)
    mode: Mode = "global" if total > 0 else "local"
    return Route(
        mode=mode, reason=_reason(parts, mode), confidence=1.0 / (1.0 + math.exp(-abs(total)))
    )


def names_in(question: str) -> list[str]:
    """Capitalised runs that are no question word; a sentence's first single word counts for none.

    A Chinese question's Latin words count too: there a capital at the start means a name as well.
    """
    names = []
    for match in _NAME.finditer(question):
        words = match.group().split()
        while words and words[0].casefold().rstrip("'’s") in _NO_NAMES:
            words = words[1:]
        opens = match.start() == 0 and len(match.group().split()) == 1
        if words and not (opens and not HAN.search(question)):
            names.append(" ".join(words))
    return names


def character_similarity(question: str) -> tuple[float, float]:
    """Likeness of a Chinese question to the typical ones of both scopes, by character pairs."""
    return (
        _nearest(question, GLOBAL_QUESTIONS_ZH),
        _nearest(question, LOCAL_QUESTIONS_ZH),
    )


def top_mean(similarities: Sequence[float], *, top: int = 3) -> float:
    """The mean of the best few: one lucky prototype decides nothing."""
    best = sorted(similarities, reverse=True)[:top]
    return sum(best) / len(best) if best else 0.0


def _nearest(question: str, prototypes: Sequence[str]) -> float:
    pairs = _pairs(question)
    scores = []
    for prototype in prototypes:
        other = _pairs(prototype)
        shared = len(pairs & other)
        scores.append(shared / math.sqrt(len(pairs) * len(other)) if shared else 0.0)
    return top_mean(scores)


def _pairs(text: str) -> set[str]:
    kept = "".join(character for character in text if character.isalnum())
    return {kept[index : index + 2] for index in range(len(kept) - 1)}


def _reason(parts: Sequence[tuple[str, float]], mode: Mode) -> str:
    sign = 1 if mode == "global" else -1
    speaking = sorted(
        (part for part in parts if part[1] * sign > 0), key=lambda part: -part[1] * sign
    )
    if not speaking:
        return f"{mode}: nothing in the question points to the whole corpus"
    named = "; ".join(f"{name} ({weight:+.1f})" for name, weight in speaking[:3])
    return f"{mode}: {named}"
