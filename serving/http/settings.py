"""Settings of a server."""

import contextlib
import hmac
import ipaddress
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
    is_local: bool = False
    """True for a server of this machine alone, which is addressed as such."""
    started: int = field(default_factory=lambda: int(time.time()))

    def check_key(self, authorization: str | None) -> None:
        """Raise `ApiError` for a header ``Authorization`` without the key."""
        if self.api_key is None:
            return
        scheme, _, given = (authorization or "").partition(" ")
        same = hmac.compare_digest(given.strip().encode(), self.api_key.encode())
        if scheme.lower() != "bearer" or not same:
            raise ApiError("the API key is missing or wrong", 401, "invalid_api_key")

    def check_host(self, host: str | None) -> None:
        """Raise `ApiError` for a header ``Host`` with the name of another machine, if the server is
        local: a page in a browser may have its own name resolved to this one (DNS rebinding)."""
        if self.is_local and not _is_loopback(host or ""):
            raise ApiError(
                f"this server is for its own machine, not for '{host}': use its address", 421,
                "invalid_host",
            )  # fmt: skip

    def check_model(self, name: str | None) -> None:
        """Raise `ApiError` for the name of another model."""
        if name not in (None, self.model_name):
            raise ApiError(
                f"the model '{name}' does not exist: this server has '{self.model_name}'", 404,
                "model_not_found", "model",
            )  # fmt: skip


def _is_loopback(host: str) -> bool:
    """True for ``localhost`` and addresses of this machine, with a port or without."""
    name = host.partition("]")[0][1:] if host.startswith("[") else host.partition(":")[0]
    if name.lower().rstrip(".") == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(name).is_loopback
    return False
