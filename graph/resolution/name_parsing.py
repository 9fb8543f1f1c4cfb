"""Parts of names: titles, surnames, given names, initials, numbers, suffixes.

Works on name keys (see `graph.text.names.name_key`) and surfaces, English and Chinese. English word
lists are lower case and without accents, as keys are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..text.cjk import HAN
from ..text.patterns import lazy_regex

_MALE = "mr mister master sir lord king prince duke uncle father brother baron monsieur"
_FEMALE = """
mrs ms miss madam madame mme lady queen princess duchess aunt sister dame mother baroness
"""
_NEUTRAL = """
dr doctor prof professor captain capt colonel col general gen major lieutenant lt sergeant sgt
reverend rev judge president senator governor chancellor minister commander admiral inspector
director chairman vice premier bishop archbishop pope saint st emperor empress count hon mayor
harbourmaster
"""
MALE_TITLES = frozenset(_MALE.split())
FEMALE_TITLES = frozenset(_FEMALE.split())
TITLES = MALE_TITLES | FEMALE_TITLES | frozenset(_NEUTRAL.split())

MARRIED_TITLES = frozenset({"mrs", "lady", "madame", "mme", "夫人", "太太"})
"""Titles that may go with a husband's name: the full name at hand may be his."""
FAMILY_TITLES = MARRIED_TITLES | {"miss"}
"""Titles that tell members of one family apart."""
NAMELIKE_TITLES = frozenset(
    {"general", "major", "saint", "st", "count", "prince", "king", "sister"}
)
"""Titles that also begin other names: "General Electric", "St Ives"."""

GENERATIONS = frozenset({"jr", "sr", "junior", "senior", "ii", "iii", "iv"})
"""Generation suffixes that separate parent and child."""

RANKS = frozenset(
    {"baron", "count", "duchess", "duke", "earl", "lord", "marquess", "marquis", "viscount"}
)
"""Ranks: a place follows them more often than a surname."""

_PARTICLES = "al bin da das de del della den der des di do dos du el ibn la le ter van von zu"
PARTICLES = frozenset(_PARTICLES.split())
"""Small words that belong to the surname behind them: "de la Rocha"."""

_NAMED_AFTER_PERSONS = """
& and academy airport arena award awards band bridge building center centre church college
collection company cup ensemble expedition experience foundation fund gallery group hall hospital
house institute lecture library medal memorial motors museum mysteries orchestra park prize
quartet quintet records school series sextet show singers society stadium story street studio
studios theater theatre tour tower trio trophy trust university
"""
NAMED_AFTER_PERSONS = frozenset(_NAMED_AFTER_PERSONS.split())
_NO_EXTENSION = GENERATIONS | NAMED_AFTER_PERSONS
"""Class words that make a personal name something else."""

_CORPORATE = """
ltd limited inc incorporated corp corporation co company llc plc gmbh ag sa nv bv oy ab
"""
CORPORATE_SUFFIXES = frozenset(_CORPORATE.split())

_HAN_TITLES = """
博士 教授 先生 女士 小姐 夫人 太太 站长 所长 院长 校长 局长 部长 市长 县长 镇长 主任 主席 总统 总理
将军 上校 少校 上尉 老师 医生 大夫 律师 经理 总经理 董事长 队长 船长 工程师 秘书长 书记 研究员 馆长
会长 村长 社长 总监 议员 法官 同志 师傅 警官 导演 教练 大使 司令 参谋长 行长 处长 科长 组长 班长
省长 委员 检察官 记者 编辑 总 丞相 太尉 太傅 都督 太守 使君 公
"""
HAN_TITLES = tuple(_HAN_TITLES.split())
VENERABLE = "公"
"""A title of old texts that modern ones have in other words as well (雷公, 周公)."""
HAN_MALE_TITLES = frozenset({"先生"})
HAN_FEMALE_TITLES = frozenset({"女士", "小姐", "夫人", "太太"})

