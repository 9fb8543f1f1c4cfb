"""Intent of a question that one excerpt answers, and the signs of it in a text.

A question for a person, date, place or number has no intent: the sentence that states it answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from graph.text.cjk import HAN, count_han, has_han, simplified
from graph.text.patterns import lazy_regex

from ...prompts import language_of
from ...storage.graph_api import han_surname, initials_match
from ..connection_questions import connection_pairs
from ..introductions import introduction
from .intents.classifier import classify_asked
from .question_type import PATH, asking_part, classify_question, leading_question

Intent = Literal["command", "comparison", "cause", "list", "steps", "definition", "explanation"]

_COMMAND = lazy_regex(
    r"\bcommand(?:s|\s+line)?\b|\b(?:which|what) (?:tool|utility|program|option|flag)\b"
    r"|\bwhat (?:do|can|must|should|would) (?:i|you|we|one) (?:type|enter|run|execute)\b"
    r"|\b(?:from|in) (?:a|the) (?:shell|terminal|console)\b|(?<![下命号])命令(?![他她它其])",
    re.I,
)
"""A question that has one asks for what is typed, where it asks for no reason."""
_WHAT_IS = lazy_regex(r"^\W*what(?:['’]s|\s+(?:is|are|was|were))\s+(.+?)\W*$", re.I)
_ATTRIBUTE = lazy_regex(
    r"\b(?:that|who|whom|whose|which|where|when|name of|date|birthplace)\b|\bnames?$"
    r"|\b(?:of|for|to|in|by|as|from|with|at|on)$",
    re.I,
)
_THAT = lazy_regex(
    r"(?:that|this|it|they|these|those)(?: (?:term|word|name|expression|thing)s?)?", re.I
)
_THAT_ASKED = lazy_regex(rf"^\W*what(?:['’]s|\s+(?:is|are|was|were))\s+{_THAT.pattern}\W*$", re.I)
_QUOTED = lazy_regex(
    r"\"([^\"]{2,60})\"|“([^“”]{2,60})”|‘([^‘’]{2,60})’(?!\w)|(?<!\w)'([^']{2,60})'(?!\w)"
)
_LONGEST_SUBJECT = 8
LONGEST_NAME = 12
"""Characters of a Chinese question's person, at most: 弗拉基米尔·弗拉基米罗维奇."""
_NAME = r"[A-Z][\w’'.-]*"
_THAT_ONE = lazy_regex(
    rf"^[^，。？?]{{0,20}}[那这][个位名](?P<name>[{HAN}]{{2,4}}?)(?<![员匠夫机事导女子官士将人者长师生徒兵客王工手头汉童妇民臣司])"
    r"(?:又|究竟|到底)?是(?:谁|何人|什么人)(?:来着|[，,][^？?]*)?[？?。]*$"
)
"""A question for a person whose name stands behind what is said of him: 被孙策杀掉的那个于吉."""
_ORIGIN_HAN = (
    rf"^(?![这那该此])[{HAN}]{{2,4}}?(?:究竟|到底)?"
    r"(?:是什么(?:来历|来头|出身)|是?何许人也?)[？?。]*$"
)
"""A question for a person who has few characters: many a thing has an origin."""
_NO_QUESTION = (
    r"(?!\W*(?:how|when|who|where|what|which|why|did|does|do|is|are|was|were|has|have|can)\b)"
)
_TO_WHOM = r"(?:to(?! (?:be|have|make|cause)\b)|between|with|at|when|after)"
_NO_MORE = r"(?!.*(?:\d|\b(?:list|which|who|name|command|how (?:many|much))\b))"
_CERTAIN: tuple[tuple[Intent, re.Pattern[str]], ...] = (
    ("cause", lazy_regex(r"^\W*why\b|^\W*(?:为什么|为何|为啥)", re.I)),
    (
        "list",
        lazy_regex(
            r"^\W*(?:please )?(?:list|enumerate|name (?:all|some|the (?!\w+ of)|every\w*))\b"
            r"|\bgive (?:me|us) (?:a list of|the names of|all|every)\b"
            r"|列出|列举|(?<![成首古])[都全]列(?!车)|列一下"
            r"|(?<![成首大古京])都(?:有|[^，。督市城江是会]{1,4}了)谁"
            r"|哪[几两二三四五六七八九十][种个类位名条]"
            r"|(?<![第几两二三四五六七八九十百\d])(?:[几两二三四五六七八九十]{1,3}|\d+|历)"
            r"[任位名代届][^，。？的]{1,8}[是有](?:谁|哪些)",
            re.I,
        ),
    ),
    (
        "comparison",
        lazy_regex(
            rf"\bversus\b|\bvs\b|^{_NO_QUESTION}[^?]{{3,100}} compared (?:with|to)\b|选择?哪"
            r"|^\W*(?:is|are) an? \w[^,?]{1,60} the same (?:thing )?as an? "
            r"(?!(?:decade|year|month|week|day)\b)",
            re.I,
        ),
    ),
    (
        "steps",
        lazy_regex(
            r"\bstep[- ]by[- ]step\b(?! (?:guide|tutorial|manual))"
            r"|[-–—,:] ?(?:the |what )?steps\W*$|\bin (?:what|which) (?:order|sequence)\b"
            r"|(?:什么|何种|怎样的|先后)[顺次]序",
            re.I,
        ),
    ),
    ("explanation", lazy_regex(rf"^\W*what (?:happened|went on) {_TO_WHOM}\b{_NO_MORE}", re.I)),
    (
        "definition",
        lazy_regex(
            rf"^\W*(?i:who)(?:['’]s|\s(?:is|was|are|were))\s{_NAME}"
            rf"(?:\s(?:(?:de|del|della|di|da|du|la|le|van|von|der|den|the)\s){{0,2}}{_NAME}){{0,4}}"
            r"[\s?]*$"
            rf"|^(?:(?![的之谁])[{HAN}A-Za-z·\s]){{2,16}}"
            r"(?:又|究竟|到底)?是(?:谁|何人|什么人)(?:来着|[，,]就是[^？?]*)?[？?。]*$"
            rf"|{_ORIGIN_HAN}"
        ),
    ),
)
"""Words that say what is asked for, whatever stands beside them."""
_CALLED = lazy_regex(r"(?<=[称名叫作成分译改化变])为什么")
_NO_VERB = (
    r"(?:(?!(?:do|does|did|is|are|was|were|can|could|should|has|have|had|will|would|if)\b)[\w-]+\s)"
)
_WHICH_ONE = lazy_regex(
    rf"^\W*(?:which|what)\s{_NO_VERB}{{0,2}}?"
    r"(?!(?:people|men|women|children|persons"
    r"|have|has|had|do|does|did|is|was|are|were|to|of|in|the)\b)"
    r"[\w-]*(?:[^\Ws]|ss|us|is)\s(?:did|does|do|has|have|had|is|was|can|should|must"
    r"|(?!need\b)\w{2,}ed|won|led|fell|bit|sank|wrote|took|became|began|held|lost|made|ran|rose|sold|stood|built)\b"
    r"|^\W*(?!which\b|what\b|who\b|in\b|from\b|to\b)\w+ .*\b(?:by|of|in|on|for|from|to|with"
    r"|after|played|had|has) (?:which|what) [\w-]*[^\Ws]\b",
    re.I,
)
"""A question for one thing by its name: *which cross did …*, not *which crosses did …*."""
_SEVERAL = (
    r"(?!(?:happens|causes|does|is|was|has|as|this|his|its|us|steps|ways|reasons|differences"
    r"|makes|lets|needs|comes|goes|gas|canvas|atlas|series|species|news|lens)\b)"
    r"(?-i:[a-z])[\w-]+(?<![sui])s"
)
_WHICH_SEVERAL = lazy_regex(
    rf"(?:^|[,;:.]\s)\W*what\sare\s(?:all\s)?the\s(?:[\w-]+\s){{0,2}}?{_SEVERAL}\b"
    r"(?!\s(?:supposed|meant|going|allowed|doing|called|for)\b)"
    rf"|(?:^|[,;:.]\s)\W*(?:which|what)\s{_NO_VERB}{{0,2}}?{_SEVERAL}\s"
    r"(?:(?:for|in|on|of|with|from)\s(?:the\s|an?\s)?[\w-]+\s)?"
    r"(?:can|could|do|did|does|are|were|have|has|still|exist|should|must|may|might|will|would)\b"
    r"|^\W*who (?:is|are|was|were|sits?|sat|serves?|served) (?:in|on) (?:the )?(?:[\w-]+ ){0,4}?"
    r"(?:board|commission|committee|council|crew|jury|panel|team)\b",
    re.I,
)
"""A question for several by their names: *which crosses are …*, *who sits on the board*."""
_WHO_SEVERAL = lazy_regex(
    r"^\W*who\s(?:are|were|ha(?:ve|d)\sbeen)\s(?:all\s)?(?:the|its|their)\s"
    rf"(?:(?!(?:of|in|for|to|and|or|that|which|who)\s)[\w-]+\s){{0,2}}?(?!ones\b){_SEVERAL}\b",
    re.I,
)
"""A question for several persons by what they are."""
_ONE_THAT = lazy_regex(
    r"^\W*what (?:is|was) (?:an? .+? (?:that|which|who)\b|.*\b(?:whose|whom)\b)", re.I
)
"""A question for the name of something by what is said of it: *what is a company that …?*"""
_ONE_OF = lazy_regex(
    r"^\W*(?:which|who)\b(?!.*\b(?:better|best|should|suits?|prefer\w*|choose|difference)\b)"
    r".*(?:\bor\b|\bof the\b)",
    re.I,
)
"""A question for one of several by its name: *which was built first, A or B?*"""
_FACTS = frozenset(("person", "time", "place", "amount", "money", "code", "nationality"))
_FACT = 0.2
"""Probability that a fact is asked for, from which one is where a person, date or place is."""
_PLAIN = 0.3
"""Probability below which nothing says what is asked for, and sentences answer."""
_REMEMBERED = 64
"""Questions of which it is remembered what they ask for: each is asked of many passages."""
_OVER_FACTS = frozenset(("cause", "list", "comparison", "definition"))
"""Intents of a question for a person, date or place that an excerpt answers all the same."""


