"""gc-run: feeds, results, comparison and timing."""

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
from numerics import build_model
from onnx import TensorProto, helper
from tool_models import dense_result

from graphc.debugging.difference import relative_difference
from graphc.debugging.random_feeds import make_feeds
from graphc.errors import InvalidDimError
from graphc.runtime import TensorSpec
from graphc.tools.feeds import check_dims
from graphc.tools.gc_run import main

X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)


def save(path, array):
    np.save(path, array)
    return path


def test_inputs_and_outputs_in_files(vmfb_file, tmp_path, capsys):
    x, y = save(tmp_path / "x.npy", X), tmp_path / "y.npy"
    assert main([str(vmfb_file), "--input", f"x=@{x}", "--output", f"y=@{y}"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("y: float32[2, 3]\n")
    assert err == ""
    np.testing.assert_allclose(np.load(y), dense_result(X), rtol=1e-6)


def test_an_input_with_a_default(tmp_path):
    model = build_model(
        [helper.make_node("Mul", ["x", "w"], ["y"])], {"x": (np.float32, [2, 4])}, ["y"],
        {"w": [2.0]},
    )  # fmt: skip
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [1]))
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    x, w = save(tmp_path / "x.npy", X), save(tmp_path / "w.npy", np.float32([5]))
    y = tmp_path / "y.npy"
    for more, factor in (([], 2), ([f"--input=w=@{w}"], 5)):
        assert main([str(path), f"--input=x=@{x}", *more, f"--output=y=@{y}"]) == 0
        np.testing.assert_array_equal(np.load(y), X * factor)


