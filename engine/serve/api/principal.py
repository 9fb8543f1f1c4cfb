"""Principals: who is calling, and which namespaces they may read and write."""

from __future__ import annotations

from dataclasses import dataclass

from .problems import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Identity behind a token.

    `reads` and `writes` are namespaces (the empty text is the one without a name), None is all.
    Who may write may read. An admin sees all of the library, its figures and settings.
    """

    id: str
    name: str
    reads: frozenset[str] | None = frozenset()
    writes: frozenset[str] | None = frozenset()
    is_admin: bool = False

    @property
    def readable(self) -> frozenset[str] | None:
        """Namespaces that may be looked at; None is all."""
        if self.is_admin or self.reads is None or self.writes is None:
            return None
        return self.reads | self.writes

    def may_read(self, namespace: str) -> bool:
        """Check whether documents of a namespace are readable."""
        readable = self.readable
        return readable is None or namespace in readable

    def may_write(self, namespace: str) -> bool:
        """Check whether documents of a namespace are writable."""
        return self.is_admin or self.writes is None or namespace in self.writes

    def within(self, namespace: str | None) -> str | frozenset[str] | None:
        """Return the visible namespaces of a request for this one (None: all).

        Raises:
            Problem: 403, the namespace is not for this one.
        """
        if namespace is None:
            return self.readable
        if not self.may_read(namespace):
            raise Problem(403, "forbidden", f"this token may not read namespace {namespace!r}")
        return namespace

    def check_write(self, namespace: str) -> None:
        """Raise `Problem` 403 unless the principal may write to the namespace."""
        if not self.may_write(namespace):
            raise Problem(403, "forbidden", f"this token may not write to namespace {namespace!r}")

    def check_admin(self) -> None:
        """Raise `Problem` 403 unless the principal is an admin."""
        if not self.is_admin:
            raise Problem(403, "forbidden", "this is for admin tokens alone")


LOCAL = Principal(id="local", name="this machine", is_admin=True)
"""Everybody on this machine, where no token is asked for."""
