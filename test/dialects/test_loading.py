"""Dialects live in contexts: fresh ones, repeated loads, several at a time, and none for ever."""

import gc
import threading
import weakref

import numpy as np
import pytest
from numerics import Cases

from graphc.dialects import graph, iree
from graphc.dialects.loading import LoadableDialect
from graphc.frontend.onnx import import_onnx
from graphc.mlir import ir


def _load() -> None:
    graph.Graph.load()
    iree.load()


def _build() -> ir.Module:
    module = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(module.body), ir.Location.name("here"):
        x = graph.constant(value=np.ones(3, np.float32))
        graph.relu(x)
    assert module.operation.verify()
    return module


def test_loading_twice_does_nothing():
    with ir.Context():
        _load()
        _load()
        _build()


def test_threads_load_at_once():
    """The bindings keep what they load at the class, which the threads have in common."""
    problems = []

    def work():
        for _ in range(8):
            try:
                with ir.Context():
                    _load()
                    _build()
            except Exception as error:
                problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_contexts_interleave():
    """Each context knows the ops, whichever was loaded last."""
    contexts = [ir.Context() for _ in range(3)]
    for context in contexts:
        with context:
            _load()
    modules = []
    for context in (contexts[1], contexts[0], contexts[2], contexts[0]):
        with context:
            _load()
            modules.append(_build())
    for module in modules:
        with module.context:
            _, relu = module.body.operations
            assert isinstance(relu.opview, graph.ReluOp)
            assert ir.Module.parse(str(module)).operation.verify()


def test_ops_of_one_context_are_read_while_another_is_current():
    with ir.Context():
        _load()
        module = _build()
    with ir.Context():
        _load()
        constant, relu = module.body.operations
        assert isinstance(relu.opview, graph.ReluOp)
        assert constant.opview.attrs["value"].tolist() == [1, 1, 1]


def test_a_context_is_freed_with_what_it_holds():
    """Otherwise the weights of every model would stay in memory."""
    array = np.ones(1 << 16, np.float32)
    array[0] = 2
    alive = weakref.ref(array)
    live = ir.Context._get_live_count() if hasattr(ir.Context, "_get_live_count") else None
    with ir.Context(), ir.Location.unknown():
        _load()
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            graph.constant(value=array)
    del array, module
    gc.collect()
    assert alive() is None
    if live is not None:
        assert ir.Context._get_live_count() == live


def test_an_imported_model_is_freed():
    cases = Cases()
    cases.add("Relu", np.ones(3, np.float32))
    module = import_onnx(cases.model())
    context = weakref.ref(module.context)
    del module
    gc.collect()
    assert context() is None


@pytest.mark.parametrize("op_class", graph.GraphOp.op_classes.values(), ids=lambda c: c.__name__)
def test_every_op_says_what_it_is(op_class):
    """Its meaning and type rule are its own or its family's, and its docstring explains it."""
    assert op_class.__doc__
    runs_regions = issubclass(op_class, graph.GroupOp | graph.RegionOp)
    if not runs_regions and op_class not in (graph.YieldOp, graph.YieldAllOp):
        assert op_class.evaluate is not graph.GraphOp.evaluate
        assert op_class.infer is not graph.GraphOp.infer


def test_errors_name_the_node():
    with ir.Context(), ir.Location.unknown():
        _load()
        text = """
            func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
              %0 = "graph.sin"(%x) : (tensor<4xi32>) -> tensor<4xi32> loc("the sine")
              return %0 : tensor<4xi32>
            }"""
        with pytest.raises(ir.MLIRError) as caught:
            ir.Module.parse(text)
    (diagnostic,) = caught.value.error_diagnostics
    assert "needs a floating-point operand, not int32" in diagnostic.message
    assert "the sine" in str(diagnostic.location)


def test_an_op_declared_after_a_load_is_in_the_next_context():
    class Growing(LoadableDialect, name="growing"):
        """One op, then two."""

    class FirstOp(Growing.Operation, name="first"):
        pass

    with ir.Context():
        Growing.load()
        ir.Module.parse('"growing.first"() : () -> ()')

    class SecondOp(Growing.Operation, name="second"):
        pass

    with ir.Context():
        Growing.load()
        ir.Module.parse('"growing.second"() : () -> ()')
    assert [op.OPERATION_NAME for op in Growing.operations] == [
        FirstOp.OPERATION_NAME,
        SecondOp.OPERATION_NAME,
    ]
