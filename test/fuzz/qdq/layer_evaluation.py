"""Evaluation of a QDQ graph op by op, and the values that rounding leaves open.

The reference of a graph is the graph as written: each node by ONNX Runtime without optimisations,
or by ONNX's evaluator where that lacks the type, in f32, with the integers rounded wherever a node
says so. A *layer* is what lies between quantised values. Its result is determined to the bit as
long as its nodes are functions that IEEE 754 defines (sums and products of two values, quotients,
casts, movement); one that sums several products or computes an exponential is known up to rounding.
An element whose quotient lies that near to the middle between two integers has two right answers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

from ..drawn_values import is_float
from ..node_evaluation import Rejected, evaluate_node
from .qlinear_bodies import body_of
from .quantized_values import is_quantized_type

Arrays = Mapping[str, np.ndarray]

ULPS = 8
"""Units in the last place that a sum of products or a function may be off, relative to the sum of
the magnitudes of its products or to the largest result. Results of functions below 1 count as 1:
the Sigmoid of ONNX Runtime is off by 6e-4 of itself at -10."""
SIGNS = 6
"""Number of evaluations with errors. Two of them have all errors in one direction."""

_CONTRACTIONS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
_SUMS = ("AveragePool", "GlobalAveragePool", "ReduceMean", "Resize")
_FUNCTIONS = ("Celu", "Cos", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish",
              "Mish", "Selu", "Sigmoid", "Sin", "Softmax", "Softplus", "Softsign",
              "Tanh")  # fmt: skip


@dataclass(frozen=True)
class JudgedLayer:
    """A quantised result of a node, or a result of floats, for the values of the layers before."""

    name: str
    wanted: np.ndarray
    low: np.ndarray
    """The smallest of the right answers, elementwise."""
    high: np.ndarray


class LayerEvaluation:
    """Evaluation of `model`, whose nodes are in order, on arrays."""

    def __init__(self, model: onnx.ModelProto):
        self._nodes = [part for node in model.graph.node for part in body_of(node) or [node]]
        self._opset = max(each.version for each in model.opset_import if not each.domain)
        self._weights = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self._names = [info.name for info in model.graph.output]

    def outputs(self, feeds: Arrays) -> dict[str, np.ndarray]:
        """The outputs for `feeds`. Raises `Rejected` if a node cannot be evaluated."""
        values = {**feeds, **self.computed(feeds)}
        return {name: values[name] for name in self._names}

    def computed(self, feeds: Arrays) -> dict[str, np.ndarray]:
        """The results of all nodes for `feeds`. Raises `Rejected` if one cannot be evaluated."""
        values, found = {**self._weights, **feeds}, dict[str, np.ndarray]()
        for node in self._nodes:
            results = self._results(node, values)
            values |= results
            found |= results
        return found

    def layers(self, feeds: Arrays, given: Arrays) -> Iterator[JudgedLayer]:
        """The results in `given`, each as it follows from the other values in `given`."""
        values = {**self._weights, **feeds}
        erring = [dict(values) for _ in range(SIGNS)]
        random = np.random.default_rng(0)
        for node in self._nodes:
            results = self._results(node, values)
            others = [self._with_errors(node, values, each, n, random, results)
                      for n, each in enumerate(erring)]  # fmt: skip
            for name, wanted in results.items():
                if name in given:
                    yield _layer(name, wanted, [each[name] for each in others])
                replaced = name in given and is_quantized_type(wanted.dtype)
                values[name] = given[name] if replaced else wanted
                for each, found in zip(erring, others, strict=True):
                    each[name] = given[name] if replaced else found[name]

    def _results(self, node: onnx.NodeProto, values: Arrays) -> dict[str, np.ndarray]:
        feeds = {name: values[name] for name in node.input if name}
        arrays, _ = evaluate_node(node, feeds, self._opset)
        return dict(zip((name for name in node.output if name), arrays, strict=True))

    def _with_errors(
        self,
        node: onnx.NodeProto,
        values: Arrays,
        erring: Arrays,
        number: int,
        random: np.random.Generator,
        results: Arrays,
    ) -> Arrays:
        """The results of `node` on `erring`, with an error of its own in direction `number`."""
        same = all(erring[name] is values[name] for name in node.input if name)
        found = results if same else self._results(node, erring)
        size = self._error(node, erring, found)
        if size is None:
            return found
        ((name, y),) = found.items()
        signs = random.choice((-1, 1), y.shape) if number > 1 else (1, -1)[number]
        return {name: (y + signs * size).astype(y.dtype)}

    def _error(self, node: onnx.NodeProto, values: Arrays, found: Arrays) -> np.ndarray | None:
        """The largest error of the results of `node` beyond that of its operands; None if it has
        none."""
        y = next(iter(found.values()))
        if not is_float(y.dtype) or not y.size:
            return None
        if y.dtype == np.float64:  # integers, whose sums are exact
            return None
        eps = ULPS * float(ml_dtypes.finfo(y.dtype).eps)
        if node.op_type in _CONTRACTIONS:
            sizes = {name: np.abs(values[name]) for name in node.input if name}
            return eps * next(iter(self._results(node, sizes).values()))
        if node.op_type in _SUMS:
            sizes = [np.abs(values[name]).max(initial=0) for name in node.input[:1]]
            return np.full(y.shape, eps * sizes[0])
        if node.op_type in _FUNCTIONS:
            return np.full(y.shape, eps * max(np.abs(y).max(), 1))
        if node.op_type == "LayerNormalization":
            return eps * (max(np.abs(y).max(), 1) + _shift_of_mean(node, values))
        return None


def _shift_of_mean(node: onnx.NodeProto, values: Arrays) -> np.ndarray:
    """The change of the results of a layer normalization if each mean is off by the mean of the
    magnitudes: much where a row varies little around a large mean."""
    options = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    x, scale = (values[name].astype(np.float64) for name in node.input[:2])
    axes = tuple(range(options.get("axis", -1) % x.ndim, x.ndim))
    deviation = np.sqrt(x.var(axes, keepdims=True) + options.get("epsilon", 1e-5))
    return np.abs(x).mean(axes, keepdims=True) / deviation * np.abs(scale)


def _layer(name: str, wanted: np.ndarray, others: Sequence[np.ndarray]) -> JudgedLayer:
    low = high = wanted
    for other in others:
        low, high = np.minimum(low, other), np.maximum(high, other)
    return JudgedLayer(name, wanted, low, high)


def expected_outputs(model: onnx.ModelProto, feeds: Arrays) -> dict[str, np.ndarray] | None:
    """The outputs of `model` for `feeds`; None if a node refuses its operands."""
    try:
        return LayerEvaluation(model).outputs(feeds)
    except Rejected:
        return None
