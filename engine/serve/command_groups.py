"""Groups of commands whose help says of each command all that its first paragraph says."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup


class _WholeHelp(TyperGroup):
    """Click cuts a command's line in the list where it does not fit; here it is wrapped instead."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in self.commands.values():
            told = command.short_help or (command.help or "").partition("\n\n")[0]
            command.short_help = " ".join(told.split())


def command_group(name: str | None = None) -> typer.Typer:
    """A group in plain text: rich's boxes double the start-up time and break in short lines."""
    return typer.Typer(
        name=name,
        cls=_WholeHelp,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
