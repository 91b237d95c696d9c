"""Random operators: known answers of the generator, distributions, seeds, training."""

import contextlib
import math

import numpy as np
import onnx
import pytest
from numerics import Cases, Feed, compile_model, const, evaluate

from graphc.dialects.graph.random import philox
from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

_COUNT = 40_000
_FLOAT, _DOUBLE = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
_HALF, _INT64 = onnx.TensorProto.FLOAT16, onnx.TensorProto.INT64


@pytest.mark.parametrize(
    ("counter", "key", "bits"),
    [
        (0, 0, 0x6CD10DF2FF1DAE59),
        (0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF, 0xAB4FD7AD2C3F628B),
        (0x85A308D3243F6A88, 0x13198A2E, 0xF62A4C12DD7CE038),
    ],
)
def test_known_answers(counter, key, bits):
    assert int(philox(np.array(counter, np.uint64), key)) == bits


def _run(cases: Cases) -> list[np.ndarray]:
    cases.compare_compiled_with_evaluation()
    return evaluate(cases.model(), cases.feeds)


def _is_uniform(x: np.ndarray, low: float, high: float) -> bool:
    """Return whether `x` passes the Kolmogorov-Smirnov test for uniformity at a level of 1e-4."""
    quantile = (np.sort(x.ravel().astype(np.float64)) - low) / (high - low)
    distance = np.abs(quantile - np.arange(1, quantile.size + 1) / quantile.size).max()
    return quantile[0] >= 0 and quantile[-1] < 1 and distance < 2.23 / math.sqrt(quantile.size)


def _normal_cdf(x: np.ndarray, mean: float, scale: float) -> np.ndarray:
    return np.array(
        [0.5 * math.erfc((mean - v) / scale / math.sqrt(2)) for v in x.ravel().tolist()]
    )


def test_uniform():
    cases = Cases()
    like = np.zeros((200, 200), np.float32)
    cases.add("RandomUniform", shape=[_COUNT], seed=1.0)
    cases.add("RandomUniform", shape=[4, 5000], dtype=_DOUBLE, low=-3.0, high=5.0, seed=2.0)
    cases.add("RandomUniformLike", Feed(like, ["n", 200]), low=2.0, high=3.0, seed=2.5)
    cases.add("RandomUniformLike", Feed(like, ["n", "m"]), dtype=_DOUBLE)
    cases.add("RandomUniformLike", np.zeros((0, 3), np.float32))
    cases.add("RandomUniformLike", np.zeros((), np.float16))
    first, second, third, fourth, empty, scalar = _run(cases)
    assert _is_uniform(first, 0, 1)
    assert _is_uniform(second, -3, 5)
    assert _is_uniform(third, 2, 3)
    assert _is_uniform(fourth, 0, 1)
    assert second.dtype == fourth.dtype == np.float64
    assert (empty.shape, scalar.shape, scalar.dtype) == ((0, 3), (), np.float16)
    neighbours = np.corrcoef(first[:-1], first[1:])[0, 1]
    assert abs(neighbours) < 4 / math.sqrt(_COUNT)


def test_normal():
    cases = Cases()
    like = np.zeros((200, 100), np.float16)
    cases.add("RandomNormal", shape=[_COUNT], seed=3.0)
    cases.add("RandomNormal", shape=[_COUNT], dtype=_DOUBLE, mean=2.0, scale=0.5, seed=4.0)
    cases.add("RandomNormalLike", Feed(like, ["n", 100]), seed=5.0, tolerance=4e-3)
    first, second, third = _run(cases)
    assert _is_uniform(_normal_cdf(first, 0, 1), 0, 1)
    assert _is_uniform(_normal_cdf(second, 2, 0.5), 0, 1)
    assert third.dtype == np.float16
    assert abs(third.astype(np.float64).std() - 1) < 0.02


