"""Quantized blocks of GGUF as the weights of ``MatMulNBits``: integers, scales and zero points.

One function for each type takes the blocks of a tensor, uint8 ``[blocks, bytes of a block]``, and
gives the integers ``q`` in the order of the elements, with a scale and an offset for each group of
them: a weight is ``scale * q + offset``. The layouts are those of ``ggml-common.h`` of llama.cpp.
Integers and scales carry over as they are; only the zero point ``-offset / scale`` is rounded, to
f32.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Groups(NamedTuple):
    """Integers ``[groups, group size]`` with a scale and an offset each, f32 ``[groups]``.

    An offset of None says that the zero point is `zero`, the same one in all groups.
    """

    integers: Array
    scales: Array
    offsets: Array | None
    zero: int = 0


@dataclass(frozen=True)
class BlockFormat:
    """How a GGUF type is stored: `bits` of the operator's integers, the bytes of a block, and the
    function that reads blocks. `bits` may be more than GGUF's, as there are none of 3, 5 or 6."""

    bits: int
    block_bytes: int
    read: Callable[[Array], Groups]


@dataclass(frozen=True)
class QuantizedMatrix:
    """Weights of ``com.microsoft.MatMulNBits``, for a matrix of `rows` times `columns`.

    `packed` is uint8 ``[rows, blocks, block_size * bits / 8]``, the low bits first; `scales` and
    `zero_points` are f32 ``[rows, blocks]``. Without zero points it is ``2 ** (bits - 1)``.
    """

    bits: int
    block_size: int
    packed: Array
    scales: Array
    zero_points: Array | None

    @property
    def rows(self) -> int:
        """The number of outputs, N."""
        return self.packed.shape[0]

    @property
    def columns(self) -> int:
        """The number of inputs, K."""
        return self.scales.shape[1] * self.block_size

    def take_rows(self, order: Array) -> "QuantizedMatrix":
        """The matrix with the rows `order`, indices or a slice."""
        zero_points = None if self.zero_points is None else self.zero_points[order]
        packed, scales = self.packed[order], self.scales[order]
        return QuantizedMatrix(self.bits, self.block_size, packed, scales, zero_points)


