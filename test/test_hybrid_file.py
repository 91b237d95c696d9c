"""Files of parts that are whole, with right checksums, and yet are not as graphc writes them."""

import io
import json
import zipfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphc
from graphc.compiler.compile import compile_to_file
from graphc.errors import ModuleFileError

FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", 4])


@pytest.fixture(scope="module")
def entries():
    """The entries of the file of a model with a part on the host."""
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("SplitToSequence", ["a"], ["s"], axis=1),
        helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0),
    ]
    ends = [helper.make_value_info("x", FLOATS)], [onnx.ValueInfoProto(name="y")]
    opsets = [helper.make_opsetid("", 20)]
    model = helper.make_model(
        helper.make_graph(nodes, "g", *ends), opset_imports=opsets, ir_version=10
    )
    contents, _ = compile_to_file(model, "cpu", cache=False)
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(entries) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def refusal(entries, **changes) -> str:
    with pytest.raises(ModuleFileError) as caught:
        graphc.load(written({**entries, **changes}))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def manifest(entries, change) -> dict[str, bytes]:
    """The entries with `change` done to the manifest."""
    values = json.loads(entries["graphc.json"])
    change(values)
    return {**entries, "graphc.json": json.dumps(values).encode()}


def test_as_it_was_written(entries):
    with graphc.load(written(entries)) as model:
        assert model(np.zeros((2, 4), np.float32)).shape == (8, 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.pop("parts"),
        lambda v: v.update(parts=5),
        lambda v: v.update(parts=[5]),
        lambda v: v.update(parts=[]),
        lambda v: v["parts"][0].pop("nodes"),
        lambda v: v["parts"][0].update(inputs=[1]),
        lambda v: v["parts"][0].update(inputs=["nowhere"]),
        lambda v: v["parts"][0].update(outputs=["b"]),
        lambda v: v["parts"][0].update(reasons=["x"]),
        lambda v: v["parts"][1].update(reasons={"x": 1}),
        lambda v: v["parts"][0].update(native=False),
        lambda v: v["parts"][1].update(inputs=["y"]),
        lambda v: v["metadata"].update(options={"target": 5}),
        lambda v: v["metadata"].update(outputs=[]) or v["metadata"].pop("dims"),
        lambda v: v["metadata"]["outputs"][0].update(name="z"),
        lambda v: v.update(format_version=[1]),
    ],
)
def test_manifests(entries, change):
    refusal(manifest(entries, change))


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"5", b"\xff", b"[" * 100_000, b'{"format_version": 1}', b"1" * 9999]
)
def test_manifests_that_are_none(entries, text):
    assert "<bytes>: the file is truncated or damaged" in refusal(entries, **{"graphc.json": text})


def test_a_file_of_parts_within_itself(entries):
    inner = written(entries)
    message = refusal(entries, **{"part0.vmfb": inner})
    assert "part 0: a compiled part is a file of parts itself" in message


@pytest.mark.parametrize("data", [b"\xff" * 9, b"\x08", b"text"])
def test_a_part_for_the_host_that_is_none(entries, data):
    assert "part 1: a part for the host is damaged" in refusal(entries, **{"part1.onnx": data})


@pytest.mark.parametrize("place", ["initializer", "attribute"])
def test_a_part_for_the_host_reads_no_files(entries, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_bytes(np.zeros(4, np.float32).tobytes())
    model = onnx.ModelProto.FromString(entries["part1.onnx"])
    if place == "initializer":
        tensor = model.graph.initializer.add()
    else:
        tensor = model.graph.node.add(op_type="Constant", output=["c"]).attribute.add(
            name="value", type=onnx.AttributeProto.TENSOR
        ).t  # fmt: skip
    tensor.CopyFrom(TensorProto(name="c", data_type=TensorProto.FLOAT, dims=[4]))
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="secret")
    message = refusal(entries, **{"part1.onnx": model.SerializeToString()})
    assert "the data of tensor 'c' lies in another file" in message


def test_a_part_that_is_another_module(entries):
    name = "x" if b'"x"' in entries["graphc.json"] else "y"
    other = helper.make_graph(
        [helper.make_node("Neg", ["q"], ["r"])], "g", [helper.make_value_info("q", FLOATS)],
        [onnx.ValueInfoProto(name="r")],
    )  # fmt: skip
    model = helper.make_model(other, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    contents, _ = compile_to_file(model, "cpu", cache=False)
    message = refusal(entries, **{"part0.vmfb": contents})
    assert "part 0: it has q: float32" in message
    assert name in message
