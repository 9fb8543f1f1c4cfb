"""How well does the support check tell borne-out claims from others, and what do citations become?

    python tests/benchmarks/citations.py [--fit] [--limit N]

Claims come from public sets, each with the passage that it is checked against:

- WebNLG: one sentence as the claim, another wording of the same triples as the source (supported);
  one that shares the subject but not all triples (not supported).
- SciFact: human claims with abstracts that support or contradict them.
- HotpotQA: gold sentences shortened; CMRC 2018: question and answer made one Chinese statement.
- Each supported claim again with a number changed, a name swapped for another of the same text, or
  denied: not supported.

Half of the claims (by a hash of their id) are for fitting, the other half is reported: precision
and recall of "unsupported", by kind and language. `--fit` prints coefficients and a threshold.
Then answers are checked: extractive ones, and those of a scripted model that cites a wrong passage
or changes a fact in a known share of its sentences; printed is how many of the citations left are
right. Reads `../shared/data`; says so when it is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA  # noqa: E402

from engine.answering.extractive.answer import extractive_answer  # noqa: E402
from engine.storage.graph_api import LanguageExtractor, sentence_spans  # noqa: E402
from engine.storage.tokenization import tokens  # noqa: E402
from engine.types import Passage  # noqa: E402
from engine.verification.claims import Verdict, read_claims  # noqa: E402
from engine.verification.entailment import FEATURES, EntailmentScorer, SupportScore, normalise_text  # noqa: E402

_EXTRACTOR = LanguageExtractor(spacy_model="none", concepts=False)


def names_in(text: str) -> list[str]:
    (found,) = _EXTRACTOR.extract([text])
    return [text[m.start : m.end] for m in found.mentions]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A claim, what it is checked against, and whether that bears it out."""

    id: str
    claim: str
    passages: tuple[Passage, ...]
    supported: bool
    kind: str
    language: str
    weight: Callable[[str], float]
    question: str = ""

    @property
    def held_out(self) -> bool:
        return hashlib.sha256(self.id.encode()).digest()[0] % 2 == 1


def passage_of(text: str, *, title: str = "", identity: str = "p") -> Passage:
    return Passage(
        text=text, score=1.0, relevance=1.0, document_id=identity, chunk_id=identity, title=title,
        start=0, end=len(text),
    )  # fmt: skip


def idf_of(texts: Sequence[str]) -> Callable[[str], float]:
    frequency: Counter[str] = Counter()
    for text in texts:
        frequency.update(set(tokens(text)))
    total = len(texts)
    return lambda term: float(np.log(1 + (total - frequency[term] + 0.5) / (frequency[term] + 0.5)))


class Corpus:
    """The passages of one set with their idf and a plain BM25."""

    def __init__(self, name: str) -> None:
        folder = DATA / name
        self.documents = [json.loads(line) for line in (folder / "corpus.jsonl").open()]
        self.queries = [json.loads(line) for line in (folder / "queries.jsonl").open()]
        self.by_id = {document["id"]: document for document in self.documents}
        self.counts = [Counter(tokens(f"{d['title']} {d['text']}")) for d in self.documents]
        self.frequency = Counter(term for count in self.counts for term in count)
        self.total = len(self.documents)
        self.average = sum(map(Counter.total, self.counts)) / self.total

    def weight(self, term: str) -> float:
        found = self.frequency.get(term, 0)
        return math.log(1 + (self.total - found + 0.5) / (found + 0.5))

    def search(self, question: str, top: int) -> list[str]:
        terms = set(tokens(question))
        scored = []
        for document, count in zip(self.documents, self.counts, strict=True):
            norm = 1.2 * (0.25 + 0.75 * count.total() / self.average)
            held = terms & count.keys()
            score = sum(self.weight(t) * count[t] * 2.2 / (count[t] + norm) for t in held)
            scored.append((-score, document["id"]))
        return [identity for _, identity in sorted(scored)[:top]]

    def passage(self, identity: str) -> Passage:
        document = self.by_id[identity]
        return passage_of(document["text"], title=document["title"], identity=identity)


