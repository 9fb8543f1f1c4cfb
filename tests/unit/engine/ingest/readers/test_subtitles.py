"""Subtitles become a transcript in which everything is said once, by its speaker, with its time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SourceError
from engine.ingest.readers.transcripts import (
    Cue,
    read_subtitles,
    transcript_paragraphs,
)


def _srt(*cues: tuple[str, str, str]) -> bytes:
    blocks = (f"{n}\n{start} --> {end}\n{text}\n" for n, (start, end, text) in enumerate(cues, 1))
    return "\n".join(blocks).encode()


def test_cues_become_paragraphs_with_the_time_at_which_they_begin() -> None:
    data = _srt(
        ("01:02:03,500", "01:02:05,000", "The harbour opened"),
        ("01:02:05,000", "01:02:07,000", "in <i>1874</i> &amp; closed."),
        ("01:02:30,000", "01:02:31,000", "Much later."),
    )
    content = read_subtitles(data)
    assert content.shape == "transcript"
    assert (
        content.text == "[01:02:03] The harbour opened in 1874 & closed.\n\n[01:02:30] Much later."
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1\r\n00:00:01,000 --> 00:00:02,000\r\nHello there.\r\n", id="windows"),
        pytest.param("00:00:01.000 --> 00:00:02.000\nHello there.", id="no-number"),
        pytest.param("\ufeff1\n0:0:1,0 --> 0:0:2,0\nHello there.\n\n", id="short-and-marked"),
        pytest.param("WEBVTT\n\n00:01.000 --> 00:02.000 align:left\nHello there.\n", id="vtt"),
        pytest.param(
            "WEBVTT\n\nSTYLE\n::cue { color: red }\n\nintro\n00:01.000 --> 00:02.000\n"
            "Hello there.\n\nNOTE nobody\nsays this\n",
            id="vtt-with-blocks-of-no-speech",
        ),
        pytest.param("1\n00:00:01,000 -> 00:00:02,000\n{\\an8}Hello there.\n", id="short-arrow"),
    ],
)
def test_loose_spellings_of_the_format_are_read(text: str) -> None:
    assert read_subtitles(text.encode()).text == "[00:00:01] Hello there."


def test_an_empty_line_inside_a_cue_loses_no_words() -> None:
    data = _srt(("0:00:01,0", "0:00:02,0", "first\n\nsecond"), ("0:00:02,0", "0:00:03,0", "third"))
    assert read_subtitles(data).text == "[00:00:01] first second third"


def test_rolling_captions_are_said_once() -> None:
    data = b"""WEBVTT

00:00:00.000 --> 00:00:02.000
so<00:00:00.500><c> today</c> we look

00:00:02.000 --> 00:00:02.010
so today we look

00:00:02.010 --> 00:00:04.000
so today we look
at the harbour

00:00:04.000 --> 00:00:06.000
at the harbour
and its ships
"""
    assert read_subtitles(data).text == "[00:00:00] so today we look at the harbour and its ships"


def test_a_caption_that_grows_is_said_once() -> None:
    cues = [
        Cue(start=n, end=n + 1, text=text)
        for n, text in enumerate(("the ship", "the ship left", "the ship left at noon"))
    ]
    assert transcript_paragraphs(cues) == "[00:00:00] the ship left at noon"


def test_a_word_said_again_after_a_break_is_kept() -> None:
    assert (
        transcript_paragraphs([Cue(start=0, end=1, text="No."), Cue(start=2, end=3, text="No.")])
        == "[00:00:00] No. No."
    )


def test_a_turn_begins_where_the_voice_changes() -> None:
    data = (
        b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v.loud Ann Lee>Who goes</v>\n\n"
        b"00:02.000 --> 00:03.000\n<v Ann Lee>there?\n\n00:03.000 --> 00:04.000\n<v Bob>Me.\n"
    )
    assert read_subtitles(data).text == "[00:00:01] Ann Lee: Who goes there?\n\n[00:00:03] Bob: Me."


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param("BOB: Me.", "[00:00:01] Who?\n\n[00:00:02] BOB: Me.", id="capitals"),
        pytest.param(
            "王先生：是我。", "[00:00:01] Who?\n\n[00:00:02] 王先生：是我。", id="chinese"
        ),
        pytest.param("it is: me", "[00:00:01] Who? it is: me", id="no-name"),
    ],
)
def test_a_name_in_the_text_begins_a_turn(second: str, expected: str) -> None:
    data = _srt(("0:00:01,0", "0:00:02,0", "Who?"), ("0:00:02,0", "0:00:03,0", second))
    assert read_subtitles(data).text == expected


def test_chinese_clauses_are_joined_without_spaces() -> None:
    data = _srt(
        ("0:00:01,0", "0:00:02,0", "知识图谱，"),
        ("0:00:02,0", "0:00:03,0", "把文档连接起来。"),
    )
    assert read_subtitles(data).text == "[00:00:01] 知识图谱，把文档连接起来。"


def test_a_long_monologue_is_parted_at_sentence_ends() -> None:
    cues = [Cue(start=n, end=n + 1, text=f"Sentence number {n} is here.") for n in range(100)]
    paragraphs = transcript_paragraphs(cues).split("\n\n")
    assert len(paragraphs) > 4
    assert all(part.endswith("is here.") and len(part) < 1000 for part in paragraphs)


def test_what_holds_no_cue_is_refused() -> None:
    with pytest.raises(SourceError, match="no readable subtitle"):
        read_subtitles(b"just some text\nand more of it\n")


@given(st.permutations([Cue(start=n, end=n + 0.5, text=f"word{n}.") for n in range(8)]))
def test_the_order_of_cues_does_not_matter(cues: list[Cue]) -> None:
    assert transcript_paragraphs(cues) == transcript_paragraphs(
        sorted(cues, key=lambda cue: cue.start)
    )


@given(st.lists(st.text(alphabet="abc 中文，。\n", max_size=12), max_size=8))
def test_no_word_is_lost_between_pauses(texts: list[str]) -> None:
    cues = [Cue(start=n * 10, end=n * 10 + 1, text=text) for n, text in enumerate(texts)]
    said = transcript_paragraphs(cues).replace(" ", "").replace("\n", "")
    for text in texts:
        assert "".join(text.split()) in said
