"""Chains of casts, and arithmetic in few bits between them: each step rounds as if it stood alone.

Expected is numpy, step by step, where it is defined: floats become integers within their range.
"""

import functools
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from numerics import build_model
from onnx import helper
from onnx.numpy_helper import saturate_cast

import graphc

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
FNUZ, INT4, UINT4 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.int4, ml_dtypes.uint4
F16, F32, F64 = np.float16, np.float32, np.float64

_special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
_halfway = np.array(
    [  # of two neighbours in bf16, f16 and f32, and what is not once it was rounded before
        1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, 1.0009766, 100.3, 65519.9, 65520, -65520,
        1 + 2**-11, 1 + 2**-11 + 2**-40, 1 + 3 * 2**-11 - 2**-40, 65519.9999999, 2**-25, 3 * 2**-26,
        448, 464, 480, 57344, 61440, 3e38, 123456.7,
    ]
)  # fmt: skip
_floats = np.concatenate([_special, _halfway, -_halfway])
_small = np.array([0.0, -0.0, 0.3, -0.7, 1.5, 2.5, -2.5, 5.99, -7.2, 7.6])
_integers = np.array(
    [
        0, -1, -129, 127, 128, 255, 256, 65535, 65536, 2**24 + 1, 2**31 - 1, -(2**31), 2**31,
        2**53 + 1, -(2**53) - 1, 2**62 + 2**38 + 1,
    ]
)  # fmt: skip
_bytes = np.arange(-128, 128)
_codes = np.arange(256).astype(np.uint8)


def _as(dtype: type, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return x.astype(dtype)


CHAINS: list[tuple[np.ndarray, Sequence[type]]] = [
    (_as(F16, _floats), [BF16, F32]),
    (_as(F16, _floats), [BF16, F16]),
    (_as(BF16, _floats), [F16, BF16, F32]),
    (_as(F32, _floats), [F16, BF16, F32]),
    (_as(F32, _floats), [BF16, F16, F64]),
    (_as(F32, _floats), [F64, F16, F32]),
    (_as(F32, _floats), [BF16, E4M3, BF16, F32]),
    (_as(F32, _floats), [E5M2, F16, E4M3, F32]),
    (_as(F32, _floats), [FNUZ, BF16, E5M2, F16]),
    (_floats, [F16, F64]),
    (_floats, [BF16, F64]),
    (_floats, [F32, F16, BF16, F64]),
    (_codes.view(E5M2), [BF16, E5M2]),
    (_codes.view(E4M3), [F16, BF16, E4M3]),
    (_as(F32, _small), [np.int8, BF16, np.int32, F16]),
    (_as(F16, _small), [INT4, np.int8, F16]),
    (_as(BF16, _small), [np.int64, np.uint8, F32]),
    (_as(F32, _small), [np.bool_, F16, np.int16]),
    (_integers, [F32, BF16, F32]),
    (_integers[:7], [F16, BF16, F32, np.int32]),
    (_integers, [np.int32, np.uint8, F16]),
    (_integers, [np.uint16, np.int8, np.uint32, BF16]),
    (_integers, [np.bool_, BF16, np.int64]),
    (_integers.astype(np.int32), [np.uint32, F64, F32]),
    (_bytes.astype(np.int8), [np.uint8, BF16, F16]),
    (_bytes.astype(np.int8), [F16, np.int16, np.uint16, F32]),
    (np.arange(16).astype(np.uint8).view(INT4), [BF16, F16, np.int32]),
    (np.arange(16).astype(np.uint8).view(UINT4), [np.int8, INT4, np.int16, np.uint16, F32]),
]


def _cast(x: np.ndarray, dtype: type) -> np.ndarray:
    if np.dtype(dtype) in map(np.dtype, (E4M3, E5M2, FNUZ)):
        return saturate_cast(x.astype(F32), np.dtype(dtype))
    return x.astype(dtype)


def _kind(dtype: type) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def _chain(case: int, dtypes: Sequence[type]) -> list:
    names = [f"x{case}", *(f"x{case}_{i}" for i in range(len(dtypes) - 1)), f"y{case}"]
    return [
        helper.make_node("Cast", [a], [b], to=_kind(dtype))
        for a, b, dtype in zip(names, names[1:], dtypes, strict=False)
    ]


def _assert_same(have: np.ndarray, want: np.ndarray, what: object) -> None:
    """Bit by bit, but for NaN."""
    assert have.dtype == want.dtype
    bits = [array.view(f"u{array.dtype.itemsize}") for array in (have, want)]
    nan = [np.isnan(array.astype(F64)) for array in (have, want)]
    assert np.array_equal(*nan), what
    np.testing.assert_array_equal(*(each[~nan[0]] for each in bits), str(what))


@pytest.mark.parametrize("named", [False, True])
def test_every_cast_of_a_chain_rounds(named):
    nodes = [node for case, (_, to) in enumerate(CHAINS) for node in _chain(case, to)]
    inputs = {
        f"x{case}": (x.dtype, [f"n{case}" if named else x.size])
        for case, (x, _) in enumerate(CHAINS)
    }
    model = build_model(nodes, inputs, [f"y{case}" for case in range(len(CHAINS))])
    feeds = {f"x{case}": x for case, (x, _) in enumerate(CHAINS)}
    found = graphc.compile(model).run(None, feeds)
    with np.errstate(all="ignore"):
        for have, (x, to) in zip(found, CHAINS, strict=True):
            want = functools.reduce(_cast, to, x)
            _assert_same(have, want, (x.dtype, [np.dtype(each).name for each in to]))


def test_arithmetic_in_few_bits_rounds_each_result():
    """With `strict`, narrow types behave as in numpy, which computes in more bits and rounds each
    result."""
    random = np.random.default_rng(0)
    x = (random.standard_normal(1000) * 10.0 ** random.integers(-2, 2, 1000)).astype(F32)
    x[:2] = np.nan, np.inf
    nodes, expected = [], []
    for kind, dtype in (("b", BF16), ("h", F16)):
        narrow = [("Cast", ["x"], {"to": _kind(dtype)})]
        steps = [
            ("Add", [f"{kind}0", f"{kind}0"], {}),
            ("Add", [f"{kind}1", f"{kind}0"], {}),
            ("Mul", [f"{kind}2", f"{kind}0"], {}),
            ("Sub", [f"{kind}3", f"{kind}1"], {}),
            ("Div", [f"{kind}4", f"{kind}2"], {}),
            ("Sqrt", [f"{kind}5"], {}),
            ("Cast", [f"{kind}6"], {"to": _kind(F32)}),
        ]
        for i, (op_type, names, attributes) in enumerate(narrow + steps):
            nodes.append(helper.make_node(op_type, names, [f"{kind}{i}"], **attributes))
        with np.errstate(all="ignore"):
            y = x.astype(dtype)
            three = y + y + y
            expected.append(np.sqrt((three * y - (y + y)) / three).astype(F32))
    model = build_model(nodes, {"x": (F32, ["n"])}, ["b7", "h7"])
    found = graphc.compile(model, precision="strict").run(None, {"x": x})
    for have, want, kind in zip(found, expected, "bh", strict=True):
        _assert_same(have, want, kind)
