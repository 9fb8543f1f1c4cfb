"""Documents that a question names: as the source of an answer, or to be summed up.

*According to the tide report, how high …* names a source, *Summarise the tide manual* the document
that is summed up, *What does the manual say about tides?* both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from graph.text.cjk import has_han

from ..storage.tokenization import TokenWeight, tokens, tokens_of

STEM = 3
"""Letters of a word by which a title that lacks it is told, and to which longer ones are akin."""
_OF_TITLE = 1 / 3
"""Least share of a title's words by which a question names it."""
POLITE = r"^\W*(?:i(?:['’]m| am) [^.!?]{3,40}[.!?]\s*)?(?:please |can you |could you )?"
_DOCUMENT = re.compile(
    rf"{POLITE}(?:(?:give|write|show)(?: me| us)?(?: an?| the)?(?: (?:short|brief|quick))?"
    r" (?:overview|summary|outline|gist) of|summari[sz]e|sum up|recap|condense|outline)"
    r"\s+(?P<summed>.+?)\W*$"
    r"|^\W*what (?:(?:topics|subjects|things|areas|matters) )?(?:does|do|did) (?P<covers>.+?)"
    r" (?:cover|contain|discuss|deal with|treat|teach|talk about)\W*$"
    r"|^\W*what(?:['’]?s|\s(?:is|was)) the (?:plot|story(?:line)?) of (?P<story>.+?)"
    r"(?: in (?:short|brief|a nutshell|a few words))?\W*$"
    r"|^\W*what(?: all| has| have)? happen(?:s|ed) in (?P<happens>.+?)\W*$"
    r"|^\W*what(?:['’]?s|\s(?:is|are)) (?P<about>(?!it\b|this\b|that\b).+?) (?:all )?about\W*$"
    r"|^\W*what(?:['’]?s|\s(?:is|are)) in (?P<inside>.+?)\W*$"
    r"|\b(?:describe|explain|tell me|know)(?: \w+){0,3}? what (?P<deals>.{3,80}?)"
    r" (?:covers?|deals? with|contains?|is about|discusses)\W*$"
    r"|\bthrough (?:the )?chapters of (?P<chapters>.+?)\W*$"
    r"|^\W*(?:请|你|能不能|可以|麻烦|帮我|给我)*(?:简单)?(?:总结|概括|概述|归纳|介绍)(?:一下)?(?P<summed_zh>[^，。？]{2,20}?)(?:的?(?:主要|整体|全部|大致|基本)?内容)?\W*$"
    r"|^(?P<told>《[^《》]{2,20}》|[^《》，。？]{2,20}?)(?:主要|大致|大概|到底|究竟|都)?(?:是)?"
    r"(?:讲|写|介绍|涵盖|包[括含]|说|涉及|谈|聊|讨论)了?(?:的?是|些|哪些)?(?:什么|内容|哪些(?:内容|方面|问题|话题)?)(?:故事)?\W*$"
    r"|(?P<plot>《[^《》]{2,20}》)的?(?:主要)?(?:情节|内容|故事|梗概)",
    re.IGNORECASE,
)
A_DOCUMENT = re.compile(
    r"\b(?:manual|guide|handbook|book|faq|chapter|section|reference|documentation|tutorial|report"
    r"|minutes|charter|contract|agreement|letter|interview|diary|log|notebook|transcript|memo|specification|novel|paper"
    r"|press release|catalogue|obituary|meeting|how-?to|walk-?through|article|account(?= of)"
    r"|(?:e-?mail|mail|letter) (?:thread|exchange)"
    r"|(?:thread|e-?mail|correspondence)(?=s? (?:on|about|from|to|between)\b))s?\b"
    r"|手册|指南|书$|章$|(?:第.{1,4}|[这那]一?)[节回]$|常见问题|参考|文档|教程|报告|纪要|宪章|合同|协议|信$|访谈|日志|日记|公告|小说|论文|问答"
    r"|会[谈议](?=$|上|的)",
    re.IGNORECASE,
)
"""Words for documents; a topic may have a document of its title, too."""


