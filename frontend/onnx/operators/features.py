"""Preparation of features: scaling, encoding, imputation (``ai.onnx.ml``)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op
from .lookup import look_up
from .scores import as_floats

_DOMAIN = "ai.onnx.ml"


def _f32(x: ir.Value) -> ir.Value:
    return x if graph.type_of(x).dtype == np.float32 else graph.cast(x, to=np.float32)


@onnx_op("Binarizer", domain=_DOMAIN)
def binarizer(x, *, threshold=0.0):
    above = graph.greater(x, graph.splat_like(threshold, x))
    return graph.cast(above, to=graph.type_of(x).dtype)


@onnx_op("Scaler", domain=_DOMAIN)
def scaler(x, *, offset=None, scale=None):
    """``(x - offset) * scale``."""
    x = as_floats(x)
    dtype = graph.type_of(x).dtype
    if offset:
        x = graph.sub(x, graph.constant(value=_per_feature(offset, dtype)))
    if scale:
        x = graph.mul(x, graph.constant(value=_per_feature(scale, dtype)))
    return _f32(x)


def _per_feature(values: Sequence[float], dtype: np.dtype) -> np.ndarray:
    array = np.array(values, dtype)
    return array.reshape(()) if array.size == 1 else array


@onnx_op("Normalizer", domain=_DOMAIN)
def normalizer(x, *, norm="MAX"):
    """Rows divided by their norm, or by their largest element with its sign; where that is 0 they
    stay."""
    x = as_floats(x)
    axes = [graph.type_of(x).rank - 1]
    if norm == "MAX":
        size = graph.reduce_max(x, axes=axes, keepdims=True)
    elif norm == "L1":
        size = graph.reduce_sum(graph.abs_(x), axes=axes, keepdims=True)
    elif norm == "L2":
        size = graph.sqrt(graph.reduce_sum(graph.mul(x, x), axes=axes, keepdims=True))
    else:
        raise graph.TypeRuleError(f"norm '{norm}' is unknown")
    is_zero = graph.equal(size, graph.splat_like(0, x))
    return _f32(graph.div(x, graph.where(is_zero, graph.splat_like(1, x), size)))


@onnx_op("Imputer", domain=_DOMAIN)
def imputer(
    x,
    *,
    imputed_value_floats=None,
    imputed_value_int64s=None,
    replaced_value_float=0.0,
    replaced_value_int64=0,
):
    """Elements equal to one value replaced, by one or by that of their feature."""
    dtype = graph.type_of(x).dtype
    is_float = graph.is_float(dtype)
    values = imputed_value_floats if is_float else imputed_value_int64s
    if not values:
        raise graph.TypeRuleError(f"says no value to impute to {dtype}")
    replaced: Any = replaced_value_float if is_float else replaced_value_int64
    if is_float and np.isnan(replaced):
        missing = graph.is_nan(x)
    else:
        missing = graph.equal(x, graph.splat_like(replaced, x))
    return graph.where(missing, graph.constant(value=_per_feature(values, dtype)), x)


@onnx_op("OneHotEncoder", domain=_DOMAIN)
def one_hot_encoder(x, *, cats_int64s=None, cats_strings=None, zeros=1):
    """A last axis with 1 at the position of the category; without `zeros` there must be one."""
    if cats_strings:
        raise UnsupportedError("categories that are strings")
    if not cats_int64s:
        raise graph.TypeRuleError("an encoder needs categories")
    if graph.type_of(x).dtype != np.int64:
        x = graph.cast(x, to=np.int64)
    categories = graph.constant(value=np.array(cats_int64s, np.int64))
    column = graph.reshape(x, shape=[*graph.type_of(x).shape, 1])
    hit = graph.equal(column, categories)
    if not zeros:
        axes = [*range(graph.type_of(x).rank)]
        known = graph.reduce_max(hit, axes=[len(axes)], keepdims=False)
        known = graph.reduce_min(known, axes=axes, keepdims=False)
        graph.require(known, message="an element is none of the categories")
    return graph.cast(hit, to=np.float32)


@onnx_op("FeatureVectorizer", domain=_DOMAIN)
def feature_vectorizer(*xs, inputdimensions=None):
    """Columns side by side, each input cut or filled with zeros to its stated width."""
    widths = inputdimensions or [graph.type_of(x).shape[-1] for x in xs]
    if len(widths) != len(xs):
        raise graph.TypeRuleError(f"{len(widths)} widths for {len(xs)} inputs")
    parts = [_as_wide(_f32(x), width) for x, width in zip(xs, widths, strict=True)]
    return graph.concat(parts, axis=1)


def _as_wide(x: ir.Value, width: int | Dim) -> ir.Value:
    shape = graph.type_of(x).shape
    if len(shape) == 1:
        shape = (*shape, 1)
        x = graph.reshape(x, shape=shape)
    rows, columns = shape
    if columns == width:
        return x
    if not isinstance(columns, int) or not isinstance(width, int):
        raise UnsupportedError("an unknown number of columns")
    if columns > width:
        return graph.slice_(x, starts=[0, 0], sizes=[rows, width], steps=[1, 1])
    return graph.pad(x, graph.splat_like(0, x), low=[0, 0], high=[0, width - columns])


@onnx_op("LabelEncoder", since=2, domain=_DOMAIN)
def label_encoder(
    x,
    *,
    default_float=-0.0,
    default_int64=-1,
    default_string="_Unused",
    default_tensor=None,
    keys_floats=None,
    keys_int64s=None,
    keys_strings=None,
    keys_tensor=None,
    values_floats=None,
    values_int64s=None,
    values_strings=None,
    values_tensor=None,
):
    """The value of the key that an element is, or the default."""
    del default_string
    if keys_strings or values_strings:
        raise UnsupportedError("keys or values that are strings")
    keys = _table(keys_tensor, keys_floats, keys_int64s)
    values = _table(values_tensor, values_floats, values_int64s)
    if keys.shape != values.shape or graph.type_of(x).dtype != keys.dtype:
        raise graph.TypeRuleError(f"{keys.size} keys of {keys.dtype} for {values.size} values")
    default = default_int64 if graph.is_integer(values.dtype) else default_float
    if default_tensor is not None:
        default = default_tensor.reshape(())
    return look_up(x, keys, values, default)


def _table(
    tensor: np.ndarray | None, floats: Sequence[float] | None, ints: Sequence[int] | None
) -> np.ndarray:
    if tensor is not None:
        if tensor.dtype.hasobject:
            raise UnsupportedError("keys or values that are strings")
        return tensor.ravel()
    return np.array(ints, np.int64) if floats is None else np.array(floats, np.float32)
