"""Words, letters and sounds for spelling comparison; lower case."""

from __future__ import annotations

LETTERS = {
    "ø": "o", "đ": "d", "ð": "d", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i",
    "ħ": "h", "ŋ": "ng", "ƒ": "f", "ə": "e", "ŧ": "t", "ĸ": "k",
}  # fmt: skip
"""Letters that no decomposition makes plain."""

ROMANISATIONS = {
    "sch": "sh", "tsch": "k", "tch": "k", "kh": "k", "ch": "k", "ck": "k", "c": "k", "q": "k",
    "qu": "kv", "x": "ks", "ph": "f", "tz": "z", "ts": "z", "dj": "i", "dzh": "i", "ou": "u",
    "oo": "u", "w": "v", "ie": "i", "ee": "i", "iy": "i", "yi": "i", "y": "i", "j": "i",
}  # fmt: skip
"""Romanised forms, longest first, and the sound of each."""

_NUMBER_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve twenty hundred thousand first
second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth i ii iii iv v vi vii
viii ix x xi xii single double triple
"""
_DIRECTIONS = """
north south east west northern southern eastern western northeast northwest southeast southwest
northeastern northwestern southeastern southwestern central left right upper lower inner outer
front back top bottom middle high low
"""
_OPPOSITES = """
jr sr junior senior elder younger old new former great greater little lesser big small major minor
long short early late pre post pro anti male female man woman men women boy girl boys girls king
queen prince princess father mother son daughter brother sister husband wife widow black white red
green blue yellow internal external domestic foreign public private import export maximum minimum
primary secondary first last day night summer winter spring autumn alpha beta gamma delta epsilon
under over
"""
_CALENDAR = """
january february march april may june july august september october november december monday tuesday
wednesday thursday friday saturday sunday
"""
TELLING_WORDS = frozenset(f"{_NUMBER_WORDS} {_DIRECTIONS} {_OPPOSITES} {_CALENDAR}".split())
"""Words by which things that are otherwise called the same are told apart."""

TELLING_CHARACTERS = frozenset(
    "零一二三四五六七八九十百千万首次末甲乙丙丁戊己庚辛东西南北中上下左右前后内外大小新旧老少长幼男女父母子"
    "兄弟姐妹夫妻正副高低远近早晚春夏秋冬日夜红黄蓝绿白黑"
)
"""The same in Chinese."""

OPPOSED_PREFIXES = (
    "un", "in", "im", "ir", "il", "non", "anti", "pro", "pre", "post", "sub", "super", "dis", "mis",
    "de", "re", "inter", "intra", "micro", "macro", "mini", "mega", "hyper", "hypo", "over",
    "under", "ex", "co", "bi", "tri", "mono", "poly", "semi", "ante", "trans", "cis", "up", "down",
    "north", "south", "east", "west", "step", "grand", "counter",
)  # fmt: skip
"""Prefixes that change a word's meaning."""

_SOUND_GROUPS = (
    "莱赖来", "尔耳", "德得", "斯司思", "洛罗", "里理利", "维韦", "姆默", "瑟塞", "卡喀", "克科",
    "特忒", "拉腊", "恩安", "布卜", "伦轮", "顿敦", "森逊", "弗佛", "泽则", "奥欧", "伊依", "莫摩",
    "鲁卢", "丹旦", "雷累", "夫弗",
)  # fmt: skip
BORROWED_SOUNDS = {character: group[0] for group in reversed(_SOUND_GROUPS) for character in group}
"""Characters for one sound of foreign names, and their representative."""
