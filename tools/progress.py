"""Progress on the terminal: a line with the stage and the elapsed time, or a bar."""

import sys
from typing import Any, Self, TextIO


class ProgressLine:
    """Shows progress events on `stream` if that is a terminal.

    Use it in a ``with`` statement, and pass `show` to ``compile(progress=...)``.
    """

    def __init__(self, stream: TextIO | None = None):
        self._stream = stream or sys.stderr
        self._active = self._stream.isatty()
        self._width = 0

    def show(self, event: Any) -> None:
        """Replace the line by ``stage  1.2 s``."""
        if self._active:
            self._write(f"{event.stage:<10} {event.elapsed:6.1f} s")

    def _write(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._active and self._width:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()


class ProgressBar(ProgressLine):
    """Shows events with steps ``done`` of a ``total`` as a bar."""

    BAR = 30

    def show(self, event: Any) -> None:
        """Replace the line by ``stage  [#####     ]  5/16``."""
        if self._active:
            filled = self.BAR * event.done // max(event.total, 1)
            bar = "#" * filled + " " * (self.BAR - filled)
            self._write(f"{event.stage:<13} [{bar}] {event.done}/{event.total}")
