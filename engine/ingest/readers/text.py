"""Plain text, Markdown, source code and notebooks, and the encoding of unmarked text.

Bytes become characters exactly, but for the ends of lines. A statistical detector errs on short or
mixed Chinese text, so all East Asian encodings are tried first, by how common the resulting
characters are. A notebook gives prose cells, fenced code and shortened outputs without pictures.
"""

from __future__ import annotations

import codecs
import datetime
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice

import yaml

from graph.text.patterns import FENCE

from ...errors import SourceError
from ...types import MetaValue
from ..document import (
    REPLACEMENT,
    Content,
    ReadOptions,
    iso_date,
    one_line,
    sanitise_text,
    unix_newlines,
)
from .ebook import read_ebook
from .markdown_writer import join_paragraphs

SAMPLE_BYTES = 1 << 16
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_NON_ASCII_BYTES = re.compile(rb"[\x80-\xff]")
_LEAST_SHARE = 0.7
_FREQUENT_VOTES = 2
_WITH_KANA = frozenset({"euc_jp", "cp932"})
_FREQUENT_CHINESE = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过"
    "发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心本"
    "前开但因只从想实日者意无力与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最"
    "重并物手应头文体政美相见被利什二等产或新制身果加西月话合回特代内信表化老给世位次度门常先海"
    "通教原东提立及比员解水名真论处各入几口条平系气题活更别打女变四总何电数安少报才结反受目太量"
    "再建务做接必场件计管期市直资山金指统区保至社便空决治科司五基书非则白光放强难权思王完设式色"
    "路记南品告类求据程北边该交规万取望术领共确传师观清今切院让识带导运你好谢请您"
    "這個們來為說時會對過後裡種經現當沒動還進樣開從實無與長機關點業將兩間問頭體見產麼給門東聲員"
    "論處義幾條題別變總電數報結務場計資統區決書則達強難權設記類據邊該規萬術領確傳師觀識帶導運學發"
)
_FREQUENT_KOREAN = frozenset(
    "이다는에을의가고하지를은로한기도사자어리시나그아인라들서있스일보대부수정해과게으전장제니면적상"
    "주구여내세만원성관국동연계것위오했습신화당경소우공까와안였음말없생조교문유개방무분비선실통회행"
    "었겠된될합니요네든며려더저때두년월글녕세감반갑"
)
"""Frequent Korean syllables, about half of usual text, unordered."""
_WESTERN = re.compile(
    "[\xa0-\xb1\xb4-\xb8\xba-\xcf\xd1-\xdc\xdf-\xef\xf1-\xfc\xff\u0152\u0153\u2013-\u2026\u20ac\u2122]"
)
"""Western European letters, without ð, ý and þ, which Turkish would turn into."""
_OTHERS = (
    *(f"cp{page}" for page in range(1250, 1259)),
    *("koi8_r", "iso8859_2", "iso8859_7", "iso8859_15", "tis_620", "cp866", "cp437"),
)
"""Further encodings in use.

Unrestricted, the detector finds Macintosh and mainframe ones.
"""


def detect_encoding(data: bytes) -> str | None:
    """Detect the encoding of unmarked bytes that are no UTF-8; None if no text."""
    sample = data[:SAMPLE_BYTES]
    if b"\x00" in sample:
        return _wide(sample)
    return _east_asian(sample) or _western(sample) or _detected(sample)


def _wide(sample: bytes) -> str | None:
    """UTF-16 without a mark: one byte of each pair is nearly always NUL in Latin text."""
    half = max(1, len(sample) // 2)
    for codec, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[0::2])):
        text = decode_sample(sample, codec)
        if zeros.count(0) > 0.7 * half and text is not None and "\x00" not in text:
            return codec
    return None


def decode_sample(sample: bytes, codec: str) -> str | None:
    """Decode a sample of bytes, ignoring a truncated last character; None if invalid."""
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(sample)
    except UnicodeDecodeError:
        return None


