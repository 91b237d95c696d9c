"""ELF object files: export of local functions.

The backend writes an object file per module, in which all kernels are local symbols.
"""

import struct
from collections.abc import Callable

_MAGIC = b"\x7fELF\x02\x01"
"""Magic number of 64-bit little-endian ELF."""
_RELOCATABLE = 1
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOLS, _SECTION_NUMBERS = 2, 18
"""Section types."""
_LOCAL, _GLOBAL, _WEAK, _FUNCTION, _HIDDEN = 0, 1, 2, 2, 2
"""Symbol bindings, a symbol type and a visibility."""
_UNDEFINED, _RESERVED = 0, 0xFF00


def export_functions(contents: bytes, wanted: Callable[[str], bool]) -> tuple[bytes, list[str]]:
    """The object file `contents` with the `wanted` functions exported, and their names in order.

    All exported symbols of the result are weak: another file with the same kernel may be linked as
    well, and a program's own definitions, such as its executable library table, take precedence.

    Raises `ValueError` if it is not a supported object file.
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
        if binding == _LOCAL:  # the local symbol stays, so that symbol indices do not change
            exported = (_WEAK << 4) | _FUNCTION
            added.append(_SYMBOL.pack(name_at, exported, _HIDDEN, section, value, length))
    offset = -(-len(contents) // 8) * 8
    grown = b"".join(kept + added)
    fields[4:6] = offset, len(grown)
    changed = bytearray(contents.ljust(offset, b"\0") + grown)
    _SECTION.pack_into(changed, start + table * entry_size, *fields)
    return bytes(changed), found
