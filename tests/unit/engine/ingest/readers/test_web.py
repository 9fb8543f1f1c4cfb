from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import SourceError
from engine.ingest.document import Content
from engine.ingest.readers import html as main
from engine.ingest.readers.html import read_web_archive, read_web_page

CHINESE = "沈望舒在临澜海洋大学研究烬藻，发现了烬藻素。这是一种红色的海藻，产于斯凯拉文岛。"
STORY = "".join(
    f"<p>Paragraph {n} tells of the harbour, the tide gauge and the people who read it daily.</p>"
    for n in range(30)
)


def page(body: str, *, head: str = "", attributes: str = "") -> Content:
    html = f"<!DOCTYPE html><html {attributes}><head>{head}</head><body>{body}</body></html>"
    return read_web_page(html.encode())


def text(body: str) -> str:
    return page(body).text


# What is kept


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        pytest.param(
            "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c", id="nested list"
        ),
        pytest.param("<ol start=3><li>a</li><li>b</li></ol>", "3. a\n4. b", id="numbered list"),
        pytest.param(
            "<ul><li>a</li></ul><ol><li>b</li></ol>", "- a\n\n1. b", id="lists in a row stay apart"
        ),
        pytest.param(
            "<dl><dt>Tide</dt><dd>rise and fall</dd><dd>of the sea</dd><dt>Ebb</dt></dl>",
            "- Tide\n  - rise and fall\n  - of the sea\n- Ebb",
            id="definitions",
        ),
        pytest.param(
            "<dl><dt><a name=x></a><dt>Tide</dt></dt><dd>rise</dd><dt>Ebb</dt><dd>fall</dd></dl>",
            "- Tide\n  - rise\n- Ebb\n  - fall",
            id="a term inside a term",
        ),
        pytest.param(
            "<pre><code class='language-python'>if a:\n    b &lt; c\n</code></pre>",
            "```python\nif a:\n    b < c\n```",
            id="code",
        ),
        pytest.param("<blockquote><p>One</p><p>Two</p></blockquote>", "> One\n\n> Two", id="quote"),
        pytest.param(
            "<p>One<br>two <b>three</b>,<i>four</i></p>", "One\ntwo three,four", id="line"
        ),
        pytest.param(
            "<h2>A <em>b</em></h2>loose<div>text</div>", "## A b\n\nloose\n\ntext", id="loose"
        ),
        pytest.param(
            "<ul><li><h3>Hit</h3><p>About it</p></li></ul>",
            "### Hit\n\nAbout it",
            id="heading in item",
        ),
        pytest.param("<ul><li>• own mark</li></ul>", "- own mark", id="a mark of its own"),
        pytest.param(
            "<p>Run<code> dpkg <b>-i</b></code>, see <tt>man dpkg</tt>.</p>",
            "Run `dpkg -i`, see `man dpkg`.",
            id="code in a sentence",
        ),
        pytest.param(
            "<p>Ask <code>list@gull.example</code>, not <code>a`b</code><code></code>.</p>",
            "Ask list@gull.example, not a`b.",
            id="no code in a sentence",
        ),
        pytest.param("<ul><li></li><li><p>a</p><p>b</p></li></ul>", "- a\n  b", id="item of parts"),
        pytest.param("<details><summary>More</summary>x</details>", "More\n\nx", id="details"),
    ],
)
def test_structure_is_kept(html: str, expected: str) -> None:
    assert text(html) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            "<tr><th>a<th>b<tr><td>x|y<td><p>p</p><p>q</p>",
            "| a | b |\n| --- | --- |\n| x\\|y | p q |",
            id="plain",
        ),
        pytest.param(
            "<tr><td colspan=2>over<td>c<tr><td rowspan=2>down<td>1<td>2<tr><td>3<td>4",
            "| over |  | c |\n| --- | --- | --- |\n| down | 1 | 2 |\n|  | 3 | 4 |",
            id="spans",
        ),
        pytest.param(
            "<caption>Of boats</caption><tr><td>a<td>b",
            "Of boats\n\n| a | b |\n| --- | --- |",
            id="caption",
        ),
        pytest.param("<tr><td>only</td></tr><tr><td>one</td></tr>", "only\n\none", id="one column"),
        pytest.param(
            "<tr><td colspan=99999999999>a<td>b", "| a | b |\n| --- | --- |", id="a huge span"
        ),
    ],
)
def test_tables_are_pipe_tables(rows: str, expected: str) -> None:
    assert text(f"<table>{rows}</table>") == expected


