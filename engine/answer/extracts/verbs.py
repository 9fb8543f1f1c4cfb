"""English verbs whose forms share no stem: *sold* for *sell*, *lit* for *light*.

Forms are written as the keyword index stems them. Knows no grammar: the forms of a verb are the
same word wherever they stand.
"""

from __future__ import annotations

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
