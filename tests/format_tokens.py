"""The marks that mean something to each reader: what mutations insert, and what grows in tests.

A format is known by the place of its reader (`LazyReader.place`), so that suffixes which share a
reader share a row, and a new reader has none.
"""

from __future__ import annotations

from engine.ingest.registry import FORMATS, NAMES, Format, LazyReader

_XML = (
    *("<a>", "</a>", "<a/>", "<a b='c'/>", "<!--", "-->", "<![CDATA[", "]]>", "<?x ", "<!DOCTYPE "),
    *("&amp", "&amp;", "&a;", "&#1;", "<", ">", "&", "='", '"', "<p>", "<title>", "<p>a</p>"),
)
_HTML = (
    *_XML,
    *("<table>", "<tr>", "<td>", "<tr><td>", "<td colspan=99>", "<li>", "<ul><li>", "<h1>", "<a>"),
    *("<a href=a>", "<script>", "<style>", "<pre>", "<br>", "<blockquote>", "<b>", "<div>"),
    *("<svg>", "<form>", "<option>", "<template>", "<meta name=a content=a>", "</div>", "|", "*"),
    *("<nav>", "<article>", "<time>", "<img alt=a>", "<span class=byline>", "<math>", "<code>"),
)
_MARKDOWN = (
    *("#", "# ", "## a", "=", "-", "- ", "* ", "1. ", "> ", "`", "```", "~~~", "``` ", "*", "**"),
    *("_", "[", "]", "](", "[a](b)", "![", "|", "|-", "| ", "<!--", "<a>", "<", "&amp", "\\", "$$"),
    *(
        "---\n",
        "+++\n",
        "a: &a [",
        "*a",
        "[^1]",
        "[^1]: ",
        "\t",
        " ",
        "\r",
        "://",
        "http://a",
        "~~",
    ),
)
_PLAIN = (
    "\t",
    " ",
    "\r",
    "\f",
    "-",
    "=",
    ".",
    "。",
    "a",
    "汉",
    "\u3000",
    "\x00",
    "\ufeff",
    "é",
    '"',
)
_MAIL = (
    *("--b\r\n", "--b--\r\n", "--b\r\n\r\n", "Subject: a\r\n", "Content-Type: text/plain\r\n"),
    *("Content-Type: multipart/mixed; boundary=b\r\n", "\r\n", " a\r\n", "=?utf-8?q?a?=", "=?"),
    *("=20", "=\r\n", "(", "<", '"', ";", "; a=b", ",", "a@b,", "From ", "From a\r\n", ">", "> "),
    *("Content-Type: message/rfc822\r\n\r\n", "--b\r\nContent-Type: text/html\r\n\r\n<p>a\r\n"),
    *("--b\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\na\r\n", "\x00", "é"),
    *("Content-Transfer-Encoding: base64\r\n", "*0*=a; ", "charset=undefined\r\n"),
)
_JSON = (
    *("[", "]", "{", "}", '"', '"a":', '{"a":', "[{", "},{", ",", ":", "\\", "\\u12", "1e", "1,"),
    *("null,", "[],", '"a",', '{"role":"a","content":"b"},', '{"a":1},', "\n", "NaN,", "-"),
)
_CODE = (
    *("{", "}", "(", ")", "/*", "*/", "//", "#", '"', '"""', "'", "`", "\\", ";", "\n", "std::"),
    *("@generated ", "class a", "using ", "template <", "#include <", " ", "\t"),
)