@lru_cache(maxsize=_REMEMBERED)
def question_intent(question: str) -> Intent | None:
    """Return the intent of a question that an excerpt answers; None where a sentence does.

    A few words are certain, else a classifier tells. Of several questions in one the first counts.
    """
    text = _CALLED.sub("叫什么名字", simplified(leading_question(question)))
    if _that_person(text):
        return "definition"
    for intent, pattern in _CERTAIN:
        if pattern.search(asking_part(text)):
            return intent
    told = classify_asked(text)
    found = max(told, key=lambda each: told[each])
    is_of_persons = _WHO_SEVERAL.search(text) is not None and found != "comparison"
    if is_of_persons or (_WHICH_SEVERAL.search(text) and found in ("fact", "steps", "explanation")):
        found = "list"
    if told[found] < _PLAIN and found != "list":
        return None
    if (
        found in ("fact", "steps", "explanation", "list")
        and _COMMAND.search(text)
        and not is_of_persons
    ):
        return "command"
    one = {
        "definition": _ONE_THAT,
        "cause": _WHICH_ONE,
        "list": _WHICH_ONE,
        "comparison": _ONE_OF,
    }.get(found)
    if found == "fact" or (one is not None and one.search(asking_part(text))):
        return None
    kind = classify_question(text).kind
    # *Are both …?* is decided by what each is, and a link between two is no comparison
    if found == "comparison" and (kind == "verdict" or connection_pairs(question)):
        return "explanation"
    is_several = is_of_persons or _WHICH_SEVERAL.search(text)
    is_fact = told["fact"] >= _FACT and not (found == "list" and is_several)
    if kind in _FACTS and (is_fact or found not in _OVER_FACTS):
        return None
    return "explanation" if found == "overview" else found