def _east_asian(sample: bytes) -> str | None:
    """Return the most plausible East Asian codec, if any.

    The codecs share most of their byte pairs, so that a short text often fits several: each
    character votes, the most frequent ones of its language for it, rare ones against.
    """
    found: list[tuple[float, str]] = []
    size = len(_NON_ASCII_BYTES.findall(sample))
    for codec, (usual, frequent) in _languages().items():
        foreign = _foreign(sample, codec)
        known = sum(1 for c in foreign if c in usual)
        if foreign and known >= _LEAST_SHARE * len(foreign):
            best = sum(1 for c in foreign if c in frequent)
            if codec in _WITH_KANA and not best:
                continue  # hardly a text of Japan is without them
            votes = known - (len(foreign) - known) + _FREQUENT_VOTES * best
            found.append((votes / size, codec))
    return max(found, key=lambda entry: entry[0])[1] if found else None


@cache
def _languages() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """Return common characters of each codec, and the most frequent ones.

    The first codec wins where two are as plausible.
    """
    kana = _everyday("euc_jp", 0xA4, 0xA5)
    japanese = _everyday("euc_jp", 0xB0, 0xCF) | kana
    return {
        "gb18030": (_everyday("gb2312", 0xB0, 0xD7), _FREQUENT_CHINESE),
        "big5hkscs": (_everyday("big5", 0xA4, 0xC6), _FREQUENT_CHINESE),
        "cp949": (_everyday("euc_kr", 0xB0, 0xC8), _FREQUENT_KOREAN),
        "euc_jp": (japanese, kana),
        "cp932": (japanese, kana),
    }


def _foreign(sample: bytes, codec: str) -> str:
    text = decode_sample(sample, codec)
    return "".join(_NON_ASCII.findall(text)) if text else ""


def _everyday(codec: str, first: int, last: int) -> frozenset[str]:
    """Return a standard's frequent characters by leading bytes, and its punctuation."""
    leads = [*range(0xA1, 0xA4), *range(first, last + 1)]
    trails = [*range(0x40, 0x7F), *range(0xA1, 0xFF)]
    pairs = (bytes((lead, trail)).decode(codec, "ignore") for lead in leads for trail in trails)
    return frozenset(pair for pair in pairs if len(pair) == 1 and not pair.isascii())


def _western(sample: bytes) -> str | None:
    foreign = _foreign(sample, "cp1252")
    fits = foreign and all(_WESTERN.match(c) for c in foreign) and len(foreign) < 0.3 * len(sample)
    return "cp1252" if fits else None


def _detected(sample: bytes) -> str | None:
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(_OTHERS)).best()
    return None if best is None else best.encoding


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with the other's
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SIGNATURES = (
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "ZIP or office document"),
    (b"\x89PNG", "PNG"),
    (b"GIF8", "GIF"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x1f\x8b", "gzip"),
    (b"\x7fELF", "program"),
    (b"\xd0\xcf\x11\xe0", "old office document"),
    (b"SQLite format 3\x00", "SQLite database"),
)
_CONTROL = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f]")
_MAX_CONTROL_SHARE = 0.01
_MAX_BROKEN_SHARE = 0.001
_LABELLED = re.compile(
    r"^[ \t]*(?:title|subject|标题|题目|主题)[ \t]*[:：][ \t]*(\S.*)$", re.I | re.M
)
_HEADER_LINE = re.compile(r"[A-Za-z-]{2,20}:\s")
_NAMES_SOMETHING = re.compile(r"^[^<{].*?[^\W\d_].*?[^\W_]")
_TITLE_LIMIT = 100


def read_plain(data: bytes) -> Content:
    """Read decoded text; titled by a `Title:` line or a short first line.

    Of a book of Project Gutenberg the work alone is read.
    """
    text = decode_bytes(data)
    return read_ebook(text) or Content(text=text, title=plain_title(text))


