"""Sentences of documents that speak to a language model and tell it what to do.

A model that obeys one may even cite it, and it would seem to bear the claim out. So such a sentence
is no source of a claim, however well the words agree. The forms are few and plain: who hides an
order better is not found here. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...types import Passage

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
