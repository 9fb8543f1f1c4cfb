"""Sentences of an overview can be read alone."""

from __future__ import annotations

import pytest

from engine.answering.global_search.standalone import (
    is_listing,
    speaker_at,
    standalone_spans,
    stands_alone,
)


@pytest.mark.parametrize(
    "sentence",
    [
        "The cable was laid between May and June 2014 by the Ursula Quillon.",
        "Debian is a free operating system that volunteers all over the world build together.",
        "In 1956 the company hired its first chief engineer, a young man from Trieste.",
        "The soldiers' cable was 6' wide and was laid in '84 by the Ursula Quillon.",
        "临澜海洋大学位于东海之滨的港口城市临澜市，创办于1958年。",
    ],
)
def test_a_complete_sentence_with_its_subject_stands_alone(sentence: str) -> None:
    assert stands_alone(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        pytest.param("It was laid between May and June 2014 by the Ursula Quillon.", id="pronoun"),
        pytest.param("When it was laid in June 2014, the ship had no splice to make.", id="early"),
        pytest.param("These packages are built by volunteers all over the world.", id="these"),
        pytest.param("However, the cable was laid by the Ursula Quillon in 2014.", id="however"),
        pytest.param("Report on the Repair Fund of the LANTERN Cable, volume two.", id="no verb"),
        pytest.param("Who laid the cable between Port Ansgar and Gannet Head in 2014?", id="asks"),
        pytest.param("The cable was laid.", id="short"),
        pytest.param("See the manual, which was written by the project for new users.", id="see"),
        pytest.param("The manual is at https://example.org and was written for users.", id="url"),
        pytest.param("| Node | 40 m | was put in service in 2014 by the station |", id="table"),
        pytest.param("The following programs are part of the system since the first:", id="list"),
        pytest.param("'The cable was cut by the anchor,' said the captain of the barge", id="torn"),
        pytest.param("它位于东海之滨的港口城市临澜市，创办于1958年。", id="zh pronoun"),
        pytest.param("因此，该校在1958年迁到了东海之滨的港口城市。", id="zh leaning"),
    ],
)
def test_a_sentence_that_leans_on_others_or_is_none_does_not_stand_alone(sentence: str) -> None:
    assert not stands_alone(sentence)


def test_the_name_of_a_speaker_is_left_out_of_the_span() -> None:
    text = "# Minutes\n\n**LIND:** The company paid the institute seven hundred euros for it."
    assert [text[slice(*span)] for span in standalone_spans(text)] == [text[text.index("The co") :]]


def test_labels_and_long_enumerations_are_listings() -> None:
    assert is_listing("Place: Customs House Present: the mayor and the clerk.")
    assert is_listing("holly, berries, ivy, geese, game, brawn, meat, pigs, oysters, pies, punch")
    assert not is_listing("The mayor, the clerk and the engineer met in the Customs House.")


def test_a_brief_sentence_is_read_with_the_one_behind_it() -> None:
    text = "Xen is a hypervisor. It lies between the hardware and the systems that use it."
    assert [text[start:end] for start, end in standalone_spans(text)] == [text]


def test_a_brief_sentence_of_the_writers_own_is_not_read_with_the_next() -> None:
    text = "Our boat was lost. They found it on the beach below the cliffs of Vey in May."
    assert list(standalone_spans(text)) == []


def test_a_sentence_is_not_read_with_one_of_another_paragraph() -> None:
    text = "The mill of Vey is a building of grey stone.\n\nIts roof was mended in the year 1870."
    assert [text[start:end] for start, end in standalone_spans(text)] == [text.partition("\n")[0]]


def test_a_message_is_said_by_its_sender() -> None:
    text = "From: Ada Quill (Kelder)\nTo: Bo Lund\nSubj: the boat\n\nI am late again."
    assert speaker_at(text, text.index("I am")) == "Ada Quill"
    sent = (
        "From: Ada\nReply-To: Bo\n\nI am late.\n\n**From:** Cy Lund <cy@vey.example>\nDate: 5 May"
    )
    assert speaker_at(sent, sent.index("I am")) == "Ada"
    assert speaker_at(sent, len(sent)) == "Cy Lund"
    assert speaker_at("From: <bo@vey.example>\nDate: 5 May\n\nYes.", 40) == ""
    assert speaker_at("ADA: Yes.\nBO LUND: I am late.", 19) == "BO LUND"
