"""The kinds of inputs: how to make one from a number, and how to run it."""

import contextlib
import functools
import logging
import os
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from graphc.errors import GraphcError, UnsupportedModelError
from graphc.frontend.onnx import check_nodes, import_onnx
from graphc.runtime import TensorSpec, load

from .archive_mutations import change_json, damage_archive
from .byte_mutations import damage
from .input_outcome import EscapeError
from .program_mutations import with_short_loops
from .proto_mutations import mutate
from .seeds import own_models, suite_models

COMPILE_SECONDS = 20.0
SECRET = 0x5EC2E7
"""Contents of a file outside the folder of each model."""

_SMALL = 3
_TRIES = 5


@dataclass(frozen=True)
class Kind:
    """A kind of input: `make` creates one from random numbers, `run` hands it to graphc."""

    make: Callable[[random.Random], bytes]
    run: Callable[[bytes], object]
    suffix: str


def draw_for(kind: str, seed: int, number: int) -> random.Random:
    """The random number generator for input `number` of a kind."""
    return random.Random(f"{kind} {seed} {number}")


def quiet() -> None:
    """Disable warnings and the log, which would have thousands of lines."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")


# Models


@functools.cache
def seed_models() -> Sequence[bytes]:
    """The models to mutate. A third of the draws are of our own models."""
    return own_models() * 60 + suite_models()


def changed_model(draw: random.Random) -> bytes:
    """A model with changes in its structure."""
    model = onnx.ModelProto.FromString(draw.choice(seed_models()))
    mutate(model, draw)
    return model.SerializeToString()


def damaged_model(draw: random.Random) -> bytes:
    """A model with damaged bytes."""
    return damage(draw.choice(seed_models()), draw)


def import_model(data: bytes) -> None:
    """Import a model. If it has unsupported operators, find out where each node would run."""
    try:
        import_onnx(data)
    except UnsupportedModelError:
        from graphc.runtime.host.part import why_not

        check_nodes(data, dims=None, why_not=why_not, one_program=False)


# External data


_PLACES = (
    *("w.bin", "sub/w.bin", "short.bin", "missing.bin", "../secret.bin", "sub/../../secret.bin"),
    *("SECRET", "link.bin", "outside/secret.bin", "sub/../w.bin", "W.BIN", "w.bin/", "w.bin\0"),
    *(".", "", "/", "sub", "pipe", "zero", "w.bin/x", "loop", "..\\secret.bin", "C:\\secret.bin"),
    *("//secret.bin", "./w.bin", "~/x", "file:w.bin", "\udcff", "w" * 300, "model.onnx", "inner"),
)


def model_with_external_data(draw: random.Random) -> bytes:
    """A model with a tensor in an external file, whose location is drawn."""
    tensor = TensorProto(name="w", data_type=draw.choice((1, 7, 7, 7, 22, 8)), dims=[3])
    tensor.data_location = TensorProto.EXTERNAL
    for key in ("location", "offset", "length"):
        if key != "location" and draw.random() < 0.6:
            continue
        for _ in range(draw.choice((1, 1, 1, 2))):
            tensor.external_data.add(key=key, value=_entry(key, draw))
    if draw.random() < 0.2:
        tensor.dims[0] = draw.choice((0, 1, -1, 100, 2**40, 2**62))
    node = helper.make_node("Identity", ["w"], ["y"])
    if draw.random() < 0.3:
        node = helper.make_node("Constant", [], ["y"])
        node.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t.CopyFrom(tensor)
    outputs = [onnx.ValueInfoProto(name="y")]
    model = helper.make_model(helper.make_graph([node], "g", [], outputs), ir_version=10)
    model.opset_import[0].version = 21
    model.graph.initializer.append(tensor)
    return model.SerializeToString()


def _entry(key: str, draw: random.Random) -> str:
    if key == "location":
        return draw.choice(_PLACES).encode("utf-8", "ignore").decode()
    return draw.choice(("0", "24", "8", "-8", "1e3", "", "٣", "9" * 5000, str(2**63), str(2**70)))


@functools.cache
def _folder() -> Path:
    """A folder with files and traps, and a secret beside it. It is deleted with the process."""
    root = Path(tempfile.mkdtemp(prefix="graphc-robustness-"))
    folder = root / "model"
    (folder / "sub").mkdir(parents=True)
    secret = root / "secret.bin"
    secret.write_bytes(np.full(4096, SECRET, np.int64).tobytes())
    for name in ("w.bin", "sub/w.bin"):
        (folder / name).write_bytes(np.arange(64).tobytes())
    (folder / "short.bin").write_bytes(b"abc")
    (folder / "link.bin").symlink_to(secret)
    (folder / "inner").symlink_to(folder / "w.bin")
    (folder / "outside").symlink_to(root)
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "loop").symlink_to(folder / "loop")
    os.mkfifo(folder / "pipe")
    return folder


def import_beside_traps(data: bytes) -> None:
    """Import a model among files that it must not read."""
    path = _folder() / "model.onnx"
    model = onnx.ModelProto.FromString(data)
    for tensor in (*model.graph.initializer, *(a.t for n in model.graph.node for a in n.attribute)):
        for entry in tensor.external_data:
            if entry.value == "SECRET":
                entry.value = str(_folder().parent / "secret.bin")
    path.write_bytes(model.SerializeToString())
    module = import_onnx(path)
    if str(SECRET) in module.operation.get_asm():
        raise EscapeError("the imported program holds what lies outside the model's folder")


# Compiled files


@functools.cache
def compiled_files() -> tuple[bytes, ...]:
    """A compiled file of each kind: one module, several modules, and parts."""
    from graphc.compiler.compile import compile_to_file

    node = helper.make_node
    product = [node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["y"])]
    split = [
        node("Relu", ["x"], ["a"]),
        node("SplitToSequence", ["a"], ["s"], axis=1),
        node("ConcatFromSequence", ["s"], ["c"], axis=0),
        node("Neg", ["c"], ["y"]),
    ]
    weights = [helper.make_tensor("w", 1, [64, 64], np.ones(4096))]
    x = helper.make_tensor_value_info("x", 1, ["N", 64])
    models = [
        helper.make_model(
            helper.make_graph(nodes, "g", [x], [onnx.ValueInfoProto(name="y")], tensors),
            opset_imports=[helper.make_opsetid("", 20)],
            ir_version=10,
        )
        for nodes, tensors in ((product, weights), (split, []))
    ]
    jobs: list[tuple[Any, Any]] = [(models[0], "cpu"), (models[1], "cpu")]
    jobs.append((models[0], ["cpu", "cpu:x86-64-v2"]))
    return tuple(
        compile_to_file(model, target, cache=False, threads=1)[0] for model, target in jobs
    )


def damaged_file(draw: random.Random) -> bytes:
    """A compiled file with changes."""
    return damage_archive(draw.choice(compiled_files()), draw)


def load_file(data: bytes) -> None:
    """Load a compiled file."""
    load(data, threads=1).close()


# The cache


@functools.cache
def _cached() -> tuple[Path, Path, dict[Path, bytes]]:
    """A model, a cache that holds it compiled, and the bytes of all files of the cache."""
    from graphc.compiler.compile import compile as compile_model

    folder = Path(tempfile.mkdtemp(prefix="graphc-robustness-"))
    path = folder / "model.onnx"
    path.write_bytes(own_models()[0])
    compile_model(path, cache=folder / "cache", threads=1).close()
    found = [each for each in (folder / "cache").rglob("*") if each.is_file()]
    return path, folder / "cache", {each: each.read_bytes() for each in found}


def damaged_entry(draw: random.Random) -> bytes:
    """The number of the changed cache file as a byte, followed by its new contents."""
    _, _, files = _cached()
    number = draw.randrange(len(files))
    data = sorted(files.items())[number][1]
    lines = data.split(b"\n")
    if draw.random() < 0.5 and data[:1] == b"{":
        at = draw.randrange(len(lines))
        lines[at] = change_json(lines[at], draw)
        data = b"\n".join(lines)
    else:
        data = damage(data, draw)
    return bytes([number]) + data


def look_into_cache(data: bytes) -> None:
    """List a cache with a changed file, and look up the model in it."""
    from graphc.compiler.compile import Job
    from graphc.compiler.options import Options
    from graphc.runtime.cache.compile_cache import CompileCache

    model, folder, files = _cached()
    for path, contents in files.items():
        if not path.exists() or path.read_bytes() != contents:
            path.write_bytes(contents)
    changed = sorted(files)[data[0]]
    changed.write_bytes(data[1:])
    CompileCache(folder).entries()
    found = Job(model, Options.of_all("cpu", cache=folder, threads=1)).find()
    if found is not None:
        str(found.reports[0])
        load(found.path, threads=1).close()


# The whole path


def importable_model(draw: random.Random) -> bytes:
    """A mutated model that can be imported, if one of a few can.

    It will run, so its loops are made short: a model may legitimately ask for a thousand years.
    """
    data = b""
    for _ in range(_TRIES):
        data = with_short_loops(changed_model(draw))
        with contextlib.suppress(GraphcError):
            import_onnx(data)
            break
    return data


def compile_and_run(data: bytes) -> None:
    """Compile a model and run it on small arrays."""
    from graphc.compiler.compile import compile as compile_model

    with compile_model(data, cache=False, threads=1, timeout=COMPILE_SECONDS) as model:
        sizes: dict[str, int] = {}
        model.run(None, {s.name: array for s, array in _feeds(model.inputs, sizes)})


def _feeds(specs: Sequence[Any], sizes: dict[str, int]) -> Iterator[tuple[TensorSpec, np.ndarray]]:
    for spec in specs:
        if not isinstance(spec, TensorSpec):
            return  # the model has no such input then
        shape = [sizes.setdefault(d, _SMALL) if isinstance(d, str) else d for d in spec.shape]
        yield spec, np.ones([min(size, 1 << 20) for size in shape], spec.dtype)


KINDS: dict[str, Kind] = {
    "structure": Kind(changed_model, import_model, ".onnx"),
    "bytes": Kind(damaged_model, import_model, ".onnx"),
    "external-data": Kind(model_with_external_data, import_beside_traps, ".onnx"),
    "file": Kind(damaged_file, load_file, ".vmfb"),
    "cache": Kind(damaged_entry, look_into_cache, ".entry"),
    "compile": Kind(importable_model, compile_and_run, ".onnx"),
}