def test_a_sign_behind_a_heading_that_links_to_it_is_no_text() -> None:
    page = (
        "<main><h1>Names<a class='headerlink' href='#names'>¶</a></h1><p>Names are agreed upon by "
        "all maintainers before use.</p><h2>More <a href='#more'>#</a>names</h2><p>See <a "
        "href='#names'>§ 1</a> for all that is said of them elsewhere.</p></main>"
    )
    content = read_web_page(page.encode())
    assert content.title == "Names"
    assert "# Names\n" in content.text
    assert "## More names\n" in content.text
    assert "See § 1 for all" in content.text


def test_the_number_of_a_paragraph_that_links_to_itself_is_no_text() -> None:
    page = (
        "<main><label><a href='#4'>4</a></label><p id='4'>The image is built in a chroot.</p>"
        "<p>It takes long<a href='#note-1'>1</a>, as <a href='#sizes'>sizes</a> tell, and step"
        " <a href='#3'>3</a>.</p></main>"
    )
    found = text(page)
    assert found == "The image is built in a chroot.\n\nIt takes long1, as sizes tell, and step 3."


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("<p class=x><a name='h4.1'></a> 4.1 What is it?</p>", "## 4.1 What is it?"),
        ("<p><b>2.10.3 <i>The</i> menu</b></p>", "### 2.10.3 The menu"),
        ("<p><b>4.1</b> What is it?</p>", "4.1 What is it?"),
        ("<p><b>4.5 million people</b></p>", "4.5 million people"),
        ("<p><b>1.5 GB of memory</b></p>", "1.5 GB of memory"),
        ("<p>1.4 Boats a day.<a id='r1' href='#n1'>x</a></p>", "1.4 Boats a day.x"),
        ("<blockquote><p><b>1.1 Boats</b></p></blockquote>", "> 1.1 Boats"),
        ("<ul><li><p><b>1.1 Boats</b></p></li></ul>", "- 1.1 Boats"),
    ],
)
def test_a_numbered_paragraph_that_is_bold_or_a_target_is_a_heading(
    paragraph: str, expected: str
) -> None:
    assert text(paragraph) == expected


@pytest.mark.parametrize(
    "code",
    [
        "<p class='code'>\n $ cd\n boats <br>\n$ ls<br>\n</p>",
        "<pre>$ cd boats\n$ ls</pre>",
        "<pre>$ cd boats<br>$ ls</pre>",
    ],
)
def test_lines_of_code_are_broken_as_in_a_browser(code: str) -> None:
    assert text(code) == "```\n$ cd boats\n$ ls\n```"


def test_a_paragraph_of_code_keeps_its_indents_and_is_broken_into_lines() -> None:
    assert text("<p class='code'>if a:<br>&nbsp;&nbsp;b()</p>") == "```\nif a:\n  b()\n```"
    assert text("<p class='code'>Country code: AB</p>") == "Country code: AB"


