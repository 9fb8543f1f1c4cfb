"""Readers fed with damaged files: each is read, or refused with a reason; nothing else may happen.

    python tests/benchmarks/fuzz_readers.py                        # 25,000 mutations
    python tests/benchmarks/fuzz_readers.py --mutations 500 --only pdf --seed 7

Every file of `../shared/data/messy_docs` up to 300 kB and small ones of further formats are
mutated: bits flipped, slices cut or doubled, files spliced, marks of the format put in, numbers
replaced. Of zip containers the members are mutated and packed again; streams of a PDF are
unpacked. The same seed makes the same cases, whatever their number. The models for pictures and
sound are stand-ins that find nothing; what lies before them is read. Exit code 1 for any
unforeseen exception.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import resource
import signal
import sys
import time
import traceback
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

REPOSITORY = Path(__file__).parents[2]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests"), str(Path(__file__).parent)]

from format_tokens import PDF_TOKENS, TOKENS, XML_TOKENS, key_of  # noqa: E402
from fuzz_seeds import MESSY, Seed, seeds  # noqa: E402

from engine.errors import EngineError  # noqa: E402
from engine.ingest.document import Content, ReadOptions  # noqa: E402
from engine.ingest.load import Part  # noqa: E402
from engine.ingest.readers import media as audio  # noqa: E402
from engine.ingest.readers import media as images  # noqa: E402
from engine.ingest.registry import format_of_name, is_known  # noqa: E402
from engine.ingest.worker import part_as_json  # noqa: E402

OPTIONS = ReadOptions(max_unpacked_bytes=20_000_000)
SECONDS = 5.0
SLOW = 1.0
MEMORY = 4_000_000_000
_MEMBERS = 4
_DEEPEST = 2
_COST = {"pdf": 25, "docx": 8, "pptx": 8, "xlsx": 8, "odt": 5, "ods": 5, "html": 4, "epub": 5}
"""Seconds for each byte against those of plain text, roughly: what costs more is tried less."""
_NUMBERS = (
    *(b"0", b"-1", b"1", b"99999999999999999999", b"-99999999999999999999", b"1e999", b"NaN"),
    *(
        b"4294967295",
        b"2147483648",
        b"65536",
        b"-0",
        b"0.1",
        b"Infinity",
        b"\xc2\xb2",
        b"1" * 5_000,
    ),
)
_NUMBER = re.compile(rb"\d+")
_FLATE = re.compile(rb"/Filter\s*\[?\s*/FlateDecode\s*\]?([^>]*)>>\s*stream\r?\n")
_STREAM = re.compile(rb"stream\r?\n.*?endstream", re.S)

Mutation = Callable[[bytes, random.Random, Sequence[bytes], bytes], bytes]


class TooSlow(BaseException):
    """A case took longer than the limit; nobody but the fuzz catches it."""


@dataclass(slots=True)
class Tally:
    """What came of the cases, by format."""

    cases: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    unforeseen: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str, str], tuple[str, bytes]] = field(default_factory=dict)
    slow: list[tuple[float, str]] = field(default_factory=list)


# --- mutations ----------------------------------------------------------------------------------


def _flip(data: bytes, chance: random.Random, _: Sequence[bytes], __: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 2, 8, 32))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _truncate(data: bytes, chance: random.Random, _: Sequence[bytes], __: bytes) -> bytes:
    return data[: chance.randrange(len(data))]


def _slice(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(data))
    return start, min(len(data), start + chance.choice((1, 2, 4, 16, 64, 512, 4096)))


def _delete(data: bytes, chance: random.Random, _: Sequence[bytes], __: bytes) -> bytes:
    start, end = _slice(data, chance)
    return data[:start] + data[end:]


def _double(data: bytes, chance: random.Random, _: Sequence[bytes], __: bytes) -> bytes:
    start, end = _slice(data, chance)
    piece = data[start:end] * chance.choice((1, 1, 2, 20))
    at = chance.choice((end, chance.randrange(len(data))))
    return data[:at] + piece + data[at:]


def _splice(data: bytes, chance: random.Random, _: Sequence[bytes], other: bytes) -> bytes:
    return data[: chance.randrange(len(data))] + other[chance.randrange(len(other)) :]


def _insert(data: bytes, chance: random.Random, tokens: Sequence[bytes], _: bytes) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        at = chance.randrange(len(data) + 1)
        data = data[:at] + chance.choice(tokens) * chance.choice((1, 1, 1, 2, 30)) + data[at:]
    return data


def _renumber(data: bytes, chance: random.Random, _: Sequence[bytes], __: bytes) -> bytes:
    start = chance.randrange(len(data))
    found = _NUMBER.search(data, start) or _NUMBER.search(data)
    if found is None:
        return data + chance.choice(_NUMBERS)
    return data[: found.start()] + chance.choice(_NUMBERS) + data[found.end() :]


_MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _truncate, _delete, _double, _splice),
    *(_insert, _insert, _insert, _renumber, _renumber),
)


def mutated(seed: Seed, other: Seed, chance: random.Random) -> bytes:
    """One to four mutations of the seed, outside or inside its container."""
    data = seed.data or b" "
    suffix = PurePosixPath(seed.name).suffix.lower()
    tokens = _tokens(seed.name)
    if data.startswith(b"PK") and chance.random() < 0.75:
        return _inside_zip(data, chance)
    if suffix == ".pdf" and chance.random() < 0.75:
        return _between_streams(_unpacked(data) if chance.random() < 0.5 else data, chance)
    return _several(data, chance, tokens, other.data or b" ")


def _several(data: bytes, chance: random.Random, tokens: Sequence[bytes], other: bytes) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = chance.choice(_MUTATIONS)(data or b" ", chance, tokens, other)
    return data


def _inside_zip(data: bytes, chance: random.Random) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
    except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError):  # damaged as it is
        return _several(data, chance, _encoded(XML_TOKENS), data)
    readable = [name for name in members if members[name] and not name.endswith((".png", ".jpg"))]
    for _ in range(chance.choice((1, 1, 3))):
        name = chance.choice(readable)
        other = members[chance.choice(readable)]
        members[name] = _several(members[name], chance, _encoded(XML_TOKENS), other or b" ")
    if chance.random() < 0.05:
        del members[chance.choice(readable)]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def _unpacked(data: bytes) -> bytes:
    """A PDF with its simply packed streams as they are; its directory is then found anew."""
    pieces, at = [], 0
    for found in _FLATE.finditer(data):
        if found.start() < at or b"DecodeParms" in found.group(1):
            continue
        try:
            plain = zlib.decompressobj().decompress(data[found.end() :], 1_000_000)
        except zlib.error:
            continue
        end = data.find(b"endstream", found.end())
        if end > 0:
            pieces += [data[at : found.start()], found.group(1), b">>\nstream\n", plain, b"\n"]
            at = end
    return b"".join([*pieces, data[at:]])


def _between_streams(data: bytes, chance: random.Random) -> bytes:
    gaps = [0, *(found.end() for found in _STREAM.finditer(data))]
    start = chance.choice(gaps)
    end = data.find(b"stream", start + 1)
    end = chance.choice((len(data), end)) if end > start else len(data)
    piece = _several(data[start:end], chance, _encoded(PDF_TOKENS), data[-2_000:])
    return data[:start] + piece + data[end:]


def _encoded(tokens: Sequence[str]) -> list[bytes]:
    codec = "latin-1" if tokens is PDF_TOKENS else "utf-8"
    return [token.encode(codec, "surrogatepass") for token in tokens]


def _tokens(name: str) -> list[bytes]:
    own = TOKENS.get(key_of(format_of_name(name)), XML_TOKENS)
    marks = [b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\n", b"\xf4\x90\x80\x80"]
    return [*_encoded(own), *marks]


# --- reading ------------------------------------------------------------------------------------


def read_whole(name: str, data: bytes, *, depth: int = 0) -> Content:
    """What the reader makes of it, ready for the way between processes; members are read, too."""
    content = format_of_name(name).read(data, OPTIONS)
    shell = Part(name="", type="", sha256="", content=content)
    json.dumps(part_as_json(shell), ensure_ascii=True)
    for member in content.members[:_MEMBERS] if depth < _DEEPEST else ():
        if member.data and is_known(member.name):
            try:
                read_whole(member.name, member.data, depth=depth + 1)
            except (EngineError, RecursionError):
                continue
    return content


def tried(name: str, data: bytes, *, label: str, tally: Tally) -> None:
    """One case: what came of it is counted."""
    kind = PurePosixPath(name).suffix.lower().lstrip(".")
    tally.cases[kind] += 1
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        read_whole(name, data)
        signal.setitimer(signal.ITIMER_PROF, 0)
        tally.read[kind] += 1
    except (EngineError, RecursionError, MemoryError):  # what the process of a reader foresees
        tally.refused[kind] += 1
    except TooSlow:
        pass
    except BaseException as error:  # all that nobody foresaw is what is looked for
        if isinstance(error, KeyboardInterrupt):
            raise
        key = (key_of(format_of_name(name)), type(error).__name__, _place(error))
        tally.unforeseen[key] += 1
        tally.examples.setdefault(key, (f"{label}: {error}"[:300], data))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - started
    if seconds > SLOW:
        tally.slow.append((seconds, f"{label} ({len(data):,} bytes)"))


def _place(error: BaseException) -> str:
    """The last line of the product's own that the exception came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/engine/" in frame.filename]
    last = own[-1] if own else frames[-1]
    return f"{Path(last.filename).name}:{last.lineno} {last.name}"


