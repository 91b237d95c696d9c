"""A graph that grows node by node, with the values that its nodes have on the drawn inputs."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from graphc.onnx_names import read_names

from .drawn_values import (
    BOOL,
    FLOATS,
    UNSIGNED,
    Value,
    dtype_of,
    is_float,
    is_on_grid,
    is_sane,
    least_precise,
)
from .node_evaluation import Rejected, evaluate_node

Shape = Sequence[int]
Accepts = Callable[[Value], bool]


class GraphBuilder:
    """Draws inputs, weights and nodes. All draws come from `random`, in a fixed order.

    A builder of a subgraph sees the values of the one `around` it, which gets what it feeds. Floats
    may be as large as `largest`, if given.
    """

    def __init__(
        self,
        random: np.random.Generator,
        opset: int,
        float_type: str = "float32",
        dynamic: bool = False,
        around: "GraphBuilder | None" = None,
        largest: float | None = None,
    ):
        self.random = random
        self.opset = opset
        self.float_type = dtype_of(float_type)
        self.dynamic = dynamic
        self.around = around
        self.largest = largest
        self.top: GraphBuilder = around.top if around else self
        self.values: list[Value] = list(around.values) if around else []
        self.nodes: list[onnx.NodeProto] = []
        self.feeds: dict[str, np.ndarray] = {}
        self.inputs: dict[str, onnx.ValueInfoProto] = {}
        self.weights: dict[str, onnx.TensorProto] = {}
        self.references: Counter[str] = Counter()
        self._names = 0

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return bool(self.random.random() < probability)

    def choose(self, options: Sequence[Any]) -> Any:
        """One of `options`, each equally likely."""
        return options[int(self.random.integers(len(options)))]

    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return int(self.random.integers(low, high + 1))

    def size(self, largest: int = 80) -> int:
        """The size of one dimension: mostly near SIMD vector widths, now and then 1, rarely 0."""
        if self.chance(0.008):
            return 0
        small, wide = (1, 2, 3, 4, 5, 7, 8, 9), (15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65)
        found = self.choose(small if self.chance(0.75) else wide)
        return min(found, largest)

    def shape(self, low: int = 0, high: int = 4) -> list[int]:
        """A shape of rank `low` to `high` with at most a few thousand elements."""
        rank, shape, elements = self.integer(low, high), [], 4096
        for _ in range(rank):
            shape.append(self.size(max(elements, 1)))
            elements //= max(shape[-1], 1)
        self.random.shuffle(shape)
        return shape

    def known(self, array: np.ndarray | np.generic) -> Value:
        """`array` as an initializer."""
        name = self.name("c")
        array = np.asarray(array)
        self.weights[name] = numpy_helper.from_array(array, name)
        return Value(name, array, array.dtype.name, True, constant=True)

    def ints(self, numbers: Iterable[int]) -> Value:
        """A list of int64 as an initializer: a shape, axes, amounts."""
        return self.known(np.array(list(numbers), np.int64))

    def fed(self, array: np.ndarray, exact: bool, named: bool = True) -> Value:
        """`array` as an input of the model; where it may be `named`, some of its sizes are."""
        top, name, array = self.top, self.top.name("x"), np.asarray(array)
        named = named or self.chance(0.02)  # a declared limit, which graphc must report as one
        dims = [self._dim(size) if named else size for size in array.shape]
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        top.inputs[name] = helper.make_tensor_value_info(name, kind, dims)
        top.feeds[name] = array
        value = Value(name, array, array.dtype.name, exact)
        self._seen(value)
        return value

    def _dim(self, size: int) -> int | str:
        """A declared dimension: a number or a name. One name always stands for one size; a size may
        have several names."""
        if self.dynamic and self.chance(0.6):
            return f"{self.choose('mn')}{size}"
        return size

    def new(
        self,
        shape: Shape,
        dtype: str | np.dtype | None = None,
        low: float = -3.0,
        high: float = 3.0,
        *,
        exact: bool | None = None,
        weight: bool | None = None,
        named: bool = True,
    ) -> Value:
        """A drawn input, or with `weight` an initializer, of elements from `low` to `high`.

        With `exact` floats are multiples of a quarter, half of the time where that is None.
        Sizes may be `named`: not those of a kernel, which decide how it is used.
        """
        kind = dtype_of(dtype) if isinstance(dtype, str) else dtype or self.float_type
        exact = self.chance(0.5) if exact is None else exact
        array = self._numbers(tuple(shape), kind, low, high, exact)
        weight = self.chance(0.3) if weight is None else weight
        if weight:
            name = self.name("w")
            self.weights[name] = numpy_helper.from_array(array, name)
            value = Value(name, array, kind.name, exact or not is_float(kind), constant=True)
            self._seen(value)
            return value
        return self.fed(array, exact or not is_float(kind), named)

    def _numbers(
        self, shape: tuple[int, ...], dtype: np.dtype, low: float, high: float, exact: bool
    ) -> np.ndarray:
        if dtype.name in BOOL:
            return np.asarray(self.random.random(shape) < 0.5)
        if dtype.name in UNSIGNED:
            low, high = max(low, 0), max(high, 1)
        if not is_float(dtype):
            return np.asarray(self.random.integers(int(np.ceil(low)), int(high) + 1, shape), dtype)
        if not exact:
            return np.asarray(low + (high - low) * self.random.random(shape), dtype)
        step = 1 if dtype.name == "bfloat16" else 4
        first, last = int(np.ceil(low * step)), int(np.floor(high * step))
        if last < first:
            return np.full(shape, low).astype(dtype)
        return np.asarray(self.random.integers(first, last + 1, shape) / step, dtype)

    def name(self, prefix: str) -> str:
        """A name that is not in use yet."""
        top = self.top
        top._names += 1
        return f"{prefix}{top._names}"

    def find(self, accepts: Accepts) -> Value | None:
        """One of the existing values, preferably a recent one; None if `accepts` takes none."""
        fitting = [value for value in self.values if accepts(value)]
        if not fitting:
            return None
        back = min(int(self.random.geometric(0.25)) - 1, len(fitting) - 1)
        return fitting[-1 - back]

    def take(
        self,
        ranks: tuple[int, int] = (0, 4),
        types: Sequence[str] = FLOATS,
        where: Accepts = lambda value: True,
        *,
        low: float = -np.inf,
        high: float = np.inf,
        exact: bool | None = None,
        empty: bool = True,
    ) -> Value:
        """A value of such a rank and type, its floats from `low` to `high`, that `where` takes.

        One that is there already, if there is, or else a new one. Raises `Rejected` where `where`
        does not take the new one either. Without `empty` it has elements.
        """

        def accepts(value: Value) -> bool:
            return (
                value.dtype.name in types
                and ranks[0] <= value.rank <= ranks[1]
                and bool(empty or value.size)
                and (not is_float(value.dtype) or value.within(low, high))
                and (not exact or value.exact)
                and where(value)
            )

        if self.chance(0.9) and (found := self.find(accepts)) is not None:
            return found
        kinds = [self.float_type.name] if self.float_type.name in types else list(types)
        shape = self.shape(*ranks)
        if not empty:
            shape = [max(size, 1) for size in shape]
        value = self.new(shape, self.choose(kinds), max(low, -3), min(high, 3), exact=exact)
        if not where(value):
            raise Rejected("no such value")
        return value

    def like(
        self, shape: Shape, dtype: np.dtype, *, low: float = -np.inf, high: float = np.inf
    ) -> Value:
        """A value of this shape and type: an existing one or a new one."""

        def accepts(value: Value) -> bool:
            bounded = not is_float(dtype) or value.within(low, high)
            return value.shape == tuple(shape) and value.dtype == dtype and bounded

        if self.chance(0.7) and (found := self.find(accepts)) is not None:
            return found
        return self.new(shape, dtype, max(low, -3), min(high, 3))

    def partner(self, of: Value, **options: Any) -> Value:
        """A value of the type of `of` whose shape broadcasts with it; a new one with `options`."""

        def accepts(value: Value) -> bool:
            if value.dtype != of.dtype:
                return False
            try:
                return bool(np.broadcast_shapes(value.shape, of.shape) or True)
            except ValueError:
                return False

        if not options and self.chance(0.6) and (found := self.find(accepts)) is not None:
            return found
        kept = of.shape[self.integer(0, of.rank) :] if self.chance(0.5) else of.shape
        shape = [1 if self.chance(0.15) else size for size in kept]
        return self.new(shape, of.dtype, **options)

    def axis(self, rank: int) -> int:
        """An axis, counted from either end."""
        return self.integer(-rank, rank - 1)

    def axes(self, rank: int, low: int = 1) -> list[int]:
        """`low` or more different axes, some of them counted from the end."""
        count = self.integer(min(low, rank), rank)
        chosen = self.random.permutation(rank)[:count]
        return [int(axis) - rank if self.chance(0.3) else int(axis) for axis in chosen]

    def add(
        self,
        op_type: str,
        inputs: Sequence[Value | None],
        outputs: int = 1,
        *,
        exact: bool = False,
        **attributes: Any,
    ) -> list[Value]:
        """A node on `inputs` (None is left out), evaluated; its results are values of the graph.

        With `exact`, results of exact values are exact as long as they stay on the grid. Raises
        `Rejected` where nothing evaluates the node, or its results are not sane.
        """
        results = [self.name("v") for _ in range(outputs)]
        names = [value.name if value is not None else "" for value in inputs]
        node = helper.make_node(op_type, names, results, name=f"n_{results[0]}", **attributes)
        return self.append(node, exact and all(v is None or v.exact for v in inputs))

    def append(self, node: onnx.NodeProto, exact: bool) -> list[Value]:
        """`node`, evaluated; see `add`."""
        read = dict.fromkeys(read_names(node))
        arrays, by = evaluate_node(node, self.arrays(read), self.opset)
        if not all(is_sane(array, self.largest) for array in arrays):
            raise Rejected("not sane")
        self.top.references[by] += 1
        before = [value.precision for value in self.values if value.name in read]
        values = []
        for name, array in zip(filter(None, node.output), arrays, strict=True):
            kept = not is_float(array.dtype) or (exact and is_on_grid(array))
            precision = least_precise([array.dtype.name, *([] if kept else before)])
            values.append(Value(name, array, precision, kept))
            self._seen(values[-1])
        self.nodes.append(node)
        return values

    def arrays(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """The arrays of the values and weights with these names."""
        wanted = dict.fromkeys(names)
        found = {value.name: value.array for value in self.values if value.name in wanted}
        builder: GraphBuilder | None = self
        while builder is not None:
            found |= {
                name: numpy_helper.to_array(builder.weights[name])
                for name in wanted
                if name in builder.weights
            }
            builder = builder.around
        return {name: found[name] for name in wanted}

    def _seen(self, value: Value) -> None:
        """Register `value`. A fed value is registered in all enclosing graphs, too."""
        self.values.append(value)
        builder = self.around
        while builder is not None and value.name in self.top.inputs:
            builder.values.append(value)
            builder = builder.around
