"""Tests that share calls of the backend fail each for itself."""

import numerics
import numpy as np
import pytest
from numerics import Cases, build_model, run_compiled
from onnx import helper

from graphc.errors import BackendError
from harness import compiled_together
from harness.compiled_together import CompiledTogether, compiled_with_others

X = np.array([1.5, -2.0], np.float32)


def run(op_type, results, fail=False):
    """A test that compares what `op_type` gives, and says so."""

    def call():
        model = build_model([helper.make_node(op_type, ["x"], ["y"])], {"x": (X.dtype, [2])}, ["y"])
        (y,) = run_compiled(model, {"x": X})
        results[op_type] = y
        assert not fail, "as planned"

    return call


@pytest.fixture
def modules(monkeypatch):
    """The numbers of programs of the modules that are compiled."""
    numbers, compile_joint = [], compiled_together._compile

    def count(tests):
        numbers.append(len(tests))
        compile_joint(tests)

    monkeypatch.setattr(compiled_together, "_compile", count)
    return numbers


def test_each_has_its_results_and_its_failure(modules):
    results = {}
    tests = CompiledTogether(
        {
            "Neg": run("Neg", results),
            "Abs": run("Abs", results, fail=True),
            "none": lambda: pytest.skip("nothing to compile"),
            "again": run("Neg", results),
            "Relu": run("Relu", results),
        }
    )
    with pytest.raises(AssertionError, match="as planned"):
        tests.run("Abs")
    assert results.keys() == {"Abs"}, "the others wait until it is their turn"
    with pytest.raises(pytest.skip.Exception):
        tests.run("none")
    for name in ("Neg", "again", "Relu"):
        tests.run(name)
    assert modules == [4]
    for name, expected in (("Neg", -X), ("Abs", abs(X)), ("Relu", np.maximum(X, 0))):
        np.testing.assert_array_equal(results[name], expected)


def test_modules_are_small(monkeypatch, modules):
    monkeypatch.setattr(compiled_together, "MOST", 2)
    asked = []

    def ask(number):
        compiled_with_others(b"module {}", lambda program: asked.append(number) or program)

    tests = CompiledTogether({number: lambda number=number: ask(number) for number in range(5)})
    for number in range(5):
        tests.run(number)
    assert modules == [2, 2, 1]
    assert asked == [0, 2], "one call each, none for the test that is left over"


def test_what_does_not_compile_together_is_compiled_alone():
    found = []

    def fail(program):
        raise BackendError("planted")

    def call():
        found.append(compiled_with_others(b"module {}", fail))

    tests = CompiledTogether({1: call, 2: call})
    tests.run(1)
    tests.run(2)
    assert found == [None, None]


def test_outside_of_such_tests_nothing_is_shared():
    assert compiled_with_others(b"module {}", lambda program: pytest.fail("compiled")) is None
    cases = Cases()
    cases.add("Neg", X)
    cases.compare_with_onnxruntime()


def test_what_a_test_compiles_twice_is_compiled_once(monkeypatch):
    calls, results = [], {}
    compile_program = numerics._compile
    monkeypatch.setattr(numerics, "_compile", lambda p: calls.append(p) or compile_program(p))
    call = run("Neg", results)
    tests = CompiledTogether({1: lambda: [call(), call()], 2: run("Abs", results)})
    tests.run(1)
    tests.run(2)
    assert len(calls) == 1