def test_devices_are_listed(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--list-devices"])
    cpu, *others = capsys.readouterr().out.splitlines()
    assert cpu.endswith(" CPUs")
    assert [line.split(":")[0] for line in others] == ["vulkan", "cuda", "rocm", "metal"]
    assert others[-1].startswith("metal:  none (no driver for 'metal'")


def test_the_target_may_be_asked_for(vmfb_file, capsys):
    assert main([str(vmfb_file), "--target=cpu", "--dim=batch=2"]) == 0
    assert main([str(vmfb_file), "--target=vulkan", "--dim=batch=2"]) == 2
    assert "has code for cpu:host, not for vulkan" in capsys.readouterr().err


def test_random_inputs_are_seeded(vmfb_file, tmp_path):
    def run(seed):
        y = tmp_path / "y.npy"
        arguments = ["--seed", str(seed), "--dim", "batch=3", "--output", f"y=@{y}"]
        assert main([str(vmfb_file), *arguments]) == 0
        return np.load(y)

    first = run(1)
    assert first.shape == (3, 3)
    np.testing.assert_array_equal(first, run(1))
    assert not np.array_equal(first, run(2))


def test_repeat_prints_times(vmfb_file, capsys):
    assert main([str(vmfb_file), "--repeat=5", "--threads=1"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("5 runs: median ")


def test_compare_with_onnx_runtime(onnx_file, capsys):
    assert main([str(onnx_file), "--compare=onnxruntime", "--dim", "batch=2"]) == 0
    assert "y: largest difference from ONNX Runtime" in capsys.readouterr().out
    arguments = ["--compare=onnxruntime", "--tolerance=-1", "--pass-pipeline=canonicalize"]
    assert main([str(onnx_file), *arguments]) == 1
    assert "> -1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--input", "x"], 2, "'x': write NAME=@FILE.npy"),
        (["--input", "x=@missing.npy"], 1, "cannot read 'missing.npy': No such file"),
        (["--input", "z=@x.npy"], 1, "no input z (inputs: x)"),
        (["--input", "x=@text.npy"], 1, "'text.npy' is not a .npy file"),
        (["--input", "x=@rank.npy"], 1, "'x'"),
        (["--input", "x=@shape.npy"], 1, "'x'"),
        (["--input", "x=@dtype.npy"], 1, "'x'"),
        (["--output", "z=@y.npy"], 2, "no output z (outputs: y)"),
        (["--repeat=0"], 2, "--repeat takes a positive number"),
        (["--dim", "batch=x"], 2, "--dim batch=x"),
        (["--dim", "bach=3"], 2, "bach"),
        (["--dim", "batch=-3"], 2, "batch"),
        (["--threads=0"], 2, "threads"),
        (["--compare=onnxruntime"], 2, "--compare needs the .onnx model"),
    ],
)
def test_bad_arguments(vmfb_file, tmp_path, monkeypatch, refused, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    save("x.npy", X)
    save("rank.npy", X[0])
    save("shape.npy", X[:, :3])
    save("dtype.npy", X.astype(np.float64))
    (tmp_path / "text.npy").write_text("no array")
    refused(main, [vmfb_file, *arguments], code, message)
    assert not (tmp_path / "y.npy").exists()


def test_outputs_that_cannot_be_written(vmfb_file, tmp_path, capsys):
    assert main([str(vmfb_file), "--output", f"y=@{tmp_path}/no/y.npy"]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_damaged_modules(vmfb_file, tmp_path, refused):
    whole = vmfb_file.read_bytes()
    for name, contents in {
        "half": whole[: len(whole) // 2],
        "empty": b"",
        "text": b"x" * 99,
    }.items():
        path = tmp_path / f"{name}.vmfb"
        path.write_bytes(contents)
        refused(main, [path], 1, f"{name}.vmfb")
    refused(main, [tmp_path / "missing.vmfb"], 1, "missing.vmfb")
    refused(main, [tmp_path / "missing.onnx"], 1, "missing.onnx")


def test_feeds_take_sizes_from_dims_and_from_each_other():
    specs = [TensorSpec("ids", ("batch", "seq"), "int64"), TensorSpec("mask", ("batch", 1), "bool")]
    feeds = make_feeds(specs, {"mask": np.ones((2, 1), bool)}, {"seq": 5}, seed=0)
    assert feeds["ids"].shape == (2, 5)
    assert set(np.unique(feeds["ids"])) <= {0, 1}
    (pair,) = make_feeds([TensorSpec("pair", ("2*n", "n"), "float32")], {}, {"n": 3}, 0).values()
    assert pair.shape == (6, 3)
    feeds = make_feeds(specs, {}, {}, seed=0)
    assert (feeds["ids"].shape, feeds["mask"].dtype) == ((1, 1), np.bool_)


def test_dims_are_those_of_the_model():
    specs = [TensorSpec("x", ("n", "2*m", 3), "float32")]
    check_dims({"n": 1, "m": 2, "k": 4}, specs, {"k": 4})
    with pytest.raises(InvalidDimError, match="'k' is 4 in this model, not 5"):
        check_dims({"k": 5}, specs, {"k": 4})
    with pytest.raises(InvalidDimError, match="no dimension named o; the model has: k, m, n"):
        check_dims({"o": 5}, specs, {"k": 4})


def test_relative_difference():
    a = np.array([1.0, 2.0, np.inf, np.nan])
    assert relative_difference(a, a) == 0
    assert relative_difference(np.array([1.0, 4.0]), np.array([1.0, 5.0])) == pytest.approx(0.2)
    assert relative_difference(a, a[:2]) == np.inf
    assert relative_difference(a, np.array([1.0, 2.0, np.inf, 0.0])) == np.inf
    assert relative_difference(np.zeros(0), np.zeros(0)) == 0


def test_the_command(vmfb_file, tmp_path):
    command = [sys.executable, "-m", "graphc.tools.gc_run", str(vmfb_file)]
    done = subprocess.run([*command, "--dim", "batch=2"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("y: float32[2, 3]")
    done = subprocess.run([*command, "--input", "q=@q"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")


def _maps(path) -> str:
    """A model of a map of words to a row, which is mapped to labels."""
    words = helper.make_map_type_proto(
        TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    )
    labels = helper.make_sequence_type_proto(
        helper.make_map_type_proto(TensorProto.INT64, words.map_type.value_type)
    )
    domain = "ai.onnx.ml"
    nodes = [
        helper.make_node(
            "DictVectorizer", ["d"], ["x"], domain=domain, string_vocabulary=["a", "b"]
        ),
        helper.make_node("ZipMap", ["x"], ["z"], domain=domain, classlabels_int64s=[7, 8]),
    ]
    ends = [[helper.make_value_info(*e)] for e in (("d", words), ("z", labels))]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(domain, 3)]
    model = helper.make_model(
        helper.make_graph(nodes, "g", ends[0], ends[1]), opset_imports=opsets, ir_version=8
    )
    onnx.save(model, path)
    return str(path)


def test_maps_are_read_shown_compared_and_kept(tmp_path, capsys):
    model = _maps(tmp_path / "maps.onnx")
    feed, kept = tmp_path / "d.json", tmp_path / "z.json"
    feed.write_text('{"b": 2.5, "a": 1}')
    arguments = [model, "--input", f"d=@{feed}", "--output", f"z=@{kept}", "--compare=onnxruntime"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "z: sequence of 1\n[0]: {7: 1.0, 8: 2.5}\n" in out
    assert "z: largest difference from ONNX Runtime 0.00e+00" in out
    assert json.loads(kept.read_text()) == [{"7": 1.0, "8": 2.5}]
    assert main([*arguments[:3], "--output", f"z=@{tmp_path / 'z.npy'}"]) == 2
    assert "'z' is no tensor: write it to a .json file" in capsys.readouterr().err