# --- claims made wrong ------------------------------------------------------------------------


def changed_number(text: str, draw: random.Random) -> str | None:
    found = list(re.finditer(r"(?<![\d.,])\d{1,4}(?![\d.,]*\d)", text))
    if not found:
        return None
    match = draw.choice(found)
    value = int(match.group())
    other = value + draw.choice([-3, -2, -1, 1, 2, 3, 10]) if value > 12 else value + 2
    return text[: match.start()] + str(abs(other)) + text[match.end() :]


def swapped_name(text: str, others: Sequence[str], draw: random.Random) -> str | None:
    """A name of the text exchanged for one that stands beside it, about as long in words."""
    names = names_in(text)
    fitting = [
        (name, other)
        for name in names
        for other in others
        if other not in text and name not in other and other not in name
        and abs(len(other.split()) - len(name.split())) <= 1
        and abs(len(other) - len(name)) <= max(6, len(name))
    ]  # fmt: skip
    if not fitting:
        return None
    name, other = draw.choice(fitting)
    return text.replace(name, other, 1)


def denied(text: str) -> str | None:
    if re.search(r"[\u4e00-\u9fff]", text):
        changed = re.sub(
            r"(?<![不没])(是|有|在|由|能|会|属于|位于)",
            lambda m: {"有": "没有"}.get(m[1], "不" + m[1]),
            text,
            count=1,
        )
    else:
        changed = re.sub(r"\b(is|was|are|were|has|had|can|did)\b(?! not)", r"\1 not", text, count=1)
    return changed if changed != text else None


def wrong_versions(pair: Pair, others: Sequence[str], draw: random.Random) -> Iterator[Pair]:
    made = {
        "number": changed_number(pair.claim, draw),
        "name": swapped_name(pair.claim, others, draw),
        "denied": denied(pair.claim),
    }
    for kind, claim in made.items():
        if claim is not None and claim != pair.claim:
            yield Pair(
                id=pair.id, claim=claim, passages=pair.passages, supported=False,
                kind=f"{pair.kind.split()[0]} {kind}", language=pair.language, weight=pair.weight,
                question=pair.question,
            )  # fmt: skip


# --- the sets ---------------------------------------------------------------------------------


def webnlg(limit: int) -> Iterator[Pair]:
    rows = [json.loads(x) for x in (DATA / "text2kg_webnlg/dbpedia_webnlg_test.jsonl").open()]
    rows = [row for row in rows if row["triples_norm"]]
    weight = idf_of([row["text"] for row in rows])
    by_subject = defaultdict(list)
    for row in rows:
        for subject in {triple[0] for triple in row["triples_norm"]}:
            by_subject[subject].append(row)
    made = 0
    for row in rows:
        if made >= limit:
            return
        facts = {tuple(t) for t in row["triples_norm"]}
        near = [r for s in sorted({t[0] for t in facts}) for r in by_subject[s] if r is not row]
        same = [r for r in near if facts <= {tuple(t) for t in r["triples_norm"]}]
        less = [r for r in near if not facts <= {tuple(t) for t in r["triples_norm"]}
                and not {tuple(t) for t in r["triples_norm"]} <= facts]  # fmt: skip
        if not same or len(sentence_spans(row["text"])) > 1:
            continue
        made += 1
        draw = random.Random(row["id"])  # noqa: S311
        filler = [
            r["text"]
            for r in draw.sample(rows, 3)
            if not facts & {tuple(t) for t in r["triples_norm"]}
        ]
        text = [draw.choice(same)["text"], *filler]
        draw.shuffle(text)
        good = Pair(
            id=row["id"], claim=row["text"], passages=(passage_of(" ".join(text)),),
            supported=True, kind="webnlg", language="en", weight=weight,
        )  # fmt: skip
        yield good
        yield from wrong_versions(good, names_in(" ".join(text)), draw)
        if less:
            yield Pair(
                id=row["id"], claim=row["text"], supported=False, kind="webnlg topic",
                passages=(passage_of(" ".join([draw.choice(less)["text"], *filler])),),
                language="en", weight=weight,
            )  # fmt: skip


