"""The reader that weighs texts by their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.answering.extractive.answer import extractive_answer
from engine.answering.extractive.block_candidates import Reader
from engine.answering.extractive.evidence import is_of_other_names
from engine.answering.extractive.likeness import (
    EVEN,
    LOGITS,
    UNLIKE,
    LikenessReader,
    ReaderWithVectors,
    answer_across,
    likeness_reader,
    with_other_language,
    with_sides_told_elsewhere,
)
from engine.answering.packing import Draft, abstain, cite_span
from engine.embeddings.bundled import BundledEmbedding
from engine.embeddings.cross_encoder import CrossEncoder
from engine.embeddings.question_encoder import QuestionEncoder
from engine.embeddings.token_reader import TokenReader
from engine.prompts import HESITATION, UNSURE, is_abstention
from engine.types import Citation, Passage

_ASKED = "什么是缆？"
CABLE = "How long is the cable?"


class _Near(QuestionEncoder):
    """Vectors by whether a text holds the question's word."""

    def _embed(self, kind: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[1.0, 0.0] if "缆" in text else [0.0, 1.0] for text in texts], np.float32)


def _passage(text: str) -> Passage:
    return Passage(
        text=text, score=1.0, relevance=0.5, document_id=text[:4], chunk_id=text[:4],
        title="", start=0, end=len(text),
    )  # fmt: skip