_LEAST_ASKED = 4
"""Words of a question that asks for something."""
_IN_DOCUMENTS = lazy_regex(
    r"\b(described|mentioned|named|listed|covered|discussed|explained|recommended|given)\sin"
    r"\s(?:the|this|these|your)\s(?:book|handbook|manual|guide|documents?|texts?|docs)(?=[?.!\s]*$)"
    r"|(?<=\?)\s(?:please )?(?:(?:give|tell|show|name)(?: me| us)?|list) (?:them )?all(?: of them)?"
    r"[?.!\s]*$",
    re.I,
)


_APART = lazy_regex(
    r"^\W*(?:i (?:know|confuse|(?:always|often|keep) (?:confuse|mix(?:ing)? up)|mix up)\s+)?"
    r"(?P<pair>[^.?!;]{2,60}? and [^.?!;]{2,60}?)"
    r"(?:\s+(?:(?:all|both) )?(?:sound|look|seem|appear|feel|are|do)\b[^.?!]{0,60})?[.!?;,–-]\s+"
    r"(?:so |but |and )?"
    r"(?:what(?:['’]s| is| are) the (?:differences?|distinction)"
    r"(?: between (?:them|the two|these))?"
    r"|how do (?:they|these|the two) differ|how are (?:they|these|the two) different"
    r"|what (?:sets|tells|keeps) (?:them|these|the two) apart)\W*$"
    r"|^\W*what (?:sets|tells|keeps) (?P<both>.+? (?:and|from) .+?) apart\W*$",
    re.I,
)
"""Two things, and behind them the question what sets them apart."""


def named_plainly(question: str) -> str:
    """Return *What is the hook?* for *They mention “the hook”. What is that?*; others unchanged.

    So is *Gulls and terns look alike. What sets them apart?* asked for the difference of both.
    """
    if apart := _APART.search(" ".join(question.split())):
        return f"What is the difference between {apart['pair'] or apart['both']}?"
    is_that = language_of(question) == "en" and _THAT_ASKED.match(asking_part(question))
    subject = definition_subject(question) if is_that else ""
    return f"What is {subject}?" if subject else question


