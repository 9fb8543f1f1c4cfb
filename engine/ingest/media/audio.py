"""Speech recognition of audio and video by a local Whisper model.

Needs the extra `audio` (faster-whisper, which decodes by itself) and the model's weights: the
folder of a converted model, or a name whose weights are in the local cache. Nothing is fetched.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import SourceError
from ...types import MetaValue
from ..content import Content, ReadOptions, one_line, sanitise_text
from ..dates import iso_date
from ..text.turns import Cue, transcript

if TYPE_CHECKING:
    import numpy as np
    from faster_whisper import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
        WhisperModel,
    )
    from numpy.typing import NDArray

    Sound = NDArray[np.float32]
    """Samples between -1 and 1, one channel, `SAMPLES_A_SECOND`."""

MISSING_AUDIO = "needs the speech recognition that is not installed: pip install 'loregraph[audio]'"
SAMPLES_A_SECOND = 16_000
_MAX_HOURS = 6
_THREADS = 2


class Segment(Protocol):
    """A stretch of speech as the recogniser gives it; times in seconds."""

    start: float
    end: float
    text: str


def read_audio(data: bytes, options: ReadOptions) -> Content:
    """Transcribe as `turns.transcript`; title, author, date and language where known.

    Raises:
        SourceError: the extra is not installed (`MISSING_AUDIO`), the model is not to be had, the
            sound cannot be decoded or lasts too long, or nobody speaks in it.
    """
    sound, tags = decoded_sound(data)
    segments, language = _spoken(sound, _model(options.transcription_model))
    text = transcript(cues_of(segments))
    if not text:
        raise SourceError("holds no speech that was recognised")
    metadata: dict[str, MetaValue] = {"language": language, **_metadata(tags)}
    title = one_line(sanitise_text(tags.get("title", ""))) or None
    return Content(text=sanitise_text(text), title=title, shape="transcript", metadata=metadata)


def cues_of(segments: Iterable[Segment]) -> list[Cue]:
    """Convert recogniser segments to cues, dropping empty ones."""
    return [
        Cue(start=segment.start, end=segment.end, text=segment.text.strip())
        for segment in segments
        if segment.text.strip()
    ]


def decoded_sound(data: bytes) -> tuple[Sound, Mapping[str, str]]:
    """Decode the first sound track; return it with tags by lower-case name.

    Raises:
        SourceError: the extra is missing, no sound that can be decoded, or more than six hours.
    """
    try:
        import av
    except ImportError as error:
        raise SourceError(MISSING_AUDIO) from error
    import numpy as np

    blocks: list[bytes] = []
    left = 2 * SAMPLES_A_SECOND * 3600 * _MAX_HOURS
    try:
        with av.open(io.BytesIO(data), **_tolerant(av.__version__)) as container:
            if not container.streams.audio:
                raise SourceError("has no sound track: there is nothing to transcribe in it")
            tags = {**container.streams.audio[0].metadata, **container.metadata}
            for block in _samples(container):
                left -= len(block)
                if left < 0:
                    raise SourceError(f"lasts more than {_MAX_HOURS} hours: split it")
                blocks.append(block)
    except (av.FFmpegError, ValueError, OSError) as error:
        reason = one_line(str(error))
        raise SourceError(f"is no sound that can be decoded ({reason}): damaged?") from error
    sound = np.frombuffer(b"".join(blocks), dtype=np.int16).astype(np.float32) / np.float32(32768)
    if not len(sound):
        raise SourceError("is empty: there is no sound in it")
    return sound, {key.lower(): _whole(value) for key, value in tags.items()}


def _whole(value: str) -> str:
    """Return text without lone surrogates, which PyAV 19 makes of broken bytes."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _tolerant(version: str) -> dict[str, Any]:
    """Return PyAV's option for tags in a broken encoding; the default since version 19."""
    return {"metadata_errors": "replace"} if int(version.split(".")[0]) < 19 else {}


def _samples(container: object) -> Iterator[bytes]:
    """Return 16-bit samples of the first sound track; damaged packets are skipped."""
    import av
    from av.audio.resampler import AudioResampler
    from av.container import InputContainer

    assert isinstance(container, InputContainer)  # noqa: S101 - tells the type checker
    resampler = AudioResampler(format="s16", layout="mono", rate=SAMPLES_A_SECOND)
    for packet in container.demux(audio=0):
        try:
            frames = packet.decode()
        except av.InvalidDataError:
            continue
        for frame in frames:
            for resampled in resampler.resample(frame):
                yield bytes(resampled.planes[0])[: 2 * resampled.samples]
    for resampled in resampler.resample(None):
        yield bytes(resampled.planes[0])[: 2 * resampled.samples]


@lru_cache(maxsize=1)
def _model(name: str) -> WhisperModel:
    """Load the model from a folder or the cache, never from the network."""
    try:
        from faster_whisper import WhisperModel
    except ImportError as error:
        raise SourceError(MISSING_AUDIO) from error
    try:
        return WhisperModel(
            name,
            device="cpu",
            compute_type="int8",
            cpu_threads=_THREADS,
            local_files_only=True,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise SourceError(
            f"cannot be transcribed: the speech model {name!r} is not on this machine "
            f"({one_line(str(error), limit=120)}); set ingest.transcription_model to the folder "
            "of a Whisper model converted for faster-whisper, or to the name of one that was "
            'downloaded before (python -c "from faster_whisper import download_model; '
            f'download_model({name!r})")'
        ) from error


def _spoken(sound: Sound, model: WhisperModel) -> tuple[list[Segment], str]:
    """Transcribe at one temperature; the usual ladder samples and is not deterministic."""
    segments, info = model.transcribe(
        sound,
        beam_size=5,
        temperature=0.0,
        condition_on_previous_text=False,
        vad_filter=True,
    )
    return list(segments), info.language


def _metadata(tags: Mapping[str, str]) -> dict[str, MetaValue]:
    metadata: dict[str, MetaValue] = {}
    author = one_line(sanitise_text(tags.get("artist") or tags.get("author") or ""))
    if author:
        metadata["author"] = author
    date = iso_date(tags.get("date") or tags.get("creation_time") or "")
    if date:
        metadata["date"] = date
    return metadata
