"""Reproducers: everything needed to repeat a run of the backend compiler.

Reproducers of failures are kept in the user's cache (``~/.cache/graphc/reproducers`` on Linux), one
folder per distinct failure, the newest 8 of them.
"""

import hashlib
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..cache.user_folders import user_cache_folder

_KEPT = 8  # reproducers hold all weights of a model, so only the newest stay


@dataclass(frozen=True)
class Reproduction:
    """One run of the backend compiler: its input, its flags, and its log."""

    compiler: Path
    source: Path
    flags: tuple[str, ...]
    log: Path

    def command(self, source: Path, output: Path) -> list[str]:
        return [str(self.compiler), str(source), *self.flags, "-o", str(output)]


@dataclass(frozen=True)
class KeptReproducer:
    """The copy of a run: `command` repeats the run, `note` is a message for the user.

    `folder` is ``None`` if no copy could be kept.
    """

    folder: str | None
    command: str
    note: str


def reproducer_root() -> Path:
    """The folder of all reproducers. Raises `OSError` if the user has no home."""
    return user_cache_folder() / "reproducers"


def keep_reproducer(
    run: Reproduction, folder: Path | None, output: Path | None = None
) -> KeptReproducer:
    """Copy a run to `folder`, or to a folder of its own below `reproducer_root`."""
    try:
        if folder is None:
            root = reproducer_root()
            folder = root / _fingerprint(run)
            folder.mkdir(parents=True, exist_ok=True)
            folder.touch()
            _prune(root)
        else:
            folder = folder.absolute()
            folder.mkdir(parents=True, exist_ok=True)
        source = folder / "module.mlir"
        if source != run.source:
            shutil.copyfile(run.source, source)
        command = shlex.join(run.command(source, folder / "module.vmfb"))
        shutil.copyfile(run.log, folder / run.log.name)
        (folder / "command.sh").write_text(command + "\n")
        if output is not None:
            shutil.copyfile(output, folder / "module.vmfb")
    except OSError as error:
        # The failure itself matters more than its copy.
        command = shlex.join(run.command(run.source, Path("module.vmfb")))
        return KeptReproducer(None, command, f"(no reproducer could be kept: {error})")
    return KeptReproducer(str(folder), command, f"reproducer: {folder} (run command.sh there)")


def _fingerprint(run: Reproduction) -> str:
    with run.source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update("\0".join(run.flags).encode())
    return digest.hexdigest()[:12]


def _prune(root: Path) -> None:
    folders = sorted(root.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in folders[_KEPT:]:
        shutil.rmtree(old)
