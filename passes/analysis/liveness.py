"""Live ranges of the tensors of a program, and its peak memory, computed before any run.

live = liveness(function, {"batch": 4})
live.peak      # bytes
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import ComplexityError, Dim
from ...mlir import ir
from ..graph_to_linalg.convert import load_rules
from ..graph_to_linalg.scratch import prepared_by, scratch_of

ASSUMED_SIZE = 1
"""The size of a dimension whose size is not given."""


@dataclass(frozen=True)
class LiveBuffer:
    """Memory of one tensor and of all views of it.

    `begin` and `end` are the first and the last step at which it is alive, `kind` is ``input``,
    ``intermediate``, ``scratch`` (temporary memory of a step: buffers of a kernel, scores, or
    results of ops in its regions) or ``output``. The caller's inputs are alive before and after;
    outputs are allocated before the first step. `size_expression` gives the bytes in terms of named
    sizes, if they depend on any.
    """

    name: str
    bytes: int
    begin: int
    end: int
    kind: str
    size_expression: Dim | None = None


@dataclass(frozen=True)
class LivenessStep:
    """One step of a run: the position of its op in the block, the buffers it reads and writes, by
    number, and the bytes of its scratch buffers. An op that prepares an operand has two steps, of
    which the first may have to fill a border first."""

    name: str
    position: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    scratch: int = 0
    fills_border: bool = False


@dataclass(frozen=True)
class Liveness:
    """The buffers of a program in the order of its steps.

    `constants` are the bytes of its weights. `sizes` are those of its symbolic dimensions,
    `assumed` the names of the ones that were not given.
    """

    steps: tuple[LivenessStep, ...]
    buffers: tuple[LiveBuffer, ...]
    constants: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()

    @property
    def live(self) -> list[int]:
        """Bytes of intermediate tensors, scratch memory and outputs at each step."""
        change = [0] * (len(self.steps) + 1)
        for buffer in self.buffers:
            if buffer.kind != "input" and self.steps:
                change[max(buffer.begin, 0)] += buffer.bytes
                change[min(buffer.end + 1, len(self.steps))] -= buffer.bytes
        total, series = 0, []
        for difference in change[:-1]:
            total += difference
            series.append(total)
        return series

    @property
    def peak(self) -> int:
        """Peak bytes of intermediate tensors, scratch memory and outputs."""
        return max(self.live, default=0)

    @property
    def inputs(self) -> int:
        """Bytes of the caller's inputs."""
        return sum(buffer.bytes for buffer in self.buffers if buffer.kind == "input")


def liveness(
    function: Any,
    sizes: Mapping[str, int] | None = None,
    assumed: int = ASSUMED_SIZE,
    cpu: CpuModel = GENERIC_CPU,
) -> Liveness:
    """The liveness of `function` (a ``func.func`` of graph ops) in the order of its ops.

    `sizes` are those of symbolic dimensions; one that is missing counts as `assumed`. The scratch
    memory of kernels is what they need on `cpu`.
    """
    load_rules()
    known = _Sizes(sizes or {}, assumed)
    block = function.regions[0].blocks[0]
    analysis = _Analysis(known, cpu)
    analysis.run(block)
    terminator = list(block.operations)[-1]
    return analysis.result(terminator.operation.operands, outputs_first=True)


class _Sizes:
    """Sizes by name, and the names that had to be assumed."""

    def __init__(self, given: Mapping[str, int], otherwise: int):
        self.given = given
        self.otherwise = otherwise
        self.sizes: dict[str, int] = {}
        self.assumed: dict[str, None] = {}

    def buffer(self, name: str, type_: graph.TensorType, step: int, kind: str) -> LiveBuffer:
        """Memory for a tensor of `type_`, alive at `step`."""
        return LiveBuffer(name, self.bytes_of(type_), step, step, kind, _size_expression(type_))

    def bytes_of(self, type_: graph.TensorType) -> int:
        return math.prod(map(self._size, type_.shape)) * type_.dtype.itemsize

    def _size(self, size: int | Dim) -> int:
        if isinstance(size, int):
            return size
        for name in size.symbols() - self.sizes.keys():
            self.sizes[name] = self.given.get(name, self.otherwise)
            if name not in self.given:
                self.assumed[name] = None
        try:
            found = size.evaluate(self.sizes)
        except (ArithmeticError, ValueError):
            if not size.symbols() & self.assumed.keys():
                raise
            return self.otherwise  # assumed sizes are those of no run
        assert isinstance(found, int)
        return max(found, 0)


def _size_expression(type_: graph.TensorType) -> Dim | None:
    """The bytes of a tensor as a formula of named sizes, if they depend on any and it can be
    spelled."""
    try:
        count = graph.element_count(type_.shape) * type_.dtype.itemsize
    except ComplexityError:
        return None
    return count if isinstance(count, Dim) else None


