"""Chromium without a window, driven by its own protocol over a pipe: real keys, a real mouse.

The protocol: https://chromedevtools.github.io/devtools-protocol/. Where no browser is installed
tests are skipped, unless ``GRAPHC_REQUIRE_BROWSER`` says that one must be there.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
DEADLINE = 60
LAUNCHER = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The browser reads commands from file descriptor 3 and answers on 4."""

EXECUTABLE = next(filter(None, map(shutil.which, NAMES)), None)
_REQUIRED = bool(os.environ.get("GRAPHC_REQUIRE_BROWSER"))
needs_browser = pytest.mark.skipif(
    EXECUTABLE is None and not _REQUIRED, reason="no Chromium is here"
)


class Browser:
    """A browser with one tab. `requests` are what the pages have asked the network for, `errors`
    what has failed in their scripts."""

    def __init__(self, width: int = 1400, height: int = 900):
        assert EXECUTABLE is not None, f"none of {', '.join(NAMES)} is installed"
        self._folder = tempfile.TemporaryDirectory(prefix="graphc-", ignore_cleanup_errors=True)
        read_here, write_there = os.pipe()
        read_there, self._write = os.pipe()
        self._read = os.fdopen(read_here, "rb", buffering=0)
        command = [EXECUTABLE, *FLAGS, f"--user-data-dir={self._folder.name}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(read_there), str(write_there), *command],
            pass_fds=(read_there, write_there),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(read_there)
        os.close(write_there)
        self._buffer = b""
        self._number = 0
        self._session = ""
        self.requests: list[str] = []
        self.errors: list[str] = []
        pages = self.call("Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in pages if each["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a method of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = self._read.read(1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        line, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(line)

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))

    def evaluate(self, expression: str) -> Any:
        """The value of JavaScript in the page."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def open(self, path: Path) -> None:
        """Show a page of ours, and wait until it has drawn."""
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for("document.body && document.body.dataset.ready === 'yes'")
        self.settle()

    def wait_for(self, condition: str) -> None:
        """Wait until JavaScript's `condition` holds."""
        end = time.monotonic() + DEADLINE
        while not self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < end, f"{condition} does not come; errors: {self.errors}"
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait for two frames: what was asked for is drawn."""
        self.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def key(self, key: str) -> None:
        """Press and release a key, by its name or character."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def type(self, text: str) -> None:
        """Write into what has the focus."""
        self.call("Input.insertText", text=text)
        self.settle()

    def move(self, x: float, y: float) -> None:
        """Bring the mouse to a place of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def click(self, x: float, y: float) -> None:
        """Press and release the left button."""
        self.drag([(x, y)])

    def drag(self, points: list[tuple[float, float]]) -> None:
        """Press the left button at the first of `points` and release it at the last."""
        (x, y), *others = points
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        button = {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **button)
        for x, y in others:
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **button)
        self.settle()

    def wheel(self, x: float, y: float, delta: float) -> None:
        """Turn the wheel over a place."""
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)
        self.settle()

    def screenshot(self, path: Path) -> None:
        """Save a screenshot of the window as a PNG file."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End the browser, and wait for its processes to let go of its folder."""
        self._session = ""
        self.call("Browser.close")
        self._process.wait()
        self._read.read()  # to the end: the last of them has closed it
        self._read.close()
        os.close(self._write)
        self._folder.cleanup()
