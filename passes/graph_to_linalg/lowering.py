"""The lowering of `graph` ops to linalg: rules, and the context they work in.

A rule is a function decorated with the op class it lowers. It receives the context, the op
(for its types and attributes) and the lowered operands, and *returns* the lowered result(s);
the driver (`convert`) sets insertion points and locations, replaces ops and wraps errors.

    @lowers(graph.TransposeOp)
    def transpose(ctx, op, x):
        ...
        return value

Lowered tensors have plain types: no encodings, signless integers. Sizes are requested as
`Dim` expressions (`ctx.index`), so no rule ever chains ``tensor.dim``.
"""

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Flag, auto
from typing import Any

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...dialects.locations import location_names
from ...dialects.symbolic import Call, Dim, at_least
from ...dialects.symbolic_limits import upper_bound
from ...errors import GraphcError, LoweringError
from ...mlir import arith, cf, ir, tensor
from ..infra.report import RewriteStatistics
from ..kernels.epilogue import ReadConstants

Size = int | Dim
Rule = Callable[..., Any]

MAX_ELEMENTS = 1 << 46
"""Maximum elements of a tensor whose sizes are computed from data: no memory holds more."""

_rules: dict[str, Rule] = {}


class Fusion(Flag):
    """How the backend fuses what a rule builds; elementwise ops are both."""

    NONE = 0
    PRODUCER = auto()
    """It is fused into the dispatch of its only reader: it moves data, so that the reader can read
    the operand instead, or it ends with a loop over its result."""
    CONSUMER = auto()
    """It is a loop over its result, into which the backend fuses producers."""


_fusion: dict[str, Fusion | Callable[[Any], Fusion]] = {}


def lowers(
    *op_classes: type[graph.GraphOp], fuses: Fusion | Callable[[Any], Fusion] = Fusion.NONE
) -> Callable[[Rule], Rule]:
    """Register the decorated function as the lowering rule of `op_classes`. `fuses` may depend on
    the op."""

    def register(rule: Rule) -> Rule:
        for op_class in op_classes:
            _rules[op_class.OPERATION_NAME] = rule
            _fusion[op_class.OPERATION_NAME] = fuses
        return rule

    return register


def fusion_of(op: graph.GraphOp) -> Fusion:
    """How the backend fuses what the rule of `op` builds; the rules must be loaded."""
    found = _fusion.get(op.OPERATION_NAME, Fusion.NONE)
    return found if isinstance(found, Fusion) else found(op)


def find_rule(op_name: str) -> Rule | None:
    """The rule that lowers the op named `op_name` (``graph.relu``), or None."""
    return _rules.get(op_name)


def registered() -> list[Any]:
    """The rules registered so far."""
    return list(_rules.values())


def plain_element(dtype: np.dtype) -> ir.Type:
    """The MLIR element type of `dtype` after lowering: integers are signless, and types without
    hardware arithmetic are bytes."""
    if graph.is_bit_pattern(dtype):
        return ir.IntegerType.get_signless(8)
    element = graph.element_type(dtype)
    if isinstance(element, ir.IntegerType) and not element.is_signless:
        return ir.IntegerType.get_signless(element.width)
    return element


def plain_type(type_: graph.TensorType) -> ir.RankedTensorType:
    """The MLIR type of `type_` after lowering."""
    dynamic = ir.ShapedType.get_dynamic_size()
    sizes = [size if isinstance(size, int) else dynamic for size in type_.shape]
    return ir.RankedTensorType.get(sizes, plain_element(type_.dtype))


class NotAKernel(Exception):
    """The reason why code does not become one kernel, where `Lowering.in_kernel`."""


def _forgotten(kernel: str) -> RewriteStatistics:
    del kernel
    return RewriteStatistics()


