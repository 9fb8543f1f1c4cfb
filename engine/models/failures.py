"""What a foreign client raises, translated into our tree at one place, in one clear line.

Knows the exceptions of `openai` and `httpx` (which the clients of most other vendors raise too).
Server messages are quoted except where they may echo the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import ModelError, ModelOutputError, ModelUnavailable

if TYPE_CHECKING:
    import httpx
    import openai

_QUOTED_CHARACTERS = 200
_ADVICE = {
    400: "check the model's name and its context window",
    401: "check the key in the environment variable that the settings name",
    403: "check that the key may use this model",
    404: "check the model's name and that the base URL ends as the server expects, often in /v1",
    413: "the request is too long for this server",
    429: "too many requests: wait, or raise the quota",
}
_SECRETIVE = (401, 403)


@contextmanager
def translated(model: str) -> Iterator[None]:
    """Errors of the calls inside become `ModelUnavailable` or `ModelOutputError`.

    Args:
        model: how the message names what was called.
    """
    import httpx
    import openai

    try:
        yield
    except openai.APIStatusError as error:
        raise _from_status(model, error) from error
    except (openai.APITimeoutError, httpx.TimeoutException) as error:
        raise ModelUnavailable(
            f"{model} did not answer in time: raise timeout_seconds or try a smaller request"
        ) from error
    except openai.APIResponseValidationError as error:
        raise _malformed(model, error) from error
    except (openai.APIConnectionError, httpx.HTTPError) as error:
        raise _from_connection(model, error) from error
    except openai.APIError as error:  # an error event inside a stream
        raise ModelUnavailable(f"{model} broke off: {_one_line(error)}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _malformed(model, error) from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # Clients build their reply from whatever JSON came, and trip over missing parts.
        raise _malformed(model, error) from error


def _from_status(model: str, error: openai.APIStatusError) -> ModelError:
    status = error.status_code
    said = "" if status in _SECRETIVE else f" ({_one_line(error)})"
    advice = _ADVICE.get(status, "the server failed: try again later" if status >= 500 else "")
    return ModelUnavailable(f"{model} answered {status}{said}{': ' if advice else ''}{advice}")


def _from_connection(model: str, error: openai.APIConnectionError | httpx.HTTPError) -> ModelError:
    cause = error.__cause__ or error
    reason = _one_line(cause) or type(cause).__name__
    return ModelUnavailable(
        f"no connection to {model}, or it was cut: {reason}; check that the server runs"
        " and that base_url is right"
    )


def _malformed(model: str, error: Exception) -> ModelError:
    return ModelOutputError(
        f"{model} sent something that is not a reply of its protocol:"
        f" {type(error).__name__}: {_one_line(error)}"
    )


def _one_line(error: BaseException) -> str:
    line = " ".join(str(error).split())
    return line if len(line) <= _QUOTED_CHARACTERS else f"{line[:_QUOTED_CHARACTERS]}…"
