"""Several models as entry points of one module: their weights are there once."""

import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import graphc
from graphc import EntryModel, compile_entry_points
from graphc.compiler.extensions import extensions
from graphc.errors import GraphcError, UnsupportedModelError, UsageError
from graphc.runtime.cache.compile_cache import CompileCache

K, N = 256, 384
WEIGHTS = np.random.default_rng(0).normal(size=(K, N)).astype(np.float32)


def layer(rows, op="Relu", weights=WEIGHTS):
    """``op(x @ weights)``, by `rows` rows."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"], name="multiply"),
        helper.make_node(op, ["y"], ["z"], name="activation"),
    ]
    x = helper.make_tensor_value_info("x", 1, [rows, weights.shape[0]])
    z = helper.make_tensor_value_info("z", 1, [rows, weights.shape[1]])
    graph = helper.make_graph(nodes, "layer", [x], [z], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def constant_bytes(path):
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
    return sum(each.file_size for each in infos if each.filename.startswith("_const"))


def check(model, rows):
    x = np.random.default_rng(rows).normal(size=(rows, K)).astype(np.float32)
    np.testing.assert_allclose(model(x), np.maximum(x @ WEIGHTS, 0), rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module", autouse=True)
def without_extensions_of_others():
    """Hide what other tests have registered, which keeps models out of the cache."""
    before = extensions()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphc.compiler.model_cache.extensions", lambda: extensions() - before)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("entry-points")


@pytest.fixture(scope="module")
def models(folder):
    """One row, many rows, and any number of them."""
    sources = {"one": layer(1), "many": layer(64), "any_number": layer("n")}
    entries = {name: EntryModel(source) for name, source in sources.items()}
    return compile_entry_points(entries, threads=2, precision="strict", cache=folder / "cache")


@pytest.fixture(scope="module")
def saved(models, folder):
    path = folder / "layers.vmfb"
    models["one"].save(path)
    return path


def test_each_entry_point_computes_what_its_model_does(models):
    check(models["one"], 1)
    check(models["many"], 64)
    for rows in (1, 7, 200):
        check(models["any_number"], rows)


def test_the_file_has_one_copy_of_the_weights(saved):
    assert constant_bytes(saved) == WEIGHTS.nbytes
    assert graphc.load(saved, entry="one").constant_bytes == WEIGHTS.nbytes
    assert saved.stat().st_size < WEIGHTS.nbytes + (1 << 18)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_has_one_copy_of_the_weights(saved):
    """The file is mapped once, and its constants are used where they are."""
    loaded = graphc.load_entry_points(saved, threads=2)
    for name, rows in {"one": 1, "many": 64, "any_number": 9}.items():
        check(loaded[name], rows)
    mapped = Path("/proc/self/maps").read_text().splitlines()
    assert sum(line.endswith(str(saved)) for line in mapped) == 1
    (program,) = {id(each._measured[0].program): each._measured[0].program
                  for each in loaded.values()}.values()  # fmt: skip
    assert len(program._contexts) <= 2  # of the workers, and of the caller's thread
    for model in loaded.values():
        model.close()
    assert not program._contexts


def test_entry_points_close_one_by_one(saved):
    loaded = graphc.load_entry_points(saved, threads=1)
    loaded["one"].close()
    with pytest.raises(UsageError, match="closed"):
        check(loaded["one"], 1)
    check(loaded["many"], 64)


def test_one_entry_point_of_a_file(saved):
    check(graphc.load(saved, entry="many"), 64)
    with pytest.raises(UsageError, match="entry points: one, many, any_number"):
        graphc.load(saved)
    with pytest.raises(UsageError, match="no entry point 'few'"):
        graphc.load(saved, entry="few")


def test_all_come_from_the_cache(models, folder):
    entries = {"one": EntryModel(layer(1)), "many": EntryModel(layer(64))}
    options = {"threads": 2, "precision": "strict", "cache": folder / "cache"}
    again = compile_entry_points({**entries, "any_number": EntryModel(layer("n"))}, **options)
    assert all(each.report.cached for each in again.values())
    check(again["many"], 64)
    other = compile_entry_points(entries, **options)
    assert not any(each.report.cached for each in other.values())
    kinds = [each.entry.kind for each in CompileCache(folder / "cache").entries()]
    assert kinds.count("model") == 2


def test_models_of_one_file_of_weights(folder):
    """Models in files may have a file of weights in common."""
    paths = [folder / "one.onnx", folder / "many.onnx"]
    for path, rows in zip(paths, (1, 64), strict=True):
        (folder / "weights.data").unlink(missing_ok=True)  # it would be appended to
        onnx.save(layer(rows), path, save_as_external_data=True, location="weights.data")
    entries = {path.stem: EntryModel(path) for path in paths}
    options = {"threads": 2, "precision": "strict", "cache": folder / "files"}
    for is_cached in (False, True):
        loaded = compile_entry_points(entries, **options)
        assert bool(loaded["one"].report.cached) == is_cached
        check(loaded["one"], 1)
    (folder / "weights.data").write_bytes((WEIGHTS + 1).tobytes())
    changed = compile_entry_points(entries, **options)
    assert not changed["one"].report.cached
    x = np.ones((1, K), np.float32)
    np.testing.assert_allclose(changed["one"](x), np.maximum(x @ (WEIGHTS + 1), 0), rtol=1e-4)


def test_different_weights_and_sizes_of_dimensions(folder):
    other = np.random.default_rng(1).normal(size=(K, N)).astype(np.float32)
    models = compile_entry_points(
        {
            "fixed": EntryModel(layer("n"), dims={"n": 3}),
            "other": EntryModel(layer(3, "Tanh", other)),
        },
        threads=1, precision="strict", cache=False,
    )  # fmt: skip
    assert models["fixed"].inputs[0].shape == (3, K)
    check(models["fixed"], 3)
    x = np.random.default_rng(2).normal(size=(3, K)).astype(np.float32)
    np.testing.assert_allclose(models["other"](x), np.tanh(x @ other), rtol=1e-3, atol=1e-4)
    models["other"].save(folder / "different.vmfb")
    assert constant_bytes(folder / "different.vmfb") == 2 * WEIGHTS.nbytes


def test_interpreted():
    models = compile_entry_points({"one": EntryModel(layer(1))}, "interpret")
    check(models["one"], 1)


@pytest.mark.parametrize("name", ["", "a-b", "1a", "a_into", "é"])
def test_names_that_are_refused(name):
    with pytest.raises(UsageError, match="no name for an entry point"):
        compile_entry_points({name: EntryModel(layer(1))})


def test_what_cannot_be_an_entry_point():
    with pytest.raises(UsageError, match="no model"):
        compile_entry_points({})
    with pytest.raises(UsageError, match="nothing is compiled for 'interpret'"):
        compile_entry_points({"one": EntryModel(layer(1))}, ["cpu", "interpret"])
    strings = helper.make_graph(
        [helper.make_node("StringNormalizer", ["x"], ["y"])], "strings",
        [helper.make_tensor_value_info("x", onnx.TensorProto.STRING, [3])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.STRING, [3])],
    )  # fmt: skip
    on_host = helper.make_model(strings, ir_version=8)
    with pytest.raises(UnsupportedModelError) as caught:
        compile_entry_points({"one": EntryModel(layer(1)), "text": EntryModel(on_host)})
    assert caught.value.__notes__ == ["in the model of the entry point 'text'"]
    with pytest.raises(GraphcError):
        compile_entry_points({"one": EntryModel(b"no model")})


def test_weights_of_several_nodes_are_packed_once(folder):
    """One initializer, read by two nodes: layers that share their weights, as in ALBERT."""
    square = WEIGHTS[:, :K]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Relu", ["y"], ["positive"]),
        helper.make_node("MatMul", ["positive", "w"], ["z"]),
    ]
    values = [helper.make_tensor_value_info(name, 1, ["rows", K]) for name in "xz"]
    weights = numpy_helper.from_array(square, "w")
    graph = helper.make_graph(nodes, "twice", values[:1], values[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    compiled = graphc.compile(model, cache=False)
    path = folder / "twice.vmfb"
    compiled.save(path)
    assert constant_bytes(path) < 2 * square.nbytes
    x = np.random.default_rng(0).normal(size=(9, K)).astype(np.float32)
    expected = np.maximum(x @ square, 0) @ square
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-4, atol=1e-3)
