"""Errors as responses in OpenAI's form."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI  # pyright: ignore[reportMissingImports]
from starlette.exceptions import HTTPException  # pyright: ignore[reportMissingImports]
from starlette.requests import ClientDisconnect, Request  # pyright: ignore[reportMissingImports]
from starlette.responses import JSONResponse, Response  # pyright: ignore[reportMissingImports]

from ..api_error import ApiError

CLIENT_CLOSED_REQUEST = 499
"""nginx's status for an answer that nobody waits for."""


def add_error_handlers(application: FastAPI) -> None:
    """Let `application` answer errors of requests, routes and bugs in one form."""
    application.add_exception_handler(ApiError, _request_error)
    application.add_exception_handler(HTTPException, _route_error)
    application.add_exception_handler(ClientDisconnect, _nobody)
    application.add_exception_handler(Exception, _bug)


def _request_error(request: Request, error: Any) -> Response:
    return _response(error)


def _route_error(request: Request, error: Any) -> Response:
    """A path or a method that there is not."""
    message = f"{request.method} {request.url.path}: {error.detail}"
    return _response(ApiError(message, error.status_code, "invalid_route"), error.headers)


def _nobody(request: Request, error: Exception) -> Response:
    """A client that left before its body had come."""
    return Response(status_code=CLIENT_CLOSED_REQUEST)


def _bug(request: Request, error: Exception) -> Response:
    """An exception that no request explains; the server logs it."""
    return _response(ApiError("an internal error", 500, "internal_error"))


def _response(error: ApiError, headers: Mapping[str, str] | None = None) -> Response:
    """`X-Should-Retry` is for OpenAI's clients, which repeat most failures by themselves."""
    more = {"x-should-retry": str(error.may_retry).lower()}
    if error.may_retry:
        more["retry-after"] = "1"
    if error.status == 401:
        more["www-authenticate"] = "Bearer"
    if error.status == 413:
        more["connection"] = "close"  # the rest of the body is not read
    return JSONResponse(error.content(), error.status, {**(headers or {}), **more})
