"""Damage in what a file says of itself, or in one of its marks, costs no word of its text."""

from __future__ import annotations

import io
import zipfile

import pytest

from engine.ingest.document import Content, ReadOptions, iso_date
from engine.ingest.http import file_name_of
from engine.ingest.readers.office.spreadsheets import format_number
from engine.ingest.readers.text import front_matter
from engine.ingest.registry import format_of_name

OPTIONS = ReadOptions(ocr=False)
HUGE = "9" * 5_000


def read(name: str, data: str | bytes) -> Content:
    given = data.encode() if isinstance(data, str) else data
    return format_of_name(name).read(given, OPTIONS)


def pdf(title: bytes, *, attached: bytes = b"(a.txt)") -> bytes:
    objects = (
        b"<</Type/Catalog/Pages 2 0 R/Names<</EmbeddedFiles<</Names[(a) 6 0 R]>>>>>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F "
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        b"<</Length 48>>stream\nBT /F 12 Tf 72 700 Td (The harbour opens.) Tj ET   \nendstream",
        b"<</Title %s/Author %s/Keywords %s/CreationDate %s>>" % ((title,) * 4),
        b"<</Type/Filespec/F %s/UF %s/EF<</F 7 0 R>>>>" % (attached, attached),
        b"<</Type/EmbeddedFile/Length 3>>stream\nabc\nendstream",
    )
    body = b"".join(b"%d 0 obj%s endobj\n" % pair for pair in enumerate(objects, start=1))
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R/Info 5 0 R>>"


@pytest.mark.parametrize(
    "title",
    [
        pytest.param(b"<FEFFD800>", id="half a character"),
        pytest.param(b"<FEFF0041D8000042>", id="half a character between others"),
        pytest.param(b"<FEFFDC00DC00>", id="second halves"),
        pytest.param(b"(\xfe\xff\xd8)", id="cut"),
    ],
)
def test_a_pdf_keeps_its_text_when_what_it_says_of_itself_is_broken(title: bytes) -> None:
    content = read("a.pdf", pdf(title))
    assert content.text == "The harbour opens."
    assert [member.name for member in content.members] == ["a.txt"]


def test_a_pdf_keeps_what_is_attached_to_it_under_a_broken_name() -> None:
    (member,) = read("a.pdf", pdf(b"(T)", attached=b"<FEFF0041D800002E0062>")).members
    assert member.data == b"abc"
    assert member.name.endswith(".b")


@pytest.mark.parametrize(
    ("table", "text"),
    [
        pytest.param("|===\nno cell\n|===", "no cell", id="no cell"),
        pytest.param(
            "|===\nbefore\n|a |b\n|1\n|2 and\non |3\n|===",
            "before\n\n| a | b |\n| --- | --- |\n| 1 | 2 and on |\n| 3 |  |",
            id="lines that go on",
        ),
        pytest.param("|===\nbefore|===\n|===", "before\n\n| === |", id="an end inside"),
    ],
)
def test_what_stands_outside_the_cells_of_a_table_is_kept(table: str, text: str) -> None:
    found = read("a.adoc", table).text
    assert all(word in found for word in text.replace("|", " ").replace("-", " ").split())


@pytest.mark.parametrize(
    ("day", "found"),
    [
        pytest.param("Mon, 06 May 99999999999 10:30:00 GMT", None, id="a year without end"),
        pytest.param(f"Mon, 06 May 2024 10:30:00 +{'9' * 20}", "2024-05-06", id="a zone"),
        pytest.param(f"Mon, 06 May {HUGE} 10:30:00", None, id="a number without end"),
        pytest.param("Mon, 99 May 2024 99:99:99 GMT", None, id="no such day"),
    ],
)
def test_a_feed_keeps_its_entries_whatever_their_days_are(day: str, found: str | None) -> None:
    entry = f"<item><title>A</title><pubDate>{day}</pubDate><description>Said.</description></item>"
    content = read("a.rss", f"<rss><channel><title>N</title>{entry}{entry}</channel></rss>")
    assert content.text.count("Said.") == 2
    assert iso_date(day) == found


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("n: !!int ''", id="no number"),
        pytest.param("n: !!float ''", id="no fraction"),
        pytest.param("n: !!timestamp x", id="no day"),
        pytest.param("n: !!bool x", id="no truth"),
        pytest.param("n: !!binary é", id="no bytes"),
        pytest.param("n: 2020-99-99", id="no such day"),
        pytest.param("n: 0001-01-01T00:00:00+23:59", id="before all days"),
        pytest.param(f"n: 0x{'f' * 20_000}", id="a number without end"),
        pytest.param(f"n: [0x{'f' * 20_000}]", id="a list of them"),
        pytest.param("n: [", id="a list without end"),
        pytest.param("? {a: 1}\n: 2", id="no name"),
    ],
)
def test_a_page_keeps_its_text_whatever_stands_above_it(line: str) -> None:
    text = f"---\ntitle: T\n{line}\n---\n\nThe harbour opens.\n"
    assert read("a.md", text).text == text
    assert all(len(str(value)) < 100 for value in front_matter(text).values())


