"""What the service refuses, as exceptions: one class for each way of dealing with it, with the words of the service."""

from __future__ import annotations

import json
from typing import Any

from .errors import OutlayError


class ServiceError(OutlayError):
    """The service refused a request.

    ``code`` is the kind of error as a word that does not change, ``detail`` what exactly, ``pointer`` the place in the request (JSON
    pointer) where there is one, ``hint`` what to do, ``errors`` everything that is wrong where that is more than one thing,
    ``request_id`` the name under which the service's log knows the request, ``body`` the whole answer.
    """

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        self.status = status
        self.body = body
        self.code: str = body.get("code", "")
        self.title: str = body.get("title", "")
        self.detail: str = body.get("detail", "")
        self.pointer: str | None = body.get("pointer")
        self.hint: str | None = body.get("hint")
        self.errors: list[dict[str, Any]] = body.get("errors", [])
        self.request_id: str = body.get("request_id", "")
        place = f"{self.pointer}: " if self.pointer else ""
        advice = f" ({self.hint})" if self.hint else ""
        super().__init__(f"{place}{self.detail or self.title or f'the service answered with status {status}'}{advice}")

    def __reduce__(self) -> tuple[type[ServiceError], tuple[int, dict[str, Any]]]:
        return type(self), (self.status, self.body)


class BadRequest(ServiceError):
    """The request is malformed or has invalid values."""


class Unauthorised(ServiceError):
    """A valid token is required: it is missing, unknown, expired or revoked."""


class Forbidden(ServiceError):
    """The token does not permit this request."""


class NotFound(ServiceError):
    """Campaign, round or path not found."""


class Conflict(ServiceError):
    """The request contradicts stored data; ``stored`` is the earlier outcome, if that is the reason."""

    @property
    def stored(self) -> dict[str, Any] | None:
        return self.body.get("stored")


class VersionMoved(ServiceError):
    """The campaign has changed since the version that was named."""


class TooMany(ServiceError):
    """Too many requests, or too many rounds that wait for feedback."""


class Unavailable(ServiceError):
    """The service cannot do it now; nothing is wrong with the request."""


class Unreachable(OutlayError, ConnectionError):
    """No answer came. ``is_repeatable`` says whether the same may simply be sent again; if not, look first whether it was done."""

    def __init__(self, url: str, reason: BaseException, is_repeatable: bool = True) -> None:
        self.url = url
        self.reason = reason
        self.is_repeatable = is_repeatable
        advice = "is it running?" if is_repeatable else "it is not known whether this was done: look before you send it again"
        super().__init__(f"{url}: no answer from the service ({reason or type(reason).__name__}); {advice}")

    def __reduce__(self) -> tuple[type[Unreachable], tuple[str, BaseException, bool]]:
        return type(self), (self.url, self.reason, self.is_repeatable)


BY_STATUS: dict[int, type[ServiceError]] = {
    400: BadRequest,
    401: Unauthorised,
    403: Forbidden,
    404: NotFound,
    410: NotFound,
    405: BadRequest,
    408: Unavailable,
    409: Conflict,
    412: VersionMoved,
    413: BadRequest,
    415: BadRequest,
    422: BadRequest,
    428: BadRequest,
    429: TooMany,
}


def error_of(status: int, content: bytes) -> ServiceError:
    """The exception for an answer; what is no problem+json (from a proxy, say) has its status only."""
    try:
        body = json.loads(content)
    except ValueError:
        body = {}
    kind = BY_STATUS.get(status, Unavailable if status >= 500 else ServiceError)
    return kind(status, body if isinstance(body, dict) else {})
