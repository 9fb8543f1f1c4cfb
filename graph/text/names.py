"""Names: their keys, and where they stand in a text.

A *key* is what two spellings of one name share: no accents, no case, no possessive, no trailing
brackets, single spaces, Chinese in simplified characters (OpenCC's). Two surfaces with one key
are one name; two keys may still be one entity (see `resolution`). Names are found in two ways:
`capitalised_names` reads capitals without a dictionary; `NameMatcher` looks up known keys. Word
lists of headings and generic words are lower case and without accents, as keys are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, pairwise

from .cjk import HAN, has_han, simplified
from .patterns import lazy_regex

_ONE_WORD_HEADINGS = """
abstract acknowledgement acknowledgements acknowledgment acknowledgments addendum agenda annex
answer answers appendices appendix article attachments background bibliography body chapter
chapters conclusion conclusions contact contacts content contents copyright cover credits data
definition definitions description details discussion disclaimer document documents draft
epilogue example examples faq figure figures footnotes foreword general glossary
heading history home illustration illustrations index info information intro introduction license
licence links list
main method methodology methods minutes misc miscellaneous more motivation news note notes
objective objectives other outline overview page part preamble preface prologue purpose
question questions readme reference references related remarks report result results review
scope section see slide sheet source sources subject summary table tables text title topic
topics unknown untitled usage subj fwd
"""

_LONGER_HEADINGS = """
table of contents; see also; further reading; external links; related work; executive summary
getting started; frequently asked questions; list of figures; list of tables
materials and methods; future work; early life; personal life; key points; next steps
action items; release notes; change log; changelog; new document; untitled document
microsoft word; powerpoint presentation
"""

_CHINESE_HEADINGS = """
引言 目录 目錄 前言 序言 序 绪论 緒論 摘要 概述 概要 概览 简介 簡介 介绍 介紹 背景 总结 總結 小结
结论 結論 结语 讨论 附录 附錄 参考 参考文献 參考文獻 参考资料 致谢 后记 後記 正文 内容 说明 說明
定义 方法 结果 图表 索引 历史 歷史 其他 备注 注释 问题 常见问题 联系方式 外部链接 相关条目 更多
无标题 标题 文档 报告
"""

GENERIC_HEADINGS = frozenset(
    [
        *_ONE_WORD_HEADINGS.split(),
        *(h.strip() for line in _LONGER_HEADINGS.split("\n") for h in line.split(";")),
        *_CHINESE_HEADINGS.split(),
    ]
)

_FUNCTION_WORDS = """
a about above according across actually additionally after afterwards again against all almost
along already also although always am among amongst an and another any anybody anyone anything
are aren't around as at away back be became because become been before behind being below
beneath beside besides between beyond both briefly but by can cannot can't consequently could
couldn't currently dear despite did didn't do does doesn't doing don't down due during each
earlier either else even eventually ever every everybody everyone everything except few finally
first firstly following for formerly fortunately from further furthermore generally give given
go had has have having he he'd he'll hello hence her here hers herself he's him himself his
historically how however i i'd if i'll i'm in including indeed initially instead into is isn't
it its it's itself i've just last lastly later latter less let let's like likewise many may
maybe me meanwhile might more moreover most mostly much must my myself namely near nearly
neither never nevertheless next no nobody none nonetheless nor not nothing notably now nowadays
of off often oh ok on once one ones only onto opposite or originally other others otherwise our
ours ourselves out over overall own per perhaps please plus previously prior probably quite
rather re really recently regarding same second secondly several shall she she'd she'll she's
should since so some somebody someone something sometimes somewhat soon specifically still
subsequently such than thank thanks that that's the their theirs them themselves then thence
there thereafter thereby therefore there's these they they'd they'll they're they've third this
those though three through throughout thus till to today together too toward towards two
typically under unfortunately unless unlike until unto up upon us usually various very via was
wasn't we we'd well we'll were we're we've what whatever what's when whence whenever where
whereas whereat whereby wherein wherever whether which while who whoever whole whom who's whose why
will with within without won't would wouldn't yes yet you you'd you'll your you're yours yourself
yourselves you've
aha ahem alright alrighty aye bah eh gosh hallo halloa hey hm hmm hooray huh hullo humbug hurrah
hurray mm mm-hmm mmm nah nope okay oops ouch phew ugh uh uh-huh um whoa wow yeah yep
"""

FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Sentence-initial words that are no names by themselves."""

