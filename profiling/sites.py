"""Which nodes of the model a dispatch of the compiled program stands for.

The backend stops half-way and prints the program in which the order of all dispatches is decided.
Its ops still have the names of nodes as their locations.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from ..dialects.locations import location_names
from ..mlir import ir
from ..runtime.metadata import DESTINATION_ENTRY
from .cost import Cost, kernel_cost

FLAGS = (
    "--compile-to=stream",
    "--mlir-print-op-generic",
    "--mlir-print-debuginfo",
    "--mlir-elide-resource-strings-if-larger=32",
    "--mlir-elide-elementsattrs-if-larger=32",
)
"""Of the backend, to print that program."""


@dataclass(frozen=True)
class Site:
    """A dispatch in the program: the kernel it calls, the nodes it computes, what that costs."""

    kernel: str
    nodes: tuple[str, ...] = ()
    cost: Cost = field(default=Cost())


def dispatch_sites(program: str, nodes: Collection[str]) -> list[list[Site]]:
    """The dispatches in the order they run, a list for each stretch between two stops of the host.

    `program` is what the backend prints with `FLAGS`; names that are not in `nodes` are left out.
    """
    context = ir.Context()
    context.allow_unregistered_dialects = True
    with context:
        module = ir.Module.parse(program)
        executables, stretches = _collect(module)
        calls = Counter(_kernel(op)[0] for stretch in stretches for op in stretch)
        costs = {name: kernel_cost(executables[name]) for name in calls}
        namer = _Namer(nodes)

        def site(op: ir.Operation) -> Site:
            executable, kernel = _kernel(op)
            names = location_names(op.location)
            if calls[executable] == 1:  # else it stands for other nodes at its other calls
                names += _names_within(executables[executable])
            return Site(kernel, namer.choose(names, costs[executable]), costs[executable])

        return [[site(op) for op in stretch] for stretch in stretches if stretch]


def _collect(module: ir.Module) -> tuple[dict[str, ir.Operation], list[list[ir.Operation]]]:
    """The executables by name, and the dispatches of each stretch."""
    executables: dict[str, ir.Operation] = {}
    stretches: list[list[ir.Operation]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "util.initializer" or _is_second_entry(op):  # no part of a run of @main
            return ir.WalkResult.SKIP
        if op.name == "stream.executable":
            executables[ir.StringAttr(op.attributes["sym_name"]).value] = op
            return ir.WalkResult.SKIP
        if op.name == "stream.cmd.execute":
            stretches.append([])
        elif op.name == "stream.cmd.dispatch":
            stretches[-1].append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return executables, stretches


def _is_second_entry(op: ir.Operation) -> bool:
    name = op.attributes["sym_name"] if op.name == "util.func" else None
    return name is not None and ir.StringAttr(name).value == DESTINATION_ENTRY


def _kernel(op: ir.Operation) -> tuple[str, str]:
    """The executable that a dispatch calls, and which function of it."""
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
    """Names each dispatch by what comes first in it.

    A name comes first twice: in the dispatch that begins with the node, and in the one that does
    its arithmetic. Further on are those to which a rewrite has handed it.
    """

    def __init__(self, nodes: Collection[str]):
        self._nodes = nodes
        self._begun: set[str] = set()
        self._computed: set[str] = set()

    def choose(self, names: Iterable[str], cost: Cost) -> tuple[str, ...]:
        """Those of `names` that are the dispatch's own; all of them where none is."""
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
    """The names of the nodes of a program that was imported just now, without constants."""
    names: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("graph.") and op.name != "graph.constant":
            names.update(location_names(op.location))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return frozenset(names)
