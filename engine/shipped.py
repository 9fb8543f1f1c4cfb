"""Files that come with the package: profiles, prices, the sample corpus.

In the repository they lie beside the packages, in the wheel inside of `engine`.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

SAMPLE_CORPUS = "data/corpus"
_PACKAGE = Path(__file__).parent


def shipped(place: str) -> Path:
    """Return the path of a shipped file or folder, such as `configs/openai.yaml`."""
    installed = _PACKAGE / place
    return installed if installed.exists() else _PACKAGE.parent / place


def copy_sample_corpus(sources: Sequence[str]) -> bool:
    """Copy the sample corpus to `data/corpus` where that is asked for and not there."""
    place = Path(SAMPLE_CORPUS)
    if place.exists() or not any(Path(each) == place for each in sources):
        return False
    shutil.copytree(shipped(SAMPLE_CORPUS), place)
    return True


def shipped_profiles() -> list[str]:
    """Return the names of the shipped profiles, sorted."""
    return sorted(each.stem for each in shipped("configs").glob("*.yaml") if each.stem != "prices")


def find_profile(profile: str | Path) -> Path:
    """Return the file of a profile: the path itself, else the shipped one of that name.

    `openai`, `openai.yaml` and `configs/openai.yaml` name the shipped profile where no such file
    is there.
    """
    path = Path(profile)
    if path.is_file() or path.parent.name not in {"", "configs"}:
        return path
    if path.stem in shipped_profiles() and path.suffix in {"", ".yaml"}:
        return shipped(f"configs/{path.stem}.yaml")
    return path