def plainly_asked(question: str) -> str:
    """Return a question without what says nothing of what is asked.

    That is *in the book* behind *described*, and *List them all*.

    Unchanged where little would be left.
    """
    question = named_plainly(question).strip()
    bare = _IN_DOCUMENTS.sub(r"\1", _IN_DOCUMENTS.sub(r"\1", question))
    return bare if len(bare.split()) >= _LEAST_ASKED else question


_FRAME = lazy_regex(
    r"\b(?:commands?(?:\s+lines?)?|compare|contrast|differences?|between|list|enumerate|show|me|tell)\b|什么是|是什么(?:意思)?|指什么|何谓|命令|有(?:什么|哪些)|区别|比较|列出",
    re.I,
)


def strip_intent_words(question: str) -> str:
    """Return the question without the words that only say what kind of answer is wanted."""
    rest = _FRAME.sub(" ", question)
    return rest if re.search(r"\w{3}|[^\x00-\x7f]", rest) else question


def definition_subject(question: str) -> str:
    """Return X of *What is X?* where X is a short name, not an attribute of one, else nothing.

    *That* is what stands in quotation marks before.
    """
    found = _WHAT_IS.match(asking_part(leading_question(question)))
    subject = found.group(1) if found else ""
    if _THAT.fullmatch(subject):
        return _quoted(question)
    if len(subject.split()) > _LONGEST_SUBJECT or _ATTRIBUTE.search(subject):
        return ""
    return re.sub(r"^(?:an?|the)\s+", "", subject, flags=re.I)


def _quoted(question: str) -> str:
    """Return the last words of a question that stand in quotation marks, or nothing."""
    found = [next(filter(None, each.groups())) for each in _QUOTED.finditer(question)]
    return found[-1] if found else ""


_NAME_START = r"(?:^|[.!?:]\s+|\n)\W*(?:an?\s+|the\s+)?(?:[\w'’/-]+\s+){0,2}?"
_SAYS = r"\W*(?:\([^()]*\)\W*)?(?:is|are|was|were|means?|stands? for|refers? to|consists? of)\b"
_SAYS_CHINESE = r"(?:（[^）]*）|[^，。；！？是指]){0,12}?(?<!不)(?:是|指|即)"
_CAUSE = lazy_regex(
    r"\b(?:because|since|due to|owing to|therefore|thus|hence|(?:as )?a result|reasons?|rationale"
    r"|caused?|so that"
    r"|in order to|led to|this way|to (?:avoid|ensure|prevent|allow)|otherwise|consequently)\b"
    r"|因为|由于|因此|所以|导致|为了|原因|以便|以免|之所以",
    re.I,
)
_STEPS = lazy_regex(
    r"^\s*(?:\d+[.)]|[-*])\s|```|\b(?:you (?:can|should|need|must|may|have to)|use|run|type|first"
    r"|then|next|simply|execute|install|add|edit|set)\b|(?:可以?|请|需要)(?:使用|用|通过)|运行|首先|然后|执行|命令",
    re.I | re.M,
)
_LIST = lazy_regex(r"^\s*(?:(?:\d+[.)]|[-*•])\s|\|)|(?:[^\W\d_]{2,8}、){3}", re.M)
_CODE = lazy_regex(r"```|`[^`]+`|^\s*[#$] \w", re.M)
_WHERE = lazy_regex(r"^\W*where\b|哪[里儿]|哪个?(?:文件|目录)", re.I)
_PATH = re.compile(PATH)
_SIGNS: dict[Intent, re.Pattern[str]] = {
    "cause": _CAUSE,
    "steps": _STEPS,
    "list": _LIST,
    "command": _CODE,
}


def shows_intent(intent: Intent, text: str, question: str) -> bool:
    """Check a text for signs of an intent: a definition, a cause, steps, a list, a command."""
    if intent == "definition":
        return _defines(text, question)
    is_place = intent == "steps" and _WHERE.search(question)
    pattern = _PATH if is_place else _SIGNS.get(intent)
    return pattern is not None and pattern.search(text) is not None


def is_defined_by(heading: str, intent: Intent, question: str) -> bool:
    """Check that what stands first below a heading defines what a question asks about.

    The heading is the subject itself, or asks what it is.
    """
    if intent != "definition":
        return False
    subject = asked_subject(question).casefold()
    title = _asked_out(_NUMBER.sub("", heading)).casefold()
    return bool(subject) and title in (subject, f"{subject}s")


_NUMBER = lazy_regex(r"^\W*(?:\d+[.\d]*|第.{1,4}[章节回])\s*")


