"""Facts that passes ask of lowering rules: every rule of a group states them, and they hold."""

import functools

import numpy as np
import pytest
from graph_programs import build_module, ops_of

from graphc.dialects import graph
from graphc.mlir import func, ir
from graphc.passes.graph_to_linalg.convert import load_rules
from graphc.passes.graph_to_linalg.kernel_rules import kernel_of
from graphc.passes.graph_to_linalg.lowering import plain_element
from graphc.passes.graph_to_linalg.scalar_rules import (
    INTEGERS,
    NUMBERS,
    apply_scalar_rule,
    plain_vector_fact,
    vector_fact,
)

load_rules()

LANES = 8
ATTRIBUTES = {"float": 0.5, "string": "tanh"}
"""A value for each kind of attribute that elementwise ops on f32 have."""


def ops(base):
    """The ops of the dialect, without those that other tests may have added."""
    found = graph.op_classes_of(base)
    return [each for each in found if each.__module__.startswith("graphc.")]


def name_of(op_class):
    return op_class.OPERATION_NAME


ELEMENTWISE = ops(graph.ElementwiseOp)
VECTOR = [op_class for op_class in ELEMENTWISE if vector_fact(op_class) is True]


@pytest.mark.parametrize("op_class", ELEMENTWISE, ids=name_of)
def test_elementwise_ops_work_on_vectors_or_say_why_not(op_class):
    fact = vector_fact(op_class)
    assert fact is True or (isinstance(fact, str) and fact)


@pytest.mark.parametrize("op_class", VECTOR, ids=name_of)
def test_rules_work_on_vectors(op_class, context):
    attrs = {name: ATTRIBUTES[kind.name] for name, kind in op_class.attribute_kinds.items()}
    operands = [f"{LANES}xf32"] * len(op_class.operand_names)
    module = build_module(lambda *xs: graph.build(op_class, xs, attrs), *operands)
    (op,) = ops_of(module)
    assert graph.type_of(op.result).dtype == np.float32
    _check_on_vectors(op)


def _check_on_vectors(op):
    """The rule of `op` maps vectors of its operands to one of its result."""
    values = (op.operation.operands, op.operation.results)
    operands, results = (
        [ir.VectorType.get([LANES], plain_element(graph.element_dtype_of(x))) for x in each]
        for each in values
    )
    kernel = ir.Module.create()
    with ir.InsertionPoint(kernel.body):
        block = func.FuncOp("kernel", (operands, results)).add_entry_block()
        with ir.InsertionPoint(block):
            func.ReturnOp([apply_scalar_rule(op, list(block.arguments))])
    assert kernel.operation.verify()


PLAIN = {
    graph.AddOp: NUMBERS - {np.dtype(np.bool_)},
    graph.ModOp: INTEGERS - {np.dtype(np.bool_)},
    graph.LessOp: NUMBERS - {np.dtype(np.bool_)},
    graph.EqualOp: NUMBERS,
    graph.AndOp: {np.dtype(np.bool_)},
    graph.ShiftLeftOp: {dtype for dtype in INTEGERS if dtype.kind == "u"},
    graph.WhereOp: NUMBERS,
    graph.IsInfOp: {np.dtype(np.float32), np.dtype(np.float64)},
    graph.SigmoidOp: {np.dtype(np.float16), np.dtype(np.float32)},
}
"""Types of the elements that the rules of these ops take as vectors."""


def _built(op_class, attrs, *operands):
    return graph.build(op_class, operands, attrs)


@pytest.mark.parametrize("op_class", PLAIN, ids=name_of)
def test_rules_work_on_vectors_of_other_types(op_class, context):
    for dtype in PLAIN[op_class]:
        attrs = {name: True for name in op_class.attribute_kinds}
        operands = [f"{LANES}x{graph.element_type(dtype)}"] * len(op_class.operand_names)
        if op_class is graph.WhereOp:
            operands[0] = f"{LANES}xi1"
        (op,) = ops_of(build_module(functools.partial(_built, op_class, attrs), *operands))
        assert plain_vector_fact(op) is True
        _check_on_vectors(op)


@pytest.mark.parametrize("source", sorted(NUMBERS, key=str), ids=str)
def test_vectors_are_cast(source, context):
    for target in NUMBERS - {source}:
        operand = f"{LANES}x{graph.element_type(source)}"
        (op,) = ops_of(build_module(functools.partial(graph.cast, to=target), operand))
        assert plain_vector_fact(op) is True
        _check_on_vectors(op)


@pytest.mark.parametrize("op_class", ops(graph.GraphOp), ids=name_of)
def test_contractions_for_a_kernel_have_one_that_takes_an_epilogue(op_class):
    assert (kernel_of(op_class) is not None) == issubclass(op_class, graph.KernelContraction)
