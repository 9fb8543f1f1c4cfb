"""The documentation's notebooks run from the first cell to the last, and hold no outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"


def shown_by(name: str) -> tuple[dict[str, Any], list[str]]:
    """Run a notebook: its names at the end, and what its cells show."""
    notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf8"))
    cells = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    assert all(not each["outputs"] and each["execution_count"] is None for each in cells)
    values: dict[str, Any] = {}
    shown: list[str] = []
    for cell in cells:
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), name, "exec"), values)  # noqa: S102
        if isinstance(last, ast.Expr):
            found = eval(compile(ast.Expression(last.value), name, "eval"), values)  # noqa: S307
            kinds = ("_repr_html_", "_repr_markdown_", "__repr__")
            shown.append(next(getattr(found, kind)() for kind in kinds if hasattr(found, kind)))
    return values, shown


def test_the_notebook_on_documents_gives_cited_answers() -> None:
    values, shown = shown_by("cited-answers")
    assert len(values["report"].added) == 2
    assert "Ada Brine" in values["answer"].text
    assert values["answer"].citations
    assert "Orrin Vale" in values["following"].text
    assert "Bea Hollow" in str(values["response"])
    assert any("**Sources**" in each for each in shown)


def test_the_notebook_on_the_graph_shows_it_and_answers_a_global_question() -> None:
    values, shown = shown_by("graph-and-overviews")
    assert "Ada Brine" in {entity.name for entity in values["graph"].entities}
    assert any(each.startswith("<svg") for each in shown)
    assert values["path"]
    assert values["overview"].mode == "global"
    assert values["overview"].citations
