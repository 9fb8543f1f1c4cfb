"""Evidence of what a name is, from the words around it: one table of cues, one way to weigh them.

Each cue is a statement `(name, OF_TYPE, type)` with a weight: a copula ("is an island"), an
apposition, a class noun in front ("the fiddler Tam Gillebrand", "诗人李白"), a verb that only
persons or places have, a title, a preposition. `ORDINARY` says that a mention may be no name: it
begins a sentence, a heading, or a cell, and is one word. `resolution.entity_types` sums the
evidence of all mentions of a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator

from ..model import (
    COMMON,
    DETERMINED,
    LOCATED,
    NAMED_TYPES,
    OF_TYPE,
    ORDINARY,
    PHRASE,
    Mention,
    Statement,
)
from ..resolution.name_parsing import (
    COMMON_GIVEN_NAMES,
    DIMINUTIVES,
    HAN_TITLES,
    NAMELIKE_TITLES,
    SURNAMES,
    TITLES,
)
from ..text.cjk import HAN, has_han
from ..text.names import FUNCTION_WORDS
from ..text.patterns import lazy_regex
from ..text.sentences import Layout
from ..text.transcripts import speakers_of
from .class_nouns import CLASS_TYPES, han_type_of, type_of_phrase

_STOPS = r"(?:of|in|by|that|which|who|and|at|for|from|on|with|to)"
_ENDS_PHRASE = (
    r"(?=[ ](?:of|in|by|that|which|who|whose|and|or|at|for|from|on|off|with|to|about|as|between"
    r"|during|under|since|born|known|written|near|where|set|made|held|found|sung"
    r"|(?!red\b)[a-z]{2,}(?:ed|ing))\b|[,.;:)\n]|$)"
)
_NOUN_PHRASE = rf"(?P<noun>(?:(?!{_STOPS}\b)[\w'’-]+[ ]){{0,7}}?[a-z][a-z-]+){_ENDS_PHRASE}"
_ASIDE = r"(?:\**\s*\([^()]{0,160}\)|,\s[^,.;]{1,60},(?=\s(?:is|was)\b))?[\"”’*_]*"
_DEFINED = lazy_regex(
    rf"{_ASIDE}\s+(?:is|was|are|were)\s+(?:(?:also|now|then|once|still)\s+)?"
    rf"(?:an?|the|one\s+of\s+the)\s+{_NOUN_PHRASE}"
)
_APPOSED = lazy_regex(rf"[\"”’*_]*,\s+(?:an?|the|our|his|her)\s+{_NOUN_PHRASE}")
_ROLE_AFTER = lazy_regex(r"[*_]*(?:,| \()\s*(?P<noun>[a-z]+)(?=[,.;)\n]|$| (?:of|in|at)\b)")
_IN_FRONT = lazy_regex(r"(?:(?P<noun>\b[a-z]+) ?|(?P<label>\b[A-Za-z]+):[ ]?)[*_\"“]{0,3}$")
_CLASS_OF = lazy_regex(r"\b(?P<noun>[a-z]+)\s+of\s+[*_\"“]{0,3}$")
_ARTICLE = lazy_regex(r"\b(?:the|an?|this)\s+[*_]{0,2}$", re.IGNORECASE)
_ENDS = lazy_regex(
    r"[*_\"”]*(?:[,.;:)]|\s+(?:\w+s|was|were|had|\w+ed|and|or|in|on|at|of|by|to)\b|$)"
)
_FOLLOWED = lazy_regex(r"\s+(?:[a-z]+\s)?(?P<noun>[a-z]+)\b")
_SAYS = (
    "said|says|asked|replied|answered|cried|exclaimed|returned|observed|remarked|whispered|inquired"
    "|demanded|pursued|murmured|muttered|shouted|sighed"
)
_LED = r"(?:the\s+)?(?:[A-Z][\w'’-]*\s+and\s+)?[*_\"“]{0,3}$"
_GOVERNED = lazy_regex(rf"\b(?:of|in|at|from|to|for|by|with|on|near|under)\s+{_LED}")
"""A name inside a phrase: what follows is said of another, "the king of France (…) was a …"."""
_CONTINUED = lazy_regex(rf"\b[A-Z][\w'’-]*\s+of\s+{_LED}")
"""A name inside a longer one, "Duke of Burgundy, a prince"."""
_PERSON_VERBS = (
    rf"(?:{_SAYS}|told|thought|wrote|writes|smiled|laughed|nodded|shook|sat|married|died|retired"
    r"|was\s+born|was\s+educated|resigned|graduated|starred|sang|felt|remembered|knew|looked"
    r"|turned|walked|wept|studied|read|beckoned|bowed|knelt|glanced)"
)

COPULA, TITLE, IN_FRONT, APPOSED, VERB, BEHIND = 5.0, 4.0, 4.0, 3.0, 2.0, 1.5
"""Weights of cues; a mention that a tagger gives a type weighs 1."""

_AFTER = (
    (
        re.compile(rf"(?:,?\s+(?:who\s+)?(?:\w+ly\s+)?|\s*[\"”'’]\s*){_PERSON_VERBS}\b"),
        "PERSON",
        VERB,
    ),
    (
        re.compile(r"\s+(?:lies|is\s+located|is\s+situated|was\s+located|borders|stands)\b"),
        "PLACE",
        IN_FRONT,
    ),
)
_BEFORE = (
    (
        re.compile(
            r"(?:^|\n|\|\s*)\**(?:From|To|Cc|By|Author|Approved by|Prepared by|Words)\**:\**\s*$",
            re.IGNORECASE,
        ),
        "PERSON",
        IN_FRONT,
    ),
    (re.compile(rf"(?:^|[\"”’'])\s*(?:{_SAYS})\s+(?:the\s+)?$"), "PERSON", VERB),
    (
        re.compile(
            r"\b(?:starring|married(?:\s+to)?|son\s+of|daughter\s+of"
            r"|(?:written|directed|produced|composed|painted)\s+by)\s+$"
        ),
        "PERSON",
        VERB,
    ),
    (
        re.compile(
            r"\b(?:born|died|lives?|lived|located|situated|held|moved|arrived|arrives|landed"
            r"|stationed|filmed|buried|studied)\s+(?:in|at|on|to|near)\s+$"
        ),
        "PLACE",
        VERB,
    ),
    (re.compile(r"\b(?:in|near|around|off|towards|at)\s+$"), LOCATED, 1.0),
    (
        re.compile(
            r"\b(?:(?:aboard|on\s+board(?:\s+of)?)(?:\s+the)?|RV|MV|SS|HMS|USS)[*_]*\s+[*_\"“]*$"
        ),
        "PRODUCT",
        IN_FRONT,
    ),
)
_HAN_DEFINED = lazy_regex(
    rf"(?:[（(][^（）()]{{0,80}}[）)])?[，]?是(?:一[{HAN}]|[^，。；]{{0,24}}的)[^，。；]{{0,14}}?"
    rf"(?P<noun>[{HAN}]{{1,3}})(?=[，。；]|$)"
)
_HAN_AFTER = (
    (
        re.compile(
            r"出生|生于|[说道曰问答]|表示|认为|去世|逝世|写道|嫁给|结婚|毕业|考入|笑|回答|介绍|追问|叹"
        ),
        "PERSON",
        VERB,
    ),
    (re.compile(r"位于|坐落|[村镇岛港湾市县省]"), "PLACE", IN_FRONT),
)
_HAN_TITLE = re.compile("|".join(title for title in HAN_TITLES if len(title) > 1))
"""Titles behind a person's name, or behind the name of the place of an office: 长沙太守."""
_HAN_BEFORE = ((re.compile(r"(?:抵达|前往|来到|位于|住在|出生于|到达|离开)$"), "PLACE", VERB),)


