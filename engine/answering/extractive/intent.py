"""Intent of a question that one excerpt answers, and the signs of it in a text.

A question for a person, date, place or number has no intent: the sentence that states it answers.
"""

from __future__ import annotations

import re
from typing import Literal

from graph.text.cjk import HAN, simplified
from graph.text.patterns import lazy_regex

from ...prompts import language_of
from ...storage.graph_api import initials_match
from ..introductions import introduction
from .question_type import PATH, asking_part, classify_question

Intent = Literal["command", "comparison", "cause", "list", "steps", "definition", "explanation"]

_ENGLISH: tuple[tuple[Intent, str], ...] = (
    ("command", r"\bcommand(?:s|\s+line)?\b"
     r"|\b(?:which|what) (?:tool|utility|program|option|flag)\b"
     r"|\bwhat (?:do|can|must|should|would) (?:i|you|we|one) (?:type|enter|run|execute)\b"
     r"|\b(?:from|in) (?:a|the) (?:shell|terminal|console)\b"),
    ("comparison", r"\b(?:compare|comparison|contrast|differ|different(?:ly)?|differences?)\b"
     r"|\b(?:versus|vs)\b"
     r"|^\W*[^,:?]{1,60}\bor\b[^,:?]{1,60}[,:–-]\s*(?:which|what|when)\b.*\b(?:should|better|offers?|use|choose|pick)\b"
     r"|\bwhich (?:one )?(?:is|are|would be) (?:the )?better\b.*\bor\b"
     r"|\bshould (?:i|we|one) (?:use|choose|pick|take|go for|prefer)\b.*\bor\b"
     r"|\beach (?:one )?do\b|\bhow do .{1,60} relate\b"),
    ("cause", r"^\W*why\b|\bwhy (?:is|are|was|were|do|does|did|should|must|can|would|has|have)"
     r"(?:n['’]?t)?\b|\bwhat (?:caused|is the (?:reason|cause))\b|\bfor what reason\b"),
    ("list", r"^\W*(?:please )?(?:list|enumerate|name (?:the|all|some|every\w*))\b"
     r"|^\W*(?:which|what) (?:people|men|women|children) (?:do|are|can|have|had|were|did)\b"
     r"|\bgive (?:me|us) (?:a list of|the names of|all|every)\b"
     r"|^\W*(?:what|which) are the\b"
     r"|^\W*(?:which|what) (?:[a-z-]+ )?(?!series|species|news|means)[a-z-]+(?<![ius])s"
     r"(?: (?:in|on|of|for|with|from) [^\s,?]{1,30}(?: [^\s,?]{1,30})?)?"
     r" (?:do|are|can|does|have|should|must)\b"),
    ("steps", r"^\W*(?:how|where) (?:do|can|should|could|must|would) (?:i|you|we|one)\b"
     r"|^\W*how(?: to\b|\W*$)"),
    ("definition", r"\bwhat do(?:es)? .{1,60} (?:mean|stand for|refer to)\b|\bmeaning of\b"),
    ("explanation", r"^\W*(?:can|could|may|must|should|do) (?:i|you|we)\b"
     r"|^\W*what(?:['’]s| is| are) .{1,60} (?:good |used |meant |there |intended )?for\W*$"
     r"|^\W*is it (?:possible|safe)\b|^\W*what (?:does|do|should|must|can|happens|happened)\b"
     r"|^\W*how (?:does|is|are|was|were|did)\b"
     r"|^\W*(?:describe|explain)\b|^\W*tell me (?:about|how)\b"),
    ("definition", r"^\W*(?i:who)(?:['’]s|\s(?:is|was|are|were))"
     r"\s[A-Z][\w’'.-]*(?:\s(?:(?:de|del|della|di|da|du|la|le|van|von|der|den|the)\s){0,2}"
     r"[A-Z][\w’'.-]*){0,4}[\s?]*$"),
    ("explanation", r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should"
     r"|must|may)\b"),
)  # fmt: skip
_CHINESE: tuple[tuple[Intent, str], ...] = (
    ("command", r"命令"),
    (
        "comparison",
        r"区别|不同|不一样|差异|差别|比较|对比|异同|差在哪|哪[一个种]{1,2}(?:更|比较|好)"
        r"|(?:选择?|使?用)哪",
    ),
    ("cause", r"(?<![称名叫作成分译改化变分])为什么|为何|原因|缘何"),
    (
        "list",
        r"列出|列举|(?<![成首古])[都全]列(?!车)|列一下|[有是]哪些|哪些[人家]|(?<![成首大古京])都[^，。督市城江是会]{1,4}了?谁"
        r"|都有谁|哪[几两二三四五六七八九十][种个类位名]|(?:支持|包括|包含|提供|分为)了?哪些",
    ),
    (
        "explanation",
        r"怎么来|由来|来自|来源|出自|吗[？?。]*$|是否|有[什何]么?用|作用|用途|用来(?:做|干)什么|做什么用"
        r"|(?:怎么|如何)(?:死|得到|回事|发生)|(?:结局|结果|下场|情况|经过)(?:是)?(?:如何|怎样|怎么样)",
    ),
    ("steps", r"如何|怎样|怎么(?!会)"),
    ("definition", r"什么是|^[^的]+是什么[？?。]*$|指什么|什么意思|何谓|定义"),
    (
        "definition",
        rf"^(?:(?![的之谁])[{HAN}A-Za-z·\s]){{2,16}}(?:又|究竟|到底)?是(?:谁|何人|什么人)[？?。]*$",
    ),
)
_TABLES = {
    "en": tuple(
        (intent, re.compile(text if "(?i:" in text else f"(?i:{text})"))
        for intent, text in _ENGLISH
    ),
    "zh": tuple((intent, re.compile(text)) for intent, text in _CHINESE),
}
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
_ASKING = lazy_regex(r"\b(?:who|whom|whose|which|what|when|where|why|how)\b", re.I)
_FACTS = frozenset(("person", "time", "place", "amount", "money", "code", "nationality"))