TOKENS: dict[str, tuple[str, ...]] = {
    "read_plain": _PLAIN,
    "read_markdown": _MARKDOWN,
    "read_configuration": (
        *("[", "]", "[a]\n", "=", "a=b\n", "#", ";", "&a [", "*a, ", "<<: *a\n", '"""', "${", " "),
    ),
    "read_code": _CODE,
    "read_subtitles": (
        *("-->", " --> ", "00:00:01,000 --> 00:00:02,000\n", "1\n", "\n", "<", "<v ", "<v a>", "{"),
        *(
            "{\\an8}",
            "NOTE ",
            "STYLE\n",
            ":",
            "00:",
            "&amp",
            "- ",
            ">>",
            "♪",
            "A: ",
            "a\n",
            " ",
            ".",
        ),
        "1\n00:00:01,000 --> 00:00:02,000\na\n\n",
    ),
    "read_asciidoc": (
        *(
            "<<",
            ">>",
            "<<a,",
            "(((",
            ")))",
            "((",
            "[[",
            "]]",
            "[",
            "]",
            "[a]#",
            "|===\n",
            "|",
            "a|",
        ),
        *("2+|", ".2+a|", "= ", "=", "== a", "====\n", "----\n", "....\n", "****\n", "--\n", "* "),
        *("**", ". ", "- ", "+\n", "::", "a::", ":: ", ":a: b\n", ":a:", "footnote:[", "footnote:"),
        *("xref:", "xref:a[", "link:", "link:a[", "http://", "http://a[", "image::", "image::a["),
        *("include::a[]\n", "ifdef::", "{a}", "{", "'''\n", "<<<\n", "\t", " ", "//", "`", "``"),
        *(",===\n", "[source,a]\n", 'cols="', "1. ", ".a\n", "#", "#a#", "_", "\\|"),
    ),
    "read_restructured": (
        *("`", "``", "`a", "`a <", ":a:`", ":a:`a", ":a:", "_", "a_", "__", "=", "=\n", "== ", "-"),
        *(
            "--\n",
            "a\n-\n",
            "a\n---\n",
            "+-",
            "+-+\n",
            "+--+--+\n",
            "|",
            "| a |\n",
            ".. ",
            ".. a::",
        ),
        *(".. a::\n   ", ".. |a| a::", ".. [", ".. [a] b\n", "::", "::\n", "* ", "- ", "\t", " "),
        *(":a: b\n", "<", ">", "*", "**", "== ==\n", "   ", ".. csv-table::\n", "   * - a\n"),
        *(".. list-table::\n", '"', ",", ".. note:: ", "\n", "=== ===\na b\n"),
    ),
    "read_latex": (
        *(
            "\\",
            "\\a",
            "\\a{",
            "{",
            "}",
            "[",
            "]",
            "\\[",
            "\\]",
            "$",
            "$$",
            "%",
            "%\n",
            "&",
            "\\\\",
        ),
        *(
            "\\begin{a}",
            "\\end{a}",
            "\\begin{itemize}",
            "\\item ",
            "\\begin{tabular}{l}",
            "\\hline",
        ),
        *("\\begin{verbatim}", "\\begin{comment}", "\\iffalse ", "\\fi", "\\begin{equation}", "~"),
        *("\\newcommand{\\a}{", "\\newcommand{\\a}{\\a\\a}", "\\def\\a{", "\\def\\a#1#1{", "\\("),
        *(
            "\\title{",
            "\\author[",
            "\\author{a}",
            "\\section{",
            "\\footnote{",
            "\\cite{a}",
            "\\ref{",
        ),
        *(
            "\\multicolumn{²}",
            "\\multicolumn{2}{l}{",
            "\\newtheorem{a}{b}",
            "\\newtheorem",
            "\\verb|",
        ),
        *(
            "\\begin{document}",
            "\\bibitem{a}",
            "\\date ",
            "\\href{",
            "\\textbf{",
            "\\frac",
            "^",
            " ",
        ),
        *(
            "\\begin",
            "\\begin{",
            "\\left(",
            "\\'e",
            "\\includegraphics[",
            "\\n",
            "\n\n",
            "``",
            "\t",
        ),
    ),
    "read_delimited": (
        *(
            '"',
            '""',
            '",',
            '"\n',
            ",",
            ";",
            "\t",
            "|",
            "\n",
            "\r",
            "a,",
            "1,",
            "1.",
            "1,1",
            "a;b\n",
        ),
        *('"a', "2020-", "a@", "@", "http://", " ", "\u00a0", "sep=;\n", "'", "(", "$1", ".a"),
    ),
    "read_json": _JSON,
    "read_json_lines": tuple(f"{token}\n" for token in _JSON[:12]),
    "read_xml": (
        *_XML,
        *(
            "<item><title>a</title></item>",
            "<item>",
            "<pubDate>",
            "<entry><title>a</title></entry>",
        ),
        *(
            "<sec><title>a</title><p>b</p></sec>",
            "<section><title>a",
            "<row>",
            "<list-item>",
            "<xref>",
        ),
        *(
            "<ref>a</ref>",
            "<table><tr><td>a</td></tr></table>",
            "<x:a xmlns:x='a'>",
            "<para>",
            "</p>",
        ),
    ),
    "read_web_page": _HTML,
    "read_web_archive": (*_MAIL, "<p>", "--b\r\nContent-Type: text/html\r\n\r\n"),
    "read_message": _MAIL,
    "read_mailbox": (*_MAIL, "\n\nFrom a\n", "\n\nFrom a\nSubject: b\n\nc"),
    "read_rtf": (
        *(
            "{",
            "}",
            "{}",
            "\\",
            "\\par ",
            "\\'e9",
            "\\'",
            "\\u9",
            "\\u-1?",
            "\\u1 ",
            "\\uc9 ",
            "\\b",
        ),
        *(
            "{\\*\\a ",
            "{\\info",
            "{\\title ",
            "{\\title a}",
            "\\cell ",
            "\\row ",
            "\\trowd ",
            "\\bin9 ",
        ),
        *(
            "\\cell\\row\n",
            "{\\field{",
            "\\ansicpg1 ",
            "a0",
            "\\~",
            "|",
            "| ",
            "{\\pict ",
            "\\\n",
            ";",
        ),
        *(
            "{\\fonttbl{\\f1\\fcharset1 ",
            "\\f1 ",
            "\\fcharset1 ",
            "{\\field{\\*\\fldinst{",
            'HYPERLINK "',
        ),
        '{\\field{\\*\\fldinst{HYPERLINK "a"}}{\\fldrslt a}}',
        *(
            '{\\field{\\*\\fldinst{HYPERLINK "a"}}{',
            "\\uc ",
            "\\bin ",
            "\\pict\\bin ",
            "{\\fonttbl{",
            "{\\creatim\\yr9999\\mo9\\dy9}",
            "\\line ",
            "\\tab ",
        ),
    ),
    "read_notebook": (
        *(
            '{"cell_type":"code","source":["a"],"outputs":[]},',
            '{"cell_type":"markdown","source":"`"},',
        ),
        *('"a",', '"```",', '"```\\n",', '"![a](data:",', '"\\u001b[",', '{"text":"a"},', "{},"),
        *('"![",', '"# a\\n",', '"- ",', '"\\n",', '" ",', "[", '{"level":"²"},'),
    ),
}
"""By reader, for every format that is text or has an inside of text."""

