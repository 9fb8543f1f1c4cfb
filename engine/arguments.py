"""Arguments of public methods: plain types checked at the door, and one name for the question."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from typing import ParamSpec, TypeVar

from .errors import QuestionError

P = ParamSpec("P")
T = TypeVar("T")

TWO_QUESTIONS = "two questions: `question` and `query` are the same argument; give one"

_PLAIN: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "a text"),
    "int": ((Integral,), "a whole number"),
    "float": ((Real,), "a number"),
    "bool": ((bool,), "True or False"),
    "Path": ((str, Path), "a path"),
    "Sequence[str]": ((list, tuple), "a list of texts"),
    "None": ((type(None),), "None"),
}


def checks_types(method: Callable[P, T]) -> Callable[P, T]:
    """Let a method refuse arguments whose plain type is wrong, in one line.

    Texts, numbers, paths and lists of texts are checked by their annotations; others are left to
    the method.

    Raises:
        QuestionError: an argument is of another type.
    """
    signature = inspect.signature(method)
    plain = {
        name: kinds
        for name, parameter in signature.parameters.items()
        if (kinds := _kinds(str(parameter.annotation)))
    }

    @wraps(method)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        given = dict(zip(signature.parameters, args, strict=False)) | kwargs
        for name, value in given.items():
            if name in plain and not _is_one(value, plain[name]):
                wanted = " or ".join(_PLAIN[kind][1] for kind in plain[name] if kind != "None")
                shown = repr(value)[:60]
                raise QuestionError(f"{method.__name__}: {name} is {shown}; give {wanted}")
        return method(*args, **kwargs)

    return checked


def _kinds(annotation: str) -> tuple[str, ...]:
    """Return the plain types of an annotation, all or none."""
    kinds = tuple(part.strip() for part in annotation.split("|"))
    return kinds if all(kind in _PLAIN for kind in kinds) else ()


def _is_one(value: object, kinds: tuple[str, ...]) -> bool:
    if isinstance(value, bool):
        return "bool" in kinds
    if isinstance(value, list | tuple) and not all(isinstance(each, str) for each in value):
        return False
    return any(isinstance(value, _PLAIN[kind][0]) for kind in kinds)


def accepts_query(method: Callable[P, T]) -> Callable[P, T]:
    """Let a method that takes `question` accept it as `query=`, too; types are checked.

    The question has one name in Python, REST, MCP and the command line; `query` is LlamaIndex's.
    """
    typed = checks_types(method)

    @wraps(method)
    def asked(*args: P.args, **kwargs: P.kwargs) -> T:
        if "query" in kwargs:
            if len(args) > 1 or "question" in kwargs:
                raise QuestionError(TWO_QUESTIONS)
            kwargs["question"] = kwargs.pop("query")
        return typed(*args, **kwargs)

    return asked
