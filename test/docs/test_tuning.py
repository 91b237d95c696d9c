"""The example of docs/tuning.md runs as it stands, in less time."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import graphc

ROOT = Path(graphc.__file__).parent
PAGE = (ROOT / "docs" / "tuning.md").read_text()


@pytest.mark.usefixtures("measure_briefly")
def test_the_example(tmp_path, monkeypatch, capsys):
    pytest.importorskip("optuna")
    shutil.copy(ROOT / "examples" / "digits.onnx", tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    text = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[0]
    image = np.load(ROOT / "examples" / "digits_heldout.npz")["images"][:1].astype(np.float32)
    names = {"image": image}
    exec(compile(text.replace('"full"', "1"), "tuning.md", "exec"), names)
    (expected,) = graphc.compile("model.onnx").run(None, {"image": image})
    np.testing.assert_allclose(names["model"].run(None, {"image": image})[0], expected, atol=1e-3)
    assert capsys.readouterr().out.startswith("pipeline: ")
    assert (tmp_path / "tuning.jsonl").exists()
