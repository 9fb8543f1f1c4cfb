"""Lines as a page sets them, back to flowing paragraphs.

A PDF knows lines, not paragraphs: a line that fills the measure runs on into the next, a short one
ends its paragraph. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from .glyphs import SOFT_HYPHEN
from .pieces import is_wide

_LEFTOVERS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ufffe\uffff]")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
# Both begin where a word does: tried anew from every letter, a long run of them would cost minutes.
_LETTER = r"[^\W\d_]"
_SPLIT_WORD = re.compile(
    rf"(?<!{_LETTER})({_LETTER}++)(?:[{SOFT_HYPHEN}\x02]|[\u00ad]\n)({_LETTER}++)"
)
_LINE_HYPHEN = re.compile(rf"(?<!{_LETTER})({_LETTER}++)-\n([a-z]{_LETTER}*+)")
_ITEM = re.compile(
    r"(?:[-–—*•●▪◦‣·☐]|\(?\d{1,3}[.)、]|\(?[a-z][.)]|[（(][一二三四五六七八九十]+[)）])\s|\d+(?:\.\d+)+\s"
)
_PAGE_NUMBER = re.compile(
    r"(?:page|seite|p\.)?\s*#(?:\s*(?:/|of|von|de)\s*#)?|[-–—]\s*#\s*[-–—]|第\s*#\s*页.*", re.I
)
_ROMAN = re.compile(r"[ivxlc]{1,7}")
_DIGITS = re.compile(r"\d+")
_ENDS_SENTENCE = re.compile("[.!?。！？:：][\"'”’」』)）]*$")
_FULL_SHARE = 0.75
_MIN_MEASURE = 30
_TABLE_DIGITS = 0.25


def flowing_pages(pages: Sequence[str]) -> list[str]:
    """Return pages with running heads dropped, words rejoined and paragraphs flowing."""
    lines = [page.replace("\r\n", "\n").replace("\r", "\n").split("\n") for page in pages]
    kept = ["\n".join(page) for page in _without_running_lines([_tidy(page) for page in lines])]
    words = word_counts(kept)
    return [_flowing(_LEFTOVERS.sub("", _rejoined(page, words))) for page in kept]


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """Count lower-case words over the texts."""
    whole = (_LINE_HYPHEN.sub(" ", _SPLIT_WORD.sub(" ", text)) for text in texts)
    return Counter(word for text in whole for word in _WORD.findall(text.lower()))


def as_set(lines: Iterable[str]) -> str:
    """Keep lines as set; words PDFium saw hyphenated are joined."""
    return "".join(line if line.endswith(SOFT_HYPHEN) else f"{line}\n" for line in lines).rstrip()


def one_paragraph(lines: Sequence[str], words: Counter[str]) -> str:
    """Join a paragraph's lines; `words` decides about hyphens."""
    text = as_set(lines)
    text = _LEFTOVERS.sub("", _rejoined(text, words).replace(SOFT_HYPHEN, "-"))
    pieces: list[str] = []
    for line in filter(None, (" ".join(line.split()) for line in text.split("\n"))):
        pieces += [_glue(pieces[-1], line), line] if pieces else [line]
    return "".join(pieces)


def starts_item(line: str) -> bool:
    """Check whether a line starts with a list mark or number."""
    return _ITEM.match(line) is not None


def ends_sentence(line: str) -> bool:
    """Check whether a line ends a sentence."""
    return _ENDS_SENTENCE.search(line) is not None


def is_page_number(line: str) -> bool:
    """Check whether a line is only a page number, arabic or roman."""
    return _PAGE_NUMBER.fullmatch(shape_of(line)) is not None or _ROMAN.fullmatch(line) is not None


def _tidy(lines: list[str]) -> list[str]:
    tidied = [line.strip() for line in lines]
    while tidied and not tidied[-1]:
        tidied.pop()
    first = next((at for at, line in enumerate(tidied) if line), 0)
    return tidied[first:]


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """Drop page numbers and shared heads and feet, except the first."""
    shapes: Counter[tuple[str, bool]] = Counter()
    for page in pages:
        if page:
            shapes.update({(shape_of(page[0]), True), (shape_of(page[-1]), False)})
    least = max(2, 0.6 * sum(map(bool, pages)))
    seen: set[tuple[str, bool]] = set()
    result = []
    for page in pages:
        kept = list(page)
        for at, head in ((-1, False), (0, True)):
            key = (shape_of(kept[at]), head) if len(kept) > 1 else ("", head)
            if key[0] and shapes[key] >= least:
                if key in seen or _PAGE_NUMBER.fullmatch(key[0]):
                    kept.pop(at)
                seen.add(key)
        result.append(kept)
    return result


def shape_of(line: str) -> str:
    """Return a line with numbers masked, equal across pages."""
    return _DIGITS.sub("#", line)


def _rejoined(page: str, words: Counter[str]) -> str:
    """Rejoin split words, keeping hyphens the document uses elsewhere."""

    def joined(found: re.Match[str]) -> str:
        left, right = found.group(1), found.group(2)
        whole, hyphenated = (left + right).lower(), f"{left}-{right}".lower()
        if words[whole] >= words[hyphenated] and words[whole] > 0:
            return left + right
        compound = len(left) > 3 and len(right) > 3 and words[left.lower()] and words[right.lower()]
        return f"{left}-{right}" if words[hyphenated] or compound else left + right

    return _LINE_HYPHEN.sub(joined, _SPLIT_WORD.sub(joined, page))


def _flowing(page: str) -> str:
    lines = [" ".join(line.split()) for line in page.split("\n")]
    measure = _measure(lines)
    result: list[str] = []
    in_paragraph = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        result.append(line)
        full = measure >= _MIN_MEASURE and _width(line) >= _FULL_SHARE * measure
        full = full and sum(map(str.isdigit, line)) < _TABLE_DIGITS * len(line)
        if full and following and not _ITEM.match(following):
            result.append(_glue(line, following))
            in_paragraph = True
        else:
            ends = in_paragraph or (full and _ENDS_SENTENCE.search(line))
            result.append("\n\n" if ends else "\n")
            in_paragraph = False
    return re.sub(r"\n{3,}", "\n\n", "".join(result)).strip()


def _measure(lines: list[str]) -> float:
    """Return the full line width: the page's upper tenth."""
    widths = sorted(_width(line) for line in lines if line)
    return widths[min(len(widths) - 1, int(0.9 * len(widths)))] if widths else 0


def _width(line: str) -> int:
    return len(line) + sum(
        1 for c in line if c > "\u2e7f" and unicodedata.east_asian_width(c) in "WF"
    )


def _glue(line: str, following: str) -> str:
    """Nothing between two Chinese characters, else a space."""
    return "" if is_wide(line[-1]) and is_wide(following) else " "
