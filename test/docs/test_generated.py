"""The generated pages of docs/ say what the sources say."""

from graphc.dialects import graph
from harness import docs


def test_pages_are_up_to_date():
    stale = list(docs.stale())
    assert not stale, f"run `make docs`: {', '.join(stale)}"


def test_every_op_says_what_it_is():
    silent = [name for name, op in graph.GraphOp.op_classes.items() if not op.__dict__["__doc__"]]
    assert not silent


def test_signatures():
    assert docs.signature(graph.TransposeOp) == "graph.transpose(x) {perm: list of integers}"
    assert docs.signature(graph.AttentionOp).startswith("graph.attention(q, k, v, mask?)")
    assert docs.signature(graph.ConcatOp) == "graph.concat(xs*) {axis: integer}"


def test_ops_point_to_their_onnx_operators():
    page = docs.graph_dialect()
    for line in ("ONNX: [MatMul](https://onnx.ai/onnx/operators/onnx__MatMul.html).",
                 "ONNX: [BatchNormalization]("):  # fmt: skip
        assert line in page


def test_a_stale_page_is_found_and_written(monkeypatch, tmp_path):
    monkeypatch.setattr(docs, "FOLDER", tmp_path)
    docs.main()
    assert not list(docs.stale())
    monkeypatch.setattr(graph.ReluOp, "__doc__", "Something else.")
    assert list(docs.stale()) == ["graph-dialect.md"]
    docs.main()
    assert "Something else." in (tmp_path / "graph-dialect.md").read_text()