def test_texts_of_the_questions_language_are_read_by_their_tokens() -> None:
    def tokens(_question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([float(len(text)) for text in texts])

    read = LikenessReader(_Near(), tokens)

    assert read(_ASKED, ["缆在", "人", "缆在"]).tolist() == [2.0, 1.0, 2.0]


def test_whole_texts_weigh_by_their_cosine_without_the_title() -> None:
    read = LikenessReader(_Near(), TokenReader())
    long = "人在岸上走来走去，船在港里停着不动，海风吹着灯塔。" * 9 + "缆在海底。"

    near, above, other = read.whole(_ASKED, [long, "书: 缆\n人。", "缆: 站\n人。"])

    assert near == above == pytest.approx(LOGITS * (1 - UNLIKE))
    assert other == pytest.approx(-LOGITS * UNLIKE)


def test_vectors_stand_beside_the_cross_encoder() -> None:
    reader, model = CrossEncoder(), BundledEmbedding()
    read = ReaderWithVectors(reader, model)
    texts = ["The boat is white.", "The cable is twelve miles long."]

    cosines = read.whole(CABLE, texts)

    assert read(CABLE, texts).tolist() == reader(CABLE, texts).tolist()
    assert read.read(CABLE, texts)[1] == reader.read(CABLE, texts)[1]
    assert cosines == pytest.approx(model.embed(texts) @ np.array(model.get_query_embedding(CABLE)))
    assert cosines[1] > cosines[0]


def test_nothing_reads_without_the_encoder() -> None:
    assert likeness_reader(None) is None
    assert likeness_reader(_Near()) is not None


PACKAGES = "要卸载一个程序，请运行 apt remove，再写程序名。\n设置文件会留下；要删除请用 apt purge。"
FERRY = "邮船每周一从港口开往岛上，船票要提前一天买。"


@pytest.mark.parametrize(
    ("question", "texts", "said"),
    [
        pytest.param(
            "How do I uninstall a program?", (FERRY, PACKAGES), "要卸载一个程序", id="English"
        ),
        pytest.param(
            "邮船星期几开往岛上？",
            ("Bread is baked at noon.", "The mail boat sails to the island on Mondays."),
            "The mail boat sails to the island on Mondays.",
            id="Chinese",
        ),
    ],
)
def test_a_question_across_languages_is_answered_by_the_nearest_block_whole(
    question: str, texts: Sequence[str], said: str
) -> None:
    read = likeness_reader(QuestionEncoder())

    draft = extractive_answer(
        question, [_passage(text) for text in texts], weight=len, one_excerpt=True, likeness=read
    )

    assert not draft.abstained
    (citation,) = draft.citations
    assert citation.quote.startswith(said)


@pytest.mark.parametrize("heading", ["林海大学", "林海大学（Linhai University） [3]"])
def test_a_side_of_which_another_language_tells_stands_below_the_other_one(heading: str) -> None:
    texts = {
        "Halden Station": "The Halden Station is a research station that employs 46 people.",
        "Guide": "The Halden Station compares well with Linhai University, its partner.",
        "林海大学": f"## {heading}\n\n林海大学（Linhai University）位于海边的临澜市，"
        "创办于1958年，有学生一万人。\n",
    }

    draft = extractive_answer(
        "Compare Linhai University and the Halden Station.",
        [replace(_passage(text), title=title) for title, text in texts.items()],
        weight=len, one_excerpt=True,
        read=CrossEncoder(), likeness=likeness_reader(QuestionEncoder()),
    )  # fmt: skip

    assert "林海大学" in {each.title for each in draft.citations}
    assert [each.number for each in draft.citations] == [*range(1, 1 + len(draft.citations))]
    assert "有学生一万人" in draft.text
    assert "may not answer" not in draft.text.partition("\n\n")[2]


def _told(text: str, title: str, *, abstained: bool = False) -> Draft:
    cited = Citation(
        number=1, document_id=title, chunk_id=title, title=title, quote=text, start=0, end=9
    )
    return Draft(text=f"{text} [1]", citations=(cited,), abstained=abstained, evidence=0.9)


def test_each_side_that_is_told_without_doubt_is_added() -> None:
    answers = {
        "Alpha": _told("Alpha is a rope.\n\nx = nodes[9]", "Alpha"),
        "Beta": _told(f"{HESITATION['en']}\n\nBeta was seen.", "Beta"),
        "Delta": _told("Delta is told.", "Delta", abstained=True),
    }

    def tell(asked: str) -> Draft:
        return next(told for name, told in answers.items() if name in asked)

    question = "Compare Alpha, Beta, Delta and Gamma."
    draft = with_sides_told_elsewhere(_told("Gamma is a knot.", "Gamma"), question, tell)

    assert draft.text == "Gamma is a knot. [1]\n\nAlpha is a rope.\n\nx = nodes[9] [2]"
    assert [(each.number, each.title) for each in draft.citations] == [(1, "Gamma"), (2, "Alpha")]


@pytest.mark.parametrize(("above", "is_declined"), [(2.0, False), (0.2, True)])
def test_a_block_of_both_languages_answers_where_it_stands_out_from_the_others(
    above: float, is_declined: bool
) -> None:
    texts = [
        "卸载 removes a package and all of its settings: run apt purge and the name of it.",
        "卸载 removes a package and leaves its settings: run apt remove and the name of it.",
    ]

    def read(_question: str, read: Sequence[str]) -> NDArray[np.float64]:
        return np.array([EVEN + 4.0 + above * ("purge" in text) for text in read])

    draft = answer_across(
        "怎么卸载一个程序并删除设置？",
        [_passage(text) for text in texts],
        read=read,
        text_at=None,
        min_evidence=0.25,
        within=lambda _: abstain("zh", detail="nothing"),
    )

    assert draft.abstained is is_declined
    assert draft.evidence is not None
    assert (draft.evidence < 0.5) is is_declined


def test_a_question_that_no_text_of_the_other_language_answers_is_declined() -> None:
    read = likeness_reader(QuestionEncoder())

    draft = extractive_answer(
        "Who won the chess championship?",
        [_passage(text) for text in (FERRY, PACKAGES)],
        weight=len,
        one_excerpt=True,
        likeness=read,
    )

    assert draft.abstained


def test_where_no_text_of_the_other_language_answers_those_of_ones_own_are_read() -> None:
    texts = ("Bread is baked at noon.", "Eggs are sold by the gate on Fridays.", FERRY)

    draft = extractive_answer(
        "去岛上的船票要提前多久买？",
        [_passage(text) for text in texts],
        weight=len,
        one_excerpt=True,
        likeness=likeness_reader(QuestionEncoder()),
    )

    assert "船票要提前一天买" in draft.text
    assert all(citation.quote in FERRY for citation in draft.citations)


def test_what_is_near_in_the_other_language_is_told_where_ones_own_says_nothing() -> None:
    near = "A foreign text on the cable."

    draft = answer_across(
        _ASKED,
        [_passage(near), _passage("书在架上。")],
        read=lambda _question, texts: np.array([EVEN - 0.5 for _ in texts]),
        text_at=None,
        min_evidence=0.25,
        within=lambda passages: abstain("zh", detail=f"{len(passages)} passage(s)"),
    )

    assert draft.abstained
    assert near in draft.text


def test_texts_of_ones_own_language_are_not_weighed_as_foreign_ones() -> None:
    foreign, own = "这根缆长142公里。", "The cable is said to be long by those who laid it."
    within = Draft(text=own, citations=(_cited(_passage(own)),), evidence=0.3, detail="within")

    def answered(near: float) -> Draft:
        return answer_across(
            CABLE,
            [_passage(foreign), _passage("书在架上。"), _passage(own)],
            read=lambda _question, texts: np.array(
                [EVEN + 3.9 if text.endswith(own) else near for text in texts]
            ),
            text_at=None,
            min_evidence=0.25,
            within=lambda _: within,
        )

    assert foreign in answered(EVEN + 2.0).text
    assert answered(EVEN - 2.0) == within


@pytest.mark.parametrize(
    ("own", "is_doubted", "before", "is_told"),
    [
        pytest.param(EVEN + 1.8, False, "It was laid by a ship.", True, id="half translated"),
        pytest.param(EVEN + 1.8, False, "缆是一艘船铺的。", True, id="in the own language"),
        pytest.param(EVEN + 1.0, False, "It was laid by a ship.", False, id="farther"),
        pytest.param(EVEN + 2.9, True, "It was laid by a ship.", False, id="doubted"),
        pytest.param(EVEN + 3.1, True, "It was laid by a ship.", True, id="plainly nearer"),
    ],
)
def test_what_is_hardly_farther_answers_in_the_language_of_the_question(
    own: float, is_doubted: bool, before: str, is_told: bool
) -> None:
    said = "这根缆长142公里。"
    page = replace(_passage(f"{before}\n\n{said}"), document_id="page")
    doubt = f"{HESITATION['zh']}\n\n" * is_doubted
    cited = replace(_cited(page), quote=said)
    within = Draft(text=f"{doubt}{said}", citations=(cited,), evidence=0.95, detail="within")

    draft = answer_across(
        "缆有多长？",
        [_passage("A foreign text on the cable."), page],
        read=lambda _question, texts: np.array(
            [own if text.endswith(said) and before not in text else EVEN + 2.0 for text in texts]
        ),
        text_at=None,
        min_evidence=0.25,
        within=lambda _: within,
    )

    assert (draft == within) is is_told


def test_a_block_that_lacks_the_latin_names_of_a_chinese_question_is_another_one() -> None:
    told = [_passage("Debian kernels are compiled with make deb-pkg.")]
    assert is_of_other_names("在 Debian 上怎么装拼音输入法，fcitx 还是 ibus 好？", told)
    assert not is_of_other_names("Debian 的内核怎么编译？", told)
    assert not is_of_other_names("Debian12 的内核怎么编译？", told)
    assert not is_of_other_names("怎么编译内核？", told)
    assert not is_of_other_names("How do I install fcitx?", told)


def _likeness(logits: dict[str, float]) -> Reader:
    """Return a reader that gives a text the logit of the first of these words that it holds."""

    def read(_question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        found = (next(logit for word, logit in logits.items() if word in text) for text in texts)
        return np.array(list(found))

    return read


@pytest.mark.parametrize(
    ("ferry", "is_shown", "is_declined"),
    [
        pytest.param(EVEN + 1.0, True, False, id="likely"),
        pytest.param(EVEN - 0.5, True, True, id="as near"),
        pytest.param(EVEN - 4.0, False, True, id="far"),
    ],
)
def test_a_doubtful_answer_is_joined_by_what_is_as_near_in_another_language(
    ferry: float, *, is_shown: bool, is_declined: bool
) -> None:
    own = _passage("Bread is baked at noon in the village by the gate.")
    text = f"{UNSURE['en']}\n\nBread is baked. [1]"
    doubtful = Draft(text=text, abstained=True, citations=(_cited(own),), evidence=0.05)

    draft = with_other_language(
        doubtful, "When does the ferry sail?", [_passage(FERRY)],
        read=_likeness({"Bread": EVEN, "邮船": ferry}), text_at=None, min_evidence=0.25,
    )  # fmt: skip

    assert ("船票要提前一天买" in draft.text) is is_shown
    assert [each.number for each in draft.citations] == ([1, 2] if is_shown else [1])
    assert draft.abstained is is_declined
    assert draft.text.endswith("[2]" if is_shown else "[1]")
    assert is_abstention(draft.text) is is_declined
    assert (draft.evidence == 0.05) is is_declined


@pytest.mark.parametrize(("ferry", "is_plain"), [(EVEN + 2.0, True), (EVEN - 0.1, False)])
def test_what_is_told_already_does_not_join_itself(ferry: float, *, is_plain: bool) -> None:
    mixed = _passage(FERRY)
    doubtful = Draft(text="邮船 [1]", abstained=True, citations=(_cited(mixed),), evidence=0.05)

    draft = with_other_language(
        doubtful, "When does the ferry sail?", [mixed],
        read=_likeness({"邮船": ferry}), text_at=None, min_evidence=0.25,
    )  # fmt: skip

    assert (draft == doubtful) is not is_plain
    assert draft.text.count("[1]") == 1
    assert len(draft.citations) == 1
    assert draft.abstained is not is_plain


def test_what_plainly_answers_in_another_language_stands_before_a_doubtful_answer() -> None:
    bread, oil = (_passage(text) for text in ("Bread is baked at noon.", "Oil is dear."))
    cited = (_cited(bread), replace(_cited(oil), number=2))
    text = f"{HESITATION['en']}\n\nBread is baked at noon. [1]\nOil is dear. [2]"
    doubtful = Draft(text=text, citations=cited, evidence=0.2)

    draft = with_other_language(
        doubtful, "When does the ferry sail?", [_passage(FERRY)],
        read=_likeness({"Bread": EVEN, "Oil": EVEN, "邮船": EVEN + 2.0}), text_at=None,
        min_evidence=0.25,
    )  # fmt: skip

    first, below = draft.text.split(HESITATION["en"])
    assert first.startswith("邮船每周一")
    assert first.rstrip().endswith("[1]")
    assert below.strip() == "Bread is baked at noon. [2]\nOil is dear. [3]"
    assert [each.number for each in draft.citations] == [1, 2, 3]
    assert [each.quote for each in draft.citations[1:]] == [each.quote for each in cited]
    assert draft.evidence is not None
    assert draft.evidence >= 0.8


def test_another_language_answers_alone_where_ones_own_told_nothing() -> None:
    draft = with_other_language(
        abstain("en", detail="nothing"), "When does the ferry sail?", [_passage(FERRY)],
        read=_likeness({"邮船": EVEN + 2.0}), text_at=None, min_evidence=0.25,
    )  # fmt: skip

    assert not draft.abstained
    assert draft.text.startswith("邮船每周一")


def test_a_title_is_no_answer_across_languages() -> None:
    question, told = (
        "怎么升级到第二版？",
        "To upgrade run the upgrade command and read what it says.",
    )

    draft = extractive_answer(
        question, [_passage("Version Two"), _passage(told)], weight=len, one_excerpt=True,
        likeness=likeness_reader(QuestionEncoder()),
    )  # fmt: skip

    assert [each.quote for each in draft.citations] in ([told], [])


def _cited(passage: Passage) -> Citation:
    return cite_span(passage, 0, len(passage.text), number=1)
