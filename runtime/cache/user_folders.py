"""The user's cache folder on this system."""

import os
import sys
from pathlib import Path


def user_cache_folder() -> Path:
    """graphc's folder for cached files of the user, which may be deleted at any time.

    ``$XDG_CACHE_HOME/graphc`` if that is set; else ``~/.cache/graphc``, on macOS
    ``~/Library/Caches/graphc``, on Windows ``graphc/Cache`` in ``%LOCALAPPDATA%``. Raises `OSError`
    if the user has no home.
    """
    given = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):  # the XDG specification has relative paths ignored
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
