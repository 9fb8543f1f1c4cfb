"""Words that say the same in another form: *sold* and *sell*, *directed* and *director*, 死 and 亡.

English ones are written as the keyword index stems them, Chinese ones as pairs of characters.
"""

from __future__ import annotations

import re
from functools import cache

from graph.text.cjk import has_han, simplified
from graph.text.patterns import lazy_regex

_IRREGULAR = """
aris aros arisen/becom becam/begin began begun/bind bound/bite bit bitten/bleed bled
blow blew blown/break broke broken/bring brought/broadcast/build built/burn burnt/buy bought
catch caught/choos chose chosen/come came/deal dealt/dig dug/draw drew drawn/drink drank drunk
drive drove driven/eat ate eaten/fall fell fallen/feed fed/feel felt/fight fought/find found
flee fled/fli flew flown/forbid forbad forbidden/forget forgot forgotten/forgiv forgav forgiven
freez froze frozen/get got gotten/give gave given/go went gone/grow grew grown/hang hung
hear heard/hide hid hidden/hold held/keep kept/know knew known/lay laid/lead led/leap leapt
learn learnt/leav left/lend lent/light lit/lose lost/make made/mean meant/meet met
mistak mistook mistaken/overcom overcam/overthrow overthrew overthrown/pay paid/ride rode ridden
ring rang rung/rise rose risen/run ran/say said/see saw seen/seek sought/sell sold/send sent
shake shook shaken/shine shone/shoot shot/show shown/shrink shrank shrunk/sing sang sung
sink sank sunk/sit sat/sleep slept/slide slid/speak spoke spoken/spend spent/spin spun/split
stand stood/steal stole stolen/stick stuck/sting stung/strike struck/strive strove striven
swear swore sworn/sweep swept/swim swam swum/swing swung/take took taken/teach taught
tear tore torn/tell told/think thought/throw threw thrown/undergo underw undergon
understand understood/undertak undertook undertaken/wake woke woken/wear wore worn/weav wove woven
win won/wind wound/withdraw withdrew withdrawn/write wrote written
"""


def _forms() -> dict[str, tuple[str, ...]]:
    verbs = [verb.split() for verb in _IRREGULAR.strip().replace("\n", "/").split("/")]
    return {form: tuple({*verb} - {form}) for verb in verbs for form in verb}


FORMS = _forms()
"""By a form, the other forms of its verb."""

_DOER = re.compile(r"(?<=[a-z]{3})(?:ors?|ers?|ion|ment|ance|al)$")
_RELATIVES = {
    "author": ("wrote", "written", "write"),
    "writer": ("wrote", "written", "write", "author"),
    "mother": ("son", "daughter", "child", "children", "born"),
    "father": ("son", "daughter", "child", "children"),
    "parent": ("son", "daughter", "child", "father", "mother"),
    "grandfath": ("son", "daughter", "grandson", "granddaught", "father"),
    "grandmoth": ("son", "daughter", "grandson", "granddaught", "mother"),
    "child": ("son", "daughter", "father", "mother"),
    "husband": ("marri", "wife", "spous", "widow"),
    "wife": ("marri", "husband", "spous", "widow"),
    "spous": ("marri", "wife", "husband"),
    "marri": ("wife", "husband", "spous"),
    "death": ("die", "dead", "kill"),
    "die": ("death", "dead", "kill"),
    "birth": ("born",),
    "born": ("birth",),
    "perform": ("singer", "sung", "record", "song"),
    "sing": ("sung", "singer", "sang"),
    "compos": ("music", "score"),
    "star": ("actor", "actress", "cast"),
    "locat": ("situat", "lie"),
    "leader": ("led", "head", "lead"),
    "led": ("leader", "head", "lead"),
}


@cache
def lexical_variants(term: str) -> tuple[str, ...]:
    """Return a question's token and its English inflections, for matching sentences."""
    base = _DOER.sub("", term) if term.isascii() else term
    others = {*_RELATIVES.get(term, ()), *_RELATIVES.get(base, ()), *FORMS.get(term, ())}
    if base != term and len(base) > 3:
        others |= {base, base + "e"}
    return (term, *sorted(others - {term}))


_TOLD_HAN = tuple(
    (lazy_regex(asked), told)
    for asked, told in (
        (
            "(?<!杀不)(?<!卡)死(?![锁机循区链])|去世|[逝过]世|亡|丧命|遇害|享年|(?<![激存灵生])活[了到]",
            "身死 而死 死于 身亡 而亡 亡于 殒命 丧命 毙命 病逝 去世 逝世 遇害 气绝 驾崩 归天 寿终 "
            "而终 言讫 绝命 享年 死年 斩于 自刎 薨于 病卒 卒于 而薨 而崩 "
            "寿三 寿四 寿五 寿六 寿七 寿八",
        ),
        ("抓(?![包取])|俘|(?<!捕)捉|擒", "所获 所擒 擒获 活捉 生擒 被擒 被获 捉住 俘虏 抓住"),
        ("杀(?![毒死掉])|处死|斩|杀[死掉]了", "斩之 杀之 所杀 所斩 斩于 杀死 刺死 射死 斩首"),
        ("妻|老婆|夫人|嫁|娶|结婚|成亲", "之妻 为妻 其妻 嫁与 嫁给 夫人 成亲 完婚 结婚 娶了"),
        (
            "儿子|女儿|孩子|父亲|母亲|爸|妈|爹",
            "之子 其子 长子 次子 之女 其女 之父 其父 之母 其母 生子",
        ),
        (
            "[几少]岁(?!月)|[时年候]多大(?!的)|多大(?:岁数|年纪|了)|年龄|岁数|年纪|(?<![激存灵生])活[了到]",
            "年方 时年 年已 年纪 享年 一岁 二岁 三岁 四岁 五岁 六岁 七岁 八岁 九岁 十岁",
        ),
        ("外号|绰号|别号|人称(?!代)", "绰号 人称 号曰 自号 又名 道号 皆称"),
        ("来历|来头|出身|籍贯|哪里人|老家", "人也 人氏 出身 祖籍 籍贯"),
        ("当上|担任|[做任当]过?.{0,2}官(?![网方])|职[务位]", "封为 拜为 升为 任为 担任 就任 出任"),
        ("多高|身高|个子", "身长 身高"),
    )
)
"""Words of Chinese questions, and those by which what they ask for is told, old and new."""


def told_in_chinese(question: str) -> str:
    """Return the words by which Chinese texts tell what a question asks for, apart by spaces."""
    if not has_han(question):
        return ""
    text = simplified(question)
    return " ".join(told for asked, told in _TOLD_HAN if asked.search(text))
