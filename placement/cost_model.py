"""Predicted times of regions: for each class of operators affine in operations and bytes.

A region takes a fixed time, a time for each operation, and a time for each byte, of which those
beyond the L2 take longer. The coefficients of all classes are fitted together to
measured models, as non-negative least squares of the relative errors.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import MissingPackageError
from ..frontend.onnx.node_work import OpClass, RegionWork

TERMS = ("fixed", "per_flop", "per_near_byte", "per_far_byte")
"""Seconds of a region, of an operation, and of a byte within and beyond `near_bytes`."""

_INSTEAD = {
    OpClass.ATTENTION: OpClass.BATCH_MATMUL,
    OpClass.BATCH_MATMUL: OpClass.MATMUL,
    OpClass.MATVEC: OpClass.MATMUL,
    OpClass.CONVOLUTION_3X3: OpClass.CONVOLUTION,
    OpClass.POINTWISE: OpClass.CONVOLUTION,
    OpClass.RECURRENT: OpClass.MATMUL,
    OpClass.POOLING: OpClass.REDUCTION,
    OpClass.REDUCTION: OpClass.NORMALIZATION,
    OpClass.SOFTMAX: OpClass.NORMALIZATION,
    OpClass.TRANSCENDENTAL: OpClass.ELEMENTWISE,
    OpClass.COPY: OpClass.ELEMENTWISE,
    OpClass.OTHER: OpClass.COPY,
}
"""The class whose coefficients are taken for one that was not measured."""
_INT8 = "int8 "
_NOISE = 3e-6
"""Seconds by which the time of a call varies: errors count in relation to the time and to this."""
_USUAL_FIXED = 1e-4
"""A fixed time that counts as much as an error of 100 % in one sample: where samples do not tell it
from the time of the work, it is small."""
_ROUNDS = 12
"""Rounds of reweighting, after which outliers count by their error and not by its square."""

Features = dict[str, tuple[float, float, float, float]]
"""By class, the factors of the four `TERMS`."""


def features(works: Iterable[RegionWork], near_bytes: int) -> Features:
    """The factors of the coefficients in the time of regions with these `works`."""
    totals: dict[str, np.ndarray] = {}

    def add(name: str, terms: Sequence[float]) -> None:
        totals[name] = totals.get(name, np.zeros(len(TERMS))) + terms

    for work in works:
        if not work.flops:  # views alone
            continue
        near = min(work.bytes, near_bytes)
        add(_traffic_class(work), (1.0, 0.0, near, work.bytes - near))
        for each, flops in work.flops.items():
            is_int8 = work.int8 and each is work.main
            add(f"{_INT8}{each}" if is_int8 else each.value, (0.0, flops, 0.0, 0.0))
    return {name: _four(terms) for name, terms in sorted(totals.items())}


def _traffic_class(work: RegionWork) -> str:
    """The class whose fixed time and times of bytes a region has: elementwise functions that are
    costly to compute move bytes as cheap ones do."""
    main = OpClass.ELEMENTWISE if work.main is OpClass.TRANSCENDENTAL else work.main
    return f"{_INT8}{main}" if work.int8 else main.value


CLASS_NAMES = frozenset(each.value for each in OpClass) | {f"{_INT8}{each}" for each in OpClass}


@dataclass(frozen=True)
class Sample:
    """A measured time: seconds beyond those of a call, of regions with these features."""

    seconds: float
    features: Features
    origin: str = ""
    """The model, where it was measured in one; nothing for those that calibrate."""


@dataclass
class DeviceCosts:
    """Costs of a device: seconds of a call, and the coefficients by class."""

    call: float = 0.0
    near_bytes: int = 1 << 20
    classes: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list[Sample])

    def seconds(self, works: Iterable[RegionWork]) -> float:
        """Predicted seconds of regions within a model, without the call."""
        found = features(works, self.near_bytes)
        return sum(float(np.dot(terms, self.coefficients(name))) for name, terms in found.items())

    def coefficients(self, name: str) -> tuple[float, float, float, float]:
        """Those of a class, or of the one most like it that was measured."""
        if name in self.classes:
            return self.classes[name]
        if name.startswith(_INT8):
            return self.coefficients(name.removeprefix(_INT8))
        other = _INSTEAD.get(OpClass(name))
        return self.coefficients(other.value) if other else self._mean()

    def _mean(self) -> tuple[float, float, float, float]:
        """The means of all classes; zeros if none was measured."""
        rows = list(self.classes.values()) or [(0.0,) * len(TERMS)]
        fixed, flop, near, far = map(float, np.mean(rows, axis=0))
        return fixed, flop, near, far

    def refit(self) -> None:
        """Fit the coefficients of all classes to the samples."""
        self.classes = fit(self.samples)

    def record(self, samples: Iterable[Sample], origin: str) -> None:
        """Replace what was measured in the model `origin`, and fit all anew."""
        kept = [each for each in self.samples if each.origin != origin]
        self.samples = [*kept, *samples]
        self.refit()


def fit(samples: Sequence[Sample]) -> dict[str, tuple[float, float, float, float]]:
    """The coefficients by class that bring the relative errors of `samples` closest to zero."""
    usable = [each for each in samples if each.seconds > 0 and each.features]
    names = sorted({name for each in usable for name in each.features})
    if not names:
        return {}
    zeros = (0.0,) * len(TERMS)
    rows = [[x for name in names for x in each.features.get(name, zeros)] for each in usable]
    seconds = np.array([each.seconds for each in usable])
    scale = seconds + _NOISE
    fixed = np.zeros((len(names), len(names) * len(TERMS)))
    fixed[range(len(names)), range(0, fixed.shape[1], len(TERMS))] = 1 / _USUAL_FIXED
    matrix = np.vstack([np.array(rows) / scale[:, None], fixed])
    found = _robust_nnls(matrix, np.append(seconds / scale, np.zeros(len(names))), len(usable))
    found = found.reshape(len(names), len(TERMS))
    rounded = np.vectorize(lambda term: float(f"{term:.6g}"))(found)
    return {name: _four(terms) for name, terms in zip(names, rounded, strict=True)}


def _four(terms: np.ndarray) -> tuple[float, float, float, float]:
    fixed, flop, near, far = map(float, terms)
    return fixed, flop, near, far


def _robust_nnls(matrix: np.ndarray, wanted: np.ndarray, robust: int) -> np.ndarray:
    """The non-negative `x` with the least sum of errors of ``matrix @ x``: absolute ones in the
    first `robust` rows, by reweighting, and squares in the others."""
    try:
        from scipy.optimize import nnls
    except ImportError as error:
        raise MissingPackageError("calibration", "scipy", "place") from error
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0] = 1.0
    weights = np.ones(len(matrix))
    x = np.zeros(matrix.shape[1])
    for _ in range(_ROUNDS):
        x, _ = nnls(matrix / scale * weights[:, None], wanted * weights)
        errors = np.abs(matrix @ (x / scale) - wanted)[:robust]
        weights[:robust] = 1 / np.sqrt(np.maximum(errors, 0.02))
    return x / scale


def relative_error(predicted: float, measured: float) -> float:
    """Predicted time over measured time, minus 1."""
    return predicted / max(measured, 1e-12) - 1


def share_within(errors: Sequence[float], limit: float) -> float:
    """Share of relative errors that are at most `limit`."""
    return float(np.mean(np.abs(errors) <= limit)) if len(errors) else 1.0
