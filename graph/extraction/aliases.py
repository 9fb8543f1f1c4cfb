"""Mention candidates, stated aliases and co-occurrences, for both languages.

Each reader (tagger, capitals, dictionary) proposes candidate spans; here the longest wins, types
are handed on from what it contains, and what is no name is dropped. Aliases are read from what
stands between two neighbouring names: "Kestrel Marine Institute (KMI)", "刘备，字玄德".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from ..model import ALSO_KNOWN_AS, ENTITY_TYPES, NAMED_TYPES, OCCURS_WITH, Mention, Statement
from ..resolution.name_parsing import (
    COMMON_GIVEN_NAMES,
    NAMELIKE_TITLES,
    TITLES,
    abbreviates,
    initials_match,
)
from ..text.cjk import HAN, has_han, is_latin
from ..text.names import (
    ADJECTIVE_TAIL,
    CALENDAR,
    FUNCTION_WORDS,
    JOINTS,
    is_generic,
    name_key,
)
from ..text.patterns import lazy_regex
from ..text.sentences import Layout, Segment
from .lead_aliases import subject_aliases

NEIGHBOURS = 2
"""Each name is tied to so many different names that follow it in its sentence."""


def named_by_sentence(
    layout: Layout, mentions: Iterable[Mention]
) -> list[tuple[int, list[Mention]]]:
    """`(sentence index, its named mentions in order)` for sentences that hold any."""
    named = (m for m in sorted(mentions) if m.type in NAMED_TYPES)
    placed = ((layout.sentence_at(m.start), m) for m in named)
    known = [(index, m) for index, m in placed if index is not None]
    return [
        (index, [m for _, m in group]) for index, group in groupby(known, key=lambda pair: pair[0])
    ]


def co_occurrences(
    layout: Layout, mentions: Iterable[Mention], typed: Iterable[Statement]
) -> Iterator[Statement]:
    """Return a statement for neighbouring names without a typed relation in their sentence.

    Subject and object are ordered by key, so that the direction is the same everywhere.
    """
    linked = {(s.start, frozenset((s.subject, s.object))) for s in typed}
    for index, named in named_by_sentence(layout, mentions):
        start, end = layout.sentences[index]
        keys = list(dict.fromkeys(m.key for m in named))
        for place, key in enumerate(keys):
            for other in keys[place + 1 : place + 1 + NEIGHBOURS]:
                if (start, frozenset((key, other))) not in linked:
                    first, second = sorted((key, other))
                    yield Statement(
                        start=start, end=end, subject=first, predicate=OCCURS_WITH, object=second
                    )


_PLACE_WORDS = """
river lake island islands bay harbour harbor street road avenue square mountain mountains valley
county province strait peninsula cape bridge lighthouse beach canal peak coast sea ocean village
town sound isle isles
"""
_ORGANISATION_WORDS = """
university college institute institution council committee commission ministry department agency
company corporation association society foundation trust ltd inc gmbh llc plc bank party union
academy authority consortium bureau laboratory school hospital group league federation office
board
"""
_EVENT_WORDS = """
war battle festival olympics championship championships inquiry expedition conference referendum
summit election revolution treaty storm disaster siege
"""
HEAD_WORDS = (
    ("ORGANISATION", frozenset(_ORGANISATION_WORDS.split())),
    ("PLACE", frozenset(_PLACE_WORDS.split())),
    ("EVENT", frozenset(_EVENT_WORDS.split())),
)
"""Head words of names and the type that they tell."""

_VAGUE_NOUNS = """
time year day week month way thing part number man woman people person one lot kind sort case fact
place side end point hand today morning evening night use name amount piece couple bit example
role class work son daughter brother sister father mother wife husband child family life world
addition result order set group member reason term century decade hour minute
"""
VAGUE_NOUNS = frozenset(_VAGUE_NOUNS.split())
"""Nouns that make no noun phrase worth a concept."""

_VAGUE_MODIFIERS = """
particular specific latest available complete further additional general related alternative
individual possible similar special successful
other many same such several few more most own first last next new old great good different
various
certain whole entire only much little second third former latter recent early late current
previous
following
"""
VAGUE_MODIFIERS = frozenset(_VAGUE_MODIFIERS.split())

_NEVER_FIRST = """
yesterday today tomorrow tonight now then here there still yet perhaps maybe suddenly meanwhile
later
soon ask see note sometimes alas nay hurrah oh ah hey yes
"""
NEVER_FIRST = frozenset(_NEVER_FIRST.split())
"""Words that begin sentences and no names, whatever a tagger says."""

_CLASS_NOUNS = """
project programme program institute company station island river ship vessel team family school
band
film novel book song album festival agency council committee university college group party bridge
harbour museum system cable protocol expedition inquiry award prize sauce dish label club magazine
journal newspaper airport airline stadium tower castle railway rocket satellite mission
"""
CLASS_NOUNS = frozenset(_CLASS_NOUNS.split())
"""Class nouns after names: "the Apollo programme"."""

_HAN_ORGANISATIONS = """
大学 学院 研究所 研究院 研究中心 公司 集团 委员会 理事会 议会 银行 协会 学会 基金会 报社 出版社
博物馆
图书馆 医院 中学 小学 剧院 电台 电视台 俱乐部 联盟 联合会 工会 法院 警察局 海洋局 政府 事务所
实验室
工作室 海洋站 乐队 球队 舰队 档案馆 观测站 测候站 气象站 工作站 研究站 水文站 局 厅 署 党 社 厂 队
"""
_HAN_PLACES = """
市 县 省 镇 村 区 乡 州 岛 群岛 半岛 湾 河 江 山 湖 海 港 路 街 桥 寺 塔 灯塔 火车站 车站 码头
广场 公园
海峡 盆地 高原 峡 礁 堤 站
"""
_HAN_PROJECTS = """
计划 工程 项目 海缆 电缆 协议 号
"""
_HAN_EVENTS = """
战役 之战 事件 运动 起义 大会 会议 奥运会 锦标赛 杯赛 条约 风暴
"""
HAN_SUFFIXES = tuple(
    sorted(
        [(suffix, "ORGANISATION") for suffix in _HAN_ORGANISATIONS.split()]
        + [(suffix, "PLACE") for suffix in _HAN_PLACES.split()]
        + [(suffix, "EVENT") for suffix in _HAN_EVENTS.split()]
        + [(suffix, "NAME") for suffix in _HAN_PROJECTS.split()],
        key=lambda pair: (-len(pair[0]), pair[0]),
    )
)
"""`(suffix, type)`, the longest first."""
HAN_EVENT_SUFFIXES = tuple(_HAN_EVENTS.split())

_HAN_VAGUE = """
时候 时间 地方 方面 问题 情况 东西 事情 人们 人员 部分 方式 方法 原因 结果 内容 工作
一部分 目前 期间 世纪 年代 先生 女士 博士 教授 人物 作品 故事 名字 名称 地区 国家
城市 学生 老师 孩子 女子 男子 父亲 母亲 儿子 女儿 孙女 祖父 祖母 哥哥 弟弟 姐姐 妹妹
妻子 丈夫 叔叔 侄子 女婿 岳父 岳母 师父 徒弟 兄弟 同时 机会 关系 影响 活动 作用 历史
世界 社会 生活 身份 意思 样子 声音 站长 所长 部长 火车站 车站 欧元 美元 英镑 日元
人民币 中文 英文 汉语 英语 论文 顾问 加盟 出场 对阵 客场 主场 比赛 网站 官方网站 码头
政府 公司 大学 学院 本站 全市 全省 全县 言讫 言毕 听毕 闻言
"""
HAN_VAGUE = frozenset(_HAN_VAGUE.split())

_HAN_AUXILIARIES = """
有 能 会 可以 要 想 应该 可能 必须 开始 继续 使 让 令 没有 没 不 称 称为 叫 姓 名
"""
HAN_AUXILIARIES = frozenset(_HAN_AUXILIARIES.split())
HAN_OFFICES = frozenset({"任", "担任", "曾任", "出任", "兼任", "现任", "就任"})
HAN_NEGATIONS = frozenset(
    {"不", "没", "没有", "未", "未能", "从未", "并非", "不是", "非", "别", "无"}
)
TRANSLITERATION = frozenset(
    "阿埃艾爱安昂奥巴白班邦保贝本比彼宾波伯博布查达戴丹当德迪蒂丁顿多恩尔法凡菲费芬冯佛弗福盖冈高戈格贡古"
    "哈海汉豪赫亨胡华怀霍基吉加贾杰金卡凯坎康考科克肯库夸拉莱兰朗劳勒雷里理利丽莉莲良列林琳龙隆卢鲁露伦罗"
    "洛吕马玛迈麦曼毛梅门蒙孟米密蜜明莫默姆穆纳娜南内尼妮宁纽努诺欧帕潘庞佩彭皮平珀普齐奇恰乔切琼丘让热日"
    "荣茹瑞萨塞赛桑瑟森莎沙珊什圣施史舒斯丝司苏索塔泰坦汤唐特滕提廷图托瓦娃万旺威韦维魏温沃乌武伍西希锡"
    "席夏香肖歇谢辛休逊雅亚延扬耶叶伊依因英尤约宰泽扎詹珍芝朱兹佐派登敦堡津勃策察杜嘉捷瑙佳廖缅契松厄危瓜"
)
"""Characters with which Chinese writes foreign names."""


MAX_NAME_CHARACTERS = 120
_ROMAN = lazy_regex(r"[IVX]+")
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_NO_NAME = lazy_regex(
    r"[=<>|{}\[\]\\€$#@]|--|(?<=\s)-\w|://|/.*/|/$|,.*,|\S(?:[ ]{3,}|\t)\S"
    rf"|\b\d{{1,2}}\s(?:{_MONTHS})\b|\b(?:{_MONTHS})\s\d+|^[A-Z]{{1,3}}\s\d{{4,}}$|’s\s\d+$|'s\s\d+$"
    r"|^(?:EUR|USD|GBP|CHF|RMB|CNY|JPY)(?:$|\s[\d.,]+)"
    r"|\sNo$|^(?i:Article|Chapter|Section|Part|Annex|Recommendation|Rule|Verse|Act|Scene|Stave|Node|Step"
    r"|Table|Figure|Note|Item|Clause|Level|Phase|Version|Question)s?\s"
    r"(?:\d+\b|(?i:[IVX]+|one|two|three|four|five|six|seven|eight|nine|ten)(?:\s\d+)?$)"
)
"""Marks of code, paths, lists, dates, amounts, and numbered parts of a text."""
_DIGITS_OF_CODE = 4


@dataclass(frozen=True, slots=True, order=True)
class Candidate:
    """Candidate span of a mention; `key` if it differs from the surface's own."""

    start: int
    end: int
    type: str
    key: str = ""


