"""Questions for the connection of two things: "How are X and Y connected?"."""

from __future__ import annotations

import re

from graph.text.cjk import HAN

_JOINED = r"(?:connected|related|linked|associated|tied|joined)"
_EACH = r"(?:each other|one another)"
_TO = r"(?:to|with)"
_NOUN = (
    r"(?:(?:family|blood|personal|exact|actual) )?"
    r"(?:connections?|links?|relations?|relationships?|ties?|associations?)"
)
_CAPITAL = r"[A-ZÀ-ÖØ-Þ]"
_NAME = rf"(?-i:{_CAPITAL}[\w.'’-]+(?: (?:(?:of|de|von|van) )?{_CAPITAL}[\w.'’-]*){{0,4}})"
"""Run of words with capitals."""
_CALLED = (
    r"(?!(?:In|At|On|By|As|If|After|Before|When|While|During|From|Since|According)\b)"
    rf"(?:the )?{_NAME}"
)
_WORD = (
    r"(?-i:(?!(?:any|some|every|no|it|they|this|that|these|those|there|he|she|you|we|who|what|one"
    r"|each|which)(?:thing|one|body)?\b)[a-z][\w.-]+)"
)
_ONE = rf"(?:{_CALLED}|{_WORD})"
"""A name, or one word that is written small: *systemd*."""
_TWO = rf"(?:both )?{_ONE} and {_ONE}"
"""Two names, in forms that ask for other things, too: *Is anyone related to him?*"""
_THEY = (
    rf"(?:what (?:do|did|have) they (?:have |got |have got )?to do with {_EACH}"
    rf"|how (?:are|were) they {_JOINED}(?: {_TO} {_EACH})?"
    rf"|how (?:do|did) they (?:know {_EACH}|meet)"
    rf"|what(?: is|['’]s| was) (?:the|their) {_NOUN}(?: between them)?)"
)
"""Questions behind two names: *Fred and Scrooge: how are they related?*"""
_NO_PERSON = (
    r"(?!(?:Introduction|Guide|Key|Road|Way|Path|Right|Access|Reply|Answer|Letter|Ode|Ambassador"
    r"|Envoy|Consul|Delegate|Minister|Heir|Successor|Advis[eo]r|Assistant|Secretary)\b)"
)
"""Words of titles and of offices that lead to another: *Introduction to Algorithms*."""
_ENGLISH = tuple(
    re.compile(rf"^\W*(?:so |and |please )?{form}\W*$", re.IGNORECASE)
    for form in (
        rf"(?:in what way|how) (?:is|are|was|were) (?P<pair>.+?) {_JOINED}(?: {_TO} {_EACH})?",
        rf"(?:in what way|how) (?:is|are|was|were) (?P<a>.+?) {_JOINED} {_TO} (?P<b>.+?)",
        rf"(?:explain|describe|show|tell me|i wonder) how (?P<pair>{_TWO}) (?:are|were) {_JOINED}"
        rf"(?: {_TO} {_EACH})?",
        rf"(?:explain|describe|show|tell me|i wonder) how (?P<a>{_ONE}) (?:is|was) {_JOINED} {_TO}"
        rf" (?P<b>{_ONE})",
        rf"(?:who|what) (?:are|were) (?P<pair>{_TWO}) to {_EACH}",
        r"what (?:links|connects|joins|ties|relates|unites) (?!are )(?P<pair>.+?)(?: together)?",
        rf"(?P<pair>{_TWO})(?:[:,;.]| -|–|—) {_THEY}",
        rf"{_NOUN} between (?P<pair>.+?)",
        rf"what(?: is|['’]s| was)(?: the)? (?:deal|story|history|bond) between (?P<pair>{_TWO})",
        rf"(?:are|were) (?P<pair>{_TWO}) (?:somehow |in any way )?{_JOINED}(?: {_TO} {_EACH})?",
        rf"(?:is|was) (?P<a>{_ONE}) (?:somehow |in any way )?{_JOINED} {_TO} (?P<b>{_ONE})",
        rf"(?:do|does|did) (?P<a>{_CALLED}) have (?:(?:any|some|an?) )?{_NOUN} {_TO}"
        rf" (?P<b>{_CALLED})",
        rf"what {_NOUN} (?:is|was) (?P<a>{_CALLED}) {_TO} (?P<b>{_CALLED})",
        r"(?:what|which|is|are|describe|explain|show|tell me)(?: me| about)?"
        r"(?: is|'s| are| was| were)?(?: there)?(?: the| any| some| a)?(?: (?:kind|sort) of)?"
        rf" {_NOUN}(?: is| are)?(?: there)? (?:between|of) (?P<pair>.+?)",
        rf"what (?:do|did) (?P<pair>.+?) have to do with {_EACH}",
        r"what (?:do|does|did|has|have) (?P<a>.+?) (?:have |got |have got )?to do with (?P<b>.+?)",
        r"how (?:do|does|did) (?P<pair>.+?) (?:relate|connect)(?: to each other)?",
        r"how (?:do|did) (?P<pair>.+?) (?:first )?(?:come to |get to )?"
        rf"(?:know {_EACH}|meet(?: {_EACH})?)",
        rf"how (?:do|does|did) (?P<a>{_NAME}) (?:first )?(?:come to |get to )?(?:know|meet)"
        rf" (?P<b>(?:the )?{_NAME})",
        rf"what(?: is|['’]s| was) (?P<a>.+?)['’]s? {_NOUN} {_TO} (?P<b>.+?)",
        r"how (?:do|does|did) (?P<a>.+?) relate to (?P<b>.+?)",
        rf"what(?: is|['’]s| was) {_NO_PERSON}(?P<a>{_NAME}) to (?P<b>{_NAME})",
        rf"who(?: is|['’]s| was) {_NO_PERSON}(?P<a>(?-i:{_CAPITAL}[\w'’-]+)) to"
        rf" (?P<b>(?-i:{_CAPITAL}[\w'’-]+))",
        r"what(?: is|['’]s| was) going on between (?P<pair>.+?)",
    )
)
_WITHIN = re.compile(
    r"^\W*in (?:the )?[^,?]{2,60}, (?=(?:how|what|is|are|was|were|who)\b)"
    r"|^(?:在|请问)?《[^》]{1,30}》(?:这[本部篇]书)?(?:(?:里面?|中|当中)[，,]?|[，,])(?![的和与跟、])",
    re.IGNORECASE,
)
"""A work in front of the question."""
_BESIDES = re.compile(
    r",? and (?:how|why|in what way)(?=[?\s]*$)"
    r"|,? (?:apart from|besides|other than|except) [^?]+(?=\?|$)|(?<=\?) [^?]+[.!]?$"
    r"|(?<=..)[，,？?]\s*(?:后来|最后|结果|[他她它]们|[这两俩二][两俩二]?[个位]?人|彼此|双方).+$",
    re.IGNORECASE,
)
"""Exceptions and further clauses, which are cut before matching."""
_BOTH = "(?:之间|两者|二者|这?(?:两个?|二|俩)人|俩|两位){0,2}"
_HAN_NOUN = (
    "(?:(?:亲戚|亲属|亲缘|血缘|姻亲|家族|师徒|师生|合作)?关系|联系|关联|渊源|瓜葛|交集|纠葛)"
)
_ADVERB = "(?:原来|本来|原先|当初|起初|到底|究竟|后来)?"
TIE = re.compile(
    r"\b(?:(?:grand|step)?(?:father|mother|son|daughter|brother|sister|child)(?:ren|s)?(?:-in-law)?|wife"
    r"|husband|uncle|aunt|nephew|niece|cousin|guardian|patron(?:ess)?|marr(?:y|ies|ied|ying|iage)|engaged|engagement"
    r"|founded|succeeded|employed|supervis(?:ed|or))\b"
    r"|义[父子儿弟兄]|父子|兄弟|[之乃][父母子女兄弟姊妹妻夫侄婿]|夫人|娶|嫁|成亲|结[义亲为]|拜.{0,6}为|部将"
    r"|麾下|同窗|同乡|师徒|门生|郎舅|至亲|[假养继]子(?!女)|[吾汝]子|吾儿"
    r"|舍[弟妹兄]|(?<![下命])令[弟妹兄](?!子)"
)
"""Words for ties of family, marriage and office."""
_TIE_HAN = "(?:牵连|牵扯|恩怨|过节|交情|往来|来往|仇[怨恨]?)"
_SIDE = "[^，,。？?谁哪几什怎啥我你您们]+?"
_KNOWER, _KNOWN = "(?:(?![在从谁什候，,]|大家|人们).)", "(?:(?!彼此|对方|[的，,。？?]).)"
_CHINESE = tuple(
    re.compile(form)
    for form in (
        rf"^(?:请?(?:说说|讲讲|介绍一?下?|解释))(?P<pair>.+?){_BOTH}的{_HAN_NOUN}[\s。？?]*$",
        rf"^(?:请问)?(?P<pair>.+?){_BOTH}{_ADVERB}(?:的{_HAN_NOUN}(?:是|有)?(?:什么|怎样|怎么样|哪些)?(?:的)?"
        rf"|(?:存在着?|有着?|是)(?:什么|何种?|怎样的?|怎么样的?|哪些|啥|没有)?(?:样的)?{_HAN_NOUN})[\s。？?！]*$",
        rf"^(?:请问)?(?P<pair>.+?){_BOTH}(?:是)?(?:怎么|怎样|如何)会?(?:联系|关联|相连|连接|扯上关系|认识|相识|结识)(?:在一起|起来|到一起)?(?:的)?[\s。？?]*$",
        r"^(?:请问)?(?P<a>.+?)是?(?:怎么|怎样|如何)会?(?:跟|和|与|同)(?P<b>.+?)(?:扯上关系|有关系|认识|结识)(?:的)?[\s。？?]*$",
        rf"^(?P<a>{_KNOWER}{{2,8}}?)(?<![该当])是?怎么会?(?:认识|结识)(?!到)[了上]?(?P<b>{_KNOWN}{{2,8}}?)的?[\s。？?]*$",
        r"^(?:请问)?(?P<pair>.+?)之间(?:都|到底|究竟)?(?:发生过?了?|有过?)(?:些?什么|哪些)(?:事情?|故事|恩怨|过节|往来)?[\s。？?]*$",
        rf"^(?:请问)?(?P<pair>{_SIDE}){_BOTH}(?:有过?|有没有|是|结下?了?)?(?:什么|啥|何)?样?的?"
        rf"(?<=[什么啥何有样的]){_TIE_HAN}[吗\s。？?]*$",
        rf"^(?:请问)?(?P<pair>{_SIDE}){_BOTH}(?:什么|啥){_HAN_NOUN}[\s。？?]*$",
        rf"^(?:请问)?(?P<pair>{_SIDE}){_BOTH}是?(?:怎么|怎样|如何)(?:走到|遇上|遇见|碰上)(?:一起)?的?[\s。？?]*$",
    )
)
_AND = re.compile(r",? (?:and|with|to) |\s*(?:和|与|跟|同|及|以及|、)\s*", re.IGNORECASE)
_SPACE = re.compile(rf"(?<=[{HAN}])\s+(?=[{HAN}])")
"""Between two Chinese names that nothing else joins."""
ARTICLE = re.compile(r"^(?:the|an?) ", re.IGNORECASE)
CLASS = re.compile(r"^(?:[a-z][a-z-]* )+(?=[A-Z])")
"""Words in front of a name that say what it is: *barge Grey Gull*."""


