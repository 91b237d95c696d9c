"""Products of quantized matrices, and with weights of few bits, against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Const, Feed, compare, const, evaluate, run_compiled, summable

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _bytes(dtype: type, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return summable(_random.integers(info.min, info.max, shape, dtype, endpoint=True))


def _scales(*shape: int) -> np.ndarray:
    return _random.uniform(0.01, 0.03, shape).astype(np.float32)


def test_quantized_matrices():
    cases = Cases(opset=21, domains={DOMAIN: 1})

    def add(op_type, *inputs, **attributes):
        cases.add(op_type, *inputs, domain=DOMAIN, tolerance=1e-5, **attributes)

    a, b = _bytes(np.uint8, 2, 5, 16), _bytes(np.int8, 16, 7)
    zeros = const(_bytes(np.int8, 7))
    add(
        "MatMulIntegerToFloat",
        a,
        const(b),
        const(0.02),
        const(_scales(7)),
        const(3, np.uint8),
        zeros,
    )
    add("MatMulIntegerToFloat", a, b, const(0.02), const([0.03]), None, None, const(_floats(7)))
    x = Feed(_floats(2, 5, 16), ["n", "s", 16])
    add("DynamicQuantizeMatMul", x, const(b), const(_scales(7)), zeros, const(_floats(7)))
    add(
        "DynamicQuantizeMatMul",
        x.array,
        const(_bytes(np.uint8, 16, 7)),
        const(0.02),
        const(9, np.uint8),
    )
    c = const(_random.integers(-999, 999, (7,), np.int32))
    rest = (const(0.02), const(3, np.uint8), const(b), const(_scales(7)), zeros, c)
    add("QGemm", a[0], *rest, const(1.5), const(120, np.uint8))
    add("QGemm", np.ascontiguousarray(a[0].T), *rest, transA=1, alpha=2.0)
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_weights_of_few_bits(bits):
    cases = Cases(opset=21, domains={DOMAIN: 1})
    columns, k, size = 6, 40, 16
    blocks = -(-k // size)
    shape = {"K": k, "N": columns, "bits": bits, "block_size": size}
    weights = const(_bytes(np.uint8, columns, blocks, size * bits // 8))
    scales = const(_scales(columns * blocks))
    packed = const(_bytes(np.uint8, columns * -(-blocks * bits // 8)))
    x = Feed(_floats(2, 3, k), ["n", "s", k])
    forms = [packed] if bits == 2 else [None, packed]
    if bits == 4:
        forms.append(const(_floats(columns * blocks) * 4))
    for zeros in forms:
        cases.add("MatMulNBits", x, weights, scales, zeros, domain=DOMAIN, tolerance=2e-5, **shape)
    bias = const(_floats(columns))
    given = (weights, scales, packed, None, bias)
    cases.add("MatMulNBits", x.array[0], *given, domain=DOMAIN, tolerance=2e-5, **shape)
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize("named", ["B", "zero_points"])
def test_zero_points_and_weights_of_which_one_is_constant(named):
    """Constants of 4 bits have a type of their own, which what the model computes has not."""
    cases = Cases(opset=21, domains={DOMAIN: 1})
    shape = {"K": 40, "N": 6, "bits": 4, "block_size": 16}
    given = {"B": _bytes(np.uint8, 6, 3, 8), "zero_points": _bytes(np.uint8, 6 * 2)}
    weights, zeros = (x if name == named else const(x) for name, x in given.items())
    cases.add(
        "MatMulNBits", _floats(3, 40), weights, const(_scales(18)), zeros,
        domain=DOMAIN, tolerance=2e-5, **shape,
    )  # fmt: skip
    cases.compare_with_onnxruntime()


def test_weights_from_a_table():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    for kind, columns in ((0, 6), (1, 5)):
        weights = const(_bytes(np.uint8, -(-columns * 15 // 2)))
        scales = const(50 * _scales(-(-columns * 15 // 16)))
        form = {"K": 15, "N": columns, "block_size": 16, "quant_type": kind}
        x = Feed(_floats(2, 3, 15), ["n", "s", 15])
        cases.add("MatMulBnb4", x, weights, scales, domain=DOMAIN, tolerance=2e-5, **form)
    cases.compare_with_onnxruntime()


def test_blocks_in_another_order():
    """ONNX Runtime leaves zero points aside where `g_idx` is given."""
    columns, k, size = 6, 64, 16
    blocks = k // size
    shape = {"K": k, "N": columns, "bits": 4, "block_size": size}
    weights = const(_bytes(np.uint8, columns, blocks, size // 2))
    scales, packed = const(_scales(columns * blocks)), _bytes(np.uint8, columns * blocks // 2)
    order = const(_random.permutation(np.arange(k) // size).astype(np.int32))
    x = _floats(2, 3, k)

    def add(cases: Cases, zeros) -> None:
        given = (x, weights, scales, zeros, order)
        cases.add("MatMulNBits", *given, domain=DOMAIN, tolerance=2e-5, **shape)

    cases = Cases(opset=21, domains={DOMAIN: 1})
    add(cases, None)
    cases.compare_with_onnxruntime()
    cases = Cases(opset=21, domains={DOMAIN: 1})
    add(cases, const(packed))
    cases.compare_compiled_with_evaluation()
    numbers, zeros = (np.stack([b & 15, b >> 4], -1) for b in (weights.array, packed))
    scale, zero = (
        v.reshape(columns, blocks)[:, order.array] for v in (scales.array, zeros.astype(np.float32))
    )
    (y,) = evaluate(cases.model(), cases.feeds)
    expected = x @ ((numbers.reshape(columns, k) - zero) * scale).T
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("changed", "error", "reason"),
    [
        ({"bits": 3}, InvalidModelError, "weights of 3 bits"),
        ({"weight_prepacked": 1}, UnsupportedModelError, "packed for another device"),
    ],
)
def test_what_is_refused(changed, error, reason):
    cases = Cases(opset=21, domains={DOMAIN: 1})
    shape = {"K": 16, "N": 4, "bits": 4, "block_size": 16} | changed
    inputs = _floats(2, 16), _bytes(np.uint8, 4, 1, 8), _scales(4)
    cases.add("MatMulNBits", *inputs, domain=DOMAIN, **shape)
    with pytest.raises(error, match=reason):
        import_onnx(cases.model())


def test_products_of_16_bits():
    cases = Cases(opset=17, domains={DOMAIN: 1})
    a, b = (_random.integers(-3000, 3000, shape).astype(np.int16) for shape in ((2, 3, 4), (4, 5)))
    cases.add("MatMulInteger16", a, b, domain=DOMAIN)
    cases.compare_with_onnxruntime()
    cases.add("MatMulInteger16", a.view(np.uint16), b.view(np.uint16), domain=DOMAIN)
    cases.add("MatMulInteger16", a.view(np.uint16), b, domain=DOMAIN)
    cases.compare_compiled_with_evaluation()
    _, plain, mixed = evaluate(cases.model(), cases.feeds)
    wide = a.view(np.uint16).astype(np.int64)
    assert (plain == (wide @ b.view(np.uint16).astype(np.int64)).astype(np.uint32)).all()
    assert (mixed == (wide @ b).astype(np.int32)).all()


def _packed(rows: int, columns: int) -> tuple[Const, Const, Const]:
    """Weights of 4 bits in blocks of 32, scales and biases."""
    blocks = columns // 32
    weights = _bytes(np.uint8, rows, blocks, 16)
    return const(weights, np.uint8), const(_scales(rows, blocks)), const(_floats(rows))


def test_projections_of_one_input():
    """Against the operators that they stand for."""
    cases, apart = (Cases(opset=21, domains={DOMAIN: 1}) for _ in range(2))
    x, skip, scale = _floats(2, 3, 64), _floats(2, 3, 64), const(_floats(64))
    few = {"K": 64, "bits": 4, "block_size": 32, "domain": DOMAIN}
    gate, up, q, k, v = _packed(48, 64), _packed(48, 64), *(_packed(n, 64) for n in (32, 16, 16))
    cases.add("MatMulNBitsMlp", x, skip, scale, *gate, *up, N=48, activation="silu", outputs=2,
              **few)  # fmt: skip
    cases.add("MatMulNBitsMlp", x, None, None, *gate[:2], None, *up, N=48, activation="relu", **few)
    cases.add("MatMulNBitsQkv", x, skip, scale, *q, *k, *v, Nq=32, Nkv=16, outputs=4, **few)
    total = x + skip
    apart.add("SimplifiedLayerNormalization", total, scale, axis=-1, epsilon=1e-5)
    apart.add("SimplifiedLayerNormalization", total, scale, axis=-1, epsilon=1e-6)
    first, second = evaluate(apart.model(), apart.feeds)
    apart = Cases(opset=21, domains={DOMAIN: 1})
    for given, (weights, scales, bias), rows in (
        (first, gate, 48), (first, up, 48), (x, (*gate[:2], None), 48), (x, up, 48),
        (second, q, 32), (second, k, 16), (second, v, 16),
    ):  # fmt: skip
        apart.add("MatMulNBits", given, weights, scales, None, None, bias, N=rows, **few)
    g, u, h, w, *qkv = evaluate(apart.model(), apart.feeds)
    expected = [g / (1 + np.exp(-g)) * u, total, np.maximum(h, 0) * w, *qkv, total]
    have = evaluate(cases.model(), cases.feeds)
    tolerances = dict.fromkeys(cases.outputs, 1e-4)
    compare(have, expected, cases.outputs, tolerances)
    compare(run_compiled(cases.model(), cases.feeds), expected, cases.outputs, tolerances)