def test_draws():
    cases = Cases()
    chances = np.repeat(np.array([0, 0.2, 0.7, 1], np.float32), _COUNT // 4)
    weights = np.log(np.array([[1, 2, 0, 7], [3, 0, 1, 0]], np.float32) + 1e-30)
    cases.add("Bernoulli", chances, seed=1.0)
    cases.add("Bernoulli", Feed(chances.astype(np.float64), ["n"]), dtype=_INT64, seed=2.0)
    cases.add("Multinomial", weights, sample_size=20_000, seed=3.0)
    cases.add("Multinomial", Feed(weights, ["n", "c"]), dtype=_INT64, sample_size=3)
    floats, integers, drawn, few = _run(cases)
    for result, dtype in ((floats, np.float32), (integers, np.int64)):
        assert result.dtype == dtype
        shares = result.reshape(4, -1).mean(axis=1)
        np.testing.assert_allclose(shares, [0, 0.2, 0.7, 1], atol=0.02)
        assert (shares[0], shares[3]) == (0, 1)
    assert (drawn.dtype, few.dtype, few.shape) == (np.int32, np.int64, (2, 3))
    shares = [np.bincount(row, minlength=4) / 20_000 for row in drawn]
    np.testing.assert_allclose(shares, [[0.1, 0.2, 0, 0.7], [0.75, 0, 0.25, 0]], atol=0.02)


def test_seeds():
    cases = Cases()
    for seed in (1.0, 1.0, 1.5):
        cases.add("RandomUniform", shape=[100], seed=seed)
    for _ in range(2):
        cases.add("RandomUniform", shape=[100])
    with contextlib.closing(compile_model(cases.model())) as compiled:
        first, again, *others = results = compiled.run(None, {})
        np.testing.assert_array_equal(first, again)
        assert len({array.tobytes() for array in results}) == 1 + len(others)
        for before, after in zip(results, compiled.run(None, {}), strict=True):
            np.testing.assert_array_equal(before, after)


def test_dropout_in_training():
    cases = Cases()
    x = np.full((100, 200), 3, np.float32)
    true, ratio = np.array(True), np.array(0.25, np.float32)
    cases.add("Dropout", x, const(0.25), const(True), outputs=2, seed=1)
    cases.add("Dropout", x, None, const(True), seed=1)
    cases.add("Dropout", Feed(x, ["n", 200]), Feed(ratio, []), Feed(true, []), outputs=2, seed=2)
    cases.add("Dropout", x, const(0.25), Feed(~true, []), outputs=2, seed=2)
    cases.add("Dropout", x, const(0.0), const(True), outputs=2)
    cases.add("Dropout", x, const(1.0), const(True))
    cases.add("Dropout", x, const(0.5), const(False), outputs=2)
    first, mask, half, second, second_mask, off, off_mask, none, none_mask, all_, *last = _run(
        cases
    )
    for y, kept in ((first, mask), (second, second_mask)):
        np.testing.assert_allclose(y, np.where(kept, np.float32(4), 0), rtol=1e-6)
        assert abs(kept.mean() - 0.75) < 0.02
    assert set(np.unique(half)) == {0, 6}
    for y, kept in ((off, off_mask), (none, none_mask), last):
        np.testing.assert_array_equal(y, x)
        assert kept.all()
    assert not all_.any()


def test_dropout_of_old_opsets():
    x = np.full((100, 100), 3, np.float32)
    cases = Cases(opset=6)
    cases.add("Dropout", x, is_test=1, outputs=2)
    cases.add("Dropout", x, ratio=0.25, outputs=2)
    same, ones, y, mask = _run(cases)
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(ones, np.ones_like(x))
    np.testing.assert_allclose(y, 4 * mask, rtol=1e-6)
    assert mask.dtype == np.float32
    assert abs(mask.mean() - 0.75) < 0.02


def test_integers_are_refused():
    cases = Cases()
    cases.add("RandomUniform", shape=[2], dtype=_INT64)
    with pytest.raises(InvalidModelError, match="gives floating-point numbers, not int64"):
        import_onnx(cases.model())
