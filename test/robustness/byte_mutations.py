"""Mutations of bytes, whatever their meaning."""

import random

_LENGTHS = (
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x01",
    b"\x00",
)


def damage(data: bytes, draw: random.Random) -> bytes:
    """`data` with one to four changes."""
    for _ in range(draw.choice((1, 1, 2, 4))):
        data = _damage(data, draw)
    return data


def _damage(data: bytes, draw: random.Random) -> bytes:
    if not data:
        return draw.randbytes(draw.randint(0, 64))
    at = draw.randrange(len(data))
    to = min(at + draw.choice((1, 2, 8, 64, 1024)), len(data))
    match draw.randrange(8):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
        case 2:
            return data[:at] + draw.randbytes(to - at) + data[to:]
        case 3:
            return data[:at] + data[to:]
        case 4:
            return data[:at] + data[at:to] * draw.choice((2, 3, 50)) + data[to:]
        case 5:
            return data[:at] + draw.choice(_LENGTHS) + data[at:]
        case 6:
            source = draw.randrange(len(data))
            return data[:at] + data[source : source + to - at] + data[to:]
        case _:
            return data[:at] + bytes([draw.choice((0, 1, 0x7F, 0x80, 0xFF))]) + data[at + 1 :]
