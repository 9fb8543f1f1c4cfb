"""Command groups whose help shows whole first paragraphs."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup


class _WholeHelp(TyperGroup):
    """Help formatter that wraps a command's line instead of truncating it."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in self.commands.values():
            told = command.short_help or (command.help or "").partition("\n\n")[0]
            command.short_help = " ".join(told.split())


def command_group(name: str | None = None) -> typer.Typer:
    """Create a plain-text group; rich boxes double the start-up time."""
    return typer.Typer(
        name=name,
        cls=_WholeHelp,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
