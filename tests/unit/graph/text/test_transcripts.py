from __future__ import annotations

from graph.text.transcripts import speakers_of

MEETING = "Project Manager: Well.\nDr. Ada Vale: Yes.\nProject Manager: So the buttons are red."


def test_who_speaks_again_makes_a_transcript() -> None:
    assert speakers_of(MEETING) == {"Project Manager", "Dr. Ada Vale"}


def test_fields_of_a_record_are_no_speakers() -> None:
    assert not speakers_of("Date: 3 May\nPlace: Port Haven\nMaster: Ada Vale\nThis is all.")
