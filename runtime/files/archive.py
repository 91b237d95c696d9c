"""Integrity check of the zip archive that every graphc file is.

Every file is checked before it is used: each byte must belong to an entry with a valid checksum, to
a header that agrees with the directory, or to padding. Entries must be uncompressed (so no file
expands), must not overlap, and must have distinct names. The check detects damage. It does not
authenticate the author of a file: checksums are no signature.
"""

import io
import struct
import zipfile
import zlib
from typing import Any

from ...errors import ModuleFileError

MAX_ENTRIES = 4096
"""Limit on entries, above the number in any graphc file: one per kernel, large constant, target or
part."""

_MAGIC = b"PK\x03\x04"
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_END_BYTES = 22
_MAX_PADDING = 4096
_ENCRYPTED = 1


def read_entries(contents: memoryview) -> dict[str, memoryview]:
    """The entries of the archive by name, in file order, without copies.

    Raises `ModuleFileError` that describes the damage.
    """
    if len(contents) == 0:
        raise ModuleFileError("the file is empty")
    if contents[: len(_MAGIC)] != _MAGIC:
        raise ModuleFileError("the file is no compiled module (.vmfb) of graphc")
    infos, directory = _read_directory(contents)
    entries: dict[str, memoryview] = {}
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.filename in entries:
            raise ModuleFileError(f"the file is damaged (two parts are called {info.filename!r})")
        span = _span(contents, info)
        if span is None or not _is_padding(contents[end : info.header_offset]):
            raise _damaged(info)
        begin, end = span
        data = contents[begin:end]
        if end > directory or zlib.crc32(data) != info.CRC:
            raise _damaged(info)
        entries[info.filename] = data
    if not entries:
        raise ModuleFileError("the file is no compiled module (.vmfb) of graphc")
    if not _is_padding(contents[end:directory]):
        raise ModuleFileError("the file is damaged (before its directory)")
    return entries


def _read_directory(contents: memoryview) -> tuple[list[zipfile.ZipInfo], int]:
    """The entries that the directory lists, and the offset of the directory."""
    try:
        with zipfile.ZipFile(_Reader(contents)) as archive:
            infos, directory, comment = archive.infolist(), archive.start_dir, archive.comment
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error) as error:
        raise ModuleFileError(f"the file is truncated or damaged ({error})") from None
    if len(infos) > MAX_ENTRIES:
        raise ModuleFileError(f"the file has {len(infos)} parts; {MAX_ENTRIES} are the most")
    if infos and min(info.header_offset for info in infos) != 0:  # a nested archive's directory
        raise ModuleFileError("the file is truncated or damaged (its directory is missing)")
    if comment or contents[-_END_BYTES:][:4] != b"PK\x05\x06":
        raise ModuleFileError("the file is damaged (behind its directory)")
    return infos, directory


def _span(contents: memoryview, entry: zipfile.ZipInfo) -> tuple[int, int] | None:
    """Begin and end offsets of the data of `entry`; ``None`` if its two headers disagree."""
    begin = entry.header_offset
    if begin < 0 or begin + _LOCAL_HEADER.size > len(contents):
        return None
    fields = _LOCAL_HEADER.unpack_from(contents, begin)
    magic, _, flags, method, _, _, crc, _, _, name_length, extra_length = fields
    begin += _LOCAL_HEADER.size
    name = bytes(contents[begin : begin + name_length])
    begin += name_length + extra_length
    stored = method == entry.compress_type == zipfile.ZIP_STORED
    plain = not (flags | entry.flag_bits) & _ENCRYPTED
    same = magic == _MAGIC and crc == entry.CRC and name == entry.orig_filename.encode()
    if not (stored and plain and same and entry.file_size == entry.compress_size):
        return None
    return begin, begin + entry.file_size


def _is_padding(gap: memoryview) -> bool:
    return len(gap) <= _MAX_PADDING and not any(gap)


def _damaged(entry: zipfile.ZipInfo) -> ModuleFileError:
    return ModuleFileError(f"the file is damaged (in its part {entry.filename!r})")


class _Reader(io.RawIOBase):
    """A file object over memory that, unlike `io.BytesIO`, makes no copy."""

    def __init__(self, contents: memoryview):
        self._contents = contents
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: len(self._contents)}
        position = base[whence] + offset
        if position < 0:
            raise OSError("seek before the beginning")
        self._position = position
        return position

    def tell(self) -> int:
        return self._position

    def readinto(self, target: Any) -> int:
        piece = self._contents[self._position : self._position + len(target)]
        target[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)
