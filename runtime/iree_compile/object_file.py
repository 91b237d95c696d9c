"""Object files, in which functions are made known to the linker.

The backend leaves one for each module that it compiles, whose functions only the file itself knows.
"""

import struct
from collections.abc import Callable

_MAGIC = b"\x7fELF\x02\x01"
"""ELF, of 64 bits, the low byte first."""
_RELOCATABLE = 1
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOLS, _SECTION_NUMBERS = 2, 18
"""Kinds of sections."""
_LOCAL, _GLOBAL, _WEAK, _FUNCTION, _HIDDEN = 0, 1, 2, 2, 2
"""Bindings, a kind and a visibility of symbols."""
_UNDEFINED, _RESERVED = 0, 0xFF00


def export_functions(contents: bytes, wanted: Callable[[str], bool]) -> tuple[bytes, list[str]]:
    """The object file `contents` with the functions that are `wanted` known to the linker, and
    the names of these, in order.

    All that the file defines for others is weak in it: another file with the same kernel may be
    linked, and what a program defines itself, as its table of contents, is what it gets.

    Raises `ValueError` where it is no object file of a known kind.
    """
    try:
        return _export(contents, wanted)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"this is no object file: {error}") from error


def _export(contents: bytes, wanted: Callable[[str], bool]) -> tuple[bytes, list[str]]:
    header = _HEADER.unpack_from(contents)
    kind, start, entry_size, count = header[1], header[6], header[11], header[12]
    if not contents.startswith(_MAGIC) or kind != _RELOCATABLE or entry_size != _SECTION.size:
        raise ValueError("this is no object file of 64 bits")
    sections = [_SECTION.unpack_from(contents, start + at * entry_size) for at in range(count)]
    tables = [at for at, section in enumerate(sections) if section[1] == _SYMBOLS]
    if len(tables) != 1 or any(section[1] == _SECTION_NUMBERS for section in sections):
        raise ValueError("this object file has not one plain table of symbols")
    (table,) = tables
    fields = list(sections[table])
    at, size, names = fields[4], fields[5], sections[fields[6]]
    symbols = contents[at : at + size]
    texts = contents[names[4] : names[4] + names[5]]
    kept, added, found = [], [], []
    for name_at, info, visibility, section, value, length in _SYMBOL.iter_unpack(symbols):
        binding, kind = info >> 4, info & 0xF
        defined = _UNDEFINED < section < _RESERVED
        if defined and binding == _GLOBAL:
            binding = _WEAK
        symbol = (name_at, (binding << 4) | kind, visibility, section, value, length)
        kept.append(_SYMBOL.pack(*symbol))
        if not defined or kind != _FUNCTION:
            continue
        name = texts[name_at : texts.index(b"\0", name_at)].decode()
        if not wanted(name):
            continue
        found.append(name)
        if binding == _LOCAL:  # its own symbol stays: what is numbered after it keeps its number
            exported = (_WEAK << 4) | _FUNCTION
            added.append(_SYMBOL.pack(name_at, exported, _HIDDEN, section, value, length))
    place = -(-len(contents) // 8) * 8
    grown = b"".join(kept + added)
    fields[4:6] = place, len(grown)
    changed = bytearray(contents.ljust(place, b"\0") + grown)
    _SECTION.pack_into(changed, start + table * entry_size, *fields)
    return bytes(changed), found
