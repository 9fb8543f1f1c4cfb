"""The engine against the recipe it began from, question by question on every set.

    python tests/benchmarks/gate.py                                  # all plain sets
    python tests/benchmarks/gate.py joined:musique_train100 meetings alias_questions

The recipe is BM25 over passage and title and cosines, rescaled and added, then five steps of a walk
over titles and the capitalised names of texts. It is written here again from its description, on
plain arrays and with a tokeniser of its own: nothing of the engine's search takes part. Both search
the same chunks of one library with the same vectors. Printed are both recalls at 5 and 10 and what
the engine adds, with a 95 % paired bootstrap interval; `better` and `worse` are beyond it.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import bm25s
import numpy as np
import numpy.typing as npt
import Stemmer
from scipy.sparse import coo_matrix, csr_matrix, diags

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from llama_index.core.base.embeddings.base import BaseEmbedding
from parts import WHOLE, AskedSet, opened, report, sets
from retrieval import LISTS, SETS

from engine.embeddings.bundled import BundledEmbedding
from engine.embeddings.wrappers import with_prefixes
from engine.evaluation import RetrievalReport, paired_bootstrap
from engine.retrieval.retriever import SearchResult
from engine.types import Passage

FIGURES = ("R@5", "R@10", "all@5")
Floats = npt.NDArray[np.float64]

STOP = frozenset(
    """
    a an and are as at be but by did do does for from had has have he her his how i in is it its of
    on or she so that the their them then there they this to was were what when where which who
    whom whose why will with
    """.split()  # noqa: SIM905
)
LEADING = STOP | {"if", "after", "before", "during", "although", "since", "while", "these", "those"}
JOINING = "of|the|de|la|von|van|der|and|du|di|del|le|des"
WORD = re.compile(r"\w+", re.UNICODE)
HAN = re.compile(r"[\u3400-\u9fff]+")
RUN = re.compile(
    rf"[^\W\d_a-z][\w'’.-]*(?:\s+(?:(?:{JOINING})\s+){{0,2}}[^\W\d_a-z][\w'’.-]*)*", re.UNICODE
)
DAMPING, STEPS, SEEDS, POWER = 0.5, 5, 20, 3
TITLE_FIELD, TITLE_IN_QUESTION, MENTION, BACK, SHARED = 0.3, 0.5, 4.0, 0.5, 0.5
LONGEST_NAME = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A chunk of the library, and its document's title."""

    id: str
    document_id: str
    title: str
    text: str
    start: int
    end: int


class Recipe:
    """Searches the chunks of one library; `vectors` are theirs, the best window of each counts."""

    def __init__(self, folder: Path, model: BaseEmbedding) -> None:
        self._model = model
        self._chunks, self._owners, self._vectors = read_library(folder)
        titles = [each.title for each in self._chunks]
        bodies = [f"{each.title}. {each.text}" for each in self._chunks]
        self._body, self._title = keyword_index(bodies), keyword_index(titles)
        self._names, self._homes, self._walk = walk_matrix(self._chunks)

    def search(self, question: str, *, top_k: int | None = None) -> SearchResult:
        """As the engine's retriever answers: passages, best first."""
        asked = words(question)
        lexical = scores_of(self._body, asked) + TITLE_FIELD * scores_of(self._title, asked)
        fused = 0.5 * rescaled(lexical)
        if not HAN.search(question):
            fused = fused + 0.5 * rescaled(self._cosines(question))
        order = np.argsort(-self._walked(question, fused), kind="stable")[: top_k or 10]
        found = [passage(self._chunks[row], score=float(len(order) - n)) for n, row in
                 enumerate(order.tolist())]  # fmt: skip
        return SearchResult(found, ())

    def _cosines(self, question: str) -> Floats:
        vector = np.asarray(self._model.get_query_embedding(question), dtype=np.float32)
        best = np.full(len(self._chunks), -1.0)
        np.maximum.at(best, self._owners, self._vectors @ vector)
        return best

    def _walked(self, question: str, fused: Floats) -> Floats:
        seeds = fused.copy()
        for key in matches(question, self._homes, any_case=True):
            seeds[self._homes[key]] += TITLE_IN_QUESTION
        kept = np.argsort(-seeds, kind="stable")[:SEEDS]
        restart = np.zeros(self._walk.shape[0])
        restart[kept] = np.maximum(seeds[kept], 0) ** POWER
        if not restart.sum():
            return fused
        restart /= restart.sum()
        mass = restart.copy()
        for _ in range(STEPS):
            mass = DAMPING * (self._walk @ mass) + (1 - DAMPING) * restart
        # Where no walk came, the fused order goes on behind what it reached.
        return mass[: len(fused)] + 1e-9 * fused


