"""Cache keys: everything besides the model that determines the result of a compilation."""

import functools
import hashlib
import os
import platform
import re
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .digests import digest_of_texts

_PACKAGES = (
    *("graphc", "torch-mlir", "iree-base-compiler", "iree-base-runtime"),
    *("onnx", "numpy", "ml-dtypes", "protobuf"),
)
_PROCESSOR_FIELDS = (
    *("vendor_id", "cpu family", "model", "flags"),
    *("CPU implementer", "CPU variant", "CPU part", "Features"),
)
_SOURCES = ("compiler", "dialects", "frontend", "passes", "runtime")
_PACKAGE_FOLDER = Path(__file__).parents[2]
_NAMES_FILES = re.compile(r"(?:^|-)(?:dump|print|trace|files?|filename|paths?|dirs?|to|from|with)$")


def program_key(digest: str, flags: Sequence[str]) -> str:
    """The cache key of the program with that `digest`, compiled with `flags` on this machine."""
    return digest_of_texts(["program", digest, *surroundings(), *flags])


def kernel_key(symbol: str, flags: Sequence[str]) -> str:
    """The cache key of the kernel `symbol`, compiled with `flags` on this machine."""
    return digest_of_texts(["kernel", symbol, *surroundings(), *flags])


def is_self_contained(flags: Sequence[str]) -> bool:
    """Return whether the result depends on `flags` alone: none seems to read, write or print."""
    return not any(map(_reaches_out, flags))


def _reaches_out(flag: str) -> bool:
    name, _, value = flag.lstrip("-").partition("=")
    return (
        not flag.startswith("-")
        or any(sign in value for sign in ("/", os.sep))
        or _NAMES_FILES.search(name) is not None
        or re.match(r"mlir-(print|pass|elide|timing)|(iree-hal-dump|save|dump|print)-", name)
        is not None
        or (value != "" and os.path.exists(value))
    )


@functools.cache
def surroundings() -> tuple[str, ...]:
    """The package versions, the platform and the CPU that compiled code depends on."""
    versions = [f"{name} {_version(name)}" for name in _PACKAGES]
    python = f"python {sys.version_info.major}.{sys.version_info.minor}"
    return (*versions, python, platform.system(), platform.machine(), *_processor())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """The identity of this CPU from ``/proc/cpuinfo``, or the host name where it has none."""
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        lines = []
    fields = [line.partition(":") for line in lines]
    named = {f"{name.strip()}: {value.strip()}" for name, _, value in fields
             if name.strip() in _PROCESSOR_FIELDS}  # fmt: skip
    return sorted(named) or [platform.node()]


def digest_of_sources(since: int) -> str | None:
    """The digest of graphc's own sources, as a proxy for the running code.

    None if a source file changed after `since`, in ns since the epoch: the running code may then
    differ from the sources. Raises `OSError`.
    """
    statuses = (os.stat(path) for path in _source_files())
    if any(max(status.st_mtime_ns, status.st_ctime_ns) > since for status in statuses):
        return None
    return _read_sources()


@functools.cache
def _read_sources() -> str:
    digest = hashlib.sha256()
    for path in _source_files():
        digest.update(f"\n{path.relative_to(_PACKAGE_FOLDER).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def _source_files() -> tuple[Path, ...]:
    below = (path for name in _SOURCES for path in (_PACKAGE_FOLDER / name).rglob("*.py"))
    return tuple(sorted([*_PACKAGE_FOLDER.glob("*.py"), *below]))


@functools.cache
def is_own_source(path: str | None) -> bool:
    """Return whether `digest_of_sources` covers the file."""
    if path is None or not (file := Path(path)).is_relative_to(_PACKAGE_FOLDER):
        return False
    parts = file.relative_to(_PACKAGE_FOLDER).parts
    return len(parts) == 1 or parts[0] in _SOURCES
