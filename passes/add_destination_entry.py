"""A second way into small programs: results in memory that the caller gives."""

from dataclasses import dataclass
from typing import Any

from ..mlir import ir
from .base import MODULE, Pass, PassState
from .graph_to_linalg.aliasing import all_ops
from .registry import register

DESTINATION_ENTRY = "main_into"
"""The name that the runtime looks for (`runtime/metadata.py`)."""

_MOST_OPS = 256
"""In a function of which a microsecond is still a part that counts."""


@register
@dataclass(frozen=True)
class AddDestinationEntry(Pass):
    """Let a caller of a small program say where its results go.

    func.func @main(%x: tensor<1x8xf32>) -> tensor<1x8xf32> { .. }
    -->
    func.func @main(%x: tensor<1x8xf32>) -> tensor<1x8xf32> { .. }
    func.func @main_into(%x: tensor<1x8xf32>, %0: !hal.buffer {iree.abi.output = 0})
        -> tensor<1x8xf32> { .. }

    A call of @main allocates each result, and the caller frees it when it has copied it: half the
    time of a call with little to compute. @main_into writes to buffers that live from call to call
    (destination-passing style). Kernels are those of @main; the backend merges equal ones.
    """

    name = "add-destination-entry"
    anchor = MODULE

    def run(self, op: Any, state: PassState) -> None:
        statistics = state.statistics("destinations")
        for function in list(op.body.operations):
            if function.operation.name != "func.func" or function.sym_name.value != "main":
                continue
            if reason := _reason_against(function):
                statistics.record_declined("main", reason)
            else:
                _add_entry(function)
                statistics.record_fired("main")


def _reason_against(function: Any) -> str:
    """Why `function` gets no such entry; empty if it does."""
    if not function.type.results:
        return "there is no result"
    if sum(1 for _ in all_ops(function.entry_block)) > _MOST_OPS:
        return f"there are more than {_MOST_OPS} ops"
    return ""


def _add_entry(function: Any) -> None:
    inputs, results = function.type.inputs, function.type.results
    with ir.InsertionPoint.after(function.operation), function.location:
        ir.Context.current.allow_unregistered_dialects = True
        entry = function.operation.clone()
        destination = ir.Type.parse("!hal.buffer")
        index = ir.IndexType.get()
        marks = [
            ir.DictAttr.get({"iree.abi.output": ir.IntegerAttr.get(index, i)})
            for i in range(len(results))
        ]
        for _ in results:
            entry.regions[0].blocks[0].add_argument(destination, function.location)
        types = ir.FunctionType.get([*inputs, *[destination] * len(results)], results)
        entry.attributes["sym_name"] = ir.StringAttr.get(DESTINATION_ENTRY)
        entry.attributes["function_type"] = ir.TypeAttr.get(types)
        entry.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [*[ir.DictAttr.get({})] * len(inputs), *marks]
        )
        if "res_attrs" in entry.attributes:
            del entry.attributes["res_attrs"]
