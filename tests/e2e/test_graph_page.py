"""The graph page in a real browser: it draws, it finds, it quotes, and nothing in it does harm.

It needs what `web_browser` names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import hypot
from pathlib import Path
from typing import Any

import pytest
from generated_graph import generated

from graph.communities.leiden import cluster_communities
from graph.export.html import to_html
from graph.export.subgraph import Quote, part_of_answer
from graph.model import (
    Chunk,
    Claim,
    Entity,
    Evidence,
    Finding,
    GraphExport,
    PlacedClaim,
    Relation,
    Report,
    content_id,
)

HOSTILE = (
    "<script>window.harm=1</script>",
    '"></script><img src="http://leak.invalid/x.png" onerror="window.harm=2">',
    "javascript:window.harm=3",
    "</title><iframe src='http://leak.invalid/'></iframe>",
    "line\u2028separator",
    "__proto__",
)
PEOPLE = ("Lin Ruoxi", "Maeve Tolland", "Jory Pell", "林若溪", "海燕站", "Port Ansgar")
ENTITIES = 2500
NAMES = (*PEOPLE, *HOSTILE, *(f"Station {number}" for number in range(28)))


def hostile_export() -> GraphExport:
    """Three groups; the first six names know one another, the hostile ones are among themselves."""
    ids = {name: content_id("e", name) for name in NAMES}
    chunks, relations = {}, []
    for left, name in enumerate(NAMES):
        for right in range(left + 1, min(left + 4, len(NAMES))):
            if (left < 6) != (right < 6) and left != 5:
                continue
            other = NAMES[right]
            text = f"{name} was seen with {other} on day {left}. {HOSTILE[0]}"
            key = content_id("k", name, other)
            chunks[key] = Chunk(
                id=key, document_id=key, title=f"Diary {HOSTILE[1]}", text=text, end=len(text)
            )
            place = Evidence(chunk_id=key, start=0, end=len(text))
            relations.append(
                Relation(
                    id=content_id("r", name, other),
                    source_id=ids[name],
                    predicate="occurs with" if right % 2 else f"met {HOSTILE[0]}",
                    target_id=ids[other],
                    weight=3.0 if left < 6 else 1.0,
                    evidences=(place,),
                )
            )
    entities = [
        Entity(
            id=ids[name],
            name=name,
            type="PERSON",
            keys=(name,),
            aliases=(name, f"alias of {name}"),
            mention_count=2,
            document_count=1,
        )
        for name in NAMES
    ]
    edges = [(r.source_id, r.target_id, r.weight) for r in relations]
    found = cluster_communities(list(ids.values()), edges, max_size=8, seed=1)
    reports = [
        Report(
            community_id=one.id,
            level=one.level,
            title=f"About {HOSTILE[1]}",
            summary=f"A summary {HOSTILE[0]}",
            rating=4.0,
            findings=(Finding(text="seen", evidences=relations[0].evidences),),
            fingerprint=one.id,
        )
        for one in found
    ]
    (place,) = relations[0].evidences
    claim = Claim(
        start=place.start,
        end=place.end,
        subject=PEOPLE[0],
        object=PEOPLE[1],
        type="DEBT",
        status="SUSPECTED",
        start_date="2019-02",
        end_date="",
        text=f"She owed him a boat {HOSTILE[0]}",
    )
    placed = PlacedClaim(
        chunk_id=place.chunk_id, claim=claim, subject_id=ids[PEOPLE[0]], object_id=ids[PEOPLE[1]]
    )
    return GraphExport(
        entities=tuple(entities),
        relations=tuple(relations),
        communities=tuple(found),
        reports=tuple(reports),
        claims=(placed,),
        chunks=chunks,
    )


@contextmanager
def opened(browser: Any, file: Path, **options: Any) -> Iterator[Any]:
    """The page with what it tried to do, which must be nothing: `.requests`, `.problems`."""
    settings = {"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce"} | options
    context = browser.new_context(**settings)
    tab = context.new_page()
    tab.requests, tab.dialogs, tab.problems = [], [], []
    tab.on("request", lambda request: tab.requests.append(request.url))
    tab.on("dialog", lambda dialog: (tab.dialogs.append(dialog.message), dialog.dismiss()))
    tab.on("pageerror", lambda error: tab.problems.append(str(error)))
    tab.on("console", lambda message: tab.problems.append(message.text))
    tab.goto(file.as_uri())
    tab.wait_for_function("() => document.documentElement.dataset.ready !== undefined")
    yield tab
    assert tab.requests == [file.as_uri()]
    assert (tab.dialogs, tab.problems) == ([], [])
    context.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three pages: hostile names (few enough to be drawn at once), many entities, an answer."""
    folder = tmp_path_factory.mktemp("pages")
    many = generated(ENTITIES)
    evidence = many.relations[0].evidences[0]
    answer = part_of_answer(
        many,
        question=f"Who? {HOSTILE[0]}",
        answer=f"These two. [1] {HOSTILE[1]}",
        quotes=[
            Quote(
                number=1,
                title=HOSTILE[3],
                text=many.chunks[evidence.chunk_id].text,
                chunk_id=evidence.chunk_id,
            )
        ],
        read=[evidence.chunk_id],
    )
    pages = {
        "hostile": to_html(hostile_export(), title=f"Hostile {HOSTILE[3]}"),
        "many": to_html(many),
        "answer": to_html(answer),
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.fixture
def page(browser: Any, files: dict[str, Path]) -> Iterator[Any]:
    with opened(browser, files["hostile"]) as tab:
        yield tab


@pytest.fixture
def large(browser: Any, files: dict[str, Path]) -> Iterator[Any]:
    with opened(browser, files["many"]) as tab:
        yield tab


def items(page: Any, kind: str = "") -> list[dict[str, Any]]:
    """What is drawn, with places in window pixels."""
    found: list[dict[str, Any]] = page.evaluate("graphPage.items()")
    return [item for item in found if kind in ("", item["kind"])]


def position(page: Any, name: str) -> tuple[float, float]:
    """Where an entity is drawn, in window pixels."""
    return next((item["x"], item["y"]) for item in items(page) if item["title"] == name)


def overlapping(drawn: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Which of these lie over one another."""
    return [
        (one["title"], other["title"])
        for at, one in enumerate(drawn)
        for other in drawn[:at]
        if hypot(one["x"] - other["x"], one["y"] - other["y"])
        < one["radius"] + other["radius"] - 0.5
    ]


def heading(page: Any) -> str:
    return str(page.locator("#panel h2").first.inner_text())


def wait_open(page: Any, kind: str) -> None:
    page.wait_for_function(
        "kind => document.documentElement.dataset.open?.startsWith(kind)", arg=kind
    )


def wait_heading(page: Any, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('#panel h2')?.textContent === text", arg=text
    )


# --- what is drawn ------------------------------------------------------------------------------


def test_a_small_graph_is_drawn_whole(page: Any) -> None:
    assert {item["title"] for item in items(page)} == set(NAMES)
    coloured = page.evaluate(
        """() => {
            const canvas = document.querySelector("#mynetwork canvas");
            const whole = [0, 0, canvas.width, canvas.height];
            const pixels = canvas.getContext("2d").getImageData(...whole).data;
            let count = 0;
            for (let at = 0; at < pixels.length; at += 4) {
                const [red, green, blue, alpha] = pixels.slice(at, at + 4);
                const range = Math.max(red, green, blue) - Math.min(red, green, blue);
                if (alpha > 200 && range > 60) count += 1;
            }
            return count;
        }"""
    )
    assert coloured > 2000


def test_a_larger_graph_opens_on_its_communities(large: Any) -> None:
    kinds = {item["kind"] for item in items(large)}
    assert kinds == {"bubble"}
    shown = sorted(item["title"] for item in items(large))
    rows = large.locator("#panel .community .name")
    assert sorted(rows.all_inner_texts()) == shown
    box = large.locator("#stage").bounding_box()
    for item in items(large):
        assert box["x"] <= item["x"] <= box["x"] + box["width"]
        assert box["y"] <= item["y"] <= box["y"] + box["height"]


def test_a_double_click_opens_a_level_and_the_trail_leads_back(large: Any) -> None:
    top = max(items(large), key=lambda item: item["radius"])
    large.mouse.dblclick(top["x"], top["y"])
    wait_open(large, "community")
    assert heading(large) == " ".join(top["title"].split())
    assert overlapping(items(large)) == []
    inner = max(items(large, "bubble"), key=lambda item: item["radius"])
    assert inner["title"] != top["title"]
    large.mouse.dblclick(inner["x"], inner["y"])
    large.wait_for_function("() => graphPage.items().every(item => item.kind === 'entity')")
    assert overlapping(items(large)) == []
    trail = large.locator("#trail li").all_inner_texts()
    assert trail == ["All communities", top["title"], inner["title"]]
    large.locator("#trail button").first.click()
    wait_open(large, "all")
    assert {item["kind"] for item in items(large)} == {"bubble"}


def test_levels_open_and_close_from_the_keyboard_alone(large: Any) -> None:
    large.locator("#mynetwork").focus()
    large.keyboard.press("ArrowRight")
    first = large.locator("#live").inner_text()
    assert "entities" in first
    large.keyboard.press("ArrowLeft")
    large.keyboard.press("Enter")
    wait_open(large, "community")
    large.keyboard.press("Escape")
    wait_open(large, "all")
    large.locator("#panel .community").first.focus()
    large.keyboard.press("ArrowDown")
    second = large.evaluate("document.activeElement.querySelector('.name').textContent")
    large.keyboard.press("Enter")
    wait_open(large, "community")
    assert heading(large) == second
    assert large.evaluate("document.activeElement.tagName") == "H2"
    large.keyboard.press("Escape")
    wait_open(large, "all")


def test_everything_that_can_be_used_has_a_name_and_can_be_reached_by_tab(large: Any) -> None:
    nameless = large.evaluate(
        """() => [...document.querySelectorAll("button, input, select, [role], [tabindex='0']")]
            .filter((one) => one.offsetParent !== null && one.tagName !== "MAIN")
            .filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim()
                || one.labels?.[0]?.textContent.trim()))
            .map((one) => one.outerHTML)"""
    )
    assert nameless == []
    seen = []
    for _ in range(12):
        large.keyboard.press("Tab")
        seen.append(large.evaluate("document.activeElement.id || document.activeElement.className"))
    tools = ["filter-button", "colouring", "language", "theme"]
    assert seen[:7] == ["skip", "search", *tools, "mynetwork"]
    assert "row community" in seen
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert large.evaluate(outline) != "none"


# --- the panel ----------------------------------------------------------------------------------


def test_clicking_a_node_shows_its_evidence_with_the_document(page: Any) -> None:
    page.mouse.click(*position(page, "Lin Ruoxi"))
    wait_heading(page, "Lin Ruoxi")
    panel = page.locator("#panel")
    assert "Lin Ruoxi was seen with Maeve Tolland on day 0." in panel.inner_text()
    assert f"Diary {HOSTILE[1]}" in panel.locator("cite").first.inner_text()
    assert "Also: alias of Lin Ruoxi" in panel.inner_text()


def test_what_is_around_an_entity_is_shown_across_communities(page: Any) -> None:
    x, y = position(page, "Maeve Tolland")
    page.mouse.dblclick(x, y)
    wait_open(page, "near")
    assert {"Lin Ruoxi", "Jory Pell"} <= {item["title"] for item in items(page)}
    assert len(items(page)) < len(NAMES)
    page.keyboard.press("Escape")
    wait_open(page, "all")


def test_a_community_shows_its_report_and_its_members(page: Any) -> None:
    page.locator("#filter-button").click()
    page.locator("#filter-community").select_option(index=1)
    wait_open(page, "community")
    text = page.locator("#panel").inner_text()
    assert f"About {HOSTILE[1]}" in text
    assert f"A summary {HOSTILE[0]}" in text
    page.locator("#panel .entity").first.click()
    page.wait_for_function("() => document.querySelector('#panel .chip') !== null")
    assert heading(page) in {" ".join(name.split()) for name in NAMES}


def test_an_answer_is_shown_with_its_sources_over_what_it_rests_on(
    browser: Any, files: dict[str, Path]
) -> None:
    with opened(browser, files["answer"]) as page:
        text = page.locator("#panel").inner_text()
        assert f"Who? {HOSTILE[0]}" in text
        assert f"These two. [1] {HOSTILE[1]}" in text
        assert HOSTILE[3] in page.locator("#panel .source cite").inner_text()
        assert {item["kind"] for item in items(page)} == {"entity"}


# --- search and filter --------------------------------------------------------------------------


def test_search_finds_a_name_from_the_keyboard_alone(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("maeve")
    option = page.locator("#results [role=option]")
    option.first.wait_for()
    assert option.locator(".name").all_inner_texts() == ["Maeve Tolland"]
    page.keyboard.press("Enter")
    wait_heading(page, "Maeve Tolland")


def test_search_finds_chinese_names_aliases_and_names_that_are_nearly_right(page: Any) -> None:
    names = page.locator("#results [role=option] .name")
    for query, name in (
        ("海燕", "海燕站"),
        ("alias of Jory", "Jory Pell"),
        ("Mave Toland", "Maeve Tolland"),
    ):
        page.locator("#search").fill(query)
        page.wait_for_function(
            "name => document.querySelector('#results .name')?.textContent === name", arg=name
        )
        assert names.first.inner_text() == name


def test_search_finds_what_is_not_drawn_and_goes_there(large: Any) -> None:
    light = min(generated(ENTITIES).entities, key=lambda one: (one.mention_count, one.id)).name
    assert light not in {item["title"] for item in items(large)}
    large.locator("#search").fill(light)
    large.locator("#results [role=option]").first.wait_for()
    large.keyboard.press("Enter")
    wait_heading(large, light)
    assert light in {item["title"] for item in items(large)}


@pytest.mark.parametrize(
    ("asked", "opened_on"),
    [
        pytest.param("#maeve%20tolland", "Maeve Tolland", id="a name"),
        pytest.param("#%E6%B5%B7%E7%87%95%E7%AB%99", "海燕站", id="Chinese"),
        pytest.param("#%", "Entities", id="broken"),
        pytest.param("#<script>window.harm=1</script>x", "Entities", id="unknown"),
    ],
)
def test_an_address_can_name_the_entity_that_it_opens_on(
    browser: Any, files: dict[str, Path], asked: str, opened_on: str
) -> None:
    page = browser.new_page()
    page.goto(files["hostile"].as_uri() + asked)
    wait_heading(page, opened_on)
    assert page.evaluate("window.harm") is None
    page.close()


def test_an_alias_in_the_address_opens_its_entity_also_while_the_page_is_open(page: Any) -> None:
    page.evaluate("location.hash = encodeURIComponent('alias of Jory Pell')")
    page.locator("#panel h2").get_by_text("Jory Pell").wait_for()


def test_colours_are_of_communities_or_of_types(page: Any) -> None:
    of_communities = {item["colour"] for item in items(page, "entity")}
    assert len(of_communities) > 1
    page.get_by_role("button", name="Colours: communities").click()
    switch = page.get_by_role("button", name="Colours: types")
    switch.wait_for()
    assert {item["colour"] for item in items(page, "entity")} == {"#4477aa"}  # all are persons
    assert page.locator("#type-key").get_by_text("person").is_visible()
    switch.click()
    page.get_by_role("button", name="Colours: communities").wait_for()
    assert {item["colour"] for item in items(page, "entity")} == of_communities
    assert page.locator("#type-key").is_hidden()


def test_lines_of_a_chosen_entity_are_named_but_not_where_names_only_stand_together(
    page: Any,
) -> None:
    assert page.evaluate("graphPage.lineNames()") == []
    page.mouse.click(*position(page, "Maeve Tolland"))
    page.locator("#panel h2").get_by_text("Maeve Tolland").wait_for()
    page.wait_for_timeout(300)  # the next frame
    names = page.evaluate("graphPage.lineNames()")
    assert names
    assert all("met <script>" in name and ("→" in name or "←" in name) for name in names), names


def test_filters_by_type_document_and_weight_leave_what_matches(large: Any) -> None:
    graph = generated(ENTITIES)
    events = sum(one.type == "EVENT" for one in graph.entities)
    large.locator("#filter-button").click()
    for box in large.locator("#types input").all():
        if box.get_attribute("value") != "EVENT":
            box.uncheck()
    result = large.locator("#filter-result")
    assert result.inner_text() == f"{events} of 2,500 entities match"
    large.locator("#filters button[type=reset]").click()
    large.get_by_text("2,500 of 2,500 entities match").wait_for()
    large.locator("#filter-document").fill("Ledger 3")
    large.wait_for_function("() => document.getElementById('filter-mark').hidden === false")
    in_document = {
        key
        for key, places in graph.appearances.items()
        if any("Ledger 3" in graph.chunks[place].title for place in places)
    }
    assert result.inner_text() == f"{len(in_document)} of 2,500 entities match"
    large.locator("#filter-document").fill("")
    large.locator("#filter-weight").fill("98")
    large.wait_for_function(
        "() => /^[5-9][0-9] of/.test(document.getElementById('filter-result').textContent)"
    )
    drawn = items(large)
    assert {item["kind"] for item in drawn} == {"entity"}
    large.keyboard.press("Escape")
    large.locator("#filters").wait_for(state="hidden")


# --- what must not happen -----------------------------------------------------------------------


def test_a_claim_is_shown_with_its_sentence_at_both_whom_it_is_about(page: Any) -> None:
    for one, other in (PEOPLE[:2], PEOPLE[1::-1]):
        page.locator("#search").fill(one)
        page.keyboard.press("Enter")
        wait_heading(page, one)
        claim = page.locator(".claim").inner_text()
        assert "debt · suspected · 2019-02" in claim
        assert f"She owed him a boat {HOSTILE[0]}" in claim
        assert "on day 0." in claim
        assert page.locator(".claim .link").inner_text() == other


def test_hostile_names_stay_text_wherever_they_are_shown(page: Any) -> None:
    kinds = "document.querySelectorAll('script, iframe, img, svg, object, embed').length"
    before = page.evaluate(kinds)
    for name in HOSTILE:
        x, y = position(page, name)
        page.mouse.move(x, y)
        page.mouse.click(x, y)
        wait_heading(page, name)
        page.locator("#search").fill(name[:6])
        page.locator("#results li").first.wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
    page.locator("#filter-button").click()
    select = page.locator("#filter-community")
    for number in range(select.locator("option").count()):
        select.select_option(index=number)
        wait_open(page, "community" if number else "all")
    assert page.evaluate(kinds) == before
    assert page.evaluate("window.harm") is None
    assert page.evaluate("Object.prototype.name") is None


def test_hostile_documents_types_and_predicates_stay_text(browser: Any, tmp_path: Path) -> None:
    calm = generated(300)
    entities = tuple(
        replace(one, type=HOSTILE[at % 6], description=HOSTILE[(at + 1) % 6], aliases=HOSTILE)
        for at, one in enumerate(calm.entities)
    )
    relations = tuple(
        replace(one, predicate=HOSTILE[at % 6], description=HOSTILE[(at + 2) % 6])
        for at, one in enumerate(calm.relations)
    )
    chunks = {
        key: replace(one, title=HOSTILE[at % 6], document_id=f"{HOSTILE[(at + 1) % 6]}{at % 9}")
        for at, (key, one) in enumerate(sorted(calm.chunks.items()))
    }
    reports = tuple(replace(one, title=HOSTILE[1], summary=HOSTILE[0]) for one in calm.reports)
    file = tmp_path / "graph.html"
    hostile = replace(calm, entities=entities, relations=relations, chunks=chunks, reports=reports)
    file.write_text(to_html(hostile), encoding="utf8")
    with opened(browser, file) as page:
        page.locator("#panel .community").first.click()
        wait_open(page, "community")
        page.locator("#panel .entity").first.click()
        page.wait_for_function("() => document.querySelector('#panel .chip') !== null")
        text = page.locator("#panel").inner_text()
        assert all(part in text for part in (HOSTILE[0], HOSTILE[2]))
        page.locator("#filter-button").click()
        page.locator("#types input").first.uncheck()
        assert page.evaluate("window.harm") is None
        assert page.evaluate("document.querySelectorAll('iframe, img').length") == 0


def test_the_policy_stops_requests_and_scripts_that_are_not_the_pages_own(page: Any) -> None:
    blocked = page.evaluate("fetch('http://leak.invalid/').then(() => 'sent', () => 'stopped')")
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.harm = 4";
            document.body.append(script);
            document.body.setAttribute("onclick", "window.harm = 5");
            document.body.click();
        }"""
    )
    page.wait_for_timeout(100)
    refused = [problem for problem in page.problems if "Content Security Policy" in problem]
    assert len(refused) >= 3
    page.problems.clear()
    assert blocked == "stopped"
    assert page.evaluate("window.harm") is None


