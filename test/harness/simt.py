"""Interpretation of GPU kernels without a GPU: all threads of a workgroup in lock step, in numpy.

A value has one entry for each thread. What a GPU leaves undefined is an error here: reading shared
memory that no thread has written, whose copy is in flight, or that another thread writes or has
written since the last barrier; a barrier or a tensor core op that not all threads reach.

The semantics of ``ldmatrix`` and ``mma.sync`` are those of the PTX ISA, sections "Warp-level matrix
instructions".
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphc.dialects.graph import elements
from graphc.dialects.graph.types import dtype_of
from graphc.mlir import ir

Values = np.ndarray
"""The values of all threads: ``[threads, ...]``."""

WARP = 32
_NOBODY = -1


class UndefinedBehaviour(Exception):
    """The kernel does what a GPU leaves undefined."""


@dataclass
class GlobalMemory:
    """A buffer of a kernel: a flat array, of which vectors of 16 bytes must be aligned."""

    array: np.ndarray

    def load(self, threads: Values, at: Values) -> Values:
        del threads
        self.check(at)
        return self.array[at]

    def store(self, threads: Values, at: Values, values: Values) -> None:
        del threads
        self.check(at)
        self.array[at] = values

    def check(self, at: Values) -> None:
        if at.size and not (at.min() >= 0 and at.max() < len(self.array)):
            raise UndefinedBehaviour(f"index {at.min()} .. {at.max()} of {len(self.array)}")


class SharedBytes:
    """Shared memory, and for each byte who wrote it and who read it since the last barrier."""

    def __init__(self, size: int):
        self.bytes = np.zeros(size, np.uint8)
        self.known = np.zeros(size, bool)
        self.in_flight = np.zeros(size, bool)
        self.writer = np.full(size, _NOBODY)
        self.reader = np.full(size, _NOBODY)

    def barrier(self) -> None:
        self.writer[:] = _NOBODY
        self.reader[:] = _NOBODY


class SharedMemory:
    """A view of shared memory as elements of `dtype`."""

    def __init__(self, memory: SharedBytes, start: int, count: int, dtype: np.dtype):
        self.memory, self.start, self.count, self.dtype = memory, start, count, dtype

    def _where(self, at: Values) -> Values:
        if at.size and not (at.min() >= 0 and at.max() < self.count):
            raise UndefinedBehaviour(f"index {at.min()} .. {at.max()} of {self.count} shared")
        return self.start + at * self.dtype.itemsize

    def _bytes(self, at: Values) -> Values:
        return self._where(at)[..., None] + np.arange(self.dtype.itemsize)

    def load(self, threads: Values, at: Values) -> Values:
        memory, where = self.memory, self._bytes(at)
        who = np.broadcast_to(_aligned(threads, where), where.shape)
        if not memory.known[where].all():
            raise UndefinedBehaviour("shared memory is read that nobody has written")
        if memory.in_flight[where].any():
            raise UndefinedBehaviour("shared memory is read while a copy to it is in flight")
        writer = memory.writer[where]
        if ((writer != _NOBODY) & (writer != who)).any():
            raise UndefinedBehaviour("another thread wrote what is read, with no barrier between")
        memory.reader[where] = who
        return memory.bytes[where].view(self.dtype)[..., 0]

    def _claim(self, threads: Values, where: Values) -> None:
        who = np.broadcast_to(_aligned(threads, where), where.shape)
        for others in (self.memory.reader[where], self.memory.writer[where]):
            if ((others != _NOBODY) & (others != who)).any():
                raise UndefinedBehaviour("another thread used what is written, without a barrier")
        if len(np.unique(where)) != where.size:
            raise UndefinedBehaviour("two threads write to the same element")
        self.memory.known[where] = True
        self.memory.writer[where] = who

    def store(self, threads: Values, at: Values, values: Values) -> None:
        where = self._bytes(at)
        self._claim(threads, where)
        stored = np.ascontiguousarray(values, self.dtype)[..., None].view(np.uint8)
        self.memory.bytes[where] = stored

    def start_copy(self, threads: Values, at: Values) -> None:
        where = self._bytes(at)
        self._claim(threads, where)
        self.memory.in_flight[where] = True

    def finish_copy(self, threads: Values, at: Values, values: Values) -> None:
        where = self._bytes(at)
        self.memory.in_flight[where] = False
        self.memory.writer[where] = np.broadcast_to(_aligned(threads, where), where.shape)
        stored = np.ascontiguousarray(values, self.dtype)[..., None].view(np.uint8)
        self.memory.bytes[where] = stored


def _aligned(threads: Values, where: Values) -> Values:
    return threads.reshape(-1, *[1] * (where.ndim - 1))


Memory = GlobalMemory | SharedMemory


@dataclass
class _Copy:
    target: SharedMemory
    threads: Values
    at: Values
    values: Values


@dataclass
class Workgroup:
    """The state of a workgroup of `threads` threads."""

    threads: int
    number: int
    known: dict[ir.Value, Any] = field(default_factory=dict)
    active: np.ndarray = field(init=False)
    shared: list[SharedBytes] = field(default_factory=list)
    started: list[_Copy] = field(default_factory=list)
    groups: list[list[_Copy]] = field(default_factory=list)
    copied_bytes: int = 0

    def __post_init__(self) -> None:
        self.active = np.ones(self.threads, bool)

    def uniform(self, value: ir.Value) -> int:
        """The value of `value`, which must be that of all active threads."""
        found = np.unique(self.known[value][self.active])
        if len(found) != 1:
            raise UndefinedBehaviour("threads differ in the bounds of a loop")
        return int(found[0])

    def all_active(self, what: str) -> None:
        if not self.active.all():
            raise UndefinedBehaviour(f"{what} that not all threads reach")

    @contextmanager
    def only(self, active: np.ndarray) -> Iterator[None]:
        outer, self.active = self.active, active
        try:
            yield
        finally:
            self.active = outer


def run_kernel(
    function: ir.Operation, threads: int, workgroups: int, buffers: Sequence[np.ndarray]
) -> None:
    """Run a kernel of `iree.define_kernel` on flat `buffers`, which it changes."""
    block = function.regions[0].blocks[0]
    for number in range(workgroups):
        state = Workgroup(threads, number)
        for argument, buffer in zip(block.arguments, buffers, strict=True):
            state.known[argument] = GlobalMemory(buffer)
        run_block(state, block)
        if state.started or any(state.groups):
            raise UndefinedBehaviour("the kernel ends before its copies")


def run_block(state: Workgroup, block: ir.Block) -> list[Any]:
    """Run the ops of `block`; the values that its terminator yields."""
    for op in block.operations:
        operation = op.operation
        if operation.name in ("scf.yield", "func.return"):
            return [state.known[value] for value in operation.operands]
        rule = _RULES.get(operation.name)
        if rule is None:
            raise NotImplementedError(f"{operation.name} is not interpreted")
        results = rule(state, operation)
        for result, value in zip(operation.results, results, strict=True):
            state.known[result] = value
    raise AssertionError("a block ends with a terminator")


_RULES: dict[str, Callable[[Workgroup, ir.Operation], Sequence[Any]]] = {}


def _rule(name: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        _RULES[name] = function
        return function

    return register


def _dtype(type_: ir.Type) -> np.dtype:
    if isinstance(type_, ir.VectorType | ir.MemRefType):
        type_ = type_.element_type
    return np.dtype(np.int64) if isinstance(type_, ir.IndexType) else dtype_of(type_)


def _elementwise(compute: Callable[..., Any]) -> Callable[[Workgroup, ir.Operation], Sequence[Any]]:
    def rule(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
        with np.errstate(all="ignore"):
            value = compute(*(state.known[each] for each in op.operands))
        return [np.asarray(value).astype(_dtype(op.results[0].type))]

    return rule


def _unsigned(compute: Callable[[Values, Values], Values]) -> Callable[..., Any]:
    def on_bits(a: Values, b: Values) -> Values:
        wide = np.dtype(f"u{a.dtype.itemsize}")
        return compute(a.view(wide), b.view(wide))

    return _elementwise(on_bits)


_RULES |= {
    "arith.addi": _elementwise(np.add),
    "arith.subi": _elementwise(np.subtract),
    "arith.muli": _elementwise(np.multiply),
    "arith.xori": _elementwise(np.bitwise_xor),
    "arith.andi": _elementwise(np.bitwise_and),
    "arith.divui": _unsigned(lambda a, b: a // np.maximum(b, 1)),
    "arith.remui": _unsigned(lambda a, b: a % np.maximum(b, 1)),
    "arith.addf": _elementwise(np.add),
    "arith.subf": _elementwise(np.subtract),
    "arith.mulf": _elementwise(np.multiply),
    "arith.divf": _elementwise(np.divide),
    "arith.maximumf": _elementwise(np.maximum),
    "arith.minimumf": _elementwise(np.minimum),
    "arith.truncf": _elementwise(lambda x: x),
    "arith.extf": _elementwise(lambda x: x),
    "arith.minui": _unsigned(np.minimum),
    "math.exp2": _elementwise(np.exp2),
    "math.fma": _elementwise(lambda a, b, c: a.astype(np.float64) * b + c),
    "arith.index_castui": _elementwise(lambda x: x),
    "math.erf": _elementwise(np.vectorize(math.erf, otypes=[float])),
}


@_rule("arith.select")
def _select(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    condition, a, b = (state.known[value] for value in op.operands)
    return [np.where(condition.reshape(-1, *[1] * (a.ndim - 1)), a, b)]


@_rule("arith.constant")
def _constant(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    type_, value = op.results[0].type, op.attributes["value"]
    dtype = _dtype(type_)
    if isinstance(type_, ir.VectorType):
        splat = ir.DenseElementsAttr(value).get_splat_value()
        return [np.full((state.threads, *type_.shape), _number(splat), dtype)]
    return [np.full(state.threads, _number(value), dtype)]


def _number(value: ir.Attribute) -> Any:
    kind = ir.FloatAttr if isinstance(value, ir.FloatAttr) else ir.IntegerAttr
    return kind(value).value


_COMPARISONS = {
    0: np.equal, 1: np.not_equal, 2: np.less, 3: np.less_equal, 4: np.greater, 5: np.greater_equal
}  # fmt: skip


@_rule("arith.cmpi")
def _cmpi(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    a, b = (state.known[value] for value in op.operands)
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    if predicate >= 6:  # unsigned
        predicate -= 4
        a, b = (each.view(np.dtype(f"u{each.dtype.itemsize}")) for each in (a, b))
    return [_COMPARISONS[predicate](a, b)]


@_rule("arith.cmpf")
def _cmpf(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    a, b = (state.known[value] for value in op.operands)
    if ir.IntegerAttr(op.attributes["predicate"]).value != 1:
        raise NotImplementedError("comparisons of floats but OEQ")
    return [a == b]


# Structure


@_rule("scf.for")
def _for(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    low, high, step = (state.uniform(value) for value in list(op.operands)[:3])
    carried = [state.known[value] for value in list(op.operands)[3:]]
    block = op.regions[0].blocks[0]
    for number in range(low, high, step):
        induction, *arguments = block.arguments
        state.known[induction] = np.full(state.threads, number, _dtype(induction.type))
        state.known.update(zip(arguments, carried, strict=True))
        carried = run_block(state, block)
    return carried


@_rule("scf.if")
def _if(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    if len(op.results):
        raise NotImplementedError("scf.if with results")
    condition = state.known[op.operands[0]].astype(bool)
    for region, chosen in zip(op.regions, (condition, ~condition), strict=True):
        active = state.active & chosen
        if len(region.blocks) and active.any():
            with state.only(active):
                run_block(state, region.blocks[0])
    return []


@_rule("stream.binding.subspan")
def _subspan(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    memory = state.known[op.operands[0]]
    (count,) = ir.MemRefType(op.results[0].type).shape
    if len(memory.array) != count or memory.array.dtype != _dtype(op.results[0].type):
        raise ValueError(f"a buffer of {memory.array.dtype} is {op.results[0].type}")
    return [memory]


@_rule("stream.dispatch.workgroup.id")
def _workgroup_id(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    del op
    return [np.full(state.threads, state.number, np.int64)]


@_rule("nvvm.read.ptx.sreg.tid.x")
def _thread_id(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    del op
    return [np.arange(state.threads, dtype=np.int32)]


@_rule("gpu.barrier")
def _barrier(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    del op
    state.all_active("a barrier")
    for memory in state.shared:
        memory.barrier()
    return []


# Memory


@_rule("memref.alloc")
def _alloc(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    (size,) = ir.MemRefType(op.results[0].type).shape
    state.shared.append(SharedBytes(size))
    return [state.shared[-1]]


@_rule("memref.view")
def _view(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    type_ = ir.MemRefType(op.results[0].type)
    (count,) = type_.shape
    start, dtype = state.uniform(op.operands[1]), _dtype(type_)
    memory = state.known[op.operands[0]]
    if start + count * dtype.itemsize > len(memory.bytes):
        raise UndefinedBehaviour("a view beyond the end of shared memory")
    return [SharedMemory(memory, start, count, dtype)]


def _lanes(state: Workgroup, at: ir.Value, count: int, itemsize: int) -> Values:
    """The indices of `count` elements from `at` on, for active threads."""
    first = state.known[at][state.active]
    if (first * itemsize % min(16, count * itemsize)).any():
        raise UndefinedBehaviour("a vector is not aligned")
    return first[:, None] + np.arange(count)


@_rule("vector.load")
def _load(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    type_ = ir.VectorType(op.results[0].type)
    (count,), dtype = type_.shape, _dtype(type_)
    memory: Memory = state.known[op.operands[0]]
    values = np.zeros((state.threads, count), dtype)
    at = _lanes(state, op.operands[1], count, dtype.itemsize)
    values[state.active] = memory.load(np.flatnonzero(state.active), at)
    return [values]


@_rule("vector.store")
def _store(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    stored, target, index = op.operands
    (count,) = ir.VectorType(stored.type).shape
    memory: Memory = state.known[target]
    at = _lanes(state, index, count, _dtype(stored.type).itemsize)
    memory.store(np.flatnonzero(state.active), at, state.known[stored][state.active])
    return []


@_rule("nvgpu.device_async_copy")
def _copy(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    target, target_at, source, source_at, *elements = op.operands
    count = ir.IntegerAttr(op.attributes["dstElements"]).value
    itemsize = _dtype(target.type).itemsize
    to = _lanes(state, target_at, count, itemsize)
    start = _lanes(state, source_at, count, itemsize)
    valid = np.ones(start.shape, bool)
    if elements:
        valid = np.arange(count) < state.known[elements[0]][state.active][:, None]
    memory: GlobalMemory = state.known[source]
    memory.check(start[valid])
    values = np.zeros(start.shape, memory.array.dtype)
    values[valid] = memory.array[start[valid]]
    threads = np.flatnonzero(state.active)
    shared: SharedMemory = state.known[target]
    shared.start_copy(threads, to)
    state.copied_bytes += values.nbytes
    state.started.append(_Copy(shared, threads, to, values))
    return [None]


@_rule("nvgpu.device_async_create_group")
def _group(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    del op
    state.all_active("a group of copies")
    state.groups.append(state.started)
    state.started = []
    return [None]


@_rule("nvgpu.device_async_wait")
def _wait(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    state.all_active("a wait")
    pending = ir.IntegerAttr(op.attributes["numGroups"]).value
    done = state.groups[: len(state.groups) - pending]
    state.groups = state.groups[len(done) :]
    for copy in (copy for group in done for copy in group):
        copy.target.finish_copy(copy.threads, copy.at, copy.values)
    return []


@_rule("llvm.inline_asm")
def _inline_asm(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    text = ir.StringAttr(op.attributes["asm_string"]).value
    shuffle = re.fullmatch(r"shfl\.sync\.bfly\.b32 \$0, \$1, (\d+), 0x1f, 0xffffffff;", text)
    if shuffle is None:
        raise NotImplementedError(f"inline assembly '{text}' is not interpreted")
    state.all_active("a shuffle")
    return [state.known[op.operands[0]][np.arange(state.threads) ^ int(shuffle[1])]]


# Vectors


@_rule("vector.extract")
def _extract(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    position = list(ir.DenseI64ArrayAttr(op.attributes["static_position"]))
    return [state.known[op.operands[0]][(slice(None), *position)]]


@_rule("vector.from_elements")
def _from_elements(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    elements = np.stack([state.known[value] for value in op.operands], axis=1)
    return [elements.reshape(state.threads, *ir.VectorType(op.results[0].type).shape)]


@_rule("vector.broadcast")
def _broadcast(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    shape = (state.threads, *ir.VectorType(op.results[0].type).shape)
    value = state.known[op.operands[0]]
    missing = len(shape) - value.ndim
    return [np.broadcast_to(value.reshape(state.threads, *[1] * missing, *value.shape[1:]), shape)]


@_rule("vector.extract_strided_slice")
def _slice(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    start, size = (
        ir.IntegerAttr(ir.ArrayAttr(op.attributes[name])[0]).value for name in ("offsets", "sizes")
    )
    return [state.known[op.operands[0]][:, start : start + size]]


# Tensor cores


@_rule("nvgpu.ldmatrix")
def _ldmatrix(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    state.all_active("ldmatrix")
    memory, index = op.operands
    count = ir.IntegerAttr(op.attributes["numTiles"]).value
    transpose = ir.BoolAttr(op.attributes["transpose"]).value
    givers = np.arange(state.threads).reshape(-1, WARP)[:, : 8 * count]
    starts = state.known[index][givers]
    itemsize = _dtype(op.results[0].type).itemsize
    if (starts * itemsize % 16).any():
        raise UndefinedBehaviour("a row of a matrix is not aligned")
    _check_banks(starts * itemsize // 16)
    at = starts[..., None] + np.arange(8)
    rows = state.known[memory].load(givers.reshape(-1), at.reshape(-1, 8))
    matrices = rows.reshape(-1, count, 8, 8)
    if transpose:
        matrices = matrices.swapaxes(2, 3)
    pairs = matrices.reshape(-1, count, WARP, 2)  # thread 4 r + c has columns 2 c, 2 c + 1 of row r
    return [pairs.swapaxes(1, 2).reshape(state.threads, count, 2)]


def _check_banks(vectors: Values) -> None:
    """The eight rows of each matrix must be in different banks of 16 bytes."""
    groups = (vectors % 8).reshape(-1, 8)
    if any(len(set(group)) != 8 for group in groups.tolist()):
        raise UndefinedBehaviour("threads of ldmatrix read the same bank")


@_rule("nvgpu.mma.sync")
def _mma(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    state.all_active("mma.sync")
    a, b, c = (state.known[v].astype(np.float32).reshape(-1, WARP, *state.known[v].shape[1:])
               for v in op.operands)  # fmt: skip
    g, t = np.divmod(np.arange(WARP), 4)
    warps, pair = len(a), np.arange(2)
    left = np.zeros((warps, 16, 16), np.float32)
    for number, (row, column) in enumerate([(0, 0), (8, 0), (0, 8), (8, 8)]):
        left[:, (g + row)[:, None], (2 * t + column)[:, None] + pair] = a[:, :, number]
    right = np.zeros((warps, 16, 8), np.float32)
    for number in range(2):
        right[:, (2 * t + 8 * number)[:, None] + pair, g[:, None]] = b[:, :, number]
    result = left @ right
    for number in range(2):
        c[:, :, number] += result[:, (g + 8 * number)[:, None], (2 * t)[:, None] + pair]
    return [c.reshape(state.threads, 2, 2)]


# Whole programs


def run_program(module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a lowered program that only runs kernels and moves elements."""
    executables = {
        ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if op.operation.name == "stream.executable"
    }
    (function,) = (
        op.operation for op in module.body.operations if op.operation.name == "func.func"
    )
    block = function.regions[0].blocks[0]
    known: dict[ir.Value, np.ndarray] = dict(zip(block.arguments, inputs, strict=True))
    for op in (op.operation for op in block.operations):
        if op.name == "func.return":
            return [known[value] for value in op.operands]
        if op.name == "flow.dispatch":
            _dispatch(executables, op, known)
        elif op.name != "tensor.empty":
            known[op.results[0]] = _move(op, known)
    raise AssertionError("a function returns")


