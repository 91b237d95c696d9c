"""The greedy driver: firing, declining, locations, errors, and speed."""

import time

import numpy as np
import pytest
from graph_programs import build_module, main_of, op_names, ops_of

from graphc.dialects import graph
from graphc.dialects.locations import MAX_FUSED, location_names
from graphc.errors import LoweringError, PassError
from graphc.mlir import ir
from graphc.passes.infra.base import PassState
from graphc.passes.infra.greedy import apply_rewrites
from graphc.passes.infra.query import constant_scalar, has_one_use, producer
from graphc.passes.infra.rewrite import Decline, Rewrite, rewrite


class AddOfNeg(Rewrite):
    """``a + -b  -->  a - b``."""

    name = "add-of-neg"
    root = graph.AddOp

    def pattern(self, op):
        neg = producer(op.b, graph.NegOp)
        return None if neg is None else {"neg": neg}

    def check(self, op, neg):
        return None if has_one_use(op.b) else "the negation has other uses"

    def rewrite(self, op, neg):
        return graph.sub(op.a, neg.x)


@rewrite(graph.ReluOp)
def relu_to_max(op):
    return graph.max_(op.x, graph.constant(value=np.zeros((), np.float32)))


@rewrite(graph.MaxOp)
def max_to_relu(op):
    return graph.relu(op.a) if constant_scalar(op.b) == 0 else None


@rewrite(graph.AbsOp)
def fail(op):
    raise KeyError("no such thing")


def named(name, builder, *operands, **attrs):
    with ir.Location.name(name):
        return builder(*operands, **attrs)


def add_of_neg(x, y):
    return named("sum", graph.add, x, named("minus", graph.neg, y))


def apply(module, *rewrites, **options):
    state = PassState(pass_name="test-pass")
    apply_rewrites(main_of(module), rewrites, state, **options)
    module.operation.verify()
    return state.report.rewrites


def test_fires_counts_and_erases_what_died(context):
    module = build_module(add_of_neg, "4xf32", "4xf32")
    statistics = apply(module, AddOfNeg)
    assert op_names(module) == ["sub"]
    assert (statistics["add-of-neg"].count, statistics["add-of-neg"].nodes) == (1, ["sum"])


def test_locations_are_fused_in_the_order_of_the_graph(context):
    module = build_module(add_of_neg, "4xf32", "4xf32")
    apply(module, AddOfNeg)
    (sub,) = ops_of(module)
    assert location_names(sub.location) == ("minus", "sum")


def test_what_lives_on_gives_no_name(context):
    @rewrite(graph.AddOp)
    def add_to_sub(op):
        return graph.sub(op.a, graph.neg(op.b))

    def body(x):
        inner = named("inner", graph.exp, x)
        return named("outer", graph.add, inner, inner), inner

    module = build_module(body, "4xf32")
    apply(module, add_to_sub)
    assert op_names(module) == ["exp", "neg", "sub"]
    assert [location_names(op.location) for op in ops_of(module)] == [
        ("inner",),
        ("outer",),
        ("outer",),
    ]


def test_fused_locations_are_distinct_and_bounded(context):
    @rewrite(graph.NegOp)
    def drop_pairs(op):
        inner = producer(op.x, graph.NegOp)
        return graph.abs_(inner.x) if inner is not None else None

    @rewrite(graph.AbsOp)
    def abs_of_abs(op):
        inner = producer(op.x, graph.AbsOp)
        return graph.abs_(inner.x) if inner is not None else None

    def body(x):
        for index in range(60):
            x = named(f"n{index // 2}", graph.neg, x)
        return x

    module = build_module(body, "4xf32")
    apply(module, drop_pairs, abs_of_abs)
    (op,) = ops_of(module)
    names = location_names(op.location)
    assert len(names) == len(set(names)) == MAX_FUSED
    assert names[0] == "n0"


def test_declines_are_recorded_once_with_node_and_reason(context):
    def body(x, y):
        minus = graph.neg(y)
        return named("sum", graph.add, x, minus), minus

    module = build_module(body, "4xf32", "4xf32")
    statistics = apply(module, AddOfNeg)
    assert op_names(module) == ["neg", "add"]
    assert statistics["add-of-neg"].count == 0
    assert statistics["add-of-neg"].declined == {"the negation has other uses": ["sum"]}


def test_a_decline_that_no_longer_holds_is_forgotten(context):
    """Erasing dead producers at once makes later one-use checks right."""

    @rewrite(graph.AbsOp)
    def abs_of_neg(op):
        inner = producer(op.x, graph.NegOp)
        return graph.abs_(inner.x) if inner is not None else None

    def body(x, y):
        minus = graph.neg(y)
        return named("sum", graph.add, x, minus), graph.abs_(minus)

    module = build_module(body, "4xf32", "4xf32")
    statistics = apply(module, AddOfNeg, abs_of_neg)
    assert sorted(op_names(module)) == ["abs", "sub"]
    assert statistics["add-of-neg"].declined == {}
    assert statistics["add-of-neg"].count == 1


