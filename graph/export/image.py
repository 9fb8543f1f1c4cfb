"""Graph as a still picture: layout of discs, lines and words, as SVG or PNG.

    few entities ─→ all of them, in the territories of their communities
    many         ─→ the overview's bubbles, where the page has them, with their heaviest entities

Word widths are estimates in font sizes, so the picture is the same whatever fonts there are. SVG
has no script, link or font; PNG is drawn by Pillow, with a font of this computer that has Chinese.
"""

from __future__ import annotations

import html
import io
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..communities.leiden import partition_at_level
from ..model import Entity, GraphExport
from ..text.cjk import has_han
from .layout import (
    ALONE,
    ASPECT,
    PALETTE,
    CommunityBubble,
    heaviest_communities,
    layout_graph,
    pack_discs,
    titles_of,
)
from .subgraph import Subgraph, entity_weights

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

_WORD = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]|[^\s\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]+|\s+"
)


def plain_label(text: str) -> str:
    """Return a label of the graph picture on one line without control characters."""
    kept = (c if unicodedata.category(c)[0] != "C" or c == "\u200d" else " " for c in text[:400])
    return " ".join("".join(kept).split())


def width_of(text: str) -> float:
    """About how wide a text is, in its font size."""
    return sum(_character_width(c) for c in text)


def _character_width(c: str) -> float:
    if unicodedata.combining(c) or c == "\u200d":
        return 0.0
    if unicodedata.east_asian_width(c) in "WF":
        return 1.0
    if c in " .,;:'|!()[]ilj":
        return 0.3
    return 0.66 if c.isupper() else 0.55


def truncate_label(text: str, width: float) -> str:
    """Truncate a label of the graph picture with "…" to `width` font sizes."""
    if width_of(text) <= width:
        return text
    kept = ""
    for c in text:
        if width_of(kept) + _character_width(c) + 0.9 > width:
            break
        kept += c
    return f"{kept.rstrip()}…"


def wrap_label(text: str, width: float, *, most: int) -> list[str]:
    """Wrap a label in at most `most` lines of `width` font sizes; Chinese breaks anywhere."""
    lines = [""]
    pieces = _WORD.findall(text)
    for at, piece in enumerate(pieces):
        longer = lines[-1] + (piece if lines[-1] else piece.lstrip())
        if not lines[-1] or width_of(longer) <= width:
            lines[-1] = longer
        elif len(lines) < most:
            lines.append(piece.lstrip())
        else:
            lines[-1] = f"{lines[-1]}{''.join(pieces[at:])}"
            break
    return [truncate_label(line.strip(), width) for line in lines if line.strip()]


INK, GROUND = "#1b2330", "#ffffff"
MAX_FLAT = 150
MAX_INSIDE = 14
"""Entities shown in one bubble at most."""

