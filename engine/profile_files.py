"""Settings sources: YAML profiles and environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from .errors import SettingsError

ENVIRONMENT_PREFIX = "LOREGRAPH_"


def load_effective_settings(
    profile: str | Path | None, environment: Mapping[str, str]
) -> dict[str, Any]:
    """Merge a profile's sections with the environment's overrides.

    Raises:
        SettingsError: no such file, not YAML, or not a mapping of sections.
    """
    data = _read_profile(Path(profile)) if profile is not None else {}
    for name, value in sorted(environment.items()):
        section, separator, key = name.removeprefix(ENVIRONMENT_PREFIX).partition("__")
        if name.startswith(ENVIRONMENT_PREFIX) and separator:
            part = data.setdefault(section.lower(), {})
            if not isinstance(part, dict):
                raise SettingsError(f"{profile}: section {section.lower()!r} must be a mapping")
            part[key.lower()] = _environment_value(name, value)
    return data


def _environment_value(name: str, value: str) -> object:
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise SettingsError(f"{name}: {value!r} is not YAML: {reason}") from error


def _read_profile(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf8"))
    except FileNotFoundError as error:
        raise SettingsError(f"no profile at {str(path)!r}; configs/ holds examples") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise SettingsError(f"cannot read profile {str(path)!r}: {reason}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise SettingsError(f"profile {str(path)!r} must be a mapping of sections")
    return data


def format_validation_error(error: ValidationError, profile: str | Path | None) -> str:
    """Format validation errors in one line."""
    problems = []
    for problem in error.errors():
        where = ".".join(str(part) for part in problem["loc"])
        what = "unknown key" if problem["type"] == "extra_forbidden" else problem["msg"]
        problems.append(f"{where}: {what.removeprefix('Value error, ')}")
    source = f"profile {str(profile)!r}" if profile is not None else "settings"
    return f"{source}: {'; '.join(problems)} (see `loregraph config show` for all keys)"