@lru_cache(maxsize=_REMEMBERED)
def asked_person(question: str) -> str:
    """Return the person of *Who is Tiny Tim?* or *徐庶是谁？*, else nothing."""
    if question_intent(question) != "definition":
        return ""
    question = leading_question(question)
    subject = asked_subject(question)
    if language_of(question) == "zh":
        is_person = re.search(rf"谁|何人|什么人|{_ORIGIN_HAN}", simplified(question))
        return subject if is_person and len(subject) <= LONGEST_NAME else ""
    return subject if re.match(r"\W*who\b", question, re.I) else ""


def _defines(text: str, question: str) -> bool:
    subject = asked_subject(question)
    if not subject:
        return False
    if language_of(question) == "zh":
        plain = re.sub(r"[*\s]+", "", text)
        name = re.escape(subject)
        said = rf"(?:^|[。！？；\n])\W*{name}{_SAYS_CHINESE}|(?:称[为作]|叫[做作]?)\W?{name}(?!\w)"
        return re.search(said, plain) is not None or introduction(plain, subject) > 0
    plain = text.replace("*", "")
    if spells_out(plain, question) or (asked_person(question) and introduction(plain, subject)):
        return True
    last = re.escape(subject.strip("\"'“”").split()[-1].rstrip("s"))
    pattern = rf"{_NAME_START}\W*{last}(?:e?s)?{_SAYS}"
    return re.search(pattern, plain, re.I) is not None


def spells_out(text: str, question: str) -> bool:
    """Check that a text writes out the abbreviation asked for: *an ITP (Intent To Package)*."""
    short = re.sub(r"s$", "", asked_subject(question))
    if not short.isalpha() or not short.isupper() or short not in text:
        return False
    for found in re.finditer(rf"\b{short}s?(?: \(([^()]{{3,60}})\)|\))", text):
        before = text[max(0, found.start() - _SPELT) : found.start()].rpartition("(")[0].split()
        said = [found.group(1)] if found.group(1) else []
        said += [" ".join(before[at:]) for at in range(max(0, len(before) - 8), len(before) - 1)]
        if any(initials_match(short, each) for each in said):
            return True
    return False


_SPELT = 120
"""Characters before an abbreviation in brackets in which its words stand."""


@lru_cache(maxsize=_REMEMBERED)
def asked_subject(question: str) -> str:
    """Return what a question for a definition asks about, as it is written there; or nothing."""
    question = leading_question(question)
    if language_of(question) == "zh":
        return _asked_out(simplified(question))
    return definition_subject(question) or _mean_subject(question)


def _that_person(text: str) -> str:
    """Return 于吉 of *被孙策杀掉的那个于吉是谁？*; nothing of other questions."""
    found = _THAT_ONE.search(text)
    return found["name"] if found and han_surname(found["name"]) else ""


def _asked_out(text: str) -> str:
    """Return a question or a title without the words that ask what it is."""
    if english := definition_subject(text):
        return english
    asks = (
        r"什么是|(?:又|究竟|到底)?(?:是(?:什么|谁|何人)|是?何许人).*|的?定义|指(?:的是)?什么"
        r"|什么意思|何谓"
    )
    text = re.sub(r"（[^）]*）|\([^)]*\)", "", text)
    if not re.search(f"[{HAN}]", text):
        return text.strip()
    subject = re.sub(rf"{asks}|[？?。\s]", "", text)
    return _that_person(text) or subject


_MEAN = lazy_regex(
    r"\bdo(?:es)?\s+(.+?)\s+(?:mean|stand for|refer to)\b"
    r"|\bwho(?:['’]s|\s+(?:is|was|are|were)) (.+?)\W*$",
    re.I,
)


def _mean_subject(question: str) -> str:
    found = _MEAN.search(asking_part(question))
    subject = (found.group(1) or found.group(2)) if found else ""
    return (_quoted(question) or subject) if _THAT.fullmatch(subject) else subject


