from __future__ import annotations

import re
import time
import zlib
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import SourceError
from engine.ingest.document import Content, ReadOptions
from engine.ingest.readers.markdown_writer import pipe_table
from engine.ingest.readers.pdf import reader as pdf_scans
from engine.ingest.readers.pdf.glyphs import Piece
from engine.ingest.readers.pdf.layout import (
    columns_in_order,
    flowing_pages,
    join_lines,
    word_counts,
)
from engine.ingest.readers.pdf.markdown import with_aligned_tables
from engine.ingest.readers.pdf.reader import pdf_date, read_pdf

NO_OCR = ReadOptions(ocr=False)
WORDS = re.compile(r"\w+").findall(
    "The quick brown fox jumps over the lazy dog and runs on through the wood until the evening "
    "comes and the lamps of the harbour are lit one after the other along the quay where the boats "
    "lie waiting for the tide that will carry them out again before the morning is grey and cold"
)


@dataclass
class Page:
    """A page drawn by hand: text at places, lines, and what else its dictionary says."""

    shown: list[bytes] = field(default_factory=list)
    extra: str = ""
    box: str = "0 0 600 842"

    def text(
        self, x: float, y: float, text: str, *, size: float = 10, font: str = "F1", turn: str = ""
    ) -> Page:
        if font in ("C1", "C2"):
            shown = f"<{text.encode('utf-16-be').hex()}>".encode()
        else:
            shown = b"(" + text.encode("cp1252").replace(b"(", b"\\(").replace(b")", b"\\)") + b")"
        matrix = f"{turn or '1 0 0 1'} {x} {y} Tm".encode()
        self.shown.append(f"BT /{font} {size} Tf ".encode() + matrix + b" " + shown + b" Tj ET")
        return self

    def lines(self, x: float, y: float, *lines: str, step: float = 12, **style: object) -> Page:
        for number, line in enumerate(lines):
            self.text(x, y - number * step, line, **style)  # type: ignore[arg-type]
        return self

    def rule(self, *ends: float) -> Page:
        self.shown.append("{} {} m {} {} l S".format(*ends).encode())
        return self


def stream(data: bytes, extra: str = "") -> bytes:
    packed = zlib.compress(data)
    head = f"<< /Length {len(packed)} /Filter /FlateDecode {extra} >>\nstream\n".encode()
    return head + packed + b"\nendstream"


