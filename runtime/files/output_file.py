"""Writing a file whole or not at all."""

import os
from pathlib import Path

from ...errors import OutputError


def write_atomically(path: Path, contents: bytes | memoryview) -> None:
    """Writes `contents` to `path`: into a file beside it, which then takes its name.

    Whoever has the old file open or mapped keeps it. Raises `OutputError`, and then leaves `path`
    as it was.
    """
    try:
        # Through a symbolic link, the file that it names is replaced, not the link.
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
