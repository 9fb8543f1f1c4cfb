"""Graph page: one offline HTML file.

pyvis (vis-network) draws it. Of pyvis' page only the inlined library and the drawing script are
kept: its other parts point to servers or put text into the page unescaped. Everything a document
has a say in reaches the page as JSON, plain or compressed, and is shown as text, never as HTML. A
content security policy forbids every request and every script but the page's own, by their hashes.

    page tables ─→ first look (JSON) ─→ drawn at once
                 └ columns, texts (JSON, deflate, base64) ─→ unpacked when they are needed

What the page knows is chosen in `page_tables`; its own files are in `page/`.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

from .errors import GraphError, GraphInputError
from .model import GraphExport
from .overview import ALONE
from .page_tables import PageTables, page_tables
from .subgraph import Subgraph

SCRIPTS = ("words", "tables", "pack", "scenes", "stage", "panel", "finder", "start")
"""The page's own script is these files of `page/`, in this order, in one scope."""

MAX_NODES = 50_000
_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)


def to_html(
    graph: GraphExport | Subgraph, *, title: str = "Knowledge graph", max_nodes: int = MAX_NODES
) -> str:
    """One self-contained HTML page; the same graph gives the same page.

    It opens on the communities; what is inside one is drawn when it is opened, so that the page
    stays quick at 50,000 entities. Larger graphs are cut to the `max_nodes` entities that weigh
    most; evidence sentences are bounded (`page_texts`); the page says what was left out.

    Raises:
        GraphInputError: `max_nodes` is less than 1.
        GraphError: the installed pyvis writes pages that this module does not understand.
    """
    if max_nodes < 1:
        raise GraphInputError(f"max_nodes must be at least 1, not {max_nodes!r}")
    part = graph if isinstance(graph, Subgraph) else Subgraph(export=graph)
    tables = page_tables(part, title=title, max_nodes=max_nodes)
    library, drawing = _pyvis_scripts(*_first_drawing(tables))
    return _page(title, tables=tables, library=library, drawing=drawing)


def _first_drawing(
    tables: PageTables,
) -> tuple[list[Mapping[str, object]], list[Mapping[str, object]]]:
    """Build the bubbles for pyvis; labels are drawn by the page."""
    bubbles, links = tables.first["bubbles"], tables.first["links"]
    if not isinstance(bubbles, list) or not isinstance(links, list) or tables.first["is_flat"]:
        return [], []
    nodes: list[Mapping[str, object]] = [
        {
            "id": number,
            "x": bubble["x"],
            "y": bubble["y"],
            "size": bubble["radius"],
            "color": bubble["colour"],
        }
        for number, bubble in enumerate(bubbles)
    ]
    edges: list[Mapping[str, object]] = [
        {"id": number, "from": a, "to": b, "color": {"color": ALONE, "opacity": 0.3}}
        for number, (a, b, _) in enumerate(links)
    ]
    return nodes, edges


def _options() -> dict[str, object]:
    return {
        "physics": {"enabled": False},
        "layout": {"improvedLayout": False, "randomSeed": 1},
        "interaction": {
            "hover": False,
            "hideEdgesOnDrag": False,
            "hideEdgesOnZoom": False,
            "multiselect": False,
            "selectable": False,
            "dragNodes": False,
        },
        "nodes": {"shape": "dot", "borderWidth": 1.5},
        "edges": {"smooth": False},
    }


def _pyvis_scripts(
    nodes: Sequence[Mapping[str, object]], edges: Sequence[Mapping[str, object]]
) -> tuple[str, str]:
    """Extract vis-network and the drawing script from pyvis's page.

    Nodes and edges are filled in directly, since `add_edge` compares with every edge before it.
    """
    from pyvis.network import Network

    network = Network(cdn_resources="in_line")
    network.nodes, network.edges = list(nodes), list(edges)
    network.options = _options()
    scripts = _SCRIPT.findall(network.generate_html())
    libraries = [script for script in scripts if "@version" in script and "vis-network" in script]
    drawings = [script for script in scripts if "function drawGraph()" in script]
    if len(libraries) != 1 or len(drawings) != 1:
        raise GraphError("the installed pyvis writes pages of an unknown form; install pyvis 0.3.2")
    return libraries[0], drawings[0]


def _page(title: str, *, tables: PageTables, library: str, drawing: str) -> str:
    files = resources.files(__package__) / "page"
    own = "\n".join((files / f"{name}.js").read_text(encoding="utf8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{own}\n}})();'
    scripts = {"LIBRARY": library, "DRAWING": drawing, "SCRIPT": script}
    scripts = {name: text.replace("\r\n", "\n") for name, text in scripts.items()}
    blocks = {"columns": tables.columns} | {
        f"texts-{number}": block for number, block in enumerate(tables.texts)
    }
    parts = scripts | {
        "POLICY": html.escape(_policy(scripts.values())),
        "TITLE": html.escape(_plain(title)),
        "STYLE": (files / "page.css").read_text(encoding="utf8"),
        "FIRST": _script_json(tables.first),
        "BLOCKS": "\n".join(
            f'<script type="text/plain" id="{name}">{_packed(block)}</script>'
            for name, block in blocks.items()
        ),
    }
    text = (files / "page.html").read_text(encoding="utf8")
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: parts[match.group(1)], text)


def _policy(scripts: Iterable[str]) -> str:
    """Return the content security policy: no requests, only these scripts."""
    hashes = (
        base64.b64encode(hashlib.sha256(text.encode("utf8")).digest()).decode() for text in scripts
    )
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _packed(table: Mapping[str, object]) -> str:
    """JSON, deflated, in base64: letters that mean nothing to any parser of HTML."""
    text = json.dumps(table, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf8", "replace"), 6)).decode()


def _plain(text: str) -> str:
    """Strip control characters and lone surrogates."""
    return "".join(c if c.isprintable() or c == " " else " " for c in text)


def _script_json(data: Mapping[str, object]) -> str:
    """Serialise JSON for inline scripts, non-ASCII and markup escaped."""
    text = json.dumps(data, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
