"""Archives with something amiss, whose checksums may be right, are refused before they are used."""

import io
import struct
import zipfile
from pathlib import Path

import pytest

from graphc.errors import ModuleFileError
from graphc.runtime.files.archive import read_entries

ENTRIES = {"module.fb": b"code" * 30, "const.bin": bytes(range(200)), "last": b"x"}


def archive(entries=ENTRIES, kind=zipfile.ZIP_STORED, comment=b""):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as file:
        for name, data in dict(entries).items():
            info = zipfile.ZipInfo(name)
            info.compress_type = kind
            file.writestr(info, data)
        file.comment = comment
    return bytearray(buffer.getvalue())


def refusal(contents):
    with pytest.raises(ModuleFileError) as caught:
        read_entries(memoryview(bytes(contents)))
    return str(caught.value)


def directory(contents, index=0):
    """The offset of an entry's record in the directory."""
    at = contents.find(b"PK\x01\x02")
    for _ in range(index):
        at = contents.find(b"PK\x01\x02", at + 4)
    return at


def test_a_whole_archive():
    found = read_entries(memoryview(bytes(archive())))
    assert {name: bytes(data) for name, data in found.items()} == ENTRIES


def test_every_flipped_byte_is_found_or_means_nothing():
    contents = archive()
    for position in range(len(contents)):
        damaged = bytearray(contents)
        damaged[position] ^= 0xFF
        try:
            found = read_entries(memoryview(bytes(damaged)))
        except ModuleFileError:
            continue
        assert {name: bytes(data) for name, data in found.items()} == ENTRIES, position


def test_a_bomb():
    """A few bytes that would become many."""
    assert "damaged (in its part 'module.fb')" in refusal(archive(kind=zipfile.ZIP_DEFLATED))


def test_a_size_that_is_not_there():
    contents = archive()
    for field in (20, 24):  # compressed and uncompressed size
        changed = bytearray(contents)
        struct.pack_into("<I", changed, directory(contents, 1) + field, 1 << 31)
        assert "damaged" in refusal(changed)


def test_entries_over_one_another():
    """Two names for the same bytes: a small file would count many times."""
    contents = archive({"a": b"same" * 30, "b": b"same" * 30})
    struct.pack_into("<I", contents, directory(contents, 1) + 42, 0)  # where its header lies
    assert "damaged" in refusal(contents)


def test_one_name_twice():
    contents = archive({"aa": b"1", "ab": b"1"})
    doubled = bytes(contents).replace(b"ab", b"aa")
    assert "two parts are called 'aa'" in refusal(doubled)


def test_bytes_that_belong_to_nothing():
    contents = bytes(archive())
    begin = directory(contents)
    assert "damaged" in refusal(contents[:begin] + b"hidden" + contents[begin:])
    assert "behind its directory" in refusal(contents + b"hidden")
    assert "behind its directory" in refusal(archive(comment=b"hidden"))
    assert "truncated or damaged" in refusal(b"PK\x03\x04" + contents)


def test_names_that_differ_in_the_two_headers():
    contents = archive()
    at = directory(contents)
    contents[at + 46 : at + 55] = b"modulf.fb"
    assert "damaged (in its part 'modulf.fb')" in refusal(contents)


def test_an_encrypted_entry():
    contents = archive()
    contents[directory(contents) + 8] |= 1
    assert "damaged" in refusal(contents)


def test_too_many_entries():
    many = {f"e{index}": b"" for index in range(5000)}
    assert refusal(archive(many)) == "the file has 5000 parts; 4096 are the most"


def test_swapped_entries(tmp_path: Path):
    """The bytes of one in the place of the other, lengths being the same."""
    contents = archive({"a": b"1" * 50, "b": b"2" * 50})
    swapped = bytes(contents).replace(b"1" * 50, b"3" * 50).replace(b"2" * 50, b"1" * 50)
    assert "damaged (in its part 'a')" in refusal(swapped)
