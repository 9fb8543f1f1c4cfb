"""Query expansion: several searches of one question, merged into one ranking.

With a language model: other wordings (`mqe`), a hypothetical passage (`hyde`; Gao et al., ACL
2023), sub-questions (`decompose`), and steps of which each is told what the one before found
(`steps`; after Trivedi et al., "Interleaving Retrieval with Chain-of-Thought Reasoning", ACL 2023).
Without one: sub-questions by grammar (`decompose`), words of the first passages (`feedback`, as in
RM3, Abdul-Jaleel et al., TREC 2004). What a model writes is only searched for, never shown or
cited. `tests/benchmarks/transforms.py` measures what each kind buys.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from graph.text.cjk import HAN, has_han
from graph.text.patterns import lazy_regex

from ..errors import ModelError
from ..prompts import detect_language, filled_prompt
from ..storage.tokenization import TokenWeight, tokens
from .fusion import Ranking, Scores, rescale

_PIECE = lazy_regex(r"\S+")


def feedback_terms(
    question: str, passages: Sequence[str], *, idf: TokenWeight, count: int = 10
) -> list[str]:
    """Return terms that distinguish the first passages and are absent from the question.

    Args:
        question: in words.
        passages: title and text of the first ones, best first; each counts alike.
        idf: how rare a token is.
        count: how many words at most.

    Words as they stand in the passages, weightiest first; of Chinese, pairs of characters.
    """
    asked = set(tokens(question))
    weights: dict[str, float] = defaultdict(float)
    written: dict[str, Counter[str]] = defaultdict(Counter)
    for passage in passages:
        held = Counter(tokens(passage))
        for token, times in sorted(held.items()):
            weights[token] += times / held.total() * idf(token)
        for piece in _PIECE.findall(passage):
            for token in tokens(piece):
                written[token][token if has_han(token) else piece.strip(".,;:!?()\"'“”")] += 1
    best = sorted(weights.keys() - asked, key=lambda token: (-weights[token], token))[:count]
    return [_commonest(written[token]) or token for token in best]


def _commonest(forms: Counter[str]) -> str:
    return min(forms, key=lambda form: (-forms[form], form), default="")


Method = Literal["sum", "max"]


def merge_scores(
    rankings: Sequence[npt.ArrayLike],
    weights: Sequence[float],
    *,
    method: Method = "sum",
    pool: int = 100,
) -> Scores:
    """Merge several arrays of retrieval scores (n) to one score a row, 0–1, higher is better.

    Args:
        rankings: each (n), higher is better; where a row was not found, 0 or less.
        weights: one a ranking, 0 or more.
        method: `sum`: the weighted mean of the rescaled scores. `max`: the best weighted one.
        pool: how many of its best rows each ranking brings; what is below scores nothing in it.

    The order of the rankings means nothing.
    """
    if len(rankings) != len(weights):
        raise ValueError(f"{len(rankings)} rankings with {len(weights)} weights")
    arrays = [np.asarray(each, dtype=np.float64) for each in rankings]
    heard = [(a, w) for a, w in zip(arrays, weights, strict=True) if w > 0]
    if not heard:
        return np.zeros(arrays[0].shape if arrays else 0)
    top = max(weight for _, weight in heard)
    scaled = np.stack([w / top * _scaled(array, pool) for array, w in heard])
    if method == "max":
        return np.asarray(scaled.max(axis=0))
    # Sorted, so that the sum is the same to the last bit in any order of the rankings.
    summed = np.sort(scaled, axis=0).sum(axis=0)
    return np.asarray(summed * top / sum(weight for _, weight in heard))


def _scaled(scores: Scores, pool: int) -> Scores:
    return np.where(scores > 0, rescale(scores, pool + 1), 0.0)


MAX_PARTS = 4
MAX_QUESTION_CHARACTERS = 600
"""Longer ones are stories, and their grammar says little."""
_WORD = r"[A-Z0-9\"“'(][^\s,?]*"
_BETWEEN = r"(?:of|the|de|la|von|van|in|on|at|to|for|&)"
_CAPITALISED = rf"{_WORD}(?:\s+(?:{_BETWEEN}\s+){{0,3}}{_WORD}){{0,12}}"
_EITHER = lazy_regex(
    r"^(?P<ask>.+?)[,:]\s*(?:the\s+)?(?P<a>[^,?]+?),?\s+or\s+(?P<b>[^,?]+?)\s*\?*$", re.IGNORECASE
)
_EITHER_WITHOUT_COMMA = lazy_regex(
    rf"^(?P<ask>.*?\b(?:between|out of|among|than)\s+(?:both\s+)?)(?P<a>{_CAPITALISED})"
    rf"\s+(?:and|or)\s+(?P<b>{_CAPITALISED})(?P<rest>.*)$"
)
_BOTH = lazy_regex(
    rf"^(?P<ask>(?:Are|Were|Do|Did|Does|Have|Has|Is|Was|Can|Could)\s+(?:both\s+)?(?:the\s+)?"
    rf"(?:[a-z]+s?,?\s+)?|.*?\bboth\s+)(?P<a>{_CAPITALISED}),?\s+and\s+(?P<b>{_CAPITALISED})"
    rf"(?P<rest>.*)$"
)
_HAN_THING = r"[^，。？?、；：\s和与跟及同]{1,24}?"
_HAN_EITHER = lazy_regex(
    rf"^(?P<a>{_HAN_THING})(?:和|与|跟|及|同|、)(?P<b>[^，。？?、；：\s]{{1,24}}?)"
    rf"[，,]?\s*(?P<rest>(?:相比|比较|之间|二者|两者|两人|两个|哪|谁|都|是否|有什么|有何|分别|各).*)$"
)
_HAN_OR = lazy_regex(
    rf"^(?P<a>{_HAN_THING})还是(?P<b>[^，。？?、；：\s]{{1,24}}?)(?P<rest>(?:更|比较|最|先|后).*|[?？]*)$"
)
_RELATIVE = lazy_regex(
    r"\b(?P<thing>(?:[Tt]he|an?)\s+(?:[\w'-]+\s+){0,3}?[\w'-]+),?\s+"
    r"(?:(?:in|on|at|by|for|from)\s+)?(?:which|whom|whose|where|when|that|who)\s+(?P<clause>[^?]+)"
)
_OF_CHAIN = lazy_regex(
    r"\bthe\s+[\w'-]+(?:\s+[\w'-]+){0,2}\s+(?:of|for|in)\s+"
    r"(?P<inner>the\s+[\w' -]+?\s+(?:of|in|for)\s+[^?]+)",
    re.IGNORECASE,
)
_POSSESSIVE = lazy_regex(rf"(?P<inner>{_CAPITALISED}['’]s?\s+[a-z][\w-]+)")
_ANCHOR = lazy_regex(rf".\s[\"“'(]*[A-Z0-9]|[{HAN}]")
"""Required content of a part: a name after its first word, or Chinese."""
_HAN_CHAIN = lazy_regex(
    r"^(?P<inner>[^，。？?；：\s的]{1,24}的[^，。？?；：\s的]{1,12})的[^，。？?；：\s]+"
)


def question_parts(question: str) -> list[str]:
    """Split a comparison or nested question into parts; [] for others.

    At most `MAX_PARTS`, in the order in which they stand, none equal to the question.
    """
    whole = " ".join(question.split())
    if len(whole) > MAX_QUESTION_CHARACTERS:
        return []
    found = _compared(whole) or list(_nested(whole))
    tidy = (part for part in map(_tidy, found) if part != _tidy(whole))
    kept = dict.fromkeys(part for part in tidy if _ANCHOR.search(part))
    return list(kept)[:MAX_PARTS]


def _compared(question: str) -> list[str]:
    for pattern in (_EITHER, _BOTH, _EITHER_WITHOUT_COMMA, _HAN_EITHER, _HAN_OR):
        match = pattern.match(question)
        if match is None:
            continue
        groups = match.groupdict(default="")
        ask, rest = groups.get("ask") or "", groups.get("rest") or ""
        return [f"{ask} {groups[name]} {rest}" for name in ("a", "b")]
    return []


def _nested(question: str) -> Iterator[str]:
    """Split a nested question: the inner fact first, then the outer question."""
    relative = _RELATIVE.search(question)
    if relative is not None:
        yield f"{relative['thing']} {relative['clause']}"
        yield f"{question[: relative.start()]}{relative['thing']}"
        return
    for pattern in (_OF_CHAIN, _POSSESSIVE, _HAN_CHAIN):
        match = pattern.search(question)
        if match is not None:
            yield match["inner"]
            return


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(" ?？,，.。:：")


Complete = Callable[[str], str]
MAX_LINE_CHARACTERS = 300
MAX_PASSAGE_CHARACTERS = 1_500
_FENCE = lazy_regex(r"^\s*```\w*\s*$", re.MULTILINE)
_BULLET = lazy_regex(
    r"^\s*(?:[-*•·]|\(?\d{1,2}[.)、:：]|[（(]?[一二三四五六七八九十][)）、.]|Q\d*[:：])\s*"
)
_LABEL = lazy_regex(
    r"^(?:question|query|sub-?question|passage|answer|search|问题|子问题|查询|检索|段落|答案)"
    r"\s*\d*\s*[:：]\s*",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’「」『』`*"
_QUOTED = lazy_regex(r'"((?:[^"\\\n]|\\.)*)"(\s*:)?')
_PREAMBLE = lazy_regex(r"[:：]\s*$")


def multi_query(question: str, *, complete: Complete, count: int = 3) -> list[str]:
    """Return up to `count` paraphrases; [] if none is usable.

    Raises what `complete` raises.
    """
    return lines_of(complete(expansion_prompt("mqe", question, count=count)), question, count=count)


def sub_questions(question: str, *, complete: Complete, count: int = 4) -> list[str]:
    """Return up to `count` sub-questions; [] for simple questions.

    Raises what `complete` raises.
    """
    found = lines_of(
        complete(expansion_prompt("decompose", question, count=count)), question, count=count
    )
    return found if len(found) > 1 else []


def hypothetical_passage(question: str, *, complete: Complete) -> str:
    """Return a hypothetical answer passage (HyDE); "" on failure.

    Raises what `complete` raises.
    """
    return single_line(complete(expansion_prompt("hyde", question)))[:MAX_PASSAGE_CHARACTERS]


def single_line(reply: str) -> str:
    """Reduce a reply to one line without fences, labels and quotes."""
    text = " ".join(_FENCE.sub("", reply).split())
    return _LABEL.sub("", text).strip(_QUOTES + " ")


def lines_of(reply: str, question: str, *, count: int) -> list[str]:
    """Parse up to `count` questions from JSON, a numbered list or bare lines.

    Each once; without what is too long to be one, and without the question itself.
    """
    text = _FENCE.sub("", reply).strip()
    items = _json_texts(text)
    if items is None:
        items = [line for line in text.splitlines() if not _PREAMBLE.search(line)]
    tidy = (_LABEL.sub("", _BULLET.sub("", item)).strip(_QUOTES + " \t") for item in items)
    fitting = (line for line in tidy if 1 < len(line) <= MAX_LINE_CHARACTERS)
    known = {question.strip().casefold()}
    found: list[str] = []
    for line in fitting:
        if line.casefold() not in known:
            known.add(line.casefold())
            found.append(line)
    return found[:count]


def _json_texts(text: str) -> list[str] | None:
    """Return the texts of a JSON list, or of an object's first list; None otherwise.

    Of one that broke off, or is not quite JSON, what stands in quotes and is no key.
    """
    if text[:1] not in ("[", "{"):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return [said for said, is_key in _QUOTED.findall(text) if not is_key]
    if isinstance(data, dict):
        data = next((value for value in data.values() if isinstance(value, list)), [])
    texts = [next(iter(each.values()), "") if isinstance(each, dict) else each for each in data]
    return [each for each in texts if isinstance(each, str)]


def expansion_prompt(
    stage: str, question: str, *, count: int = 1, fenced: str = "", **values: str
) -> str:
    """Return the query expansion prompt `transform_<stage>` in the question's language."""
    return filled_prompt(
        f"retrieval/transform_{stage}",
        language=detect_language(question),
        fenced=fenced,
        question=question,
        count=str(count),
        **values,
    )