class Lowering:
    """The state of lowering one function: lowered values and the values of symbolic sizes."""

    def __init__(
        self,
        gpu: bool = False,
        row_tile: int = 0,
        threads: int = 1,
        cpu: CpuModel = GENERIC_CPU,
        mma_sync: bool = False,
        tf32: int = 0,
        warpgroups: bool = False,
        statistics: Callable[[str], RewriteStatistics] = _forgotten,
    ) -> None:
        self.gpu = gpu
        """True for GPUs."""
        self.mma_sync = mma_sync
        """True for NVIDIA GPUs, for which tiles are chosen here."""
        self.tf32 = tf32
        """Products of TF32 in which tensor cores multiply f32, 0 if they do not."""
        self.warpgroups = warpgroups
        """True for Hopper GPUs, whose warpgroups multiply."""
        self.statistics = statistics
        """Gives the statistics of a kernel that rules choose, by its name, for the report."""
        self.row_tile = row_tile
        """Dynamic rows that are multiplied at a time; 0 for all."""
        self.threads = threads
        """Threads that will run the program."""
        self.cpu = cpu
        """The CPU that kernels are planned for."""
        self.in_kernel = False
        """True for code that becomes one kernel, where no other is called."""
        self.values: dict[ir.Value, ir.Value] = {}
        self.read: Mapping[ir.Value, ReadConstants] = {}
        """Constants that kernels read, by the results of contractions: see `varying_constants`."""
        self.kernels: dict[object, str] = {}
        """Names of the kernels emitted for this function, by family and key."""
        self._symbols: ChainMap[str, ir.Value] = ChainMap()
        self._computed: ChainMap[Size, ir.Value] = ChainMap()
        self._required: ChainMap[object, None] = ChainMap()
        self._given: set[str] = set()
        self._varying: set[str] = set()

    # Sizes

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Open a scope in which sizes are bound and computed only for the region being built."""
        outer = self._symbols, self._computed, self._required
        self._symbols, self._computed = outer[0].new_child(), outer[1].new_child()
        self._required = outer[2].new_child()
        try:
            yield
        finally:
            self._symbols, self._computed, self._required = outer

    def bind(self, symbol: str, value: ir.Value) -> None:
        """Bind the named size `symbol` to `value` (an index) from here on."""
        self._symbols.setdefault(symbol, value)

    def bind_given(self, symbol: str, value: ir.Value) -> None:
        """`bind` a size of a tensor from the caller, which therefore fits into memory."""
        self._given.add(symbol)
        self.bind(symbol, value)

    def bind_varying(self, symbol: str, value: ir.Value) -> None:
        """`bind` a size that may differ between the iterations of a loop in a kernel, which checks
        all of them before it begins."""
        self._varying.add(symbol)
        self.bind(symbol, value)

    def knows(self, symbol: str) -> bool:
        return symbol in self._symbols

    @property
    def known_symbols(self) -> list[str]:
        """The named sizes that have values here."""
        return list(self._symbols)

    def for_kernel(self) -> "Lowering":
        """The state of lowering what becomes one kernel, called from here."""
        inner = Lowering(threads=1, cpu=self.cpu, statistics=self.statistics)
        inner.in_kernel, inner._given = True, self._given
        return inner

    def index(self, size: Size) -> ir.Value:
        """`size` as an index value, computed once, at its first use.

        While the body of a region op is being built, it must be called in a `scope`.
        """
        if size not in self._computed:
            self._computed[size] = self._compute(size)
        return self._computed[size]

    def mixed(self, sizes: Sequence[Size]) -> list[Any]:
        """`sizes` as MLIR's builders of mixed sizes take them: ints and index values."""
        return [size if isinstance(size, int) else self.index(size) for size in sizes]

    def require(self, condition: ir.Value, message: str) -> None:
        """Abort the run with the error `message` unless `condition` (an i1) holds."""
        node = "+".join(location_names(ir.Location.current))
        cf.assert_(condition, f"{node}: {message}" if node else message)

    def require_equal(self, a: Size, b: Size, message: str) -> None:
        """`require` that two sizes are equal, unless that is known statically."""
        if a != b:
            equal = arith.cmpi(arith.CmpIPredicate.eq, self.index(a), self.index(b))
            self.require(equal, message)

    def require_at_least(self, a: Size, b: Size, message: str) -> None:
        """`require` that ``a >= b``, unless that is known statically."""
        if not at_least(a, b):
            enough = arith.cmpi(arith.CmpIPredicate.sge, self.index(a), self.index(b))
            self.require(enough, message)

    def require_constraint(self, constraint: graph.ShapeConstraint) -> None:
        """`require`, once, a constraint of sizes that a type rule left open."""
        if constraint not in self._required:
            self._required[constraint] = None
            self.require(self._holds(constraint), str(constraint))

    def require_countable(self, shape: Sequence[Size]) -> None:
        """`require`, once, that a tensor with computed sizes is not so large that its number of
        bytes wraps around."""
        shape = tuple(self._limit(size) for size in shape)
        symbols = {s for size in shape if isinstance(size, Dim) for s in size.symbols()}
        if symbols <= self._given or shape in self._required:
            return
        self._required[shape] = None
        kind, left = arith.CmpIPredicate.ule, self.index(MAX_ELEMENTS)
        fits = arith.cmpi(kind, self.index(1), left)
        for size in shape:
            fits = arith.andi(fits, arith.cmpi(kind, self.index(size), left))
            left = arith.divui(left, arith.maxui(self.index(size), self.index(1)))
        self.require(fits, f"a tensor of {' x '.join(map(str, shape))} elements is too large")

    def _limit(self, size: Size) -> Size:
        """The largest `size` of all iterations of a loop in a kernel; itself if that is unknown."""
        limit = upper_bound(size, self._varying)
        return size if limit is None else limit

    def _holds(self, constraint: graph.ShapeConstraint) -> ir.Value:
        compare, kind = arith.cmpi, arith.CmpIPredicate
        if isinstance(constraint, graph.NotNegative):
            return compare(kind.sge, self.index(constraint.size), self.index(0))
        if isinstance(constraint, graph.AtMost):
            return compare(kind.sle, self.index(constraint.size), self.index(constraint.room))
        sizes = [self.index(constraint.a), self.index(constraint.b)]
        holds = compare(kind.eq, *sizes)
        if constraint.broadcasts:
            for size in sizes:
                holds = arith.ori(holds, compare(kind.eq, size, self.index(1)))
        return holds

    def _compute(self, size: Size) -> ir.Value:
        if isinstance(size, int):
            return arith.constant(ir.IndexType.get(), size)
        total: ir.Value | None = None
        for monomial, coefficient in size.terms:
            product: ir.Value | None = None
            for atom in monomial:
                factor = self._symbol(atom) if isinstance(atom, str) else self._call(atom)
                product = factor if product is None else arith.muli(product, factor)
            if product is None:
                product = self.index(coefficient)
            elif coefficient != 1:
                product = arith.muli(product, self.index(coefficient))
            total = product if total is None else arith.addi(total, product)
        assert total is not None
        return total

    def _symbol(self, name: str) -> ir.Value:
        if name not in self._symbols:
            raise LookupError(f"nothing gives the size '{name}' a value")
        return self._symbols[name]

    def _call(self, call: Call) -> ir.Value:
        a, b = (self.index(argument) for argument in call.arguments)
        match call.function:
            case "floordiv":  # by a size of 0, which would end the process, it is by 1
                safe = at_least(call.arguments[1], 1)
                return arith.floordivsi(a, b if safe else arith.maxsi(b, self.index(1)))
            case "max":
                return arith.maxsi(a, b)
            case "min":
                return arith.minsi(a, b)
            case "broadcast":
                is_one = arith.cmpi(arith.CmpIPredicate.eq, a, self.index(1))
                return arith.select(is_one, b, a)
        raise AssertionError(f"no lowering for {call}")

    def dynamic_sizes(self, type_: graph.TensorType) -> list[ir.Value]:
        """The dynamic sizes of a tensor of `type_`."""
        return [size for size in self.mixed(type_.shape) if isinstance(size, ir.Value)]

    # Tensors

    def empty(self, type_: graph.TensorType) -> ir.Value:
        """An uninitialised tensor of `type_`."""
        return tensor.empty(self.mixed(type_.shape), plain_element(type_.dtype))

    def filled(self, type_: graph.TensorType, value: float) -> ir.Value:
        """A tensor of `type_` with every element equal to `value`."""
        from .generic import fill

        return fill(self.scalar(value, type_.dtype), self.empty(type_))

    def scalar(self, value: Any, dtype: np.dtype) -> ir.Value:
        """A scalar constant of the element type of `dtype`."""
        return scalar_constant(value, dtype)

    def cast(self, value: ir.Value, type_: graph.TensorType) -> ir.Value:
        """Cast `value` to exactly the static sizes of `type_`."""
        wanted = plain_type(type_)
        return value if value.type == wanted else tensor.cast(wanted, value)


