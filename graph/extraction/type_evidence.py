"""Evidence of what a name is, from the words around it: one table of cues, one way to weigh them.

Each cue is a statement `(name, OF_TYPE, type)` with a weight: a copula ("is an island"), an
apposition, a class noun in front ("the fiddler Tam Gillebrand", "诗人李白"), a verb that only
persons or places have, a title, a preposition. `ORDINARY` says that a mention may be no name: it
begins a sentence, a heading, or a cell, and is one word. `decide_types` sums the evidence of all
mentions of a name; what has no clear winner stays as it was tagged or without a type.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ..model import NAMED_TYPES, OF_TYPE, ORDINARY, Mention, Statement
from ..resolution.name_parsing import HAN_TITLES, NAMELIKE_TITLES, SURNAMES, TITLES
from ..text.cjk import HAN, has_han
from ..text.sentences import Layout
from .aliases import type_from_words

_PERSONS = """
actor actress admiral ambassador announcer architect artist athlete author baron baroness bishop
botanist boxer boy brother builder bursar captain carpenter chairman chairwoman chancellor chemist
chief clerk coach colonel comedian commander composer conductor cook cousin cricketer critic
cyclist dancer daughter deckhand diplomat director doctor drummer duchess duke earl economist
editor emperor empress engineer explorer farmer father fiddler filmmaker fisherman footballer
founder friend general geologist girl golfer governor guitarist harbourmaster historian husband
inventor journalist judge keeper king knight lawyer lieutenant linguist lyricist maid man manager
mathematician mayor merchant minister model monk mother musician nephew niece nobleman noblewoman
novelist nun nurse officer painter philanthropist philosopher photographer physician physicist
pianist player playwright poet politician pope porter president priest prince princess prisoner
producer professor programmer queen rapper researcher sailor saint scholar scientist screenwriter
sculptor secretary senator sergeant servant shopkeeper singer sister skipper soldier son songwriter
student surgeon swimmer teacher technician treasurer uncle aunt violinist warden widow widower wife
woman worker wrestler writer
"""
_ORGANISATIONS = """
academy agency airline army association band bank brand bureau charity choir church club college
commission committee company consortium cooperative corporation council department distributor
duo ensemble federation firm foundation government group hospital institute institution label
laboratory league manufacturer ministry museum navy newspaper observatory orchestra organisation
organization party publisher quartet regiment retailer school society startup team tribe trio trust
union university
"""
_PLACES = """
archipelago area avenue bay beach borough bridge building canal capital castle cathedral cave city
coast commune community continent country county desert district estuary farm forest fort garden
harbour harbor hamlet headland hill house island isle kingdom lake lighthouse locality monastery
moor mountain municipality neighborhood neighbourhood ocean palace parish park peak peninsula port
province railway region republic reservoir ridge river road room sea seaport settlement square
state station strait street suburb temple territory tower town township valley village volcano ward
wharf
"""
_EVENTS = """
attack battle campaign ceremony championship competition conference congress crash cup disaster
earthquake election epidemic event expedition exhibition festival flood holiday hurricane
inquiry invasion massacre match meeting olympics parade procession race rebellion revolt revolution
season siege storm summit tournament treaty trial uprising war wedding
"""
_WORKS = """
album anthem article autobiography ballad biography book cartoon charter chronicle code comedy
comic constitution documentary drama episode essay film guide hymn journal law magazine manifesto
manual manuscript memoir miniseries movie musical novel novella opera painting paper play poem
policy program protocol report romance scroll sequel series show single sitcom song standard story
suite symphony thriller video
"""
_PRODUCTS = """
aircraft application array barge boat cable car compiler computer console database device distribution
buoy camera clock drug editor engine format framework game gauge glider horn hydrophone instrument
lamp mast microscope kernel language library
locomotive machine medicine missile model phone printer rocket satellite seismometer sensor ship software spectrometer submarine
system tool tram trawler vessel winch
"""
_CONCEPTS = """
alga algorithm animal bacterium belief bird breed compound crop dance dialect disease dish disorder
element enzyme family fish flower food fruit fungus genre genus god goddess gene grass ideology
insect method mineral molecule palette philosophy plant protein religion rule seaweed species
sport substance technique theory tree virus
"""
CLASS_TYPES: Mapping[str, str] = {
    word: kind
    for kind, words in (
        ("CONCEPT", _CONCEPTS),
        ("PRODUCT", _PRODUCTS),
        ("WORK", _WORKS),
        ("EVENT", _EVENTS),
        ("PLACE", _PLACES),
        ("ORGANISATION", _ORGANISATIONS),
        ("PERSON", _PERSONS),
    )
    for word in words.split()
}
"""Class nouns and the type of what they stand for."""
_PHRASES = {
    "research station": "ORGANISATION",
    "radio station": "ORGANISATION",
    "television station": "ORGANISATION",
    "record label": "ORGANISATION",
    "computer program": "PRODUCT",
    "operating system": "PRODUCT",
    "house band": "ORGANISATION",
}
"""Two last words of a noun phrase that say another thing than the last alone."""
_HAN_CLASSES = {
    "PERSON": "诗人 作家 画家 学生 教授 博士 记者 歌手 演员 导演 科学家 水手 渔民 创始人 提琴手 女士"
    " 先生 作者 父亲 母亲 妻子 丈夫 儿子 女儿 皇帝 将军 翻译 财务主管 音乐家 军人 政治家".split(),
    "ORGANISATION": "公司 大学 机构 研究所 乐队 球队 企业 学校 政党".split(),
    "PLACE": "岛 岛屿 城市 村 村庄 县 市 镇 省 河流 山 湖 港口 国家".split(),
    "WORK": "小说 电影 专辑 歌曲 著作 诗 论文 报纸 协议".split(),
    "CONCEPT": "海藻 植物 动物 化合物 疾病 物种 语言".split(),
}
_HAN_TYPES = {word: kind for kind, words in _HAN_CLASSES.items() for word in words} | {
    word: "PERSON" for word in HAN_TITLES if len(word) > 1
}

_ASIDE = r"(?:\**\s*\([^()]{0,160}\)|,\s[^,.;]{1,60},(?=\s(?:is|was)\b))?[\"”’*_]*"
_NOUN_PHRASE = r"(?P<noun>(?:(?!of\b|in\b|by\b|that\b|which\b|who\b|and\b|at\b|for\b|from\b|on\b|with\b|to\b)[\w'’-]+[ ]){0,7}?[a-z][a-z-]+)(?=[ ](?:of|in|by|that|which|who|whose|and|or|at|for|from|on|off|with|to|known|based|located|directed|written|born|near|where|running)\b|[,.;:)\n]|$)"
_DEFINED = re.compile(
    rf"{_ASIDE}\s+(?:is|was|are|were)\s+(?:(?:also|now|then|once|still)\s+)?"
    rf"(?:an?|the|one\s+of\s+the)\s+{_NOUN_PHRASE}"
)
_APPOSED = re.compile(rf"[\"”’*_]*,\s+(?:an?|the|our|his|her)\s+{_NOUN_PHRASE}")
_ROLE_AFTER = re.compile(r"[*_]*(?:,| \()\s*(?P<noun>[a-z]+)(?=[,.;)\n]|$| (?:of|in|at)\b)")
_BEFORE = re.compile(r"(?P<noun>[A-Za-z][a-z]+)(?P<marks>:?[ ]?[*_\"“]{0,3})$")
_CLASS_OF = re.compile(r"\b(?P<noun>[a-z]+)\s+of\s+[*_\"“]{0,3}$")
_SENDER = re.compile(r"(?:^|\n|\|\s*)\**(?:From|To|Cc|By|Author|Approved by|Prepared by|Words)\**:\**\s*$", re.I)
_PERSON_VERBS = re.compile(
    r"(?:,?\s+(?:who\s+)?(?:\w+ly\s+)?|\s*[\"”]\s*)(?:said|says|asked|replied|answered|cried|"
    r"exclaimed|told|thought|wrote|writes|smiled|laughed|nodded|whispered|shook|sat|married|died|"
    r"was\s+born|was\s+educated|retired|resigned|graduated|starred|sang|felt|remembered|knew|"
    r"looked|turned|walked|wept|observed|remarked|returned\s+home|studied|read)\b(?!\s+as\s+a\s+city)"
)
_SAID_BY = re.compile(r"(?:[\"”’]\s*(?:said|asked|replied|cried|answered|returned|observed|exclaimed)(?:\s+the)?|starring|married(?:\s+to)?|son\s+of|daughter\s+of|(?:written|directed|produced|composed|painted)\s+by)\s+$")
_PLACE_AFTER = re.compile(
    r"\s+(?:lies|is\s+located|is\s+situated|was\s+located|borders|stands)\b"
)
_PLACE_BEFORE = re.compile(
    r"\b(?:born|died|lives?|lived|located|situated|held|moved|arrived|arrives|landed|stationed|"
    r"filmed|buried|studied)\s+(?:in|at|on|to|near)\s+$"
)
_SIMPLE_PLACE = re.compile(r"\b(?:in|near|around|off|towards|at)\s+$")
_ABOARD = re.compile(
    r"\b(?:(?:aboard|on\s+board(?:\s+of)?)(?:\s+the)?|RV|MV|SS|HMS|USS)[*_]*\s+[*_\"“]*$"
)
_ARTICLE = re.compile(r"\b(?:the|an?|this)\s+[*_]{0,2}$", re.IGNORECASE)
_ENDS = re.compile(r"[*_\"”]*(?:[,.;:)]|\s+(?:\w+s|was|were|had|\w+ed|and|or|in|on|at|of|by|to)\b|$)")
_FOLLOWED = re.compile(r"\s+(?:[a-z]+\s)?(?P<noun>[a-z]+)\b")
_HAN_PERSON_VERBS = re.compile(
    r"(?:出生|生于|[说道曰问答]|表示|认为|去世|逝世|写道|嫁给|结婚|毕业|考入|笑|回答|介绍|追问|叹)"
)
_HAN_PLACE_AFTER = re.compile(r"(?:位于|坐落|[村镇岛港湾市县省]|(?:海|河|运)?峡)")
_HAN_DEFINED = re.compile(rf"(?:[（(][^（）()]{{0,80}}[）)])?[，]?是(?:一[{HAN}]|[^，。；]{{0,24}}的)[^，。；]{{0,14}}?(?P<noun>[{HAN}]{{1,3}})(?=[，。；]|$)")
_HAN_PLACE_BEFORE = re.compile(r"(?:抵达|前往|来到|位于|住在|出生于|到达|离开)$")

COPULA, APPOSED, IN_FRONT, VERB, TITLE, BEHIND, PLACE_NEAR = 5.0, 3.0, 4.0, 2.0, 4.0, 1.5, 0.7
AGAINST_A_PERSON = -1.5

_SURNAME_LIKE = """
head hill hills point park forest castle palace reef rock falls gulf plateau ridge creek cove garden
gardens city airport cathedral kingdom empire duchy archipelago desert
"""
_WORKS_BY_NAME = """
charter agreement convention act guidelines policy license licence manual guide report symphony
suite bible gospel song ballad handbook protocol hymn
"""
_HEADS = {word: "PLACE" for word in _SURNAME_LIKE.split()} | {
    word: "WORK" for word in _WORKS_BY_NAME.split()
}
"""Last words of names that tell a type where nothing speaks against it."""



def type_statements(layout: Layout, mentions: Iterable[Mention]) -> Iterator[Statement]:
    """Yield each type that the words around a name speak for, once a sentence."""
    best: dict[tuple[int, int, str, str], float] = {}
    for mention in mentions:
        index = layout.sentence_at(mention.start)
        if mention.type not in NAMED_TYPES or index is None:
            continue
        span = layout.sentences[index]
        for kind, weight in _cues(layout, mention, span):
            place = (*span, mention.key, kind)
            best[place] = max(best.get(place, weight), weight)
        if _is_doubtful(layout, mention, span):
            place = (*span, mention.key, ORDINARY)
            best[place] = best.get(place, 0.0) + 1.0
    for (start, end, key, kind), weight in best.items():
        yield Statement(
            start=start, end=end, subject=key, predicate=OF_TYPE, object=kind, strength=weight
        )


def _cues(layout: Layout, mention: Mention, span: tuple[int, int]) -> Iterator[tuple[str, float]]:
    begin, end = span
    before = layout.text[max(begin, mention.start - 80) : mention.start]
    after = layout.text[mention.end : min(end, mention.end + 240)]
    if has_han(mention.surface):
        yield from _han_cues(before, after)
        return
    if (match := _DEFINED.match(after)) and (kind := _type_of_phrase(match["noun"])):
        yield kind, COPULA
    for pattern in (_APPOSED, _ROLE_AFTER):
        match = pattern.match(after)
        if match and (kind := _type_of_phrase(match["noun"])):
            yield kind, APPOSED
    if match := _BEFORE.search(before):
        kind = CLASS_TYPES.get(match["noun"].casefold(), "")
        if kind and (match["noun"].islower() or match["marks"].startswith(":")):
            yield kind, IN_FRONT
    if (match := _CLASS_OF.search(before)) and CLASS_TYPES.get(match["noun"]) == "PLACE":
        yield "PLACE", IN_FRONT
    if _ARTICLE.search(before):
        if _ENDS.match(after):
            yield "PERSON", AGAINST_A_PERSON
        elif (match := _FOLLOWED.match(after)) and CLASS_TYPES.get(match["noun"]) == "PRODUCT":
            yield "PRODUCT", BEHIND
    elif (match := _FOLLOWED.match(after)) and CLASS_TYPES.get(match["noun"]) == "PLACE":
        yield "PLACE", BEHIND
    first = mention.key.split()[0].rstrip(".")
    if first in TITLES - NAMELIKE_TITLES and " " in mention.key:
        yield "PERSON", TITLE
    for pattern, kind, weight in (
        (_PERSON_VERBS, "PERSON", VERB),
        (_PLACE_AFTER, "PLACE", IN_FRONT),
    ):
        if pattern.match(after):
            yield kind, weight
    for pattern, kind, weight in (
        (_SENDER, "PERSON", IN_FRONT),
        (_SAID_BY, "PERSON", VERB),
        (_PLACE_BEFORE, "PLACE", VERB),
        (_SIMPLE_PLACE, "PLACE", PLACE_NEAR),
        (_ABOARD, "PRODUCT", IN_FRONT),
    ):
        if pattern.search(layout.text[max(0, mention.start - 40) : mention.start]
                          if pattern is _SENDER else before):
            yield kind, weight


def _han_cues(before: str, after: str) -> Iterator[tuple[str, float]]:
    before = before.rstrip("“「*_：: ")
    if (match := _HAN_DEFINED.match(after)) and (kind := _han_type(match["noun"])):
        yield kind, COPULA
    if kind := _han_type(before):
        yield kind, IN_FRONT if kind == "PERSON" else APPOSED
    if _HAN_PERSON_VERBS.match(after):
        yield "PERSON", VERB
    if any(after.startswith(title) for title in HAN_TITLES if len(title) > 1):
        yield "PERSON", VERB
    if _HAN_PLACE_AFTER.match(after):
        yield "PLACE", IN_FRONT
    if _HAN_PLACE_BEFORE.search(before):
        yield "PLACE", VERB
    elif before.endswith("在") and after.startswith(("的", "有", "举", "建", "，")):
        yield "PLACE", PLACE_NEAR


def _han_type(text: str) -> str:
    return next((_HAN_TYPES[text[-n:]] for n in (4, 3, 2) if text[-n:] in _HAN_TYPES), "")


def _type_of_phrase(phrase: str) -> str:
    """Return the type that the head of a noun phrase tells; "" for none."""
    words = phrase.casefold().split()
    if len(words) > 1 and (kind := _PHRASES.get(" ".join(words[-2:]))):
        return kind
    head = words[-1].rsplit("-", 1)[-1]
    return CLASS_TYPES.get(head) or CLASS_TYPES.get(head.removesuffix("s"), "")


_CELL = re.compile(r"\|[ ]*[*_]*$")
_LINE_START = re.compile(r"[ \t#>*_\-\d.)]*")
_OPENING_QUOTE = re.compile(r"(?:^|\s)[“\"‘'][*_]?$")
_FINITE = re.compile(r"[*_]*\s+(?:is|was|has|had|are|were|will|can|[a-z]+(?:ed|[^s]s))\b")


def _is_doubtful(layout: Layout, mention: Mention, span: tuple[int, int]) -> bool:
    """Check for a single word that has its capital from its place, or lower case elsewhere."""
    surface, text = mention.surface, layout.text
    if " " in surface or has_han(surface):
        return False
    line = text[text.rfind("\n", 0, mention.start) + 1 : mention.start]
    if _CELL.search(line) or (_LINE_START.fullmatch(line) and line.lstrip().startswith("#")):
        return True
    if re.search(rf"(?<![\w'’]){re.escape(surface.lower())}(?!\w)", text):
        return True
    if _FINITE.match(text, mention.end):
        return False
    opening = text[span[0] : mention.start]
    return (
        not any(c.isalnum() for c in opening)
        or bool(_OPENING_QUOTE.search(opening))
        or bool(_LINE_START.fullmatch(line))
    )


_MOST_TAGGED = 4.0
_MOST_AGAINST = -5.0
TITLE_WEIGHT = 8.0
_NEEDED = 0.5
_CLEAR = 1.25
_HEAD = 6.0
_SURNAME = 4.0


def decide_types(
    types: Counter[str], cues: Mapping[str, float], *, head: str = ""
) -> Counter[str]:
    """Return a name's counts of types, settled where the evidence has a clear winner.

    `types` counts what its mentions were tagged as, `cues` sums the evidence around them, `head`
    is the type of its own head word. The number of named mentions stays; without a winner all of
    them are NAME. Empty for what is no name at all: each mention is at a beginning, or the word
    stands in lower case as well, and nothing speaks for a name.
    """
    named = sum(n for kind, n in types.items() if kind != "CONCEPT")
    if not named:
        return types
    scores = _scores(types, named)
    for kind, weight in cues.items():
        if kind != ORDINARY:
            scores[kind] += max(weight, _MOST_AGAINST)
    if head:
        scores[head] += _HEAD
    told = sum(weight for kind, weight in cues.items() if kind != ORDINARY and weight > 0)
    if not told and not head and cues.get(ORDINARY, 0.0) >= named:
        return Counter({"CONCEPT": types["CONCEPT"]} if types["CONCEPT"] else {})
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])) + [("NAME", 0.0)]
    (best, score), (_, second) = ranked[:2] if len(ranked) > 1 else (ranked[0], ("", 0.0))
    is_clear = score >= _NEEDED and score >= _CLEAR * second and best != "CONCEPT"
    kind = best if is_clear else "NAME"
    settled = Counter({kind: named})
    if types["CONCEPT"]:
        settled["CONCEPT"] += types["CONCEPT"]
    return settled


def head_type(key: str) -> str:
    """Return the type that a name's own words tell: "… Institute", "Count of Nassau"; or ""."""
    if has_han(key):
        is_stuff = key[-1] in _HAN_STUFF and key[0] not in SURNAMES
        return "CONCEPT" if is_stuff else ""
    words = key.split()
    if len(words) < 2:
        return ""
    after = key.rpartition(", ")[2].split() if ", " in key else words
    if after[1:2] == ["of"] and after[0] in _RANKS:
        return _RANKS[after[0]]
    return type_from_words(key) or _HEADS.get(words[-1], "")