@pytest.mark.parametrize("how", ["return", "raise"])
def test_functions_decline(context, how):
    @rewrite(graph.ExpOp)
    def never(op):
        if how == "raise":
            raise Decline("never")
        return Decline("never")

    module = build_module(lambda x: named("e", graph.exp, x), "4xf32")
    assert apply(module, never)["never"].declined == {"never": ["e"]}


def test_several_results_and_roots(context):
    class Both(Rewrite):
        name = "both"
        root = (graph.ExpOp, "graph.log")

        def pattern(self, op):
            return {}

        def rewrite(self, op):
            return [graph.neg(op.x)]

    module = build_module(lambda x: graph.exp(graph.log(x)), "4xf32")
    assert apply(module, Both)["both"].count == 2
    assert op_names(module) == ["neg", "neg"]


def test_first_rewrite_in_the_list_wins(context):
    @rewrite(graph.ReluOp)
    def first(op):
        return graph.abs_(op.x)

    module = build_module(graph.relu, "4xf32")
    assert list(apply(module, first, relu_to_max)) == ["first"]


def test_exceptions_name_rewrite_and_node(context):
    module = build_module(lambda x: named("here", graph.abs_, x), "4xf32")
    with pytest.raises(PassError, match="rewrite 'fail' at 'here': KeyError: 'no such thing'") as e:
        apply(module, fail)
    assert e.value.pass_name == "test-pass"
    assert isinstance(e.value.__cause__, KeyError)


@pytest.mark.parametrize("error", [LoweringError("as it is"), KeyboardInterrupt()])
def test_other_exceptions_arrive_as_they_are(context, error):
    @rewrite(graph.AbsOp)
    def raises(op):
        raise error

    with pytest.raises(type(error)) as e:
        apply(build_module(graph.abs_, "4xf32"), raises)
    assert e.value is error


def test_type_errors_of_builders_arrive_located(context):
    @rewrite(graph.AbsOp)
    def wrong(op):
        return graph.reshape(op.x, shape=[5])

    module = build_module(lambda x: named("here", graph.abs_, x), "4xf32")
    with pytest.raises(PassError, match="rewrite 'wrong' at 'here': TypeRuleError: cannot reshape"):
        apply(module, wrong)


def test_replacements_keep_type_and_number(context):
    @rewrite(graph.AbsOp)
    def retype(op):
        return graph.cast(op.x, to=np.float64)

    @rewrite(graph.AbsOp)
    def nothing(op):
        return []

    @rewrite(graph.AbsOp)
    def itself(op):
        return op.operation.results[0]

    for wrong, message in [
        (retype, "cannot replace one of tensor<4xf32>"),
        (nothing, "0 values for 1 results"),
        (itself, "replaces the op by itself"),
    ]:
        with pytest.raises(PassError, match=message):
            apply(build_module(graph.abs_, "4xf32"), wrong)


def test_rewrites_that_undo_each_other_are_an_error(context):
    module = build_module(lambda x: named("here", graph.relu, x), "4xf32")
    with pytest.raises(
        PassError, match=r"do not come to an end; last fired: .*relu-to-max at 'here'"
    ):
        apply(module, relu_to_max, max_to_relu)


def test_rewrites_that_grow_the_program_are_an_error(context):
    @rewrite(graph.AbsOp)
    def grow(op):
        return graph.abs_(graph.abs_(op.x))

    with pytest.raises(PassError, match="do not come to an end; last fired: grow"):
        apply(build_module(graph.abs_, "4xf32"), grow)


def test_rewrites_that_build_ops_and_decline_come_to_an_end(context):
    @rewrite(graph.AbsOp)
    def hesitate(op):
        graph.neg(op.x)
        return Decline("it is fine as it is")

    module = build_module(lambda x: graph.abs_(graph.relu(x)), "4xf32")
    apply(module, hesitate, relu_to_max)
    assert "graph.relu" not in str(module)


def test_long_chains_converge(context):
    @rewrite(graph.NegOp)
    def double_negation(op):
        inner = producer(op.x, graph.NegOp)
        return inner.x if inner is not None else None

    def body(x):
        for _ in range(500):
            x = graph.neg(x)
        return x

    module = build_module(body, "4xf32")
    assert apply(module, double_negation)["double-negation"].count == 250
    assert op_names(module) == []


def test_large_graphs_are_fast(context):
    """1,500 ops, 40 rewrites that never match: the work of the driver alone."""

    def body(x):
        for _ in range(500):
            x = graph.add(graph.relu(graph.neg(x)), x)
        return x

    @rewrite(graph.ReluOp, graph.AddOp, graph.NegOp)
    def no_match(op):
        return None

    module = build_module(body, "4xf32")
    start = time.process_time()  # others may have the CPU meanwhile
    assert apply(module, *[no_match] * 40) == {}
    assert time.process_time() - start < 1
