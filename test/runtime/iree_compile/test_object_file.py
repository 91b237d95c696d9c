"""Functions of object files are made known to the linker, and nothing else changes."""

import struct

import pytest

from graphc.runtime.iree_compile.object_file import export_functions

LOCAL_FUNCTION, LOCAL_DATA, GLOBAL_FUNCTION, WEAK_FUNCTION = 0x02, 0x01, 0x12, 0x22


def object_file(symbols):
    """An ELF file of code, with `symbols`: name, binding and kind, section."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name, _, _ in symbols)
    table = bytes(24)
    for name, info, section in symbols:
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        table += struct.pack("<IBBHQQ", at, info, 0, section, 0, 4)
    code_at, table_at = 64, 72
    names_at = table_at + len(table)
    sections_at = names_at + len(names)
    locals_ = 1 + sum(info >> 4 == 0 for _, info, _ in symbols)
    sections = [
        (0,) * 10,
        (0, 1, 6, 0, code_at, 8, 0, 0, 16, 0),
        (0, 2, 0, 0, table_at, len(table), 3, locals_, 8, 24),
        (0, 3, 0, 0, names_at, len(names), 0, 0, 1, 0),
    ]
    numbers = (1, 62, 1, 0, 0, sections_at, 0, 64, 0, 0, 64, 4, 3)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", *numbers)
    rows = b"".join(struct.pack("<IIQQQQIIQQ", *section) for section in sections)
    return header + bytes(8) + table + names + rows


def symbols_of(contents):
    """Name, binding and kind, visibility and section of each symbol."""
    start = struct.unpack_from("<Q", contents, 40)[0]
    rows = [struct.unpack_from("<IIQQQQIIQQ", contents, start + 64 * at) for at in range(4)]
    table, names = rows[2], contents[rows[3][4] : rows[3][4] + rows[3][5]]
    found = struct.iter_unpack("<IBBHQQ", contents[table[4] : table[4] + table[5]])
    return [
        (names[at : names.index(b"\0", at)].decode(), info, other, section)
        for at, info, other, section, _, _ in found
    ]


SYMBOLS = [
    ("one", LOCAL_FUNCTION, 1),
    ("table", LOCAL_DATA, 1),
    ("two", LOCAL_FUNCTION, 1),
    ("elsewhere", GLOBAL_FUNCTION, 0),
    ("known", GLOBAL_FUNCTION, 1),
]


def test_functions_that_are_wanted_are_exported():
    old = object_file(SYMBOLS)
    new, names = export_functions(old, {"two", "table", "elsewhere", "known"}.__contains__)
    assert names == ["two", "known"]
    *others, known = symbols_of(old)
    assert known == ("known", GLOBAL_FUNCTION, 0, 1)
    weak = [("known", WEAK_FUNCTION, 0, 1), ("two", WEAK_FUNCTION, 2, 1)]
    assert symbols_of(new) == [*others, *weak]
    assert new[64:72] == old[64:72]


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"\x7fELF",
        b"MZ" + bytes(200),
        object_file(SYMBOLS)[:-1],
        object_file(SYMBOLS)[:4] + b"\x01" + object_file(SYMBOLS)[5:],
        b"\x7fELF\x02\x01" + b"\xff" * 200,
    ],
    ids=["empty", "short", "another", "truncated", "of 32 bits", "nonsense"],
)
def test_what_is_no_object_file_is_refused(contents):
    with pytest.raises(ValueError, match="object file"):
        export_functions(contents, lambda _: True)
