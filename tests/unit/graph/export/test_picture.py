"""Pictures of a graph: the same for equal graphs, nothing over anything, and text stays text."""

from __future__ import annotations

import io
import random
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from generated_graph import generated
from PIL import Image

from graph.export.image import (
    Picture,
    draw_picture,
    to_png,
    to_svg,
    truncate_label,
    width_of,
    wrap_label,
)
from graph.export.subgraph import Subgraph, neighbourhood_subgraph
from graph.model import GraphExport

HOSTILE = (
    "<script>alert(1)</script>",
    '"></text><image href="http://leak.invalid/x.png"/>',
    "&amp; <!-- ]]> --> \x00\ud800 end",
    "شركة الملاحة الكبرى",
    "👩‍🔬 emoji 🚢",
    "W" * 3_000,
    "海燕站与林若溪" * 40,
)
SVG = "{http://www.w3.org/2000/svg}"


def small() -> GraphExport:
    return neighbourhood_subgraph(
        generated(400), generated(400).entities[3].id, hops=2, limit=60
    ).export


def hostile(export: GraphExport) -> GraphExport:
    return replace(
        export,
        entities=tuple(
            replace(one, name=HOSTILE[at % len(HOSTILE)]) for at, one in enumerate(export.entities)
        ),
        reports=tuple(
            replace(one, title=HOSTILE[at % len(HOSTILE)]) for at, one in enumerate(export.reports)
        ),
    )


def shuffled(export: GraphExport) -> GraphExport:
    chance = random.Random(3)  # noqa: S311 - a fixed shuffle
    return replace(
        export,
        entities=tuple(chance.sample(export.entities, len(export.entities))),
        relations=tuple(chance.sample(export.relations, len(export.relations))),
        communities=tuple(chance.sample(export.communities, len(export.communities))),
        reports=tuple(chance.sample(export.reports, len(export.reports))),
    )


@pytest.mark.parametrize(
    "export", [generated(400), small(), GraphExport()], ids=["many", "few", "none"]
)
def test_equal_graphs_give_equal_bytes(export: GraphExport) -> None:
    drawn, again = (
        draw_picture(Subgraph(export=export)),
        draw_picture(Subgraph(export=shuffled(export))),
    )
    assert to_svg(again) == to_svg(drawn)
    assert to_png(again).content == to_png(drawn).content


@pytest.mark.parametrize("export", [generated(400), small()], ids=["many", "few"])
def test_no_label_stands_over_another_and_everything_is_on_the_sheet(export: GraphExport) -> None:
    drawn = draw_picture(Subgraph(export=export))
    boxes = []
    for words in drawn.words[1:]:
        half = width_of(words.text) * words.size / 2
        boxes.append(
            (words.x - half, words.y - words.size / 2, words.x + half, words.y + words.size / 2)
        )
    for left, top, right, bottom in boxes:
        assert left >= 0
        assert right <= drawn.width
        assert top >= 0
        assert bottom <= drawn.height
    labels = [box for box, words in zip(boxes, drawn.words[1:], strict=True) if not words.is_bold]
    for at, one in enumerate(labels):
        for other in labels[:at]:
            apart = (
                one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            )
            assert apart


def test_few_entities_are_all_drawn_and_the_centre_is_ringed() -> None:
    whole = generated(400)
    part = neighbourhood_subgraph(whole, whole.entities[3].id, hops=2, limit=60)
    drawn = draw_picture(part)
    assert len(drawn.discs) == len(part.export.entities)
    assert sum(one.width > 2 for one in drawn.discs) == 1
    assert drawn.title == f"Knowledge graph – Within 2 steps of {whole.entities[3].name}"


@pytest.mark.parametrize("export", [generated(400), small()], ids=["many", "few"])
def test_hostile_names_stay_text_in_an_svg_that_points_nowhere(export: GraphExport) -> None:
    text = to_svg(draw_picture(Subgraph(export=hostile(export), about=HOSTILE[1])))
    root = ElementTree.fromstring(text)  # noqa: S314
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= {
        *("svg", "title", "rect", "g", "line", "circle", "text"),
    }
    assert not [name for one in root.iter() for name in one.attrib if "href" in name]
    assert text.encode("utf8")
    said = " ".join(one.text or "" for one in root.iter(f"{SVG}text"))
    assert "<script>" in said or "شركة" in said


def test_hostile_names_can_be_drawn_as_pixels() -> None:
    image = Image.open(io.BytesIO(to_png(draw_picture(Subgraph(export=hostile(small())))).content))
    assert image.size[0] > 500


def test_a_png_is_twice_as_large_as_the_picture_and_shows_it() -> None:
    drawn = draw_picture(Subgraph(export=generated(400)))
    image = Image.open(io.BytesIO(to_png(drawn).content)).convert("RGB")
    assert abs(image.size[0] - 2 * drawn.width) <= 2
    disc = drawn.discs[0]
    colour = image.getpixel((round(2 * (disc.x + disc.radius * 0.93)), round(2 * disc.y)))
    expected = tuple(int(disc.fill[at : at + 2], 16) for at in (1, 3, 5))
    assert isinstance(colour, tuple)
    assert all(abs(a - b) < 12 for a, b in zip(colour, expected, strict=True))


def test_an_immense_picture_is_made_smaller_instead_of_filling_the_memory() -> None:
    huge = Picture(
        title="", width=90_000, height=60_000, territories=(), lines=(), discs=(), words=()
    )
    width, height = Image.open(io.BytesIO(to_png(huge).content)).size
    assert width * height <= 40_000_000


def test_chinese_without_a_font_for_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph.export.image._found", lambda names: None)
    assert "fonts-noto-cjk" in to_png(draw_picture(Subgraph(export=hostile(small())))).note


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Old Bess and Linlan", ["Old Bess", "and Linlan"], id="words"),
        pytest.param("临澜海洋大学与布兰诺克", ["临澜海洋大", "学与布兰…"], id="Chinese"),
        pytest.param("Incomprehensibilities", ["Incompre…"], id="a long word"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_titles_are_broken_into_lines_and_cut(text: str, expected: list[str]) -> None:
    assert wrap_label(text, 5.5, most=2) == expected
    assert width_of(truncate_label("m" * 100, 9)) <= 9
