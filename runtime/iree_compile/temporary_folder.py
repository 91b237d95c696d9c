"""A folder for as long as it is needed."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import OutputError


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, which is removed in the end with all that is in it.

    Raises `OutputError` where there is no room for one.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="graphc-", ignore_cleanup_errors=True)
    except OSError as error:
        raise OutputError(
            f"cannot make a temporary folder: {error}; TMPDIR names another place for it"
        ) from error
    with folder:
        yield Path(folder.name)
