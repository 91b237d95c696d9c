"""Buffers side by side in memory: one address for each, none over another while both are alive."""

from collections.abc import Sequence

from ..passes.liveness import Buffer


def place_buffers(buffers: Sequence[Buffer]) -> tuple[list[int], int]:
    """The lowest free address of each, in the order they come to life, and the size of it all.

    Inputs, which the caller holds, stay at 0 and take no place.
    """
    offsets = [0] * len(buffers)
    alive: list[tuple[int, int, int]] = []  # address, end of it, last step
    size = 0
    for number in sorted(range(len(buffers)), key=lambda n: (buffers[n].begin, -buffers[n].bytes)):
        buffer = buffers[number]
        if buffer.kind == "input":
            continue
        alive = [each for each in alive if each[2] >= buffer.begin]
        address, position = 0, len(alive)
        for index, (start, end, _) in enumerate(alive):
            if start - address >= buffer.bytes:
                position = index
                break
            address = max(address, end)
        alive.insert(position, (address, address + buffer.bytes, buffer.end))
        alive.sort()
        offsets[number] = address
        size = max(size, address + buffer.bytes)
    return offsets, size