def _too_slow(*_: object) -> None:
    raise TooSlow


def _without_models() -> None:
    """Nothing is recognised in pictures, nothing heard in sound: models are no readers."""
    nothing = SimpleNamespace(boxes=None, txts=None)
    images._engine = lambda: lambda _: nothing  # type: ignore[assignment]
    said = SimpleNamespace(language="en")
    heard = SimpleNamespace(transcribe=lambda *_, **__: ([], said))
    audio._model = lambda _: heard  # type: ignore[assignment]


# --- cases --------------------------------------------------------------------------------------


def shares(chosen: Sequence[Seed], total: int) -> list[int]:
    """How many mutations each seed has: formats alike, then the cheaper seeds more."""
    weights = []
    sizes: dict[str, float] = defaultdict(float)
    for seed in chosen:
        kind = PurePosixPath(seed.name).suffix.lower().lstrip(".")
        weights.append((kind, 1 / (4_000 + _COST.get(kind, 1) * len(seed.data))))
        sizes[kind] += weights[-1][1]
    even = [weight / sizes[kind] ** 0.7 for kind, weight in weights]
    return [max(1, round(total * weight / sum(even))) for weight in even]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutations", type=int, default=25_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="suffixes")
    parser.add_argument("--keep", type=Path, help="a folder for the inputs that were unforeseen")
    given = parser.parse_args(arguments)
    if not MESSY.is_dir():
        print(f"there is no {MESSY}: this benchmark reads the files that lie there")
        return 0
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _too_slow)
    _without_models()
    wanted = {f".{suffix.lstrip('.')}" for suffix in given.only}
    chosen = [each for each in seeds() if not wanted or PurePosixPath(each.name).suffix in wanted]
    tally = run(chosen, shares(chosen, given.mutations), seed=given.seed)
    report(tally)
    if given.keep:
        keep(tally, given.keep)
    return 1 if tally.unforeseen else 0


