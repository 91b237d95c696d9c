"""Settings of a server."""

import hmac
import math
import time
from dataclasses import dataclass, field

from ..api_error import ApiError


@dataclass(frozen=True)
class ServerSettings:
    """How requests are answered; times are in seconds, `body_limit` is in bytes."""

    model_name: str
    api_key: str | None = None
    timeout: float = math.inf
    body_limit: int = 4 << 20
    body_timeout: float = 60
    started: int = field(default_factory=lambda: int(time.time()))

    def check_key(self, authorization: str | None) -> None:
        """Raise `ApiError` for a header ``Authorization`` without the key."""
        if self.api_key is None:
            return
        scheme, _, given = (authorization or "").partition(" ")
        same = hmac.compare_digest(given.strip().encode(), self.api_key.encode())
        if scheme.lower() != "bearer" or not same:
            raise ApiError("the API key is missing or wrong", 401, "invalid_api_key")

    def check_model(self, name: str | None) -> None:
        """Raise `ApiError` for the name of another model."""
        if name not in (None, self.model_name):
            raise ApiError(
                f"the model '{name}' does not exist: this server has '{self.model_name}'", 404,
                "model_not_found", "model",
            )  # fmt: skip