def resolve_overlaps(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Resolve overlaps: the longest name with the best type, sorted.

    An untyped run that holds two or more typed names is a list of names, not a name.
    """
    best = _best_types(candidates)
    typed = [c for c in best if c.type != "NAME"]
    runs = []
    for run in (c for c in best if c.type == "NAME"):
        inside = [c for c in typed if run.start <= c.start and c.end <= run.end]
        if len(_longest(inside)) < 2:
            runs.append(_with_type_of(run, inside))
    return _longest([*typed, *runs])


def _best_types(candidates: Iterable[Candidate]) -> list[Candidate]:
    best: dict[tuple[int, int], Candidate] = {}
    for candidate in sorted(candidates):
        span = (candidate.start, candidate.end)
        known = best.get(span)
        if known is None or _rank(candidate) < _rank(known):
            best[span] = candidate
    return [best[span] for span in sorted(best)]


def _rank(candidate: Candidate) -> int:
    return ENTITY_TYPES.index(candidate.type)


def _with_type_of(run: Candidate, inside: list[Candidate]) -> Candidate:
    """Return the run with the type of a name that is its head or most of it."""
    for name in inside:
        covers_most = 2 * (name.end - name.start) > run.end - run.start
        if covers_most or (name.end == run.end and name.type == "PERSON"):
            return Candidate(run.start, run.end, name.type)
    return run


def _longest(candidates: list[Candidate]) -> list[Candidate]:
    kept: list[Candidate] = []
    taken: set[int] = set()
    for candidate in sorted(candidates, key=lambda c: (c.start - c.end, _rank(c), c.start)):
        if taken.isdisjoint((candidate.start, candidate.end - 1)) and taken.isdisjoint(
            range(candidate.start, candidate.end)
        ):
            kept.append(candidate)
            taken.update(range(candidate.start, candidate.end))
    return sorted(kept)


def drop_overlapping(
    candidates: Iterable[Candidate], names: Iterable[Candidate]
) -> list[Candidate]:
    """Return the longest candidates disjoint from `names`, sorted."""
    taken: set[int] = set()
    for name in names:
        taken.update(range(name.start, name.end))
    free = [c for c in candidates if taken.isdisjoint(range(c.start, c.end))]
    return _longest(free)


def mentions_of(layout: Layout, candidates: Iterable[Candidate]) -> list[Mention]:
    """Convert candidates to sorted mentions.

    Non-names and sentence-crossing ones are dropped.
    """
    found = []
    for candidate in sorted(candidates):
        surface = layout.text[candidate.start : candidate.end]
        key = candidate.key or name_key(surface)
        if not _is_usable(layout, candidate, surface) or not is_name(surface, key):
            continue
        if _NO_NAME.search(surface):
            continue
        kind = candidate.type
        if kind == "NAME":
            kind = type_from_words(key) or kind
        found.append(
            Mention(start=candidate.start, end=candidate.end, surface=surface, key=key, type=kind)
        )
    return _with_one_type(found)


def _with_one_type(mentions: list[Mention]) -> list[Mention]:
    """Assign each key its majority type; a person's surname is that person."""
    counts: dict[str, Counter[str]] = {}
    for mention in mentions:
        if mention.type != "NAME":
            counts.setdefault(mention.key, Counter())[mention.type] += 1
    types = {
        key: min(some, key=lambda kind: (-some[kind], ENTITY_TYPES.index(kind)))
        for key, some in counts.items()
    }
    persons = [key.split() for key, kind in types.items() if kind == "PERSON"]
    surnames = {words[-1] for words in persons if len(words) > 1}
    return [
        replace(m, type="PERSON" if m.key in surnames else types.get(m.key, m.type))
        if m.type != "CONCEPT"
        else m
        for m in mentions
    ]


_UNIT = 3
_NUMBER_BEFORE = lazy_regex(r"\d[ \u00a0]?$")
"""Before a unit: "48 kHz", "84 MW"."""
_NEAR = 24
_CUT_BEFORE = lazy_regex(r"[_\\=@~]$|[\w.]/$|[\s(]-$|(?<![\d\s])[^\W\d_]{2}- ?$")
_CUT_AFTER = lazy_regex(
    rf"[_\\=@~+]|/\w|\.[a-z\d]|[-–]\d|(?:- ?| -)(?!{ADJECTIVE_TAIL})(?=[^\W\d_])|-(?=[,;)])"
)
"""Part of a longer name, or of code: "Hesse-" before Kassel, "-kyu" after Jo Jin, ".deb"."""


def _is_usable(layout: Layout, candidate: Candidate, surface: str) -> bool:
    shadow = layout.shadow[candidate.start : candidate.end]
    index = layout.sentence_at(candidate.start)
    before = layout.text[max(0, candidate.start - _NEAR) : candidate.start]
    after = layout.text[candidate.end : candidate.end + _NEAR]
    if len(surface) <= _UNIT and _NUMBER_BEFORE.search(before):
        return False
    is_cut = _CUT_BEFORE.search(before) or _CUT_AFTER.match(after)
    if is_cut and candidate.type != "CONCEPT" and not has_han(surface):
        return False
    return (
        0 < len(surface) <= MAX_NAME_CHARACTERS
        and shadow == surface.replace("\n", " ")
        and index is not None
        and candidate.end <= layout.sentences[index][1]
    )


_METASYNTACTIC = "foo bar baz foobar qux quux xyz xyzzy aaa lorem"
_STANDS_IN = lazy_regex(
    rf"(?:(?:{'|'.join(_METASYNTACTIC.split())})(?:[-.]\S*)?|(?!www)(\w)\1\1+|[a-z]\.? [a-z]\.?)$"
)
"""Words that stand for whatever is meant: "foo", "XYZ-3.8", "NNN"; single letters."""
_FILE = lazy_regex(
    r"^\S*[A-Za-z]_[A-Za-z]\S*$|\w\.(?:gz|tar|zip|deb|rpm|iso|txt|html?|conf|cfg|ini|py|sh|exe|xml|json|ya?ml"
    r"|csv|pdf|png|jpe?g|docx?|xlsx?)$",
    re.IGNORECASE,
)
"""Names of files and identifiers of programs."""
_READING = lazy_regex(r".* \d+ ?(?:hpa|mbar|km|m|cm|mm|kg|g|t|kn|knots|kw|mw|hz|mhz|ghz|kb|mb|gb)")
_STRETCHED = lazy_regex(r".*(\w)(?:-\1){2}.*")
_CODE = lazy_regex(r"[a-z]+(?:-[a-z]+)+-\d+|[a-z]+-\d\w*(?:-\w+)+")
"""Numbers of rows and of files: "gl-pil-02", "tn-2024-02"."""
_ANY_OF_KIND = lazy_regex(r"(?:package|program|file|user|host|person|step|option) [a-z]")


def is_name(surface: str, key: str) -> bool:
    """Check whether a surface can be a name.

    Not a heading, function word, date, number or letter.
    """
    if not key or is_generic(key) or _ROMAN.fullmatch(surface):
        return False
    if (
        _STANDS_IN.match(key)
        or _FILE.search(surface)
        or any(one.fullmatch(key) for one in (_CODE, _ANY_OF_KIND, _READING, _STRETCHED))
    ):
        return False
    digits, letters = (sum(map(test, key)) for test in (str.isdigit, str.isalpha))
    if " " not in key and digits >= max(_DIGITS_OF_CODE, letters):
        return False
    if has_han(key):
        return len(key) >= 2
    words = key.replace("'", " ").split()
    return letters >= 2 and not all(
        w.rstrip(".,") in FUNCTION_WORDS or w.rstrip(".,") in CALENDAR or w[0].isdigit()
        for w in words
    )


def type_from_words(key: str) -> str:
    """Return the type given by a name's own words ("… Institute"); or ""."""
    words = [word.rstrip(".,") for word in key.split()]
    head = next((i for i, word in enumerate(words) if word in JOINTS), len(words)) - 1
    if len(words) < 2 or head < 0:
        return ""
    for kind, heads in HEAD_WORDS:
        if words[head] in heads and head > 0:
            return kind
    titled = words[0] in TITLES - NAMELIKE_TITLES and words[1] not in JOINTS
    given = words[0] in COMMON_GIVEN_NAMES and len(words) < 4 and head == len(words) - 1
    return "PERSON" if titled or given else ""


_STRONG = frozenset({"PERSON", "ORGANISATION", "PLACE", "EVENT", "WORK"})

_ADVERB = r"(?:also|better|best|often|sometimes|later|now|then|first|once|\w+ly)"
_KINDS = r"(?:pen|stage|code|birth|ring)\s+name"
_ENGLISH = lazy_regex(
    rf"""\s*(?:\([^()]{{1,60}}\)\s*|[;,][^()]{{1,50}}\)\s*)?  # the years of a life
    (?:
        [;,(]?\s*(?:(?:who|which)\s+)?(?:(?:is|was|are|were)\s+)?(?:{_ADVERB}\s+)*
        (?:known\s+(?:(?:(?:\w+ly|(?:in|to|by)\s+(?:\w+\s+){{0,2}}\w+)\s+)?as|by\s+the\s+name\s+of
             |(?:by|under)\s+(?:(?:his|her|their|the)\s+)?(?:{_KINDS}
               |nickname|pseudonym|alias)(?:\s+of)?,?)
          |referred\s+to\s+(?:{_ADVERB}\s+)*as|spel(?:t|led)(?:\s+as)?
          |a\.?k\.?a\.?|alias|abbreviated\s+(?:as|to)|short\s+for)
      | (?:[,(]\s*|\s(?:is|was|are|were)\s+|\s(?:also|later|formerly)\s+
           |[,(]\s*(?:which|who)\s+(?:is|was|are|were)\s+)
        (?:(?:also|later|now|formerly|originally)\s+)*
        (?:called|nicknamed|renamed(?:\s+(?:as|to))?|dubbed|n[ée]e|formerly|hereafter|henceforth
          |(?:originally|formerly|previously|initially|first)\s+named)
      | [,;]?\s*(?:who\s+)?(?:wrote|writes|writing|performed|performs|performing|publishing)\s+
        under\s+(?:(?:his|her|the)\s+)?(?:pen\s+name|stage\s+name|pseudonym|name)(?:\s+of)?,?
      | ,?\s*(?:and\s+)?whose\s+(?:real|birth|stage|pen|maiden|full)\s+name\s+(?:is|was)
      | ,?\s+or\s+(?:simply|just)
    )\s+(?:(?:simply|just)\s+)?(?:the\s+)?["“'‘]?""",
    re.VERBOSE | re.IGNORECASE,
)
_FURTHER = lazy_regex(
    r"""["”'’]?,?\s+or\s+(?:(?:as|simply|just|also|sometimes)\s+)*(?:the\s+)?["“'‘]?"""
)
"""Between two second names: "also known as the Long Pier or simply Pier"."""
_SPELT = lazy_regex(r"\bspel(?:t|led)\b", re.IGNORECASE)
_INSIDE_PHRASE = lazy_regex(
    r"\b(?:an?|the)\s+[a-z]+\s+(?:at|in|near|on|off)\s+(?:the\s+)?[*_\"“]*$"
)
"""Before a name of which nothing is said: "the cave at Brannock known as the Chapel"."""
_PHRASE = 40
_LIKENED = lazy_regex(r"\bthe\s+[\"“'‘]?$")
_IN_BRACKETS = lazy_regex(
    r"""\s*(?:\([^()]{1,60}\)\s*)?[(;]\s*(?:(?P<when>now|then|later|today|originally|formerly|previously|once|initially)
    |or|also|(?:lit(?:erally|\.)?|(?:in\s+)?English(?:\s+title)?|abbreviated|abbr\.)\s*:?)
    \s+(?:simply\s+)?(?:the\s+)?["“'‘]?""",
    re.VERBOSE | re.IGNORECASE,
)
_BORN = lazy_regex(r"\s*[;,(]\s*born\s+(?:as\s+)?", re.IGNORECASE)
_CHINESE_VERB = (
    r"(?:以下)?(?:[又也亦后原旧曾古简全俗别人合统](?:被)?(?:称|名)|又叫|别号|外号|绰号|笔名|艺名|小名|化名"
    r"|英文名称?|中文名称?|英文|英语|缩写|代号|本名)(?:[为作曰是叫])?"
)
_CHINESE = lazy_regex(
    r"\s*(?:[（(][^（()）]{1,50}[）)]\s*)?"  # the years of a life
    rf"(?:的?[》”」』]?[，,（(]?\s*{_CHINESE_VERB}|[，,（(]\s*(?:表?字|号))[：:\s]*[“\"「『《]?"
)
_GOES_ON = lazy_regex(rf"(?![是为等和与及或的在于后、])[{HAN}]")
_THAT_IS = lazy_regex(r"\s*[，,（(]\s*即[：:\s]*[“\"「『]?")
_THAT_IS_END = lazy_regex(r"[”\"」』']?\s*[)）,，;；。]")
_LANGUAGES = """
Afrikaans Albanian Amharic Arabic Armenian Basque Bengali Breton Bulgarian Burmese Cantonese Catalan
Chinese Croatian Czech Danish Dutch English Estonian Finnish French Galician Georgian German Greek
Gujarati Hawaiian Hebrew Hindi Hungarian Icelandic Indonesian Irish Italian Japanese Kannada Kazakh
Khmer Korean Kurdish Lao Latin Latvian Lithuanian Malay Malayalam Maltese Mandarin Marathi Mongolian
Nepali Norwegian Pashto Persian Polish Portuguese Punjabi Romanian Russian Sanskrit Scots Serbian
Sinhala Slovak Slovene Somali Spanish Swahili Swedish Tagalog Tamil Telugu Thai Tibetan Turkish
Ukrainian Urdu Uzbek Vietnamese Welsh
"""
_OPEN = lazy_regex(
    r"\s*[（(]\s*(?:(?P<language>(?:(?:in|[Ss]implified|[Tt]raditional)\s+)?"
    rf"(?:{'|'.join(_LANGUAGES.split())}))\s*[:：;；]\s*)?[^（()）\w]*"
)
_TRANSLATED = lazy_regex(
    rf"(?:[-·][{HAN}]{{1,4}})?[”」』》*]*号?[”」』》*]*\s*[（(](?:R/?V\s+|M/?V\s+)?[“\"「『《*]*"
)
_LATIN_ALONE = lazy_regex(r"(?P<name>[A-Za-zÀ-ɏ][A-Za-zÀ-ɏ .'’&-]{2,50})[”\"」』》*]*[)）]")
"""From a name to the same one in the other script; a tagger may cut "科里格尔-文" short."""
_MAX_GAP = 120
_MOST_IN_BRACKETS = 3
_MOST_FURTHER = 4
_AFTER_BRACKETS = lazy_regex(r"\s*[（(][^（()）]*[）)]")
_OF = lazy_regex(r"[\"”'’]?\s+of\b")
_CLOSE = lazy_regex(r"[”\"」』']?\s*[)）,，;；]")
_STYLE_NAME = lazy_regex(
    rf"(?<=[，,（(])(?:表?字|号|又名|别号|小名)(?P<name>[{HAN}]{{2,3}}?)(?=[，,。；;、）)]|$|[是乃])"
)
_ORGANISATION_WORD = lazy_regex(
    r"\b(?:institute|university|company|ltd|inc|council|society|college|laboratory|agency)\b"
)


def style_name_aliases(segment: Segment) -> list[Candidate]:
    """Courtesy and pen names ("，字玄德，"), which no tagger finds, as candidates."""
    return [
        Candidate(segment.start + m.start("name"), segment.start + m.end("name"), "PERSON")
        for m in _STYLE_NAME.finditer(segment.shadow)
    ]


def stated_aliases(layout: Layout, mentions: Iterable[Mention]) -> Iterator[Statement]:
    """Return a statement `(name, "also known as", alias)` for each stated alias."""
    by_sentence = named_by_sentence(layout, mentions)
    spans = [(layout.sentences[index], named) for index, named in by_sentence]
    of_subject: dict[int, list[tuple[str, str]]] = {}
    for number, one, other in subject_aliases(layout.text, spans):
        of_subject.setdefault(number, []).append((one.key, other.key))
    for number, ((start, end), named) in enumerate(spans):
        pairs = [(one.key, other.key) for one, other in _alias_pairs(layout.text, named)]
        pairs += of_subject.get(number, [])
        for key, second in [*pairs, *_unmarked_translations(layout.text[:end], named)]:
            if key != second:
                yield Statement(
                    start=start, end=end, subject=key, predicate=ALSO_KNOWN_AS, object=second
                )


def _unmarked_translations(text: str, named: Sequence[Mention]) -> Iterator[tuple[str, str]]:
    """Return Chinese names with the keys of English ones in brackets that no reader marked."""
    for one in named:
        opened = _TRANSLATED.match(text, one.end) if has_han(one.surface) else None
        inside = _LATIN_ALONE.match(text, opened.end()) if opened else None
        if inside and (key := name_key(inside["name"])):
            yield one.key, key


def _alias_pairs(text: str, named: Sequence[Mention]) -> Iterator[tuple[Mention, Mention]]:
    """Return a sentence's names with adjacent or bracketed aliases."""
    for place, first in enumerate(named):
        for beside in range(place + 1, min(place + 2 + _MOST_IN_BRACKETS, len(named))):
            second = named[beside]
            between = text[first.end : second.start]
            if len(between) > _MAX_GAP:
                break
            if beside > place + 1 and not _passes_brackets(between):
                break
            if _is_alias(text, first, second):
                yield first, second
                if _ENGLISH.fullmatch(between):
                    further = named[beside : beside + 1 + _MOST_FURTHER]
                    yield from ((first, each) for each in _further(text, further))


def _passes_brackets(between: str) -> bool:
    """Check whether names occur only in brackets, or as a language label."""
    if _AFTER_BRACKETS.match(between):
        return True
    opened = _OPEN.fullmatch(between)
    return opened is not None and bool(opened["language"])


def _further(text: str, named: Sequence[Mention]) -> Iterator[Mention]:
    """Return further aliases joined by "or"."""
    for before, each in pairwise(named):
        if not _FURTHER.fullmatch(text[before.end : each.start]) or _types_differ(before, each):
            return
        yield each


def _types_differ(first: Mention, second: Mention) -> bool:
    return {first.type, second.type} <= _STRONG and first.type != second.type


def _is_alias(text: str, first: Mention, second: Mention) -> bool:
    between = text[first.end : second.start]
    if _is_translated(text, first, second):
        return True
    if _types_differ(first, second):
        return False
    if _BORN.fullmatch(between):  # "born Paris" in a table of places is no name
        return first.type == second.type == "PERSON"
    if _ENGLISH.fullmatch(between):  # "known as the Venice of the North" says what it is like
        if _INSIDE_PHRASE.search(text, max(first.start - _PHRASE, 0), first.start) and (
            between[:1].isspace()
        ):
            return False
        is_likened = _LIKENED.search(between) and _OF.match(text, second.end)
        return not (is_likened or (_SPELT.search(between) and _is_surname_of(first, second)))
    if _CHINESE.fullmatch(between):  # of "蒙古褶" a tagger finds 蒙古
        is_part = between[0] in "》”」』" and text[first.start - 1 : first.start] not in set(
            "《“「『"
        )
        return not (is_part or _GOES_ON.match(text, second.end))
    if _THAT_IS.fullmatch(between):  # "，即袁绍次子" says of somebody else
        return bool(_THAT_IS_END.match(text, second.end))
    if not _CLOSE.match(text, second.end):
        return False
    inside = _IN_BRACKETS.fullmatch(between)
    if inside and first.type == second.type:  # a town "(now Ukraine)" is in it
        return not (inside["when"] and first.type == "PLACE") and not _is_surname_of(first, second)
    opened = _OPEN.fullmatch(between)
    return opened is not None and (bool(opened["language"]) or _brackets_name(first, second))


def _is_translated(text: str, first: Mention, second: Mention) -> bool:
    """Check for a name with the same name in the other script in brackets, and nothing else.

    Quoted names and ships' class word are passed over: "“澜声”号（Lan Sheng）".
    """
    if has_han(first.surface) == has_han(second.surface):
        return False
    between = text[first.end : second.start]
    return bool(_TRANSLATED.fullmatch(between) and _CLOSE.match(text, second.end))


def _is_surname_of(first: Mention, second: Mention) -> bool:
    """Check for a surname after a full name: "George Stewart (or Stuart)" is ambiguous."""
    return first.type == "PERSON" and " " in first.key and " " not in second.key


def _brackets_name(first: Mention, second: Mention) -> bool:
    """Check whether a bracketed name is an alias of the preceding one."""
    one, other = first.surface, second.surface
    if initials_match(other, one) or initials_match(one, other):
        return True
    kinds = {first.type, second.type}
    if "PERSON" not in kinds and (abbreviates(other, one) or abbreviates(one, other)):
        return True
    if is_latin(one) == is_latin(other):
        return False
    latin = first.key if is_latin(one) else second.key
    is_organisation = bool(_ORGANISATION_WORD.search(latin))
    return not ("PERSON" in kinds and (is_organisation or len(latin.split()) > 4))
