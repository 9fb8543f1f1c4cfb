"""Prompts of the engine: files by stage and language, delimiters, and injected instructions.

Instructions are the same for every question and sources come before the question, so that a
provider can cache both. What others have written stands between two lines with a word that no text
can foresee, because it comes from a digest of all that is shown. `graph.llm` reads the files.

Only English and Chinese are told apart; anything else is answered with English wording. Question
words and function words decide, so that a Chinese name in an English question does not turn the
answer's language. `is_injection` finds sentences of documents that give a reading model orders:
such a sentence supports no claim. The forms are few and plain.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from graph.text.cjk import HAN, count_han, has_han, simplified
from graph.text.patterns import lazy_regex

from ..types import Passage

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

    from ..storage.graph_api import Prompt

Language = Literal["en", "zh"]
_WORD = lazy_regex(rf"[^\W\d_{HAN}]+")


def fill_prompt(template: str, **values: str) -> str:
    """Replace every known `{name}` of a prompt in one pass; inserted values are never expanded."""
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match.group(1), match.group()), template)


def prompt_text(stage: str, language: Language) -> str:
    """Return the text of `<stage>.<language>.txt` in this package, such as `answering/map`."""
    from ..storage.graph_api import load_prompt

    return load_prompt(stage, language, package=__package__)


def filled_prompt(stage: str, *, language: Language, fenced: str = "", **values: str) -> str:
    """Return a stage's prompt with its `{name}` gaps filled from `values`.

    The gap `{fence}` is made of a digest of `fenced`, the text that is shown as data.
    """
    digest = hashlib.sha256(fenced.encode("utf8", "surrogatepass")).hexdigest()
    return fill_prompt(prompt_text(stage, language), **values, fence=f"data {digest[:12]}")


def detect_language(text: str) -> Language:
    """Chinese where a text has more Han characters than other words."""
    return "zh" if count_han(text) > len(_WORD.findall(text)) else "en"


ABSTENTION: dict[Language, str] = {
    "en": "The library does not hold enough evidence to answer this.",
    "zh": "资料库中没有足够的依据来回答这个问题。",
}

HESITATION: dict[Language, str] = {
    "en": "This may not answer the question:",
    "zh": "以下内容不一定回答了这个问题：",
}
UNSURE: dict[Language, str] = {
    "en": "This may not answer the question; it is the nearest in the library:",
    "zh": "以下内容是资料库中最接近的，不一定回答了这个问题：",
}


def is_abstention(text: str) -> bool:
    """Check whether a text begins as an abstention does, in either Chinese script."""
    said = simplified(text[:_LONGEST_ABSTENTION]) if has_han(text[:1]) else text
    return said.startswith(_ABSTENTIONS)


def without_doubt(text: str) -> str:
    """Return a text without a word of doubt above it, in either Chinese script."""
    above, _, below = text.partition("\n\n")
    above = simplified(above) if has_han(above[:1]) else above
    return below if above in HESITATION.values() else text


def is_doubted(text: str) -> bool:
    """Check whether a word of doubt stands above a text, in either Chinese script."""
    return without_doubt(text) != text


_ABSTENTIONS = (*ABSTENTION.values(), *UNSURE.values())
_LONGEST_ABSTENTION = max(map(len, _ABSTENTIONS))


_ASKING_ZH = lazy_regex(r"谁|什么|哪|何|多少|几|吗|呢|怎|为什么|是否|请|概括|总结|介绍|说明|列出")
_FUNCTION_ZH = lazy_regex(r"[的了是在和与有被由对从中]")
_ASKING_EN = lazy_regex(
    r"\b(?:who|whom|whose|what|which|when|where|why|how|list|name|describe|summari[sz]e|explain"
    r"|compare|tell|give|did|does|do)\b",
    re.IGNORECASE,
)
_FUNCTION_EN = lazy_regex(
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


_ORDERS = lazy_regex(
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
_FAKED_LINE = lazy_regex(
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
    text = prompt_text(f"answering/{stage}", language)
    system = fill_prompt(text, abstention=ABSTENTION[language], **values)
    user = fill_prompt(
        prompt_text(f"answering/context{'_after' if earlier else ''}", language),
        fence=fence(context),
        context=escape_delimiters(context),
        earlier_fence=fence(earlier).replace("sources", "earlier"),
        earlier=escape_delimiters(earlier),
        question=question,
    )
    return system, user


def fence(*texts: str) -> str:
    """Return a delimiter derived from the texts; equal for equal texts."""
    digest = hashlib.sha256("\x1f".join(texts).encode("utf8", "surrogatepass")).hexdigest()
    return f"sources {digest[:16]}"


_SAMPLE_CHARACTERS = 4_000


def language_of_document(text: str) -> Language:
    """Return the dominant language of a text's beginning."""
    return detect_language(text[:_SAMPLE_CHARACTERS])
