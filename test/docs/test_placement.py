"""The example of docs/placement.md runs as it stands."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import graphc

ROOT = Path(graphc.__file__).parent
PAGE = (ROOT / "docs" / "placement.md").read_text()


@pytest.mark.usefixtures("measure_briefly")
def test_the_example(tmp_path, monkeypatch, capsys):
    pytest.importorskip("scipy")
    shutil.copy(ROOT / "examples" / "digits.onnx", tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    text = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[0]
    image = np.load(ROOT / "examples" / "digits_heldout.npz")["images"][:1].astype(np.float32)
    names = {"image": image}
    exec(compile(text, "placement.md", "exec"), names)
    (expected,) = graphc.compile("model.onnx").run(None, {"image": image})
    np.testing.assert_allclose(names["y"], expected, atol=1e-4)
    assert "predicted: " in capsys.readouterr().out
