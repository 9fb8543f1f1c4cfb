"""Does the check tell true claims from false ones, as a capable model writes them?

    python tests/benchmarks/claims.py [--half first|second|all] [--show KIND]

`claims.jsonl` holds claims over the sample corpus and the Debian FAQ in English and Chinese, within
one language and across the two, each with words of the sentence that bears it out; a reader judged
them true, and made false ones of them: a figure, a date or a name changed, a denial, a swap.
Each is checked among the passages of its own document and some of others; it cites the passage
with its sentence. Every second claim, with what was made of it, is the second half: kept unseen
while rules are written.

Printed: true claims flagged, false ones caught, claims left unchecked, and how often a citation
stands on the right sentence.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engine.embeddings.multilingual import MultilingualEmbedding  # noqa: E402
from engine.storage.tokenization import tokens  # noqa: E402
from engine.types import Passage  # noqa: E402
from engine.verification.across import alike_by  # noqa: E402
from engine.verification.claims import Verdict, read_claims  # noqa: E402
from engine.verification.entailment import EntailmentScorer, is_han  # noqa: E402

CORPUS = ROOT / "data" / "corpus"
CLAIMS = Path(__file__).with_name("claims.jsonl")
PASSAGE_CHARACTERS = {False: 900, True: 350}
OTHERS = 4
MIN_SUPPORT = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A claim with the passages that it is checked among, its mark, and what is expected."""

    claim: str
    kind: str
    passages: tuple[Passage, ...]
    mark: int
    gold: str
    second: bool

    @property
    def true(self) -> bool:
        return self.kind == "true"

    @property
    def across(self) -> bool:
        return is_han(self.claim) != is_han(self.passages[self.mark - 1].text)


def passages_of(document: str, text: str) -> list[Passage]:
    """Passages of whole paragraphs."""
    first = re.search(r"^\W*(\S.*)$", text, re.MULTILINE)
    title = first[1] if first else document
    most = PASSAGE_CHARACTERS[is_han(text)]
    cuts = [0]
    for match in re.finditer(r"\n\n|\n(?=\d+\.\d+\. )", text):
        heads = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].startswith(
            ("#", "Subj:")
        )
        if match.end() - cuts[-1] >= most and not heads:
            cuts.append(match.end())
    return [
        Passage(
            text=text[start:end], score=1.0, relevance=1.0, document_id=document,
            chunk_id=f"{document}-{start}", title=title, start=start, end=end,
        )
        for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True)
        if text[start:end].strip()
    ]  # fmt: skip


def cases() -> Iterator[Case]:
    rows = [json.loads(line) for line in CLAIMS.open(encoding="utf-8")]
    held = {row["document"]: passages_of(row["title"], row["text"]) for row in rows[:1]}
    for path in sorted([*CORPUS.glob("*/*.md"), *CORPUS.glob("*/*.txt")]):
        name = path.relative_to(CORPUS).as_posix()
        held[name] = passages_of(name, path.read_text(encoding="utf-8"))
    every = sorted(held)
    for place, row in enumerate(rows[1:]):
        own = held[row["source"]]
        gold = next(n for n, passage in enumerate(own, 1) if row["gold"] in passage.text)
        turn = every[place % len(every) :] + every[: place % len(every)]
        others = [held[name][0] for name in turn if name != row["source"]][:OTHERS]
        said = [("true", row["claim"])]
        said += [(kind, claim) for kind, claims in row["false"].items() for claim in claims]
        for kind, claim in said:
            yield Case(
                claim=claim, kind=kind, passages=(*own, *others), mark=gold, gold=row["gold"],
                second=place % 2 == 1,
            )  # fmt: skip


@cache
def weight() -> Callable[[str], float]:
    frequency: Counter[str] = Counter()
    texts = [passage.text for case in cases() for passage in case.passages]
    for text in set(texts):
        frequency.update(set(tokens(text)))
    total = len(set(texts))
    return lambda term: math.log(1 + (total - frequency[term] + 0.5) / (frequency[term] + 0.5))


def checked(case: Case, reader: EntailmentScorer) -> list[Verdict]:
    stop = case.claim[-1] if case.claim[-1] in ".。" else ""
    reply = f"{case.claim.removesuffix(stop)} [{case.mark}]{stop}"
    reading = read_claims(reply, case.passages, reader=reader, min_support=MIN_SUPPORT)
    return list(reading.verdicts.values())


def outcome(verdicts: Sequence[Verdict]) -> str:
    """Of the sentences of one claim: the worst."""
    if any(not each.supported and not each.unchecked for each in verdicts):
        return "flagged"
    return "unchecked" if any(each.unchecked for each in verdicts) else "passed"


def on_right_sentence(case: Case, verdicts: Sequence[Verdict]) -> bool:
    at = case.passages[case.mark - 1].text.index(case.gold)
    return any(
        n == case.mark - 1 and start < at + len(case.gold) and at < end
        for verdict in verdicts
        for n, start, end, _ in verdict.spans
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("first", "second", "all"), default="first")
    parser.add_argument("--show", default="", help="print what came out wrong: true, figure, …")
    arguments = parser.parse_args()
    reader = EntailmentScorer(weight=weight(), across=alike_by(MultilingualEmbedding().embed))
    found: Counter[tuple[bool, str, str]] = Counter()
    right: dict[bool, list[bool]] = {False: [], True: []}
    started = time.process_time()
    for case in cases():
        if arguments.half != "all" and case.second != (arguments.half == "second"):
            continue
        verdicts = checked(case, reader)
        said = outcome(verdicts)
        found[case.across, case.kind, said] += 1
        wanted = {"true": ("passed",)}.get(case.kind, ("flagged",))
        if case.true:
            right[case.across].append(on_right_sentence(case, verdicts))
        if arguments.show in ("all", case.kind) and (
            said not in wanted or (case.true and not right[case.across][-1])
        ):
            print(f"{'across ' if case.across else ''}{case.kind} {said}: {case.claim}")
            for each in verdicts:
                print(f"    {each.support} {each.origin} {each.why}")
                print(*(case.passages[n].text[a:b] for n, a, b, _ in each.spans), sep="\n      > ")
    total = sum(found.values())
    print(f"{total} claims, {1000 * (time.process_time() - started) / total:.0f} ms each")
    for across in (False, True):
        print("across languages" if across else "within one language")
        for kind in ("true", "figure", "date", "name", "negation", "swap"):
            row = [found[across, kind, each] for each in ("passed", "flagged", "unchecked")]
            print(f"  {kind:10}passed {row[0]}, flagged {row[1]}, unchecked {row[2]}")
        false = [k for k in found.elements() if k[0] == across and k[1] != "true"]
        caught = sum(k[2] == "flagged" for k in false) / len(false)
        open_ = sum(k[2] == "unchecked" for k in false) / len(false)
        on_it = sum(right[across]) / len(right[across])
        print(f"  false ones: caught {caught:.3f}, unchecked {open_:.3f} of {len(false)}")
        print(f"  citations on the right sentence {on_it:.3f}")


if __name__ == "__main__":
    main()