LINKS_PER_ENTITY = 4
MARGIN, HEAD = 36.0, 44.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Disc:
    """A filled circle with an edge; colours are `#rrggbb`."""

    x: float
    y: float
    radius: float
    fill: str
    stroke: str
    width: float = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line from (x, y) to (u, v)."""

    x: float
    y: float
    u: float
    v: float
    colour: str
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One line of text around x, its middle at y; `halo` is the colour it stands on."""

    x: float
    y: float
    text: str
    size: float
    colour: str = INK
    is_bold: bool = False
    is_left: bool = False
    halo: str = GROUND


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Picture from (0, 0) to (width, height): territories, lines, discs, words."""

    title: str
    width: float
    height: float
    territories: tuple[Disc, ...]
    lines: tuple[Line, ...]
    discs: tuple[Disc, ...]
    words: tuple[Words, ...]


@dataclass
class _Sheet:
    """Canvas of drawn items, around any origin."""

    territories: list[Disc] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    discs: list[Disc] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)
    taken: list[tuple[float, float, float, float]] = field(default_factory=list)

    def occupy(self, disc: Disc) -> None:
        """Let no later label cover it."""
        reach = disc.radius * 0.6
        self.taken.append((disc.x - reach, disc.y - reach, disc.x + reach, disc.y + reach))

    def label(self, words: Words, *, must: bool = False) -> bool:
        """Write it where nothing else stands; `must`: in any case. Whether it was written."""
        half = width_of(words.text) * words.size / 2
        box = (words.x - half, words.y - words.size / 2, words.x + half, words.y + words.size / 2)
        free = all(
            one[2] <= box[0] or box[2] <= one[0] or one[3] <= box[1] or box[3] <= one[1]
            for one in self.taken
        )
        if words.text and (free or must):
            self.taken.append(box)
            self.words.append(words)
        return free or must

    def label_at(self, disc: Disc, words: Words) -> None:
        """Place a label below or above a dot, or omit it."""
        self.occupy(disc)
        away = disc.radius + words.size * 0.72
        if not self.label(replace(words, x=disc.x, y=disc.y + away)):
            self.label(replace(words, x=disc.x, y=disc.y - away))


def draw_picture(part: Subgraph, *, title: str = "Knowledge graph") -> Picture:
    """Draw a graph or subgraph as a picture (SVG or PNG); deterministic."""
    sheet = _Sheet()
    look = heaviest_communities(part.export)
    if len(part.export.entities) <= MAX_FLAT or not look.bubbles:
        _draw_entities(sheet, part)
    else:
        _draw_bubbles(sheet, part.export, look.bubbles, look.links)
    about = part.question or part.about
    return _framed(sheet, title=f"{title} – {plain_label(about)}" if about else title)


def mix_colour(colour: str, share: float) -> str:
    """Mix a colour of the graph picture with the background."""
    parts = (
        round(int(colour[at : at + 2], 16) * share + int(GROUND[at : at + 2], 16) * (1 - share))
        for at in (1, 3, 5)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)


def _draw_bubbles(
    sheet: _Sheet,
    export: GraphExport,
    bubbles: Sequence[CommunityBubble],
    links: Sequence[tuple[int, int, float]],
) -> None:
    strongest = max((weight for _, _, weight in links), default=1.0)
    for a, b, weight in links:
        one, other = bubbles[a], bubbles[b]
        width = 1 + 8 * math.sqrt(weight / strongest)
        colour = mix_colour(ALONE, 0.3)
        sheet.lines.append(Line(x=one.x, y=one.y, u=other.x, v=other.y, colour=colour, width=width))
    weight_of = entity_weights(export)
    by_id = {entity.id: entity for entity in export.entities}
    for bubble in bubbles:
        fill = mix_colour(bubble.colour, 0.13)
        edge = mix_colour(bubble.colour, 0.5)
        sheet.discs.append(
            Disc(x=bubble.x, y=bubble.y, radius=bubble.radius, fill=fill, stroke=edge)
        )
        members = [by_id[one] for one in bubble.community.entity_ids if one in by_id]
        members.sort(key=lambda e: (-weight_of[e.id], e.id))
        _draw_inside(sheet, bubble, members, weights=weight_of, fill=fill)


def _draw_inside(
    sheet: _Sheet,
    bubble: CommunityBubble,
    members: Sequence[Entity],
    *,
    weights: dict[str, float],
    fill: str,
) -> None:
    """Draw the title in the upper part and the heaviest members below."""
    radius = bubble.radius
    size = max(7.5, min(15.0, radius * 0.15))
    if radius < 24:
        return
    title = plain_label(bubble.title)
    if radius < 44:
        lines = wrap_label(title, radius * 1.6 / size, most=2 if radius < 34 else 3)
        top = bubble.y - (len(lines) - 1) * size * 0.6
    else:
        lines = wrap_label(title, radius * 1.45 / size, most=2)
        top = bubble.y - radius * 0.55 - (len(lines) - 1) * size * 0.3
    for at, line in enumerate(lines):
        y = top + at * size * 1.2
        sheet.label(
            Words(x=bubble.x, y=y, text=line, size=size, is_bold=True, halo=fill), must=True
        )
    if radius >= 44:
        _draw_members(sheet, bubble, members, weights=weights, fill=fill)


def _draw_members(
    sheet: _Sheet,
    bubble: CommunityBubble,
    members: Sequence[Entity],
    *,
    weights: dict[str, float],
    fill: str,
) -> None:
    shown = members[: max(3, min(MAX_INSIDE, int(bubble.radius / 11)))]
    heaviest = weights[shown[0].id] or 1.0
    radii = [2.5 + 5.5 * math.sqrt(weights[one.id] / heaviest) for one in shown]
    names: list[tuple[int, ...]] = [(at,) for at in range(len(shown))]
    spots = pack_discs([r + bubble.radius * 0.14 for r in radii], {}, names=names, aspect=1.25)
    reach = max(math.hypot(x, y) + r for (x, y), r in zip(spots, radii, strict=True))
    share = min(1.0, bubble.radius * 0.62 / reach)
    dots = [
        Disc(
            x=bubble.x + x * share,
            y=bubble.y + bubble.radius * 0.2 + y * share,
            radius=r,
            fill=bubble.colour,
            stroke=fill,
            width=0.8,
        )
        for (x, y), r in zip(spots, radii, strict=True)
    ]
    sheet.discs += dots
    size = max(6.5, min(9.5, bubble.radius * 0.085))
    for one, dot in zip(shown, dots, strict=True):
        text = truncate_label(plain_label(one.name), bubble.radius * 0.95 / size)
        sheet.label_at(dot, Words(x=0, y=0, text=text, size=size, halo=fill))


def _draw_entities(sheet: _Sheet, part: Subgraph) -> None:
    """All entities, grouped by community; territories carry titles."""
    export = part.export
    weight = entity_weights(export)
    entities = sorted(export.entities, key=lambda e: (-weight[e.id], e.id))
    several = [one for one in partition_at_level(export.communities, 0) if len(one.entity_ids) > 1]
    several.sort(key=lambda c: (-math.fsum(weight[e] for e in c.entity_ids), c.id))
    group = {entity_id: at for at, one in enumerate(several) for entity_id in one.entity_ids}
    groups = [group.get(one.id, len(several)) for one in entities]
    heaviest = max(weight.values(), default=1.0) or 1.0
    radii = [5 + 17 * math.sqrt(weight[one.id] / heaviest) for one in entities]
    links = _links(export, {one.id: at for at, one in enumerate(entities)})
    paths = [(at,) for at in groups]
    placed = layout_graph([r + 15 for r in radii], paths, edges=dict(links), gap=6.0, aspect=ASPECT)
    titles = titles_of(export)
    for key, disc in sorted(placed.discs.items() if len(several) > 1 else ()):
        if len(key) == 1 and key[0] < len(several) and len(several[key[0]].entity_ids) > 2:
            colour = PALETTE[key[0] % len(PALETTE)]
            _draw_territory(sheet, disc, title=titles[several[key[0]].id], colour=colour)
    colours = [PALETTE[at % len(PALETTE)] if at < len(several) else ALONE for at in groups]
    across = {pair: value for pair, value in links.items() if groups[pair[0]] != groups[pair[1]]}
    inside = {pair: value for pair, value in links.items() if pair not in across}
    _draw_links(sheet, across, spots=placed.positions, colour_of=lambda _: mix_colour(ALONE, 0.28))
    _draw_links(
        sheet, inside, spots=placed.positions, colour_of=lambda end: mix_colour(colours[end], 0.5)
    )
    strong = set(part.strong)
    dots = [
        Disc(
            x=x,
            y=y,
            radius=radius,
            fill=colour,
            stroke=INK if one.id in strong else GROUND,
            width=2.4 if one.id in strong else 1.2,
        )
        for one, (x, y), radius, colour in zip(
            entities, placed.positions, radii, colours, strict=True
        )
    ]
    sheet.discs += dots
    ordered = sorted(zip(entities, dots, strict=True), key=lambda one: one[0].id not in strong)
    for one, dot in ordered:
        size = min(15.0, 8.5 + dot.radius * 0.3)
        text = truncate_label(plain_label(one.name), 16)
        sheet.label_at(dot, Words(x=0, y=0, text=text, size=size, is_bold=one.id in strong))


def _draw_links(
    sheet: _Sheet,
    links: dict[tuple[int, int], float],
    *,
    spots: Sequence[tuple[float, float]],
    colour_of: Callable[[int], str],
) -> None:
    """Draw links, widest for the strongest."""
    strongest = max(links.values(), default=1.0)
    for (a, b), value in links.items():
        width = 0.8 + 4 * math.sqrt(value / strongest)
        (x, y), (u, v) = spots[a], spots[b]
        sheet.lines.append(Line(x=x, y=y, u=u, v=v, colour=colour_of(a), width=width))


def _draw_territory(
    sheet: _Sheet, disc: tuple[float, float, float], *, title: str, colour: str
) -> None:
    x, y, radius = disc
    fill, edge = mix_colour(colour, 0.07), mix_colour(colour, 0.32)
    sheet.territories.append(Disc(x=x, y=y, radius=radius, fill=fill, stroke=edge))
    text = truncate_label(plain_label(title), max(radius * 2.2, 120) / 13)
    sheet.label(Words(x=x, y=y - radius - 11, text=text, size=13, is_bold=True), must=True)


def _links(export: GraphExport, number: dict[str, int]) -> dict[tuple[int, int], float]:
    """Relations summed by pair of entities, the strongest, by pair."""
    sums: dict[tuple[int, int], float] = {}
    for relation in sorted(export.relations, key=lambda r: r.id):
        a, b = number[relation.source_id], number[relation.target_id]
        if a != b:
            pair = (min(a, b), max(a, b))
            sums[pair] = sums.get(pair, 0.0) + relation.weight
    strongest = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return dict(sorted(strongest[: LINKS_PER_ENTITY * len(number)]))


def _framed(sheet: _Sheet, *, title: str) -> Picture:
    """Shift the drawing onto one sheet under its title."""
    discs = [*sheet.territories, *sheet.discs]
    left = min((d.x - d.radius for d in discs), default=0.0)
    right = max((d.x + d.radius for d in discs), default=200.0)
    top = min((d.y - d.radius for d in discs), default=0.0)
    bottom = max((d.y + d.radius for d in discs), default=100.0)
    for words in sheet.words:
        half = width_of(words.text) * words.size / 2
        left, right = min(left, words.x - half), max(right, words.x + half)
        top, bottom = min(top, words.y - words.size), max(bottom, words.y + words.size)
    x, y = MARGIN - left, MARGIN + HEAD - top
    width, height = right - left + 2 * MARGIN, bottom - top + 2 * MARGIN + HEAD
    size = 20.0
    head = Words(
        x=MARGIN,
        y=MARGIN,
        text=truncate_label(title, (width - 2 * MARGIN) / size),
        size=size,
        is_bold=True,
        is_left=True,
    )
    return Picture(
        title=title,
        width=round(width, 1),
        height=round(height, 1),
        territories=tuple(replace(one, x=one.x + x, y=one.y + y) for one in sheet.territories),
        lines=tuple(
            replace(one, x=one.x + x, y=one.y + y, u=one.u + x, v=one.v + y) for one in sheet.lines
        ),
        discs=tuple(replace(one, x=one.x + x, y=one.y + y) for one in sheet.discs),
        words=(head, *(replace(one, x=one.x + x, y=one.y + y) for one in sheet.words)),
    )


if TYPE_CHECKING:
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
    with_han = any(has_han(words.text) for words in picture.words)
    if with_han and _found(REGULAR) is None:
        return (
            "no font with Chinese characters was found, so they are drawn as boxes: install one "
            "(Debian: fonts-noto-cjk), or write an .svg"
        )
    return ""


FAMILY = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', "
    "'Microsoft YaHei', sans-serif"
)


def to_svg(picture: Picture) -> str:
    """One SVG document; the same picture gives the same text."""
    return "\n".join(_elements(picture)) + "\n"


def _elements(picture: Picture) -> Iterator[str]:
    width, height = _figure(picture.width), _figure(picture.height)
    title = html.escape(plain_label(picture.title))
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="title" '
        f'font-family="{html.escape(FAMILY)}" text-anchor="middle">'
    )
    yield f'<title id="title">{title}</title>'
    yield f'<rect width="{width}" height="{height}" fill="{GROUND}"/>'
    yield "<g>"
    yield from (_disc(one) for one in picture.territories)
    yield '</g>\n<g stroke-linecap="round">'
    yield from (_line(one) for one in picture.lines)
    yield "</g>\n<g>"
    yield from (_disc(one) for one in picture.discs)
    yield '</g>\n<g paint-order="stroke" stroke-linejoin="round" stroke-width="3">'
    yield from (_words(one) for one in picture.words)
    yield "</g>\n</svg>"


def _line(line: Line) -> str:
    return (
        f'<line x1="{_figure(line.x)}" y1="{_figure(line.y)}" x2="{_figure(line.u)}" '
        f'y2="{_figure(line.v)}" stroke="{line.colour}" stroke-width="{_figure(line.width)}"/>'
    )


def _disc(disc: Disc) -> str:
    return (
        f'<circle cx="{_figure(disc.x)}" cy="{_figure(disc.y)}" r="{_figure(disc.radius)}" '
        f'fill="{disc.fill}" stroke="{disc.stroke}" stroke-width="{_figure(disc.width)}"/>'
    )


def _words(words: Words) -> str:
    bold = ' font-weight="650"' if words.is_bold else ""
    left = ' text-anchor="start"' if words.is_left else ""
    return (
        f'<text x="{_figure(words.x)}" y="{_figure(words.y)}" dy=".35em" '
        f'font-size="{_figure(words.size)}"{bold}{left} fill="{words.colour}" '
        f'stroke="{words.halo}">{html.escape(words.text)}</text>'
    )


def _figure(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
