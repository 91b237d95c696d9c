"""The example of docs/placement.md runs as it stands."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import graphc

ROOT = Path(graphc.__file__).parent
PAGE = (ROOT / "docs" / "placement.md").read_text()


def test_the_example(tmp_path, monkeypatch, capsys):
    pytest.importorskip("scipy")
    shutil.copy(ROOT / "examples" / "digits.onnx", tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    text = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[0]
    images = np.load(ROOT / "examples" / "digits_heldout.npz")["images"][:1].astype(np.float32)
    with graphc.compile("model.onnx", dims={"batch": 1}) as model:
        x = images.reshape([1, *(int(size) for size in model.inputs[0].shape[1:])])
        (expected,) = model.run(None, {model.inputs[0].name: x})
        name = model.inputs[0].name
    names = {"x": x}
    exec(compile(text.replace('"x": x', f'"{name}": x'), "placement.md", "exec"), names)
    np.testing.assert_allclose(names["y"], expected, atol=1e-4)
    assert "predicted: " in capsys.readouterr().out
