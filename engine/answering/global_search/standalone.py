"""Sentences that can be read alone: complete, and clear without what stands before them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graph.text.cjk import HAN_CHARACTER, count_han, is_chinese
from graph.text.patterns import lazy_regex

from ...plain_text import strip_markdown
from ...storage.graph_api import sentence_spans

MIN_WORDS, MAX_WORDS = 8, 40
"""Length of a sentence in words; two Chinese characters count as one."""

_WORD = lazy_regex(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d[\d.,:]*")
_SPEAKER = lazy_regex(r"[*_]{0,3}(?:[A-Z][\w.'-]*(?: [A-Z][\w.'-]*){0,4}):[*_]{0,3} +")
_VERB = lazy_regex(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|can|could|will|would|shall|should|may|might"
    r"|must|ate|bled|blew|bore|bound|bred|broke|burnt|caught|cost|cut|drank|drove|dug|fed|fled|flew|fought"
    r"|hid|hit|hung|hurt|let|lit|meant|rang|rode|sank|shook|shot|shut|slept|sought|spoke|split|spread|stole"
    r"|struck|swept|swore|threw|woke|wound|began|became|bought|brought|built|came|chose|drew|fell|felt|found|gave|got|grew|heard|held"
    r"|kept|knew|laid|led|left|lost|made|met|paid|put|ran|read|rose|said|sang|sat|saw|sent|set|sold"
    r"|spent|stood|swam|taught|told|took|thought|went|won|wore|wrote|allows?|asks?|begins?|calls?"
    r"|comes?|consists?|contains?|covers?|deals?|depends?|describes?|exists?|explains?|follows?|gives?"
    r"|goes|grows?|helps?|holds?|includes?|keeps?|knows?|lays|leads?|leaves?|lies|lives?|makes?|means?"
    r"|needs?|offers?|pays?|plays?|produces?|provides?|publishes|reads|requires?|runs?|says?|sees"
    r"|sends?|serves?|shows?|stands?|starts?|stays?|supports?|takes?|tells?|tries|uses?|wants?|works?"
    r"|writes?|[a-z]{2,}ed)\b"
)
_FILLER = lazy_regex(r"\b(?:u[hm]+|mm+|m?hmm|yeah|gonna|dunno|wanna)\b", re.IGNORECASE)
_CAPITALS = lazy_regex(r"^(?:\W*[A-Z]{3,}\b.{0,4}){2}|\b[A-Z]{3,} [A-Z]{2,} [A-Z]{3,}\b")
_ENDS = lazy_regex(r"[.。][”’\"')）」』]?$")
_TORN = lazy_regex(
    r"https?:|www\.|\S@\S|\||\{\w+\}|```|[<>=$\\]|\.{3}|…|[:：;]$|^\W*[-*+•>#]|^\(?\d{1,3}[.)、]\s|\[\w"
    r"|\b(?:doi|ISBN|ISSN|pp\.|vol\.|et al|as follows|following|above|below|see|click|chapter"
    r"|section|appendix|table|figure)\b|\s[,.]\s|如下|上述|以下|下面|上面|参见|参阅|请见|详见|第[\d一二三四五六七八九十]+[章节]",
    re.IGNORECASE,
)
_BACK = (
    r"(?:he|she|it|they|we|i|you|his|her|its|their|our|my|your|this|that|these|those|such|him|them|there"
    r"|another|others|both|either|neither|same|here|the (?:other|former|latter|second|third|same))"
)
_LEANS = lazy_regex(
    rf"(?:{_BACK}|and|but|or|so|then|however|therefore|thus|also|moreover|furthermore|instead|hence"
    r"|otherwise|nevertheless|besides|still|yet|nor|because|which|who|where|what|why|how|meanwhile"
    r"|again|in (?:addition|contrast|particular|fact|short)|for (?:example|instance)|likewise"
    r"|similarly|finally|yes|no|well|oh|um|uh|okay|ok|note|if so)\b",
    re.IGNORECASE,
)
_EARLY = lazy_regex(rf"\b{_BACK}\b", re.IGNORECASE)
_NAMED = lazy_regex(r"(?<=[\w,] )[A-Z][\w-]+")
_HAN_LEANS = lazy_regex(
    r"[^\w]*(?:本[节章文]|[他她它这那其此该但并而也又还就却且]|因此|所以|于是|然而|不过|另外|此外|同时|如果|如今|后来|当时|当然|我|你|您"
    r"|由于此|例如|比如|首先|其次|最后|总之|两者|双方|前者|后者|答|问)"
)
_FIRST_PERSON = lazy_regex(r"\b(?:I|we|you|my|our|your|me|us)\b|['’](?:ll|ve|re|m)\b|[我你您]")
_EARLY_WORDS = 5
_SINGLE = lazy_regex(r"(?<!\w)['‘]|['’](?!\w)")
_SEPARATORS = lazy_regex(r"[,;、，；·|]")
_MAX_SEPARATORS = 8
_LABELS = lazy_regex(r"(?:^|\s)[A-Z][a-z]+: |：\s?")
_RULES = lazy_regex(r"-{4,}|={4,}|\|.*\|")
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("（", "）"), ("《", "》"), ("「", "」"))


_INTRODUCES = lazy_regex(
    r"(?:This|The present) (?:[\w-]+ )?(?:book|document|guide|handbook|manual|faq|report|paper|page"
    r"|site|collection|work|volume) (?:is|was|has been|gives?|describes?|explains?|answers?|covers?"
    r"|contains?|presents?|tells?|introduces?|teaches|provides?|reports?|discusses|lists?|aims?"
    r"|shows?|deals)\b|本(?:书|文档?|手册|指南|报告|文件|资料)(?!身|地)",
    re.IGNORECASE,
)


def introduces(sentence: str) -> bool:
    """Check for a sentence about the document that it stands in: "This handbook …"."""
    return _INTRODUCES.match(strip_markdown(sentence)) is not None


def standalone_spans(text: str, *, introductions: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences of a chunk that can be read alone, without a speaker's name.

    With `introductions`, also of those about the document itself, to be read under its title.
    """
    for start, end in sentence_spans(text):
        speaker = _SPEAKER.match(text, start, end)
        begin = speaker.end() if speaker else start
        if stands_alone(text[begin:end], introductions=introductions):
            yield begin, end


