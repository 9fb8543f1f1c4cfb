"""SVG rendering: no script, link or font; text is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterator

from .picture import GROUND, Disc, Line, Picture, Words
from .picture_words import plain

FAMILY = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', "
    "'Microsoft YaHei', sans-serif"
)


def to_svg(picture: Picture) -> str:
    """One SVG document; the same picture gives the same text."""
    return "\n".join(_elements(picture)) + "\n"


def _elements(picture: Picture) -> Iterator[str]:
    width, height = _figure(picture.width), _figure(picture.height)
    title = html.escape(plain(picture.title))
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
