"""What was compiled, kept in a folder by what it was compiled from.

An entry's name is a digest of the program with its weights, the flags, and the versions and the
processor that decide what becomes of them; a change of any makes another entry. Any number of
processes may share a folder: an entry appears whole or not at all, and one that is damaged counts
as none.
"""

import hashlib
import platform
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from ..errors import OutputError
from .cpu_features import host_features

_COMPILER = "iree-base-compiler"


def cache_key(source: Path, flags: Sequence[str]) -> str:
    """The name of what the backend compiler makes of the file `source` with `flags` here."""
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    surroundings = [version(_COMPILER), platform.system(), platform.machine(), *host_features()]
    for text in [*surroundings, *flags]:
        digest.update(f"\n{text}".encode())
    return digest.hexdigest()


class CompileCache:
    """The entries in `folder`, which is made when there is something to keep."""

    def __init__(self, folder: Path):
        self.folder = folder

    def get(self, key: str) -> bytes | None:
        """The contents kept under `key`; None where there are none, or damaged ones."""
        try:
            entry = self._path(key).read_bytes()
        except OSError:
            return None
        digest, contents = entry[:_DIGEST_BYTES], entry[_DIGEST_BYTES:]
        return contents if digest == _digest(contents) else None

    def put(self, key: str, contents: bytes) -> None:
        """Keep `contents` under `key`. OutputError where the folder cannot be written to."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                whole = Path(folder, key)
                whole.write_bytes(_digest(contents) + contents)
                whole.replace(path)
        except OSError as error:
            raise OutputError(f"cannot write to the cache '{self.folder}': {error}") from error

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key


_DIGEST_BYTES = 32


def _digest(contents: bytes) -> bytes:
    return hashlib.sha256(contents).digest()