def read_library(
    folder: Path,
) -> tuple[list[Chunk], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Its chunks, and their vectors with the row of the chunk that each belongs to."""
    with sqlite3.connect(f"file:{folder / 'library.db'}?mode=ro", uri=True) as connection:
        rows = connection.execute(
            'SELECT id, document_id, title, text, start, "end" FROM chunks ORDER BY id'
        ).fetchall()
        chunks = [Chunk(id=i, document_id=d, title=t, text=x, start=s, end=e)
                  for i, d, t, x, s, e in rows]  # fmt: skip
        row_of = {each.id: row for row, each in enumerate(chunks)}
        held = connection.execute(
            "SELECT chunk_id, vector FROM vectors WHERE model LIKE 'bge%'"
        ).fetchall()
    owners = np.array([row_of[chunk] for chunk, _ in held], dtype=np.int64)
    return chunks, owners, np.stack([np.frombuffer(v, dtype=np.float32) for _, v in held])


def passage(chunk: Chunk, *, score: float) -> Passage:
    return Passage(
        text=chunk.text, score=score, relevance=0.0, document_id=chunk.document_id,
        chunk_id=chunk.id, title=chunk.title, start=chunk.start, end=chunk.end,
    )  # fmt: skip


# --- words ----------------------------------------------------------------------------------------

_STEM = Stemmer.Stemmer("english")


def words(text: str) -> list[str]:
    """Stemmed words without a short stop list; pairs of Chinese characters."""
    plain = HAN.sub(" ", text).casefold()
    found: list[str] = _STEM.stemWords([w for w in WORD.findall(plain) if w not in STOP])
    for run in HAN.findall(text):
        found.extend(run[n : n + 2] for n in range(max(1, len(run) - 1)))
    return found


def keyword_index(texts: Sequence[str]) -> bm25s.BM25:
    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index([words(text) or ["∅"] for text in texts], show_progress=False)
    return index


def scores_of(index: bm25s.BM25, asked: Sequence[str]) -> Floats:
    known = [word for word in asked if word in index.vocab_dict]
    return np.asarray(index.get_scores(known), dtype=np.float64) if known else np.zeros(
        index.scores["num_docs"]
    )  # fmt: skip


def rescaled(scores: Floats) -> Floats:
    """0 at the 101st best score, 1 at the best."""
    floor = np.sort(scores)[-101] if len(scores) > 100 else scores.min(initial=0.0)
    span = scores.max(initial=0.0) - floor
    return np.clip((scores - floor) / span, 0, 1) if span > 0 else np.zeros_like(scores)


# --- names and the walk ---------------------------------------------------------------------------


def key_of(name: str) -> str:
    """A name without accents, case, possessives and trailing brackets."""
    name = re.sub(r"\s*\([^)]*\)\s*$", "", name)
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    return " ".join(WORD.findall(re.sub(r"['’]s\b", "", plain)))


def runs(text: str) -> Iterable[str]:
    """The capitalised runs of a text as keys, their leading function words taken off."""
    for match in RUN.finditer(text):
        parts = key_of(match.group()).split()
        while parts and parts[0] in LEADING:
            parts = parts[1:]
        if parts and (len(parts) > 1 or len(parts[0]) > 2):
            yield " ".join(parts)


def matches(text: str, known: Iterable[str], *, any_case: bool = False) -> set[str]:
    """The known keys that stand in a text, the longest at each place; one word must be a name's."""
    table = known if isinstance(known, dict | set | frozenset) else set(known)
    found: set[str] = set()
    pieces = [(key_of(m.group()), m.group()) for m in re.finditer(r"[\w'’]+", text)]
    pieces = [(key, word) for key, word in pieces if key]
    place = 0
    while place < len(pieces):
        for length in range(min(LONGEST_NAME, len(pieces) - place), 0, -1):
            key = " ".join(k for k, _ in pieces[place : place + length])
            if key not in table:
                continue
            word = pieces[place][1]
            if length > 1 or (len(key) > 2 and key not in STOP and (any_case or word[0].isupper())):
                found.add(key)
                place += length
                break
        else:
            place += 1
    return found


def walk_matrix(chunks: Sequence[Chunk]) -> tuple[set[str], dict[str, list[int]], csr_matrix]:
    """The names, each title's chunks, and the transposed matrix of steps over chunks and names."""
    homes: dict[str, list[int]] = defaultdict(list)
    for row, each in enumerate(chunks):
        key = key_of(each.title) or next(iter(runs(each.text)), "")
        if key:
            homes[key].append(row)
    names = {name for each in chunks for name in runs(each.text)}
    found = [matches(c.text, homes) | matches(c.text, names) for c in chunks]
    held: dict[str, list[int]] = defaultdict(list)
    for row, some in enumerate(found):
        for name in sorted(some):
            held[name].append(row)
    edges: dict[tuple[int, int], float] = defaultdict(float)
    for key, rows in homes.items():
        for row in held.get(key, ()):
            for home in rows:
                if home != row:
                    edges[row, home] += MENTION / len(rows)
                    edges[home, row] += BACK / len(rows)
    shared = [name for name, rows in sorted(held.items()) if len(rows) > 1]
    for node, name in enumerate(shared, start=len(chunks)):
        weight = SHARED / np.sqrt(np.log(np.e + len(held[name])))
        own = set(homes.get(name, ()))
        for row in held[name]:
            edges[row, node] += weight * (2 if row in own else 1)
            edges[node, row] += weight * (2 if row in own else 1)
    size = len(chunks) + len(shared)
    ends = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    matrix = coo_matrix((list(edges.values()), ends.T), shape=(size, size)).tocsr()
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    scaled = diags(np.where(sums > 0, 1 / np.maximum(sums, 1e-12), 0)) @ matrix
    return names, dict(homes), scaled.T.tocsr()


# --- the comparison -------------------------------------------------------------------------------


def compared(asked: AskedSet, model: BaseEmbedding) -> str:
    """One set's lines: both methods, and the engine's gain."""
    with opened(asked, model, LISTS[WHOLE]) as engine:
        ours = report(engine, asked, WHOLE)
        theirs = report(engine, asked, "recipe", Recipe(asked.folder, model))
    return "\n".join(lines_of(asked, ours, theirs))


def lines_of(asked: AskedSet, ours: RetrievalReport, theirs: RetrievalReport) -> Iterable[str]:
    for figure in FIGURES:
        gain = paired_bootstrap(ours.by_query[figure], theirs.by_query[figure])
        verdict = ("better" if gain.mean > 0 else "worse") if gain.is_clear else "level"
        yield (
            f"| {asked.name} | {figure} | {theirs.means[figure]:.3f} | {ours.means[figure]:.3f} |"
            f" {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] | {verdict} |"
        )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    arguments = parser.parse_args()
    model = with_prefixes(BundledEmbedding(threads=1))
    print("| set | figure | recipe | engine | engine − recipe | |\n|---|---|---|---|---|---|")
    for asked in sets(arguments.sets, most=None):
        print(compared(asked, model), flush=True)


if __name__ == "__main__":
    main()