_HAN_STUFF = frozenset("藻素菌病症酸")
"""Last characters of living things, substances and diseases."""
_RANKS = {
    word: CLASS_TYPES[word]
    for word in (
        "king queen prince princess duke duchess earl baron baroness bishop pope emperor empress"
        " governor founder judge mayor battle siege treaty ballad republic kingdom province city"
        " university ministry"
    ).split()
} | dict.fromkeys(("count", "countess", "margrave", "lord", "landgrave", "elector"), "PERSON")
"""Classes that names begin with before "of"."""


def title_type(title: str) -> str:
    """Return the type that a title's brackets tell: "Dark River (2017 film)"; or ""."""
    match = _IN_BRACKETS.search(title)
    return _type_of_phrase(match["noun"]) if match else ""


_IN_BRACKETS = re.compile(r"\((?P<noun>[^()]*[a-z])\)\s*$")


def surnames_of(types: Mapping[str, Counter[str]]) -> set[str]:
    """Return the last words of full names that are persons'."""
    return {
        key.split()[-1]
        for key, some in types.items()
        if " " in key and some["PERSON"] and not has_han(key)
    }


def _scores(types: Counter[str], named: int) -> Counter[str]:
    """Return what the tagger says, of which many mentions say no more than a few."""
    share = min(float(named), _MOST_TAGGED) / named
    return Counter(
        {
            kind: n * share * (0.4 if kind == "NAME" else 1.0)
            for kind, n in types.items()
            if kind != "CONCEPT"
        }
    )


