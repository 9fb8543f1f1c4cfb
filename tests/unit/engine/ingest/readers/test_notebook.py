from __future__ import annotations

import json

import pytest

from engine.errors import SourceError
from engine.ingest.document import Content, ReadOptions
from engine.ingest.readers.text import fence_code, read_notebook


def read(cells: list[object], **metadata: object) -> Content:
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4}
    return read_notebook(json.dumps(notebook).encode(), ReadOptions())


def code(source: object, *outputs: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def test_prose_stays_and_code_is_fenced_with_its_language() -> None:
    content = read(
        [{"cell_type": "markdown", "source": ["# 烬藻\n", "text"]}, code("x = 1")],
        language_info={"name": "julia"},
    )
    assert content.text == "# 烬藻\ntext\n\n```julia\nx = 1\n```"
    assert (content.title, content.shape) == ("烬藻", "markdown")


def test_text_outputs_are_kept_and_pictures_dropped() -> None:
    outputs = [
        {"output_type": "stream", "text": ["a\n", "b\n"]},
        {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}},
        {"output_type": "error", "ename": "KeyError", "evalue": "\x1b[31m'x'\x1b[0m"},
        {"output_type": "display_data", "data": {"image/png": "BBBB"}},
    ]
    text = read([code("f()", *outputs)]).text
    assert text.split("\n\n")[1:] == [
        "```text\na\nb\n```", "```text\n<Figure>\n```", "```text\nKeyError: 'x'\n```"
    ]  # fmt: skip


def test_a_long_output_is_cut_and_says_so() -> None:
    text = read([code("f()", {"output_type": "stream", "text": "line\n" * 5_000})]).text
    assert text.count("line") == 20
    assert text.endswith("…\n```")


def test_pictures_inside_prose_lose_their_bytes() -> None:
    cell = {"cell_type": "markdown", "source": "see ![a map](data:image/png;base64,AAAA) here"}
    assert read([cell]).text == "see ![a map] here"


def test_a_fence_is_longer_than_those_inside() -> None:
    assert fence_code("```\nx\n```", language="md") == "````md\n```\nx\n```\n````"


def test_the_notebooks_own_title_and_authors_come_first() -> None:
    cell = {"cell_type": "markdown", "source": "# Other"}
    content = read([cell], title="Mine", authors=[{"name": "Ann"}, {"name": "Bob"}])
    assert (content.title, content.metadata["author"]) == ("Mine", "Ann, Bob")


def test_the_older_format_is_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "input": "y", "outputs": []},
    ]
    data = json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}).encode()
    assert read_notebook(data, ReadOptions()).text == "## Old\n\n```python\ny\n```"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"[" * 100_000, "nested too deeply", id="deep"),
        pytest.param(b'{"a": 1}', "no cells", id="other JSON"),
        pytest.param(b'{"cells"', "broken", id="cut off"),
    ],
)
def test_what_is_no_notebook_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        read_notebook(data, ReadOptions())


def test_cells_of_any_shape_do_not_stop_the_others() -> None:
    assert read([1, None, {"source": {}}, code(None, 7, {"data": []}), code("ok")]).text == (
        "```python\nok\n```"
    )
