"""Events of requests, from the scheduler's thread to a coroutine."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import TracebackType

from ..generation_request import GenerationEvent, GenerationRequest
from ..protocol.request_builder import Listener
from ..scheduler import Scheduler


class RequestEvents:
    """The events of the requests of one call, with their numbers, in the order they come.

    Used in a ``with`` statement, which cancels what is left of the requests at its end.
    """

    def __init__(self, scheduler: Scheduler):
        self._scheduler = scheduler
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[int, GenerationEvent]] = asyncio.Queue()
        self._requests: Sequence[GenerationRequest] = ()

    def listener_of(self, index: int) -> Listener:
        """The listener of the request with this number."""

        def listen(event: GenerationEvent) -> None:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, (index, event))

        return listen

    def submit(self, requests: Sequence[GenerationRequest]) -> None:
        """Let the scheduler run `requests`. Raises `ApiError` if it rejects them."""
        self._scheduler.submit(requests)
        self._requests = requests

    async def __aiter__(self) -> AsyncIterator[tuple[int, GenerationEvent]]:
        while True:
            yield await self._queue.get()

    def cancel(self) -> None:
        """Give up the requests that have not ended."""
        for request in self._requests:
            self._scheduler.cancel(request)

    def __enter__(self) -> "RequestEvents":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cancel()