class _Analysis:
    """The steps and buffers of one block; values from outside of it are not its memory."""

    def __init__(self, sizes: _Sizes, cpu: CpuModel):
        self._sizes, self._cpu = sizes, cpu
        self._numbers: dict[ir.Value, int] = {}
        self._buffers: list[LiveBuffer] = []
        self._steps: list[LivenessStep] = []
        self._constants = 0
        self._known: set[ir.Value] = set()

    def run(self, block: ir.Block) -> None:
        for argument in block.arguments:
            self._define(argument, "input", -1, f"input {argument.arg_number}")
        for position, op in enumerate(list(block.operations)[:-1]):
            self._visit(op.operation, position)

    def result(self, outputs: Sequence[ir.Value], outputs_first: bool) -> Liveness:
        """The liveness, with `outputs` alive to the end, and from the beginning if
        `outputs_first`."""
        last = len(self._steps)
        for value in outputs:
            number = self._numbers.get(value)
            if number is None or self._buffers[number].kind == "input":
                continue
            begin = -1 if outputs_first else self._buffers[number].begin
            changed = replace(self._buffers[number], kind="output", begin=begin, end=last)
            self._buffers[number] = changed
        return Liveness(
            tuple(self._steps),
            tuple(self._buffers),
            self._constants,
            dict(self._sizes.sizes),
            tuple(self._sizes.assumed),
        )

    def _visit(self, op: ir.Operation, position: int) -> None:
        if self._is_constant(op):
            self._known.update(op.results)
            types = map(graph.type_of, op.results)
            self._constants += sum(map(self._sizes.bytes_of, types))
            return
        if _view(op).is_view:
            self._alias(op.results[0], op.operands[0])
            return
        name = node_name(op)
        reads = {self._numbers[value] for value in operands_of(op) if value in self._numbers}
        reads = self._prepare(op, name, position, reads)
        step = len(self._steps)
        self._keep(reads)
        writes = [self._define(result, "intermediate", step, name) for result in op.results]
        scratch = self._scratch(op, name, step)
        self._buffers += scratch
        total = sum(buffer.bytes for buffer in scratch)
        self._steps.append(LivenessStep(name, position, tuple(sorted(reads)), tuple(writes), total))

    def _keep(self, reads: Iterable[int]) -> None:
        """Note that the buffers `reads` are alive at the step to come."""
        for number in reads:
            self._buffers[number] = replace(self._buffers[number], end=len(self._steps))

    def _prepare(self, op: ir.Operation, name: str, position: int, reads: set[int]) -> set[int]:
        """Add a step that prepares the operand of `op`, if it needs one; returns the buffers that
        `op` then reads."""
        prepared = prepared_by(_view(op), self._cpu)
        if prepared is None or op.operands[0] not in self._numbers:
            return reads
        source, number, step = self._numbers[op.operands[0]], len(self._buffers), len(self._steps)
        self._keep([source])
        self._buffers.append(self._sizes.buffer(name, prepared.type_, step, "scratch"))
        border = prepared.is_border
        self._steps.append(LivenessStep(name, position, (source,), (number,), fills_border=border))
        return (reads - {source} if prepared.in_place_of_x else reads) | {number}

    def _is_constant(self, op: ir.Operation) -> bool:
        """Return whether `op` is computed when the model is loaded: all operands are constants, and
        its shapes are static."""
        if op.name == "graph.constant":
            return True
        operands = list(op.operands)
        return (
            bool(operands)
            and all(value in self._known for value in operands)
            and not op.regions
            and graph.GraphOp.op_classes[op.name].pure
            and all(graph.type_of(result).is_static for result in op.results)
        )

    def _scratch(self, op: ir.Operation, name: str, step: int) -> list[LiveBuffer]:
        """The scratch buffers of `op`."""
        view = _view(op)
        needed = scratch_of(view, self._cpu)
        found = [self._sizes.buffer(name, type_, step, "scratch") for type_ in needed]
        if op.regions and not isinstance(view, graph.GroupOp):
            found.append(LiveBuffer(name, self._regions(op), step, step, "scratch"))
        return found

    def _regions(self, op: ir.Operation) -> int:
        """Peak bytes of the regions of `op`, of which one runs at a time."""
        most = 0
        for region in op.regions:
            inner = _Analysis(self._sizes, self._cpu)
            inner.run(region.blocks[0])
            terminator = list(region.blocks[0].operations)[-1]
            found = inner.result(terminator.operation.operands, outputs_first=False)
            self._constants += found.constants
            most = max(most, found.peak)
        return most

    def _define(self, value: ir.Value, kind: str, step: int, name: str) -> int:
        number = len(self._buffers)
        self._buffers.append(self._sizes.buffer(name, graph.type_of(value), step, kind))
        self._numbers[value] = number
        return number

    def _alias(self, value: ir.Value, source: ir.Value) -> None:
        if source in self._numbers:
            self._numbers[value] = self._numbers[source]


def _view(op: ir.Operation) -> graph.GraphOp:
    view = graph.graph_op(op)
    assert view is not None
    return view


def operands_of(op: ir.Operation) -> Iterator[ir.Value]:
    """The values that `op` and the ops in its regions use."""
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from operands_of(inner.operation)
