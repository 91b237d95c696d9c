"""Lowered programs whose dispatches are all kernels."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from graphc.dialects.graph import elements
from graphc.dialects.graph.types import dtype_of
from graphc.mlir import ir

from .lock_step import number, run_kernel


def run_program(module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a lowered program that only runs kernels and moves elements."""
    executables = {
        ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if op.operation.name == "stream.executable"
    }
    (function,) = (
        op.operation for op in module.body.operations if op.operation.name == "func.func"
    )
    block = function.regions[0].blocks[0]
    known: dict[ir.Value, np.ndarray] = dict(zip(block.arguments, inputs, strict=True))
    for op in (op.operation for op in block.operations):
        if op.name == "func.return":
            return [known[value] for value in op.operands]
        if op.name == "flow.dispatch":
            _dispatch(executables, op, known)
        elif op.name != "tensor.empty":
            known[op.results[0]] = _move(op, known)
    raise AssertionError("a function returns")


def _dispatch(
    executables: Mapping[str, ir.Operation], op: ir.Operation, known: dict[ir.Value, np.ndarray]
) -> None:
    workgroups, *operands = op.operands
    entry = ir.SymbolRefAttr(ir.ArrayAttr(op.attributes["entry_points"])[0]).value[0]
    (function,) = find_all(executables[entry], "func.func")
    info = str(function.attributes["translation_info"])
    size = re.search(r"workgroup_size = \[(\d+)", info)
    assert size is not None
    threads = int(size[1])
    results = [
        _unwritten(ir.RankedTensorType(result.type).shape, _dtype_of_tensor(result.type))
        for result in op.results
    ]
    buffers = [np.ascontiguousarray(known[value]).reshape(-1) for value in operands]
    flat = [result.reshape(-1) for result in results]
    run_kernel(function, threads, int(known[workgroups]), [*buffers, *flat])
    known.update(zip(op.results, results, strict=True))


def _unwritten(sizes: Sequence[int], dtype: np.dtype) -> np.ndarray:
    return np.full(sizes, -1 if dtype.kind == "i" else np.nan, dtype)


def find_all(root: ir.Operation, name: str) -> list[ir.Operation]:
    """The ops in `root` with the given name."""
    found: list[ir.Operation] = []

    def note(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(note)
    return found


def _dtype_of_tensor(type_: ir.Type) -> np.dtype:
    return dtype_of(ir.RankedTensorType(type_).element_type)


_BARRIER = "util.optimization_barrier"


def _move(op: ir.Operation, known: Mapping[ir.Value, np.ndarray]) -> np.ndarray:
    """The result of an op that holds data or moves elements."""
    if op.name == "arith.constant":
        value = op.attributes["value"]
        if not isinstance(op.results[0].type, ir.RankedTensorType):
            return np.asarray(number(value))
        return elements.read(value)
    source = known[op.operands[0]]
    if op.name == "linalg.transpose":
        return source.transpose(list(ir.DenseI64ArrayAttr(op.attributes["permutation"])))
    if op.name == "tensor.extract_slice":
        starts, sizes, steps = (
            list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
            for name in ("offsets", "sizes", "strides")
        )
        parts = zip(starts, sizes, steps, strict=True)
        source = source[tuple(slice(a, a + n * step, step) for a, n, step in parts)]
    elif op.name not in ("tensor.collapse_shape", "tensor.expand_shape", _BARRIER):
        raise NotImplementedError(f"{op.name} is not interpreted")
    return source.reshape(ir.RankedTensorType(op.results[0].type).shape)