def lower_op(ctx: Lowering, op: ir.OpView) -> None:
    """Lower `op` at the current insertion point and location, and record its results.

    LoweringError names the node, the op and its operand types, if there is no rule or it fails.
    """
    rule = find_rule(op.operation.name)
    if rule is None:
        raise LoweringError(f"{describe(op)}: no lowering to linalg")
    assert isinstance(op, graph.GraphOp)
    groups = [
        graph.map_group(ctx.values.__getitem__, group) for group in op.operand_groups.values()
    ]
    try:
        _require_constraints(ctx, op)
        lowered = rule(ctx, op, *groups)
    except (GraphcError, NotAKernel):
        raise
    except Exception as error:
        raise LoweringError(f"{describe(op)}: {type(error).__name__}: {error}") from error
    results: Sequence[ir.Value] = [lowered] if isinstance(lowered, ir.Value) else list(lowered)
    for old, new in zip(op.operation.results, results, strict=True):
        ctx.values[old] = ctx.cast(new, graph.type_of(old))


def _require_constraints(ctx: Lowering, op: graph.GraphOp) -> None:
    """Emit run-time checks of the constraints that the type rules of `op` leave open."""
    if isinstance(op, graph.GroupOp):
        for inner in op.ops:
            with inner.operation.location:
                _require_constraints(ctx, inner)
    elif not len(op.operation.regions) and not isinstance(op, graph.ConstantOp):
        with graph.collect_constraints() as constraints:
            op.verify_op()
        for constraint in constraints:
            ctx.require_constraint(constraint)
        for result in op.operation.results:
            ctx.require_countable(graph.type_of(result).shape)


