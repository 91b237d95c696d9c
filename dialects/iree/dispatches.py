"""Rewriting of hand-written kernels and their dispatches after both have been emitted."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...mlir import arith, func, ir, memref
from .stream import FLOPS

_DISPATCH, _NUMBER = "flow.dispatch", "stream.dispatch.workgroup.id"
_EXECUTABLE = "stream.executable"
_COUNT, _ATOMIC = "stream.dispatch.workgroup.count", "memref.atomic_rmw"
_WORK, _GIVEN, _SIZES, _RESULTS = range(4)
"""Operand segments of a dispatch."""
_DYNAMIC = ir.ShapedType.get_dynamic_size()


class Dispatch:
    """A ``flow.dispatch``."""

    def __init__(self, op: ir.Operation):
        self.op = op
        entry = ir.ArrayAttr(op.attributes["entry_points"])[0]
        self.kernel = ir.SymbolRefAttr(entry).value[0]
        """The name of the kernel."""
        self._segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))

    @property
    def workgroups(self) -> int | None:
        """The number of workgroups; None if it is only known at run time."""
        owner = self._work.owner
        if isinstance(owner, ir.Block) or owner.name != "arith.constant":
            return None
        return ir.IntegerAttr(owner.attributes["value"]).value

    @property
    def scalar_arguments(self) -> list[ir.Value]:
        """The scalars that the kernel receives."""
        return self._arguments[: self.scalars]

    @property
    def tensor_arguments(self) -> list[ir.Value]:
        """The tensors that the kernel receives."""
        return self._arguments[self.scalars :]

    @property
    def ties(self) -> list[int | None]:
        """For each result, the number of the tensor in whose memory it is; None if it has memory of
        its own."""
        return [None if tie < 0 else tie - self.scalars for tie in self._ties]

    def sizes_of_argument(self, number: int) -> list[ir.Value]:
        """The dynamic sizes of a tensor argument."""
        dynamic = [
            ir.RankedTensorType(each.type).shape.count(_DYNAMIC) for each in self.tensor_arguments
        ]
        start = 1 + self.given + sum(dynamic[:number])
        return list(self.op.operands)[start : start + dynamic[number]]

    @property
    def given(self) -> int:
        """The number of arguments of the kernel, scalars and tensors."""
        return self._segments[_GIVEN]

    @property
    def scalars(self) -> int:
        """The number of scalar arguments, which come first."""
        return sum(not isinstance(each.type, ir.RankedTensorType) for each in self._arguments)

    def hand_over(self, state: ir.Value) -> "Dispatch":
        """Replace this dispatch by one with the tensor `state` as its last operand; its last result
        is `state` as the kernel leaves it."""
        arguments, ties = [*self._arguments, state], [*self._ties, self.given]
        return self._remade(self._work, arguments, ties, [state.type])

    @property
    def own_result(self) -> int | None:
        """The number of the result that has memory of its own, beside others that lie in memory of
        arguments; None if there is no such result, or there are several."""
        own = [number for number, tie in enumerate(self._ties) if tie < 0]
        return own[0] if len(own) == 1 < len(self._ties) else None

    def updates(self, result: int) -> bool:
        """Return whether a result lies in memory of an argument."""
        return self._ties[result] >= 0

    def place(self, memory: ir.Value) -> None:
        """Replace this dispatch by one that computes `own_result` in the tensor `memory`."""
        number = self.own_result
        assert number is not None
        ties = [self.given if tie < 0 else tie for tie in self._ties]
        self._remade(self._work, [*self._arguments, memory], ties, [], self.sizes_of(number))

    def sizes_of(self, number: int) -> list[ir.Value]:
        """The dynamic sizes of a result."""
        types = [ir.RankedTensorType(result.type) for result in self.op.results]
        dynamic = [type_.shape.count(_DYNAMIC) for type_ in types]
        before = sum(dynamic[:number])
        sizes = list(self.op.operands)[len(self.op.operands) - self._segments[_RESULTS] :]
        return sizes[before : before + dynamic[number]]

    def enlarge(self, buffers: Mapping[int, tuple[ir.Type, ir.Value]]) -> None:
        """Replace this dispatch by one of which some results, by number, are the front of a buffer
        of elements of another type, so many of them.

        IREE takes a bitcast of a tensor to a smaller one for the same memory. It has to be one: a
        reshape that changes one size alone is folded (`compareShapesEqual` of ShapeUtils.cpp), and
        readers then take the whole buffer for the result.
        """
        types, sizes, flat = list[ir.Type](), list[ir.Value](), [_DYNAMIC]
        for number, result in enumerate(self.op.results):
            if number not in buffers:
                types.append(result.type)
                sizes += self.sizes_of(number)
                continue
            element, size = buffers[number]
            assert element != ir.RankedTensorType(result.type).element_type
            types.append(ir.RankedTensorType.get(flat, element))
            sizes.append(size)
        before = len(self.op.operands) - self._segments[_RESULTS]
        segments = [*self._segments[:_RESULTS], len(sizes)]
        attributes = {name: self.op.attributes[name] for name in ("entry_points", "tied_operands")}
        with ir.InsertionPoint(self.op), self.op.location:
            new = ir.Operation.create(
                self.op.name,
                results=types,
                operands=[*list(self.op.operands)[:before], *sizes],
                attributes=attributes | {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments)},
            )
            for number, (old, made) in enumerate(zip(self.op.results, new.results, strict=True)):
                if number in buffers:
                    made = _bitcast(made, [buffers[number][1]], old.type, self.sizes_of(number))
                old.replace_all_uses_with(made)
        self.op.erase()

    def call(self, times: int) -> "Dispatch":
        """Replace this dispatch by one of at most `times` workgroups. The kernel receives the
        original number of workgroups as its last scalar."""
        position, index = self.scalars, ir.IndexType.get()
        arguments = [*self._arguments]
        arguments.insert(position, self._work)
        ties = [tie + 1 if tie >= position else tie for tie in self._ties]
        with ir.InsertionPoint(self.op), self.op.location:
            if self.workgroups is None:
                work = arith.minui(self._work, arith.constant(index, times))
            else:
                work = arith.constant(index, min(self.workgroups, times))
        return self._remade(work, arguments, ties, [])

    @property
    def _work(self) -> ir.Value:
        return self.op.operands[_WORK]

    @property
    def _arguments(self) -> list[ir.Value]:
        return list(self.op.operands)[1 : 1 + self.given]

    @property
    def _ties(self) -> list[int]:
        """For each result, the argument whose buffer it aliases, or -1."""
        ties = ir.ArrayAttr(self.op.attributes["tied_operands"])
        return [ir.IntegerAttr(tie).value for tie in ties]

    def _remade(
        self,
        work: ir.Value,
        arguments: Sequence[ir.Value],
        ties: Sequence[int],
        types: Sequence[ir.Type],
        more_sizes: Sequence[ir.Value] = (),
    ) -> "Dispatch":
        """Rebuild the dispatch with other operands, and results of `types` after its own. The
        dynamic sizes of additional arguments are `more_sizes`."""
        op, index = self.op, ir.IndexType.get()
        sizes = list(op.operands)[1 + self.given :]
        sizes[self._segments[_SIZES] : self._segments[_SIZES]] = more_sizes
        segments = [*self._segments]
        segments[_GIVEN] = len(arguments)
        segments[_SIZES] += len(more_sizes)
        new = ir.Operation.create(
            op.name,
            results=[*(result.type for result in op.results), *types],
            operands=[work, *arguments, *sizes],
            attributes={
                "entry_points": op.attributes["entry_points"],
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
                "tied_operands": ir.ArrayAttr.get([ir.IntegerAttr.get(index, tie) for tie in ties]),
            },
            loc=op.location,
            ip=ir.InsertionPoint(op),
        )
        for old, result in zip(op.results, new.results, strict=False):
            old.replace_all_uses_with(result)
        op.erase()
        return Dispatch(new)


def is_dispatch(op: ir.Operation) -> bool:
    """Return whether `op` is a ``flow.dispatch``."""
    return op.name == _DISPATCH


def each_dispatch(module: Any) -> list[Dispatch]:
    """The dispatches of `module`, in order."""
    found: list[Dispatch] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == _EXECUTABLE:  # most ops are in kernels
            return ir.WalkResult.SKIP
        if op.name == _DISPATCH:
            found.append(Dispatch(op))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


class KernelFunction:
    """The function of an executable of `module` that has one."""

    def __init__(self, module: Any, name: str):
        executable = ir.SymbolTable(module.operation)[name].operation
        self._export, module = (op.operation for op in list(executable.regions[0].blocks[0])[:2])
        (view,) = module.regions[0].blocks[0].operations
        assert isinstance(view, func.FuncOp)
        self.function = view
        found = _by_name(view.operation, (_NUMBER, _COUNT, _ATOMIC))
        (self.number,) = found[_NUMBER]
        """The op that gives the workgroup number."""
        self.counts_calls = bool(found[_COUNT])
        """True if the kernel depends on the number of its workgroups, as one does that shares its
        work among them itself."""
        self.has_counters = bool(found[_ATOMIC])
        """True if its workgroups meet on counters in memory, which the call hands over."""

    @property
    def flops(self) -> int | None:
        """The additions and multiplications of all workgroups; None if they are not known."""
        flops = ir.IntegerAttr(self._export.attributes[FLOPS]).value
        return None if flops < 0 else flops

    def copy_to(self, block: ir.Block, arguments: Sequence[ir.Value]) -> "WorkgroupCode":
        """Copy the code that all workgroups share to the end of `block`, for `arguments`; return
        that of one workgroup, which is in no block yet."""
        with ir.InsertionPoint(self.function):
            copy = self.function.operation.clone()
        view = copy.opview
        assert isinstance(view, func.FuncOp)
        for old, new in zip(view.entry_block.arguments, arguments, strict=True):
            old.replace_all_uses_with(new)
        ops = [op.operation for op in view.entry_block.operations][:-1]
        (at,) = (n for n, op in enumerate(ops) if op.name == _NUMBER)
        allocations = [op for op in ops[at + 1 :] if op.name == memref.AllocaOp.OPERATION_NAME]
        for op in (*ops[:at], *allocations):
            block.append(op)
        body = [op for op in ops[at + 1 :] if op.name != memref.AllocaOp.OPERATION_NAME]
        return WorkgroupCode(view, ops[at], body)

    def add_scalar(self, at: int) -> ir.Value:
        """Add a scalar as argument `at`."""
        return self._add_argument(at, ir.IndexType.get())

    def add_buffer(self, at: int, type_: ir.MemRefType) -> ir.Value:
        """Add a buffer as argument `at`, and read it at the insertion point."""
        binding = self._add_argument(at, ir.Type.parse("!stream.binding"))
        zero = arith.constant(ir.IndexType.get(), 0)
        return ir.Operation.create(
            "stream.binding.subspan", results=[type_], operands=[binding, zero]
        ).result

    def _add_argument(self, at: int, type_: ir.Type) -> ir.Value:
        """Add an argument after `at` others."""
        function, block = self.function, self.function.entry_block
        inputs = [*function.type.inputs]
        inputs.insert(at, type_)
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
        following = list(block.arguments)[at:]
        added = block.add_argument(type_, function.location)
        for argument in following:
            again = block.add_argument(argument.type, function.location)
            argument.replace_all_uses_with(again)
            block.erase_argument(at)
        return added

    def body(self) -> list[ir.Operation]:
        """The ops of one workgroup: all that follow the workgroup number."""
        ops = [op.operation for op in self.function.entry_block.operations]
        return ops[ops.index(self.number) + 1 : -1]

    def keep_memory(self) -> None:
        """Hoist stack allocations above the workgroup number, so that a loop around the body
        allocates once."""
        for op in self.body():
            if op.name == memref.AllocaOp.OPERATION_NAME:
                op.move_before(self.number)


class WorkgroupCode:
    """A copy of what one workgroup of a kernel computes."""

    def __init__(self, function: func.FuncOp, number: ir.Operation, body: list[ir.Operation]):
        self._function, self._number, self._body = function, number, body

    def place(self, workgroup_id: ir.Value) -> None:
        """Move the code to the end of the current block, for one workgroup."""
        block = ir.InsertionPoint.current.block
        for op in self._body:
            block.append(op)
        self._number.results[0].replace_all_uses_with(workgroup_id)
        self._function.operation.erase()


def workgroup_id() -> ir.Value:
    """Within a kernel: the number of the workgroup."""
    return _dimension_of(_NUMBER)


def count_calls() -> ir.Value:
    """Within a kernel: the number of workgroups of the dispatch."""
    return _dimension_of(_COUNT)


def _dimension_of(name: str) -> ir.Value:
    index = ir.IndexType.get()
    zero: dict[str, ir.Attribute] = {"dimension": ir.IntegerAttr.get(index, 0)}
    return ir.Operation.create(name, results=[index], attributes=zero).result


def splat(value: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    """A tensor filled with `value`, created at run time."""
    return ir.Operation.create("flow.tensor.splat", results=[type_], operands=[value]).result


def _bitcast(
    x: ir.Value, sizes: Sequence[ir.Value], type_: ir.Type, dims: Sequence[ir.Value]
) -> ir.Value:
    """The tensor `x`, with dynamic `sizes`, as one of `type_` with the dynamic sizes `dims`."""
    segments = ir.DenseI32ArrayAttr.get([1, len(sizes), len(dims)])
    return ir.Operation.create(
        "flow.tensor.bitcast",
        results=[type_],
        operands=[x, *sizes, *dims],
        attributes={"operandSegmentSizes": segments},
    ).result


def _by_name(root: ir.Operation, names: Sequence[str]) -> dict[str, list[ir.Operation]]:
    """The ops in `root` with each of `names`, in order."""
    found: dict[str, list[ir.Operation]] = {name: [] for name in names}

    def visit(op: ir.Operation) -> ir.WalkResult:
        ops = found.get(op.name)
        if ops is not None:
            ops.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found