def type_statements(
    layout: Layout,
    mentions: Iterable[Mention],
    is_word: Callable[[str, bool], bool] = lambda _word, _is_noun: False,
) -> Iterator[Statement]:
    """Yield each type that the words around a name speak for, once a sentence.

    `is_word` checks for a word of the dictionary, in lower case, that may be a noun or not.
    """
    best: dict[tuple[int, int, str, str], float] = {}
    for mention in mentions:
        index = layout.sentence_at(mention.start)
        if mention.type not in NAMED_TYPES or index is None:
            continue
        span = layout.sentences[index]
        for kind, weight in _cues(layout.text, mention, span):
            place = (*span, mention.key, kind)
            best[place] = max(best.get(place, weight), weight)
        if _is_doubtful(layout, mention, span):
            place = (*span, mention.key, ORDINARY)
            best[place] = best.get(place, 0.0) + 1.0
        if _is_common(layout, mention, is_word):
            best[(*span, mention.key, COMMON)] = 1.0
        if _is_phrase(mention.key, is_word):
            best[(*span, mention.key, PHRASE)] = 1.0
    for (start, end, key, kind), weight in best.items():
        yield Statement(
            start=start, end=end, subject=key, predicate=OF_TYPE, object=kind, strength=weight
        )


def _cues(text: str, mention: Mention, span: tuple[int, int]) -> Iterator[tuple[str, float]]:
    before = text[max(span[0], mention.start - 80) : mention.start]
    after = text[mention.end : min(span[1], mention.end + 240)]
    if has_han(mention.surface):
        before = before.rstrip("“「*_：: ")
        yield from _matches(before, after, behind=_HAN_AFTER, in_front=_HAN_BEFORE)
        if (match := _HAN_DEFINED.match(after)) and (kind := han_type_of(match["noun"])):
            yield kind, COPULA
        is_place = mention.type == "PLACE"  # 长沙太守, 都督荆州
        if not is_place and _HAN_TITLE.match(after) and not _GOVERNED.search(before):
            yield "PERSON", VERB
        kind = han_type_of(before)
        if kind and not (is_place and kind == "PERSON"):
            yield kind, IN_FRONT if kind == "PERSON" else APPOSED
        return
    yield from _matches(before, after, behind=_AFTER, in_front=_BEFORE)
    yield from _class_nouns(before, after, speakers_of(text))
    if after[:1] == ":" and mention.surface in speakers_of(text):
        yield "PERSON", IN_FRONT
    first = mention.key.split()[0].rstrip(".")
    if first in TITLES - NAMELIKE_TITLES and " " in mention.key:
        yield "PERSON", TITLE


