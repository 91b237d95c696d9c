"""The `graph` dialect: how an op is declared, built, verified and evaluated.

An op is a class. Its annotations declare operands (`Tensor`, `OptionalTensor`, `Tensors`) and
attributes (the aliases of `attributes`), in the order of its builder's parameters; `fields` says
what type checkers make of them. Two static methods say what it means:

``infer(*operand types, **attributes)`` gives the result type(s), or raises `TypeRuleError`;
``evaluate(*operand arrays, **attributes)`` gives the result array(s), in numpy.

Everything else follows from these: the IRDL definition, the builder that infers its result, the
verifier, constant folding and the interpreter.

    class TransposeOp(GraphOp, name="transpose"):
        x: Tensor
        perm: Ints

        @staticmethod
        def infer(x, *, perm):
            return x.with_shape(x.shape[axis] for axis in perm)

        @staticmethod
        def evaluate(x, *, perm):
            return np.transpose(x, perm)

    transpose = builder(TransposeOp)      # transpose(value, perm=[1, 0]) -> value
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, ParamSpec, TypeGuard, TypeVar

import numpy as np

from ...errors import VerificationError
from ...mlir import ext, ir
from ..loading import LoadableDialect
from .attributes import AttributeKind
from .fields import Field, kind_of
from .shape_constraints import require_not_negative
from .traits import ExcessPrecision, Fact, MixedPrecision
from .types import TensorType, to_mlir, type_of


class TypeRuleError(ValueError):
    """Operands or attributes that an op does not accept."""


@dataclass(frozen=True)
class OperandKind:
    """The arity of a declared operand: at most `slots` values."""

    optional: bool = False
    slots: int = 1

    def annotations(self, name: str) -> dict[str, Any]:
        """The fields that `dialects.ext` sees for an operand called `name`."""
        one = ext.Operand[ir.RankedTensorType]
        if self.slots == 1:
            return {name: one | None if self.optional else one}
        return {f"{name}_{slot}": one | None for slot in range(self.slots)}


@dataclass(frozen=True)
class ResultKind:
    """The arity of a declared result: at most `slots` values. An op that declares none has one,
    ``result``."""

    annotation: Any
    slots: int = 1

    def annotations(self, name: str) -> dict[str, Any]:
        """The fields that `dialects.ext` sees for a result called `name`."""
        if self.slots == 1:
            return {name: self.annotation}
        return {f"{name}_{slot}": self.annotation | None for slot in range(self.slots)}


MAX_TENSORS = 8
"""IRDL gives all elements of a variadic operand one type, so `Tensors` is this many optional
operands instead; builders of ops that take more chain them."""

MAX_VALUES = 32
"""The same for what goes into and comes out of regions: `Values` and `Results`."""

TensorValue = ir.Value[ir.RankedTensorType]
"""A tensor, as an operand or a result of an op."""

_RESULT = ResultKind(ext.Result[ir.RankedTensorType])

Tensor = Annotated[Field[TensorValue, ir.Value], OperandKind()]
OptionalTensor = Annotated[Field[TensorValue | None, ir.Value | None], OperandKind(optional=True)]
Tensors = Annotated[Field[list[TensorValue], Sequence[ir.Value]], OperandKind(slots=MAX_TENSORS)]
Values = Annotated[Field[list[TensorValue], Sequence[ir.Value]], OperandKind(slots=MAX_VALUES)]
Result = Annotated[ir.OpResult[ir.RankedTensorType], _RESULT]
Results = Annotated[list[ir.OpResult[ir.RankedTensorType]], replace(_RESULT, slots=MAX_VALUES)]


class Graph(LoadableDialect, name="graph"):
    """Tensor programs as ONNX means them, each op in one normalised spelling."""


class GraphOp(Graph.Operation):
    """Base of the dialect's ops; see the module's docstring, and `traits` for what passes ask."""

    # Not annotated: `dialects.ext` would take annotated names for fields of the op.
    op_classes = dict[str, "type[GraphOp]"]()  # every op class by its full name, "graph.relu"
    operand_names = tuple[str, ...]()
    operand_kinds = tuple[OperandKind, ...]()
    attribute_kinds = dict[str, AttributeKind]()
    pure = True
    purity = ext.Pure
    if TYPE_CHECKING:
        amp: ClassVar[MixedPrecision | None]
        excess: ClassVar[ExcessPrecision]
        along_axis: ClassVar[Fact | None]
        per_rank: ClassVar[bool]
    amp = None
    excess = ExcessPrecision.ALLOW
    along_axis = None
    is_view = False
    per_rank = False

    @staticmethod
    def infer(*operands: Any, **attrs: Any) -> Any:
        """The result type, or a tuple of them. TypeRuleError when operands do not fit."""
        raise NotImplementedError

    @staticmethod
    def evaluate(*operands: Any, **attrs: Any) -> Any:
        """The result array, or a tuple of them."""
        raise NotImplementedError

    @classmethod
    def __init_subclass__(
        cls,
        *,
        name: str | None = None,
        pure: bool = True,
        has_result: bool = True,
        **kwargs: Any,
    ):
        if name is None:
            super().__init_subclass__(**kwargs)
            return
        annotations = cls.__dict__.get("__annotations__", {})
        declared = {key: kind_of(annotation) for key, annotation in annotations.items()}
        cls.pure = pure
        cls.operand_names = tuple(k for k, v in declared.items() if isinstance(v, OperandKind))
        cls.operand_kinds = tuple(v for v in declared.values() if isinstance(v, OperandKind))
        kinds = {k: v for k, v in declared.items() if isinstance(v, AttributeKind)}
        cls.attribute_kinds = {**cls.attribute_kinds, **kinds}
        cls.__annotations__ = _ext_annotations(declared, has_result)
        traits = kwargs.pop("traits", [])
        super().__init_subclass__(
            name=name, traits=[*traits, *([cls.purity] if pure else [])], **kwargs
        )
        for key, kind in declared.items():
            if isinstance(kind, OperandKind | ResultKind) and kind.slots > 1:
                setattr(cls, key, _tensors(key, kind.slots))
            elif isinstance(kind, AttributeKind):
                setattr(cls, key, _attribute(key, kind))
        GraphOp.op_classes[f"graph.{name}"] = cls

    def run(self, *operands: Any) -> Any:
        """This op's numpy meaning on operand groups given as arrays."""
        return type(self).evaluate(*operands, **self.attrs)

    @property
    def operand_groups(self) -> dict[str, Any]:
        """Operands by declared name: a value, None, or a list of values."""
        return {name: getattr(self, name) for name in self.operand_names}

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes by declared name, as Python values."""
        attributes = self.operation.attributes
        return {name: kind.read(attributes[name]) for name, kind in self.attribute_kinds.items()}

    @classmethod
    def infer_types(cls, operands: Sequence[Any], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        """Result types for operand groups given as types. TypeRuleError says what is wrong."""
        result = cls.infer(*operands, **attrs)
        types = (result,) if isinstance(result, TensorType) else tuple(result)
        for type_ in types:
            _require_possible(type_)
            for size in type_.shape:
                require_not_negative(size)
        return types

    @staticmethod
    def verify_invariants(op: Any) -> bool:
        """Called by MLIR's verifier: the result types are those that the type rule gives."""
        view = op if isinstance(op, GraphOp) else op.opview
        try:
            view.verify_op()
        except (TypeRuleError, ValueError, TypeError, KeyError, IndexError) as error:
            lacks = view.missing_attributes()
            reason = f"lacks the attributes {', '.join(lacks)}" if lacks else error
            op.location.emit_error(f"'{view.operation.name}' op {reason}")
            return False
        return True

    def missing_attributes(self) -> list[str]:
        """Names of attributes that every op of its kind has and this one does not."""
        wanted = [*self.attribute_kinds]
        if self._ODS_OPERAND_SEGMENTS is not None:
            wanted.append("operandSegmentSizes")
        if self._ODS_RESULT_SEGMENTS is not None:
            wanted.append("resultSegmentSizes")
        return [name for name in wanted if name not in self.operation.attributes]

    def verify_op(self) -> None:
        """Raise TypeRuleError when this op breaks its type rule."""
        types = [map_group(type_of, group) for group in self.operand_groups.values()]
        expected = self.infer_types(types, self.attrs)
        actual = tuple(type_of(result) for result in self.operation.results)
        if expected != actual:
            wants, has = (", ".join(map(str, t)) for t in (expected, actual))
            raise TypeRuleError(f"has result type {has}, but its type rule gives {wants}")


