"""Text of pictures (optical character recognition) and of sound and video (speech recognition).

The OCR engine (extra `ocr`) ships its models; boxes are read columns first, then lines. Speech
(extra `audio`) needs a local Whisper model: a folder, or a name whose weights are in the local
cache. Nothing is fetched.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import SourceError
from ...types import MetaValue
from ..document import Content, ReadOptions, iso_date, one_line, sanitise_text
from .transcripts import Cue, transcript_paragraphs

if TYPE_CHECKING:
    import numpy as np
    from faster_whisper import WhisperModel  # type: ignore[import-untyped, import-not-found, unused-ignore]
    from numpy.typing import NDArray
    from PIL.Image import Image

_SAME_LINE = 0.6
"""Maximum distance of two boxes' middles on one line, as a share of line height."""
_CELL_GAP = 2.0
"""Gap in line heights that separates cells on a line."""
_PARAGRAPH_GAP = 1.4
"""Factor over the usual line gap that separates paragraphs."""
_LEAST_PARAGRAPH_GAP = 0.5
_LEAST_GUTTER = 0.8
_LEAST_COLUMN_LINES = 3
_LEAST_COLUMN_WIDTH = 6.0
"""Minimum column width in line heights; narrower ones are table columns."""
_MOST_CROSSING = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBox:
    """A piece of one line; edges in pixels, from the left and the top."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> float:
        """Half-way between its top and its bottom."""
        return (self.top + self.bottom) / 2


def text_in_order(boxes: Sequence[TextBox]) -> str:
    """Return the boxes' texts: one line each, blank lines between paragraphs and columns.

    The same boxes in any order give the same text.
    """
    if not boxes:
        return ""
    height = max(1.0, median(box.bottom - box.top for box in boxes))
    ordered = sorted(boxes, key=lambda box: (box.top, box.left, box.right, box.bottom, box.text))
    blocks = [_paragraphs(block, height=height) for block in _blocks(ordered, height=height)]
    return "\n\n".join(filter(None, blocks))


def _blocks(boxes: list[TextBox], *, height: float) -> Iterator[list[TextBox]]:
    """Parts of the page that are read line by line, in their order.

    What crosses the gutter between two columns (a heading over both) ends the columns above it.
    """
    gutter = _gutter(boxes, height=height)
    if gutter is None:
        yield boxes
        return
    crossing = [box for box in boxes if box.left < gutter < box.right]
    beside = [box for box in boxes if not box.left < gutter < box.right]
    for bar in [*crossing, None]:
        above = [box for box in beside if bar is None or box.middle < bar.middle]
        beside = [box for box in beside if bar is not None and box.middle >= bar.middle]
        for side in (
            [box for box in above if box.right <= gutter],
            [box for box in above if box.left >= gutter],
        ):
            if side:
                yield from _blocks(side, height=height)
        if bar is not None:
            yield [bar]


def _gutter(boxes: list[TextBox], *, height: float) -> float | None:
    """Return the right edge of the gutter between columns of prose; None without columns."""
    best: tuple[int, int, float] | None = None
    for edge in sorted({box.left for box in boxes}):
        left = [box for box in boxes if box.right <= edge]
        right = [box for box in boxes if box.left >= edge]
        crossing = len(boxes) - len(left) - len(right)
        if crossing > _MOST_CROSSING * len(boxes):
            continue
        if not (_is_column(left, height=height) and _is_column(right, height=height)):
            continue
        strip = edge - max(box.right for box in left)
        if strip < _LEAST_GUTTER * height:
            continue
        rank = (-crossing, min(len(left), len(right)), -edge)
        best = rank if best is None else max(best, rank)
    return None if best is None else -best[2] - 0.25 * height


def _is_column(boxes: list[TextBox], *, height: float) -> bool:
    if len(boxes) < _LEAST_COLUMN_LINES:
        return False
    widths = [box.right - box.left for box in boxes]
    return sum(widths) >= _LEAST_COLUMN_WIDTH * height * len(widths)


def _paragraphs(boxes: list[TextBox], *, height: float) -> str:
    lines = _lines(boxes, height=height)
    gaps = [
        min(box.top for box in after) - max(box.bottom for box in before)
        for before, after in pairwise(lines)
    ]
    wide = max(_LEAST_PARAGRAPH_GAP * height, _PARAGRAPH_GAP * median(gaps)) if gaps else 0.0
    text = _joined(lines[0], height=height)
    for gap, line in zip(gaps, lines[1:], strict=True):
        text += ("\n\n" if gap > wide else "\n") + _joined(line, height=height)
    return text


def _lines(boxes: list[TextBox], *, height: float) -> list[list[TextBox]]:
    lines: list[list[TextBox]] = []
    for box in sorted(boxes, key=lambda box: (box.middle, box.left)):
        same = lines and abs(box.middle - lines[-1][0].middle) < _SAME_LINE * height
        if same:
            lines[-1].append(box)
        else:
            lines.append([box])
    return [sorted(line, key=lambda box: (box.left, box.top)) for line in lines]


def _joined(line: list[TextBox], *, height: float) -> str:
    text = line[0].text
    for before, box in pairwise(line):
        text += ("\t" if box.left - before.right > _CELL_GAP * height else " ") + box.text
    return text


if TYPE_CHECKING:
    Pixels = NDArray[np.uint8]
    """Height × width grey, or height × width × 3 in the order red, green, blue."""

MISSING_OCR = (
    "needs optical character recognition, which is not installed: pip install 'loregraph[ocr]'"
)
_MAX_PIXELS = 80_000_000
_TOO_LARGE = f"is too large: more than {_MAX_PIXELS:,} pixels; scale the picture down"
_MAX_FRAMES = 500
_LONGEST_SIDE = 2000
"""Maximum side in pixels before the engine shrinks a picture.