def scifact() -> Iterator[Pair]:
    corpus = Corpus("scifact_dev")
    for query in corpus.queries:
        for identity, found in query["evidence"].items():
            yield Pair(
                id=query["id"], claim=query["text"], passages=(corpus.passage(identity),),
                supported=found["label"] == "SUPPORT", language="en",
                kind="scifact" if found["label"] == "SUPPORT" else "scifact contradict",
                weight=corpus.weight,
            )  # fmt: skip


def shortened(sentence: str, title: str) -> str:
    """A sentence as an answer would say it: no brackets, its pronoun named, its tail left out."""
    text = " ".join(re.sub(r"\([^()]*\)|（[^（）]*）", "", sentence).split()).replace(" ,", ",")
    text = re.sub(r"^(?:He|She|It|They)\b", title, text)
    parts = re.split(r"(?<=\w), (?=which|who|where|and|but|as|with|including)", text)
    return parts[0].rstrip(".,") + "."


def two_sentences(name: str, kind: str, language: str, limit: int) -> Iterator[Pair]:
    """Two neighbouring sentences of a passage said in one, as summaries do."""
    corpus = Corpus(name)
    for document in corpus.documents[:: max(1, len(corpus.documents) // limit)]:
        passage = corpus.passage(document["id"])
        spans = sentence_spans(passage.text)
        draw = random.Random(document["id"])  # noqa: S311
        if len(spans) < 4:
            continue
        at = draw.randrange(len(spans) - 1)
        first, second = (passage.text[slice(*span)] for span in spans[at : at + 2])
        if not 12 <= min(len(first), len(second)) <= max(len(first), len(second)) <= 160:
            continue
        joint = "，" if language == "zh" else " and "
        one = shortened(first, passage.title).rstrip(".。")
        good = Pair(
            id=document["id"], claim=f"{one}{joint}{shortened(second, passage.title)}",
            passages=(passage,), supported=True, kind=kind, language=language,
            weight=corpus.weight,
        )  # fmt: skip
        yield good
        yield from wrong_versions(good, names_in(passage.text), draw)


def hotpot() -> Iterator[Pair]:
    corpus = Corpus("hotpotqa_train100")
    for query in corpus.queries:
        for identity, number in query["supporting_sentences"]:
            passage = corpus.passage(identity)
            spans = sentence_spans(passage.text)
            if number >= len(spans):
                continue
            claim = shortened(passage.text[slice(*spans[number])], passage.title)
            if len(claim) < 30:
                continue
            draw = random.Random(claim)  # noqa: S311
            beside = tuple(corpus.passage(i) for i in query["gold_ids"] if i != identity)[:1]
            good = Pair(
                id=f"{query['id']}-{identity}-{number}", claim=claim, passages=(passage, *beside),
                supported=True, kind="hotpot", language="en", weight=corpus.weight,
            )  # fmt: skip
            yield good
            others = names_in(" ".join(p.text for p in good.passages))
            yield from wrong_versions(good, others, draw)
            other = corpus.passage(draw.choice(corpus.documents)["id"])
            yield Pair(
                id=good.id, claim=claim, passages=(*beside, other),
                supported=False, kind="hotpot topic", language="en", weight=corpus.weight,
            )  # fmt: skip


_ASKED_ZH = re.compile(
    r"(?:是)?(?:什么时候|什么时间|什么地方|什么名字|什么人|何时|何地|何处|谁|哪里|哪儿|哪一?[年天月日个位家座所种项部条国省市]|哪些|哪两个?\w?|多少|几[个位名人年月日次]?|什么)"
)


def statement(question: str, answer: str) -> str | None:
    """A Chinese question with its answer in place of what asks."""
    match = _ASKED_ZH.search(question)
    if match is None or len(answer) > 40:
        return None
    keeps = "是" if match.group().startswith("是") else ""
    return (
        question[: match.start()] + keeps + answer + question[match.end() :].rstrip("？?呢") + "。"
    )


def cmrc(limit: int) -> Iterator[Pair]:
    corpus = Corpus("cmrc2018_zh")
    answers = defaultdict(list)
    for query in corpus.queries:
        answers[query["gold_ids"][0]].append(query["answers"][0])
    for query in corpus.queries[:limit]:
        identity, answer = query["gold_ids"][0], query["answers"][0]
        claim = statement(query["text"], answer)
        if claim is None:
            continue
        draw = random.Random(query["id"])  # noqa: S311
        passage = corpus.passage(identity)
        good = Pair(
            id=query["id"], claim=claim, passages=(passage,), supported=True, kind="cmrc",
            language="zh", weight=corpus.weight, question=query["text"],
        )  # fmt: skip
        yield good
        yield from wrong_versions(good, names_in(passage.text), draw)
        others = [other for other in answers[identity] if other != answer and other not in claim]
        if others and (wrong := statement(query["text"], draw.choice(others))):
            yield Pair(
                id=query["id"], claim=wrong, passages=(passage,), supported=False,
                kind="cmrc answer", language="zh", weight=corpus.weight, question=query["text"],
            )  # fmt: skip
        near = [i for i in corpus.search(query["text"], 4) if i != identity][:2]
        yield Pair(
            id=query["id"], claim=claim, passages=tuple(map(corpus.passage, near)),
            supported=False, kind="cmrc topic", language="zh", weight=corpus.weight,
            question=query["text"],
        )  # fmt: skip


def all_pairs(limit: int) -> list[Pair]:
    return [
        *webnlg(limit),
        *scifact(),
        *hotpot(),
        *two_sentences("hotpotqa_train100", "two", "en", limit),
        *cmrc(limit),
        *two_sentences("cmrc2018_zh", "two-zh", "zh", limit),
    ]


# --- the check --------------------------------------------------------------------------------


def supports(pairs: Sequence[Pair]) -> list[SupportScore]:
    found = []
    for pair in pairs:
        reader = EntailmentScorer(weight=pair.weight, question=pair.question)
        sources = [reader.source(passage) for passage in pair.passages]
        found.append(reader.support(reader.statement(pair.claim), sources))
    return found


def fitted(pairs: Sequence[Pair], found: Sequence[SupportScore]) -> np.ndarray:
    """Logistic regression by Newton's method on pairs whose figures and names are all there.

    Each kind counts alike, supported and not supported together each half.
    """
    used = [
        (pair, support)
        for pair, support in zip(pairs, found, strict=True)
        if not pair.held_out and support.evidence and not support.missing
    ]
    counts = Counter((pair.supported, pair.kind) for pair, _ in used)
    kinds = Counter(supported for supported, _ in counts)
    x = np.array([support.evidence for _, support in used])
    y = np.array([float(pair.supported) for pair, _ in used])
    w = (
        np.array([1 / counts[(p.supported, p.kind)] / kinds[p.supported] for p, _ in used])
        * len(used)
        / 2
    )
    beta = np.zeros(x.shape[1])
    penalty = 0.5 * np.eye(x.shape[1])
    penalty[0, 0] = 1e-6
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ beta))
        gradient = x.T @ (w * (y - p)) - penalty @ beta
        hessian = (x * (w * p * (1 - p))[:, None]).T @ x + penalty
        beta = beta + np.linalg.solve(hessian, gradient)
    return beta