MAX_RANK = 64
"""The maximum rank: numpy has no arrays of more axes."""

MAX_BYTES = 1 << 46
"""The maximum size of a tensor. No machine has more memory, and products of sizes fit into 64
bits."""


def _require_possible(type_: TensorType) -> None:
    if type_.rank > MAX_RANK:
        raise TypeRuleError(f"the result would have {type_.rank} axes, {MAX_RANK} being the most")
    count = type_.dtype.itemsize
    for size in type_.shape:
        if isinstance(size, int):
            if size < 0:
                raise TypeRuleError(f"the result would have a size of {size}")
            count *= max(size, 1)
    if count > MAX_BYTES:
        raise TypeRuleError(f"the result would be absurdly large: {type_}")


P = ParamSpec("P")


OpT = TypeVar("OpT", bound=GraphOp)


def builder(op_class: Callable[P, GraphOp]) -> Callable[P, TensorValue]:
    """The function that builds an op of one result: operands by position, attributes by keyword.

    It infers the result types, creates the op at the current insertion point and location, and
    returns its result. TypeRuleError when operands do not fit.
    """
    return _builder(op_class)


def tuple_builder(op_class: type[GraphOp]) -> Callable[..., tuple[TensorValue, ...]]:
    """`builder` for an op of several results."""
    return _builder(op_class)


