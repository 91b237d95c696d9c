"""Profiles of models that run."""

import json
from itertools import pairwise

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool_models import model

import graphc
from graphc.errors import FeedError, UsageError
from graphc.passes.linalg import externalize_transients
from graphc.profiling import profile_compiled
from graphc.profiling.table import HEADER
from graphc.runtime import resolve_target

RUNS = 3


def random(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def two_products():
    """A product by constants and its sum, and one of two inputs, turned."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["xw"], name="by_constant"),
        helper.make_node("Add", ["xw", "b"], ["h"], name="bias"),
        helper.make_node("Transpose", ["h"], ["t"], name="turn", perm=[1, 0]),
        helper.make_node("MatMul", ["t", "z"], ["y"], name="of_inputs"),
    ]
    weights = [
        numpy_helper.from_array(random(48, 64), "w"),
        numpy_helper.from_array(random(64), "b"),
    ]
    return model(nodes, {"x": [32, 48], "z": [32, 32]}, {"y": [64, 32]}, weights)


FEEDS = {"x": random(32, 48), "z": random(32, 32)}


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_name_the_nodes_and_count_their_operations(threads):
    found = graphc.profile(two_products(), FEEDS, runs=RUNS, threads=threads)
    by_node = {node: row for row in found.rows for node in row.nodes}
    assert set(by_node) == {"by_constant", "bias", "turn", "of_inputs"}
    assert by_node["by_constant"] is by_node["bias"]
    assert by_node["by_constant"].flops == 2 * 32 * 48 * 64
    shares = threads > 1 and resolve_target("cpu").knows_its_core
    counters = 128 * (threads + 1) if shares else 0  # a pair of lines of the cache each
    assert by_node["by_constant"].bytes == 4 * (32 * 48 + 48 * 64 + 64 + 32 * 64) + counters
    assert by_node["by_constant"].rewrites
    assert by_node["of_inputs"].flops == 2 * 64 * 32 * 32
    assert all(row.calls == 1 for row in found.rows)
    assert all(row.seconds > 0 for row in found.rows)
    assert len(found.events) == RUNS * len(found.rows)
    assert found.latency > 0
    assert found.peak_gflops > 1


def test_a_program_that_takes_memory_for_intermediate_results(monkeypatch):
    monkeypatch.setattr(externalize_transients, "POOL_BYTES", 0)
    found = graphc.profile(two_products(), FEEDS, runs=RUNS, threads=1)
    assert found.rows
    assert found.peak_bytes >= 4 * 32 * 64


def test_the_table_shows_the_slowest():
    found = graphc.profile(two_products(), FEEDS, runs=RUNS, threads=1)
    header, first, rest, *_ = found.table(1).splitlines()
    assert header.split() == [*" ".join(HEADER).split(), "nodes"]
    assert found.rows[0].kernel in first
    assert rest.startswith(f"and {len(found.rows) - 1} more, ")
    assert "by_constant, bias" in str(found)
    assert f"{len(found.rows)} dispatches take" in str(found)


def test_json_and_trace_are_plain_values():
    found = graphc.profile(two_products(), FEEDS, runs=RUNS, threads=1)
    record = json.loads(json.dumps(found.to_dict()))
    assert sum(row["share"] for row in record["rows"]) == pytest.approx(1)
    assert record["threads"] == 1
    trace = json.loads(json.dumps(found.trace()))
    name, *events = trace["traceEvents"]
    assert name["args"]["name"] == found.model
    assert len(events) == len(found.events)
    assert {event["ph"] for event in events} == {"X"}
    for before, after in pairwise(events):  # one thread: one track
        assert after["ts"] >= before["ts"] + before["dur"] - 0.01
        assert after["tid"] == 1


def test_a_loop_calls_its_dispatches_again_and_again():
    """Its matmul is too long for a kernel of all iterations."""
    step = helper.make_graph(
        [
            helper.make_node("Identity", ["go_on"], ["go_on_out"], name="carry"),
            helper.make_node("MatMul", ["h", "w"], ["product"], name="step"),
            helper.make_node("Tanh", ["product"], ["h_out"], name="squash"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("h", TensorProto.FLOAT, [256, 256]),
        ],
        [
            helper.make_tensor_value_info("go_on_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("h_out", TensorProto.FLOAT, [256, 256]),
        ],
    )
    nodes = [helper.make_node("Loop", ["times", "", "x"], ["y"], name="loop", body=step)]
    made = model(nodes, {"x": [256, 256], "w": [256, 256]}, {"y": [256, 256]})
    made.graph.input.append(helper.make_tensor_value_info("times", TensorProto.INT64, []))
    feeds = {"x": random(256, 256), "w": random(256, 256), "times": np.array(7)}
    found = graphc.profile(made, feeds, runs=RUNS, threads=1)
    rows = [row for row in found.rows if "loop/step" in row.nodes]
    assert sum(row.calls for row in rows) == 7


def test_feeds_may_be_made_for_the_model():
    shapes = []

    def feeds(compiled):
        shapes.extend(spec.shape for spec in compiled.inputs)
        return FEEDS

    graphc.profile(two_products(), feeds, runs=1, threads=1)
    assert shapes == [(32, 48), (32, 32)]


def test_a_compiled_file_has_kernels_without_nodes(tmp_path):
    path = tmp_path / "model.vmfb"
    graphc.compile(two_products(), threads=1).save(path)
    found = profile_compiled(path.read_bytes(), FEEDS, threads=1, runs=RUNS)
    assert found.rows
    assert all(row.nodes == () for row in found.rows)


def test_what_cannot_be_profiled_is_refused():
    with pytest.raises(UsageError, match="runs must be"):
        graphc.profile(two_products(), FEEDS, runs=0)
    with pytest.raises(UsageError, match="compiled for cpu can be profiled, not for cuda"):
        graphc.profile(two_products(), FEEDS, "cuda", runs=1)
    with pytest.raises(FeedError, match="'z'"):
        graphc.profile(two_products(), {"x": FEEDS["x"]}, runs=1)
    upper = helper.make_node("StringNormalizer", ["x"], ["y"], case_change_action="UPPER")
    graph = helper.make_graph(
        [upper],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.STRING, [2])],
        [helper.make_tensor_value_info("y", TensorProto.STRING, [2])],
    )
    with pytest.raises(UsageError, match="only compiled code can be profiled"):
        graphc.profile(helper.make_model(graph), {}, runs=1)
