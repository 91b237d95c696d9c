"""Kernels read nothing behind their operands, where vectors exceed what is left of them."""

import subprocess
import sys

import numpy as np
import pytest
from graph_programs import build_module, main_of
from guarded_memory import LEAST_BYTES

from graphc.compiler.driver import Compilation, make_options
from graphc.dialects import graph
from graphc.mlir import ir
from graphc.runtime.targets import cpu_features, resolve_target

LANES = resolve_target("cpu").cpu.lanes
WIDTH = LANES + 4
"""Features of a panel: a vector, and a part of one."""
WINDOW = {"strides": [1, 1], "dilations": [1, 1], "low": [0, 0], "high": [0, 0]}
ELEMENTS = {"float32": "f32", "uint8": "ui8", "int8": "i8"}
INT8_VECTORS = {"amx": "avx512vnni"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="protects pages as Linux does")


def _compile(folder, body, operands):
    """Compile a program that computes `body` of the `operands` to a file in `folder`."""
    types = [f"{'x'.join(map(str, x.shape))}x{ELEMENTS[x.dtype.name]}" for x in operands]
    with ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        module = build_module(body, *types)
        function = main_of(module)
        for kind, count in (("arg_attrs", len(operands)), ("res_attrs", 1)):
            names = [ir.StringAttr.get(f"{kind}{n}") for n in range(count)]
            named = [ir.DictAttr.get({"graph.name": name}) for name in names]
            function.attributes[kind] = ir.ArrayAttr.get(named)
        compilation = Compilation(module, "guarded", make_options("cpu", threads=1, cache=False))
        compilation.lower()
        (folder / "module.vmfb").write_bytes(compilation.backend())
    return folder / "module.vmfb"


def _run(folder, body, operands):
    """The result of `body`, compiled, for operands that end where memory ends."""
    paths = [folder / f"{n}.npy" for n in range(len(operands))]
    for path, operand in zip(paths, operands, strict=True):
        np.save(path, operand)
    module, output = _compile(folder, body, operands), folder / "y.npy"
    command = [sys.executable, "-m", "guarded_memory", module, output, *paths]
    subprocess.run(list(map(str, command)), check=True)
    return np.load(output)


def _floats(random, *shape):
    return random.integers(-9, 9, shape).astype(np.float32)


def test_memory_that_is_read_behind_its_end(tmp_path):
    """The process ends if something is."""
    x = np.zeros((LEAST_BYTES // 4,), np.float32)
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(
            [
                sys.executable,
                "-c",
                "import guarded_memory as g, numpy as np, ctypes;"
                f"x = g.guarded(np.zeros({x.size}, np.float32));"
                "ctypes.string_at(x.ctypes.data, x.nbytes + 1)",
            ],
            check=True,
            stderr=subprocess.DEVNULL,
        )


def test_int8_convolution(tmp_path):
    unit, random = cpu_features.int8_unit("host"), np.random.default_rng(0)
    if unit == "none":
        pytest.skip("this CPU has no unit that multiplies 8-bit integers")
    unit = INT8_VECTORS.get(unit, unit)
    x = random.integers(0, 255, (32, 3, 9, 256), np.uint8)
    w = random.integers(-128, 127, (1, 3, 4, 64, WIDTH, 4), np.int8)
    attrs = {**WINDOW, "border": 0, "groups": 1, "tile_w": 3, "lanes": LANES, "unit": unit}
    attrs |= {"features": WIDTH, "x_bytes": 1}
    y = _run(tmp_path, lambda x, w: graph.int8_direct_conv(x, w, **attrs), [x, w])
    np.testing.assert_array_equal(y[:2], graph.Int8DirectConvOp.evaluate(x[:2], w, **attrs))


def test_convolution(tmp_path):
    random = np.random.default_rng(1)
    x, w = _floats(random, 4, 3, 9, 128), _floats(random, 1, 3, 3, 128, WIDTH)
    attrs = {**WINDOW, "groups": 1, "tile_w": 3, "lanes": LANES, "layout": "channels_last"}
    attrs["features"] = WIDTH
    y = _run(tmp_path, lambda x, w: graph.direct_conv(x, w, **attrs), [x, w])
    np.testing.assert_array_equal(y, graph.DirectConvOp.evaluate(x, w, **attrs))


def test_matmul(tmp_path):
    random = np.random.default_rng(2)
    x, w = _floats(random, 64, 129), _floats(random, 8, 129, 2 * LANES)
    attrs = {"mr": 4, "columns": 15 * LANES + 3, "lanes": LANES}
    y = _run(tmp_path, lambda x, w: graph.packed_matmul(x, w, **attrs), [x, w])
    np.testing.assert_array_equal(y, graph.PackedMatmulOp.evaluate(x, w, **attrs))


def test_slice_with_a_step(tmp_path):
    x = _floats(np.random.default_rng(3), 32, 256)
    attrs = {"starts": (0, 1), "sizes": (32, 85), "steps": (1, 3)}
    y = _run(tmp_path, lambda x: graph.slice_(x, **attrs), [x])
    np.testing.assert_array_equal(y, x[:, 1::3])
