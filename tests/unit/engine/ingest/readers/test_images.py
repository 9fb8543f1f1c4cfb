"""The text in pictures is read in the order in which a person reads it."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from engine.errors import SourceError
from engine.ingest.document import ReadOptions
from engine.ingest.readers import media as images
from engine.ingest.readers.media import (
    MISSING_OCR,
    TextBox,
    read_image,
    recognise_text,
    text_in_order,
)

OPTIONS = ReadOptions()
FONTS = sorted(Path("/usr/share/fonts").glob("**/*CJK*"))
needs_engine = pytest.mark.skipif(
    importlib.util.find_spec("rapidocr") is None,
    reason="the engine is not installed: pip install 'loregraph[ocr]'",
)
needs_font = pytest.mark.skipif(
    not FONTS, reason="no font with Chinese characters under /usr/share/fonts (fonts-noto-cjk)"
)

Line = tuple[int, int, str]


def _drawn(
    *lines: Line, size: tuple[int, int] = (900, 320), font: Path | None = None
) -> Image.Image:
    image = Image.new("RGB", size, "white")
    face = ImageFont.truetype(font, 28) if font else ImageFont.load_default(28)
    for left, top, text in lines:
        ImageDraw.Draw(image).text((left, top), text, fill="black", font=face)
    return image


def _bytes(image: Image.Image, format_: str = "PNG", **more: object) -> bytes:
    out = io.BytesIO()
    image.save(out, format_, **more)
    return out.getvalue()


def _box(text: str, left: float, top: float, width: float, height: float = 20) -> TextBox:
    return TextBox(text=text, left=left, top=top, right=left + width, bottom=top + height)


COLUMNS = [
    _box("heading over both", 100, 0, 600),
    *(_box(f"left {n}", 0, 60 + 30 * n, 350) for n in range(4)),
    *(_box(f"right {n}", 400, 62 + 30 * n, 350) for n in range(4)),
    _box("foot over both", 100, 240, 600),
]


def test_columns_are_read_one_after_the_other_under_their_heading() -> None:
    assert text_in_order(COLUMNS) == (
        "heading over both\n\nleft 0\nleft 1\nleft 2\nleft 3\n\n"
        "right 0\nright 1\nright 2\nright 3\n\nfoot over both"
    )


def test_a_table_is_read_line_by_line() -> None:
    cells = [
        _box(f"{row}{column}", 200 * column, 40 * row, 60)
        for row in range(4)
        for column in range(3)
    ]
    assert text_in_order(cells) == "00\t01\t02\n10\t11\t12\n20\t21\t22\n30\t31\t32"


def test_three_columns_are_read_from_left_to_right() -> None:
    boxes = [_box(f"{c}{n}", 300 * c, 30 * n, 250) for n in range(5) for c in range(3)]
    order = text_in_order(boxes).split()
    assert order == [f"{c}{n}" for c in range(3) for n in range(5)]


def test_a_wide_gap_parts_paragraphs() -> None:
    boxes = [_box(str(n), 0, 30 * n + (40 if n > 2 else 0), 300) for n in range(6)]
    assert text_in_order(boxes) == "0\n1\n2\n\n3\n4\n5"


def test_no_boxes_are_no_text() -> None:
    assert text_in_order([]) == ""


@given(st.permutations(COLUMNS))
def test_the_order_in_which_boxes_are_found_does_not_matter(boxes: list[TextBox]) -> None:
    assert text_in_order(boxes) == text_in_order(COLUMNS)


@given(
    st.lists(
        st.builds(
            _box,
            st.text("ab", min_size=1, max_size=3),
            st.integers(0, 500),
            st.integers(0, 500),
            st.integers(1, 300),
            st.integers(1, 60),
        ),
        max_size=25,
    )
)
def test_every_box_is_read_once(boxes: list[TextBox]) -> None:
    assert sorted(text_in_order(boxes).split()) == sorted(box.text for box in boxes)


@needs_engine
def test_english_is_recognised() -> None:
    image = _drawn(
        (20, 20, "The harbour was opened in 1874."),
        (20, 70, "Coal and timber came first."),
        size=(460, 120),
    )
    expected = "The harbour was opened in 1874.\nCoal and timber came first."
    assert recognise_text(_bytes(image)) == expected
    assert recognise_text(np.asarray(image)) == expected
    assert recognise_text(np.asarray(image.convert("L"))) == expected


@needs_engine
@needs_font
def test_chinese_is_recognised_beside_english() -> None:
    image = _drawn(
        (40, 40, "知识图谱把文档连接起来。"),
        (40, 110, "第二行 contains 中文 and English"),
        font=FONTS[0],
    )
    text = recognise_text(_bytes(image)).replace(" ", "")
    assert text == "知识图谱把文档连接起来。\n第二行contains中文andEnglish"


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The pixels that are given to the engine, which is not asked and would take its time."""
    pictures: list[np.ndarray] = []

    def recognised(pixels: np.ndarray) -> str:
        pictures.append(pixels)
        return "text"

    monkeypatch.setattr(images, "_recognised", recognised)
    return pictures


