"""Office Open XML: the container, DrawingML, equations, and slides as Markdown.

The zip is opened with limits and its XML parsed without entities. Equations (OMML) become LaTeX
(ECMA-376 part 1, 22.1). Slides give title, texts, tables, charts, notes and comments in the file's
order, in which a screen reader speaks them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ....errors import SourceError
from ....types import MetaValue
from ...document import ReadOptions, one_line, sanitise_text
from ..markdown_writer import Block, block_table, list_item, markdown_heading, markdown_paragraph
from ..zip_archive import Container

if TYPE_CHECKING:
    from lxml.etree import _Element

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
RELATIONSHIPS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_STRICT = (
    (b"ooxml/officeDocument/relationships", b"officeDocument/2006/relationships"),
    (b"ooxml/wordprocessingml/main", b"wordprocessingml/2006/main"),
    (b"ooxml/spreadsheetml/main", b"spreadsheetml/2006/main"),
    (b"ooxml/presentationml/main", b"presentationml/2006/main"),
    (b"ooxml/officeDocument/math", b"officeDocument/2006/math"),
    (b"ooxml/drawingml/", b"drawingml/2006/"),
)
_PLACEHOLDER_TITLE = re.compile(
    r"(?:powerpoint|microsoft)\b.*|pr[eé]sentation\b.*|(?:document|doc|book|workbook|slide|untitled"
    r"|presentation|folie|文档|文件|工作簿|演示文稿|幻灯片)\s*\d*(?:\.\w+)?"
    r"|(?:word document|no slide title|无标题|untitled.*|title|未命名.*|空白演示文稿)",
    re.I,
)
_NOBODY = re.compile(
    r"python-(?:docx|pptx)|openpyxl|xlsxwriter|apache poi|pptxgenjs|steve canny|un-?named|unknown"
    r"|(?:microsoft office|windows|office)?\s*(?:user|用户)|admin(?:istrator)?|author|作者",
    re.I,
)
_TEMPLATE_DATES = frozenset({"2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z"})
"""Creation dates of writer libraries' templates, ignored as document dates."""
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}:\d{2})?")


class Part(NamedTuple):
    """Related part; `kind` is the last word of the relationship type."""

    kind: str
    name: str


class Package:
    """An opened office file: its parts by name, each parsed when asked for."""

    def __init__(self, data: bytes, *, kind: str, options: ReadOptions) -> None:
        if data.startswith(OLE_MAGIC):
            raise SourceError(why_old_container(data, kind=kind))
        if not data.startswith(b"PK"):
            raise SourceError(f"is damaged, or not a {kind} file: save it again as {kind}")
        self._container = Container(data, options=options)
        self._kind = kind
        self.related: dict[str, Part] = self.relations("")

    def main(self) -> str:
        """Name of the main part."""
        for part in self.related.values():
            if part.kind == "officeDocument" and self.find(part.name):
                return part.name
        raise SourceError(f"is damaged, or not a {self._kind} file: its main part is missing")

    def find(self, name: str) -> str | None:
        """Return a part's name as stored; None if absent."""
        return self._container.find(name)

    def xml(self, name: str) -> _Element | None:
        """Return a part's root; None if absent.

        Raises:
            SourceError: it is not well-formed, or larger than the options allow.
        """
        data = self.data(name)
        return None if data is None else xml_root(data, name=name)

    def data(self, name: str) -> bytes | None:
        """Return a part's bytes in transitional namespaces; None if absent."""
        entry = self.find(name)
        return None if entry is None else _transitional(self._container.read(entry))

    def relations(self, name: str) -> dict[str, Part]:
        """Return relationships by id; those of the package for ""."""
        folder, base = posixpath.split(name)
        root = self.xml(posixpath.join(folder, "_rels", f"{base}.rels"))
        relations: dict[str, Part] = {}
        for relation in [] if root is None else root.iter("{*}Relationship"):
            if relation.get("TargetMode") != "External":
                target = posixpath.join("/", folder, relation.get("Target", ""))
                kind = relation.get("Type", "").rpartition("/")[2]
                relations[relation.get("Id", "")] = Part(kind, posixpath.normpath(target)[1:])
        return relations

    def properties(self) -> tuple[str | None, dict[str, MetaValue]]:
        """Return the title (None if missing or a placeholder) and metadata."""
        for part in self.related.values():
            if part.kind == "core-properties":
                root = self.xml(part.name)
                if root is not None:
                    return properties_of(root)
        return None, {}


