"""The web page when things are slow, wrong or not there: a model's stream, a server that is gone, a
token that is asked for, errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from api_server import ApiServer
from openai_server import OpenAIServer, Reply
from web_browser import Tab, watched

LAMP = "Captain Ada Brine lit the lamp at Gull Quay in 1901. Orrin Vale repaired it in 1907.\n"
ANSWER = (
    "Captain Ada Brine lit the lamp at Gull Quay in 1901 [1]. <img src=x onerror=window.harm=1>"
)
LIT = "Who lit the lamp at Gull Quay?"
OFFLINE = ("net::ERR_",)


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, model: OpenAIServer) -> Iterator[ApiServer]:
    env = {
        "LOREGRAPH_LLM__KIND": "openai_like",
        "LOREGRAPH_LLM__MODEL": "m",
        "LOREGRAPH_LLM__BASE_URL": model.base_url,
        "LOREGRAPH_LLM__RETRIES": "0",
    }
    with ApiServer(tmp_path_factory.mktemp("streams"), env=env) as running:
        yield running


@pytest.fixture(scope="module")
def server(empty: ApiServer) -> ApiServer:
    """The same with a document: the test of the empty one comes first."""
    empty.add_text(LAMP, document_id="lamp.md", title="The lamp")
    return empty


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server without a model: it is killed by one test, and closed to strangers by another."""
    with ApiServer(tmp_path_factory.mktemp("alone")) as running:
        running.add_text(LAMP, document_id="lamp.md", title="The lamp", namespace="north")
        yield running


def test_an_empty_library_says_what_to_do(browser: Any, empty: ApiServer) -> None:
    with watched(browser, empty.url) as tab:
        page = tab.open("#/ask")
        page.get_by_role("link", name="Add documents").click()
        page.get_by_text("There are no documents yet.").wait_for()
        tab.open("#/graph")
        page.get_by_text("They are read from the documents that you add.").wait_for()
        tab.open("#/communities")
        page.get_by_text("There are no communities yet.").wait_for()


# --- a language model that writes ----------------------------------------------------------------


def test_an_answer_is_read_while_it_is_written_and_what_it_cost_is_told(
    tab: Tab, model: OpenAIServer
) -> None:
    model.answer_with(lambda request: Reply(ANSWER, drip_seconds=0.15))
    page = tab.open()
    tab.ask(LIT, wait=False)
    writing = page.locator(".prose.writing")
    writing.get_by_text("Captain Ada").wait_for()
    assert ANSWER not in writing.inner_text()
    page.locator(".answer[aria-busy=false] .answer-foot").wait_for()
    assert page.locator(".cite").first.inner_text() == "1"
    assert re.search(r"1 model call · \d+ tokens · cost", page.locator(".answer-foot").inner_text())
    assert page.locator("img").count() == 0
    tab.open("#/usage")
    page.get_by_role("row", name=re.compile("answers")).first.wait_for()


def test_an_answer_is_stopped_and_what_was_written_stays(tab: Tab, model: OpenAIServer) -> None:
    model.answer_with(lambda request: Reply("Ada " * 60, drip_seconds=0.2))
    page = tab.open()
    tab.ask("Who lit the lamp, at length?", wait=False)
    page.locator(".prose", has_text="Ada").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("You stopped this answer; what was written stays.").wait_for()
    assert page.locator(".prose").inner_text().startswith("Ada")
    page.get_by_role("button", name="Ask", exact=True).wait_for()


def test_what_no_source_bears_out_is_said_not_to_be(tab: Tab, model: OpenAIServer) -> None:
    text = (
        "Captain Ada Brine lit the lamp at Gull Quay in 1901 [1]. Orrin Vale sold it in 1955 [1]."
    )
    model.answer_with(lambda request: Reply(text))
    page = tab.open()
    tab.ask("Who lit the lamp at Gull Quay, and who sold it?")
    doubtful = page.locator(".slot-check .notice")
    assert "Orrin Vale sold it in 1955" in doubtful.inner_text()
    assert "1901" not in doubtful.inner_text()
    assert "50% of its statements are borne out" in doubtful.inner_text()


