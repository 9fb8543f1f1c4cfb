"""What comes out of real, messy files, format by format: outcome, words recovered, speed, memory.

    python tests/benchmarks/formats.py            # all tables, two to five minutes
    python tests/benchmarks/formats.py --failed   # also each file that failed, and why
    python tests/benchmarks/formats.py --missing docx   # the words missing from that format's files
    python tests/benchmarks/formats.py --neutral  # files of other programs; needs pandoc

Every file of `../shared/data/messy_docs` is read in the reading processes, with their limits. Words
are compared as bags, without markup and in small letters: the share of the expected ones that were
recovered. Expectations are the Markdown that docling's and markitdown's own tests expect; both
describe pictures and comments in words of their own, which no other reader can recover.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
sys.path[:0] = [str(REPOSITORY), str(Path(__file__).parent)]

from neutral_files import print_neutral  # noqa: E402

from engine.errors import SourceError  # noqa: E402
from engine.ingest.document import ReadOptions  # noqa: E402
from engine.ingest.load import read_parts  # noqa: E402
from engine.ingest.registry import SUFFIXES  # noqa: E402
from engine.ingest.sandbox import Job, ReaderPool, Reading  # noqa: E402

MESSY = REPOSITORY.parent / "shared" / "data" / "messy_docs"
SECONDS = 60
MEGABYTE = 1_000_000
_LEAST_PROBED, _LOW_SHARE = 50, 0.7
SPEED_BYTES = 2 * MEGABYTE
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
_TARGET = re.compile(r"\]\([^)]*\)")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|nbsp);")
_ESCAPE = re.compile(r"\\([^\w\s])")
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One file and how it ended: `text` of all its parts, or why there is none."""

    path: Path
    text: str = ""
    reason: str = ""
    seconds: float = 0.0

    @property
    def outcome(self) -> str:
        if self.text:
            return "read"
        return "empty" if self.reason.startswith("is empty") else "failed"


def main(arguments: Sequence[str]) -> None:
    if "--neutral" in arguments:
        print_neutral(words)
        return
    if not MESSY.is_dir():
        raise SystemExit(f"there is no {MESSY}: this benchmark reads the files that lie there")
    reads = list(read_all(sources()))
    if arguments[:1] == ["--missing"]:
        print_missing(reads, suffixes={f".{name.lstrip('.')}" for name in arguments[1:]})
        return
    print_outcomes(reads)
    if "--failed" in arguments:
        print_failed(reads)
    print_recovered(reads)
    print_probed(reads)
    print_speed(reads)


# --- outcomes -----------------------------------------------------------------------------------


def sources() -> list[Path]:
    """Every file but the expectations and what describes the collection."""
    found = sorted(path for path in MESSY.rglob("*") if path.is_file())
    aside = ("LICENSE", "manifest.jsonl")
    return [
        path
        for path in found
        if path.name not in aside and not any("expected" in part for part in path.parts)
    ]


def read_all(paths: Sequence[Path]) -> Iterator[Read]:
    pool = ReaderPool(
        options=ReadOptions(), max_bytes=50 * MEGABYTE, workers=1, timeout_seconds=SECONDS
    )
    with pool:
        for path in paths:
            started = time.perf_counter()
            ((_, reading),) = pool.read([(path, Job(name=path.name, path=path))])
            yield ended(path, reading, seconds=time.perf_counter() - started)


def ended(path: Path, reading: Reading | SourceError, *, seconds: float) -> Read:
    if isinstance(reading, SourceError):
        return Read(path=path, reason=str(reading), seconds=seconds)
    texts = [part.content.text for part in reading.parts if part.content is not None]
    reasons = [part.failure for part in reading.parts if part.content is None]
    reason = "; ".join(reasons) or "is empty"
    return Read(path=path, text="\n".join(texts), reason="" if texts else reason, seconds=seconds)


