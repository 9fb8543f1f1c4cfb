"""Relevance judgements (qrels) files.

Two layouts are common: BEIR's three columns with tabs between and a heading, `query-id corpus-id
score`, and TREC's four, `question iteration document grade`. Gold is what is graded above zero.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from ..errors import SourceError


def read_judgements(path: Path) -> Mapping[str, tuple[str, ...]]:
    """By question, its gold documents, sorted; questions without any are left out.

    Raises:
        SourceError: no such file, a line that is no judgement, or nothing graded above zero.
    """
    gold: dict[str, set[str]] = defaultdict(set)
    for number, line in enumerate(_lines(path), start=1):
        fields = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or (number == 1 and not _is_number(fields[-1])):
            continue
        if len(fields) not in (3, 4) or not _is_number(fields[-1]):
            raise SourceError(
                f"{str(path)!r} line {number} is no judgement: give a question id, a document id "
                f"and a grade, with tabs between, not {line[:60]!r}"
            )
        if float(fields[-1]) > 0:
            gold[fields[0].strip()].add(fields[-2].strip())
    if not gold:
        raise SourceError(f"{str(path)!r} grades no document above zero")
    return {question: tuple(sorted(documents)) for question, documents in sorted(gold.items())}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError as error:
        raise SourceError(f"no file at {str(path)!r}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot read {str(path)!r}: {' '.join(str(error).split())}") from error
