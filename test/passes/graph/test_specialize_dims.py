"""Specialisation of dimensions: types, attributes, signatures, and requests that do not fit."""

import numpy as np
import pytest
from graph_programs import build_module, main_of, ops_of

from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.dialects.symbolic import Dim
from graphc.errors import InvalidDimError
from graphc.passes.infra.pipeline import run_pipeline

N, M = Dim.symbol("n"), Dim.symbol("m")


def flatten_and_count(x):
    flat = graph.reshape(graph.relu(x), shape=[N * M])
    return flat, graph.sizes(sizes=[N, M + 1]), graph.expand(flat, shape=[N, N * M])


def specialize(module, dims):
    run_pipeline(module, f"graph-specialize-dims{{dims={dims}}}")
    return module


def shapes(module):
    return [tuple(map(str, graph.type_of(op.operation.results[0]).shape)) for op in ops_of(module)]


def test_everything_that_names_the_dimension_changes(context):
    module = specialize(build_module(flatten_and_count, "nxmxf32"), "n=2,m=3")
    assert shapes(module) == [("2", "3"), ("6",), ("2",), ("2", "6")]
    _, reshape, sizes, expand = ops_of(module)
    assert reshape.attrs["shape"] == (6,)
    assert sizes.attrs["sizes"] == (2, 4)
    assert expand.attrs["shape"] == (2, 6)
    assert "tensor<2x3xf32>) -> (tensor<6xf32>, tensor<2xi64>, tensor<2x6xf32>)" in str(
        main_of(module).attributes["function_type"]
    )


def test_other_dimensions_stay_symbolic(context):
    module = specialize(build_module(flatten_and_count, "nxmxf32"), "n=2")
    assert shapes(module) == [("2", "m"), ("2*m",), ("2",), ("2", "2*m")]


def test_the_program_means_the_same(context):
    x = np.arange(6, dtype=np.float32).reshape(2, 3) - 3
    module = build_module(flatten_and_count, "nxmxf32")
    before = evaluate_function(main_of(module), [x])
    after = evaluate_function(main_of(specialize(module, "n=2,m=3")), [x])
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


def test_dimensions_may_be_made_equal(context):
    module = specialize(build_module(flatten_and_count, "nxmxf32"), "m=n")
    assert shapes(module)[1] == ("n*n",)
    module = specialize(build_module(flatten_and_count, "nxmxf32"), "m=n,n=4")
    assert shapes(module)[1] == ("16",)


def test_empty_tensors_are_possible(context):
    module = specialize(build_module(flatten_and_count, "nxmxf32"), "n=0")
    assert shapes(module)[1] == ("0",)


def test_without_dims_nothing_happens(context):
    module = build_module(flatten_and_count, "nxmxf32")
    text = str(module)
    run_pipeline(module, "graph-specialize-dims")
    assert str(module) == text


def test_inside_groups(context):
    def body(x):
        first = graph.relu(x)
        second = graph.neg(first)
        return graph.fuse([first.owner.opview, second.owner.opview], kind="elementwise")

    module = build_module(body, "nx4xf32")
    run_pipeline(module, "canonicalize")
    specialize(module, "n=2")
    (fused,) = ops_of(module)
    assert [str(graph.type_of(op.result)) for op in fused.ops] == ["2x4xf32", "2x4xf32"]
    assert str(graph.type_of(fused.operation.results[0])) == "2x4xf32"


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ("k=1", "no dimension 'k'; it has m, n"),
        ("n=-1", "-1 is negative"),
        ("n=x", "the model has no dimension 'x'"),
        ("n=1.5", "'1.5' is neither a size nor a dimension"),
        ("n", "'' is neither a size nor a dimension"),
        ("n=m,m=n", "in terms of itself"),
        ("n=n+1", "in terms of itself"),
    ],
)
def test_requests_that_make_no_sense(context, dims, message):
    module = build_module(flatten_and_count, "nxmxf32")
    text = str(module)
    with pytest.raises(InvalidDimError, match=message):
        specialize(module, dims)
    assert str(module) == text


def test_all_problems_at_once(context):
    with pytest.raises(InvalidDimError) as caught:
        specialize(build_module(flatten_and_count, "nxmxf32"), "nn=1,m=-2")
    assert len(str(caught.value).splitlines()) == 2


def test_a_model_without_symbolic_dimensions(context):
    with pytest.raises(InvalidDimError, match="all its sizes are fixed"):
        specialize(build_module(graph.relu, "4xf32"), "n=4")


def test_sizes_that_the_program_cannot_have(context):
    module = build_module(lambda x: graph.reshape(x, shape=[4, Dim.symbol("n") - 1]), "nxf32")
    with pytest.raises(InvalidDimError, match=r"do not fit graph\.reshape at .*: cannot reshape"):
        specialize(module, "n=4")
