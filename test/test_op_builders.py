"""Builders of ops build what those of the bindings do."""

import importlib

import pytest

from graphc import mlir
from graphc.mlir import create_context, ir
from graphc.op_builders import dialect

DIALECTS = ("arith", "math", "memref", "vector")


def original(name):
    return importlib.import_module(f"torch_mlir.dialects.{name}")


@pytest.fixture
def module():
    with create_context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        yield ir.Module.create()


def value(type_):
    return ir.Operation.create("test.x", results=[type_]).result


def check(module, name, build):
    """Compare the programs that `build` makes with both forms of the dialect `name`."""
    texts = []
    for each in (dialect(name), original(name)):
        for op in reversed(list(module.body.operations)):
            op.operation.erase()
        with ir.InsertionPoint(module.body):
            assert isinstance(build(each), ir.Value)
        assert module.operation.verify()
        texts.append(str(module))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", DIALECTS)
def test_dialects_have_all_else(name):
    ours, theirs = getattr(mlir, name), original(name)
    assert ours is dialect(name)
    for each in dir(theirs):
        if not each.startswith("__"):
            assert hasattr(ours, each)
    replaced = {each for each in dir(theirs) if getattr(ours, each) is not getattr(theirs, each)}
    assert replaced <= OURS[name] | {"__name__", "__dict__"}
    assert OURS[name] <= replaced


OURS = {
    "arith": {
        *("addi", "subi", "muli", "divui", "divsi", "ceildivui", "ceildivsi", "floordivsi"),
        *("remui", "remsi", "andi", "ori", "xori", "shli", "shrui", "shrsi", "minui", "minsi"),
        *("maxui", "maxsi", "addf", "subf", "mulf", "divf", "minimumf", "maximumf", "minnumf"),
        *("maxnumf", "negf", "index_cast", "index_castui", "bitcast", "extf", "extsi", "extui"),
        *("trunci", "sitofp", "uitofp", "fptosi", "fptoui", "constant", "cmpi", "cmpf", "select"),
    },
    "math": {"fma", "absf", "exp", "log", "sqrt", "trunc", "floor"},
    "memref": {"load"},
    "vector": {"bitcast", "broadcast", "fma", "load"},
}
FLOATS = {*("addf", "subf", "mulf", "divf", "minimumf", "maximumf", "minnumf", "maxnumf", "negf")}
COUNTS = {"negf": 1, "fma": 3, "absf": 1, "exp": 1, "log": 1, "sqrt": 1, "trunc": 1, "floor": 1}
CONVERSIONS = {
    "index_cast": ("index", "i64"), "index_castui": ("index", "i32"), "bitcast": ("f32", "i32"),
    "extf": ("f32", "f16"), "extsi": ("i32", "i8"), "extui": ("i32", "i8"),
    "trunci": ("i8", "i32"), "sitofp": ("f32", "i32"), "uitofp": ("f32", "i32"),
    "fptosi": ("i32", "f32"), "fptoui": ("i32", "f32"),
}  # fmt: skip
OTHERS = {"constant", "cmpi", "cmpf", "select", "load", "broadcast"}


@pytest.mark.parametrize(
    ("name", "op"),
    [(name, op) for name in DIALECTS for op in sorted(OURS[name] - CONVERSIONS.keys() - OTHERS)],
)
@pytest.mark.parametrize("form", ["{}", "vector<4x{}>"])
def test_ops_of_one_type(module, name, op, form):
    if name == "vector" and form == "{}":
        form = "vector<8x{}>"
    type_ = ir.Type.parse(form.format("f32" if name != "arith" or op in FLOATS else "i32"))
    count = COUNTS.get(op, 2)
    check(module, name, lambda of: getattr(of, op)(*(value(type_) for _ in range(count))))


@pytest.mark.parametrize("op", sorted(CONVERSIONS))
@pytest.mark.parametrize("form", ["{}", "vector<4x{}>"])
def test_conversions(module, op, form):
    result, operand = (ir.Type.parse(form.format(each)) for each in CONVERSIONS[op])
    check(module, "arith", lambda of: getattr(of, op)(result, value(operand)))
    if op == "bitcast" and form != "{}":
        check(module, "vector", lambda of: getattr(of, op)(result, value(operand)))


@pytest.mark.parametrize("number", [3, -1, True, 0.5, 1e300])
def test_constants(module, number):
    type_ = ir.F32Type.get() if isinstance(number, float) else ir.IntegerType.get_signless(64)
    check(module, "arith", lambda of: of.constant(type_, number))


def test_constants_of_attributes(module):
    type_ = ir.VectorType.get([4], ir.F32Type.get())
    splat = ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get_f32(1.0))
    check(module, "arith", lambda of: of.constant(type_, splat))


@pytest.mark.parametrize("form", ["{}", "vector<4x{}>", "tensor<?x{}>"])
def test_comparisons_and_choices(module, form):
    whole, real = (ir.Type.parse(form.format(each)) for each in ("i32", "f32"))

    def build(of):
        of.cmpi(of.CmpIPredicate.ult, value(whole), value(whole))
        above = of.cmpf(of.CmpFPredicate.OGT, value(real), value(real))
        of.cmpf(ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 3), value(real), value(real))
        return of.select(above, value(real), value(real))

    check(module, "arith", build)


def test_ops_with_optional_arguments(module):
    flags = ir.Attribute.parse("#arith.fastmath<nnan>")
    x = ir.F32Type.get()
    check(module, "arith", lambda of: of.maxnumf(value(x), value(x), fastmath=flags))


def test_vectors(module):
    memory, index = ir.Type.parse("memref<?x?xf32>"), ir.IndexType.get()
    type_ = ir.VectorType.get([4], ir.F32Type.get())
    check(module, "vector", lambda of: of.load(type_, value(memory), [value(index)] * 2))
    check(module, "vector", lambda of: of.broadcast(type_, value(type_.element_type)))
    check(module, "memref", lambda of: of.load(value(memory), [value(index), value(index)]))
    check(module, "memref", lambda of: of.load(value(memory), [value(index)] * 2, nontemporal=True))