def stands_alone(sentence: str, *, introductions: bool = False) -> bool:
    """Check that a sentence is complete and leans on nothing said before it."""
    text = strip_markdown(sentence)
    introduced = introductions and introduces(text)
    if not MIN_WORDS <= word_count(text) <= MAX_WORDS or not _ENDS.search(text):
        return False
    if (
        _TORN.search(text)
        or _FILLER.search(text)
        or is_unpaired(text)
        or "\n\n" in sentence
        or "*" in text
    ):
        return False
    if introduced:
        return True
    if is_chinese(text):
        return not _HAN_LEANS.match(text)
    if not _VERB.search(text) or _CAPITALS.search(text):
        return False
    if not (text[0].isupper() or text[0].isdigit()) or _LEANS.match(text):
        return False
    early = " ".join(text.split()[:_EARLY_WORDS])
    back = _EARLY.search(early)
    return back is None or _NAMED.search(early[: back.start()]) is not None


def is_listing(text: str) -> bool:
    """Check for a list of names, a header or a line of labels rather than a sentence."""
    plain = strip_markdown(text)
    return (
        len(_SEPARATORS.findall(plain)) > _MAX_SEPARATORS
        or len(_LABELS.findall(plain)) > 1
        or _RULES.search(text) is not None
    )


def is_personal(text: str) -> bool:
    """Check whether a sentence speaks of its writer or to its reader."""
    return _FIRST_PERSON.search(text) is not None


def word_count(text: str) -> float:
    """Return the number of words; two Chinese characters count as one."""
    return len(_WORD.findall(HAN_CHARACTER.sub(" ", text))) + count_han(text) / 2


def is_unpaired(text: str) -> bool:
    """Check for quotation marks and brackets that open or close without their other half."""
    if len(_SINGLE.findall(text)) % 2 or text[:1] in "'‘":
        return True
    return text.count('"') % 2 == 1 or any(text.count(a) != text.count(b) for a, b in _PAIRS)
