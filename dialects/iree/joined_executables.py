"""Hand-written kernels as exports of few executables.

The backend translates an executable by pipelines of its own, whose passes gather their patterns for
each, however short its kernels are. Looking up one of its exports takes time in their number, so
that they are not all in one.
"""

from collections.abc import Iterable, Mapping, Sequence

from ...mlir import ir

EXPORTS = 16
"""Kernels of an executable, at most. The backend's process for the program of a text recognizer of
64 kernels takes 0.93 of the CPU time that it takes with an executable for each, that of a U-Net of
150 kernels 0.96; more exports, or 8, make no difference beyond the noise (least of several runs).
"""
_EXECUTABLE, _EXPORT, _DISPATCH = "stream.executable", "stream.executable.export", "flow.dispatch"
_MODULE = "builtin.module"


def join_executables(module: ir.Module) -> None:
    """Join the executables of `module`, up to `EXPORTS` in one, which has the name of the first."""
    executables = [op.operation for op in module.body if op.operation.name == _EXECUTABLE]
    homes: dict[str, str] = {}
    for first, *others in _groups(executables):
        homes.update((_symbol(each), _symbol(first)) for each in others)
        _join(first, others)
    _redirect(module, homes)


def _groups(executables: Iterable[ir.Operation]) -> list[list[ir.Operation]]:
    """Executables that are joined. The functions of one have names of their own; those of several
    programs in one module may have the same."""
    groups: list[list[ir.Operation]] = []
    taken: set[str] = set()
    for executable in executables:
        names = {_symbol(function) for function in _ops(_inner_module(executable))}
        if not groups or len(groups[-1]) == EXPORTS or taken & names:
            groups.append([])
            taken = set()
        groups[-1].append(executable)
        taken |= names
    return groups


def _symbol(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def _join(first: ir.Operation, others: Sequence[ir.Operation]) -> None:
    """Move the exports and the functions of `others` to `first`."""
    inner = _inner_module(first)
    functions = inner.regions[0].blocks[0]
    for executable in others:
        exports = [op for op in _ops(executable) if op.name == _EXPORT]
        for export in exports:
            export.move_before(inner)
        for function in _ops(_inner_module(executable)):
            function.detach_from_parent()
            functions.append(function)
        executable.erase()


def _ops(op: ir.Operation) -> list[ir.Operation]:
    return [each.operation for each in op.regions[0].blocks[0]]


def _inner_module(executable: ir.Operation) -> ir.Operation:
    (inner,) = (op for op in _ops(executable) if op.name == _MODULE)
    return inner


def _redirect(module: ir.Module, homes: Mapping[str, str]) -> None:
    """Let dispatches find the kernels of the executables that were joined to others, by name."""

    def redirect(op: ir.Operation) -> ir.WalkResult:
        if op.name == _DISPATCH:
            (entry,) = ir.ArrayAttr(op.attributes["entry_points"])
            executable, kernel = ir.SymbolRefAttr(entry).value
            if executable in homes:
                symbol = ir.SymbolRefAttr.get([homes[executable], kernel])
                op.attributes["entry_points"] = ir.ArrayAttr.get([symbol])
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(redirect)
