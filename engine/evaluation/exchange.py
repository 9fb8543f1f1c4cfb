"""Exchange with other tools: gold questions from BEIR, SQuAD, HotpotQA and RAGAS files, and reports
in the forms that RAGAS, DeepEval and LlamaIndex read.

What is read comes from anywhere: every object is checked, and an error names the place.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import SourceError
from ..prompts import ABSTENTION, language_of
from .datasets import CorpusRow, GoldSpan, json_rows, read_corpus, read_judgements, read_queries
from .gold import UNANSWERABLE, GoldQuestion, gold_question

Format = Literal["ragas", "deepeval", "llamaindex"]
MAX_FILE_BYTES = 500_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSet:
    """Questions of a foreign file, and its documents where it holds them."""

    form: str
    questions: tuple[GoldQuestion, ...]
    corpus: tuple[CorpusRow, ...] = ()


def import_questions(source: Path) -> ImportedSet:
    """Read a BEIR folder, SQuAD or HotpotQA JSON, or RAGAS JSON, JSON Lines or CSV.

    Raises:
        SourceError: not readable, too large, or of none of these forms.
    """
    if source.is_dir():
        return _beir(source)
    text = _text_of(source)
    where = repr(str(source))
    if source.suffix.lower() == ".csv":
        return _ragas(list(csv.DictReader(io.StringIO(text))), where)
    if source.suffix.lower() in (".jsonl", ".ndjson"):
        return _ragas([row for _, row in json_rows(source)], where)
    try:
        values = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise SourceError(f"{where}: not JSON ({error}); correct the file") from error
    match values:
        case {"data": [*articles]} if all("paragraphs" in _object(one, where) for one in articles):
            return _squad(articles, where)
        case [{"supporting_facts": _, "context": _}, *_]:
            return _hotpot(values, where)
        case [*rows] | {"samples": [*rows]}:
            return _ragas([_object(row, where) for row in rows], where)
    raise SourceError(
        f"form not known: {where}; give a BEIR folder, SQuAD or HotpotQA JSON, or RAGAS JSON or CSV"
    )


def _text_of(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise SourceError(f"file too large: {str(path)!r}; import at most 500 MB")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise SourceError(f"no such file: {str(path)!r}; check the path") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise SourceError(f"cannot read: {str(path)!r} ({reason}); check the file") from error


def _object(value: object, where: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise SourceError(f"{where}: not an object: {str(value)[:60]!r}; correct the file")


def _field(row: Mapping[str, Any], where: str, *names: str) -> str:
    value = next((row[name] for name in names if row.get(name) is not None), None)
    if isinstance(value, str) and value.strip():
        return value
    raise SourceError(f"{where}: no {' or '.join(names)} in {str(dict(row))[:80]!r}; add it")


def _beir(folder: Path) -> ImportedSet:
    files = sorted((folder / "qrels").glob("*.tsv"))
    if not files or not (folder / "queries.jsonl").exists():
        raise SourceError(
            f"not a BEIR folder: {str(folder)!r}; it needs queries.jsonl and qrels/*.tsv"
        )
    judged = next((one for one in files if one.stem == "test"), files[0])
    queries = read_queries(folder / "queries.jsonl", judgements=read_judgements(judged))
    corpus = folder / "corpus.jsonl"
    return ImportedSet(
        form="BEIR",
        questions=tuple(
            GoldQuestion(query=one, language=language_of(one.text), made=f"BEIR {judged.stem}")
            for one in queries
        ),
        corpus=read_corpus(corpus) if corpus.exists() else (),
    )


def _squad(articles: Sequence[Any], where: str) -> ImportedSet:
    questions: list[GoldQuestion] = []
    corpus: list[CorpusRow] = []
    for article in articles:
        for paragraph in article["paragraphs"]:
            paragraph = _object(paragraph, where)
            name, text = f"p{len(corpus):05}", _field(paragraph, where, "context")
            corpus.append(CorpusRow(id=name, title=str(article.get("title", "")), text=text))
            questions += [
                _squad_question(_object(row, where), name, text, where)
                for row in paragraph.get("qas", ())
            ]
    return ImportedSet(form="SQuAD", questions=tuple(questions), corpus=tuple(corpus))


def _squad_question(row: Mapping[str, Any], name: str, text: str, where: str) -> GoldQuestion:
    asked = _field(row, where, "question")
    spans, values = [], []
    for answer in row.get("answers") or ():
        value, start = _field(answer, where, "text"), answer.get("answer_start")
        if not isinstance(start, int) or text[start : start + len(value)] != value:
            raise SourceError(f"{where}: {value!r} does not stand at {start!r}; correct the offset")
        spans.append(GoldSpan(document_id=name, start=start, end=start + len(value)))
        values.append(value)
    return gold_question(
        asked,
        kind="fact" if values else UNANSWERABLE,
        language=language_of(asked),
        spans=spans[:1],
        answers=values,
        made="SQuAD",
        question_id=_field(row, where, "id"),
    )


def _hotpot(rows: Sequence[Any], where: str) -> ImportedSet:
    documents: dict[tuple[str, str], CorpusRow] = {}
    questions = []
    for row in (_object(one, where) for one in rows):
        places: dict[tuple[str, int], GoldSpan] = {}
        for title, sentences in row["context"]:
            text, place = "".join(sentences), 0
            known = documents.setdefault(
                (title, text), CorpusRow(id=f"d{len(documents):05}", title=title, text=text)
            )
            for number, sentence in enumerate(sentences):
                end = place + len(sentence)
                places[title, number] = GoldSpan(document_id=known.id, start=place, end=end)
                place = end
        facts = [(str(title), number) for title, number in row["supporting_facts"]]
        asked = _field(row, where, "question")
        questions.append(
            gold_question(
                asked,
                kind=str(row.get("type", "fact")),
                language=language_of(asked),
                spans=[places[fact] for fact in facts if fact in places],
                answers=[_field(row, where, "answer")],
                hops=len({title for title, _ in facts}) or 1,
                made="HotpotQA",
                question_id=_field(row, where, "_id", "id"),
            )
        )
    return ImportedSet(
        form="HotpotQA", questions=tuple(questions), corpus=tuple(documents.values())
    )


def _ragas(rows: Sequence[Mapping[str, Any]], where: str) -> ImportedSet:
    questions = []
    for number, row in enumerate(rows, start=1):
        place = f"{where} row {number}"
        asked = _field(row, place, "user_input", "question")
        value = _field(row, place, "reference", "ground_truth", "answer")
        declines = value in ABSTENTION.values()
        question = gold_question(
            asked,
            kind=UNANSWERABLE if declines else "fact",
            language=language_of(asked),
            answers=[] if declines else [value],
            made="RAGAS",
            question_id=f"q{number:03}",
        )
        questions.append(question)
    if not questions:
        raise SourceError(f"no question in {where}; add rows with user_input and reference")
    return ImportedSet(form="RAGAS", questions=tuple(questions))


def write_corpus(path: Path, corpus: Sequence[CorpusRow]) -> None:
    """Write documents as JSON Lines of `{id, title, text}`."""
    lines = (
        json.dumps({"id": one.id, "title": one.title, "text": one.text}, ensure_ascii=False) + "\n"
        for one in corpus
    )
    path.write_text("".join(lines), encoding="utf8")


def read_report(path: Path) -> Mapping[str, Any]:
    """Read a report that `eval answers --json` wrote.

    Raises:
        SourceError: no such file, or not such a report.
    """
    try:
        values = json.loads(_text_of(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise SourceError(f"not JSON: {str(path)!r} ({error}); correct the file") from error
    rows = values.get("rows") if isinstance(values, dict) else None
    keys = {"id", "text", "measures", "right"}
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and keys <= set(row) and isinstance(row["measures"], dict)
        for row in rows
    ):
        raise SourceError(f"not a report: {str(path)!r}; write one with `eval answers --json`")
    return {**values, "label": path.name}


def export_report(report: Mapping[str, Any], form: Format) -> str:
    """Return the rows of a report in the form that another tool reads.

    `ragas`: JSON Lines for `EvaluationDataset.from_jsonl`; `deepeval`: a JSON list of test cases;
    `llamaindex`: a `LabelledRagDataset`.
    """
    names = _KEYS[form]
    rows = [{names[key]: value for key, value in row.items()} for row in _exported(report["rows"])]
    match form:
        case "ragas":
            return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows)
        case "deepeval":
            return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
        case "llamaindex":
            by_nobody = {"query_by": None, "reference_answer_by": None}
            examples = [row | by_nobody for row in rows]
            return json.dumps({"examples": examples}, ensure_ascii=False, indent=1) + "\n"


_ROW = ("question", "answer", "reference", "contexts")
_KEYS: Mapping[Format, Mapping[str, str]] = {
    "ragas": dict(
        zip(_ROW, ("user_input", "response", "reference", "retrieved_contexts"), strict=True)
    ),
    "deepeval": dict(
        zip(_ROW, ("input", "actual_output", "expected_output", "retrieval_context"), strict=True)
    ),
    "llamaindex": dict(
        zip(_ROW, ("query", "response", "reference_answer", "reference_contexts"), strict=True)
    ),
}


def _exported(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        gold = row["gold"][:1] or ["; ".join(row["points"])]
        if not gold[0]:
            gold = [ABSTENTION[language_of(row["text"])]]
        yield {
            "question": row["text"],
            "answer": row["answer"],
            "reference": gold[0],
            "contexts": [one["text"] for one in row["passages"]],
        }
