"""Values that are remembered about types, and for how long."""

import gc
import weakref

import numpy as np

from graphc.dialects.graph import TensorType, types
from graphc.dialects.remembering import remembered, remembering
from graphc.dialects.symbolic import Dim
from graphc.mlir import create_context, ir


def test_results_are_kept_within_the_context_only():
    asked = []

    @remembered
    def double(number):
        asked.append(number)
        return 2 * number

    assert [double(1), double(1)] == [2, 2]
    assert asked == [1, 1]
    with remembering():
        assert [double(3), double(3)] == [6, 6]
        with remembering():  # within another one, it begins nothing new
            assert double(3) == 6
        assert double(3) == 6
    assert asked == [1, 1, 3]
    double(3)
    assert asked == [1, 1, 3, 3]


def test_functions_do_not_share_results_and_errors_are_not_kept():
    calls = []

    @remembered
    def one(number):
        return number + 1

    @remembered
    def refuse(number):
        calls.append(number)
        raise ValueError("no")

    with remembering():
        assert one(1) == 2
        for _ in range(2):
            try:
                refuse(1)
            except ValueError:
                continue
    assert calls == [1, 1]


def test_types_of_two_contexts_are_told_apart():
    type_ = TensorType((2, Dim.symbol("n")), np.dtype(np.float32))
    with remembering():
        made = []
        for _ in range(2):
            with create_context(), ir.Location.unknown():
                made.append(types.to_mlir(type_))
        assert made[0].context is not made[1].context
        assert [types.from_mlir(each) for each in made] == [type_, type_]


def test_the_context_lives_no_longer():
    with remembering():
        context = create_context()
        with context:
            types.from_mlir(ir.Type.parse("tensor<2xf32>"))
        alive = weakref.ref(context)
        del context
    gc.collect()
    assert alive() is None
