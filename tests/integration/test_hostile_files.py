"""Hostile files through the real reading processes: parts or one clear line, in time and memory.

Nothing here may crash a reader, hang it or fill memory. Every file is made by code, the same each
time. What a reader does not survive is caught by its process, but counts as a defect here.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import SourceError
from engine.ingest.discovery import find_sources
from engine.ingest.document import ReadOptions
from engine.ingest.load import Part
from engine.ingest.registry import SUFFIXES
from engine.ingest.sandbox import Job, ReaderPool

SECONDS = 60
MEMORY = 2 << 30
MEGABYTE = 1_000_000
OPTIONS = ReadOptions(ocr=False)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


@pytest.fixture(scope="module")
def pool() -> Iterator[ReaderPool]:
    with ReaderPool(
        options=OPTIONS,
        max_bytes=250 * MEGABYTE,
        workers=2,
        timeout_seconds=SECONDS,
        memory_bytes=MEMORY,
    ) as running:
        yield running


Outcome = tuple[Part, ...] | str
"""The parts, or why there are none."""


def outcomes(pool: ReaderPool, files: Iterable[tuple[str, bytes]]) -> list[tuple[str, Outcome]]:
    """How each file ended; a failure of itself as its reason. All reasons are checked."""
    jobs = ((name, Job(name=name, data=data)) for name, data in files)
    found: list[tuple[str, Outcome]] = []
    for name, reading in pool.read(jobs):
        if isinstance(reading, SourceError):
            check_reason(name, str(reading))
            found.append((name, str(reading)))
            continue
        for part in reading.parts:
            if part.content is None:
                check_reason(name, part.failure)
            else:
                assert part.content.text.strip(), name
        alone = reading.parts[0].failure if len(reading.parts) == 1 else ""
        found.append((name, alone or reading.parts))
    return found


def check_reason(name: str, reason: str) -> None:
    """One line, and neither a crash nor a hang behind it."""
    assert reason.strip(), name
    assert len(reason.splitlines()) == 1, f"{name}: {reason!r}"
    assert len(reason) < 600, f"{name}: {reason!r}"
    assert not reason.startswith(
        ("crashed", "failed in its reader", "made its reader", "took longer", "was not read")
    ), f"{name} {reason}"


def outcome(pool: ReaderPool, name: str, data: bytes) -> Outcome:
    return outcomes(pool, [(name, data)])[0][1]


def reason(pool: ReaderPool, name: str, data: bytes) -> str:
    found = outcome(pool, name, data)
    assert isinstance(found, str), f"{name} was read: {found!r}"[:300]
    return found


def text(pool: ReaderPool, name: str, data: bytes) -> str:
    found = outcome(pool, name, data)
    assert not isinstance(found, str), f"{name} {found}"
    return "\n".join(part.content.text for part in found if part.content is not None)


# --- files made by code -------------------------------------------------------------------------


def zipped(entries: Iterable[tuple[str, bytes]], *, stored: bool = False) -> bytes:
    method = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in entries:
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return out.getvalue()


def docx(document: bytes) -> bytes:
    """A document of Word whose `word/document.xml` is as given."""
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    relations = "application/vnd.openxmlformats-package.relationships+xml"
    types = (
        f'<?xml version="1.0"?><Types xmlns="{PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="{relations}"/>'
        f'<Override PartName="/word/document.xml" ContentType="{main}"/></Types>'
    )
    root = (
        f'<?xml version="1.0"?><Relationships xmlns="{PACKAGE}/relationships"><Relationship '
        f'Id="r1" Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>'
    )
    return zipped(
        [
            ("[Content_Types].xml", types.encode()),
            ("_rels/.rels", root.encode()),
            ("word/document.xml", document),
        ]
    )


def word_document(body: str, *, before: str = "") -> bytes:
    head = f'<?xml version="1.0"?>{before}<w:document xmlns:w="{WORD}"><w:body>'
    return f"{head}{body}</w:body></w:document>".encode()


def paragraph(words: str) -> str:
    return f"<w:p><w:r><w:t>{words}</w:t></w:r></w:p>"


def pdf(objects: list[bytes]) -> bytes:
    """A PDF of these objects, numbered from 1; the first is the catalogue."""
    out, starts = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, start=1):
        starts.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % start for start in starts)
    out.write(b"trailer<</Size %d/Root 1 0 R>>\n" % (len(objects) + 1))
    out.write(b"startxref\n%d\n%%%%EOF\n" % table)
    return out.getvalue()


CATALOGUE = b"<</Type/Catalog/Pages 2 0 R>>"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def page_of(content: bytes, *, filter_: bytes = b"") -> list[bytes]:
    """The objects of a PDF of one page with this content stream."""
    length = b"<</Length %d%s>>stream\n" % (len(content), filter_)
    return [
        CATALOGUE,
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        length + content + b"\nendstream",
        FONT,
    ]


def sound_pdf() -> bytes:
    lines = b"".join(b"(A line of the lighthouse book, number %d.) Tj T* " % n for n in range(30))
    return pdf(page_of(b"BT /F1 12 Tf 14 TL 50 750 Td " + lines + b"ET"))


def sound_xlsx() -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in range(50):
        book.active.append([f"keeper {row}", row, row / 7])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def sound_pptx() -> bytes:
    pptx = pytest.importorskip("pptx")
    deck = pptx.Presentation()
    for number in range(3):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Lamp {number}"
        slide.placeholders[1].text = "It burns all night."
    out = io.BytesIO()
    deck.save(out)
    return out.getvalue()


def sound_mail() -> bytes:
    return (
        b"From: Ada <ada@example.org>\r\nTo: bob@example.org\r\nSubject: =?utf-8?b?54Gv5aGU?=\r\n"
        b"Date: Mon, 06 May 2024 07:08:09 +0000\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\n'
        b"Content-Type: text/plain; charset=utf-8\r\n\r\nThe lamp is lit.\r\n--x\r\n"
        b"Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        b"PHA+VGhlIGxhbXAgaXMgbGl0LjwvcD4=\r\n--x--\r\n"
    )


PROSE = "The keeper of the lamp at Gull Quay wrote each night in her book. " * 20
HTML = f"<html><head><title>Lamp</title></head><body><h1>Lamp</h1><p>{PROSE}</p></body></html>"
SOUND: dict[str, bytes] = {
    "book.md": f"---\ntitle: Lamp\n---\n# Lamp\n\n{PROSE}\n\n| a |\n|---|\n| 1 |\n".encode(),
    "book.txt": f"灯塔看守人的日记。\n\n{PROSE}".encode(),
    "book.html": HTML.encode(),
    "book.csv": "".join(f'{row},keeper {row},"a, b"\n' for row in range(60)).encode(),
    "book.json": b'{"title": "Lamp", "rows": [' + b'{"a": 1, "b": "two"}, ' * 40 + b"null]}",
    "book.jsonl": b'{"title": "Lamp", "text": "It burns."}\n' * 40,
    "book.xml": b"<book><title>Lamp</title>" + b"<p>It burns all night.</p>" * 40 + b"</book>",
    "book.ipynb": b'{"cells": [{"cell_type": "markdown", "metadata": {}, "source": ["# Lamp"]}],'
    b' "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "book.tex": b"\\documentclass{article}\\begin{document}\\section{Lamp}"
    + PROSE.encode()
    + b"$x^2$\\end{document}",
    "book.rtf": b"{\\rtf1\\ansi{\\fonttbl\\f0 Arial;}\\f0 " + PROSE.encode() + b"\\par \\u28783?}",
    "book.srt": b"1\n00:00:01,000 --> 00:00:02,000\nThe lamp is lit.\n\n" * 20,
    "book.vtt": b"WEBVTT\n\n" + b"00:01.000 --> 00:02.000\n<v Ada>The lamp is lit.\n\n" * 20,
    "book.py": b'def lamp():\n    """Light it."""\n    return 1\n' * 20,
    "book.eml": sound_mail(),
    "book.pdf": sound_pdf(),
    "book.docx": docx(word_document(paragraph(PROSE) * 5)),
    "book.zip": zipped([("a.md", b"# A\n\nIt burns."), ("b/c.txt", PROSE.encode())]),
}
MADE = {"book.xlsx": sound_xlsx, "book.pptx": sound_pptx}
SAMPLES = (*SOUND, *MADE)


def sample(name: str) -> bytes:
    return SOUND[name] if name in SOUND else MADE[name]()


def seeded(*parts: object) -> random.Random:
    """Numbers that look random and are the same each time."""
    return random.Random("/".join(map(str, parts)))  # noqa: S311 - no secrets are made of it


# --- damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sound_sample_is_read(pool: ReaderPool, name: str) -> None:
    assert text(pool, name, sample(name)).strip()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_cut_off_anywhere_ends_with_text_or_a_reason(pool: ReaderPool, name: str) -> None:
    whole = sample(name)
    random_ = seeded("cut", name)
    cuts = [0, 1, 4, len(whole) - 1, *(random_.randrange(len(whole)) for _ in range(26))]
    ended = outcomes(pool, [(name, whole[:cut]) for cut in sorted(cuts)])
    assert ended[0][1] == "is empty: there is nothing to read in it"
    assert len(ended) == len(cuts)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_with_bytes_changed_ends_with_text_or_a_reason(pool: ReaderPool, name: str) -> None:
    whole = sample(name)

    def changed(seed: int) -> bytes:
        random_, data = seeded("flip", name, seed), bytearray(whole)
        for _ in range(random_.choice((1, 3, 20, 100))):
            data[random_.randrange(len(data))] = random_.randrange(256)
        return bytes(data)

    assert len(outcomes(pool, [(name, changed(seed)) for seed in range(25)])) == 25


def test_random_bytes_under_every_suffix_are_never_taken_for_text(pool: ReaderPool) -> None:
    files = [
        (f"noise{suffix}", seeded("noise", suffix).randbytes(3_000)) for suffix in sorted(SUFFIXES)
    ]
    assert [name for name, ended in outcomes(pool, files) if not isinstance(ended, str)] == []


def test_single_bytes_under_every_suffix_end_with_text_or_a_reason(pool: ReaderPool) -> None:
    files = [
        (f"a{suffix}", byte) for suffix in sorted(SUFFIXES) for byte in (b"\x00", b"{", b"\xff")
    ]
    assert len(outcomes(pool, files)) == len(files)


@pytest.mark.parametrize("suffix", sorted(SUFFIXES & {f".{n.partition('.')[2]}" for n in SAMPLES}))
def test_one_formats_file_under_anothers_name_ends_with_text_or_a_reason(
    pool: ReaderPool, suffix: str
) -> None:
    files = [(f"wrong{suffix}", sample(name)) for name in SAMPLES]
    assert len(outcomes(pool, files)) == len(files)


@pytest.mark.parametrize("suffix", [".txt", ".md", ".html", ".csv", ".json", ".xml", ".py", ".tex"])
def test_broken_utf8_and_nul_bytes_never_reach_the_text(pool: ReaderPool, suffix: str) -> None:
    words = "Die Glühlampe brennt 灯塔 jede Nacht. ".encode() * 60
    files = [
        (f"broken{suffix}", words + b"\xff\xfe\x80 " + words),
        (f"cut{suffix}", words + "灯".encode()[:2]),
        (f"nul{suffix}", words + b"\x00\x00" + words),
        (f"overlong{suffix}", words + b"\xc0\x80\xed\xa0\x80" + words),
        (f"nuls{suffix}", b"\x00" * 100_000),
    ]
    for _, ended in outcomes(pool, files):
        texts = [] if isinstance(ended, str) else [part.content for part in ended if part.content]
        for content in texts:
            assert "\x00" not in content.text
            content.text.encode("utf-8")  # no lone surrogates


# --- bombs --------------------------------------------------------------------------------------


def test_zip_bombs_are_refused_by_what_they_unfold_to(pool: ReaderPool) -> None:
    flat = zipped([("a.txt", b"0" * 150 * MEGABYTE)])
    assert "looks like a zip bomb" in reason(pool, "flat.zip", flat)
    nested = zipped([(f"{number}.zip", flat) for number in range(8)])
    ended = outcome(pool, "nested.zip", nested)
    assert not isinstance(ended, str)
    assert all("looks like a zip bomb" in part.failure for part in ended)


def test_a_bomb_of_many_floors_is_read_no_deeper_than_allowed(pool: ReaderPool) -> None:
    floor = zipped([("a.txt", b"ab " * 100_000)])
    for _ in range(5):
        floor = zipped([(f"{number}.zip", floor) for number in range(8)])
    ended = outcome(pool, "42.zip", floor)
    assert not isinstance(ended, str)
    assert {part.failure for part in ended} == {
        "is nested more than 3 archives deep: unpack them first",
        "is past the first 1,000 members: unpack the archive, or raise ingest.max_members",
    }
    assert len(ended) <= 8**4


def test_members_past_the_limit_of_unpacked_bytes_are_named() -> None:
    random_ = seeded("members")
    words = [random_.randbytes(4).hex() for _ in range(2_000)]
    page = " ".join(random_.choices(words, k=50_000)).encode()
    floor = zipped([(f"{number}.txt", page) for number in range(10)])
    whole = zipped([(f"{number}.zip", floor) for number in range(10)])
    options = replace(OPTIONS, max_unpacked_bytes=20 * MEGABYTE)
    with ReaderPool(options=options, max_bytes=50 * MEGABYTE, timeout_seconds=SECONDS) as pool:
        ended = outcome(pool, "large.zip", whole)
    assert not isinstance(ended, str)
    unpacked = sum(len(part.content.text) for part in ended if part.content)
    assert 0 < unpacked <= options.max_unpacked_bytes
    assert any("max_unpacked_bytes" in part.failure for part in ended)


def test_entries_that_share_their_bytes_are_refused(pool: ReaderPool) -> None:
    data = zipped([("00000", b"hello world " * 10_000)])
    end = data[-22:]
    start = struct.unpack("<I", end[16:20])[0]
    entry = data[start:-22]
    for count in (2, 900, 60_000):
        directory = b"".join(entry.replace(b"00000", b"%05d" % n) for n in range(count))
        tail = (b"PK\5\6", 0, 0, min(count, 65_535), min(count, 65_535), len(directory), start, 0)
        bomb = data[:start] + directory + struct.pack("<4sHHHHIIH", *tail)
        why = reason(pool, "overlap.zip", bomb)
        assert "overlap" in why or "entries, the limit is" in why


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("a.gz", gzip.compress(bytes(150 * MEGABYTE), 6), id="gzip"),
        pytest.param("a.txt.bz2", bz2.compress(bytes(100 * MEGABYTE)), id="bzip2"),
        pytest.param("a.txt.xz", lzma.compress(bytes(100 * MEGABYTE), preset=0), id="xz"),
    ],
)
def test_a_single_compressed_bomb_is_refused(pool: ReaderPool, name: str, data: bytes) -> None:
    assert "looks like a decompression bomb" in reason(pool, name, data)


def test_a_document_that_unfolds_out_of_proportion_is_refused(pool: ReaderPool) -> None:
    bomb = docx(word_document(paragraph("word") * 1_000_000))
    assert "looks like a zip bomb" in reason(pool, "bomb.docx", bomb)


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha" * 50}">' for n in range(10))
LAUGHS = f"<!DOCTYPE bomb [{ENTITIES}]>"
BLOW_UP = f'<!DOCTYPE bomb [<!ENTITY e9 "{"a" * 50_000}">]>'
FETCH = '<!DOCTYPE bomb [<!ENTITY e9 SYSTEM "file:///etc/passwd">]>'
REMOTE = '<!DOCTYPE bomb [<!ENTITY % e SYSTEM "http://127.0.0.1:9/e.dtd">%e;<!ENTITY e9 "x">]>'


@pytest.mark.parametrize(
    "doctype", [LAUGHS, BLOW_UP, FETCH, REMOTE], ids=["laughs", "large", "file", "address"]
)
@pytest.mark.parametrize("name", ["bomb.xml", "bomb.svg", "bomb.html", "bomb.docx", "bomb.xhtml"])
def test_entities_are_neither_unfolded_nor_fetched(
    pool: ReaderPool, name: str, doctype: str
) -> None:
    words = "before " + "&e9;" * 2_000 + " after"
    if name.endswith(".docx"):
        data = docx(word_document(paragraph(words), before=doctype))
    else:
        data = f'<?xml version="1.0"?>{doctype}<bomb><p>{words}</p></bomb>'.encode()
    for _, ended in outcomes(pool, [(name, data)]):
        if not isinstance(ended, str):
            read = "".join(part.content.text for part in ended if part.content)
            assert len(read) < 2 * len(data) + 1_000
            assert "root:" not in read


# --- size and depth -----------------------------------------------------------------------------

ONE_LINE = {
    "txt": (b"", b"word ", b""),
    "md": (b"# ", b"word *and* ", b""),
    "csv": (b"", b"cell,", b""),
    "json": (b"[", b'"word",', b"1]"),
    "html": (b"<p>", b"word <b>and</b> ", b"</p>"),
    "xml": (b"<r>", b"<a>word</a>", b"</r>"),
}


def test_what_is_larger_than_a_file_may_be_is_never_opened(tmp_path: Path) -> None:
    files = [tmp_path / f"large{suffix}" for suffix in sorted(SUFFIXES)]
    for path in files:
        with path.open("wb") as file:
            file.truncate(100 * MEGABYTE)
    with ReaderPool(options=OPTIONS, max_bytes=50 * MEGABYTE, timeout_seconds=SECONDS) as pool:
        jobs = ((path.name, Job(name=path.name, path=path)) for path in files)
        reasons = {str(reading) for _, reading in pool.read(jobs)}
    assert reasons == {
        "is too large: 100,000,000 bytes, the limit is 50,000,000; "
        "split it, or raise ingest.max_file_bytes"
    }


@pytest.mark.slow
@pytest.mark.parametrize("suffix", sorted(ONE_LINE))
def test_a_hundred_megabytes_in_one_line_end_with_a_reason(suffix: str) -> None:
    """Where so large a file is allowed, its text is too large all the same, or its time is up."""
    before, unit, after = ONE_LINE[suffix]
    data = before + unit * (100 * MEGABYTE // len(unit)) + after
    with ReaderPool(
        options=OPTIONS, max_bytes=250 * MEGABYTE, timeout_seconds=20, memory_bytes=MEMORY
    ) as pool:
        ((_, ended),) = pool.read([("line", Job(name=f"line.{suffix}", data=data))])
        ((_, after_it),) = pool.read([("next", Job(name="next.txt", data=b"It burns."))])
    why = str(ended) if isinstance(ended, SourceError) else ended.parts[0].failure
    assert len(why.splitlines()) == 1
    assert not why.startswith(("is empty", "crashed", "broke")), why
    assert not isinstance(after_it, SourceError)


def test_a_megabyte_without_a_break_is_read_as_it_is(pool: ReaderPool) -> None:
    for suffix in ("txt", "md", "html", "rst", "tex", "py"):
        assert "x" * 10_000 in text(pool, f"word.{suffix}", b"x" * MEGABYTE)


DEEP = 50_000
NESTED: dict[str, tuple[str, bytes]] = {
    "arrays": ("a.json", b"[" * DEEP + b"]" * DEEP),
    "objects": ("a.json", b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    "lines": ("a.jsonl", b"[" * DEEP + b"]" * DEEP),
    "notebook": ("a.ipynb", b'{"cells":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "divs": ("a.html", b"<div>" * DEEP + b"deep"),
    "spans": ("a.html", b"<span>" * DEEP + b"deep"),
    "tables": ("a.html", b"<table><tr><td>" * DEEP + b"deep"),
    "lists": ("a.html", b"<ul><li>a " * DEEP + b"deep"),
    "quotes in a page": ("a.html", b"<blockquote>a " * DEEP + b"deep"),
    "elements": ("a.xml", b"<a>" * DEEP + b"x" + b"</a>" * DEEP),
    "groups": ("a.svg", b"<g>" * DEEP + b"x" + b"</g>" * DEEP),
    "quotes": ("a.md", b"> " * DEEP + b"deep"),
    "list": ("a.md", b"".join(b" " * (2 * n) + b"- x\n" for n in range(2_000))),
    "brackets": ("a.md", b"[" * DEEP + b"x" + b"]" * DEEP),
    "stars": ("a.md", b"*" * DEEP + b"x" + b"*" * DEEP),
    "stars in a heading": ("a.md", b"# " + b"*a " * DEEP),
    "links in a heading": ("a.md", b"# " + b"[a" * DEEP),
    "gap in a heading": ("a.md", b"# a" + b" " * DEEP + b"b"),
    "marks in a heading": ("a.md", b"# a" + b" #" * DEEP + b"b"),
    "fences": ("a.md", b"~~~a\n```\n" * DEEP),
    "rules": ("a.md", b"---\n" * DEEP),
    "front matter": ("a.md", b"---\na: " + b"[" * 5_000 + b"\n---\nx\n"),
    "table": ("a.md", b"|" * DEEP + b"\n" + b"|-" * DEEP),
    "braces": ("a.tex", b"{" * DEEP + b"x" + b"}" * DEEP),
    "environments": ("a.tex", b"\\begin{itemize}\\item " * DEEP),
    "macro": ("a.tex", b"\\newcommand{\\a}{\\a\\a}\\begin{document}\\a\\end{document}"),
    "groups in rtf": ("a.rtf", b"{\\rtf1 " + b"{" * DEEP + b"x" + b"}" * DEEP),
    "calls": ("a.py", b"(" * DEEP + b")" * DEEP),
    "blocks": ("a.py", b"".join(b" " * n + b"if x:\n" for n in range(1_000))),
    "blocks in c": ("a.c", b"{" * DEEP),
    "yaml": ("a.yaml", b"- " * DEEP),
    "toml": ("a.toml", b"a=" + b"[" * DEEP),
    "quote marks": ("a.csv", b'"' * (DEEP + 1)),
    "columns": ("a.csv", (b"," * 500 + b"\n") * 1_000),
    "messages": ("a.eml", b"Content-Type: message/rfc822\n\n" * 1_000 + b"x"),
    "voices": ("a.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\n" + b"<v " * DEEP),
    "title": ("a.txt", b"Title: " * DEEP),
    "blanks": ("a.txt", b" " * DEEP + b"x"),
}


@pytest.mark.parametrize("case", sorted(NESTED))
def test_deep_nesting_ends_with_text_or_a_reason(pool: ReaderPool, case: str) -> None:
    name, data = NESTED[case]
    assert len(outcomes(pool, [(name, data)])) == 1


def test_a_document_of_tables_in_tables_ends_with_text_or_a_reason(pool: ReaderPool) -> None:
    for depth in (50, 5_000):
        inside = paragraph("deep")
        body = "<w:tbl><w:tr><w:tc>" * depth + inside + "</w:tc></w:tr></w:tbl>" * depth
        outcome(pool, "deep.docx", docx(word_document(body)))


def test_archives_in_archives_are_opened_no_deeper_than_allowed(pool: ReaderPool) -> None:
    data = b"deep"
    for number in range(100):
        data = zipped([(f"{number}.zip" if number else "deep.txt", data)])
    assert (
        reason(pool, "nest.zip", data) == "is nested more than 3 archives deep: unpack them first"
    )


@pytest.mark.parametrize("case", ["shared", "nested", "said"])
def test_a_pdf_of_a_million_empty_pages_is_refused_or_empty(pool: ReaderPool, case: str) -> None:
    million = 1_000_000
    blank = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"
    if case == "shared":  # the same page a million times
        objects = [CATALOGUE, b"<</Type/Pages/Count %d/Kids[%s]>>" % (million, b"3 0 R " * million)]
        objects.append(blank)
    elif case == "nested":  # six floors of ten times the same floor
        floors = [
            b"<</Type/Pages/Count %d/Kids[%s]>>" % (10**n, b"%d 0 R " % (9 - n) * 10)
            for n in range(6, 0, -1)
        ]
        objects = [CATALOGUE, *floors, blank]
    else:  # a count that nothing stands behind
        objects = [CATALOGUE, b"<</Type/Pages/Count %d/Kids[3 0 R]>>" % million, blank]
    assert reason(pool, "million.pdf", pdf(objects))


def test_a_pdf_whose_pages_go_in_a_circle_ends_with_a_reason(pool: ReaderPool) -> None:
    objects = [CATALOGUE, b"<</Type/Pages/Count 5/Kids[2 0 R 2 0 R]/Parent 2 0 R>>"]
    assert reason(pool, "circle.pdf", pdf(objects))


def test_a_page_that_unfolds_to_a_thousand_words_in_one_is_read(
    pool: ReaderPool,
) -> None:
    content = zlib.compress(b"BT /F1 12 Tf " + b"(word) Tj " * 1_000 + b"ET")
    objects = page_of(content, filter_=b"/Filter/FlateDecode")
    assert "wordword" in text(pool, "page.pdf", pdf(objects))


def test_a_reader_that_gets_no_memory_ends_alone_with_a_reason() -> None:
    content = zlib.compress(b"BT /F1 12 Tf " + b"(word) Tj " * 2_000_000 + b"ET")
    data = pdf(page_of(content, filter_=b"/Filter/FlateDecode"))
    with ReaderPool(
        options=OPTIONS, max_bytes=MEGABYTE, timeout_seconds=SECONDS, memory_bytes=150 * MEGABYTE
    ) as small:
        jobs = [("page", Job(name="page.pdf", data=data)), ("text", Job(name="a.txt", data=b"It."))]
        page, after = (reading for _, reading in small.read(jobs))
    assert isinstance(page, SourceError)
    assert len(str(page).splitlines()) == 1
    assert not isinstance(after, SourceError)


def test_pictures_that_claim_to_be_vast_end_with_a_reason(pool: ReaderPool) -> None:
    def piece(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    for side in (20_000, 100_000, 2**31 - 1):
        head = piece(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
        body = piece(b"IDAT", zlib.compress(bytes(10 * MEGABYTE)))
        data = b"\x89PNG\r\n\x1a\n" + head + body + piece(b"IEND", b"")
        assert reason(pool, "vast.png", data)


# --- names and links ----------------------------------------------------------------------------

NAMES = (
    *("灯塔.md", "маяк.md", "φάρος.md", "منارة.md", "灯台 ①.md", "🗼🏴‍☠️.md", "e\u0301te\u0301.md"),
    *("a b\tc.md", "quote'\"`$;&.md", "%2F..%2F.md", "-rf.md", "line\nbreak.md", "\u202egnp.md"),
    *("CON.md", "x" * 250 + ".md", "..md.md", "\u200b.md"),
)


def test_names_in_any_script_are_found_under_ids_that_can_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for name in NAMES:
        (tmp_path / "docs" / name).write_text("It burns.", encoding="utf8")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/docs/broken-\xff\xfe.md")).write_text("It burns.")
    found = find_sources(["docs"])
    hidden = sum(name.startswith(".") for name in NAMES)
    assert len(found.sources) == len(NAMES) + 1 - hidden
    assert not found.failures
    for source in found.sources:
        source.id.encode("utf-8")
        assert source.path.read_text(encoding="utf8") == "It burns."


def test_loops_of_links_are_walked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    docs = tmp_path / "docs"
    (docs / "a" / "b").mkdir(parents=True)
    (docs / "a" / "b" / "one.md").write_text("It burns.")
    (docs / "a" / "b" / "up").symlink_to("../..", target_is_directory=True)
    (docs / "self").symlink_to("self")
    (docs / "self.md").symlink_to("self.md")
    (docs / "ping.md").symlink_to("pong.md")
    (docs / "pong.md").symlink_to("ping.md")
    (docs / "here").symlink_to(".", target_is_directory=True)
    for number in range(20):  # two links a floor: 2^20 ways to one file
        (docs / f"left{number}").symlink_to("a", target_is_directory=True)
    found = find_sources(["docs"])
    assert [source.id for source in found.sources] == ["docs/a/b/one.md"]
    failed = {failure.source: failure.reason for failure in found.failures}
    assert {"docs/self.md", "docs/ping.md", "docs/pong.md"} <= set(failed)
    assert all(len(reason.splitlines()) == 1 for reason in failed.values())


def test_folders_as_deep_as_the_system_allows_are_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "docs"
    while len(str(place)) < 3_500:
        place /= "deep"
    place.mkdir(parents=True)
    (place / "one.md").write_text("It burns.")
    (source,) = find_sources(["docs"]).sources
    assert source.id.endswith("/deep/one.md")
