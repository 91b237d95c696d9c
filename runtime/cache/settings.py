"""Selection of the cache: ``GRAPHC_CACHE``, ``GRAPHC_CACHE_SIZE``, and the caller's argument.

The default is a folder in the user's cache folder, limited to 5 GiB.
"""

import logging
import os
import re
from pathlib import Path

from ...errors import UsageError
from .compile_cache import DEFAULT_LIMIT, CompileCache
from .user_folders import user_cache_folder

FOLDER_VARIABLE = "GRAPHC_CACHE"
SIZE_VARIABLE = "GRAPHC_CACHE_SIZE"
_OFF = ("off", "0", "no", "false")
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}

logger = logging.getLogger("graphc")


def find_cache(
    cache: "bool | str | os.PathLike[str] | CompileCache | None" = None,
) -> CompileCache | None:
    """The cache that `cache` selects: a folder, False for none, True for the default folder.

    None defers to ``GRAPHC_CACHE``, a folder or ``off``; without it the default folder is used,
    ``compiled`` in the user's cache folder. Returns None if caching is off, or the user has no
    home. Raises `UsageError` for an empty name.
    """
    if isinstance(cache, CompileCache):
        return cache
    if cache is False:
        return None
    if cache is None:
        text = os.environ.get(FOLDER_VARIABLE, "")
        if text.lower() in _OFF:
            return None
        cache = text or True
    if cache is True:
        try:
            folder = user_cache_folder() / "compiled"
        except OSError as error:
            logger.info("no cache: %s", error)
            return None
        return CompileCache(folder, cache_limit(), private=True)
    if not os.fspath(cache):
        raise UsageError("cache must be a folder, True or False, not an empty name")
    return CompileCache(Path(cache).expanduser().absolute(), cache_limit())


def cache_limit() -> int:
    """Capacity of a cache in bytes: ``GRAPHC_CACHE_SIZE``, or 5 GiB if unset or malformed."""
    text = os.environ.get(SIZE_VARIABLE)
    if not text:
        return DEFAULT_LIMIT
    try:
        return parse_size(text)
    except UsageError as error:  # the cache never makes a compilation fail
        logger.warning("%s: %s; %s is used", SIZE_VARIABLE, error, format_size(DEFAULT_LIMIT))
        return DEFAULT_LIMIT


def parse_size(text: str) -> int:
    """Bytes from ``"500M"``, ``"2.5 GiB"`` or ``"1048576"``. Raises `UsageError`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise UsageError(f"'{text}' is no size: write 500M, 2.5G or a number of bytes")
    return int(float(found[1]) * (1 << _UNITS[found[2].upper()]))


def format_size(size: int) -> str:
    """Format a number of bytes: ``1.5 GiB``."""
    value, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
