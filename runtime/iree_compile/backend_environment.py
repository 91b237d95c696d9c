"""Environment variables of the backend's processes: their temporary files, and their allocator."""

import os
import sys
import sysconfig
from pathlib import Path

_TEMPORARY = ("TMPDIR", "TMP", "TEMP")
_PRELOAD = "LD_PRELOAD"
_SEPARATORS = " :"
"""Characters that end a path in the variable: no path with one can be given."""
ALLOCATORS = (
    ("libjemalloc.so.2",),
    ("libtcmalloc_minimal.so.4",),
    ("libmimalloc.so.2",),
    ("libtbbmalloc.so.2", "libtbbmalloc_proxy.so.2"),
)
"""Files of allocators, of which the first that is installed is preloaded: packages of the system,
or TBB's of the Python package ``tbb``.

The backend makes and frees millions of small objects, and follows pointers between them. These
allocators keep objects of one size together, with which large programs compile in 0.7 to 0.8 of the
CPU time that they take with glibc's (``docs/performance/compile-time.md``).
"""
FOLDERS = (
    Path("/usr/lib", str(sysconfig.get_config_var("MULTIARCH"))),
    Path("/usr/lib64"),
    Path(sys.prefix, "lib"),
)
"""Folders of 64-bit libraries: of Debian, of other distributions, and of Python packages."""


def backend_environment(temporary: Path) -> dict[str, str]:
    """The variables of a process that keeps its temporary files in `temporary`, where those of a
    killed one remain. Libraries that the user preloads are not replaced."""
    variables: dict[str, str] = dict.fromkeys(_TEMPORARY, str(temporary))
    if sys.platform == "linux" and _PRELOAD not in os.environ and (files := _find_allocator()):
        variables[_PRELOAD] = ":".join(map(str, files))
    return variables


def _find_allocator() -> list[Path]:
    """The files of the first of `ALLOCATORS` that is installed in `FOLDERS`, or none."""
    for names in ALLOCATORS:
        for folder in FOLDERS:
            files = [folder / name for name in names]
            if all(file.is_file() and not {*str(file)} & {*_SEPARATORS} for file in files):
                return files
    return []