Longer ones are read in strips.
"""
_SHORTEST_SIDE = 480
"""Minimum side in pixels; smaller pictures are enlarged first."""
_THREADS = 2
_LEAST_SCORE = 0.5
_LEAST_CHARACTERS = 3
"""Minimum letters and digits of a picture; icons and logos are read as one or two."""
_EXIF_FOLDER, _EXIF_TAKEN, _EXIF_OFFSET, _EXIF_ARTIST = 0x8769, 0x9003, 0x9011, 0x013B
_TAKEN = re.compile(r"(\d{4}):(\d\d):(\d\d) (\d\d):(\d\d):(\d\d)")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
_one_at_a_time = threading.Lock()


def recognise_text(picture: bytes | Pixels) -> str:
    """Return the text of a picture (file bytes or pixels) in reading order, by OCR.

    "" without any.

    Lines end with newlines, paragraphs and columns with an empty line, cells of a line are parted
    by tabs. English and Chinese, upright.

    Raises:
        SourceError: the bytes are no picture that can be read, it is too large, or the engine is
            not installed (`MISSING_OCR`).
    """
    if not isinstance(picture, bytes):
        return _recognised(picture)
    with _opened(picture) as image:
        return _recognised(_pixels(image))


def read_image(data: bytes, options: ReadOptions) -> Content:
    """Read the text of a picture.

    TIFF frames are pages. Metadata: the day taken (UTC second where the zone is known) and
    the author.

    Raises:
        SourceError: as `recognise`, recognition is switched off, or no text is found in it.
    """
    if not options.ocr:
        raise SourceError("is a picture, and OCR is off: set ingest.ocr")
    with _opened(data) as image:
        metadata = _metadata(image)
        texts = [_recognised(pixels) for pixels in _frames(image)]
    if len(re.findall(r"\w", "".join(texts))) < _LEAST_CHARACTERS:
        raise SourceError("is a picture without recognisable text: describe it in a text file")
    pages: list[int] = []
    text = ""
    for page in texts:
        pages.append(len(text))
        text += f"{page}\n\n"
    return Content(
        text=sanitise_text(text.rstrip("\n")),
        pages=tuple(pages) if len(pages) > 1 else (),
        metadata=metadata,
    )


@contextmanager
def _reasons() -> Iterator[None]:
    """Translate the picture library's exceptions to reasons."""
    from PIL import Image, UnidentifiedImageError

    try:
        yield
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise SourceError(_TOO_LARGE) from error
    except UnidentifiedImageError as error:
        raise SourceError("is not a readable picture: damaged, or another format") from error
    except (OSError, ValueError, SyntaxError, TypeError, EOFError, LookupError) as error:
        raise SourceError(f"is a damaged picture ({one_line(str(error))}): get it again") from error


def _opened(data: bytes) -> Image:
    from PIL import Image

    with _reasons():
        return Image.open(io.BytesIO(data))


def _frames(image: Image) -> Iterator[Pixels]:
    """Return the pages of a TIFF; of an animation the first frame."""
    with _reasons():
        count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
    if count > _MAX_FRAMES:
        raise SourceError(f"holds {count:,} pages, the limit is {_MAX_FRAMES:,}: split it")
    for number in range(count):
        yield _pixels(image, frame=number)


def _pixels(image: Image, *, frame: int = 0) -> Pixels:
    """One frame upright, in red, green and blue, on white where it was transparent."""
    import numpy as np
    from PIL import Image, ImageOps

    with _reasons():
        if frame:
            image.seek(frame)
        if image.width * image.height > _MAX_PIXELS:
            raise SourceError(_TOO_LARGE)
        upright = ImageOps.exif_transpose(image)
        if upright.mode.startswith(("I", "F")):  # scanners' and instruments' deep greys
            deep = np.asarray(upright, dtype=np.float64)
            deep = deep - deep.min()
            upright = Image.fromarray((255 * deep / max(1.0, deep.max())).astype(np.uint8))
        if upright.has_transparency_data:
            layer = upright.convert("RGBA")
            upright = Image.new("RGBA", layer.size, "white")
            upright.alpha_composite(layer)
        return np.asarray(upright.convert("RGB"))


