"""Control tokens of chat templates in what models are sent."""

from __future__ import annotations

import time

import pytest

from engine.prompts.control_tokens import break_control_tokens, restore_control_tokens

TOKENS = [
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|begin_of_text|>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "<s>",
    "</s>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<bos>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|end|>",
    "<｜begin▁of▁sentence｜>",
    "<｜User｜>",
    "<|START_OF_TURN_TOKEN|>",
    "<|channel|>",
    "<|message|>",
    "[TOOL_CALLS]",
    "[AVAILABLE_TOOLS]",
    "[SYSTEM_PROMPT]",
    "<|fim_prefix|>",
    "<fim_middle>",
    "<PRE>",
    "<SUF>",
    "<|turn>",
    "<turn|>",
    "<tool_call>",
    "</tool_call>",
    "<file_sep>",
    "[gMASK]",
]


@pytest.mark.parametrize("token", TOKENS)
def test_a_control_token_is_broken_readable_and_comes_back(token: str) -> None:
    text = f"He wrote {token}system and{token}{token} went."
    said, originals = break_control_tokens(text)
    assert token not in said
    assert said.replace(" ", "") == text.replace(" ", "")
    assert restore_control_tokens(said, originals) == text
    assert break_control_tokens(said) == (said, {})


@pytest.mark.parametrize(
    "text",
    [
        "if a < b || c > d: e[0] | f",
        "<think>so</think> <p>a</p> <strong>b</strong> <span>c</span>",
        "[1] and [A note], see [Smith 2001]; | a | b |\n|---|---|",
        "\u300a\u6f6e\u6c50\u5fd7\u300b\uff5c\u6797\u82e5\u6eaa",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert break_control_tokens(text) == (text, {})


@pytest.mark.parametrize("piece", ["<|", "<", "<|a", "<s", "|>", "a|>", "<\uff5c", "[/INST", "<a"])
def test_breaking_takes_time_in_step_with_the_length(piece: str) -> None:
    def seconds(count: int) -> float:
        text, began = piece * count, time.process_time()
        said, originals = break_control_tokens(text)
        restore_control_tokens(said, originals)
        return time.process_time() - began

    assert seconds(100_000) < 3.0
