"""Comparisons of the results of graphc with those of other implementations.

A compile costs most of a second, so tests put many small cases into one model:

    cases = Cases(opset=18)
    cases.add("Relu", x)
    cases.add("ReduceSum", Feed(x, ["batch", 4]), const([1]), keepdims=0)
    cases.compare_with_onnxruntime()
    cases.compare_evaluation()

The tests of a file share calls of the backend besides: see `harness.compiled_together`.
"""

import contextlib
import functools
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.reference
import onnxruntime
from onnx import helper, numpy_helper

from graphc.cpu_model import GENERIC_CPU
from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.frontend.onnx import import_onnx
from graphc.mlir import func, ir
from graphc.passes.infra.optimistic import run_optimistically
from graphc.passes.infra.pipeline import run_pipeline
from graphc.passes.pipelines import lowering_pipeline
from graphc.runtime import CompiledModel, ModelMetadata, TensorSpec, resolve_target
from harness.compiled_together import NOT_MEMOIZED, compile_module, load
from harness.variation import order_of_calls

IR_VERSION = 10
FLAGS = ("--mlir-disable-threading", NOT_MEMOIZED)
"""Backend flags: one thread, because a second one gains nothing while tests run in parallel, and no
memoized command buffers."""
TOLERANCE = {"float64": 1e-11, "float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
"""Relative and absolute tolerance, by the element type of the result."""


@dataclass(frozen=True)
class Feed:
    """An input of a case, with names for some of its dimensions. The names belong to the case."""

    array: np.ndarray
    dims: Sequence[int | str]


@dataclass(frozen=True)
class Const:
    """An input of a case that is a constant of the model."""

    array: np.ndarray


def const(values: Any, dtype: Any = None) -> Const:
    """An initializer; integers are int64 and floats float32 unless `dtype` says otherwise."""
    array = np.asarray(values, dtype)
    if dtype is None and array.dtype == np.float64:
        array = array.astype(np.float32)
    return Const(array)


@dataclass
class Cases:
    """Nodes without connections among them, as one model."""

    opset: int = 21
    domains: Mapping[str, int] = field(default_factory=dict)
    """Opsets of other domains than ONNX's own; a node's is its attribute `domain`."""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    feeds: dict[str, np.ndarray] = field(default_factory=dict)
    tolerances: dict[str, float] = field(default_factory=dict)

    def add(
        self,
        op_type: str,
        *inputs: "np.ndarray | Feed | Const | None",
        outputs: int = 1,
        tolerance: float | None = None,
        **attributes: Any,
    ) -> None:
        """One node: an array is fed, a `Const` is an initializer, None is left out."""
        case = f"{op_type}_{len(self.nodes)}"
        names = [self._input(case, i, given) for i, given in enumerate(inputs)]
        results = [f"{case}_out{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op_type, names, results, name=case, **attributes))
        self.outputs += results
        if tolerance is not None:
            self.tolerances |= dict.fromkeys(results, tolerance)

    def _input(self, case: str, index: int, given: "np.ndarray | Feed | Const | None") -> str:
        if given is None:
            return ""
        name = f"{case}_in{index}"
        if isinstance(given, Const):
            self.initializers.append(numpy_helper.from_array(given.array, name))
            return name
        feed = given if isinstance(given, Feed) else Feed(given, given.shape)
        kind = helper.np_dtype_to_tensor_dtype(feed.array.dtype)
        dims = [f"{case}_{dim}" if isinstance(dim, str) else dim for dim in feed.dims]
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        self.feeds[name] = feed.array
        return name

    def model(self) -> onnx.ModelProto:
        opsets = {"": self.opset, **self.domains}
        return _model(self.nodes, self.inputs, self.outputs, self.initializers, opsets)

    def compare_with_onnxruntime(self) -> None:
        """Compiled results, and the ops' numpy meanings, against ONNX Runtime."""
        self.compare_calls_with_onnxruntime([])

    def compare_calls_with_onnxruntime(self, others: Sequence[Mapping[str, np.ndarray]]) -> None:
        """The same with `others` as feeds, too: see `compare_with_onnxruntime`."""
        compare_with_onnxruntime(self.model(), self.feeds, others, tolerances=self.tolerances)

    def compare_evaluation_with_onnxruntime(self) -> None:
        """The ops' numpy meanings alone against ONNX Runtime."""
        model = self.model()
        expected = run_onnxruntime(model, self.feeds)
        found = evaluate(model, self.feeds)
        compare(found, expected, self.outputs, self.tolerances, what="evaluated")

    def compare_evaluation(self) -> None:
        """The ops' numpy meanings against the reference evaluator of ONNX."""
        compare_evaluation(self.model(), self.feeds, tolerances=self.tolerances)

    def compare_compiled_with_evaluation(self) -> None:
        """Compiled results against the ops' numpy meanings, where no other implementation is."""
        model = self.model()
        expected = evaluate(model, self.feeds)
        compare(run_compiled(model, self.feeds), expected, self.outputs, self.tolerances)


def summable(integers: np.ndarray) -> np.ndarray:
    """`integers`, those of int8 halved where ONNX Runtime's sums of their products saturate."""
    return integers >> 1 if integers.dtype == np.int8 and _onnxruntime_saturates() else integers


@functools.cache
def _onnxruntime_saturates() -> bool:
    """Return whether ONNX Runtime adds products of 8-bit integers in 16 bits, as it does with AVX2
    only."""
    node = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    model = build_model(
        [node], {"a": (np.uint8, [1, 4])}, ["y"], {"b": np.full((4, 1), 127, np.int8)}
    )
    (found,) = run_onnxruntime(model, {"a": np.full((1, 4), 255, np.uint8)})
    return bool(found.item() != 4 * 255 * 127)


def build_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[Any, Sequence[int | str]]],
    outputs: Sequence[str],
    initializers: Mapping[str, Any] | None = None,
    opset: int = 21,
) -> onnx.ModelProto:
    """A model of connected nodes. `inputs` gives element types and shapes by name."""
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(shape)
        )
        for name, (dtype, shape) in inputs.items()
    ]
    tensors = [
        numpy_helper.from_array((given if isinstance(given, Const) else const(given)).array, name)
        for name, given in (initializers or {}).items()
    ]
    return _model(nodes, infos, outputs, tensors, {"": opset})


