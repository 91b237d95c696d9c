"""Random cases for the tests of properties: many nodes, drawn and compiled together.

``GRAPHC_PROPERTY_CASES`` says how many nodes each family draws; a few by default.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numerics import Cases, Const, Feed

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
class Drawn:
    """A node with its inputs."""

    op_type: str
    inputs: list[Input]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    tolerance: float | None = None


def checks(drawn: st.SearchStrategy[Drawn], opset: int = 21) -> Callable[[], None]:
    """A test that compares batches of `drawn` nodes with ONNX Runtime, evaluated and compiled.

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
    def test(record_property: Callable[[str, int], None], nodes: list[Drawn]) -> None:
        record_property("nodes", len(nodes))
        cases = Cases(opset=opset)
        for node in nodes:
            cases.add(
                node.op_type, *node.inputs, outputs=node.outputs, tolerance=node.tolerance,
                **node.attributes,
            )  # fmt: skip
        try:
            cases.compare_with_onnxruntime()
        except Exception as error:
            error.add_note("\n".join(f"{i}: {_shown(node)}" for i, node in enumerate(nodes)))
            raise

    return test


def _shown(node: Drawn) -> str:
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