def question_intent(question: str) -> Intent | None:
    """Return the intent of a question that an excerpt answers; None where a sentence does.

    Words without a question are to be explained.
    """
    asked, text = classify_question(question), simplified(asking_part(question))
    found = next((i for i, pattern in _TABLES[asked.language] if pattern.search(text)), None)
    if found in ("command", "comparison", "cause", "steps", "list"):
        return found
    if asked.kind in _FACTS and found != "definition":
        return None
    if found is None and definition_subject(question):
        return "definition"
    if found is None and asked.language == "en" and not _ASKING.search(text):
        return "explanation"
    return found


_LEAST_ASKED = 4
"""Words of a question that asks for something."""
_IN_DOCUMENTS = lazy_regex(
    r"\b(described|mentioned|named|listed|covered|discussed|explained|recommended|given)\sin"
    r"\s(?:the|this|these|your)\s(?:book|handbook|manual|guide|documents?|texts?|docs)(?=[?.!\s]*$)"
    r"|(?<=\?)\s(?:please )?(?:(?:give|tell|show|name)(?: me| us)?|list) (?:them )?all(?: of them)?"
    r"[?.!\s]*$",
    re.I,
)


def named_plainly(question: str) -> str:
    """Return *What is the hook?* for *They mention “the hook”. What is that?*; others unchanged."""
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
    found = _WHAT_IS.match(asking_part(question))
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
    r"\b(?:because|since|due to|owing to|therefore|thus|hence|as a result|reasons?|caused?|so that"
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
    subject = _subject(question).casefold()
    title = _asked_out(_NUMBER.sub("", heading)).casefold()
    return bool(subject) and title in (subject, f"{subject}s")


_NUMBER = lazy_regex(r"^\W*(?:\d+[.\d]*|第.{1,4}[章节回])\s*")


def asked_person(question: str) -> str:
    """Return the person of *Who is Tiny Tim?* or *徐庶是谁？*, else nothing."""
    if question_intent(question) != "definition":
        return ""
    subject = _subject(question)
    if language_of(question) == "zh":
        is_person = re.search("谁|何人|什么人", simplified(question))
        return subject if is_person and len(subject) <= LONGEST_NAME else ""
    return subject if re.match(r"\W*who\b", question, re.I) else ""


def _defines(text: str, question: str) -> bool:
    subject = _subject(question)
    if not subject:
        return False
    if language_of(question) == "zh":
        plain = re.sub(r"[*\s]+", "", text)
        said = rf"(?:^|[。！？；\n])\W*{re.escape(subject)}{_SAYS_CHINESE}"
        return re.search(said, plain) is not None or introduction(plain, subject) > 0
    plain = text.replace("*", "")
    if spells_out(plain, question) or (asked_person(question) and introduction(plain, subject)):
        return True
    last = re.escape(subject.strip("\"'“”").split()[-1].rstrip("s"))
    pattern = rf"{_NAME_START}\W*{last}(?:e?s)?{_SAYS}"
    return re.search(pattern, plain, re.I) is not None


def spells_out(text: str, question: str) -> bool:
    """Check that a text writes out the abbreviation asked for: *an ITP (Intent To Package)*."""
    short = re.sub(r"s$", "", _subject(question))
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


def _subject(question: str) -> str:
    """Return what a question for a definition asks about, as it is written there; or nothing."""
    if language_of(question) == "zh":
        return _asked_out(simplified(question))
    return definition_subject(question) or _mean_subject(question)