def properties_of(root: _Element) -> tuple[str | None, dict[str, MetaValue]]:
    """Return title, author, date and language from Dublin Core anywhere in `root`."""
    metadata: dict[str, MetaValue] = {}
    people = dict.fromkeys(_texts(root, ["creator", "initial-creator"]))
    author = "; ".join(person for person in people if not _NOBODY.fullmatch(person))
    dates = _texts(root, ["modified", "date", "created", "creation-date"])
    date = next(filter(None, map(iso_date, dates)), "")
    tags = tuple(
        dict.fromkeys(
            tag.strip()
            for words in _texts(root, ["keywords", "keyword", "subject"])
            for tag in re.split(r"[,;，；、]", words)
            if tag.strip()
        )
    )
    language = next(iter(_texts(root, ["language"])), "")
    if author:
        metadata["author"] = author
    if date:
        metadata["date"] = date
    if language:
        metadata["language"] = language
    if tags:
        metadata["tags"] = tags
    return real_title(next(iter(_texts(root, ["title"])), "")), metadata


def real_title(title: str) -> str | None:
    """Return a real title; None for empty ones and program defaults."""
    line = one_line(sanitise_text(title))
    return None if not line or _PLACEHOLDER_TITLE.fullmatch(line) else line


def iso_date(text: str) -> str:
    """Return the day or UTC second of a W3C date; empty if invalid."""
    found = _DATE.match(text.strip())
    if found is None or found.group(1).startswith(("0000", "1601", "1900-01-01")):
        return ""
    if text.strip() in _TEMPLATE_DATES:
        return ""
    return f"{found.group(1)}{found.group(2)}Z" if found.group(2) else found.group(1)


def xml_root(data: bytes, *, name: str) -> _Element:
    """Parse XML without entities or network access.

    Raises:
        SourceError: the XML is broken or declares entities.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser=parser)
    except etree.XMLSyntaxError as error:
        raise SourceError(
            f"is damaged: its part {name!r} is not well-formed ({one_line(str(error))}); "
            "open it and save it again"
        ) from error
    declared: Any = root.getroottree().docinfo.internalDTD  # its entities are not in the stubs
    if declared is not None and next(iter(declared.iterentities()), None) is not None:
        raise SourceError(
            f"declares entities in its part {name!r}, which is unsafe to read: save it again"
        )
    return root


def why_old_container(data: bytes, *, kind: str) -> str:
    """Why an OLE file under a new suffix is not read: encrypted, or the old format."""
    streams = ole_streams(data)
    if {"encryptedpackage", "encryptioninfo"} & streams:
        return "is encrypted: save it without a password"
    old = {"worddocument": "doc", "powerpoint document": "ppt", "workbook": "xls", "book": "xls"}
    found = next((suffix for stream, suffix in old.items() if stream in streams), "")
    if found:
        return f"is an old .{found} file under the name of a {kind}: save it as {kind}"
    return f"is damaged, or not a {kind} file: save it again as {kind}"


def integer_attribute(text: str | None, default: int = 0) -> int:
    """Return an XML attribute as an integer, or the default."""
    try:
        return int(text) if text else default
    except ValueError:
        return default


def ole_streams(data: bytes) -> set[str]:
    """Return lower-case names of an OLE file's top streams; empty if damaged."""
    import io

    import olefile  # type: ignore[import-untyped, unused-ignore]

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            return {str(path[0]).lower() for path in ole.listdir()}
    except (OSError, ValueError, IndexError, TypeError):  # what a damaged directory leads to
        return set()


def _transitional(data: bytes) -> bytes:
    if b"http://purl.oclc.org/ooxml/" not in data:
        return data
    for strict, transitional in _STRICT:
        data = data.replace(
            b"http://purl.oclc.org/" + strict, b"http://schemas.openxmlformats.org/" + transitional
        )
    return data


def _texts(root: _Element, names: Sequence[str]) -> list[str]:
    found = (element for name in names for element in root.iter(f"{{*}}{name}"))
    return [line for element in found if (line := one_line(sanitise_text(element.text or "")))]


A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_MAX_CHART_POINTS = 2_000
_REPEATED_CELL_LIMIT = 80


def line_of(element: _Element) -> str:
    """Return the text of an `a:p`: runs, fields, line breaks and maths."""
    pieces: list[str] = []
    for node in element.iter():
        if not isinstance(node.tag, str):
            continue
        name = node.tag.rpartition("}")[2]
        if name == "t":
            pieces.append(node.text or "")
        elif name == "br":
            pieces.append("\n")
        elif name == "tab":
            pieces.append(" ")
    return "".join(pieces).replace("\v", "\n").strip()


def text_blocks(body: _Element, *, bulleted: bool = False) -> Iterator[Block]:
    """Return the paragraphs of a DrawingML text body as Markdown blocks.

    Bulleted, numbered or indented ones as list items. `bulleted` is the default.
    """
    number = 0
    for element in body.iterfind(f"{A}p"):
        text = line_of(element)
        style = element.find(f"{A}pPr")
        level = integer_attribute(style.get("lvl")) if style is not None else 0
        marks = {child.tag for child in style} if style is not None else set()
        numbered = f"{A}buAutoNum" in marks
        number = number + 1 if numbered and text else 0 if not numbered else number
        listed = f"{A}buChar" in marks or numbered or level > 0
        if listed or (bulleted and f"{A}buNone" not in marks):
            yield list_item(text, level=level, mark=f"{number}." if numbered else "-")
        else:
            yield markdown_paragraph(text)


def table_block(table: _Element) -> Block:
    """Convert an `a:tbl` to a pipe table; short texts fill merged cells."""
    rows: list[list[str]] = []
    for row in table.iterfind(f"{A}tr"):
        cells: list[str] = []
        for position, cell in enumerate(row.iterfind(f"{A}tc")):
            text = " ".join(line_of(line) for line in cell.iter(f"{A}p"))
            merged: str | None = None
            if cell.get("vMerge") in ("1", "true") and rows and position < len(rows[-1]):
                merged = rows[-1][position]
            elif cell.get("hMerge") in ("1", "true") and cells:
                merged = cells[-1]
            if merged is not None and len(merged) <= _REPEATED_CELL_LIMIT:
                text = merged
            cells.append(text)
        rows.append(cells)
    return block_table(rows)


def chart_blocks(chart: _Element) -> Iterator[Block]:
    """Return a chart's titles and its series as a table."""
    for title in chart.iter(f"{_CHART}title"):
        yield markdown_paragraph(" ".join(line_of(line) for line in title.iter(f"{A}p")))
    columns: dict[str, dict[int, str]] = {}
    categories: dict[int, str] = {}
    for position, series in enumerate(chart.iter(f"{_CHART}ser"), start=1):
        name = " ".join(_points(series.find(f"{_CHART}tx")).values()) or f"{position}"
        for tag in ("cat", "xVal"):
            categories = {**_points(series.find(f"{_CHART}{tag}")), **categories}
        values = _points(series.find(f"{_CHART}val")) or _points(series.find(f"{_CHART}yVal"))
        columns[name if name not in columns else f"{name} ({position})"] = values
    indices = sorted({index for values in columns.values() for index in values})
    if indices:
        rows = [
            [categories.get(index, ""), *(values.get(index, "") for values in columns.values())]
            for index in indices[:_MAX_CHART_POINTS]
        ]
        yield block_table([["", *columns], *rows])


def diagram_blocks(model: _Element) -> Iterator[Block]:
    """Return the texts of a SmartArt diagram in model order."""
    for body in model.iter("{*}t"):
        text = " ".join(filter(None, (line_of(line) for line in body.iterfind(f"{A}p"))))
        if text:
            yield list_item(text)


def _points(source: _Element | None) -> dict[int, str]:
    if source is None:
        return {}
    points = {
        integer_attribute(point.get("idx")): _shown(point.findtext(f"{_CHART}v") or "")
        for point in source.iter(f"{_CHART}pt")
    }
    literal = source.findtext(f"{_CHART}v")
    return points or ({0: literal} if literal else {})


def _shown(value: str) -> str:
    """Return a cached number without binary noise; other text unchanged."""
    try:
        number = float(value)
    except ValueError:
        return value
    return f"{number:.10g}" if abs(number) < 1e15 else value


M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_SYMBOLS = {
    "∑": r"\sum", "∏": r"\prod", "∫": r"\int", "∬": r"\iint", "∭": r"\iiint", "∮": r"\oint",
    "⋃": r"\bigcup", "⋂": r"\bigcap", "⋀": r"\bigwedge", "⋁": r"\bigvee", "∞": r"\infty",
    "×": r"\times", "⋅": r"\cdot", "÷": r"\div", "±": r"\pm", "≤": r"\leq", "≥": r"\geq",
    "≠": r"\neq", "≈": r"\approx", "→": r"\to", "∈": r"\in", "∩": r"\cap", "∪": r"\cup",
    "∂": r"\partial", "∇": r"\nabla", "√": r"\sqrt", "α": r"\alpha", "β": r"\beta", "γ": r"\gamma",
    "δ": r"\delta", "ε": r"\epsilon", "θ": r"\theta", "λ": r"\lambda", "μ": r"\mu", "π": r"\pi",
    "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "φ": r"\phi", "ω": r"\omega", "Δ": r"\Delta",
    "Σ": r"\Sigma", "Ω": r"\Omega", "…": r"\ldots", "⋯": r"\cdots", "\u2061": "", "\u200b": "",
}  # fmt: skip
_ACCENTS = {"̂": "hat", "̃": "tilde", "̄": "bar", "̅": "overline", "⃗": "vec", "̇": "dot", "̈": "ddot"}
_FUNCTIONS = re.compile(
    "arc(?:cos|sin|tan)|cosh?|cot|csc|det|exp|gcd|inf|lim|ln|log|max|min|sec|sinh?|sup|tanh?"
).fullmatch


def latex_of(element: _Element) -> str:
    """Return the LaTeX of an `m:oMath`, without dollar signs."""
    return " ".join(_all(element).split())


def _all(element: _Element | None) -> str:
    if element is None:
        return ""
    return "".join(_one(child) for child in element if isinstance(child.tag, str))


def _one(node: _Element) -> str:
    name = node.tag.rpartition("}")[2]
    match name:
        case "r":
            return _run(node)
        case "f":
            above, below = _inside(node, "num"), _inside(node, "den")
            shape = _value(node, "fPr", "type")
            if shape in ("lin", "skw"):
                return f"{above}/{below}"
            return rf"\{'binom' if shape == 'noBar' else 'frac'}{{{above}}}{{{below}}}"
        case "sSup" | "sSub" | "sSubSup" | "sPre":
            below, above = _inside(node, "sub"), _inside(node, "sup")
            scripts = _scripts(below, above)
            base = _inside(node, "e")
            return f"{{}}{scripts}{base}" if name == "sPre" else f"{base}{scripts}"
        case "rad":
            degree = _inside(node, "deg")
            return rf"\sqrt{f'[{degree}]' if degree else ''}{{{_inside(node, 'e')}}}"
        case "nary":
            sign = _value(node, "naryPr", "chr") or "∫"
            scripts = _scripts(_inside(node, "sub"), _inside(node, "sup"))
            return f"{_SYMBOLS.get(sign, sign)}{scripts}{{{_inside(node, 'e')}}}"
        case "d":
            return _delimited(node)
        case "func":
            return f"{_inside(node, 'fName')} {_inside(node, 'e')}"
        case "limLow" | "limUpp":
            mark = "_" if name == "limLow" else "^"
            return f"{_inside(node, 'e')}{mark}{{{_inside(node, 'lim')}}}"
        case "acc" | "bar":
            accent = _ACCENTS.get(_value(node, f"{name}Pr", "chr") or "̂", "hat")
            return rf"\{'overline' if name == 'bar' else accent}{{{_inside(node, 'e')}}}"
        case "m" | "eqArr":
            return _matrix(node, rows="mr" if name == "m" else "e")
    return "" if name.endswith("Pr") else _all(node)


def _run(node: _Element) -> str:
    text = "".join(part.text or "" for part in node.iter(f"{M}t"))
    if _FUNCTIONS(text.strip()):
        return rf"\{text.strip()} "
    out: list[str] = []
    for character in text:
        symbol = _SYMBOLS.get(character, character)
        out.append(f"{symbol} " if symbol.startswith("\\") else symbol)
    return "".join(out)


def _delimited(node: _Element) -> str:
    opening = _value(node, "dPr", "begChr", "(")
    closing = _value(node, "dPr", "endChr", ")")
    separator = _value(node, "dPr", "sepChr", "|")
    return f"{opening}{separator.join(_all(part) for part in node.iterfind(f'{M}e'))}{closing}"


def _matrix(node: _Element, *, rows: str) -> str:
    lines = [
        " & ".join(_all(cell) for cell in row.iterfind(f"{M}e")) if rows == "mr" else _all(row)
        for row in node.iterfind(f"{M}{rows}")
    ]
    if len(lines) == 1 and rows == "e":
        return lines[0]
    body = r" \\ ".join(lines)
    return rf"\begin{{matrix}} {body} \end{{matrix}}"


