"""An archive that checks and times kernels for tensor cores on a GPU of compute capability 9.0.

::

    python -m graphc.benchmarks.mma_archive mma-kernels.pyz
    python mma-kernels.pyz --seconds 300 -o times.json     # on a machine with the GPU

The second command needs numpy, torch with CUDA and iree-base-runtime, but not graphc: see
`mma_device`. `mma_regression` makes costs of tiles from what it writes.
"""

import argparse
import json
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..dialects import graph, iree
from ..mlir import arith, create_context, func, ir
from ..passes.kernels.mma_matmul import F32, MmaMatmulEmitter, MmaShape
from ..passes.kernels.thread_emitter import Finish, Number
from ..passes.kernels.wgmma_matmul import WgmmaMatmulEmitter, WgmmaTile
from ..runtime import resolve_target
from ..runtime.iree_compile.compiler import compile_module
from .mma_problems import MmaProblem, kind_of, problems

MOST_KERNELS = 8
_DEVICE_HALF = Path(__file__).with_name("mma_device.py")


def program(kernels: Sequence[MmaShape]) -> str:
    """A module with a function for each of the kernels, which runs it on flat operands."""
    with create_context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        graph.Graph.load()
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            for number, shape in enumerate(kernels):
                _add(f"f{number}", shape)
        module.operation.verify()
        return module.operation.get_asm(print_generic_op_form=True)


def _add(name: str, shape: MmaShape) -> None:
    """Add the kernel ``k_<name>`` and the function that runs it."""
    element = graph.element_type(shape.dtype)
    result = graph.element_type(F32 if shape.parts > 1 else shape.dtype)
    left = shape.m * shape.k if shape.windows is None else _count(shape.windows.image)
    elements = [(element, left), (element, shape.n * shape.k)]
    results = [(result, shape.parts * shape.m * shape.n)]
    if isinstance(shape.tile, WgmmaTile) and any(shape.tile.bulk):
        scratch = shape.tile.scratch_bytes(shape.workgroups)
        results.append((ir.IntegerType.get_signless(8), scratch))
    buffers = [iree.Buffer(*each) for each in (*elements, *results)]

    def body(number: ir.Value, a: ir.Value, b: ir.Value, c: ir.Value, *more: ir.Value) -> None:
        if isinstance(shape.tile, WgmmaTile):
            emitter = WgmmaMatmulEmitter(shape, a, b, *more)
        else:
            emitter = MmaMatmulEmitter(shape, a, b)

        def prepare(at: Number, column: Number, lanes: int) -> Finish:
            del column
            type_ = ir.VectorType.get([lanes], result)
            wide = shape.parts > 1
            return lambda y: emitter.store(y if wide else arith.truncf(type_, y), c, at)

        emitter.workgroup(number, prepare)

    iree.define_kernel(f"k_{name}", buffers, body, threads=shape.tile.threads)
    types = [
        [ir.RankedTensorType.get([count], each) for each, count in group]
        for group in (elements, results)
    ]
    function = func.FuncOp(name, (types[0], types[1][:1]))
    with ir.InsertionPoint(function.add_entry_block()):
        found = iree.run_kernel(f"k_{name}", shape.workgroups, list(function.arguments), types[1])
        func.ReturnOp(found[:1])


def _count(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def described(problem: MmaProblem, kernels: Sequence[MmaShape]) -> dict[str, Any]:
    """The problem and its kernels, as `mma_device` and `mma_regression` read them."""
    shape = problem.shape
    found: dict[str, Any] = {"name": problem.name, "m": shape.m, "n": shape.n, "k": shape.k}
    if (windows := shape.windows) is not None:
        found["windows"] = {
            "image": windows.image,
            "kernel": windows.kernel,
            "stride": windows.strides[0],
            "low": windows.low[0],
        }
    tiles = [each.tile for each in kernels]
    found["kernels"] = [
        {
            "tile": repr(tile),
            "label": f"{kind_of(each)} {tile.rows}x{tile.columns}/{tile.stages}"
            + (f" in {each.parts}" if each.parts > 1 else ""),
            "parts": each.parts,
            "workgroups": each.workgroups,
            "steps": each.steps,
        }
        for each, tile in zip(kernels, tiles, strict=True)
    ]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Make an archive that times kernels on a GPU.")
    parser.add_argument("archive", type=Path, metavar="FILE.pyz")
    parser.add_argument("--kernels", type=int, default=MOST_KERNELS, help="of a matmul (8)")
    parser.add_argument("--only", default="", metavar="TEXT", help="matmuls with it in their name")
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument(
        "--ptxas", type=Path, help="assemble machine code with it, which loads faster than PTX"
    )
    options = parser.parse_args(arguments)
    flags = [] if options.ptxas is None else [
        "--iree-cuda-use-ptxas", f"--iree-cuda-use-ptxas-from={options.ptxas}"
    ]  # fmt: skip
    target, manifest = resolve_target(options.target), list[dict[str, Any]]()
    with zipfile.ZipFile(options.archive, "w", zipfile.ZIP_DEFLATED) as archive:
        for problem in problems():
            if options.only not in problem.name:
                continue
            kernels = problem.kernels(options.kernels)
            text = program(kernels).encode()
            code = compile_module(text, target=target, threads=1, extra_flags=flags)
            archive.writestr(f"{problem.name}.vmfb", code)
            manifest.append(described(problem, kernels))
            print(f"{problem.name}: {len(kernels)} kernels, {len(code)} bytes", flush=True)
        archive.writestr("problems.json", json.dumps(manifest))
        archive.writestr("__main__.py", _DEVICE_HALF.read_bytes())
    print(f"wrote {options.archive}: {options.archive.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
