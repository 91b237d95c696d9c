"""Weights that stay in the model's file.

Parsing a model copies its weights, and so does every look at ``raw_data``. This cuts the data of
large initializers out of the bytes that protobuf sees and has the tensors refer to their position
in the file instead, as ONNX's external data does: `tensors.to_array` maps it when it is wanted.
"""

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import onnx

from .tensors import byte_count

MIN_BYTES = 1 << 16
"""Smaller data is cheaper to copy than to map."""

MAX_MESSAGE_BYTES = 1 << 31
"""The maximum length of a protobuf message."""

_GRAPH, _INITIALIZER, _RAW_DATA, _DATA_LOCATION = 7, 5, 9, 14
_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}
_MAX_VARINT = 10
_MAX_FIELDS = 1 << 20
"""More than any graph has; what looks as if it had is left to protobuf, which is faster."""


@dataclass(frozen=True)
class Cut:
    """The position of the `index`-th initializer's data in the file."""

    index: int
    offset: int
    length: int


def cut_weights(data: mmap.mmap) -> tuple[bytes, list[Cut]]:
    """The bytes of a ModelProto without the large weights, and where these lie.

    Bytes that are not a message are returned as they are, truncated to the size that protobuf
    accepts: protobuf reports the error.
    """
    cutter = _Cutter(data)
    try:
        return cutter.model(), cutter.cuts
    except (_MalformedError, IndexError):
        return data[: MIN_BYTES if len(data) >= MAX_MESSAGE_BYTES else None], []


def refer_to_file(model: onnx.ModelProto, data: mmap.mmap, location: str, cuts: list[Cut]) -> None:
    """Have the tensors that were cut refer to the file `location`, which holds `data`.

    Data whose length differs from its tensor's goes back into it, for `to_array` to refuse.
    """
    for cut in cuts:
        tensor = model.graph.initializer[cut.index]
        if cut.length != byte_count(tensor):
            tensor.raw_data = data[cut.offset : cut.offset + cut.length]
            continue
        tensor.data_location = onnx.TensorProto.EXTERNAL
        reference = {"location": location, "offset": str(cut.offset), "length": str(cut.length)}
        for key, value in reference.items():
            tensor.external_data.add(key=key, value=value)


class _MalformedError(Exception):
    """Bytes that are not a protobuf message."""


@dataclass(frozen=True)
class _Field:
    number: int
    kind: int
    start: int
    value: int
    end: int


class _Cutter:
    def __init__(self, data: mmap.mmap):
        self.data = data
        self.cuts: list[Cut] = []
        self.initializers = 0
        self.fields = 0

    def model(self) -> bytes:
        return self._replace(0, len(self.data), _GRAPH, self._graph)

    def _graph(self, start: int, end: int) -> bytes:
        return self._replace(start, end, _INITIALIZER, self._initializer)

    def _initializer(self, start: int, end: int) -> bytes:
        index = self.initializers
        self.initializers += 1
        if end - start < MIN_BYTES:
            return self.data[start:end]
        fields = [f for f in self._fields(start, end) if f.number in (_RAW_DATA, _DATA_LOCATION)]
        if [field.number for field in fields] != [_RAW_DATA]:
            return self.data[start:end]
        raw = fields[0]
        self.cuts.append(Cut(index, raw.value, raw.end - raw.value))
        return self.data[start : raw.start] + self.data[raw.end : end]

    def _replace(
        self, start: int, end: int, number: int, body: Callable[[int, int], bytes]
    ) -> bytes:
        """The message between `start` and `end` with another `body` in its fields `number`."""
        pieces: list[bytes] = []
        for field in self._fields(start, end):
            if field.number != number:
                continue
            if field.kind != _BYTES:
                raise _MalformedError
            replaced = body(field.value, field.end)
            tag = _write_varint(number << 3 | _BYTES)
            pieces += [self.data[start : field.start], tag, _write_varint(len(replaced)), replaced]
            start = field.end
        return b"".join([*pieces, self.data[start:end]])

    def _fields(self, start: int, end: int) -> Iterator[_Field]:
        while start < end:
            tag, value = self._varint(start)
            number, kind = tag >> 3, tag & 7
            if kind == _VARINT:
                stop = self._varint(value)[1]
            elif kind == _BYTES:
                length, value = self._varint(value)
                stop = value + length
            elif kind in _FIXED:
                stop = value + _FIXED[kind]
            else:
                raise _MalformedError
            self.fields += 1
            if stop > end or self.fields > _MAX_FIELDS:
                raise _MalformedError
            yield _Field(number, kind, start, value, stop)
            start = stop

    def _varint(self, at: int) -> tuple[int, int]:
        """The number at `at`, and the position after it."""
        number = 0
        for index in range(_MAX_VARINT):
            byte = self.data[at + index]
            number |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                return number, at + index + 1
        raise _MalformedError


def _write_varint(number: int) -> bytes:
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])
