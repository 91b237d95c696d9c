"""Measurement of peak performance: f32 multiply-adds in registers, on a number of threads."""

import time

import numpy as np

from ..compiler import driver
from ..dialects import graph, iree
from ..mlir import arith, func, ir, scf, vector
from ..runtime import load

CHAINS = 16
"""Number of independent chains of multiply-adds: enough to hide the latency of each."""
STEPS = 1 << 20
ROUNDS = 20


def peak_gflops(threads: int) -> float:
    """Peak performance of `threads` threads in 10^9 operations per second: the best of `ROUNDS`."""
    options = driver.make_options("cpu", threads=threads)
    lanes = options.target.cpu.lanes
    compilation = driver.Compilation(_program(lanes, threads), "peak", options)
    compilation.lower()
    with load(compilation.backend(), threads=threads) as model:
        feed = {"x": np.full(lanes, 0.5, np.float32)}
        seconds = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            model.run(None, feed)
            seconds.append(time.perf_counter() - start)
    return threads * STEPS * CHAINS * lanes * 2 / min(seconds) / 1e9


def _program(lanes: int, pieces: int) -> ir.Module:
    """A program with a kernel of multiply-adds only, with `pieces` workgroups."""
    with ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        iree.load()
        f32 = ir.F32Type.get()
        x, y = (ir.RankedTensorType.get([n], f32) for n in (lanes, pieces * lanes))
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            memory = [iree.Buffer(f32, type_.shape[0]) for type_ in (x, y)]
            iree.define_kernel("multiply_add", memory, _body)
            main = func.FuncOp("main", ([x], [y]))
            for kind, name in (("arg_attrs", "x"), ("res_attrs", "y")):
                named = ir.DictAttr.get({"graph.name": ir.StringAttr.get(name)})
                main.attributes[kind] = ir.ArrayAttr.get([named])
            with ir.InsertionPoint(main.add_entry_block()):
                (result,) = iree.run_kernel("multiply_add", pieces, [main.arguments[0]], [y])
                func.ReturnOp([result])
    return module


def _body(number: ir.Value, x: ir.Value, y: ir.Value) -> None:
    index = ir.IndexType.get()
    lanes = ir.MemRefType(x.type).shape[0]
    zero, one, steps, width = (arith.constant(index, n) for n in (0, 1, STEPS, lanes))
    factor = vector.load(ir.VectorType.get([lanes], ir.F32Type.get()), x, [zero])
    chains = [factor]
    for _ in range(1, CHAINS):  # chains that differ, or the backend would merge them
        chains.append(arith.addf(chains[-1], factor))
    loop = scf.ForOp(zero, steps, one, chains)
    with ir.InsertionPoint(loop.body):
        scf.YieldOp([vector.fma(chain, factor, factor) for chain in loop.inner_iter_args])
    total, *others = loop.results
    for other in others:
        total = arith.addf(total, other)
    vector.store(total, y, [arith.muli(number, width)])