_DEMONYMS = """
afghan albanian algerian american angolan argentine argentinian armenian asian australian austrian
azerbaijani bavarian belarusian belgian bengali bolivian bosnian brazilian breton british bulgarian
burmese cambodian canadian catalan chilean chinese colombian cornish croatian cuban cypriot czech
danish dutch egyptian english estonian ethiopian european filipino finnish flemish french georgian
german greek hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican
japanese jordanian kazakh kenyan korean kurdish latvian lebanese libyan lithuanian macedonian malay
malaysian maltese mexican mongolian moroccan nepalese nigerian norwegian pakistani palestinian
persian peruvian polish portuguese prussian romanian russian saudi scottish serbian sicilian
slovak slovene slovenian somali spanish sudanese swedish swiss syrian taiwanese tamil thai tibetan
tunisian turkish ugandan ukrainian uruguayan venezuelan vietnamese welsh yemeni zambian zimbabwean
arabic cantonese esperanto gaelic gujarati hebrew hindi kannada malayalam mandarin marathi punjabi
sanskrit swahili telugu urdu yiddish
"""

DEMONYMS = frozenset(_DEMONYMS.split())
"""Adjectives of countries and peoples, languages too: by themselves no names of things."""

_CALENDAR = """
january february march april may june july august september october november december jan feb mar
apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat monday tuesday
wednesday thursday friday saturday sunday
ad bc bce ce am pm
"""

CALENDAR = frozenset(_CALENDAR.split())

_JOINTS = """
of de del della delle der den des di da das do dos du van von vom zu zur la le las los les el al
bin ibn ben & y for
"""

JOINTS = tuple(_JOINTS.split())
"""Small words over which a run of capitalised words goes on."""

_CHINESE_FUNCTION_WORDS = """
我们 你们 他们 她们 它们 自己 大家 这个 那个 这些 那些 什么 怎么 怎样 如何 为什么 哪些 哪个 哪里
谁的 因为 所以 但是 如果 虽然 然而 而且 并且 或者 以及 还有 由于 对于 关于 根据 通过 进行 可以 可能
应该 需要 没有 不是 就是 已经 正在 现在 目前 当时 以后 以前 之后 之前 其中 其他 其它 一个 一些 一种
一样 这样 那样 这里 那里 时候 时间 今天 明天 昨天 今年 去年 明年 不同 主要 所有 全部 部分 许多 很多
非常 比较 一般 不过 只是 只有 同时 此外 另外 第一 第二 第三 成为 作为 使用 包括 认为 表示 开始 之间
之一
"""

CHINESE_FUNCTION_WORDS = frozenset(_CHINESE_FUNCTION_WORDS.split())
"""Common words of two characters or more that no dictionary of names should match."""


_BRACKETS = lazy_regex(r"(?<!\s)\s*+[(（\[][^()（）\[\]]*[)）\]]\s*$")
_POSSESSIVE = lazy_regex(r"['’][sS]\b|(?<=s)['’](?=\s|$)")
_SPACES = lazy_regex(r"[\s_]+")
_EDGES = " \t\n.,;:!?'\"“”‘’«»《》「」『』【】〈〉()（）[]*#`~|<>-–—·/\\"


_REMEMBERED = 8_192
"""Names whose keys are remembered."""


@lru_cache(maxsize=_REMEMBERED)
def name_key(surface: str) -> str:
    """Return the key of a name; empty if nothing remains."""
    text = _BRACKETS.sub("", unicodedata.normalize("NFKC", surface))
    text = unicodedata.normalize("NFKD", _POSSESSIVE.sub("", text))
    text = "".join(c for c in text if not unicodedata.combining(c)).casefold()
    return simplified(unicodedata.normalize("NFC", _SPACES.sub(" ", text).strip(_EDGES)))


_TITLE_DOT = lazy_regex(r"\b(St|Dr|Mrs?|Ms|Prof|Gen|Col|Capt|Lt|Sgt|Rev)\.(?=\s)", re.IGNORECASE)


def without_title_dots(name: str) -> str:
    """Return a name as others write it: *Mr. Perry* is *Mr Perry*."""
    return _TITLE_DOT.sub(r"\1", name)