def _asked_out(text: str) -> str:
    """Return a question or a title without the words that ask what it is."""
    if english := definition_subject(text):
        return english
    asks = r"什么是|(?:又|究竟|到底)?是(?:什么|谁|何人).*|的定义|定义|指(?:的是)?什么|什么意思|何谓"
    text = re.sub(r"（[^）]*）|\([^)]*\)", "", text)
    return re.sub(rf"{asks}|[？?。\s]", "", text) if re.search(f"[{HAN}]", text) else text.strip()


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
    r"|\b(?:do(?:es)?|did)\s(?P<differs>.{1,100}?\sdiffer\sfrom\s[^?]{1,100})"
    r"|\b(?:do(?:es)?|did)\s(?P<differ>.{1,200}?)\s(?:differ|relate)\b"
    r"|\bbetter[,:]?\s(?P<better>[^,?]{1,80}?\bor\s[^,?]{1,80})"
    r"|\bshould\s(?:i|we|one)\s(?:use|choose|pick|take|prefer)\s(?P<choice>[^,?]{1,80}?\bor\s[^,?]{1,80})"
    r"|^\W{0,9}(?P<either>[^,:?–—]{1,120}?\bor\s[^,:?–—]{1,120}?)\s?(?:[,:–—]|-\s)",
    re.I,
)
_BEFORE_SIDES = lazy_regex(
    r"^\W*(?:(?:should|shall|can|could|do|does|would|must|is|are)"
    r" (?:i|we|you|one|(?:my|our|the|an?) [\w-]+) (?:\w+ )?|(?:use|choose|pick) )"
    r"|\s+(?:for|in|on|as) (?:my|the|an?|our|[a-z]+ing)\b.*$",
    re.I,
)
"""Words around the sides of a choice: *Should my package use Breaks or Conflicts for …*."""
_AND = lazy_regex(r"\s*,\s*(?:and\s+)?|\s+(?:and|or|versus|vs\.?|differ\s+from)\s+", re.I)
_COMPARE = lazy_regex(r"compare|contrast", re.I)
_WITH = lazy_regex(r"\s+(?:with|to|from)\s+", re.I)


_IN_RESPECT = lazy_regex(
    r"\s+(?:on|about|regarding|concerning|in (?:terms|respect) of|when it comes to|as regards)"
    r"\s+\w{3,}.*|在.{2,20}(?:上|方面)",
    re.I,
)


def compares_in_respect(question: str) -> bool:
    """Check for a question that compares what is named in one respect: *on pay*."""
    is_named = any(map(_IN_RESPECT.search, compared_sides(question)))
    return not is_named and _IN_RESPECT.search(" ".join(question.split())) is not None


def compared_sides(question: str) -> tuple[str, ...]:
    """Return the names that a question compares, in its order; none if it is not clear which."""
    if language_of(question) == "zh":
        return _compared_in_chinese(question)
    found = _SIDES.search(" ".join(question.split()))
    if found is None:
        return ()
    whole = re.sub(r"\W$", "", next(part for part in found.groups() if part).rstrip())
    whole = _BEFORE_SIDES.sub("", whole) if found["either"] else whole
    parts = _AND.split(whole)
    if len(parts) < 2 or (found["many"] and _COMPARE.match(found.group())):
        parts = [side for part in parts for side in _WITH.split(part)]
    if not any(map(_IN_RESPECT.search, parts[:-1])):
        parts[-1] = _IN_RESPECT.sub("", parts[-1])
    sides = [re.sub(r"^(?:the|an?)\s+", "", side, flags=re.I) for side in parts]
    sides = [side.strip("\"'“” ") for side in sides if side.strip()]
    return tuple(sides) if 2 <= len(sides) <= 4 else ()


_SIDES_CHINESE = lazy_regex(
    r"(?:比较|对比)(?:一下)?(?P<many>[^，。？?的]+?)(?:的|[，。？?]|$)"
    r"|(?:^|，)(?P<differ>[^，。？?]+?)(?:之间|两者|三者)?(?:到底|究竟)?的?(?:有|是|存在)?"
    r"(?:什么|哪些|何)?的?(?:主要)?(?:区别|不同|不一样|差异|差别|异同|差在哪|哪[一个种]{1,2}更)"
)
_OLD_OR_NEW = lazy_regex(r"^[老旧新]的\s*")
_AND_CHINESE = lazy_regex(r"\s*[、，]\s*|\s*[和与跟及同]\s*|\s+(?:vs\.?|and)\s+", re.I)


def _compared_in_chinese(question: str) -> tuple[str, ...]:
    found = _SIDES_CHINESE.search(simplified(question))
    if found is None:
        return ()
    sides = [
        _OLD_OR_NEW.sub("", side.strip("“”「」 ")).partition("的")[0].strip("“”「」 ")
        for side in _AND_CHINESE.split(found["many"] or found["differ"])
    ]
    return tuple(side for side in sides if side) if 2 <= len(sides) <= 4 else ()