def _model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[str],
    initializers: Sequence[onnx.TensorProto],
    opsets: Mapping[str, int],
) -> onnx.ModelProto:
    """A model whose output types are left to inference."""
    infos = [onnx.ValueInfoProto(name=name) for name in outputs]
    proto = helper.make_graph(nodes, "cases", inputs, infos, initializers)
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(proto, opset_imports=imports, ir_version=IR_VERSION)


def compare_with_onnxruntime(
    model: onnx.ModelProto,
    feeds: Mapping[str, np.ndarray],
    others: Sequence[Mapping[str, np.ndarray]] = (),
    **options: Any,
) -> None:
    """Check the compiled `model` and its meaning in numpy against ONNX Runtime on `feeds`.

    With `others`, the compiled one is called with all of them, again and again.
    """
    everything, names = [feeds, *others], output_names(model)
    expected = [run_onnxruntime(model, each) for each in everything]
    for each, wanted in zip(everything, expected, strict=True):
        compare(evaluate(model, each), wanted, names, what="evaluated", **options)
    with contextlib.closing(compile_model(model)) as compiled:
        for number in order_of_calls(len(everything)) if others else [0]:
            found = compiled.run(None, dict(everything[number]))
            compare(found, expected[number], names, what=f"compiled, inputs {number}", **options)


def compare_evaluation(
    model: onnx.ModelProto, feeds: Mapping[str, np.ndarray], **options: Any
) -> None:
    """Check the numpy meanings of the ops of `model` against ONNX's reference evaluator."""
    with np.errstate(all="ignore"):
        expected = onnx.reference.ReferenceEvaluator(model).run(None, dict(feeds))
    compare(evaluate(model, feeds), expected, output_names(model), **options)


