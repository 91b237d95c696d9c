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

    @property
    def within(self) -> bool:
        """True if the difference is within the tolerance for rounding errors."""
        return self.difference.relative <= self.tolerance


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
        return sorted(self.layers, key=lambda row: -_excess(row))


def _excess(row: ValueComparison) -> float:
    """The difference as a multiple of the tolerance."""
    if row.tolerance > 0:
        return row.difference.relative / row.tolerance
    return float("inf") if row.difference.relative else 0.0
