"""Calls that share calls of the backend end each for itself."""

import os
import warnings
from functools import partial

import numpy as np
import pytest
from numerics import Cases, build_model, run_compiled
from onnx import helper

import graphc
from graphc.errors import BackendError
from graphc.mlir import ir
from graphc.runtime import resolve_target
from harness import compiled_together
from harness.compiled_together import compile_module, run_together
from harness.early_tests import EarlyTests
from harness.waiting_call import SharedModule, WaitingCall

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
    """The numbers of programs that wait for a module, round by round."""
    numbers, compile_joint = [], compiled_together._compile

    def count(calls):
        numbers.append(len(calls))
        compile_joint(calls)

    monkeypatch.setattr(compiled_together, "_compile", count)
    return numbers


def test_each_has_its_results_and_its_failure(modules):
    results = {}
    tests = EarlyTests(
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
    with pytest.raises(pytest.skip.Exception):
        tests.run("none")
    for name in ("Neg", "again", "Relu"):
        tests.run(name)
    assert modules == [4]
    assert all(seconds > 0 for seconds in tests.seconds.values())
    for name, expected in (("Neg", -X), ("Abs", abs(X)), ("Relu", np.maximum(X, 0))):
        np.testing.assert_array_equal(results[name], expected)


def test_what_a_test_prints_comes_at_its_turn(capsys):
    tests = EarlyTests({name: partial(print, name, "is here") for name in ("one", "other")})
    tests.run("other")
    assert capsys.readouterr().out == "other is here\n"
    tests.run("one")
    assert capsys.readouterr().out == "one is here\n"


def test_only_so_many_run_at_once(monkeypatch):
    monkeypatch.setattr("harness.early_tests.AT_ONCE", 2)
    begun = []
    tests = EarlyTests({number: partial(begun.append, number) for number in range(5)})
    for number, expected in ((1, [1, 0]), (0, [1, 0]), (4, [1, 0, 4, 2]), (3, [1, 0, 4, 2, 3])):
        tests.run(number)
        assert begun == expected


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


def run_all(*calls, **options):
    """The results of calls that run together; raises what they raise."""
    waiting = [WaitingCall(call) for call in calls]
    run_together(waiting, **options)
    return [call.result() for call in waiting]


def test_modules_are_small_and_have_one_set_of_options(modules, backend):
    found = []
    alone = ask(found, save_temps="folder")
    run_all(*[ask(found)] * 3, ask(found, threads=2), alone, *[ask(found)] * 2, most=2)
    assert modules == [1, 2, 2, 1], "the smaller ones come first"
    assert [type(each) for each in found].count(SharedModule) == 4
    assert sorted(options["threads"] for options in backend) == [1, 1, 1, 1, 2]


def test_options_of_no_effect_on_the_code_are_no_difference(modules, backend):
    """Those left out, flags that all joint programs have, and times, which add up."""
    found, flags = [], ("--mlir-disable-threading",)
    run_all(
        ask(found, timeout=9.0, name="a"),
        ask(found, extra_flags=flags, opt_level=3, progress=None, timeout=30.0),
        ask(found, data_tiling=False, timeout=1.0),
    )
    assert modules == [3]
    assert [options["timeout"] for options in backend] == [40.0]


def test_what_continues_waits_again(modules, backend):
    """Programs of one round are a module. What a call has asked for before is there."""

    def call(*numbers):
        found = []
        for number in numbers:
            ask(found, f"module {{}} // {number}".encode())()
        return [type(each) for each in found]

    results = run_all(*[partial(call, *numbers) for numbers in ((1, 2, 1, 3), (4, 5), (6,))])
    assert modules == [3, 2, 1]
    assert results == [[SharedModule] * 3 + [bytes], [SharedModule] * 2, [SharedModule]]


def test_nothing_waits_while_others_would_see_what_it_changed(modules, backend, monkeypatch):
    def call(change):
        found = []
        ask(found)()
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            change(patch)
            ask(found, b"module { }")()
        ask(found, b"module {  }")()
        return [type(each) for each in found]

    def changed(patch):
        patch.setenv("GRAPHC_LIMITS", "nodes=9")

    def filtered(_):
        warnings.simplefilter("ignore")

    before = dict(os.environ)
    results = run_all(partial(call, changed), partial(call, filtered))
    assert results == [[SharedModule, bytes, SharedModule]] * 2
    assert modules == [2, 2]
    assert before == dict(os.environ)


def test_what_does_not_compile_together_is_compiled_alone(backend):
    function = "func.func @main() { return }"
    found = []
    calls = [ask(found, f"{function} // {number}".encode()) for number in range(2)]
    (error,) = run_together([WaitingCall(call) for call in calls])
    assert str(error) == "planted"
    assert found == [f"{function} // {number}".encode() for number in range(2)]
    assert len(backend) == 3


def test_programs_that_fail_alone_explain_why_their_module_does(backend):
    function = "func.func @main() { return }"
    programs = [f"{function} // case1 {number}".encode() for number in range(2)]
    calls = [WaitingCall(ask([], program)) for program in programs]
    assert not run_together(calls)
    assert len(backend) == 3
    for call in calls:
        with pytest.raises(BackendError, match="planted"):
            call.result()


def test_a_module_that_fails_is_the_failure_of_a_test(backend):
    """The programs of its tests compile alone."""
    found = []
    function = "func.func @main() { return }"
    tests = EarlyTests({n: ask(found, f"{function} // {n}".encode()) for n in range(2)})
    with pytest.raises(BackendError, match="planted"):
        tests.run(0)
    tests.run(1)
    assert len(found) == 2


def test_what_is_no_error_of_the_backend_is_raised_by_all_tests(backend):
    tests = EarlyTests({number: ask([], b"no program") for number in range(2)})
    for number in range(2):
        with pytest.raises(ir.MLIRError):
            tests.run(number)


def test_outside_of_such_calls_nothing_is_shared():
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


def test_what_a_call_compiles_twice_is_compiled_once(monkeypatch):
    calls, results = [], {}
    compile_alone = compiled_together._compile_module

    def count(program, **options):
        calls.append(program)
        return compile_alone(program, **options)

    monkeypatch.setattr(compiled_together, "_compile_module", count)
    call = run("Neg", results)
    run_all(lambda: [call(), call()], run("Abs", results))
    assert len(calls) == 1
