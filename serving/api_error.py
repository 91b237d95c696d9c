"""Errors as OpenAI's API reports them."""

from dataclasses import dataclass
from typing import Any

from ..errors import GraphcError, UsageError


@dataclass(eq=False)
class ApiError(Exception):
    """A request that is not answered, and why; `status` is that of HTTP.

    `param` names the field at fault. With `may_retry`, the same request may succeed later.
    """

    message: str
    status: int = 400
    code: str | None = None
    param: str | None = None
    may_retry: bool = False

    def __str__(self) -> str:
        return self.message

    @property
    def type(self) -> str:
        """OpenAI's class of errors."""
        special = {
            401: "authentication_error", 429: "rate_limit_error", 503: "service_unavailable_error",
        }  # fmt: skip
        return special.get(
            self.status, "invalid_request_error" if self.status < 500 else "server_error"
        )

    def content(self) -> dict[str, Any]:
        """The JSON of a response."""
        fields = {"message": self.message, "type": self.type}
        return {"error": {**fields, "param": self.param, "code": self.code}}


def api_error_of(error: GraphcError | MemoryError) -> ApiError:
    """The `error` of graphc, as the client is to see it."""
    if isinstance(error, UsageError):
        return ApiError(str(error), code="invalid_value")
    return ApiError(str(error) or "out of memory", 500, code="execution_failed")
