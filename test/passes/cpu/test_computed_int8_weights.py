"""Matmuls of 8-bit integers whose second matrix is computed: exact, by the kernels for weights."""

import numpy as np
import pytest
from int8_pipeline import HALF, extreme_bytes, own_unit, pipeline_of, require
from numerics import build_model, evaluate
from onnx import helper

import graphc

# rows, K, columns: whole panels, parts of panels and vectors, and parts of groups of four rows
SIZES = [(17, 64, 64), (3, 40, 128), (33, 192, 100), (9, 61, 37), (70, 6, 64), (1, 130, 200),
         (300, 256, 16), (40, 128, 32)]  # fmt: skip
ZEROS = [(), (None, 7), (5,), (100, 3), (None, None)]
"""Zero points: none, of the second matrix, the first, or both; inputs if there are two None."""


def _case(number, random, named):
    """The node of a case, its inputs with their types, its constants, and feeds. ONNX Runtime
    multiplies i8 by nothing but i8."""
    rows, k, columns = SIZES[number]
    types = [(np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)][number % 3]
    x, w = (
        extreme_bytes(random, t, s) for t, s in zip(types, ((rows, k), (k, columns)), strict=True)
    )
    feeds = {f"x{number}": x, f"w{number}": w}
    inputs = {
        f"x{number}": (types[0], (f"rows{number}" if named else rows, k)),
        f"w{number}": (types[1], (k, columns)),
    }
    names, constants = [f"x{number}", f"w{number}"], {}
    zeros = ZEROS[number % len(ZEROS)]
    for operand, (zero, dtype) in enumerate(zip(zeros, types, strict=False)):
        name = f"z{number}_{operand}"
        if zeros == (None, None):
            feeds[name], inputs[name] = np.array(9 + operand, dtype), (dtype, ())
        elif zero is not None:
            constants[name] = np.array(zero, dtype)
        names.append(name if name in feeds or name in constants else "")
    node = helper.make_node("MatMulInteger", names, [f"y{number}"])
    return node, inputs, constants, feeds


@own_unit
@pytest.mark.parametrize("named", [False, True])
def test_matmul_integer(unit, named):
    """Every other size has named rows; these are the known sizes of another unit."""
    require(unit)
    random = np.random.default_rng(0)
    numbers = range(len(SIZES))[(HALF[unit] + named) % 2 :: 2]
    cases = [_case(number, random, named) for number in numbers]
    inputs, constants, feeds = (
        {name: each for case in cases for name, each in case[part].items()} for part in (1, 2, 3)
    )
    results = [f"y{number}" for number in numbers]
    model = build_model([case[0] for case in cases], inputs, results, constants)
    expected = evaluate(model, feeds)  # ONNX Runtime's sums of pairs saturate on AVX2
    with graphc.compile(model, pipeline=pipeline_of(unit), threads=2) as compiled:
        assert compiled.report.rewrites["pack-int8-matmul"].count == len(numbers)
        for ours, theirs in zip(compiled.run(None, feeds), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
