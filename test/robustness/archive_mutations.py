"""Mutations of compiled files, which are zip archives, and of cache entries."""

import io
import json
import random
import zipfile
from typing import Any

from . import substitutes
from .byte_mutations import damage


def damage_archive(data: bytes, draw: random.Random) -> bytes:
    """`data` with changed bytes or changed entries; the checksums may be right or wrong."""
    match draw.randrange(10):
        case 0 | 1 | 2 | 3 | 4:
            return damage(data, draw)
        case 5:
            return data + draw.choice((data, b"\0" * 100, b"PK\x05\x06", draw.randbytes(40)))
        case 6:
            return _damaged_directory(data, draw)
        case _:
            return _written_anew(data, draw)


def _damaged_directory(data: bytes, draw: random.Random) -> bytes:
    begin = data.rfind(b"PK\x01\x02")
    begin = max(begin - draw.randint(0, 400), 0)
    return data[:begin] + damage(data[begin:], draw)


def _written_anew(data: bytes, draw: random.Random) -> bytes:
    """The same archive with entries dropped, duplicated, swapped, renamed or compressed.

    Native code is unchanged: the target of the test is the reader of the file, not the code in it.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
    kind = zipfile.ZIP_STORED
    at = draw.randrange(len(entries))
    name, content = entries[at]
    match draw.randrange(9):
        case 0:
            del entries[at]
        case 1:
            entries.append(entries[at])
        case 2:
            draw.shuffle(entries)
        case 3:
            entries[at] = (draw.choice(substitutes.NAMES).replace("\0", "0") or "x", content)
        case 4:
            kind = zipfile.ZIP_DEFLATED
        case 5:  # a few bytes that decompress to many
            kind = zipfile.ZIP_DEFLATED
            entries[at] = (name, bytes(draw.choice((1 << 10, 1 << 20, 1 << 24))))
        case 6:
            entries += [(f"more{i}", b"") for i in range(draw.choice((10, 5000)))]
        case 7:
            entries[at] = (name, data)  # the archive within itself
        case _:
            entries = [(n, _changed_text(n, c, draw)) for n, c in entries]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = kind
            archive.writestr(info, content)
    return buffer.getvalue()


def _changed_text(name: str, content: bytes, draw: random.Random) -> bytes:
    """JSON and models with changes; the checksums will be correct."""
    if name.endswith(".json"):
        return change_json(content, draw)
    return damage(content, draw) if name.endswith(".onnx") and draw.random() < 0.5 else content


def change_json(text: bytes, draw: random.Random) -> bytes:
    """A JSON text with other values at one to three places."""
    if draw.random() < 0.2:
        return damage(text, draw)
    if draw.random() < 0.05:
        return b"[" * 100_000 + b"]" * 100_000
    value = json.loads(text)
    for _ in range(draw.choice((1, 1, 2, 3))):
        _change(value, draw)
    return json.dumps(value).encode()


def _change(value: Any, draw: random.Random) -> None:
    """Change `value`, a list or an object, at one place."""
    while isinstance(value, dict | list) and value:
        key = draw.choice(list(value) if isinstance(value, dict) else range(len(value)))
        inner = value[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.8:
            value = inner
            continue
        match draw.randrange(4):
            case 0:
                del value[key]
            case 1 if isinstance(value, dict):
                value[draw.choice(substitutes.NAMES)] = inner
            case _:
                value[key] = _anything(draw)
        return


def _anything(draw: random.Random) -> Any:
    return draw.choice(
        (None, True, 0, -1, 2**63, 1e308, float("nan"), "", "x", [], {}, [[]], ["x"], {"x": 1},
         draw.choice(substitutes.NAMES), draw.choice(substitutes.SIZES), substitutes.integer(draw))
    )  # fmt: skip