_SAID = r"(?:[^:?]|:(?!\s))"  # *A and B: which …?* ends there, *std::list* does not
_SIDES = lazy_regex(
    rf"\b(?:between|compare|contrast)\s(?P<many>{_SAID}+)"
    rf"|^(?P<versus>{_SAID}+?\b(?:versus|vs\.?)\s{_SAID}+)"
    r"|^(?:how (?:do|does|did|is|are|was|were)\s)?"
    rf"(?P<with>{_NO_QUESTION}[^?]{{1,100}}?\s(?:compared? (?:with|to)|as opposed to)\s"
    r"[^,:?]{1,100})"
    r"|(?:^|[.!?,]\s)\W*(?:is|are)\s(?P<same>an?\s[^,?]{1,60}?\sthe same (?:thing )?as\san?\s"
    r"(?!(?:decade|year|month|week|day)\b)[^,?.]{1,60})"
    r"|\b(?:do(?:es)?|did)\s(?P<differs>.{1,100}?\sdiffer\sfrom\s[^?]{1,100})"
    r"|\b(?:do(?:es)?|did)\s(?P<differ>.{1,200}?)\s(?:differ|relate|compare(?!\s(?:with|to)\b))\b"
    r"|\bbetter[,:]?\s(?P<better>[^,?]{1,80}?\bor\s[^,?]{1,80})"
    r"|\bshould\s(?:i|we|one)\s(?:use|choose|pick|take|prefer)\s(?P<choice>[^,?]{1,80}?\bor\s[^,?]{1,80})"
    rf"|^\W{{0,9}}(?P<either>{_NO_QUESTION}"
    r"[^,:?–—]{1,120}?\bor\s[^,:?–—]{1,120}?)\s?(?:[,:–—]|\?\s+\w|-\s)",
    re.I,
)
_BEFORE_SIDES = lazy_regex(
    r"^\W*(?:(?:should|shall|can|could|do|does|would|must|is|are)"
    r" (?:i|we|you|one|(?:my|our|the|an?) [\w-]+) (?:\w+ )?|(?:use|choose|pick) )"
    r"|\s+(?:for|in|on|as) (?:my|the|an?|our|[a-z]+ing)\b.*$",
    re.I,
)
"""Words around the sides of a choice: *Should my package use Breaks or Conflicts for …*."""
_OWNERS = lazy_regex(
    r"(?:the |an? )?(?P<one>\w[\w .-]*?)['’]s?,? and (?:the |an? )?"
    r"(?P<other>\w[\w .-]*?)['’]s?\s\w"
)
"""*Ann's and Bo's views of the dam*, of which each has some."""
_NAMED_TWO = lazy_regex(
    r"(?:what|how|where|when|why)\s(?:the )?(?P<one>[A-Z][\w.-]*(?: [A-Z][\w.-]*)*) and (?:the )?"
    r"(?P<other>[A-Z][\w.-]*(?: [A-Z][\w.-]*)*)\s[a-z]"
)
"""*what Ann and Bo thought of the dam*."""
_OF_OTHERS = lazy_regex(r"\s(?:with|from)\s", re.I)
"""Leads to a further side: *what Ann and Bo do with what Cy does*."""
_AND = lazy_regex(
    r"\s*,\s*(?:and\s+)?"
    r"|\s+(?:and|or|versus|vs\.?|differ\s+from|compared?\s+(?:with|to)|as\s+opposed\s+to"
    r"|the\s+same\s+(?:thing\s+)?as)\s+",
    re.I,
)
_ASKED_BEHIND = lazy_regex(
    r"\s+(?:main )?differences?\W*$"
    r"|\s*[-–—,;:?]\s*(?:(?:so )?what(?:['’]s| is| are)(?: the)? differen(?:ces?|t)"
    r"|how (?:do|does|are|is) (?:they|it|these) (?:differ\w*|compare)"
    r"|which(?: one)? (?:is|should|do)\b[^?]*)\W*$",
    re.I,
)
"""Behind the sides, what is asked of them: *A vs B - what is the difference?*"""
_AHEAD = lazy_regex(
    r"^(?![^,:?]*\b(?:and|or|versus|vs|compared?)\b)"
    r"(?:(?:for|in|on|with|when|regarding|about)\s[^,:?]{1,60},|[^,:?]{1,60}:)\s(?=how\s)",
    re.I,
)
"""Context in front of a question: *For modules of others, how do A compare with B?*"""
_DOES = lazy_regex(
    r"(\b(?:do|does|did)\s[^,:?]{1,80}?)\s(?:do|fare|perform|work|come off)(?=\scompared\s)", re.I
)
"""Behind a side: *how did the drug do compared with the placebo?*"""
_COMPARE = lazy_regex(r"compare|contrast", re.I)
_WITH = lazy_regex(r"\s+(?:with|to|from)\s+", re.I)


_IN_RESPECT = lazy_regex(
    r"\s+(?:on|about|regarding|concerning|in (?:terms|respect) of|when it comes to|as regards|when"
    r"|if)"
    r"\s+\w.*|在.{2,20}(?:上|方面)",
    re.I,
)


def compares_in_respect(question: str) -> bool:
    """Check for a question that compares what is named in one respect: *on pay*."""
    is_named = any(map(_IN_RESPECT.search, compared_sides(question)))
    return not is_named and _IN_RESPECT.search(" ".join(question.split())) is not None


_EACH_OTHER = lazy_regex(r"\s+(?:from|to|with) (?:each other|one another)\b", re.I)


