"""A picture as PNG, drawn by Pillow with the fonts of this computer.

Pillow's own font has no Chinese, so a font that has it is looked for where systems keep theirs.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from .picture import GROUND, Disc, Picture, Words

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

    Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

SCALE = 2
SMOOTH = 2
"""Supersampling factor of discs and lines."""

MAX_PIXELS = 40_000_000

_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "C:/Windows/Fonts",
)
REGULAR = (
    "opentype/noto/NotoSansCJK-Regular.ttc",
    "noto-cjk/NotoSansCJK-Regular.ttc",
    "google-noto-cjk/NotoSansCJK-Regular.ttc",
    "truetype/wqy/wqy-microhei.ttc",
    "truetype/droid/DroidSansFallbackFull.ttf",
    "PingFang.ttc",
    "Hiragino Sans GB.ttc",
    "msyh.ttc",
    "simsun.ttc",
)
BOLD = (
    "opentype/noto/NotoSansCJK-Bold.ttc",
    "noto-cjk/NotoSansCJK-Bold.ttc",
    "google-noto-cjk/NotoSansCJK-Bold.ttc",
    "msyhbd.ttc",
)
WESTERN = ("truetype/dejavu/DejaVuSans.ttf", "dejavu-sans-fonts/DejaVuSans.ttf", "arial.ttf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Png:
    """The file's bytes, and what is to be said about it ("": nothing)."""

    content: bytes
    note: str = ""


def to_png(picture: Picture) -> Png:
    """Render the picture at double size, or less to stay under `MAX_PIXELS`.

    The same picture gives the same bytes where the fonts and Pillow are the same.
    """
    from PIL import Image, ImageDraw

    area = picture.width * picture.height * (SCALE * SMOOTH) ** 2
    fine = SCALE * SMOOTH * min(1.0, (MAX_PIXELS / area) ** 0.5)
    size = (max(1, round(picture.width * fine)), max(1, round(picture.height * fine)))
    image = Image.new("RGB", size, GROUND)
    draw = ImageDraw.Draw(image)
    _draw_discs(draw, picture.territories, scale=fine)
    for line in picture.lines:
        ends = [line.x * fine, line.y * fine, line.u * fine, line.v * fine]
        draw.line(ends, fill=line.colour, width=max(1, round(line.width * fine)))
    _draw_discs(draw, picture.discs, scale=fine)
    small = (max(1, size[0] // SMOOTH), max(1, size[1] // SMOOTH))
    image = image.resize(small, Image.Resampling.BOX)
    draw = ImageDraw.Draw(image)
    for words in picture.words:
        _write(draw, words, scale=fine / SMOOTH)
    file = io.BytesIO()
    image = image.quantize(255, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    image.save(file, "PNG", optimize=True)
    return Png(content=file.getvalue(), note=_note(picture))


def _draw_discs(draw: ImageDraw.ImageDraw, discs: Sequence[Disc], *, scale: float) -> None:
    for disc in discs:
        x, y, radius = disc.x * scale, disc.y * scale, (disc.radius + disc.width / 2) * scale
        draw.ellipse(
            [x - radius, y - radius, x + radius, y + radius],
            fill=disc.fill,
            outline=disc.stroke,
            width=max(1, round(disc.width * scale)),
        )


def _write(draw: ImageDraw.ImageDraw, words: Words, *, scale: float) -> None:
    size = max(1, round(words.size * scale))
    text = "".join(c for c in words.text if ord(c) < 0x1F000 and c not in "\u200d\ufe0f").strip()
    if not text:
        return
    draw.text(
        (words.x * scale, words.y * scale),
        text,
        fill=words.colour,
        font=_font(size, is_bold=words.is_bold),
        anchor="lm" if words.is_left else "mm",
        stroke_width=max(1, round(1.4 * scale)),
        stroke_fill=words.halo,
    )


@lru_cache(maxsize=128)
def _font(size: int, *, is_bold: bool) -> Font:
    from PIL import ImageFont

    found = (_found(BOLD) if is_bold else None) or _found(REGULAR) or _found(WESTERN)
    return ImageFont.truetype(found, size) if found else ImageFont.load_default(size)


@lru_cache(maxsize=8)
def _found(names: Sequence[str]) -> str | None:
    places = (Path(folder) / name for folder in _FOLDERS for name in names)
    return next((str(place) for place in places if place.is_file()), None)


def _note(picture: Picture) -> str:
    has_han = any("\u3400" <= c <= "\u9fff" for words in picture.words for c in words.text)
    if has_han and _found(REGULAR) is None:
        return (
            "no font with Chinese characters was found, so they are drawn as boxes: install one "
            "(Debian: fonts-noto-cjk), or write an .svg"
        )
    return ""