def decode_bytes(data: bytes) -> str:
    """Decode a text file's bytes without byte order mark; lines end in `\\n` alone.

    UTF-8 first, UTF-16 and UTF-32 by their marks, then a guess (`encodings.guess`).

    Raises:
        SourceError: the bytes are not text.
    """
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _checked(data[len(mark) :].decode(codec, "replace"))
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            raise SourceError(f"looks like a binary file ({kind}), not text: check its suffix")
    try:
        return _checked(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _checked(_decode_other(data))


def _decode_other(data: bytes) -> str:
    damaged = data.decode("utf-8", "replace")
    broken = damaged.count(REPLACEMENT)
    sound = len(damaged) - sum(map(str.isascii, damaged)) - broken
    if broken <= max(1, _MAX_BROKEN_SHARE * len(damaged)) and sound > 2 * broken:
        return damaged  # UTF-8 with a few bytes cut or lost, not another encoding
    codec = detect_encoding(data)
    if codec is None:
        raise SourceError("looks like a binary file: no text encoding fits its bytes")
    return data.decode(codec, "replace")


def _checked(text: str) -> str:
    control = len(_CONTROL.findall(text))
    if control > _MAX_CONTROL_SHARE * len(text) or text.count(REPLACEMENT) > 0.05 * len(text):
        raise SourceError("looks like a binary file: too many of its characters are not text")
    return unix_newlines(sanitise_text(text))


def plain_title(text: str) -> str | None:
    """Return the title that an unmarked plain text gives itself, or None.

    The first of several chapters is not what a book is called.
    """
    head = text[:4000]
    first, _, rest = head.lstrip().partition("\n")
    labelled = _LABELLED.search("\n".join(head.splitlines()[:20]))
    if labelled:
        return one_line(labelled.group(1))
    line = one_line(first).lstrip("#").strip()  # a Markdown heading, as texts in hand often have
    if len(first) > _TITLE_LIMIT or _HEADER_LINE.match(line) or not _NAMES_SOMETHING.search(line):
        return None
    if _CHAPTER.fullmatch(first.strip()) and sum(1 for _ in islice(_CHAPTER.finditer(text), 2)) > 1:
        return None
    line = without_full_stop(line)
    ends_like_prose = line[-1] in ".,;:!?。，；：！？、"
    stands_alone = not rest or rest.lstrip(" \t").startswith("\n") or len(line) <= 60
    return line if stands_alone and not ends_like_prose else None


_CHAPTER = re.compile(
    r"^[ \t]*(?:#{1,3}[ \t]+)?(?:(?:chapter|stave|canto|book)[ \t]+(?:\d{1,3}|[ivxlc]{1,7}|one|two"
    r"|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:the )?first)\b"
    r".{0,80}|第[ \t]*[\d一二三四五六七八九十百零〇]{1,5}[ \t]*[章回卷部].{0,60})$",
    re.I | re.M,
)
_MARKED_CHAPTER = re.compile(
    r"(?:chapter|book|volume|stave)\s+(?:\d+|[a-z]+)(?=[.:]|\s*[—–-]).*\."
    r"|(?:part|act|appendix)\s+(?:\d+|[a-z]+)(?:[.:]|\s*[—–-])(?:(?![.!?]\s).)*\.",
    re.I,
)


def without_full_stop(line: str) -> str:
    """Return a chapter's title, whose number is followed by a mark, without its full stop."""
    return line[:-1].rstrip() if _MARKED_CHAPTER.fullmatch(line) else line


_CPP_ONLY = re.compile(
    r"^[ \t]*(?:class\s+\w|namespace\b|template\s*<|using\s+\w|public:|private:|protected:)"
    r"|\bstd::|\bvirtual\b|\bconstexpr\b|#include\s*<(?:string|vector|map|memory|iostream)>",
    re.M,
)
_GENERATED = re.compile(
    r"@generated\b|\bDO NOT EDIT\b|\b(?:auto(?:matically)?[- ]?)generated\b|自动生成", re.I
)
_HEAD_LINES = 15
_MINIFIED_LINE = 500
"""Characters in a line, on average, that nobody writes by hand."""


def read_code(data: bytes, *, language: str) -> Content:
    """Read a source code file as text with its language.

    Metadata `language`, and `generated` for minified or declared generated code.

    Raises:
        SourceError: the bytes are not text.
    """
    text = decode_bytes(data)
    metadata: dict[str, MetaValue] = {"language": _refined(language, text)}
    if _is_generated(text):
        metadata["generated"] = True
    return Content(text=text, shape="code", metadata=metadata)


def read_configuration(data: bytes) -> Content:
    """Read a configuration file as text without a title."""
    return Content(text=decode_bytes(data))


def _refined(language: str, text: str) -> str:
    """Return C++ for a C header with C++ constructs."""
    return "cpp" if language == "c" and _CPP_ONLY.search(text) else language


def _is_generated(text: str) -> bool:
    lines = text.count("\n") + 1
    if len(text) > 4 * _MINIFIED_LINE and len(text) / lines > _MINIFIED_LINE:
        return True
    head = "\n".join(text[: 200 * _HEAD_LINES].split("\n")[:_HEAD_LINES])
    return _GENERATED.search(head) is not None


_FRONT_MATTER = re.compile(
    r"\A(?:---[ \t]*\n(?P<yaml>.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\n(?P<toml>.*?)^\+\+\+)"
    r"[ \t]*(?:\n|\Z)",
    re.S | re.M,
)
_FRONT_MATTER_LIMIT = 1 << 16
_CODE = re.compile(rf"^{FENCE.pattern}.*?(?:^[ \t]*\1|\Z)", re.S | re.M)
_TOP_HEADING = re.compile(r"^ {0,3}#[ \t]+(\S.*)$|^(\S.*)\n=+[ \t]*$", re.M)
_CLOSING_MARKS = re.compile(r"(?<![^ \t])#+[ \t]*\Z")
_LONGEST_HEADING = 1_000
"""Maximum heading length; matching marks in longer lines costs seconds."""
_INLINE = re.compile(
    r"!?\[([^\]]*)\]\([^)]*\)|[*`]{1,3}_{0,2}(\S(?:.*?\S)??)_{0,2}[*`]{1,3}"
    r"|(?<!\w)_{1,3}(?=\S)([^_]+)(?<=\S)_{1,3}(?!\w)"
)
_UNREADABLE = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError)
"""Exceptions that YAML and TOML parsers raise on invalid numbers, dates and types."""
_LARGEST = 1 << 63
_DATES = ("date", "published", "created", "updated")
Scalar = str | int | float | bool | datetime.date | datetime.datetime


