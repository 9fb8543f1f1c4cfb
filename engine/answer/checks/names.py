"""Name support and negation checks between a claim and its evidence.

A name may be shortened in the sentence ("Brine") where the passage gives it whole ("Ada Brine"),
and stand for its initials. What finds names in a text comes by argument.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...index.door import simplified

Names = Callable[[str], Sequence[str]]
"""The names that stand in a text, as they are written."""

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[^\W_\u3400-\u9fff]+")
_LATIN = r"[^\W_\u3400-\u9fff]"
_LESSER_WORDS = """
the of and de la von van der den del di da al bin ibn st mr mrs ms dr prof sir lord lady king
queen prince princess president captain general saint mount lake river
"""
_LESSER = frozenset(_LESSER_WORDS.split())
"""Words of names that a text may leave out."""
_DEMONYM = re.compile(r"(?:ians?|eans?|ans?|ese|ish|ic|s|n)$")
_SHORTEST_ROOT = 4
_POSSESSIVE = re.compile(r"['’]s\b")
_CLINGING = "的了是在有为被由与和于以及曾成任将把也都就还又并且等后前中共有"
_LONG_HAN, _MOST = 6, 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Context of the cited sentences: whole passages and the question."""

    passages: str = ""
    question: str = ""


def missing_names(
    names: Sequence[str], evidence: str, beside: Beside, *, claim: str = ""
) -> tuple[str, ...]:
    """Those of the claim's names that its evidence does not hold, in their order.

    Args:
        names: as written in the claim.
        evidence: the cited sentences, and the titles and headings above them.
        beside: where a name may stand in full, or, if the question has it, at all.
        claim: a single word at its start may be no name: it counts where `beside` has it as one.
    """
    near = _folded(evidence)
    whole, asked = _folded(beside.passages), _folded(beside.question)
    missing = []
    for name in dict.fromkeys(names):
        if _only_opens(name, claim, f"{beside.passages} {beside.question}"):
            continue
        if not _stands(name, evidence, near, whole, asked):
            missing.append(name)
    return tuple(missing)


def _stands(name: str, evidence: str, near: _Folded, whole: _Folded, asked: _Folded) -> bool:
    key = fold(name)
    if key in near.text if _HAN.search(key) else near.has_run(key):
        return True
    if _HAN.search(key):
        return (key in asked.text and key in whole.text) or _han_in_part(key, near.text)
    words = [fold(word) for word in _WORD.findall(_POSSESSIVE.sub("", name)) if not word.islower()]
    words = [word for word in words if word not in _LESSER]
    if not words or all(near.has(word) for word in words):
        return True
    in_full = whole.has_run(key)
    if in_full and (asked.has_run(key) or any(near.has(word) for word in words)):
        return True
    return _by_initials(name, evidence, near)


def _han_in_part(key: str, text: str) -> bool:
    """Match part of a Chinese name; a tagger may attach a verb or join several words."""
    if len(key) > _LONG_HAN:
        pairs = [key[n : n + 2] for n in range(len(key) - 1)]
        return sum(pair in text for pair in pairs) >= _MOST * len(pairs)
    bare = key.strip(_CLINGING)
    return len(bare) >= 2 and bare in text


def _by_initials(name: str, evidence: str, near: _Folded) -> bool:
    if re.fullmatch(r"(?:[A-Z]\.?){2,6}", name):
        letters = r"\w*\W+(?:of |the |and )?".join(name.replace(".", ""))
        return re.search(rf"\b{letters}\w*", evidence) is not None
    initials = "".join(word[0] for word in re.findall(r"\b[A-Z]\w*", name))
    return len(initials) >= 2 and near.has(initials.casefold())


def _only_opens(name: str, claim: str, elsewhere: str) -> bool:
    """Check whether a capital only opens the sentence; others may confirm it is a name."""
    if " " in name or _HAN.search(name) or not claim.lstrip("*-•#> \"'“").startswith(name):
        return False
    if not name[1:].islower():
        return False
    return re.search(rf"(?<=[a-z,;] ){re.escape(name)}\b", elsewhere) is None


@dataclass(frozen=True, slots=True)
class _Folded:
    text: str
    words: frozenset[str]
    roots: frozenset[str]

    def has_run(self, key: str) -> bool:
        """Check whether these words stand in a row."""
        return re.search(rf"(?<!{_LATIN}){re.escape(key)}(?!{_LATIN})", self.text) is not None

    def has(self, word: str) -> bool:
        """Check whether the word, or one of the same root, is present: America for American."""
        if word in self.words:
            return True
        root = _DEMONYM.sub("", word)
        return len(root) >= _SHORTEST_ROOT and (
            root in self.roots or (root != word and any(w.startswith(root) for w in self.words))
        )


