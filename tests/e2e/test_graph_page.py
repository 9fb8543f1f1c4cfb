"""The graph page in a real browser: it draws, it finds, it quotes, and nothing in it does harm.

Needs the Debian package `chromium` (or a Chrome) and `playwright`. On a build server their absence
is a failure, elsewhere these tests are skipped with a word on what to install.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph.communities import communities
from graph.model import (
    Chunk,
    Entity,
    Evidence,
    Finding,
    GraphExport,
    Relation,
    Report,
    content_id,
)
from graph.visualise import to_html

HOSTILE = (
    "<script>window.harm=1</script>",
    '"></script><img src="http://leak.invalid/x.png" onerror="window.harm=2">',
    "javascript:window.harm=3",
    "</title><iframe src='http://leak.invalid/'></iframe>",
    "line\u2028separator",
    "__proto__",
)
PEOPLE = ("Lin Ruoxi", "Maeve Tolland", "Jory Pell", "林若溪", "海燕站", "Port Ansgar")
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
    found = communities(list(ids.values()), edges, max_size=8, seed=1)
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
    return GraphExport(
        entities=tuple(entities),
        relations=tuple(relations),
        communities=tuple(found),
        reports=tuple(reports),
        chunks=chunks,
    )


def missing(what: str) -> None:
    message = f"{what} is not installed: the graph page was not tested in a browser"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if path is None:
        missing("a browser (Debian package 'chromium')")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        missing("the Python package 'playwright'")
    with sync_playwright() as driver:
        running = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield running
        running.close()


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """The page with what it tried to do: `.requests`, `.dialogs`, `.problems`."""
    file = tmp_path / "graph.html"
    file.write_text(to_html(hostile_export(), title=f"Hostile {HOSTILE[3]}"), encoding="utf8")
    context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    tab = context.new_page()
    tab.requests, tab.dialogs, tab.problems = [], [], []
    tab.on("request", lambda request: tab.requests.append(request.url))
    tab.on("dialog", lambda dialog: (tab.dialogs.append(dialog.message), dialog.dismiss()))
    tab.on("pageerror", lambda error: tab.problems.append(str(error)))
    tab.on("console", lambda message: tab.problems.append(message.text))
    tab.goto(file.as_uri())
    tab.wait_for_function("document.documentElement.dataset.drawn !== undefined")
    yield tab
    assert tab.requests == [file.as_uri()]
    assert (tab.dialogs, tab.problems) == ([], [])
    context.close()


def position(page: Any, name: str) -> tuple[float, float]:
    """Where an entity is drawn, in window pixels."""
    x, y = page.evaluate(
        """name => {
            const data = JSON.parse(document.getElementById("graph-data").textContent);
            const id = data.entities.findIndex((entity) => entity.name === name);
            const place = network.canvasToDOM(network.getPosition(id));
            const box = document.getElementById("mynetwork").getBoundingClientRect();
            return [place.x + box.x, place.y + box.y];
        }""",
        name,
    )
    return x, y


def test_every_node_is_drawn(page: Any) -> None:
    assert page.evaluate("document.documentElement.dataset.drawn") == str(len(NAMES))
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


def test_clicking_a_node_shows_its_evidence_with_the_document(page: Any) -> None:
    page.mouse.click(*position(page, "Lin Ruoxi"))
    panel = page.locator("#panel")
    assert panel.locator("h2").inner_text() == "Lin Ruoxi"
    assert "Lin Ruoxi was seen with Maeve Tolland on day 0." in panel.inner_text()
    assert f"Diary {HOSTILE[1]}" in panel.locator("cite").first.inner_text()


def test_search_finds_a_name_from_the_keyboard_alone(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("maeve")
    assert page.locator("#results [role=option]").all_inner_texts() == ["Maeve Tolland"]
    page.keyboard.press("Enter")
    assert page.locator("#panel h2").inner_text() == "Maeve Tolland"
    page.keyboard.press("Escape")
    assert page.locator("#panel .community").count() > 0


def test_search_finds_chinese_names(page: Any) -> None:
    page.locator("#search").fill("海燕")
    assert page.locator("#results [role=option]").all_inner_texts() == ["海燕站"]


def test_a_community_shows_its_report_and_its_members(page: Any) -> None:
    page.locator("#panel .community").first.click()
    text = page.locator("#panel").inner_text()
    assert f"About {HOSTILE[1]}" in text
    assert f"A summary {HOSTILE[0]}" in text
    page.locator("#panel .names button").first.click()
    assert page.locator("#panel h2").inner_text() in NAMES


def test_hostile_names_stay_text_wherever_they_are_shown(page: Any) -> None:
    before = page.evaluate("document.querySelectorAll('script, iframe, img, svg, a').length")
    for name in HOSTILE:
        x, y = position(page, name)
        page.mouse.move(x, y)
        page.mouse.click(x, y)
        assert page.locator("#panel h2").inner_text().split() == name.split()
        page.locator("#search").fill(name[:6])
        page.keyboard.press("Escape")
    for number in range(page.locator("#panel .community").count()):
        page.locator("#panel .community").nth(number).click()
        page.keyboard.press("Escape")
    after = page.evaluate("document.querySelectorAll('script, iframe, img, svg, a').length")
    assert after == before
    assert page.evaluate("window.harm") is None
    assert page.evaluate("Object.prototype.name") is None


def test_the_policy_stops_requests_that_a_script_would_make(page: Any) -> None:
    blocked = page.evaluate("fetch('http://leak.invalid/').then(() => 'sent', () => 'stopped')")
    page.wait_for_timeout(100)
    assert [problem for problem in page.problems if "Content Security Policy" in problem]
    page.problems.clear()
    assert blocked == "stopped"


def test_the_page_is_dark_where_the_reader_likes_it_dark(page: Any) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) != light