def connection_pairs(question: str) -> list[tuple[str, str]]:
    """Return the pairs that a question for a connection may name; none for other questions.

    There are several where a name can hold an "and".
    """
    plain = " ".join(question.split())
    bare = _WITHIN.sub("", plain)
    for text in dict.fromkeys((_BESIDES.sub("", bare), bare, plain)):
        if re.search(r"[?？]", text.rstrip(" ?？。")) is None and (pairs := _pairs_of(text)):
            return pairs
    return []


def _pairs_of(text: str) -> list[tuple[str, str]]:
    """Return the pairs that a question without further clauses may name."""
    for pattern in (*_ENGLISH, *_CHINESE):
        found = pattern.match(text)
        if found is None:
            continue
        named = found.groupdict()
        if named.get("a"):
            both = _bare(named["a"]), _bare(named["b"])
            return [both] if all(map(_is_thing, both)) else []
        pair = re.sub(r"^both ", "", named["pair"], flags=re.IGNORECASE)
        found_cuts = list(_AND.finditer(pair)) or _SPACE.finditer(pair)
        cuts = [(pair[: cut.start()], pair[cut.end() :]) for cut in found_cuts]
        pairs = [(_bare(one), _bare(other)) for one, other in cuts]
        if pairs := [both for both in pairs if all(map(_is_thing, both))]:
            return pairs
    return []


_NO_THING = re.compile(
    r"[\d\s年月日号~–-]*|(?:请问)?我们?该?|你们?|[他她它]们?|您|请问|I|me|us|them|him|her"
    r"|(?:it|they|you|we|he|she|there|each|this|that|these|those|one another)(?: .*)?"
)
"""Numbers, dates, who asks, and what a question does not name; *IT* and *I Corps* are names."""


def _is_thing(name: str) -> bool:
    return bool(name) and _NO_THING.fullmatch(name) is None


_LATER = re.compile("[，,](?:后来|最后|双方|彼此|[他她它]们|[两二]人)$|(?<=..)(?:这个?|此)人$")


def _bare(name: str) -> str:
    return _LATER.sub("", name).strip(" ,，。?？\"“”'‘’「」")
