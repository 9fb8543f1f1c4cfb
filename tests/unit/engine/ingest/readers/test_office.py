from __future__ import annotations

import io
import struct
import zipfile

import pytest

from engine.errors import SourceError
from engine.ingest.document import Content, ReadOptions
from engine.ingest.readers.office.docx import read_docx, read_pptx
from engine.ingest.readers.office.ooxml import OLE_MAGIC, real_title
from engine.ingest.readers.office.spreadsheets import (
    format_number,
    read_xls,
    read_xlsx,
    sheet_blocks,
)

OPTIONS = ReadOptions()
OOXML = "http://schemas.openxmlformats.org"
REL = f"{OOXML}/officeDocument/2006/relationships"
WORD = f'xmlns:w="{OOXML}/wordprocessingml/2006/main" xmlns:r="{REL}"'
MATH = f'xmlns:m="{OOXML}/officeDocument/2006/math"'
DRAWING = f'xmlns:a="{OOXML}/drawingml/2006/main"'
SHEET = f'xmlns="{OOXML}/spreadsheetml/2006/main" xmlns:r="{REL}"'
SLIDE = f'xmlns:p="{OOXML}/presentationml/2006/main" xmlns:r="{REL}" {DRAWING}'
CORE = (
    '<cp:coreProperties xmlns:cp="core" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>{title}</dc:title>'
    "<dc:creator>沈望舒</dc:creator><cp:keywords>sea, 海藻</cp:keywords>"
    "<dcterms:modified>2024-05-06T07:08:09Z</dcterms:modified></cp:coreProperties>"
)


def relations(**targets: str) -> str:
    items = "".join(
        f'<Relationship Id="{id_}" Type="{REL}/{target.split("|")[0]}" '
        f'Target="{target.split("|")[1]}"/>'
        for id_, target in targets.items()
    )
    return f"<Relationships>{items}</Relationships>"


def package(parts: dict[str, str], *, main: str, title: str = "") -> bytes:
    buffer = io.BytesIO()
    root = relations(a=f"officeDocument|{main}", b="core-properties|docProps/core.xml")
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", root)
        archive.writestr("docProps/core.xml", CORE.format(title=title))
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def docx(body: str, *, title: str = "", parts: dict[str, str] | None = None, **rels: str) -> bytes:
    document = f"<w:document {WORD} {MATH} {DRAWING}><w:body>{body}</w:body></w:document>"
    files = {"word/document.xml": document, "word/_rels/document.xml.rels": relations(**rels)}
    return package({**files, **(parts or {})}, main="word/document.xml", title=title)


def p(text: str, *, style: str = "", more: str = "") -> str:
    properties = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{properties}{more}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def in_list(number: int, level: int) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'


def read(data: bytes) -> Content:
    return read_docx(data, OPTIONS)


STYLES = f"""<w:styles {WORD}>
<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="H"><w:name w:val="标题 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="H"/></w:style>
<w:style w:type="paragraph" w:styleId="C"><w:name w:val="Source Code"/></w:style>
</w:styles>"""
NUMBERING = f"""<w:numbering {WORD}><w:abstractNum w:abstractNumId="0">
<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="chineseCounting"/>
<w:lvlText w:val="第%1条"/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%2)"/>
</w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/>
<w:lvlText w:val="•"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/>
<w:lvlText w:val="%2."/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>"""


def test_headings_come_from_styles_and_what_they_are_based_on() -> None:
    body = p("海藻志", style="T") + p("Origin", style="Mine") + p("Text.") + p("#1 no heading")
    data = docx(body, parts={"word/styles.xml": STYLES}, s="styles|styles.xml")
    content = read(data)
    assert content.text == "# 海藻志\n\n## Origin\n\nText.\n\n#1 no heading"
    assert (content.title, content.shape) == ("海藻志", "markdown")


def test_metadata_is_what_the_properties_say() -> None:
    content = read(docx(p("Text."), title="On algae"))
    assert content.title == "On algae"
    expected = {"author": "沈望舒", "date": "2024-05-06T07:08:09Z", "tags": ("sea", "海藻")}
    assert expected == content.metadata


