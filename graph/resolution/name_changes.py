"""Names whose facts changed, aggregated again, and those whose types follow from them.

A name's type rests on its own facts, on longer names that contain it ("Duke of Burgundy"), and on
full names of persons that it begins, ends or abbreviates. Each of these is a block: what changed is
followed from there, and everything else stays as it is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection

from ..storage.facts import hashed
from ..text.cjk import has_han
from .entity_types import (
    SettledAlone,
    names_inside,
    person_words,
    settle_alone,
    settle_by_parts,
)
from .kept_names import KeptName, KeptNames
from .name_facts import Alias, NameFacts, Scope, names_of, read_name_facts, read_stated_aliases
from .name_forms import (
    Words,
    is_initialled,
    is_register_form,
    is_shown,
    may_be_personal,
    plain_form,
    shows_person,
    with_plain_parts,
)
from .name_parsing import parts_of
from .rules import MEMBER, READER, Profile, name_profile
from .stages import blocks_of, is_bilingual

BILINGUAL = "bilingual"
"""Block of the names that have a spelling, or a stated alias, in the other script."""


def changed_names(
    connection: Connection, kept: KeptNames, seeds: Collection[str]
) -> dict[str, KeptName]:
    """Return what is to be kept of all names that changes of these may have changed."""
    return _Change(connection, kept).of({*seeds})


def all_names(connection: Connection) -> dict[str, KeptName]:
    """Return what is to be kept of all names of the library."""
    return _Change(connection, KeptNames(connection), whole=True).of(set())


@dataclass(slots=True)
class _Change:
    """Names to be kept anew; all others are as they are kept."""

    connection: Connection
    kept: KeptNames
    whole: bool = False
    _base: dict[str, Profile | None] = field(default_factory=dict)
    """Names without regard to whether others show a person."""
    _turned: dict[str, bool] = field(default_factory=dict)
    _blocks: dict[str, set[tuple[str, int]]] = field(default_factory=lambda: defaultdict(set))

    def of(self, seeds: set[str]) -> dict[str, KeptName]:
        """Aggregate these names, and follow what changes by them."""
        facts, first, words = self._settled_alone(seeds)
        keys = set(facts.surfaces) if self.whole else {*words}
        parts = self._words_of_persons(keys, words)
        settled = settle_by_parts(first, parts)
        found = {name.key: name_profile(name) for name in names_of(facts, settled, keys)}
        self._base.update((key, found.get(key)) for key in keys)
        for key in keys if not self.whole else facts.types.keys():
            if key in facts.types:
                self._blocks[key].update((f"inside {name}", MEMBER) for name in names_inside(key))
            self._blocks[key].update((f"person word {w}", MEMBER) for w in words.get(key, ()))
        return self._to_keep({*self._persons()})

    # --- types ------------------------------------------------------------------------------------

    def _settled_alone(
        self, seeds: set[str]
    ) -> tuple[NameFacts, SettledAlone, dict[str, set[str]]]:
        """Return facts, types as each name settles them, and the words that it shows."""
        if self.whole:
            facts = read_name_facts(self.connection, Scope())
            first = settle_alone(facts.types, facts.cues, facts.surfaces)
            return facts, first, _shown_words(first, first.settled)
        keys = seeds | {inside for key in seeds for inside in names_inside(key)}
        while True:
            facts = read_name_facts(self.connection, Scope(keys=keys | self._around(keys)))
            first = settle_alone(facts.types, facts.cues, facts.surfaces)
            words = _shown_words(first, keys)
            self.kept.load(keys)
            other = {w for key in keys for w in self._words_before(key) ^ words[key]}
            more = {form for word in other for form in (word, f"{word}s")} - keys
            if not more:
                return facts, first, words
            keys |= more

    def _around(self, keys: set[str]) -> set[str]:
        """Return the longer names that speak for the types of these."""
        blocks = {hashed(f"inside {key}") for key in keys}
        return self.kept.keys_in(blocks, MEMBER)

    def _words_before(self, key: str) -> set[str]:
        """Return the words of persons' names that a key showed when it was kept."""
        ends = {*key.split()[:1], *key.split()[-1:]}
        blocks = self.kept[key].blocks
        return {word for word in ends if hashed(f"person word {word}") in blocks}

    def _words_of_persons(self, keys: set[str], words: Mapping[str, set[str]]) -> set[str]:
        """Return those of the keys, and of their singulars, that persons' full names show."""
        shown = set[str]().union(*words.values())
        single = (word for key in keys for word in (key, key.removesuffix("s")) if " " not in word)
        blocks = {f"person word {word}": word for word in single}
        return shown | {blocks[block] for block in self._outside(blocks, keys)}

    def _outside(self, blocks: Iterable[str], keys: Iterable[str]) -> set[str]:
        """Return the blocks that have members besides these keys."""
        if self.whole:
            return set()
        ids = {hashed(block): block for block in blocks}
        left = self.kept.counts_in(ids)
        for key in keys:
            left.subtract(block for block in self.kept[key].held() if block in ids)
        return {ids[block] for block, count in left.items() if count > 0}

    def _others(self, block: str) -> set[str]:
        """Return the members of a block besides the names to be kept anew."""
        if self.whole:
            return set()
        return self.kept.keys_in((hashed(block),), MEMBER) - self._base.keys()

    # --- persons ----------------------------------------------------------------------------------

    def _persons(self) -> Iterator[str]:
        """Settle which names are register forms, and yield those shown to be persons'."""
        self._widen({*self._base})
        self._turn()
        self._widen_to_shown(self._words_that_changed())
        profiles = {key: told for key in self._base if (told := self._told(key)) is not None}
        held = {words for words, _ in self._showing()}
        held |= self._shown_outside(held, (profile.parts.words for profile in profiles.values()))
        surnames = {words[-1]: words for words in sorted(held)}
        for key, profile in profiles.items():
            known = self._fullest(profile, surnames) if is_initialled(profile) else {}
            if is_shown(profile, held, known):
                yield key

    def _turn(self) -> None:
        """Settle which names are register forms of others."""
        forms = {
            key: form
            for key, base in self._base.items()
            if base is not None and (form := plain_form(key)) != key
        }
        words = {key: parts_of(form).words for key, form in forms.items()}
        showing = {base.parts.words for base in self._base.values() if base and shows_person(base)}
        blocks = {_shows(each): each for each in words.values()}
        showing |= {blocks[block] for block in self._outside(blocks, self._base)}
        for key, base in self._base.items():
            self._turned[key] = False
            if base is not None and key in forms:
                form = forms[key]
                plain = self._base[form] if form in self._base else self._kept_base(form)
                self._turned[key] = is_register_form(base, plain, showing)

    def _shown_outside(self, held: Collection[Words], asked: Iterable[Words]) -> set[Words]:
        """Return those of the words that other names show to be a person's."""
        open_ = {words for words in asked if words not in held and may_be_personal(words)}
        blocks = {block: words for words in open_ for block in (_shows(words), _told(words))}
        return {blocks[block] for block in self._outside(blocks, self._base)}

    def _kept_base(self, key: str) -> Profile | None:
        return None if self.whole else self.kept[key].base

    def _told(self, key: str) -> Profile | None:
        base = self._base[key]
        return with_plain_parts(base) if base is not None and self._turned[key] else base

    def _widen(self, keys: set[str]) -> None:
        """Take in the register forms of names that changed."""
        if self.whole:
            return
        words = {
            profile.parts.words
            for key in keys
            for profile in (self._base[key], self.kept[key].base)
            if profile is not None and may_be_personal(profile.parts.words)
        }
        self._take_in({f"plain {' '.join(some)}" for some in words})

    def _take_in(self, blocks: Iterable[str]) -> None:
        """Take in the readers of blocks as they are kept."""
        more = self.kept.keys_in(map(hashed, blocks), READER) - self._base.keys()
        self.kept.load(more)
        for key in sorted(more):
            held = self.kept[key]
            self._base[key] = held.base
            self._turned[key] = held.is_turned
            self._blocks[key] |= self._raw_blocks(key)

    def _raw_blocks(self, key: str) -> set[tuple[str, int]]:
        """Return the blocks of a name taken in that rest on its facts."""
        inside = {f"inside {name}" for name in names_inside(key)}
        words = {f"person word {word}" for word in self._words_before(key)}
        held = self.kept[key].blocks
        return {(block, MEMBER) for block in inside | words if hashed(block) in held}

    def _showing(self) -> Iterator[tuple[Words, str]]:
        """Yield the words that names show to be a person's, with the key that does."""
        for key, base in self._base.items():
            if base is not None and shows_person(base):
                yield base.parts.words, key
            if base is not None and self._turned[key]:
                yield with_plain_parts(base).parts.words, key

    def _words_that_changed(self) -> set[Words]:
        """Return the words that names begin or cease to show."""
        now = {(words, key) for words, key in self._showing()}
        if self.whole:
            return {words for words, _ in now}
        before: set[tuple[Words, str]] = set()
        for key in self._base:
            before |= _shown_by(key, self.kept[key])
        return {words for words, _ in now ^ before}

    def _widen_to_shown(self, changed: set[Words]) -> None:
        if self.whole:
            return
        named = {f"words {' '.join(words)}" for words in changed}
        initialled = {f"surname {words[-1]}" for words in changed}
        self._take_in(named | initialled)

    def _fullest(self, profile: Profile, now: Mapping[str, Words]) -> dict[str, Words]:
        """Return the last of the full names that show a surname to be a person's, by that."""
        surname = profile.parts.words[-1]
        found = {now[surname]} if surname in now else set[Words]()
        for key in self._others(f"surname {surname}"):
            shown = _shown_by(key, self.kept[key])
            found.update(words for words, _ in shown if words[-1] == surname)
        return {surname: max(found)} if found else {}

    # --- rows -------------------------------------------------------------------------------------

    def _to_keep(self, persons: set[str]) -> dict[str, KeptName]:
        keys = {*self._base, *self._blocks}
        stated: dict[str, list[Alias]] = defaultdict(list)
        for pair in read_stated_aliases(self.connection, keys=None if self.whole else keys):
            for key in set(pair):
                stated[key].append(pair)
        found: dict[str, KeptName] = {}
        for key in sorted(keys):
            base = self._base.get(key)
            turned, person = self._turned.get(key, False), key in persons
            value = KeptName(base=base, is_turned=turned, is_person=person)
            blocks = dict(self._blocks.get(key, ()))
            if base is not None and (profile := value.profile) is not None:
                blocks |= blocks_of(profile, stated[key])
                for block, part in _person_blocks(base, self._told(key), stated[key]):
                    blocks[block] = blocks.get(block, 0) | part
            ids: dict[int, int] = {}
            for block, part in blocks.items():
                ids[hashed(block)] = ids.get(hashed(block), 0) | part
            found[key] = KeptName(base=base, is_turned=turned, is_person=person, blocks=ids)
        return found


