"""Readers for what the English cross-encoder does not read: likeness of question and text.

A text in the question's language is compared with it token by token, one in another language, which
shares no words with it, by the cosine of their vectors: the encoder was trained to lay a question
beside the text that answers it. Both stand in the place of a cross-encoder's logit, on about the
same scale. What is in another language is answered by its nearest block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from graph.text.cjk import in_script_of

from ...embeddings.question_encoder import QuestionEncoder
from ...embeddings.token_reader import TokenReader
from ...prompts import HESITATION, UNSURE, language_of
from ...storage.tokenization import tokens
from ...types import Answer, Citation, Passage
from ..packing import Draft, TextAt, abstain, cite_span
from ..passage_order import in_other_language, in_own_language, is_across
from .block_candidates import READ_PASSAGES, Reader, WholeReader, bare_sides, to_the_end
from .evidence import is_of_other_names, probability
from .excerpt import nearest_excerpt
from .extent import Excerpt, render_excerpt
from .intent import compared_sides, question_intent, question_of_side, shows_intent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...embeddings.cross_encoder import CrossEncoder
    from ...embeddings.embedding_model import EmbeddingModel
    from ...embeddings.span_reading import Reading

LOGITS, UNLIKE = 14.8, -0.06
"""Logits of a cosine of 1 above one of 0, and the cosine of texts that have nothing in common."""


OPENING = 450
"""Characters of an English text of which a vector is made."""


class LikenessReader:
    """Reader of texts that are in the question's language by their tokens, of others as a whole.

    Args:
        encoder: has vectors of questions and texts.
        tokens: reads a question and texts in its language.
    """

    def __init__(self, encoder: QuestionEncoder, tokens: Reader) -> None:
        self._encoder = encoder
        self._tokens = tokens

    def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit for each text, in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        return self._tokens(question, texts)

    def fully(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit for each text, in input order; all are read to the end."""
        return to_the_end(self._tokens)(question, texts)

    def whole(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit for each text by the cosine of its vector, in input order.

        A text is read with its heading, which is often the question itself, without its title.
        """
        by = self._encoder.questions([question])[0].astype(np.float64)
        read = [_without_title(text) for text in texts]
        cosines: NDArray[np.float64] = self._encoder.texts(read).astype(np.float64) @ by
        return LOGITS * (cosines - UNLIKE)


class ReaderWithVectors:
    """The cross-encoder, and beside it the vectors by which passages are found.

    Args:
        reader: reads a question and a text together.
        model: has vectors of texts and of questions, in one space.
    """

    def __init__(self, reader: CrossEncoder, model: EmbeddingModel) -> None:
        self._reader = reader
        self._model = model

    def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the cross-encoder's logit for each text, in input order."""
        return self._reader(question, texts)

    def fully(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the cross-encoder's logit for each text, all read to the end."""
        return self._reader.fully(question, texts)

    def read(self, question: str, texts: Sequence[str]) -> list[Reading]:
        """Return the cross-encoder's reading of each text, in input order."""
        return self._reader.read(question, texts)

    def whole(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the cosine of the vectors of each text's opening and the question, in input order.

        The rest of a block tells less of what it is about than it costs.
        """
        by = np.array(self._model.get_query_embedding(question), dtype=np.float64)
        vectors = self._model.get_text_embedding_batch([text[:OPENING] for text in texts])
        cosines: NDArray[np.float64] = np.array(vectors, dtype=np.float64) @ by
        return cosines


def _without_title(text: str) -> str:
    head, _, body = text.partition("\n")
    return f"{head.rpartition(': ')[2]}\n{body}".strip()


def likeness_reader(encoder: QuestionEncoder | None) -> LikenessReader | None:
    """Return a reader by the question encoder; None without one."""
    return LikenessReader(encoder, TokenReader(encoder.environment)) if encoder else None


DECLINED = 0.12
"""Probability that the nearest block answers, below which not even that is told."""
OTHER_NAMES = 0.2
"""Probability that a block answers where no passage has most of the question's Latin names."""
PLAIN = 0.8
"""Probability that it answers from which the nearest block in another language stands first."""
FAIRLY = 1.0
"""Logits by which a text in another language may lie below one in the question's own and be as near
to it: vectors lay texts of one language together."""
HARDLY, LESS = 0.5, 0.1
"""Logits, and probability, by which an answer in the question's own language may lie below a block
of another one and stand in its place. The nearest block is often one without an answer."""
NEARER = {"zh": 1.0, "en": 2.0}
"""Logits by which an answer in the question's own language is plainly nearer, however sure. Of 45
Chinese questions answered in the other language none is so near in its own, of 19 where its own
answers 5 are; of 11 English ones answered in the other one lies 1.6 above."""
ODDS, EVEN = 2.0, 5.4
"""Log odds of a logit that the nearest block answers, and the logit of even odds: of 28 Chinese
questions on English pages of Debian 13 of 14 lie above it, of others' 1 of 14."""


def answer_in_any_language(
    question: str,
    passages: Sequence[Passage],
    within: Callable[[Sequence[Passage]], Draft],
    *,
    likeness: WholeReader,
    text_at: TextAt | None,
    min_evidence: float,
) -> Draft:
    """Answer `within` passages in the question's language, or from others where these tell it."""
    if passages and is_across(question, passages):
        return answer_across(
            question, passages,
            read=likeness.whole, text_at=text_at, min_evidence=min_evidence, within=within,
        )  # fmt: skip
    draft = within(passages)
    other = in_other_language(question, passages[:READ_PASSAGES])
    if not other or not is_doubtful(draft, question):
        return draft
    return with_other_language(
        draft, question, other, read=likeness.whole, text_at=text_at, min_evidence=min_evidence
    )


def is_doubtful(draft: Draft | Answer, question: str) -> bool:
    """Check for an abstention, or an answer that stands below a word of doubt."""
    return draft.abstained or draft.text.startswith(
        in_script_of(question, HESITATION[language_of(question)])
    )


def answer_across(
    question: str,
    passages: Sequence[Passage],
    *,
    read: Reader,
    text_at: TextAt | None,
    min_evidence: float,
    within: Callable[[Sequence[Passage]], Draft],
) -> Draft:
    """Answer by the nearest block in another language, else `within` the question's own.

    What is told in the question's own without doubt stands, too, where it is hardly farther, and
    anything that is plainly nearer.
    Where neither answers, what is nearest in the other language is told if it is near at all.
    """
    least = min(1.0, 2 * min_evidence)  # by default even odds: few right blocks lie below them
    other = in_other_language(question, passages)  # how likely it is, is fitted to these alone
    told = _nearest_told(question, other, read=read, text_at=text_at, least=least)
    own = in_own_language(question, passages)
    if not own:
        return told
    answer = within(own)
    if not answer.citations or not told.citations:
        return told if told.citations and answer.abstained else answer
    ahead = _nearness(question, answer, read) - told.figures["logit"]
    if ahead >= NEARER[language_of(question)]:
        return answer
    if told.abstained or answer.abstained:
        return told if answer.abstained else answer
    if is_doubtful(answer, question) or (answer.evidence or 0.0) < (told.evidence or 0.0) - LESS:
        return told
    is_near = ahead >= -HARDLY
    return answer if is_near else told


def with_other_language(
    draft: Draft,
    question: str,
    passages: Sequence[Passage],
    *,
    read: Reader,
    text_at: TextAt | None,
    min_evidence: float,
) -> Draft:
    """Add to a doubtful answer what is as near to the question in another language.

    `passages` are those in that language, best first. It stands alone where nothing was told in the
    question's own, and first where it plainly answers. Where it is likely to answer, what was
    declined becomes an answer.
    """
    least = min(1.0, 2 * min_evidence)
    if not draft.citations:
        told = _nearest_told(question, passages, read=read, text_at=text_at, least=least)
        return told if told.citations else draft
    found = _nearest(question, passages, read=read, text_at=text_at)
    near = _nearness(question, draft, read)
    if found is None or (found[0].logit or 0.0) < near - FAIRLY:
        return draft
    excerpt, held = found
    if held < DECLINED:
        return draft
    added = cite_span(excerpt.source, excerpt.start, excerpt.end, number=1 + len(draft.citations))
    if held >= PLAIN:
        return _ahead(draft, excerpt, held, replace(added, number=1), question)
    if any(_overlap(each, added) for each in draft.citations):
        return draft
    text, is_told = draft.text, held >= least
    if draft.abstained and is_told:
        language = language_of(question)
        unsure, doubt = (in_script_of(question, each[language]) for each in (UNSURE, HESITATION))
        text = f"{doubt}{text.removeprefix(unsure)}" if text.startswith(unsure) else text
    return replace(
        draft,
        text=f"{text}\n\n{render_excerpt(excerpt, added.number)}",
        citations=(*draft.citations, added),
        abstained=draft.abstained and not is_told,
        evidence=max(draft.evidence or 0.0, held) if is_told else draft.evidence,
        detail=f"{draft.detail}; nearest of another language, evidence {held:.2f}",
    )


def with_sides_told_elsewhere(draft: Draft, question: str, tell: Callable[[str], Draft]) -> Draft:
    """Add to a comparison what is told of sides that it is not about, those told without doubt.

    `tell` answers a question. Where only the other language tells of a side, nothing in the
    question's own compares both.
    """
    sides = compared_sides(question) if question_intent(question) == "comparison" else ()
    if not sides or draft.abstained:
        return draft
    whole = draft
    for side, name in zip(sides, bare_sides(sides), strict=True):
        asked, intent = question_of_side(question, side, sides)
        if intent != "definition" or _is_about(draft, asked, name):
            continue
        told = tell(asked)
        is_told = bool(told.citations) and not is_doubtful(told, asked) and _names(told, name)
        if is_told and not any(_overlap(one, told.citations[0]) for one in whole.citations):
            whole = _below(whole, told)
    return whole


def _is_about(draft: Draft, asked: str, name: str) -> bool:
    """Check that an answer says what a thing is, or quotes a text that is called so."""
    titles = [set(tokens(each.title)) for each in draft.citations]
    is_titled = any(set(tokens(name)) <= title for title in titles)
    return is_titled or shows_intent("definition", draft.text, asked)


def _names(draft: Draft, name: str) -> bool:
    said = (draft.text, *(each.title for each in draft.citations))
    return set(tokens(name)) <= set(tokens("\n".join(said)))


def _below(draft: Draft, told: Draft) -> Draft:
    """Return an answer with the first excerpt of another one below it."""
    first, number = told.citations[0], 1 + len(draft.citations)
    marks = [mark for mark in _LAST_MARK.finditer(told.text) if int(mark[1]) == first.number]
    text = told.text[: marks[0].start()] if marks else told.text
    citations = (*draft.citations, replace(first, number=number))
    return replace(
        draft, text=f"{draft.text}\n\n{text.rstrip()} [{number}]", citations=citations, short=None
    )


def _nearness(question: str, draft: Draft, read: Reader) -> float:
    """Return the logit of the nearest of the texts that an answer quotes."""
    quotes = [f"{each.title}\n{each.quote}" for each in draft.citations]
    return float(read(question, quotes).max())


def _ahead(draft: Draft, excerpt: Excerpt, held: float, added: Citation, question: str) -> Draft:
    """Return what is likely to answer in another language, and below it the doubtful answer."""
    language = language_of(question)
    unsure, doubt = (in_script_of(question, each[language]) for each in (UNSURE, HESITATION))
    kept = [each for each in draft.citations if not _overlap(each, added)]
    numbers = {each.number: row for row, each in enumerate(kept, start=2)}
    ends = [mark.end() for mark in _LAST_MARK.finditer(draft.text)]
    parts = [draft.text[start:end] for start, end in pairwise([0, *ends])]
    told = [part for part in parts if int(_LAST_MARK.findall(part)[-1]) in numbers]
    below = _LAST_MARK.sub(
        lambda mark: f"[{numbers.get(int(mark[1]), mark[1])}]", "".join(told)
    ).strip()
    below = below.removeprefix(unsure).removeprefix(doubt).strip()
    return replace(
        draft,
        text="\n\n".join([render_excerpt(excerpt, 1), *([doubt, below] if below else ())]),
        citations=(added, *(replace(each, number=numbers[each.number]) for each in kept)),
        abstained=False,
        short=None,
        evidence=held,
        detail=f"{draft.detail}; answered in another language, evidence {held:.2f}",
    )


_LAST_MARK = re.compile(r"\[(\d+)\](?=\s*(?:\n|$))")
"""Mark of a citation at the end of what is quoted."""


def _overlap(one: Citation, other: Citation) -> bool:
    is_same = one.document_id == other.document_id
    return is_same and one.start < other.end and other.start < one.end


def _nearest(
    question: str, passages: Sequence[Passage], *, read: Reader, text_at: TextAt | None
) -> tuple[Excerpt, float] | None:
    """Return the nearest block in another language, and the probability that it answers."""
    best = nearest_excerpt(question, passages, read=read, text_at=text_at)
    if best is None or best.logit is None:
        return None
    held = best.likely
    if held is None:
        held = probability(ODDS * (best.logit - EVEN))
    if is_of_other_names(question, passages):
        held = min(held, OTHER_NAMES)
    return best, held


def _nearest_told(
    question: str,
    passages: Sequence[Passage],
    *,
    read: Reader,
    text_at: TextAt | None,
    least: float,
) -> Draft:
    """Return the nearest block, below a word of doubt where its evidence is under `least`."""
    language = language_of(question)
    found = _nearest(question, passages, read=read, text_at=text_at)
    if found is None:
        return abstain(language, detail="nothing to compare the question with")
    best, held = found
    figures = {"held": held, "evidence": held, "logit": best.logit or 0.0}
    detail = f"nearest block of another language, likeness {best.logit:.1f}, evidence {held:.2f}"
    if held < DECLINED:
        return abstain(language, detail=detail, evidence=held, figures=figures)
    text = render_excerpt(best, 1)
    if held < least:
        text = f"{in_script_of(question, UNSURE[language])}\n\n{text}"
    return Draft(
        text=text,
        citations=(cite_span(best.source, best.start, best.end, number=1),),
        abstained=held < least,
        evidence=held,
        detail=detail,
        figures=figures,
    )