def test_what_was_found_on_the_web_is_shown_without_a_link(tab: Tab) -> None:
    """The server's answer stands in for a search of the web."""
    address = "javascript:window.harm=2//example.org"
    citation = {"number": 1, "document_id": address, "chunk_id": "w", "title": "A page", "start": 0}
    citation |= {"end": 9, "quote": "Elsewhere", "page": None, "origin": "web"}
    answer = {"question": LIT, "text": "Elsewhere [1].", "mode": "local", "citations": [citation]}
    tab.page.route("**/v1/ask", lambda route: route.fulfill(json=answer))
    page = tab.open()
    tab.ask(LIT)
    page.locator(".cite").click()
    panel = page.locator("#source")
    panel.get_by_text("Found on the web, not in the library:").wait_for()
    assert panel.locator("mark.current").inner_text() == "Elsewhere"
    assert panel.locator("a").count() == 0


def test_a_model_that_fails_is_told_in_words(tab: Tab, model: OpenAIServer) -> None:
    model.answer_with(lambda request: Reply("out of order", status=401))
    tab.expected.append("503")
    page = tab.open()
    tab.ask("Who lit the lamp, then?")
    failure = page.locator(".answer .failure")
    assert failure.get_attribute("role") == "alert"
    assert failure.locator(".failure-title").inner_text()
    failure.get_by_role("button", name="Try again").click()
    assert page.get_by_role("textbox", name="Question").input_value() == "Who lit the lamp, then?"


# --- a server that is gone, or says no -----------------------------------------------------------


def test_a_server_that_is_gone_is_said_to_be_and_found_again(
    browser: Any, alone: ApiServer
) -> None:
    with watched(browser, alone.url) as tab:
        tab.expected.extend(OFFLINE)
        page = tab.open()
        port = alone.port
        alone.kill()
        page.get_by_role("link", name="Documents").click()
        banner = page.locator("#banner")
        banner.get_by_text("The server cannot be reached.").wait_for()
        page.locator(".document-list .failure").wait_for()
        alone.start(port=port)
        page.get_by_role("link", name="The lamp").wait_for()
        assert banner.inner_text() == ""


def test_a_token_is_asked_for_and_kept_out_of_sight(browser: Any, alone: ApiServer) -> None:
    alone.add_text("Elsewhere.", document_id="south.md", namespace="south")
    token = alone.token("reader", reads=["north"])
    with watched(browser, alone.url) as tab:
        tab.expected.append("401")
        page = tab.open("#/documents")
        asked = page.get_by_role("dialog", name="This server asks for a token")
        asked.get_by_label("Token").fill("wrong")
        asked.get_by_role("button", name="Use this token").click()
        asked.get_by_text("That token was not accepted.").wait_for()
        asked.get_by_label("Token").fill(token)
        asked.get_by_role("button", name="Use this token").click()
        page.get_by_role("link", name="The lamp").wait_for()
        page.get_by_text("1 document", exact=True).wait_for()
        page.get_by_role("button", name="Choose files").wait_for(state="hidden")
        page.get_by_role("button", name="Remove The lamp").wait_for(state="hidden")
        held = page.evaluate("JSON.stringify([location.href, localStorage, document.cookie])")
        assert token not in held
        assert not any(token in request for request in tab.requests)
        tab.open("#/graph")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Open the whole graph").click()
        assert saved.value.path().read_text(encoding="utf8").startswith("<!DOCTYPE html>")
        tab.expected.append("403")
        tab.open("#/settings")
        page.get_by_text("This token may not do that.").first.wait_for()
        page.get_by_role("button", name="Forget it now").click()
        page.reload()
        asked.wait_for()


@pytest.mark.parametrize(
    ("view", "status", "said"),
    [
        ("documents", 500, "Something went wrong on the server."),
        ("graph", 429, "The server is busy."),
        ("communities", 404, "There is no such thing here."),
        ("usage", 403, "This token may not do that."),
        ("settings", 422, "The server did not accept this."),
    ],
)
def test_every_view_says_what_is_wrong_and_tries_again(
    tab: Tab, view: str, status: int, said: str
) -> None:
    problem = {"type": "about:blank", "title": "No", "status": status, "detail": "<b>not now</b>"}
    tab.expected.append(str(status))

    def refuse(route: Any) -> None:
        route.fulfill(status=status, json=problem, content_type="application/problem+json")

    tab.page.route("**/v1/**", refuse)
    page = tab.open(f"#/{view}")
    failure = page.get_by_role("alert").filter(has_text=said).first
    failure.wait_for()
    assert "<b>not now</b>" in failure.inner_text()
    tab.page.unroute("**/v1/**")
    while page.locator(".failure").count():
        page.get_by_role("button", name="Try again").first.click()
        tab.settled()
    assert page.locator("#main").inner_text()
