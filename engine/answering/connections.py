"""Connections: the way in the graph between two things that a question names, with its sources.

"How are X and Y connected?" is answered, without a language model, by the shortest way whose steps
texts state, a line a step with the sentence that says it; then by what else both are related to
and the documents that name both. Where one of the two is not in the graph, or no way leads from
one to the other, the answer says so and shows what is nearest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from graph.text.cjk import has_han

from ..plain_text import strip_markdown
from ..prompts import Language, language_of
from ..storage.graph_api import (
    OCCURS_WITH,
    Chunk,
    EntityPath,
    EntityView,
    Explorer,
    NameUnknown,
    RelationView,
    SourceQuote,
    graph_errors,
    sentence_spans,
)
from ..storage.graph_views import GraphViewCache
from ..storage.library import Library
from ..storage.schema import DocumentFilter
from ..types import Citation
from .global_search.standalone import is_listing, stands_alone
from .packing import Draft

MAX_HOPS = 3
_WAYS, _EVIDENCES = 8, 6
"""Number of ways that are compared, and of sentences for a step."""
_DIRECT, _SHARED, _NEAREST, _TITLES = 3, 3, 3, 4
"""Maximum number of direct relations, of shared entities, of nearest names and of titles shown."""
_UNSTATED = 1.5
"""Length of a step by which two names only stand in one sentence; that of a stated one is 1."""
_HUB = 0.15
"""Length added for each doubling of the relations of a thing on the way."""
_POOR, _NEXT = 2.0, 0.1
"""Length added where the best sentence is a list, and where the names stand in two sentences."""
_TOLD = 0.6
"""Length taken off where what one is to the other stands between their names."""
_IN_DOCUMENT, _OFTEN, _DOCUMENTS = 3.4, 0.05, 8
"""Length of the step from one to the other in a document, less for each sentence that names the
rarer of the two, and number of documents looked at."""
_MAX_QUOTE = 400
"""Maximum length of a sentence in characters."""

_ROLE = re.compile(
    r"\b(?:(?:grand|god|step|foster )?-?(?:father|mother|son|daughter|child|parent)s?(?:-in-law)?"
    r"|(?:half-)?(?:brother|sister)s?(?:-in-law)?|wife|husband|widow(?:er)?|spouse|uncle|aunt|nephew"
    r"|niece|cousin|twin|sibling|heir|fianc[ée]e?|sweetheart|friend|rival|enemy|partner|colleague"
    r"|assistant|apprentice|clerk|servant|secretary|deputy|student|pupil|teacher|tutor|mentor|supervisor"
    r"|successor|predecessor|employer|employee|master|landlord|tenant|neighbour|owner|founder"
    r"|director|author|designer|captain|leader|member|subsidiary|branch|part)s?\b"
    r"|[之的]?(?:父|母|子|女|兄|弟|姐|妹|妻|夫|侄|甥|叔|伯|舅|姑|孙|婿|师|徒|友|同窗|部将|谋士|军师|主公|义弟|义兄"
    r"|兄弟|丈夫|妻子|儿子|女儿|父亲|母亲|学生|老师|上司|下属|同事|创始人|成员)"
)
"""A part that one thing plays for another; between their names, or behind the second name."""
_BETWEEN, _BEHIND = 60, 40
"""Characters between two names, and behind the second, in which that stands."""
_APPOSED = re.compile(r"\W{0,3}")
_OWNED = re.compile(r"['’]s?\s+(?:[\w-]+\s+){0,2}")

_JOINED = r"(?:connected|related|linked|associated|tied|joined)"
_EACH = r"(?:each other|one another)"
_TO = r"(?:to|with)"
_NOUN = r"(?:connections?|links?|relations?|relationships?|ties?|associations?)"
_ENGLISH = tuple(
    re.compile(rf"^\W*(?:so |and |please )?{form}\W*$", re.IGNORECASE)
    for form in (
        rf"(?:in what way|how) (?:is|are|was|were) (?P<pair>.+?) {_JOINED}(?: {_TO} {_EACH})?",
        rf"(?:in what way|how) (?:is|are|was|were) (?P<a>.+?) {_JOINED} {_TO} (?P<b>.+?)",
        r"what (?:links?|connects?|joins?|ties|relates|unites) (?P<pair>.+?)(?: together)?",
        rf"(?:what|which|is|are|describe|explain|show|tell me)(?: me)?(?: is|'s| are| was| were)?"
        rf"(?: there)?(?: the| any| a)? {_NOUN}(?: is| are)?(?: there)?"
        r" (?:between|of) (?P<pair>.+?)",
        r"what (?:do|does|did|has|have) (?P<a>.+?) (?:have )?to do with (?P<b>.+?)",
        rf"what (?:do|did) (?P<pair>.+?) have to do with {_EACH}",
        r"how (?:do|does|did) (?P<pair>.+?) (?:relate|connect)(?: to each other)?",
        r"how (?:do|does|did) (?P<a>.+?) relate to (?P<b>.+?)",
    )
)
_HAN_NOUN = "(?:关系|联系|关联|渊源|瓜葛|交集|纠葛)"
_CHINESE = tuple(
    re.compile(form)
    for form in (
        rf"^(?:请问)?(?P<pair>.+?)(?:之间|两者|二者)?(?:的{_HAN_NOUN}(?:是|有)?(?:什么|怎样|怎么样|哪些)?(?:的)?"
        rf"|(?:存在着?|有着?|是)(?:什么|何种?|怎样的?|怎么样的?|哪些|啥|没有)?(?:样的)?{_HAN_NOUN})[\s。？?！]*$",
        r"^(?:请问)?(?P<pair>.+?)(?:之间)?(?:是)?(?:怎么|怎样|如何)(?:联系|关联|相连|连接|扯上关系)(?:在一起|起来|到一起)?(?:的)?[\s。？?]*$",
        rf"^(?:请?(?:说说|讲讲|介绍一?下?|解释))(?P<pair>.+?)(?:之间)?的{_HAN_NOUN}[\s。？?]*$",
    )
)
_AND = re.compile(r",? (?:and|with|to) |\s*(?:和|与|跟|同|及|以及|、)\s*", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?) ", re.IGNORECASE)


def connection_pairs(question: str) -> list[tuple[str, str]]:
    """Return the pairs that a question for a connection may name; none for other questions.

    There are several where a name can hold an "and".
    """
    plain = " ".join(question.split())
    for pattern in (*_ENGLISH, *_CHINESE):
        found = pattern.match(plain)
        if found is None:
            continue
        named = found.groupdict()
        if named.get("a"):
            return [(_bare(named["a"]), _bare(named["b"]))]
        pair = named["pair"]
        pair = re.sub(r"^both ", "", pair, flags=re.IGNORECASE)
        cuts = [(pair[: cut.start()], pair[cut.end() :]) for cut in _AND.finditer(pair)]
        pairs = [(_bare(one), _bare(other)) for one, other in cuts]
        if pairs := [both for both in pairs if all(both)]:
            return pairs
    return []


def _bare(name: str) -> str:
    return name.strip(" ,，。?？\"“”'‘’「」")


class ConnectionAnswerer:
    """Answers how two things are connected.

    Args:
        library: what is read.
        views: the graph as documents that may be seen give it.
    """

    def __init__(self, library: Library, views: GraphViewCache) -> None:
        self._library = library
        self._views = views

    def answer(self, question: str, *, within: DocumentFilter | None) -> Draft | None:
        """Return the connection; None where none is asked for, or neither thing is known."""
        pairs = connection_pairs(question)
        if not pairs:
            return None
        language = language_of(question)
        with self._library.read() as connection, graph_errors():
            seen = self._views.current(connection, within)
            explorer = Explorer(
                connection, seen, page_of=lambda _document, _offset: None, language=language
            )
            return _Connection(explorer, language).draft(pairs)


@dataclass(frozen=True)
class _Together:
    """A passage that names both, what is said before it, and how long a step it makes."""

    quote: SourceQuote
    before: str
    length: float


@dataclass
class _Connection:
    """An answer in the making, with its citations in order."""

    explorer: Explorer
    language: Language
    citations: list[Citation] = field(default_factory=list)

    def draft(self, pairs: Sequence[tuple[str, str]]) -> Draft | None:
        """Answer for the first pair of which both are known, else of which one is."""
        ends = [(pair, tuple(map(self._find, pair))) for pair in pairs]
        for _, (one, other) in ends:
            if one is not None and other is not None and one.id != other.id:
                return self._connected(one, other)
        for (first, second), (one, other) in ends:
            if (one is None) != (other is None):
                unknown = first if one is None else second
                return self._unknown(unknown, one or other)  # type: ignore[arg-type]
        return None

    def _find(self, name: str) -> EntityView | None:
        """Return the entity called so, or the most mentioned one whose name holds these words."""
        for called in dict.fromkeys((name, _ARTICLE.sub("", name))):
            try:
                return self.explorer.entity_at(self.explorer.number(called))
            except NameUnknown:
                pass
        called = _ARTICLE.sub("", name)
        whole = re.compile(rf"(?<!\w){re.escape(called)}(?!\w)", re.IGNORECASE)
        for view in self.explorer.entities(called, limit=10, offset=0).items:
            if any(whole.search(each) for each in (view.name, *view.aliases)):
                return view
        return self._inside(called) if has_han(called) else None

    def _inside(self, name: str) -> EntityView | None:
        """Return the entity whose name is the longest part, half at least, of a Chinese name."""
        for size in range(len(name) - 1, max(1, (len(name) - 1) // 2), -1):
            for start in range(len(name) - size + 1):
                try:
                    part = name[start : start + size]
                    return self.explorer.entity_at(self.explorer.number(part))
                except NameUnknown:
                    continue
        return None

    def _connected(self, one: EntityView, other: EntityView) -> Draft:
        paths = self.explorer.paths(
            one.id, other.id, max_hops=MAX_HOPS, limit=_WAYS, evidences=_EVIDENCES
        )
        best = min(
            paths, key=lambda path: (_length(path), [n.id for n in path.nodes]), default=None
        )
        together = list(self._together(one, other))
        documents = self.explorer.common_documents(one.id, other.id)
        passed: set[str] = set()
        told = self._in_one_document(one, other, documents)
        nearest = min([_length(best)] if best else [], default=math.inf)
        nearest = min([nearest, *(said.length for said in together[:1])])
        if told and told[0].length < nearest:
            lines = [self._both_in(one, other, told[0].quote.title)]
            lines += [f"- {self._quoted(said.quote)}" for said in told]
            documents = [each for each in documents if each[0] != told[0].quote.document_id]
        elif together and (best is None or _length(best) >= together[0].length):
            lines = [self._direct(one, other)]
            near = [said for said in together if said.length <= max(together[0].length, _UNSTATED)]
            lines += [f"- {said.before}{self._quoted(said.quote)}" for said in near[:_DIRECT]]
        elif best is not None and len(best.edges) == 1:
            lines = [self._direct(one, other)]
            edges = self.explorer.between(one.id, other.id, evidences=_EVIDENCES)
            lines += self._steps(edges[:_DIRECT])
        elif best is not None:
            lines = [self._way(best), *self._steps(best.edges, numbered=True)]
            passed = {node.id for node in best.nodes}
        else:
            return self._apart(one, other, documents)
        lines += self._else(one, other, passed, documents)
        return self._made(lines, detail=f"{one.name} to {other.name}, by {len(passed)} other(s)")

    def _in_one_document(
        self, one: EntityView, other: EntityView, documents: Sequence[tuple[str, str]]
    ) -> list[_Together]:
        """Return a sentence for each from one document that names both, or none."""
        best: list[_Together] = []
        for document_id, _ in documents[:_DOCUMENTS]:
            pair = []
            for end in (one, other):
                quotes = self.explorer.sentences_in(end.id, document_id, limit=_EVIDENCES)
                good = [quote for quote in quotes if not _is_poor(quote.quote)]
                alone = [quote for quote in good if stands_alone(quote.quote)]
                length = _IN_DOCUMENT + (0.0 if alone else 2 * _NEXT) - _OFTEN * len(quotes)
                pair += [_Together(quote, "", round(length, 6)) for quote in (alone or good)[:1]]
            if len(pair) == 2 and _place(pair[0].quote) != _place(pair[1].quote):
                length = max(said.length for said in pair)
                if not best or length < best[0].length:
                    best = [replace(said, length=length) for said in pair]
        return best

    def _both_in(self, one: EntityView, other: EntityView, title: str) -> str:
        return self._say(
            f"{one.name} and {other.name} are both spoken of in “{title}”:",
            f"《{title.strip('《》')}》同时提到了{one.name}与{other.name}：",
        )

    def _together(self, one: EntityView, other: EntityView) -> Iterator[_Together]:
        """Yield passages of one or two sentences that name both, the best first."""
        names = [_any_name(view, self.explorer.keys_of(view.id)) for view in (one, other)]
        found = [
            said
            for chunk, *titled in self.explorer.shared_chunks(one.id, other.id)
            for said in _of_chunk(chunk, names, titled)
        ]
        found.sort(key=lambda said: (said.length, said.quote.document_id, said.quote.start))
        told: list[SourceQuote] = []
        for said in found:
            quote = said.quote
            inside = (
                quote.document_id == each.document_id
                and quote.start < each.end
                and each.start < quote.end
                for each in told
            )
            if not any(inside):
                told.append(quote)
                yield said

    def _direct(self, one: EntityView, other: EntityView) -> str:
        return self._say(
            f"{one.name} and {other.name} are directly connected:",
            f"{one.name}与{other.name}有直接联系：",
        )

    def _way(self, path: EntityPath) -> str:
        first, *between, last = (node.name for node in path.nodes)
        return self._say(
            f"{first} and {last} are connected through {' and '.join(between)}:",
            f"{first}与{last}通过{'、'.join(between)}相联系：",
        )

    def _steps(self, edges: Iterable[RelationView], *, numbered: bool = False) -> Iterator[str]:
        """Yield a line for each relation: its ends, the sentence that says it, its mark."""
        told: set[tuple[str, int, int]] = set()
        number = 0
        for edge in edges:
            fresh = [one for one in edge.evidence if _place(one) not in told]
            quote = _best_quote(fresh, edge)
            if quote is None:
                continue
            told.add(_place(quote))
            number += 1
            mark = f"{number}. " if numbered else "- "
            yield f"{mark}{self._ends(edge)}{self._say(': ', '：')}{self._quoted(quote)}"

    def _ends(self, edge: RelationView) -> str:
        both = f"{edge.source_name} – {edge.target_name}"
        if edge.predicate == OCCURS_WITH:
            return both
        return f"{edge.source_name} – {edge.predicate} – {edge.target_name}"

    def _else(
        self,
        one: EntityView,
        other: EntityView,
        passed: set[str],
        documents: Sequence[tuple[str, str]],
    ) -> list[str]:
        """Return what else links the two: shared entities, and documents that name both."""
        lines: list[str] = []
        for shared in self.explorer.common_neighbours(one.id, other.id, limit=2 * _SHARED):
            if shared.id not in passed and len(lines) < _SHARED:
                lines += self._through(one, shared, other)
        if len(documents) > 1:
            lines.append(f"- {self._named_in(documents)}")
        head = self._say("What else links them:", "此外：")
        return ["", head, *lines] if lines else []

    def _through(self, one: EntityView, shared: EntityView, other: EntityView) -> list[str]:
        """Return the line of an entity that both are related to; none where all is said before."""
        quotes = []
        for end in (one, other):
            for edge in self.explorer.between(end.id, shared.id, evidences=_EVIDENCES)[:1]:
                quote = _best_quote(edge.evidence, edge)
                if quote is not None and not _is_poor(quote.quote):
                    quotes.append(quote)
        if len(quotes) < 2 or all(self._number(quote) for quote in quotes):
            return []
        same = _place(quotes[0]) == _place(quotes[1])
        colon = self._say(": ", "：")
        told = " ".join(self._quoted(quote) for quote in (quotes[:1] if same else quotes))
        return [f"- {shared.name}{colon}{told}"]

    def _named_in(self, documents: Sequence[tuple[str, str]]) -> str:
        titles = list(dict.fromkeys(title for _, title in documents))
        more = len(titles) - _TITLES
        shown = self._say("; ", "；").join(titles[:_TITLES])
        rest = self._say(f"; and {more} more", f"；另有 {more} 份") if more > 0 else ""
        if len(documents) == 1:
            return self._say(f"Both are named in: {shown}", f"两者都出现在：{shown}")
        return self._say(
            f"Both are named in {len(documents)} documents: {shown}{rest}",
            f"有 {len(documents)} 份文档同时提到两者：{shown}{rest}",
        )

    def _apart(
        self, one: EntityView, other: EntityView, documents: Sequence[tuple[str, str]]
    ) -> Draft:
        """Say that no way leads from one to the other, and what each is closest to."""
        lines = [
            self._say(
                f"No statement in these documents connects {one.name} and {other.name}.",
                f"这些文档中没有把{one.name}与{other.name}联系起来的说法。",
            )
        ]
        if documents:
            lines.append(self._named_in(documents))
        for end in (one, other):
            lines += self._closest(end)
        return self._made(lines, detail=f"no way from {one.name} to {other.name}", abstained=True)

    def _unknown(self, name: str, known: EntityView) -> Draft:
        """Say that one of the two is not in the documents, and what is nearest."""
        near = self.explorer.entities(name, limit=_NEAREST, offset=0).items
        lines = [
            self._say(
                f"{name} is not among the names known from these documents.",
                f"{name}不在这些文档已知的名称之中。",
            )
        ]
        if near:
            names = self._say(", ", "、").join(view.name for view in near)
            lines.append(self._say(f"Similar names: {names}", f"相近的名称：{names}"))
        lines += self._closest(known)
        return self._made(lines, detail=f"unknown name {name}", abstained=True)

    def _closest(self, view: EntityView) -> list[str]:
        """Return the strongest relations of an entity, a line each."""
        detail = self.explorer.entity(view.id, communities=(), evidences=_EVIDENCES, limit=_NEAREST)
        steps = list(self._steps(detail.relations))
        head = self._say(f"{view.name} is connected with:", f"与{view.name}有联系的是：")
        return ["", head, *steps] if steps else []

    def _quoted(self, quote: SourceQuote) -> str:
        """Return a sentence with its mark; the same place has one number."""
        number = self._number(quote)
        if not number:
            number = len(self.citations) + 1
            self.citations.append(
                Citation(
                    number=number,
                    document_id=quote.document_id,
                    chunk_id=quote.chunk_id,
                    title=quote.title,
                    quote=quote.quote,
                    start=quote.start,
                    end=quote.end,
                )
            )
        return f"{strip_markdown(quote.quote)} [{number}]"

    def _number(self, quote: SourceQuote) -> int:
        """Return the number that a place has; 0 for one not cited before."""
        place = _place(quote)
        cited = ((one.number, (one.document_id, one.start, one.end)) for one in self.citations)
        return next((number for number, known in cited if known == place), 0)

    def _say(self, english: str, chinese: str) -> str:
        return chinese if self.language == "zh" else english

    def _made(self, lines: Sequence[str], *, detail: str, abstained: bool = False) -> Draft:
        return Draft(
            text="\n".join(lines),
            citations=tuple(self.citations),
            abstained=abstained,
            detail=detail,
            figures={"sentences": float(len(self.citations))},
        )


def _order(path: EntityPath) -> tuple[float, list[str]]:
    return _length(path), [node.id for node in path.nodes]


def _length(path: EntityPath) -> float:
    """Return the length of a way: less by stated steps and good sentences, more by hubs."""
    steps = 0.0
    for edge in path.edges:
        quote = _best_quote(edge.evidence, edge)
        steps += _UNSTATED if edge.predicate == OCCURS_WITH else 1.0
        steps += _POOR if quote is None or _is_poor(quote.quote) else 0.0
    hubs = sum(_HUB * math.log2(max(node.weight, 1.0)) for node in path.nodes[1:-1])
    return round(steps + hubs, 9)


def _best_quote(quotes: Sequence[SourceQuote], edge: RelationView) -> SourceQuote | None:
    """Return the sentence that can be read alone and names both ends, else the first good one."""

    def order(item: tuple[int, SourceQuote]) -> tuple[bool, int, int]:
        text = " ".join(item[1].quote.split())
        named = sum(
            end.casefold() in text.casefold() for end in (edge.source_name, edge.target_name)
        )
        return _is_poor(text), -named - 2 * stands_alone(text), item[0]

    return min(enumerate(quotes), key=order)[1] if quotes else None


def _is_poor(text: str) -> bool:
    return len(text) > _MAX_QUOTE or is_listing(text)


def _any_name(view: EntityView, keys: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for any name of an entity, in any case."""
    names = sorted({view.name, *view.aliases, *keys}, key=lambda name: (-len(name), name))
    words = (r"\s+".join(map(re.escape, name.split())) for name in names)
    bounded = (word if has_han(word) else rf"(?<!\w){word}(?!\w)" for word in words)
    return re.compile("|".join(bounded), re.IGNORECASE)


