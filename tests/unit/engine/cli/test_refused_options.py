"""Refused options: the reason alone, in the command line and in settings."""

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from engine.cli.main import run
from engine.errors import field_problems


class _Named(BaseModel, extra="forbid"):
    name: str

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str) -> str:
        raise ValueError(f"unknown name: {name!r}")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["ask", "--mode", "loud", "x"], id="of a command"),
        pytest.param(["eval", "answers", "--judge", "loud", "x"], id="of a group's command"),
        pytest.param(["--log-level", "loud", "stats"], id="of all commands"),
    ],
)
def test_a_refused_option_names_the_choices_and_no_exception(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    told = capsys.readouterr().err
    assert "'loud' is not one of '" in told
    assert "Value error" not in told


def test_a_field_s_problem_is_worded_without_the_exception_s_name() -> None:
    with pytest.raises(ValidationError) as caught:
        _Named.model_validate({"name": "x", "nam": 1})
    expected = [("name", "unknown name: 'x'"), ("nam", "unknown key")]
    assert field_problems(caught.value.errors()) == expected
