"""Answers without a search: greetings, questions about the conversation, and sums."""

from __future__ import annotations

import re
from decimal import Decimal, DivisionByZero, InvalidOperation, localcontext
from operator import add, mul, sub, truediv

from graph.text.cjk import in_script_of, simplified

from ..answering.packing import Draft
from ..prompts import Language, language_of

_MAX_SUM_CHARACTERS = 120

_GREETING = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day|night)|thanks?(?: you)?(?: very much)?"
    r"|thank you so much|bye|goodbye|how are you"
    r"|你好|您好|早上好|下午好|晚上好|谢谢你?|多谢|再见|嗨|你好吗)"
    r"(?: there| all| everyone|啊|呀)?",
    re.IGNORECASE,
)
_ABOUT_TALK = re.compile(
    r"what (?:did|have) (?:i|you|we) (?:just )?(?:say|said|ask|asked|tell|told)(?: you| me)?"
    r"(?: (?:before|first|last|earlier))?"
    r"|what was my (?:last|first|previous) (?:question|message)"
    r"|(?:我|你|我们)(?:刚才|刚刚|之前|上次)(?:说|问)(?:过|了)?(?:什么|啥)",
    re.IGNORECASE,
)
_SUM = re.compile(
    r"(?:what(?:'s| is)|how much is|calculate|compute|计算(?:一下)?)?\s*"
    r"(?P<sum>[-+(]*\d[\d\s.,+\-*/×÷()xX]*[+\-*/×÷xX][\d\s.,+\-*/×÷()xX]*\d\)*)\s*"
    r"(?:=|等于(?:多少|几)?|是多少|得多少)?\s*[?？]?",
    re.IGNORECASE,
)
_PLAIN_SUM = re.compile(r"[+*×÷]|\s[-/]\s")
"""Pattern that turns numbers and signs into arithmetic without other cues."""
_REPLIES: dict[str, dict[Language, str]] = {
    "greeting": {
        "en": "Hello. Ask a question about the documents in this library.",
        "zh": "你好。请就资料库中的文档提问。",
    },
    "talk": {
        "en": "Answers here come from the documents alone: what was said before only helps to"
        " understand a question.",
        "zh": "这里的回答只依据文档，之前的对话只用来理解问题。",
    },
}


def answer_without_retrieval(question: str) -> Draft | None:
    """Answer without retrieval where that is certain; None otherwise."""
    language = language_of(question)
    said = simplified(question).strip().strip("!！.。?？~～ ")
    if _GREETING.fullmatch(said):
        reply = in_script_of(question, _REPLIES["greeting"][language])
        return Draft(text=reply, detail="greeting: no retrieval needed")
    if _ABOUT_TALK.fullmatch(said):
        reply = in_script_of(question, _REPLIES["talk"][language])
        return Draft(text=reply, detail="about the conversation")
    found = _SUM.fullmatch(question.strip())
    if found and question.strip() == found["sum"].strip() and not _PLAIN_SUM.search(question):
        return None  # 1901-1907, 24/7
    result = evaluate_arithmetic(found["sum"]) if found else None
    if found and result is not None:
        said = f"{found['sum'].strip()} = {result}"
        return Draft(text=said, detail="arithmetic: no retrieval needed")
    return None


_TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?|[-+*/()])")
_DEEPEST = 20


def evaluate_arithmetic(text: str) -> str | None:
    """Evaluate plain arithmetic in an answer with + - * / and brackets; None otherwise.

    Numbers are decimal and bounded, and nothing but the four operations is known.
    """
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    plain = plain.replace("×", "*").replace("÷", "/").replace("x", "*").replace("X", "*")
    if len(plain) > _MAX_SUM_CHARACTERS:
        return None
    tokens = _TOKEN.findall(plain)
    if "".join(tokens) != re.sub(r"\s+", "", plain):
        return None
    with localcontext() as context:
        context.prec = 30
        try:
            value, rest = _total(tokens, 0)
            if rest or not value.is_finite():
                return None
            rounded = round(value, 10)
            return format(rounded.normalize() + 0, "f")
        except (InvalidOperation, DivisionByZero, IndexError, ValueError):
            return None


def _total(tokens: list[str], depth: int, above: int = 0) -> tuple[Decimal, list[str]]:
    """Return the value of the first terms, joined by operations of a rank above, and the rest."""
    if depth > _DEEPEST:
        raise ValueError("too deep")
    if tokens[0] == "-":
        value, tokens = _total(tokens[1:], depth + 1, 2)
        value = -value
    elif tokens[0] == "(":
        value, tokens = _total(tokens[1:], depth + 1)
        if tokens.pop(0) != ")":
            raise ValueError("not closed")
    else:
        value, tokens = Decimal(tokens[0]), tokens[1:]
    while tokens and tokens[0] in _OPERATIONS and (rank := _OPERATIONS[tokens[0]][0]) > above:
        operation = _OPERATIONS[tokens[0]][1]
        other, tokens = _total(tokens[1:], depth, rank)
        value = operation(value, other)
    return value, tokens


_OPERATIONS = {"+": (1, add), "-": (1, sub), "*": (2, mul), "/": (2, truediv)}
