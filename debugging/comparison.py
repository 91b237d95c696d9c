"""A compiled model beside a reference: how far each value is from what it should be."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .difference import Difference


@dataclass(frozen=True)
class Row:
    """One value: what the compiled model gives against what the reference gives."""

    name: str
    node: str
    op_type: str
    dtype: str
    shape: tuple[int, ...]
    difference: Difference
    tolerance: float
    truth: tuple[float, float] | None = None
    """How far our value and the reference's are from that in float64."""

    @property
    def within(self) -> bool:
        """True if the difference is within what rounding may cause."""
        return self.difference.relative <= self.tolerance


@dataclass(frozen=True)
class Comparison:
    """A compiled model beside a reference; rows are in the order of the model."""

    model: str
    target: str
    reference: str
    outputs: tuple[Row, ...]
    """The outputs of the model as it is compiled by default."""
    layers: tuple[Row, ...] = ()
    """Values inside the model, from compilations in which they are outputs, too."""
    fused: Mapping[str, str] = field(default_factory=dict)
    """Values that the compiled program does not hold, and the op that their node became part of."""

    @property
    def within(self) -> bool:
        """True if every difference is within its tolerance."""
        return all(row.within for row in (*self.outputs, *self.layers))

    @property
    def first(self) -> Row | None:
        """The first value of the model's order beyond the tolerance: where to look."""
        return next((row for row in (*self.layers, *self.outputs) if not row.within), None)

    def worst_first(self) -> list[Row]:
        """The values inside the model, the worst in front."""
        return sorted(self.layers, key=lambda row: -_excess(row))


def _excess(row: Row) -> float:
    """The difference in units of what is allowed."""
    if row.tolerance > 0:
        return row.difference.relative / row.tolerance
    return float("inf") if row.difference.relative else 0.0
