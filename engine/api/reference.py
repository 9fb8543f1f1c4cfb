"""The API as a page: what `/v1/openapi.json` says, as HTML without scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_METHODS = ("get", "post", "put", "patch", "delete")
_REFERENCE = "#/components/schemas/"
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{title}: the API</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/css/page.css">
<link rel="stylesheet" href="/static/css/docs.css">
</head>
<body class="docs">
<main>
<h1>{title} {version}: the API</h1>
{description}
<p>For programs: <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>
<nav aria-label="Operations">
{contents}
</nav>
{operations}
<h2 id="schemas">Schemas</h2>
{schemas}
</main>
</body>
</html>
"""


def reference_page(description: Mapping[str, Any]) -> str:
    """Return the page of an OpenAPI description; every text of it is escaped."""
    operations = list(_operations(description))
    contents = "\n".join(
        f'<li><a href="#{_anchor(name)}"><code>{escape(name)}</code></a> '
        f"{escape(operation.get('summary', ''))}</li>"
        for name, operation in operations
    )
    schemas = description["components"]["schemas"]
    info = description["info"]
    return _PAGE.format(
        title=escape(info["title"]),
        version=escape(info["version"]),
        description=_paragraphs(info.get("description", "")),
        contents=f"<ul>\n{contents}\n</ul>",
        operations="\n".join(_operation(name, each) for name, each in operations),
        schemas="\n".join(_schema(name, schemas[name]) for name in sorted(schemas)),
    )


def _operations(description: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path, item in description["paths"].items():
        for method in _METHODS:
            if method in item:
                yield f"{method.upper()} {path}", item[method]


def _operation(name: str, operation: Mapping[str, Any]) -> str:
    parameters = [
        (one["name"], f"{one['in']}, {_type(one.get('schema', {}))}", one.get("description", ""))
        for one in operation.get("parameters", ())
    ]
    bodies = operation.get("requestBody", {}).get("content", {}).items()
    replies = [
        (status, _types(reply.get("content", {})), reply.get("description", ""))
        for status, reply in operation["responses"].items()
    ]
    return "\n".join(
        (
            f'<section id="{_anchor(name)}">',
            f"<h2><code>{escape(name)}</code></h2>",
            _paragraphs(operation.get("description") or operation.get("summary", "")),
            _table(("parameter", "type", "note"), parameters),
            *(f"<p>Body: {_types({kind: content})}</p>" for kind, content in bodies),
            _table(("status", "body", "meaning"), replies),
            "</section>",
        )
    )


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    fields = [
        (
            field if field in required else f"{field}?",
            _type(about),
            " ".join(filter(None, (about.get("description", ""), _limits(about)))),
        )
        for field, about in schema.get("properties", {}).items()
    ]
    return "\n".join(
        (
            f'<section id="schema-{escape(name)}">',
            f"<h3>{escape(name)}</h3>",
            _paragraphs(schema.get("description", "")),
            _table(("field", "type", "note"), fields),
            "</section>",
        )
    )


def _limits(about: Mapping[str, Any]) -> str:
    """Return the default and an example of a field, in words."""
    words = [f"Default: {json.dumps(about['default'])}."] if about.get("default") else []
    examples = about.get("examples") or ()
    words += [f"Example: {json.dumps(each, ensure_ascii=False)}." for each in examples[:1]]
    return " ".join(words)


def _types(content: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{escape(kind)}: {_type(about.get('schema', {}))}" for kind, about in content.items()
    )


def _type(schema: Mapping[str, Any]) -> str:
    """Return a schema's type as HTML, schemas of the page as links."""
    if reference := str(schema.get("$ref", "")).removeprefix(_REFERENCE):
        return f'<a href="#schema-{escape(reference)}">{escape(reference)}</a>'
    if options := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " | ".join(map(_type, options))
    if values := schema.get("enum"):
        return " | ".join(escape(json.dumps(each)) for each in values)
    if "const" in schema:
        return escape(json.dumps(schema["const"]))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return escape(kind if isinstance(kind, str) else " | ".join(kind))


def _table(heads: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> str:
    """Return a table; the second cell of a row is HTML."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    body = "\n".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{kind}</td><td>{_prose(note)}</td></tr>"
        for name, kind, note in rows
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _paragraphs(text: str) -> str:
    return "\n".join(f"<p>{_prose(each)}</p>" for each in text.strip().split("\n\n") if each)


def _prose(text: str) -> str:
    """Return a text as HTML, what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


_CODE = re.compile(r"`([^`\n]+)`")


def _anchor(name: str) -> str:
    return escape(name.replace(" ", "-").replace("/", "-").strip("-"))
