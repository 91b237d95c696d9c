"""Atomic writes of files."""

import os
from pathlib import Path

from ...errors import OutputError


def write_atomically(path: Path, contents: bytes | memoryview) -> None:
    """Write `contents` to a temporary file beside `path`, and rename it to `path`.

    Processes that have the old file open or mapped keep it. Raises `OutputError`; `path` is then
    unchanged.
    """
    try:
        # For a symbolic link, replace its target, not the link.
        path = path.resolve()
        if path.exists() and not path.is_file():
            raise OutputError(f"cannot write {path}: it is not a regular file")
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with beside.open("wb") as file:
                file.write(contents)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
