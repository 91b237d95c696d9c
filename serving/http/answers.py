"""Answers over HTTP: as one object, or as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request  # pyright: ignore[reportMissingImports]
from starlette.responses import (  # pyright: ignore[reportMissingImports]
    JSONResponse,
    Response,
    StreamingResponse,
)

from ..api_error import ApiError
from ..protocol.answer import Answer
from .error_responses import CLIENT_CLOSED_REQUEST
from .request_events import RequestEvents


async def whole_answer(request: Request, answer: Answer, events: RequestEvents) -> Response:
    """The answer as one object; the requests are cancelled if the client leaves."""
    with events:
        collecting = asyncio.ensure_future(_collect(answer, events))
        leaving = asyncio.ensure_future(_disconnection(request))
        try:
            await asyncio.wait((collecting, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not collecting.done():
                return Response(status_code=CLIENT_CLOSED_REQUEST)
            return JSONResponse(collecting.result())
        finally:
            collecting.cancel()
            leaving.cancel()


async def _collect(answer: Answer, events: RequestEvents) -> dict[str, Any]:
    async for index, event in events:
        for _ in answer.add(index, event):
            pass
        if answer.is_complete:
            break
    return answer.whole()


async def _disconnection(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class AnswerStream(StreamingResponse):
    """The answer in chunks, as it comes; the requests are cancelled if the client leaves.

    A failure becomes a last chunk with the error.
    """

    def __init__(self, answer: Answer, events: RequestEvents):
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        lines = _lines(answer, events)
        super().__init__(lines, headers=headers, media_type="text/event-stream")
        self._events = events

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the answer."""
        with self._events:
            await super().__call__(scope, receive, send)


async def _lines(answer: Answer, events: RequestEvents) -> AsyncIterator[bytes]:
    for chunk in answer.first_chunks():
        yield _event(chunk)
    try:
        async for index, event in events:
            for chunk in answer.add(index, event):
                yield _event(chunk)
            if answer.is_complete:
                break
        for chunk in answer.last_chunks():
            yield _event(chunk)
    except ApiError as error:
        yield _event(error.content())
    yield b"data: [DONE]\n\n"


def _event(content: dict[str, Any]) -> bytes:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode()
