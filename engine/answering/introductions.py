"""Sentences that say who a person is: *Fred, Scrooge's nephew*, *the bursar, Ann Pyke*."""

from __future__ import annotations

import re

from graph.text.cjk import HAN
from graph.text.patterns import lazy_regex

from ..prompts import language_of
from ..storage.graph_api import given_name, type_of_phrase, without_title_dots

_KIN_HAN = "父|母|子|女|兄|弟|姐|妹|妻|夫|侄|甥|叔|伯|舅|姑|孙|婿|师|徒|友"
_PARTS_HAN = (
    "同窗|部将|谋士|军师|主公|义弟|义兄|兄弟|丈夫|妻子|儿子|女儿|父亲|母亲|学生|老师|上司|下属|同事"
    "|创始人|成员"
)
ROLE = re.compile(
    r"\b(?:(?:grand|god|step|foster )?-?(?:father|mother|son|daughter|child|parent)s?(?:-in-law)?"
    r"|(?:half-)?(?:brother|sister)s?(?:-in-law)?|wife|husband|widow(?:er)?|spouse|uncle|aunt"
    r"|nephew"
    r"|niece|cousin|twin|sibling|heir|fianc[ée]e?|sweetheart|friend|rival|enemy|partner|colleague"
    r"|assistant|apprentice|clerk|servant|secretary|deputy|student|pupil|teacher|tutor|mentor"
    r"|supervisor"
    r"|successor|predecessor|employer|employee|master|landlord|tenant|neighbour|owner|founder"
    r"|director|author|designer|captain|leader|member|subsidiary|branch|part)s?\b"
    rf"|[之的]?(?:{_KIN_HAN}|{_PARTS_HAN})"
)
"""A part that one plays for another, or in the world."""

_OFFICE_HAN = (
    "创[始办]人|负责人|发起人|董事长|[总副]?经理|总裁|主席|主任|[校院馆站局厂村镇市县省会社船队]长|教授"
    "|博士|律师|法官|医生|工程师|学家|设计师|记者|编辑|作[家者]|诗人|画家|导演|演员|歌手|演奏家|书记|议员"
    "|部长|总统|总理|国主|太守|刺史|将军|都督|军师"
)
"""Offices and professions that stand before a name."""

ROLE_BETWEEN_HAN = re.compile(rf"[之的](?:{_KIN_HAN}|{_PARTS_HAN})|{_PARTS_HAN}")
"""Text between two Chinese names of which the second plays this part for the first."""