_AROUND_NAME = re.compile(
    r"^(?:请问)?(?:[这那该本][本部份篇章节]|本(?=[书手指文说资]))(?=\s?\w{2})"
    r"|(?:[这那]一?[本部份篇])(?:书|手册|文档|小说)?$|[这那]一?(?=[章节]$)"
    r"|整[本部个套](?:书|手册|小说)?$|全书$|[整总大]体上?$|(?<=[书册档章节])里面?$"
)
"""Chinese words around the name of a document: 这本, 那一章, 整本书."""
_SAYS = (
    r"(?:says?|tells?|reports?|recommends?|states?|advises?|writes?|explains?|(?:has|have) to say)"
    r"(?: us| me)?"
)
_SAYS_OF = rf"{_SAYS} (?:about|of|on|regarding)\b"
_WITH_NAME = re.compile(
    r"\b(?:the|this|that|our|your)\s+(?P<name>(?:[\w'’-]+\s+){1,4}?(?:manual|guide|handbook|book|faq"
    r"|reference|documentation|tutorial|report|minutes|charter|contract|agreement|interview|diary|log"
    r"|specification|novel|paper))\b",
    re.IGNORECASE,
)
_AND_HOW = re.compile(r",? and (?:how|what|who|for whom|whom|which|where)\b.*", re.IGNORECASE)
"""A further clause behind the name of a document."""
FOR_WHOM = re.compile(
    r"\s+for (?:some(?:one|body)|people|those|me|us|an?(?: complete| new)?"
    r" (?:newcomer|beginner|outsider|reader)|beginners|newcomers)\b.*",
    re.IGNORECASE,
)
_INSURES = re.compile(
    r"\b(?:polic(?:y|ies)|contracts?|agreements?|insurance|warrant(?:y|ies)|plan)$", re.IGNORECASE
)
"""Documents that cover cases, and whose terms are asked for."""


_PLACE_ZH = re.compile(r"(?:[这那]一?)?[章节回部]$")
"""End of the Chinese name of a chapter."""
_OF_ALL = re.compile(
    r"\b(?:manual|handbook|guide|book|reference|documentation|novel|tutorial|story|tale)s?"
    r"(?: so far)?$"
    r"|(?:手册|指南|书|小说|参考|文档|教程)$",
    re.IGNORECASE,
)
"""Words for what a library may be as a whole."""
ON_SUBJECT = re.compile(
    r"[里中]面?(?:关于|有关|对于)|(?:文[档件章]|资料|材料|手册|书|指南|报告|小说)(?:关于|有关|对)"
    rf"|^what\b.+ {_SAYS_OF}",
    re.IGNORECASE,
)
"""Words with which a document is asked for what it says of a subject: no title."""
_FOR_ME = re.compile(r"\s+for (?:me|us)\W*$", re.IGNORECASE)
_DETERMINER = r"(?:the|this|that|these|our|your|their|his|her|my|an?)\s+"
_NAMED = (
    re.compile(
        rf"^\W*(?:according to|as per|going by) (?:{_DETERMINER})?(?P<name>[^,?]{{3,60}}),"
        r"\s*(?P<asked>.{8,})$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^\W*(?:in|from) (?:{_DETERMINER})?(?P<name>[^,?]{{3,60}}),\s*(?P<asked>.{{8,}})$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^(?P<asked>.{{8,}}?),? according to (?:{_DETERMINER})?(?P<name>[^,?]{{3,60}}?)\W*$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{POLITE}(?:(?:summari[sz]e|sum up|outline|explain|describe|recap|tell (?:me|us)) )?what"
        rf" (?:(?:do|does|did) )?(?:{_DETERMINER})?(?P<name>[^,?]{{3,60}}?)"
        rf" {_SAYS} (?:about|of|on|regarding) (?P<about>.{{3,}})$",
        re.IGNORECASE,
    ),
    re.compile(r"^\W*(?:根据|按照?|依照?|据)(?P<name>[^，,。？?]{2,30})[，,](?P<asked>.{4,})$"),
    re.compile(r"^\W*在?(?P<name>《[^《》]{2,30}》)(?:里面?|中|上)[，,]?(?P<asked>.{4,})$"),
)
_KINDS = re.compile(
    r"\b(?:manual|guide|handbook|book|documents?|pages?|text|file|report|article)s?\b"
    r"|[《》]|手册|指南|文档|文件|报告|文章",
    re.IGNORECASE,
)
"""Words for documents that are in few titles."""

