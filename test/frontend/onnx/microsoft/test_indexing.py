"""Rows of quantized tables against ONNX Runtime."""

import ml_dtypes
import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _bytes(*shape: int) -> np.ndarray:
    return _random.integers(0, 255, shape, np.uint8, endpoint=True)


def _scales(*shape: int) -> np.ndarray:
    return _random.uniform(0.01, 0.03, shape).astype(np.float32)


def _add(cases: Cases, *inputs, **attributes) -> None:
    cases.add("GatherBlockQuantized", *inputs, domain=DOMAIN, **attributes)


def test_bytes():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    indices = np.int64([[0, 3, -1], [2, 2, 1]])
    form = {"block_size": 16, "gather_axis": 0, "quantize_axis": 1}
    for bits in (4, 8):
        table, zeros = const(_bytes(4, 48 * bits // 8)), const(_bytes(4, -(-3 * bits // 8)))
        _add(cases, table, indices, const(_scales(4, 3)), bits=bits, **form)
        _add(cases, table, indices, const(_scales(4, 3)), zeros, bits=bits, **form)
    table = const(_bytes(4, 2, 16))
    _add(
        cases,
        table,
        Feed(indices, ["n", 3]),
        const(_scales(4, 2, 2)),
        **form | {"quantize_axis": -1},
    )
    _add(cases, const(_bytes(4, 24)), np.array(2, np.int32), const(_scales(4, 3)), **form)
    cases.compare_with_onnxruntime()


def test_numbers_of_four_bits():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    for dtype in (ml_dtypes.int4, ml_dtypes.uint4):
        table = const((_bytes(4, 48) % 8).astype(dtype))
        zeros = const((_bytes(4, 3) % 8).astype(dtype))
        indices = np.int64([3, 0])
        _add(cases, table, indices, const(_scales(4, 3)), zeros, block_size=16)
        _add(cases, table, indices, const(_scales(4, 3)), block_size=16, gather_axis=1)
    cases.compare_with_onnxruntime()


def test_places_outside():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    table, scales = const(_bytes(4, 16)), const(_scales(4, 2))
    _add(cases, table, np.int64([3, 4, -5, -4]), scales, block_size=16)
    cases.compare_compiled_with_evaluation()


def test_refuses():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    _add(cases, const(_bytes(4, 16)), np.int64([3]), const(_scales(4, 2)), block_size=16, bits=3)
    with pytest.raises(InvalidModelError, match="3 bits"):
        import_onnx(cases.model())


def test_rows_of_a_table():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    table, indices = _scales(5, 3), np.array([[4, 0], [2, 2]])
    cases.add("TorchEmbedding", table, indices, np.array(2), domain=DOMAIN)
    cases.compare_compiled_with_evaluation()
    assert (evaluate(cases.model(), cases.feeds)[0] == table[indices]).all()
