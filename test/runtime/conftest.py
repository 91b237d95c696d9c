"""Small modules as MLIR text, with the metadata that the driver would put into them."""

import functools
import json

import numpy as np
import pytest
from devices import needs_vulkan

from graphc.runtime import (
    ModelMetadata,
    TensorSpec,
    compile_module,
    load,
    resolve_target,
)
from graphc.runtime.device.discovery import on_this_machine

MLIR_TYPES = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "i8",
    "uint16": "i16",
    "uint32": "i32",
    "uint64": "i64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "bfloat16": "bf16",
    "float8_e4m3fn": "i8",
    "float8_e5m2": "i8",
}


def tensor_type(spec: TensorSpec) -> str:
    dims = "".join(f"{'?' if isinstance(dim, str) else dim}x" for dim in spec.shape)
    return f"tensor<{dims}{MLIR_TYPES[spec.dtype]}>"


def module(inputs, outputs, body, *, name="model", metadata=None, **options):
    """The text of a module whose arguments are called %a0, %a1, ... in `body`."""
    if metadata is None:
        metadata = ModelMetadata(name, tuple(inputs), tuple(outputs), options=options).to_json()
    arguments = ", ".join(f"%a{i}: {tensor_type(spec)}" for i, spec in enumerate(inputs))
    results = ", ".join(tensor_type(spec) for spec in outputs)
    attribute = f"attributes {{iree.reflection = {{graphc = {json.dumps(metadata)}}}}}"
    if metadata == "":
        attribute = ""
    return f"func.func @main({arguments}) -> ({results}) {attribute} {{\n{body}\n}}\n".encode()


def add(**options):
    """z = x + y, with a dynamic batch that both inputs share."""
    x, y, z = (TensorSpec(name, ("batch", 4), "float32") for name in "xyz")
    body = """
      %r = arith.addf %a0, %a1 : tensor<?x4xf32>
      return %r : tensor<?x4xf32>"""
    return module([x, y], [z], body, name="add", **options)


def doubled(**options):
    """Every element type, in and out: each output is its input twice over."""
    inputs = [TensorSpec(f"in_{dtype}", ("n",), dtype) for dtype in MLIR_TYPES]
    outputs = [TensorSpec(f"out_{dtype}", ("2*n",), dtype) for dtype in MLIR_TYPES]
    lines = []
    for i, spec in enumerate(inputs):
        kind = tensor_type(spec)
        lines.append(f"%r{i} = tensor.concat dim(0) %a{i}, %a{i} : ({kind}, {kind}) -> {kind}")
    values = ", ".join(f"%r{i}" for i in range(len(inputs)))
    kinds = ", ".join(map(tensor_type, outputs))
    lines.append(f"return {values} : {kinds}")
    return module(inputs, outputs, "\n".join(lines), name="doubled", **options)


LARGE = 1 << 16


def aliases(**options):
    """Returns its input, a constant, and one sum twice: what outputs might share."""
    kind = f"tensor<{LARGE}xf32>"
    specs = [TensorSpec(name, (LARGE,), "float32") for name in ("x", "same", "one", "sum", "sum2")]
    body = f"""
      %c = arith.constant dense<1.0> : {kind}
      %r = arith.addf %a0, %c : {kind}
      return %a0, %c, %r, %r : {kind}, {kind}, {kind}, {kind}"""
    return module(specs[:1], specs[1:], body, name="aliases", **options)


def scalar(**options):
    """y = x + x of rank 0."""
    body = """
      %r = arith.addf %a0, %a0 : tensor<f32>
      return %r : tensor<f32>"""
    return module(
        [TensorSpec("x", (), "float32")],
        [TensorSpec("y", (), "float32")],
        body,
        name="scalar",
        **options,
    )


def allocate(**options):
    """Gives as many zeros as its input says: asking for too many fails when it runs."""
    body = """
      %n = tensor.extract %a0[] : tensor<i64>
      %i = arith.index_cast %n : i64 to index
      %z = arith.constant 0.0 : f32
      %e = tensor.empty(%i) : tensor<?xf32>
      %r = linalg.fill ins(%z : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      return %r : tensor<?xf32>"""
    return module(
        [TensorSpec("n", (), "int64")],
        [TensorSpec("y", ("",), "float32")],
        body,
        name="allocate",
        **options,
    )


def status(**options):
    """Fails with the status code that its input says, and gives it back where that is 0."""
    body = """
      %n = tensor.extract %a0[] : tensor<i32>
      util.status.check_ok %n, "as asked"
      return %a0 : tensor<i32>"""
    return module(
        [TensorSpec("n", (), "int32")],
        [TensorSpec("y", (), "int32")],
        body,
        name="status",
        **options,
    )


