"""Write the files of this folder with odfpy, xlwt and zipfile, independent of every reader.

    pip install odfpy xlwt
    python tests/benchmarks/neutral/write_fixtures.py

The Markdown of the same stem holds what each file says.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import xlwt
from odf import dc, draw, office, style, table
from odf import text as odt
from odf.opendocument import (
    OpenDocumentPresentation,
    OpenDocumentSpreadsheet,
    OpenDocumentText,
)
from odf.presentation import Notes

HERE = Path(__file__).parent
STATIONS = [
    ["Station", "Opened", "Ships"],
    ["Gull Quay", "spring", "1204"],
    ["Harrow Point", "autumn", "86"],
    ["临澜港", "summer", "15340"],
]
CODES = [["Code", "Meaning"], ["A7", "fog signal"], ["B2", "supply boat"]]
PRESENTATION = "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"


def comment(words: str) -> office.Annotation:
    made = office.Annotation()
    made.addElement(dc.Creator(text="Émile"))
    made.addElement(odt.P(text=words))
    return made


def cells(rows: list[list[str]], **arguments: object) -> table.Table:
    made = table.Table(**arguments)
    for row in rows:
        line = table.TableRow()
        for value in row:
            cell = table.TableCell(valuetype="string")
            cell.addElement(odt.P(text=value))
            line.addElement(cell)
        made.addElement(line)
    return made


def workbook() -> None:
    book = xlwt.Workbook()
    for name, rows in (("Stations", STATIONS), ("Codes", CODES)):
        sheet = book.add_sheet(name)
        sheet.visibility = 1 if name == "Codes" else 0
        for number, row in enumerate(rows):
            for column, value in enumerate(row):
                sheet.write(number, column, value)
    book.save(str(HERE / "sheets.xls"))
    single = xlwt.Workbook()
    sheet = single.add_sheet("Stations")
    for number, row in enumerate(STATIONS):
        for column, value in enumerate(row):
            sheet.write(number, column, value)
    single.save(str(HERE / "sheet.xls"))


def spreadsheet() -> None:
    document = OpenDocumentSpreadsheet()
    hidden = style.Style(name="hidden", family="table")
    hidden.addElement(style.TableProperties(display="false"))
    document.automaticstyles.addElement(hidden)
    document.spreadsheet.addElement(cells(STATIONS, name="Stations"))
    document.spreadsheet.addElement(cells(CODES, name="Codes", stylename=hidden))
    document.save(str(HERE / "sheets.ods"))
    single = OpenDocumentSpreadsheet()
    made = cells(STATIONS, name="Stations")
    made.addElement(table.TableRow())
    last = cells([["Counted twice"]]).firstChild
    last.firstChild.insertBefore(comment("Ask the harbour office"), last.firstChild.firstChild)
    made.addElement(last)
    single.spreadsheet.addElement(made)
    single.save(str(HERE / "sheet.ods"))


def boxed(kind: str, content: object) -> draw.Frame:
    frame = draw.Frame(width="20cm", height="5cm", x="1cm", y="1cm")
    frame.setAttrNS(PRESENTATION, "class", kind)
    box = draw.TextBox()
    box.addElement(content)
    frame.addElement(box)
    return frame


def presentation() -> None:
    document = OpenDocumentPresentation()
    layout = style.PageLayout(name="layout")
    document.automaticstyles.addElement(layout)
    master = style.MasterPage(name="master", pagelayoutname=layout)
    document.masterstyles.addElement(master)
    listed = odt.List()
    for words in ("Gull Quay opened first", "Harrow Point was rebuilt"):
        entry = odt.ListItem()
        entry.addElement(odt.P(text=words))
        listed.addElement(entry)
    framed = draw.Frame(width="20cm", height="5cm", x="1cm", y="9cm")
    framed.addElement(cells(STATIONS))
    spoken = Notes()
    spoken.addElement(boxed("notes", odt.P(text="Mention the storm slowly")))
    slides = (
        [boxed("title", odt.P(text="Lights of the coast")), boxed("outline", listed)],
        [boxed("outline", odt.P(text="A slide without a title"))],
        [boxed("title", odt.P(text="Stations")), framed, spoken],
    )
    for number, parts in enumerate(slides, start=1):
        page = draw.Page(name=f"page{number}", masterpagename=master)
        for part in parts:
            page.addElement(part)
        document.presentation.addElement(page)
    document.save(str(HERE / "slides.odp"))


def letter() -> None:
    document = OpenDocumentText()
    layout = style.PageLayout(name="layout")
    document.automaticstyles.addElement(layout)
    master = style.MasterPage(name="Standard", pagelayoutname=layout)
    header = style.Header()
    header.addElement(odt.P(text="Harbour office of Gull Quay"))
    master.addElement(header)
    document.masterstyles.addElement(master)
    title = style.Style(name="Title", family="paragraph")
    document.styles.addElement(title)
    document.text.addElement(odt.P(text="Letter of a keeper", stylename=title))
    document.text.addElement(odt.H(text="The storm", outlinelevel=2))
    paragraph = odt.P(text="The lamp went out at six")
    paragraph.addElement(comment("Was it seven"))
    paragraph.addElement(odt.Span(text=", and nobody saw it."))
    document.text.addElement(paragraph)
    document.text.addElement(cells(STATIONS))
    shaped = odt.P(text="Below stands a sign")
    shape = draw.CustomShape(width="5cm", height="2cm")
    shape.addElement(odt.P(text="Danger"))
    shaped.addElement(shape)
    document.text.addElement(shaped)
    document.save(str(HERE / "letter.odt"))


def book() -> None:
    """Write an e-book as older programs do: pages that are not well-formed, and not in UTF-8."""
    pages = (
        ("utf-8", "<h1>The lamp</h1><p>It burned for ninety nights.</p>"),
        ("utf-8", "<h1>The fog</h1><p>It came<br>from the north.<p>Ships waited &mdash; all."),
        ("iso-8859-1", "<h1>The letter</h1><p>Émile wrote to the harbour office.</p>"),
    )
    items = "".join(
        f'<item id="p{n}" href="p{n}.html" media-type="application/xhtml+xml"/>'
        for n in range(len(pages))
    )
    spine = "".join(f'<itemref idref="p{n}"/>' for n in range(len(pages)))
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
        '<rootfiles><rootfile full-path="book.opf" '
        'media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="2.0"><metadata/>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    with zipfile.ZipFile(HERE / "rough.epub", "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("book.opf", package)
        for number, (encoding, body) in enumerate(pages):
            page = f'<?xml version="1.0" encoding="{encoding}"?><html><body>{body}</body></html>'
            archive.writestr(f"p{number}.html", page.encode(encoding))


if __name__ == "__main__":
    workbook()
    spreadsheet()
    presentation()
    letter()
    book()
