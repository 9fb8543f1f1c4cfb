"""Sentences that can be read alone: complete, and clear without what stands before them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graph.text.cjk import HAN_CHARACTER, count_han, is_chinese
from graph.text.patterns import lazy_regex

from ...plain_text import strip_markdown
from ...storage.graph_api import sentence_spans

MIN_WORDS, MAX_WORDS, BRIEF_WORDS = 8, 40, 3
"""Length of a sentence in words, and of one that is read with the next; two Chinese characters
count as one."""

_WORD = lazy_regex(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d[\d.,:]*")
_SPEAKER = lazy_regex(r"[*_]{0,3}(?:[A-Z][\w.'-]*(?: [A-Z][\w.'-]*){0,4}):[*_]{0,3} +")
_TURN = lazy_regex(r"(?:^|\n)[*_]{0,2}([A-Z][^:\n]{2,40}):[*_]{0,2} ")
_FIELDS = frozenset(
    ("From", "Bcc", "Date", "Sent", "Subj", "Subject", "Reply-To", "Message-ID", "Importance")
)
"""Fields of a message's header."""
_SENDER = lazy_regex(r"(?:^|\n)[*_]{0,2}From:[*_]{0,2}[ \t]+([^\n]*)")
_VERB = lazy_regex(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|can|could|will|would|shall|should|may"
    r"|might"
    r"|must|ate|bled|blew|bore|bound|bred|broke|burnt|caught|cost|cut|drank|drove|dug|fed|fled"
    r"|flew|fought"
    r"|hid|hit|hung|hurt|let|lit|meant|rang|rode|sank|shook|shot|shut|slept|sought|spoke|split"
    r"|spread|stole"
    r"|struck|swept|swore|threw|woke|wound|began|became|bought|brought|built|came|chose|drew|fell"
    r"|felt|found|gave|got|grew|heard|held"
    r"|kept|knew|laid|led|left|lost|made|met|paid|put|ran|read|rose|said|sang|sat|saw|sent|set|sold"
    r"|spent|stood|swam|taught|told|took|thought|went|won|wore|wrote|allows?|asks?|begins?|calls?"
    r"|comes?|consists?|contains?|covers?|deals?|depends?|describes?|exists?|explains?|follows?"
    r"|gives?"
    r"|goes|grows?|helps?|holds?|includes?|keeps?|knows?|lays|leads?|leaves?|lies|lives?|makes?"
    r"|means?"
    r"|needs?|offers?|pays?|plays?|produces?|provides?|publishes|reads|requires?|runs?|says?|sees"
    r"|sends?|serves?|shows?|stands?|starts?|stays?|supports?|takes?|tells?|tries|uses?|wants?"
    r"|works?"
    r"|writes?|[a-z]{2,}ed)\b"
)
_FILLER = lazy_regex(r"\b(?:u[hm]+|mm+|m?hmm|yeah|gonna|dunno|wanna)\b", re.IGNORECASE)
_CAPITALS = lazy_regex(r"^(?:\W*[A-Z]{3,}\b.{0,4}){2}|\b[A-Z]{3,} [A-Z]{2,} [A-Z]{3,}\b")
_ENDS = lazy_regex(r"[.。][”’\"')）」』]?$")
_TORN = lazy_regex(
    r"— ?[A-Z][^:.]{2,40}: |https?:|www\.|\S@\S|\||\{\w+\}|```|[<>=$\\]|\.{3}|…|[:：;]$"
    r"|^\W*[-*+•>#]|^\(?\d{1,3}[.)、]\s|\[\w"
    r"|\b(?:doi|ISBN|ISSN|pp\.|vol\.|et al|as follows|following|above|below|see|click|chapter"
    r"|section|appendix|table|figure)\b|\s[,.]\s|如下|上述|以下|下面|上面|参见|参阅|请见|详见"
    r"|第[\d一二三四五六七八九十]+[章节]",
    re.IGNORECASE,
)
_OPENING_WORDS = 60
_UNTOLD = lazy_regex(r"^\W*[-*+•>#|]|^\(?\d{1,3}[.)、]\s|https?:|\||```|[<>=$\\]|\.{3}|…")
_PARTICIPLE = lazy_regex(
    r"(?:(?<!\w )[A-Za-z]+ed,|[a-z]+ed (?:by|for|under|in|at|on|from|to|with|of|\d))",
    re.IGNORECASE,
)
"""Participles that are no sentence's verb: *Edition of March, compiled by …*, *Updated, …*."""
_BACK = (
    r"(?:he|she|it|they|you|his|her|its|their|your|this|that|these|those|such|him|them|there"
    r"|another|others|both|either|neither|same|here|the (?:other|former|latter|second|third|same))"
)
_OWN = lazy_regex(r"(?:i|we|our|my)\b", re.IGNORECASE)
_LEANS = lazy_regex(
    rf"(?:{_BACK}|and|but|or|so|then|however|therefore|thus|also|moreover|furthermore|instead|hence"
    r"|otherwise|nevertheless|besides|still|yet|nor|because|which|who|where|what|why|how|meanwhile"
    r"|again|in (?:addition|contrast|particular|fact|short)|for (?:example|instance)|likewise"
    r"|similarly|finally|yes|no|well|oh|um|uh|okay|ok|note|if so)\b",
    re.IGNORECASE,
)
_FOLLOWS = lazy_regex(
    r"(?:he|she|it|they|his|her|its|their|this|these|that|both|the)\b|[他她它这其此该]",
    re.IGNORECASE,
)
"""Begins a sentence that is clear with the one before it."""
_EARLY = lazy_regex(rf"\b{_BACK}\b", re.IGNORECASE)
_NAMED = lazy_regex(r"(?<=[\w,] )[A-Z][\w-]+")
_HAN_LEANS = lazy_regex(
    r"[^\w]*(?:本[节章文]|[他她它这那其此该但并而也又还就却且]|因此|所以|于是|然而|不过|另外|此外"
    r"|同时|如果|如今|后来|当时|当然|我|你|您"
    r"|由于此|例如|比如|首先|其次|最后|总之|两者|双方|前者|后者|答|问)"
)
_FIRST_PERSON = lazy_regex(r"\b(?:I|we|you|my|our|your|me|us)\b|['’](?:ll|ve|re|m)\b|[我你您]")
_EARLY_WORDS = 5
_SINGLE = lazy_regex(
    r"(?P<opens>(?<!\w)['‘](?!(?:em|tis|twas|twere|twill|till?|cause|round|bout|\d\d)\b)(?=\w))|['’](?!\w)"
)
"""Single quotation marks, and the apostrophes of *soldiers'* and *goin'*."""
_SEPARATORS = lazy_regex(r"[,;、，；·|]")
_MAX_SEPARATORS = 8
_LABELS = lazy_regex(r"(?:^|\s)[A-Z][a-z]+: |：\s?")
_RULES = lazy_regex(r"-{4,}|={4,}|\|.*\|")
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("（", "）"), ("《", "》"), ("「", "」"))


