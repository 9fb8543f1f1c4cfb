"""A reader's time grows with the length of what it reads, whatever stands in it.

Each mark of a format is repeated, alone, between words and on lines of its own, never closed and
inside itself. Four times the input may take nine times the computing: linear readers take four
times, quadratic ones sixteen.
"""

from __future__ import annotations

import gc
import io
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import pytest
from format_tokens import AROUND, NESTED, TOKENS, key_of, textual_formats

from engine.errors import SourceError
from engine.ingest.document import ReadOptions
from engine.ingest.registry import FORMATS, NAMES, format_of_name

pytestmark = pytest.mark.slow

OPTIONS = ReadOptions(ocr=False, max_members=10_000)
GLANCE, SMALL, LARGE = 24_000, 16_000, 64_000
"""Bytes: what is fast at a glance is not measured further."""
FAST = {"read_web_page": 0.4, "read_web_archive": 0.2}
"""Seconds of computing for a glance: to find a page's main text takes a tenth of one at once."""
FASTEST = 0.05
MOST = 9.0
TRIES = 4
SHAPES = ("{}", "{}a ", "{}a\n")
CONTAINERS = frozenset(
    {
        *(
            "read_docx",
            "read_pptx",
            "read_xlsx",
        ),
        *("read_opendocument", "read_epub", "read_pdf"),
        *("read_zip", "read_tar"),
    }
)
"""Readers whose members grow below."""
OF_LIBRARIES = frozenset(
    {
        *("read_xls", "read_doc", "read_ppt"),
        *("read_outlook", "read_image", "read_audio"),
    }
)
"""Readers of binary files that no marks of text steer."""

_MERGED = '<mergeCell ref="A1:B9"/>'

Grown = Callable[[int], bytes]


def _name(place: str) -> str:
    return place.partition(":")[2]


def test_every_format_has_marks_that_grow_or_members() -> None:
    places = {key_of(each) for each in (*FORMATS.values(), *NAMES.values())}
    assert places == {*TOKENS, *CONTAINERS, *OF_LIBRARIES}
    assert set(textual_formats()) == set(TOKENS)


@pytest.mark.parametrize(
    ("place", "around", "shapes"),
    [
        pytest.param(place, around, SHAPES[: 1 if number else 3], id=f"{_name(place)}-{number}")
        for place in TOKENS
        for number, around in enumerate(AROUND.get(place, (("", ""),)))
    ],
)
def test_marks_that_come_again_and_again_take_linear_time(
    place: str, around: tuple[str, str], shapes: Sequence[str]
) -> None:
    before, after = around
    cases = {
        (token, shape): _repeated(before, shape.replace("{}", token), after)
        for token in TOKENS[place]
        for shape in shapes
    }
    assert _too_slow(place, cases) == {}


@pytest.mark.parametrize("place", [pytest.param(place, id=_name(place)) for place in NESTED])
def test_marks_inside_themselves_take_linear_time(place: str) -> None:
    cases = {
        (before, opening, word): _nested(before, opening + word, closing, after)
        for before, after in AROUND.get(place, (("", ""),))[:2]
        for opening, closing in NESTED[place]
        for word in ("", "a ")
    }
    assert _too_slow(place, cases) == {}


