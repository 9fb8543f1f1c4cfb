"""Gates of an evaluation: the least that measures must reach, from a YAML file.

correctness: 0.7                  # at least
faithfulness: {min: 0.9}
context recall: {max_drop: 0.02}  # against the report that is compared with
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A requirement on a measure, whether it is met, and a line that says so."""

    measure: str
    met: bool
    text: str


def read_gates(path: Path) -> Mapping[str, Mapping[str, float]]:
    """Read gates by measure, each with `min`, `max_drop` or both.

    Raises:
        SettingsError: no such file, or one of another form.
    """
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise SettingsError(f"cannot read gates: {str(path)!r} ({reason}); check it") from error
    if not isinstance(values, dict) or not values:
        raise SettingsError(f"no gates in {str(path)!r}; write lines such as `correctness: 0.7`")
    return {str(name): _gate(str(name), value) for name, value in values.items()}


def _gate(name: str, value: object) -> Mapping[str, float]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = {"min": value}
    if isinstance(value, dict) and value and set(value) <= {"min", "max_drop"}:
        limits = list(value.values())
        if all(isinstance(one, int | float) and 0 <= one <= 1 for one in limits):
            return {key: float(one) for key, one in value.items()}
    raise SettingsError(
        f"gate not usable: {name}: {value!r}; give a number from 0 to 1, or min and max_drop"
    )


def check_gates(
    gates: Mapping[str, Mapping[str, float]],
    means: Mapping[str, float],
    *,
    comparison: Mapping[str, Any] | None,
) -> tuple[Gate, ...]:
    """Return each gate with whether it is met; a drop is the mean difference over shared questions.

    Raises:
        SettingsError: a measure that the report does not have, or a drop without a comparison.
    """
    drops = {}
    if comparison is not None:
        drops = {one["measure"]: one["difference"] for one in comparison["differences"]}
    found = []
    for name, limits in gates.items():
        if name not in means:
            known = ", ".join(sorted(means))
            raise SettingsError(f"gate on an unknown measure: {name!r}; choose one of {known}")
        if "min" in limits:
            met = means[name] >= limits["min"]
            text = f"{name} {means[name]:.3f}, at least {limits['min']:.3f}"
            found.append(Gate(measure=name, met=met, text=text))
        if "max_drop" in limits:
            if name not in drops:
                raise SettingsError(
                    f"gate max_drop of {name!r} needs a report to compare with: give --against"
                )
            met = drops[name] >= -limits["max_drop"]
            text = f"{name} {drops[name]:+.3f}, at most −{limits['max_drop']:.3f}"
            found.append(Gate(measure=name, met=met, text=text))
    return tuple(found)
