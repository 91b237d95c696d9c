"""Digests of large contents, computed by several threads."""

import hashlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..threads.usable_cpus import usable_cpus

_CHUNK = 8 << 20
_MAX_THREADS = 8
_READ = 1 << 18
"""Bytes of a file that a thread holds at a time: whole pieces would stay in the process's heap."""


def digest_of(contents: bytes | memoryview) -> str:
    """The digest of `contents`: SHA-256 of the SHA-256 digests of its 8 MiB pieces, in hex."""
    view = memoryview(contents)
    return _combined(len(view), lambda at: hashlib.sha256(view[at : at + _CHUNK]).digest())


def digest_of_file(path: Path) -> str:
    """`digest_of` the contents of the file. Raises `OSError`."""

    def piece(at: int) -> bytes:
        digest, buffer, left = hashlib.sha256(), memoryview(bytearray(_READ)), _CHUNK
        with path.open("rb", buffering=0) as file:
            file.seek(at)
            while left and (count := file.readinto(buffer[:left])):
                digest.update(buffer[:count])
                left -= count
        return digest.digest()

    return _combined(path.stat().st_size, piece)


class StreamDigest:
    """`digest_of`, computed incrementally."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._piece = hashlib.sha256()
        self._room = _CHUNK

    def write(self, data: bytes) -> None:
        """Add the next part."""
        view = memoryview(data)
        while view:
            part, view = view[: self._room], view[self._room :]
            self._piece.update(part)
            self._room -= len(part)
            if self._room == 0:
                self._end_piece()

    def hexdigest(self) -> str:
        """The digest of all parts; call it once, after the last part."""
        if self._room < _CHUNK:
            self._end_piece()
        return hashlib.sha256(b"".join(self._pieces)).hexdigest()

    def _end_piece(self) -> None:
        self._pieces.append(self._piece.digest())
        self._piece, self._room = hashlib.sha256(), _CHUNK


def _combined(size: int, piece: Callable[[int], bytes]) -> str:
    positions = range(0, size, _CHUNK)
    threads = min(len(positions), usable_cpus(), _MAX_THREADS)
    if threads <= 1:
        pieces = [piece(at) for at in positions]
    else:
        with ThreadPoolExecutor(threads) as pool:  # hashing releases the GIL
            pieces = list(pool.map(piece, positions))
    return hashlib.sha256(b"".join(pieces)).hexdigest()


def digest_of_texts(texts: Iterable[str]) -> str:
    """One digest of several texts in order, in hex."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogateescape")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