def rescored(support: SupportScore, beta: np.ndarray) -> SupportScore:
    if not support.evidence:
        return support
    score = float(1 / (1 + np.exp(-np.array(support.evidence) @ beta)))
    return replace(support, score=normalise_text(score, support.missing))


def report(pairs: Sequence[Pair], found: Sequence[SupportScore], threshold: float) -> None:
    kinds = sorted({(p.language, p.kind, p.supported) for p in pairs})
    print(f"{'kind':28}{'pairs':>6}  passed  score p10 p50 p90   (threshold {threshold})")
    for language, kind, supported in kinds:
        scores = [s.score for p, s in zip(pairs, found, strict=True) if p.kind == kind]
        good = sum(score >= threshold for score in scores) / len(scores)
        low, middle, high = np.quantile(scores, [0.1, 0.5, 0.9])
        print(
            f"{language} {'+' if supported else '-'} {kind:22}{len(scores):6}  {good:6.3f}"
            f"  {low:.2f} {middle:.2f} {high:.2f}"
        )
    for language in ("en", "zh"):
        rows = [
            (p.supported, s.score)
            for p, s in zip(pairs, found, strict=True)
            if p.language == language
        ]
        good = np.array([score for ok, score in rows if ok])
        bad = np.array([score for ok, score in rows if not ok])
        area = (good[:, None] > bad[None, :]).mean() + 0.5 * (good[:, None] == bad[None, :]).mean()
        print(f"{language}: AUC {area:.3f}")
        for at in (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6):
            kept, passed = (good >= at).sum(), (bad >= at).sum()
            left, caught = len(good) - kept, len(bad) - passed
            print(
                f"  {at:.2f}  supported: precision {kept / max(1, kept + passed):.3f}"
                f" recall {kept / len(good):.3f}   unsupported: precision"
                f" {caught / max(1, caught + left):.3f} recall {caught / len(bad):.3f}"
            )