NOTES = {
    "docutils": (
        "<a class='footnote-reference' href='#f1' id='r1'>1</a>",
        "<dl><dt id='f1'><span><a href='#r1'>1</a></span></dt><dd><p>{}</p></dd></dl>",
    ),
    "docutils 0.18": (
        "<a class='footnote-reference' href='#f1' id='r1'><span>[</span>1<span>]</span></a>",
        "<aside id='f1'><span>[<a href='#r1'>1</a>]</span><p>{}</p></aside>",
    ),
    "docbook": (
        "<a href='#ftn.r1' name='r1'><sup>[1]</sup></a>",
        "<div id='ftn.r1'><p><a href='#r1'><sup>[1] </sup></a>{}</p></div>",
    ),
    "pandoc": (
        "<a href='#fn1' id='r1'><sup>1</sup></a>",
        "<ol><li id='fn1'><p>{} <a href='#r1'>↩</a></p></li></ol>",
    ),
}


@pytest.mark.parametrize("kind", NOTES)
def test_a_footnote_stands_behind_the_paragraph_that_it_belongs_to(kind: str) -> None:
    reference, note = NOTES[kind]
    told = "Oil in the loft catches fire."
    page = f"<h2>Oil</h2><p>Keep it dry.{reference} Yes.</p><h2>Wicks</h2><p>Cut them.</p>"
    found = text(page + note.format(told))
    assert found == f"## Oil\n\nKeep it dry.[1] Yes.\n\n[1] {told}\n\n## Wicks\n\nCut them."


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            "<p>Oil.<a href='#n' id='r'>1</a></p><p id='n'>It is kept dry.</p>", id="one way"
        ),
        pytest.param(
            "<p>Oil.<sup class='reference'><a href='#n' id='r'>[1]</a></sup></p>"
            "<ol><li id='n'><a href='#r'>^</a> A. Reed, On oil and wicks</li></ol>", id="a source",
        ),
        pytest.param(
            "<table><tr><td>Oil<a href='#n' id='r'>1</a></td><td>a</td></tr></table>"
            "<p id='n'><a href='#r'>1</a> It is always kept dry.</p>", id="in a table",
        ),
        pytest.param(
            "<div>Oil <a href='#n' id='r'>1</a><p id='n'><a href='#r'>1</a> It is kept dry."
            "</p></div>", id="around it",
        ),
    ],
)  # fmt: skip
def test_other_links_within_a_page_move_nothing(page: str) -> None:
    assert text(page).index("Oil") < text(f"{page}<p>Last.</p>").index("Last")
    assert "[1] It" not in text(page)


def test_a_footnote_with_two_references_stands_behind_the_first() -> None:
    page = (
        "<p>Oil.<a href='#n' id='r1'>1</a></p><p>Wicks.<a href='#n' id='r2'>1</a></p>"
        "<div id='n'><a href='#r1'>1</a> <a href='#r2'>2</a> It is kept dry.</div>"
    )
    assert text(page).count("It is kept dry.") == 1
    assert text(page).index("kept dry") < text(page).index("Wicks")


def test_a_first_heading_that_is_the_name_of_the_site_is_not_the_title() -> None:
    page = (
        "<head><title>basics - The Boat Manual</title></head><h1>The Boat Manual</h1>"
        "<h1>The basics</h1><p>Boats float on the water, as long as they have no holes.</p>"
    )
    assert read_web_page(page.encode()).title == "The basics"
    page = "<title>Boats - Oil</title><h1>Oil</h1><p>Oil is kept dry.</p><h1>Before</h1>"
    assert read_web_page(page.encode()).title == "Oil"


def test_a_part_of_a_page_is_called_by_its_first_heading() -> None:
    part = "<section><h2>Backups</h2><p>Copies are kept for a year.</p><h2>Disks</h2></section>"
    assert read_web_page(part.encode()).title == "Backups"
    assert read_web_page(f"<h1>Care</h1>{part}".encode()).title == "Care"
    assert read_web_page(f"<nav><h2>Pages</h2></nav>{part}".encode()).title == "Backups"


def test_a_table_for_layout_is_walked() -> None:
    inner = "<table><tr><td>a</td><td>b</td></tr></table>"
    found = text(f"<table><tr><td><h2>Left</h2>{inner}</td><td>Right</td></tr></table>")
    assert found == "## Left\n\n| a | b |\n| --- | --- |\n\nRight"