def _zipped(members: Iterator[tuple[str, str]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in members:
            archive.writestr(name, text)
    return packed.getvalue()


def _office(main: str, text: str, *others: tuple[str, str]) -> bytes:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    relations = f'<a><Relationship Id="r" Type="{kind}" Target="{main}"/></a>'
    return _zipped(iter([("_rels/.rels", relations), (main, text), *others]))


def _word(element: str, size: int) -> bytes:
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = element * (size // len(element))
    return _office(
        "word/document.xml", f'<w:document xmlns:w="{name}"><w:body>{body}</w:body></w:document>'
    )


def _sheet(body: str) -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    book = (
        f'<workbook xmlns="{main}" xmlns:r="{kinds}"><sheets><sheet name="a" r:id="s"/></sheets>'
        "</workbook>"
    )
    relations = f'<a><Relationship Id="s" Type="{kinds}/worksheet" Target="s.xml"/></a>'
    return _office(
        "xl/workbook.xml",
        book,
        ("xl/_rels/workbook.xml.rels", relations),
        ("xl/s.xml", f'<worksheet xmlns="{main}">{body}</worksheet>'),
    )


def _book(size: int) -> bytes:
    chapters = range(size // 200)
    items = "".join(f"<item id='c{n}' href='c{n}.xhtml'/>" for n in chapters)
    spine = "".join(f"<itemref idref='c{n}'/>" for n in chapters)
    opf = f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
    container = "<a><rootfile full-path='b.opf'/></a>"
    pages = [(f"c{n}.xhtml", f"<h1>{n}</h1><p>The harbour opens.</p>") for n in chapters]
    return _zipped(iter([("META-INF/container.xml", container), ("b.opf", opf), *pages]))


def _open_document(element: str, size: int) -> bytes:
    spaces = " ".join(
        f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'"
        for name in ("office", "text", "table")
    )
    body = element * (size // len(element))
    content = (
        f"<office:document-content {spaces}><office:body><office:text>{body}</office:text>"
        "</office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.text"
    return _zipped(iter([("mimetype", kind), ("content.xml", content)]))


def _tar(size: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for _ in range(size // 64):
            archive.addfile(tarfile.TarInfo("a.txt"))
    return packed.getvalue()


def _page(size: int) -> bytes:
    line = b"1 0 0 1 72 %d Tm (The harbour) Tj "
    drawn = b"BT /F 9 Tf " + b"".join(line % (9 * n % 700) for n in range(size // 100)) + b"ET"
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F "
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn),
    )
    body = b"".join(b"%d 0 obj%s endobj\n" % pair for pair in enumerate(objects, start=1))
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R>>"


@pytest.mark.parametrize(
    ("name", "grown"),
    [
        pytest.param("a.zip", lambda size: _zipped(_entries(size, "a{}.txt")), id="entries"),
        pytest.param("a.zip", lambda size: _zipped(_entries(size, "a/.{}/b.txt")), id="folders"),
        pytest.param("a.tar", _tar, id="entries of one name"),
        pytest.param("a.epub", _book, id="chapters"),
        pytest.param(
            "a.docx", lambda size: _word("<w:p><w:r><w:t>a</w:t></w:r></w:p>", size), id="p"
        ),
        pytest.param("a.docx", lambda size: _word("<w:tbl><w:tr><w:tc>", size)[:-1], id="cut"),
        pytest.param(
            "a.docx",
            lambda size: _word("<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>", size),
            id="tables",
        ),
        pytest.param("a.odt", lambda size: _open_document("<text:p>a</text:p>", size), id="odt"),
        pytest.param(
            "a.odt",
            lambda size: _open_document("<text:list><text:list-item/></text:list>", size),
            id="lists",
        ),
        pytest.param(
            "a.xlsx",
            lambda size: _sheet(
                f"<sheetData>{'<row><c><v>1</v></c><c/></row>' * (size // 30)}</sheetData>"
            ),
            id="rows",
        ),
        pytest.param(
            "a.xlsx",
            lambda size: _sheet(
                "<sheetData><row><c><v>1</v></c></row></sheetData><mergeCells>"
                f"{_MERGED * (size // 24)}</mergeCells>"
            ),
            id="merged cells",
        ),
        pytest.param("a.pdf", _page, id="lines"),
    ],
)
def test_containers_of_many_members_take_linear_time(name: str, grown: Grown) -> None:
    assert _too_slow(key_of(format_of_name(name)), {name: grown}) == {}


def _entries(size: int, name: str) -> Iterator[tuple[str, str]]:
    return ((name.format(number), "a") for number in range(size // 64))


def _repeated(before: str, piece: str, after: str) -> Grown:
    return lambda size: _encoded(before + piece * (size // len(piece)) + after)


def _nested(before: str, opening: str, closing: str, after: str) -> Grown:
    def grown(size: int) -> bytes:
        count = size // len(opening + closing)
        return _encoded(before + opening * count + "x" + closing * count + after)

    return grown


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _too_slow(place: str, cases: Mapping[object, Grown]) -> dict[object, float]:
    """The cases in which more than nine times as long is taken for four times as much."""
    growths = {case: _growth(place, grown) for case, grown in cases.items()}
    return {case: round(growth, 1) for case, growth in growths.items() if growth > MOST}


def _growth(place: str, grown: Grown) -> float:
    """How many times longer the reader takes for four times as much; 0 where it is fast anyway.

    The least of a few tries: a busy machine makes single ones longer, never shorter.
    """
    if _seconds(place, grown(GLANCE)) < FAST.get(place, FASTEST):
        return 0.0
    small, large = grown(SMALL), grown(LARGE)
    least_small = least_large = float("inf")
    for _ in range(TRIES):
        least_small = min(least_small, _seconds(place, small))
        least_large = min(least_large, _seconds(place, large))
        if least_large <= MOST * least_small:
            break
    return least_large / least_small


def _seconds(place: str, data: bytes) -> float:
    """What the reader computes, with a warm start."""
    format_ = next(each for each in FORMATS.values() if key_of(each) == place)
    gc.disable()  # what a collection takes grows with all that this process holds
    try:
        started = time.thread_time()
        with suppress(SourceError, RecursionError):  # a refusal is an answer, and has to come soon
            format_.read(data, OPTIONS)
        return time.thread_time() - started
    finally:
        gc.enable()