# --- whole answers ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a scripted model says once: the claim, the right passage and its sentence, the mark."""

    claim: str
    truth: str
    mark: int
    right: str
    sentence: str


def scripted(
    facts: Sequence[tuple[str, str, str]], packed: Sequence[Passage], *, wrong: float, false: float
) -> list[Said]:
    """A statement for each `(claim, document, sentence)`, some with a wrong mark, some made false.

    Which ones is drawn by the claim, so that runs with more faults hold those of runs with fewer.
    """
    said = []
    for claim, document, sentence in facts:
        draw = random.Random(claim)  # noqa: S311
        by_mark, by_fact = draw.random(), draw.random()
        places = [n for n, p in enumerate(packed, 1) if p.document_id == document]
        others = [n for n, p in enumerate(packed, 1) if p.document_id != document]
        text = claim
        if by_fact < false:
            changed = changed_number(claim, draw)
            text = changed or swapped_name(claim, names_in(packed[0].text), draw) or denied(claim)
        mark = draw.choice(others) if by_mark < wrong else places[0]
        said.append(
            Said(claim=text or claim, truth=claim, mark=mark, right=document, sentence=sentence)
        )
    return said


Given = tuple[str, list[tuple[str, str, str]], list[Passage], Corpus]
"""A question, what is true of it as `(claim, document, sentence)`, what was packed, the corpus."""


def hotpot_answers() -> Iterator[Given]:
    corpus = Corpus("hotpotqa_train100")
    for query in corpus.queries:
        facts = []
        for identity, number in query["supporting_sentences"]:
            passage = corpus.passage(identity)
            spans = sentence_spans(passage.text)
            if number < len(spans):
                sentence = passage.text[slice(*spans[number])]
                if len(claim := shortened(sentence, passage.title)) >= 30:
                    facts.append((claim, identity, sentence))
        yield query["text"], facts, beside(corpus, query, 5), corpus


def cmrc_answers(
    limit: int,
) -> Iterator[tuple[str, list[tuple[str, str, str]], list[Passage], Corpus]]:
    corpus = Corpus("cmrc2018_zh")
    for query in corpus.queries[:limit]:
        answer, identity = query["answers"][0], query["gold_ids"][0]
        claim = statement(query["text"], answer)
        text = corpus.passage(identity).text
        held = [text[a:b] for a, b in sentence_spans(text) if answer in text[a:b]]
        if claim is not None and held:
            yield query["text"], [(claim, identity, held[0])], beside(corpus, query, 5), corpus


def beside(corpus: Corpus, query: dict, count: int) -> list[Passage]:
    """The gold passages and the nearest others, in an order that says nothing."""
    near = [i for i in corpus.search(query["text"], count + 2) if i not in query["gold_ids"]]
    chosen = [*query["gold_ids"], *near[:count]]
    random.Random(query["id"]).shuffle(chosen)  # noqa: S311
    return [corpus.passage(identity) for identity in chosen]