def settle_types(
    types: Mapping[str, Counter[str]],
    cues: Mapping[str, Mapping[str, float]],
    surfaces: Mapping[str, Iterable[str]],
) -> dict[str, Counter[str]]:
    """Return all names' counts of types as `decide_types` settles them; a surname is a person's."""
    settled: dict[str, Counter[str]] = defaultdict(Counter)
    known = {key: _tagged(some, surfaces[key]) for key, some in types.items()}
    for key, some in known.items():
        found = decide_types(some, cues.get(key, {}), head=head_type(key))
        settled[key] = _unless_shouted(found, surfaces[key], cues.get(key, {}))
    surnames = surnames_of(settled)
    for key in known:
        if key in surnames or (key.endswith("s") and key[:-1] in surnames):
            told = dict(cues.get(key, {}))
            told["PERSON"] = told.get("PERSON", 0.0) + _SURNAME
            settled[key] = decide_types(known[key], told, head=head_type(key))
    return settled


def _tagged(types: Counter[str], surfaces: Iterable[str]) -> Counter[str]:
    """Take acronyms, which a tagger calls organisations, for untyped."""
    if not all(s.isupper() and s.isascii() and s.isalpha() and len(s) <= _ACRONYM for s in surfaces):
        return types
    named = types.total() - types["CONCEPT"]
    return Counter({kind: n for kind, n in (("NAME", named), ("CONCEPT", types["CONCEPT"])) if n})


