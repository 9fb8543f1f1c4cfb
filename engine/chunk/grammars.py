"""Source code as a tree, where its language's grammar is installed.

Knows which package holds which grammar; nothing of chunks.
"""

from __future__ import annotations

import logging
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

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
    """Parse `source` (UTF-8), errors included.

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