def spin(**options):
    """Busy for a while on one thread: a matmul of 256 x 256, 200 times over."""
    kind = "tensor<256x256xf32>"
    body = f"""
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c200 = arith.constant 200 : index
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : {kind}
      %r = scf.for %i = %c0 to %c200 step %c1 iter_args(%acc = %a0) -> ({kind}) {{
        %f = linalg.fill ins(%z : f32) outs(%e : {kind}) -> {kind}
        %m = linalg.matmul ins(%acc, %a0 : {kind}, {kind}) outs(%f : {kind}) -> {kind}
        scf.yield %m : {kind}
      }}
      return %r : {kind}"""
    spec = TensorSpec("x", (256, 256), "float32")
    return module([spec], [TensorSpec("y", (256, 256), "float32")], body, name="spin", **options)


def append(**options):
    """A step with a cache: a row more in the cache, and the sum of its rows."""
    dtypes = ("?x4xf32", "1x4xf32", "4xf32")
    cache, row, total = (f"tensor<{dtype}>" for dtype in dtypes)
    body = f"""
      %c = tensor.concat dim(0) %a0, %a1 : ({cache}, {row}) -> {cache}
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : {total}
      %f = linalg.fill ins(%z : f32) outs(%e : {total}) -> {total}
      %s = linalg.reduce ins(%c : {cache}) outs(%f : {total}) dimensions = [0]
        (%in: f32, %out: f32) {{
          %p = arith.addf %in, %out : f32
          linalg.yield %p : f32
        }}
      return %s, %c : {total}, {cache}"""
    return module(
        [TensorSpec("past", ("n", 4), "float32"), TensorSpec("row", (1, 4), "float32")],
        [TensorSpec("total", (4,), "float32"), TensorSpec("present", ("n + 1", 4), "float32")],
        body,
        name="append",
        **options,
    )


def destined(**options):
    """y and z are sums of x; products of it for callers who say where they are to go."""
    body = """
      %y = arith.addf %a0, %a0 : tensor<?x4xf32>
      %z = arith.addf %y, %a0 : tensor<?x4xf32>
      return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>"""
    x, y, z = (TensorSpec(name, ("batch", 4), "float32") for name in "xyz")
    into = """
    func.func @main_into(%x: tensor<?x4xf32>, %d0: !hal.buffer {iree.abi.output = 0 : index},
                         %d1: !hal.buffer {iree.abi.output = 1 : index})
        -> (tensor<?x4xf32>, tensor<?x4xf32>) {
      %y = arith.mulf %x, %x : tensor<?x4xf32>
      %z = arith.mulf %y, %x : tensor<?x4xf32>
      return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
    }
    """
    return module([x], [y, z], body, name="destined", **options) + into.encode()


MODELS = {
    build.__name__: build
    for build in (add, doubled, aliases, scalar, allocate, status, spin, append, destined)
}


@functools.cache
def _compile(name: str, target: str = "cpu") -> bytes:
    row = on_this_machine(resolve_target(target))
    return compile_module(MODELS[name](target=row.spelling), target=row, threads=2)


@pytest.fixture(scope="session")
def source():
    """``source("add")``: the text of a model above; ``source("add", target="x")`` with options."""
    return lambda name, **options: MODELS[name](**options)


@pytest.fixture(scope="session")
def compiled():
    """``compiled("add")``: the bytes of a model above, compiled once."""
    return _compile


KINDS = {"one-thread": ("cpu", 1), "two-threads": ("cpu", 2)}


@pytest.fixture(params=[*KINDS, pytest.param("vulkan", marks=needs_vulkan)])
def model(request):
    """``model("add")``: a loaded model, on each kind of device."""
    opened = []
    target, threads = KINDS.get(request.param, (request.param, 1))

    def open_model(name):
        opened.append(load(_compile(name, target), threads=threads))
        return opened[-1]

    open_model.calls = 200 if target == "cpu" else 20  # of a test that makes many
    open_model.target = target
    yield open_model
    for each in opened:
        each.close()


@pytest.fixture(scope="session")
def aligned():
    """``aligned(array)``: a copy that begins where compiled code wants arrays to begin."""

    def copy(array):
        raw = np.empty(array.nbytes + 64, np.uint8)
        offset = -raw.ctypes.data % 64
        result = raw[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)
        result[...] = array
        return result

    return copy