_INTRODUCES = lazy_regex(
    r"(?:(?:The (?:aim|goal|purpose) of )?this|The present) (?:[\w-]+ )?"
    r"(?:book|document|guide|handbook|manual|faq|report|paper|page"
    r"|site|collection|work|volume|tutorial|text|reference|chapter)"
    r" (?:is|was|has been|gives?|describes?|explains?|answers?|covers?|contains?|presents?|tells?"
    r"|introduces?|teaches|provides?|reports?|discusses|lists?|aims?|shows?|deals|serves?|assumes"
    r"|offers?|focus(?:es)?|takes"
    r"|will (?:show|explain|teach|tell|help|guide|give|cover|introduce|describe|take|walk|lead))\b"
    r"|本(?:书|文档?|手册|指南|报告|文件|资料)(?!身|地)",
    re.IGNORECASE,
)


def introduces(sentence: str) -> bool:
    """Check for a sentence about the document that it stands in: "This handbook …"."""
    return _INTRODUCES.match(strip_markdown(sentence)) is not None


def standalone_spans(text: str, *, introductions: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences of a chunk that can be read alone, without a speaker's name.

    One that only means what the sentence before it names is yielded together with that, and what
    is too short by itself (*Xen is a hypervisor.*) with the one behind it. With `introductions`,
    also those about the document itself, to be read under its title.
    """
    before: tuple[int, int] | None = None
    for start, end in sentence_spans(text):
        speaker = _SPEAKER.match(text, start, end)
        begin = speaker.end() if speaker else start
        if speaker_at(text, begin) or not _OWN.match(text, begin):
            is_clear = stands_alone(text[begin:end], introductions=introductions)
        else:
            is_clear = introductions and introduces(text[begin:end])
        if is_clear:
            yield begin, end
            before = begin, end
            continue
        between = text[before[1] : begin] if before else ""
        if before and not speaker and not between.strip() and between.count("\n") < 2:
            follows = _FOLLOWS.match(text, begin) and is_complete(text[begin:end])
            if follows and word_count(text[before[0] : end]) <= MAX_WORDS + MIN_WORDS:
                yield before[0], end
        is_own = speaker is not None or _OWN.match(text, begin) is not None
        is_brief = not is_own and word_count(text[begin:end]) < MIN_WORDS
        is_brief = is_brief and stands_alone(text[begin:end], least=BRIEF_WORDS)
        before = (begin, end) if is_brief else None


def speaker_at(text: str, start: int) -> str:
    """Return who speaks at a place of a transcript, or writes a message; empty where unnamed."""
    turns = _TURN.findall(text[:start])
    if turns and turns[-1].strip() in _FIELDS:
        turns = [re.split(r"[(<]", each)[0] for each in _SENDER.findall(text[:start])]
    return turns[-1].strip("*_ ") if turns else ""


def stands_alone(sentence: str, *, introductions: bool = False, least: int = MIN_WORDS) -> bool:
    """Check that a sentence is complete, of so many words, and leans on nothing said before it."""
    text = strip_markdown(sentence)
    if not word_count(text) >= least or not is_complete(sentence):
        return False
    if introductions and introduces(text):
        return True
    return not leans_back(text)


def leans_back(text: str) -> bool:
    """Check for a beginning that means what was said before: *But she*, *This letter*."""
    if is_chinese(text):
        return _HAN_LEANS.match(text) is not None
    if _LEANS.match(text):
        return True
    early = " ".join(text.split()[:_EARLY_WORDS])
    back = _EARLY.search(early)
    return back is not None and _NAMED.search(early[: back.start()]) is None


def is_complete(sentence: str) -> bool:
    """Check for a whole sentence of written language, not too long."""
    text = strip_markdown(sentence)
    if word_count(text) > MAX_WORDS or not _ENDS.search(text) or "\n\n" in sentence:
        return False
    if _TORN.search(text) or _FILLER.search(text) or is_unpaired(text) or "*" in text:
        return False
    if is_chinese(text):
        return True
    is_begun = text[0].isupper() or text[0].isdigit()
    return is_begun and not _CAPITALS.search(text) and has_verb(text)


def has_verb(text: str) -> bool:
    """Check for an English word that may be a sentence's verb."""
    return _VERB.search(text) is not None


def opens(sentence: str) -> bool:
    """Check for a whole sentence, not too long, that can be read as the first below a heading."""
    text = strip_markdown(sentence)
    is_long = BRIEF_WORDS < word_count(text) <= _OPENING_WORDS
    is_whole = is_long and _ENDS.search(text) is not None and "\n\n" not in sentence
    if not is_whole or _UNTOLD.search(text) or is_unpaired(text):
        return False
    if is_chinese(text):
        return True
    if not text[:1].isupper() or _PARTICIPLE.match(text):
        return False
    is_said = any(not _PARTICIPLE.match(text, one.start()) for one in _VERB.finditer(text))
    return is_said or not _PARTICIPLE.search(text)


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
    if text[:1] in "'‘":
        return True
    is_open = False
    for mark in _SINGLE.finditer(text):
        if not (mark["opens"] or is_open or text[: mark.start()][-1:].isalnum()):
            return True
        is_open = mark["opens"] is not None
    if is_open:
        return True
    return text.count('"') % 2 == 1 or any(text.count(a) != text.count(b) for a, b in _PAIRS)
