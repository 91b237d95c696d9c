"""One graph of a seed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import onnx
from onnx import helper

from graphc.debugging.difference import tolerance_of
from graphc.debugging.onnx.graphs import all_nodes
from graphc.debugging.onnx.nodes import EVALUATOR
from graphc.onnx_names import read_names

from .builder import GraphBuilder
from .draw_registry import MIXED, QDQ, Registered, all_draws
from .drawn_values import dtype_of, element_type
from .exporter_conventions import declared_otherwise, replaced_weights
from .node_evaluation import IR_VERSION, Rejected, opsets_of

OPSETS = (11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25)
MOST_NODES = 30
_MOST_DRAWS = 40 * MOST_NODES
"""Upper bound on draws, in case all of them are rejected."""
EXPORTED = 0.2
"""Fraction of the models that are written as exporters write them."""
QDQ_SHARE = 0.05
"""Fraction of the graphs that are of the family of QDQ graphs."""
LARGEST_QDQ = 1e8
"""Largest magnitude of floats in a QDQ graph, which has sums of integers as floats. Its layers are
judged one by one, so that large values hide no others."""
NODES_OF_LAYER = 3
"""Number of nodes of a QDQ graph in place of each node of others."""
_FLOAT_TYPES = ("float32",) * 15 + ("float64",) * 2 + ("float16",) * 2 + ("bfloat16",)


@dataclass(frozen=True)
class DrawnGraph:
    """A model with inputs and the expected outputs."""

    seed: int
    index: int
    model: onnx.ModelProto
    feeds: Mapping[str, np.ndarray]
    expected: Mapping[str, np.ndarray]
    tolerances: Mapping[str, float]
    """Allowed differences from `expected`, relative to the largest element."""
    reference: str
    """The reference that computed `expected`: ``onnxruntime``, or ``nodes`` where ONNX Runtime
    lacks some operators."""
    rejected: Mapping[str, int]
    """Number of rejected draws, by reason."""
    declared: Sequence[str] = ()
    """The exporter conventions that the model follows, beyond the plain form."""
    family: str = MIXED
    """The family of graphs that it belongs to."""

    @property
    def name(self) -> str:
        """The name of the case in files: ``7-000123``."""
        return f"{self.seed}-{self.index:06}"

    def nodes(self) -> Iterator[onnx.NodeProto]:
        """All nodes, those of subgraphs as well."""
        return all_nodes(self.model.graph)


def draw_case(seed: int, index: int, family: str | None = None) -> DrawnGraph:
    """Draw graph number `index` of `seed`. The result is deterministic.

    Without `family`, the graph is of the family that its draws say.
    """
    random = np.random.default_rng([seed, index])
    drawn = QDQ if random.random() < QDQ_SHARE else MIXED
    family = family or drawn
    is_mixed = family == MIXED
    builder = GraphBuilder(
        random,
        int(random.choice(_opsets(family))),
        str(random.choice(_FLOAT_TYPES)) if is_mixed else "float32",
        dynamic=bool(random.random() < 0.5),
        largest=None if is_mixed else LARGEST_QDQ,
    )
    rejected: Counter[str] = Counter()
    wanted = min(int(random.geometric(0.14)) * (1 if is_mixed else NODES_OF_LAYER), MOST_NODES)
    for _ in range(_MOST_DRAWS):
        if len(builder.nodes) >= wanted:
            break
        _extend(builder, family, rejected)
    case = replace(_finish(builder, seed, index, rejected), family=family)
    return _declared(case, random) if is_mixed and random.random() < EXPORTED else case


def _declared(case: DrawnGraph, random: np.random.Generator) -> DrawnGraph:
    """`case` in the form in which an exporter writes it."""
    if case.reference != "onnxruntime":
        return case
    model, ways = declared_otherwise(case.model, case.feeds, case.expected, random)
    feeds = {**case.feeds, **replaced_weights(model, random)}
    return replace(case, model=model, feeds=feeds, declared=ways)


def _extend(builder: GraphBuilder, family: str, rejected: Counter[str]) -> None:
    """Try one draw of `family`. A rejected draw adds nothing."""
    chosen, weights = _choices(family, builder.opset)
    draw = chosen[int(builder.random.choice(len(chosen), p=weights))].draw
    count = len(builder.nodes), len(builder.values)
    try:
        draw(builder)
    except Rejected as reason:
        rejected[str(reason)] += 1
        if reason.args[0] in ("not sane", "no reference", "invalid"):
            _forget(builder, *count)


def _forget(builder: GraphBuilder, nodes: int, values: int) -> None:
    del builder.nodes[nodes:], builder.values[values:]


@cache
def _opsets(family: str) -> tuple[int, ...]:
    """The opsets that have draws of `family`."""
    first = min(each.since for each in all_draws(family))
    return tuple(opset for opset in OPSETS if opset >= first)


@cache
def _choices(family: str, opset: int) -> tuple[tuple[Registered, ...], np.ndarray]:
    """The draws of `family` available in this opset, and their probabilities."""
    chosen = tuple(each for each in all_draws(family) if each.since <= opset)
    weights = np.array([each.weight for each in chosen])
    return chosen, weights / weights.sum()


def _finish(
    builder: GraphBuilder, seed: int, index: int, rejected: Mapping[str, int]
) -> DrawnGraph:
    """Build the case. Every unread value is an output, and occasionally another value, too."""
    read = {name for node in builder.nodes for name in read_names(node)}
    computed = {name for node in builder.nodes for name in node.output}
    results = [value for value in builder.values if value.name in computed]
    outputs = [v for v in results if v.name not in read or builder.chance(0.05)]
    order = builder.random.permutation(len(outputs))
    outputs = [outputs[int(i)] for i in order]
    graph = helper.make_graph(
        builder.nodes,
        f"graph_{seed}_{index}",
        [info for name, info in builder.inputs.items() if name in read],
        [
            helper.make_tensor_value_info(v.name, element_type(v.dtype.name), [None] * v.rank)
            for v in outputs
        ],
        [tensor for name, tensor in builder.weights.items() if name in read],
    )
    opsets = opsets_of(builder.nodes, builder.opset)
    return DrawnGraph(
        seed,
        index,
        helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION),
        {name: array for name, array in builder.feeds.items() if name in read},
        {value.name: value.array for value in outputs},
        {value.name: tolerance_of(dtype_of(value.precision), None) for value in outputs},
        "nodes" if builder.references[EVALUATOR] else "onnxruntime",
        dict(rejected),
    )