# What is left out


@pytest.mark.parametrize(
    "noise",
    [
        "<script>var noise</script>",
        "<style>.noise {}</style>",
        "<template><p>noise</p></template>",
        "<noscript>noise</noscript>",
        "<p hidden>noise</p>",
        "<p style='color: red; display:none'>noise</p>",
        "<div aria-hidden='true'>noise</div>",
        "<nav>noise</nav>",
        "<div role='navigation'>noise</div>",
        "<header>noise</header>",
        "<footer>noise</footer>",
        "<div id='cookie-banner'><p>noise and we value your privacy</p></div>",
        "<div class='ad-slot ads'>noise</div>",
        "<div class='social-share'><a href=x>noise</a></div>",
        "<aside><a href=x>noise</a></aside>",
        "<ul class='docnav'><li><a href=x><b>noise</b>A.7. Tails</a></li><li>The book</li></ul>",
        "<div class='navfooter'><a href=x>noise</a> Chapter 3</div>",
        "<!-- noise -->",
        "<button>noise</button><select><option>noise</select><textarea>noise</textarea>",
    ],
)
def test_the_frame_of_a_page_is_left_out(noise: str) -> None:
    for body in (f"{noise}<h1>Storm</h1>{STORY}", f"<main><h1>Storm</h1>{STORY}{noise}</main>"):
        found = text(body)
        assert "Paragraph 29" in found
        if "<main>" in body and noise.startswith(("<header", "<footer")):
            continue  # an article's own head and foot
        assert "noise" not in found


@pytest.mark.parametrize(
    ("box", "is_text"),
    [
        ("<div class='sidebar'><b>NOTE</b><p>A gull rests.</p></div>", True),
        ("<aside>A gull rests.</aside>", True),
        (f"<div class='sidebar'>{'海鸥号是一艘双桅的船。' * 6}</div>", True),
        ("<div class='sidebar'>Gulls</div>", False),
        ("<div class='sidebar'><a href=x>A gull rests.</a></div>", False),
        ("<div class='sidebar'>A gull rests (on the rail.)<script>x()</script></div>", True),
        ("<aside class='share'>A gull rests.</aside>", False),
        ("<div class='toolbar'>A gull rests.</div>", False),
    ],
)  # fmt: skip
def test_a_box_beside_paragraphs_that_holds_a_sentence_is_text(box: str, is_text: bool) -> None:
    shown = "海鸥号" if "海鸥号" in box else "ull"

    assert (shown in text(f"<h1>Storm</h1>{STORY}{box}{STORY}")) == is_text
    if "海鸥号" not in box:
        assert "ull" not in text(f"<h1>Storm</h1><div>{STORY}</div>{box}")


def test_the_lines_that_lead_into_the_main_text_are_read() -> None:
    lead = "This chapter tells of the storm that took the mast of the station in a night."
    page = f"<div><div><h2>Storm</h2></div><div>{lead}</div><div>{STORY}</div></div><hr>End"

    assert lead in text(page)


def test_the_contents_are_the_text_of_a_page_of_links_and_a_frame_of_a_page_of_text() -> None:
    chapters = "".join(f"<dt>{n}. <a href={n}>Lamp number {n}</a></dt>" for n in range(1, 9))
    figures = "".join(f"<dt>3-{n}. <a href=f{n}>A figure of lamps</a></dt>" for n in range(1, 40))
    contents = f"<div class='TOC'><dl>{chapters}</dl></div>"

    assert "Lamp number 8" in text(f"<h1>Lamps</h1>{contents}<div class='LOT'>{figures}</div>")
    assert "Lamp number 8" not in text(f"<h1>Lamps</h1>{contents}{STORY}")


