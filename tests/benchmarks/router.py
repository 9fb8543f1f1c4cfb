"""How often does the router send a question the right way, and how often both ways?

    python tests/benchmarks/router.py [--split held_out] [--words] [--sure 0.65] [--wrong]
                                      [--libraries FOLDER]

Reads `router_questions.jsonl` beside it: 260 questions as people ask them, half English and half
Chinese, half about one thing (`local`: the answer stands in a passage or a few) and half about the
whole (`global`: it must be gathered from many documents). They were written before any rule was
tried on them, without the rules' words in mind, by one author, and split once by a fixed seed:
`held_out` was not looked at while the classifier was made. `router_scopes.jsonl` has 240 more, a
third each about the whole, about a topic told in many places and about one thing, by another author
than the examples. Also reads the labelled questions of public sets in
`../shared/data/router_labels_dev`, where they are there.

With `--libraries` also the 80 questions of `router_libraries.jsonl` are asked of the libraries of
that folder (named by their `library`; those that are missing are named and left out), as the
product routes them: by words and by what retrieval finds.

Prints accuracy (the likelier way, whatever the confidence) and the confusion matrix by language;
then, with questions in doubt going both ways, how many do, how many of the others are right, and
what that costs: how many calls' worth of a question that goes both ways are spent for nothing.
`--words` does without an embedding model.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engine import KnowledgeEngine, Settings  # noqa: E402
from engine.embeddings.multilingual import MultilingualEmbedding  # noqa: E402
from engine.llm.response import identity_of  # noqa: E402
from engine.providers.factory import build_chain  # noqa: E402
from engine.routing.router import QuerySelector  # noqa: E402
from engine.routing.scope import ScopeClassifier  # noqa: E402

OF_LIBRARIES = Path(__file__).with_name("router_libraries.jsonl")
SCOPES = Path(__file__).with_name("router_scopes.jsonl")
OWN = Path(__file__).with_name("router_questions.jsonl")
PUBLIC = ROOT.parent / "shared" / "data" / "router_labels_dev" / "questions.jsonl"


@dataclass(frozen=True)
class Row:
    """A question, where it should go, where it goes, and how sure that is."""

    text: str
    group: str
    right: str
    said: str
    confidence: float


def rows(selector: QuerySelector, questions: Iterable[tuple[str, str, str]]) -> list[Row]:
    """Each `(text, group, right way)` as the rules decide it."""
    found = []
    for text, group, right in questions:
        route = selector.rule(text)
        found.append(Row(text, group, right, route.mode, route.confidence))
    return found


def own_questions(split: str) -> list[tuple[str, str, str]]:
    """The shipped questions of a split."""
    read = [json.loads(line) for line in OWN.open(encoding="utf8")]
    return [(q["text"], q["language"], q["scope"]) for q in read if q["split"] == split]


def public_questions() -> list[tuple[str, str, str]]:
    """The public ones: `mid` stands for a summary of a part, which neither way is wrong for."""
    if not PUBLIC.exists():
        return []
    ways = {"specific": "local", "global": "global", "mid": "part"}
    read = [json.loads(line) for line in PUBLIC.open(encoding="utf8")]
    return [(q["text"], q["source"], ways[q["scope"]]) for q in read]


def print_scopes(scope: ScopeClassifier, *, wrong: bool) -> None:
    """Print how often each of the three scopes is told, by language."""
    read = [json.loads(line) for line in SCOPES.open(encoding="utf8")]
    print("three scopes")
    for language in ("en", "zh"):
        mine = [question for question in read if question["language"] == language]
        said = [(question, scope(question["text"]).likeliest) for question in mine]
        right = sum(question["scope"] == found for question, found in said)
        counts = Counter((question["scope"], found) for question, found in said)
        matrix = "  ".join(f"{scope}→{found} {n}" for (scope, found), n in sorted(counts.items()))
        print(f"  {language:<18} {len(mine):>4}  accuracy {right / len(mine):.3f}   {matrix}")
        for question, found in said if wrong else ():
            if question["scope"] != found:
                print(f"    {question['scope']}→{found} {question['text']}")


def library_rows(folder: Path, split: str) -> list[Row]:
    """Questions to libraries, as the product routes them."""
    read = [json.loads(line) for line in OF_LIBRARIES.open(encoding="utf8")]
    asked = [question for question in read if question["split"] == split]
    found = []
    for library in sorted({question["library"] for question in asked}):
        if not (folder / library / "library.db").is_file():
            print(f"  no library: {folder / library}")
            continue
        with KnowledgeEngine.open(folder / library, create=False) as engine:
            for question in (each for each in asked if each["library"] == library):
                route = engine.as_query_engine()._selector.route(question["text"])
                row = (question["text"], question["language"], question["scope"])
                found.append(Row(*row, route.mode, route.confidence))
    return found


def print_matrix(found: list[Row], *, sure: float) -> None:
    """One line a group: accuracy, the confusion matrix, and what doubt does."""
    for group in sorted({row.group for row in found}):
        mine = [row for row in found if row.group == group]
        counts = Counter((row.right, row.said) for row in mine)
        matrix = "  ".join(f"{right}→{said} {n}" for (right, said), n in sorted(counts.items()))
        judged = [row for row in mine if row.right != "part"]
        right = sum(row.right == row.said for row in judged)
        doubted = [row for row in mine if row.confidence < sure]
        kept = [row for row in judged if row.confidence >= sure]
        kept_right = sum(row.right == row.said for row in kept)
        print(
            f"  {group:<18} {len(mine):>4}  accuracy {right / max(1, len(judged)):.3f}   {matrix}\n"
            f"  {'':<18}       both {len(doubted) / len(mine):.1%}, the others right"
            f" {kept_right / max(1, len(kept)):.3f}; one way too much in"
            f" {len(doubted)} of {len(mine)}, a way missing in {len(kept) - kept_right}"
        )


def main() -> None:
    """Parse arguments and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--split", choices=("dev", "held_out"), default="held_out")
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--sure", type=float, default=Settings().route.sure)
    parser.add_argument("--libraries", type=Path, help="folder of libraries to ask as well")
    parser.add_argument("--wrong", action="store_true", help="print the questions that go astray")
    arguments = parser.parse_args()
    models = (
        [] if arguments.words else [build_chain(Settings().embedding)[0], MultilingualEmbedding()]
    )
    scope = ScopeClassifier({identity_of(each): each.get_query_embedding for each in models})
    selector = QuerySelector(scope)
    print_scopes(scope, wrong=arguments.wrong)
    for title, questions in (
        (f"own questions, {arguments.split}", own_questions(arguments.split)),
        ("public questions", public_questions()),
    ):
        print(title if questions else f"{title}: not there")
        report(rows(selector, questions), sure=arguments.sure, wrong=arguments.wrong)
    if arguments.libraries is not None:
        print(f"questions to libraries, {arguments.split}")
        found = library_rows(arguments.libraries, arguments.split)
        report(found, sure=arguments.sure, wrong=arguments.wrong)


def report(found: list[Row], *, sure: float, wrong: bool) -> None:
    """Print the figures and, where asked for, the questions that go astray."""
    print_matrix(found, sure=sure)
    for row in found if wrong else ():
        if row.right not in (row.said, "part"):
            print(f"    {row.right}→{row.said} {row.confidence:.2f} {row.text}")


if __name__ == "__main__":
    main()
