"""Train the classifier of what a question asks for, and write what it ships.

    python tests/benchmarks/fit_intent.py [--check]

Reads the example questions in `engine/answering/extractive/intents`, and of the public sets in
`../shared/data` (SQuAD 2.0, HotpotQA, 2WikiMultihopQA, MuSiQue; CMRC 2018) every other question as
one for a fact: each is answered by a name, a date or a few words. To be run again whenever the
examples change; a test says so. With `--check` nothing is written: two thirds of the examples teach
and the others are told, three times, and of the other half of each public set the share is printed
that is taken for a fact.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engine.answering.extractive.intents import classifier as intents  # noqa: E402
from engine.answering.question_classifier import (  # noqa: E402
    LinearClassifier,
    Rows,
    examples_digest,
    word_rows,
    words_of,
)
from engine.prompts import Language  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
PUBLIC: dict[Language, dict[str, int]] = {
    "en": {"hotpotqa_train100": 100, "musique_train100": 100, "2wiki_dev300": 300,
           "squad2_dev": 1500},
    "zh": {"cmrc2018_zh": 400},
}  # fmt: skip
"""Public sets, and how many of their questions are read."""
COUNTS = 0.2
"""How much a public question counts beside an example."""
SCALE, STEPS = 8.0, 1200
DECIMALS = 2
OFTEN = 3
"""Questions that hold a word which is learnt."""
_WHY = re.compile(r"\bwhy\b|为什么|为何|原因", re.I)

Known = tuple[str, str, float]
"""A question, its class and how much it counts."""


def examples(language: Language) -> list[Known]:
    """Return the example questions of a language."""
    known = intents.example_questions(language)
    return [(text, asked, 1.0) for asked, texts in known.items() for text in texts]


def facts(language: Language, half: int) -> dict[str, list[str]]:
    """Return one half of the questions of each public set that ask for no reason."""
    found = {}
    for name, most in PUBLIC[language].items():
        lines = (DATA / name / "queries.jsonl").read_text(encoding="utf8").splitlines()
        texts = [json.loads(line)["text"] for line in lines]
        picked = random.Random(3).sample(texts, min(most, len(texts)))  # noqa: S311
        found[name] = [text for text in picked[half::2] if not _WHY.search(text)]
    return found


def fitted(known: Sequence[Known], language: Language) -> tuple[dict[str, int], LinearClassifier]:
    """Return the number of each word that is learnt, and the classifier."""
    counted = Counter(word for text, _, _ in known for word in words_of(text, language))
    vocabulary = sorted(word for word, count in counted.items() if count >= OFTEN)
    column = {word: number for number, word in enumerate(vocabulary)}
    rows = word_rows([text for text, _, _ in known], language, column)
    labels, counts = [asked for _, asked, _ in known], [count for _, _, count in known]
    return column, LinearClassifier.trained(
        rows, labels, intents.ASKED, counts=counts, scale=SCALE, steps=STEPS
    )


def told(
    fit: tuple[dict[str, int], LinearClassifier], texts: Sequence[str], language: Language
) -> list[str]:
    """Return the likeliest class of each question."""
    column, classifier = fit
    rows: Rows = word_rows(texts, language, column)
    return [intents.ASKED[int(classifier.logits(row).argmax())] for row in rows]


def check(language: Language) -> None:
    """Print how many unseen examples and public questions are told rightly."""
    known = examples(language)
    random.Random(2).shuffle(known)  # noqa: S311
    public = [(text, "fact", COUNTS) for texts in facts(language, 0).values() for text in texts]
    right = 0
    for fold in range(3):
        seen = [each for at, each in enumerate(known) if at % 3 != fold]
        fit, unseen = fitted([*seen, *public], language), known[fold::3]
        found = told(fit, [text for text, _, _ in unseen], language)
        right += sum(one == asked for one, (_, asked, _) in zip(found, unseen, strict=True))
    print(f"{language}: {right / len(known):.3f} of {len(known)} unseen examples")
    fit = fitted([*known, *public], language)
    for name, texts in facts(language, 1).items():
        share = told(fit, texts, language).count("fact") / len(texts)
        print(f"  {name}: {share:.2f} of {len(texts)} are for facts")


def main() -> None:
    """Train and write, or check."""
    languages: tuple[Language, ...] = get_args(Language)
    if "--check" in sys.argv:
        for language in languages:
            check(language)
        return
    data: dict[str, Any] = {"questions": examples_digest(map(intents.example_questions, languages))}
    for language in languages:
        public = [(text, "fact", COUNTS) for texts in facts(language, 0).values() for text in texts]
        column, classifier = fitted([*examples(language), *public], language)
        data[language] = {"vocabulary": list(column), **classifier.written(DECIMALS)}
    path = Path(intents.__file__).with_name("intent.json")
    path.write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf8")
    print(path)


if __name__ == "__main__":
    main()
