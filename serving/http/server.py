"""The server: an application on a socket, until a signal ends it."""

import asyncio
import contextlib
import socket
from typing import Any

import uvicorn  # pyright: ignore[reportMissingImports]

from ..engine import Engine

_GRACE_SECONDS = 5
"""Time for answers to reach their clients at the end."""


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=2048)


class ModelServer(uvicorn.Server):
    """Serves `application`, whose requests `engine` runs.

    At the end, running answers end with an error, and the process waits for no client.
    """

    def __init__(self, application: Any, engine: Engine):
        super().__init__(
            uvicorn.Config(
                application, log_level="warning", lifespan="off", access_log=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )  # fmt: skip
        self._engine = engine

    def serve_on(self, listener: socket.socket) -> None:
        """Serve on `listener` until a signal or `stop`.

        Raises KeyboardInterrupt for Ctrl-C, and the exception of an engine that failed.
        """
        self._engine.on_failure = self.stop
        self._engine.start()
        with contextlib.closing(listener):
            try:
                self.run(sockets=[listener])
            finally:
                self._engine.stop()
        if self._engine.failure is not None:
            raise self._engine.failure

    def stop(self) -> None:
        """Let `serve_on` end; from any thread."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all answers first."""
        await asyncio.to_thread(self._engine.stop)
        await super().shutdown(sockets)
