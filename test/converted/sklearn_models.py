"""All estimators that skl2onnx converts, and pipelines, fitted to a few rows."""

import inspect
import itertools
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import onnx
from skl2onnx import to_onnx
from skl2onnx._supported_operators import sklearn_operator_name_map
from skl2onnx.common.data_types import StringTensorType
from sklearn import (
    base,
    compose,
    ensemble,
    feature_extraction,
    feature_selection,
    impute,
    linear_model,
    naive_bayes,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.decomposition import PCA

from converted.check_conversion import Converted, check
from converted.conversion_outcome import ConversionOutcome, ConversionStatus

FRAMEWORKS = ("scikit-learn", "skl2onnx")
ROWS, COLUMNS, ASKED = 60, 4, 7
"""Number of rows for fitting, number of columns, and number of rows for prediction."""
WORDS = ("red", "green", "blue", "cyan")
TEXTS = ("a red cat", "green and blue", "the blue cat sat", "no cat, red or green")
FLAVOURS = {
    "classifier": ("binary", "many", "strings", "zipmap", "f64"),
    "regressor": ("plain", "f64"),
    "other": ("plain", "f64"),
}
"""Ways in which estimators of a kind are fitted and converted."""


def names() -> list[str]:
    """``ESTIMATOR/FLAVOUR``, and ``pipeline/NAME``."""
    found = [
        f"{name}/{flavour}"
        for name, kind in estimators().items()
        for flavour in FLAVOURS[_kind(kind)]
    ]
    return [*found, *(f"pipeline/{name}" for name in PIPELINES)]


@cache
def estimators() -> dict[str, type]:
    """The convertible estimators of scikit-learn, by name."""
    return {
        kind.__name__: kind
        for kind in sorted(sklearn_operator_name_map, key=lambda each: each.__name__)
        if kind.__module__.startswith("sklearn.") and not kind.__name__.startswith("_")
        and kind not in (pipeline.Pipeline, pipeline.FeatureUnion, compose.ColumnTransformer)
    }  # fmt: skip


def run(name: str) -> ConversionOutcome:
    """Fit, convert and check a case."""
    estimator, flavour = name.split("/")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if estimator == "pipeline":
                converted = PIPELINES[flavour]()
            else:
                converted = _converted(_made(estimators()[estimator]), flavour)
    except Exception as error:  # fitting and converting may raise anything
        line = " ".join(str(error).split())[:200]
        return ConversionOutcome(
            name, ConversionStatus.NOT_CONVERTED, f"{type(error).__name__}: {line}"
        )
    return check(name, converted)


def _kind(kind: type) -> str:
    if issubclass(kind, base.ClassifierMixin):
        return "classifier"
    return "regressor" if issubclass(kind, base.RegressorMixin) else "other"


def _made(kind: type) -> Any:
    """An estimator that is small, with others in it where it needs them."""
    classifier, regressor = linear_model.LogisticRegression(), linear_model.Ridge()
    inner = classifier if issubclass(kind, base.ClassifierMixin) else regressor
    small = {
        "estimator": inner, "estimators": [("a", inner), ("b", inner)],
        "n_estimators": 5, "max_iter": 200, "random_state": 0, "n_quantiles": 20, "cv": 2,
        "param_grid": {"C": [0.5, 1]} if inner is classifier else {"alpha": [0.5, 1]},
        "hidden_layer_sizes": (8,), "encode": "onehot-dense", "n_components": 2, "k": 2,
        "n_features_to_select": 2, "min_features_to_select": 2, "novelty": True, "radius": 20.0,
        "sparse_output": False,
    }  # fmt: skip
    if kind in (ensemble.StackingClassifier, ensemble.StackingRegressor):
        small["cv"] = 2
    if kind.__name__ == "GridSearchCV":
        small |= {"estimator": classifier, "param_grid": {"C": [0.5, 1]}}
    if issubclass(kind, feature_selection.SelectorMixin):
        small["estimator"] = classifier
    taken = inspect.signature(kind).parameters
    return kind(**{key: value for key, value in small.items() if key in taken})


def _converted(estimator: Any, flavour: str) -> Converted:
    random = np.random.default_rng(0)
    dtype = np.float64 if flavour == "f64" else np.float32
    x = np.abs(random.normal(size=(ROWS, COLUMNS))).astype(dtype)  # many take no negative numbers
    score = x @ np.array([1, -1, 0.5, 0.1])
    kinds = {"many": 3, "strings": 3}.get(flavour, 2)
    labels = np.digitize(score, np.quantile(score, np.linspace(0, 1, kinds + 1)[1:-1]))
    y: Any = labels if _kind(type(estimator)) != "regressor" else score.astype(dtype)
    if flavour == "strings":
        y = np.array(WORDS)[labels]
    if type(estimator).__name__.startswith(("MultiTask", "MultiOutput")):
        y = np.stack([y, y[::-1]], 1)
    if isinstance(estimator, preprocessing.LabelBinarizer | preprocessing.LabelEncoder):
        return _of(estimator.fit(labels), labels[:ASKED].astype(np.int64), flavour)
    return _of(estimator.fit(x, y), x[:ASKED], flavour)


def _of(estimator: Any, x: np.ndarray, flavour: str) -> Converted:
    if base.is_classifier(estimator) and flavour != "zipmap":
        try:
            options = {id(estimator): {"zipmap": False}}
            return _named(to_onnx(estimator, x[:1], options=options), {"X": x})
        except NameError:  # some give arrays without being told
            pass
    return _named(to_onnx(estimator, x[:1]), {"X": x})


def _named(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> Converted:
    names = [info.name for info in model.graph.input]
    return Converted(model, dict(zip(names, feeds.values(), strict=True)))


def _rows() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    x = random.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    return x, (x[:, 0] + x[:, 1] > 0).astype(np.int64)


def _numbers(*steps: Any, flavour: str = "zipmap", missing: bool = False) -> Converted:
    x, y = _rows()
    if missing:
        x[::7, 1] = np.nan
    made = pipeline.make_pipeline(*steps).fit(x, y)
    return _of(made, x[:ASKED], flavour)


def _words(*steps: Any) -> Converted:
    random = np.random.default_rng(2)
    x = random.choice(WORDS, (ROWS, 2))
    made = pipeline.make_pipeline(*steps).fit(x, (x[:, 0] == "red").astype(np.int64))
    model = to_onnx(made, initial_types=[("X", StringTensorType([None, 2]))])
    return _named(model, {"X": x[:ASKED].astype(object)})


def _texts(vectorizer: Any, *steps: Any) -> Converted:
    texts = np.array([f"{a}, {b}" for a, b in itertools.product(TEXTS, TEXTS)])
    made = pipeline.make_pipeline(vectorizer, *steps)
    made.fit(texts, np.arange(len(texts)) % 2)
    model = to_onnx(made, initial_types=[("X", StringTensorType([None, 1]))])
    return _named(model, {"X": texts[:ASKED, None].astype(object)})


def _columns() -> Any:
    scaled = pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler())
    return compose.ColumnTransformer(
        [
            ("scaled", scaled, [0, 1]),
            ("binned", preprocessing.KBinsDiscretizer(3, encode="onehot-dense"), [2, 3]),
        ]
    )


def _union() -> Any:
    return pipeline.FeatureUnion([("pca", PCA(2)), ("scaled", preprocessing.MinMaxScaler())])


PIPELINES: dict[str, Callable[[], Converted]] = {
    "scaled-logistic": lambda: _numbers(
        preprocessing.StandardScaler(), linear_model.LogisticRegression()
    ),
    "scaled-logistic-plain": lambda: _numbers(
        preprocessing.StandardScaler(), linear_model.LogisticRegression(), flavour="plain"
    ),
    "imputed-forest": lambda: _numbers(
        impute.SimpleImputer(), ensemble.RandomForestClassifier(5, random_state=0),
        flavour="plain", missing=True,
    ),
    "columns-svc": lambda: _numbers(_columns(), svm.SVC(probability=True), flavour="plain"),
    "union-tree": lambda: _numbers(_union(), tree.DecisionTreeClassifier(), flavour="plain"),
    "powers-ridge": lambda: _numbers(
        preprocessing.PolynomialFeatures(2), preprocessing.PowerTransformer(), linear_model.Ridge()
    ),
    "pca-bayes": lambda: _numbers(PCA(3), naive_bayes.GaussianNB(), flavour="plain"),
    "one-hot-of-strings": lambda: _words(preprocessing.OneHotEncoder(handle_unknown="ignore")),
    "one-hot-logistic": lambda: _words(
        preprocessing.OneHotEncoder(handle_unknown="ignore"), linear_model.LogisticRegression()
    ),
    "ordinal-forest": lambda: _words(
        preprocessing.OrdinalEncoder(), ensemble.RandomForestClassifier(5, random_state=0)
    ),
    "counted-words": lambda: _texts(feature_extraction.text.CountVectorizer()),
    "tfidf-logistic": lambda: _texts(
        feature_extraction.text.TfidfVectorizer(), linear_model.LogisticRegression()
    ),
}  # fmt: skip