def test_a_number_that_no_database_takes_is_no_metadata() -> None:
    assert front_matter("---\na: 12\nb: 9223372036854775808\n---\n") == {"a": 12}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param(
            "a.tex", "\\begin{tabular}{l}\\multicolumn{²}{l}{Said}\\end{tabular}", id="tex"
        ),
        pytest.param(
            "a.ipynb",
            '{"cells":[{"cell_type":"heading","level":"²","source":"Said"}]}',
            id="notebook",
        ),
        pytest.param("a.html", "<meta charset=undefined><p>Said</p>", id="no encoding"),
        pytest.param("a.html", "<meta charset=idna><p>Said..é</p>", id="an encoding of names"),
        pytest.param("a.rtf", "{\\rtf1\\ansi\\uc Said\\par}", id="no number"),
        pytest.param("a.rtf", "{\\rtf1\\ansi{\\pict\\bin abc}Said\\par}", id="no length"),
        pytest.param("a.rtf", "{\\rtf1{\\info{\\title \\u99999999 \\uc}}Said\\par}", id="info"),
    ],
)
def test_a_mark_with_a_wrong_number_costs_itself_alone(name: str, data: str) -> None:
    assert "Said" in read(name, data).text


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 1e300, -1e300])
@pytest.mark.parametrize("format_", ["yyyy-mm-dd", "h:mm", "[h]:mm", "0.00", "#,##0%", "0" * 5_000])
def test_every_number_of_a_sheet_is_shown_in_every_format(number: float, format_: str) -> None:
    assert format_number(number, format_=format_)


def test_a_sheet_with_a_number_that_is_none_keeps_the_others() -> None:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    members = {
        "_rels/.rels": f'<a><Relationship Id="r" Type="{kinds}/officeDocument"'
        ' Target="b.xml"/></a>',
        "_rels/b.xml.rels": f'<a><Relationship Id="s" Type="{kinds}/worksheet" Target="s.xml"/>'
        f'<Relationship Id="t" Type="{kinds}/styles" Target="t.xml"/></a>',
        "b.xml": f'<workbook xmlns="{main}" xmlns:r="{kinds}"><sheets><sheet name="a" r:id="s"/>'
        "</sheets></workbook>",
        "t.xml": f'<styleSheet xmlns="{main}"><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>',
        "s.xml": f'<worksheet xmlns="{main}"><sheetData><row><c s="0"><v>NaN</v></c>'
        '<c s="0"><v>1e999</v></c><c t="str"><v>Said</v></c></row></sheetData></worksheet>',
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    assert "Said" in read("a.xlsx", packed.getvalue()).text


def test_a_link_of_rich_text_is_written_with_its_address() -> None:
    link = '{\\field{\\*\\fldinst{HYPERLINK "http://a.b"}}{\\fldrslt the site}}'
    text = read("a.rtf", f"{{\\rtf1\\ansi See {link} or {link} now.\\par}}").text
    assert text == "See [the site](http://a.b) or [the site](http://a.b) now."


def test_a_page_behind_many_comments_is_known_for_one() -> None:
    data = b"<!---->" * 200 + b"x"
    name = file_name_of("https://a.b/c", content_type="", disposition="", data=data)
    assert name == "c.txt"
