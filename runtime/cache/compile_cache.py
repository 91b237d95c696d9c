"""On-disk cache of compiled code, in a folder, by cache key.

::

    CACHEDIR.TAG             tells backup programs to skip the folder; rewritten after each
                             search for unreferenced files, so its mtime dates the last search
    entries/<key>            the entry of the key (`entry`); its mtime is the last use
    contents/<digest>        a compiled file, named by its digest: several keys may refer to it
    partial/<random>         a file that is being written

Any number of processes may share a folder without locks. A file is written to ``partial`` and then
renamed, so a file with its final name is complete even if a process is killed. Each read verifies
the digest: a damaged file, or a foreign one with a name like ours, counts as absent. A folder that
cannot be written to causes a warning; it never makes a compilation fail.
"""

import contextlib
import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .digests import digest_of, digest_of_file
from .entry import Entry, StoredEntry, is_own_name, new_name, read_entry, write_entry

DEFAULT_LIMIT = 5 << 30
"""Default capacity of a folder, in bytes."""

LEFT_OVER_SECONDS = 3600.0
"""Age from which an unreferenced file counts as left over by a killed process."""

_TAG = b"""Signature: 8a477f597d28d172789f06886806bc55
# This is the cache of compiled models of graphc. gc-cache lists and clears it.
"""

logger = logging.getLogger("graphc")
_warned: set[Path] = set()


@dataclass(frozen=True)
class Found:
    """A cache hit: the path of a verified file, its entry and the details stored with it."""

    path: Path
    entry: Entry
    details: Mapping[str, Any]


@dataclass(frozen=True)
class Removed:
    """Number of entries and bytes that `CompileCache.prune` or `clear` removed."""

    entries: int = 0
    bytes: int = 0

    def __add__(self, other: "Removed") -> "Removed":
        return Removed(self.entries + other.entries, self.bytes + other.bytes)


