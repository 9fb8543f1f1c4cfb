"""Routing rules: cues that a question is about one thing, about the whole, or both.

Cue words of both languages, names, numbers and quotes, and likeness to typical questions add to one
sum, each cue once. A positive sum means the whole corpus (`global`); its distance from 0 is the
confidence. The weights were fitted to labelled questions and rounded. A compound question goes both
ways where each half is a question of its own and surely of its kind. `explain_*` give the reason in
the question's language.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from graph.text.cjk import count_han, has_han
from graph.text.patterns import lazy_regex

from ..answering.global_search.asked import Asked
from ..prompts import Language, language_of
from ..types import Mode, Passage, Route
from .examples import lexical_similarity

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
_GROUPS = (
    r"(?:people|customers?|clients|users|staff|employees|workers|residents|inhabitants|villagers"
    r"|islanders|locals|citizens|authors|writers|experts|researchers|scientists|scholars|witnesses"
    r"|interviewees|respondents|participants|patients|families|women|men|children|students|teachers"
    r"|parents|companies|firms|departments|teams|institutions|organi[sz]ations|countries"
    r"|communit(?:y|ies)|sources|reports|interviews|letters|diaries|minutes|newspapers|media"
    r"|accounts|testimonies|memoirs|audits|reviews|society|everyone|everybody|anyone|nobody|others"
    r"|both sides|parties)"
)
_ABSTRACT = (
    r"(?:attitudes?|mood|tone|beliefs?|values?|power|(?:dis)?trust|culture|relationships?|relations"
    r"|dealings|roles?|conflicts?|tensions?|strengths?|weakness(?:es)?|weak points?|gaps?|risks?"
    r"|lessons?|contradictions?|disagreements?|patterns?|trends?|themes?|influence|impact"
    r"|consequences|motives?|hopes?|fears?|worries|concerns?|complaints?|obstacles|challenges"
    r"|opinions?|views?|arguments?|story|history|life|identity|meaning|picture|impression"
    r"|approach(?:es)?|methods?|developments?|background|state of|behaviou?r|practices|ideas?"
    r"|evidence|stake|blame|responsibility)"
)
_NO_CHANGE = r"(?:change|evolve|shift|develop|grow)"


@dataclass(frozen=True, slots=True)
class RoutingFeature:
    """A form, what it says of a question, and how much that weighs."""

    name: str
    weight: float
    pattern: re.Pattern[str]


def _cue(name: str, weight: float, pattern: str) -> RoutingFeature:
    return RoutingFeature(name, weight, re.compile(pattern, re.IGNORECASE))


CUES = (
    # --- the whole, in English ---
    _cue("asks for the main matters", 1.6,
         rf"\b(?:main|major|key|central|common|recurring|overarching|general|principal|dominant"
         rf"|shared|broad(?:er)?|biggest|(?:most|more) (?:important|common|frequent|prominent"
         rf"|influential|central))\s+(?:[\w-]+\s+){{0,2}}{_MATTERS}\b"),
    _cue("spans the documents", 1.6,
         rf"\b(?:across|throughout|all(?: of)?|whole|entire|these|those|various|different|several)"
         rf"\s+(?:of\s+)?(?:the\s+|these\s+|our\s+|my\s+)?(?:[\w-]+\s+)?{_THINGS}\b"),
    _cue("names the collection", 1.1,
         r"\b(?:corpus|collection|library|archives?|knowledge base|dataset)\b"),
    _cue("asks for the whole", 2.0,
         r"\bas a whole\b|\bbig(?:ger)? picture\b|\bhigh[- ]level\b|\bin (?:general|broad terms)\b"
         r"|\boverall\b|\boverview\b|\bthe gist\b|\beverything\b|\bthe whole (?!of\b)\w+"
         r"|\bthe entire\b|\boverarching\b|\bgeneral (?:discussion|mood|attitudes?|picture)\b"),
    _cue("points at all there is", 1.5,
         r"\b(?:in here|all (?:of )?(?:this|it|these|that)|taken together|from what (?:you|we)"
         r"|going by|judging (?:by|from)|(?:by|from|in|through|across) these|throughout)\b"),
    _cue("asks to put together", 1.6,
         r"^\W*(?:please )?(?:tl;?dr|(?:walk|bring|fill|take) (?:me|us)|draw up|rank|group|sort"
         r"|classify|map|trace|sketch|discuss|evaluate|assess|characteri[sz]e|paint|put together"
         r"|make (?:a|me|us)|quick|brief|tell (?:me|us) (?:the story|everything|how)"
         r"|give (?:me|us) (?:a|the) (?:gist|brief\w*|picture|sense|feel|rundown|short))"),
    _cue("asks to sum up", 2.5,
         r"^\W*(?:please |can you |could you )?(?:summari[sz]e|sum up|outline)\b"
         r"|\bwhat (?:do|does|did) (?:these|they|it|the (?:documents|texts|papers"
         r"|books?)) (?:all )?say\b"
         r"|^(?:请|帮我)?(?:概述|概括|总结|归纳)"),
    _cue("asks for the course of events", 2.5,
         r"\bwhat happened(?: and)? when\b|\btimeline\b|\bchronolog|\bin what order\b"
         r"|时间线|年表|大事记|先后发生"),
    _cue("asks for themes or trends", 1.1,
         r"\b(?:themes?|topics?|trends?|patterns?|threads?|takeaways?|motifs?|storylines?)\b"),
    _cue("holds an abstract noun", 1.2, rf"\b{_ABSTRACT}\b"),
    _cue("is about many people or papers", 1.3, rf"\b{_GROUPS}\b"),
    _cue("asks what recurs", 1.0,
         r"\b(?:recur(?:s|ring|rent)?|repeatedly|again and again|in common|run through|keep coming"
         r"|shared by|differ between|disagree|contradict\w*)\b"),
    _cue("asks what goes on and on", 1.2,
         r"\b(?:keeps?|over and over|always|usually|often|tends? to|typically|so many|constantly"
         r"|return to|(?:comes?|turns?) up)\b"),
    _cue("asks what changed", 0.9,
         r"\b(?:chang(?:ed|es|ing)|evol(?:ved|ves|ving)|shift(?:ed|s|ing)"
         r"|over (?:time|the (?:years|decades|centuries))|from (?:start|the beginning|the first)"
         rf"|become more|c[ao]me to|got to|turned against|(?:did|do|does)\b.{{0,60}}\b{_NO_CHANGE}"
         r"|trace|timeline)\b"),
    _cue("asks how it is seen", 0.8,
         r"\b(?:feel|think|believe|view|describe|portray\w*|treat(?:ed|s)?|regard|perceive|cope"
         r"|argu(?:e|es|ing)|complain\w*|worry|worries|worried|fear|hope|agree|disagree|differ"
         r"|blame"
         r"|trust|matters?|motivat\w*|stands? to|benefit)\b"),
    _cue("points at the documents", 1.5,
         r"\b(?:this|these) (?:[\w-]+ )?(?:documents?|manual|handbook|faq|guide|books?"
         r"|stor(?:y|ies)|chapters?|pages?|articles?|papers?|abstracts?|texts?|files?|meetings"
         r"|records?)\b"
         r"|\b(?:documents|articles|papers|abstracts) (?:mention|say|describe|cover)\b"),
    _cue("asks for all of a kind", 1.2,
         r"\b(?:list|name|list of|give me) (?:all|every|each)\b"
         r"|\b(?:mentioned|named) (?:here|anywhere)"),
    _cue("asks for the parts", 2.0,
         rf"\bhow (?:is|are) (?:the|this|these) {_THINGS[:-1]}|manual|handbook|guide)s?"
         r" (?:structured|organi[sz]ed|divided|arranged)\b"),
    # --- the whole, in Chinese ---
    _cue("asks for the parts (Chinese)", 2.0,
         r"(?:书|手册|指南|小说|文档|资料)[^，。？?]{0,3}(?:分[为成]?|有|由)哪?几个?(?:部分|[章部篇回])"),
    _cue("asks for a whole in Chinese", 1.6,
         r"总体|整体|总的来|总结|概括|概述|归纳|综述|综合|全文|全书|整[部本]书|通篇|纵观|贯穿|梳理"
         r"|大致内容|大意|主旨|来龙去脉|全貌|宏观"),
    _cue("spans the documents (Chinese)", 1.6,
         r"(?:所有|这些|全部|各个?|整个|多份|不同|这批|几份)(?:的)?(?:文档|文件|资料|材料|文章|报告"
         r"|来源|文库|文献|记录|语料|故事|档案|资料库)"),
    _cue("points at the documents (Chinese)", 1.5,
         r"[这全本该][本份部篇]?(?:书|手册|文档|文件|资料|小说|常见问题)|这[几些][章回节篇]|(?:书"
         r"|手册|资料|文档|文件|小说)[里中]"),
    _cue("points at all there is (Chinese)", 2.0,
         r"这[些批堆套里]|这里面|整[套个](?!系统|程序|软件|网络|磁盘|硬盘|目录)|全[部体]|手头"
         r"|总的|看完|看出"),
    _cue("asks for the main matters (Chinese)", 1.5,
         r"(?:主要|核心|重要|共同|常见|反复出现|普遍)的?[^，。？?的]{0,4}(?:主题|内容|观点|议题"
         r"|矛盾|冲突|问题"
         r"|人物|事件|线索|结论|思想|话题|分歧|风险|争议|趋势|教训|领域|势力|机构|组织|挑战|原因"
         r"|关切)"),
    _cue("asks what is told (Chinese)", 1.2,
         r"(?:主要|大致|大概|大体)(?:上|都)?(?:讲|写|说|谈|介绍|叙述|描述|记)(?:述|载)?了?(?:些"
         r"|的是|哪些)?(?:什么|内容|哪些)"),
    _cue("asks for themes or trends (Chinese)", 0.9,
         r"主题|趋势|脉络|线索|共同点|共同之处|分歧|议题|异同|资料库|文库|语料"),
    _cue("holds an abstract noun (Chinese)", 1.5,
         r"关系|态度|看法|想法|观点|情绪|立场|理由|印象|形象|地位|意义|影响|矛盾|恩怨|风险|教训"
         r"|经验|共性"
         r"|规律|优势|短板|薄弱|漏洞|毛病|难处|困难|问题|处境|责任|文化|价值|思路|办法|苗头|信号"
         r"|背景|类型|种类|根子|争论|争议"),
    _cue("is about many people or papers (Chinese)", 1.5,
         r"们|大家|各[方个家部地派]|双方|员工|客户|用户|居民|百姓|村里人|作者|专家|学者|研究者"
         r"|科学家"
         r"|工人|农户|媒体|官方|民间|部门|机构|社会|供应商"),
    _cue("asks what goes on and on (Chinese)", 0.9,
         r"老是|总是|总[在会]|经常|常常|一再|反复|接二连三|屡|历来|一直|往往|最多"),
    _cue("asks what changed (Chinese)", 1.5,
         r"这[些几]?年|近年|多年|从头到尾|一步步|逐步|渐|越来越|转变|变化|改变|演变|变迁|起落"
         r"|起伏|历程"
         r"|由来|成长|发展|以来|几代|前后|始末"),
    _cue("asks what part many played (Chinese)", 1.0,
         r"(?:起|发挥|扮演|产生|带来|造成)[了过着到]?(?:什么|哪些|怎样的?|何种"
         r"|多大的?)[^，。？?]{0,3}"
         r"(?:作用|影响|角色|变化|后果)"),
    _cue("asks to put together (Chinese)", 1.2,
         r"^(?:请|帮我|给我|麻烦)?(?:说说|讲讲|谈谈|讲一讲|说一说|把.{1,12}(?:分|归|排|串|理)"
         r"|整理|评价|归"
         r"|简单|大概|一句话|快速|做个|写一)"),
    _cue("asks how (Chinese)", 0.6, r"怎样|怎么样|如何|什么样|怎么看|怎么来"),
    _cue("asks for several (Chinese)", 0.5, r"哪些|哪几类|哪几方面"),
    # --- one thing, in English ---
    _cue("asks who, when or where", -0.6, r"\b(?:who|whom|whose|when|where)\b"),
    _cue("asks for an amount", -1.6,
         r"\bhow (?:many|much|old|long|far|tall|big|large|high|deep|wide|fast|heavy)\b"),
    _cue("asks for one of a thing", -1.5,
         r"\bthe (?!\w*s\b)(?:\w+ )?(?!\w*s\b)\w+ (?:of|in|on|at|for|from|that|which|who|marked"
         r"|stands?|with)\b"),
    _cue("asks what somebody did", -0.8,
         r"\bdid (?:he|she|they|it|the \w+|[a-z]\w+)\b(?! (?:contribute|affect|shape|influence"
         r"|change|evolve|develop)\b)|\bwas (?:the|he|she|it)\b|\bhappened\b"),
    _cue("names a part of a paper", -1.1,
         r"\b(?:clause|chapter|page|figure|table|section|appendix|invoice|email|contract|paragraph"
         r"|footnote|serial|deadline|tariff|fee|price|cost|password|model|version)\b"),
    # --- one thing, in any language, and in Chinese ---
    _cue("quotes", -0.8, r"[\"“”]|《[^》]+》|「[^」]+」|(?<!\w)'[^']{3,}'(?!\w)"),
    _cue("holds a number", -1.1, r"\d"),
    _cue("asks who, when or where (Chinese)", -1.2,
         r"谁|何时|什么时候|哪一?年|哪天|哪一天|几月|哪里|哪儿|在哪|何地|何处|哪位"
         r"|哪一?[个座家所支条部种国省]"
         r"|叫什么|什么名字|什么职|第几|哪两"),
    _cue("asks for an amount (Chinese)", -1.3,
         r"多少|几[个位次年岁米项人天名所部]|多[大长高深远久重]|几公里"),
    _cue("asks for one attribute (Chinese)", -1.2,
         r"几[点号月节页条]|哪[本封辆届间版]|姓什么|电话|邮箱|地址|号码|编号|密码|期限|日期"),
    _cue("asks yes or no (Chinese)", -0.6, r"吗|是否|是不是|有没有"),
    _cue("asks what one may or how to (Chinese)", -1.3,
         r"能不能|可以|能.{0,6}吗|需要.{0,8}吗|含不含|应该怎样|怎么(?:换|补|办|用|走|修|设|关|开)"),
    _cue("asks how to do a thing (Chinese)", -1.3,
         r"^(?:请问)?(?:[我您你]们?)?(?:应该?|该|要|想)?(?:如何|怎样|怎么)(?:才能|能|在|从|用|让"
         r"|给|把|将|为)?"
         r"(?!看|评|理解|对待|描|形|变|体现|反映|影响|演|发展|应对|相|联系|想|说|认为|面对|一|了"
         r"|样|来|会|样的)"),
    _cue("speaks of one thing (Chinese)", -0.3,
         r"(?:那|这|第[一二三四五六七八九十\d]+)[个封次场位座条辆首本份艘天晚届页章版张把栋]"),
    _cue("asks what one thing is (Chinese)", -0.4, r"是什么|为什么|为何|什么"),
)  # fmt: skip

_OF_THE_DOCUMENTS = frozenset({
    "names no subject", "spans the documents", "names the collection",
    "asks for the whole", "points at all there is", "asks to sum up",
    "asks for the course of events",
    "points at the documents", "asks for all of a kind", "spans the documents (Chinese)",
    "points at all there is (Chinese)", "points at the documents (Chinese)",
})  # fmt: skip
"""Cues that the documents themselves are asked about; what is found in them does not unsay these.

