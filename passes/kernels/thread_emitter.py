"""Emission of the code of one GPU thread: indices of 32 bits, shared memory, tensor cores.

The ops are those of MLIR's ``nvgpu`` dialect, which stand for instructions of PTX: ``cp.async``,
``ldmatrix``, ``mma.sync``.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ...dialects import graph
from ...mlir import arith, ir, llvm, memref, nvgpu, scf, vector
from .emitter import Registers

Number = int | ir.Value
"""A number known to the emitter, or an i32."""

Finish = Callable[[ir.Value], None]
"""Computes the result of a vector of accumulators, in f32, and stores it."""
Prepare = Callable[[Number, Number, int], Finish]
"""Loads what the results of a vector of accumulators depend on beside them; it receives the index
of the vector's first element in the result, its column, and the number of elements."""

SUBGROUP = 32
"""Threads of a warp."""
SHARED_ALIGNMENT = 128
"""Bytes of whose multiples buffers start in shared memory."""


class ThreadEmitter:
    """Emits code at the insertion point, which is in a kernel. Numbers are folded where both are
    known; the others are nonnegative unless a function says otherwise."""

    def __init__(self) -> None:
        self.i32 = ir.IntegerType.get_signless(32)
        self._constants: dict[int, ir.Value] = {}
        self.shared_start: Number = 0
        self._entry = ir.InsertionPoint.current.block

    # Numbers

    def value(self, number: Number) -> ir.Value:
        """`number` as an i32."""
        if not isinstance(number, int):
            return number
        if number not in self._constants:
            with ir.InsertionPoint.at_block_begin(self._entry):
                self._constants[number] = arith.constant(self.i32, number)
        return self._constants[number]

    def index(self, number: Number) -> ir.Value:
        """`number` as an index."""
        return arith.index_castui(ir.IndexType.get(), self.value(number))

    def add(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        return a if b == 0 else arith.addi(self.value(a), self.value(b))

    def multiply(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if 0 in (a, b):
            return 0
        if a == 1:
            return b
        return a if b == 1 else arith.muli(self.value(a), self.value(b))

    def divide(self, a: Number, b: int) -> tuple[Number, Number]:
        """The quotient and the remainder."""
        if isinstance(a, int):
            return divmod(a, b)
        if b == 1:
            return a, 0
        divisor = self.value(b)
        return arith.divui(a, divisor), arith.remui(a, divisor)

    def xor(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return a ^ b
        return arith.xori(self.value(a), self.value(b))

    def below(self, a: Number, bound: int) -> ir.Value | None:
        """The condition that `a`, which may be negative, is in ``0 .. bound - 1``; None if it is
        known to hold."""
        if isinstance(a, int) and 0 <= a < bound:
            return None
        return arith.cmpi(arith.CmpIPredicate.ult, self.value(a), self.value(bound))

    @staticmethod
    def all_of(conditions: Sequence[ir.Value | None]) -> ir.Value | None:
        """The condition that all `conditions` hold; None stands for one that is known to hold."""
        found: ir.Value | None = None
        for condition in conditions:
            if condition is not None:
                found = condition if found is None else arith.andi(found, condition)
        return found

    def when(self, condition: ir.Value | None, body: Callable[[], None]) -> None:
        """Emit `body` for the threads for which `condition` holds."""
        if condition is None:
            body()
            return
        op = scf.IfOp(condition)
        with ir.InsertionPoint(op.then_block):
            body()
            scf.YieldOp([])

    def loop(
        self, count: int, body: Callable[[ir.Value, Registers], Registers], registers: Registers
    ) -> Registers:
        """Emit `body` `count` times; it maps the number of the step and the registers before it to
        those after it."""
        op = scf.ForOp(self.value(0), self.value(count), self.value(1), registers)
        with ir.InsertionPoint(op.body):
            scf.YieldOp(body(op.induction_variable, list(op.inner_iter_args)))
        return list(op.results)

    # Threads

    def thread(self) -> ir.Value:
        """The number of the thread within its workgroup.

        ``gpu.thread_id`` has an attribute that the backend spells in another way.
        """
        return ir.Operation.create("nvvm.read.ptx.sreg.tid.x", results=[self.i32]).result

    def barrier(self) -> None:
        """Wait for all threads of the workgroup, and see what they have stored."""
        ir.Operation.create("gpu.barrier")

    def shuffle_xor(self, value: ir.Value, mask: int) -> ir.Value:
        """The f32 `value` of the thread of the warp whose number differs by XOR with `mask`.

        ``gpu.shuffle`` has an attribute that the backend spells in another way.
        """
        return llvm.inline_asm(
            value.type,
            [value],
            f"shfl.sync.bfly.b32 $0, $1, {mask}, 0x1f, 0xffffffff;",
            "=f,f",
            has_side_effects=True,
        )

    # Memory

    def shared(
        self, regions: Sequence[Sequence[tuple[np.dtype, int]]], alignment: int = SHARED_ALIGNMENT
    ) -> list[list[ir.Value]]:
        """Allocate shared memory: one buffer for each element type and count.

        The lists in `regions` overlap: the buffers of one follow each other, and each list starts
        at the first byte, whose address is a multiple of `alignment`.
        """
        size = max(sum(_bytes(*each) for each in region) for region in regions)
        if alignment > SHARED_ALIGNMENT:
            size += alignment - 16  # the backend aligns it to 16
        space = ir.Attribute.parse("#gpu.address_space<workgroup>")
        memory = ir.MemRefType.get([size], ir.IntegerType.get_signless(8), memory_space=space)
        buffer = memref.alloc(memory, [], [])
        first = 0 if alignment == SHARED_ALIGNMENT else self._align(buffer, alignment)
        found: list[list[ir.Value]] = []
        for region in regions:
            start, views = 0, list[ir.Value]()
            for dtype, count in region:
                type_ = ir.MemRefType.get([count], graph.element_type(dtype), memory_space=space)
                at = self.index(self.add(first, start))
                views.append(memref.view(type_, buffer, at, []))
                start += _bytes(dtype, count)
            found.append(views)
        return found

    def _align(self, buffer: ir.Value, alignment: int) -> ir.Value:
        """The bytes from the start of `buffer` to the next multiple of `alignment`; `shared_start`
        becomes the address there."""
        address = self.shared_address(buffer)
        below = arith.andi(arith.subi(self.value(0), address), self.value(alignment - 1))
        self.shared_start = arith.addi(address, below)
        return below

    def shared_address(self, buffer: ir.Value) -> ir.Value:
        """The address of `buffer` within shared memory, as an i32."""
        pointer = memref.extract_aligned_pointer_as_index(buffer)
        return arith.index_castui(self.i32, pointer)

    def load(self, memory: ir.Value, at: Number, lanes: int) -> ir.Value:
        """Load a vector, which is aligned to its size, or to 16 bytes if that is less."""
        element = ir.MemRefType(memory.type).element_type
        type_ = ir.VectorType.get([lanes], element)
        return vector.load(type_, memory, [self.index(at)], alignment=_alignment(type_))

    def store(self, value: ir.Value, memory: ir.Value, at: Number) -> None:
        """Store a vector, aligned as for `load`."""
        type_ = ir.VectorType(value.type)
        vector.store(value, memory, [self.index(at)], alignment=_alignment(type_))

    def copy_async(
        self,
        source: ir.Value,
        source_at: Number,
        target: ir.Value,
        target_at: Number,
        count: int,
        valid: ir.Value | None,
    ) -> None:
        """Start a copy of `count` elements to shared memory; zeros if not `valid`."""
        elements: ir.Value | None = None
        if valid is not None:
            copied = arith.select(valid, self.value(count), self.value(0))
            elements = arith.index_castui(ir.IndexType.get(), copied)
            source_at = arith.select(valid, self.value(source_at), self.value(0))
        width = count * _width(ir.MemRefType(source.type))
        nvgpu.DeviceAsyncCopyOp(
            target,
            [self.index(target_at)],
            source,
            [self.index(source_at)],
            count,
            srcElements=elements,
            bypassL1=True if width == 16 else None,
        )

    def commit_copies(self) -> ir.Value:
        """Make one group of the copies that were started since the last one; for
        `wait_for_copies`."""
        token = ir.Type.parse("!nvgpu.device.async.token")
        return nvgpu.DeviceAsyncCreateGroupOp([], results=[token]).result

    def wait_for_copies(self, last: ir.Value, pending: int) -> None:
        """Wait until at most `pending` groups of copies of this thread, up to the group `last`,
        are not done."""
        nvgpu.DeviceAsyncWaitOp(last, numGroups=pending)

    # Tensor cores

    def load_fragments(
        self, memory: ir.Value, at: Number, count: int, transpose: bool = False
    ) -> ir.Value:
        """Load `count` matrices of eight rows of 16 bytes, as the operands of `multiply_fragments`:
        for each, a thread has four bytes.

        Thread ``8 i + j`` gives the start `at` of row j of matrix i. Only elements of 16 bits can
        be transposed.
        """
        memory_type = ir.MemRefType(memory.type)
        type_ = ir.VectorType.get([count, 4 // _width(memory_type)], memory_type.element_type)
        return nvgpu.LdMatrixOp(type_, memory, [self.index(at)], transpose, count).res

    def multiply_fragments(self, a: ir.Value, b: ir.Value, accumulator: ir.Value) -> ir.Value:
        """`accumulator` (16x8, f32) plus `a` (16xK) by `b` (Kx8).

        K is 16 for elements of 16 bits, and 8 for f32, of which 10 bits of the fraction count
        (TF32).
        """
        type_ = ir.VectorType(a.type)
        k = 8 * type_.shape[1]
        tf32 = isinstance(type_.element_type, ir.F32Type)
        return nvgpu.MmaSyncOp(
            accumulator.type, a, b, accumulator, [16, 8, k], tf32Enabled=tf32
        ).res


def _bytes(dtype: np.dtype, count: int) -> int:
    return -(-dtype.itemsize * count // SHARED_ALIGNMENT) * SHARED_ALIGNMENT


def _width(type_: ir.MemRefType | ir.VectorType) -> int:
    """Bytes of an element."""
    element = type_.element_type
    assert isinstance(element, ir.FloatType | ir.IntegerType)
    return element.width // 8


def _alignment(type_: ir.VectorType) -> int:
    (lanes,) = type_.shape
    return min(16, lanes * _width(type_))