_NUMBERED = lazy_regex(
    r"(?:(?:chapter|section|part|page|appendix|annex|figure|table|slide|sheet|volume|book|article"
    r"|paragraph|step|item|no|revision|version|draft|phase|stage|lesson|exercise|day|week)"
    r"\.? *)?(?:(?:\d+|x{0,3}(?:i[xv]|v?i{0,3}))[.):]?|[\d.]+|[a-z])"
    r"|第[零一二三四五六七八九十百千\d]+[章节節回卷部分页頁篇条條]?"
)
_NUMBER_BEFORE = lazy_regex(
    r"(?:\d+(?:\.\d+)*[.):、]?|(?<![一二三四五六七八九十])[一二三四五六七八九十]+[、.])\s*"
)


_CHAPTER = lazy_regex(
    r"(?:chapter|section|part|appendix|step|stave)\s+[\divxlc]+[.:]?\s+", re.IGNORECASE
)


def bare_heading(heading: str) -> str:
    """Return a heading without number and mark-up: "1.2. Choosing" is Choosing."""
    text = " ".join(heading.strip(_EDGES + "#").split())
    text = _CHAPTER.sub("", text, count=1)
    return _NUMBER_BEFORE.sub("", text, count=1) if _NUMBER_BEFORE.match(text) else text


def is_generic(key: str) -> bool:
    """Check for a generic heading ("introduction", "第三章")."""
    bare = _NUMBER_BEFORE.sub("", key, count=1)
    return not bare or bare in GENERIC_HEADINGS or bool(_NUMBERED.fullmatch(key))


def _character_class(accepts: str) -> str:
    """Return a regex class of characters below the CJK blocks with `str.<accepts>`."""
    points = [p for p in range(0x2E80) if getattr(chr(p), accepts)()]
    ranges: list[list[int]] = []
    for point in points:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    # The characters themselves: escapes would take most of the time that compiling takes.
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_UPPER = _character_class("isupper")
WORD_CHARACTERS = _character_class("isalnum") + "\\u0300-\\u036f"
"""Regex class content: letters, digits, accents; no Chinese, Japanese, Korean."""

_CAPITALISED = (
    rf"(?:[{_UPPER}](?:\.[{_UPPER}])+\.?"  # U.S.
    rf"|(?:St|Mt|Ft|Dr|Mr|Mrs|Ms|Jr|Sr|Prof|Gen|Col|Capt|Lt|Sgt|Rev|Gov|Sen|[{_UPPER}])\.(?=\s)"
    rf"|(?:[a-z]{{1,2}})?[{_UPPER}][{WORD_CHARACTERS}]*(?:['’/&\-][{WORD_CHARACTERS}]+)*)"
)
ADJECTIVE_TAIL = (
    r"(?:[a-z]+(?:ed|ing|[ai]ble)|born|like|style|type|language|led|wide|only|specific|free|era|made"
    r"|built|run|old|long|time|friendly|backed|native|centric|level)(?![\w-])"
)
"""Regex of what makes a name an adjective: "Unix-compatible", "Lisbon-born"."""
_JOINT = rf"(?:{'|'.join(JOINTS)})(?:[ ](?:the|la|las|los|le|les|el|der|den|l'))?"
_EPITHET = (
    r"the[ ](?:Elder|Younger|Great|Terrible|Conqueror|Confessor|Bold|Bald|Fat|Fair|Pious|Good|Wise"
    r"|Old|Young|Red|Black|White|Strong|Short|Tall|Lion|Baptist|Apostle|Barbarian)\b"
)
_GAP = r"(?:[ \t\u00a0]+|[ \t]*\n[ \t]*(?=\S))"
_RUN = lazy_regex(
    rf"(?<![{WORD_CHARACTERS}])(?<![{WORD_CHARACTERS}]['’\-])"
    rf"{_CAPITALISED}(?:{_GAP}(?:{_JOINT}{_GAP})?(?:{_CAPITALISED}|{_EPITHET})"
    rf"|[ \u00a0]{{1,2}}\d+(?![{WORD_CHARACTERS}]))*"
)
_LONG_LINE = 40
"""Minimum line length for a break inside a name to be wrapped prose."""
_MAX_WORDS = 10


def capitalised_names(text: str) -> list[tuple[int, int]]:
    """Spans of runs of capitalised words, in order, without overlap.

    Runs go on over *of, de, la, von …* and take numbers along ("Apollo 11"); function words at the
    front ("In", "The"), possessives and closing marks are left out. Without a dictionary a common
    word at a sentence's start is taken for a name. Finds nothing in Chinese, which has no capitals.
    """
    spans: list[tuple[int, int]] = []
    for match in _RUN.finditer(text):
        for start, end in _lines(text, match.start(), match.end()):
            span = _trimmed(text, start, end)
            if span is not None:
                spans.append(span)
    return spans


