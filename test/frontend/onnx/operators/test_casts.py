"""Casts to and from the element types of 8 bits and fewer, bit by bit."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from numerics import Cases, evaluate, run_compiled
from onnx import TensorProto, helper
from onnx.numpy_helper import saturate_cast, to_float8e8m0

import graphc
from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

FLOAT8 = (
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
)  # fmt: skip
SMALLER = (ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn)
INTEGERS = (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2)
E8M0 = ml_dtypes.float8_e8m0fnu


def _codes(dtype: type) -> np.ndarray:
    """Every value of `dtype`."""
    name = np.dtype(dtype).name
    bits = 8 if "float8" in name else int(name.split("float")[-1].split("int")[-1][0])
    return np.arange(1 << bits, dtype=np.uint8).view(dtype)


def _probes(dtype: type) -> np.ndarray:
    """Floats that test rounding to `dtype`: its values, the midpoints between them, and the
    neighbours of both."""
    values = _codes(dtype).astype(np.float32)
    values = np.unique(values[np.isfinite(values)])
    halves = (values[:-1] + values[1:]) / 2
    middle = np.concatenate([values, halves, [1e6, -1e6, 1e-9, -1e-9, 3e38, 1e-40]])
    middle = middle.astype(np.float32)
    around = [np.nextafter(middle, np.float32(way)) for way in (-np.inf, np.inf)]
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)
    return np.concatenate([middle, *around, special]).astype(np.float32)


def _kind(dtype: type) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def _agree(cases: Cases, expected: list[np.ndarray]) -> None:
    """Bits are compared, for zero has a sign and NaN equals nothing."""
    model = cases.model()
    for how, results in (
        ("evaluated", evaluate(model, cases.feeds)),
        ("compiled", run_compiled(model, cases.feeds)),
    ):
        for node, have, want in zip(cases.nodes, results, expected, strict=True):
            assert have.dtype == want.dtype
            if have.dtype.itemsize > 1:  # NaN has many bit patterns
                np.testing.assert_array_equal(have, want, f"{node.name}, {how}")
            else:
                bits = (array.view(np.uint8) for array in (have, want))
                np.testing.assert_array_equal(*bits, f"{node.name}, {how}")


def test_every_value_is_read_and_written():
    cases, expected = Cases(opset=25), []
    with np.errstate(all="ignore"):
        for dtype in (*FLOAT8, *SMALLER, E8M0, *INTEGERS):
            codes = _codes(dtype)
            for target in (np.float32, np.float16, np.float64):
                cases.add("Cast", codes, to=_kind(target))
                expected.append(codes.astype(target))
        for dtype in (*FLOAT8, *SMALLER):
            for source in (np.float32, np.float16):
                probes = _probes(dtype).astype(source)
                cases.add("Cast", probes, to=_kind(dtype))
                expected.append(saturate_cast(probes, np.dtype(dtype)))
        for dtype in FLOAT8:
            cases.add("Cast", _probes(dtype), to=_kind(dtype), saturate=0)
            expected.append(_probes(dtype).astype(dtype))
        for mode in ("up", "down", "nearest"):
            probes = np.concatenate([_probes(E8M0), -_probes(E8M0)])
            cases.add("Cast", probes, to=_kind(E8M0), round_mode=mode)
            expected.append(to_float8e8m0(probes, True, mode))
    _agree(cases, expected)


def test_small_integers_keep_the_low_bits():
    cases, expected = Cases(opset=25), []
    wide = np.arange(-128, 128)
    for dtype in INTEGERS:
        for source in (np.int8, np.uint8, np.int32, np.int64, np.float32, np.float16):
            numbers = (wide & 127 if source == np.uint8 else wide).astype(source)
            cases.add("Cast", numbers, to=_kind(dtype))
            expected.append(numbers.astype(dtype))
        for target in (np.int8, np.uint8, np.int32, np.int64, np.bool_):
            cases.add("Cast", _codes(dtype), to=_kind(target))
            expected.append(_codes(dtype).astype(np.int32).astype(target))
    cases.add("Cast", _codes(ml_dtypes.int4), to=_kind(ml_dtypes.uint2))
    expected.append((np.arange(16) & 3).astype(ml_dtypes.uint2))
    cases.add("Cast", np.array([True, False]), to=_kind(ml_dtypes.int4))
    expected.append(np.array([1, 0]).astype(ml_dtypes.int4))
    _agree(cases, expected)


def test_bits_as_another_type():
    cases, expected = Cases(opset=26), []
    pairs = [
        (np.array([1.5, -0.0, np.nan], np.float32), np.int32),
        (np.array([1, -1, 0], np.int32), np.float32),
        (np.array(-(2**40), np.int64), np.float64),
        (np.array([1.5, -2], np.float16), ml_dtypes.bfloat16),
        (np.array([200, 3], np.uint8), np.int8),
        (np.array([True, False]), np.uint8),
        (np.array([1, 0], np.int8), np.bool_),
        (_codes(ml_dtypes.float8_e5m2), np.uint8),
        (_codes(ml_dtypes.uint4), ml_dtypes.int4),
    ]
    for array, target in pairs:
        cases.add("BitCast", array, to=_kind(target))
        expected.append(array.view(target))
    _agree(cases, expected)


def test_small_types_pass_through_a_model():
    """Constants, movement and selection of types that no machine computes with."""
    cases, expected = Cases(opset=25), []
    for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.float4_e2m1fn):
        array = np.arange(16).astype(np.uint8).view(dtype).reshape(4, 4)
        cases.add("Transpose", array, perm=[1, 0])
        expected.append(np.ascontiguousarray(array.T))
        cases.add("Gather", array, np.array([3, 0]), axis=0)
        expected.append(array[[3, 0]])
        cases.add("Concat", array, array[:0], array, axis=0)
        expected.append(np.concatenate([array, array]))
    cases.add("IsNaN", np.array([1, np.nan], ml_dtypes.float8_e5m2))
    expected.append(np.array([False, True]))
    cases.add("IsInf", np.array([np.inf, np.nan], ml_dtypes.float8_e5m2))
    expected.append(np.array([True, False]))
    _agree(cases, expected)


@pytest.mark.parametrize(
    ("op_type", "attributes", "reason"),
    [
        ("BitCast", {"to": TensorProto.INT64}, "float32 has 32 bits, int64 has 64"),
        (
            "Cast",
            {"to": TensorProto.FLOAT8E8M0, "round_mode": "odd"},
            "round_mode is 'odd', not up, down or nearest",
        ),
    ],
)
def test_bad_casts(op_type, attributes, reason):
    cases = Cases(opset=26)
    cases.add(op_type, np.ones(2, np.float32), **attributes)
    with pytest.raises(InvalidModelError, match=reason):
        import_onnx(cases.model())


def test_constants_of_small_types():
    array = _codes(ml_dtypes.uint4).reshape(2, 8)
    node = helper.make_node("Cast", ["c"], ["y"], to=TensorProto.INT32)
    info = onnx.ValueInfoProto(name="y")
    constant = onnx.numpy_helper.from_array(array, "c")
    model = helper.make_model(
        helper.make_graph([node], "g", [], [info], [constant]),
        opset_imports=[helper.make_opsetid("", 25)],
    )
    np.testing.assert_array_equal(run_compiled(model, {})[0], array.astype(np.int32))


def test_integers_become_brain_floats_on_cpus_without_them():
    arrays = [np.array([3, 100, 255]).astype(dtype) for dtype in (np.int64, np.uint8, np.uint32)]
    arrays.append(np.array([True, False]))
    cases = Cases(opset=21)
    for array in arrays:
        cases.add("Cast", array, to=_kind(ml_dtypes.bfloat16))
    with graphc.compile(cases.model(), target="cpu:haswell", threads=1, host=False) as compiled:
        for have, array in zip(compiled.run(None, cases.feeds), arrays, strict=True):
            np.testing.assert_array_equal(have, array.astype(ml_dtypes.bfloat16))
