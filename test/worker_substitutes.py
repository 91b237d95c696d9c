"""Substitutes for the process that runs cases, to test the handling of its faults."""

import os
import time


def serve(path, pipe):
    """Act as the names of the cases say. Requests are logged to `path` with the process id."""
    pipe.send({"status": "pass", "detail": ""})
    while True:
        _, name, _ = pipe.recv()
        with path.open("a") as file:
            file.write(f"{name} {os.getpid()}\n")
        if name == "crash":
            os.abort()
        if name == "hang":
            time.sleep(60)
        pipe.send({"status": "pass" if name == "pass" else "error", "detail": name})


def refuse(path, pipe):
    """Report that there is no device."""
    pipe.send({"status": "error", "detail": "no device"})
