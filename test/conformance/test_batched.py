"""Tests of cases that are compiled as one module."""

import os
import re
from types import SimpleNamespace

import pytest
from conformance_cases import CASES, forks
from onnx import TensorProto, helper

from conformance import batched
from conformance.case_outcome import CaseStatus
from conformance.cases import SuiteCase
from graphc.errors import BackendTimeoutError


def case_of(nodes, shape, result, constants=()):
    """A case from ``x`` to ``y`` that is compiled but not run."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, each)
        for name, each in (("x", shape), ("y", result))
    )
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return SuiteCase(
        f"test_{nodes[0].name}", "node", 0, 0, SimpleNamespace(model=model, data_sets=[])
    )


UNKNOWN = case_of([helper.make_node("NoSuchOperator", ["x"], ["y"], name="unknown")], [2], [2])
NEGATED = case_of(
    [
        helper.make_node("Neg", ["x"], ["m"], name="negated"),
        helper.make_node("ReduceSum", ["m", "axes"], ["y"], keepdims=0),
    ],
    [2, 64],
    [2],
    [helper.make_tensor("axes", TensorProto.INT64, [1], [1])],
)
"""A case that the backend cannot compile for CUDA, and that the target has a fallback for."""


def kernels(path):
    return set(re.findall(rb"\.entry (\w+)", path.read_bytes()))


def test_one_module_has_the_kernels_of_all(tmp_path):
    outcomes = batched.compile_batched(
        [*CASES, CASES[0]], 100, target="cuda", host=False, keep=tmp_path
    )
    assert [each.status for each in outcomes] == [CaseStatus.PASS] * 4
    (path,) = tmp_path.iterdir()
    assert len(kernels(path)) == 3


def test_what_cannot_be_imported_hinders_no_other(tmp_path):
    given = [UNKNOWN, CASES[0]]
    refused, passed = batched.compile_batched(given, 100, target="cuda", host=False, keep=tmp_path)
    assert refused.status is CaseStatus.UNSUPPORTED
    assert "NoSuchOperator" in refused.detail
    assert passed.passed
    assert [len(kernels(path)) for path in tmp_path.iterdir()] == [1]


def test_what_does_not_compile_in_a_batch_is_compiled_alone(tmp_path):
    given = [CASES[0], NEGATED]
    outcomes = batched.compile_batched(given, 100, target="cuda", host=False, keep=tmp_path)
    assert [each.status for each in outcomes] == [CaseStatus.PASS] * 2
    assert {path.name for path in tmp_path.iterdir()} == {each.name for each in given}


def test_what_takes_too_long_in_a_batch_is_compiled_alone(monkeypatch):
    def run_out(*_, **__):
        raise BackendTimeoutError("too long", command="", reproducer=None)

    monkeypatch.setattr(batched, "compile_module", run_out)
    outcomes = batched.compile_batched(CASES[:1], 100, target="cuda", host=False)
    assert [each.passed for each in outcomes] == [True]


@forks
def test_what_crashes_with_others_is_compiled_alone(monkeypatch):
    monkeypatch.setattr(batched, "SIZE", 1)
    monkeypatch.setattr(batched, "compile_batched", crash_at_negation)
    run_alone = batched.run_cases
    alone = []

    def run_cases(cases, **options):
        alone.extend(each.name for each in cases)
        return run_alone(cases, **options)

    monkeypatch.setattr(batched, "run_cases", run_cases)
    outcomes = batched.compile_cases(CASES, jobs=1, timeout=100, target="cuda", host=False)
    assert sorted(each.name for each in outcomes if each.passed) == sorted(c.name for c in CASES)
    assert alone == ["test_neg"]


def crash_at_negation(cases, *arguments, **options):
    if cases[0].name == "test_neg":
        os._exit(1)
    return COMPILE_BATCHED(cases, *arguments, **options)


COMPILE_BATCHED = batched.compile_batched


@pytest.mark.parametrize(("size", "expected"), [(2, [2, 1]), (3, [3]), (4, [3])])
def test_batches(size, expected):
    assert [len(batch) for batch in batched.in_batches(CASES, size)] == expected
