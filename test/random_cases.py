"""Random cases for the tests of properties: many random nodes, compiled in one batch.

``GRAPHC_PROPERTY_CASES`` says how many nodes each family draws; a few by default.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numerics import Cases, Const, Feed

from graphc.debugging.onnx.evaluators import open_runtime
from graphc.errors import ReferenceRunError
from harness.variation import other_sizes, other_values

CASES = int(os.environ.get("GRAPHC_PROPERTY_CASES", "24"))
BATCH = 24
"""Nodes in one model: a compile costs more than any of them."""

SPECIAL = {
    "f": [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0],
    "i": [0, 1, -1],
    "u": [0, 1, 2],
    "b": [0, 1],
}
Input = np.ndarray | Feed | Const | None


@dataclass
class RandomNode:
    """A node with its inputs."""

    op_type: str
    inputs: list[Input]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    tolerance: float | None = None
    other_values: bool = True
    """True if the inputs may have other values, drawn from those that they have."""
    other_sizes: bool = True
    """True if named sizes may change, as far as ONNX Runtime accepts the new ones."""

    def add_to(self, cases: Cases) -> None:
        """Make the node one of `cases`."""
        cases.add(
            self.op_type, *self.inputs, outputs=self.outputs, tolerance=self.tolerance,
            **self.attributes,
        )  # fmt: skip

    def otherwise(
        self, cases: Cases, opset: int, random: np.random.Generator
    ) -> list[dict[str, np.ndarray]]:
        """Other feeds for the node, the last of `cases`, in each of `WAYS`; none where ONNX Runtime
        does not take them."""
        alone = Cases(opset=opset)
        self.add_to(alone)
        dims = {info.name: _dims(info) for info in alone.inputs}
        run = open_runtime(alone.model(), alone.outputs)

        def values() -> Mapping[str, np.ndarray] | None:
            return {name: other_values(array, random) for name, array in alone.feeds.items()}

        def sizes(larger: bool) -> Mapping[str, np.ndarray] | None:
            return other_sizes(dims, alone.feeds, random, larger)

        found = [values() if self.other_values else None]
        found += [sizes(larger) if self.other_sizes else None for larger in (True, False)]
        names = [name for name in cases.nodes[-1].input if name in cases.feeds]
        return [
            dict(zip(names, each.values(), strict=True)) if each and _takes(run, each) else {}
            for each in found
        ]


WAYS = ("values", "larger", "smaller")
"""Ways in which inputs may differ from the drawn ones."""


def _dims(info: onnx.ValueInfoProto) -> list[int | str]:
    return [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]


def _takes(run: Callable[[Mapping[str, Any]], Any], feeds: Mapping[str, np.ndarray]) -> bool:
    try:
        run(feeds)
    except ReferenceRunError:
        return False
    return True


def checks(drawn: st.SearchStrategy[RandomNode], opset: int = 21) -> Callable[[], None]:
    """A test that compares batches of `drawn` nodes with ONNX Runtime, evaluated and compiled, in
    several calls with other values and sizes.

    Examples are not made smaller: each try is a compile, and the report names the nodes.
    """

    @settings(
        max_examples=-(-CASES // BATCH),
        deadline=None,
        derandomize=CASES <= BATCH,
        database=None,
        phases=[Phase.generate],
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(nodes=st.lists(drawn, min_size=BATCH, max_size=BATCH))
    def test(record_property: Callable[[str, int], None], nodes: list[RandomNode]) -> None:
        record_property("nodes", len(nodes))
        cases, random = Cases(opset=opset), np.random.default_rng(0)
        others: list[dict[str, np.ndarray]] = [{} for _ in WAYS]
        for node in nodes:
            node.add_to(cases)
            for feeds, other in zip(others, node.otherwise(cases, opset, random), strict=True):
                feeds |= other
        try:
            cases.compare_calls_with_onnxruntime([{**cases.feeds, **feeds} for feeds in others])
        except Exception as error:
            error.add_note("\n".join(f"{i}: {_shown(node)}" for i, node in enumerate(nodes)))
            raise

    return test


def _shown(node: RandomNode) -> str:
    return f"{node.op_type}({', '.join(map(_type, node.inputs))}) {node.attributes}"


def _type(given: Input) -> str:
    if given is None:
        return "none"
    if isinstance(given, Const):
        return f"const {given.array.tolist()}"
    if isinstance(given, Feed):
        return f"{given.array.dtype}{list(given.array.shape)} as {list(given.dims)}"
    return f"{given.dtype}{list(given.shape)}"


def sizes(low: int = 0, high: int = 5) -> st.SearchStrategy[int]:
    return st.integers(low, high)


def shapes(
    rank: tuple[int, int] = (0, 4), low: int = 0, high: int = 5
) -> st.SearchStrategy[list[int]]:
    """Zero sizes are rare, or most tensors would be empty."""
    size = st.one_of(*[sizes(max(low, 1), high)] * 9, sizes(low, max(low, 1)))
    return st.lists(size, min_size=rank[0], max_size=rank[1])


@st.composite
def arrays(draw: Any, shape: list[int], dtype: Any = np.float32, special: bool = False) -> Any:
    """An array of small numbers; with `special`, of NaN, infinities and signed zeros as well."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype.kind == "f":
        array = random.standard_normal(shape) * 3
    else:
        low = 0 if dtype.kind in "ub" else -6
        array = random.integers(low, 2 if dtype.kind == "b" else 9, shape)
    if special:
        chosen = random.choice(SPECIAL[dtype.kind], shape)
        array = np.where(random.random(shape) < 0.3, chosen, array)
    return np.asarray(array).astype(dtype)


@st.composite
def feeds(draw: Any, array: np.ndarray) -> Input:
    """`array` with names for some of its sizes. One name is one size; a size may have several."""
    names = st.sampled_from(("{0}", "m{0}", "n{0}"))
    dims = [draw(names).format(size) for size in array.shape]
    dims = [int(dim) if dim.isdecimal() else dim for dim in dims]
    return Feed(array, dims)


@st.composite
def tensors(draw: Any, shape: list[int], dtype: Any = np.float32, special: bool = False) -> Input:
    """A drawn array as an input whose sizes are known, named, or some of both."""
    return draw(feeds(draw(arrays(shape, dtype, special))))


@st.composite
def broadcastable(draw: Any, shape: list[int]) -> list[int]:
    """A shape that broadcasts to `shape`."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    return [1 if draw(st.integers(0, 3)) == 0 else size for size in kept]


def axes(rank: int) -> st.SearchStrategy[int]:
    return st.integers(-rank, rank - 1)


def some_axes(rank: int) -> st.SearchStrategy[list[int]]:
    """Different axes, some of them counted from the end."""
    signed = st.tuples(st.permutations(range(rank)), st.lists(st.booleans(), min_size=rank))
    chosen = st.tuples(signed, st.integers(0, rank))
    return chosen.map(
        lambda c: [
            axis - rank if back else axis
            for axis, back in zip(c[0][0][: c[1]], c[0][1], strict=False)
        ]
    )