def compared_sides(question: str) -> tuple[str, ...]:
    """Return the names that a question compares, in its order; none if it is not clear which."""
    if language_of(question) == "zh":
        return _compared_in_chinese(question)
    text = _DOES.sub(r"\1", _AHEAD.sub("", " ".join(question.split())))
    text = _ASKED_BEHIND.sub("", _EACH_OTHER.sub("", text))
    found = _SIDES.search(text) or _SIDES.search(question)
    if found is None:
        return ()
    whole = re.sub(r"[^\w#+)]$", "", next(part for part in found.groups() if part).rstrip())
    whole = _BEFORE_SIDES.sub("", whole) if found["either"] else whole
    parts = _AND.split(whole)
    shared = _OWNERS.match(whole) or _NAMED_TWO.match(whole)
    if shared and len(parts) == 2 and not _OF_OTHERS.search(whole):
        return shared["one"], shared["other"]
    if len(parts) < 2 or (found["many"] and _COMPARE.match(found.group())):
        parts = [side for part in parts for side in _WITH.split(part)]
    if not any(map(_IN_RESPECT.search, parts[:-1])):
        parts[-1] = _IN_RESPECT.sub("", parts[-1])
    sides = [
        re.sub(r"^(?:(?:to use|using)\s+)?(?:(?:the|an?)\s+)?", "", side, flags=re.I)
        for side in parts
    ]
    sides = [side.strip("\"'“” ") for side in sides]
    sides = [side for side in sides if side and not _ASKS_ALONE.fullmatch(side)]
    return tuple(sides) if 2 <= len(sides) <= 4 else ()


_ASKS_DIFFERENCE = (
    r"各?自?(?:有|是|存在)?(?:什么|哪些|何|啥)?的?(?:主要)?"
    r"(?:区别|不同|不一样|差异|差别|异同|优缺点|优劣|利弊|好坏|(?<=各有什么)[好长短]处|差在哪|哪[一个种]{1,2}更)"
)
_SIDES_CHINESE = lazy_regex(
    r"(?:比较|对比)(?:一下)?(?P<many>[^，。？?的]+?)(?:的|[，。？?]|$)"
    r"|(?:^|[，。；])(?P<differ>[^，。？?]+?)(?:之间|两者|三者)?(?:相比(?:较|之下)?)?，?(?:到底|究竟)?的?"
    rf"{_ASKS_DIFFERENCE}"
)
_INSIDE = lazy_regex(r"^在?[^和与跟及同、]{2,12}?[里中](?:面|间)?(?:的|\s+|(?=[A-Za-z]))")
"""Place in which the sides stand: *软 RAID 里 RAID0 和 RAID1*."""
_OLD_OR_NEW = lazy_regex(r"^[老旧新]的\s*")
_AND_CHINESE = lazy_regex(r"\s*[、，]\s*|\s*[和与跟及同]\s*|\s+(?:vs\.?|and)\s+", re.I)


_COMPARED = lazy_regex(
    r"之间|两者|三者|[两二]人|双方|到底|究竟|相比(?:较|之下)?|(?:比较|对比)(?:一下)?|在哪里?"
    rf"|{_ASKS_DIFFERENCE}"
    r"(?:之处|点)?(?:是|在于)?(?:什么|哪里?)?"
)
_RESPECT = 2
"""Characters that say in what respect two are compared."""


_COMPARING = lazy_regex(
    r"\b(?:compared?|compares|comparison|contrast|difference|different|differs?|distinction|between"
    r"|versus|vs|each other|one another|better|best|choose|prefer|pick|take|either|main|key|how"
    r"|what['’]s|what|do|does|did|and|or|they|them|it|one|should|i|we|use|which|matter|exactly|really"
    r"|in what ways?|relate|normally|usually|generally)\b\.?",
    re.I,
)
_FUNCTION_WORDS = lazy_regex(
    r"\b(?:the|an?|in|on|of|for|to|as|with|from|is|are|was|were|my|our)\b", re.I
)
_ASKS_ALONE = lazy_regex(
    r"(?:and\s)?(?:how|which|what|is|are|do|does|did|should)\b"
    r"(?:\s(?:do|does|did|they|it|one|is|are|i|we|better|best|use|choose|compare|differ|to))*\W*",
    re.I,
)
"""A clause that only asks: *how do they compare*."""
_COMPARED_IN_ENGLISH = lazy_regex(
    r"\b(?:compared?|compares|contrast|differences?|differs?|different|distinction|between|versus"
    r"|vs|each other|one another)\b\.?",
    re.I,
)
_LEAST = 3
"""Characters of a word that says in what respect."""