FirstPassages = Callable[[str, int], Sequence[str]]
"""Search function: query and count → title and text of the first passages."""
PASSAGES_READ = 3
MAX_STEP_CHARACTERS = 2_000
MAX_ANSWER_CHARACTERS = 120
_REFERENCE = lazy_regex(r"#(\d)")
_UNKNOWN = lazy_regex(
    r"^\W*(?:unknown|not (?:stated|known|given|mentioned)|未知|不知道|无法)", re.I
)


def search_steps(
    question: str, *, complete: Complete, first_passages: FirstPassages, count: int = 4
) -> list[str]:
    """Return the searches of a multi-hop question in order, each including earlier findings.

    [] of a question that needs one step. A step whose answer was not found is searched for as far
    as it is known.

    Raises what `complete` raises.
    """
    planned = lines_of(
        complete(expansion_prompt("steps", question, count=count)), question, count=count
    )
    if len(planned) < 2:
        return []
    wanted = {int(number) for step in planned for number in _REFERENCE.findall(step)}
    answers: dict[int, str] = {}
    found: list[str] = []
    for number, step in enumerate(planned, 1):
        text = _filled(step, answers)
        found.append(text)
        if number in wanted and number < len(planned):
            passages = first_passages(text, PASSAGES_READ)
            answers[number] = _answer(text, passages, complete) if passages else ""
    return list(dict.fromkeys(text for text in found if text))