def describe(op: ir.OpView) -> str:
    """The description of `op` in errors: node, op, operand types."""
    types = ", ".join(str(graph.type_of(v)) for v in op.operation.operands)
    return f"{op.operation.location}: {op.operation.name}({types})"


def scalar_constant(value: Any, dtype: np.dtype) -> ir.Value:
    """A scalar ``arith.constant`` of the lowered element type of `dtype`."""
    return arith.constant(plain_element(dtype), _element_attribute(value, dtype))


def vector_constant(value: Any, dtype: np.dtype, lanes: int) -> ir.Value:
    """A vector of `lanes` times what `scalar_constant` is."""
    type_ = ir.VectorType.get([lanes], plain_element(dtype))
    number = _element_attribute(value, dtype)
    return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, number))


def _element_attribute(value: Any, dtype: np.dtype) -> ir.Attribute:
    element = plain_element(dtype)
    if graph.is_bit_pattern(dtype):
        value = np.asarray(value).astype(dtype).view(np.uint8)
        dtype = value.dtype
    if graph.is_float(dtype):
        return ir.FloatAttr.get(element, float(value))
    if dtype == np.bool_:
        return ir.IntegerAttr.get(element, int(bool(value)))
    bits = dtype.itemsize * 8
    number = int(value) & ((1 << bits) - 1)
    signed = number - (1 << bits) if number >> (bits - 1) else number
    return ir.IntegerAttr.get(element, signed)
