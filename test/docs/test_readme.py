"""The quickstart of the README runs as it stands."""

import re
import shutil
from pathlib import Path

import graphc

ROOT = Path(graphc.__file__).parent


def test_the_quickstart_runs(tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "digits.onnx", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    names = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["logits"].shape == (3, 10)
    assert "graph.fused" in str(names["module"])
    assert "fuse-epilogue" in capsys.readouterr().out
    named = re.findall(r'\{"(\w+)": images\}', example)
    assert named == [spec.name for spec in names["model"].inputs]
