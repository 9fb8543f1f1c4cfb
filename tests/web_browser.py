"""The web page in a real browser, watched: whatever a test does, no request may leave the origin,
and nothing may go wrong in the page.

    with started_browser() as browser, watched(browser, server.url) as tab:
        tab.open("#/ask")
        tab.page.get_by_role("textbox").fill("…")

Needs the Debian package `chromium` (or a Chrome) and `playwright`. On a build server their absence
is a failure, elsewhere what needs them is skipped with a word on what to install.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
HARM = "window.harm"


def _missing(what: str) -> None:
    message = f"{what} is not installed: this was not tested in a browser"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@contextmanager
def started_browser() -> Iterator[Any]:
    """A headless browser."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        _missing("a browser (Debian package 'chromium')")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        _missing("the Python package 'playwright'")
    with sync_playwright() as driver:
        running = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield running
        running.close()


@dataclass(slots=True, kw_only=True)
class Tab:
    """A tab of the page and what happened in it; `expected` are parts of messages that are fine."""

    page: Any
    url: str
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def open(self, address: str = "") -> Any:
        """Go there, and wait until the view is drawn."""
        self.page.goto(f"{self.url}/{address}")
        self.page.locator("#main h1").first.wait_for(state="attached")
        return self.page

    def ask(self, question: str, *, wait: bool = True) -> None:
        """Type a question and send it; with `wait` until it is answered."""
        box = self.page.get_by_role("textbox", name="Question")
        box.fill(question)
        box.press("Enter")
        if wait:
            answer = self.page.get_by_role("article", name=question, exact=True)
            answer.and_(self.page.locator("[aria-busy=false]")).locator(".answer-foot").wait_for()

    def settled(self) -> None:
        """Wait until nothing is loading any more."""
        self.page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")

    @contextmanager
    def watched(self) -> Iterator[Tab]:
        """A test's time in this tab; at its end all that it asked for and that failed counts."""
        for record in (self.requests, self.problems, self.expected):
            record.clear()
        try:
            yield self
            elsewhere = [one for one in self.requests if not one.startswith(self._own)]
            failed = [
                one for one in self.problems if not any(part in one for part in self.expected)
            ]
            assert (elsewhere, self.page.evaluate(HARM), failed) == ([], None, [])
        finally:
            self._forget()

    @property
    def _own(self) -> tuple[str, ...]:
        return (f"{self.url}/", "data:", "blob:", "about:")

    def _forget(self) -> None:
        """Leave the tab as a new one is."""
        self.page.unroute_all(behavior="ignoreErrors")
        if self.page.url.startswith(self.url):
            self.page.evaluate(_FORGET)
        self.page.goto("about:blank")


_FORGET = """async () => {
    const { forgetAll } = await import("/static/js/session.js");
    forgetAll();
    localStorage.clear();
    sessionStorage.clear();
}"""


@contextmanager
def opened(browser: Any, url: str, **options: Any) -> Iterator[Tab]:
    """A tab at a server, which several tests may use one after the other: `with tab.watched()`."""
    chosen = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB"} | options
    context = browser.new_context(reduced_motion="reduce", **chosen)
    context.set_default_timeout(30_000)
    tab = Tab(page=context.new_page(), url=url)
    context.on("request", lambda request: tab.requests.append(request.url))
    tab.page.on("dialog", lambda dialog: (tab.problems.append(dialog.message), dialog.dismiss()))
    tab.page.on("pageerror", lambda error: tab.problems.append(str(error)))
    tab.page.on("console", lambda message: tab.problems.append(message.text))
    tab.page.on("popup", lambda popup: tab.problems.append(f"opened {popup.url}"))
    yield tab
    context.close()


@contextmanager
def watched(browser: Any, url: str, **options: Any) -> Iterator[Tab]:
    """A tab of its own for one test, for another language, size or light."""
    with opened(browser, url, **options) as tab, tab.watched():
        yield tab
