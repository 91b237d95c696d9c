"""Dispatches that ran, and those of the program."""

from itertools import count

from graphc.profiling.attribution import attribute
from graphc.profiling.sites import Site
from graphc.runtime.execution.profiler import Event

WITHOUT_INDEX = 2**32 - 1  # what the runtime writes where one thread runs everything


def events(*kernels, buffer=1, indices=None, clock=None):
    clock = count() if clock is None else clock
    indices = [WITHOUT_INDEX] * len(kernels) if indices is None else indices
    starts = [next(clock) for _ in kernels]
    return [
        Event(kernel, buffer, index, start, start + 1, 1, 1)
        for kernel, index, start in zip(kernels, indices, starts, strict=True)
    ]


def names(ran, groups):
    return [site.nodes for site in attribute(ran, groups)]


def group(*pairs):
    return [Site(kernel, (node,)) for kernel, node in pairs]


def test_indices_decide_where_dispatches_overlap():
    program = [group(("k", "first"), ("k", "second"))]
    ran = events("k", "k", "k", "k", indices=[4, 0, 0, 4])
    assert names(ran, program) == [("second",), ("first",), ("first",), ("second",)]


def test_order_decides_where_one_thread_runs_all():
    program = [group(("k", "first"), ("k", "second"))]
    assert names(events(*"kkkk"), program) == [("first",), ("second",)] * 2


def test_groups_are_known_by_their_kernels_and_take_turns():
    program = [group(("k", "first")), group(("l", "other")), group(("k", "second"))]
    clock = count()
    ran = [
        *events("l", buffer=1, clock=clock),
        *events("k", buffer=2, clock=clock),
        *events("k", buffer=3, clock=clock),
        *events("k", buffer=4, clock=clock),
    ]
    assert names(ran, program) == [("other",), ("first",), ("second",), ("first",)]


def test_what_fits_nothing_has_no_names():
    program = [group(("k", "first"), ("l", "second"))]
    assert names(events("k", "k", "l"), program) == [()] * 3
    assert names(events("k"), []) == [()]
