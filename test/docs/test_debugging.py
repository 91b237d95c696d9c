"""The example of docs/debugging.md: each command prints what the page shows."""

import re
import shlex
import shutil
from pathlib import Path

from graphc.tools import gc_bisect, gc_reduce, gc_run, gc_verify

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "debugging.md").read_text()
TOOLS = {
    "gc-bisect": gc_bisect.main,
    "gc-reduce": gc_reduce.main,
    "gc-run": gc_run.main,
    "gc-verify": gc_verify.main,
}


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_example(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "test" / "exported" / "bert-tiny.onnx", "model.onnx")
    (plugin,) = blocks("python plugin")
    Path("my_passes.py").write_text(plugin)
    (settings,) = blocks("sh")
    variables = dict(re.findall(r'^(\w+)="(.*)"$', settings, re.MULTILINE))
    for block in blocks("console"):
        command, *expected = block.splitlines()
        for name, value in variables.items():
            command = command.replace(f"${name}", value)
        tool, *arguments = shlex.split(command.removeprefix("$ "))
        code = TOOLS[tool](arguments)
        said = " ".join("".join(capsys.readouterr()).split())
        assert code == (1 if tool in ("gc-verify", "gc-run") else 0), said
        for line in expected:
            assert " ".join(line.split()) in said, (command, line)
    assert {path.name for path in Path("reduced").iterdir()} == {
        "input0.npy", "model.onnx", "reproduce.sh",
    }  # fmt: skip