def test_a_browser_that_cannot_unpack_the_page_is_told_so(
    browser: Any, files: dict[str, Path]
) -> None:
    page = browser.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(files["many"].as_uri())
    wait_heading(page, "This page cannot be opened here")
    assert {item["kind"] for item in items(page)} == {"bubble"}
    page.close()


# --- how it looks -------------------------------------------------------------------------------


def test_the_page_is_dark_where_the_reader_likes_it_dark_or_asks_for_it(page: Any) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert dark != light
    page.locator("#theme").click()
    assert page.evaluate(ground) == light
    page.emulate_media(color_scheme="light")
    page.locator("#theme").click()
    assert page.evaluate(ground) == dark


def test_on_paper_there_is_the_drawing_and_the_text_and_no_controls(page: Any) -> None:
    page.emulate_media(media="print", color_scheme="dark")
    for control in ("#search-box", "#filter-button", "#zoom", "#theme"):
        page.locator(control).wait_for(state="hidden")
    page.locator("#mynetwork canvas").wait_for()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    stage, panel = (page.locator(one).bounding_box() for one in ("#stage", "#panel"))
    assert panel["y"] >= stage["y"] + stage["height"]


def test_on_a_telephone_nothing_is_wider_than_the_screen(
    browser: Any, files: dict[str, Path]
) -> None:
    small = {"width": 360, "height": 720}
    with opened(browser, files["many"], viewport=small, has_touch=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.locator("#panel .community").first.tap()
        wait_open(page, "community")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.locator("#stage").bounding_box()["height"] > 250


def test_in_a_narrow_window_title_and_buttons_stay_whole(
    browser: Any, files: dict[str, Path]
) -> None:
    with opened(browser, files["many"], viewport={"width": 1000, "height": 700}) as page:
        assert page.evaluate(
            "[...document.querySelectorAll('h1, .tool')].every(e => e.scrollWidth <= e.clientWidth)"
        )
        heights = page.evaluate("[...document.querySelectorAll('.tool')].map(e => e.offsetHeight)")
        assert len(set(heights)) == 1


def test_the_page_speaks_chinese_to_who_reads_chinese_and_turns_to_english_when_asked(
    browser: Any, files: dict[str, Path]
) -> None:
    with opened(browser, files["hostile"], locale="zh-CN") as page:
        assert page.locator("html").get_attribute("lang") == "zh"
        assert "个实体" in page.locator("#counts").inner_text()
        shown = page.locator("header, #legend summary, #panel h2, #panel > p").all_inner_texts()
        assert not [text for text in shown if "Filter" in text or "Legend" in text]
    page = browser.new_page(locale="zh-CN")
    page.goto(files["hostile"].as_uri())
    page.get_by_role("button", name="English").click()
    page.wait_for_url("**?lang=en")
    page.get_by_role("button", name="Filter").wait_for()
    assert page.locator("html").get_attribute("lang") == "en"
    page.close()