def test_words_that_only_look_like_a_frame_stay() -> None:
    menu = f"<p class='menu-text'>{'Soup and bread. ' * 20}</p>"
    body = f"<main><div class='admin-lead'>{STORY}</div>{menu}</main>"
    assert "Soup" in text(body)
    assert "Paragraph 29" in text(body)


def test_a_page_that_calls_all_its_text_a_menu_keeps_it() -> None:
    found = text(
        "<div class='menu'><ul><li><a href=1>Soup</a></li><li><a href=2>Fish</a></li></ul></div>"
    )
    assert found == "- Soup\n- Fish"


def test_related_links_inside_a_long_text_go() -> None:
    links = "".join(f"<li><a href={n}>Other story {n}</a></li>" for n in range(9))
    found = text(f"<main><h1>Storm</h1>{STORY}<ul>{links}</ul></main>")
    assert "Other story" not in found


def test_a_page_that_is_a_list_of_links_gives_them() -> None:
    links = "".join(f"<li><a href={n}>Story number {n} of the harbour</a></li>" for n in range(40))
    found = text(f"<h1>All stories</h1><ul>{links}</ul>")
    assert found.count("Story number") == 40


def test_all_posts_of_a_thread_are_kept() -> None:
    posts = "".join(
        f"<div class='post'><span>user{n}</span><div class='body'><p>Answer {n} says that the "
        f"tide gauge should be read at {n} o'clock, {'very ' * n}reliable then.</p></div></div>"
        for n in range(25)
    )
    found = text(f"<h1>When to read the gauge?</h1><div id='thread'>{posts}</div>")
    assert all(f"Answer {n} says" in found for n in range(25))


# Metadata


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        pytest.param(
            "<meta property='article:published_time' content='2020-05-01T10:00:00+02:00'>",
            "",
            "2020-05-01T08:00:00Z",
            id="meta",
        ),
        pytest.param(
            "<meta name='DC.date' content='2019-03-02'>", "", "2019-03-02", id="dublin core"
        ),
        pytest.param("", "<time datetime='2018-01-31'>31 Jan</time>", "2018-01-31", id="time"),
        pytest.param(
            '<script type=\'application/ld+json\'>{"@graph": [{"datePublished": "2017-07-07"}]}'
            "</script>",
            "",
            "2017-07-07",
            id="linked data",
        ),
        pytest.param("<meta name=date content='soon'>", "", None, id="no date"),
    ],
)
def test_a_page_says_when_it_was_written(head: str, body: str, expected: str | None) -> None:
    assert page(f"<p>Text</p>{body}", head=head).metadata.get("date") == expected


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        pytest.param("<meta name=author content='Ada Brannock'>", "", "Ada Brannock", id="meta"),
        pytest.param(
            '<script type=\'application/ld+json\'>[{"author": [{"name": "Ada"}, {"name": "Ines"}]}]'
            "</script>",
            "",
            "Ada, Ines",
            id="linked data",
        ),
        pytest.param("", "<p class=byline>By Ada Brannock</p>", "Ada Brannock", id="byline"),
        pytest.param("<meta name=author content='https://x.org/ada'>", "", None, id="an address"),
        pytest.param("<script type='application/ld+json'>{broken</script>", "", None, id="broken"),
    ],
)
def test_a_page_says_who_wrote_it(head: str, body: str, expected: str | None) -> None:
    assert page(f"<p>Text</p>{body}", head=head).metadata.get("author") == expected


def test_a_page_says_its_language_and_tags() -> None:
    found = page(
        "<p>文</p>", head="<meta name=keywords content='潮, 海'>", attributes="lang='zh-Hans'"
    )
    assert found.metadata == {"language": "zh-Hans", "tags": ("潮", "海")}