def _of_chunk(
    chunk: Chunk, names: Sequence[re.Pattern[str]], titled: Sequence[bool]
) -> Iterator[_Together]:
    """Yield passages of a chunk that name both, or one where the title is the other's name."""
    spans = [span for span in sentence_spans(chunk.text) if span[1] - span[0] <= _MAX_QUOTE]
    named = [[name.search(chunk.text, *span) is not None for name in names] for span in spans]
    for at, (span, held) in enumerate(zip(spans, named, strict=True)):
        before = ""
        if all(held):
            length = _UNSTATED
        elif (held[0] and titled[1]) or (held[1] and titled[0]):
            length, before = _UNSTATED + _NEXT, f"{chunk.title}: "
        elif at and any(held) and all(map(any, zip(held, named[at - 1], strict=True))):
            length, span = _UNSTATED + 2 * _NEXT, (spans[at - 1][0], span[1])
        else:
            continue
        text = chunk.text[slice(*span)]
        if _is_heading(text):
            continue
        length += _POOR if _is_poor(text) else 0.0
        length += 0.0 if stands_alone(text) else _NEXT
        length -= _TOLD if all(held) and _tells_role(text, names) else 0.0
        yield _Together(_quote_of(chunk, *span), before, round(length, 6))


def _tells_role(text: str, names: Sequence[re.Pattern[str]]) -> bool:
    """Check that a sentence says what one is to the other: "Fred, Scrooge's nephew"."""
    for one, other in (names, names[::-1]):
        for first in one.finditer(text):
            second = other.search(text, first.end(), first.end() + 2 * _BETWEEN)
            if second is None or second.start() - first.end() > _BETWEEN:
                continue
            between = text[first.end() : second.start()]
            if re.search(r"[.!?;。！？；]\s", between):
                continue
            behind = text[second.end() : second.end() + _BEHIND]
            owned = _OWNED.match(behind) if _APPOSED.fullmatch(between) else None
            if _ROLE.search(between) or (owned and _ROLE.match(behind, owned.end())):
                return True
    return False


def _is_heading(text: str) -> bool:
    return text.lstrip().startswith("#") or not re.search(r"[.!?。！？;；,，]", text)


def _quote_of(chunk: Chunk, start: int, end: int) -> SourceQuote:
    return SourceQuote(
        document_id=chunk.document_id,
        title=chunk.title,
        chunk_id=chunk.id,
        start=chunk.start + start,
        end=chunk.start + end,
        quote=chunk.text[start:end],
    )


def _place(quote: SourceQuote) -> tuple[str, int, int]:
    return quote.document_id, quote.start, quote.end
