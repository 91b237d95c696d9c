"""`partition`: an ONNX model split into stages of a pipeline."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import onnx
from onnx import shape_inference

from ..errors import UsageError
from ..frontend.onnx.importing.loading import load_model
from ..frontend.onnx.importing.node_order import in_order
from ..frontend.onnx.node_work import GraphSizes
from ..onnx_names import read_names
from ..runtime.metadata import is_path

SLACK = 0.1
"""Share by which the slowest stage may be slower than necessary if fewer bytes cross then."""
CANDIDATES = 400
"""Number of places where a long model may be cut."""


@dataclass(frozen=True)
class StageModel:
    """A stage: an ONNX model of its own, and its place in the pipeline."""

    model: onnx.ModelProto
    inputs: tuple[str, ...]
    """Values that the stage computes with: inputs of the whole model, or outputs of earlier
    stages."""
    passed_on: tuple[str, ...]
    """Values that later stages need, or, of the last one, the outputs of the whole model."""
    weight_bytes: int
    crossing_bytes: int
    """Bytes that are passed on; sizes that are unknown count as 1."""
    time_share: float
    """Predicted share of the time of the whole model."""


def partition(
    model: Any, stages: int, *, dims: Mapping[str, int] | None = None, max_weight_bytes: float = 0
) -> tuple[StageModel, ...]:
    """Split `model`, as `graphc.compile` takes it, into `stages` models that run one after another.

    The slowest stage by prediction is at most a tenth slower than in the best balance; among such
    cuts, those are chosen over which the fewest bytes pass. With `max_weight_bytes` no stage has
    more weights than that. `dims` gives sizes of named dimensions for the prediction.

    Raises `InvalidModelError`, and `UsageError` if there are too few nodes, or no such cuts.
    """
    whole = _inferred(model)
    nodes = whole.graph.node
    if not 1 <= stages <= len(nodes):
        raise UsageError(f"a model of {len(nodes)} nodes has no {stages} stages")
    sizes = GraphSizes.of(whole.graph, dims or {})
    alive = _alive(whole.graph)
    crossing = [sizes.crossing_bytes(names) for names in alive]
    times = [*accumulate((sizes.time(node) for node in nodes), initial=0.0)]
    weights = _Weights(whole.graph, sizes)

    def fits(begin: int, end: int) -> bool:
        return not max_weight_bytes or weights.bytes(begin, end) <= max_weight_bytes

    cuts = _cuts(times, crossing, stages, fits)
    if cuts is None:
        limit = f" have at most {max_weight_bytes:.0f} bytes of weights" if max_weight_bytes else ""
        raise UsageError(f"no {stages} stages{limit or ' pass on values of known types alone'}")
    total = times[-1] or 1.0
    found = []
    for begin, end in pairwise(cuts):
        part = _stage(whole, begin, end, alive[end])
        inputs = tuple(each.name for each in part.graph.input)
        share = (times[end] - times[begin]) / total
        held, crosses = int(weights.bytes(begin, end)), int(sum(map(sizes.bytes, alive[end])))
        found.append(StageModel(part, inputs, alive[end], held, crosses, share))
    return tuple(found)


def _inferred(model: Any) -> onnx.ModelProto:
    """The model with its weights and the types of its values."""
    if is_path(model):
        load_model(model)  # whose checks are those of `graphc.compile`
        whole = onnx.load(str(model))
    else:
        whole = onnx.ModelProto()
        whole.CopyFrom(load_model(model)[0])
    _fold_constants(whole.graph)
    _sort(whole.graph)
    return shape_inference.infer_shapes(whole, data_prop=True)


def _fold_constants(graph: onnx.GraphProto) -> None:
    """Turn nodes that are constant tensors to weights, which each stage may have a copy of."""
    for node in [each for each in graph.node if each.op_type == "Constant" and not each.domain]:
        (attribute,) = node.attribute
        if attribute.type == onnx.AttributeProto.TENSOR:
            attribute.t.name = node.output[0]
            graph.initializer.append(attribute.t)
            graph.node.remove(node)


def _sort(graph: onnx.GraphProto) -> None:
    """Put the nodes into an order in which they can run; converters append casts at the end."""
    nodes = []
    for _, node in in_order(graph.node):
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        nodes.append(copy)
    del graph.node[:]
    graph.node.extend(nodes)


def _alive(graph: onnx.GraphProto) -> list[tuple[str, ...]]:
    """For each number of nodes, the values that are there after these and are needed later.

    After all nodes these are the outputs.
    """
    weights = {each.name for each in graph.initializer}
    outputs = [each.name for each in graph.output]
    known = [each.name for each in graph.input if each.name not in weights]
    last = dict.fromkeys(outputs, len(graph.node))
    for index, node in reversed([*enumerate(graph.node)]):
        for name in read_names(node):
            last.setdefault(name, index)
    alive = []
    for index, node in enumerate(graph.node):
        alive.append(tuple(name for name in known if last.get(name, -1) >= index))
        known += [name for name in node.output if name]
    return [*alive, tuple(outputs)]


class _Weights:
    """Bytes of the weights that ranges of nodes use."""

    def __init__(self, graph: onnx.GraphProto, sizes: GraphSizes):
        self._sizes = sizes
        self._used = [sizes.weights.intersection(read_names(node)) for node in graph.node]

    def bytes(self, begin: int, end: int) -> float:
        """Bytes for the nodes from `begin` to `end`."""
        return sum(map(self._sizes.bytes, frozenset().union(*self._used[begin:end])))


def _cuts(
    times: Sequence[float], crossing: Sequence[float], stages: int, fits: Any
) -> list[int] | None:
    """The borders of the stages, from 0 to the number of nodes; None if nothing fits."""
    count, borders = len(times) - 1, _candidates(times, crossing)
    allowed = {
        (begin, end): times[end] - times[begin]
        for end in borders
        for begin in borders
        if begin < end and fits(begin, end)
    }
    slowest = _best(allowed, count, stages, lambda worst, time, _: max(worst, time))
    if slowest is None:
        return None
    limit = slowest[0] * (1 + SLACK)
    allowed = {place: time for place, time in allowed.items() if time <= limit}
    cheapest = _best(allowed, count, stages, lambda bytes_, _, begin: bytes_ + crossing[begin])
    return None if cheapest is None else cheapest[1]


def _candidates(times: Sequence[float], crossing: Sequence[float]) -> list[int]:
    """Places for borders: of each `1 / CANDIDATES` of the time the one over which least passes.

    Where a value of unknown type passes, there is no border.
    """
    inner = [index for index in range(1, len(times) - 1) if crossing[index] < math.inf]
    places: dict[int, int] = {}
    for index in inner:
        bucket = int(times[index] / (times[-1] or 1.0) * CANDIDATES)
        if bucket not in places or crossing[index] < crossing[places[bucket]]:
            places[bucket] = index
    chosen = sorted(places.values()) if len(inner) > CANDIDATES else [*inner]
    return [0, *chosen, len(times) - 1]


def _best(
    allowed: Mapping[tuple[int, int], float], count: int, stages: int, combine: Any
) -> tuple[float, list[int]] | None:
    """The least cost of `stages` ranges from 0 to `count`, and their borders (dynamic programming).

    ``combine(cost, time, begin)`` is the cost with another range.
    """
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [0])}
    for _ in range(stages):
        longer: dict[int, tuple[float, list[int]]] = {}
        for (begin, end), time in allowed.items():
            if begin in best:
                cost, borders = best[begin]
                found = combine(cost, time, begin), [*borders, end]
                if end not in longer or found < longer[end]:
                    longer[end] = found
        best = longer
    return best.get(count)


def _stage(whole: onnx.ModelProto, begin: int, end: int, outputs: Sequence[str]) -> onnx.ModelProto:
    """The nodes from `begin` to `end` as a model."""
    graph, nodes = whole.graph, whole.graph.node[begin:end]
    made = {name for node in nodes for name in node.output}
    used = dict.fromkeys(name for node in nodes for name in read_names(node))
    weights = [each for each in graph.initializer if each.name in used]
    constant = {each.name for each in weights}
    infos = {each.name: each for each in (*graph.value_info, *graph.output, *graph.input)}
    inputs = [name for name in used if name in infos and name not in made | constant]
    results = [name for name in outputs if name in made]
    inner = [each for each in graph.value_info if each.name in made]
    part = onnx.helper.make_graph(
        nodes, graph.name, [infos[name] for name in inputs], [infos[name] for name in results],
        weights, value_info=inner,
    )  # fmt: skip
    return onnx.helper.make_model(
        part, ir_version=whole.ir_version, opset_imports=whole.opset_import,
        functions=whole.functions,
    )  # fmt: skip
