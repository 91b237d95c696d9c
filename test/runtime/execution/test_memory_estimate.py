"""Tests of predictions for the live sets with which a run may use the most memory."""

import pytest

from graphc.dialects.symbolic import Dim, ceildiv, maximum
from graphc.errors import ModuleFileError
from graphc.runtime.execution.memory_estimate import describe, largest_live_set, write_live_sets
from graphc.runtime.execution.size_expressions import evaluate

BATCH, SEQ = Dim.symbol("batch"), Dim.symbol("past.seq")
FORMULAS = (
    7,
    4 * BATCH * SEQ - 3,
    -BATCH + 9,
    ceildiv(BATCH, 2) * SEQ,
    maximum(BATCH, SEQ * 2 - 9),
    Dim.symbol("broadcast_1") + BATCH,
)


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_formulas_mean_what_they_mean_to_the_compiler(formula):
    sizes = {"batch": 5, "past.seq": 8, "broadcast_1": 1}
    expected = formula if isinstance(formula, int) else formula.evaluate(sizes)
    assert evaluate(str(formula), sizes) == expected


def test_formulas_of_unknown_sizes():
    assert evaluate("4*batch*found", {"batch": 2}) is None
    assert evaluate("broadcast(batch, 3)", {"batch": 1}) == 3
    for wrong in ("batch**2", "batch +", "open(1)", "'a'", "floordiv(batch, 0)", "max()"):
        with pytest.raises(ModuleFileError, match="for a size expression"):
            evaluate(wrong, {"batch": 1})


LIVE_SETS = write_live_sets(
    [
        [("embed", 1000 * BATCH), ("norm", 24 * BATCH)],
        [("attend+scale", 4 * BATCH * SEQ * SEQ), ("small", 8), ("norm", 24 * BATCH)],
    ]
)


def test_sizes_decide_which_live_set_is_largest():
    short = largest_live_set(LIVE_SETS, {"batch": 2, "past.seq": 3})
    assert short is not None
    assert short.tensors == [("embed", 2000), ("norm", 48)]
    long = largest_live_set(LIVE_SETS, sizes := {"batch": 1, "past.seq": 1 << 15})
    assert long is not None
    assert long.bytes == (1 << 32) + 24 + 8
    assert describe(long, sizes) == (
        "with batch = 1, past.seq = 32768, by prediction, tensors of 4.0 GiB are alive at once "
        "(4.0 GiB for 'attend', 'scale'; 24 B for 'norm'; 8 B for 'small')"
    )


def test_most_tensors_are_but_counted():
    rows = [(f"n{i}", 1 << i) for i in range(10)]
    live_set = largest_live_set(write_live_sets([rows]), {})
    assert live_set is not None
    assert describe(live_set, {}) == (
        "by prediction, tensors of 1023 B are alive at once "
        "(512 B for 'n9'; 256 B for 'n8'; 128 B for 'n7'; 127 B for the rest)"
    )


def test_tensors_of_a_node_are_one_sum():
    live_set = largest_live_set(
        write_live_sets([[("a+b+c+d+e", 8), ("f", 12), ("a+b+c+d+e", 8)]]), {}
    )
    assert live_set is not None
    assert live_set.tensors == [("a+b+c+d+e", 16), ("f", 12)]
    assert "(16 B for 'a', 'b', 'c' and 2 more; 12 B for 'f')" in describe(live_set, {})


def test_sizes_that_the_data_decide_are_not_guessed():
    live_set = largest_live_set(write_live_sets([[("find", Dim.symbol("found")), ("a", 8)]]), {})
    assert live_set is not None
    assert live_set.bytes == 8
    assert describe(live_set, {}).endswith("and more for 'find', whose size the data decide")
    assert largest_live_set("[]", {}) is None


@pytest.mark.parametrize("text", ["[", "3", "[[3]]", '[[["a", 7]]]', "[" * 100000, "null"])
def test_what_was_not_written_is_refused(text):
    with pytest.raises(ModuleFileError):
        largest_live_set(text, {})