_COMPOUND_SURNAMES = """
欧阳 司马 诸葛 上官 夏侯 东方 皇甫 尉迟 公孙 令狐 慕容 司徒 宇文 长孙 太史 端木 独孤 南宫 百里
"""
COMPOUND_SURNAMES = frozenset(_COMPOUND_SURNAMES.split())
SURNAMES = frozenset(
    "王李张刘陈杨黄赵周吴徐孙朱马胡郭林何高梁郑罗宋谢唐韩曹许邓萧冯曾程蔡彭潘袁于董余苏叶吕魏蒋田杜丁"
    "沈姜范江傅钟卢汪戴崔任陆廖姚方金邱夏谭韦贾邹石熊孟秦阎薛侯雷白龙段郝孔邵史毛常万顾赖武康贺严尹钱"
    "施牛洪龚汤陶黎温莫易樊乔文安殷颜庄章鲁倪庞邢俞翟蓝聂齐向申葛柴伍覃骆关焦柳欧祝纪尚毕耿芦左季管苗"
    "詹曲靳祁路涂宁费霍阮裴柯荀甘邝闵简盛鲍房辛凌卫解虞冉岳褚边姬穆桂牟刁臧娄车卓糜典蒯滕麋审淳宗甄尤"
)

_MALE_NAMES = """
aaron adam alan albert alexander alfred andrew anthony arthur ben benjamin bernard bill bob brian
bruce carl carlos charles charlie christian christopher daniel david dennis donald douglas edward
edwin eric ernest eugene francis frank fred frederick gary george gerald greg gregory harold harry
henry herbert howard hugh ian jack jacob james jason jeff jerry jim joe john jonathan jose joseph
juan karl keith ken kenneth kevin larry lawrence leo leon leonard lewis louis luke mark martin
matthew max michael mike nicholas nick oliver oscar patrick paul peter philip ralph raymond richard
robert roger ronald roy russell ryan samuel scott sean simon stephen steve steven stuart theodore
thomas tim timothy tom tony victor vincent walter wayne william
"""
_OTHER_NAMES = """
alex alice amanda amy andrea angela ann anna anne barbara betty carol caroline catherine charlotte
chris christina christine claire deborah diana dorothy eleanor elizabeth ellen emily emma eva evelyn
florence frances grace hannah heather helen irene isabel jane janet jean jennifer jessica joan joyce
judith julia julie karen kate katherine kelly kim laura lee linda lisa louise lucy margaret maria
marie martha mary michelle nancy nicole pamela patricia rachel rebecca rose ruth sam sandra sara
sarah sharon sophia sophie susan teresa victoria wendy
"""
EPITHETS = frozenset(
    [
        "old",
        "poor",
        "dear",
        "dearest",
        "late",
        "little",
        "good",
        "evil",
        "tiny",
        "young",
        "sweet",
        "beloved",
        "darling",
    ]
)
"""Words before a person's name that are no part of it: "Poor Bob", "old Ebenezer Scrooge"."""
MALE_NAMES = frozenset(_MALE_NAMES.split())
"""Given names that a wife may have of her husband, "Mrs Charles Dalloway"."""
COMMON_GIVEN_NAMES = MALE_NAMES | frozenset(_OTHER_NAMES.split())
"""Given names so common that one alone says too little about who is meant."""

_DIMINUTIVES = """
abe abraham; al albert alfred alan alexander; alec alexander; alex alexander alexandra; andy andrew
annie anne ann anna; archie archibald; art arthur; bart bartholomew; bea beatrice; becky rebecca
ben benjamin; bernie bernard; bert albert herbert robert; bess elizabeth; beth elizabeth
betsy elizabeth; betty elizabeth; bill william; billy william; bob robert; bobby robert
cathy catherine; charlie charles; chris christopher christine; chuck charles; cindy cynthia
cliff clifford; dan daniel; danny daniel; dave david; debbie deborah; dick richard; don donald
dot dorothy; drew andrew; ed edward edwin; eddie edward; eliza elizabeth; ellie eleanor
fanny frances; fred frederick; gabe gabriel; gene eugene; geoff geoffrey; gerry gerald; greg gregory
gus augustus; hal henry harold; hank henry; harry henry harold; jack john; jake jacob; jeff jeffrey
jenny jennifer; jerry gerald jerome; jim james; jimmy james; jo josephine; joe joseph; joey joseph
jon jonathan; josh joshua; kate katherine catherine; kathy katherine; katie katherine; ken kenneth
kit christopher; kitty catherine katherine; larry lawrence; lenny leonard; lew lewis; liz elizabeth
lizzie elizabeth; lizzy elizabeth; lou louis louise; maggie margaret; mandy amanda; marge margaret
matt matthew; meg margaret; mick michael; mike michael; minnie wilhelmina; molly mary; nat nathaniel
ned edward; nell eleanor; nick nicholas; pam pamela; pat patrick patricia; patty patricia
peg margaret; peggy margaret; pete peter; phil philip; polly mary; ray raymond; reg reginald
rick richard; rob robert; robbie robert; ron ronald; ros rosalind rosamund; roz rosalind
sally sarah; sam samuel; sandy alexander; sid sidney; stan stanley; steve stephen steven; sue susan
ted edward theodore; teddy edward; terry terence; theo theodore; tim timothy; toby tobias
tom thomas; tommy thomas; tony anthony; val valerie; vic victor; viv vivian; wally walter
walt walter; wendy gwendolyn; will william; zack zachary
"""
DIMINUTIVES = {
    words[0]: frozenset(words[1:])
    for words in (each.split() for each in re.split(r"[;\n]", _DIMINUTIVES))
    if words
}
"""Short given names, and the full ones that they may stand for."""

