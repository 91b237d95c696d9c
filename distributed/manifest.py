"""The manifest of a mapped data set: a journal of the blocks whose results are in the folder.

``_manifest.jsonl`` has one JSON object per line. The first is the header, with the format and the
request (model, options, columns). A line ``{"artifact": digest, "file": ...}`` names the compiled
model. Each finished block has a line, ``{"block": key, "file": ..., "rows": ..., "bytes": ...}``,
written when its file is complete, and another, ``{"removed": key}``, when the data set no longer
has it. A last line without its end was cut off by a kill and does not count.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from ..errors import ManifestError, OutputError

FORMAT = 1
FILE_NAME = "_manifest.jsonl"  # readers of folders of parquet files skip names with an underscore


@dataclass(frozen=True)
class BlockRecord:
    """The file with the results of a block."""

    block: str
    """Key of the block."""
    file: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class ArtifactRecord:
    """The file of the compiled model, with the digest of its contents."""

    artifact: str
    file: str


_Record = TypeVar("_Record", BlockRecord, ArtifactRecord)


class MapManifest:
    """The open manifest of a folder. One process may have it open at a time."""

    def __init__(self, folder: Path, request: Mapping[str, Any]):
        """Open the manifest in `folder`, or begin one; `request` has values of JSON.

        Raises `ManifestError` if it is damaged, in use, or of another request, and `OutputError`
        if it cannot be written.
        """
        self.path = folder / FILE_NAME
        self.records: dict[str, BlockRecord] = {}
        self.artifact: ArtifactRecord | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a+b")
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from error
        try:
            _lock(self._file, self.path)
            self._read(request)
        except BaseException:
            self._file.close()
            raise

    def has(self, key: str) -> bool:
        """Return whether the results of the block are there: recorded, and of the recorded size."""
        record = self.records.get(key)
        if record is None:
            return False
        path = self.path.parent / record.file
        return path.is_file() and path.stat().st_size == record.bytes

    def add(self, record: BlockRecord | ArtifactRecord) -> None:
        """Record a file that is complete."""
        self._append(asdict(record))
        if isinstance(record, BlockRecord):
            self.records[record.block] = record
        else:
            self.artifact = record

    def complete(self, keys: Iterable[str]) -> None:
        """Remove what does not belong to a finished job: results of blocks that are not among
        `keys`, and files that killed workers left half-written."""
        folder = self.path.parent
        for key in self.records.keys() - set(keys):
            record = self.records.pop(key)
            self._append({"removed": key})
            (folder / record.file).unlink(missing_ok=True)
        for path in folder.glob(".*.tmp"):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let other processes open the manifest."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _append(self, entry: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(entry, sort_keys=True).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from error

    def _read(self, request: Mapping[str, Any]) -> None:
        self._file.seek(0)
        contents = self._file.read()
        complete = contents[: contents.rfind(b"\n") + 1]
        if len(complete) < len(contents):
            self._file.truncate(len(complete))
        lines = [*complete.splitlines()]
        entries = [self._parsed(line, number) for number, line in enumerate(lines, 1)]
        for number, entry in enumerate(entries[1:], 2):
            self._apply(entry, number)
        if self.records:
            self._check_header(entries[0], request)
        elif not entries or entries[0].get("request") != request:
            self._begin(request)

    def _begin(self, request: Mapping[str, Any]) -> None:
        """Begin anew: no results would be lost."""
        self.artifact = None
        self._file.truncate(0)
        self._append({"format": FORMAT, "request": request})

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except ValueError:  # not JSON, or not UTF-8
            entry = None
        if not isinstance(entry, dict):
            raise self._damaged(number)
        return entry

    def _damaged(self, number: int) -> ManifestError:
        return ManifestError(f"the manifest '{self.path}' is damaged in line {number}")

    def _check_header(self, header: Mapping[str, Any], request: Mapping[str, Any]) -> None:
        before = header.get("request")
        if header.get("format") != FORMAT or not isinstance(before, dict):
            raise ManifestError(f"'{self.path}' is no manifest of format {FORMAT}")
        if before != request:
            changes = "; ".join(
                f"{name} was {before.get(name)}, is {request.get(name)}"
                for name in sorted({*before, *request})
                if before.get(name) != request.get(name)
            )
            raise ManifestError(f"'{self.path.parent}' has the results of another job: {changes}")

    def _apply(self, entry: dict[str, Any], number: int) -> None:
        try:
            if "removed" in entry:
                self.records.pop(entry["removed"], None)
            elif "artifact" in entry:
                self.artifact = _checked(ArtifactRecord(**entry))
            else:
                record = _checked(BlockRecord(**entry))
                self.records[record.block] = record
        except TypeError:
            raise self._damaged(number) from None


def _checked(record: _Record) -> _Record:
    """`record`, if its fields have their types and its file is in the folder. Raises TypeError."""
    for name, kind in type(record).__annotations__.items():
        if type(getattr(record, name)) is not kind:
            raise TypeError(name)
    if Path(record.file).name != record.file:
        raise TypeError("file")
    return record


def _lock(file: Any, path: Path) -> None:
    """Lock the file until it is closed. Raises `ManifestError` if another process has it open."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ManifestError(f"'{path}' is in use by another process") from error