def _builder(op_class: Any) -> Callable[..., Any]:
    def function(*operands: Any, **attrs: Any) -> Any:
        return build(op_class, operands, attrs)

    function.__name__ = op_class.OPERATION_NAME.removeprefix("graph.")
    function.__doc__ = op_class.__doc__
    return function


def build(op_class: type[GraphOp], operands: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Build an op of a class that is only known as the program runs, as `builder` does.

    Its result, or a tuple of them where there are several.
    """
    missing = op_class.attribute_kinds.keys() ^ attrs.keys()
    if missing:
        raise TypeError(f"{op_class.OPERATION_NAME}: attributes {sorted(missing)} do not match")
    if len(operands) != len(op_class.operand_names):
        raise TypeError(f"{op_class.OPERATION_NAME} takes {op_class.operand_names}")
    written = {name: _write(op_class.attribute_kinds[name], name, v) for name, v in attrs.items()}
    plain = {name: op_class.attribute_kinds[name].read(a) for name, a in written.items()}
    types = [map_group(type_of, group) for group in operands]
    results = op_class.infer_types(types, plain)
    created = create(op_class, operands, written, results)
    values = tuple(created.operation.results)
    return values[0] if len(values) == 1 else values


def _write(kind: AttributeKind, name: str, value: Any) -> ir.Attribute:
    try:
        return kind.write(value)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:  # of the bindings
        reason = "; ".join(str(error).splitlines()[:1])
        raise TypeRuleError(f"{name} is no {kind.name}: {reason}") from error


def create(
    op_class: type[GraphOp],
    operands: Sequence[Any],
    attributes: dict[str, ir.Attribute],
    results: Sequence[TensorType],
    regions: int = 0,
) -> GraphOp:
    """Create an op from operand groups, MLIR attributes and result types, without a type rule."""
    flat: list[ir.Value] = []
    present: list[int] = []
    for kind, group in zip(op_class.operand_kinds, operands, strict=True):
        values: list[ir.Value | None] = list(group) if is_several(group) else [group]
        if len(values) > kind.slots:
            raise TypeRuleError(f"{len(values)} tensors where {kind.slots} fit")
        given = [value for value in values if value is not None]
        flat += given
        present += [1] * len(given) + [0] * (kind.slots - len(given))
    attributes = dict(attributes)
    if op_class._ODS_OPERAND_SEGMENTS is not None:
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(present)
    if op_class._ODS_RESULT_SEGMENTS is not None:
        if len(results) > MAX_VALUES:
            raise TypeRuleError(f"{len(results)} results where {MAX_VALUES} fit")
        given = [1] * len(results) + [0] * (MAX_VALUES - len(results))
        attributes["resultSegmentSizes"] = ir.DenseI32ArrayAttr.get(given)
    operation = ir.Operation.create(
        op_class.OPERATION_NAME,
        results=[to_mlir(t) for t in results],
        operands=flat,
        attributes=attributes,
        regions=regions,
    )
    view = operation.opview
    assert isinstance(view, op_class), f"{op_class.OPERATION_NAME} is not loaded in this context"
    return view


def evaluate_op(op: GraphOp, operands: Sequence[Any]) -> tuple[np.ndarray, ...]:
    """Run an op's numpy meaning on operand groups given as arrays.

    Arrays come back with the result types' element types. VerificationError names the node when
    the meaning gives another shape than the type rule promised.
    """
    with np.errstate(all="ignore"):  # IEEE results, as compiled code gives them
        given = op.run(*operands)
    results = given if is_several(given) else (given,)
    arrays: list[np.ndarray] = []
    for value, array in zip(op.operation.results, results, strict=True):
        type_ = type_of(value)
        array = np.asarray(array).astype(type_.dtype, copy=False)
        if type_.is_static and array.shape != type_.shape:
            raise VerificationError(
                f"{op.operation.name} at {op.location}: evaluates to shape {array.shape}, "
                f"but its type is {type_}"
            )
        arrays.append(array)
    return tuple(arrays)


def op_classes_of(base: type[OpT]) -> tuple[type[OpT], ...]:
    """The ops, by class, that have the base class `base`."""
    return tuple(each for each in GraphOp.op_classes.values() if issubclass(each, base))


def graph_op(operation: Any) -> GraphOp | None:
    """`operation` (an op, a value's owner) as a graph op, or None."""
    if not isinstance(operation, ir.OpView | ir.Operation):
        return None
    view = operation.opview
    return view if isinstance(view, GraphOp) else None


def is_several(group: Any) -> TypeGuard[Sequence[Any]]:
    """Return whether `group` is a list or a tuple of what ops take or give, and not one of them."""
    return isinstance(group, list | tuple)


def map_group(function: Callable[[Any], Any], group: Any) -> Any:
    """Apply `function` to the value(s) of an operand group, keeping its form."""
    if group is None:
        return None
    if is_several(group):
        return [function(value) for value in group]
    return function(group)


def _ext_annotations(declared: dict[str, Any], has_result: bool) -> dict[str, Any]:
    """Translate the annotations of an op class into those that `dialects.ext` expects."""
    annotations: dict[str, Any] = {}
    for name, kind in declared.items():
        if isinstance(kind, OperandKind | ResultKind):
            annotations |= kind.annotations(name)
        elif isinstance(kind, AttributeKind):
            annotations[name] = Any  # the verifier reads attributes by kind
        elif kind is ir.Region:
            annotations[name] = kind
        else:
            raise TypeError(f"'{name}: {kind}' declares neither operand, attribute nor result")
    if has_result and not any(isinstance(kind, ResultKind) for kind in declared.values()):
        annotations["result"] = _RESULT.annotation
    return annotations


def _tensors(name: str, count: int) -> property:
    """The accessor of an operand of `count` slots: the values that are there, as a list."""
    slots = [f"{name}_{slot}" for slot in range(count)]
    return property(
        lambda self: [value for slot in slots if (value := getattr(self, slot)) is not None]
    )


def _attribute(name: str, kind: AttributeKind) -> property:
    """The accessor of an attribute: its Python value."""
    return property(lambda self: kind.read(self.operation.attributes[name]))