def _lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Split a run at breaks behind short lines, such as headings and list items."""
    pieces = []
    cut = text.find("\n", start, end)
    while cut != -1:
        if cut - (text.rfind("\n", 0, cut) + 1) < _LONG_LINE:
            pieces.append((start, cut))
            start = cut + 1
        cut = text.find("\n", cut + 1, end)
    return [*pieces, (start, end)]


_WORD = lazy_regex(r"[^\s]+")
_TAIL = lazy_regex(rf"(?:(?<=[^\s-]{{2}})-{ADJECTIVE_TAIL})?(?:['’]s|['’.,\-–—])*$")
_DIGITS = lazy_regex(r"[\d.,]+$")
_PART_OF_NUMBER = lazy_regex(r"[.,]\d")


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    words = [(m.start(), m.end()) for m in _WORD.finditer(text, start, end)]
    folded = [text[a:b].casefold().replace("’", "'") for a, b in words]
    first, last = 0, len(words)
    while first < last and (
        folded[first].rstrip(".,") in FUNCTION_WORDS
        or not (text[words[first][0]].isupper() or _has_inner_capital(text, words[first]))
    ):
        first += 1
    if last - first > 1 and folded[last - 1].isdigit() and _PART_OF_NUMBER.match(text, end):
        last -= 1
    if (
        last - first > 1
        and folded[last - 1].isdigit()
        and (folded[last - 2] in _JOINT_WORDS or folded[last - 2].endswith("'s"))
    ):
        last -= 1
    while last > first and (
        folded[last - 1] in _JOINT_WORDS
        or (folded[last - 1] in FUNCTION_WORDS and text[words[last - 1][0] - 2] == ".")  # "B. In"
    ):
        last -= 1
    if first == last or last - first > _MAX_WORDS:
        return None
    if all(_DIGITS.match(w) or w.rstrip(".,") in CALENDAR for w in folded[first:last]):
        return None
    begin, finish = words[first][0], words[last - 1][1]
    if not re.search(r"\.[^\W\d_]\.$", text[begin:finish]):
        finish = begin + len(_TAIL.sub("", text[begin:finish]))
    return (begin, finish) if finish - begin > 1 else None


_JOINT_WORDS = frozenset({*JOINTS, "the"})


def _has_inner_capital(text: str, word: tuple[int, int]) -> bool:
    return any(c.isupper() for c in text[word[0] + 1 : word[0] + 3])


@dataclass(frozen=True, slots=True, order=True)
class NameMatch:
    """A known name in a text: `text[start:end]` is its surface, `key` its name key."""

    start: int
    end: int
    key: str


_WORD_OR_BREAK = lazy_regex(
    rf"([{WORD_CHARACTERS}]+)(?:['’]s(?![{WORD_CHARACTERS}]))?"
    rf"|(?:[!?;…。！？；|\u2022]|(?<=[{WORD_CHARACTERS}]{{4}})\.(?=\s)|\n\s*\n|[\u3040-\u30ff{HAN}]+)"
)
_BREAK = "\x00"


class _CharacterFolding(dict[int, str]):
    """Table for `str.translate` that folds case, width and accents, one for one."""

    def __missing__(self, point: int) -> str:
        folded = _folded(chr(point))
        self[point] = folded if len(folded) == 1 else chr(point)
        return self[point]


class _WordFolding(dict[str, str]):
    """Word → the same word as it stands in a name key."""

    def __missing__(self, word: str) -> str:
        self[word] = word.lower() if word.isascii() else _folded(word)
        return self[word]


def _folded(text: str) -> str:
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text))
    kept = "".join(c for c in parts if not unicodedata.combining(c)).casefold()
    return simplified(unicodedata.normalize("NFC", kept))


@dataclass(slots=True)
class _Node:
    """A place in the tree of names: what may follow, and the names that end here."""

    following: dict[str, _Node] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    is_title: bool = False


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The longest name that begins at `start`, and the longest title."""

    start: int
    longest: tuple[int, tuple[str, ...]]
    longest_title: tuple[int, tuple[str, ...]] | None


