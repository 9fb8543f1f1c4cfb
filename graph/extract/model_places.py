"""Fuzzy location of a foreign spelling of a name in a text.

Case, accents, width, script variants of Chinese, curly quotes, dashes and white space do not
count; where that finds nothing, an article, a possessive, a plural, brackets or spaces around
marks may differ. Offsets are those of the text as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from ..han import simplified
from ..names import WORD_CHARACTERS, name_key
from .segments import has_han

MAX_PLACES = 50
"""Of one name in one chunk."""
_ALIKE = str.maketrans("’‘ʼ`´“”„«»‐‑‒–—−•・‧", "'''''\"\"\"\"\"------···")
_EDGES = " \t\n.,;:!?'\"《》「」『』【】〈〉()[]*#~|<>·、，。；：！？"
_HAN_GAP = re.compile(r"(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])")
_PARTS = re.compile(r"[^\W_]+|[^\w\s]|_")
_WORD = re.compile(rf"[{WORD_CHARACTERS}]")


class FoldedText:
    """A text and its folded form, each character of which knows where it came from."""

    def __init__(self, text: str) -> None:
        self.text = text
        gaps = {place for gap in _HAN_GAP.finditer(text) for place in range(*gap.span())}
        folded: list[str] = []
        self._origins: list[int] = []
        for place, character in enumerate(text):
            new = "" if place in gaps else _folded(character)
            if new == " " and folded and folded[-1] == " ":
                continue
            folded.extend(new)
            self._origins.extend([place] * len(new))
        self._origins.append(len(text))
        self.folded = "".join(folded)

    def places(self, name: str) -> list[tuple[int, int]]:
        """Find the spans of a name, else of its variants, in order."""
        for form in dict.fromkeys(_forms(FoldedText(name).folded)):
            found = self._places_of(form)
            if found:
                return found
        return self._loosely(fold(name))

    def _loosely(self, folded_name: str) -> list[tuple[int, int]]:
        """Match with differing spaces around marks ("Hispano - Suiza")."""
        parts = _PARTS.findall(folded_name)
        if not any(part.isalnum() for part in parts) or all(part.isalnum() for part in parts):
            return []
        pattern = re.escape(parts[0])
        for before, part in pairwise(parts):
            both = before.isalnum() and part.isalnum()
            pattern += (" " if both else " ?") + re.escape(part)
        found = [
            self._span(*match.span())
            for match in re.finditer(pattern, self.folded)
            if not self._cuts_word(match.start()) and not self._cuts_word(match.end())
        ]
        return found[:MAX_PLACES]

    def _places_of(self, folded_name: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        start = self.folded.find(folded_name)
        while start != -1 and len(found) < MAX_PLACES:
            end = start + len(folded_name)
            if self._cuts_word(start) or self._cuts_word(end):
                start = self.folded.find(folded_name, start + 1)
                continue
            found.append(self._span(start, end))
            start = self.folded.find(folded_name, end)
        return found

    def _cuts_word(self, place: int) -> bool:
        around = self.folded[max(0, place - 1) : place + 1]
        if len(around) < 2 or place == 0:
            return False
        if self._origins[place] == self._origins[place - 1]:
            return True  # inside of what was one character, such as ½
        return all(map(_WORD.match, around))

    def _span(self, start: int, end: int) -> tuple[int, int]:
        first, last = self._origins[start], self._origins[end]
        return first, first + len(self.text[first:last].rstrip())


def _folded(character: str) -> str:
    if character.isascii():
        return " " if character.isspace() else character.lower().translate(_ALIKE)
    wide = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", character))
    kept = "".join(c for c in wide if not unicodedata.combining(c)).casefold()
    kept = simplified(unicodedata.normalize("NFC", kept)).translate(_ALIKE)
    return " " if character.isspace() or kept.isspace() else kept


_ARTICLE = re.compile(r"(?:the|an?) ")
_BRACKETS = re.compile(r" ?[(\[]([^()\[\]]*)[)\]]$")


def _forms(folded: str) -> Iterator[str]:
    """Return the folded name and its variants, nearest first; never empty."""
    bare = folded.strip()
    plain = _BRACKETS.sub("", bare).strip(_EDGES)
    short = _ARTICLE.sub("", plain, count=1)
    owned = re.sub(r"'s?$", "", short)
    for form in (bare, plain, short, owned):
        if form:
            yield form
    if len(owned) > 3 and not has_han(owned):
        yield owned + "s"
        if owned.endswith("s") and not owned.endswith("ss"):
            yield owned[:-1]
        if owned.endswith("y"):
            yield owned[:-1] + "ies"
        if owned.endswith("ies"):
            yield owned[:-3] + "y"
    if "-" in owned:
        yield owned.replace("-", " ")
    if owned.count(", ") == 1:  # Brine, Ada
        yield " ".join(reversed(owned.split(", ")))
    bracketed = _BRACKETS.search(bare)
    if bracketed and bracketed[1].strip(_EDGES):  # United Nations (UN)
        yield bracketed[1].strip(_EDGES)


def fold(name: str) -> str:
    """Return a name's folded form for matching."""
    return FoldedText(name).folded.strip()


def key_of(surface: str) -> str:
    """Return the name key of a surface, without line breaks inside Chinese words."""
    return name_key(_HAN_GAP.sub("", surface))