Cues = tuple[tuple[re.Pattern[str], str, float], ...]


def _matches(
    before: str, after: str, *, behind: Cues, in_front: Cues
) -> Iterator[tuple[str, float]]:
    for pattern, kind, weight in behind:
        if pattern.match(after) and not _GOVERNED.search(before):
            yield kind, weight
    for pattern, kind, weight in in_front:
        if pattern.search(before):
            yield kind, weight


def _class_nouns(
    before: str, after: str, speakers: Collection[str] = ()
) -> Iterator[tuple[str, float]]:
    for pattern, weight in ((_DEFINED, COPULA), (_APPOSED, APPOSED), (_ROLE_AFTER, APPOSED)):
        elsewhere = _GOVERNED if pattern is _DEFINED else _CONTINUED
        match = None if elsewhere.search(before) else pattern.match(after)
        if match and (kind := type_of_phrase(match["noun"])):
            yield kind, weight
    match = _IN_FRONT.search(before)
    if match and not _spoken(before, speakers):
        kind = CLASS_TYPES.get((match["noun"] or match["label"]).casefold(), "")
        if kind:
            yield kind, IN_FRONT
    if (match := _CLASS_OF.search(before)) and CLASS_TYPES.get(match["noun"]) == "PLACE":
        yield "PLACE", IN_FRONT
    followed = _FOLLOWED.match(after)
    behind = CLASS_TYPES.get(followed["noun"]) if followed else ""
    if _ARTICLE.search(before):
        if _ENDS.match(after):
            yield DETERMINED, 1.0
        elif behind == "PRODUCT":
            yield "PRODUCT", BEHIND
    elif behind == "PLACE":
        yield "PLACE", BEHIND


def _spoken(before: str, speakers: Collection[str]) -> bool:
    """Check whether the label of a speaker stands directly before."""
    opening = before.rstrip()
    return opening.endswith(":") and opening[:-1].rpartition("\n")[2] in speakers


_OPENS, _CLOSES = re.compile(r"[“\"*_] ?$"), re.compile(r"[!?.,]?[”\"*_]")


def _is_common(layout: Layout, mention: Mention, is_word: Callable[[str, bool], bool]) -> bool:
    """Check for a word of the dictionary that is no place, usual name, acronym or quoted title."""
    key, surface = mention.key, mention.surface
    before, after = layout.text[: mention.start][-12:], layout.text[mention.end :][:24]
    determined = _DETERMINED.search(before) if _ENDS.match(after) else None
    if mention.type == "PLACE" and (not determined or determined["the"]):
        return False
    if surface.isupper() and len(surface) <= _ACRONYM:
        return False
    if key in COMMON_GIVEN_NAMES or key in SURNAMES or not is_word(key, determined is not None):
        return False
    return not (_OPENS.search(before) and _CLOSES.match(after))


def _is_phrase(key: str, is_word: Callable[[str, bool], bool]) -> bool:
    """Check for several words of the dictionary, none of them usual in persons' names.

    The last one is no noun that may be a family name.
    """
    words = [word for word in re.split(r"[\s/-]+", key) if word not in FUNCTION_WORDS]
    if len(words) < 2 or not is_word(words[-1], False):
        return False
    return not any(
        word in COMMON_GIVEN_NAMES
        or word in DIMINUTIVES
        or word in SURNAMES
        or not is_word(word, True)
        for word in words
    )


_DETERMINED = lazy_regex(r"(?:\b(?:(?P<the>the)|an?|this|every)|['’]s)\s+$", re.IGNORECASE)
_ACRONYM = 5
_CELL = lazy_regex(r"\|[ ]*[*_]*$")
_LINE_START = lazy_regex(r"[ \t#>*_\-\d.)]*")
_OPENING_QUOTE = lazy_regex(r"(?:^|\s)[“\"‘'][*_]?$")
_FINITE = lazy_regex(r"[*_]*\s+(?:is|was|has|had|are|were|will|can|[a-z]+(?:ed|[^s]s))\b")


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
    opening = "" if _spoken(opening, speakers_of(text)) else opening
    return (
        not any(c.isalnum() for c in opening)
        or bool(_OPENING_QUOTE.search(opening))
        or bool(_LINE_START.fullmatch(line))
    )
