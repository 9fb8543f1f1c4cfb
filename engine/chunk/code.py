"""Source code, chunked by its functions and classes."""

from __future__ import annotations

from .definitions import definitions
from .measure import Measure
from .parser import ContextSource, Span, SpanNodeParser
from .units import Limits, fill


class CodeNodeParser(SpanNodeParser):
    """Code chunks: whole classes, functions and methods while they fit, small ones merged.

    Comments and decorators included.

    A class that does not fit falls into its methods, with its signature for their context; a
    function, into its statements, then lines. `Subject.language` names the grammar; without one
    that is installed, blank lines and indentation part the blocks. Chunks do not overlap. The path
    names what a chunk is in, from the outermost: `("class Store", "def add")`.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """Definition by definition."""
        limits = Limits(measure=Measure(subject.text, self.tokeniser), size_tokens=self.size_tokens)
        return fill(subject.text, definitions(subject.text, subject.language), limits)
