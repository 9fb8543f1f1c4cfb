"""Writing of overview pages: lines with the marks of their citations, in one language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...prompts import language_of
from ...retrieval.passages import Tracer
from ...storage.graph_api import Chunk
from ...types import Citation
from ..packing import Draft, abstain
from .about import FEW_BELOW
from .asked import Asked
from .context import GlobalContext
from .sentences import Said, is_in
from .topics import Unit, calm, is_telling, plain_title, reading_order, spread_evenly

_HEADING = re.compile(r"^#{2,3} +(\S.{0,80})$", re.MULTILINE)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SECTIONS = 5
"""Sections that are named of a part, at most."""


@dataclass
class CitedSentences:
    """Citations in order of first use; a span has one number."""

    found: dict[tuple[str, int, int], Citation] = field(default_factory=dict)

    def mark(self, said: Said) -> str:
        """Return the mark of a sentence, cited from now on."""
        chunk = said.chunk
        key = (chunk.document_id, chunk.start + said.start, chunk.start + said.end)
        if key not in self.found:
            self.found[key] = Citation(
                number=len(self.found) + 1,
                document_id=chunk.document_id,
                chunk_id=chunk.id,
                title=chunk.title,
                quote=chunk.text[said.start : said.end],
                start=key[1],
                end=key[2],
                page=chunk.page,
            )
        return f"[{self.found[key].number}]"

    def line(self, said: Said, chinese: bool) -> str:
        """Return a sentence with its mark, and who says it, as an item of a list."""
        speaker = said.speaker + ("：" if chinese else ": ") if said.speaker else ""
        return f"- {speaker}{said.text} {self.mark(said)}"


@dataclass
class PageWriter:
    """Parts that all kinds of pages are made with."""

    scene: GlobalContext
    watch: Tracer
    asked: Asked
    chunks: list[Chunk]
    cited: CitedSentences = field(default_factory=CitedSentences, kw_only=True)

    @cached_property
    def chinese(self) -> bool:
        """Check for a question in Chinese."""
        return language_of(self.scene.question) == "zh"

    def say(self, english: str, chinese: str) -> str:
        """Return what is said in the question's language."""
        return chinese if self.chinese else english

    def listed(self, names: Iterable[str]) -> str:
        """Return names in a row."""
        return self.say(", ", "、").join(names)

    def block(self, head: str, said: Iterable[Said]) -> str:
        """Return sentences below a heading."""
        lines = [self.cited.line(one, self.chinese) for one in said]
        return "\n".join((head + (self.say(":", "：") if lines else ""), *lines))

    def with_sections(self, block: str, unit: Unit) -> str:
        """Put the titles of a part's sections below what is told of it, where they are several."""
        names = self.sections(unit)
        listed = f"{self.say('Sections: ', '各节：')}{self.say('; ', '；').join(names)}"
        if len(names) < FEW_BELOW:
            return block
        mark = "" if "\n" in block else self.say(":", "：")
        return f"{block}{mark}\n- {listed}"

    def sections(self, unit: Unit) -> list[str]:
        """Return titles of the sections of a chapter in their order, some of many.

        None of a chapter of which no more is there than its line in an index.
        """
        if unit.sections:
            own = [one for one in unit.sections if is_in(one, self.chinese)]
            return spread_evenly(own if len(own) >= FEW_BELOW else unit.sections, _SECTIONS)
        if unit.called:
            return []
        above = {unit.title, *map(plain_title, (unit.chunks[0].title, *unit.headings))}
        found = dict[str, None]()
        for chunk in unit.chunks:
            below = [plain_title(each) for each in chunk.headings]
            own = [each for each in below if each not in above][:1]
            inside = [] if own else map(plain_title, _HEADING.findall(_FENCED.sub("", chunk.text)))
            found.update(dict.fromkeys([*own, *(each for each in inside if each not in above)]))
        return spread_evenly([each for each in found if is_telling(each)], _SECTIONS)

    def chapter_name(self, unit: Unit) -> str:
        """Return the title of a chapter, its number where it has none."""
        if not unit.sections:
            return calm(plain_title("".join(unit.headings[-1:]))) or unit.name
        if unit.called.isascii() and unit.called.isalpha():
            return self.say(f"Appendix {unit.called}", f"附录 {unit.called}")
        return self.say(f"Chapter {unit.called}", f"第 {unit.called} 章")

    def named_part(self, unit: Unit) -> str:
        """Return the name of a part, also of a chapter that has but a number."""
        return self.chapter_name(unit) if unit.sections else unit.name

    def order(self, units: Sequence[Unit], book: str | None = None) -> list[str]:
        """Return lines that say what of some parts to read first, and what can wait.

        `book`: the title of the book whose chapters they are; None of loose documents.
        """
        heads = self.say("To begin with", "先看"), self.say("Can wait", "可以后看")
        told = zip(heads, reading_order(units, is_ordered=book is not None), strict=True)
        name = self.say(f" ({book}): ", f"（{book}）：") if book else self.say(": ", "：")
        return [
            f"- {head}{name}"
            + self.listed(f"{self.named_part(one)}{self.heading_mark(one)}" for one in some)
            for head, some in told
            if some
        ]

    def heading_mark(self, unit: Unit) -> str:
        """Return a mark that cites the heading of a unit, else its first words."""
        heading = unit.headings[-1] if unit.headings else unit.chunks[0].title
        for chunk in unit.chunks[:3]:
            at = chunk.text.find(heading)
            if at >= 0:
                return " " + self.cited.mark(Said(chunk, at, at + len(heading)))
        first = unit.chunks[0].text.strip().partition("\n")[0]
        at = unit.chunks[0].text.find(first)
        return " " + self.cited.mark(Said(unit.chunks[0], at, at + len(first)))

    def made(self, lead: str, blocks: Sequence[str], rest: str = "") -> Draft:
        """Return the page, or abstain where nothing can be cited."""
        citations, blocks = tuple(self.cited.found.values()), [one for one in blocks if one]
        self.watch.record("topics", f"{len(blocks)} topic(s) of {len(self.chunks)} passage(s)",
                          "; ".join(one.partition("\n")[0] for one in blocks),
                          topics=len(blocks), passages=len(self.chunks))  # fmt: skip
        if not citations:
            language = language_of(self.scene.question)
            return abstain(language, detail="no sentence tells of a topic")
        return Draft(
            text="\n\n".join(filter(None, (lead, *blocks, rest))),
            citations=citations,
            detail=f"{len(blocks)} topic(s), {len(citations)} sentence(s)",
            figures={
                "topics": float(len(blocks)),
                "points": float(len(citations)),
                "documents": float(len({one.document_id for one in citations})),
            },
        )


def without_lines(block: str, lines: Sequence[str]) -> str:
    """Return a block without sentences that are told before; the title beside one stays.

    A block of nothing else stays as it is.
    """
    head, *told = block.split("\n")
    kept = []
    for line in told:
        same = next((one for one in lines if line.endswith(one.removeprefix("- "))), None)
        if same is None:
            kept.append(line)
        elif title := line.removesuffix(same.removeprefix("- ")).strip("- :：").strip():
            kept.append(f"- {title}{same[same.rindex(' [') :]}")
    return "\n".join((head, *kept)) if kept else block
