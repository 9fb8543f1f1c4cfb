"""Kin and offices of Chinese persons: the words of a text for them, and relations between names.

`KIN` is the one table of these words: relations of the graph and answers to questions for a
relative are read with it. Between two names of one clause stand only the words for a relative
("刘备之子刘禅", "操父曹嵩"), or the second name and these words end a clause ("袁绍乃袁逢之子").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..model import Mention
from ..resolution.name_parsing import han_surname
from ..text.patterns import lazy_regex
from .chinese_relations import HanRelation

_CHILD = "[长次三四五幼少独爱嫡庶]?[子女]|儿子|女儿|儿"


class Kin(NamedTuple):
    """Words for a relative, as alternatives of an expression.

    Those of questions, those of texts, and those by which the relative calls the other one.
    """

    asked: str
    stated: str
    inverse: str


KIN = {
    "父": Kin("父亲|生父|爸爸|爹|父", "父亲|生父|父", _CHILD),
    "母": Kin("母亲|生母|妈妈|娘|母", "母亲|生母|老母|母", _CHILD),
    "养父": Kin("养父|义父|干爹", "养父|义父", "养子|义子|义儿|假子|养女|义女"),
    "养子": Kin("养子|义子|义儿|养女|义女", "养子|义子|义儿|假子|养女|义女", "养父|义父"),
    "义兄弟": Kin(
        "义弟|义兄|(?:结义|结拜|把|拜把|异姓)(?:的)?(?:兄弟|哥哥|弟弟|兄长)",
        "义弟|义兄|结义兄弟|结拜兄弟",
        "义弟|义兄|结义兄弟|结拜兄弟",
    ),
    "妻": Kin(
        "妻子|夫人|太太|老婆|媳妇|正妻|妾|妻", "妻子|夫人|[嫡正次后前]?妻|媳妇|妾", "丈夫|夫君|夫"
    ),
    "夫": Kin("丈夫|夫君|老公", "丈夫|夫君|夫", "妻子|夫人|[嫡正次后前]?妻|妾|媳妇"),
    "子": Kin(
        "[长次大二三四五小幼少]?儿子|孩子|[长次三四五幼少独]?子",
        "[长次三四五幼少独爱]?子|[大二三四五小]?儿子|儿",
        "父亲|父|母亲|母",
    ),
    "女": Kin("女儿|[长次小幼]女|女", "[长次小幼独爱]?女|[大二三小]?女儿", "父亲|父|母亲|母"),
    "兄": Kin(
        "哥哥|兄长|大哥|二哥|兄", "哥哥|[长从族堂胞]?兄|兄长", "弟弟|[胞堂从族]?弟|妹妹|[胞]?妹"
    ),
    "弟": Kin("弟弟|弟", "弟弟|[胞堂从族]?弟", "哥哥|[长从族堂胞]?兄|姐姐|姊|姐"),
    "姐": Kin("姐姐|姐|姊", "姐姐|姐|姊", "弟弟|弟|妹妹|妹"),
    "妹": Kin("妹妹|妹", "妹妹|[胞]?妹", "哥哥|兄|姐姐|姐|姊"),
    "叔": Kin("叔叔|叔父|叔|伯父|伯", "叔叔|叔父|叔|伯父", "侄子|侄儿|侄女|侄"),
    "侄": Kin("侄子|侄儿|侄女|侄", "侄子|侄儿|侄女|侄", "叔叔|叔父|叔|伯父|姑母"),
    "祖父": Kin("祖父|爷爷", "祖父|爷爷", "孙子|孙女|孙"),
    "孙": Kin("孙子|孙女|孙", "孙子|孙女|孙", "祖父|祖母|爷爷|奶奶"),
    "岳父": Kin("岳父|丈人", "岳父|丈人|岳丈", "女婿|婿"),
    "岳母": Kin("岳母|丈母娘?", "岳母|丈母", "女婿|婿"),
    "婿": Kin("女婿|婿", "女婿|婿", "岳父|丈人|岳母|丈母"),
    "师": Kin("师父|师傅|老师", "师父|师傅|老师|师", "徒弟|弟子|学生|门生"),
}
APPOINTED = "封|拜|加封|任命|册封|升|擢|除|授|荐|表|加|任|命|使|举"
"""Verbs that give a person an office."""

_WORDS = "|".join(
    sorted({word for kin in KIN.values() for word in kin.stated.split("|")}, key=len, reverse=True)
)
_NAMED = r"(?:[，,]?(?:单?名[叫为唤]?|叫做?|唤做?|即?是))?"
_OF = lazy_regex(rf"(?:[之的](?P<of>{_WORDS})|(?P<beside>{_WORDS})){_NAMED}")
_OTHER_FAMILY = frozenset("妻妾母婿女师人妇夫")
"""Last characters of words for relatives who may have another surname."""
_COPULA = lazy_regex("[，,]?(?:乃是?|即是?|是|系|亦系|本是|原是|便是|就是)|[，,]")
_ENDS = lazy_regex(rf"[之的](?P<of>{_WORDS})(?=也?(?:[，,。；;！!：:）)\n]|$))")
_MARRIED = lazy_regex("(?P<took>迎?娶|续娶|纳)了?|(?P<given>嫁)(?:给|与|了)*")
_LONGEST = 10
_OFFICE = lazy_regex(rf"(?:{APPOINTED})$")
_OFFICE_GIVEN = lazy_regex("(?:为|做|作)")
_OFFICE_ENDS = tuple("侯牧尉守令相丞使史郎将军督卿公王事书监伯")


def kin_relations(text: str, mentions: Sequence[Mention]) -> Iterator[HanRelation]:
    """Return what neighbouring names of a Chinese text are to each other.

    The text is in simplified characters, with the mentions' offsets.
    """
    for first, second in pairwise(sorted(mentions)):
        if not 0 <= second.start - first.end <= _LONGEST:
            continue
        between = text[first.end : second.start]
        if first.type == second.type == "PERSON":
            yield from _kin(text, first, second, between)
        elif first.type == "PERSON" and _OFFICE_GIVEN.fullmatch(between):
            given = _OFFICE.search(text, max(0, first.start - 2), first.start)
            if given and text[first.end : second.end].endswith(_OFFICE_ENDS):
                yield HanRelation(first, f"被{given[0]}为", second)


def _kin(text: str, first: Mention, second: Mention, between: str) -> Iterator[HanRelation]:
    match = _OF.fullmatch(between)
    if match and (match["of"] or _may_be_beside(first, match["beside"], second)):
        if not _ENDS.match(text, second.end):  # "袁逢之子，袁隗之侄" are two things of a third
            yield HanRelation(second, f"是…的{match['of'] or match['beside']}", first)
    elif match := _MARRIED.fullmatch(between):
        yield HanRelation(first, "娶" if match["took"] else "嫁给", second)
    elif _COPULA.fullmatch(between) and (match := _ENDS.match(text, second.end)):
        yield HanRelation(first, f"是…的{match['of']}", second)


def _may_be_beside(first: Mention, word: str, second: Mention) -> bool:
    """Check "操弟曹仁": of one family, where the word is one for that."""
    return word[-1] in _OTHER_FAMILY or han_surname(first.key) == han_surname(second.key) != ""