class CompileCache:
    """A cache in `folder`, which is created on the first write.

    Beyond `limit` bytes the least recently used entries are evicted. A `private` folder is created
    with mode 0700 and not used if another user owns it: a cache holds code that will be run.
    """

    def __init__(self, folder: Path, limit: int = DEFAULT_LIMIT, *, private: bool = False):
        self.folder = folder
        self.limit = limit
        self.hits = 0
        """Number of cache hits."""
        self.taken = ""
        """Part of the last program that came from the cache, as text for a report."""
        self._private = private
        self._entries = folder / "entries"
        self._contents = folder / "contents"
        self._partial = folder / "partial"
        self._tag = folder / "CACHEDIR.TAG"
        self._last: tuple[bytes, str] | None = None

    def find(self, key: str) -> Found | None:
        """Look up `key` and mark its entry as used; None if there is no valid entry."""
        path = self._entries / key
        stored = None if self._is_foreign() else read_entry(path, details=True)
        if stored is None:
            return None
        contents = self._contents / stored.entry.contents
        try:
            whole = _is_whole(contents, stored.entry)
        except OSError as error:  # not a sign of damaged contents
            logger.info("cannot read '%s': %s", contents, error)
            return None
        with contextlib.suppress(OSError):  # a read-only folder stays as it is
            if whole:
                os.utime(path)
            else:
                contents.unlink(missing_ok=True)
                path.unlink(missing_ok=True)
        if not whole:
            return None
        self.hits += 1
        return Found(contents, stored.entry, stored.details)

    def read(self, key: str) -> bytes | None:
        """The contents stored under `key`, marked as used; None if there are none."""
        found = self.find(key)
        try:
            return None if found is None else found.path.read_bytes()
        except OSError:  # another process has just removed it
            return None

    def put(
        self,
        key: str,
        contents: bytes,
        *,
        kind: str,
        name: str,
        target: str,
        details: Mapping[str, Any] | None = None,
    ) -> Path | None:
        """Store `contents` under `key`, with `details` (JSON values); return the path of the file
        that has them. Warns if that fails, and returns None."""
        return self.put_all([key], contents, kind=kind, name=name, target=target, details=details)

    def put_all(
        self,
        keys: Sequence[str],
        contents: bytes,
        *,
        kind: str,
        name: str,
        target: str,
        details: Mapping[str, Any] | None = None,
    ) -> Path | None:
        """Store `contents` under each of `keys`, as `put` does."""
        if len(contents) > self.limit:
            logger.info("'%s' is larger than the cache '%s' may be", name, self.folder)
            return None
        try:
            self._prepare()
            digest = self._digest(contents)
            entry = Entry(kind, name, target, digest, len(contents), time.time())
            path = self._contents / entry.contents
            if path.is_file() and path.stat().st_size == entry.size:
                os.utime(path)  # so that it does not count as left over before an entry names it
            else:
                self._write(path, contents)
            for key in keys:
                self._write(self._entries / key, write_entry(key, entry, details or {}))
            if self._is_due():
                self.prune()
                self._write(self._tag, _TAG)
            return path
        except OSError as error:
            self._warn(error)
            return None

    def entries(self) -> list[StoredEntry]:
        """The readable entries, most recently used first."""
        stored = map(read_entry, _files(self._entries))
        return sorted((each for each in stored if each), key=lambda each: -each.last_use)

    def bytes_held(self) -> int:
        """Total size of the files of the cache, in bytes."""
        return sum(_size(each) for folder in self._folders() for each in _scan(folder))

    def prune(self, limit: int | None = None) -> Removed:
        """Evict the least recently used entries until the rest takes at most `limit` bytes.

        `limit` defaults to that of the cache. Files that killed processes left over are removed,
        too. Raises `OSError`.
        """
        limit = self.limit if limit is None else limit
        total, full = 0, False
        removed, evicted, used = Removed(), set[str](), set[str]()
        for stored in self.entries():
            contents = stored.entry.contents
            total += stored.file_bytes + (0 if contents in used else stored.entry.size)
            full = full or total > limit
            if full:
                removed += _remove(stored.path, entry=True)
                evicted.add(contents)
            else:
                used.add(contents)
        return removed + self._sweep(used, evicted - used)

    def clear(self) -> Removed:
        """Remove all files of the cache; other files in the folder stay. Raises `OSError`."""
        removed = Removed()
        for folder in self._folders():
            for path in _files(folder):
                removed += _remove(path, entry=folder == self._entries)
        return removed

    def _is_due(self) -> bool:
        """Return whether to `prune`: the cache is over its limit, or the last search is too old.

        Not done on every write, as `prune` reads all entries, and there are many kernels.
        """
        return self.bytes_held() > self.limit or _is_older(
            self._tag, time.time() - LEFT_OVER_SECONDS
        )

    def _digest(self, contents: bytes) -> str:
        """The digest of `contents`; memoized, as the same bytes are often stored twice in a row,
        as a program and as a model. Afterwards they are not kept: they may be all of a model's
        weights."""
        if self._last is None or self._last[0] is not contents:
            self._last = contents, digest_of(contents)
            return self._last[1]
        digest, self._last = self._last[1], None
        return digest

    def _sweep(self, used: set[str], evicted: set[str]) -> Removed:
        """Remove the `evicted` contents, and old files that are unreadable or unreferenced."""
        removed, old = Removed(), time.time() - LEFT_OVER_SECONDS
        for folder in self._folders():
            for path in _files(folder):
                if folder == self._contents and path.name in evicted:
                    removed += _remove(path)
                elif _is_older(path, old):
                    if folder == self._entries:
                        useful = read_entry(path) is not None
                    else:
                        useful = folder == self._contents and path.name in used
                    if not useful:
                        removed += _remove(path)
        return removed

    def _folders(self) -> tuple[Path, ...]:
        return self._entries, self._contents, self._partial

    def _is_foreign(self) -> bool:
        if not self._private or not hasattr(os, "geteuid"):
            return False
        try:
            return self.folder.stat().st_uid != os.geteuid()
        except OSError:
            return False

    def _prepare(self) -> None:
        if self._private and not self.folder.exists():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._is_foreign():
            raise PermissionError("the folder belongs to another user")
        for folder in self._folders():
            folder.mkdir(parents=True, exist_ok=True)
        if not self._tag.exists():
            self._write(self._tag, _TAG)

    def _write(self, path: Path, contents: bytes) -> None:
        partial = self._partial / new_name()
        try:
            with partial.open("xb") as file:
                file.write(contents)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    def _warn(self, error: OSError) -> None:
        if self.folder not in _warned:  # once per process
            _warned.add(self.folder)
            logger.warning(
                "what is compiled cannot be kept in the cache '%s': %s (GRAPHC_CACHE names another "
                "folder, or is off)",
                self.folder, error.strerror or error,
            )  # fmt: skip


def _is_whole(path: Path, entry: Entry) -> bool:
    return (
        path.is_file()
        and path.stat().st_size == entry.size
        and digest_of_file(path) == entry.contents
    )


def _files(folder: Path) -> list[Path]:
    return [Path(each) for each in _scan(folder)]


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    """The files in `folder` with a name of the cache's form; none if there is no such folder."""
    try:
        with os.scandir(folder) as found:
            return [
                each
                for each in found
                if is_own_name(each.name) and each.is_file(follow_symlinks=False)
            ]
    except FileNotFoundError:
        return []


def _remove(path: Path, *, entry: bool = False) -> Removed:
    size = _size(path)
    path.unlink(missing_ok=True)
    return Removed(int(entry), size)


def _size(path: Path | os.DirEntry[str]) -> int:
    try:
        return path.stat().st_size
    except OSError:  # another process has removed it
        return 0


def _is_older(path: Path, moment: float) -> bool:
    try:
        return path.stat().st_mtime < moment
    except OSError:
        return False
