"""Questions in one language whose documents are in the other: English and Chinese.

    python tests/benchmarks/cross_language.py [--debian FOLDER] [--corpus sample debian]

Two libraries, built through the engine and kept like the others (see `corpora`): the sample corpus
(`data/corpus`: English, and `zh` Chinese), and Debian's FAQ by sections with its handbook by pages
(see `debian_pages`, which says where they are read from; where they are missing the program ends
there and says so). Each Debian document is there in one language only, so the answer is never in
the question's language, while half of the library on the same subject is: recall at 5 counts if
the page in the *other* language comes among the first five of a library of *both*. `alone` counts
the same with the search narrowed to documents of the other language: what the lists can do where
nothing nearer competes (of the sample corpus, nine are Chinese: recall at 10 says nothing there).

Rows of `cross_language.jsonl`: `text` and its `language`; `gold`, documents of which any one will
do; `anchor`, the heading or words in the first of these where the answer is; `half`, by a hash of
the text: `fit` may be fitted to, `judge` may not. Printed is recall at 1, 5 and 10 for BM25 with
the walk, for vectors alone, and for all lists as they are set by default.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import KEPT
from debian_pages import FOLDER_VARIABLE, folder_of, pages
from llama_index.core.schema import Document

from engine import KnowledgeEngine, Settings

QUESTIONS = Path(__file__).with_suffix(".jsonl")
SAMPLE = Path(__file__).parents[2] / "data" / "corpus"
LIBRARY = "cross_language_{}"
WRITTEN = "written_in"
"""Metadata key of the language that a document is written in."""
OTHER = {"en": "zh", "zh": "en"}
LISTS: Mapping[str, dict[str, object]] = {
    "BM25 + walk": {"keyword": True, "dense": False, "walk": True},
    "dense": {"keyword": False, "dense": True, "walk": False},
    "all": {"keyword": True, "dense": True, "walk": True},
}
CUTS = (1, 5, 10)
DEPTH = 60
"""Passages asked for, so that ten documents are among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A row of the questions."""

    corpus: str
    text: str
    language: str
    gold: frozenset[str]
    half: str

    @property
    def direction(self) -> str:
        """Languages of question and document."""
        return f"{self.language}→{OTHER[self.language]}"


def read_questions(corpus: str) -> list[Question]:
    """Read the questions about a corpus."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf8").splitlines()]
    return [
        Question(
            corpus=row["corpus"],
            text=row["text"],
            language=row["language"],
            gold=frozenset(row["gold"]),
            half=row["half"],
        )
        for row in rows
        if row["corpus"] == corpus
    ]


def build_sample(engine: KnowledgeEngine) -> None:
    """Add the sample corpus under the paths of its files."""
    files = {str(path.relative_to(SAMPLE)): path for path in SAMPLE.rglob("*") if path.is_file()}
    for language in OTHER:
        chosen = {
            name: path
            for name, path in sorted(files.items())
            if name.startswith("zh/") == (language == "zh")
        }
        _check(engine.add_files(chosen, metadata={WRITTEN: language}).failed)


def build_debian(engine: KnowledgeEngine, folder: Path) -> None:
    """Add Debian's pages, each in its one language."""
    given = [
        Document(
            id_=page.key, text=page.text, metadata={"title": page.title, WRITTEN: page.language}
        )
        for page in pages(folder)
    ]
    _check(engine.add(given).failed)


def _check(failed: Sequence[object]) -> None:
    if failed:
        sys.exit(f"{len(failed)} documents failed, first: {failed[0]}")


def ranks(
    questions: Sequence[Question], library: Path, lists: Mapping[str, object], *, alone: bool
) -> list[int]:
    """Return the place of the first gold document of each question; DEPTH where none is found."""
    settings = Settings.model_validate({"retrieve": lists})
    found = []
    with KnowledgeEngine.open(library, settings=settings) as engine:
        known = {row.id for row in engine.documents()}
        for question in questions:
            if missing := question.gold - known:
                sys.exit(f"no document {sorted(missing)}: the packages are of another version")
            within = {WRITTEN: OTHER[question.language]} if alone else None
            passages = engine.retrieve(question.text, top_k=DEPTH, filters=within)
            order = dict.fromkeys(passage.document_id for passage in passages)
            places = [at for at, each in enumerate(order) if each in question.gold]
            found.append(min(places, default=DEPTH))
    return found


def parts(questions: Sequence[Question]) -> Iterator[tuple[str, list[int]]]:
    """Yield the name of each part with the places of its questions."""
    for direction in ("en→zh", "zh→en", "both"):
        for half in ("fit", "judge", "whole"):
            yield (
                f"{direction} {half}",
                [
                    at
                    for at, each in enumerate(questions)
                    if direction in (each.direction, "both") and half in (each.half, "whole")
                ],
            )


def report(corpus: str, library: Path) -> None:
    """Print recall of each list by direction and half."""
    questions = read_questions(corpus)
    print(f"\n{corpus}: {len(questions)} questions")
    print(f"{'':26} {'':>4}   {'both languages':^20}   {'other one alone':^20}")
    print(
        f"{'':26} {'n':>4}   " + "   ".join(" ".join(f"{f'R@{k}':>6}" for k in CUTS) for _ in "12")
    )
    for label, lists in LISTS.items():
        mixed = np.array(ranks(questions, library, lists, alone=False))
        alone = np.array(ranks(questions, library, lists, alone=True))
        for part, chosen in parts(questions):
            figures = (
                " ".join(f"{(found[chosen] < k).mean():6.3f}" for k in CUTS)
                for found in (mixed, alone)
            )
            print(f"{label:12} {part:13} {len(chosen):4}   " + "   ".join(figures))


def main(arguments: Sequence[str]) -> None:
    """Build the libraries and print how well they are searched."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--debian", help=f"usr/share/doc of the packages (or {FOLDER_VARIABLE})")
    parser.add_argument("--corpus", nargs="+", choices=("sample", "debian"))
    given = parser.parse_args(arguments)
    KEPT.mkdir(parents=True, exist_ok=True)
    for corpus in given.corpus or ("sample", "debian"):
        library = KEPT / LIBRARY.format(corpus)
        with KnowledgeEngine.open(library) as engine:
            if corpus == "sample":
                build_sample(engine)
            else:
                build_debian(engine, folder_of(given.debian))
        report(corpus, library)


if __name__ == "__main__":
    main(sys.argv[1:])
