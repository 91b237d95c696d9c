"""Mapping from the dispatches of a compiled program to nodes of the model.

The backend stops half-way and prints the program with the final order of dispatches. The ops still
have node names as locations.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from ..dialects.locations import location_names
from ..mlir import create_context, ir
from ..runtime.metadata import DESTINATION_ENTRY
from .cost import Cost, kernel_cost

FLAGS = (
    "--compile-to=stream",
    "--mlir-print-op-generic",
    "--mlir-print-debuginfo",
    "--mlir-elide-resource-strings-if-larger=32",
    "--mlir-elide-elementsattrs-if-larger=32",
)
"""Backend flags to print that program."""


@dataclass(frozen=True)
class Site:
    """A dispatch in the program: the kernel that it calls, the nodes that it computes, its cost."""

    kernel: str
    nodes: tuple[str, ...] = ()
    cost: Cost = field(default=Cost())


def dispatch_sites(program: str, nodes: Collection[str]) -> list[list[Site]]:
    """The dispatches in execution order, as a list per concurrency group, between two waits of the
    host.

    `program` is the output of the backend with `FLAGS`; names that are not in `nodes` are omitted.
    """
    context = create_context()
    context.allow_unregistered_dialects = True
    with context:
        module = ir.Module.parse(program)
        executables, groups = _collect(module)
        calls = Counter(_kernel(op)[0] for group in groups for op in group)
        costs = {name: kernel_cost(executables[name]) for name in calls}
        namer = _Namer(nodes)

        def site(op: ir.Operation) -> Site:
            executable, kernel = _kernel(op)
            names = location_names(op.location)
            if calls[executable] == 1:  # otherwise other calls compute other nodes
                names += _names_within(executables[executable])
            return Site(kernel, namer.choose(names, costs[executable]), costs[executable])

        return [[site(op) for op in group] for group in groups if group]


def _collect(module: ir.Module) -> tuple[dict[str, ir.Operation], list[list[ir.Operation]]]:
    """The executables by name, and the dispatches of each concurrency group."""
    executables: dict[str, ir.Operation] = {}
    groups: list[list[ir.Operation]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "util.initializer" or _is_second_entry(op):  # not part of a run of @main
            return ir.WalkResult.SKIP
        if op.name == "stream.executable":
            executables[ir.StringAttr(op.attributes["sym_name"]).value] = op
            return ir.WalkResult.SKIP
        if op.name == "stream.cmd.execute":
            groups.append([])
        elif op.name == "stream.cmd.dispatch":
            groups[-1].append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return executables, groups


def _is_second_entry(op: ir.Operation) -> bool:
    name = op.attributes["sym_name"] if op.name == "util.func" else None
    return name is not None and ir.StringAttr(name).value == DESTINATION_ENTRY


def _kernel(op: ir.Operation) -> tuple[str, str]:
    """The executable that a dispatch calls, and the function in it."""
    executable, kernel = ir.SymbolRefAttr(ir.ArrayAttr(op.attributes["entry_points"])[0]).value
    return executable, kernel


def _names_within(executable: ir.Operation) -> tuple[str, ...]:
    names: dict[str, None] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        names.update(dict.fromkeys(location_names(op.location)))
        return ir.WalkResult.ADVANCE

    executable.walk(visit)
    return tuple(names)


class _Namer:
    """Selects the nodes that each dispatch is named after: those that occur in it first.

    A node counts twice: for the first dispatch with it, and for the first one that does its
    arithmetic. Later dispatches carry its name only because a rewrite passed it on.
    """

    def __init__(self, nodes: Collection[str]):
        self._nodes = nodes
        self._begun: set[str] = set()
        self._computed: set[str] = set()

    def choose(self, names: Iterable[str], cost: Cost) -> tuple[str, ...]:
        """The known `names` that occur first in this dispatch, or all known ones if none does."""
        known = [name for name in dict.fromkeys(names) if name in self._nodes]
        arithmetic = cost.flops != 0
        own = [
            name
            for name in known
            if name not in self._begun or (arithmetic and name not in self._computed)
        ]
        self._begun.update(known)
        if arithmetic:
            self._computed.update(known)
        return tuple(own or known)


def node_names(module: ir.Module) -> frozenset[str]:
    """The node names of a freshly imported program, without constants."""
    names: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("graph.") and op.name != "graph.constant":
            names.update(location_names(op.location))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return frozenset(names)
