"""`loregraph init`: find a language model, try it, and write a short profile beside the library."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from ..errors import SettingsError
from .session import DEFAULT_LIBRARY, LibraryOption, library_or_none, writing

PROFILE_NAME = "loregraph.yaml"
LOCAL_PORTS = {"Ollama": 11434, "llama.cpp": 8080, "LM Studio": 1234, "vLLM": 8000}
"""Usual ports of servers on this machine with OpenAI's protocol."""
PROBE_SECONDS = 1.0
MOST_MODELS = 20
_LARGEST_LIST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A language model that can be used; no `base_url`: none at all."""

    label: str
    base_url: str = ""
    model: str = ""
    key_variable: str = ""

    @property
    def is_paid(self) -> bool:
        """Check whether a call leaves this machine."""
        return bool(self.key_variable)


NOTHING = Choice(label="no language model: answers are quoted from the documents, nothing is paid")
HOSTED = (
    Choice(
        label="OpenAI, by the key in OPENAI_API_KEY",
        base_url="https://api.openai.com/v1",
        model="gpt-4o-mini",
        key_variable="OPENAI_API_KEY",
    ),
    Choice(
        label="DeepSeek, by the key in DEEPSEEK_API_KEY",
        base_url="https://api.deepseek.com/v1",
        model="deepseek-chat",
        key_variable="DEEPSEEK_API_KEY",
    ),
    Choice(
        label="Qwen, by the key in DASHSCOPE_API_KEY",
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        model="qwen-plus",
        key_variable="DASHSCOPE_API_KEY",
    ),
)


def choices(environment: Mapping[str, str], ports: Mapping[str, int] = LOCAL_PORTS) -> list[Choice]:
    """Return what can be used here: nothing, keys of the environment, servers of this machine."""
    hosted = [one for one in HOSTED if environment.get(one.key_variable)]
    local = [
        Choice(label=f"{name} on this machine: {model}", base_url=base, model=model)
        for name, port in ports.items()
        for base in [f"http://127.0.0.1:{port}/v1"]
        for model in served_models(base)
    ]
    return [NOTHING, *hosted, *local]


def served_models(base_url: str) -> list[str]:
    """Return the models that a server lists, at most 20; none where nothing answers in a second."""
    import httpx

    try:
        with httpx.Client(timeout=PROBE_SECONDS, trust_env=False) as client:
            reply = client.get(f"{base_url}/models")
        listed = reply.json() if reply.is_success and len(reply.content) < _LARGEST_LIST else {}
    except (httpx.HTTPError, ValueError):
        return []
    data = listed.get("data") if isinstance(listed, dict) else None
    rows = data if isinstance(data, list) else []
    names = (row.get("id") for row in rows if isinstance(row, dict))
    return sorted({name for name in names if isinstance(name, str) and name.isprintable()})[
        :MOST_MODELS
    ]


def profile_text(choice: Choice) -> str:
    """Return the commented profile of a choice, as YAML."""
    import yaml

    head = "# Written by `loregraph init`. `loregraph config show` prints every setting.\n"
    if not choice.base_url:
        return f"{head}# No language model: no key, no bill.\nllm:\n  kind: none\n"
    place = (
        f"# The key is read from {choice.key_variable}; it is never stored.\n"
        if choice.is_paid
        else "# A server of this machine: no bill.\n"
    )
    llm = {
        "kind": "openai_like",
        "base_url": choice.base_url,
        "model": choice.model,
        "api_key_variable": choice.key_variable or "OPENAI_API_KEY",
        **({} if choice.is_paid else {"concurrency": 1, "timeout_seconds": 300}),
    }
    text = head + place + yaml.safe_dump({"llm": llm}, sort_keys=False, allow_unicode=True)
    text += "# graph:\n#   extractor: both  # the model reads every document, too; see --estimate\n"
    return f"{text}# budget:\n#   max_cost: 5.0    # no call goes beyond it\n"


def init(
    sources: Annotated[
        list[str] | None, typer.Argument(help="What will be added: says what that would cost.")
    ] = None,
    use: Annotated[
        str, typer.Option(help="Do not ask: none, a key's variable, or a server's address.")
    ] = "",
    model: Annotated[str, typer.Option(help="The model, where there are several.")] = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="Try the model even where one word of it is paid for.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a profile.")] = False,
    library: LibraryOption = DEFAULT_LIBRARY,
) -> None:
    """Choose what writes the answers; try it, and write a profile beside the library."""
    file = library.absolute().parent / PROFILE_NAME
    if file.exists() and not force:
        raise SettingsError(f"{file} is there already: give --force to replace it")
    choice = _named(use, model) if use else _asked(choices(os.environ), model)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(profile_text(choice), encoding="utf8")
    typer.echo(f"{file} written: {choice.label}")
    if choice.base_url:
        _try(choice, file, agreed=yes)
    if sources:
        _estimate(sources, library, file)
    profile = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    where = "" if library == DEFAULT_LIBRARY else f" --library {library}"
    options = f"{f' --profile {profile}' if choice.base_url else ''}{where}"
    typer.echo(f"Next: loregraph add {' '.join(sources or ['FOLDER'])}{options}")
    typer.echo(f'Then: loregraph ask "…"{options}')


def _named(use: str, model: str) -> Choice:
    """Return the choice that an option names.

    Raises:
        SettingsError: neither `none`, nor a known key's variable, nor an address that answers.
    """
    if use == "none":
        return NOTHING
    for one in HOSTED:
        if one.key_variable == use:
            return replace(one, model=model or one.model)
    if not use.startswith(("http://", "https://")):
        known = ", ".join(one.key_variable for one in HOSTED)
        raise SettingsError(f"--use {use!r}: give none, one of {known}, or http://…/v1")
    base = use.rstrip("/")
    listed = served_models(base)
    if not model and not listed:
        raise SettingsError(f"--use {use!r}: nothing there lists models; start it, or give --model")
    return Choice(label=f"{model or listed[0]} at {base}", base_url=base, model=model or listed[0])


def _asked(found: Sequence[Choice], model: str) -> Choice:
    for row, one in enumerate(found, start=1):
        typer.echo(f"  {row}  {one.label}")
    number: int = typer.prompt("Which one?", default=1, type=int)
    if not 1 <= number <= len(found):
        raise SettingsError(f"{number}: there are choices from 1 to {len(found)}; run it again")
    chosen = found[number - 1]
    return replace(chosen, model=model or chosen.model) if chosen.base_url else chosen


def _try(choice: Choice, file: Path, *, agreed: bool) -> None:
    """Ask the model for one word, a paid one only where that was agreed to."""
    from ..config import Settings
    from .doctor import examine_models
    from .rendering import show_findings

    if choice.is_paid and not (agreed or typer.confirm("Ask it for one word, which is paid for?")):
        typer.echo("not tried: `loregraph doctor --profile` asks it for one word")
        return
    show_findings(examine_models(Settings.load(file)))


def _estimate(sources: Sequence[str], library: Path, file: Path) -> None:
    from .rendering import show_estimate

    with (
        library_or_none(library, planned=True) as place,
        writing(place, file, create=True, asks_models=False) as (engine, progress),
    ):
        forecast = engine.estimate(list(sources), progress=progress)
    show_estimate(forecast, as_json=False)