class NameMatcher:
    """Matcher of known names: longest matches, for titles and for all names.

    `titles` and `names` are name keys; generic headings and function words among them are dropped.
    Two passes, each without overlaps, each longest first from the left: one over titles, one over
    all; the result is their union, so that the title "leo fong" is found inside the name
    "leo fong and george nicholas". A name of one word must be capitalised in the text and have
    three letters. Names with Han characters are found as substrings of two characters or more.

    Which passages change when names come or go: only those for which
    `NameMatcher(changed_titles, changed_names).occurs_in(text)`; these must then be matched again
    with the matcher of all names, because a longer name hides a shorter one.
    """

    def __init__(self, titles: Iterable[str], names: Iterable[str] = ()) -> None:
        title_keys = {key for key in titles if is_matchable(key)}
        self._root = _Node()
        self._han_names: dict[str, tuple[str, bool]] = {}
        for key in sorted(title_keys.union(key for key in names if is_matchable(key))):
            if has_han(key):
                self._han_names[key.translate(_CHARACTERS)] = (key, key in title_keys)
            else:
                self._add(key, key in title_keys)
        lengths: dict[str, set[int]] = {}
        for name in self._han_names:
            lengths.setdefault(name[:2], set()).add(len(name))
        self._han_lengths = {head: sorted(some, reverse=True) for head, some in lengths.items()}

    def _add(self, key: str, is_title: bool) -> None:
        node = self._root
        for _, _, word in _words(key):
            node = node.following.setdefault(word, _Node())
        node.keys += (key,)
        node.is_title |= is_title

    def match(self, text: str, *, any_case: bool = False) -> list[NameMatch]:
        """All names in `text`, sorted, without repeats.

        `any_case` lets names of one word count in lower case too: for questions typed carelessly.
        """
        found = _two_passes(self._candidates(text, any_case=any_case))
        if self._han_names and has_han(text):
            found |= _two_passes(self._han_candidates(text))
        return sorted(found)

    def occurs_in(self, text: str) -> bool:
        """Check whether any name occurs in `text`.

        As cheap as `match` for small dictionaries.
        """
        return bool(
            next(self._candidates(text, any_case=False), None)
            or (self._han_names and next(self._han_candidates(text), None))
        )

    def _candidates(self, text: str, *, any_case: bool) -> Iterator[_Candidate]:
        words = _words(text)
        following = self._root.following
        for place, (start, end, word) in enumerate(words):
            node = following.get(word)
            if node is None:
                continue
            longest, title = None, None
            if node.keys and (any_case or _is_capitalised(text, start, end)):
                longest = (end, node.keys)
                title = longest if node.is_title else None
            for _, end, word in islice(words, place + 1, None):
                node = node.following.get(word)
                if node is None:
                    break
                if node.keys:
                    longest = (end, node.keys)
                    title = longest if node.is_title else title
            if longest:
                yield _Candidate(start, longest, title)

    def _han_candidates(self, text: str) -> Iterator[_Candidate]:
        folded = text.translate(_CHARACTERS)
        for start in range(len(folded) - 1):
            longest, title = None, None
            for length in self._han_lengths.get(folded[start : start + 2], ()):
                entry = self._han_names.get(folded[start : start + length])
                if start + length > len(folded):  # what is left is shorter, and may be another name
                    continue
                if entry is None or _splits_word(folded, start, start + length):
                    continue
                key, is_title = entry
                longest = longest or (start + length, (key,))
                if is_title:
                    title = (start + length, (key,))
                    break
            if longest:
                yield _Candidate(start, longest, title)


_CHARACTERS = _CharacterFolding()
_WORDS = _WordFolding()


def is_matchable(key: str) -> bool:
    """Check whether a key can be matched: not a heading, function word or too short."""
    if is_generic(key) or key in CHINESE_FUNCTION_WORDS:
        return False
    if has_han(key):
        return len(key) >= 2
    words = [word for _, _, word in _words(key)]
    letters = sum(c.isalpha() for c in key)
    return letters >= (3 if len(words) == 1 else 1) and not all(
        word in _IN_MANY_NAMES or word.isdigit() for word in words
    )


def words_of_text(text: str) -> set[str]:
    """Return words of which every name that occurs in a text has one (see `words_of_name`)."""
    words = {word for _, _, word in _words(text)} - _IN_MANY_NAMES
    if has_han(text):
        words |= _han_pairs(text)
    return words


