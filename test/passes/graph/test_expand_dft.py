"""Discrete Fourier transforms as matmuls: the same values, whatever the factors of the length."""

import numpy as np
import pytest
from rewriting import rewrite

from graphc.dialects import graph
from graphc.dialects.symbolic import Dim

KINDS = {  # parts of the signal, inverse, onesided
    "real": (1, False, False),
    "real, onesided": (1, False, True),
    "complex": (2, False, False),
    "real, inverse": (1, True, False),
    "complex, inverse": (2, True, False),
    "onesided, inverse": (2, True, True),
}


def transform(length, inverse, onesided):
    return lambda x: graph.dft(x, length=length, inverse=inverse, onesided=onesided)


@pytest.mark.parametrize(("parts", "inverse", "onesided"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    ("length", "fired"),
    [(1, "dense"), (12, "dense"), (513, "factor"), (600, "factor"), (521, "factor")],
)
def test_lengths(length, fired, parts, inverse, onesided):
    """Few points, an odd and an even length, and a prime one, of shorter and of longer signals."""
    body = transform(length, inverse, onesided)
    for used in (max(length // 3, 1), length + 5):
        outcome = rewrite(body, f"2x{used}x{parts}xf64", passes="graph-expand-dft")
        assert outcome.counts == {f"{fired}-dft": 1}
        assert "dft" not in outcome.ops


@pytest.mark.parametrize(("parts", "inverse", "onesided"), KINDS.values(), ids=KINDS)
def test_lengths_of_the_run(parts, inverse, onesided):
    """The length has a name; and only that of the signal has."""
    for length, fired in ((Dim.symbol("n"), "run-time"), (9, "dense"), (700, "factor")):
        body = transform(length, inverse, onesided)
        type_ = f"2xnx{parts}xf64"
        outcome = rewrite(body, type_, passes="graph-expand-dft")
        assert outcome.counts == {f"{fired}-dft": 1}


def test_tables_take_memory_in_proportion_to_the_length():
    outcome = rewrite(
        transform(1 << 14, False, True), f"1x{1 << 14}x1xf32", passes="graph-expand-dft",
        tolerance=2e-4,
    )  # fmt: skip
    block = outcome.module.body.operations[0].regions[0].blocks[0]
    constants = [op for op in block.operations if op.operation.name == "graph.constant"]
    tables = sum(np.prod(graph.type_of(op.result).static_shape) for op in constants)
    assert tables < 16 * (1 << 14)


def test_kernels_take_long_signals_and_say_why():
    body = transform(4096, False, False)
    outcome = rewrite(body, "1x4096x2xf64", passes="graph-expand-dft{kernels=true}")
    assert outcome.ops == {"dft": 1}
    assert outcome.reasons == {"more than 127 points"}
    outcome = rewrite(transform(251, False, False), "1x9x2xf64",
                      passes="graph-expand-dft{kernels=true}")  # fmt: skip
    assert outcome.counts == {"dense-dft": 1}