All others for the whole (abstract nouns, plurals, summaries, likeness) fit one thing as well.
"""
_ONE_PLACE = -1.5
"""Weight of what is found standing in one place."""

NO_SUBJECT, _NO_SUBJECT = "names no subject", 2.0
"""A question made of generic words alone ("What is in this library?"), and its weight."""
_MANY_CONDITIONS = -1.0
_MANY_WORDS = 25
_MANY_HAN = 40
_FIRST_NAME = -1.0
_FURTHER_NAME = -0.4
_MAX_NAMES = 5

_NAME = lazy_regex(r"\b[A-Z][\w'’-]*(?:\s+(?:of|the|de|la|von|van|and)?\s*[A-Z][\w'’-]*)*")
_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "what who when where which how why is are was were do does did the a an in on of for and i"
        " give list name describe summarise summarize outline tell can could please explain compare"
        " across has have had to at by from according considering between if whose whom",
    )
)


def extract_features(question: str, *, known_names: int = 0) -> list[tuple[str, float]]:
    """Extract weighted features of a question, in table order.

    `known_names` is how many names of the knowledge graph stand in it. They count in Chinese, where
    no capital tells a name; elsewhere they add nothing to capitalised ones (measured), for they
    hold common nouns too.
    """
    found = [(cue.name, cue.weight) for cue in CUES if cue.pattern.search(question)]
    has_words = len(question.split()) >= _FEWEST_WORDS or count_han(question) >= _FEWEST_HAN
    if has_words and Asked.read(question, lambda _word: 1.0).is_whole:
        found.append((NO_SUBJECT, _NO_SUBJECT))
    names = len(names_in(question))
    if has_han(question):
        names = max(names, known_names)
    if names:
        weight = _FIRST_NAME + _FURTHER_NAME * (min(names, _MAX_NAMES) - 1)
        found.append((f"holds {names} name(s)", weight))
    if len(question.split()) >= _MANY_WORDS or count_han(question) >= _MANY_HAN:
        found.append(("states many conditions", _MANY_CONDITIONS))
    return found


def names_in(question: str) -> list[str]:
    """Return capitalised runs besides question words and single first words.

    A Chinese question's Latin words count too: there a capital at the start means a name as well.
    """
    names = []
    for match in _NAME.finditer(question):
        words = match.group().split()
        while words and words[0].casefold().rstrip("'’s") in _NO_NAMES:
            words = words[1:]
        opens = match.start() == 0 and len(match.group().split()) == 1
        if words and not (opens and not has_han(question)):
            names.append(" ".join(words))
    return names


LIKENESS = "likeness to typical questions"
_NAMES = lazy_regex(r"holds (\d+) name\(s\)")
FOUND = "stands in one place"
_FIRST = 12
_BY_SHARE = 0.7
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
    "points at the documents": "指向这些文件",
    "asks for all of a kind": "要求列出全部",
    "names no subject": "没有指明对象",
    "stands in one place": "所问集中在一处",
    "asks for the parts": "询问分为哪些部分",
    "asks to put together": "要求归纳整理",
    "asks to sum up": "要求概括",
    "asks for the course of events": "询问事情经过",
    "asks what is told": "询问讲了什么",
    "asks for themes or trends": "询问主题或趋势",
    "holds an abstract noun": "问的是抽象的事",
    "is about many people or papers": "涉及许多人或资料",
    "asks what recurs": "询问反复出现的内容",
    "asks what goes on and on": "询问一再发生的事",
    "asks what changed": "询问变化",
    "asks how it is seen": "询问看法",
    "asks for a whole in Chinese": "询问整体",
    "asks what part many played": "询问作用或影响",
    "asks how": "询问怎样",
    "asks for several": "询问多项内容",
    "asks who, when or where": "询问人物、时间或地点",
    "asks for an amount": "询问数量",
    "asks for one attribute": "询问某一属性",
    "asks yes or no": "询问是否",
    "asks for one of a thing": "询问某物的某一点",
    "asks what somebody did": "询问某人做了什么",
    "names a part of a paper": "提到文档的某一部分",
    "quotes": "引用了原文",
    "holds a number": "含有数字",
    "asks what one may or how to": "询问可否或如何做",
    "asks how to do a thing": "询问做法",
    "speaks of one thing": "说的是某一个",
    "asks what one thing is": "询问是什么",
    "states many conditions": "列出许多条件",
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
_LIKE: dict[tuple[Language, bool], str] = {
    ("en", False): "is like typical questions about one thing",
    ("en", True): "is like typical questions about the whole",
    ("zh", False): "与典型的具体问题相似",
    ("zh", True): "与典型的整体问题相似",
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
    found = [(-weight * side, name) for name, weight in features.items()]
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


@dataclass(frozen=True, slots=True)
class _Weights:
    """Of a sum: what it begins with, and what likeness and cues count in it."""

    prior: float
    likeness: float
    cues: float


_BY_VECTORS = _Weights(prior=-0.1, likeness=3.0, cues=1.0)
_BY_WORDS = {
    "en": _Weights(prior=-0.4, likeness=0.6, cues=1.2),
    "zh": _Weights(prior=-0.8, likeness=1.5, cues=1.1),
}
"""Coefficients fitted to example questions (leave-one-out) and labelled ones.