_ACRONYM = 6


def _unless_shouted(
    types: Counter[str], surfaces: Iterable[str], cues: Mapping[str, float]
) -> Counter[str]:
    """Leave out what stands in capitals alone, as headings do, and is no acronym."""
    every = list(surfaces)
    if any(not s.isupper() for s in every) or any(w > 0 and k != ORDINARY for k, w in cues.items()):
        return types
    is_long = any(
        any(len(word) > _ACRONYM and word.isalpha() for word in s.split()) or len(s.split()) > 2
        for s in every
    )
    return Counter() if is_long else types


_MOST_WORDS = 8


def is_namelike(titles: Iterable[str]) -> bool:
    """Check for a title that could be a thing's name: no sentence, no numbered heading."""
    for title in titles:
        words = [word for word in re.findall(r"[^\W\d_]{4,}", title) if not has_han(word)]
        if has_han(title) and len(title) <= _MOST_HAN and not re.search(r"[？?！!，,/]", title):
            return True
        plain = not re.match(r"(?:chapter|section|part|appendix)\s+[\dA-Z]+\b", title, re.IGNORECASE)
        if not has_han(title) and plain and len(title.split()) <= _MOST_WORDS and "?" not in title:
            if all(word[0].isupper() for word in words):
                return True
    return False


_MOST_HAN = 14
