"""Executables in the packages of the backend, found without importing these."""

import importlib.util
import sys
from pathlib import Path


def find_executable(package: str, *path: str) -> Path | None:
    """The executable at `path` below an installed package (``iree.compiler``), None if absent."""
    parent = package.partition(".")[0]
    spec = importlib.util.find_spec(package) if importlib.util.find_spec(parent) else None
    *folders, name = path
    if sys.platform == "win32":
        name += ".exe"
    for folder in (spec.submodule_search_locations if spec else None) or ():
        if (found := Path(folder, *folders, name)).exists():
            return found
    return None