def pdf(
    *pages: Page, info: str = "", catalog: str = "", objects: tuple[bytes, ...] = (), end: str = ""
) -> bytes:
    """Objects 1–9 are the catalogue, the page tree, the fonts; 10 on are `objects`, then pages."""
    first = 10 + len(objects)
    kids = " ".join(f"{first + 2 * number} 0 R" for number in range(len(pages)))
    cid = (
        "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /DW 1000 /CIDSystemInfo "
        "<< /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> /FontDescriptor << /Type "
        "/FontDescriptor /FontName /STSong-Light /Flags 4 /Ascent 880 /Descent -120 "
        "/ItalicAngle 0 /CapHeight 880 /StemV 80 /FontBBox [0 -120 1000 880] >> >>"
    )
    wide = (
        "<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light "
        "/Encoding /UniGB-UCS2-{} /DescendantFonts [7 0 R] >>"
    )
    body = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode(),
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        *(
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} "
            "/Encoding /WinAnsiEncoding >>".encode()
            for name in ("Helvetica", "Helvetica-Bold", "Courier")
        ),
        wide.format("H").encode(),
        cid.encode(),
        wide.format("V").encode(),
        f"<< {info} >>".encode(),
        *objects,
    ]
    fonts = "/F1 3 0 R /F2 4 0 R /F3 5 0 R /C1 6 0 R /C2 8 0 R"
    for number, page in enumerate(pages):
        body.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [{page.box}] {page.extra} /Resources "
            f"<< /Font << {fonts} >> >> /Contents {first + 2 * number + 1} 0 R >>".encode()
        )
        body.append(stream(b"\n".join(page.shown)))
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, data in enumerate(body, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode() + data + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(body) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    out += f"trailer\n<< /Size {len(body) + 1} /Root 1 0 R /Info 9 0 R {end} >>\n".encode()
    return bytes(out + f"startxref\n{start}\n%%EOF".encode())


def read(*pages: Page, **parts: object) -> Content:
    return read_pdf(pdf(*pages, **parts), NO_OCR)  # type: ignore[arg-type]


def text(*pages: Page) -> str:
    return read(*pages).text


def reason(data: bytes, options: ReadOptions = NO_OCR, **limits: int) -> str:
    with pytest.raises(SourceError) as failure:
        read_pdf(data, options, **limits)
    assert "\n" not in str(failure.value)
    return str(failure.value)


def prose(start: int, *, words: int = 5, lines: int = 8) -> list[str]:
    """Lines of about the same length, each unlike those with another start."""
    marks = [f"{chr(97 + start % 26)}{chr(97 + number)}" for number in range(lines)]
    first = [start + words * number for number in range(lines)]
    rest = [" ".join(WORDS[(at + n) % len(WORDS)] for n in range(words)) for at in first]
    return [f"{mark} {line}" for mark, line in zip(marks, rest, strict=True)]


# Pages


def test_pages_are_joined_and_their_starts_known() -> None:
    found = read(Page().text(20, 800, "First page."), Page(), Page().text(20, 800, "Third page."))
    assert found.text == "First page.\n\n\n\nThird page."
    assert [found.text[start : start + 5] for start in found.pages] == ["First", "\n\nThi", "Third"]
    assert found.shape == "markdown"
    assert found.metadata["pages"] == "3"


@settings(max_examples=15)
@given(st.lists(st.sampled_from(["", "One line", "Another (line)", "x"]), min_size=1, max_size=5))
def test_each_page_starts_where_its_text_does(lines: list[str]) -> None:
    if not any(lines):
        return
    found = read(*(Page().text(20, 400, line) if line else Page() for line in lines))
    ends = [*(start - 2 for start in found.pages[1:]), len(found.text)]
    pages = [found.text[start:end] for start, end in zip(found.pages, ends, strict=True)]
    assert pages == lines


def test_the_same_bytes_give_the_same_content() -> None:
    data = pdf(Page().lines(20, 800, *prose(0)), info="/Author (A)")
    assert read_pdf(data, NO_OCR) == read_pdf(data, NO_OCR)


# Reading order


def test_two_columns_are_read_one_after_the_other() -> None:
    left, right = prose(0), prose(20)
    page = Page().text(50, 800, "A heading over both columns of this page", size=18)
    for number in range(8):  # drawn line by line across both columns
        page.text(50, 760 - 12 * number, left[number]).text(320, 760 - 12 * number, right[number])
    found = text(page)
    assert found.startswith("# A heading over both columns")
    assert found.index(left[0]) < found.index(left[7]) < found.index(right[0])
    assert "|" not in found


def test_three_columns_are_read_one_after_the_other() -> None:
    page = Page()
    for column in (2, 0, 1):
        page.lines(30 + 190 * column, 700, *prose(10 * column, words=6, lines=10), size=9)
    found = " ".join(text(page).split())
    places = [found.index(prose(10 * column, words=6)[0][:20]) for column in range(3)]
    assert places == sorted(places)


def test_what_crosses_the_columns_parts_them() -> None:
    page = Page().lines(50, 800, *prose(0, lines=5)).lines(320, 800, *prose(9, lines=5))
    page.text(
        50,
        700,
        "A sentence which runs over the whole width of the page, from left to right, in one.",
    )
    page.lines(50, 660, *prose(18, lines=5)).lines(320, 660, *prose(27, lines=5))
    found = " ".join(text(page).split())
    order = [prose(0)[0], prose(9)[0], "A sentence which", prose(18)[0], prose(27)[0]]
    places = [found.index(part) for part in order]
    assert places == sorted(places)


@given(st.permutations(range(12)))
@settings(max_examples=20)
def test_the_order_of_drawing_does_not_matter(order: list[int]) -> None:
    pieces = [
        Piece(
            text=prose(3 * number)[0],
            left=50 + 270 * (number % 2),
            right=280 + 270 * (number % 2),
            bottom=700 - 12 * (number // 2),
            top=710 - 12 * (number // 2),
            size=10,
        )
        for number in range(12)
    ]
    columns = columns_in_order([pieces[number] for number in order])
    assert [line.text for column in columns for line in column] == [
        pieces[number].text for number in (0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11)
    ]


@pytest.mark.parametrize(
    ("turn", "extra"),
    [
        pytest.param("0 1 -1 0", "", id="up"),
        pytest.param("0 -1 1 0", "", id="down"),
        pytest.param("-1 0 0 -1", "", id="upside down"),
        pytest.param("0 1 -1 0", "/Rotate 90", id="a turned page"),
    ],
)
def test_turned_text_reads_as_its_reader_turns_it(turn: str, extra: str) -> None:
    c, d = map(float, turn.split()[2:])
    page = Page(extra=extra)
    for number, line in enumerate(["The first line", "the second one", "and a third"]):
        page.text(300 - c * 14 * number, 400 - d * 14 * number, line, turn=turn)
    assert text(page) == "The first line\nthe second one\nand a third"


def test_vertical_chinese_reads_from_the_right_column_down() -> None:
    page = Page().text(500, 780, "海上生明月天涯共此时", font="C2", size=14)
    page.text(470, 780, "情人怨遥夜竟夕起相思", font="C2", size=14)
    found = text(page)
    assert found.index("海上生明月") < found.index("情人怨遥夜")


def test_chinese_lines_join_without_spaces() -> None:
    line = "临澜海洋大学的研究者在斯凯拉文岛发现了一种红色的海藻并把它命名为烬藻素"
    page = Page().text(50, 700, line, font="C1").text(50, 686, "这是第二行。", font="C1")
    assert text(page) == f"{line}这是第二行。"


def test_what_is_printed_over_other_text_is_a_word_of_its_own() -> None:
    pieces = [
        Piece(text=text, left=left, right=left + 40, bottom=0, top=10, size=10)
        for text, left in (("Port", 0), ("land", 40.5), ("DRAFT", 60))
    ]
    assert columns_in_order(pieces)[0][0].text == "Portland DRAFT"


# Headings, lists, paragraphs


def test_headings_are_known_by_size_and_weight() -> None:
    page = Page().text(50, 800, "The Averill Inquiry", size=20)
    page.text(50, 770, "Findings", size=14).lines(50, 750, *prose(0, words=9))
    page.text(50, 630, "On the tide gauge", font="F2").lines(50, 610, *prose(9, words=9))
    lines = text(page).split("\n")
    assert [line for line in lines if line.startswith("#")] == [
        "# The Averill Inquiry",
        "## Findings",
        "### On the tide gauge",
    ]


def test_a_bold_sentence_is_no_heading() -> None:
    page = Page().lines(50, 750, *prose(0, words=9)).text(50, 630, "It rained.", font="F2")
    assert "#" not in text(page)


def test_bullets_become_list_items_and_numbers_stay() -> None:
    page = Page().lines(50, 750, "• a pier", "• nine boats", "1. first", "2. second")
    assert text(page) == "- a pier\n- nine boats\n1. first\n2. second"


def test_code_keeps_its_lines_and_indents() -> None:
    page = Page().lines(50, 750, *prose(0, words=9))
    page.text(50, 600, "def tide(hour):", font="F3").text(74, 588, "return hour % 12", font="F3")
    assert text(page).endswith("```\ndef tide(hour):\n    return hour % 12\n```")


def test_a_paragraph_flows_and_an_indent_starts_the_next() -> None:
    first, second = (
        [f"{mark}{line} and as many words in this line as in all the others" for line in "abc"]
        for mark in "xy"
    )
    page = Page().lines(50, 750, *first).text(66, 714, second[0]).lines(50, 702, *second[1:])
    assert text(page) == f"{' '.join(first)}\n\n{' '.join(second)}"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(["many mor\ufffe", "tar shells"], "many mortar shells", id="mark of pdfium"),
        pytest.param(["poten\ufffe", "tially big"], "potentially big", id="long halves"),
        pytest.param(
            ["a well\ufffe", "known, well-known fox"],
            "a well-known, well-known fox",
            id="written so",
        ),
        pytest.param(["many mor-", "tar shells"], "many mortar shells", id="hyphen"),
        pytest.param(["the end\ufffe"], "the end-", id="at the end"),
        pytest.param(["天下大势", "分久必合"], "天下大势分久必合", id="chinese"),
        pytest.param(["보안기술", "전망"], "보안기술 전망", id="korean"),
    ],
)
def test_lines_of_a_paragraph_join(lines: list[str], expected: str) -> None:
    text = "".join(line if line.endswith("\ufffe") else f"{line}\n" for line in lines)
    assert join_lines(lines, word_counts([text])) == expected


def test_ligatures_are_written_out() -> None:
    from engine.ingest.readers.pdf.glyphs import _readable

    assert [_readable(ord(char)) for char in "ﬁﬄ⼈\uf0b7\ue123\u200b"] == [
        "fi",
        "ffl",
        "人",
        "•",
        "",
        "",
    ]


# Running heads


def test_running_heads_and_page_numbers_go_but_the_first_head_stays() -> None:
    pages = [
        Page()
        .text(50, 820, "Harbour Office Report")
        .lines(50, 700, *prose(11 * number, words=9))
        .text(290, 20, f"{number}")
        for number in range(1, 5)
    ]
    found = read(*pages)
    assert found.text.count("Harbour Office Report") == 1
    assert all(f"\n{number}\n" not in f"{found.text}\n" for number in range(1, 5))


def test_text_that_repeats_inside_pages_stays() -> None:
    pages = [
        Page().lines(50, 800, f"Chapter of {name}").lines(50, 700, "The same sentence.", name)
        for name in ("ice", "fire", "wind")
    ]
    assert text(*pages).count("The same sentence.") == 3


# Tables


def ruled(page: Page, *, xs: list[float], ys: list[float]) -> Page:
    for x in xs:
        page.rule(x, ys[0], x, ys[-1])
    for y in ys:
        page.rule(xs[0], y, xs[-1], y)
    return page


def test_a_ruled_table_is_a_pipe_table() -> None:
    page = ruled(Page(), xs=[50, 150, 300], ys=[700, 680, 645, 625])
    page.text(55, 686, "Where").text(155, 686, "What").text(55, 664, "Brannock")
    page.lines(155, 664, "Pier and", "deck | planks").text(55, 631, "Ansgar")
    assert text(page) == (
        "| Where | What |\n| --- | --- |\n| Brannock | Pier and deck \\| planks |\n| Ansgar |  |"
    )


def test_a_cell_without_a_wall_is_one_with_its_neighbour() -> None:
    page = Page().rule(50, 700, 50, 640).rule(300, 700, 300, 640).rule(150, 670, 150, 640)
    for y in (700, 670, 640):
        page.rule(50, y, 300, y)
    page.text(160, 680, "Over both").text(55, 650, "left").text(160, 650, "right")
    assert text(page) == "| Over both |  |\n| --- | --- |\n| left | right |"


def test_a_table_without_rules_is_known_by_its_columns() -> None:
    rows = [
        ("Code", "Place", "Count"),
        ("A-1", "Pier", "450"),
        ("B-22", "Deck", "9"),
        ("C", "Quay", ""),
    ]
    page = Page().lines(50, 780, *prose(0, words=9, lines=3))
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            page.text(50 + 120 * column, 700 - 14 * number, cell)
    assert text(page).endswith(pipe_table(rows[0], rows[1:]))


def test_a_frame_around_prose_is_no_table() -> None:
    page = ruled(Page(), xs=[40, 400], ys=[800, 600]).lines(50, 780, *prose(0, words=9))
    assert "|" not in text(page)


def test_lines_with_one_cell_stay_lines() -> None:
    lines = columns_in_order(
        [Piece(text="a", left=0, right=9, bottom=20 * n, top=20 * n + 9, size=9) for n in range(5)]
    )[0]
    assert with_aligned_tables(lines) == lines


# What stands beside the text


def test_form_values_stand_beside_their_labels_and_comments_at_the_end() -> None:
    field_ = (
        b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada Brannock) "
        b"/Rect [120 695 300 711] /F 4 >>"
    )
    note = (
        b"<< /Type /Annot /Subtype /Text /T (Ines) /Contents (Ask her again) /Rect [10 10 20 20] >>"
    )
    page = Page(extra="/Annots [10 0 R 11 0 R]").text(50, 700, "Your name:")
    form = "/AcroForm << /Fields [10 0 R] /DA (/F1 10 Tf) >>"
    found = read(page, objects=(field_, note), catalog=form)
    assert found.text == "Your name: Ada Brannock\n\n> Ines: Ask her again"


