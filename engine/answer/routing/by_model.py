"""A language model's word on which way a question takes, where rules are in doubt.

One short call. The reply is asked for as JSON and read from whatever comes: prose around it, other
cases, a missing end. What says nothing, or two things at once, is no word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, get_args

from ...errors import ModelError
from ...index.door import Prompt, find_json
from ...prompt_texts import fill
from ...types import Mode, Route
from ..language import ABSTENTION, Language, language_of
from ..prompts import fence, load
from .reasons import explain_llm_choice

Ask = Callable[[Prompt], str]
"""A model's reply to a prompt; raises `ModelError`."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": list(get_args(Mode))},
        "reason": {"type": "string"},
    },
    "required": ["mode", "reason"],
    "additionalProperties": False,
}
CONFIDENCE = 0.85
"""Confidence assigned to a model's routing decision."""
_MAX_OUTPUT_TOKENS = 256
_MAX_REASON = 160
_NO_HELP: dict[Language, str] = {
    "en": "the model was no help: {error}",
    "zh": "模型未能判断：{error}",
}
_NO_WAY: dict[Language, str] = {"en": "the model named no way", "zh": "模型没有说明方式"}
_SAID = re.compile(r"(?<![\w-])(local|global|both)(?![\w-])", re.IGNORECASE)


def route_by_model(question: str, ask: Ask) -> tuple[Route | None, str]:
    """Route by a model; return None and a one-line reason on failure or model error."""
    language = language_of(question)
    try:
        reply = ask(route_prompt(question))
    except ModelError as error:
        return None, _NO_HELP[language].format(error=error)
    read = read_route(reply, language)
    if read is None:
        return None, _NO_WAY[language]
    return read, ""


def route_prompt(question: str) -> Prompt:
    """Build the routing prompt; its instructions are constant."""
    language = language_of(question)
    word = fence(question).replace("sources", "question")
    return Prompt(
        system=fill(load("route", language), abstention=ABSTENTION[language]),
        user=f"<<<{word}>>>\n{question}\n<<<end {word}>>>",
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        schema=SCHEMA,
    )


def read_route(reply: str, language: Language = "en") -> Route | None:
    """Parse the route of a reply; None if missing or ambiguous."""
    for value in find_json(reply).values:
        if isinstance(value, dict):
            fields = {str(key).strip().casefold(): field for key, field in value.items()}
            mode = _mode(str(fields.get("mode", "")))
            if mode is not None:
                return _route(mode, str(fields.get("reason") or ""), language)
    mode = _mode(reply)
    return _route(mode, "", language) if mode is not None else None


def _mode(text: str) -> Mode | None:
    said = {word.casefold() for word in _SAID.findall(text)}
    modes: list[Mode] = [mode for mode in get_args(Mode) if mode in said]
    return modes[0] if len(modes) == 1 else None


def _route(mode: Mode, reason: str, language: Language) -> Route:
    said = " ".join(reason.split())[:_MAX_REASON]
    return Route(mode=mode, reason=explain_llm_choice(said, language), confidence=CONFIDENCE)
