"""Relations between two names of one Chinese clause, in the clause's own words.

Strict patterns over words with tags: "甲创立了乙", "甲由乙创立", "甲的学生乙", "甲任乙所长",
"甲在乙工作". A name is an end only as a whole: not where a noun, a measure or 的 behind it makes it
part of a longer phrase, nor where it is the object of another verb or preposition.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..model import NAMED_TYPES, Mention
from .aliases import HAN_AUXILIARIES, HAN_NEGATIONS, HAN_OFFICES
from .chinese import HanToken

_CLAUSE_END = frozenset("，,。！？；;：:\n（）()")
_MARKS = frozenset(" \u3000《》“”「」『』\"'*_")
_LIGHT = frozenset({"u", "xc", "d", "m", "q", "TIME", "f", "ad"})
"""Tags that leave subject and object unchanged: particles, adverbs, numbers."""
_PASSIVE = frozenset({"被", "由", "遭", "受"})
_WHERE = frozenset({"在", "于", "从", "到", "向", "往", "与", "和", "同", "跟", "对", "为", "给"})
_MAX_WORDS = 8
_SENTENCE_END = frozenset("。！？；;?!\n")
_TOGETHER = frozenset({"与", "和", "同", "跟"})
_SUPPOSING = frozenset(
    {"如果", "假如", "要是", "恐", "恐怕", "欲", "使", "令", "愿", "可能", "或许"}
)
_POSSIBLE = frozenset("欲将必可当要应愿想须宜恐若莫")
_SAYING = frozenset({"说", "曰", "言", "报", "称", "表示", "指出", "却说", "且说"})
_APPOINTING = frozenset({"以", "封", "拜", "任命", "令", "命"})
_SENDING = frozenset("遣差命派请邀引带领率助劝封拜")
"""Last characters of verbs whose object does what the next verb says: "遣刘晔招安"."""
_NOUN_OR_VERB = frozenset(
    {"n", "nz", "nw", "vn", "an", "a", "m", "q", "s", "v", "PER", "LOC", "ORG"}
)
_NO_VERB = frozenset("上下里中内外前后比报乃应是如说曰谓知闻") | {"认为", "表示", "指出", "宣布"}
_LATER = frozenset({"之后", "以后", "后", "之前", "以前", "前", "时", "期间", "之时"})
"""Words that make what stands before them a time, not a statement."""
_EMPTY = frozenset({"有所", "进行", "加以", "予以", "作出", "做出", "展开", "开展"})
"""Verbs that say nothing without the next word: "进行合作"."""


class HanRelation(NamedTuple):
    """A relation between two mentions of one clause."""

    subject: Mention
    predicate: str
    object: Mention


def chinese_relations(
    tokens: Sequence[HanToken], mentions: Sequence[Mention]
) -> Iterator[HanRelation]:
    """Return relations between neighbouring mentions of each Chinese clause, in text order."""
    ordered = sorted(mentions)
    for index, (first, second) in enumerate(pairwise(ordered)):
        between = _inside(tokens, first.end, second.start)
        if len(between) > _MAX_WORDS or any(t.word in _CLAUSE_END for t in between):
            continue
        after = _clause_rest(tokens, second.end)
        relation = _read(first, second, [t for t in between if t.word not in _MARKS], after)
        if relation is None or _is_supposed(tokens, first.start, second.end):
            continue
        earlier = first
        if relation.subject is first and _word_before(tokens, first.start) in _WHERE:
            # "甲在乙创立丙": the subject is the name before the place
            earlier = ordered[index - 1] if index else first
            if earlier is first or not _one_clause(tokens, earlier.end, first.start):
                continue
            relation = relation._replace(subject=earlier)
        if relation.object.type not in NAMED_TYPES and "…" in relation.predicate:
            continue
        is_free = _is_free(tokens, earlier.start, relation.predicate)
        if is_free and _is_whole(second, relation, after) and relation.subject.type in NAMED_TYPES:
            yield relation


def _is_free(tokens: Sequence[HanToken], start: int, predicate: str) -> bool:
    """Check that a name is no other word's object: "入冀州见玄德" says nothing of 冀州."""
    place = bisect_left(tokens, start, key=_start)
    before = next((t for t in reversed(tokens[:place]) if t.word not in _MARKS), None)
    if before is None or before.word in _SAYING or before.word in _CLAUSE_END:
        return True
    if before.word in _APPOINTING and predicate.startswith("是…的"):
        return True  # "以孙坚为长沙太守"
    return before.tag not in {"v", "vd", "p"}


def _is_whole(second: Mention, relation: HanRelation, after: Sequence[HanToken]) -> bool:
    """Check that the second name is no part of what follows: "玄德妻小", "袁绍之兵"."""
    is_followed = bool(after) and after[0].start <= second.end + 1
    if not is_followed or relation.object is not second or "…" in relation.predicate:
        return True
    if after[0].word in {"的", "之"}:
        return relation.predicate[-1] in "于在到"
    following = next((t for t in after if t.tag not in {"d", "ad", "TIME", "f", "xc"}), None)
    if following is None or following.tag not in _NOUN_OR_VERB:
        return True
    return following.tag == "v" and relation.predicate[-1] in _SENDING


