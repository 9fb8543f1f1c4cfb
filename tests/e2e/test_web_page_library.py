"""The web page over a library that changes: documents come and go, the graph and its communities
are walked through, and what models cost is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from api_server import ApiServer
from web_browser import Tab

from graph.export.html import drawing_scripts

CORPUS = Path(__file__).parents[2] / "data" / "corpus"
FILES = (
    "projects/lantern-cable.md",
    "people/maeve-tolland.md",
    "organisations/tolland-marine-station.md",
    "events/averill-inquiry-report.pdf",
)
LEVELS = {"LOREGRAPH_GRAPH__MAX_COMMUNITY_SIZE": "5"}
HOSTILE_NAME = '"><script>window.harm=1</script><img src=x onerror="window.harm=2">'
HOSTILE_LINK = "javascript:window.harm=3"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("library"), env=LEVELS) as running:
        with running.client() as client:
            files = [("files", (Path(name).name, (CORPUS / name).read_bytes())) for name in FILES]
            sent = client.post("/v1/documents", files=files)
        running.finished(sent.json()["job"])
        running.add_text("The horn sounds at noon.", document_id="horn", namespace="north")
        yield running


# --- documents -----------------------------------------------------------------------------------


def test_an_uploaded_document_is_asked_about_and_removed_again(tab: Tab) -> None:
    page = tab.open("#/documents")
    text = b"# Weir\n\nThe miller Agnes Holloway built the weir at Stonebeck in 1788.\n"
    page.locator("input[type=file]").set_input_files(
        {"name": "weir.md", "mimeType": "text/markdown", "buffer": text}
    )
    page.locator(".job-done").get_by_text("1 added").wait_for()
    row = page.get_by_role("row", name="Weir")
    row.wait_for()

    tab.open("#/ask")
    tab.ask("Who built the weir at Stonebeck?")
    assert "Agnes Holloway" in page.locator(".prose").inner_text()

    tab.open("#/documents")
    page.get_by_role("button", name="Remove Weir").click()
    asked = page.get_by_role("dialog", name="Remove this document?")
    assert "weir.md" in asked.inner_text()
    asked.get_by_role("button", name="Cancel").click()
    asked.wait_for(state="detached")
    row.wait_for()
    page.get_by_role("button", name="Remove Weir").click()
    asked.get_by_role("button", name="Remove").click()
    row.wait_for(state="detached")
    tab.open("#/ask")
    tab.ask("Who built the weir at Stonebeck, again?")
    assert "Agnes Holloway" not in page.locator(".answer").inner_text()


def test_files_are_dropped_anywhere_and_the_same_again_changes_nothing(tab: Tab) -> None:
    page = tab.open("#/documents")
    drop = """text => {
        const data = new DataTransfer();
        data.items.add(new File([text], "dropped note.txt", { type: "text/plain" }));
        const target = document.querySelector("#main h1");
        for (const name of ["dragover", "drop"]) {
            const options = { dataTransfer: data, bubbles: true, cancelable: true };
            target.dispatchEvent(new DragEvent(name, options));
        }
    }"""
    page.evaluate(drop, "Old Wenlock keeps the toll bridge.")
    page.get_by_role("row", name="dropped note.txt").wait_for()
    page.evaluate(drop, "Old Wenlock keeps the toll bridge.")
    page.get_by_text("The library holds exactly this already.").wait_for()


def test_a_text_is_written_with_tags_and_found_by_them(tab: Tab) -> None:
    page = tab.open("#/documents")
    page.get_by_role("button", name="Write a text").click()
    form = page.get_by_role("dialog", name="Write a text")
    form.get_by_label("Title").fill("Ferry times")
    form.get_by_label("Text", exact=True).fill("The ferry to Port Ansgar leaves at six.")
    form.get_by_label("Tags").fill("red, boats")
    form.get_by_role("button", name="Add").click()
    page.get_by_role("row", name="Ferry times").wait_for()
    page.get_by_role("searchbox").fill("tags=boats")
    page.get_by_text("1 document", exact=True).wait_for()
    assert page.locator(".tag").all_inner_texts() == ["red", "boats"]
    page.get_by_role("searchbox").fill("no such thing")
    page.get_by_text("Nothing fits “no such thing”.").wait_for()
    page.get_by_role("searchbox").fill("ferry TIMES")
    page.get_by_role("link", name="Ferry times").click()
    page.locator("#source .running").wait_for()
    page.get_by_text("About this document").click()
    assert "red, boats" in page.locator("#source dl").inner_text()
    page.get_by_role("button", name="Edit tags and facts").click()
    form = page.get_by_role("dialog", name="Edit tags and facts")
    form.get_by_label("Tags").fill("blue")
    form.get_by_label("Further facts").fill("year = 1901\nno value")
    form.get_by_role("button", name="Save").click()
    assert form.is_visible()  # a line without a value is not taken
    form.get_by_label("Further facts").fill('year = 1901\nplace = "7"')
    form.get_by_role("button", name="Save").click()
    page.locator("#source dd", has_text="blue").wait_for()
    facts = page.locator("#source dl").inner_text()
    assert ("red" in facts, "1,901" in facts or "1901" in facts) == (False, True)


def test_a_file_that_cannot_be_read_is_told_with_its_reason(tab: Tab) -> None:
    page = tab.open("#/documents")
    page.locator("input[type=file]").set_input_files(
        {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 nothing"}
    )
    page.locator(".job", has_text="1 failed").wait_for()
    assert "broken.pdf:" in page.locator(".reasons").inner_text()


def test_the_page_of_a_pdf_is_named(tab: Tab, server: ApiServer) -> None:
    with server.client() as client:
        window = client.get("/v1/document-text?id=averill-inquiry-report.pdf").json()
    start = window["pages"][2] + 4
    page = tab.open(f"#/documents?doc=averill-inquiry-report.pdf&from={start}&to={start + 20}")
    page.locator("mark.current").wait_for()
    assert "Page 3 of 3" in page.locator("#source .facts").inner_text()
    assert page.locator(".page-line").last.inner_text() == "Page 3"


def test_a_long_list_comes_in_pages(tab: Tab) -> None:
    """The server's answers stand in: sixty documents would take long to add."""
    items = [
        {"id": f"d{n}", "title": f"Document {n}", "type": "text", "namespace": "", "metadata": {}}
        for n in range(60)
    ]

    def answer(route: Any) -> None:
        further = "cursor" in route.request.url
        part = items[50:] if further else items[:50]
        body = {"items": part, "total": 60, "next": None if further else "x"}
        route.fulfill(json=body)

    tab.page.route("**/v1/documents?*", answer)
    page = tab.open("#/documents")
    page.get_by_text("60 documents").wait_for()
    page.get_by_role("button", name="Show more").click()
    page.get_by_role("link", name="Document 59").wait_for()
    page.get_by_role("button", name="Show more").wait_for(state="hidden")
    assert page.evaluate("document.activeElement.textContent") == "Document 50"


