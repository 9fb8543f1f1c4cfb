"""Rules that read documents' texts against texts that are hard on them: no exception is expected.

    python tests/benchmarks/fuzz.py [--seeds 1 2] [--cases 20000] [--parsed 2000]

Every text goes through every rule of `tests/fuzzing.py`; so many of them through the rules for
English with a parse, too. Prints each failure with its text, made as short as still fails, and
the summary; exit code 1 where anything failed.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

import fuzzing  # noqa: E402 - found by the path above

MOST_SHOWN = 20
BATCH = 200


def main() -> int:
    """Run all rules over all texts; 1 where one failed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", type=int, nargs="+", default=[1])
    arguments.add_argument("--cases", type=int, default=20_000)
    arguments.add_argument("--parsed", type=int, default=2_000)
    given = arguments.parse_args()
    runs = failures = 0
    shown: set[str] = set()
    started = time.process_time()
    spent = dict.fromkeys([*fuzzing.RULES, "parsed"], 0.0)
    for seed in given.seeds:
        texts = fuzzing.texts(given.cases, seed=seed)
        for name, rule in fuzzing.RULES.items():
            began = time.process_time()
            for text in texts:
                runs += 1
                failures += not _holds(name, rule, text, shown)
            spent[name] += time.process_time() - began
        began = time.process_time()
        some = texts[:: max(1, len(texts) // max(1, given.parsed))][: given.parsed]
        for start in range(0, len(some), BATCH):
            runs += len(some[start : start + BATCH])
            failures += _parsed(some[start : start + BATCH], shown)
        spent["parsed"] += time.process_time() - began
    print("CPU seconds:", ", ".join(f"{name} {took:.1f}" for name, took in spent.items()))
    print(
        f"{given.cases * len(given.seeds)} cases, {runs} runs of rules, {failures} exceptions, "
        f"{time.process_time() - started:.0f} CPU s"
    )
    return bool(failures)


def _holds(name: str, rule: Callable[[str], None], text: str, shown: set[str]) -> bool:
    try:
        rule(text)
    except Exception as error:  # noqa: BLE001 - every one is a finding
        place = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{name}: {type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        if kind not in shown and len(shown) < MOST_SHOWN:
            shown.add(kind)
            print(f"{kind}: {error}\n  {place.line}\n  {_shortest(rule, text, type(error))!r}")
        return False
    return True


def _parsed(texts: list[str], shown: set[str]) -> int:
    """How many texts fail with a parse: in a batch first, one by one where it fails."""
    extractor = fuzzing.extractor("en_core_web_sm")

    def one(text: str) -> None:
        (found,) = extractor.extract([text])
        fuzzing.sound(text, found)

    try:
        for text, found in zip(texts, extractor.extract(texts), strict=True):
            fuzzing.sound(text, found)
    except Exception:  # noqa: BLE001 - every one is a finding
        return sum(not _holds("parsed", one, text, shown) for text in texts)
    return 0


def _shortest(rule: Callable[[str], None], text: str, kind: type[Exception]) -> str:
    """The text without what its failure does not need."""
    size = len(text) // 2
    deadline = time.process_time() + 5
    while size:
        place = 0
        while place < len(text) and time.process_time() < deadline:
            without = text[:place] + text[place + size :]
            try:
                rule(without)
            except kind:
                text = without
            except Exception:  # noqa: BLE001 - another failure
                place += size
            else:
                place += size
        size //= 2
    return text


if __name__ == "__main__":
    sys.exit(main())