_MORE_PERSONS = """
abbot acrobat alderman apothecary apprentice assassin astronomer attorney auctioneer bachelor
bailiff baker bandit banker barber barmaid baronet barrister beggar blacksmith boatman boatswain
bookkeeper bookseller brewer bridegroom broker burglar butcher butler caretaker chambermaid
clergyman coachman cobbler commodore companion constable consul convict corporal coxswain cripple
curate deacon dealer deserter detective draper drover drunkard envoy ferryman footman forester
friar gamekeeper gardener gentleman governess granddaughter grandfather grandmother grandson grocer
guardian harpooneer harpooner hatter heiress helmsman herald herdsman hermit hero heroine hostess
housekeeper housemaid hunter huntsman inmate innkeeper jailer jester jeweller juggler lady landlady
lodger lover magistrate mariner marquis mason mate matron midshipman midwife miller milliner
millionaire miner minstrel miser missionary murderer musketeer naturalist orphan ostler outlaw
parson pastor peasant pilgrim pirate ploughman policeman postilion postman preacher prophet
publican rector robber schoolmaster seaman sexton shepherd sheriff shoemaker smuggler solicitor
spinster spy squire stepfather stepmother steward surveyor tailor thief trader traitor trapper
usurer valet vicar viscount waiter waitress weaver whaleman whaler witch wizard woodcutter youth
"""
_PERSONS = frozenset(_MORE_PERSONS.split())
"""Words for persons besides the class nouns of the graph, where they may be names as well."""
_GENERAL = frozenset(
    ("boy", "child", "creature", "fellow", "gentleman", "girl", "lady", "man", "person", "woman")
)
"""Words that say of a person no more than that."""
_BEFORE_NAMES = """
aunt brother captain colonel count countess doctor duchess duke father general king lady lord
madam major master mother prince princess professor queen saint sister uncle
"""
_RANKS = frozenset(_BEFORE_NAMES.split())
"""Words that stand before a name as a part of it."""
_QUOTES = "\"'“”"
_ASIDE = r"[\"'”’]?(?:\s*\([^()]{1,60}\))?[\"'”’)]*"
_NO_ROLE = (
    r"(?:little|few|moment|last|first|next|whole|same|long|bit|while|way|(?:great|good)\sdeal)\b"
)
_OWNER = r"(?:the|an?|our|my|his|her|their|one\sof|(?-i:[A-Z]\w+)['’]s?)"
_ROLE = (
    rf"(?P<role>{_OWNER}\s+(?!{_NO_ROLE})(?-i:(?:[\w'’-]+,?\s+){{0,6}}[\w'’-]+)"
    r"|(?!(?:the|an?|and|or|in|as|so|we|you|he|she|it|they|there)\b)[a-z]+(?:\s[a-z]+)?\s(?:of|to|for|in|on|at|aboard)\s\w+)"
)
_APPOSED = lazy_regex(r"(?:the|an?|our|one\sof|[A-Z]\w+['’]s?)\s")
_EQUATED = lazy_regex(
    r"(?:the(?=\s[A-Z])|an?|one\sof(?!\sthe\s(?:few|many|first|last|only)\b)|[A-Z]\w+['’]s?)\s"
)
_LISTED = re.compile(
    r"(?:his|her|their)\s[^,.;!?]{1,60},\s+(?:and|an?|the|his|her|their|another|(?-i:[A-Z]\w+))\b"
    r"|(?:my|our)\s[^,.;!?]{1,60},\s+and\s+(?:an?|the|my|our|(?-i:[A-Z]\w+))\b"
    r"|the\s(?-i:[A-Z])\w{1,40}s,\s+and\b",
    re.I,
)
_WRAP = lazy_regex(r"(?<!\n)\n(?![\n\-*#|>\d])")
_NO_PERSON = frozenset(("part", "branch", "subsidiary"))
_AGO = r"(?:(?:some\stime\s(?:ago|since)|once|now|then|also|formerly|for\s[\w\s]{3,20}years)\s)?"
_LINK = (
    rf"(?:,\s+(?:aged?\s+)?\d{{1,3}})?(?:,\s+who\s+(?:is|was|had\sbeen)\s+{_AGO}|,\s+"
    r"|(?:,\s+who\s[^,.;]{1,80})?,?\s+(?:is|was|has\sbeen)\s+)"
)
_AT = r"(?!(?:To|For|With|Of|From|By|At|In|On|As|When|And|But)\b)"
_FIRST = rf"(?:^|[.!?]\s|\n)\W{{0,8}}(?-i:{_AT}[A-Z]\w{{0,40}}\W{{1,4}}){{0,3}}"
TITLE = r"(?:(?:Mrs?|Ms|Miss|Dr|Prof|Professor|Captain|Capt|Sir|Dame)\.?\s+)"
"""A title before a name, with the space behind it."""
_OFFICE = r"(?-i:(?:[a-z-]+,?\s+){0,5}[a-z-]+(?:\s(?:of|for)\s(?:the\s)?[\w ]{2,40})?)"
_HEADS = (
    r"(?:chair(?:s|ed)|head(?:s|ed)|leads|led|direct(?:s|ed)|owns|owned|founded|commands|runs)"
    r"\s(?:the|its|our|their|his|her)\s(?!way\b)"
)
_CLOSES = r"(?=[,.;:!?)]|$|\s+(?:and|of)\b)"  # not *to call her sister, Catherine took*
_NO_NEXT = r"(?!,?\s+and\s+(?-i:[A-Z]))"  # his son, Emma, and Harriet
_SPEAKS = r"(?<!said )(?<!cried )(?<!asked )(?<!replied )(?<!returned )"


def is_role(phrase: str) -> bool:
    """Check that a phrase ends in what a person is: *chief mate of the Pequod*."""
    words = _first_part(phrase).split()
    return bool(words) and _is_part(words[-1])


def _holds_role(phrase: str) -> bool:
    """Check for what a person is in a phrase: *a grasping, covetous old man, the partner*."""
    return any(is_role(word) for word in re.findall(r"[\w-]+", _first_part(phrase)))


def _first_part(phrase: str) -> str:
    return re.split(r"\s(?:of|for|to|in|at|from|with)\s", phrase, maxsplit=1)[0]


def _is_part(word: str) -> bool:
    last = word.rpartition("-")[2]
    if not last or last in _NO_PERSON:
        return False
    is_known = type_of_phrase(last) == "PERSON" or last.casefold() in _PERSONS
    return is_known or ROLE.fullmatch(last) is not None


