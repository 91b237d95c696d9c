"""Linear models and support vector machines against the reference and ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)
_DOMAIN = "ai.onnx.ml"
_TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")


def _cases() -> Cases:
    return Cases(opset=18, domains={_DOMAIN: 3})


def _normal(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _list(count: int) -> list[float]:
    return _normal(count).tolist()


def test_linear_models():
    cases = _cases()
    x = _normal(9, 4)
    for transform in _TRANSFORMS:
        cases.add("LinearRegressor", x, domain=_DOMAIN, targets=3, coefficients=_list(12),
                  intercepts=_list(3), post_transform=transform)  # fmt: skip
        cases.add("LinearClassifier", Feed(x, ["n", 4]), domain=_DOMAIN, outputs=2,
                  coefficients=_list(12), intercepts=_list(3), classlabels_ints=[5, 3, 9],
                  post_transform=transform)  # fmt: skip
    cases.add("LinearRegressor", x, domain=_DOMAIN, coefficients=_list(4))
    for kind in ("LOGISTIC", "NONE"):
        cases.add("LinearClassifier", x, domain=_DOMAIN, outputs=2, coefficients=_list(4),
                  intercepts=_list(1), classlabels_ints=[5, 3], post_transform=kind)  # fmt: skip
    cases.compare_with_onnxruntime()


def test_the_inverse_of_the_normal_distribution():
    cases = _cases()
    chances = np.linspace(0.01, 0.99, 40, dtype=np.float32).reshape(-1, 1)
    cases.add("LinearRegressor", chances, domain=_DOMAIN, coefficients=[1.0],
              post_transform="PROBIT", tolerance=1e-4)  # fmt: skip
    cases.compare_with_onnxruntime()


def test_one_row_of_coefficients_is_that_of_the_second_class():
    """Transforms follow ONNX's evaluator; ONNX Runtime ignores all but LOGISTIC."""
    cases = _cases()
    for transform in (each for each in _TRANSFORMS if each != "NONE"):
        cases.add("LinearClassifier", _normal(9, 4), domain=_DOMAIN, outputs=2,
                  coefficients=_list(4), intercepts=_list(1), classlabels_ints=[5, 3],
                  post_transform=transform)  # fmt: skip
    cases.compare_evaluation()


def test_support_vector_machines():
    cases = _cases()
    x = _normal(9, 3)
    parameters = [0.4, 0.3, 2.0]
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        cases.add("SVMRegressor", x, domain=_DOMAIN, kernel_type=kernel, kernel_params=parameters,
                  n_supports=5, support_vectors=_list(15), coefficients=_list(5),
                  rho=[0.3], tolerance=1e-4)  # fmt: skip
        cases.add("SVMClassifier", Feed(x, ["n", 3]), domain=_DOMAIN, outputs=2,
                  kernel_type=kernel, kernel_params=parameters, support_vectors=_list(18),
                  vectors_per_class=[1, 3, 2], coefficients=_list(12), rho=_list(3),
                  classlabels_ints=[2, 4, 6], post_transform="LOGISTIC",
                  tolerance=1e-4)  # fmt: skip
    linear = {"domain": _DOMAIN, "kernel_params": parameters, "rho": [0.1, 0.2, 0.3]}
    cases.add("SVMRegressor", x, coefficients=_list(3), one_class=1, **linear)
    cases.add("SVMClassifier", x, outputs=2, coefficients=_list(9), classlabels_ints=[8, 9, 5],
              **linear)  # fmt: skip
    cases.add("SVMClassifier", x, domain=_DOMAIN, outputs=2, kernel_type="RBF",
              kernel_params=parameters, support_vectors=_list(9), vectors_per_class=[1, 2],
              coefficients=_list(3), rho=[0.2], classlabels_ints=[8, 9],
              tolerance=1e-5)  # fmt: skip
    cases.compare_with_onnxruntime()


def test_probabilities_of_support_vector_machines():
    cases = _cases()
    for classes in (2, 3, 5):
        pairs = classes * (classes - 1) // 2
        counts = [2] * classes
        cases.add("SVMClassifier", Feed(_normal(6, 3), ["n", 3]), domain=_DOMAIN, outputs=2,
                  kernel_type="RBF", kernel_params=[0.2, 0.0, 3.0], vectors_per_class=counts,
                  support_vectors=_list(6 * classes), rho=_list(pairs),
                  coefficients=_list(2 * classes * (classes - 1)),
                  prob_a=[-abs(a) - 0.5 for a in _list(pairs)], prob_b=_list(pairs),
                  classlabels_ints=list(range(classes)), tolerance=1e-4)  # fmt: skip
    cases.compare_with_onnxruntime()


def _import_one(op_type: str, **attributes) -> None:
    cases = _cases()
    cases.add(op_type, _normal(2, 3), domain=_DOMAIN, outputs=2, **attributes)
    import_onnx(cases.model())


def test_what_is_refused():
    with pytest.raises(InvalidModelError, match="a classifier needs class labels"):
        _import_one("LinearClassifier", coefficients=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidModelError, match="4 numbers do not make 3 rows"):
        _import_one("SVMClassifier", coefficients=_list(4), classlabels_ints=[1, 2, 3])
    with pytest.raises(UnsupportedModelError, match="string labels"):
        _import_one("SVMClassifier", coefficients=_list(6), classlabels_strings=["a", "b"])
    vectors = {"support_vectors": _list(6), "vectors_per_class": [1, 1], "coefficients": _list(2)}
    with pytest.raises(InvalidModelError, match="2 and 1 parameters of 1 pairs"):
        _import_one("SVMClassifier", prob_a=[0.1, 0.3], prob_b=[0.2], classlabels_ints=[1, 2],
                    rho=[0.1], **vectors)  # fmt: skip
