"""The report as text and as plain values."""

import json

from graphc.passes.infra.report import PassRecord, Report


def example() -> Report:
    report = Report()
    fuse = report.statistics("fuse-bias")
    for index in range(6):
        fuse.record_fired(f"conv{index}")
    fuse.record_declined("conv9", "the bias broadcasts")
    fuse.record_declined("conv9", "the bias broadcasts")
    fuse.record_declined("conv8", "the bias broadcasts")
    report.statistics("add-zero")
    report.passes.append(PassRecord("graph-fuse", 0.0125, True))
    report.passes.append(PassRecord("cse", 0.001, False))
    report.sizes["bytecode bytes"] = 12345
    return report


def test_text():
    assert str(example()) == "\n".join(
        [
            "rewrites:",
            "      6 x fuse-bias: conv0, conv1, conv2, conv3 and 2 more",
            "      2 declined by fuse-bias, the bias broadcasts: conv9, conv8",
            "passes: 13.5 ms",
            "      12.5 ms graph-fuse",
            "       1.0 ms cse (no change)",
            "  bytecode bytes: 12,345",
        ]
    )


def test_empty_report():
    assert str(Report()) == "nothing was rewritten"


def test_json():
    report = example()
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["rewrites"]["fuse-bias"]["count"] == 6
    assert plain["rewrites"]["fuse-bias"]["declined"] == {"the bias broadcasts": ["conv9", "conv8"]}
    assert plain["passes"][0] == {"name": "graph-fuse", "seconds": 0.0125, "changed": True}
    assert plain["sizes"] == {"bytecode bytes": 12345}


def test_a_node_that_is_rewritten_has_not_declined():
    statistics = Report().statistics("fuse")
    statistics.record_declined("a", "too early")
    statistics.record_declined("b", "too early")
    statistics.record_fired("a")
    assert statistics.declined == {"too early": ["b"]}
    statistics.record_fired("b")
    assert statistics.declined == {}