XML_TOKENS = (
    *_XML,
    *(
        ' r="0"',
        ' r="-1"',
        ' s="99999"',
        ' r:id="rId1"',
        ' val="1e999"',
        "<w:p>",
        "</w:p>",
        "<w:tbl>",
    ),
    *("<w:tr>", "<w:tc>", '<w:gridSpan w:val="-1"/>', "<c t='s'><v>-1</v></c>", "<v>NaN</v>"),
    *("<a:t>", "<text:p>", '<text:s text:c="99999999999"/>', "<m:oMath>", "<m:f>", "<dc:title>"),
    *('table:number-columns-repeated="99999999999"', "²", "\ud7ff", "<itemref idref='a'/>"),
)
"""For the members of zip containers."""

PDF_TOKENS = (
    *(
        "(",
        ")",
        "<<",
        ">>",
        "[",
        "]",
        "<FEFF",
        "(\xfe\xff\xd8\x00)",
        "/Title (\xfe\xff\xd8\x00\xd8)",
    ),
    *(
        "/Title <FEFFD800>",
        "/Author (\xfe\xff\xdc\x00a)",
        "/CreationDate (D:99999999999999)",
        "endobj",
    ),
    *(
        "/Keywords <FEFFDBFF>",
        "/Lang (\xfe\xff\xd8)",
        " 0 R",
        "/Kids [1 0 R]",
        "BT",
        "ET",
        " Tj",
        " Tm",
    ),
    *("/Count -1", "/MediaBox [0 0 1e30 1e30]", "/Rotate 45", "stream", "endstream", "/Annots ["),
    *(
        "/Contents (\xfe\xff\xd8\x00)",
        "/F (\xfe\xff\xd8\x00)",
        "/V (\xfe\xff\xd8\x00)",
        "/Type /Page",
    ),
)
"""For what stands between the compressed streams of a PDF, or in those that were unpacked."""


def key_of(format_: Format) -> str:
    """The name of a format's reader."""
    assert isinstance(format_.read, LazyReader)
    return format_.read.place.rpartition(":")[2]


def textual_formats() -> dict[str, Format]:
    """The formats that are text, one for each reader: those whose bytes are the text itself, and
    those of `TOKENS`."""
    every = [*FORMATS.values(), *NAMES.values()]
    found = {key_of(each): each for each in reversed(every) if each.bytes_a_character}
    return {**{key_of(each): each for each in every if key_of(each) in TOKENS}, **found}


_PARTS = "Subject: a\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
_CUE = "1\n00:00:01,000 --> 00:00:02,000\na"

