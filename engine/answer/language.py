"""Language of a question, and the abstention sentence.

Only English and Chinese are told apart; anything else is answered with English wording. Knows
nothing of models: question words and function words decide, so that a Chinese name in an English
question (or the other way round) does not turn the answer's language.
"""

from __future__ import annotations

import re

from ..prompt_texts import Language as Language

ABSTENTION: dict[Language, str] = {
    "en": "The library does not hold enough evidence to answer this.",
    "zh": "资料库中没有足够的依据来回答这个问题。",
}

HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
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
    han = len(HAN.findall(question))
    if not han:
        return "en"
    chinese = 3 * len(_ASKING_ZH.findall(question)) + len(_FUNCTION_ZH.findall(question))
    english = 3 * len(_ASKING_EN.findall(question)) + len(_FUNCTION_EN.findall(question))
    if chinese == english:
        return "zh" if han >= len(re.findall(r"[A-Za-z]+", question)) else "en"
    return "zh" if chinese > english else "en"
