"""Control tokens of chat templates, broken wherever they stand in what a model is sent.

A server that renders messages through a template may read `<|im_start|>` in a document as the
beginning of a message. No instruction of this product holds such a token, so every one that stands
in a request was quoted. A space behind the first bracket keeps it readable and takes its power.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce

_BARS = "[|\uff5c]"  # DeepSeek's are full-width
_ANGLED = (
    r"/?s|bos|eos|/?SYS|/?(?:start|end)_of_\w{1,40}|BOS_TOKEN|EOS_TOKEN|endoftext|"
    r"fim_\w{1,20}|PRE|SUF|MID|EOT|EOD|file_sep|repo_name|reponame|filename|"
    r"/?tool_(?:call|response|output)s?|unused\d{1,4}|reserved_\d{1,4}|extra_id_\d{1,4}|"
    r"[se]op|eo[ahm]|AI|\u7528\u6237"
)
_SQUARED = (
    r"/?INST|/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CONTENT|MODEL_SETTINGS)|"
    r"TOOL_CALLS|CALL_ID|ARGS|/?THINK|BOS|EOS|PREFIX|SUFFIX|MIDDLE|IMG|IMG_BREAK|IMG_END|"
    r"[gs]?MASK|[se]op"
)
_TOKEN = re.compile(
    rf"<{_BARS}(?:[^<>|\uff5c\n]{{1,80}}{_BARS}>)?"  # ChatML, Llama 3, Phi, Cohere, Harmony …
    rf"|<[\w\u2581/]{{1,80}}{_BARS}>"
    rf"|<(?:{_ANGLED})>"
    rf"|\[(?:{_SQUARED})\]"
)
"""Anything that opens with `<|`, and what has no bars by its name."""


def break_control_tokens(text: str) -> tuple[str, dict[str, str]]:
    """Break every control token of a chat template; return the text and the broken forms."""
    originals: dict[str, str] = {}

    def break_(match: re.Match[str]) -> str:
        token = match.group()
        form = f"{token[0]} {token[1:]}"
        originals[form] = token
        return form

    return _TOKEN.sub(break_, text), originals


def restore_control_tokens(text: str, originals: Mapping[str, str]) -> str:
    """Restore broken control tokens of a chat template in a model's reply."""
    longest_first = sorted(originals, key=lambda form: (-len(form), form))
    return reduce(lambda said, form: said.replace(form, originals[form]), longest_first, text)