def check_answers(given: Sequence[Given], *, wrong: float, false: float, threshold: float) -> str:
    before, after, kept, caught = [], [], [], []
    for question, facts, packed, corpus in given:
        reader = EntailmentScorer(
            weight=corpus.weight,
            question=question,
        )  # fmt: skip
        for one in scripted(facts, packed, wrong=wrong, false=false):
            reply = f"{one.claim.rstrip('.。')} [{one.mark}]."
            reading = read_claims(reply, packed, reader=reader, min_support=threshold)
            true = one.claim == one.truth
            if true:
                before.append(packed[one.mark - 1].document_id == one.right)
            for verdict in reading.verdicts.values():
                (kept if true else caught).append(verdict.supported == true)
                if verdict.supported:
                    after.append(true and on_gold(verdict, packed, one))
    return (
        f"{len(kept) + len(caught)} claims: true ones kept {mean(kept)}, false ones caught"
        f" {mean(caught)}; marks on the right passage {mean(before)}; of citations that are left,"
        f" true and on the gold sentence {mean(after)}"
    )


def on_gold(verdict: Verdict, packed: Sequence[Passage], one: Said) -> bool:
    quotes = [(packed[n].document_id, packed[n].text[a:b]) for n, a, b, _ in verdict.spans]
    return any(
        document == one.right and (one.sentence in quote or quote in one.sentence)
        for document, quote in quotes
    )


def mean(values: Sequence[bool]) -> str:
    return f"{np.mean(values):.3f}" if values else "-"


def extracted(given: Sequence[Given]) -> str:
    """Of the sentences that an extractive answer cites, how many are of gold documents."""
    right, first = [], []
    for question, facts, packed, corpus in given:
        draft = extractive_answer(
            question, packed, weight=corpus.weight,
            min_evidence=0.0,
        )  # fmt: skip
        gold = {document for _, document, _ in facts}
        hits = [citation.document_id in gold for citation in draft.citations]
        right += hits
        first += hits[:1]
    return (
        f"{len(right)} citations: of a gold document {mean(right)}, the first of each {mean(first)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--show", default="")
    parser.add_argument("--threshold", type=float, default=0.5)
    arguments = parser.parse_args()
    if not DATA.is_dir():
        print("skipped: ../shared/data is missing")
        return
    pairs = all_pairs(arguments.limit)
    started = time.process_time()
    found = supports(pairs)
    print(f"{len(pairs)} claims, {1000 * (time.process_time() - started) / len(pairs):.1f} ms each")
    if arguments.fit:
        beta = fitted(pairs, found)
        print("  (" + ", ".join(f"{value:.2f}" for value in beta) + ")")
        found = [rescored(support, beta) for support in found]
        for name, value in zip(FEATURES, beta, strict=True):
            print(f"  {name:18}{value:7.2f}")
    if arguments.show:
        for pair, support in zip(pairs, found, strict=True):
            if pair.kind == arguments.show:
                print(f"{support.score:.2f} {support.missing} {np.round(support.evidence, 2)}")
                print("  ", pair.claim)
                for n, start, end in support.spans:
                    print("      >", pair.passages[n].title, "|", pair.passages[n].text[start:end])
        return
    answers = {"hotpotqa": list(hotpot_answers()), "cmrc": list(cmrc_answers(arguments.limit))}
    for name, given in answers.items():
        print(f"{name}, extractive: {extracted(given)}")
        for wrong, false in ((0.0, 0.0), (0.2, 0.0), (0.5, 0.0), (0.2, 0.2)):
            said = check_answers(given, wrong=wrong, false=false, threshold=0.4)
            print(f"{name}: {wrong:.0%} wrong marks, {false:.0%} false: {said}")
    held = [(p, s) for p, s in zip(pairs, found, strict=True) if p.held_out]
    report([p for p, _ in held], [s for _, s in held], arguments.threshold)


if __name__ == "__main__":
    main()
