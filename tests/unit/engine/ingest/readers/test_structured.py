from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from engine.errors import SourceError
from engine.ingest.document import Content, ReadOptions, iso_date
from engine.ingest.readers.structured import read_json, read_json_lines
from engine.ingest.readers.text import front_matter, front_matter_end
from engine.ingest.readers.xml_reader import read_xml

OPTIONS = ReadOptions()
LAUGHS = b"""<!DOCTYPE l [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>"""


def as_json(value: object) -> Content:
    return read_json(json.dumps(value, ensure_ascii=False).encode(), OPTIONS)


# JSON


def test_keys_become_labels_and_headings() -> None:
    content = as_json(
        {"name": "Skerra", "size": 4.10, "crew": {"head": "Ann", "ranks": ["a", "b"]}}
    )
    assert (
        content.text == "# Skerra\n\nname: Skerra; size: 4.1\n\n## crew\n\nhead: Ann; ranks: a, b"
    )
    assert (content.title, content.shape) == ("Skerra", "markdown")


def test_numbers_stay_as_they_are_written() -> None:
    digits = "9" * 5_000
    assert (
        read_json(b'{"a": 1.10, "b": %s}' % digits.encode(), OPTIONS).text
        == f"a: 1.10\nb: {digits}"
    )


def test_flat_records_are_a_table_while_small_and_named_values_after() -> None:
    assert as_json([{"a": 1, "b": "x"}, {"a": 2}]).text.startswith(
        "| a | b |\n| --- | --- |\n| 1 |"
    )
    assert as_json([{"id": n, "城市": "临澜"} for n in range(300)]).text.split("\n\n")[9] == (
        "id: 9; 城市: 临澜"
    )


def test_records_with_long_texts_are_articles() -> None:
    long = "Kelp grows in cold water. " * 20
    text = as_json([{"title": "Kelp", "body": long}, {"title": "Dulse", "body": long}]).text
    assert text.startswith(f"## Kelp\n\nbody: {long.strip()}\n\n## Dulse")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(
            [{"role": "user", "content": "Hi"}, {"role": "bot", "content": "A\n\nB"}], id="list"
        ),
        pytest.param(
            {
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
                    {"role": "bot", "content": "A\nB"},
                ]
            },
            id="parts",
        ),
        pytest.param(
            {
                "mapping": {
                    "x": {"message": {"author": {"role": "user"}, "content": {"parts": ["Hi"]}}},
                    "y": {"message": {"author": {"role": "bot"}, "content": {"parts": ["A\nB"]}}},
                }
            },
            id="tree",
        ),
    ],
)
def test_a_chat_is_a_transcript_of_its_turns(value: object) -> None:
    content = as_json(value)
    assert (content.shape, content.text) == ("transcript", "User: Hi\n\nBot: A\nB")


def test_turns_say_when_where_the_data_do() -> None:
    talk = [
        {"speaker": "沈望舒", "text": "你好", "timestamp": "2024-05-01T10:00:03Z"},
        {"speaker": "Ann", "text": "Hello", "timestamp": "1714557603.1"},
    ]
    assert as_json(talk).text == "[2024-05-01 10:00:03] 沈望舒: 你好\n\nAnn: Hello"


def test_articles_with_authors_are_no_chat() -> None:
    value = [{"title": "T", "author": "A", "text": "x"}, {"title": "U", "author": "B", "text": "y"}]
    assert as_json(value).shape == "markdown"


def test_questions_are_headings_over_their_answers() -> None:
    pairs = [
        {"question": "什么是烬藻？", "answer": "一种红藻。"},
        {"Question": "Why?", "Answer": "So."},
    ]
    assert as_json({"faq": pairs}).text == (
        "## faq\n\n### 什么是烬藻？\n\n一种红藻。\n\n### Why?\n\nSo."
    )


def test_json_lines_keep_a_broken_line_as_it_is() -> None:
    lines = "".join(f'{{"n": {n}}}\n' for n in range(9)) + '{"n": broken\n'
    assert '{"n": broken' in read_json_lines(lines.encode(), OPTIONS).text
    assert read_json(lines.encode(), OPTIONS).text.startswith('{"n": 0}')


