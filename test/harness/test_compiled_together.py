"""Tests that share calls of the backend fail each for itself."""

from functools import partial

import numpy as np
import pytest
from numerics import Cases, build_model, run_compiled
from onnx import helper

import graphc
from graphc.errors import BackendError
from graphc.runtime import resolve_target
from harness import compiled_together
from harness.compiled_together import CompiledTogether, ModuleOfTests, compile_module

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


def ask(found, program=b"module {}", **options):
    """A test that compiles a program, and keeps in `found` what comes of it."""
    options = {"target": resolve_target("cpu"), "threads": 1, **options}
    return lambda: found.append(compile_module(program, **options))


@pytest.fixture
def backend(monkeypatch):
    """The options of all calls of the backend, which fails for programs of several."""
    calls = []

    def run(program, **options):
        calls.append(options)
        if b"case1" in program:
            raise BackendError("planted")
        return program

    monkeypatch.setattr(compiled_together, "_compile_module", run)
    return calls


def run_all(*calls):
    tests = CompiledTogether(dict(enumerate(calls)))
    for number in range(len(calls)):
        tests.run(number)


def test_modules_are_small_and_have_one_set_of_options(monkeypatch, modules, backend):
    monkeypatch.setattr(compiled_together, "MOST", 2)
    found = []
    run_all(*[ask(found)] * 3, ask(found, threads=2), ask(found, timeout=9.0), *[ask(found)] * 2)
    assert modules == [2, 2, 1, 1]
    assert [type(each) for each in found].count(ModuleOfTests) == 4
    assert sorted(options["threads"] for options in backend) == [1, 1, 1, 1, 2]


def test_what_does_not_compile_together_is_compiled_alone(backend):
    function = "func.func @main() { return }"
    found = []
    run_all(ask(found, function.encode()), ask(found, f"{function} // another".encode()))
    assert found == [function.encode(), f"{function} // another".encode()]
    assert len(backend) == 3


def test_outside_of_such_tests_nothing_is_shared():
    cases = Cases()
    cases.add("Neg", X)
    cases.compare_with_onnxruntime()


def test_other_compilers_use_it_too():
    """`graphc.compile` as well as test/numerics.py."""
    found = []
    nodes = [[helper.make_node(op_type, ["x"], ["y"])] for op_type in ("Neg", "Abs")]
    models = [build_model(each, {"x": (X.dtype, [2])}, ["y"]) for each in nodes]

    def call(model):
        with graphc.compile(model, threads=1, cache=False) as compiled:
            found.append((compiled.inputs[0].name, compiled(X)))

    run_all(*(partial(call, model) for model in models))
    for (name, y), expected in zip(found, (-X, abs(X)), strict=True):
        assert name == "x"
        np.testing.assert_array_equal(y, expected)


def test_what_a_test_compiles_twice_is_compiled_once(monkeypatch):
    calls, results = [], {}
    compile_alone = compiled_together._compile_module

    def count(program, **options):
        calls.append(program)
        return compile_alone(program, **options)

    monkeypatch.setattr(compiled_together, "_compile_module", count)
    call = run("Neg", results)
    run_all(lambda: [call(), call()], run("Abs", results))
    assert len(calls) == 1
