"""Chinese names and recurring nouns from part-of-speech tags.

LAC proposes names with their types (`lac`); rules trim what it takes along, join what ends in
"…大学" or "…事件", and add titles in 《》, names in quotation marks and other occurrences of found
names. Without LAC the words and tags are those of `rjieba` (jieba's dictionary and model,
compiled); with neither, marked names are still found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..resolution.name_parsing import COMPOUND_SURNAMES, SURNAMES, given_name, han_surname
from ..text.cjk import HAN, has_han
from ..text.names import CHINESE_FUNCTION_WORDS, name_key
from ..text.patterns import lazy_regex
from ..text.sentences import Segment
from . import lac
from .aliases import (
    HAN_EVENT_SUFFIXES,
    HAN_SUFFIXES,
    HAN_VAGUE,
    TRANSLITERATION,
    Candidate,
)

Tagger = Callable[[str], Sequence[tuple[str, str]]]


class HanToken(NamedTuple):
    """A word of a segment with LAC's tag; offsets into the whole text."""

    start: int
    end: int
    word: str
    tag: str


_TITLE = lazy_regex(r"《([^《》\n]{1,40})》")
_QUOTED = lazy_regex(rf"[“「『]([{HAN}A-Za-z0-9·—-]{{2,12}})[”」』]")
_SYLLABLES = f"[{''.join(sorted(TRANSLITERATION))}]"
_DOTTED = lazy_regex(rf"{_SYLLABLES}{{1,8}}(?:[·•・‧－-]{_SYLLABLES}{{1,8}})+")
_SPEECH = lazy_regex(r"[说道问答曰喊叫：:，,]\s*$")
_NO_NAME = frozenset("的了吗呢吧啊我你他她它们这那是不没有很都就也还把被让给")
_NAME_TAGS = {
    "PER": "PERSON",
    "LOC": "PLACE",
    "ORG": "ORGANISATION",
    "nw": "WORK",
    "nz": "NAME",
}
_NOUNS = frozenset({"n", "vn", "nz"})
_JOINABLE = frozenset({*_NOUNS, *_NAME_TAGS, "s"})
_SHORTEST_WORK = 3
_TAIL = lazy_regex(
    r"(?:大[怒喜惊笑]|之[子女妻弟兄孙]|[曰叱怒乃于以为在是及也即被将对到又谓引令亦去率说问答]|(?<=..)[兄弟妻侄婿])+$"
)
"""Words and kin that a tagger takes along behind a person's name."""
_NO_PERSON = lazy_regex(r"^[我你]|[哉矣乎汝]|吾$")
_OF_NO_PERSON = (("PLACE", ("道", "洋", "郡")), ("NAME", ("语", "族", "属", "类", "线")))
_HEADS = frozenset("同与和由被向对令使乃谓名言")
_RANKS = frozenset("王帝公侯")
_WEEKDAY = lazy_regex(r"(?:星期|周|礼拜)[一二三四五六日天]|[一二三四五六七八九十]+[月日年]")
_MAX_RUN = 14
_LONG_SUFFIX = 3
_SUFFIXES = frozenset(suffix for suffix, _ in HAN_SUFFIXES)
_MARKS_OF_NAMES = "《》〈〉“”「」『』‘’（）()[]{}·•・‧，,。、 \u3000"
_OF_JIEBA = {
    **dict.fromkeys(("nr", "nrt", "nrfg"), "PER"),
    **dict.fromkeys(("ng", "j", "l"), "n"),
    **dict.fromkeys(("uj", "ul", "uz", "ug"), "u"),
    "ns": "LOC",
    "nt": "ORG",
    "mq": "m",
    "zg": "d",
    "t": "TIME",
}
"""Tags of jieba that LAC calls otherwise."""


def load_tagger() -> tuple[Tagger | None, str]:
    """Load the tagger with name and version; `(None, "none")` without a dictionary.

    Model and dictionary themselves are read when the first text is tagged.
    """
    from importlib.metadata import PackageNotFoundError, version

    if lac.identity():
        return lac.tag, lac.identity()
    try:
        return _rjieba_tags, f"rjieba-{version('rjieba')}"
    except PackageNotFoundError:
        return None, "none"


def _rjieba_tags(text: str) -> list[tuple[str, str]]:
    import rjieba

    return [_as_lac(word, tag) for word, tag in rjieba.tag(text)]


def _as_lac(word: str, tag: str) -> tuple[str, str]:
    """Return a word with LAC's tag; a person without a surname is of no sure type."""
    is_doubtful = tag == "nr" and word[0] not in SURNAMES and word[:2] not in COMPOUND_SURNAMES
    return word, "nz" if is_doubtful else _OF_JIEBA.get(tag, tag)