@pytest.mark.parametrize(
    "title", ["", " ", "Document1", "PowerPoint Presentation", "PowerPoint 演示文稿", "文档 3"]
)
def test_a_placeholder_is_no_title(title: str) -> None:
    assert real_title(title) is None


def test_a_title_that_only_begins_like_a_placeholder_is_one() -> None:
    assert real_title("Document management at sea") == "Document management at sea"


def test_clauses_and_lists_are_numbered_as_shown() -> None:
    body = (
        p("总则", more=in_list(1, 0))
        + p("first", more=in_list(1, 1))
        + p("second", more=in_list(1, 1))
        + p("权利", more=in_list(1, 0))
        + p("again", more=in_list(1, 1))
        + p("bullet", more=in_list(2, 0))
        + p("inner", more=in_list(2, 1))
        + p("inner too", more=in_list(2, 1))
    )
    text = read(docx(body, parts={"word/n.xml": NUMBERING}, n="numbering|n.xml")).text
    assert (
        text == "第一条 总则\n\n(a) first\n\n(b) second\n\n第二条 权利\n\n(a) again\n\n"
        "- bullet\n   1. inner\n   2. inner too"
    )


def cell(text: str, *, more: str = "") -> str:
    return f"<w:tc><w:tcPr>{more}</w:tcPr>{p(text)}</w:tc>"


def test_tables_are_pipe_tables_with_merged_cells_repeated() -> None:
    rows = (
        cell("Year") + cell("Catch", more='<w:gridSpan w:val="2"/>'),
        cell("2023", more='<w:vMerge w:val="restart"/>') + cell("a|b") + cell("2"),
        cell("", more="<w:vMerge/>") + cell("3") + cell("4"),
    )
    table = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"
    expected = (
        "| Year | Catch | Catch |\n| --- | --- | --- |\n| 2023 | a\\|b | 2 |\n| 2023 | 3 | 4 |"
    )
    assert expected == read(docx(table)).text


def test_a_frame_of_one_cell_is_no_table() -> None:
    assert read(docx(f"<w:tbl><w:tr>{cell('Inside')}</w:tr></w:tbl>")).text == "Inside"


def test_notes_comments_text_boxes_and_headers_are_kept() -> None:
    run = (
        '<w:p><w:r><w:t>Claim</w:t><w:footnoteReference w:id="2"/>'
        '<w:commentReference w:id="7"/></w:r><w:r><w:pict><w:txbxContent>'
        f"{p('In a box')}</w:txbxContent></w:pict></w:r></w:p>"
    )
    parts = {
        "word/f.xml": f'<w:footnotes {WORD}><w:footnote w:type="separator" w:id="0">{p("-")}'
        f'</w:footnote><w:footnote w:id="2">{p("Its source")}</w:footnote></w:footnotes>',
        "word/c.xml": f'<w:comments {WORD}><w:comment w:id="7" w:author="Ed">{p("Sure?")}'
        "</w:comment></w:comments>",
        "word/h.xml": f"<w:hdr {WORD}>{p('Confidential')}</w:hdr>",
        "word/h2.xml": f"<w:hdr {WORD}>{p('17')}</w:hdr>",
    }
    rels = {"f": "footnotes|f.xml", "c": "comments|c.xml", "h": "header|h.xml"}
    text = read(docx(run, parts=parts, **rels, h2="header|h2.xml")).text
    expected = "Claim[^2]\n\n> Comment by Ed: Sure?\n\nIn a box\n\n[^2]: Its source\n\nConfidential"
    assert expected == text


def test_deleted_text_and_field_codes_are_left_out_and_insertions_kept() -> None:
    body = (
        "<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r>"
        "</w:ins><w:r><w:instrText>PAGE</w:instrText></w:r><w:sdt><w:sdtContent><w:r>"
        "<w:t> field</w:t></w:r></w:sdtContent></w:sdt></w:p>"
    )
    assert read(docx(body)).text == "new field"


