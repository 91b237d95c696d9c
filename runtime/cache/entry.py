"""Entries of the cache: the file that describes the contents stored under a key.

An entry is a file of two lines of JSON: the fields of `Entry`, and the details.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FORMAT_VERSION = 1
MAX_BYTES = 1 << 28
"""Maximum size of an entry, which holds the report of a compilation; larger files are ignored."""

_DIGITS = set("0123456789abcdef")
_NAME_LENGTH = 64
_END_OF_TIME = 1e11
"""Upper bound of valid times, in seconds: functions that format times reject larger ones, infinity
and NaN."""


@dataclass(frozen=True)
class Entry:
    """A compilation result.

    `contents` is the digest of the stored file, of `size` bytes; `kind` is ``model`` (keyed by a
    model file), ``program`` (keyed by the input of the backend compiler) or ``kernel`` (keyed by
    one function of a program, stored in an object file).
    """

    kind: str
    name: str
    target: str
    contents: str
    size: int
    created: float
    """Seconds since the epoch."""


@dataclass(frozen=True)
class StoredEntry:
    """An entry and its file. `last_use` is in seconds since the epoch."""

    path: Path
    key: str
    entry: Entry
    last_use: float
    file_bytes: int
    details: Mapping[str, Any] = field(default_factory=dict)


def is_own_name(name: str) -> bool:
    """Return whether `name` has the form of a file name of the cache: 64 hex digits."""
    return len(name) == _NAME_LENGTH and _DIGITS.issuperset(name)


def new_name() -> str:
    """A random name that no other file has."""
    return secrets.token_hex(_NAME_LENGTH // 2)


def write_entry(key: str, entry: Entry, details: Mapping[str, Any]) -> bytes:
    """The bytes of an entry file. `details` must be JSON values."""
    body = json.dumps(details, separators=(",", ":"))
    head = {"format": FORMAT_VERSION, "key": key, **asdict(entry), "details": _digest(body)}
    return f"{json.dumps(head)}\n{body}".encode()


def read_entry(path: Path, *, details: bool = False) -> StoredEntry | None:
    """The entry in the file `path`, with its `details` if requested.

    None if there is no valid entry: the file is absent, damaged, of another version, or foreign.
    """
    key = path.name
    try:
        if not path.is_file():  # a pipe, for instance, would block
            return None
        status = path.stat()
        if status.st_size > MAX_BYTES:
            return None
        with path.open("rb") as file:
            head = json.loads(file.readline())
            body = file.read().decode() if details else ""
        version, its_key, digest = (head.pop(name) for name in ("format", "key", "details"))
        entry = Entry(**head)
        if (version, its_key) != (FORMAT_VERSION, key) or not _is_sound(entry):
            return None
        if details and _digest(body) != digest:
            return None
        found = json.loads(body) if details else {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return StoredEntry(path, key, entry, status.st_mtime, status.st_size, found)


def _is_sound(entry: Entry) -> bool:
    texts = (entry.kind, entry.name, entry.target, entry.contents)
    return (
        all(isinstance(text, str) for text in texts)
        and is_own_name(entry.contents)
        and isinstance(entry.size, int)
        and entry.size >= 0
        and isinstance(entry.created, int | float)
        and 0 <= entry.created < _END_OF_TIME
    )


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
