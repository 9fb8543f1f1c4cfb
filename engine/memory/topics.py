"""Topic buckets: keyword profiles in YAML that boost what was said on a question's topic."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from ..errors import SettingsError
from ..shipped import shipped
from ..storage.tokenization import tokens

EXAMPLE = "configs/topics/example.yaml"
GENERAL = "general"
MAX_TOPICS = 3
MAX_SUMMARY_CHARACTERS = 500
_LATIN = re.compile(r"[a-z]")


class TopicBuckets:
    """Topics by their keywords; a text without any is `general`.

    Args:
        keywords: keywords of each topic, in any language.
    """

    def __init__(self, keywords: Mapping[str, Sequence[str]]) -> None:
        self._patterns = {
            topic: re.compile(
                "|".join(_pattern(word) for word in sorted(words, key=len, reverse=True)),
                re.IGNORECASE,
            )
            for topic, words in sorted(keywords.items())
            if words
        }

    @classmethod
    def load(cls, file: str) -> TopicBuckets:
        """Read a profile: a mapping of topics to lists of keywords; empty is the shipped one.

        Raises:
            SettingsError: it cannot be read, or is of another form.
        """
        path = Path(file) if file else shipped(EXAMPLE)
        try:
            data = yaml.safe_load(path.read_text(encoding="utf8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            reason = " ".join(str(error).split())
            raise SettingsError(f"cannot read memory.topics: {str(path)!r} ({reason})") from error
        if not isinstance(data, dict) or not all(
            isinstance(words, list) and all(isinstance(word, str) and word for word in words)
            for words in data.values()
        ):
            raise SettingsError(
                f"memory.topics: {str(path)!r} is not a mapping of topics to lists of keywords"
            )
        return cls({str(topic): words for topic, words in data.items()})

    def of(self, text: str) -> tuple[str, ...]:
        """Return up to three topics of a text, the most frequent first; `general` without any."""
        counts = Counter(
            {topic: len(pattern.findall(text)) for topic, pattern in self._patterns.items()}
        )
        found = [topic for topic, count in counts.most_common() if count]
        return tuple(found[:MAX_TOPICS]) or (GENERAL,)


def _pattern(word: str) -> str:
    escaped = re.escape(word)
    return rf"\b{escaped}\b" if _LATIN.search(word.casefold()) else escaped


def summarise(said: Sequence[str]) -> str:
    """Return the beginnings of a user's turns in at most 500 characters, the richest first.

    Turns are taken by the number of their words that no other turn has, and shown in their order.
    """
    words = [set(tokens(text)) for text in said]
    frequency = Counter(word for each in words for word in each)
    weight = [sum(1 / frequency[word] for word in each) for each in words]
    kept: list[int] = []
    room = MAX_SUMMARY_CHARACTERS
    for number in sorted(range(len(said)), key=lambda n: (-weight[n], n)):
        size = min(len(said[number]), _MAX_TURN) + 3
        if size <= room:
            kept.append(number)
            room -= size
    return " · ".join(_cut(said[number]) for number in sorted(kept))


_MAX_TURN = 160


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TURN else text[: _MAX_TURN - 1].rstrip() + "…"