def test_the_two_versions_of_one_drawing_are_read_once() -> None:
    box = f"<w:r><w:pict><w:txbxContent>{p('Once')}</w:txbxContent></w:pict></w:r>"
    twice = (
        '<mc:AlternateContent xmlns:mc="mc"><mc:Choice>'
        f"{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    )
    assert read(docx(f"<w:p><w:r>{twice}</w:r></w:p>")).text == "Once"


def test_equations_are_latex() -> None:
    def run(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    fraction = f"<m:f><m:num>{run('a')}</m:num><m:den>{run('b')}</m:den></m:f>"
    power = f"<m:sSup><m:e>{run('x')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    body = f"<w:p><w:r><w:t>So </w:t></w:r><m:oMath>{fraction}{run('≤')}{power}</m:oMath></w:p>"
    assert read(docx(body)).text == r"So $\frac{a}{b}\leq x^{2}$"


def test_strict_documents_are_read_like_others() -> None:
    strict = WORD.replace(
        f"{OOXML}/wordprocessingml/2006", "http://purl.oclc.org/ooxml/wordprocessingml"
    )
    document = f"<w:document {strict}><w:body>{p('Strict')}</w:body></w:document>"
    data = package({"word/document.xml": document}, main="word/document.xml")
    assert read(data).text == "Strict"


def test_hostile_xml_is_refused() -> None:
    bomb = (
        '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">'
        f"]><w:document {WORD}><w:body><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:body></w:document>"
    )
    with pytest.raises(SourceError, match="declares entities"):
        read(package({"word/document.xml": bomb}, main="word/document.xml"))
    fetching = bomb.replace('<!ENTITY a "aaaaaaaaaa">', '<!ENTITY a SYSTEM "file:///etc/passwd">')
    with pytest.raises(SourceError, match="declares entities"):
        read(package({"word/document.xml": fetching}, main="word/document.xml"))


@pytest.mark.parametrize("reader", [read_docx, read_pptx, read_xlsx])
def test_what_is_no_office_file_says_so(reader: object) -> None:
    assert callable(reader)
    for data, why in [
        (b"hello", "is damaged, or no"),
        (OLE_MAGIC + bytes(600), "is damaged"),
        (package({}, main="missing.xml"), "main part is missing"),
        (docx(p("x" * 5000))[:700], "is damaged"),
    ]:
        with pytest.raises(SourceError, match=why):
            reader(data, OPTIONS)


def pptx(*slide_xml: str, parts: dict[str, str] | None = None) -> bytes:
    numbers = range(1, len(slide_xml) + 1)
    ids = "".join(f'<p:sldId id="{255 + n}" r:id="r{n}"/>' for n in reversed(numbers))
    files = {
        "ppt/presentation.xml": f"<p:presentation {SLIDE}><p:sldIdLst>{ids}</p:sldIdLst>"
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            **{f"r{n}": f"slide|slides/s{n}.xml" for n in numbers}
        ),
    }
    for number, shapes in enumerate(slide_xml, start=1):
        files[f"ppt/slides/s{number}.xml"] = (
            f"<p:sld {SLIDE}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
    return package({**files, **(parts or {})}, main="ppt/presentation.xml")


def shape(*lines: str, kind: str = "") -> str:
    place = f'<p:ph type="{kind}"/>' if kind else ""
    paragraphs = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    body = f"<p:txBody>{paragraphs}</p:txBody>"
    return f"<p:sp><p:nvSpPr><p:nvPr>{place}</p:nvPr></p:nvSpPr>{body}</p:sp>"


def test_slides_come_in_the_order_shown_each_a_page() -> None:
    second = shape("一页", "two lines", kind="body") + shape("计划", kind="title")
    content = read_pptx(pptx(second, shape("No title here")), OPTIONS)
    assert content.text == "## Slide 1\n\nNo title here\n\n## 计划\n\n- 一页\n- two lines"
    assert [content.text[s:].split("\n")[0] for s in content.pages] == ["## Slide 1", "## 计划"]
    assert content.title is None


def test_notes_tables_and_groups_of_a_slide_are_kept_and_its_number_is_not() -> None:
    row = "<a:tr>" + "".join(
        f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"
        for text in ("a", "b")
    )
    table = f"<p:graphicFrame><a:tbl>{row}</a:tr>{row}</a:tr></a:tbl></p:graphicFrame>"
    slide = shape("Title", kind="ctrTitle") + f"<p:grpSp>{table}</p:grpSp>"
    notes = shape("Say it slowly", kind="body") + shape("7", kind="sldNum")
    data = pptx(
        slide + shape("3", kind="sldNum"),
        parts={
            "ppt/slides/_rels/s1.xml.rels": relations(n="notesSlide|../n.xml"),
            "ppt/n.xml": f"<p:notes {SLIDE}><p:spTree>{notes}</p:spTree></p:notes>",
        },
    )
    expected = "## Title\n\n| a | b |\n| --- | --- |\n| a | b |\n\nNotes: Say it slowly"
    assert expected == read_pptx(data, OPTIONS).text


def xlsx(rows: str, *, after: str = "", parts: dict[str, str] | None = None) -> bytes:
    files = {
        "xl/workbook.xml": f'<workbook {SHEET}><sheets><sheet name="Daten 数据" r:id="a"/></sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            a="worksheet|worksheets/a.xml", s="sharedStrings|s.xml", t="styles|t.xml"
        ),
        "xl/worksheets/a.xml": f"<worksheet {SHEET}><sheetData>{rows}</sheetData>{after}"
        "</worksheet>",
        "xl/s.xml": f"<sst {SHEET}><si><t>Name</t></si><si><r><t>东</t></r><r><t>京</t></r>"
        "<rPh><t>トウキョウ</t></rPh></si></sst>",
        "xl/t.xml": f'<styleSheet {SHEET}><numFmts><numFmt numFmtId="164" formatCode="0.0%"/>'
        '</numFmts><cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>',
    }
    return package({**files, **(parts or {})}, main="xl/workbook.xml")


def test_cells_are_as_shown_and_formulas_by_their_value() -> None:
    rows = (
        '<row r="2"><c r="B2" t="s"><v>0</v></c><c r="C2" t="inlineStr"><is><t>When</t></is></c>'
        '<c r="D2" t="str"><f>A1</f><v>Share</v></c></row>'
        '<row r="3"><c r="B3" t="s"><v>1</v></c><c r="C3" s="1"><v>45418</v></c>'
        '<c r="D3" s="2"><f>1/8</f><v>0.125</v></c><c r="E3" t="b"><v>1</v></c></row>'
    )
    expected = (
        "## Daten 数据\n\n| Name | When | Share |  |\n| --- | --- | --- | --- |\n"
        "| 东京 | 2024-05-06 | 12.5% | TRUE |"
    )
    assert expected == read_xlsx(xlsx(rows), OPTIONS).text


def test_empty_cells_are_never_walked() -> None:
    """A million rows, each with one cell in the last column: sixteen billion empty ones."""
    far = "".join(f'<row r="{n}"><c r="XFD{n}"><v>{n}</v></c></row>' for n in range(1, 3000))
    last = '<row r="1048576"><c r="A1048576"><v>7</v></c></row>'
    text = read_xlsx(xlsx(far + last), OPTIONS).text
    assert text.startswith("## Daten 数据\n\n1\n2\n3\n") and text.endswith("\n\n7")


def test_one_long_string_in_many_cells_is_refused_while_reading() -> None:
    rows = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 100))
    parts = {"xl/s.xml": f"<sst {SHEET}><si><t>{'x' * 5_000}</t></si></sst>"}
    with pytest.raises(SourceError, match="is too large: more than 100,000 characters"):
        read_xlsx(xlsx(rows, parts=parts), ReadOptions(max_characters=100_000))


