"""gc-verify: what agrees, what does not, and where to look."""

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from test_hybrid import sandwich
from tool_models import dense, write

from graphc.debugging import verify
from graphc.debugging.difference import difference
from graphc.debugging.onnx.reference import reference_values
from graphc.errors import ReferenceRunError, UsageError
from graphc.tools.gc_verify import main

from .faults import chain

BERT = Path(__file__).parent.parent / "exported" / "bert-tiny.onnx"
SIZES = ["--dim", "batch=2", "--dim", "seq=7"]
PLANTED = ["--load-plugin", str(Path(__file__).parent / "planted.py")]
WRONG = "canonicalize,cse,graph-simplify,test-turn-sums,graph-recognize,canonicalize,cse"
X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)


def test_compiled_values_agree(tmp_path, capsys):
    path = write(dense(), tmp_path / "dense.onnx")
    np.save(tmp_path / "x.npy", X)
    page = tmp_path / "page.html"
    given = ["--input", f"x=@{tmp_path / 'x.npy'}"]
    assert main([str(path), *given, "--unfused", "--truth", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert "dense on cpu:host against onnxruntime" in out
    assert out.count("  ok  ") == 1 + 3  # the output, and all values
    assert "from float64: ours" in out
    assert out.endswith("all values agree within the tolerance\n")
    html = page.read_text()
    assert html.count("<tr><td>ok</td>") == 1 + 3
    assert "http" not in html


def test_fused_values_are_named():
    found = verify(dense(), {"x": X})
    assert [row.name for row in found.outputs] == ["y"]
    assert found.layers == ()
    (xw, origin), (xwb, _) = found.fused.items()
    assert (xw, xwb) == ("xw", "xwb")
    assert origin == "graph.fused at product + sum + activation"
    assert "xw, xwb: part of graph.fused at product + sum + activation" in str(found)


def test_what_is_wrong_is_found_where_it_begins(tmp_path, capsys):
    page = tmp_path / "page.html"
    arguments = [str(BERT), *SIZES, *PLANTED, "--target=interpret", "--pass-pipeline", WRONG]
    assert main([*arguments, "--html", str(page), "--rows=2"]) == 1
    out = capsys.readouterr().out
    assert "WRONG" in out
    assert "more" in out
    last = out.splitlines()[-1]
    assert (
        "first value beyond the tolerance is '/model/encoder/layer.1/output/Add_output_0'" in last
    )
    assert 'class="verdict wrong"' in page.read_text()
    assert main([*arguments, "--tolerance=10"]) == 0


def test_values_may_come_in_batches():
    x = {"x": np.ones((2, 5), np.float32)}
    whole = verify(chain(), x, "interpret", unfused=True)
    parts = verify(chain(), x, "interpret", unfused=True, batch_bytes=100)
    assert whole.layers == parts.layers
    assert [row.name for row in whole.layers] == [*"abcdey"]


def test_without_onnx_runtime(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    path = str(write(dense(), tmp_path / "dense.onnx"))
    assert main([path, "--target=interpret"]) == 0
    assert "against onnx\n" in capsys.readouterr().out
    assert main([path, "--target=interpret", "--reference=onnxruntime"]) == 1
    assert "onnxruntime is not installed" in capsys.readouterr().err


def test_models_with_nodes_on_the_host():
    found = verify(sandwich(), {"x": np.ones((3, 4), np.float32)}, "interpret")
    assert found.within
    assert {row.name for row in found.outputs} == {"head", "positive"}
    assert found.layers == ()
    assert set(found.fused) >= {"p", "joined"}


def test_what_the_reference_cannot_run():
    model = dense()
    model.graph.node[0].domain = "example"
    model.opset_import.append(onnx.helper.make_opsetid("example", 1))
    for reference in ("onnx", "onnxruntime"):
        with pytest.raises(ReferenceRunError, match="cannot run the model"):
            reference_values(model, {"x": X}, ["y"], reference)
    with pytest.raises(UsageError, match="must be one of onnxruntime, onnx"):
        verify(dense(), {"x": X}, "interpret", reference="torch")


def test_differences_say_where():
    want = np.array([[1.0, 2.0], [np.nan, 4.0]])
    assert difference(want, want).relative == 0
    have = want.copy()
    have[0, 1] = 3
    found = difference(have, want)
    assert (found.relative, found.absolute, found.index) == (0.25, 1, (0, 1))
    assert found.place == "[0, 1]: 3, not 2"
    have[1, 0] = 0
    assert difference(have, want).relative == np.inf


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["model.vmfb"], 2, "takes the .onnx model"),
        (["missing.onnx"], 1, "missing.onnx"),
        (["missing.onnx", "--target=cpu,vulkan"], 2, "one target"),
        (["missing.onnx", "--load-plugin=no.py"], 2, "cannot load plugin"),
    ],
)
def test_errors(capsys, arguments, code, message):
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