@pytest.mark.parametrize(
    ("title", "heading", "expected"),
    [
        pytest.param("Storm - The Beacon", "Storm", "Storm", id="the heading, if the title has it"),
        pytest.param("News | The Beacon", "Storm", "News", id="the title without the site"),
        pytest.param("", "Storm", "Storm", id="the heading, if there is no title"),
    ],
)
def test_a_page_is_named(title: str, heading: str, expected: str) -> None:
    found = page(f"<h1>{heading}</h1><p>It blew hard.</p>", head=f"<title>{title}</title>")
    assert found.title == expected


# Encodings, archives, bad input


@pytest.mark.parametrize("codec", ["gb2312", "big5", "utf-8", "utf-16"])
def test_a_page_declares_its_encoding(codec: str) -> None:
    words = "三国人物" if codec != "big5" else "三國人物"
    html = f"<html><head><meta charset='{codec}'></head><body><p>{words}</p></body></html>"
    assert read_web_page(html.encode(codec)).text == words


def test_a_wrong_declaration_is_seen_through() -> None:
    html = f"<html><head><meta charset='ascii'></head><body><p>{CHINESE}</p></body></html>"
    assert read_web_page(html.encode()).text == CHINESE


def test_a_saved_archive_gives_its_page() -> None:
    data = (
        b"From: <Saved>\r\nSubject: x\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/related; type="text/html"; boundary="cut"\r\n\r\n--cut\r\n'
        b"Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n"
        b"\r\n<html><body><h1>T=C3=AFde</h1><p>It rose.</p></body></html>\r\n--cut\r\n"
        b"Content-Type: image/png\r\n\r\n\x89PNG\r\n--cut--\r\n"
    )
    found = read_web_archive(data)
    assert (found.title, found.text) == ("Tïde", "# Tïde\n\nIt rose.")


def test_an_archive_without_a_page_says_so() -> None:
    with pytest.raises(SourceError, match="contains no web page"):
        read_web_archive(b"Subject: x\r\n\r\njust a mail")


@pytest.mark.parametrize(
    "opening", ["<div>", "<ul><li>", "<table><tr><td>", "<blockquote>", "<b>", "<section>"]
)
def test_deep_nesting_is_read_and_ends(opening: str) -> None:
    started = time.thread_time()
    found = text(f"{opening * 10_000}deep inside the page")
    assert "deep inside the page" in found
    assert time.thread_time() - started < 10


@pytest.mark.parametrize(
    "html", ["<html><body><script>1</script></body></html>", "<!-- x -->", " "]
)
def test_a_page_without_text_has_none(html: str) -> None:
    try:
        assert read_web_page(html.encode()).text == ""
    except SourceError as error:
        assert "empty" in str(error)


MARKUP = re.compile(r"\S+").findall(
    "<div> </div> <p> <ul> <li> </li> </ul> <ol> <dl> <dt> <dd> <table> <tr> <td> </td> </table> "
    "<pre> </pre> <blockquote> <h1> </h1> <br> word 海 &amp; <b> </b> <!--"
)


@settings(max_examples=30)
@given(st.lists(st.sampled_from(MARKUP), max_size=40))
def test_any_markup_gives_the_same_text_twice(parts: list[str]) -> None:
    html = f"<html><body>{' '.join(parts)} end</body></html>".encode()
    first, second = read_web_page(html), read_web_page(html)
    assert first == second
    assert first.text.count("word") <= 2 * parts.count("word")  # once more as the heading


@pytest.mark.parametrize(
    "markup",
    [
        pytest.param("<div><span>coal and timber</span></div>" * 16_000, id="elements"),
        pytest.param("<table><tr><td>a</td><td>b</td></tr></table>" * 4_000, id="tables"),
        pytest.param("<ul><li>a</li><li>b</li></ul>" * 4_000, id="lists"),
    ],
)
def test_dense_markup_is_not_searched_for_its_main_text(
    markup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "_found_text", lambda source: pytest.fail("it was searched"))
    found = text(f"<p>The first words.</p>{markup}<p>The last words.</p>")
    assert found.startswith("The first words.")
    assert found.endswith("The last words.")
