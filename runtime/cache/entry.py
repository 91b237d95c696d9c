"""What an entry of the cache says about what is kept under its key.

An entry is a file of two lines of JSON: what is listed, and what else belongs to it.
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
"""Of an entry, which holds the report of a compilation; a larger one is none of ours."""

_DIGITS = set("0123456789abcdef")
_NAME_LENGTH = 64
_END_OF_TIME = 1e11
"""In seconds; what shows times takes no larger ones, nor infinity, nor what is no number."""


@dataclass(frozen=True)
class Entry:
    """Something that was compiled.

    `contents` is the digest of what was kept, of `size` bytes; `kind` is ``model`` (of the file of
    a model), ``program`` (of what the backend compiler read) or ``kernel`` (of one function of it,
    which an object file has).
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
    """An entry where it lies. `last_use` is in seconds since the epoch."""

    path: Path
    key: str
    entry: Entry
    last_use: float
    file_bytes: int
    details: Mapping[str, Any] = field(default_factory=dict)


def is_own_name(name: str) -> bool:
    """Whether a file in the cache that is called so is one of ours."""
    return len(name) == _NAME_LENGTH and _DIGITS.issuperset(name)


def new_name() -> str:
    """A name that no file has."""
    return secrets.token_hex(_NAME_LENGTH // 2)


def write_entry(key: str, entry: Entry, details: Mapping[str, Any]) -> bytes:
    """The bytes of the file. `details` must be plain values."""
    body = json.dumps(details, separators=(",", ":"))
    head = {"format": FORMAT_VERSION, "key": key, **asdict(entry), "details": _digest(body)}
    return f"{json.dumps(head)}\n{body}".encode()


def read_entry(path: Path, *, details: bool = False) -> StoredEntry | None:
    """The entry in the file `path`, with its `details` where asked for.

    None where it is none: absent, damaged, of another version, or another's under this name.
    """
    key = path.name
    try:
        if not path.is_file():  # nothing that would be waited for
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