def side_question(question: str, side: str, sides: Iterable[str]) -> str:
    """Return what a question asks of one side of a comparison; nothing where that is all.

    于禁和庞德的下场有什么不同 asks of each 下场, *As bosses, how do Ann and Bo differ?* of each as
    a boss.
    """
    if language_of(question) != "zh":
        return _english_side_question(question, side, sides)
    rest = simplified(" ".join(leading_question(question).split()))
    for other in sorted(sides, key=len, reverse=True):
        if other != side:
            rest = re.sub(rf"[ 和与跟及同、，]*{re.escape(other)}(?![A-Za-z0-9_-])", "", rest)
    rest = re.sub(rf"[和与跟及同、] ?(?={re.escape(side)})", "", rest)
    rest = _COMPARED.sub("", rest).strip(" ，、的？?。")
    return rest if count_han(rest.replace(side, "")) >= _RESPECT else ""


def _english_side_question(question: str, side: str, sides: Iterable[str]) -> str:
    """Return the side with what stands before and behind all sides that says in what respect."""
    if re.match(r"(?:what|how|why|when|where|who|which)\b", side, re.I):
        return ""  # is a question of its own
    text = " ".join(leading_question(question).split())
    begin, end = len(text), 0
    for each in sides:
        at = text.find(each, end)
        if at < 0:
            return ""
        begin, end = min(begin, at), at + len(each)
    owned = re.match(r"['’]s?(?!\w)", text[end:])
    behind = text[end:][owned.end() if owned else 0 :].strip()
    manner = re.match(r"as [^,]{2,40},\s", text[:begin], re.I)
    said = _FUNCTION_WORDS.sub(" ", _COMPARING.sub(" ", behind))
    is_told = any(len(word) >= _LEAST for word in re.findall(r"[\w-]+", said))
    if not is_told and manner is None:
        return ""
    clause = re.search(r"\b(?:what|how|where|when|why)\s(?:the\s)?$", text[:begin], re.I)
    before = manner.group() if manner else clause.group() if clause else ""
    rest = _COMPARED_IN_ENGLISH.sub(" ", behind) if is_told else ""
    name = f"{side}{owned.group()}" if owned and not clause else side
    return " ".join(f"{before}{name} {rest}".split()).strip(" ,;:?.")


_CLAUSE = re.compile(r"(?:what|how|why|when|where|who|which)\b", re.I)


def question_of_side(question: str, side: str, sides: Iterable[str]) -> tuple[str, Intent]:
    """Return what is asked of one side of a comparison.

    That is in what respect the question compares, else what the side is, *what the station does*.
    """
    if asked := side_question(question, side, sides):
        return asked, "explanation"
    if language_of(question) == "zh":
        return f"什么是{side}？", "definition"
    if _CLAUSE.match(side):
        return f"{side}?", "explanation"
    return f"What is {side}?", "definition"


_THEY = lazy_regex(
    r"^(?:这|那)?(?:两|二|双|三)(?:人|者|方|个|家|位|种)|^[他她它]们|^(?:态度|看法|做法|表现)"
)
_BOTH_NAMED = lazy_regex(rf"([{HAN}]{{2,4}}|[\w.+-]+)\s*[和与跟同]\s*([{HAN}]{{2,}}|[\w.+-]+)")


def _compared_in_chinese(question: str) -> tuple[str, ...]:
    text = simplified(question)
    found = _SIDES_CHINESE.search(text)
    if found is None:
        return ()
    whole = found["many"] or found["differ"]
    inside = _INSIDE.sub("", whole)
    whole = whole if re.search("[里中]", inside) else inside
    before, of, _ = whole.partition("的")
    if of and _AND_CHINESE.search(before) and not before.endswith(("老", "旧", "新")):
        whole = before  # 于禁和庞德的表现和下场
    if _THEY.match(whole) or not _AND_CHINESE.search(whole):
        return _named_before(text[: found.start()])
    parts = [
        _OLD_OR_NEW.sub("", side.strip("“”「」 ")).partition("的")
        for side in _AND_CHINESE.split(whole)
    ]
    first, last = parts[0][2].strip(), parts[-1][0].strip()
    is_alike = first[-1:] == last[-1:] and not last.endswith(first)
    is_latin = not has_han(first + last)
    is_one_owner = bool(first) and not parts[-1][1] and (is_alike or is_latin)
    # 磁盘配额的软限制和硬限制, not 苹果的手机和华为
    sides = [(of if is_one_owner and of else side).strip("“”「」 ") for side, _, of in parts]
    return tuple(side for side in sides if side) if 2 <= len(sides) <= 4 else ()


def _named_before(text: str) -> tuple[str, ...]:
    """Return the two that an earlier clause names and the question then calls *the two*.

    Of a Chinese name that runs on into its clause the first characters are the name.
    """
    both = _BOTH_NAMED.search(text)
    if both is None:
        return ()
    first, second = both.groups()
    if re.match(f"[{HAN}]", second) and len(second) > len(first):
        second = second[: max(2, 1 + len(han_surname(second[:3])))]
    return first, second
