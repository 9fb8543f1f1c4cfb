"""The prompts, one file a stage and language, and how their gaps are filled.

The instructions are the same for every question, so that a provider can keep what it made of them,
and sources come before the question, so that it can keep the same sources, too. Sources are fenced
with a line that no document can foresee, because it comes from a digest of the sources themselves.

Prompts as files, one a stage and language, and how their gaps are filled.

What others have written stands between two lines with a word that no text can foresee, because it
comes from a digest of all that is shown.

Language of a question, and the abstention sentence.

Only English and Chinese are told apart; anything else is answered with English wording. Knows
nothing of models: question words and function words decide, so that a Chinese name in an English
question (or the other way round) does not turn the answer's language.

Sentences of documents that speak to a language model and tell it what to do.

A model that obeys one may even cite it, and it would seem to bear the claim out. So such a sentence
is no source of a claim, however well the words agree. The forms are few and plain: who hides an
order better is not found here. Pure.

The prompts of retrieval, one file a stage and language.

The prompts about chunks, one file a stage and language.

What is the same for all calls about one document comes first, so that a server can keep it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from graph.text.cjk import HAN, count_han

from ..types import Passage

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

    from ..storage.graph_api import Prompt

Language = Literal["en", "zh"]
_WORD = re.compile(rf"[^\W\d_{HAN}]+")


@cache
def load_prompt(folder: str, stage: str, language: Language) -> str:
    """Return the text of `<folder>/<stage>.<language>.txt` beside this module."""
    return (
        (files(__package__) / folder / f"{stage}.{language}.txt").read_text(encoding="utf8").strip()
    )


def fill(template: str, **values: str) -> str:
    """Replace every known `{name}` in one pass; inserted values are never expanded."""
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match.group(1), match.group()), template)


def delimited_prompt(
    folder: str, stage: str, *, language: Language, fenced: str, **values: str
) -> str:
    """Build a stage's prompt; `{fence}` is derived from a digest of `fenced`."""
    digest = hashlib.sha256(fenced.encode("utf8", "surrogatepass")).hexdigest()
    return fill(load_prompt(folder, stage, language), **values, fence=f"data {digest[:12]}")


def detect_language(text: str) -> Language:
    """Chinese where a text has more Han characters than other words."""
    return "zh" if count_han(text) > len(_WORD.findall(text)) else "en"


ABSTENTION: dict[Language, str] = {
    "en": "The library does not hold enough evidence to answer this.",
    "zh": "资料库中没有足够的依据来回答这个问题。",
}

_ASKING_ZH = re.compile(r"谁|什么|哪|何|多少|几|吗|呢|怎|为什么|是否|请|概括|总结|介绍|说明|列出")
_FUNCTION_ZH = re.compile(r"[的了是在和与有被由对从中]")
_ASKING_EN = re.compile(
    r"\b(?:who|whom|whose|what|which|when|where|why|how|list|name|describe|summari[sz]e|explain"
    r"|compare|tell|give|did|does|do)\b",
    re.IGNORECASE,
)
_FUNCTION_EN = re.compile(
    r"\b(?:the|an?|of|is|are|was|were|in|on|to|and|for|by|has|have)\b", re.IGNORECASE
)


def language_of(question: str) -> Language:
    """Return the answer language; English for a question without Han characters."""
    han = count_han(question)
    if not han:
        return "en"
    chinese = 3 * len(_ASKING_ZH.findall(question)) + len(_FUNCTION_ZH.findall(question))
    english = 3 * len(_ASKING_EN.findall(question)) + len(_FUNCTION_EN.findall(question))
    if chinese == english:
        return "zh" if han >= len(re.findall(r"[A-Za-z]+", question)) else "en"
    return "zh" if chinese > english else "en"