def print_outcomes(reads: Sequence[Read]) -> None:
    by_suffix: dict[str, list[Read]] = defaultdict(list)
    for read in reads:
        by_suffix[read.path.suffix.lower()].append(read)
    print("\n| format | reader | files | read | empty | failed | slowest, s |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for suffix, group in sorted(by_suffix.items()):
        count = Counter(read.outcome for read in group)
        slowest = max(read.seconds for read in group)
        reader = "yes" if suffix in SUFFIXES else "as text"
        print(
            f"| {suffix or '(none)'} | {reader} | {len(group)} | {count['read']} |"
            f" {count['empty']} | {count['failed']} | {slowest:.1f} |"
        )
    count = Counter(read.outcome for read in reads)
    print(f"| all | | {len(reads)} | {count['read']} | {count['empty']} | {count['failed']} | |")


def print_failed(reads: Sequence[Read]) -> None:
    print("\n| not read | why |\n|---|---|")
    for read in reads:
        if read.outcome != "read":
            print(f"| {read.path.relative_to(MESSY)} | {read.reason} |")


# --- words --------------------------------------------------------------------------------------


def expectation(path: Path) -> Path | None:
    """The Markdown that the file's own project expects of it, where one lies beside it.

    Markitdown's are named without the suffix of the source, and are those of PDF files.
    """
    beside = [path.parent / "expected_docling_md" / f"{path.name}.md"]
    if path.suffix == ".pdf":
        beside.append(path.parent / "expected" / f"{path.stem}.md")
    return next((place for place in beside if place.is_file()), None)


def words(text: str) -> Counter[str]:
    """A bag of words and Han characters, without comments, tags, link targets and escapes."""
    for pattern in (_COMMENT, _TAG, _ENTITY):
        text = pattern.sub(" ", text)
    text = _ESCAPE.sub(r"\1", _TARGET.sub("]", text))
    return Counter(_WORD.findall(text.casefold()))


def compared(reads: Sequence[Read]) -> Iterator[tuple[Read, Counter[str], Counter[str]]]:
    """Each file with an expectation that has words: what is expected, and what of it is missing."""
    for read in reads:
        place = expectation(read.path)
        expected = words(place.read_text(encoding="utf-8")) if place else Counter()
        if expected:
            yield read, expected, expected - words(read.text)


def print_recovered(reads: Sequence[Read]) -> None:
    by_suffix: dict[str, list[tuple[float, int, int]]] = defaultdict(list)
    for read, expected, missing in compared(reads):
        share = 1 - missing.total() / expected.total()
        found = (share, expected.total(), missing.total())
        by_suffix[read.path.suffix.lower()].append(found)
    print("\n| format | files | expected words | recovered | mean of files | worst file |")
    print("|---|--:|--:|--:|--:|--:|")
    for suffix, group in sorted(by_suffix.items()):
        shares, expected, missing = zip(*group, strict=True)
        recovered = 1 - sum(missing) / sum(expected)
        print(
            f"| {suffix} | {len(group)} | {sum(expected):,} | {recovered:.1%}"
            f" | {sum(shares) / len(shares):.1%} | {min(shares):.1%} |"
        )


def print_probed(reads: Sequence[Read]) -> None:
    """PDF files against what the manifest's own probe (pypdf) counted: how much text there is."""
    rows = map(json.loads, (MESSY / "manifest.jsonl").read_text(encoding="utf-8").splitlines())
    probed = {row["path"]: row.get("pypdf_probe", {}).get("chars") or 0 for row in rows}
    shares: dict[str, float] = {}
    for read in reads:
        name = read.path.relative_to(MESSY).as_posix()
        if probed.get(name, 0) >= _LEAST_PROBED:
            shares[name] = len(read.text) / probed[name]
    low = sorted((share, name) for name, share in shares.items() if share < _LOW_SHARE)
    print(
        f"\nOf {len(shares)} PDF files in which pypdf counts {_LEAST_PROBED} characters or more, "
        f"{len(shares) - len(low)} give {_LOW_SHARE:.0%} of them or more; the others:"
    )
    for share, name in low:
        print(f"- {share:.0%} {name}")


def print_missing(reads: Sequence[Read], *, suffixes: set[str]) -> None:
    for read, expected, missing in compared(reads):
        if read.path.suffix.lower() in suffixes:
            share = 1 - missing.total() / expected.total()
            print(f"{share:6.1%}  {read.path.relative_to(MESSY)}  {read.reason}")
            print("        " + " ".join(f"{word}×{n}" for word, n in missing.most_common(25)))


# --- speed --------------------------------------------------------------------------------------

PROSE = (
    "The keeper of the lamp at Gull Quay wrote each night in her book what the wind had done. "
    "She counted {0} ships, and at {1} o'clock the fog came in from the north. 灯塔在夜里亮着。\n\n"
)


def prose(size: int) -> str:
    one = len(PROSE.encode())
    return "".join(PROSE.format(n, n % 12) for n in range(size // one + 1))


def made(suffix: str, size: int) -> bytes | None:
    """A large file of a format that is quick to write; None for the others."""
    text = prose(size)
    lines = [line for line in text.split("\n\n") if line]
    match suffix:
        case ".txt" | ".tex" | ".rst" | ".adoc":
            return text.encode()
        case ".md":
            return "".join(f"## Night {n}\n\n{line}\n\n" for n, line in enumerate(lines)).encode()
        case ".html":
            body = "".join(f"<h2>Night {n}</h2><p>{line}</p>" for n, line in enumerate(lines))
            return f"<html><head><title>Book</title></head><body>{body}</body></html>".encode()
        case ".csv":
            return "".join(f'{n},"{line}",{n * 7}\n' for n, line in enumerate(lines)).encode()
        case ".jsonl":
            return "".join(
                f'{{"id": {n}, "text": "{line}"}}\n' for n, line in enumerate(lines)
            ).encode()
        case ".json":
            rows = ",".join(f'{{"id": {n}, "text": "{line}"}}' for n, line in enumerate(lines))
            return f"[{rows}]".encode()
        case ".xml":
            rows = "".join(f"<night n='{n}'><p>{line}</p></night>" for n, line in enumerate(lines))
            return f"<book>{rows}</book>".encode()
        case ".py":
            parts = (f'def night_{n}():\n    """{line}"""\n\n\n' for n, line in enumerate(lines))
            return "".join(parts).encode()
        case ".zip":
            out = BytesIO()
            with zipfile.ZipFile(out, "w") as archive:
                archive.writestr("book.txt", text)
            return out.getvalue()
    return None


def largest(reads: Sequence[Read], suffix: str) -> Path | None:
    """The largest file of the format that was read."""
    group = [read.path for read in reads if read.text and read.path.suffix.lower() == suffix]
    return max(group, key=lambda path: (path.stat().st_size, str(path)), default=None)


def print_speed(reads: Sequence[Read]) -> None:
    """A process for each, as peak memory is a process's own; what an idle one costs comes first."""
    idle = measured("idle", "")
    print(f"\nA process that has read nothing: {idle[1]:.0f} MB.\n")
    print("| format | source | MB | s | MB/s | peak memory above idle, MB |")
    print("|---|---|--:|--:|--:|--:|")
    suffixes = sorted({read.path.suffix.lower() for read in reads} | {".py", ".zip", ".json"})
    for suffix in suffixes:
        if suffix not in SUFFIXES:
            continue
        path = largest(reads, suffix)
        is_made = made(suffix, 1_000) is not None
        if not is_made and path is None:
            continue
        if is_made or path is None:
            name, size = "made", len(made(suffix, SPEED_BYTES) or b"")
            seconds, peak = measured("made", suffix)
        else:
            name, size = path.name, path.stat().st_size
            seconds, peak = measured("file", str(path))
        print(
            f"| {suffix} | {name} | {size / MEGABYTE:.2f} | {seconds:.2f} |"
            f" {size / MEGABYTE / max(seconds, 1e-6):.2f} | {peak - idle[1]:.0f} |"
        )


def measured(kind: str, what: str) -> tuple[float, float]:
    """Seconds of the second reading (the first loads libraries) and peak memory in MB."""
    command = [sys.executable, __file__, "--one", kind, what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        return float("nan"), float("nan")
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), float(peak)


def one(kind: str, what: str) -> None:
    data, name = b"", what
    if kind == "file":
        data, name = Path(what).read_bytes(), Path(what).name
    elif kind == "made":
        data, name = made(what, SPEED_BYTES) or b"", f"made{what}"
    seconds = 0.0
    for _ in range(2 if data else 0):
        started = time.perf_counter()
        read_parts(data, name=name, options=ReadOptions())
        seconds = time.perf_counter() - started
    print(seconds, peak_megabytes())


def peak_megabytes() -> float:
    """This process's own peak: what `getrusage` tells begins with that of whoever started it."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:4])
    else:
        main(sys.argv[1:])
