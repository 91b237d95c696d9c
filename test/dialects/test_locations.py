"""Source names in MLIR locations."""

import pytest

from graphc.dialects.locations import MAX_FUSED, fuse_locations, location_names, node_name
from graphc.mlir import ir


@pytest.fixture(autouse=True)
def context():
    with ir.Context() as context:
        yield context


def test_names_of_all_kinds_of_locations():
    a, b = ir.Location.name("a"), ir.Location.name("b", ir.Location.file("m.py", 1, 2))
    position = ir.Location.file("m.mlir", 3, 7)
    assert location_names(a) == ("a",)
    assert location_names(ir.Location.fused([b, ir.Location.fused([a, b])])) == ("b", "a")
    assert location_names(position) == ("m.mlir:3:7",)
    assert location_names(ir.Location.callsite(a, [position])) == ("a",)
    assert location_names(ir.Location.unknown()) == ()


def test_names_of_diagnostics():
    """Exceptions carry locations that are not of their own class yet."""
    text = 'module { "builtin.unrealized_conversion_cast"() {a = b} : () -> i32 loc("here") }'
    with pytest.raises(ir.MLIRError) as caught:
        ir.Module.parse(text)
    (diagnostic,) = caught.value.error_diagnostics
    assert location_names(diagnostic.location)[0].startswith("-:1:")


def test_fusing():
    a, b = ir.Location.name("a"), ir.Location.name("b")
    unknown = ir.Location.unknown()
    assert fuse_locations([a, unknown, ir.Location.name("a")]) == a
    assert fuse_locations([ir.Location.fused([a, b]), b]) == ir.Location.fused([a, b])
    assert fuse_locations([unknown]) == unknown
    many = fuse_locations([ir.Location.name(str(index)) for index in range(100)])
    assert location_names(many) == tuple(map(str, range(MAX_FUSED)))


def test_node_name_falls_back_to_the_op():
    with ir.Location.unknown():
        module = ir.Module.create()
    assert node_name(module) == "builtin.module"