def quantized_matrix(type_name: str, data: Array) -> QuantizedMatrix:
    """The matrix whose rows are the rows of `data`, blocks of the type `type_name` as bytes.

    Raises `KeyError` for a type that is not in `BLOCK_FORMATS`.
    """
    form = BLOCK_FORMATS[type_name]
    rows = data.shape[0]
    groups = form.read(data.reshape(-1, form.block_bytes))
    integers, scales, zero_points = _with_zero_points(groups, form.bits)
    size = integers.shape[1]
    packed = _pack(integers, form.bits).reshape(rows, -1, size * form.bits // 8)
    scales = scales.reshape(rows, -1)
    zero_points = None if zero_points is None else zero_points.reshape(rows, -1)
    return QuantizedMatrix(form.bits, size, packed, scales, zero_points)


def _with_zero_points(groups: Groups, bits: int) -> tuple[Array, Array, Array | None]:
    """Integers, scales and zero points; none if the default can be had by adding a constant."""
    integers, scales, offsets, zero = groups
    if offsets is None:
        return integers + np.uint8((1 << (bits - 1)) - zero), scales, None
    constant = scales == 0  # such a group has its offset as its only value: (0 - 1) * -offset
    divisors = np.where(constant, np.float32(1), scales)
    zero_points = np.where(constant, np.float32(1), -offsets / divisors)
    scales = np.where(constant, -offsets, scales)
    return np.where(constant[:, None], np.uint8(0), integers), scales, zero_points


def _pack(integers: Array, bits: int) -> Array:
    """Integers of `bits` bits as bytes, the first in the lowest bits."""
    apart = integers.reshape(integers.shape[0], -1, 8 // bits)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(apart << shifts, axis=-1)


def _floats(blocks: Array, first: int) -> Array:
    """The f16 at byte `first` of each block, as f32 ``[blocks]``."""
    return blocks[:, first : first + 2].copy().view(np.float16)[:, 0].astype(np.float32)


def _nibbles(data: Array, run: int) -> Array:
    """The halves of bytes: of each `run` bytes the low ones, then the high ones."""
    runs = data.reshape(data.shape[0], -1, 1, run)
    shifts = np.array([[0], [4]], np.uint8)
    return ((runs >> shifts) & 15).reshape(data.shape[0], -1)


def _crumbs(data: Array) -> Array:
    """The quarters of bytes: of each 32 bytes the lowest ones first."""
    runs = data.reshape(data.shape[0], -1, 1, 32)
    shifts = np.array([[0], [2], [4], [6]], np.uint8)
    return ((runs >> shifts) & 3).reshape(data.shape[0], -1)


def _bits(data: Array) -> Array:
    """The bits of bytes: of all bytes the lowest ones first."""
    shifts = np.arange(8, dtype=np.uint8)[:, None]
    return ((data[:, None, :] >> shifts) & 1).reshape(data.shape[0], -1)


def _fifth_bits(data: Array) -> Array:
    """The bits of 4 bytes in order, as values of 16."""
    return np.unpackbits(data, axis=1, bitorder="little") << np.uint8(4)


def _q4_0(blocks: Array) -> Groups:
    return Groups(_nibbles(blocks[:, 2:], 16), _floats(blocks, 0), None, 8)


def _q4_1(blocks: Array) -> Groups:
    return Groups(_nibbles(blocks[:, 4:], 16), _floats(blocks, 0), _floats(blocks, 2))


def _q5_0(blocks: Array) -> Groups:
    integers = _nibbles(blocks[:, 6:], 16) | _fifth_bits(blocks[:, 2:6])
    return Groups(integers, _floats(blocks, 0), None, 16)


def _q5_1(blocks: Array) -> Groups:
    integers = _nibbles(blocks[:, 8:], 16) | _fifth_bits(blocks[:, 4:8])
    return Groups(integers, _floats(blocks, 0), _floats(blocks, 2))


def _q8_0(blocks: Array) -> Groups:
    integers = blocks[:, 2:] ^ np.uint8(128)  # from two's complement to an excess of 128
    return Groups(integers, _floats(blocks, 0), None, 128)


def _super_block(integers: Array, scales: Array, offsets: Array | None, zero: int = 0) -> Groups:
    """The groups of super-blocks, whose scales and offsets are ``[blocks, groups]``."""
    offsets = None if offsets is None else offsets.reshape(-1)
    return Groups(integers.reshape(scales.size, -1), scales.reshape(-1), offsets, zero)


def _q2_k(blocks: Array) -> Groups:
    packed, scale, least = blocks[:, :16], _floats(blocks, 80), _floats(blocks, 82)
    scales = scale[:, None] * (packed & 15)
    return _super_block(_crumbs(blocks[:, 16:80]), scales, -least[:, None] * (packed >> 4))


def _q3_k(blocks: Array) -> Groups:
    integers = _crumbs(blocks[:, 32:96]) | _bits(blocks[:, :32]) << np.uint8(2)
    low = _nibbles(blocks[:, 96:104], 8)
    shifts = np.array([[0], [2], [4], [6]], np.uint8)
    high = ((blocks[:, None, 104:108] >> shifts) & 3).reshape(-1, 16)
    sixes = (low | high << np.uint8(4)).astype(np.float32) - 32
    return _super_block(integers, _floats(blocks, 108)[:, None] * sixes, None, 4)


def _six_bits(packed: Array) -> tuple[Array, Array]:
    """Scales and minima ``[blocks, 8]`` of 6 bits each, in 12 bytes.

    Those of the first four groups are the low bits of the first eight bytes; those of the others
    have their low four bits in the last four bytes, and their high two atop of the former.
    """
    first, second, last = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate([first & 63, (last & 15) | (first >> 6) << np.uint8(4)], axis=1)
    minima = np.concatenate([second & 63, (last >> 4) | (second >> 6) << np.uint8(4)], axis=1)
    return scales, minima


def _scales_and_offsets(blocks: Array) -> tuple[Array, Array]:
    """Those of a super-block that begins with both factors and 12 bytes of scales and minima."""
    scales, minima = _six_bits(blocks[:, 4:16])
    return _floats(blocks, 0)[:, None] * scales, -_floats(blocks, 2)[:, None] * minima


def _q4_k(blocks: Array) -> Groups:
    return _super_block(_nibbles(blocks[:, 16:], 32), *_scales_and_offsets(blocks))


def _q5_k(blocks: Array) -> Groups:
    integers = _nibbles(blocks[:, 48:], 32) | _bits(blocks[:, 16:48]) << np.uint8(4)
    return _super_block(integers, *_scales_and_offsets(blocks))


def _q6_k(blocks: Array) -> Groups:
    low = _nibbles(blocks[:, :128], 64)
    integers = low | _crumbs(blocks[:, 128:192]) << np.uint8(4)
    sub_scales = blocks[:, 192:208].view(np.int8).astype(np.float32)
    return _super_block(integers, _floats(blocks, 208)[:, None] * sub_scales, None, 32)


BLOCK_FORMATS: Mapping[str, BlockFormat] = MappingProxyType(
    {
        "Q4_0": BlockFormat(4, 18, _q4_0),
        "Q4_1": BlockFormat(4, 20, _q4_1),
        "Q5_0": BlockFormat(8, 22, _q5_0),
        "Q5_1": BlockFormat(8, 24, _q5_1),
        "Q8_0": BlockFormat(8, 34, _q8_0),
        "Q2_K": BlockFormat(4, 84, _q2_k),
        "Q3_K": BlockFormat(4, 110, _q3_k),
        "Q4_K": BlockFormat(4, 144, _q4_k),
        "Q5_K": BlockFormat(8, 176, _q5_k),
        "Q6_K": BlockFormat(8, 210, _q6_k),
    }
)
"""The types that have a place in ``MatMulNBits`` without loss, by GGUF's names."""
