"""Layout of the wheel: one package `loregraph` that holds `engine` and `graph`.

Build hook of hatchling. The packages are copied below `loregraph/`, and the few imports that name
them absolutely become relative, so that no module of a user's can be imported in their place.
An editable installation imports from the repository and is left alone.
"""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("engine", "graph")
_DEPRECATED = '''"""Deprecated: import the public names of this package from `loregraph`."""

from warnings import warn

import loregraph.{package} as _package


def __getattr__(name: str) -> object:
    value = getattr(_package, name)
    if not name.startswith("__"):
        message = f"importing {{name}} from '{package}' is deprecated: import it from 'loregraph'"
        warn(message, DeprecationWarning, stacklevel=2)
    return value
'''
"""Module that keeps the old import name of a package for one release."""
_IMPORT_FROM = re.compile(r"^(\s*)from (engine|graph)(?=[\s.])", re.MULTILINE)
_IMPORT = re.compile(r"^(\s*)import (engine|graph)\b(?!\.)", re.MULTILINE)


class WheelLayout(BuildHookInterface[Any]):
    """Copies both packages below `loregraph/` and makes their absolute imports relative."""

    _folder: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the copied tree to a wheel that is no editable one."""
        if version == "editable":
            return
        self._folder = Path(mkdtemp(prefix="loregraph-wheel-"))
        root, tree = Path(self.root), self._folder / "loregraph"
        for package in PACKAGES:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(root / package, tree / package, ignore=ignored)
        shutil.copy(root / "loregraph.py", tree / "__init__.py")
        shutil.copy(root / "engine" / "py.typed", tree / "py.typed")
        for file in sorted(tree.rglob("*.py")):
            _make_relative(file, depth=len(file.relative_to(tree).parts))
        aliases = self._folder / "deprecated"
        aliases.mkdir()
        for package in PACKAGES:
            alias = aliases / f"{package}.py"
            alias.write_text(_DEPRECATED.format(package=package), encoding="utf8")
            build_data["force_include"][str(alias)] = alias.name
        build_data["force_include"][str(tree)] = "loregraph"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copy."""
        if self._folder is not None:
            shutil.rmtree(self._folder)


def _make_relative(file: Path, *, depth: int) -> None:
    text = file.read_text(encoding="utf8")
    parent = "." * depth
    relative = _IMPORT_FROM.sub(rf"\1from {parent}\2", text)
    relative = _IMPORT.sub(rf"\1from {parent} import \2", relative)
    if relative != text:
        file.write_text(relative, encoding="utf8")
    for node in ast.walk(ast.parse(relative)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        if any(name.split(".")[0] in PACKAGES for name in names):
            raise ValueError(f"{file.name}: absolute import of {names}; import it relatively")