_HAN_CORPORATE = lazy_regex(r"(?:股份)?有限(?:责任)?公司$")
_HAN_TITLED = lazy_regex(rf"(?P<surname>[{HAN}]{{1,2}})(?P<title>{'|'.join(HAN_TITLES)})")
_NUMBER = lazy_regex(
    r"\d[\d.,]*"
    r"|\b(?:x{0,3}(?:ix|iv|vi{1,3}|ii{1,2})|xx{1,2})\b|(?<=\s)[ivx]$"
    r"|(?<![一二三四五六七八九十])[一二三四五六七八九十]+(?=[号期届代])"
)
_SEPARATORS = lazy_regex(r"[.\-–—‐,]")
_SMALL = frozenset(
    {"of", "the", "and", "for", "de", "la", "des", "du", "in", "on", "at", "to", "&"}
)


@dataclass(frozen=True, slots=True)
class NameParts:
    """A name key taken apart.

    `words` is the key without titles, leading "the" and corporate suffixes, with dots and hyphens
    gone; `gender` is "m", "f" or "" as the title says.
    """

    words: tuple[str, ...]
    titles: tuple[str, ...] = ()
    gender: str = ""
    numbers: tuple[str, ...] = ()
    article: bool = False
    suffix: bool = False
    han_title: str = ""

    @property
    def plain(self) -> str:
        """The words as one string, the same for hyphen and space variants."""
        return "".join(self.words)


def parts_of(key: str) -> NameParts:
    """Split a name key into parts; never without words."""
    titled = _HAN_TITLED.fullmatch(key)
    if titled and is_surname(titled["surname"]):
        return _titled_in_chinese(titled["surname"], titled["title"])
    words = _SEPARATORS.sub(" ", key).split() or [key]
    article = len(words) > 1 and words[0] == "the"
    words = words[1:] if article else words
    titles: list[str] = []
    while len(words) > 1 and words[0] in TITLES and words[1] not in _SMALL:
        titles.append(words.pop(0))
    bare = _without_suffix(words)
    genders = ["m" if t in MALE_TITLES else "f" for t in titles if t in MALE_TITLES | FEMALE_TITLES]
    return NameParts(
        words=tuple(bare),
        titles=tuple(titles),
        gender=genders[0] if genders else "",
        numbers=tuple(_NUMBER.findall(" ".join(words))),
        article=article,
        suffix=bare != words,
    )


def _titled_in_chinese(surname: str, title: str) -> NameParts:
    gender = "m" if title in HAN_MALE_TITLES else "f" if title in HAN_FEMALE_TITLES else ""
    return NameParts(words=(surname,), titles=(title,), gender=gender, han_title=title)


def _without_suffix(words: list[str]) -> list[str]:
    bare = words
    while len(bare) > 1 and bare[-1] in CORPORATE_SUFFIXES:
        bare = bare[:-1]
    han = _HAN_CORPORATE.sub("", bare[-1])
    return [*bare[:-1], han] if len(han) > 1 else bare


def is_of_husband(parts: NameParts) -> bool:
    """Check for "Mrs Charles Dalloway", who has her husband's given name."""
    is_full = len(parts.words) > 1
    return is_full and bool(MARRIED_TITLES & {*parts.titles}) and parts.words[0] in MALE_NAMES


def is_bare_title(key: str) -> bool:
    """Check whether a name key is a title and nothing else ("Director", 所长)."""
    words = [word.rstrip(".") for word in key.split()]
    return key in HAN_TITLES or all(word in TITLES or word in _SMALL for word in words)


def is_surname(text: str) -> bool:
    """Check for a Chinese surname."""
    return text in COMPOUND_SURNAMES or (len(text) == 1 and text in SURNAMES)


