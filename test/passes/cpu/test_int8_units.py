"""Units that multiply 8-bit integers: which a CPU has, and the code for each."""

import numpy as np
import pytest
from numerics import build_model
from onnx import TensorProto
from quantized_nodes import QuantizedNodes

from graphc.compiler.driver import make_options, to_module
from graphc.runtime.targets import cpu_features


@pytest.mark.parametrize("cpu", ["haswell", "alderlake", "cascadelake"])
def test_other_cpus(cpu):
    """Code for CPUs that this one is not."""
    net = QuantizedNodes(np.int8, seed=3)
    x = net.quantize("x", 0.02, -5)
    y = net.quantize(net.conv(x, 16, 32, 3, pads=[1] * 4), 0.5, -5, back=False)
    model = build_model(net.nodes, {"x": (np.float32, (1, 16, 10, 12))}, [y], net.constants)
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT8
    code, report = to_module(model, make_options(f"cpu:{cpu}", threads=1))
    assert report.rewrites["pack-int8-conv"].count == 1
    assert newest_feature(code) == {"haswell": "fma", "alderlake": "avxvnni"}.get(cpu, "avx512vnni")


def newest_feature(code: bytes) -> str:
    """The newest of some features that `code` was compiled for."""
    features = ("fma", "avxvnni", "avx512vnni")
    return [name for name in features if f"+{name}".encode() in code][-1]


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ("avx2 avx512f avx512_vnni amx_tile amx_int8", "amx"),
        ("avx2 avx512f avx_vnni avx512_vnni", "avx512vnni"),
        ("avx2 avx512f", "none"),
        ("avx2 avx_vnni", "avxvnni"),
        ("avx2", "avx2"),
        ("sse4_2", "none"),
    ],
)
def test_units(tmp_path, monkeypatch, flags, found):
    path = tmp_path / "cpuinfo"
    path.write_text(f"flags\t\t: {flags}\n")
    monkeypatch.setattr(cpu_features, "request_tiles", lambda: True)
    assert cpu_features.int8_unit("host", path) == found
    monkeypatch.setattr(cpu_features, "request_tiles", lambda: False)
    assert cpu_features.int8_unit("host", path) == found.replace("amx", "avx512vnni")
