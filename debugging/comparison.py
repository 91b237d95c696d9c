"""Comparison of a compiled model with a reference, value by value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .difference import Difference


@dataclass(frozen=True)
class ValueComparison:
    """One value: the difference of the compiled model from the reference."""

    name: str
    node: str
    op_type: str
    dtype: str
    shape: tuple[int, ...]
    difference: Difference
    tolerance: float
    truth: tuple[float, float] | None = None
    """Differences of graphc's value and of the reference's from the value in float64."""
    steps: float | None = None
    """The largest difference in quantisation steps, for bytes and for values that are quantised
    next or were before."""
    allowed_steps: float = 0.0

    @property
    def within(self) -> bool:
        """True if the difference is within the tolerance for rounding errors, or in steps."""
        return self.excess <= 1

    @property
    def excess(self) -> float:
        """The difference as a multiple of the tolerance, or of the allowed steps if that is less.

        0 if there is no difference.
        """
        relative = _ratio(self.difference.relative, self.tolerance)
        if self.steps is None or not self.allowed_steps:
            return relative
        return min(relative, self.steps / self.allowed_steps)


@dataclass(frozen=True)
class Comparison:
    """A compiled model compared with a reference; rows are in the order of the model."""

    model: str
    target: str
    reference: str
    outputs: tuple[ValueComparison, ...]
    """The outputs of the model, compiled as usual."""
    layers: tuple[ValueComparison, ...] = ()
    """Intermediate values, from compilations in which they are additional outputs."""
    fused: Mapping[str, str] = field(default_factory=dict)
    """Values that the compiled program does not have, with the op that their node is part of."""

    @property
    def within(self) -> bool:
        """True if every difference is within its tolerance."""
        return all(row.within for row in (*self.outputs, *self.layers))

    @property
    def first(self) -> ValueComparison | None:
        """The first value, in the order of the model, beyond the tolerance."""
        return next((row for row in (*self.layers, *self.outputs) if not row.within), None)

    def worst_first(self) -> list[ValueComparison]:
        """The intermediate values, worst first."""
        return sorted(self.layers, key=lambda row: -row.excess)


def _ratio(difference: float, tolerance: float) -> float:
    if tolerance > 0:
        return difference / tolerance
    return float("inf") if difference else 0.0