def words_of_name(key: str) -> set[str]:
    """Return words that a text holds if the name occurs in it; never empty for a matchable key."""
    if has_han(key):
        return _han_pairs(key)
    return {word for _, _, word in _words(key)} - _IN_MANY_NAMES


def starts_in_text(text: str) -> set[str]:
    """Return starts of which every name that occurs in a text has one (see `start_of_name`)."""
    words = [word for _, _, word in _words(text)]
    found = {*words, *(f"{one} {other}" for one, other in pairwise(words))}
    folded = text.translate(_CHARACTERS) if has_han(text) else ""
    return found | {folded[at : at + 2] for at in range(len(folded) - 1)}


def start_of_name(key: str) -> str:
    """Return the first two words of a name, or its first two characters with Han ones."""
    if has_han(key):
        return key.translate(_CHARACTERS)[:2]
    return " ".join(word for _, _, word in _words(key)[:2])


def _han_pairs(text: str) -> set[str]:
    folded = text.translate(_CHARACTERS)
    pairs = (folded[at : at + 2] for at in range(len(folded) - 1))
    return {pair for pair in pairs if has_han(pair)}


_IN_MANY_NAMES = FUNCTION_WORDS | CALENDAR | {_BREAK}


def _words(text: str) -> list[tuple[int, int, str]]:
    """Yield `(start, end, folded word)`; separators are the word `_BREAK`."""
    folding = _WORDS
    return [
        (*match.span(1), folding[match[1]]) if match.lastindex else (*match.span(), _BREAK)
        for match in _WORD_OR_BREAK.finditer(text)
    ]


def _is_capitalised(text: str, start: int, end: int) -> bool:
    return text[start].isupper() or (
        not text[start].isdigit()
        and any(c.isupper() for c in text[start + 1 : min(start + 3, end)])
    )


def _splits_word(text: str, start: int, end: int) -> bool:
    """Check whether a span splits a Latin word or number."""
    return any(
        0 < cut < len(text) and _LATIN.match(text[cut - 1]) and _LATIN.match(text[cut])
        for cut in (start, end)
    )


_LATIN = lazy_regex(rf"[{WORD_CHARACTERS}]")


def _two_passes(candidates: Iterable[_Candidate]) -> set[NameMatch]:
    found: set[NameMatch] = set()
    free = free_for_titles = 0
    for candidate in candidates:
        start = candidate.start
        if start >= free:
            free, keys = candidate.longest
            found.update(NameMatch(start, free, key) for key in keys)
        if candidate.longest_title and start >= free_for_titles:
            free_for_titles, keys = candidate.longest_title
            found.update(NameMatch(start, free_for_titles, key) for key in keys)
    return found


_ARTICLE = lazy_regex(r"[\s#*\"“«《「'‘(]*(?:(?:the|an?)\s+)?", re.IGNORECASE)
_INTRODUCES = lazy_regex(
    r"\s*(?:[(（,，]|是|[^.:：;。\n(]{0,30}?\b(?:is|was|are|were|refers|may refer)\b)"
)
_PARAGRAPH = lazy_regex(r"\n\s*\n")
_TITLE_WORD = lazy_regex(r"[^\W_]{3,}")


def introduced_names(text: str, matches: Sequence[NameMatch], *, title: str = "") -> frozenset[str]:
    """Return keys of names that open a paragraph and are defined there.

    Examples: "Ada Brine (1815–1880) was …", "海鸥码头是……".

    Where half of the words of the title stand in the text the title says what it is about, and
    nothing is introduced beside it. `matches` are those of the text, from `NameMatcher.match`.
    """
    if _is_about(title, text):
        return frozenset()
    starts = [0, *(break_.end() for break_ in _PARAGRAPH.finditer(text))]
    found: set[str] = set()
    for start in starts:
        article = _ARTICLE.match(text, start)
        begin = article.end() if article else start
        opening = [m for m in matches if m.start == begin and ":" not in m.key]
        if opening:
            longest = max(opening, key=lambda m: (m.end, m.key))
            if _INTRODUCES.match(text, longest.end):
                found.add(longest.key)
    return frozenset(found)


def _is_about(title: str, text: str) -> bool:
    words = set(_TITLE_WORD.findall(title.casefold()))
    folded = text.casefold()
    return bool(words) and 2 * sum(word in folded for word in words) >= len(words)
