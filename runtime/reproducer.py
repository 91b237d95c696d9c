"""Keeping what is needed to repeat a failed compilation.

Reproducers live in the user's cache (``~/.cache/graphc/reproducers``, or below
``$XDG_CACHE_HOME``), one folder per distinct failure, the last few of them.
"""

import hashlib
import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_KEPT = 8  # reproducers hold all weights of a model, so only the newest stay


@dataclass(frozen=True)
class Reproducer:
    """Where the input is kept. `folder` is ``None`` where it could not be; `note` says so."""

    folder: str | None
    source: Path
    note: str


def reproducer_root() -> Path:
    """The folder of all reproducers."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "graphc" / "reproducers"


def command_line(compiler: Path, source: Path, flags: Sequence[str]) -> str:
    """A line for the shell that compiles `source` again, and writes beside it."""
    output = source.with_suffix(".vmfb")
    return shlex.join([str(compiler), str(source), *flags, "-o", str(output)])


def keep_reproducer(
    source: Path, compiler: Path, flags: Sequence[str], log: Path, folder: Path | None
) -> Reproducer:
    """Copies the input, the command and the log into `folder`, or into one of its own."""
    try:
        if folder is None:
            root = reproducer_root()
            folder = root / _fingerprint(source, flags)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            _prune(root)
        else:
            folder.mkdir(parents=True, exist_ok=True)
        kept = folder.absolute() / "module.mlir"
        shutil.copyfile(source, kept)
        shutil.copyfile(log, folder / "diagnostics.txt")
        (folder / "command.sh").write_text(command_line(compiler, kept, flags) + "\n")
    except OSError as error:
        return Reproducer(None, source, f"(no reproducer could be kept: {error})")
    return Reproducer(str(folder), kept, f"reproducer: {folder} (see command.sh there)")


def _fingerprint(source: Path, flags: Sequence[str]) -> str:
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update("\0".join(flags).encode())
    return digest.hexdigest()[:12]


def _prune(root: Path) -> None:
    folders = sorted(root.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in folders[_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)