def read_markdown(data: bytes) -> Content:
    """Read the decoded text; titled by front matter, else its first top-level heading."""
    text = decode_bytes(data)
    metadata = front_matter(text)
    title = str(metadata.get("title") or "") or markdown_title(text)
    return Content(text=text, title=title, shape="markdown", metadata=metadata)


def front_matter(text: str) -> dict[str, MetaValue]:
    """Return front matter (YAML `---` or TOML `+++`) as `described`; empty without one."""
    found = _FRONT_MATTER.match(text[:_FRONT_MATTER_LIMIT])
    if found is None:
        return {}
    return dict(_said(found["yaml"], found["toml"]))


@lru_cache(maxsize=8)
def _said(yaml_text: str | None, toml_text: str | None) -> Mapping[str, MetaValue]:
    """Parse front matter; cached, as each text needs it several times."""
    try:
        if toml_text is not None:
            data: object = tomllib.loads(toml_text)
        else:
            data = yaml.safe_load(yaml_text or "")
    except (yaml.YAMLError, *_UNREADABLE, RecursionError):
        return {}  # a rule across the page, not front matter; the text itself is kept whole
    return front_matter_values(data) if isinstance(data, dict) else {}


def front_matter_values(data: Mapping[str, object]) -> dict[str, MetaValue]:
    """Return front matter as metadata by key: scalars, and lists as tuples of text.

    `date` is the first of `date`, `published`, `created` and `updated` that is one, in ISO 8601;
    `tags` (else `keywords`) are a tuple even where written as one text with commas; `author` is
    one text even where there are several. What is neither scalar nor such a list is left out.
    """
    plain = {one_line(sanitise_text(str(key))): _meta(value) for key, value in data.items()}
    result = {
        key: value
        for key, value in plain.items()
        if key and value is not None and value not in ("", ())
    }
    days = (iso_date(data.get(key)) for key in _DATES)
    authors = result.get("author") or result.get("authors")
    derived: dict[str, MetaValue | None] = {
        "date": next(filter(None, days), None),
        "tags": _listed(result.get("tags") or result.get("keywords")),
        "author": ", ".join(authors) if isinstance(authors, tuple) else authors,
    }
    said = {key: value for key, value in result.items() if key not in derived}
    said |= {key: value for key, value in derived.items() if value is not None}
    return dict(sorted(said.items()))


