"""Graphs that are checked together end as they do alone."""

import os
import threading
import time
from functools import partial

import pytest
from planted_rules import plant

from fuzz import run_graphs
from fuzz.__main__ import main
from fuzz.batches import ALONE, SIZE, in_batches
from fuzz.check_graph import CheckResult
from fuzz.draw import draw_case
from fuzz.draw_registry import QDQ
from fuzz.graph_outcome import GraphStatus
from fuzz.run_graphs import check_batch, check_graph, check_graphs
from graphc.dialects import graph
from graphc.errors import BackendError
from graphc.passes.kernels import scalar_functions
from harness import compiled_together
from harness.failing_compiler import failing_compiler
from harness.marks import long
from harness.waiting_call import WaitingCall

PASSED = CheckResult(GraphStatus.PASS)
PASS, WRONG, CRASH = GraphStatus.PASS, GraphStatus.WRONG, GraphStatus.CRASH


def test_batches_leave_some_graphs_alone():
    batches = list(in_batches(range(100), jobs=2))
    assert sorted(index for batch in batches for index in batch) == [*range(100)]
    assert {batch for batch in batches if len(batch) == 1} == {
        (index,) for index in range(ALONE - 1, 100, ALONE)
    }
    assert max(map(len, batches)) == SIZE
    assert [*in_batches([3, 5, 19, 7], jobs=2)] == [(3, 5), (19,), (7,)]


@pytest.mark.parametrize(("family", "indices"), [long(None, (0, 1, 2)), (QDQ, (0, 2))])
def test_outcomes_are_those_of_graphs_alone(family, indices, monkeypatch):
    """Fewer modules are compiled."""
    calls, compile_ = [], compiled_together._compile_module

    def count(program, **options):
        calls.append(program)
        return compile_(program, **options)

    monkeypatch.setattr(compiled_together, "_compile_module", count)
    ended = check_batch(3, 60, {}, indices, family)
    assert not ended.suspects
    assert 1 <= len(calls) <= 2
    alone = [check_graph(3, 60, {}, index, family) for index in indices]
    for have, wanted in zip(ended.outcomes, alone, strict=True):
        assert {**have.to_json(), "seconds": 0} == {**wanted.to_json(), "seconds": 0}


def test_a_fault_of_one_graph_is_found_in_its_batch(tmp_path, capsys, monkeypatch):
    """The lowering of Tanh is replaced by another function; the graphs without it pass."""
    plant(monkeypatch, graph.TanhOp, lambda op, x: scalar_functions.sigmoid(x))
    drawn = [draw_case(5, index) for index in range(60)]
    short = [case for case in drawn if len(case.model.graph.node) < 4 and not case.declared]
    has = {case.index: any(n.op_type == "Tanh" for n in case.nodes()) for case in short}
    wrong = next(index for index in has if has[index])
    right = [index for index in has if not has[index]][:2]
    ended = check_batch(5, 60, {}, (*right, wrong))
    assert [each.status for each in ended.outcomes] == [PASS, PASS, WRONG]
    assert ended.suspects == (wrong,)
    assert main(["--seed=5", "-o", str(tmp_path), "--only", *map(str, right)]) == 0
    assert capsys.readouterr().out.count("PASS") == 2


@pytest.fixture
def checked(monkeypatch):
    """``checked(end)``: the outcomes of four graphs. The check of each is `end`, called with its
    index, and true in a batch."""
    cases = [draw_case(3, index) for index in range(4)]
    monkeypatch.setattr(run_graphs, "draw_case", lambda seed, index, family: cases[index])
    monkeypatch.setattr(run_graphs, "GRACE", 0.8)

    def outcomes(end):
        def check(index):
            return end(index, isinstance(threading.current_thread(), WaitingCall))

        monkeypatch.setattr(run_graphs, "checks_of", lambda case, *_: [partial(check, case.index)])
        found = {each.index: each for each in check_graphs(3, range(4), jobs=1, timeout=0.2)}
        assert sorted(found) == [0, 1, 2, 3]
        return [(found[index].status, found[index].detail) for index in range(4)]

    return outcomes


ONLY = "(only in the batch 0 1 2 3)"


def test_graphs_are_checked_window_by_window(monkeypatch):
    monkeypatch.setattr(run_graphs, "WINDOW", 20)
    monkeypatch.setattr(run_graphs, "checks_of", lambda *_: [])
    indices = [each.index for each in check_graphs(3, range(40), jobs=1, timeout=1)]
    assert indices == [*range(40)]


@pytest.mark.parametrize("only_together", [False, True])
def test_a_graph_with_a_finding_is_checked_alone(checked, only_together):
    def end(index, together):
        is_wrong = index == 2 and (together or not only_together)
        return CheckResult(WRONG, "together" if together else "alone") if is_wrong else PASSED

    found = WRONG, f"together {ONLY}" if only_together else "alone"
    assert checked(end) == [PASSED[:2], PASSED[:2], found, PASSED[:2]]


@pytest.mark.parametrize("only_together", [False, True])
def test_the_graphs_of_a_crash_are_checked_alone(checked, only_together):
    def end(index, together):
        if index == 2 and (together or not only_together):
            os._exit(9)
        return PASSED

    found, detail = checked(end), "the process ended with code 9"
    if only_together:
        assert found == [(CRASH, f"{detail} {ONLY}"), *[PASSED[:2]] * 3]
    else:
        assert found == [PASSED[:2], PASSED[:2], (CRASH, detail), PASSED[:2]]


def test_the_graphs_of_a_hang_are_checked_alone(checked):
    def end(index, together):
        if index == 1:
            time.sleep(60)
        return PASSED

    found = checked(end)
    assert found == [PASSED[:2], (GraphStatus.HANG, "not done after 1 s"), *[PASSED[:2]] * 2]


def test_a_module_that_does_not_compile_is_a_finding(checked, monkeypatch):
    """Unless one of its graphs explains it."""
    monkeypatch.setattr(run_graphs, "run_together", failing(run_graphs.run_together))
    error = GraphStatus.ERROR, f"joint module: BackendError: planted {ONLY}"
    assert checked(lambda *_: PASSED) == [error, *[PASSED[:2]] * 3]
    unknown = CheckResult(GraphStatus.ERROR, "unknown")
    found = checked(lambda index, _: unknown if index == 3 else PASSED)
    assert found == [*[PASSED[:2]] * 3, unknown[:2]]


def failing(run):
    """`run_together` whose modules fail to compile."""

    def fail(calls, most):
        run(calls, most)
        return [BackendError("planted")]

    return fail


@pytest.mark.skipif(os.name != "posix", reason="the fake compiler is a script")
def test_no_failure_of_the_backend_is_hidden(tmp_path, monkeypatch):
    """Each op in a dispatch of its own would compile."""
    failing_compiler(tmp_path, monkeypatch)("*separated*")
    outcome = check_graph(3, 60, {}, 0)
    assert outcome.status is GraphStatus.ERROR
    assert "too large" in outcome.detail