def test_attached_files_are_members() -> None:
    file = stream(b"tide,height\n", "/Type /EmbeddedFile")
    named = b"<< /Type /Filespec /F (a/tides.csv) /UF (a/tides.csv) /EF << /F 10 0 R >> >>"
    catalog = "/Names << /EmbeddedFiles << /Names [(tides.csv) 11 0 R] >> >>"
    found = read(Page().text(50, 700, "See the file"), objects=(file, named), catalog=catalog)
    assert [(member.name, member.data) for member in found.members] == [
        ("tides.csv", b"tide,height\n")
    ]


def test_a_pdf_says_who_wrote_it_when_and_in_which_language() -> None:
    info = (
        "/Title (The Report) /Author (Ada) /CreationDate (D:20200131120000+01'00') /Keywords (a, b)"
    )
    found = read(Page().text(50, 700, "x y z"), info=info, catalog="/Lang (de-CH)")
    assert found.title == "The Report"
    assert found.metadata == {
        "author": "Ada",
        "date": "2020-01-31T11:00:00Z",
        "language": "de-CH",
        "pages": "1",
        "tags": ("a", "b"),
    }


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("D:20200131", "2020-01-31"),
        ("D:2020", "2020-01-01"),
        ("D:20200131235959-05'00'", "2020-02-01T04:59:59Z"),
        ("20200131235959Z", "2020-01-31T23:59:59Z"),
        ("D:20201399", ""),
        ("yesterday", ""),
    ],
)
def test_dates_are_iso(written: str, expected: str) -> None:
    assert pdf_date(written) == expected


