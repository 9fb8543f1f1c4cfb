"""Chunking of source code by functions, methods and classes, each with its comments.

Definitions come from the syntax tree where the grammar of the language is installed (extra `code`),
else from blank lines and indentation.
"""

from __future__ import annotations

import logging
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING

from .merging import Limits, Unit, line_spans, merge_short, pack_units, split_at
from .span_parser import ContextSource, Measure, Span, SpanNodeParser

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

_LOGGER = logging.getLogger("loregraph.chunk")
_GRAMMARS = {
    "bash": "tree_sitter_bash",
    "c": "tree_sitter_c",
    "cpp": "tree_sitter_cpp",
    "csharp": "tree_sitter_c_sharp",
    "go": "tree_sitter_go",
    "java": "tree_sitter_java",
    "javascript": "tree_sitter_javascript",
    "kotlin": "tree_sitter_kotlin",
    "php": "tree_sitter_php",
    "python": "tree_sitter_python",
    "ruby": "tree_sitter_ruby",
    "rust": "tree_sitter_rust",
    "scala": "tree_sitter_scala",
    "swift": "tree_sitter_swift",
    "tsx": "tree_sitter_typescript",
    "typescript": "tree_sitter_typescript",
}
_OTHER_NAMES = {
    "c#": "csharp", "c++": "cpp", "cs": "csharp", "golang": "go", "js": "javascript",
    "jsx": "javascript", "kt": "kotlin", "py": "python", "rb": "ruby", "rs": "rust",
    "sh": "bash", "shell": "bash", "ts": "typescript", "zsh": "bash",
}  # fmt: skip
_ENTRY_POINTS = {"php": "language_php", "tsx": "language_tsx", "typescript": "language_typescript"}
_MOST_BYTES = 5_000_000
"""A longer source is generated or data; its tree would take gigabytes."""


def syntax_tree(source: bytes, language: str) -> Tree | None:
    """Parse source code (UTF-8) with its tree-sitter grammar, errors included.

    None without a grammar for `language` or for generated-size sources.
    """
    grammar = _grammar(_OTHER_NAMES.get(language.lower(), language.lower()))
    if grammar is None or len(source) > _MOST_BYTES:
        return None
    from tree_sitter import Parser

    return Parser(grammar).parse(source)


@cache
def _grammar(language: str) -> Language | None:
    package = _GRAMMARS.get(language)
    if package is None:
        return None
    try:
        from tree_sitter import Language

        module = import_module(package)
    except ModuleNotFoundError as error:
        _LOGGER.warning("%s code is cut at blank lines, not at its functions: %s", language, error)
        return None
    return Language(getattr(module, _ENTRY_POINTS.get(language, "language"))())


