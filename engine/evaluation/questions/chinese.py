"""Chinese questions from single clauses: the asked part is replaced where it stands.

Chinese asks in place, so no parse is needed: a date, a number with its measure word, a place, a
name before its verb or a reason becomes the question word. A clause is used where it opens its
sentence, holds a name and refers to nothing before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import rjieba

from graph.text.cjk import HAN

from .english import SentenceQuestion

MIN_CHARACTERS, MAX_CHARACTERS = 9, 60
"""Characters of a clause that is used."""
_CONTEXTUAL = re.compile(
    r"^(?:但|而|然后|并|也|又|还|则|因此|所以|于是|然而|同时|此外|其中|后来|随后|之后|此后|以后|以及|或者|如果|虽然|不过|例如|比如)"
    r"|[他她它牠祂我你您咱]|^(?:若|根据|按照|前身|从|如)|[该此本这那](?!名|港|草)|双方|同年|当年|当时|次年|翌年|同月|同日|上述|以下|如下|前者|后者|其[^他它实余]"
)
_MARKS = re.compile(r"[*_`#|]|^[-+>]\s+|（[^（）]*）|\([^()]*\)")
_DATE = re.compile(r"(?:公元前?)?\d{3,4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?(?:至\S{2,8}?[年月日])?")
_NUMBER = r"(?:\d[\d,，.]*|[一二三四五六七八九十百千两]{1,6})[余多]?[万亿]?[余多]?"
_MEASURED = re.compile(
    rf"(?<![第\d.年月一二三四五六七八九十百千万])(?P<n>{_NUMBER})(?P<m>余?(?:万|亿)?(?:名|艘|座(?!位)|位|部|场|所|间|本|篇|辆|台|枚|首|"
    rf"平方公里|公里|千米|公斤|公吨|吨|米|海里|欧元|美元|英镑|元(?![阵件素组数])|人|分钟|小时|天|岁|层|种|家|次))(?![{HAN}]?[年月])"
)
_PLACE = re.compile(
    r"(?P<s>[^是为\d]{2,20}?)(?P<v>位于|坐落于|坐落在|出生于|生于|毕业于|就读于|逝世于|总部设在)(?P<p>[^，。；、（]{2,16})$"
)
_PLACE_WORD = {"毕业于": "哪所学校", "就读于": "哪所学校"}
_IS = re.compile(
    r"^(?P<s>[^，。是]{2,18}?)是(?P<o>(?:一|中国|美国|英国|日本|香港|台湾|.{0,12}的)[^，。]{3,40})$"
)
_ATTRIBUTE = re.compile(
    r"^(?P<s>[^，。]{2,16}的[^，。的是为]{2,8})(?:是|(?<![作成名称以认视化])为)(?P<o>[^，。]{2,24})$"
)
_BECAUSE = re.compile(
    r"^(?:由于|因为)(?P<r>[^，。]{4,40})，(?:所以|因此|于是)?(?P<m>[^，。]{5,40})[。，]"
)
_BECAUSE_AFTER = re.compile(r"^(?P<m>[^，。]{5,40})，(?:这是)?(?:因为|由于)(?P<r>[^，。]{4,40})。")
_PEOPLE_ENDS = re.compile(
    r"(?:家|员|人|长|师|者|手|士|王|帝|后|将|官|授|[歌球明]星|民|生|导演|作者|子|女|侯|公|演员|主持|教授|将领|军人|选手)$"
)


def is_usable(sentence: str) -> bool:
    """Check whether a raw Chinese sentence is plain prose that could give a question."""
    return (
        12 <= len(sentence) <= 200
        and sentence.endswith("。")
        and "|" not in sentence
        and "http" not in sentence
        and re.search(r"[“”‘’][^“”‘’]*$|^[-*\d]", sentence) is None
        and _balanced(sentence)
    )


def _balanced(text: str) -> bool:
    return all(text.count(a) == text.count(b) for a, b in ("“”", "《》", "（）", "「」"))


def clause_questions(sentence: str, *, people: Collection[str] = ()) -> Iterator[SentenceQuestion]:
    """Yield the questions that the first clause of a sentence answers, and its reasons.

    A clause that opens with a name of `people` is asked for who did it.
    """
    for asked in _asked(_MARKS.sub("", sentence).strip(), people):
        if asked.alone or asked.kind in ("when", "where"):
            yield asked


def _asked(sentence: str, people: Collection[str]) -> Iterator[SentenceQuestion]:
    yield from _reasons(sentence)
    clause = re.split(r"[，。；：！？]", sentence, maxsplit=1)[0].strip()
    opening = ""
    if (match := re.fullmatch(rf"(?:在|于)?({_DATE.pattern})", clause)) is not None:
        rest = sentence[len(clause) + 1 :]
        opening, clause = match[1], re.split(r"[，。；：！？]", rest, maxsplit=1)[0].strip()
    if not (MIN_CHARACTERS <= len(clause) <= MAX_CHARACTERS) or not stands_alone(clause):
        return
    if opening:
        if not _DATE.search(clause) and not _STATES.search(clause):
            yield SentenceQuestion(
                text=f"{clause}是在什么时候？", kind="when", value=opening, alone=is_named(clause)
            )
        return
    yield from _dates(clause)
    if "、" in clause or "和" in clause[:12]:
        return
    yield from _measures(clause)
    yield from _places(clause)
    yield from _definitions(clause)
    yield from _people(clause, people)


_REPORTING = ("发现", "认为", "表示", "指出", "显示", "宣布", "称", "说", "规定", "决定")
_BARE = re.compile(r"^.{0,4}(?:球队|影片|电影|公司|学校|节目|该)")


def stands_alone(clause: str) -> bool:
    """Check whether a clause names something, has a verb and refers to nothing before it."""
    return (
        any(tag.startswith("v") for _, tag in rjieba.tag(clause))
        and not _CONTEXTUAL.search(clause)
        and _balanced(clause)
        and not clause.endswith(("后", "时", "前", "中", "的", "起", "期间", *_REPORTING))
    )


def is_named(text: str) -> bool:
    """Check whether a text holds a name, by the tagger, a title in marks or Latin letters."""
    return "《" in text or any(
        tag in ("nr", "ns", "nt", "nz", "nrt", "eng") for _, tag in rjieba.tag(text)
    )


_STATES = re.compile(r"[是为已]|还$")
_OF_FIRMS = re.compile(r"成立|位于|用于|上市|开业|通车|启用")
_OPENS_NOTHING = re.compile(
    r"^(?:较|更|最好|目前|最近|至|最早|另|常见|最直接|第|其|含有)|[都即能将称均意]$"
)
_NO_VALUE = re.compile(r"^(?:由|于|来自|位于|使用|从|提供|在|以|与|对|不)")


def _dates(clause: str) -> Iterator[SentenceQuestion]:
    found = list(_DATE.finditer(clause))
    if (
        len(found) != 1
        or "至" in found[0].group()
        or clause[found[0].end() :][:1] in "至到-—－~起初末底春夏秋冬前后度第的"
    ):
        return
    date = found[0]
    before, after = clause[: date.start()], clause[date.end() :]
    before = before.removesuffix("在").removesuffix("于").removesuffix("自")
    asking = "哪一年" if date.group().endswith("年") else "什么时候"
    if _STATES.search(before):
        return
    if len(before) >= 2 and len(after) >= 2:
        text = f"{before}在{asking}{after}？"
        yield SentenceQuestion(text=text, kind="when", value=date.group(), alone=is_named(before))
    elif not before and len(after) >= 6 and not _STATES.search(after):
        text = f"{after}是在{asking}？"
        yield SentenceQuestion(text=text, kind="when", value=date.group(), alone=is_named(after))


def _measures(clause: str) -> Iterator[SentenceQuestion]:
    found = list(_MEASURED.finditer(clause))
    if len(found) != 1 or len(_DATE.findall(clause)) > 1:
        return
    match = found[0]
    measure = match["m"].removeprefix("余").removeprefix("万").removeprefix("亿")
    if (
        match["n"] in ("一", "两")
        or match.start() < 4
        or clause[match.end() :][:1] in "左以多余之第"
    ):
        return
    text = clause[: match.start()].removesuffix("约").removesuffix("近").removesuffix("超过")
    if text[-1:] in "第每另这前后的" or "是" in text:
        return
    alone = is_named(text)
    text += "多少" + measure + clause[match.end() :]
    yield SentenceQuestion(text=f"{text}？", kind="how many", value=match.group(), alone=alone)


def _places(clause: str) -> Iterator[SentenceQuestion]:
    match = _PLACE.match(clause)
    if (
        match is None
        or match["s"].endswith(("的", "因", "也", "亦", "又", "还"))
        or not (is_named(match["s"]) or _ends_in_a_noun(match["s"]))
        or _DATE.search(match["p"])
        or re.search(r"\d", match["p"])
    ):
        return
    asking = _PLACE_WORD.get(match["v"], "哪里")
    text = f"{match['s']}{match['v']}{asking}？"
    alone = is_named(match["s"])
    yield SentenceQuestion(text=text, kind="where", value=match["p"], alone=alone)


def _definitions(clause: str) -> Iterator[SentenceQuestion]:
    if _OPENS_NOTHING.search(clause) or clause.endswith(("之一", "之外")) or "不仅" in clause:
        return
    if (match := _ATTRIBUTE.match(clause)) is not None and "是" not in match["o"]:
        if (
            _NO_VALUE.match(match["o"])
            or _OPENS_NOTHING.search(match["s"])
            or not _ends_in_a_noun(match["s"])
        ):
            return
        person = _is_name(match["o"])
        asking = "谁" if person else "什么"
        yield SentenceQuestion(
            text=f"{match['s']}是{asking}？",
            kind="which",
            value=match["o"],
            alone=is_named(match["s"]),
        )
    elif (match := _IS.match(clause)) is not None and re.fullmatch(
        r"[\w·《》 ]+[^不就也都只还正便\s]", match["s"]
    ):
        asking = "谁" if _PEOPLE_ENDS.search(match["o"]) else "什么"
        named = is_named(match["s"]) and _ends_in_a_noun(match["s"])
        if "的" not in match["s"] and named and not _NO_VALUE.match(match["o"]):
            yield SentenceQuestion(
                text=f"{match['s']}是{asking}？", kind="what is", value=match["o"]
            )


def _ends_in_a_noun(text: str) -> bool:
    last = rjieba.tag(text)[-1][1]
    hedged = re.search("可以|可能|有时", text) is not None
    return not hedged and last.startswith(("n", "eng", "x", "vn", "j", "l"))


def _people(clause: str, people: Collection[str]) -> Iterator[SentenceQuestion]:
    name = max((one for one in people if clause.startswith(one)), key=len, default="")
    rest = clause[len(name) :]
    if not name or not _is_name(name) or _BARE.search(rest):
        return
    if len(rest) < 6 or rest[0] in "是的与和、为有等·亦也又还因均都":
        return
    tags = rjieba.tag(rest)
    if tags[0][1][0] in "vpd" and is_named(rest) and not _OF_FIRMS.search(rest):
        yield SentenceQuestion(text=f"谁{rest}？", kind="who", value=name)


def _is_name(text: str) -> bool:
    tags = rjieba.tag(text)
    return len(text) <= 12 and all(tag in ("nr", "nrt", "x") for _, tag in tags)


def _reasons(sentence: str) -> Iterator[SentenceQuestion]:
    match = _BECAUSE.match(sentence) or _BECAUSE_AFTER.match(sentence)
    if match is None or not stands_alone(match["m"]) or "都" in match["m"]:
        return
    if match["r"].startswith("各种"):
        return
    first = rjieba.tag(match["m"])[0][1]
    if first.startswith(("n", "eng")):
        text, alone = f"为什么{match['m']}？", is_named(match["m"])
        yield SentenceQuestion(text=text, kind="why", value=match["r"], alone=alone)