@pytest.mark.parametrize("title", ["", "scan0001.pdf", "Microsoft Word - x", "untitled", "12"])
def test_a_title_that_says_nothing_gives_way_to_the_first_line(title: str) -> None:
    page = Page().text(50, 700, "The Averill Inquiry", size=16).text(50, 660, "It sat for days.")
    assert read(page, info=f"/Title ({title})").title == "The Averill Inquiry"


# What cannot be read


def test_an_encrypted_pdf_says_so() -> None:
    secret = "41" * 32
    end = (
        f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{secret}> /U <{secret}> >> "
        f"/ID [<{'42' * 16}> <{'42' * 16}>]"
    )
    assert "is encrypted" in reason(pdf(Page().text(50, 700, "Secret"), end=end))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"%PDF-1.4\n", id="cut after its first line"),
        pytest.param(b"not a PDF at all", id="something else"),
        pytest.param(pdf(Page().text(50, 700, "Text"))[:150], id="cut short"),
        pytest.param(b"%PDF-1.4\n" + b"\x00\xff" * 5000, id="noise"),
    ],
)
def test_a_damaged_pdf_says_so(data: bytes) -> None:
    assert "is not a readable PDF" in reason(data)


def test_a_broken_table_of_objects_is_mended() -> None:
    data = pdf(Page().text(50, 700, "Still here")).replace(b"startxref\n", b"startxref\n9")
    assert read_pdf(data, NO_OCR).text == "Still here"