@pytest.mark.parametrize("format_", ["BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP"])
def test_every_format_is_opened(format_: str, seen: list[np.ndarray]) -> None:
    image = _drawn((40, 40, "HARBOUR 1874"), size=(320, 120))
    assert read_image(_bytes(image, format_), OPTIONS).text == "text"
    (pixels,) = seen
    assert float(np.abs(pixels.astype(int) - np.asarray(image)).mean()) < 3


@needs_engine
def test_the_frames_of_a_scan_are_pages() -> None:
    first, second = (_drawn((40, 40, f"page {n} of two"), size=(320, 120)) for n in (1, 2))
    content = read_image(_bytes(first, "TIFF", save_all=True, append_images=[second]), OPTIONS)
    assert content.text == "page 1 of two\n\npage 2 of two"
    assert [content.text[start:][:6] for start in content.pages] == ["page 1", "page 2"]


@needs_engine
def test_a_photograph_is_turned_upright_and_dated() -> None:
    image = _drawn((40, 40, "HARBOUR OFFICE"), size=(400, 160)).rotate(90, expand=True)
    exif = Image.Exif()
    exif[0x0112], exif[0x013B] = 6, "Ann Lee"
    exif.get_ifd(0x8769)[0x9003] = "2021:05:01 23:30:00"
    content = read_image(_bytes(image, "JPEG", exif=exif, quality=95), OPTIONS)
    assert content.text == "HARBOUR OFFICE"
    assert content.metadata == {"date": "2021-05-01", "author": "Ann Lee"}


def test_where_the_camera_knew_its_zone_the_moment_is_known(seen: list[np.ndarray]) -> None:
    image = _drawn(size=(20, 10))
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2021:05:01 23:30:00"
    exif.get_ifd(0x8769)[0x9011] = "-02:00"
    dated = read_image(_bytes(image, "JPEG", exif=exif, quality=95), OPTIONS)
    assert dated.metadata["date"] == "2021-05-02T01:30:00Z"


@needs_engine
def test_black_on_nothing_is_black_on_white() -> None:
    image = Image.new("RGBA", (360, 120), (0, 0, 0, 0))
    ImageDraw.Draw(image).text(
        (30, 40), "HARBOUR 1874", fill="black", font=ImageFont.load_default(28)
    )
    assert read_image(_bytes(image), OPTIONS).text == "HARBOUR 1874"


@needs_engine
def test_sixteen_bit_scans_are_read() -> None:
    grey = np.asarray(_drawn((40, 40, "HARBOUR 1874"), size=(320, 120)).convert("L"))
    deep = Image.fromarray(grey.astype(np.uint16) * 200)
    assert read_image(_bytes(deep, "PNG"), OPTIONS).text == "HARBOUR 1874"


@needs_engine
def test_a_long_screenshot_loses_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_LONGEST_SIDE", 500)
    lines = [(30, 30 + 180 * n, f"Line number {n}") for n in range(7)]
    text = recognise_text(_bytes(_drawn(*lines, size=(320, 1260))))
    assert text.split("\n") == [line for _, _, line in lines]


@needs_engine
def test_an_icon_with_a_figure_is_no_text() -> None:
    assert recognise_text(_bytes(_drawn((40, 40, "7"), size=(120, 120)))) == "7"
    with pytest.raises(SourceError, match="without recognisable text"):
        read_image(_bytes(_drawn((40, 40, "7"), size=(120, 120))), OPTIONS)


@needs_engine
def test_a_picture_without_text_is_refused_with_a_reason() -> None:
    with pytest.raises(SourceError, match="without recognisable text"):
        read_image(_bytes(Image.new("RGB", (300, 200), "white")), OPTIONS)
    assert recognise_text(_bytes(Image.new("RGB", (3, 3), "white"))) == ""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"not a picture", "not a readable picture", id="no-picture"),
        pytest.param(_bytes(_drawn(size=(400, 300)))[:200], "damaged", id="cut-off"),
        pytest.param(
            _bytes(Image.new("1", (12_000, 12_000))), "scale the picture down", id="large"
        ),
        pytest.param(_bytes(Image.new("1", (20_000, 20_000))), "scale the picture down", id="bomb"),
    ],
)
@pytest.mark.filterwarnings("ignore:Image size")
def test_what_cannot_be_read_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        read_image(data, OPTIONS)


def test_recognition_can_be_switched_off() -> None:
    with pytest.raises(SourceError, match=r"ingest\.ocr"):
        read_image(b"", ReadOptions(ocr=False))


def test_without_the_engine_the_reason_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    images._engine.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "rapidocr", None)
    with pytest.raises(SourceError, match=r"loregraph\[ocr\]") as caught:
        recognise_text(_bytes(_drawn()))
    assert str(caught.value) == MISSING_OCR
