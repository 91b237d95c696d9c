"""Where this system keeps what programs can make again."""

import os
import sys
from pathlib import Path


def user_cache_folder() -> Path:
    """The folder for what graphc keeps of a user's: it may be deleted at any time.

    ``$XDG_CACHE_HOME/graphc`` where that is set; else ``~/.cache/graphc``, on macOS
    ``~/Library/Caches/graphc``, on Windows ``graphc/Cache`` in ``%LOCALAPPDATA%``. Raises `OSError`
    where the user has no home.
    """
    given = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):  # others are to be ignored, says the XDG specification
        return Path(given, "graphc")
    try:
        home = Path.home()
    except RuntimeError as error:
        raise OSError(f"{error}; set XDG_CACHE_HOME") from error
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "graphc" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "graphc"
    return home / ".cache" / "graphc"
