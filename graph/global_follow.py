"""Follow-up of a global search: chunks as reports, and names to search next.

What DRIFT search (microsoft/graphrag, 2024) asks a language model for, follow-up questions, is here
made of the names and terms that the best points hold and the question does not. Pure: which names
stand in a text, others know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from .global_match import Tokens
from .global_search import Point
from .model import Chunk, Evidence, Finding, Report
from .sentences import sentence_spans

_READ = 12
"""Number of best points examined for follow-up names."""

_LEAST_TERMS = 3
"""A sentence of fewer tokens says nothing that could be cited."""


def chunk_reports(
    grouped: Mapping[str, Sequence[str]],
    chunks: Mapping[str, Chunk],
    *,
    titles: Mapping[str, str],
    tokens: Tokens,
    choose: Callable[[Sequence[Finding]], Sequence[Finding]] | None = None,
) -> list[Report]:
    """Convert chunks to reports: one per community, with sentences as findings.

    Args:
        grouped: community id → chunk ids; the sheets come in its order.
        chunks: by id; ids that are missing are left out.
        titles: what communities are called; others take the title of their first chunk.
        tokens: of a sentence; one of few tokens is left out, and so are headings.
        choose: which sentences of a chunk are kept; all of them without it.
    """
    found: list[Report] = []
    for key, ids in grouped.items():
        held = [chunks[one] for one in ids if one in chunks]
        findings: list[Finding] = []
        for chunk in held:
            said = _sentences(chunk, tokens)
            findings.extend(choose(said) if choose is not None else said)
        if findings:
            found.append(
                Report(
                    community_id=key,
                    level=0,
                    title=titles.get(key, "") or held[0].title,
                    summary="",
                    rating=1.0,
                    findings=tuple(findings),
                    fingerprint="",
                )
            )
    return found


def _sentences(chunk: Chunk, tokens: Tokens) -> list[Finding]:
    found: list[Finding] = []
    for start, end in sentence_spans(chunk.text):
        text = " ".join(chunk.text[start:end].split())
        if len(tokens(text)) >= _LEAST_TERMS and not text.startswith("#"):
            place = Evidence(chunk_id=chunk.id, start=start, end=end)
            found.append(Finding(text=text, evidences=(place,)))
    return found


def follow_up_terms(
    question: str,
    points: Sequence[Point],
    *,
    names_in: Callable[[str], Sequence[str]],
    tokens: Tokens,
    limit: int,
    known: Sequence[str] = (),
) -> list[str]:
    """Return names in the best points absent from the question, by weight.

    A name weighs what the points weigh that hold it, each next one half: what leads on runs
    through several points without standing in all of them. `names_in` gives the names in a text as
    they are called; what shares all its tokens with the question, or with a name in `known`, leads
    nowhere new.
    """
    asked = frozenset(tokens(question))
    told = {frozenset(tokens(name)) for name in known}
    weights: dict[str, float] = defaultdict(float)
    holders: dict[str, int] = defaultdict(int)
    for point in points[:_READ]:
        for name in sorted(set(names_in(point.text))):
            terms = frozenset(tokens(name))
            if terms and not terms <= asked and terms not in told:
                weights[name] += point.score * 0.5 ** holders[name]
                holders[name] += 1
    everywhere = min(len(points), _READ)
    leading = [name for name in weights if holders[name] < everywhere or everywhere < 2]
    return sorted(leading, key=lambda name: (-weights[name], name))[:limit]