def han_surname(name: str) -> str:
    """Return the surname of a Chinese name of two to four characters, or ""."""
    if not 2 <= len(name) <= 4:
        return ""
    if name[:2] in COMPOUND_SURNAMES and len(name) > 2:
        return name[:2]
    return name[0] if name[0] in SURNAMES and len(name) <= 3 else ""


def given_name(name: str) -> str:
    """Return the given name of a full Chinese name, or ""."""
    surname = han_surname(name)
    given = name[len(surname) :] if surname else ""
    return given if given not in {"字", "号", "名"} else ""


def initials_of(name: str) -> frozenset[str]:
    """Return lower-case initials with and without small words ("of", "the")."""
    words = [w for w in re.split(r"[\s\-/]+", name.casefold()) if w and w[0].isalpha()]
    main = [w for w in words if w not in _SMALL]
    return frozenset("".join(w[0] for w in some) for some in (words, main) if len(some) > 1)


def initials_match(short: str, long: str) -> bool:
    """Check whether `short` is an acronym (2–8 letters) of the words of `long`.

    Small words of `long` may or may not count: NATO and "Department of Defense" DoD both match.
    """
    letters = short.replace(".", "").replace(" ", "")
    if not 2 <= len(letters) <= 8 or not letters.isalpha() or sum(map(str.isupper, letters)) < 2:
        return False
    return letters.casefold() in initials_of(long)


def abbreviates(short: str, long: str) -> bool:
    """Check whether the name `short`, mostly capitals, abbreviates the words of `long`.

    Its letters and digits are found in `long` from the right, each somewhere before the one after
    it, the first where a word begins (Schwartz and Hearst 2003, section 3.2). What stands before
    that word may be a place ("U.S. Office …"), but nothing "of" what is abbreviated.
    """
    sought = [c for c in short.casefold() if c.isalnum()]
    capitals = sum(c.isupper() or c.isdigit() for c in short)
    if not 2 <= len(sought) <= 10 or 2 * capitals <= len(sought) or len(long.split()) < 2:
        return False
    text = long.casefold()
    place = len(text)
    for letter in reversed(sought[1:]):
        place = text.rfind(letter, 0, place)
        if place < 0:
            return False
    starts = [m.start() for m in re.finditer(r"\b\w", text[:place]) if m[0] == sought[0]]
    is_shorter = len(sought) < sum(map(str.isalnum, text))
    return is_shorter and bool(starts) and "of" not in text[: starts[-1]].split()


def singular(word: str) -> str:
    """Return an English plural's likely singular, for comparing noun phrases."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def is_shorter_name(shorter: NameParts, longer: NameParts) -> bool:
    """Check whether all words of `shorter` occur in `longer` in order, initials allowed."""
    if len(shorter.words) > len(longer.words) or shorter.words[-1] != longer.words[-1]:
        return False
    if shorter.numbers != longer.numbers or shorter.words == longer.words:
        return False
    place = 0
    for word in shorter.words[:-1]:
        while place < len(longer.words) - 1 and not _same_given(word, longer.words[place]):
            place += 1
        if place == len(longer.words) - 1:
            return False
        place += 1
    return _same_given(shorter.words[0], longer.words[0])


def _same_given(short: str, full: str) -> bool:
    if short == full or (len(short) == 1 and full.startswith(short)):
        return True
    return full in DIMINUTIVES.get(short, ())


def one_person(candidates: Sequence[NameParts]) -> bool:
    """Check whether all candidates may be one person: each fits the longest."""
    longest = max(candidates, key=lambda p: (len(p.words), len(p.plain), p.words))
    return all(p.words == longest.words or is_shorter_name(p, longest) for p in candidates)


NameBeginning = tuple[tuple[str, ...], tuple[str, ...]]
"""The first words of a name, and its numbers."""


def beginnings_of(longer: NameParts) -> Iterator[NameBeginning]:
    """Yield the multi-word names that a name extends, with no generation or class word."""
    for count in range(len(longer.words) - 1, 1, -1):
        if longer.words[count] in _NO_EXTENSION:
            return
        yield longer.words[:count], longer.numbers


def is_extended_name(shorter: NameParts, longer: NameParts) -> bool:
    """Check whether `longer` extends a multi-word name, with no generation or class word."""
    return (shorter.words, shorter.numbers) in beginnings_of(longer)


def fit_together(one: NameParts, other: NameParts) -> bool:
    """Check whether either name fits the other, or begins it."""
    return any(
        is_shorter_name(a, b) or is_extended_name(a, b) for a, b in ((one, other), (other, one))
    )