_HELD = 0.8
"""Least share of a name's weight in the title and path of its document."""


@dataclass(frozen=True, slots=True)
class NamedSource:
    """Name of a document as a question gives it, and what is asked of that document.

    `about` is what it is asked about, where nothing else is asked.
    """

    name: str
    asked: str
    about: str = ""

    @property
    def words(self) -> frozenset[str]:
        """The words of the name that are not mere words for documents."""
        return tokens_of(_KINDS.sub(" ", self.name))

    def is_of(self, title: str, document_id: str, *, weight: TokenWeight) -> bool:
        """Check that a document's title and path have the words of the name, and not only kinds.

        A word that most documents have may be missing: *the Debian policy manual*.
        """
        words = {one: max(weight(one), 0.0) for one in self.words}
        held = set(tokens(f"{title} {re.sub(r'[-_./]', ' ', document_id)}"))
        known = sum(value for one, value in words.items() if one in held)
        return known > 0 and known >= _HELD * sum(words.values())


def named_source(question: str) -> NamedSource | None:
    """Return the document that a question names as its source; None without one."""
    for pattern in _NAMED:
        found = pattern.search(" ".join(question.split()))
        if found is None or not is_document(found["name"]):
            continue
        parts = found.groupdict()
        about = parts.get("about", "")
        asked = parts.get("asked") or f"What does it say about {about}"
        return NamedSource(name=found["name"], asked=asked, about=about)
    return None


def asked_of_document(question: str) -> str:
    """Return what is asked of a document: *what the manual says about X* asks about X; or nothing.

    All that the document tells is asked for where nothing is returned.
    """
    source = named_source(question)
    is_told = source is not None and source.about and " " in source.name
    return f"What do the documents say about {source.about}" if source and is_told else ""


def document_asked(question: str) -> str:
    """Return what may be the title of a document of which an overview is asked for; or nothing."""
    found = _DOCUMENT.search(" ".join(_FOR_ME.sub("", question).split()))
    name = next(filter(None, found.groups()), "") if found else ""
    if (found and found["covers"] and _INSURES.search(name)) or ON_SUBJECT.search(name):
        return ""
    name = _AND_HOW.sub("", FOR_WHOM.sub("", name))
    if has_han(name):
        before = ""
        while name != before:
            before, name = name, _AROUND_NAME.sub("", name).strip()
        return name
    return re.sub(r"^(?:the|an?|this|that|your|our)\s+", "", name, flags=re.IGNORECASE)


def is_whole_named(name: str, titles: Iterable[str]) -> bool:
    """Check for a name that may be the whole library's: *the book*, *the kernel handbook*.

    What stands before the word for a book is in the titles of its documents.
    """
    if not _OF_ALL.search(name):
        return False
    words = tokens_of(_OF_ALL.sub("", name))
    return not words or words <= tokens_of(*titles)


def document_named(question: str) -> str:
    """Return the name of a document in a question about the whole of something; or nothing."""
    found = _WITH_NAME.search(_FOR_ME.sub("", question))
    return document_asked(question) or (found["name"] if found else "")


def is_title_of(name: str, title: str) -> bool:
    """Check that a title holds all words of a document's name, which are a good part of it."""
    folded = title.casefold()
    if not all(word[:STEM] in folded for word in re.findall(r"[a-z]{4,}", name.casefold())):
        return False  # told without words: a library has many titles
    words, held = tokens_of(_PLACE_ZH.sub("", name)), tokens_of(title)
    if len(words) > 1 and words == held:
        return True
    return is_document(name) and words <= held and len(words) >= _OF_TITLE * len(held)


def is_document(name: str) -> bool:
    """Check that a name says that it is a document's: *the policy manual*, not *backups*."""
    return name.startswith("《") or A_DOCUMENT.search(name) is not None