def _meta(value: object) -> MetaValue | None:
    if isinstance(value, int) and abs(value) >= _LARGEST:
        return None  # no database takes it as a number, and its digits may be without end
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime.date):
        return iso_date(value)
    if isinstance(value, str):
        return one_line(sanitise_text(value))
    if isinstance(value, list | tuple):
        items = (_meta(item) for item in value if isinstance(item, Scalar))
        return tuple(filter(None, (str(item) for item in items if item is not None)))
    return None


def _listed(value: MetaValue | None) -> MetaValue | None:
    if isinstance(value, str):
        return tuple(filter(None, (part.strip() for part in re.split("[,;，、；]", value))))
    return value


def front_matter_end(text: str) -> int:
    """Return the end of the front matter, closing line included; 0 without one."""
    found = _FRONT_MATTER.match(text[:_FRONT_MATTER_LIMIT])
    return found.end() if found and front_matter(text) else 0


def markdown_title(text: str) -> str | None:
    """Return the first top-level heading outside code, or a short first line.

    None otherwise.
    """
    body = text[front_matter_end(text) :]
    fences = _CODE.finditer(body)
    fence = next(fences, None)
    for heading in _TOP_HEADING.finditer(body):
        while fence and fence.end() <= heading.start():
            fence = next(fences, None)
        if fence is None or heading.start() < fence.start():
            title = one_line(
                strip_heading_marks(_without_closing(heading.group(1)) or heading.group(2) or "")
            )
            if title:
                return title
    first = body.lstrip().partition("\n")[0]
    if first[:1] in ("#", "|", "-", "*", ">", "<", "!", "`"):
        heading_text = (
            strip_heading_marks(first.lstrip("#").strip()) if first.startswith("#") else ""
        )
        return one_line(heading_text) or None
    return plain_title(body)


def strip_heading_marks(text: str) -> str:
    """Strip emphasis, code marks and links from a Markdown heading (first 1,000 characters)."""
    head = text[:_LONGEST_HEADING]
    return _INLINE.sub(lambda found: next(filter(None, found.groups()), ""), head).strip()


def _without_closing(heading: str | None) -> str:
    """Strip a heading's closing marks; `C#` keeps its own."""
    return _CLOSING_MARKS.sub("", (heading or "")[:_LONGEST_HEADING])


_OUTPUT_LINES = 20
_OUTPUT_CHARACTERS = 1_000
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_EMBEDDED = re.compile(
    r"(!\[(?:[^\]\n!]++|!(?!\[))*+\])\((?:data:|attachment:)(?:[^)\n!]++|!(?!\[))*+\)"
)
_FENCES = re.compile(r"^[ \t]*(`{3,})", re.M)


