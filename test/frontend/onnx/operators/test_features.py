"""Preparation of features against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, compare, const, evaluate, output_names, run_compiled
from onnx import numpy_helper

from graphc.errors import ExecutionError, InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)
_DOMAIN = "ai.onnx.ml"


def _cases() -> Cases:
    return Cases(opset=18, domains={_DOMAIN: 4})


def _normal(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def test_features():
    cases = _cases()
    x, whole = _normal(5, 4), _random.integers(-2, 3, (5, 4))
    indices = const([3, 0, 1])
    cases.add("ArrayFeatureExtractor", x, indices, domain=_DOMAIN)
    cases.add("ArrayFeatureExtractor", Feed(x[0], ["n"]), indices, domain=_DOMAIN)
    cases.add("ArrayFeatureExtractor", _normal(2, 3, 4), const([[1]]), domain=_DOMAIN)
    cases.add("Binarizer", x, domain=_DOMAIN, threshold=0.2)
    for given in (x, whole, whole.astype(np.float64), whole.astype(np.int32)):
        cases.add("Scaler", given, domain=_DOMAIN, offset=[0.5, 1, 2, 3], scale=[2.0, 1, 0.5, 3])
        for norm in ("MAX", "L1", "L2"):
            cases.add("Normalizer", given + given.dtype.type(9), domain=_DOMAIN, norm=norm)
    signed = np.array([[-1, -2, -4, -8], [0, -1, -3, -9], [0, 0, 0, 0], [1, 2, -8, 0]])
    for given in (signed, signed.astype(np.float32), np.float32([[1e-35, 0]])):
        for norm in ("MAX", "L1"):
            cases.add("Normalizer", given, domain=_DOMAIN, norm=norm)
    cases.add("Normalizer", signed, domain=_DOMAIN, norm="L2")
    cases.add("Scaler", x, domain=_DOMAIN, offset=[0.5], scale=[2.0])
    gaps = np.where(x > 0.5, np.float32(np.nan), x)
    cases.add("Imputer", gaps, domain=_DOMAIN, imputed_value_floats=[7.0],
              replaced_value_float=float("nan"))  # fmt: skip
    cases.add("Imputer", whole, domain=_DOMAIN, imputed_value_int64s=[5, 6, 7, 8],
              replaced_value_int64=-1)  # fmt: skip
    cases.add("OneHotEncoder", whole, domain=_DOMAIN, cats_int64s=[-1, 0, 2])
    cases.add("OneHotEncoder", whole[0].astype(np.float32), domain=_DOMAIN, cats_int64s=[1, 0])
    cases.add("FeatureVectorizer", x, _normal(5, 2), domain=_DOMAIN, inputdimensions=[4, 2])
    cases.compare_with_onnxruntime()


def test_categories_that_must_be_known():
    cases = _cases()
    whole = _random.integers(-1, 2, (5, 4))
    encoder = {"domain": _DOMAIN, "cats_int64s": [1, 0, -1], "zeros": 0}
    cases.add("OneHotEncoder", Feed(whole, ["n", 4]), **encoder)
    cases.compare_with_onnxruntime()
    feeds = {name: np.where(whole == 1, 7, whole) for name in cases.feeds}
    with pytest.raises(ExecutionError, match="OneHotEncoder_0: an element is none of the cat"):
        run_compiled(cases.model(), feeds)


def test_label_encoders():
    cases = _cases()
    numbers = np.array([1, 2, 7, -3, 2], np.int64)
    floats = np.array([[1, np.nan, 0.5], [7, -0.0, 1]], np.float32)
    cases.add("LabelEncoder", numbers, domain=_DOMAIN, keys_int64s=[1, 2, -3],
              values_floats=[0.5, 1.5, 2.5], default_float=9.0)  # fmt: skip
    cases.add("LabelEncoder", numbers, domain=_DOMAIN, keys_int64s=[1, 7], values_int64s=[5, 6])
    cases.add("LabelEncoder", floats, domain=_DOMAIN, keys_floats=[1.0, float("nan"), 0.0],
              values_int64s=[4, 5, 6], default_int64=-9)  # fmt: skip
    table = {"keys_tensor": [1.0, 7.0], "values_tensor": [2.0, 3.0], "default_tensor": [8.0]}
    tensors = {k: numpy_helper.from_array(np.array(v)) for k, v in table.items()}
    cases.add("LabelEncoder", floats.astype(np.float64), domain=_DOMAIN, **tensors)
    cases.compare_with_onnxruntime()


def test_label_encoders_of_many_keys():
    cases = _cases()
    keys = _random.permutation(40_000)[:20_000] * 7919 - (1 << 40)
    asked = np.concatenate([keys[:50], keys[-50:], keys[:9] + 1, [0, -1, 1 << 62]])
    for given, dims in ((asked.reshape(8, -1), ["b", "n"]), (asked[:0], ["none"])):
        cases.add("LabelEncoder", Feed(given, dims), domain=_DOMAIN, keys_int64s=keys.tolist(),
                  values_floats=_normal(keys.size).tolist())  # fmt: skip
    floats = np.concatenate([_normal(3000), [np.nan, np.inf, -np.inf, -0.0]]).astype(np.float32)
    x = np.concatenate([floats, floats + 1, [0.0], -floats]).astype(np.float32)
    cases.add("LabelEncoder", Feed(x, ["n"]), domain=_DOMAIN, keys_floats=floats.tolist(),
              values_int64s=[*range(floats.size)], default_int64=-9)  # fmt: skip
    cases.compare_with_onnxruntime()
    cases.compare_compiled_with_evaluation()


def test_the_first_of_equal_keys_counts():
    cases = _cases()
    cases.add("LabelEncoder", np.array([1, 2, 3]), domain=_DOMAIN, keys_int64s=[1, 2, 1, 2, 1],
              values_int64s=[5, 6, 7, 8, 9])  # fmt: skip
    nan, x = float("nan"), np.array([np.nan, 0.0, -0.0, 1.0], np.float32)
    cases.add("LabelEncoder", x, domain=_DOMAIN, keys_floats=[nan, -0.0, nan, 0.0],
              values_int64s=[5, 6, 7, 8])  # fmt: skip
    cases.compare_with_onnxruntime()


def test_keys_of_other_types():
    cases, wanted = _cases(), []
    for dtype in (np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float64):
        keys = np.unique(_random.integers(0, 100, 60)).astype(dtype)
        keys[-1] = np.finfo(dtype).max if keys.dtype.kind == "f" else np.iinfo(dtype).max
        tensors = {"keys_tensor": keys, "values_tensor": _normal(keys.size),
                   "default_tensor": np.array([7], np.float32)}  # fmt: skip
        x = np.append(np.arange(100).astype(dtype), keys[-1])
        attributes = {name: numpy_helper.from_array(array) for name, array in tensors.items()}
        cases.add("LabelEncoder", x, domain=_DOMAIN, **attributes)
        table = dict(zip(keys.tolist(), tensors["values_tensor"], strict=True))
        wanted.append(np.array([table.get(key, 7) for key in x.tolist()], np.float32))
    names = output_names(cases.model())
    compare(run_compiled(cases.model(), cases.feeds), wanted, names)
    compare(evaluate(cases.model(), cases.feeds), wanted, names)


def test_features_are_cut_and_filled():
    cases = _cases()
    x = _normal(3, 4)
    cases.add("FeatureVectorizer", x, x, x[:, 0], domain=_DOMAIN, inputdimensions=[2, 6, 1])
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def _import_one(op_type: str, **attributes) -> None:
    cases = _cases()
    cases.add(op_type, _normal(2, 3), domain=_DOMAIN, **attributes)
    import_onnx(cases.model())


def test_what_is_refused():
    with pytest.raises(InvalidModelError, match="norm 'L3' is unknown"):
        _import_one("Normalizer", norm="L3")
    with pytest.raises(InvalidModelError, match="says no value to impute to float32"):
        _import_one("Imputer", imputed_value_int64s=[1])
    with pytest.raises(InvalidModelError, match="1 keys of int64 for 1 values"):
        _import_one("LabelEncoder", keys_int64s=[1], values_int64s=[1])
    with pytest.raises(UnsupportedModelError, match="strings"):
        _import_one("OneHotEncoder", cats_strings=["a"])