AROUND: dict[str, tuple[tuple[str, str], ...]] = {
    "read_markdown": (("", ""), ("---\na: ", "\n---\nb"), ("+++\na = ", "\n+++\nb")),
    "read_subtitles": ((_CUE, ""),),
    "read_asciidoc": (
        *(("", ""), ("= ", "x"), ("= heade", "x"), ("a ", " x"), ("|===\n", "\n|===\n")),
    ),
    "read_restructured": (
        *(("", ""), ("a\n", "x"), ("+--+--+\n", ""), (".. list-table::\n\n   * - a\n     ", "")),
        *((":a:`", "`"), (".. a::\n\n   ", "")),
    ),
    "read_latex": (
        *(("a ", ""), ("\\begin{tabular}{ll}", "\\end{tabular}"), ("\\section{", "}")),
        ("\\newcommand{\\x}[1]{#1#1}\\newcommand{\\y}{b}\\begin{document}", "\\end{document}"),
        ("\\newcommand", "{}"),
    ),
    "read_json": (("", ""), ("[", "null]"), ('{"a":[', "null]}")),
    "read_xml": (
        *(("<a>", ""), ("<article><title>a</title><body>", ""), ("<rss><channel>", "")),
        *(('<a b="', '"/>'), ("<!DOCTYPE a [", "]><a>b</a>")),
    ),
    "read_web_page": (("<title>T</title><p>a</p>", ""), ("<title>", "</title><p>a")),
    "read_web_archive": ((_PARTS, ""), ("Content-Type: ", "\r\n\r\na")),
    "read_message": (
        *((_PARTS, ""), ("From: ", "\r\n\r\na"), ("Content-Type: text/html\r\n\r\n", "")),
        *(
            ("To: a\r\nContent-Type: ", "\r\n\r\na"),
            ("To: a\r\nContent-Disposition: ", "\r\n\r\na"),
        ),
        ("Subject: a\r\nContent-Type: text/plain; format=flowed\r\n\r\n", ""),
    ),
    "read_mailbox": (("From a\nSubject: a\n\n", ""),),
    "read_rtf": (
        *(("{\\rtf1\\ansi ", ""), ("{\\rtf1{\\fonttbl{\\f0\\fcharset2", "}}a}")),
        ('{\\rtf1 {\\field{\\*\\fldinst{ HYPERLINK "', "}}"),
        ("{\\rtf1\\ansi{\\info", "}a}"),
    ),
    "read_notebook": (
        *(('{"cells":[', "{}]}"), ('{"cells":[{"cell_type":"markdown","source":[', '""]}]}')),
        ('{"cells":[{"cell_type":"code","source":"a","outputs":[{"text":[', '""]}]}]}'),
    ),
}
"""What stands before and after the marks, so that they are met where they mean most."""

NESTED: dict[str, tuple[tuple[str, str], ...]] = {
    "read_markdown": (("[", "]"), ("[", "](a)"), ("**a", "**"), ("<b>", "</b>")),
    "read_asciidoc": (
        *(("<<", ">>"), ("(((", ")))"), ("[[", "]]"), ("[", "]"), ("xref:a[", "]"), ("<<a,", ">")),
        *(("http://a[", "]"), ("footnote:[", "]"), ("====\n", "====\n"), ("|===\n", "|===\n")),
    ),
    "read_restructured": (("`", "`_"), (":a:`", "`"), ("`a <", ">`_"), ("``", "``")),
    "read_latex": (
        *(("{", "}"), ("\\section{", "}"), ("\\textbf{", "}"), ("\\footnote{", "}"), ("$", "$")),
        *(("\\begin{itemize}", "\\end{itemize}"), ("\\frac{", "}"), ("\\item[", "]")),
        *(("\\begin{tabular}{l}", "\\end{tabular}"), ("\\begin{a}", "\\end{a}"), ("\\title{", "}")),
        ("\\multicolumn{1}{l}{", "}"),
    ),
    "read_rtf": (("{", "}"), ("{\\b ", "}"), ("{\\*\\a ", "}"), ("{\\field{", "}}")),
    "read_web_page": tuple(
        (f"<{tag}>", f"</{tag}>")
        for tag in ("div", "ul", "li", "table", "td", "a", "h1", "time", "article", "form", "svg")
    ),
    "read_xml": (
        ("<b>", "</b>"),
        ("<section><title>a</title>", "</section>"),
    ),
    "read_json": (("[", "]"), ('{"a":', "}"), ('[{"a":1,"b":', "}]")),
    "read_notebook": (("[", "]"),),
}
"""Marks that open something inside what the same mark opened, and what closes it."""
