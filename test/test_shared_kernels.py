"""Models share the kernels that they have in common, and compute what they computed."""

import functools
import logging
import shutil
import struct

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import graphc
from graphc.compiler.compile import compile_to_file
from graphc.compiler.driver import begin, make_options
from graphc.compiler.lowered_module import LoweredProgram
from graphc.dialects import iree
from graphc.dialects.iree.outlining import outline_kernels
from graphc.errors import BackendError
from graphc.mlir import ir
from graphc.runtime.cache.compile_cache import CompileCache
from graphc.runtime.iree_compile.child_process import run_child
from harness.joint_program import join

X = np.random.default_rng(0).standard_normal((1, 16, 48, 48)).astype(np.float32)


NAMED = ("n", 16, "h", "w")
"""Named sizes of `X`."""


def model(end, seed=1, shape=X.shape):
    """A convolution, another one, and an `end`."""
    rng = np.random.default_rng(seed)
    weights = {
        name: rng.standard_normal(shape).astype(np.float32) / 8
        for name, shape in {"w1": (32, 16, 3, 3), "w2": (32, 32, 1, 1)}.items()
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"]),
        helper.make_node(end, ["c"], ["y"]),
    ]
    float_ = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        f"ends_in_{end.lower()}",
        [helper.make_tensor_value_info("x", float_, shape)],
        [helper.make_tensor_value_info("y", float_, (shape[0], 32, *shape[2:]))],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