def compare(
    actual: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    names: Sequence[str],
    tolerances: Mapping[str, float] | None = None,
    what: str = "compiled",
) -> None:
    """Check results by element type, shape and value; reports every one that differs."""
    problems = []
    for name, have, want in zip(names, actual, expected, strict=True):
        tolerance = (tolerances or {}).get(name, TOLERANCE.get(have.dtype.name, 0.0))
        problem = _difference(have, np.asarray(want), tolerance)
        if problem:
            problems.append(f"{name}, {what}, {problem}")
    assert not problems, "\n".join(problems)


def _difference(have: np.ndarray, want: np.ndarray, tolerance: float) -> str:
    if (have.dtype, have.shape) != (want.dtype, want.shape):
        return f"is {have.dtype}{list(have.shape)}, not {want.dtype}{list(want.shape)}"
    if tolerance == 0:
        equal = have == want
    else:
        wide = [array.astype(np.float64) for array in (have, want)]
        equal = np.isclose(*wide, rtol=tolerance, atol=tolerance, equal_nan=True)
    if equal.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~equal)[0])
    return f"{(~equal).sum()} of {equal.size} differ; at {at}: {have[at]} is not {want[at]}"


def output_names(model: onnx.ModelProto) -> list[str]:
    return [info.name for info in model.graph.output]


def run_onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The results of ONNX Runtime without its graph optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, dict(feeds))


def evaluate(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The results of the imported `model`, evaluated in numpy."""
    module = import_onnx(model)
    with module.context:
        (function,) = module.body.operations
        arguments = [feeds[info.name] for info in fed_inputs(model)]
        return list(evaluate_function(function, arguments))


def run_compiled(
    model: onnx.ModelProto, feeds: Mapping[str, np.ndarray], pipeline: str = "", **options: Any
) -> list[np.ndarray]:
    """The results of the compiled `model`. `options` are those of `compile_module`."""
    with contextlib.closing(compile_model(model, pipeline, **options)) as compiled:
        return compiled.run(None, dict(feeds))


def compile_model(model: onnx.ModelProto, pipeline: str = "", **options: Any) -> CompiledModel:
    """Import, lower and compile `model` without any rewrite but those of `pipeline`, for a CPU that
    kernels are not written for."""
    compiled = compile_module(
        _lowered(model, pipeline),
        target=resolve_target("cpu"),
        threads=1,
        extra_flags=FLAGS,
        **options,
    )
    return load(compiled, threads=1)


def _lowered(model: onnx.ModelProto, pipeline: str) -> bytes:
    """The program of `model` for the backend."""
    module = import_onnx(model)
    if pipeline:
        run_pipeline(module, pipeline)
    with module.context as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True  # the reflection attribute below is IREE's
        (function,) = module.body.operations
        _describe(function, [i.name for i in fed_inputs(model)], output_names(model))
        run_optimistically(module, lowering_pipeline("cpu", GENERIC_CPU), find_changes=False)
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
    return bytecode.getvalue()


def fed_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    known = {tensor.name for tensor in model.graph.initializer}
    return [info for info in model.graph.input if info.name not in known]


def _describe(function: func.FuncOp, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Attach the metadata that the runtime reads."""
    block = function.entry_block
    results = list(block.operations)[-1].operation.operands
    metadata = ModelMetadata(
        "cases", _specs(inputs, block.arguments), _specs(outputs, results)
    ).to_json()
    reflection = ir.DictAttr.get({"graphc": ir.StringAttr.get(metadata)})
    function.attributes["iree.reflection"] = reflection


def _specs(names: Sequence[str], values: Sequence[ir.Value]) -> tuple[TensorSpec, ...]:
    specs = []
    for name, value in zip(names, values, strict=True):
        type_ = graph.type_of(value)
        sizes = [size if isinstance(size, int) else str(size) for size in type_.shape]
        specs.append(TensorSpec(name, tuple(sizes), type_.dtype.name))
    return tuple(specs)
