"""The web page: a question is asked, its answer read, its sources opened; for all, harmlessly."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
from api_server import ApiServer
from web_browser import Tab, watched

LAMP = (
    "# The lamp 🗼 at Gull Quay 🐋🐋\n\nCaptain Ada Brine lit the lamp at Gull Quay in 1901. 🕯 "
    "Orrin Vale repaired it with Tomas Reed after the storm of 1907.\n\n"
    "## Oil\n\nThe Petrel brought oil to Gull Quay every month. Ada Brine paid for it.\n"
)
PETREL = (
    "The Petrel was a supply ship of the Vale Line. Orrin Vale owned the Vale Line, and Tomas Reed "
    "was the mate of the Petrel until 1912. The Petrel carried oil for the lamp at Gull Quay.\n"
)
HOSTILE = (
    "</textarea><script>window.harm=1</script> Barnaby Quist tended the bees of Marl Fen.\n\n"
    '<img src="http://leak.invalid/x.png" onerror="window.harm=2"> Barnaby Quist kept '
    "[forty hives](javascript:window.harm=3) and <a href='javascript:window.harm=4'>sold</a> the "
    "honey of Marl Fen in 1893. ![bees](http://leak.invalid/bees.png) **Marl Fen** is a fen.\n"
)
HOSTILE_TITLE = '"><img src=x onerror=window.harm=5><svg onload=window.harm=6>'
LONG = "".join(f"Entry {n}: the 🐋 was seen off Gull Quay at {n} fathoms.\n" for n in range(600))
CHINESE = "# 鸥港灯塔\n\n艾达·布莱恩船长于1901年点亮了鸥港灯塔。海燕号每月运来灯油。\n"
RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
VIEWS = ("ask", "conversations", "documents", "graph", "communities", "usage", "settings")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("page")) as running:
        running.add_text(LAMP, document_id="lamp.md", title="The lamp at Gull Quay")
        running.add_text(PETREL, document_id="ships/petrel.txt", title="The Petrel")
        running.add_text(HOSTILE, document_id="fen.md", title=HOSTILE_TITLE)
        running.add_text(LONG, document_id="log.txt", title="The log")
        running.add_text(CHINESE, document_id="灯塔.md", title="鸥港灯塔")
        yield running


LIT = "Who lit the lamp at Gull Quay, and when?"
QUOTE = "Captain Ada Brine lit the lamp at Gull Quay in 1901."
PARAGRAPH = LAMP.split("\n\n")[1]


def test_an_answer_comes_with_its_way_its_sources_and_what_it_cost(tab: Tab) -> None:
    page = tab.open()
    tab.ask(LIT)
    answer = page.get_by_role("article", name=LIT)
    assert QUOTE in answer.locator(".prose").inner_text()
    assert answer.locator(".badge").inner_text() == "Local"
    assert re.search(r"is asked for.*\d+% sure", answer.locator(".route").inner_text(), re.S)
    answer.get_by_role("button", name="Source 1:").wait_for()
    assert "no language model used" in answer.locator(".answer-foot").inner_text()
    assert page.get_by_role("textbox", name="Question").input_value() == ""


def test_a_question_goes_on_from_the_answer_shown_unless_it_shall_not(tab: Tab) -> None:
    page = tab.open()
    tab.ask("Who lit the lamp at Gull Quay?")
    tab.ask("And who repaired it?")
    answer = page.get_by_role("article", name="And who repaired it?")
    answer.get_by_text("Understood as: Who repaired the lamp at Gull Quay?").wait_for()
    assert "Orrin Vale repaired it" in answer.locator(".prose").inner_text()
    page.get_by_role("checkbox", name="Goes on from this answer").uncheck()
    tab.ask("And who paid for it?")
    page.get_by_role("article", name="And who paid for it?").wait_for()
    assert page.get_by_text("Understood as:").count() == 0


def test_what_was_asked_for_in_a_word_stands_first(tab: Tab) -> None:
    page = tab.open()
    tab.ask("When did Ada Brine light the lamp at Gull Quay?")
    short = page.locator(".answer .short")
    assert short.locator("strong").inner_text() == "1901"
    assert re.search(r"\d+% sure", short.inner_text())


def test_stress_in_an_answer_is_shown_without_its_stars(tab: Tab) -> None:
    shown = tab.open().evaluate(
        """async text => {
            const { prose } = await import("/static/js/prose.js");
            return prose(text, () => null).map(one => one.outerHTML).join("");
        }""",
        "**Ada** opened the *Gull Works*; 2 * 3 * 4 stays.",
    )
    assert "<strong>Ada</strong> opened the <em>Gull Works</em>; 2 * 3 * 4 stays." in shown


def test_a_citation_opens_its_source_with_exactly_its_characters_marked(tab: Tab) -> None:
    page = tab.open()
    tab.ask(LIT)
    mark = page.locator(".prose .cite").first
    mark.click()
    panel = page.get_by_role("complementary", name="The lamp at Gull Quay")
    highlighted = panel.locator("mark.current")
    highlighted.wait_for()
    assert highlighted.inner_text() == PARAGRAPH  # emoji before it do not shift it
    assert panel.locator(".running").inner_text().startswith("# The lamp 🗼")
    start = LAMP.index(PARAGRAPH)
    assert f"characters {start}–{start + len(PARAGRAPH)}" in panel.inner_text()
    assert page.evaluate("document.activeElement.textContent") == "The lamp at Gull Quay"
    page.keyboard.press("Escape")
    panel.wait_for(state="hidden")
    assert mark.evaluate("mark => document.activeElement === mark")


def test_one_goes_from_citation_to_citation_and_back(tab: Tab) -> None:
    page = tab.open()
    tab.ask("Where did the Petrel bring oil?")
    quotes = [one.inner_text() for one in page.locator(".source-list .quote").all()]
    assert len(quotes) >= 2
    page.locator(".source-item").first.click()
    current = page.locator("mark.current")
    current.wait_for()
    seen = [current.inner_text()]
    for _ in quotes[1:]:
        page.get_by_role("button", name="Next citation").click()
        page.wait_for_function(
            "before => document.querySelector('mark.current')?.textContent !== before", arg=seen[-1]
        )
        seen.append(current.inner_text())
    assert [" ".join(one.split()) for one in seen] == [" ".join(one.split()) for one in quotes]
    page.get_by_role("button", name="Next citation", disabled=True).wait_for()
    page.get_by_role("button", name="Previous citation").click()
    page.get_by_text(f"{len(quotes) - 1} of {len(quotes)}").wait_for()


def test_a_link_to_a_passage_shows_it_in_sight(tab: Tab) -> None:
    start = PETREL.index("Tomas Reed")
    page = tab.open(f"#/documents?doc=ships%2Fpetrel.txt&from={start}&to={start + 10}")
    page.locator("mark.current").wait_for()
    assert page.locator("mark.current").inner_text() == "Tomas Reed"
    assert page.locator("mark.current").evaluate(
        """mark => {
            const mine = mark.getBoundingClientRect();
            const around = mark.closest(".reading").getBoundingClientRect();
            return mine.top >= around.top && mine.bottom <= around.bottom;
        }"""
    )


def test_a_long_document_is_read_on_from_a_passage_in_its_middle(tab: Tab) -> None:
    start = LONG.index("Entry 300:")
    page = tab.open(f"#/documents?doc=log.txt&from={start}&to={start + 10}")
    text = page.locator("#source .running")
    text.wait_for()
    assert "Entry 0:" not in text.inner_text()
    for name, edge in (("Earlier text", LONG.index("Entry 1:")), ("Further text", len(LONG) - 5)):
        more = page.get_by_role("button", name=name)
        while more.is_visible():
            before = text.evaluate("text => text.innerText.length")
            more.click()
            page.wait_for_function(
                "before => document.querySelector('#source .running').innerText.length > before",
                arg=before,
            )
        assert LONG[edge - 5 : edge + 5].strip() in text.inner_text()
    assert text.evaluate("text => text.textContent") == LONG
    assert page.locator("mark.current").inner_text() == "Entry 300:"


def test_what_the_library_does_not_hold_is_said_not_to_be_answered(tab: Tab) -> None:
    page = tab.open()
    tab.ask("Who won the 1998 world cup?")
    page.get_by_text("There is not enough evidence for an answer.").first.wait_for()
    assert page.locator(".source-list").count() == 0


def test_a_chosen_way_and_a_chosen_document_are_kept_to(tab: Tab) -> None:
    page = tab.open("#/ask?document=ships%2Fpetrel.txt")
    page.get_by_role("radio", name="Local").check()
    tab.ask("Who repaired the lamp with Tomas Reed?")
    sources = page.locator(".answer .source-title").all_inner_texts()
    assert all("petrel.txt" in one for one in sources)
    assert "as you asked" in page.locator(".route").inner_text()


def test_a_chosen_effort_is_sent_along_where_it_counts(tab: Tab) -> None:
    page = tab.open("#/ask?mode=global&effort=low")
    work = page.get_by_label("Effort")
    assert work.input_value() == "low"
    work.select_option("medium")
    with page.expect_request("**/v1/ask") as sent:
        tab.ask("What are these papers about?")
    assert sent.value.post_data_json["effort"] == "medium"
    page.get_by_role("radio", name="Local").check()
    assert not work.is_visible()
    with page.expect_request("**/v1/ask") as sent:
        tab.ask(LIT)
    assert "effort" not in sent.value.post_data_json


def test_a_question_is_searched_step_by_step_where_that_is_chosen(tab: Tab) -> None:
    page = tab.open()
    page.get_by_role("radio", name="Steps").check()
    assert not page.get_by_label("Effort").is_visible()
    tab.ask(LIT)
    answer = page.get_by_role("article", name=LIT)
    assert answer.locator(".badge").inner_text() == "Steps"
    assert QUOTE in answer.locator(".prose").inner_text()


def test_a_question_back_stands_where_the_answer_would(tab: Tab) -> None:
    page = tab.open("#/ask?mode=agent")
    tab.ask("When was he born?")
    answer = page.get_by_role("article", name="When was he born?")
    assert "Give the name." in answer.locator(".prose").inner_text()


def test_how_it_was_found_shows_stages_and_passages_that_open(tab: Tab) -> None:
    page = tab.open()
    tab.ask(LIT)
    page.get_by_text("How it was found").click()
    page.locator(".making tbody tr").nth(1).wait_for()
    assert re.search(r"relevance 0\.\d", page.locator(".passages").inner_text())
    page.locator(".passage-open").first.click()
    page.locator("mark.current").wait_for()


def test_an_answer_is_copied_with_its_sources(browser: Any, server: ApiServer) -> None:
    with watched(browser, server.url, permissions=["clipboard-read", "clipboard-write"]) as tab:
        page = tab.open()
        tab.ask(LIT)
        page.get_by_role("button", name="Copy with sources").click()
        page.get_by_role("button", name="Copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(LIT)
    assert QUOTE in copied
    start = LAMP.index(PARAGRAPH)
    assert f"[1] The lamp at Gull Quay (lamp.md:{start}-{start + len(PARAGRAPH)})" in copied


def test_a_session_outlives_a_reload_and_is_forgotten_when_asked(tab: Tab) -> None:
    page = tab.open()
    tab.ask(LIT)
    tab.ask("What did the Petrel do?")
    page.reload()
    page.get_by_role("link", name=LIT).click()
    page.get_by_role("article", name=LIT).wait_for()
    page.get_by_role("button", name="Forget this session").click()
    page.get_by_role("heading", name="Ask your documents").wait_for()
    page.locator(".answer").wait_for(state="detached")
    assert page.evaluate("sessionStorage.length") == 0


def test_hostile_documents_are_letters(tab: Tab) -> None:
    page = tab.open()
    tab.ask("What did Barnaby Quist sell?")
    page.locator(".cite").first.click()
    page.locator("mark.current").wait_for()
    panel = page.locator("#source")
    assert panel.locator("h2").inner_text() == HOSTILE_TITLE
    assert "</textarea><script>window.harm=1</script>" in panel.inner_text()
    assert "[forty hives](javascript:window.harm=3)" in panel.inner_text()
    tab.open("#/documents")
    page.get_by_role("link", name=HOSTILE_TITLE).wait_for()
    made = page.locator(
        "img, iframe, object, embed, script:not([src]), [onerror], [onload]"
    ).count()
    links = page.evaluate("[...document.links].map((link) => link.protocol)")
    assert (made, set(links)) == (0, {"http:"})


def test_nothing_but_the_page_s_own_files_can_run(tab: Tab) -> None:
    page = tab.open()
    policy = page.request.get(tab.url).headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    refused = page.evaluate(
        """() => {
            try { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); return false; }
            catch (error) { return error instanceof TypeError; }
        }"""
    )
    assert refused
    tab.expected.append("TrustedHTML")


def test_events_are_read_however_the_network_cuts_them(tab: Tab) -> None:
    page = tab.open()
    read = page.evaluate(
        """async () => {
            const { serverEvents } = await import("/static/js/events.js");
            const first = ': alive\\n\\nevent: tokens\\r\\ndata: {"text":"灯 🗼"}\\r\\n\\r\\n';
            const bytes = new TextEncoder().encode(first + "data: 1\\n\\n");
            const results = new Set();
            for (const size of [1, 2, 3, 5, 1000]) {
                const body = new ReadableStream({ start(controller) {
                    for (let at = 0; at < bytes.length; at += size)
                        controller.enqueue(bytes.slice(at, at + size));
                    controller.close();
                } });
                const events = [];
                for await (const event of serverEvents(body)) events.push(event);
                results.add(JSON.stringify(events));
            }
            return [...results];
        }"""
    )
    assert [json.loads(one) for one in read] == [
        [{"name": "tokens", "data": {"text": "灯 🗼"}}, {"name": "message", "data": 1}]
    ]


def test_the_same_graph_is_drawn_the_same_way(tab: Tab) -> None:
    page = tab.open()
    drawn = """async () => {
        const { entitiesPacked } = await import("/static/drawing/pack.js");
        const items = Array.from({ length: 30 }, (_, n) => ({ kind: "entity", id: n, radius: 8 }));
        const links = items.slice(1).map((item, n) => [n >> 1, item.id, 1]);
        const groups = items.map((_, n) => n % 3 - 1);
        const colourOf = () => "#000";
        entitiesPacked(items, groups, links, { aspect: 1.4, titleOf: String, colourOf });
        return items.map(({ id, x, y }) => [id, x, y]);
    }"""
    first, second = page.evaluate(drawn), page.evaluate(drawn)
    assert first == second
    apart = min(math.dist(one[1:], other[1:]) for one, other in itertools.combinations(first, 2))
    assert apart > 16, "discs do not meet"


# --- for everybody -------------------------------------------------------------------------------


def test_the_page_speaks_chinese_and_keeps_to_it(browser: Any, server: ApiServer) -> None:
    with watched(browser, server.url, locale="zh-CN") as tab:
        page = tab.open()
        assert page.locator("html").get_attribute("lang") == "zh-CN"
        box = page.get_by_role("textbox", name="问题")
        box.fill("谁点亮了鸥港灯塔？")
        box.press("Enter")
        page.get_by_role("button", name="来源 1：").wait_for()
        assert "问的是具体的事：" in page.locator(".answer .route").inner_text()
        page.get_by_text("查找过程").click()
        stages = page.locator(".making th[scope=row]").all_inner_texts()
        assert "选择方式" in stages
        assert not [one for one in stages if re.search("[A-Za-z]", one)]
        page.get_by_role("button", name="Switch to English").click()
        page.get_by_role("link", name="Documents").wait_for()
        page.get_by_role("article", name="谁点亮了鸥港灯塔？").wait_for()
        page.reload()
        assert page.locator("html").get_attribute("lang") == "en"


def test_every_word_is_there_in_both_languages(tab: Tab) -> None:
    page = tab.open()
    wrong = page.evaluate(
        """async () => {
            const { MESSAGES } = await import("/static/js/i18n.js");
            const holes = (text) => [...new Set(text.match(/\\{\\w+\\}/g) ?? [])].sort().join();
            const isWrong = ([, [english, chinese]]) =>
                !chinese || [english].flat().some((one) => !one || holes(one) !== holes(chinese));
            return Object.entries(MESSAGES).filter(isWrong).map(([name]) => name);
        }"""
    )
    assert wrong == []


def test_everything_is_reached_by_keyboard(tab: Tab) -> None:
    page = tab.open("#/documents")
    page.get_by_role("link", name="The lamp at Gull Quay").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.textContent || document.activeElement.type")
        )
    assert {"Choose files", "Write a text", "search"} <= set(reached)
    page.get_by_role("link", name="The lamp at Gull Quay").focus()
    page.keyboard.press("Enter")
    page.locator("#source .running").wait_for()
    assert page.evaluate("document.activeElement.closest('#source') !== null")
    ring = page.evaluate("getComputedStyle(document.querySelector('#source .close')).outlineStyle")
    page.keyboard.press("Shift+Tab")
    focused = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert (ring, focused) == ("none", "solid")


def test_a_stream_is_told_at_its_turns_not_word_by_word(tab: Tab) -> None:
    page = tab.open()
    page.evaluate(
        """() => {
            window.told = [];
            const place = document.getElementById("said");
            new MutationObserver(() => place.textContent && window.told.push(place.textContent))
                .observe(place, { childList: true, characterData: true, subtree: true });
        }"""
    )
    tab.ask(LIT)
    page.wait_for_function(
        "() => window.told.some((text) => text.startsWith('The answer is there'))"
    )
    assert len(page.evaluate("window.told")) <= 3
    assert page.locator(".answer [aria-live], .answer[aria-live]").count() == 0


@pytest.mark.parametrize(("scheme", "rules"), [("light", RULES), ("dark", ["color-contrast"])])
def test_every_view_passes_an_accessibility_check(
    browser: Any, server: ApiServer, scheme: str, rules: list[str]
) -> None:
    from axe_playwright_python.base import AXE_FILE_PATH

    script = AXE_FILE_PATH.read_text(encoding="utf8")
    found = []
    with watched(browser, server.url, color_scheme=scheme) as tab:
        page = tab.open()
        page.evaluate(script)
        for view in VIEWS:
            page.evaluate("address => { location.hash = address; }", f"#/{view}")
            page.locator(f"#nav [data-view={view}][aria-current]").wait_for()
            if view == "ask":
                tab.ask(LIT)
                page.get_by_text("How it was found").click()
                page.locator(".cite").first.click()
                page.locator("mark.current").wait_for()
            tab.settled()
            result = page.evaluate("rules => axe.run({ runOnly: rules })", rules)
            found += [
                (view, one["id"], node["target"], node["failureSummary"])
                for one in result["violations"]
                for node in one["nodes"]
            ]
    assert found == []


@pytest.mark.parametrize("width", [360, 820])
def test_every_view_fits_a_phone_and_a_tablet(browser: Any, server: ApiServer, width: int) -> None:
    with watched(browser, server.url, viewport={"width": width, "height": 740}) as tab:
        page = tab.open()
        tab.ask(LIT)
        for view in VIEWS:
            page.get_by_role("button", name="Menu").click()
            page.locator(f"#nav [data-view={view}]").click()
            tab.settled()
            beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert (view, page.evaluate(beyond)) == (view, 0)
        tab.open("#/documents?doc=lamp.md")
        page.get_by_text("About this document").click()
        assert page.locator("#source").evaluate("panel => panel.scrollWidth") <= width
        assert page.locator("#main").evaluate("main => main.inert")
        page.get_by_role("button", name="Close the source").click()
        assert not page.locator("#main").evaluate("main => main.inert")
