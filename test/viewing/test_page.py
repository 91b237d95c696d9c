"""Tests of the contents of a page: stages, changes, times, parts, and no external resources."""

import base64
import gzip
import html
import json
import re

import numpy as np
import pytest
from onnx import helper, numpy_helper
from tool_models import dense, model

import graphc
from graphc.errors import InvalidDimError, UsageError
from graphc.passes.infra.report import Report


def data_of(page):
    packed = re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def row(nodes, share):
    return {
        "kernel": "k", "nodes": nodes, "rewrites": [], "seconds": share, "share": share, "calls": 1,
        "workers": 1, "pieces": 1, "flops": 1, "bytes": 1, "gflops": 1.0, "gigabytes": 1.0,
    }  # fmt: skip


@pytest.fixture(scope="module")
def report():
    return graphc.explain(dense())


def test_weights_whose_data_a_stage_leaves_out_are_not_read():
    """The epilogue of a convolution looks at its constants, of which some are one value."""
    weights = {"w": np.ones((64, 32, 1, 1), np.float32), "bias": np.ones(64, np.float32)}
    nodes = [
        helper.make_node("Conv", ["x", "w", "bias"], ["filtered"], name="filter"),
        helper.make_node("Relu", ["filtered"], ["y"], name="relu"),
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    made = model(nodes, {"x": [1, 32, 14, 14]}, {"y": [1, 64, 14, 14]}, tensors)
    (program,) = data_of(graphc.explain(made).html())["programs"]
    (shown,) = program["stages"][-1]["graphs"]
    assert {"filter", "relu"} <= {name for node in shown["nodes"] for name in node["origin"] or ()}


def test_stages_are_what_changed_the_program(report):
    (program,) = data_of(report.html())["programs"]
    names = [stage["name"] for stage in program["stages"]]
    changed = [record.name for record in report.passes if record.changed]
    assert names == ["imported", *changed]
    first, last = (
        stage["graphs"][0]["nodes"] for stage in (program["stages"][0], program["stages"][-1])
    )
    assert [node["op"] for node in first] == ["input", "matmul", "add", "relu", "output"]
    assert not any(node.get("new") for node in first)
    fused = next(node for node in last if node["op"] == "fused")
    assert [op for op, _ in fused["inner"]] == ["matmul", "add", "relu"]
    assert fused["origin"] == ["product", "sum", "activation"]
    assert fused["new"] == 1
    assert [type_ for _, type_ in fused["ins"]] == ["batch × 4 f32", "4 × 3 f32", "3 f32"]  # noqa: RUF001
    assert fused["outs"] == ["batch × 3 f32"]  # noqa: RUF001
    assert program["stages"][-1]["removed"] == 3


def test_memory_is_computed_for_the_sizes_asked_for(report):
    (program,) = data_of(report.html(sizes={"batch": 8}))["programs"]
    memory = program["stages"][-1]["memory"]
    assert memory["peak"] == 8 * 3 * 4
    assert memory["constants"] == 4 * 3 * 4 + 3 * 4
    assert memory["assumed"] == {}
    assert data_of(report.html())["programs"][0]["stages"][0]["memory"]["assumed"] == {"batch": 1}
    with pytest.raises(InvalidDimError, match=r"no dimension 'bach' .*batch"):
        report.html(sizes={"bach": 8})


def test_rows_of_a_profile_go_to_their_nodes(report):
    rows = [row(["product", "sum", "activation"], 0.75), row(["elsewhere"], 0.25)]
    data = data_of(report.html(profile={"rows": rows, "model": "dense"}))
    first, last = (data["programs"][0]["stages"][i] for i in (0, -1))
    assert [node.get("rows") for node in first["graphs"][0]["nodes"]] == [
        None,
        [0],
        None,
        None,
        None,
    ]
    assert [node.get("rows") for node in last["graphs"][0]["nodes"]] == [None, [0], None]
    assert last["lost"] == 0.25


@pytest.mark.parametrize("profile", [[], {}, {"rows": 3}, {"rows": [{}]}, {"rows": [7]}])
def test_what_is_no_profile_is_refused(report, profile):
    with pytest.raises(UsageError, match="gc-profile --json"):
        report.html(profile=profile)


@pytest.mark.parametrize(
    "placement",
    [
        [],
        {},
        {"nodes": ["a"]},
        {"nodes": {"a": "cpu"}, "why": {"regions": [{"nodes": ["a"]}]}},
        {"nodes": {"a": "cpu"}, "why": {"values": [{"name": "v", "bytes": 1, "producer": 3,
         "consumers": [], "is_output": True, "crossings": {}}]}},
    ],
)  # fmt: skip
def test_what_is_no_placement_is_refused(report, placement):
    with pytest.raises(UsageError, match="gc-place -o writes such a file"):
        report.html(placement=placement)


def test_an_edited_device_counts_and_reasons_are_optional(report):
    nodes = {"fc": "npu"}
    assert data_of(report.html(placement={"nodes": nodes}))["placement"]["devices"] == ["npu"]
    region = {"nodes": ["fc"], "device": "cpu", "seconds": {"cpu": 1.0}, "moving": {}}
    shown = data_of(report.html(placement={"nodes": nodes, "why": {"regions": [region]}}))
    assert shown["placement"]["regions"][0]["device"] == "npu"
    assert shown["programs"][-1]["stages"][0]["graphs"][0]["nodes"][0]["op"] == "npu"


def test_names_are_no_markup():
    """Names of nodes and models come from elsewhere: none of them gets into the page as HTML."""
    evil = "</script><script>alert(1)</script>"
    made = model([helper.make_node("Relu", ["x"], ["y"], name=evil)], {"x": [4]}, {"y": [4]})
    report = graphc.explain(made)
    report.title = "<b>&"
    page = report.html()
    assert "alert(1)" not in page
    assert '<h1 id="title">&lt;b&gt;&amp;</h1>' in page
    nodes = data_of(page)["programs"][0]["stages"][0]["graphs"][0]["nodes"]
    assert nodes[1]["origin"] == [evil]


def test_jupyter_shows_the_page_in_a_frame(report):
    frame = report._repr_html_()
    source = re.fullmatch(r'<iframe srcdoc="([^"]*)" style="[^"]*"></iframe>', frame).group(1)
    assert html.unescape(source) == report.html()


def test_a_compiled_model_has_the_same_page():
    with graphc.compile(dense(), threads=1) as compiled:
        assert compiled.report is not None
        (program,) = data_of(compiled.report.html())["programs"]
    assert program["stages"][-1]["name"] == "graph-fuse-epilogue"
    assert not hasattr(Report(), "_repr_html_")


def test_parts_on_the_host_are_a_program_of_their_own():
    nodes = [
        helper.make_node("MatMul", ["x", "x"], ["p"], name="product"),
        helper.make_node("SplitToSequence", ["p"], ["s"], name="rows"),
        helper.make_node("ConcatFromSequence", ["s"], ["j"], name="join", axis=0),
        helper.make_node("Add", ["j", "x"], ["y"], name="sum"),
    ]
    report = graphc.explain(model(nodes, {"x": [4, 4]}, {"y": [4, 4]}))
    parts, *programs = data_of(report.html())["programs"]
    (drawn,) = parts["stages"][0]["graphs"]
    assert [(node["family"], node["origin"]) for node in drawn["nodes"]] == [
        ("input", ["x"]),
        ("native", ["product"]),
        ("host", ["rows", "join"]),
        ("native", ["sum"]),
    ]
    assert set(map(tuple, (edge[:2] for edge in drawn["edges"]))) == {
        (0, 1),
        (0, 3),
        (1, 2),
        (2, 3),
    }
    assert [program["name"] for program in programs] == ["model.part0", "model.part2"]
    with pytest.raises(graphc.GraphcError, match="rows"):
        graphc.explain(model(nodes, {"x": [4, 4]}, {"y": [4, 4]}), host=False)