def _is_supposed(tokens: Sequence[HanToken], start: int, end: int) -> bool:
    """Check for a question or a condition: "若…", "…乎？"."""
    place = bisect_left(tokens, start, key=_start)
    for token in reversed(tokens[max(0, place - _MAX_WORDS) : place]):
        if token.word in _CLAUSE_END:
            break
        if token.word[0] in "若倘" or token.word in _SUPPOSING:
            return True
    rest = tokens[bisect_left(tokens, end, key=_start) :][: 2 * _MAX_WORDS]
    stop = next((t.word for t in rest if t.word in _SENTENCE_END), "")
    return stop in {"？", "?"}


def _start(token: HanToken) -> int:
    return token.start


def _inside(tokens: Sequence[HanToken], start: int, end: int) -> list[HanToken]:
    """Return the tokens of a span; tokens are ordered and disjoint."""
    first = bisect_left(tokens, start, key=_start)
    return [
        t for t in tokens[first : bisect_left(tokens, end, lo=first, key=_start)] if t.end <= end
    ]


def _word_before(tokens: Sequence[HanToken], offset: int) -> str:
    place = bisect_left(tokens, offset, key=_start)
    before = reversed(tokens[max(0, place - 2) : place])
    return next((t.word for t in before if t.end <= offset), "")


def _one_clause(tokens: Sequence[HanToken], start: int, end: int) -> bool:
    inside = [t.word for t in _inside(tokens, start, end)]
    return len(inside) <= _MAX_WORDS and _CLAUSE_END.isdisjoint(inside[1:])


def _clause_rest(tokens: Sequence[HanToken], start: int) -> list[HanToken]:
    rest: list[HanToken] = []
    first = bisect_left(tokens, start, key=_start)
    for token in tokens[first : first + _MAX_WORDS + 1]:
        if token.word in _CLAUSE_END or len(rest) == _MAX_WORDS:
            break
        rest.append(token)
    return [token for token in rest if token.word not in _MARKS]


def _read(
    first: Mention, second: Mention, between: list[HanToken], after: list[HanToken]
) -> HanRelation | None:
    content = [t for t in between if t.word == "的" or t.tag not in _LIGHT]
    if not content or any(t.word in _POSSIBLE or _is_negated(t) for t in between):
        return None
    words = [t.word for t in content]
    if len(content) == 1 and words[0] in {"是", "为", "乃"}:
        return _office(first, second, after, "是")
    if len(content) == 1 and words[0].removeprefix("曾") in HAN_OFFICES:
        return _office(first, second, after, "任")
    if len(content) == 1 and words[0] in _PASSIVE | _WHERE:
        return _around(first, second, words[0], after)
    if len(content) == 2 and words[0] == "的" and content[1].tag in {"n", "vn"}:
        return HanRelation(second, f"是…的{words[1]}", first)
    is_motion = len(content) == 2 and words[1] in {"于", "到", "在", "给", "为"}
    if is_motion and content[0].tag == "v" and not _is_auxiliary(words[0]):
        return HanRelation(first, "".join(words), second)
    if len(content) <= 2 and all(t.tag == "v" and t.word not in _NO_VERB for t in content):
        return None if _is_auxiliary(words[-1]) else HanRelation(first, "".join(words), second)
    return None


def _is_negated(token: HanToken) -> bool:
    """Check for a negation, as a word or as the beginning of a verb: 不听."""
    is_verb = token.tag.startswith("v") and len(token.word) > 1
    return token.word in HAN_NEGATIONS or (is_verb and token.word[0] in HAN_NEGATIONS)


def _is_auxiliary(word: str) -> bool:
    return word in HAN_AUXILIARIES or word[0] == "有" or word[-1] in "使令让叫教"


def _office(holder: Mention, of: Mention, after: list[HanToken], verb: str) -> HanRelation | None:
    """ "甲是乙（的）所长": the noun right behind the second name, if the clause ends with it."""
    words = [t for t in after if t.word not in {"的", " "}]
    nouns = [t for t in words if t.tag in {"n", "vn"} or t.word.endswith(("长", "员", "人"))]
    if not words or len(words) > 2 or nouns != words:
        return None
    return HanRelation(holder, f"{verb}…的{''.join(t.word for t in words)}", of)


def _around(
    first: Mention, second: Mention, word: str, after: list[HanToken]
) -> HanRelation | None:
    """ "甲由乙创立", "甲在乙工作": the first verb behind the second name."""
    verbs = [t for t in after if t.tag == "v" and (not _is_auxiliary(t.word) or t.word in _EMPTY)]
    skipped = after[: after.index(verbs[0])] if verbs else []
    if not verbs or any(t.tag not in _LIGHT for t in skipped):
        return None
    if any(map(_is_negated, [*skipped, verbs[0]])):
        return None
    verb, rest = verbs[0].word, after[after.index(verbs[0]) + 1 :]
    if verb in _EMPTY:
        if not rest or not rest[0].tag.startswith("v"):
            return None
        verb, rest = verb + rest[0].word, rest[1:]
    if rest and rest[0].word in _LATER:
        return None
    if word in _PASSIVE:
        return HanRelation(second, verb, first)
    if word in _TOGETHER and any(t.word != "了" for t in rest):
        return None  # in "甲和乙进入丙" the two are a list
    return HanRelation(first, f"{word}…{verb}", second)