def chinese_tokens(segment: Segment, tagger: Tagger) -> list[HanToken]:
    """Return the words of a Chinese segment with document offsets."""
    tokens = []
    place = 0
    for word, tag in _without_preposition(tagger(segment.shadow)):
        place = segment.shadow.index(word, place)
        start = segment.start + place
        tokens.append(HanToken(start, start + len(word), word, tag))
        place += len(word)
    return tokens


_VERBS_WITH_YU = frozenset("生死卒逝殁葬居位任成建毕属源出")


def _without_preposition(words: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Part 于 from persons: 陈明 + 远于 is 陈明远 + 于, 陈明生于 is 陈明 + 生于."""
    waiting = list(reversed(words))
    while waiting:
        word, tag = waiting.pop()
        after = waiting[-1][0] if waiting else ""
        if tag != "PER":
            yield word, tag
        elif len(word) == len(after) == 2 and after[1] == "于" and after[0] not in _VERBS_WITH_YU:
            waiting[-1] = ("于", "p")
            yield word + after[0], tag
        elif len(word) > 2 and word[-1] == "于":
            is_verb = len(word) > 3 and word[-2] in _VERBS_WITH_YU
            yield from (
                ((word[:-2], tag), (word[-2:], "v")) if is_verb else ((word[:-1], tag), ("于", "p"))
            )
        else:
            yield word, tag


def marked_candidates(segment: Segment) -> list[Candidate]:
    """Works in 《》, short names in quotation marks, "亚当·斯密"; needs no dictionary."""
    found = [
        Candidate(segment.start + m.start(1), segment.start + m.end(1), "WORK")
        for m in _TITLE.finditer(segment.shadow)
    ]
    found += [
        Candidate(segment.start + m.start(), segment.start + m.end(), "PERSON")
        for m in _DOTTED.finditer(segment.shadow)
    ]
    for match in _QUOTED.finditer(segment.shadow):
        before = segment.shadow[: match.start()]
        if has_han(match[1]) and not _NO_NAME & set(match[1]) and not _SPEECH.search(before):
            span = (segment.start + match.start(1), segment.start + match.end(1))
            kind = "EVENT" if match[1].endswith(HAN_EVENT_SUFFIXES) else "NAME"
            found.append(Candidate(*span, kind))
    return found


def name_candidates(tokens: Sequence[HanToken]) -> list[Candidate]:
    """Return candidate names in a Chinese text (persons, places, …), possibly overlapping."""
    found: list[Candidate] = []
    for index, token in enumerate(tokens):
        found.extend(_tagged(token))
        found.extend(_with_suffix(tokens, index))
    return [c for c in found if c.end - c.start >= 2]


def _tagged(token: HanToken) -> Iterator[Candidate]:
    """Return a word that is tagged as a name, without what clings to it."""
    kind = _NAME_TAGS.get(token.tag, "")
    word = token.word.strip(_MARKS_OF_NAMES)
    start = token.start + token.word.find(word)
    if kind == "PERSON":
        word = "" if _NO_PERSON.search(word) else _TAIL.sub("", word)
        skipped = _head_length(word)
        start, word = start + skipped, word[skipped:]
    if word.endswith("曰") or (kind == "WORK" and len(word) < _SHORTEST_WORK):
        return
    is_word = word in CHINESE_FUNCTION_WORDS or word in HAN_VAGUE or _WEEKDAY.fullmatch(word)
    if kind and has_han(word) and not is_word:
        yield Candidate(start, start + len(word), _corrected(kind, word))


def _corrected(kind: str, word: str) -> str:
    """Return the type of a name, by its last characters where they say another one."""
    if kind in {"PLACE", "ORGANISATION"} and word.endswith("人"):
        return "NAME"
    if kind == "PLACE" and _suffix_of(word)[1] == "ORGANISATION":
        return "ORGANISATION"
    if kind == "PERSON" and len(word) > 2 and not han_surname(word) and word.isalpha():
        return next((other for other, ends in _OF_NO_PERSON if word.endswith(ends)), kind)
    return kind


def _head_length(name: str) -> int:
    """Count the characters before a person's name: 名思摩, 长沙王司马乂."""
    ranked = len(name) > 3 and name[0] in _RANKS and name[1:3] in COMPOUND_SURNAMES
    return int(ranked or (len(name) > 2 and name[0] in _HEADS and not han_surname(name)))


def _with_suffix(tokens: Sequence[HanToken], index: int) -> list[Candidate]:
    """Join a noun run that ends in "…大学", "…研究所", "…事件", from its first name.

    What ends in a long suffix ("…观测站") needs no name in it.
    """
    token = tokens[index]
    if token.tag not in _NOUNS or token.word in HAN_VAGUE or not _suffix_of(token.word)[0]:
        return []
    first = index
    while first > 0 and _joins(tokens[first - 1], tokens[first]):
        if token.end - tokens[first - 1].start > _MAX_RUN:
            break
        first -= 1
    suffix, kind = _suffix_of("".join(each.word for each in tokens[first : index + 1]))
    proper = (i for i in range(first, index) if tokens[i].tag in _NAME_TAGS)
    begin = next(proper, first if len(suffix) >= _LONG_SUFFIX else index)
    length = token.end - tokens[begin].start
    is_named = (begin < index or token.tag == "nz") and length > len(suffix)
    return [Candidate(tokens[begin].start, token.end, kind)] if is_named else []


def _suffix_of(word: str) -> tuple[str, str]:
    for suffix, kind in HAN_SUFFIXES:
        if word.endswith(suffix) and (len(suffix) > 1 or word == suffix or len(word) > 2):
            return suffix, kind
    return ("", "NAME")


def _joins(before: HanToken, after: HanToken) -> bool:
    is_usable = before.word not in HAN_VAGUE and before.word not in CHINESE_FUNCTION_WORDS
    joined = before.end == after.start and not _NO_NAME & set(before.word)
    is_noun = before.tag in _JOINABLE or before.word + after.word in _SUFFIXES
    return is_usable and joined and is_noun


def find_recurring(
    segments: Iterable[Segment], names: Sequence[Candidate], text: str
) -> list[Candidate]:
    """Find further occurrences of found Chinese names that the tagger split differently."""
    types: dict[str, str] = {}
    for name in sorted(names):
        surface = text[name.start : name.end]
        if len(surface) >= 3 and has_han(surface):
            types.setdefault(surface, name.type)
    found = []
    for segment in segments:
        for surface, kind in types.items():
            place = segment.shadow.find(surface)
            while place != -1:
                start = segment.start + place
                found.append(Candidate(start, start + len(surface), kind))
                place = segment.shadow.find(surface, place + len(surface))
    return found


_PREPOSITIONS = frozenset("向和同从")
_VERBS = frozenset("于谢赖令问应")
"""Surnames that are words before a name, too."""
_SPEAKS = lazy_regex("[笑叹哭忙冷]*[道曰][：:]|之[妻子女弟兄父母孙侄婿](?![，,。])|忙[^，。]")


def without_clinging(names: Sequence[Candidate], text: str) -> list[Candidate]:
    """Trim a stray first or last character off untitled names of three or more characters.

    The tagger takes a verb along ("玄德领", "雪颜良"). Where the text has the shorter name at least
    three times as often as the longer one, the shorter one is meant. What a person says stands
    behind "笑道：".
    """
    kept = []
    for name in names:
        start, end = name.start, name.end - _said(text, name)
        surface = text[start:end]
        if name.type in {"PERSON", "NAME"} and len(surface) in {3, 4} and has_han(surface[-1]):
            often = 3 * text.count(surface)
            if surface[:-1] not in COMPOUND_SURNAMES and text.count(surface[:-1]) >= often:
                end -= 1
            elif _may_cling(surface):
                start += text.count(surface[1:]) >= often
        kept.append(Candidate(start, end, name.type, name.key))
    return kept


def _may_cling(surface: str) -> bool:
    """Check for a first character that may be a word before a name: "玄德" in "见玄德"."""
    if surface[0] in _PREPOSITIONS:
        return True
    return (surface[0] not in SURNAMES or surface[0] in _VERBS) and bool(given_name(surface[1:]))


def _said(text: str, name: Candidate) -> int:
    """Return the number of last characters of a name that tell how, or of whom, is spoken."""
    spoken = _SPEAKS.search(text, name.start + 2, name.end + 2)
    return name.end - spoken.start() if spoken and spoken.start() < name.end else 0


def concept_candidates(tokens: Sequence[HanToken]) -> list[Candidate]:
    """Nouns, and runs of two or three of them, that the text has twice or more."""
    runs: list[list[HanToken]] = []
    for token in tokens:
        usable = token.tag in _NOUNS and has_han(token.word)
        if usable and runs and runs[-1] and runs[-1][-1].end == token.start:
            runs[-1].append(token)
        elif usable:
            runs.append([token])
        else:
            runs.append([])
    found = []
    for run in filter(None, runs):
        spans = [run] if 2 <= len(run) <= 3 else []
        spans += [[t] for t in run if len(t.word) >= 2 and t.tag != "vn"]
        found += [
            Candidate(s[0].start, s[-1].end, "CONCEPT", name_key("".join(t.word for t in s)))
            for s in spans
        ]
    counts = Counter(c.key for c in found)
    return [c for c in found if counts[c.key] >= 2 and c.key not in HAN_VAGUE and len(c.key) <= 8]