def test_merged_cells_are_repeated_beside_others_but_a_title_is_not() -> None:
    rows = (
        '<row r="1"><c r="A1" t="str"><v>Report</v></c></row>'
        '<row r="2"><c r="A2" t="str"><v>North</v></c><c r="B2"><v>1</v></c></row>'
        '<row r="3"><c r="B3"><v>2</v></c></row>'
    )
    merged = '<mergeCells><mergeCell ref="A1:B1"/><mergeCell ref="A2:A3"/></mergeCells>'
    text = read_xlsx(xlsx(rows, after=merged), OPTIONS).text
    assert text.partition("\n\n")[2] == "Report\n\n| North | 1 |\n| --- | --- |\n| North | 2 |"


def test_regions_apart_are_tables_of_their_own() -> None:
    left, right = {1: "a", 2: "b"}, {5: "x", 6: "y"}
    cells = {1: {**left, **right}, 2: {**left, **right}, 9: {1: "note"}}
    tables = [block.text.replace("\n", "/") for block in sheet_blocks(cells)]
    assert tables == [
        "| a | b |/| --- | --- |/| a | b |",
        "| x | y |/| --- | --- |/| x | y |",
        "note",
    ]
    joined = [block.text for block in sheet_blocks(cells, merged=[(1, 1, 2, 4)])]
    assert joined[0].startswith("| a | b | x | y |")