def _metadata(image: Image) -> dict[str, MetaValue]:
    try:
        exif = image.getexif()
        taken, offset = (
            str(exif.get_ifd(_EXIF_FOLDER).get(tag, "")) for tag in (_EXIF_TAKEN, _EXIF_OFFSET)
        )
        artist = one_line(sanitise_text(str(exif.get(_EXIF_ARTIST) or "")))
    except (OSError, ValueError, SyntaxError, TypeError, KeyError):
        return {}  # a camera's damaged notes: the picture itself may well be whole
    metadata: dict[str, MetaValue] = {}
    date = _taken(taken, offset)
    if date:
        metadata["date"] = date
    if artist:
        metadata["author"] = artist
    return metadata


def _taken(taken: str, offset: str) -> str:
    """Return ISO 8601; only the day if the zone is unknown."""
    import datetime

    found, zone = _TAKEN.match(taken), _OFFSET.match(offset)
    if not found:
        return ""
    try:
        moment = datetime.datetime(*(int(part) for part in found.groups()))  # type: ignore[arg-type]
        if not zone:
            return moment.date().isoformat()
        ahead = datetime.timedelta(hours=int(zone[2]), minutes=int(zone[3]))
        moment = moment - ahead if zone[1] == "+" else moment + ahead
        return f"{moment.isoformat()}Z"
    except (ValueError, OverflowError):
        return ""  # a date that no calendar has


def _recognised(pixels: Pixels) -> str:
    return text_in_order([box for strip in _strips(pixels) for box in _boxes(*strip)])


def _strips(pixels: Pixels) -> Iterator[tuple[Pixels, int]]:
    """Split a picture into strips the engine need not shrink, with their tops.

    Cut between lines of text.
    """
    height, width = pixels.shape[:2]
    if height <= max(_LONGEST_SIDE, 1.5 * width):
        yield pixels, 0
        return
    step = max(_LONGEST_SIDE, width)
    top = 0
    while height - top > step:
        window = pixels[top + step // 2 : top + step].reshape(step - step // 2, -1)
        # The last of the evenest rows: strips as long as can be.
        spread = window.max(axis=1).astype(int) - window.min(axis=1)
        cut = top + step - 1 - int(spread[::-1].argmin())
        yield pixels[top:cut], top
        top = cut
    yield pixels[top:], top


def _boxes(pixels: Pixels, top: int) -> Iterator[TextBox]:
    import numpy as np

    if min(pixels.shape[:2]) < 8:
        return
    turned = pixels[:, :, ::-1] if pixels.ndim == 3 else np.repeat(pixels[:, :, None], 3, axis=2)
    with _one_at_a_time:
        found = _engine()(np.ascontiguousarray(turned))
    if found.boxes is None or found.txts is None:
        return
    for corners, text in zip(found.boxes, found.txts, strict=True):
        (left, upper), (right, lower) = corners.min(axis=0), corners.max(axis=0)
        if text.strip():
            yield TextBox(
                text=text.strip(),
                left=float(left),
                top=float(upper) + top,
                right=float(right),
                bottom=float(lower) + top,
            )


@cache
def _engine() -> Callable[[Pixels], Any]:
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        raise SourceError(MISSING_OCR) from error
    engine: Callable[[Pixels], Any] = RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.text_score": _LEAST_SCORE,
            "Global.use_cls": False,  # it turns lines of full, upright pages upside down
            "Det.limit_side_len": _SHORTEST_SIDE,
            "EngineConfig.onnxruntime.intra_op_num_threads": _THREADS,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )
    return engine


if TYPE_CHECKING:
    Sound = NDArray[np.float32]
    """Samples between -1 and 1, one channel, `SAMPLES_A_SECOND`."""

MISSING_AUDIO = "needs speech recognition, which is not installed: pip install 'loregraph[audio]'"
SAMPLES_A_SECOND = 16_000
_MAX_HOURS = 6


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
    text = transcript_paragraphs(cues_of(segments))
    if not text:
        raise SourceError("contains no recognisable speech: check the recording")
    metadata: dict[str, MetaValue] = {"language": language, **_audio_metadata(tags)}
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
        raise SourceError(f"is not decodable audio ({reason}): check the file") from error
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


def _audio_metadata(tags: Mapping[str, str]) -> dict[str, MetaValue]:
    metadata: dict[str, MetaValue] = {}
    author = one_line(sanitise_text(tags.get("artist") or tags.get("author") or ""))
    if author:
        metadata["author"] = author
    date = iso_date(tags.get("date") or tags.get("creation_time") or "")
    if date:
        metadata["date"] = date
    return metadata