def _shown_words(first: SettledAlone, keys: Iterable[str]) -> dict[str, set[str]]:
    settled = first.settled
    return {
        key: person_words({key: settled[key]}, first.cues) if key in settled else set()
        for key in keys
    }


def _shown_by(key: str, held: KeptName) -> set[tuple[Words, str]]:
    """Return the words that a kept name shows to be a person's."""
    found: set[tuple[Words, str]] = set()
    if held.base is not None and shows_person(held.base):
        found.add((held.base.parts.words, key))
    if held.base is not None and held.is_turned:
        found.add((with_plain_parts(held.base).parts.words, key))
    return found


def _shows(words: Words) -> str:
    return f"shows {' '.join(words)}"


def _told(words: Words) -> str:
    return f"told {' '.join(words)}"


def _person_blocks(
    base: Profile, told: Profile | None, stated: Iterable[Alias]
) -> Iterator[tuple[str, int]]:
    """Yield the blocks by which names show each other to be a person's."""
    key, shows = base.name.key, shows_person(base)
    told = told or base
    if shows:
        yield _shows(base.parts.words), MEMBER
        yield f"surname {base.parts.words[-1]}", MEMBER
    if told is not base:
        yield _told(told.parts.words), MEMBER
        yield f"surname {told.parts.words[-1]}", MEMBER
    if may_be_personal(told.parts.words):
        yield f"words {' '.join(told.parts.words)}", READER
    if is_initialled(told):
        yield f"surname {told.parts.words[-1]}", READER
    if (form := plain_form(key)) != key and may_be_personal(parts_of(form).words):
        yield f"plain {' '.join(parts_of(form).words)}", READER
    if is_bilingual(base) or any(has_han(one) != has_han(other) for one, other in stated):
        yield BILINGUAL, MEMBER