def run(chosen: Sequence[Seed], counts: Sequence[int], *, seed: int) -> Tally:
    """All cases, one after the other."""
    tally = Tally()
    alike = defaultdict(list)
    for each in chosen:
        alike[PurePosixPath(each.name).suffix].append(each)
    for each, count in zip(chosen, counts, strict=True):
        for number in range(count):
            chance = random.Random(f"{seed} {each.name} {number}")  # noqa: S311 - no secret
            other = chance.choice(alike[PurePosixPath(each.name).suffix])
            label = f"{each.name} #{number}"
            tried(each.name, mutated(each, other, chance), label=label, tally=tally)
    return tally


def report(tally: Tally) -> None:
    """Tables of Markdown."""
    print("| format | mutations | read | refused with a reason |\n|---|--:|--:|--:|")
    for kind in sorted(tally.cases):
        print(
            f"| {kind} | {tally.cases[kind]:,} | {tally.read[kind]:,} | {tally.refused[kind]:,} |"
        )
    totals = [sum(each.values()) for each in (tally.cases, tally.read, tally.refused)]
    print("| all | " + " | ".join(f"{total:,}" for total in totals) + " |")
    print(f"\n{sum(tally.unforeseen.values())} unforeseen exceptions")
    for key, count in tally.unforeseen.most_common():
        print(f"- {count} × {' · '.join(key)}\n  {tally.examples[key][0]!r}")
    print(f"\n{len(tally.slow)} cases took more than {SLOW:g} s of computing (limit {SECONDS:g} s)")
    for seconds, label in sorted(tally.slow, reverse=True)[:20]:
        print(f"- {seconds:.1f} s: {label}")
    print(f"\n{time.process_time():.0f} s of computing in all")


def keep(tally: Tally, folder: Path) -> None:
    """The first input of each kind, as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (key, (label, data)) in enumerate(tally.examples.items()):
        suffix = PurePosixPath(label.partition(" #")[0]).suffix
        (folder / f"{number:02}-{key[1]}{suffix}").write_bytes(data)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