def test_broken_json_stays_text() -> None:
    content = read_json(b'{"name": "Skerra", ', OPTIONS)
    assert (content.text, content.shape) == ('{"name": "Skerra", ', "text")


def test_what_the_file_says_of_itself_is_metadata() -> None:
    content = as_json({"title": "T", "published": "May 4, 2021", "keywords": "kelp, dulse", "x": 1})
    assert content.metadata == {
        "date": "2021-05-04", "keywords": "kelp, dulse", "published": "May 4, 2021",
        "tags": ("kelp", "dulse"), "title": "T",
    }  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"[" * 100_000, id="open"),
        pytest.param(b"[" * 100_000 + b"]" * 100_000, id="closed"),
        pytest.param(b'{"a":' * 900 + b"1" + b"}" * 900, id="objects"),
    ],
)
def test_deep_nesting_is_refused_with_a_reason(data: bytes) -> None:
    for read in (read_json, read_json_lines):
        with pytest.raises(SourceError, match="nested too deeply"):
            read(data, OPTIONS)


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "gb18030"])
def test_json_in_any_encoding_is_read(codec: str) -> None:
    data = '{"学校": "临澜海洋大学研究烬藻", "城市": "临澜"}'.encode(codec)
    assert read_json(data, OPTIONS).text == "学校: 临澜海洋大学研究烬藻; 城市: 临澜"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values)
def test_no_word_of_any_value_is_lost(value: object) -> None:
    content = as_json(value)
    text = " ".join(content.text.split())
    assert all(word.replace("|", "\\|") in text or word in text for word in _words(value))


def _words(value: object) -> list[str]:
    if isinstance(value, dict):
        return [word for each in value.values() for word in _words(each)]
    if isinstance(value, list):
        return [word for each in value for word in _words(each)]
    return [word for word in str(value).split() if word.isalnum()] if isinstance(value, str) else []


# XML


def test_an_article_has_its_headings_people_and_day() -> None:
    article = b"""<article xmlns:x="u"><front><article-meta><title-group>
    <article-title>On <i>Kelp</i></article-title></title-group>
    <contrib-group><contrib><name><surname>Shen</surname>
    <given-names>Wang</given-names></name></contrib></contrib-group><pub-date><day>4</day>
    <month>5</month><year>2021</year></pub-date><abstract><p>Short.</p></abstract></article-meta>
    </front><body><sec><title>Methods</title><p>We <b>boiled</b> it.<table-wrap><table>
    <tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></table-wrap> Then dried.</p>
    <sec><title>Salt</title><p>Much.</p></sec></sec></body></article>"""
    content = read_xml(article, OPTIONS)
    assert content.title == "On Kelp"
    assert content.metadata == {
        "author": "Wang Shen",
        "authors": ("Wang Shen",),
        "date": "2021-05-04",
    }
    assert "## Abstract\n\nShort.\n\n## Methods\n\nWe boiled it.\n\n| a | b |" in content.text
    assert content.text.endswith("Then dried.\n\n### Salt\n\nMuch.")


def test_a_feed_is_its_entries_without_their_html() -> None:
    feed = b"""<rss><channel><title>News</title><item><title>One</title><link>http://x/1</link>
    <description>&lt;p&gt;Hello &lt;b&gt;you&lt;/b&gt;&lt;/p&gt;</description></item></channel>
    </rss>"""
    assert read_xml(feed, OPTIONS).text == "# News\n\n## One\n\nlink: http://x/1\n\nHello you"


def test_data_keep_the_names_of_their_values() -> None:
    data = "<r><书 id='1'><名>烬藻</名><价>4</价></书><书 id='2'><名>海带</名></书></r>".encode()
    assert (
        read_xml(data, OPTIONS).text
        == "## r\n\n书 — id: 1; 名: 烬藻; 价: 4\n\n书 — id: 2; 名: 海带"
    )