def _dispatch(
    executables: Mapping[str, ir.Operation], op: ir.Operation, known: dict[ir.Value, np.ndarray]
) -> None:
    workgroups, *operands = op.operands
    entry = ir.SymbolRefAttr(ir.ArrayAttr(op.attributes["entry_points"])[0]).value[0]
    (function,) = find_all(executables[entry], "func.func")
    info = str(function.attributes["translation_info"])
    size = re.search(r"workgroup_size = \[(\d+)", info)
    assert size is not None
    threads = int(size[1])
    results = [
        np.full(ir.RankedTensorType(result.type).shape, np.nan, _dtype_of_tensor(result.type))
        for result in op.results
    ]
    buffers = [np.ascontiguousarray(known[value]).reshape(-1) for value in operands]
    flat = [result.reshape(-1) for result in results]
    run_kernel(function, threads, int(known[workgroups]), [*buffers, *flat])
    known.update(zip(op.results, results, strict=True))


def find_all(root: ir.Operation, name: str) -> list[ir.Operation]:
    """The ops in `root` with the given name."""
    found: list[ir.Operation] = []

    def note(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(note)
    return found


def _dtype_of_tensor(type_: ir.Type) -> np.dtype:
    return dtype_of(ir.RankedTensorType(type_).element_type)


_BARRIER = "util.optimization_barrier"


def _move(op: ir.Operation, known: Mapping[ir.Value, np.ndarray]) -> np.ndarray:
    """The result of an op that holds data or moves elements."""
    if op.name == "arith.constant":
        value = op.attributes["value"]
        if not isinstance(op.results[0].type, ir.RankedTensorType):
            return np.asarray(_number(value))
        return elements.read(value)
    source = known[op.operands[0]]
    if op.name == "linalg.transpose":
        return source.transpose(list(ir.DenseI64ArrayAttr(op.attributes["permutation"])))
    if op.name == "tensor.extract_slice":
        starts, sizes, steps = (
            list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
            for name in ("offsets", "sizes", "strides")
        )
        parts = zip(starts, sizes, steps, strict=True)
        source = source[tuple(slice(a, a + n * step, step) for a, n, step in parts)]
    elif op.name not in ("tensor.collapse_shape", "tensor.expand_shape", _BARRIER):
        raise NotImplementedError(f"{op.name} is not interpreted")
    return source.reshape(ir.RankedTensorType(op.results[0].type).shape)
