"""Questions about the graph."""

import ml_dtypes
import numpy as np
import pytest
from graph_programs import build_module, main_of, ops_of

from graphc.dialects import graph
from graphc.passes.infra.query import (
    constant_array,
    constant_scalar,
    has_one_use,
    is_dead,
    producer,
    same_type,
)

SCALARS = [
    np.float32(0.1),
    np.float32(np.inf),
    np.float64(-0.0),
    np.float16(65504),
    ml_dtypes.bfloat16(1.5),
    ml_dtypes.float8_e4m3fn(0.875),
    np.int8(-128),
    np.uint8(255),
    np.int64(-(2**63)),
    np.uint64(2**64 - 1),
    ml_dtypes.int4(-8),
    np.bool_(True),
]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda s: s.dtype.name)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_constant_scalars_of_all_element_types(context, scalar, shape):
    array = np.full(shape, scalar, dtype=scalar.dtype)
    module = build_module(lambda: graph.constant(value=array))
    value = main_of(module).regions[0].blocks[0].operations[0].operation.results[0]
    found = constant_scalar(value)
    assert found.dtype == scalar.dtype
    assert found == scalar
    assert np.signbit(float(found)) == np.signbit(float(scalar))
    np.testing.assert_array_equal(constant_array(value), array)


def test_what_is_no_scalar_constant(context):
    def body(x):
        return graph.add(x, graph.constant(value=np.ones(4, np.float32)))

    (add,) = ops_of(build_module(body, "4xf32"))
    assert constant_scalar(add.a) is None
    assert constant_scalar(add.b) is None
    assert constant_array(add.a) is None
    np.testing.assert_array_equal(constant_array(add.b), np.ones(4, np.float32))


def test_uses_and_producers(context):
    def body(x):
        shared, single = graph.exp(x), graph.log(x)
        graph.sin(x)
        return graph.add(shared, shared), graph.neg(single)

    exp, log, sin, add, neg = ops_of(build_module(body, "4xf32"))
    assert not has_one_use(exp.result)
    assert has_one_use(log.result)
    assert not has_one_use(sin.result)
    assert is_dead(sin)
    assert not is_dead(log)
    assert producer(add.a, graph.ExpOp) == exp
    assert producer(add.a, graph.LogOp) is None
    assert producer(neg.x, graph.LogOp) == log
    assert producer(exp.x, graph.LogOp) is None
    assert same_type(exp.result, exp.x)
