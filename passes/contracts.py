"""Contracts: the IR that is legal at the borders between stages.

- *imported*: what the frontend hands over. Graph ops on tensors whose every size is known or has
  a name.
- *graph*: what the lowering accepts: the same, of the ops that have a lowering.
- *linalg*: what the backend accepts. No graph op and no type of the graph dialect is left.

A contract is a table; its check lists all violations at once, each with its node.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..dialects import graph
from ..dialects.locations import node_name
from ..errors import VerificationError
from ..mlir import ir
from .graph_to_linalg.convert import load_rules
from .graph_to_linalg.lowering import find_rule
from .infra.pipeline import verify

MAX_LISTED = 20
"""An error lists at most this many violations, and the number of the others."""


@dataclass(frozen=True)
class Contract:
    """Legal dialects, legal ops beyond them, and illegal ops within them."""

    name: str
    dialects: frozenset[str]
    ops: frozenset[str] = frozenset()
    illegal_ops: frozenset[str] = frozenset()
    graph_types: bool = True
    """True if tensors have types of the graph dialect, False for plain ones."""
    is_supported: Callable[[str], bool] = field(default=lambda name: True)
    """A predicate on the name of a legal op: True if the next stage can process it."""


_STRUCTURE = frozenset({"builtin.module", "func.func", "func.return", "func.call"})
_TERMINATORS = frozenset({"graph.yield", "graph.yield_all"})

IMPORTED = Contract("imported", dialects=frozenset({"graph"}), ops=_STRUCTURE)


def _has_lowering(op_name: str) -> bool:
    load_rules()
    return op_name in _STRUCTURE or op_name in _TERMINATORS or find_rule(op_name) is not None


GRAPH = Contract("graph", dialects=frozenset({"graph"}), ops=_STRUCTURE, is_supported=_has_lowering)

LINALG = Contract(
    "linalg",
    dialects=frozenset(
        {
            "arith",
            "flow",
            "func",
            "iree_tensor_ext",
            "hal",
            "iree_linalg_ext",
            "linalg",
            "math",
            "memref",
            "nvgpu",
            "scf",
            "stream",
            "tensor",
            "util",
            "vector",
        }
    ),
    ops=frozenset(
        {
            "builtin.module",
            "cf.assert",
            "cf.br",
            "cf.cond_br",
            "gpu.barrier",
            "llvm.call_intrinsic",
            "llvm.inline_asm",
            "llvm.extractvalue",
            "llvm.inttoptr",
            "nvvm.read.ptx.sreg.tid.x",
            "ub.poison",
        }
    ),
    # The backend parses another spelling of these; `linalg.generic` says the same.
    illegal_ops=frozenset(
        f"linalg.{name}"
        for name in (
            "abs",
            "add",
            "broadcast",
            "ceil",
            "copy",
            "div",
            "div_unsigned",
            "elementwise",
            "erf",
            "exp",
            "floor",
            "log",
            "map",
            "max",
            "min",
            "mul",
            "negf",
            "powf",
            "reciprocal",
            "round",
            "rsqrt",
            "select",
            "sqrt",
            "square",
            "sub",
            "tanh",
        )
    ),
    graph_types=False,
)


def check_imported(module: ir.Module) -> None:
    """VerificationError unless `module` is what a frontend may hand over."""
    check(module, IMPORTED)


def check_graph(module: ir.Module) -> None:
    """VerificationError unless `module` can be lowered."""
    check(module, GRAPH)


def check_linalg(module: ir.Module) -> None:
    """VerificationError unless `module` can be handed to the backend."""
    check(module, LINALG)


def check(module: ir.Module, contract: Contract) -> None:
    """Verify `module` and hold it to `contract`. VerificationError lists all violations."""
    verify(module)
    problems = _violations(module.operation, contract)
    if not problems:
        return
    rest = len(problems) - MAX_LISTED
    listing = "\n".join(problems[:MAX_LISTED]) + (f"\nand {rest} more" if rest > 0 else "")
    raise VerificationError(f"the program breaks the {contract.name} contract:\n{listing}")


def _violations(module: ir.Operation, contract: Contract) -> list[str]:
    """The violations of `module` and of the ops within, but for those within illegal ones."""
    problems: list[str] = []
    # Thousands of ops have few names and types.
    of_name = functools.cache(functools.partial(_name_problem, contract=contract))
    of_type = functools.cache(functools.partial(_type_problem, contract=contract))

    def visit(op: ir.Operation) -> ir.WalkResult:
        name = op.name
        legal, problem = of_name(name)
        if problem is not None:
            problems.append(f"{node_name(op)}: {problem}")
        if not legal:
            return ir.WalkResult.SKIP
        for type_ in _types(op):
            problem = of_type(type_)
            if problem is not None:
                problems.append(f"{node_name(op)}: {name} {problem}")
        return ir.WalkResult.ADVANCE

    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    return problems


def _name_problem(name: str, contract: Contract) -> tuple[bool, str | None]:
    """True if ops of `name` are legal, and what is wrong with them."""
    legal = name in contract.ops or name.partition(".")[0] in contract.dialects
    if not legal or name in contract.illegal_ops:
        return False, f"{name} is not legal"
    return True, None if contract.is_supported(name) else f"{name} has no lowering"


def _types(op: ir.Operation) -> Iterator[ir.Type]:
    """The types of the results of `op`, and of the arguments of its blocks."""
    for result in op.results:
        yield result.type
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                yield argument.type


def _type_problem(type_: ir.Type, contract: Contract) -> str | None:
    if not isinstance(type_, ir.RankedTensorType):
        return f"has a value of type {type_}" if contract.graph_types else None
    if contract.graph_types:
        try:
            graph.from_mlir(type_)
        except ValueError as error:
            return str(error)
        return None
    if type_.encoding is not None:
        return f"keeps the encoding of {type_}"
    element = type_.element_type
    if isinstance(element, ir.IntegerType) and not element.is_signless:
        return f"keeps the signedness of {type_}"
    return None