def _filled(step: str, answers: dict[int, str]) -> str:
    # One pass: a "#2" inside an answer is never filled.
    text = _REFERENCE.sub(lambda match: answers.get(int(match[1]), ""), step)
    return " ".join(text.split())


def _answer(step: str, passages: Sequence[str], complete: Complete) -> str:
    """Extract a short answer to the step from the passages; "" if absent."""
    shown = "\n\n".join(passage[:MAX_STEP_CHARACTERS] for passage in passages)
    asked = expansion_prompt("step", step, fenced=f"{step}\x1f{shown}", passages=shown)
    said = single_line(complete(asked))
    return "" if _UNKNOWN.match(said) or len(said) > MAX_ANSWER_CHARACTERS else said.rstrip(".。")


Kind = Literal["mqe", "hyde", "decompose", "steps", "feedback"]
KINDS: tuple[Kind, ...] = ("mqe", "hyde", "decompose", "steps", "feedback")
FEEDBACK_PASSAGES = 3
"""Number of first passages used for feedback."""
_WEIGHTS: dict[Kind, float] = {
    "mqe": 0.5,
    "hyde": 0.5,
    "decompose": 1.0,
    "steps": 1.0,
    "feedback": 0.3,
}
"""Expansion weights besides the question's 1.

Paraphrases share theirs, sub-questions have it each.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """One search: BM25 text, embedded text ("" for neither) and its weight.

    `kind` is `question` for the question itself, else what made it.
    """

    keyword: str
    dense: str
    weight: float
    kind: Kind | Literal["question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedQuery:
    """Expanded query: searches with the question first, model calls and failures."""

    expansions: tuple[Expansion, ...]
    asked: int = 0
    failed: tuple[str, ...] = ()


Expander = Callable[[str, FirstPassages], ExpandedQuery]
"""A question, and how its first passages are found → its searches, itself first."""


def expand_query(
    question: str,
    *,
    kinds: Sequence[Kind],
    complete: Complete | None = None,
    first_passages: FirstPassages | None = None,
    idf: TokenWeight | None = None,
) -> ExpandedQuery:
    """Expand a question into several searches, itself first.

    Args:
        question: in words.
        kinds: what to make of it; the order means nothing.
        complete: prompt to text. Without it `mqe`, `hyde` and `steps` give nothing and `decompose`
            goes by grammar; where it raises a `ModelError` the kind is left out and the reason is
            kept (`decompose` then goes by grammar too).
        first_passages: a text and how many are wanted → title and text of the first passages that
            it finds; `feedback` and `steps` ask for them, and give nothing without.
        idf: how rare a token is; None takes all alike.
    """
    searches = [Expansion(keyword=question, dense=question, weight=1.0, kind="question")]
    asked, failed = 0, list[str]()

    def counted(prompt: str) -> str:
        nonlocal asked
        asked += 1
        return complete(prompt) if complete is not None else ""

    for kind in sorted(set(kinds), key=KINDS.index):
        made: list[Expansion] = []
        if complete is not None:
            try:
                made = _by_model(question, kind, counted, first_passages)
            except ModelError as error:
                failed.append(f"{kind}: {error}")
        if not made and kind == "decompose":
            made = _searches(question_parts(question), kind)
        if kind == "feedback" and first_passages is not None:
            made = _by_feedback(question, first_passages(question, FEEDBACK_PASSAGES), idf)
        searches += made
    return ExpandedQuery(expansions=tuple(searches), asked=asked, failed=tuple(failed))


def rank_expanded(
    found: Sequence[tuple[Expansion, Ranking]],
    *,
    pool: int = 100,
) -> Ranking:
    """Merge the rankings of several searches.

    Args:
        found: the searches with what each found, ranked without a walk, the question's first.
        pool: how many of its best rows each search brings.

    A row's best score counts where there are steps, each of which
    is sure of what it looks for; else its scores are added up. The lists are those of
    the question itself, and `expanded`, the merged scores.
    """
    first = found[0][1]
    weights = [expansion.weight for expansion, _ in found]
    scores = [ranking.scores for _, ranking in found]
    by_steps = any(expansion.kind == "steps" for expansion, _ in found)
    merged = merge_scores(scores, weights, method="max" if by_steps else "sum", pool=pool)
    return Ranking(scores=merged, lists={**first.lists, "expanded": merged})


def _by_model(
    question: str,
    kind: Kind,
    complete: Complete,
    first_passages: FirstPassages | None,
) -> list[Expansion]:
    match kind:
        case "mqe":
            wordings = multi_query(question, complete=complete)
            return _searches(wordings, kind, shared=True)
        case "decompose":
            return _searches(sub_questions(question, complete=complete), kind)
        case "steps":
            if first_passages is None:
                return []
            return _searches(
                search_steps(question, complete=complete, first_passages=first_passages), kind
            )
        case "hyde":
            passage = hypothetical_passage(question, complete=complete)
            # Its words are guesses: exact matching of them misleads, nearness does not.
            found = Expansion(keyword="", dense=passage, weight=_WEIGHTS[kind], kind=kind)
            return [found] if passage else []
        case "feedback":
            return []


def _by_feedback(
    question: str, passages: Sequence[str], idf: TokenWeight | None
) -> list[Expansion]:
    terms = feedback_terms(question, passages, idf=idf or (lambda _token: 1.0))
    words = " ".join(terms)
    found = Expansion(keyword=words, dense="", weight=_WEIGHTS["feedback"], kind="feedback")
    return [found] if words else []


def _searches(texts: Sequence[str], kind: Kind, *, shared: bool = False) -> list[Expansion]:
    weight = _WEIGHTS[kind] / (len(texts) if shared and texts else 1)
    return [Expansion(keyword=text, dense=text, weight=weight, kind=kind) for text in texts]
