"""Optical character recognition of pictures, and dates of photographs.

`recognise` is for whoever has a picture in hand, a scanned page among them. The engine (extra
`ocr`) ships its models and asks no network.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from ...errors import SourceError
from ...types import MetaValue
from ..content import Content, ReadOptions, one_line, sanitise_text
from .reading_order import TextBox, text_in_order

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Pixels = NDArray[np.uint8]
    """Height × width grey, or height × width × 3 in the order red, green, blue."""

MISSING_OCR = (
    "needs the optical character recognition that is not installed: pip install 'loregraph[ocr]'"
)
_MAX_PIXELS = 80_000_000
_TOO_LARGE = f"is too large a picture: more than {_MAX_PIXELS:,} pixels; scale it down"
_MAX_FRAMES = 500
_LONGEST_SIDE = 2000
"""Maximum side in pixels before the engine shrinks a picture.

Longer ones are read in strips.
"""
_SHORTEST_SIDE = 480
"""Minimum side in pixels; smaller pictures are enlarged first."""
_THREADS = 2
_LEAST_SCORE = 0.5
_EXIF_FOLDER, _EXIF_TAKEN, _EXIF_OFFSET, _EXIF_ARTIST = 0x8769, 0x9003, 0x9011, 0x013B
_TAKEN = re.compile(r"(\d{4}):(\d\d):(\d\d) (\d\d):(\d\d):(\d\d)")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
_one_at_a_time = threading.Lock()


def recognise(picture: bytes | Pixels) -> str:
    """Return the text of a picture (file bytes or pixels) in reading order.

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
        raise SourceError("is a picture, and reading text in pictures is off: set ingest.ocr")
    with _opened(data) as image:
        metadata = _metadata(image)
        texts = [_recognised(pixels) for pixels in _frames(image)]
    if not any(texts):
        raise SourceError("is a picture in which no text was found: describe it in a text beside")
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
        raise SourceError("is no picture that can be read: damaged, or another format") from error
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
