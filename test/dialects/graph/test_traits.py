"""Facts that passes ask of ops: every op states those of its group, and what it states holds."""

import itertools

import numpy as np
import pytest

from graphc.dialects import graph

RNG = np.random.default_rng(0)


def name_of(op_class):
    return op_class.OPERATION_NAME


def own(op_classes):
    """The ops of the dialect, without those that other tests may have added."""
    return [each for each in op_classes if each.__module__.startswith("graphc.")]


def is_fact(fact):
    return fact is True or (isinstance(fact, str) and fact != "")


OPS = own(graph.op_classes_of(graph.GraphOp))
ALONG_AXIS = [op_class for op_class in OPS if op_class.along_axis is True]


@pytest.mark.parametrize("op_class", OPS, ids=name_of)
def test_mixed_precision_is_stated(op_class):
    assert isinstance(op_class.amp, graph.MixedPrecision), "state `amp`"


@pytest.mark.parametrize("op_class", OPS, ids=name_of)
def test_ops_with_an_axis_state_whether_others_are_in_any_order(op_class):
    if "axis" in op_class.attribute_kinds:
        assert is_fact(op_class.along_axis), "state `along_axis`"
    else:
        assert op_class.along_axis is None


@pytest.mark.parametrize("op_class", ALONG_AXIS, ids=name_of)
def test_other_axes_are_in_any_order(op_class):
    x = RNG.random((2, 3, 4), np.float32)
    attrs = {name: 1 if kind.name == "integer" else 0.5 for name, kind in kinds(op_class)}
    for perm, axis in itertools.product(itertools.permutations(range(3)), range(3)):
        size = x.shape[perm[axis]]
        others = [RNG.random(size, np.float32) for _ in op_class.operand_names[1:]]
        moved = op_class.evaluate(np.transpose(x, perm), *others, **{**attrs, "axis": axis})
        there = op_class.evaluate(x, *others, **{**attrs, "axis": perm[axis]})
        assert there.shape == x.shape
        np.testing.assert_allclose(moved, np.transpose(there, perm), rtol=1e-5)


SCALARS = own([*graph.op_classes_of(graph.UnaryOp), *graph.op_classes_of(graph.BinaryOp)])


@pytest.mark.parametrize("op_class", SCALARS, ids=name_of)
def test_results_that_jump_are_of_rounded_operands(op_class):
    """Ops that give integers or truth values need not say so."""
    x = np.arange(-3, 3.5, 0.5)
    numbers = enumerate(kinds(op_class), start=1)
    attrs = {name: "none" if kind.name == "string" else i / 2 for i, (name, kind) in numbers}
    others = [np.full_like(x, 1.5)] * (len(op_class.operand_names) - 1)
    try:
        result = op_class.infer(*[graph.TensorType(x.shape, x.dtype)] * (1 + len(others)), **attrs)
    except graph.TypeRuleError:
        return
    if not graph.is_float(result.dtype):
        return
    with np.errstate(all="ignore"):
        before, after = (op_class.evaluate(x + step, *others, **attrs) for step in (-1e-9, 1e-9))
    jumps = bool((abs(after - before) > 0.1)[abs(before) < 1e6].any())
    assert jumps == (op_class.excess is graph.ExcessPrecision.NEVER)


def kinds(op_class):
    return op_class.attribute_kinds.items()


@pytest.mark.parametrize("op_class", own(graph.op_classes_of(graph.BinaryOp)), ids=name_of)
def test_binary_ops_commute_if_they_say_so(op_class):
    a, b = (np.array(each) for each in zip(*itertools.product(range(-2, 3), repeat=2), strict=True))
    for dtype in (np.float32, np.int32, np.bool_):
        type_ = graph.TensorType(a.shape, np.dtype(dtype))
        try:
            op_class.infer(type_, type_)
        except graph.TypeRuleError:
            continue
        x, y = a.astype(dtype), b.astype(dtype)
        with np.errstate(all="ignore"):
            results = op_class.evaluate(x, y), op_class.evaluate(y, x)
        commutes = np.array_equal(*results, equal_nan=dtype is np.float32)
        assert commutes == op_class.commutative, dtype
