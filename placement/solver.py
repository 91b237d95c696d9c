"""The cheapest assignment of regions to devices, by an integer programme.

Variables: `x[r, d]` is 1 where region `r` runs on device `d`; `z[v, s, m]` is 1 where value `v`,
computed in memory `s`, is read in memory `m`. A region reads its operands in its own memory:
``x[c, d] <= sum over s of z[v, s, d]``; what is read comes from where it was computed:
``z[v, s, m] <= x[producer, s]``. With two devices this is the dual of a minimum cut, whose
relaxation has integral solutions (Stone, *Multiprocessor scheduling with the aid of network flow
algorithms*, 1977); with more it is an uncapacitated facility-location form of the multiway cut,
which is tight in practice. HiGHS solves it by branch and bound, exactly.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import MissingPackageError, UsageError
from .region_graph import HOST, DeviceTable, RegionGraph, RegionValue


@dataclass
class _Programme:
    """Costs of variables in [0, 1], and rows ``lower <= sum of coefficients <= upper``."""

    costs: list[float] = field(default_factory=list[float])
    integral: list[bool] = field(default_factory=list[bool])
    rows: list[tuple[dict[int, float], float, float]] = field(
        default_factory=list[tuple[dict[int, float], float, float]]
    )

    def variable(self, cost: float, *, integral: bool = False) -> int:
        self.costs.append(cost)
        self.integral.append(integral)
        return len(self.costs) - 1

    def require(self, terms: Mapping[int, float], lower: float, upper: float) -> None:
        self.rows.append((dict(terms), lower, upper))

    def solve(self) -> np.ndarray | None:
        """Values of the variables at the minimum; None if the rows contradict one another."""
        try:
            from scipy.optimize import Bounds, LinearConstraint, milp
            from scipy.sparse import csr_array
        except ImportError as error:
            raise MissingPackageError("placement", "scipy", "place") from error

        entries = [
            (row, column, coefficient)
            for row, (terms, _, _) in enumerate(self.rows)
            for column, coefficient in terms.items()
        ]
        rows, columns, coefficients = zip(*entries, strict=True)
        matrix = csr_array((coefficients, (rows, columns)), shape=(len(self.rows), len(self.costs)))
        lower = np.array([least for _, least, _ in self.rows])
        upper = np.array([most for _, _, most in self.rows])
        scale = max(map(abs, self.costs), default=0) or 1.0
        found = milp(
            np.array(self.costs) / scale,  # HiGHS has absolute tolerances
            # SciPy's annotations allow numbers alone.
            constraints=LinearConstraint(matrix, lower, upper),  # pyright: ignore[reportArgumentType]
            bounds=Bounds(0, 1),
            integrality=np.array(self.integral, np.uint8),
            options={"mip_rel_gap": 0.0},
        )
        return found.x


def assign(graph: RegionGraph, table: DeviceTable) -> list[str]:
    """The device of each region that minimises `RegionGraph.seconds` within the capacities.

    Raises `UsageError` for a region that no device can run, and for constants that do not fit.
    """
    if not graph.regions:
        return []
    programme = _Programme()
    runs = [
        _region_variables(programme, region.seconds, region.name, table) for region in graph.regions
    ]
    for value in graph.values:
        _require_transfers(programme, graph, value, runs, table)
    for device, capacity in table.capacity.items():
        sizes = {
            variables[device]: region.resident_bytes / max(capacity, 1)
            for region, variables in zip(graph.regions, runs, strict=True)
            if device in variables and region.resident_bytes
        }
        if sizes:
            programme.require(sizes, -np.inf, 1.0)
    solution = programme.solve()
    if solution is None:
        raise UsageError(
            "the constants of the model do not fit the devices: "
            + ", ".join(f"{name} has {size} bytes" for name, size in table.capacity.items())
        )
    values: np.ndarray = solution
    return [max(variables, key=lambda d: values[variables[d]]) for variables in runs]


def _region_variables(
    programme: _Programme, seconds: Mapping[str, float], name: str, table: DeviceTable
) -> dict[str, int]:
    """The variables of a region by device, of which one is 1."""
    able = [device for device in table.devices if device in seconds]
    if not able:
        raise UsageError(f"region '{name}' runs on none of {', '.join(table.devices)}")
    variables = {device: programme.variable(seconds[device], integral=True) for device in able}
    programme.require(dict.fromkeys(variables.values(), 1.0), 1.0, 1.0)
    return variables


def _require_transfers(
    programme: _Programme,
    graph: RegionGraph,
    value: RegionValue,
    runs: Sequence[Mapping[str, int]],
    table: DeviceTable,
) -> None:
    """Have `value` where it is read, at the cost of its transfers."""
    producer = {HOST: None} if value.producer is None else runs[value.producer]
    arriving: dict[str, dict[int, float]] = defaultdict(dict)
    read_in = {device for consumer in value.consumers for device in runs[consumer]}
    for memory in sorted(read_in | ({HOST} if value.is_output else set())):
        for source, runs_there in producer.items():
            moved = programme.variable(graph.crossing_seconds(value, source, memory, table))
            arriving[memory][moved] = 1.0
            if runs_there is not None:
                programme.require({moved: 1.0, runs_there: -1.0}, -np.inf, 0.0)
    for consumer in value.consumers:
        for device, runs_there in runs[consumer].items():
            programme.require({**arriving[device], runs_there: -1.0}, 0.0, np.inf)
    if value.is_output:
        programme.require(arriving[HOST], 1.0, np.inf)