@pytest.mark.parametrize(
    ("value", "format_", "text"),
    [
        pytest.param(3.0, "", "3", id="whole"),
        pytest.param(0.1 + 0.2, "General", "0.3", id="no binary noise"),
        pytest.param(1234.5, "#,##0.00", "1,234.50", id="thousands"),
        pytest.param(-1234.5, '#,##0.00 "€"', "-1,234.50 €", id="money"),
        pytest.param(12.5, '"¥"#,##0.0;[Red]-"¥"#,##0.0', "¥12.5", id="money before"),
        pytest.param(-12.5, '"¥"#,##0.0;[Red]-"¥"#,##0.0', "-¥12.5", id="a section for negatives"),
        pytest.param(0.07, "0%", "7%", id="percent"),
        pytest.param(45418, "yyyy/m/d", "2024-05-06", id="day"),
        pytest.param(45418, 'yyyy"年"m"月"d"日"', "2024-05-06", id="Chinese day"),
        pytest.param(45418.5, "m/d/yy h:mm", "2024-05-06 12:00:00", id="moment"),
        pytest.param(0.75, "h:mm AM/PM", "18:00:00", id="time"),
        pytest.param(1.5, "[h]:mm:ss", "36:00:00", id="duration"),
        pytest.param(1, "yyyy-mm-dd", "1900-01-01", id="the first day"),
        pytest.param(61, "yyyy-mm-dd", "1900-03-01", id="after the day that never was"),
        pytest.param(1e300, "yyyy-mm-dd", "1e+300", id="no such day"),
        pytest.param(5, '0 "m² per day"', "5 m² per day", id="letters in quotes are no date"),
        pytest.param(12345678, "0.0,,", "12345678", id="scaled"),
        pytest.param(0.5, "# ?/?", "0.5", id="fraction"),
    ],
)
def test_numbers_are_as_shown(value: float, format_: str, text: str) -> None:
    assert text == format_number(value, format_=format_)


def test_a_web_page_or_a_new_workbook_under_an_old_name_is_read() -> None:
    page = b"<html><body><table><tr><td>a</td><td>b</td></tr></table></body></html>"
    assert "a" in read_xls(page, OPTIONS).text
    new = xlsx('<row r="1"><c r="A1"><v>1</v></c></row>')
    assert read_xlsx(new, OPTIONS) == read_xls(new, OPTIONS)


def old_record(kind: int, layout: str, *values: object) -> bytes:
    data = struct.pack(layout, *values)
    return struct.pack("<HH", kind, len(data)) + data


def test_an_old_workbook_is_read_like_a_new_one() -> None:
    """Excel 2 wrote its records without a container."""
    data = (
        old_record(0x09, "<HH", 2, 0x10)
        + old_record(0x42, "<H", 1252)
        + old_record(0x04, "<HH3xB4s", 0, 0, 4, b"Name")
        + old_record(0x04, "<HH3xB5s", 0, 1, 5, b"Catch")
        + old_record(0x04, "<HH3xB5s", 1, 0, 5, b"North")
        + old_record(0x03, "<HH3xd", 1, 1, 7.5)
        + old_record(0x0A, "<")
    )
    text = read_xls(data, OPTIONS).text
    assert text.endswith("| Name | Catch |\n| --- | --- |\n| North | 7.5 |")
    with pytest.raises(SourceError, match="is damaged"):
        read_xls(data[:30], OPTIONS)


def test_no_old_workbook_says_so() -> None:
    with pytest.raises(SourceError, match=r"or not an \.xls"):
        read_xls(b"hello, this is not a workbook", OPTIONS)


def test_the_same_bytes_give_the_same_text() -> None:
    data = docx(p("Once") + p("Twice"), title="Same")
    assert read(data) == read(data)
