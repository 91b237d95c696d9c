"""Measurement of peak performance: multiply-adds in registers, on a number of threads."""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..compiler import driver
from ..dialects import graph, iree
from ..errors import UsageError
from ..mlir import arith, create_context, func, ir, scf, vector
from ..passes.kernels.group_dot import INT8_DOTS, DotInstruction
from ..runtime import load
from ..runtime.targets import cpu_features

CHAINS = 16
"""Number of independent chains of multiply-adds: enough to hide the latency of each."""
STEPS = 1 << 18
ROUNDS = 80


def peak_gflops(threads: int) -> float:
    """Peak performance of `threads` threads in f32, in 10^9 operations per second."""
    lanes = driver.make_options("cpu", threads=threads).target.cpu.lanes
    chains = _Chains(ir.F32Type.get, np.float32, lanes, 1, lambda total, x: vector.fma(total, x, x))
    return _peak(threads, chains)


def peak_int8_gops(threads: int) -> float:
    """Peak performance of `threads` threads with 8-bit integers on vectors, likewise.

    Raises `UsageError` on CPUs without VNNI, where no one instruction multiplies them.
    """
    unit = "avx512vnni" if (found := cpu_features.int8_unit("host")) == "amx" else found
    dot = INT8_DOTS.get(unit)
    if not isinstance(dot, DotInstruction):
        raise UsageError("this CPU has no instruction for dot products of 8-bit integers")

    def multiply_add(total: ir.Value, x: ir.Value) -> ir.Value:
        groups = vector.bitcast(dot.groups, x)
        return dot.multiply_add(total, groups, groups)

    i32 = functools.partial(ir.IntegerType.get_signless, 32)
    return _peak(threads, _Chains(i32, np.int32, dot.lanes, dot.size, multiply_add))


@dataclass(frozen=True)
class _Chains:
    """Chains of an instruction on vectors of `lanes` elements, each of which takes `products`."""

    element: Callable[[], ir.Type]
    dtype: type
    """The type of the elements in numpy."""
    lanes: int
    products: int
    multiply_add: Callable[[ir.Value, ir.Value], ir.Value]
    """The next number of a chain, from the last one and the vector that the chains share."""


def _peak(threads: int, chains: _Chains) -> float:
    """10^9 operations per second of `chains` on `threads` threads: the best of `ROUNDS`."""
    options = driver.make_options("cpu", threads=threads)
    compilation = driver.Compilation(_program(chains, threads), "peak", options)
    compilation.lower()
    with load(compilation.backend(), threads=threads) as model:
        feed = {"x": np.ones(chains.lanes, chains.dtype)}
        seconds = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            model.run(None, feed)
            seconds.append(time.perf_counter() - start)
    steps = threads * STEPS * CHAINS
    return steps * chains.lanes * chains.products * 2 / min(seconds) / 1e9


def _program(chains: _Chains, pieces: int) -> ir.Module:
    """A program with a kernel of multiply-adds only, with `pieces` workgroups."""
    with create_context(), ir.Location.unknown():
        graph.Graph.load()
        iree.load()
        element, lanes = chains.element(), chains.lanes
        x, y = (ir.RankedTensorType.get([n], element) for n in (lanes, pieces * lanes))
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            memory = [iree.Buffer(element, type_.shape[0]) for type_ in (x, y)]
            iree.define_kernel("multiply_add", memory, functools.partial(_body, chains))
            main = func.FuncOp("main", ([x], [y]))
            for kind, name in (("arg_attrs", "x"), ("res_attrs", "y")):
                named = ir.DictAttr.get({"graph.name": ir.StringAttr.get(name)})
                main.attributes[kind] = ir.ArrayAttr.get([named])
            with ir.InsertionPoint(main.add_entry_block()):
                (result,) = iree.run_kernel("multiply_add", pieces, [main.arguments[0]], [y])
                func.ReturnOp([result])
    return module


def _body(chains: _Chains, number: ir.Value, x: ir.Value, y: ir.Value) -> None:
    index, lanes = ir.IndexType.get(), chains.lanes
    zero, one, steps, width = (arith.constant(index, n) for n in (0, 1, STEPS, lanes))
    element = chains.element()
    factor = vector.load(ir.VectorType.get([lanes], element), x, [zero])
    add = arith.addf if isinstance(element, ir.F32Type) else arith.addi
    values = [factor]
    for _ in range(1, CHAINS):  # chains that differ, or the backend would merge them
        values.append(add(values[-1], factor))
    loop = scf.ForOp(zero, steps, one, values)
    with ir.InsertionPoint(loop.body):
        scf.YieldOp([chains.multiply_add(each, factor) for each in loop.inner_iter_args])
    total, *others = loop.results
    for other in others:
        total = add(total, other)
    vector.store(total, y, [arith.muli(number, width)])
