"""What stands in for the process that runs cases, to see what becomes of its faults."""

import os
import time


def serve(path, pipe):
    """Does what the names of cases say; `path` keeps what it was asked, with the process's id."""
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
    """Finds no device."""
    pipe.send({"status": "error", "detail": "no device"})