_DEFINITION_TYPES = """
    abstract_class_declaration class class_declaration class_definition class_specifier
    companion_object constructor_declaration decorated_definition enum_declaration enum_definition
    enum_item enum_specifier export_statement extension_declaration function_declaration
    function_definition function_item generator_function_declaration impl_item
    interface_declaration internal_module lexical_declaration macro_definition method
    method_declaration method_definition mod_item module namespace_declaration
    namespace_definition object_declaration object_definition property_declaration
    protocol_declaration record_declaration singleton_class singleton_method struct_declaration
    struct_item struct_specifier template_declaration trait_declaration trait_definition trait_item
    type_alias_declaration type_declaration union_specifier variable_declaration
"""
_DEFINITIONS = frozenset(_DEFINITION_TYPES.split())
_WRAPPERS = frozenset(
    {
        "ambient_declaration",
        "decorated_definition",
        "export_statement",
        "lexical_declaration",
        "template_declaration",
        "type_declaration",
        "variable_declaration",
    }
)
_BODY = re.compile(
    r"(?:body|block|declaration_list|compound_statement|body_statement|statement_block)$"
)
_COMMENT = re.compile(r"comment|^attribute_item$|^attribute_list$")
_KEYWORD = re.compile(
    r"\b(class|interface|struct|enum|trait|impl|module|mod|namespace|object|protocol|extension"
    r"|record|union|def|func|function|fn|fun|type|const)\b"
)
_DEEPEST = 24
_OPENS_A_BLOCK = re.compile(r"[^\s)\]}#/*]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Text with UTF-8 byte offsets of its characters; empty for single-byte text."""

    text: str
    data: bytes
    begins: Sequence[int]

    def at(self, byte: int) -> int:
        return bisect_left(self.begins, byte) if self.begins else byte

    def slice(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "replace")


def code_units(text: str, language: str) -> list[Unit]:
    """Split source code into units (functions, classes) in order; together they cover it."""
    data = text.encode("utf-8", "surrogatepass")
    tree = syntax_tree(data, language)
    if tree is None:
        return _blocks(text)
    begins: Sequence[int] = ()
    if len(data) != len(text):
        widths = (len(character.encode("utf-8", "surrogatepass")) for character in text)
        begins = array("q", accumulate(widths, initial=0))
    source = _Source(text=text, data=data, begins=begins)
    return _units(source, tree.root_node, 0, len(text), path=(), depth=0)


def _units(
    source: _Source, parent: Node, start: int, end: int, *, path: tuple[str, ...], depth: int
) -> list[Unit]:
    """Return the units directly in `parent`, comments attached to what follows."""
    begun = {source.at(byte): node for byte, node in _items(parent)}
    result: list[Unit] = []
    for first, last in split_at(source.text, start, end, sorted(begun)):
        node = begun.get(first)
        if node is None or depth >= _DEEPEST:
            result.append(Unit(start=first, end=last, path=path, kind="code"))
        else:
            result.append(_unit(source, node, first, last, path=path, depth=depth))
    return result


def _items(parent: Node) -> Iterator[tuple[int, Node]]:
    """Each child with the byte where it or the comments directly above it begin."""
    above: int | None = None
    row = -1
    for child in parent.named_children:
        adjoins = child.start_point[0] <= row + 1
        row = child.end_point[0]
        if _COMMENT.search(child.type):
            trails = (
                adjoins and above is None and child.start_point[0] == row and _shares_line(child)
            )
            if not trails and (above is None or not adjoins):
                above = child.start_byte
            continue
        begin = above if above is not None and adjoins else child.start_byte
        above = None
        yield begin, child


def _shares_line(comment: Node) -> bool:
    before = comment.prev_sibling
    return before is not None and before.end_point[0] == comment.start_point[0]


def _unit(
    source: _Source, node: Node, start: int, end: int, *, path: tuple[str, ...], depth: int
) -> Unit:
    inner = _definition(node)
    if inner is None:
        return Unit(start=start, end=end, path=path, kind="code")
    body = _body(inner)
    name = _name(source, inner)
    signature = source.slice(inner.start_byte, body.start_byte if body else inner.end_byte)
    label = _label(signature, name)
    own_path = (*path, label) if label else path
    unit = Unit(start=start, end=end, path=own_path, kind="code")
    if body is None:
        return unit
    carried = merge_short(signature).rstrip("{ ")
    parts = _units(source, body, start, end, path=own_path, depth=depth + 1)
    return replace(unit, parts=_joined_head(parts), carried=carried)


def _joined_head(parts: list[Unit]) -> tuple[Unit, ...]:
    """Join the signature with the body's first unit unless that is a definition."""
    if len(parts) > 1 and not parts[1].parts:
        return (replace(parts[1], start=parts[0].start), *parts[2:])
    return tuple(parts)


def _definition(node: Node) -> Node | None:
    """Return the definition of a node, or behind decorators, `export` or `template`."""
    while node.type in _WRAPPERS:
        inside = node.child_by_field_name("definition") or node.child_by_field_name("declaration")
        inside = inside or next(
            (each for each in node.named_children if each.type in _DEFINITIONS or _holds(each)),
            None,
        )
        if inside is None:
            return None
        if _holds(inside):
            return inside
        node = inside
    return node if node.type in _DEFINITIONS else None


def _holds(node: Node) -> bool:
    """Check whether a node declares a function, class or type."""
    if node.type in ("type_spec", "type_alias"):
        return True
    value = node.child_by_field_name("value") if node.type == "variable_declarator" else None
    return value is not None and ("function" in value.type or "class" in value.type)


def _body(node: Node) -> Node | None:
    body = node.child_by_field_name("body")
    if body is None and node.type in ("variable_declarator", "type_spec"):
        value = node.child_by_field_name("value") or node.child_by_field_name("type")
        return _body(value) if value is not None else None
    if body is None:
        body = next((each for each in node.named_children if _BODY.search(each.type)), None)
    return body


def _name(source: _Source, node: Node) -> str:
    """Return the declared name; C nests it in declarators."""
    found = node
    for _ in range(_DEEPEST):
        name = found.child_by_field_name("name")
        if name is not None:
            return source.slice(name.start_byte, name.end_byte)
        inside = found.child_by_field_name("declarator")
        if inside is None:
            break
        found = inside
    if found is not node:
        return source.slice(found.start_byte, found.end_byte)
    names = (each for each in node.named_children if each.type.endswith("identifier"))
    name = next(names, None)
    return source.slice(name.start_byte, name.end_byte) if name is not None else ""


def _label(signature: str, name: str) -> str:
    """`class Store`, `def add`; a name alone where the language has no word for it."""
    line = merge_short(signature)
    keyword = _KEYWORD.search(line)
    if keyword and keyword.group(1) == "impl":
        return line[keyword.start() :].rstrip("{ ")
    words = re.split(r"\W+", line)
    first_word = re.split(r"\W+", name, maxsplit=1)[0]
    before = words[: words.index(first_word)] if first_word in words else []
    keyword = _KEYWORD.search(" ".join(before))
    return f"{keyword.group(1)} {name}" if keyword else name


def _blocks(text: str) -> list[Unit]:
    """Split without a grammar: unindented lines after blank lines begin blocks."""
    outer: list[int] = []
    inner: list[int] = []
    blank = True
    for first, last in line_spans(text, 0, len(text)):
        empty = not text[first:last].strip()
        if blank and not empty:
            inner.append(first + len(text[first:last]) - len(text[first:last].lstrip()))
            if _OPENS_A_BLOCK.match(text, first, last) or text[first] in "#/*":
                outer.append(first)
        blank = empty
    result: list[Unit] = []
    at = 0
    for start, end in split_at(text, 0, len(text), outer):
        while at < len(inner) and inner[at] <= start:
            at += 1
        begin = at
        while at < len(inner) and inner[at] < end:
            at += 1
        parts = tuple(
            Unit(start=first, end=last, kind="code")
            for first, last in split_at(text, start, end, inner[begin:at])
        )
        result.append(
            Unit(start=start, end=end, kind="code", parts=parts if len(parts) > 1 else ())
        )
    return result


class CodeNodeParser(SpanNodeParser):
    """Code chunks: whole classes, functions and methods while they fit, small ones merged.

    Comments and decorators included.

    A class that does not fit falls into its methods, with its signature for their context; a
    function, into its statements, then lines. `Subject.language` names the grammar; without one
    that is installed, blank lines and indentation part the blocks. Chunks do not overlap. The path
    names what a chunk is in, from the outermost: `("class Store", "def add")`.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """Definition by definition."""
        limits = Limits(measure=Measure(subject.text, self.tokeniser), size_tokens=self.size_tokens)
        return pack_units(subject.text, code_units(subject.text, subject.language), limits)