@pytest.fixture
def cache(tmp_path):
    return CompileCache(tmp_path / "cache")


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The results of a model, and the folder of a cache with nothing else."""
    folder = tmp_path_factory.mktemp("first") / "cache"
    with graphc.compile(model("Tanh"), cache=folder, threads=1) as compiled:
        assert stage_of(compiled) == "backend"
        return compiled(X), folder


@pytest.fixture
def filled(first, tmp_path):
    """``filled()``: a cache with the kernels of the first model."""

    def copy():
        folder = tmp_path / "filled"
        shutil.copytree(first[1], folder)
        return CompileCache(folder)

    return copy


SECOND = model("Sigmoid", seed=2)


@functools.cache
def results_alone(end, seed=1, threads=1, shape=X.shape):
    """The results of a model that shares kernels with no other."""
    with graphc.compile(model(end, seed, shape), cache=False, threads=threads) as alone:
        return alone(X)


def stage_of(compiled):
    return compiled.report.passes[-1].name


def kernels_in(cache):
    return [each for each in cache.entries() if each.entry.kind == "kernel"]


def outlined(made, **options):
    """The symbols of the kernels of a model."""
    options = {"dims": {}, "threads": 1, "pipeline": None, "cache": False, **options}
    compilation = begin(made, make_options("cpu", **options))
    compilation.graph_passes()
    compilation.lower()
    kernels = [op for op in compilation.module.body if op.operation.name == "stream.executable"]
    found = [kernel.symbol for kernel in outline_kernels(compilation.module)]
    assert len(found) == len(kernels) >= 1
    return found


def test_kernels_of_another_model_are_linked(first, filled):
    """On one thread; those of several are in the next test."""
    cache = filled()
    assert len(kernels_in(cache)) >= 1
    second = graphc.compile(SECOND, cache=cache, threads=1)
    assert " kernels from the cache)" in stage_of(second)
    assert not stage_of(second).startswith("backend (0 of")
    np.testing.assert_array_equal(second(X), results_alone("Sigmoid", 2))
    np.testing.assert_array_equal(first[0], results_alone("Tanh"))


def test_kernels_of_named_sizes_are_linked(cache):
    graphc.compile(model("Tanh", shape=NAMED), cache=cache, threads=2).close()
    second = graphc.compile(model("Sigmoid", 2, NAMED), cache=cache, threads=2)
    assert stage_of(second) == "backend (3 of 4 kernels from the cache)"  # not that of the end
    expected = results_alone("Sigmoid", 2, threads=2, shape=NAMED)
    np.testing.assert_array_equal(second(X), expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_weights_and_names_make_no_other_kernel(threads):
    ours, others = model("Tanh"), model("Tanh", seed=2)
    for node in others.graph.node:
        node.name = f"other_{node.op_type}"
    assert outlined(ours, threads=threads) == outlined(others, threads=threads)


def test_what_a_kernel_computes_is_in_its_name():
    changed = model("Tanh")
    changed.graph.node[1].op_type = "Abs"
    assert set(outlined(model("Tanh"))) - set(outlined(changed))


@pytest.mark.parametrize("options", [{"opt_level": 1}, {"target": "cpu:x86-64-v3"}])
def test_kernels_compiled_otherwise_are_not_linked(filled, options):
    cache = filled()
    before = {each.key for each in kernels_in(cache)}
    target = options.pop("target", "cpu")
    _, report = compile_to_file(SECOND, target, threads=1, cache=cache, **options)
    assert report.passes[-1].name == "backend"
    assert before < {each.key for each in kernels_in(cache)}


def _damage(path):
    path.write_bytes(path.read_bytes()[:-1] + b"\1")


def _remove(path):
    path.unlink()


@pytest.mark.parametrize("harm", [_damage, _remove])
def test_damaged_kernels_count_as_none(filled, harm):
    cache = filled()
    for name in {each.entry.contents for each in kernels_in(cache)}:
        harm(cache.folder / "contents" / name)
    again = graphc.compile(SECOND, cache=cache, threads=1)
    assert stage_of(again) == "backend"
    np.testing.assert_array_equal(again(X), results_alone("Sigmoid", 2))


def test_what_does_not_link_is_compiled_as_a_whole(filled, caplog):
    """A sound entry, of something that the linker refuses."""
    cache = filled()
    for each in kernels_in(cache):
        cache.put(each.key, struct.pack("<I", 7), kind="kernel", name="m", target="cpu:host")
    with caplog.at_level(logging.WARNING, logger="graphc"):
        again = graphc.compile(SECOND, cache=cache, threads=1)
    assert "without shared kernels" in caplog.text
    assert stage_of(again) == "backend"
    np.testing.assert_array_equal(again(X), results_alone("Sigmoid", 2))


def test_a_program_is_again_what_it_was_before_kernels_were_linked(tmp_path):
    texts = []
    for links in (False, True):
        compilation = begin(model("Tanh"), make_options("cpu", threads=1, cache=False))
        compilation.graph_passes()
        compilation.lower()
        program = LoweredProgram(compilation.module, outline_kernels(compilation.module))
        kernels = list(program.kernels)
        for kernel in kernels if links else ():
            kernel.link("kernels.o")
        source = program.file(tmp_path)
        texts.append(source.read_bytes().count(b"kernels.o"))
        program.unlink(source)
        with ir.Context() as context:
            context.allow_unregistered_dialects = True
            iree.load()
            texts.append(str(ir.Module.parse(source.read_bytes())))
    before, whole, linked, again = texts
    assert (before, linked > 0) == (0, True)
    assert again == whole


def test_outlined_kernels_may_be_part_of_a_joint_program(tmp_path):
    """One module has the function of a kernel under the digest of its code, as alone."""
    programs, symbols = [], set()
    for end in ("Tanh", "Sigmoid"):
        compilation = begin(model(end), make_options("cpu", threads=1, cache=False))
        compilation.graph_passes()
        compilation.lower()
        kernels = outline_kernels(compilation.module)
        symbols |= {kernel.symbol for kernel in kernels}
        program = LoweredProgram(compilation.module, kernels)
        programs.append(program.file(tmp_path).read_bytes())
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        iree.load()
        joint = ir.Module.parse(join(programs))
        joint.operation.verify()
        assert all(f"func.func private @{symbol}(" in str(joint) for symbol in symbols)


def test_what_fails_with_nothing_linked_is_not_tried_whole(cache, monkeypatch):
    """Once more to say why, as without a cache, and once with dispatches of single ops."""
    runs = []

    def run(command, *given, **options):
        runs.append("--verify=false" in command)
        return run_child(command, *given, **options)

    monkeypatch.setattr("graphc.runtime.iree_compile.compiler.run_child", run)
    flags = ["--iree-llvmcpu-target-cpu=nonsense"]
    with pytest.raises(BackendError):
        compile_to_file(model("Tanh"), "cpu", threads=1, cache=cache, extra_flags=flags)
    assert runs == [True, False, True]
    assert cache.entries() == []


@pytest.mark.skipif(shutil.which("ld") is None, reason="needs the linker of the system")
def test_the_linker_of_the_system_links_them_too(cache, caplog):
    flags = ["--iree-llvmcpu-link-embedded=false"]
    compile_to_file(model("Tanh"), "cpu", threads=1, cache=cache, extra_flags=flags)
    _, report = compile_to_file(model("Sigmoid"), "cpu", threads=1, cache=cache, extra_flags=flags)
    assert " kernels from the cache)" in report.passes[-1].name
    assert caplog.text == ""


def test_an_object_file_is_kept_once_and_goes_with_its_kernels(filled):
    cache = filled()
    kernels = kernels_in(cache)
    (contents,) = {each.entry.contents for each in kernels}
    assert (cache.folder / "contents" / contents).exists()
    cache.prune(0)
    assert kernels_in(cache) == []
    assert not (cache.folder / "contents" / contents).exists()


def test_with_save_temps_no_kernel_is_linked(filled, tmp_path):
    made = graphc.compile(SECOND, cache=filled(), threads=1, save_temps=tmp_path / "temps")
    assert stage_of(made) == "backend"
    assert "keep-linker-artifacts" not in (tmp_path / "temps" / "command.sh").read_text()
