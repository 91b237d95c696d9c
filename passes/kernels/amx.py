"""The tile registers of Intel AMX: eight registers of 16 rows of 64 bytes.

The shapes of the tiles are configured before use (Intel 64 and IA-32 Architectures Software
Developer's Manual, volume 1, chapter 18). The backend's compiler passes the intrinsics through.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...mlir import arith, ir, llvm, memref, vector

ROWS = 16
"""Rows of a tile."""
ROW_BYTES = 64
ROW_ACCUMULATORS = ROW_BYTES // 4
"""Accumulators in a row of a tile."""
_COUNT = 8
_PALETTE, _ROW_BYTES_AT, _ROWS_AT, _CONFIG_BYTES = 0, 16, 48, 64
"""Layout of the configuration: the palette, the offsets of two tables, and the size in bytes."""

_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18
"""The system call, on x86-64, and its arguments: ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA."""


@dataclass(frozen=True)
class TileDot:
    """An instruction that multiplies tiles, and the types of its operands."""

    name: str
    group: int
    """Adjacent factors whose products are added to one accumulator."""

    @property
    def step(self) -> int:
        """Factors in a row of a tile: one step along K."""
        return ROW_ACCUMULATORS * self.group

    @property
    def factor_bytes(self) -> int:
        return 4 // self.group

    @property
    def accumulator(self) -> ir.Type:
        """The type of an accumulator."""
        if self.group == 2:
            return ir.F32Type.get()
        return ir.IntegerType.get_signless(32)


TILES_BF16 = TileDot("tdpbf16ps", 2)
TILES_INT8 = TileDot("tdpbusd", 4)
"""Multiplies u8 by i8."""


class TileRegisters:
    """Emits the AMX instructions at the insertion point, which is in a kernel."""

    def __init__(self):
        """Allocate memory for a configuration. To be called at the start of the kernel."""
        self._config = memref.alloca(_bytes_type(), [], [])

    def request(self) -> None:
        """Request the registers from Linux, which grants them only to processes that ask
        (``Documentation/arch/x86/xstate.rst``). A repeated request takes 0.1 microseconds."""
        i64 = ir.IntegerType.get_signless(64)
        values = (_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA)
        llvm.inline_asm(
            i64,
            [arith.constant(i64, value) for value in values],
            "syscall",
            "={ax},{ax},{di},{si},~{rcx},~{r11},~{memory}",
            has_side_effects=True,
        )

    def configure(self, rows: ir.Value | None = None, of: Sequence[int] = ()) -> None:
        """Configure every register with all its rows, and those listed in `of` with `rows` rows.

        This zeroes all registers.
        """
        values = np.zeros(_CONFIG_BYTES, np.uint8)
        values[_PALETTE] = 1
        values[_ROW_BYTES_AT : _ROW_BYTES_AT + 2 * _COUNT : 2] = ROW_BYTES
        values[_ROWS_AT : _ROWS_AT + _COUNT] = ROWS
        i8 = ir.IntegerType.get_signless(8)
        type_ = ir.VectorType.get([_CONFIG_BYTES], i8)
        elements = ir.DenseElementsAttr.get(values.view(np.int8), type=type_)
        vector.store(arith.constant(type_, elements), self._config, [_index(0)])
        for register in of:
            assert rows is not None
            count = arith.index_cast(i8, rows)
            memref.store(count, self._config, [_index(_ROWS_AT + register)])
        _intrinsic("ldtilecfg", Address(self._config).pointer())

    def release(self) -> None:
        """Release the registers, so that a context switch need not save them."""
        _intrinsic("tilerelease")

    def zero(self, register: int) -> None:
        _intrinsic("tilezero", _i8(register))

    def load(self, register: int, rows: "TileRows") -> None:
        _intrinsic("tileloadd64", _i8(register), rows.pointer, rows.stride)

    def store(self, register: int, rows: "TileRows") -> None:
        _intrinsic("tilestored64", _i8(register), rows.pointer, rows.stride)

    def multiply(self, dot: TileDot, accumulators: int, rows: int, groups: int) -> None:
        """Accumulate the product of registers `rows` and `groups` into register `accumulators`."""
        _intrinsic(dot.name, _i8(accumulators), _i8(rows), _i8(groups))


class Address:
    """The start address of a buffer."""

    def __init__(self, memory: ir.Value):
        element = ir.MemRefType(memory.type).element_type
        assert isinstance(element, ir.IntegerType | ir.FloatType)
        self.element_bytes = element.width // 8
        i64 = ir.IntegerType.get_signless(64)
        self._start = arith.index_cast(i64, memref.extract_aligned_pointer_as_index(memory))

    def pointer(self, at: ir.Value | None = None) -> ir.Value:
        """The address of the element `at`, an index."""
        start = self._start
        if at is not None:
            offset = arith.muli(at, _index(self.element_bytes))
            start = arith.addi(start, arith.index_cast(start.type, offset))
        return llvm.inttoptr(ir.Type.parse("!llvm.ptr"), start)

    def rows(self, at: ir.Value, distance: int) -> "TileRows":
        """Rows from the element `at` on, at a stride of `distance` elements."""
        i64 = ir.IntegerType.get_signless(64)
        return TileRows(self.pointer(at), arith.constant(i64, distance * self.element_bytes))


class TileRows:
    """Rows in memory: the address of the first row, and the stride in bytes."""

    def __init__(self, pointer: ir.Value, stride: ir.Value):
        self.pointer, self.stride = pointer, stride


def _intrinsic(name: str, *operands: ir.Value) -> None:
    llvm.call_intrinsic(None, f"llvm.x86.{name}", list(operands), [], [])


def _bytes_type() -> ir.MemRefType:
    return ir.MemRefType.get([_CONFIG_BYTES], ir.IntegerType.get_signless(8))


def _i8(value: int) -> ir.Value:
    i8 = ir.IntegerType.get_signless(8)
    return arith.constant(i8, value)


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
