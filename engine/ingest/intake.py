"""Which sources are really new: reads those, passes over what the library holds unchanged.

One source that cannot be read is a failure noted, never the end of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import SourceError
from ..settings import IngestSettings
from ..types import SourceFailure, SourceText
from .content import ReadOptions
from .parts import SEPARATOR
from .readers import read_file, read_llama_document, read_text, source_text
from .sources import FileSource, sha256_of

if TYPE_CHECKING:
    from llama_index.core.schema import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the library knows of a document: enough to tell whether it is still the same."""

    sha256: str
    recipe: str
    title: str


@dataclass(slots=True, kw_only=True)
class Intake:
    """Reads sources one at a time.

    Args:
        settings: limits.
        held: what the library holds, by document id.
        recipe: how a document would be cut, embedded and extracted now.
    """

    settings: IngestSettings
    held: Mapping[str, Held]
    recipe: str
    unchanged: list[str] = field(default_factory=list)
    failures: list[SourceFailure] = field(default_factory=list)

    def files(
        self, sources: Iterable[FileSource], *, progress: Callable[[int], None]
    ) -> Iterator[SourceText]:
        """The files that are new or changed; an unchanged one costs a hash of its bytes."""
        for number, source in enumerate(sources):
            progress(number)
            yield from self._file(source)

    def documents(self, documents: Iterable[Document]) -> Iterator[SourceText]:
        """LlamaIndex documents that are new or changed."""
        limit = self.settings.max_document_characters
        for document in documents:
            yield from self._tried(
                document.id_,
                lambda d=document: self._text(read_llama_document(d, max_characters=limit)),  # type: ignore[misc]
            )

    def text(self, text: str, *, document_id: str, title: str) -> Iterator[SourceText]:
        """One text in hand, if it is new or changed."""
        limit = self.settings.max_document_characters
        yield from self._tried(
            document_id,
            lambda: self._text(
                read_text(text, document_id=document_id, title=title, max_characters=limit)
            ),
        )

    def _tried(self, name: str, make: Callable[[], SourceText | None]) -> Iterator[SourceText]:
        try:
            source = make()
        except SourceError as error:
            self.failures.append(SourceFailure(source=name, reason=str(error)))
            return
        if source is None:
            self.unchanged.append(name)
        else:
            yield source

    def _file(self, source: FileSource) -> Iterator[SourceText]:
        """The documents in one file; of an unchanged one none."""
        held = self.held.get(source.id)
        limit = self.settings.max_file_bytes
        try:
            if (
                held is not None
                and held.recipe == self.recipe
                and sha256_of(source.path, max_bytes=limit) == held.sha256
            ):
                self.unchanged.append(source.id)
                return
            options = ReadOptions(max_characters=self.settings.max_document_characters)
            parts = read_file(source, max_bytes=limit, options=options)
        except SourceError as error:
            self.failures.append(SourceFailure(source=source.id, reason=str(error)))
            return
        for part in parts:
            if part.content is None:
                name = f"{source.id}{SEPARATOR}{part.name}" if part.name else source.id
                self.failures.append(SourceFailure(source=name, reason=part.failure))
            else:
                yield source_text(part, part.content, source=source)

    def _text(self, source: SourceText) -> SourceText | None:
        now = Held(sha256=source.sha256, recipe=self.recipe, title=source.title)
        return None if self.held.get(source.id) == now else source
