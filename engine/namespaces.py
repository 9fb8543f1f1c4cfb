"""Namespace names, and document ids qualified by them.

An id reads `namespace::name`, in the default namespace `name` alone. No name reaches into another
namespace: sources have theirs escaped, callers' own ids are refused.
"""

from __future__ import annotations

import re

from .errors import SourceError

SEPARATOR = "::"
_NAMESPACE = re.compile(r"[A-Za-z0-9_.-]{0,64}")
_QUALIFIED = re.compile(rf"({_NAMESPACE.pattern}:):")


def check_namespace(namespace: str) -> None:
    """Validate a namespace name; raises `SourceError`."""
    if _NAMESPACE.fullmatch(namespace) is None:
        raise SourceError(
            f"namespace {namespace!r}: use up to 64 letters, digits, dots, dashes and underscores"
        )


def check_name(name: str) -> None:
    """Validate a document id that a caller chose.

    Raises:
        SourceError: the id holds the separator of namespaces.
    """
    if SEPARATOR in name:
        raise SourceError(
            f"document id {name!r}: {SEPARATOR!r} separates namespaces; leave it out of the id and "
            "give the namespace by itself"
        )


def source_id(namespace: str, name: str) -> str:
    """Return the id of a source of this name in a namespace; empty is the default one.

    A name such as `south::a.md` in the default namespace becomes `south:%3Aa.md`.
    """
    if namespace:
        return f"{namespace}{SEPARATOR}{name}"
    return _QUALIFIED.sub(r"\1%3A", name, count=1) if _QUALIFIED.match(name) else name


def qualified_id(namespace: str, document_id: str) -> str:
    """Return the id under which a document is looked up; it may be qualified already."""
    return f"{namespace}{SEPARATOR}{document_id}" if namespace else document_id
