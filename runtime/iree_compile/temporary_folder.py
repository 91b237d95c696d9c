"""Temporary folders."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import OutputError


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A context with a new folder, which is removed with its contents on exit.

    Raises `OutputError` if it cannot be created.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="graphc-", ignore_cleanup_errors=True)
    except OSError as error:
        raise OutputError(
            f"cannot make a temporary folder: {error}; TMPDIR names another place for it"
        ) from error
    with folder:
        yield Path(folder.name)
