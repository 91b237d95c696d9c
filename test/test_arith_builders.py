"""Builders of ``arith`` ops build what those of the bindings do."""

import pytest
from torch_mlir.dialects import arith as original

from graphc import arith_builders
from graphc.mlir import arith, create_context, ir


@pytest.fixture
def block():
    with create_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            yield module


def built(module, build):
    """The text of the program of the ops that `build` makes."""
    for op in reversed(list(module.body.operations)):
        op.operation.erase()
    build()
    return str(module)


def test_the_dialect_is_this_module():
    assert arith is arith_builders
    assert arith.CmpIPredicate is original.CmpIPredicate
    with pytest.raises(AttributeError, match="no attribute 'square'"):
        arith.square  # noqa: B018


@pytest.mark.parametrize("name", arith_builders.__dict__["_BINARY"])
def test_binary_ops(block, name):
    text = "f32" if name.endswith("f") else "i32"
    for type_ in (ir.Type.parse(text), ir.Type.parse(f"vector<4x{text}>")):

        def build(dialect, type_=type_):
            x, y = (ir.Operation.create("test.x", results=[type_]).result for _ in range(2))
            assert getattr(dialect, name)(x, y).type == type_

        block.context.allow_unregistered_dialects = True
        assert built(block, lambda: build(arith)) == built(block, lambda: build(original))


@pytest.mark.parametrize("value", [3, -1, True, 0.5, 1e300])
def test_constants(block, value):
    type_ = ir.F32Type.get() if isinstance(value, float) else ir.IntegerType.get_signless(64)
    texts = [
        built(block, lambda dialect=dialect: dialect.constant(type_, value))
        for dialect in (arith, original)
    ]
    assert texts[0] == texts[1]


def test_constants_of_attributes(block):
    type_ = ir.VectorType.get([4], ir.F32Type.get())
    value = ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get_f32(1.0))
    texts = [
        built(block, lambda dialect=dialect: dialect.constant(type_, value))
        for dialect in (arith, original)
    ]
    assert texts[0] == texts[1]


def test_ops_with_attributes_and_other_ops(block):
    def build(dialect):
        x = dialect.constant(ir.F32Type.get(), 1.0)
        flags = ir.Attribute.parse("#arith.fastmath<nnan>")
        high = dialect.maxnumf(x, x, fastmath=flags)
        above = dialect.cmpf(original.CmpFPredicate.OGT, high, dialect.negf(x))
        dialect.select(above, x, high)

    assert built(block, lambda: build(arith)) == built(block, lambda: build(original))
