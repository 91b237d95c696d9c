"""The thread that runs a scheduler."""

import threading
from collections.abc import Callable

from .api_error import ApiError
from .scheduler import Scheduler


class Engine:
    """Drives `scheduler` in a thread, from `start` to `stop`.

    An exception that no request explains is a bug: it is kept as `failure`, all requests fail, and
    `on_failure` is called, by that thread.
    """

    def __init__(self, scheduler: Scheduler):
        self.scheduler = scheduler
        self.on_failure: Callable[[], None] = lambda: None
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="graphc-serving")

    @property
    def is_alive(self) -> bool:
        """True while requests are served."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Let all requests fail after the step that is under way, and end the thread."""
        self.scheduler.close()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            while self.scheduler.wait():
                self.scheduler.step()
            self.scheduler.fail_all()
        except BaseException as error:
            self.failure = error
            self.scheduler.close()
            self.scheduler.fail_all(ApiError("the server has failed", 500, "internal_error"))
            self.on_failure()
