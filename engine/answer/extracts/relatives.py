"""Lexical variants by derivation and role.

*directed* for *director*, *son* for *father*.

For English tokens (stemmed as the keyword index does it). A small table of kinship, life and works,
the endings of those who do a thing, and the other forms of irregular verbs; nothing is looked up,
and Chinese tokens have none.
"""

from __future__ import annotations

import re
from functools import cache

from .verbs import FORMS

RELATIVE = 0.8
"""Credit of a word present only as a variant: *directed* for *director*."""
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
    """Return a token and its English variants."""
    base = _DOER.sub("", term) if term.isascii() else term
    others = {*_RELATIVES.get(term, ()), *_RELATIVES.get(base, ()), *FORMS.get(term, ())}
    if base != term and len(base) > 3:
        others |= {base, base + "e"}
    return (term, *sorted(others - {term}))
