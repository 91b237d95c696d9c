"""Outlining of hand-written kernels into functions that can be linked as object code.

A kernel that reads its bindings and computes becomes two functions: one reads the bindings and
calls the other, which computes on its arguments. The name of the second is a digest of its code, so
that equal kernels of different programs have equal names.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ...mlir import arith, func, ir, memref
from .stream import PLAIN

_EXECUTABLE, _MODULE = "stream.executable", "builtin.module"
_NUMBER, _COUNT = "stream.dispatch.workgroup.id", "stream.dispatch.workgroup.count"
_SUBSPAN = "stream.binding.subspan"
_PREFIX = "graphc_kernel_"
_UNNAMED = "kernel"
_OBJECTS = "hal.executable.objects"

_Handed = str | tuple[int, ir.Type | None]
"""An argument of a kernel: the name of the op that asks for it; or the number of an argument, with
the type that its function receives if it is a binding."""


class OutlinedKernel:
    """A kernel whose body is a separate function, called `symbol`."""

    def __init__(self, function: func.FuncOp, text: str, ops: int):
        self._function = function
        self.calls: list[ir.Operation] = []
        """The calls of the function in its executable, of kernels with equal bodies."""
        self.symbol = ir.StringAttr(function.attributes["sym_name"]).value
        self.text = text
        """The code of the function, without its name."""
        self.ops = ops
        """The number of its ops."""

    @property
    def type(self) -> ir.FunctionType:
        """The type of the function."""
        return self._function.type

    @property
    def context(self) -> ir.Context:
        """The context that the function lives in."""
        return self._function.operation.context

    def copy(self) -> None:
        """Copy the function to the insertion point."""
        self._function.operation.clone()

    def link(self, file: str) -> None:
        """Leave only the declaration; the code is in the object file `file`."""
        function = self._function
        with function.operation.context, ir.InsertionPoint(function), function.operation.location:
            declared = func.FuncOp(self.symbol, function.type, visibility="private")
            declared.attributes["llvm.bareptr"] = ir.UnitAttr.get()
            declared.attributes["hal.import.static"] = ir.UnitAttr.get()
            objects = ir.Attribute.parse(f'[#hal.executable.object<{{path = "{file}"}}>]')
            for call in self.calls:
                call.attributes[_OBJECTS] = objects
        function.operation.erase()


def _always(ops: int) -> bool:
    del ops
    return True


def outline_kernels(
    module: ir.Module, wanted: Callable[[int], bool] = _always
) -> list[OutlinedKernel]:
    """Outline the kernels of `module`, if `wanted` says so of the number of their ops."""
    with module.context:
        found = [_kernels_of(op.operation) for op in module.body]
        if not wanted(sum(kernel.ops for kernels in found for kernel in kernels)):
            return []
        return [outlined for kernels in found for outlined in _outline_all(kernels)]


def define_kernels(module: ir.Module, texts: Mapping[str, str]) -> None:
    """Replace the linked declarations in `module` by their code, from `texts` by symbol."""
    linked: list[ir.Operation] = []

    def note(op: ir.Operation) -> ir.WalkResult:
        if _OBJECTS in op.attributes:
            linked.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(note, op_class=func.CallOp)
    for call in linked:
        del call.attributes[_OBJECTS]
        symbol = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
        function = call.parent
        assert function is not None
        assert function.parent is not None
        declared = ir.SymbolTable(function.parent)[symbol]
        text = ir.Module.parse(texts[symbol])
        with ir.InsertionPoint(declared):
            defined = text.body.operations[0].operation.clone()
        defined.attributes["sym_name"] = ir.StringAttr.get(symbol)
        declared.operation.erase()


@dataclass(frozen=True)
class _Kernel:
    """A kernel that can be outlined."""

    function: func.FuncOp
    given: list[ir.Operation]
    """The ops that read its bindings and workgroup numbers."""
    ops: int
    """The number of its ops."""


def _kernels_of(executable: ir.Operation) -> list[_Kernel]:
    """The kernels of an executable that can be outlined."""
    if executable.name != _EXECUTABLE:
        return []
    block = executable.regions[0].blocks[0]
    (module,) = (op.operation for op in block if op.operation.name == _MODULE)
    functions = [op for op in module.regions[0].blocks[0] if isinstance(op, func.FuncOp)]
    return [kernel for each in functions if _is_entry(each) and (kernel := _read(each))]


def _is_entry(function: func.FuncOp) -> bool:
    attributes = function.attributes
    return "translation_info" in attributes and str(attributes["translation_info"]) == PLAIN


def _read(function: func.FuncOp) -> _Kernel | None:
    """The kernel `function`; None if an op depends on the surrounding function, or its text does
    not determine it."""
    given: list[ir.Operation] = []
    hindered, ops = False, 0

    def note(op: ir.Operation) -> ir.WalkResult:
        nonlocal hindered, ops
        ops += 1
        name = op.name
        if name == "arith.constant":
            hindered |= isinstance(op.attributes["value"], ir.DenseResourceElementsAttr)
        elif name == "func.call":
            hindered = True
        elif name.startswith("stream."):
            given.append(op)
            hindered |= not _is_plain(op)
        return ir.WalkResult.ADVANCE

    function.operation.walk(note)
    return None if hindered else _Kernel(function, given, ops)


def _is_plain(op: ir.Operation) -> bool:
    """Return whether `op` is the workgroup number or count, or a whole flat binding."""
    if op.name in (_NUMBER, _COUNT):
        return ir.IntegerAttr(op.attributes["dimension"]).value == 0
    if op.name != _SUBSPAN:
        return False
    start = op.operands[1].owner
    if isinstance(start, ir.Block) or start.name != "arith.constant":
        return False
    at, type_ = ir.IntegerAttr(start.attributes["value"]).value, ir.MemRefType(op.results[0].type)
    return at == 0 and (type_.has_static_shape or type_.rank == 1)


def _outline_all(kernels: Iterable[_Kernel]) -> list[OutlinedKernel]:
    """Outline the `kernels` of one executable."""
    outlined: dict[str, OutlinedKernel] = {}
    for kernel in kernels:
        _outline(kernel, outlined)
    return list(outlined.values())


def _outline(kernel: _Kernel, outlined: dict[str, OutlinedKernel]) -> None:
    """Outline one kernel, or let it call that of `outlined`, by symbol, which has its body."""
    function, given = kernel.function, kernel.given
    name, type_ = function.attributes["sym_name"], function.type
    handed = _take_handed(function, given)
    symbol, text = _name_by_contents(function)
    location = function.operation.location
    with ir.InsertionPoint(function), location:
        entry = func.FuncOp(ir.StringAttr(name).value, type_)
        entry.attributes["translation_info"] = ir.Attribute.parse(PLAIN)
        block = entry.add_entry_block()
    with ir.InsertionPoint(block), location:
        operands = [_hand(block, each) for each in handed]
        call = ir.Operation.create(
            "func.call",
            operands=operands,
            attributes={"callee": ir.FlatSymbolRefAttr.get(symbol)},
        )
        func.ReturnOp([])
    if symbol in outlined:
        function.operation.erase()
    else:
        outlined[symbol] = OutlinedKernel(function, text, kernel.ops)
    outlined[symbol].calls.append(call)


def _take_handed(function: func.FuncOp, given: list[ir.Operation]) -> list[_Handed]:
    """Make arguments of what `function` is handed, in order."""
    block, index = function.entry_block, ir.IndexType.get()
    old = list(block.arguments)
    handed: list[_Handed] = []
    for number, argument in enumerate(old):
        if argument.type == index:
            argument.replace_all_uses_with(block.add_argument(index, function.operation.location))
            handed.append((number, None))
    for op in given:
        (result,) = op.results
        if op.name == _SUBSPAN:
            with ir.InsertionPoint(op), op.location:
                argument = block.add_argument(_bare(result.type), op.location)
                result.replace_all_uses_with(_sized(argument, op))
            handed.append((ir.BlockArgument(op.operands[0]).arg_number, argument.type))
        else:
            result.replace_all_uses_with(block.add_argument(result.type, op.location))
            handed.append(op.name)
        op.erase()
    for number in reversed(range(len(old))):
        block.erase_argument(number)
    types = [argument.type for argument in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
    return handed


def _bare(type_: ir.Type) -> ir.Type:
    """The type by which a function receives the memory of a binding: bare pointers, as which these
    are passed, have static sizes only."""
    buffer = ir.MemRefType(type_)
    return type_ if buffer.has_static_shape else ir.MemRefType.get([1], buffer.element_type)


def _sized(memory: ir.Value, subspan: ir.Operation) -> ir.Value:
    """`memory` in the type and the size of `subspan`."""
    type_ = ir.MemRefType(subspan.results[0].type)
    if type_ == memory.type:
        return memory
    size = subspan.operands[2]
    return memref.reinterpret_cast(type_, memory, [], [size], [], [0], type_.shape, [1])


def _name_by_contents(function: func.FuncOp) -> tuple[str, str]:
    """The new name of `function`, and the text that it stands for."""
    attributes = function.attributes
    attributes["sym_name"] = ir.StringAttr.get(_UNNAMED)
    attributes["sym_visibility"] = ir.StringAttr.get("private")
    attributes["llvm.bareptr"] = ir.UnitAttr.get()
    attributes["no_inline"] = ir.UnitAttr.get()
    attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("noinline")])
    text = function.operation.get_asm(assume_verified=True, use_local_scope=True)
    symbol = _PREFIX + hashlib.sha256(text.encode()).hexdigest()
    attributes["sym_name"] = ir.StringAttr.get(symbol)
    return symbol, text


def _hand(block: ir.Block, handed: _Handed) -> ir.Value:
    """The value to pass on to the outlined function, read from the arguments of the entry
    `block`."""
    index = ir.IndexType.get()
    if isinstance(handed, str):
        dimension: dict[str, ir.Attribute] = {"dimension": ir.IntegerAttr.get(index, 0)}
        return ir.Operation.create(handed, results=[index], attributes=dimension).result
    number, type_ = handed
    if type_ is None:
        return block.arguments[number]
    operands = [block.arguments[number], arith.constant(index, 0)]
    return ir.Operation.create(_SUBSPAN, results=[type_], operands=operands).result
