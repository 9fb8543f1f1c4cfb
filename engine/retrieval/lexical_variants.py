"""English words that say the same in another form: *sold* and *sell*, *directed* and *director*.

All are written as the keyword index stems them.
"""

from __future__ import annotations

import re
from functools import cache

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