@lru_cache(maxsize=64)
def _folded(text: str) -> _Folded:
    key = fold(text)
    words = frozenset(_WORD.findall(key))
    roots = (_DEMONYM.sub("", word) for word in words)
    return _Folded(key, words, frozenset(r for r in roots if len(r) >= _SHORTEST_ROOT))


@lru_cache(maxsize=1_024)
def fold(text: str) -> str:
    """Normalise: lower case, no accents or possessives, simplified characters, one line."""
    wide = unicodedata.normalize("NFKD", text)
    plain = "".join(c for c in wide if not unicodedata.combining(c)).casefold()
    plain = _POSSESSIVE.sub("", plain)
    return simplified(" ".join(plain.split()))


_NO = re.compile(
    r"\b(?:not|never|no(?![-–])|none|nobody|nothing|neither|nor|without|cannot)\b|n['’]t\b"
    r"|不(?![仅但断少久同])|没|未(?![来])|无(?![线论])|非(?![洲常])",
    re.IGNORECASE,
)
_OPPOSITES = tuple(
    (re.compile(one, re.IGNORECASE), re.compile(other, re.IGNORECASE))
    for one, other in (
        (r"\bincreas\w*|\bris(?:es?|ing)\b|\brose\b|\bgrew\b|\bhigher\b|增加|上升|增长|提高|更高",
         r"\bdecreas\w*|\bfall(?:s|ing)?\b|\bfell\b|\bshrank\b|\breduc\w*|\blower\b|减少|下降|降低|更低"),
        (r"\bbefore\b|\bearlier\b|以前|之前|早于", r"\bafter\b|\blater\b|以后|之后|晚于"),
        (r"\bmore\b|\bgreater\b|\blarger\b|多于|大于", r"\bless\b|\bfewer\b|\bsmaller\b|少于|小于"),
        (r"\bfirst\b|\boldest\b|\bearliest\b|最早|最先|第一",
         r"\blast\b|\bnewest\b|\blatest\b|最晚|最后"),
        (r"\blargest\b|\bhighest\b|\bbiggest\b|\bmost\b|最大|最高|最多",
         r"\bsmallest\b|\blowest\b|\bleast\b|最小|最低|最少"),
        (r"\bnorth\w*|北", r"\bsouth\w*|南"),
        (r"\beast\w*|东", r"\bwest\w*|西"),
        (r"\bopen(?:s|ed)?\b|\bbeg[ai]n\w*|\bstart\w*|开放|开业|开始|启用",
         r"\bclos(?:e|es|ed)\b|\bend(?:s|ed)\b|关闭|停业|结束|停用"),
        (r"\baccept\w*|\bapprov\w*|\bpass(?:es|ed)\b|批准|通过|接受",
         r"\breject\w*|\brefus\w*|否决|驳回|拒绝"),
        (r"\bborn\b|出生|生于", r"\bdied\b|\bdeath\b|去世|逝世|死于"),
        (r"\bwon\b|\bdefeated\b|获胜|击败", r"\blost\b|败于|失利"),
    )
)  # fmt: skip
_CLAUSE = re.compile(
    r"[,;:，；：、。.!?！？()（）—–]|\b(?:and|but|although|though|while|whereas)\b|并且?|但是?|而(?=[^且])|虽然"
)


def contradicts(claim: str, sentence: str, *, shared: Callable[[str], int]) -> bool:
    """Check whether one text asserts what the other denies, by their words.

    Looked at is the clause of the sentence that shares most with the claim (`shared` counts): one
    of both with a negation and the other without, or a word in the one and its opposite in the
    other.
    """
    clauses = [clause for clause in _CLAUSE.split(sentence) if clause and clause.strip()]
    if not clauses:
        return False
    best = max(clauses, key=lambda clause: (shared(clause), bool(_NO.search(clause))))
    if len(_NO.findall(claim)) % 2 != len(_NO.findall(best)) % 2 and (
        len(_NO.findall(claim)) % 2 != len(_NO.findall(sentence)) % 2
    ):
        return True
    return any(
        (
            one.search(claim)
            and other.search(best)
            and not (other.search(claim) or one.search(sentence))
        )
        or (
            other.search(claim)
            and one.search(best)
            and not (one.search(claim) or other.search(sentence))
        )
        for one, other in _OPPOSITES
    )
