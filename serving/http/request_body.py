"""Bodies of requests, with a limit that holds while they are read."""

import asyncio
from typing import TYPE_CHECKING, Any

from ..api_error import ApiError
from ..protocol.fields import read_object

if TYPE_CHECKING:
    from fastapi import Request  # pyright: ignore[reportMissingImports]


async def read_json(request: "Request", limit: int, seconds: float) -> dict[str, Any]:
    """The JSON object in the body of `request`, of at most `limit` bytes, within `seconds`.

    Raises `ApiError`.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError(
            f"the content type must be application/json, not {kind or 'none'}", 415,
            "unsupported_media_type",
        )  # fmt: skip
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(seconds):
            return read_object(await _read(request, limit))
    except TimeoutError as error:
        raise ApiError(
            f"the body did not come within {seconds:g} s", 408, "body_timeout"
        ) from error


async def _read(request: "Request", limit: int) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise _too_large(limit)
    return bytes(body)


def _too_large(limit: int) -> ApiError:
    return ApiError(f"the body has more than {limit} bytes", 413, "body_too_large")