def read_notebook(data: bytes, options: ReadOptions) -> Content:
    """Read cells in order; titled by metadata, else its first heading.

    Raises:
        SourceError: no notebook, or too large.
    """
    notebook = _parsed(decode_bytes(data))
    about = _mapping(notebook.get("metadata"))
    language = _language(about)
    blocks = (block for cell in _cells(notebook) for block in _cell(cell, language=language))
    text = join_paragraphs(map(sanitise_text, blocks), limit=options.max_characters)
    named = {key: about[key] for key in ("title", "authors", "date", "tags") if key in about}
    authors = _list(named.get("authors"))
    if authors:
        named["authors"] = [_mapping(author).get("name") or author for author in authors]
    metadata = front_matter_values({**named, "programming_language": language})
    title = one_line(str(metadata.get("title") or "")) or markdown_title(text)
    return Content(text=text, title=title, shape="markdown", metadata=metadata)


def _parsed(text: str) -> Mapping[str, object]:
    try:
        notebook = json.loads(text, parse_int=str)
    except RecursionError as error:
        raise SourceError("is nested too deeply to be read: flatten it") from error
    except ValueError as error:
        raise SourceError(
            f"is not a notebook: its JSON is broken ({error}); save it again"
        ) from error
    if not isinstance(notebook, dict) or not ("cells" in notebook or "worksheets" in notebook):
        raise SourceError("is not a notebook: it has no cells; give it the suffix .json")
    return notebook


def _cells(notebook: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Return cells of format 4, or of format 3's worksheets."""
    sheets = [_mapping(sheet) for sheet in _list(notebook.get("worksheets"))]
    for holder in (notebook, *sheets):
        yield from (_mapping(cell) for cell in _list(holder.get("cells")))


def _cell(cell: Mapping[str, object], *, language: str) -> Iterator[str]:
    text = _joined(cell.get("source", cell.get("input"))).strip("\n")
    kind = cell.get("cell_type")
    if kind == "heading":
        yield f"{'#' * min(6, max(1, _number(cell.get('level'))))} {one_line(text)}"
    elif kind != "code":
        if text.strip():
            yield _EMBEDDED.sub(r"\1", text)
    else:
        if text.strip():
            yield fence_code(text, language=language)
        for printed in filter(None, map(_printed, _list(cell.get("outputs")))):
            yield fence_code(printed, language="text")


def fence_code(text: str, *, language: str = "") -> str:
    """Return fenced Markdown code with a fence longer than any inside."""
    longest = max((len(found.group(1)) for found in _FENCES.finditer(text)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{text}\n{mark}"


def _printed(output: object) -> str:
    """Return an output's first lines; empty for pictures."""
    given = _mapping(output)
    if given.get("output_type") in ("error", "pyerr"):
        text = f"{given.get('ename', '')}: {given.get('evalue', '')}"
    else:
        shown = _mapping(given.get("data"))
        held = next((shown[kind] for kind in ("text/markdown", "text/plain") if kind in shown), "")
        text = _joined(held or given.get("text"))
    lines = _COLOURS.sub("", text).strip("\n").split("\n")
    short = "\n".join(lines[:_OUTPUT_LINES])[:_OUTPUT_CHARACTERS].rstrip()
    whole = len(lines) <= _OUTPUT_LINES and len(short) < _OUTPUT_CHARACTERS
    return short if whole or not short else f"{short}\n…"


def _language(about: Mapping[str, object]) -> str:
    info, kernel = _mapping(about.get("language_info")), _mapping(about.get("kernelspec"))
    named = info.get("name") or kernel.get("language") or "python"
    return re.sub(r"[^\w+#.-]", "", str(named))[:30]


def _number(value: object) -> int:
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 3 else 1


def _joined(value: object) -> str:
    """Text given whole or by lines."""
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []
