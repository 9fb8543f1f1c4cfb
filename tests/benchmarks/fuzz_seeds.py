"""Files that a fuzz of the readers begins with: real ones, and small ones of every other format."""

from __future__ import annotations

import io
import tarfile
import wave
import zipfile
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[2]
MESSY = REPOSITORY.parent / "shared" / "data" / "messy_docs"
LARGEST = 300_000
"""Bytes: what is larger costs more time than it tells."""
_ASIDE = ("LICENSE", "manifest.jsonl")


class Seed(NamedTuple):
    """A file; its suffix says which reader reads it."""

    name: str
    data: bytes


def seeds() -> list[Seed]:
    """All of them, in an order that depends on their names alone."""
    paths = sorted(path for path in MESSY.rglob("*") if path.is_file() and path.name not in _ASIDE)
    real = [
        Seed(path.relative_to(MESSY).as_posix(), path.read_bytes())
        for path in paths
        if path.stat().st_size <= LARGEST
    ]
    return [*real, *(Seed(f"made/{seed.name}", seed.data) for seed in _made())]


def _made() -> Iterator[Seed]:
    for name, text in _TEXTS.items():
        yield Seed(name, text.encode())
    yield Seed("utf16.txt", "The harbour opens at noon. 港口中午开放。".encode("utf-16"))
    yield Seed("gbk.txt", "港口中午开放，船只可以进入。".encode("gb18030"))
    yield Seed("message.eml", _message().as_bytes())
    yield Seed("box.mbox", b"From a\n%s\n\nFrom b\n%s" % (_message().as_bytes(), _LITTLE))
    yield Seed("page.mhtml", _saved_page().as_bytes())
    yield Seed("book.epub", _zipped(_EPUB))
    yield Seed("sheet.ods", _zipped({"mimetype": _ODS, "content.xml": _SHEET}))
    yield Seed("slides.odp", _zipped({"mimetype": _ODP, "content.xml": _SLIDES}))
    yield Seed("files.zip", _zipped({"a.md": "# A\n\nb", "b.csv": "a,b\n1,2\n"}))
    yield Seed("files.tar", _tar("w"))
    yield Seed("files.tgz", _tar("w:gz"))
    yield Seed("sound.wav", _sound())
    for suffix in ("png", "jpeg", "tiff", "gif", "webp", "bmp"):
        yield Seed(f"picture.{suffix}", _picture(suffix))


_TEXTS = {
    "a.rst": "===\nT\n===\n\n:Author: A\n:Date: 2020-01-02\n\nU\n---\n\n.. cod"
    "e-block:: go\n   :x: y\n"
    "\n   a\n\n+---+---+\n| A | B |\n+===+===+\n| 1 | 2 |\n+---+---+\n\n=== ===\nx   y\n=== ===\n"
    "1   2\n=== ===\n\n.. list-table:: C\n\n   * - a\n     - b\n   * - 1\n     - 2\n\n"
    ".. csv-table::\n   :header: a, b\n\n   1, 2\n\n.. note:: say\n\nSe"
    "e `a <b>`_ and :ref:`c <d>`.\n",
    "a.adoc": "= T\n:author: A\n:revdate: 2020-01-02\n\n== S\ntext <<id,there>> footnote:[x]\n\n"
    '* a\n** b\n\n. c\n\n[source,go]\n----\n= x\n----\n\n[cols="2*,a"]\n|===\n|A |B\n\n|1\n2+|2\n'
    "|3 .2+a|4 |===\n|===\n\n,===\na,b\n1,2\n,===\n\nterm:: said\n\nimage::a.png[A map]\n",
    "feed.rss": "<?xml version='1.0'?><rss version='2.0'><channel><title>News</title><item><title>A"
    "</title><pubDate>Mon, 06 May 2024 10:30:00 +0800</pubDate><author>B</author><category>c"
    "</category><description>&lt;p&gt;Text&lt;/p&gt;</description></item><item><title>C</title>"
    "<pubDate>Tue, 07 May 2024 10:30:00 GMT</pubDate><description>D</description></item>"
    "</channel></rss>",
    "feed.atom": "<feed xmlns='http://www.w3.org/2005/Atom'><title>N</title><entry><title>A</title>"
    "<updated>2024-05-06T10:30:00+08:00</updated><summary>B</summary></entry></feed>",
    "front.md": "---\ntitle: T\ndate: 2020-01-02T03:04:05+08:00\ntags: [a, b]\nn: 12\nx: 1.5\n"
    "list: &a [1, two, 3.0]\nmore: *a\n---\n\n# T\n\ntext\n",
    "front.markdown": "+++\ntitle = 'T'\ndate = 2020-01-02T03:04:05+08:00\nn = 12\nx = 1.5\n"
    "tags = ['a', 'b']\n+++\n\n# T\n\ntext\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\n<i>A</i>\n\n2\n00:00:03,00"
    "0 --> 00:00:09,000\nB: c\n",
    "a.ndjson": '{"title":"a","n":1}\n{"title":"b","n":2e9}\n[1,2]\n"c"\n',
    "chat.json": '{"title":"T","date":"2020-01-02","messages":[{"role":"a","content":"b","time":'
    '"2020-01-02 03:04"},{"role":"c","content":["d",{"text":"e"}]}],"n":[1,-2.5,1e300]}',
    "faq.json": '[{"question":"a?","answer":"b","n":1},{"question":"c?","answer":["d"]}]',
    "a.ipynb": '{"metadata":{"authors":[{"name":"A"}],"date":"2020-01-02","language_info":{"name":'
    '"python"}},"worksheets":[{"cells":[{"cell_type":"heading","level":2,"source":["A"]},{'
    '"cell_type":"code","input":["x"],"outputs":[{"output_type":"pyerr","ename":"a","evalue":"b"}'
    ']}]}],"nbformat":3}',
    "a.rtf": "{\\rtf1\\ansi\\ansicpg1252{\\info{\\title A}{\\author B}{\\keywords a, b}{\\creatim"
    "\\yr2020\\mo1\\dy2}}A\\'e9 \\u233?\\par\\trowd a\\cell b\\cell\\row\\trow"
    "d 1\\cell 2\\cell\\row}",
    "a.tex": "\\documentclass{article}\\title{T}\\author{A}\\date{May 2020}\\new"
    "command{\\x}[1]{#1 y}"
    "\\begin{document}\\section{S}\\x{a} $b$\\begin{tabular}{ll}\\multicolumn{2}{l}{A}\\\\1&2\\\\"
    "\\end{tabular}\\begin{itemize}\\item a\\end{itemize}\\begin{verbatim}%\\end{verbatim}"
    "\\end{document}",
    "a.py": "import os\n\n\nclass A:\n    def b(self) -> int:\n        return 1\n",
    "a.h": "#include <vector>\nclass A { public: int b; };\n",
    "a.yaml": "a: &a\n  b: 1\nc: *a\n",
    "a.toml": "[a]\nb = 1\n",
    "a.html": "<html lang=en><head><title>T</title><meta charset=utf-8><meta name=author content=A>"
    "<meta name=date content='2020-01-02'><script type='application/ld+json'>{\"datePublished\": "
    '"2020-01-02", "author": [{"name": "B"}]}</script></head><body><nav><a href=a>a</a></nav>'
    "<article><h1>T</h1><p>A <b>b</b> c.</p><ol start=3><li>a<ul><li>b</ul></ol><table><tr><th "
    "colspan=2>A<tr><td rowspan=2>1<td>2<tr><td>3</table><time datetime='2020-01-02'>d</time>",
    "a.fodt": "<office:document xmlns:office='urn:oasis:names:tc:opendocument:xmlns:office:1.0' "
    "xmlns:text='urn:oasis:names:tc:opendocument:xmlns:text:1.0' xmlns:meta='urn:oasis:names:tc:"
    "opendocument:xmlns:meta:1.0' xmlns:dc='http://purl.org/dc/elements/1.1/' office:mimetype="
    "'application/vnd.oasis.opendocument.text'><office:meta><dc:title>T</dc:title><dc:date>"
    "2020-01-02T03:04:05</dc:date></office:meta><office:body><office:text><tex"
    "t:h text:outline-level"
    "='1'>A</text:h><text:p>b<text:s text:c='3'/>c</text:p><text:list><text:list-item><text:p>d"
    "</text:p></text:list-item></text:list></office:text></office:body></office:document>",
}
_LITTLE = b"Message-ID: <b@c>\nFrom: a@b\nSubject: =?gb2312?B?1tDOxA==?=\n\nThe second one.\n"
_ODS = "application/vnd.oasis.opendocument.spreadsheet"
_ODP = "application/vnd.oasis.opendocument.presentation"
_SPACES = " ".join(
    f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{long}:1.0'"
    for name, long in (
        ("office", "office"),
        ("table", "table"),
        ("text", "text"),
        ("draw", "drawing"),
        ("presentation", "presentation"),
    )
)
_SHEET = (
    f"<office:document-content {_SPACES}><office:body><office:spreadsheet><tabl"
    "e:table table:name='A'>"
    "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell "
    "table:number-columns-repeated='3'><text:p>b</text:p></table:table-cell></table:table-row>"
    "<table:table-row table:number-rows-repeated='2'><table:table-cell office:value-type='float' "
    "office:value='1.5'><text:p>1.5</text:p></table:table-cell></table:table-row></table:table>"
    "</office:spreadsheet></office:body></office:document-content>"
)
_SLIDES = (
    f"<office:document-content {_SPACES}><office:body><office:presentation><dra"
    "w:page draw:name='A'>"
    "<draw:frame presentation:class='title'><draw:text-box><text:p>T</text:p></draw:text-box>"
    "</draw:frame><draw:frame><draw:text-box><text:list><text:list-item><text:p>a</text:p>"
    "</text:list-item></text:list></draw:text-box></draw:frame></draw:page></office:presentation>"
    "</office:body></office:document-content>"
)
_EPUB = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'>"
    "<rootfiles><rootfile full-path='b.opf'/></rootfiles></container>",
    "b.opf": "<package xmlns='http://www.idpf.org/2007/opf' xmlns:dc='http://pur"
    "l.org/dc/elements/1.1/'"
    "><metadata><dc:title>T</dc:title><dc:creator>A</dc:creator><dc:date>2020-01-02</dc:date>"
    "</metadata><manifest><item id='a' href='a.xhtml' media-type='application/xhtml+xml'/><item "
    "id='n' href='n.ncx' media-type='application/x-dtbncx+xml'/></manifest><spine toc='n'><itemref "
    "idref='a'/></spine></package>",
    "n.ncx": "<ncx xmlns='http://www.daisy.org/z3986/2005/ncx/'><navMap><navPoin"
    "t><navLabel><text>One"
    "</text></navLabel><content src='a.xhtml'/></navPoint></navMap></ncx>",
    "a.xhtml": "<?xml version='1.0' encoding='utf-8'?><html xmlns='http://www.w3.org/1999/xhtml'>"
    "<body><h1>One</h1><p>The harbour opens at noon.</p></body></html>",
}


def _message() -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = "Ann Bell <ann@example.org>", "bob@example.org"
    message["Subject"], message["Date"] = "港口 opens", "Mon, 06 May 2024 10:30:00 +0800"
    message["Message-ID"] = "<a@example.org>"
    message.set_content("The harbour opens at noon.\n")
    message.add_alternative("<p>The <b>harbour</b> opens at noon.</p>", subtype="html")
    message.add_attachment("a,b\n1,2\n", filename="表.csv")
    inner = EmailMessage()
    inner["Subject"] = "Inner"
    inner.set_content("It closes at six.\n")
    message.add_attachment(inner)
    message.set_boundary("b")
    return message


def _saved_page() -> EmailMessage:
    message = EmailMessage()
    message.set_content("no page")
    message.add_alternative("<h1>T</h1><p>The harbour opens at noon.</p>", subtype="html")
    message.set_boundary("b")
    return message


def _zipped(members: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return packed.getvalue()


def _tar(mode: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, text in (("a.txt", b"The harbour opens."), ("b/c.json", b'{"a": 1}')):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return packed.getvalue()


def _sound() -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(range(256)) * 8)
    tags = b"INFOINAM\x02\x00\x00\x00T\x00ICRD\x0a\x00\x00\x002020-01-02"
    return made.getvalue() + b"LIST" + len(tags).to_bytes(4, "little") + tags


def _picture(suffix: str) -> bytes:
    from PIL import Image

    made = io.BytesIO()
    picture = Image.new("P" if suffix == "gif" else "RGB", (24, 16), 7)
    exif = Image.Exif()
    exif[0x013B] = "Ann"
    exif.get_ifd(0x8769)[0x9003] = "2020:01:02 03:04:05"
    exif.get_ifd(0x8769)[0x9011] = "+08:00"
    given = {"exif": exif} if suffix in ("png", "jpeg", "tiff", "webp") else {}
    picture.save(made, suffix, **given)
    return made.getvalue()