def test_a_namespace_is_chosen_for_all_views(tab: Tab) -> None:
    page = tab.open("#/documents")
    page.get_by_role("combobox", name="Namespace").select_option("north")
    page.get_by_text("1 document", exact=True).wait_for()
    page.get_by_role("link", name="Ask", exact=True).click()
    tab.ask("Which ship laid the LANTERN cable?")
    page.get_by_text("There is not enough evidence").first.wait_for()
    tab.ask("When does the horn sound?")
    assert "noon" in page.locator(".prose").inner_text()


# --- the graph -----------------------------------------------------------------------------------


def test_a_name_is_found_and_its_surroundings_are_drawn_and_walked_by_keyboard(tab: Tab) -> None:
    page = tab.open("#/graph")
    page.get_by_role("searchbox", name="Find a name").fill("gannet")
    page.locator(".name-list").get_by_role("link", name="Gannet Head", exact=False).first.click()
    page.get_by_role("heading", name="Gannet Head", exact=True).wait_for()
    page.locator(".drawn[data-drawn]").wait_for()
    assert page.evaluate("graphDrawing.chosen()") == "Gannet Head"
    assert len(page.evaluate("graphDrawing.items()")) > 3
    page.locator(".drawing").focus()
    for key in ("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    name = page.evaluate("graphDrawing.chosen()")
    assert name in page.locator(".drawn .unseen").inner_text(), "said to whoever does not see it"
    page.keyboard.press("Enter")
    page.locator(".entity h2", has_text=name).wait_for()
    page.go_back()
    page.get_by_role("heading", name="Gannet Head", exact=True).wait_for()


def test_the_drawing_is_coloured_by_type_or_community_and_pressed_to_go_on(tab: Tab) -> None:
    page = tab.open("#/graph")
    page.locator(".drawn[data-drawn]").wait_for()
    by_type = [item["colour"] for item in page.evaluate("graphDrawing.items()")]
    assert page.locator(".drawn .legend li").count() >= len(set(by_type)) - 1
    page.get_by_role("button", name="Colours: types").click()
    page.get_by_role("button", name="Colours: communities").wait_for()
    assert page.locator(".drawn .legend").is_hidden()
    items = page.evaluate("graphDrawing.items()")
    assert [item["colour"] for item in items] != by_type
    other = next(item for item in items if item["title"] != page.evaluate("graphDrawing.chosen()"))
    page.mouse.click(other["x"], other["y"])
    page.locator(".entity h2", has_text=other["title"]).wait_for()


def test_a_drawing_that_cannot_be_loaded_says_so(tab: Tab) -> None:
    tab.expected.append("net::ERR_FAILED")
    tab.page.route(re.compile("vis-network"), lambda route: route.abort())
    page = tab.open("#/graph")
    page.get_by_role("alert").get_by_text("The graph cannot be drawn here").wait_for()


def test_both_graphs_are_drawn_by_the_same_scripts(tab: Tab) -> None:
    for name, script in drawing_scripts().items():
        served = tab.page.request.get(f"{tab.url}/static/drawing/{name}")
        assert served.ok
        assert served.headers["content-type"].startswith("text/javascript")
        assert served.text() == script
    assert tab.page.request.get(f"{tab.url}/static/drawing/none.js").status == 404


def test_evidence_of_a_relation_opens_its_source(tab: Tab) -> None:
    page = tab.open("#/graph")
    page.locator(".relation .count").first.click()
    page.locator(".relations .evidence").first.click()
    page.locator("mark.current").wait_for()


def test_ways_between_two_names_are_drawn_and_listed(tab: Tab) -> None:
    page = tab.open("#/graph")
    first = page.locator(".entity h2")
    first.wait_for()
    near = page.locator(".relations .linkish").first.inner_text()
    page.get_by_role("combobox", name="Ways to another name").fill(near)
    page.get_by_role("button", name="Find ways").click()
    ways = page.locator(".ways li")
    ways.first.wait_for()
    assert ways.first.inner_text().startswith(first.inner_text())
    assert near in ways.first.inner_text()
    page.get_by_role("button", name="Back").click()
    ways.first.wait_for(state="detached")


def fulfilled(route: Any, *, body: str) -> None:
    route.fulfill(body=body, content_type="application/json")


def test_hostile_names_are_letters_wherever_they_stand(tab: Tab) -> None:
    """The server's answers stand in for an extractor that takes such names out of a text."""
    entity = {"id": "e1", "name": HOSTILE_NAME, "type": HOSTILE_NAME, "mention_count": 2}
    other = {"id": HOSTILE_LINK, "name": HOSTILE_LINK, "type": "PERSON", "mention_count": 1}
    relation = {"id": "r", "source": "e1", "source_name": HOSTILE_NAME, "predicate": HOSTILE_NAME}
    relation |= {"target": HOSTILE_LINK, "target_name": HOSTILE_LINK, "weight": 1, "evidence": []}
    community = {"id": HOSTILE_LINK, "level": 0, "title": HOSTILE_NAME, "size": 2, "children": []}
    detail = entity | {"aliases": [HOSTILE_NAME, HOSTILE_LINK], "description": HOSTILE_NAME}
    detail |= {"relations": [relation], "communities": [community], "document_count": 1}
    report = community | {"summary": HOSTILE_NAME, "rating": 1, "entities": [entity, other]}
    report |= {"findings": [{"text": HOSTILE_LINK, "evidence": []}], "parent": None}
    answers = {
        "entities?": {"items": [entity, other], "total": 2, "next": None},
        "entities/": detail,
        "neighbourhood": {"entity": "e1", "nodes": [entity, other], "edges": [relation]},
        "communities?": {"items": [community], "total": 1, "levels": 1, "next": None},
        "communities/": report,
    }
    for part, answer in answers.items():
        served = partial(fulfilled, body=json.dumps(answer))
        tab.page.route(re.compile(re.escape(f"/v1/graph/{part}")), served)
    page = tab.open("#/graph")
    page.locator(".entity h2").wait_for()
    assert page.locator(".entity h2").inner_text() == HOSTILE_NAME
    page.locator(".drawn[data-drawn='2']").wait_for()
    page.get_by_role("link", name=HOSTILE_NAME, exact=True).last.click()
    page.get_by_role("article").get_by_text(HOSTILE_LINK).first.wait_for()
    page.get_by_role("link", name=HOSTILE_LINK).click()
    page.locator(".entity h2").wait_for()
    assert page.evaluate("[...document.links].every((link) => link.protocol === 'http:')")
    assert page.locator("img, iframe, script:not([src])").count() == 0


def test_communities_are_a_table_of_contents_whose_findings_open_their_sources(tab: Tab) -> None:
    page = tab.open("#/communities")
    contents = page.get_by_role("navigation", name="Table of contents")
    contents.get_by_role("button").first.click()
    inner = contents.locator(".toc .toc a").first
    title = inner.inner_text()
    inner.click()
    report = page.get_by_role("article")
    report.get_by_role("heading", name=title).wait_for()
    report.locator(".findings li").first.wait_for()
    report.locator(".evidence").first.click()
    page.locator("mark.current").wait_for()
    page.get_by_role("button", name="Close the source").click()
    name = report.locator(".chips .chip").last
    wanted = name.inner_text()
    name.click()
    page.locator(".entity h2", has_text=wanted).wait_for()


def test_the_whole_graph_opens_confined(tab: Tab) -> None:
    page = tab.open("#/graph")
    link = page.get_by_role("link", name="Open the whole graph")
    response = page.request.get(tab.url + link.get_attribute("href"))
    assert link.get_attribute("rel") == "noopener noreferrer"
    assert "sandbox" in response.headers["content-security-policy"]
    part = page.locator(".entity").get_by_role("link", name="Open as a page").get_attribute("href")
    assert page.request.get(tab.url + part).ok


# --- usage and settings --------------------------------------------------------------------------


def test_what_is_held_and_the_settings_in_force_are_told(tab: Tab) -> None:
    page = tab.open("#/usage")
    page.get_by_text("No language model has been used.").wait_for()
    page.locator(".figures-row").get_by_text("Documents").wait_for()
    tab.open("#/settings")
    page.get_by_role("searchbox", name="Find a setting").fill("spacy")
    page.get_by_text("spacy_model").wait_for()
    assert page.locator(".setting:visible").count() == 1
    assert "none" in page.locator(".setting:visible").inner_text()


# --- conversations -------------------------------------------------------------------------------


def test_a_conversation_is_remembered_named_read_and_forgotten(tab: Tab) -> None:
    page = tab.open("#/conversations")
    page.get_by_text("No conversation is remembered.").wait_for()
    page.get_by_role("button", name="New conversation").click()
    tab.ask("My dog is called Biscuit.")
    page.get_by_role("link", name="This conversation is remembered.").click()
    page.locator(".said-by-user").get_by_text("My dog is called Biscuit.").wait_for()

    page.get_by_role("button", name="Rename").click()
    page.get_by_role("textbox", name="Name").fill("About dogs")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    page.get_by_role("button", name="About dogs", exact=True).wait_for()

    page.get_by_role("button", name="New conversation").click()
    tab.ask("What is my dog called?")
    assert "“My dog is called Biscuit.”" in page.locator(".prose").inner_text()
    page.locator(".prose .cite").first.click()
    page.locator(".said-by-user").get_by_text("My dog is called Biscuit.").wait_for()

    tab.open("#/conversations")
    for left in (1, 0):
        page.get_by_role("button", name="Forget").first.click()
        page.get_by_role("dialog").get_by_role("button", name="Forget").click()
        page.wait_for_function(
            "left => document.querySelectorAll('.conversations > li').length === left", arg=left
        )
    page.get_by_text("No conversation is remembered.").wait_for()