def test_blank_pages_ask_for_ocr() -> None:
    message = reason(pdf(Page(), Page()))
    assert "no text layer" in message
    assert "OCR" in message


def test_too_many_pages_are_refused_with_their_number() -> None:
    assert "3 pages, the limit is 2" in reason(pdf(Page(), Page(), Page()), max_pages=2)


def test_a_page_tree_that_claims_a_million_pages_ends_at_once() -> None:
    data = pdf(Page().text(50, 700, "x")).replace(b"/Count 1 ", b"/Count 1000000 ")
    started = time.thread_time()
    assert "1,000,000 pages" in reason(data)
    assert time.thread_time() - started < 5


def test_too_many_characters_end_the_reading() -> None:
    page = Page().lines(50, 700, *prose(0))
    options = ReadOptions(ocr=False, max_characters=100)
    assert "is too large" in reason(pdf(*[page] * 5), options)


def test_a_huge_page_box_does_no_harm() -> None:
    page = Page(box="0 0 14400000 14400000").text(50, 700, "Small text on a field")
    assert text(page) == "Small text on a field"


# Scanned pages


def scanned(text: str = "") -> Page:
    """A page that is covered by a picture, with text over it or without."""
    page = Page()
    page.shown.append(b"q 600 0 0 842 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q")
    return page.text(50, 700, text) if text else page


