"""Reference pages made from the code, when the site is built.

MkDocs calls `on_files`. Nothing that is made here is committed: the pages follow the code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import typer  # noqa: E402
from mkdocs.config.defaults import MkDocsConfig  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402
from pydantic import BaseModel  # noqa: E402
from pydantic_core import PydanticUndefined  # noqa: E402

import loregraph  # noqa: E402
from engine.api.app import create_app  # noqa: E402
from engine.cli.main import app as command_line  # noqa: E402
from engine.tools.definitions import TOOLS  # noqa: E402
from graph.errors import GraphError  # noqa: E402

HELP_WIDTH = 100
GENERATED = "This page is generated from the code.\n"
PYTHON_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Engine": ("KnowledgeEngine", "Memory", "Settings"),
    "Results": ("Answer", "Citation", "Passage", "IngestReport", "Turn", "WebResult"),
    "Graph": (
        *("KnowledgeGraphIndex", "SqlGraphStore", "Entity", "Relation", "Evidence"),
        *("Community", "Report"),
    ),
    "Search in rounds": ("SearchWorkflow", "SearchKnowledge", "AskClarification", "DirectAnswer"),
    "Parts for LlamaIndex": (
        *(
            "LoregraphMemory",
            "LoregraphMemoryBlock",
            "LocalRetriever",
            "RerankPostprocessor",
            "ExtractionTransform",
            "LanguageExtractor",
        ),
    ),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, the repository's own documents and its pictures."""
    pages = {
        "reference/python.md": python_reference(),
        "reference/cli.md": command_line_reference(),
        "reference/settings.md": settings_reference(),
        "reference/rest.md": rest_reference(open_api()),
        "reference/tools.md": tools_reference(),
        "reference/errors.md": errors_reference(),
        "architecture.md": (ROOT / "ARCHITECTURE.md").read_text(encoding="utf8"),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf8"),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    for picture in sorted((ROOT / ".github").glob("*.png")):
        name = f"images/{picture.name}"
        files.append(File.generated(config, name, abs_src_path=str(picture)))
    return files


def python_reference() -> str:
    """Every public name of `loregraph`, from the module that defines it."""
    parsers = tuple(name for name in loregraph.__all__ if name.endswith("NodeParser"))
    sections = {**PYTHON_SECTIONS, "Node parsers": parsers}
    parts = [
        "# Python reference",
        f"{GENERATED}\nImport everything from `loregraph`. Errors have [a page of their own]"
        "(errors.md).",
    ]
    shown = {name for names in sections.values() for name in names}
    missing = set(loregraph.__all__) - shown - {error.__name__ for error, _ in error_tree()}
    if missing:
        raise ValueError(f"public names without a section in the reference: {sorted(missing)}")
    for title, names in sections.items():
        parts.append(f"## {title}")
        parts += [f"::: {getattr(loregraph, name).__module__}.{name}" for name in names]
    whole = "KnowledgeEngine\n    options:\n      inherited_members: true"
    parts = [part.replace(".KnowledgeEngine", f".{whole}") for part in parts]
    return "\n\n".join(parts) + "\n"


def command_line_reference() -> str:
    """The help of every command."""
    parts = ["# Command line reference", GENERATED]
    for name, text in commands(typer.main.get_command(command_line), "loregraph"):
        parts.append(f"## {name}\n\n```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def commands(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """Full name and help of a command and of all below it."""
    context = command.context_class(command, info_name=name, max_content_width=HELP_WIDTH)
    context.terminal_width = HELP_WIDTH
    yield name, command.get_help(context)
    for below, child in sorted(getattr(command, "commands", {}).items()):
        yield from commands(child, f"{name} {below}")


def settings_reference() -> str:
    """Every setting: its type, default and limits, with its comment in `configs/local.yaml`."""
    comments = setting_comments((ROOT / "configs" / "local.yaml").read_text(encoding="utf8"))
    parts = [
        "# Settings reference",
        f"{GENERATED}\nA profile is a YAML file of these sections. `LOREGRAPH_<SECTION>__<KEY>` in"
        " the environment overrides a profile. An unknown key is an error.",
    ]
    for section, field in loregraph.Settings.model_fields.items():
        model = field.annotation
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            continue
        rows = [
            f"| `{key}` | {cell(type_name(one.annotation))} | {cell(default_of(one))} "
            f"| {cell(limits_of(one))} | {comments.get((section, key), '').replace('|', 'or')} |"
            for key, one in model.model_fields.items()
        ]
        heading = "| key | type | default | limits | note |\n|---|---|---|---|---|"
        told = " ".join((model.__doc__ or "").split())
        parts.append(f"## {section}\n\n{told}\n\n{heading}\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def setting_comments(profile: str) -> dict[tuple[str, str], str]:
    """The comments of a profile's lines, by section and key."""
    comments, section, key = {}, "", ""
    for line in profile.splitlines():
        code, _, comment = line.partition("#")
        name = code.partition(":")[0].strip()
        if code and not code[0].isspace():
            section, key = name, ""
        elif name:
            key = name
        if section and key and comment.strip():
            comments[section, key] = f"{comments.get((section, key), '')} {comment.strip()}".strip()
    return comments


def type_name(annotation: Any) -> str:
    """An annotation as the code spells it."""
    plain = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return plain if "[" not in str(annotation) else str(annotation).replace("typing.", "")


def default_of(field: Any) -> str:
    """A field's default as a profile writes it."""
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    return json.dumps(value, ensure_ascii=False, default=str)


def limits_of(field: Any) -> str:
    """The limits of a number or the pattern of a text."""
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤", "pattern": "matches"}
    found = [
        f"{sign} {getattr(limit, name)}"
        for limit in field.metadata
        for name, sign in signs.items()
        if getattr(limit, name, None) is not None
    ]
    return ", ".join(found)


def cell(text: str) -> str:
    """A text as code in one cell of a table."""
    return f"`{text}`" if text else ""


def open_api() -> dict[str, Any]:
    """The server's description of itself."""
    light = {"LOREGRAPH_EMBEDDING__KIND": "none", "LOREGRAPH_GRAPH__SPACY_MODEL": "none"}
    with TemporaryDirectory() as folder:
        settings = loregraph.Settings.load(environment=light)
        return create_app(Path(folder) / "library", settings).openapi()


def rest_reference(description: Mapping[str, Any]) -> str:
    """Paths, parameters, bodies and replies of the REST API."""
    parts = ["# REST reference", GENERATED, description["info"]["description"]]
    for path, methods in sorted(description["paths"].items()):
        for method, operation in methods.items():
            if method in {"get", "post", "put", "patch", "delete"}:
                parts.append(operation_text(f"{method.upper()} {path}", operation))
    parts.append("## Schemas")
    for name, schema in sorted(description["components"]["schemas"].items()):
        parts.append(f"### {name}\n\n{schema.get('description', '')}\n\n{properties(schema)}")
    return "\n\n".join(parts) + "\n"


def operation_text(title: str, operation: Mapping[str, Any]) -> str:
    """One operation: what it does, takes and gives."""
    lines = [f"## `{title}`", operation.get("summary", ""), operation.get("description", "")]
    rows = [
        f"| `{one['name']}` | {one['in']} | {cell(schema_name(one.get('schema', {})))} "
        f"| {line(one.get('description', ''))} |"
        for one in operation.get("parameters", ())
    ]
    if rows:
        lines.append("| parameter | in | type | note |\n|---|---|---|---|\n" + "\n".join(rows))
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        lines.append(f"Body (`{kind}`): `{schema_name(content.get('schema', {}))}`")
    replies = [
        f"| {status} | {line(reply.get('description', ''))} "
        f"| {cell(', '.join(schema_name(c.get('schema', {})) for c in contents(reply)))} |"
        for status, reply in operation["responses"].items()
    ]
    lines.append("| status | meaning | body |\n|---|---|---|\n" + "\n".join(replies))
    return "\n\n".join(text for text in lines if text)


def contents(reply: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The bodies that a reply may have."""
    return list(reply.get("content", {}).values())


def schema_name(schema: Mapping[str, Any]) -> str:
    """A short name of a JSON schema."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " | ".join(dict.fromkeys(schema_name(option) for option in options))
    if schema.get("type") == "array":
        return f"array of {schema_name(schema.get('items', {}))}"
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    return str(schema.get("type", schema.get("title", "any")))


def properties(schema: Mapping[str, Any]) -> str:
    """A table of an object's properties."""
    required = schema.get("required", ())
    rows = [
        f"| `{name}` | {cell(schema_name(one))} | {'yes' if name in required else ''} "
        f"| {line(one.get('description', ''))} |"
        for name, one in schema.get("properties", {}).items()
    ]
    if not rows:
        return cell(schema_name(schema))
    return "| field | type | required | note |\n|---|---|---|---|\n" + "\n".join(rows)


def line(text: str) -> str:
    """A text in one line of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def tools_reference() -> str:
    """The tools that agents get, over MCP and from `engine.tools()`."""
    parts = ["# Tools for agents", GENERATED]
    for tool in TOOLS:
        kind = "changes the library" if tool.writes else "reads only"
        schema = tool.arguments.model_json_schema()
        parts.append(f"## {tool.name}\n\n{tool.description}\n\n*{kind}*\n\n{properties(schema)}")
    return "\n\n".join(parts) + "\n"


def error_tree() -> list[tuple[type[Exception], int]]:
    """Every error of the engine with its depth below the root."""
    found: list[tuple[type[Exception], int]] = []

    def walk(error: type[Exception], depth: int) -> None:
        found.append((error, depth))
        for one in error.__subclasses__():
            if one.__module__ == error.__module__:
                walk(one, depth + 1)

    walk(loregraph.EngineError, 0)
    return found


def errors_reference() -> str:
    """The tree of errors."""
    rows = [
        f"| {'&nbsp;' * 4 * depth}`{error.__name__}` | {line(error.__doc__ or '')} |"
        for error, depth in error_tree()
    ]
    rows.append(f"| `{GraphError.__name__}` | {line(GraphError.__doc__ or '')} |")
    return (
        f"# Errors\n\n{GENERATED}\nAll errors of the engine derive from `EngineError` and can be"
        " imported from `loregraph`. A message says what failed, the value, and what to do.\n\n"
        "`graph`, used by itself, raises `GraphError`; the engine maps it to `GraphStageError`.\n\n"
        "| error | when |\n|---|---|\n" + "\n".join(rows) + "\n\n## Exit codes\n\n"
        "| code | meaning |\n|---|---|\n| 0 | done |\n| 1 | an error; one line says which |\n"
        "| 2 | wrong usage |\n| 3 | part of it is not done: a source failed, or a chunk is pending"
        " |\n| 130 | interrupted |\n"
    )