_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|every|the|these|those|your|of)\s+)*"
    r"(?:(?:previous|prior|above|earlier|preceding|foregoing|other|existing|system)\s+)*"
    r"(?:instructions?|prompts?|rules|directions|guidelines|commands)\b"
    r"|\b(?:you are now|from now on,? you (?:are|must|will)|pretend to be|act as) .{0,30}"
    r"\b(?:assistant|language model|ai|bot|dan|unrestricted|jailbroken)\b"
    r"|\b(?:system|developer) (?:prompt|message|override)\s*:"
    r"|<\|?(?:im_start|im_end|system|endoftext)\|?>|\[/?INST\]|<<SYS>>"
    r"|\b(?:ai (?:model|assistant|system)|language model|llm)s?\b.{0,40}\b(?:must|should|shall) "
    r"(?:now |always |only )?(?:reply|answer|respond|say|output|state|write)\b"
    r"|^\W*(?:please )?(?:reply|answer|respond) (?:only )?with (?:exactly|only|nothing but)\b"
    r"|(?:忽略|无视|不要理会|忘记|忘掉)(?:掉|了)?[^。！？\n]{0,10}(?:指令|指示|提示词?|规则|说明|要求|命令)"
    r"|(?:系统提示词?|系统消息|系统指令)\s*[:：]"
    r"|你现在是[^。！？\n]{0,20}(?:助手|模型|机器人)|(?:AI|人工智能|语言模型)[^。！？\n]{0,10}"
    r"(?:必须|应当|只能)[^。！？\n]{0,6}(?:回答|回复|输出|说)",
    re.IGNORECASE,
)
_FAKED_LINE = re.compile(
    r"(?<!<)<{3,}+(?=\s*+(?:end\s+)?(?:sources|question|earlier)\b)", re.IGNORECASE
)
_LONGEST = 2_000


def is_injection(sentence: str) -> bool:
    """Check whether a sentence instructs the reading model.

    Only its beginning is examined.
    """
    return _ORDERS.search(sentence[:_LONGEST]) is not None


def count_injections(passages: Sequence[Passage]) -> int:
    """Count passages that hold an injected instruction."""
    return sum(_ORDERS.search(passage.text) is not None for passage in passages)


def escape_delimiters(context: str) -> str:
    """Escape lines in the sources that imitate the prompt's delimiters.

    `<<<end sources …>>>` in a document becomes `‹‹‹end sources …>>>`.
    """
    return _FAKED_LINE.sub(lambda match: "‹" * len(match.group()), context)


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
    from ..storage.graph_api import Prompt

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
    system = fill(answering_prompt(stage, language), abstention=ABSTENTION[language], **values)
    user = fill(
        answering_prompt("context_after" if earlier else "context", language),
        fence=fence(context),
        context=escape_delimiters(context),
        earlier_fence=fence(earlier).replace("sources", "earlier"),
        earlier=escape_delimiters(earlier),
        question=question,
    )
    return system, user


def answering_prompt(stage: str, language: Language) -> str:
    """Return the text of `<stage>.<language>.txt`."""
    return load_prompt("answering", stage, language)


def fence(*texts: str) -> str:
    """Return a delimiter derived from the texts; equal for equal texts."""
    digest = hashlib.sha256("\x1f".join(texts).encode("utf8", "surrogatepass")).hexdigest()
    return f"sources {digest[:16]}"


def retrieval_prompt(stage: str, *, language: Language, fenced: str = "", **values: str) -> str:
    """Return a stage's prompt with `{name}` placeholders filled from `values`.

    The gap `{fence}` is made of a digest of `fenced`, the text that is shown as data.
    """
    return delimited_prompt("retrieval", stage, language=language, fenced=fenced, **values)


_SAMPLE_CHARACTERS = 4_000


def chunking_prompt(stage: str, *, language: Language, fenced: str = "", **values: str) -> str:
    """Return a stage's prompt (`context`, `boundaries`) with placeholders filled.

    The fence is made of a digest of `fenced`, the text that is shown.
    """
    return delimited_prompt("chunking", stage, language=language, fenced=fenced, **values)


def language_of_document(text: str) -> Language:
    """Return the dominant language of a text's beginning."""
    return detect_language(text[:_SAMPLE_CHARACTERS])
