"""Questions and designations from the opening sentence of a document about its own title.

Encyclopedic documents open alike: a name with its dates in brackets ("Ada Brine (3 March 1850 –
1931) was …"), or a work with its maker ("Gull Quay is a 1934 film directed by Orrin Vale"). The
dates give questions when a person was born and died; the maker gets a phrase that means the person
without the name, for questions over two hops.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from graph.text.cjk import HAN, has_han

from ...storage.graph_api import sentence_spans
from ..gold import GoldQuestion, gold_question
from .combined import Designation
from .structure import SourceDocument

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_DATE = rf"(?:\d{{1,2}} {_MONTH},? \d{{3,4}}|{_MONTH} \d{{1,2}},? \d{{3,4}}|\d{{4}})"
_LIFE = re.compile(
    rf"^\s*(?:born:? (?P<born>{_DATE})\b(?![\w/])[^–—-]{{0,60}}"
    rf"|died:? (?P<died>{_DATE})|(?P<from>{_DATE}) ?[–—-] ?(?P<to>{_DATE}))\s*$"
)
_HAN_DATE = r"\d{3,4}年(?:\d{1,2}月(?:\d{1,2}日)?)?"
_HAN_LIFE = re.compile(rf"^\s*(?P<from>{_HAN_DATE})\s*[—–－~～-]+\s*(?P<to>{_HAN_DATE})?\s*$")
_OPENING = re.compile(
    r"^(?P<name>[^()（）,，。:：]{2,60}?)\s*[(（](?P<inside>[^()（）]{4,90})[)）]"
)
_PERSON = re.compile(
    r"^,? ?(?:is|was) (?:an?|the) (?:[\w-]+ ){0,6}?"
    r"(?:actor|actress|director|producer|politician|writer|author|poet|singer|songwriter|musician"
    r"|composer|painter|player|footballer|cricketer|swimmer|rower|wrestler|boxer|skier|soldier"
    r"|officer|lawyer|journalist|scientist|physicist|chemist|historian|philosopher|professor|bishop"
    r"|priest|king|queen|prince|princess|duke|duchess|earl|count|countess|nobleman|noblewoman"
    r"|botanist|engineer|architect|filmmaker|screenwriter|cinematographer|novelist|playwright"
    r"|activist|businessman|businesswoman|model|coach|conductor|judge|diplomat|physician|explorer)\b"
)
_IRREGULAR = {"written": "wrote", "sung": "sang", "drawn": "drew", "built": "built", "led": "led"}
_NAME = r"[A-Z][\w.'’-]+(?: (?:de|van|von|la|di|bin))?(?: [A-Z][\w.'’-]*){1,3}"
_MADE = re.compile(
    r"^[^.;]{0,120}?\b(?:is|was) (?:an?|the) (?!.*?\b(?:about|on|from|that|which|who)\b.*? by )"
    rf"(?P<what>[^.;,]{{3,80}}?),? (?P<verb>\w{{2,}}ed|{'|'.join(_IRREGULAR)})"
    rf" by (?P<by>{_NAME})(?=[.,;]| (?:and (?!(?:[A-Z]|co-))|starring|in|for|with|from|on|at|as))"
)
_HAN_MADE = re.compile(
    rf"^《(?P<title>[^》]+)》[^。；]{{0,60}}?由(?P<by>[{HAN}·]{{2,12}}?)"
    r"(?P<verb>执导|导演|创作|编写|撰写|演唱|设计|创办|主编)"
)
_INSTITUTION = re.compile(
    r"\b(?:company|studios?|pictures|records|productions?|films?|university|press|entertainment"
    r"|inc|ltd|group|council|corporation|brothers|the)\b",
    re.IGNORECASE,
)


def _opening(document: SourceDocument) -> tuple[int, int]:
    """Return the first sentence of prose, which must begin within the first characters."""
    start = 0
    if document.text.startswith("#"):
        start = document.text.find("\n") + 1
    spans = sentence_spans(document.text[start : start + 1_500])
    first = next(((a, b) for a, b in spans if b - a > 20), (0, 0))
    return start + first[0], start + first[1]


def entry_questions(document: SourceDocument) -> Iterator[GoldQuestion]:
    """Yield when the person that a document is about was born and died."""
    start, end = _opening(document)
    said = document.text[start:end]
    match = _OPENING.match(said)
    if match is None or not document.is_named:
        return
    name, chinese = _own_name(document), document.language == "zh"
    opens = match["name"].strip()
    if not name or not (opens == name or (" " in name and opens.split()[0] == name.split()[0])):
        return
    life = (_HAN_LIFE if chinese else _LIFE).match(match["inside"])
    if life is None or not (chinese or _PERSON.match(said[match.end() :])):
        return
    found = life.groupdict()
    dates = (found.get("born") or found["from"], found.get("died") or found["to"])
    for born, value in zip((True, False), dates, strict=True):
        if not value:
            continue
        text = f"When was {name} born?" if born else f"When did {name} die?"
        if chinese:
            text = f"{name}{'出生于' if born else '逝世于'}哪一年？"
            value = re.sub(r"年.*", "年", value)
        yield gold_question(
            text,
            kind="when",
            language=document.language,
            spans=[document.span(start, end)],
            answers=[value],
            made="dates behind a document's own name",
        )


def _own_name(document: SourceDocument) -> str:
    """Return the title without what tells it from others; empty where it is no name."""
    name = re.sub(r"\s*[(（].*", "", document.title).strip()
    if has_han(name) != (document.language == "zh"):
        return ""
    return name if " " in name or len(name) >= (2 if document.language == "zh" else 5) else ""


def makers(documents: Sequence[SourceDocument]) -> Iterator[Designation]:
    """Yield phrases for those by whom the subject of a document was made."""
    for document in documents:
        start, end = _opening(document)
        said, name = document.text[start:end], _own_name(document)
        span = document.span(start, end)
        if document.language == "zh":
            found = _HAN_MADE.match(said)
            if found is not None and found["title"] == name.strip("《》"):
                phrase = f"{found['verb']}《{found['title']}》的人"
                yield Designation(name=found["by"], phrase=phrase, span=span, language="zh")
            continue
        match = _MADE.match(said)
        if (
            match is None
            or not name
            or not document.is_named
            or not said.startswith(name.split()[0])
        ):
            continue
        by, verb = match["by"], _IRREGULAR.get(match["verb"], match["verb"])
        if (
            _INSTITUTION.search(by)
            or not re.search(r"[a-z]", by.split()[-1])
            or re.search(r"\bof\b", match["what"])
        ):
            continue
        phrase = f"the person who {verb} “{document.title}”"
        yield Designation(name=by, phrase=phrase, span=span, language="en")
