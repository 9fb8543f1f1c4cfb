"""The graph as one HTML page that needs nothing but a browser and asks nothing of a network.

pyvis (vis-network) draws it. Of pyvis' page only the inlined library and the drawing script are
kept: its other parts point to servers or put text into the page unescaped. Everything a document
has a say in reaches the page as JSON and is shown as text, never as HTML; a content security
policy forbids every request. What is shown is chosen here, the page's own files are in `page/`.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections import Counter, defaultdict
from importlib import resources
from typing import TYPE_CHECKING

from .errors import GraphError, GraphInputError
from .layout import layout
from .model import GraphExport
from .picture import Picture, picture

if TYPE_CHECKING:
    from collections.abc import Mapping

CONTENT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
PALETTE = (
    "#4477aa", "#ee7733", "#228833", "#aa4499", "#33a0c4", "#cc3d4f", "#b8a02e", "#009988",
)  # fmt: skip
"""After Paul Tol's colour-blind-safe schemes, with enough contrast on white and on near-black."""

ALONE = "#8a94a6"
"""What stands in a community by itself."""

STRETCH = 1.45
"""Screens and labels are wide: distances grow sideways."""

CAPTION_CHARACTERS = 26
_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)


def to_html(export: GraphExport, *, title: str = "Knowledge graph", max_nodes: int = 2000) -> str:
    """One self-contained HTML page; the same graph gives the same page.

    Larger graphs are cut to the `max_nodes` entities that weigh most in the communities that weigh
    most, and the page says what was left out. Linked entities stand close, communities apart; the
    positions are computed here, so that the page draws at once and looks the same every time.

    Raises:
        GraphInputError: `max_nodes` is less than 1.
        GraphError: the installed pyvis writes pages that this module does not understand.
    """
    if max_nodes < 1:
        raise GraphInputError(f"max_nodes must be at least 1, not {max_nodes!r}")
    shown = picture(export, max_nodes=max_nodes)
    colours = _colours(shown)
    nodes, discs = _nodes(shown, colours)
    library, drawing = _pyvis_scripts(nodes, _edges(shown, colours))
    data = shown.facts | {
        "title": title,
        "colours": colours,
        "discs": discs,
        "groups": shown.groups,
    }
    return _page(title, data=data, library=library, drawing=drawing)


def _nodes(shown: Picture, colours: list[str]) -> tuple[list[dict[str, object]], list[list[int]]]:
    heaviest = max(shown.weights, default=0.0) or 1.0
    sizes = [5 + 21 * math.sqrt(weight / heaviest) for weight in shown.weights]
    placed = layout(
        [size + 7 for size in sizes],
        list(zip(shown.groups, shown.subgroups, strict=True)),
        edges={(a, b): weight for a, b, weight in shown.links},
        gap=5.0,
    )
    nodes: list[dict[str, object]] = [
        {
            "id": number,
            "caption": _caption(name),
            "x": round(x * STRETCH),
            "y": round(y),
            "size": round(size, 1),
            "color": colours[group],
        }
        for number, (name, group, size, (x, y)) in enumerate(
            zip(shown.names, shown.groups, sizes, placed.positions, strict=True)
        )
    ]
    discs = [
        [round(x * STRETCH), round(y), round(radius)]
        for key, (x, y, radius) in sorted(placed.discs.items())
        if len(key) == 1
    ]
    return nodes, discs


def _edges(shown: Picture, colours: list[str]) -> list[dict[str, object]]:
    heaviest = max((weight for _, _, weight in shown.links), default=1.0)
    across = sum(shown.groups[a] != shown.groups[b] for a, b, _ in shown.links)
    faint = round(min(0.24, max(0.07, 0.24 * math.sqrt(400 / max(1, across)))), 3)
    edges: list[dict[str, object]] = []
    for number, (a, b, weight) in enumerate(shown.links):
        inside = shown.groups[a] == shown.groups[b]
        colour = colours[shown.groups[a]] if inside else ALONE
        edges.append(
            {
                "id": number,
                "from": a,
                "to": b,
                "width": round(0.8 + 5 * math.sqrt(weight / heaviest), 2),
                "color": {"color": colour, "opacity": 0.5 if inside else faint},
            }
        )
    return edges


def _colours(shown: Picture) -> list[str]:
    """A colour a group: of the palette's, the least used among the groups it is linked with."""
    between: dict[int, Counter[int]] = defaultdict(Counter)
    for a, b, _ in shown.links:
        left, right = shown.groups[a], shown.groups[b]
        if left != right:
            between[left][right] += 1
            between[right][left] += 1
    beside: dict[int, Counter[str]] = defaultdict(Counter)
    colours: list[str] = []
    for group in range(max(shown.groups, default=-1) + 1):
        turn = PALETTE[group % len(PALETTE) :] + PALETTE[: group % len(PALETTE)]
        best = min(turn, key=lambda colour: beside[group][colour])
        colours.append(best if group < shown.communities else ALONE)
        for other, links in between[group].items():
            beside[other][best] += links
    return colours


def _caption(name: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return (
        text if len(text) <= CAPTION_CHARACTERS else text[: CAPTION_CHARACTERS - 1].rstrip() + "…"
    )


def _options() -> dict[str, object]:
    return {
        "physics": {"enabled": False},
        "layout": {"improvedLayout": False, "randomSeed": 1},
        "interaction": {
            "hover": True,
            "hideEdgesOnDrag": True,
            "hideEdgesOnZoom": True,
            "multiselect": False,
            "tooltipDelay": 150,
        },
        "nodes": {
            "shape": "dot",
            "borderWidth": 1.5,
            "borderWidthSelected": 4,
        },
        "edges": {"smooth": False, "selectionWidth": 2, "hoverWidth": 0.5},
    }


def _pyvis_scripts(
    nodes: list[dict[str, object]], edges: list[dict[str, object]]
) -> tuple[str, str]:
    """The vis-network library and the script that draws, out of the page that pyvis writes.

    Nodes and edges are filled in directly, since `add_edge` compares with every edge before it.
    """
    from pyvis.network import Network

    network = Network(cdn_resources="in_line")
    network.nodes, network.edges = nodes, edges
    network.options = _options()
    scripts = _SCRIPT.findall(network.generate_html())
    libraries = [script for script in scripts if "@version" in script and "vis-network" in script]
    drawings = [script for script in scripts if "function drawGraph()" in script]
    if len(libraries) != 1 or len(drawings) != 1:
        raise GraphError("the installed pyvis writes pages of an unknown form; install pyvis 0.3.2")
    return libraries[0], drawings[0]


def _page(title: str, *, data: Mapping[str, object], library: str, drawing: str) -> str:
    files = resources.files(__package__) / "page"
    text = (files / "page.html").read_text(encoding="utf8")
    parts = {
        "POLICY": html.escape(CONTENT_POLICY),
        "TITLE": html.escape(_plain(title)),
        "STYLE": (files / "page.css").read_text(encoding="utf8"),
        "DATA": _script_json(data),
        "LIBRARY": library,
        "DRAWING": drawing,
        "SCRIPT": (files / "page.js").read_text(encoding="utf8"),
    }
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: parts[match.group(1)], text)


def _plain(text: str) -> str:
    """Without control characters and lone surrogates, which no encoding of the page can hold."""
    return "".join(c if c.isprintable() or c == " " else " " for c in text)


def _script_json(data: Mapping[str, object]) -> str:
    """JSON that no HTML or script parser can mistake for its own end: all but ASCII as escapes."""
    text = json.dumps(data, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
