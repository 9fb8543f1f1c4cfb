"""Class nouns, English and Chinese, and the type of what each stands for."""

from __future__ import annotations

from collections.abc import Mapping

from ..resolution.name_parsing import HAN_TITLES

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
laboratory league manufacturer ministry museum navy newspaper orchestra organisation
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
aircraft application array barge boat buoy cable camera car clock compiler computer console
database device distribution drug editor engine format framework game gauge glider horn hydrophone
instrument kernel lamp language library locomotive machine mast medicine microscope missile model
package phone printer rocket satellite seismometer sensor ship software spectrometer submarine
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
_HAN_PERSONS = """
诗人 作家 画家 学生 教授 博士 记者 歌手 演员 导演 科学家 水手 渔民 创始人 提琴手 女士 先生 作者 父亲
母亲 妻子 丈夫 儿子 女儿 皇帝 将军 翻译 财务主管 音乐家 军人 政治家
"""
_HAN_ORGANISATIONS = "公司 大学 机构 研究所 乐队 球队 企业 学校 政党"
_HAN_PLACES = "岛屿 城市 村庄 河流 港口 国家"
_HAN_WORKS = "小说 电影 专辑 歌曲 著作 论文 报纸 协议"
_HAN_CONCEPTS = "海藻 植物 动物 化合物 疾病 物种 语言"
_HAN_TYPES = {
    word: kind
    for kind, words in (
        ("CONCEPT", _HAN_CONCEPTS),
        ("WORK", _HAN_WORKS),
        ("PLACE", _HAN_PLACES),
        ("ORGANISATION", _HAN_ORGANISATIONS),
        ("PERSON", _HAN_PERSONS),
    )
    for word in words.split()
} | {word: "PERSON" for word in HAN_TITLES if len(word) > 1}


def type_of_phrase(phrase: str) -> str:
    """Return the type that the head of a noun phrase tells; "" for none."""
    words = phrase.casefold().split()
    if len(words) > 1 and (kind := _PHRASES.get(" ".join(words[-2:]))):
        return kind
    head = words[-1].rsplit("-", 1)[-1]
    return CLASS_TYPES.get(head) or CLASS_TYPES.get(head.removesuffix("s"), "")


def han_type_of(text: str) -> str:
    """Return the type that the last characters tell; "" for none."""
    return next((_HAN_TYPES[text[-n:]] for n in (4, 3, 2) if text[-n:] in _HAN_TYPES), "")
