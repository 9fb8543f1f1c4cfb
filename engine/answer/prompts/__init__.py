"""The prompts, one file a stage and language, and how their gaps are filled.

The instructions are the same for every question, so that a provider can keep what it made of them,
and sources come before the question, so that it can keep the same sources, too. Sources are fenced
with a line that no document can foresee, because it comes from a digest of the sources themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ... import prompt_texts
from ...prompt_texts import fill
from ..checks.orders import escape_delimiters
from ..language import ABSTENTION, Language

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

    from ...index.door import Prompt


def chat_messages(
    stage: str, *, language: Language, context: str, question: str, earlier: str = ""
) -> tuple[ChatMessage, ...]:
    """Build chat messages.

    A stage's instructions (such as `answer`) and its fenced context.

    `earlier` is what was said before, behind a fence of its own; empty where nothing was.
    """
    from llama_index.core.llms import ChatMessage, MessageRole

    system, user = _texts(stage, language, context, question, earlier, {})
    return (
        ChatMessage(role=MessageRole.SYSTEM, content=system),
        ChatMessage(role=MessageRole.USER, content=user),
    )


def stage_prompt(
    stage: str,
    *,
    language: Language,
    context: str,
    question: str,
    max_output_tokens: int,
    schema: Mapping[str, Any] | None = None,
    earlier: str = "",
    **values: str,
) -> Prompt:
    """Build the same as one prompt; `values` fill further placeholders."""
    from ...index.door import Prompt

    system, user = _texts(stage, language, context, question, earlier, values)
    return Prompt(system=system, user=user, max_output_tokens=max_output_tokens, schema=schema)


def _texts(
    stage: str,
    language: Language,
    context: str,
    question: str,
    earlier: str,
    values: Mapping[str, str],
) -> tuple[str, str]:
    system = fill(load(stage, language), abstention=ABSTENTION[language], **values)
    user = fill(
        load("context_after" if earlier else "context", language),
        fence=fence(context),
        context=escape_delimiters(context),
        earlier_fence=fence(earlier).replace("sources", "earlier"),
        earlier=escape_delimiters(earlier),
        question=question,
    )
    return system, user


def load(stage: str, language: Language) -> str:
    """Return the text of `<stage>.<language>.txt`."""
    return prompt_texts.load(__package__, stage, language)


def fence(*texts: str) -> str:
    """Return a delimiter derived from the texts; equal for equal texts."""
    digest = hashlib.sha256("\x1f".join(texts).encode("utf8", "surrogatepass")).hexdigest()
    return f"sources {digest[:16]}"
