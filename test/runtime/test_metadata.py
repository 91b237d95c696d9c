"""Metadata survives a round trip, and nothing that is not metadata is taken for it."""

import json

import pytest

from graphc.errors import ModuleFileError
from graphc.runtime import ModelMetadata, TensorSpec

METADATA = ModelMetadata(
    name='a "quoted" näme',
    inputs=(TensorSpec("x", ("batch", 3, 0), "float32"), TensorSpec("n", (), "int64")),
    outputs=(TensorSpec("y", ("2*batch + 1", ""), "bfloat16"),),
    dims={"seq": 128},
    options={"target": "cpu", "opt_level": 3, "flags": ["a", "b"], "nothing": None},
    versions={"graphc": "0.1.0"},
)


def test_a_round_trip_changes_nothing():
    text = METADATA.to_json()
    assert ModelMetadata.from_json(text) == METADATA
    assert text.isascii()
    assert "\n" not in text


def test_the_compiler_carries_it_unchanged(source, compiled):
    from graphc.runtime import load

    with load(compiled("doubled")) as model:
        read = ModelMetadata.from_json(model.metadata.to_json())
    assert read == model.metadata
    assert len(read.inputs) == 16


def changed(**changes):
    raw = json.loads(METADATA.to_json()) | changes
    return json.dumps({key: value for key, value in raw.items() if value is not ...})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "format version None"),
        (changed(format_version=2), "format version 2; this graphc reads version 1"),
        (changed(format_version=True), "format version True"),
        (changed(name=...), "lacks name"),
        (changed(more=1), "has unknown more"),
        (changed(name=7), "name = 7, which is no str"),
        (changed(inputs={}), "inputs = {}, which is no list"),
        (changed(inputs=["x"]), "has 'x', which is no tensor"),
        (changed(inputs=[{"name": "x"}]), "lacks dtype, shape"),
        (changed(inputs=[{"name": "x", "shape": [-1], "dtype": "int8"}]), "dimension -1"),
        (changed(inputs=[{"name": "x", "shape": [1.5], "dtype": "int8"}]), "dimension 1.5"),
        (changed(inputs=[{"name": "x", "shape": [True], "dtype": "int8"}]), "dimension True"),
        (changed(inputs=[{"name": "x", "shape": 3, "dtype": "int8"}]), "shape = 3"),
        (changed(outputs=[{"name": "x", "shape": [], "dtype": 8}]), "dtype = 8"),
        (changed(inputs=[{"name": "x", "shape": [], "dtype": "int8"}] * 2), "a tensor twice"),
        (changed(dims={"seq": "128"}), r"dims\['seq'\] = '128', which is no int"),
        (changed(dims={"seq": True}), r"dims\['seq'\] = True"),
        (changed(versions=[]), "versions = \\[\\]"),
    ],
)
def test_what_is_no_metadata_is_refused(text, reason):
    with pytest.raises(ModuleFileError, match=reason):
        ModelMetadata.from_json(text)


def test_a_spec_prints_as_people_write_it():
    assert str(METADATA.inputs[0]) == "x: float32[batch, 3, 0]"
    assert str(METADATA.outputs[0]) == "y: bfloat16[2*batch + 1, ?]"