def _scripts(below: str, above: str) -> str:
    return (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")


def _inside(node: _Element, name: str) -> str:
    return _all(node.find(f"{M}{name}")).strip()


def _value(node: _Element, properties: str, name: str, default: str = "") -> str:
    found = node.find(f"{M}{properties}/{M}{name}")
    return default if found is None else found.get(f"{M}val", default)


P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_TITLES = frozenset({"title", "ctrTitle"})
_ON_EVERY_SLIDE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
_BULLETED = frozenset({"body", "obj"})


def shown_slides(package: Package) -> Iterator[list[Block]]:
    """Yield a presentation's slides in shown order, hidden ones included."""
    main = package.main()
    root = package.xml(main)
    related = package.relations(main)
    references = [] if root is None else root.iterfind(f"{P}sldIdLst/{P}sldId")
    for number, reference in enumerate(references, start=1):
        part = related.get(reference.get(f"{RELATIONSHIPS}id", ""))
        slide = package.xml(part.name) if part else None
        if part is not None and slide is not None:
            related_parts = package.relations(part.name)
            yield list(_slide(slide, number=number, related=related_parts, package=package))


def _slide(
    slide: _Element, *, number: int, related: dict[str, Part], package: Package
) -> Iterator[Block]:
    tree = slide.find(f"{P}cSld/{P}spTree")
    shapes = [] if tree is None else list(_shapes(tree))
    title = next((shape for shape in shapes if _placeholder(shape) in _TITLES), None)
    text = "" if title is None else " ".join(line_of(line) for line in title.iter(f"{A}p"))
    yield markdown_heading(text if text.strip() else f"Slide {number}", level=2)
    for shape in shapes:
        if shape is not title:
            yield from _shape(shape, related=related, package=package)
    for part in sorted(set(related.values())):
        root = package.xml(part.name) if part.kind in ("notesSlide", "comments") else None
        if root is not None:
            yield from _notes(root) if part.kind == "notesSlide" else _comments(root)


def _shapes(tree: _Element) -> Iterator[_Element]:
    for child in tree:
        if not isinstance(child.tag, str):
            continue
        name = child.tag.rpartition("}")[2]
        if name == "grpSp":
            yield from _shapes(child)
        elif name == "AlternateContent":  # the same thing twice, for new and old programs
            yield from _shapes(child[0]) if len(child) else ()
        elif name in ("sp", "graphicFrame", "pic", "cxnSp"):
            yield child


def _shape(shape: _Element, *, related: dict[str, Part], package: Package) -> Iterator[Block]:
    kind = _placeholder(shape)
    if kind in _ON_EVERY_SLIDE:
        return
    body = shape.find(f"{P}txBody")
    if body is not None:
        several = len(body.findall(f"{A}p")) > 1
        yield from text_blocks(body, bulleted=several and kind in _BULLETED)
    for table in shape.iter(f"{A}tbl"):
        yield table_block(table)
    for reference in shape.iter("{*}chart", "{*}relIds"):
        is_chart = reference.tag.endswith("}chart")
        part = related.get(reference.get(f"{RELATIONSHIPS}{'id' if is_chart else 'dm'}", ""))
        root = package.xml(part.name) if part else None
        if root is not None:
            yield from chart_blocks(root) if is_chart else diagram_blocks(root)
    if shape.tag == f"{P}pic":
        described = shape.find(f"{P}nvPicPr/{P}cNvPr")
        text = "" if described is None else " ".join((described.get("descr") or "").split())
        yield markdown_paragraph(f"![{text}]()" if text else "")


def _placeholder(shape: _Element) -> str:
    """Return the placeholder type; "obj" for plain ones, empty for none."""
    found = shape.find(f"*/{P}nvPr/{P}ph")
    return "" if found is None else found.get("type", "obj")


def _notes(root: _Element) -> Iterator[Block]:
    lines = [
        line
        for shape in root.iter(f"{P}sp")
        if _placeholder(shape) not in _ON_EVERY_SLIDE
        for element in shape.iter(f"{A}p")
        if (line := line_of(element))
    ]
    if lines:
        yield markdown_paragraph("Notes: " + "\n".join(lines))


def _comments(root: _Element) -> Iterator[Block]:
    """Return comments, plain or threaded."""
    for comment in root.iter("{*}text", "{*}txBody"):
        lines = [line_of(line) for line in comment.iter(f"{A}p")] or [comment.text or ""]
        text = " ".join(" ".join(lines).split())
        yield Block(f"> Comment: {text}" if text else "")
