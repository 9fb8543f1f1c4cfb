"""How often does an answer hold what was asked for? The whole engine, without a language model.

    make bench-answers
    python tests/benchmarks/answers.py [SET …] [--limit N] [--wrong]

Each question is asked of the library of its set (`corpora.built`; `sample` is `data/`), and judged:

- `held`: the gold answer stands in the answer's text. Where it is *yes* or *no*, or stands in the
  question itself (a comparison names both sides, and so does any text about it), that says nothing:
  then the short answer has to be it.
- `bound`: the same of all that was packed for the answer: what no choice of sentences can exceed;
  for those other questions whether all gold documents are there.
- `EM`, `F1`: of the short answer over all questions, nil where there is none; words without
  articles, Chinese by characters. `given`: how often there is one, `right`: EM where there is.
- *held out* are the questions that no weight was fitted to (`fitting`); the other rows are of all.
- sentences and characters of the text, how often it abstained, and milliseconds of the extraction.

Documents of the public sets are read from `../shared/data`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from statistics import mean, median

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA, KEPT, built

from engine import Answer, KnowledgeEngine, Settings

SETS = ("hotpotqa_train100", "2wiki_dev300", "musique_train100", "cmrc2018_zh", "sample")
SAMPLE = Path(__file__).parents[2] / "data"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a set with its gold. `kind` is the set's own type, `documents` end its ids."""

    text: str
    answers: tuple[str, ...]
    documents: tuple[str, ...]
    kind: str

    @property
    def decides(self) -> bool:
        """Whether the answer is a decision between what the question itself names."""
        gold = normalise(self.answers[0])
        return gold in ("yes", "no") or contains(self.text, self.answers)


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer, measured."""

    held: bool
    bound: bool
    exact: bool
    f1: float
    given: bool
    sentences: int
    characters: int
    abstained: bool
    milliseconds: float


def asked_of(name: str) -> list[Asked]:
    """The questions of a set that have an answer."""
    path = SAMPLE / "questions.jsonl" if name == "sample" else DATA / name / "queries.jsonl"
    if not path.exists():
        sys.exit(f"no questions at {path}: this benchmark reads public data beside the project")
    rows = [json.loads(line) for line in path.read_text(encoding="utf8").splitlines()]
    return [
        Asked(
            row["text"],
            tuple(row["answers"]),
            tuple(row.get("gold_ids") or row["documents"]),
            row["type"],
        )
        for row in rows
        if row.get("answers")
    ]


def fitting(text: str) -> bool:
    """Whether weights may be fitted to a question: to half of all, by a checksum of their text.

    The other half is held out: it judges, and nobody looks at its answers while changing code.
    """
    return zlib.crc32(text.encode()) % 2 == 0


def opened(name: str, settings: Settings | None = None) -> KnowledgeEngine:
    """The engine over a set's library."""
    if name != "sample":
        open_ = partial(KnowledgeEngine.open, settings=settings)
        return built(name, open_)[0]  # type: ignore[return-value]
    engine = KnowledgeEngine.open(KEPT / name, settings=settings)
    engine.add(SAMPLE / "corpus")
    return engine


def judged(asked: Asked, answer: Answer) -> Judged:
    """How well an answer does."""
    said = answer.short.text if answer.short is not None else ""
    context = "\n".join(f"{p.title}\n{p.text}" for p in answer.passages)
    found = {p.document_id for p in answer.passages}
    exact = any(words(said) == words(gold) for gold in asked.answers) if said else False
    if asked.decides:
        bound = all(any(held.endswith(gold) for held in found) for gold in asked.documents)
    else:
        bound = contains(context, asked.answers)
    return Judged(
        held=exact if asked.decides else contains(answer.text, asked.answers),
        bound=bound,
        exact=exact,
        f1=max((f1(said, gold) for gold in asked.answers), default=0.0) if said else 0.0,
        given=bool(said),
        sentences=len(answer.citations),
        characters=len(answer.text),
        abstained=answer.abstained,
        milliseconds=1000 * sum(s.seconds for s in answer.trace if s.stage == "extract"),
    )


def normalise(text: str) -> str:
    """Folded, without punctuation, single spaces."""
    return " ".join(re.sub(rf"[^\w{_HAN}]+", " ", text.casefold()).split())


def contains(text: str, answers: Iterable[str]) -> bool:
    """Whether an answer stands in a text, as whole words; Chinese wherever it stands."""
    body = f" {normalise(text)} "
    for answer in map(normalise, answers):
        if re.search(rf"[{_HAN}]", answer):
            if answer.replace(" ", "") in body.replace(" ", ""):
                return True
        elif f" {answer} " in body:
            return True
    return False


def words(text: str) -> list[str]:
    """What is compared of a short answer: words without articles, Chinese characters singly."""
    spaced = re.sub(rf"([{_HAN}])", r" \1 ", normalise(text))
    return [word for word in spaced.split() if word not in ("a", "an", "the")]


def f1(said: str, gold: str) -> float:
    """Harmonic mean of precision and recall of words."""
    one, other = Counter(words(said)), Counter(words(gold))
    shared = (one & other).total()
    return 2 * shared / (one.total() + other.total()) if shared else 0.0


HEAD = (
    f"{'':26}{'n':>5}{'held':>7}{'bound':>7}{'EM':>7}{'F1':>7}{'given':>7}{'right':>7}"
    f"{'sent.':>7}{'chars':>7}{'abst.':>7}{'ms':>7}"
)


def row(label: str, results: Sequence[Judged]) -> str:
    """A line of the table."""
    held, bound, exact, score, given, sentences, characters, abstained, times = zip(
        *map(astuple, results), strict=True
    )
    right = sum(exact) / max(1, sum(given))
    return (
        f"{label:26}{len(results):5d}{mean(held):7.3f}{mean(bound):7.3f}{mean(exact):7.3f}"
        f"{mean(score):7.3f}{mean(given):7.3f}{right:7.3f}{mean(sentences):7.2f}"
        f"{mean(characters):7.0f}{mean(abstained):7.3f}{median(times):7.1f}"
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    parser.add_argument("--limit", type=int, default=1000, help="so many questions of each set")
    parser.add_argument(
        "--wrong", action="store_true", help="show what was not right of the half that is fitted to"
    )
    arguments = parser.parse_args()
    print(HEAD)
    for name in arguments.sets:
        by_kind: dict[str, list[Judged]] = defaultdict(list)
        held_out: list[Judged] = []
        with opened(name) as engine:
            for asked in asked_of(name)[: arguments.limit]:
                answer = engine.ask(asked.text, mode="local")
                result = judged(asked, answer)
                kind = f"{asked.kind}, decides" if asked.decides else asked.kind
                by_kind[kind].append(result)
                if not fitting(asked.text):
                    held_out.append(result)
                elif arguments.wrong and not (result.held and result.exact):
                    short = answer.short.text if answer.short else "–"
                    print(f"- {asked.text} → {asked.answers[0]}; {short}")
                    print("    " + answer.text.replace("\n", "\n    "))
        print(row(name, [each for some in by_kind.values() for each in some]))
        if held_out:
            print(row("  held out", held_out))
        if len(by_kind) > 1:
            for kind, some in sorted(by_kind.items()):
                print(row(f"  {kind}", some))


if __name__ == "__main__":
    main()
