"""Normalization of tensors, for which `onnx.reference` and ONNX Runtime differ."""

import functools
import math
from collections.abc import Callable

import numpy as np

from .registry import HostError, host_op


def _log_softmax(x: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def _softmax(x: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def _hardmax(x: np.ndarray) -> np.ndarray:
    """1 at the first of the largest elements of each row."""
    hits = np.zeros_like(x)
    if x.size:
        np.put_along_axis(hits, x.argmax(1, keepdims=True), 1, axis=1)
    return hits


def _from(x: np.ndarray, axis: int) -> tuple[int, ...]:
    """`axis` and all later axes, over which these operators normalized before opset 13."""
    return tuple(range(axis % x.ndim, x.ndim))


@host_op("Softmax", since=1)
def softmax_1(*, axis: int = 1) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: _softmax(x, _from(x, axis)) if x.size else x


@host_op("LogSoftmax", since=1)
def log_softmax_1(*, axis: int = 1) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: _log_softmax(x, _from(x, axis)) if x.size else x


@host_op("Hardmax", since=1)
def hardmax_1(*, axis: int = 1) -> Callable[[np.ndarray], np.ndarray]:
    def find(x: np.ndarray) -> np.ndarray:
        rows = math.prod(x.shape[: axis % x.ndim])
        return _hardmax(x.reshape(rows, -1)).reshape(x.shape) if x.size else x

    return find


@host_op("Softmax", since=13)
def softmax(*, axis: int = -1) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: _softmax(x, axis) if x.size else x


@host_op("LogSoftmax", since=13)
def log_softmax(*, axis: int = -1) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: _log_softmax(x, axis) if x.size else x


@host_op("Hardmax", since=13)
def hardmax(*, axis: int = -1) -> Callable[[np.ndarray], np.ndarray]:
    def find(x: np.ndarray) -> np.ndarray:
        moved = np.moveaxis(x, axis, -1)
        rows = moved.reshape(-1, moved.shape[-1]) if x.size else moved
        return np.moveaxis(_hardmax(rows).reshape(moved.shape), -1, axis) if x.size else x

    return find


@host_op("LRN")
def local_response_normalization(
    *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Callable[[np.ndarray], np.ndarray]:
    """Normalize each channel by the squares of neighbouring channels."""
    below, above = (size - 1) // 2, size // 2

    def normalize(x: np.ndarray) -> np.ndarray:
        channels = x.shape[1]
        squares = np.pad(x * x, [(0, 0), (below, above), *[(0, 0)] * (x.ndim - 2)])
        total = sum(squares[:, k : k + channels] for k in range(size))
        return (x / (bias + alpha / size * total) ** beta).astype(x.dtype)

    return normalize


@host_op("LpNormalization")
def lp_normalization(*, axis: int = -1, p: int = 2) -> Callable[[np.ndarray], np.ndarray]:
    """Divide vectors by their norm; zero vectors stay zero."""
    if p not in (1, 2):
        raise HostError(f"p is {p}, neither 1 nor 2")

    def normalize(x: np.ndarray) -> np.ndarray:
        norm = np.linalg.norm(x, p, axis, keepdims=True)
        return np.divide(x, norm, out=np.zeros_like(x), where=norm != 0)

    return normalize


@host_op("BatchNormalization", since=9)
def batch_normalization_9(
    *, epsilon: float = 1e-5, momentum: float = 0.9
) -> Callable[..., np.ndarray]:
    """Normalize with the given mean and variance; `momentum` applies to training only."""
    del momentum
    return functools.partial(_batch_normalized, epsilon=epsilon)


@host_op("BatchNormalization", since=14)
def batch_normalization(
    *, epsilon: float = 1e-5, momentum: float = 0.9, training_mode: int = 0
) -> Callable[..., np.ndarray | tuple[np.ndarray, ...]]:
    if not training_mode:
        return functools.partial(_batch_normalized, epsilon=epsilon)

    def train(
        x: np.ndarray, scale: np.ndarray, bias: np.ndarray, mean: np.ndarray, var: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Normalize with the statistics of the batch, and update the running statistics."""
        axes = (0, *range(2, x.ndim))
        here = x.mean(axes, dtype=mean.dtype), x.var(axes, dtype=var.dtype)
        running = (
            (old * momentum + new * (1 - momentum)).astype(old.dtype)
            for old, new in zip((mean, var), here, strict=True)
        )
        return _batch_normalized(x, scale, bias, *here, epsilon), *running

    return train


def _batch_normalized(
    x: np.ndarray,
    scale: np.ndarray,
    bias: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    epsilon: float,
) -> np.ndarray:
    each = (-1, *[1] * (x.ndim - 2))
    scale, bias, mean, var = (v.reshape(each) for v in (scale, bias, mean, var))
    return (scale * (x - mean) / np.sqrt(var + epsilon) + bias).astype(x.dtype)
