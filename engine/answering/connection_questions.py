"""Questions for the connection of two things: "How are X and Y connected?"."""

from __future__ import annotations

import re

_JOINED = r"(?:connected|related|linked|associated|tied|joined)"
_EACH = r"(?:each other|one another)"
_TO = r"(?:to|with)"
_NOUN = r"(?:connections?|links?|relations?|relationships?|ties?|associations?)"
_NAME = r"(?:the )?(?-i:[A-Z]\w).*?"
_ENGLISH = tuple(
    re.compile(rf"^\W*(?:so |and |please )?{form}\W*$", re.IGNORECASE)
    for form in (
        rf"(?:in what way|how) (?:is|are|was|were) (?P<pair>.+?) {_JOINED}(?: {_TO} {_EACH})?",
        rf"(?:in what way|how) (?:is|are|was|were) (?P<a>.+?) {_JOINED} {_TO} (?P<b>.+?)",
        r"what (?:links?|connects?|joins?|ties|relates|unites) (?P<pair>.+?)(?: together)?",
        rf"(?:what|which|is|are|describe|explain|show|tell me)(?: me)?(?: is|'s| are| was| were)?"
        rf"(?: there)?(?: the| any| some| a)?(?: (?:kind|sort) of)? {_NOUN}(?: is| are)?(?: there)?"
        r" (?:between|of) (?P<pair>.+?)",
        r"what (?:do|does|did|has|have) (?P<a>.+?) (?:have |got |have got )?to do with (?P<b>.+?)",
        rf"what (?:do|did) (?P<pair>.+?) have to do with {_EACH}",
        r"how (?:do|does|did) (?P<pair>.+?) (?:relate|connect)(?: to each other)?",
        r"how (?:do|did) (?P<pair>.+?) (?:first )?(?:come to |get to )?"
        rf"(?:know {_EACH}|meet(?: {_EACH})?)",
        rf"how (?:do|does|did) (?P<a>{_NAME}) (?:first )?(?:come to |get to )?(?:know|meet)"
        rf" (?P<b>{_NAME})",
        rf"what(?: is|['’]s| was) (?P<a>.+?)['’]s? {_NOUN} {_TO} (?P<b>.+?)",
        rf"what(?: is|['’]s| was) the {_NOUN} of (?P<a>.+?) {_TO} (?P<b>.+?)",
        r"how (?:do|does|did) (?P<a>.+?) relate to (?P<b>.+?)",
        rf"(?:what|who)(?: is|['’]s| was) (?P<a>{_NAME}) to (?P<b>{_NAME})",
        r"what(?: is|['’]s| was)(?: going on| there)? between (?P<pair>.+?)",
    )
)
_BESIDES = re.compile(
    r",? (?:apart from|besides|other than|except) [^?]+(?=\?|$)|(?<=\?) [^?]+[.!]?$"
    r"|(?<=..)[，,？?]\s*(?:后来|最后|结果|(?:[他她它]们|[这两俩二]?[两俩二]?[个位]?人|彼此|双方)).+$",
    re.IGNORECASE,
)
"""Words behind a question that except something, ask for more or say more."""
_BOTH = "(?:之间|两者|二者|这?(?:两个?|二|俩)人|俩|两位){0,2}"
_HAN_NOUN = "(?:关系|联系|关联|渊源|瓜葛|交集|纠葛)"
_CHINESE = tuple(
    re.compile(form)
    for form in (
        rf"^(?:请?(?:说说|讲讲|介绍一?下?|解释))(?P<pair>.+?){_BOTH}的{_HAN_NOUN}[\s。？?]*$",
        rf"^(?:请问)?(?P<pair>.+?){_BOTH}(?:的{_HAN_NOUN}(?:是|有)?(?:什么|怎样|怎么样|哪些)?(?:的)?"
        rf"|(?:存在着?|有着?|是)(?:什么|何种?|怎样的?|怎么样的?|哪些|啥|没有)?(?:样的)?{_HAN_NOUN})[\s。？?！]*$",
        rf"^(?:请问)?(?P<pair>.+?){_BOTH}(?:是)?(?:怎么|怎样|如何)(?:联系|关联|相连|连接|扯上关系|认识|相识|结识)(?:在一起|起来|到一起)?(?:的)?[\s。？?]*$",
        r"^(?:请问)?(?P<a>.+?)是?(?:怎么|怎样|如何)(?:跟|和|与|同)(?P<b>.+?)(?:扯上关系|有联系|有关|联系|关联|认识|结识)(?:在一起|起来|上|到一起)?(?:的)?[\s。？?]*$",
        r"^(?:请问)?(?P<pair>.+?)之间(?:都|到底|究竟)?(?:发生过?了?|有过?)(?:些?什么|哪些)(?:事情?|故事|恩怨|过节|往来)?[\s。？?]*$",
    )
)
_AND = re.compile(r",? (?:and|with|to) |\s*(?:和|与|跟|同|及|以及|、)\s*", re.IGNORECASE)
ARTICLE = re.compile(r"^(?:the|an?) ", re.IGNORECASE)
CLASS = re.compile(r"^(?:[a-z][a-z-]* )+(?=[A-Z])")
"""Words in front of a name that say what it is: *barge Grey Gull*."""


def connection_pairs(question: str) -> list[tuple[str, str]]:
    """Return the pairs that a question for a connection may name; none for other questions.

    There are several where a name can hold an "and".
    """
    plain = _BESIDES.sub("", " ".join(question.split()))
    for pattern in (*_ENGLISH, *_CHINESE):
        found = pattern.match(plain)
        if found is None or "?" in plain.rstrip("? "):
            continue
        named = found.groupdict()
        if named.get("a"):
            both = _bare(named["a"]), _bare(named["b"])
            return [both] if all(both) else []
        pair = named["pair"]
        pair = re.sub(r"^both ", "", pair, flags=re.IGNORECASE)
        cuts = [(pair[: cut.start()], pair[cut.end() :]) for cut in _AND.finditer(pair)]
        pairs = [(_bare(one), _bare(other)) for one, other in cuts]
        if pairs := [both for both in pairs if all(both)]:
            return pairs
    return []


def _bare(name: str) -> str:
    return name.strip(" ,，。?？\"“”'‘’「」")
