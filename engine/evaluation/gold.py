"""Gold questions: a question with its kind, the accepted answers and exact evidence spans.

A file holds one JSON object a line: `id`, `text`, `kind`, `language`, `hops`, `answers` (accepted
values), `points` (of an overview), `gold_spans` or `gold_ids`, and `made` (the rule it came from).
Only `id` and `text` are required, so files for `eval retrieval` are read too. A question without
gold and answers whose kind is `unanswerable` is one that the library must decline.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import SourceError
from ..prompts import Language, language_of
from .datasets import EvaluationQuery, GoldSpan, json_rows, parse_query, refuse_repeats

UNANSWERABLE = "unanswerable"
TWO_FACTS = "two facts"
"""Kind of a question for two facts: both points make a right answer."""
TWO_SECTIONS = "two sections"
"""Kind of a question for what one document says of two things, each in its place."""
OVERVIEWS = ("overview", "collection")
"""Kinds that are judged by the share of their points, not by a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldQuestion:
    """A question with what a right answer holds.

    `answers` are alternatives, each sufficient; `points` must all be in a complete answer. Gold is
    `query.gold_spans` or `query.gold_ids`; both are empty for a question without an answer.
    """

    query: EvaluationQuery
    kind: str = "fact"
    language: Language = "en"
    hops: int = 1
    answers: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    made: str = ""
    accepted: bool = field(default=False, compare=False)

    @property
    def id(self) -> str:
        """The id of the question."""
        return self.query.id

    @property
    def text(self) -> str:
        """The words of the question."""
        return self.query.text

    @property
    def answerable(self) -> bool:
        """False for a question that must be declined."""
        return self.kind != UNANSWERABLE

    def row(self) -> dict[str, object]:
        """Return the question as the object that stands on its line."""
        spans = [
            {"document_id": span.document_id, "start": span.start, "end": span.end}
            for span in self.query.gold_spans
        ]
        row: dict[str, object] = {
            "id": self.id, "text": self.text, "kind": self.kind, "language": self.language,
            "hops": self.hops, "answers": list(self.answers), "points": list(self.points),
        }  # fmt: skip
        row |= {"gold_ids": list(self.query.gold_ids)} if self.query.gold_ids else {}
        row |= {"gold_spans": spans, "made": self.made}
        return row | ({"accepted": True} if self.accepted else {})


def gold_question(
    text: str,
    *,
    kind: str,
    language: Language,
    spans: Iterable[GoldSpan] = (),
    answers: Iterable[str] = (),
    points: Iterable[str] = (),
    made: str = "",
    hops: int = 1,
    question_id: str = "",
    gold_ids: Iterable[str] = (),
) -> GoldQuestion:
    """Build a gold question; spans and answers without repeats."""
    query = EvaluationQuery(
        id=question_id,
        text=text,
        gold_spans=tuple(dict.fromkeys(spans)),
        gold_ids=tuple(sorted(set(gold_ids))),
    )
    return GoldQuestion(
        query=query,
        kind=kind,
        language=language,
        hops=hops,
        answers=tuple(dict.fromkeys(answers)),
        points=tuple(dict.fromkeys(points)),
        made=made,
    )


def read_gold(path: Path) -> tuple[GoldQuestion, ...]:
    """Read gold questions in order.

    Raises:
        SourceError: no such file, a line that is not usable, an id given twice, or no question.
    """
    found = tuple(parse_gold(row, where) for where, row in json_rows(path))
    refuse_repeats(path, [one.id for one in found])
    if not found:
        raise SourceError(f"no question in {str(path)!r}; make some with `loregraph eval make`")
    return found


def parse_gold(row: Mapping[str, object], where: str) -> GoldQuestion:
    """Parse one object of a gold file; `where` names its place in messages."""
    query = parse_query(row, where)
    answers, points = _texts(row, "answers", where), _texts(row, "points", where)
    has_gold = bool(query.documents or answers or points)
    kind = str(row.get("kind") or row.get("type") or ("fact" if has_gold else UNANSWERABLE))
    hops = row.get("hops", 1)
    language: Language = language_of(query.text)
    if row.get("language") in ("en", "zh"):
        language = "zh" if row["language"] == "zh" else "en"
    return GoldQuestion(
        query=query,
        kind=kind[:40],
        language=language,
        hops=hops if isinstance(hops, int) and hops > 0 else 1,
        answers=answers,
        points=points,
        made=str(row.get("made", ""))[:200],
        accepted=row.get("accepted") is True,
    )


def _texts(row: Mapping[str, object], key: str, where: str) -> tuple[str, ...]:
    values = row.get(key) or []
    if not isinstance(values, list):
        raise SourceError(f"{where}: {key} must be a list of texts, not {values!r}")
    texts = (_point(value) for value in values)
    return tuple(dict.fromkeys(text for text in texts if text))


def _point(value: object) -> str:
    """Return a text, or the `point` of an object (the sample corpus's form)."""
    if isinstance(value, dict):
        value = value.get("point", "")
    return str(value).strip()


def write_gold(path: Path, questions: Iterable[GoldQuestion]) -> None:
    """Write gold questions, one a line, in the order given."""
    lines = (json.dumps(one.row(), ensure_ascii=False) + "\n" for one in questions)
    path.write_text("".join(lines), encoding="utf8")
