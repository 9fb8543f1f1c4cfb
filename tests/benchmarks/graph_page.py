"""How large is the graph page, and how quick, at 2,000, 10,000 and 50,000 generated entities?

    python tests/benchmarks/graph_page.py [entities …]

In a headless Chromium: the file's size, the processor time to write it, the time to the first
paint (bubbles are drawn) and until everything can be opened, to open the heaviest community, one
inside it and an entity found by search, and memory: of the page's script, and of its whole process
(`tab MB`, as far as the system tells). Times in seconds, the middle of three.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from generated_graph import generated  # noqa: E402

from graph.export.html import to_html  # noqa: E402

SIZES = (2_000, 10_000, 50_000)
RUNS = 3
TARGET_SECONDS, TARGET_MEGABYTES = 3.0, 40.0
MARK = "name => performance.getEntriesByName(name)[0].startTime"
OPEN = """async (kind) => {
    const place = document.documentElement.dataset, before = place.open, begun = performance.now();
    document.querySelector(kind).click();
    while (place.open === before) await new Promise(requestAnimationFrame);
    return performance.now() - begun;
}"""
SEARCH = """async (name) => {
    const begun = performance.now(), box = document.getElementById("search");
    box.focus();
    box.value = name;
    box.dispatchEvent(new Event("input"));
    const found = () => document.querySelector("#results [role=option]");
    while (!found()) await new Promise(requestAnimationFrame);
    found().click();
    const head = () => document.querySelector("#panel h2")?.textContent;
    while (head() !== name) await new Promise(requestAnimationFrame);
    return performance.now() - begun;
}"""


def measured(browser: Any, file: Path, name: str) -> dict[str, float]:
    """One visit."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(file.as_uri(), wait_until="commit")
    page.wait_for_function("() => document.documentElement?.dataset.ready")
    client = page.context.new_cdp_session(page)
    found = {
        "first paint": page.evaluate(MARK, "graph-drawn") / 1000,
        "ready": page.evaluate(MARK, "graph-ready") / 1000,
        "open": page.evaluate(OPEN, "#panel .community") / 1000,
        "open inside": page.evaluate(OPEN, "#panel .community") / 1000,
        "search": page.evaluate(SEARCH, name) / 1000,
    }
    client.send("HeapProfiler.collectGarbage")
    found["script MB"] = client.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    found["tab MB"] = resident(browser)
    page.close()
    return found


def resident(browser: Any) -> float:
    """What the largest process of the browser that draws a page takes, in megabytes."""
    client = browser.new_browser_cdp_session()
    processes = client.send("SystemInfo.getProcessInfo")["processInfo"]
    client.detach()
    sizes = [0.0]
    for process in processes:
        status = Path(f"/proc/{process['id']}/status")
        if process["type"] == "renderer" and status.exists():
            held = [line for line in status.read_text().splitlines() if line.startswith("VmRSS")]
            sizes += [int(line.split()[1]) / 1000 for line in held]
    return max(sizes)


def main() -> None:
    """Print a line a size."""
    from playwright.sync_api import sync_playwright

    sizes = [int(one) for one in sys.argv[1:]] or SIZES
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking"],
        )
        for size in sizes:
            graph = generated(size)
            file = Path(folder) / f"{size}.html"
            begun = time.process_time()
            file.write_text(to_html(graph), encoding="utf8")
            writing = time.process_time() - begun
            lightest = min(graph.entities, key=lambda one: (one.mention_count, one.id)).name
            runs = [measured(browser, file, lightest) for _ in range(RUNS)]
            middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
            megabytes = file.stat().st_size / 1e6
            figures = ", ".join(f"{key} {value:.2f}" for key, value in middle.items())
            print(
                f"{size:,} entities, {len(graph.relations):,} relations: {megabytes:.1f} MB, "
                f"written in {writing:.1f}; {figures}"
            )
            is_met = megabytes <= TARGET_MEGABYTES and middle["first paint"] <= TARGET_SECONDS
            print("  within the targets" if is_met else "  OVER THE TARGETS")
        browser.close()


if __name__ == "__main__":
    main()