@pytest.mark.parametrize("codec", ["gb2312", "utf-16", "shift_jis", "big5"])
def test_xml_in_the_encoding_that_it_names_is_read(codec: str) -> None:
    data = f'<?xml version="1.0" encoding="{codec}"?><r><a>日月山水</a></r>'.encode(codec)
    assert read_xml(data, OPTIONS).text == "r — a: 日月山水"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(LAUGHS + b"<l>&c;&c; end</l>", id="laughs"),
        pytest.param(LAUGHS + b"<l a='&c;'>end</l>", id="laughs in an attribute"),
        pytest.param(
            b'<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><l>&a; end</l>', id="file"
        ),
        pytest.param(b"<l><m>end</m><n>", id="cut off"),
        pytest.param(b"<l>a < b & end</l>", id="not well formed"),
    ],
)
def test_hostile_and_broken_xml_gives_its_text_and_no_more(data: bytes) -> None:
    text = read_xml(data, OPTIONS).text
    assert "end" in text
    assert len(text) < 400
    assert "root:" not in text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"<a>" * 100_000, "nested too deeply", id="deep"),
        pytest.param(b"<a>" * 220 + b"x" + b"</a>" * 220, "nested too deeply", id="somewhat deep"),
        pytest.param(b"just words", "not well-formed XML", id="not well-formed XML"),
        pytest.param(b"<a>" + b"x" * 11_000_000 + b"</a>", "too large", id="one long text"),
    ],
)
def test_xml_that_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    begin = time.thread_time()
    with pytest.raises(SourceError, match=reason):
        read_xml(data, OPTIONS)
    assert time.thread_time() - begin < 10


# Front matter and dates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "---\ntags: [a, 2]\ndate: 2020-01-02\nauthors: [X, Y]\n---\n",
            {"tags": ("a", "2"), "date": "2020-01-02", "author": "X, Y", "authors": ("X", "Y")},
            id="yaml lists",
        ),
        pytest.param("---\ntags: a, 乙、丙\n---\n", {"tags": ("a", "乙", "丙")}, id="one text"),
        pytest.param(
            "+++\ndate = 2020-01-02T03:04:05+01:00\ndraft = true\n[extra]\na = 1\n+++\nx",
            {"date": "2020-01-02T02:04:05Z", "draft": True},
            id="toml",
        ),
        pytest.param("---\ndate: someday\n---\n", {}, id="no date"),
        pytest.param("+++\nno toml\n+++\n", {}, id="no toml"),
        pytest.param("---\n" + "[" * 2_000 + "\n---\n", {}, id="deep"),
    ],
)
def test_front_matter_is_typed_metadata(text: str, expected: dict[str, object]) -> None:
    assert front_matter(text) == expected


def test_front_matter_ends_behind_its_closing_line() -> None:
    text = '+++\ntitle = "T"\n+++\nText'
    assert text[front_matter_end(text) :] == "Text"


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01T10:00:00+08:00", "2024-05-01T02:00:00Z"),
        ("2024-05-01 10:00", "2024-05-01T10:00:00Z"),
        ("2024年5月1日", "2024-05-01"),
        ("2024/5/1", "2024-05-01"),
        ("20240501", "2024-05-01"),
        ("May 1, 2024", "2024-05-01"),
        ("1st May 2024", "2024-05-01"),
        ("Mon, 06 Sep 2021 00:01:00 +0200", "2021-09-05T22:01:00Z"),
        ("01/02/2024", None),
        ("2024-13-01", None),
        ("in due time", None),
        (20240501, None),
    ],
)
def test_dates_are_made_comparable(written: object, day: str | None) -> None:
    assert iso_date(written) == day


@given(st.binary(max_size=300))
def test_any_bytes_give_text_or_a_reason(data: bytes) -> None:
    for read in (read_json, read_json_lines, read_xml):
        try:
            assert isinstance(read(data, OPTIONS).text, str)
        except SourceError as error:
            assert str(error)


def test_xml_for_which_there_is_no_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(data: bytes, parser: object) -> object:
        raise etree.XMLSyntaxError("unknown error, line 1, column 1", 1, 1, 1)

    monkeypatch.setattr(etree, "fromstring", no_memory)
    with pytest.raises(SourceError, match="too large for the memory as one XML tree"):
        read_xml(b"<a>words</a>", OPTIONS)