Shrunk towards 0.
"""


def classify_scope(
    question: str,
    *,
    vector_likeness: float | None = None,
    known_names: int = 0,
    concentration: float = 0.0,
) -> Route:
    """Classify the scope of a question, with its strongest feature.

    What is found in one place takes the weight of the cues that fit one thing as well.

    Args:
        question: in words.
        vector_likeness: about −1 to 1, by an embedding model that can read the question (see
            `ExampleSimilarity`); None compares words instead.
        known_names: how many names of the knowledge graph stand in the question.
        concentration: 0 to 1, how far what retrieval finds answers it in one place (see
            `concentration_of`); 0 where nothing was retrieved.
    """
    language = language_of(question)
    weights = _BY_WORDS[language] if vector_likeness is None else _BY_VECTORS
    found = lexical_similarity(question, language) if vector_likeness is None else vector_likeness
    features = {LIKENESS: weights.likeness * found} | {
        name: weights.cues * weight
        for name, weight in extract_features(question, known_names=known_names)
    }
    features = _as_found(features, concentration)
    total = weights.prior + sum(features.values())
    mode: Mode = "global" if total > 0 else "local"
    return Route(
        mode=mode,
        reason=explain_route(features, mode, language),
        confidence=1.0 / (1.0 + math.exp(-abs(total))),
        features=features,
    )


def _as_found(features: Mapping[str, float], concentration: float) -> dict[str, float]:
    """Take from cues that fit one thing as well what is found in one place."""
    if not concentration:
        return dict(features)
    left = {
        name: weight if weight < 0 or name in _OF_THE_DOCUMENTS else weight * (1 - concentration)
        for name, weight in features.items()
    }
    return left | {FOUND: _ONE_PLACE * concentration}


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
    if "local" in sure and "global" in sure:
        return sure["local"], sure["global"]
    return None


def _is_question(part: str) -> bool:
    if has_han(part):
        return count_han(part) >= _FEWEST_HAN and _ASKS_ZH.search(part) is not None
    return len(part.split()) >= _FEWEST_WORDS and re.match(_ASKS, part, re.IGNORECASE) is not None