def introduction(text: str, person: str) -> int:
    """Return how well a text introduces a person, 0 to 3.

    *Fred, Scrooge's nephew* or *Tim Cratchit ("Tiny Tim"), a cripple* at the beginning of a
    sentence: 3; elsewhere, as *the station's bursar, Lionel Garrod-Pyke*, or there without a word
    for what a person is, or *Ann Reed, who chairs the board*: 2; *the fiddler Tam Gillebrand*: 1.
    姓周，名仓 and 徐庶者，颍川人也: 3; 来将乃大将颜良也 and 公司创始人、总经理程砚波: 2.
    """
    if language_of(person) == "zh":
        if worth := _introduced_in_chinese(text, person):
            return worth
        ends = r"(?=[，。；：、！？\s（(）)”是在表把将于说认的也为与和]|$)"
        before = rf"(?<!不是)(?<!不是[总副])(?:{_OFFICE_HAN})"
        titled = rf"{before}{re.escape(person)}{ends}(?![^，。]{{0,4}}[曰道])"
        return 2 if len(person) > 1 and re.search(titled, text) else 0
    person = without_title_dots(person.strip(_QUOTES))
    if person.split()[-1:] and person.split()[-1].casefold() not in text.casefold():
        return 0
    text = without_title_dots(_WRAP.sub(" ", text.replace("**", "")))
    name = rf"{_SPEAKS}\b{re.escape(person)}(?!\w)"
    said = rf"{name}(?: of (?-i:[A-Z]\w+))?{_ASIDE}(?P<link>{_LINK}){_ROLE}"
    first = re.search(f"{_FIRST}{said}", text, re.I)
    if first and _is_listed(first):
        first = None
    if first and _holds_role(first["role"]):
        return 2 if _says_little(first["role"]) else 3
    if re.search(rf"\b{re.escape(person)}, (?:who {_HEADS}|born (?:in|on|at) )", text):
        return 2
    owner = r"(?:['’]s|\b(?:the|our|my|his|her|their))"  # *a boy, Captain Ahab* speaks to him
    office = rf"{owner}\s+(?P<role>{_OFFICE})(?:,|\s+is)\s+{TITLE}?{name}{_CLOSES}{_NO_NEXT}"
    told, called = re.search(said, text, re.I), re.search(office, text, re.I)
    if told and (not _holds_role(told["role"]) or _is_listed(told)):
        told = None
    if called and not is_role(called["role"]):
        called = None
    if told or called:
        return 2 if called or (told and not _says_little(told["role"])) else 1
    if first and _is_told(first):
        return 2
    below = r"\bthe\s+(?P<role>(?-i:[a-z-]{4,}\s+){1,3})"
    ranked = r"(?:^|[.!?]\s)(?-i:(?P<office>[A-Z][a-z]{3,}(?:-[A-Z][a-z]+)?)\s)"
    named = re.search(f"(?:{below}|{ranked}){name}", text, re.I)
    role = (named["role"] or named["office"]).casefold() if named else ""
    return 1 if is_role(role) and role not in _RANKS else 0


def _says_little(phrase: str) -> bool:
    """Check for a phrase of which no word says more than that it is a person: *a silly man*."""
    words = re.findall(r"[\w-]+", _first_part(phrase))
    return all(word in _GENERAL for word in words if _is_part(word))


def _is_listed(found: re.Match[str]) -> bool:
    """Check for *with the General, his son, and daughter*, which names three persons."""
    is_bare = found["link"].strip() == ","
    return is_bare and _LISTED.match(found.string, found.start("role")) is not None


def _is_told(found: re.Match[str]) -> bool:
    """Check for *Scrooge was the Ogre*, *Tam, a Scot,*; not *Catherine, the nights I have had*."""
    is_verb = found["link"].rstrip().endswith(("is", "was", "been"))
    if is_verb:
        return _EQUATED.match(found["role"]) is not None
    is_closed = "," in found["role"] or found.string[found.end() : found.end() + 1] in {*",.;"}
    return is_closed and _APPOSED.match(found["role"]) is not None


_NO_NUMBER = r"(?<![名文学编账帐信记外口番写认识生题\d〇一二三四五六七八九十])"


def _introduced_in_chinese(text: str, person: str) -> int:
    """Return 3 for a name, its other names or a home that are told, 2 for what a person is."""
    given = given_name(person)
    family = person[: len(person) - len(given)] if given else ""
    name = rf"(?<![非不是]){re.escape(person)}"
    forms = [
        rf"(?:^|[，。；：！？“”\s]){name}者[，,]|{_NO_NUMBER}[字号][为曰]?{name}(?![曰道])",
        rf"{name}[，,]?(?:表?字|道?号(?![令召呼哭泣炮箭角])|(?!是)[{HAN}]{{2,6}}(?<!何)(?<!何如)人[也氏士])",
        rf"{name}[，,](?:身[长高]|年[方已](?!几)|现年|时年)",
        rf"人{name}[，,]?[表]?字",
    ]
    if family:
        forms.append(rf"[复覆]?姓{family}[，,]?(?:单?名|讳){given}")
    if re.search("|".join(forms), text):
        return 3
    told = (
        rf"{name}[，,]?乃[^，。！？]{{2,12}}(?:也|之[子弟兄侄孙后婿])"
        rf"|(?:乃|原来是)(?![^，。！？；：]{{0,14}}[见使请遣令往投命])(?:[^，。！？；：、]{{2,14}}|[妻夫子女弟兄父母]){name}也"
    )
    return 2 if re.search(told, text) else 0
