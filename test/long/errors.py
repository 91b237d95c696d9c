"""``make errors``: whatever node of ONNX's suite is broken, the error names it."""

import copy
import re
from collections.abc import Iterator

import numpy as np
import onnx
import pytest

import graphc
from graphc.debugging.onnx.graphs import all_nodes
from graphc.errors import ExecutionError, FeedError, GraphcError, UnsupportedModelError

PARTS = 16
NAME = "the-broken-one"


def no_such_operator(node: onnx.NodeProto) -> bool:
    node.op_type = "NoSuchOperator"
    return True


def no_such_domain(node: onnx.NodeProto) -> bool:
    node.domain = "nowhere.example"
    return True


def no_such_value(node: onnx.NodeProto) -> bool:
    if not any(node.input):
        return False
    node.input[0] = "nobody gives this"
    return True


def an_attribute_of_another_kind(node: onnx.NodeProto) -> bool:
    if not node.attribute:
        return False
    name = node.attribute[0].name
    node.attribute[0].CopyFrom(onnx.helper.make_attribute(name, ["of", "strings"]))
    return True


FAULTS = [no_such_operator, no_such_domain, no_such_value, an_attribute_of_another_kind]


def imported_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of `graph` and of the bodies of its loops; a branch that is never taken may hold
    anything."""
    for node in graph.node:
        yield node
        for attribute in node.attribute if node.op_type != "If" else ():
            if attribute.HasField("g"):
                yield from imported_nodes(attribute.g)


def broken(model: onnx.ModelProto, first: int) -> Iterator[onnx.ModelProto]:
    """`model` with each of its nodes broken in turn, in the ways of `FAULTS` by turns, from number
    `first` on; that node's name is `NAME`."""
    for number in range(len(list(imported_nodes(model.graph)))):
        changed = copy.deepcopy(model)
        node = list(imported_nodes(changed.graph))[number]
        ways = (FAULTS[(first + number + more) % len(FAULTS)] for more in range(len(FAULTS)))
        assert any(fault(node) for fault in ways)
        node.name = NAME
        yield changed


def is_compiled_as_a_whole(model: onnx.ModelProto) -> bool:
    try:
        graphc.import_onnx(model)
    except UnsupportedModelError:
        return False
    return True


@pytest.mark.parametrize("part", range(PARTS))
def test_the_import_names_what_is_broken(suite, part, record_property):
    wrong, count = [], 0
    for first, case in enumerate(suite[part::PARTS]):
        model = case.model()
        for changed in broken(model, first) if is_compiled_as_a_whole(model) else ():
            count += 1
            try:
                graphc.import_onnx(changed)
                wrong.append(f"{case.name}: is accepted")
            except GraphcError as error:
                if NAME not in str(error):
                    wrong.append(f"{case.name}: {error}")
    record_property("broken nodes", count)
    assert wrong == []


def with_sizes_of_any_kind(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with every size of its inputs for the run to decide, and with names for its nodes."""
    for info in model.graph.input:
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            dim.dim_param = f"{info.name}_{axis}"
    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
    for number, node in enumerate(all_nodes(model.graph)):
        node.name = f"{NAME}-{number}"
    return model


def with_one_more(arrays: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """`arrays` with an axis of one of them repeated to one element more, for each axis."""
    for number, array in enumerate(arrays):
        for axis in range(np.ndim(array)):
            index = np.arange(array.shape[axis] + 1) % max(array.shape[axis], 1)
            if array.shape[axis]:
                yield [*arrays[:number], np.take(array, index, axis), *arrays[number + 1 :]]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_run_names_where_sizes_do_not_fit(suite, part, record_property):
    wrong, calls, failures = [], 0, 0
    for case in suite[part::PARTS]:
        ((inputs, _), *_) = case.data_sets()
        if not all(isinstance(each, np.ndarray) for each in inputs):
            continue
        try:
            model = graphc.compile(
                with_sizes_of_any_kind(copy.deepcopy(case.model())), target="interpret"
            )
        except GraphcError:
            continue  # some operators need sizes that are known
        names = [spec.name for spec in model.inputs]
        for arrays in with_one_more(inputs[: len(names)]):
            calls += 1
            try:
                model.run(None, dict(zip(names, arrays, strict=True)))
            except (ExecutionError, FeedError) as error:
                failures += 1
                named = names if isinstance(error, FeedError) else [NAME]
                if not any(re.search(rf"\b{re.escape(name)}\b", str(error)) for name in named):
                    wrong.append(f"{case.name}: {error}")
    record_property("calls with other sizes", calls)
    record_property("of them refused", failures)
    assert wrong == []
