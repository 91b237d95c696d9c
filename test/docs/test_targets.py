"""The decode loop of docs/targets.md runs as it stands, on a CPU and on Vulkan."""

import functools
import re
from pathlib import Path

import numpy as np
import onnx
import onnx.helper
import pytest
from devices import needs_vulkan

import graphc

PAGE = Path(graphc.__file__).parent / "docs" / "targets.md"
TABLE = np.random.default_rng(2).standard_normal((10, 8), np.float32)


def decoder() -> onnx.ModelProto:
    """A row of a table for each token, and the row that is most like the mean of those so far."""
    nodes = [
        onnx.helper.make_node("Gather", ["table", "token"], ["row"]),
        onnx.helper.make_node("Concat", ["past", "row"], ["present"], axis=1),
        onnx.helper.make_node("ReduceMean", ["present", "axes"], ["mean"]),
        onnx.helper.make_node("MatMul", ["mean", "columns"], ["logits"]),
    ]
    value = onnx.helper.make_tensor_value_info
    initializers = {"table": TABLE, "columns": TABLE.T.copy(), "axes": np.array([1])}
    graph = onnx.helper.make_graph(
        nodes,
        "decoder",
        [value("token", 7, [1, 1]), value("past", 1, [1, "length", 8])],
        [value("logits", 1, [1, 1, 10]), value("present", 1, [1, "length + 1", 8])],
        [onnx.numpy_helper.from_array(array, name) for name, array in initializers.items()],
    )
    return onnx.helper.make_model(
        graph, ir_version=10, opset_imports=[onnx.helper.make_opsetid("", 21)]
    )


def expected() -> list[int]:
    rows, token, text = [np.zeros(8, np.float32)], 3, []
    for _ in range(5):
        rows.append(TABLE[token])
        token = int((np.mean(rows, axis=0) @ TABLE.T).argmax())
        text.append(token)
    return text


@pytest.mark.parametrize("target", ["cpu", pytest.param("vulkan", marks=needs_vulkan)])
def test_the_decode_loop_runs(target, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    onnx.save(decoder(), "decoder.onnx")
    compile_for = functools.partial(graphc.compile, target=target)
    monkeypatch.setattr(graphc, "compile", compile_for)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = {}
    exec(compile(example, str(PAGE), "exec"), names)
    device = names["model"].device
    assert device.startswith(target)
    shown = f"{expected()} DeviceTensor(float32[1, 6, 8], device='{device}') (1, 6, 8)\n"
    assert capsys.readouterr().out == shown