def test_a_scanned_page_is_recognised_and_a_written_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "engine.ingest.readers.media.recognise_text", lambda _pixels: "Seen in the picture"
    )
    data = pdf(Page().text(50, 700, "Written"), scanned(), scanned("Text over it"))
    found = read_pdf(data, ReadOptions())
    assert found.text == "Written\n\nSeen in the picture\n\nText over it"


def test_without_its_engine_a_scanned_pdf_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_pixels: object) -> str:
        raise SourceError("needs loregraph[ocr]")

    monkeypatch.setattr("engine.ingest.readers.media.recognise_text", missing)
    assert "loregraph[ocr]" in reason(pdf(scanned()), ReadOptions())
    found = read_pdf(pdf(scanned(), Page().text(50, 700, "Written")), ReadOptions())
    assert found.metadata["scanned_pages"] == "1"


def test_with_ocr_switched_off_the_setting_is_named() -> None:
    assert "ingest.ocr" in reason(pdf(scanned()))


def test_a_scanned_page_is_rendered_within_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def seen(pixels: object) -> str:
        sizes.append(pixels.size)  # type: ignore[attr-defined]
        return "x y"

    monkeypatch.setattr("engine.ingest.readers.media.recognise_text", seen)
    page = scanned()
    page.box = "0 0 4000 4000"
    page.shown = [b"q 4000 0 0 4000 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q"]
    assert read_pdf(pdf(page), ReadOptions()).text == "x y"
    assert 0 < sizes[0] <= 1.01 * pdf_scans._MOST_PIXELS


# Text without places (recognised pages)

WIDE = "The quick brown fox jumps over the lazy dog and goes on to the"


@pytest.mark.parametrize(
    ("page_text", "expected"),
    [
        pytest.param(f"{WIDE}\r\nend of it.", f"{WIDE} end of it.", id="soft break"),
        pytest.param(
            f"{WIDE}\nend.\nHeading\n{WIDE}\nend.",
            f"{WIDE} end.\n\nHeading\n{WIDE} end.",
            id="a short line ends its paragraph",
        ),
        pytest.param("a\x00b\x02c", "abc", id="left-over marks"),
    ],
)
def test_lines_of_a_page_flow_into_paragraphs(page_text: str, expected: str) -> None:
    assert flowing_pages([page_text]) == [expected]
