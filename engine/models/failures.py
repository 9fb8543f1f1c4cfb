"""Translation of client errors into the engine's exception tree.

Knows the exceptions of `openai` and `httpx`, those of other vendors' clients where these are
loaded, and what servers say of a request that is too long. Server messages are quoted except where
they may echo the key.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import ModelError, ModelInputTooLong, ModelOutputError, ModelUnavailable

if TYPE_CHECKING:
    import httpx
    import openai

_QUOTED_CHARACTERS = 200
_ADVICE = {
    400: "check the model's name and its context window",
    401: "check the key in the environment variable that the settings name",
    402: "the account has no balance left",
    403: "check that the key may use this model",
    404: "check the model's name and that the base URL ends as the server expects, often in /v1",
    413: "the request is too long for this server",
    429: "too many requests: wait, or raise the quota",
}
_SECRETIVE = (401, 403)
_VENDOR_ERRORS = (
    ("ollama", "ResponseError"),
    ("ollama", "RequestError"),
    ("anthropic", "APIError"),
    ("httpx2", "HTTPError"),
    ("groq", "APIError"),
    ("google.genai.errors", "APIError"),
    ("cohere.core.api_error", "ApiError"),
    ("mistralai.models", "SDKError"),
)
_TOO_LONG_WORDS = (
    "context_length_exceeded",  # OpenAI and those who copy it
    "maximum context length",  # OpenAI, vLLM
    "exceeds the available context size",  # llama.cpp's server
    "exceed_context_size",
    "exceed context window",  # llama.cpp in this process
    "exceeds the context window",  # Ollama, OpenAI's newer text
    "exceeds context length",
    "input length exceeds",
    "prompt is too long",  # Anthropic
    "longer than the maximum model length",  # vLLM
    "decoder prompt",
    "too many tokens",
    "reduce the length of the messages",
    "n_ctx",
)
_TOO_LONG_STATUSES = (400, 413, 422, 500)


@contextmanager
def translated(model: str) -> Iterator[None]:
    """Errors of the calls inside become `ModelUnavailable` or another `ModelError`.

    Args:
        model: how the message names what was called.
    """
    import httpx
    import openai

    try:
        yield
    except openai.APIStatusError as error:
        raise _from_status(model, error, status=error.status_code) from error
    except (openai.APITimeoutError, httpx.TimeoutException, TimeoutError) as error:
        raise _too_slow(model) from error
    except openai.APIResponseValidationError as error:
        raise _malformed(model, error) from error
    except (openai.APIConnectionError, httpx.HTTPError, ConnectionError) as error:
        raise _from_connection(model, error) from error
    except openai.APIError as error:  # an error event inside a stream
        raise _broken_off(model, error) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _malformed(model, error) from error
    except vendor_errors() as error:
        raise _from_vendor(model, error) from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # Clients build their reply from whatever JSON came, and trip over missing parts.
        if _says_too_long(str(error)):
            raise _too_long(model, error) from error
        raise _malformed(model, error) from error


def vendor_errors() -> tuple[type[Exception], ...]:
    """Exceptions of the other vendors' clients that are loaded."""
    found = (getattr(sys.modules.get(module), name, None) for module, name in _VENDOR_ERRORS)
    return tuple(kind for kind in found if isinstance(kind, type) and issubclass(kind, Exception))


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status that an exception carries, or None."""
    for name in ("status_code", "code"):
        status = getattr(error, name, None)
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return None


def _from_vendor(model: str, error: Exception) -> ModelError:
    """Translate vendor errors by status code or by a name that means timeout or connection."""
    status = status_of(error)
    if status is not None:
        return _from_status(model, error, status=status)
    kinds = {base.__name__ for base in type(error).__mro__}
    if kinds & {"APITimeoutError", "TimeoutException"}:
        return _too_slow(model)
    if kinds & {"APIConnectionError", "HTTPError"}:
        return _from_connection(model, error)
    return _broken_off(model, error)


def _from_status(model: str, error: Exception, *, status: int) -> ModelError:
    if status in _TOO_LONG_STATUSES and _says_too_long(str(error)):
        return _too_long(model, error)
    said = "" if status in _SECRETIVE else f" ({_one_line(error)})"
    advice = _ADVICE.get(status, "the server failed: try again later" if status >= 500 else "")
    kind = ModelInputTooLong if status == 413 else ModelUnavailable
    return kind(f"{model} answered {status}{said}{': ' if advice else ''}{advice}")


def _says_too_long(message: str) -> bool:
    said = message.lower()
    return any(words in said for words in _TOO_LONG_WORDS)


def _too_long(model: str, error: Exception) -> ModelError:
    return ModelInputTooLong(
        f"{model} cannot take so long a request ({_one_line(error)}): send less at a time, or give"
        " it a larger context window"
    )


def _too_slow(model: str) -> ModelError:
    return ModelUnavailable(
        f"{model} did not answer in time: raise timeout_seconds or try a smaller request"
    )


def _broken_off(model: str, error: Exception) -> ModelError:
    if _says_too_long(str(error)):
        return _too_long(model, error)
    return ModelUnavailable(f"{model} broke off: {_one_line(error)}")


def _from_connection(
    model: str, error: openai.APIConnectionError | httpx.HTTPError | Exception
) -> ModelError:
    cause = error.__cause__ or error
    if type(cause).__name__ == "DecodingError":
        return _malformed(model, cause)
    reason = _one_line(cause) or type(cause).__name__
    return ModelUnavailable(
        f"no connection to {model}, or it was cut: {reason}; check that the server runs"
        " and that base_url is right"
    )


def _malformed(model: str, error: BaseException) -> ModelError:
    return ModelOutputError(
        f"{model} sent something that is not a reply of its protocol:"
        f" {type(error).__name__}: {_one_line(error)}"
    )


def _one_line(error: BaseException) -> str:
    line = " ".join((_message_of(error) or str(error)).split())
    return line if len(line) <= _QUOTED_CHARACTERS else f"{line[:_QUOTED_CHARACTERS]}…"


def _message_of(error: BaseException) -> str:
    """Extract a server's error message from JSON; empty for another format.

    Both `{"error": {"message": …}}` and its inside are met.
    """
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else inner
    return message if isinstance(message, str) else ""
