"""Operators that move data against ONNX Runtime."""

import numpy as np
import onnx
import onnx.parser
import pytest
from numerics import (
    Cases,
    Feed,
    build_model,
    compare_with_onnxruntime,
    const,
    run_compiled,
)
from onnx.helper import make_node

import graphc
from graphc.dialects import graph
from graphc.errors import ExecutionError, InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)
ALL = np.iinfo(np.int64).max
NONE = np.iinfo(np.int64).min


def _normal(*shape: int) -> np.ndarray:
    return np.asarray(_random.standard_normal(shape), np.float32)


def _result_types(model) -> list[str]:
    module = import_onnx(model)
    with module.context:
        (function,) = module.body.operations
        *_, returned = function.entry_block.operations
        return [str(graph.type_of(value)) for value in returned.operation.operands]


def test_reshape_and_its_kind():
    cases = Cases(opset=14)
    x = _normal(2, 3, 4)
    feed = Feed(x, ["a", 3, "b"])
    for shape in ([4, 6], [-1, 2], [0, -1], [2, 1, 3, 4, 1], [-1], [24, 1, 1]):
        cases.add("Reshape", x, const(shape))
        cases.add("Reshape", x, np.array(shape))
    cases.add("Reshape", feed, const([0, -1]))
    cases.add("Reshape", feed, const([-1, 1, 3]))
    cases.add("Reshape", _normal(0, 3), const([0, 3, 1]), allowzero=1)
    cases.add("Reshape", _normal(1, 1), const(np.zeros(0, np.int64)))
    cases.add("Reshape", Feed(_normal(1), ["one"]), const(np.zeros(0, np.int64)))
    cases.add("Reshape", np.array(2.5, np.float32), const([1, 1]))
    cases.add("Flatten", x, axis=2)
    cases.add("Flatten", feed, axis=-2)
    cases.add("Flatten", feed, axis=0)
    cases.add("Squeeze", _normal(1, 3, 1, 2))
    cases.add("Squeeze", _normal(1, 3, 1, 2), const([-2]))
    cases.add("Squeeze", Feed(_normal(1, 3, 1, 2), ["a", "b", "c", 2]), const([0, 2]))
    cases.add("Unsqueeze", x, const([0, -1, 2]))
    cases.add("Unsqueeze", np.array(1.5, np.float32), const([0]))
    cases.add("Identity", x)
    cases.compare_with_onnxruntime()


def test_old_forms():
    cases = Cases(opset=9)
    x = _normal(2, 1, 4)
    cases.add("Squeeze", x, axes=[1])
    cases.add("Unsqueeze", x, axes=[0, 4])
    cases.add("Slice", x, starts=[0, -3], ends=[9, -1], axes=[1, 2])
    cases.add("Slice", x, starts=[1], ends=[2])
    cases.add("Split", x, axis=2, split=[1, 3], outputs=2)
    cases.add("Pad", x, pads=[0, 1, 2, 0, 0, 3], value=1.5)
    cases.add("Pad", x, pads=[1, 0, 0, 0, 0, 2], mode="edge")
    cases.compare_with_onnxruntime()


def test_transpose_concat_expand_tile():
    cases = Cases(opset=13)
    x = _normal(2, 3, 4)
    feed = Feed(x, ["a", "b", 4])
    cases.add("Transpose", x)
    cases.add("Transpose", x, perm=[1, 2, 0])
    cases.add("Transpose", feed, perm=[2, 0, 1])
    cases.add("Transpose", np.array(1.0, np.float32))
    cases.add("Transpose", _normal(0, 3))
    cases.add("Concat", x, axis=0)
    cases.add("Concat", x, _normal(2, 5, 4), axis=-2)
    cases.add("Concat", *[_normal(2, 1) for _ in range(19)], axis=1)
    cases.add("Concat", Feed(x, ["a", "b", 4]), Feed(_normal(2, 2, 4), ["a", "c", 4]), axis=1)
    cases.add("Concat", _normal(2, 0), _normal(2, 3), _normal(2, 0), axis=1)
    cases.add("Concat", _normal(2, 0), _normal(3, 0), axis=0)
    cases.add("Concat", np.array([True]), np.array([False, True]), axis=0)
    cases.add("Expand", _normal(3, 1), const([2, 1, 4]))
    cases.add("Expand", _normal(3, 1), np.array([3, 4]))
    cases.add("Expand", Feed(_normal(3, 1), ["a", "b"]), const([3, 4]))
    cases.add("Expand", Feed(_normal(1, 4), ["a", "b"]), np.array([2, 3, 1]))
    cases.add("Expand", np.array(2, np.int64), const([2, 2]))
    cases.add("Tile", x, const([2, 1, 3]))
    cases.add("Tile", feed, const([1, 2, 1]))
    cases.add("Tile", x, np.array([2, 0, 1]))
    cases.compare_with_onnxruntime()


def test_slice():
    cases = Cases(opset=13)
    x = _normal(7, 8)
    bounds = [(0, 3, 1), (-3, ALL, 1), (1, -1, 2), (6, 0, -2), (ALL, NONE, -1), (-1, NONE, -3),
              (5, 2, 1), (2, 5, -1), (0, 0, 1), (-100, 100, 3), (100, -100, -3)]  # fmt: skip
    for start, end, step in bounds:
        arguments = const([start]), const([end]), const([0]), const([step])
        cases.add("Slice", x, *arguments)
        cases.add("Slice", Feed(x, ["n", 8]), *arguments)
    cases.add("Slice", x, const([1, 2]), const([5, ALL]))
    cases.add("Slice", x, const([1, 2]), const([5, NONE]), const([-1, 0]), const([2, -1]))
    cases.add("Slice", x, const([1], np.int32), const([5], np.int32), const([1], np.int32))
    cases.compare_with_onnxruntime()


def test_slice_at_places_that_are_sizes():
    """``x[:, past:]`` with sizes of other inputs, as decoders write it."""
    nodes = [
        make_node("Shape", ["past"], ["shape"], start=0, end=1),
        make_node("Slice", ["x", "shape", "end", "one"], ["rest"]),
        make_node("Slice", ["x", "zero", "shape", "one"], ["first"]),
        make_node("Neg", ["shape"], ["back"]),
        make_node("Slice", ["x", "back", "end", "one"], ["last"]),
    ]
    inputs = {"x": (np.float32, [2, "n"]), "past": (np.float32, ["p"])}
    outputs = ["rest", "first", "last"]
    known = {"end": [ALL], "one": [1], "zero": [0]}
    model = build_model(nodes, inputs, outputs, known, opset=15)
    assert _result_types(model)[1] == "2xmin(n, p)xf32"
    for size in (0, 3, 7, 9):
        compare_with_onnxruntime(model, {"x": _normal(2, 7), "past": _normal(size)})


def test_slice_at_places_from_data():
    cases = Cases(opset=13)
    x = _normal(7, 8)
    for start, end, step in [(1, 5, 1), (-3, 100, 2), (-100, -2, 1), (6, 2, -2), (-1, -100, -1)]:
        data = np.array([start]), np.array([end])
        cases.add("Slice", x, *data, const([0]), const([step]))
        cases.add("Slice", Feed(x, ["n", 8]), *data, const([0]), const([step]))
    cases.add("Slice", x, np.array([2, -3]), const([5, ALL]))
    cases.compare_with_onnxruntime()


def test_slice_along_axes_and_by_steps_from_data():
    x = _normal(7, 8)
    feed = Feed(x, ["n", 8])
    bounds = [(0, 3, 1), (-3, ALL, 2), (ALL, NONE, -1), (5, 2, 1), (100, -100, -3), (1, ALL, ALL)]
    cases = Cases(opset=13)
    for start, end, step in bounds:
        cases.add("Slice", feed, np.array([start]), const([end]), const([0]), np.array([step]))
    cases.add("Slice", x, const([1, -3]), np.array([5, ALL]), np.array([1, -2]))
    cases.add("Slice", x, *(np.array(a, np.int32) for a in ([6, 1], [0, 5], [1, 0], [-2, 3])))
    cases.add("Slice", x, const([1]), const([5]), np.array([-1]), const([2]))
    two = Feed(np.array([1, -3]), ["k"])
    cases.add("Slice", x, two, const([3, ALL]))
    cases.add("Slice", x, const([0, 1]), two, const([1, 0]), const([1, -1]))
    cases.add("Slice", x, two, Feed(np.array([3, 9]), ["m"]), const([0, 1]))
    cases.add("Slice", _normal(0, 3), const([-1]), const([NONE]), const([0]), np.array([-1]))
    cases.compare_with_onnxruntime()


def test_split():
    cases = Cases(opset=18)
    x = _normal(2, 12)
    cases.add("Split", x, axis=1, num_outputs=3, outputs=3)
    cases.add("Split", x[:, :11], axis=-1, num_outputs=4, outputs=4)
    cases.add("Split", x, const([2, 10]), axis=1, outputs=2)
    cases.add("Split", x, const([12, 0]), axis=1, outputs=2)
    cases.add("Split", Feed(x, [2, "n"]), np.array([5, 7]), axis=1, outputs=2)
    cases.add("Split", Feed(x, [2, "n"]), axis=1, num_outputs=4, outputs=4)
    cases.compare_with_onnxruntime()
    cases = Cases(opset=13)
    cases.add("Split", x, axis=1, outputs=3)
    cases.add("Split", Feed(x, [2, "n"]), axis=1, outputs=2)
    cases.compare_with_onnxruntime()


def test_pad():
    cases = Cases(opset=19)
    x = _normal(3, 4)
    feed = Feed(x, ["a", "b"])
    amounts = const([1, 0, 2, 3])
    cases.add("Pad", x, amounts)
    cases.add("Pad", x, amounts, const(1.5))
    cases.add("Pad", x, amounts, np.array(2.5, np.float32))
    cases.add("Pad", feed, amounts)
    cases.add("Pad", x, Feed(amounts.array, ["k"]))
    cases.add("Pad", x, np.array([1, 0, 2, 3]))
    cases.add("Pad", x, const([1, 2]), None, const([-1]))
    cases.add("Pad", x, const([-1, 1, 0, -2]))
    cases.add("Pad", feed, const([-1, 1, 0, -2]))
    cases.add("Pad", _random.integers(0, 9, (2, 2)), const([0, 1, 1, 0]), const(7))
    cases.add("Pad", _normal(0, 2), amounts)
    cases.add("Pad", Feed(_normal(0, 2), [0, "b"]), amounts)
    for mode in ("edge", "reflect", "wrap"):
        cases.add("Pad", x, const([1, 3, 2, 2]), mode=mode)
        cases.add("Pad", feed, const([1, 3, 2, 2]), mode=mode)
        cases.add("Pad", feed, np.array([0, 1, 2, 0]), mode=mode)
        cases.add("Pad", x, const([1, -1, 2, -1]), mode=mode)
    cases.compare_with_onnxruntime()


def test_pad_by_data():
    cases = Cases(opset=19)
    x = _normal(3, 4)
    feed = Feed(x, ["a", "b"])
    cases.add("Pad", feed, np.array([-1, 1, 0, -2]))
    cases.add("Pad", x, np.array([-3, 1, 0, 0]), const(1.5))
    cases.add("Pad", Feed(_normal(0, 4), ["a", 4]), np.array([1, 0, 2, -1]), const(1.5))
    cases.add("Pad", feed, np.array([-1, 2]), None, np.array([-1]))
    cases.add("Pad", x, const([1, -1]), None, np.array([0], np.int32), mode="edge")
    cases.add("Pad", x, np.array([1, 0, 2, 1]), None, const([1, 0]), mode="reflect")
    cases.add("Pad", x, np.array([1, -1, -1, 5]), mode="wrap")
    cases.compare_with_onnxruntime()


def test_axes_that_data_does_not_pad_keep_their_sizes():
    """PyTorch writes pads that are computed for one axis as a list for all of them."""
    pads = onnx.parser.parse_graph(
        """(float[b, 3, t] x, int64[1] extra) => (float[b, 3, u] y) {
            zero = Constant<value_ints = [0]>()
            four = Constant<value_ints = [0, 0, 0, 0]>()
            all = Concat<axis = 0>(zero, extra, four)
            shape = Constant<value_ints = [3, 2]>()
            pairs = Reshape(all, shape)
            last = Constant<value_ints = [-1]>()
            least = Constant<value_ints = [-9223372036854775807]>()
            turned = Slice(pairs, last, least, zero, last)
            sides = Transpose<perm = [1, 0]>(turned)
            pads = Reshape(sides, last)
            y = Pad<mode = "reflect">(x, pads)
        }""".replace("(float", "test (float", 1)
    )
    opsets = [onnx.helper.make_opsetid("", 19)]
    model = onnx.helper.make_model(pads, opset_imports=opsets, ir_version=9)
    program = str(import_onnx(model))
    assert program.count("graph.gather") == 2  # of the sizes, and along one axis
    assert program.count('names = ["size_') == 1
    x = _normal(2, 3, 7)
    with graphc.compile(model, threads=1) as compiled:
        for extra in (0, 2, 5):
            (y,) = compiled.run(None, {"x": x, "extra": np.array([extra])})
            np.testing.assert_array_equal(y, np.pad(x, ((0, 0), (0, 0), (0, extra)), "reflect"))


def test_pads_of_known_axes_are_known():
    cases = Cases(opset=19)
    cases.add("Pad", Feed(_normal(3, 4), ["a", "b"]), const([1, 2]), None, const([-1]))
    assert _result_types(cases.model()) == ["Pad_0_axPad_0_b + 3xf32"]


def test_depth_and_space():
    cases = Cases(opset=13)
    x = _normal(2, 8, 2, 3)
    cases.add("DepthToSpace", x, blocksize=2)
    cases.add("DepthToSpace", Feed(x, ["n", 8, "h", "w"]), blocksize=2, mode="CRD")
    cases.add("SpaceToDepth", _normal(2, 3, 4, 6), blocksize=2)
    cases.add("SpaceToDepth", Feed(_normal(2, 3, 4, 6), ["n", 3, "h", 6]), blocksize=2)
    cases.compare_with_onnxruntime()


def test_shapes_as_data():
    cases = Cases(opset=15)
    x = _normal(2, 3, 4)
    feed = Feed(x, ["a", 3, "b"])
    cases.add("Shape", x)
    cases.add("Shape", feed)
    cases.add("Shape", feed, start=-2)
    cases.add("Shape", feed, start=1, end=-1)
    cases.add("Shape", np.array(1.0, np.float32))
    cases.add("Size", feed)
    cases.add("ConstantOfShape", const([2, 3]))
    cases.add("ConstantOfShape", np.array([2, 0, 3]))
    cases.add("ConstantOfShape", const(np.zeros(0, np.int64)))
    cases.compare_with_onnxruntime()


def test_sizes_computed_in_the_graph():
    """A view with a size that is known, through the arithmetic that exporters write."""
    nodes = [
        make_node("Shape", ["x"], ["shape"]),
        make_node("Gather", ["shape", "zero"], ["n"]),
        make_node("Gather", ["shape", "one"], ["w"]),
        make_node("Mul", ["w", "two"], ["twice"]),
        make_node("Div", ["twice", "eight"], ["heads"]),
        make_node("Unsqueeze", ["n", "axis"], ["n1"]),
        make_node("Unsqueeze", ["heads", "axis"], ["heads1"]),
        make_node("Concat", ["n1", "heads1", "minus"], ["target"], axis=0),
        make_node("Reshape", ["x", "target"], ["y"]),
        make_node("ReduceProd", ["shape", "axis"], ["count"]),
        make_node("Reshape", ["x", "count"], ["flat"]),
    ]
    known = {"zero": 0, "one": 1, "two": 2, "eight": 8, "axis": [0], "minus": [-1]}
    inputs = {"x": (np.float32, ["n", 16])}
    model = build_model(nodes, inputs, ["y", "flat"], known, opset=18)
    assert _result_types(model) == ["nx4x4xf32", "16*nxf32"]
    compare_with_onnxruntime(model, {"x": _normal(3, 16)})


def test_sizes_in_rows():
    """Sizes are reshaped directly, and computed with."""
    nodes = [
        make_node("Shape", ["x"], ["shape"]),
        make_node("Reshape", ["shape", "square"], ["rows"]),
        make_node("Cast", ["shape"], ["floats"], to=1),
        make_node("Reshape", ["floats", "square"], ["matrix"]),
        make_node("MatMul", ["matrix", "matrix"], ["product"]),
    ]
    inputs = {"x": (np.float32, ["a", "b", "c", "d"])}
    model = build_model(nodes, inputs, ["rows", "product"], {"square": [2, 2]}, opset=18)
    compare_with_onnxruntime(model, {"x": _normal(2, 3, 4, 5)})


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "message"),
    [
        ("Reshape", (_normal(2, 3), const([4, 2])), {}, "6 elements.* to 8 elements"),
        ("Reshape", (_normal(2, 3), const([-1, -1])), {}, "-1"),
        ("Reshape", (_normal(2, 3), const([4, -1])), {}, "cannot reshape"),
        ("Reshape", (_normal(2, 3), const([-2, 3])), {}, "-2"),
        ("Transpose", (_normal(2, 3),), {"perm": [0, 0]}, "not a permutation"),
        ("Squeeze", (_normal(2, 3), const([0])), {}, "cannot squeeze axis 0 of size 2"),
        ("Unsqueeze", (_normal(2, 3), const([0, 0])), {}, "name an axis twice"),
        ("Concat", (_normal(2, 3), _normal(3, 3)), {"axis": 1}, "axis 0 differs"),
        ("Concat", (_normal(2, 3), _normal(3)), {"axis": 0}, "ranks or element types differ"),
        ("Expand", (_normal(2, 3), const([2, 4])), {}, "do not broadcast"),
        ("Tile", (_normal(2, 3), const([2])), {}, "1 repeats for a tensor of rank 2"),
        ("Slice", (_normal(2), const([0]), const([1]), const([0]), const([0])), {}, "step of 0"),
        ("Slice", (_normal(2), const([0]), const([1, 2])), {}, "differ in length"),
        ("Split", (_normal(2, 3), const([1, 1])), {"axis": 1}, "of size 3 into"),
        ("Pad", (_normal(2, 3), const([1, 1])), {}, "2 pads for a tensor of rank 2"),
        ("Flatten", (_normal(2, 3),), {"axis": 4}, "axis 4"),
        ("DepthToSpace", (_normal(1, 3, 2, 2),), {"blocksize": 2}, "3 channels do not make blocks"),
        ("SpaceToDepth", (_normal(1, 3, 3, 2),), {"blocksize": 2}, "not made of blocks of 2"),
    ],
)
def test_operands_must_fit(op_type, inputs, attributes, message):
    cases = Cases(opset=18)
    cases.add(op_type, *inputs, **attributes, outputs=2 if op_type == "Split" else 1)
    with pytest.raises(InvalidModelError, match=f"node '{op_type}_0' .*{message}"):
        import_onnx(cases.model())


def test_reshape_to_the_only_sizes_there_are():
    """Whatever a fed shape says: in a row, or one element along axes. Ranks may depend on it."""
    nodes = [
        make_node("Reshape", ["two", "one"], ["rows"]),
        make_node("Concat", ["rows", "rest"], ["shape"], axis=0),
        make_node("Reshape", ["x", "shape"], ["y"]),
        make_node("Reshape", ["two", "units"], ["unit"]),
        make_node("Reshape", ["x", "one"], ["row"]),
        make_node("ReduceSum", ["unit", "axes"], ["flat"], keepdims=0),
    ]
    inputs = {"two": (np.int64, []), "one": (np.int64, [1]), "units": (np.int64, [3])}
    inputs |= {"x": (np.float32, ["n", 3])}
    constants = {"rest": np.array([-1]), "axes": np.array([0, 2])}
    model = build_model(nodes, inputs, ["y", "flat", "row"], constants, opset=13)
    feeds = {"two": np.array(2), "one": np.array([-1]), "units": np.array([1, -1, 1])}
    feeds |= {"x": _normal(4, 3)}
    compare_with_onnxruntime(model, feeds)
    for name, wrong in (("one", [2]), ("units", [1, 2, 1]), ("units", [1, 0, 1])):
        with pytest.raises(ExecutionError, match="do not reshape"):
            run_compiled(model, {**feeds, name: np.array(wrong)})


@pytest.mark.parametrize(
    ("op_type", "inputs", "reason"),
    [
        ("Reshape", (_normal(2), Feed(np.array([2]), ["rank"])), "shape of unknown length"),
        ("Slice", (_normal(2), *[Feed(np.array([1]), ["k"])] * 2), "starts of unknown length"),
        ("Pad", (_normal(2), const([1, 1])), "mode 'fancy'"),
    ],
)
def test_forms_that_are_refused(op_type, inputs, reason):
    cases = Cases(opset=18)
    cases.add(op_type, *inputs, **({"mode": "fancy"} if op_type == "Pad" else {}))
    with pytest.raises(UnsupportedModelError, match=f"{op_type}_0.*{reason}"):
        import_onnx(cases.model())


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "message"),
    [
        ("Reshape", (Feed(_normal(3), ["n"]), const([2, -1])), {}, "do not reshape"),
        ("Reshape", (_normal(3), np.array([2, 2])), {}, "do not reshape"),
        ("Concat", (Feed(_normal(2, 1), ["a", 1]), Feed(_normal(3, 1), ["b", 1])), {"axis": 1},
         "joins sizes"),
        ("Split", (Feed(_normal(5), ["n"]),), {"outputs": 2}, "do not reshape"),
        ("Split", (_normal(5), np.array([2, 4])), {"outputs": 2}, "do not reshape"),
        ("ConstantOfShape", (np.array([-1]),), {}, "is negative"),
        ("Slice", (_normal(5), const([0]), const([4]), const([0]), np.array([0])), {}, "step of 0"),
        ("Expand", (_normal(3, 1), np.array([2, 4])), {}, "shapes do not broadcast"),
        ("Range", (np.array(0), np.array(4), np.array(0)), {}, "a delta of 0"),
        ("Pad", (_normal(3), np.array([-2, -2])), {}, "is negative"),
        ("Pad", (Feed(_normal(3), ["n"]), const([-2, -2])), {}, "is negative"),
        ("GatherElements", (Feed(_normal(2, 2), ["a", 2]), Feed(np.zeros((3, 2), int), ["b", 2])),
         {"axis": 1}, "has .* indices along axis 0"),
    ],
)  # fmt: skip
def test_sizes_are_checked_when_the_model_runs(op_type, inputs, attributes, message):
    cases = Cases(opset=13)
    cases.add(op_type, *inputs, **attributes)
    with pytest.raises(ExecutionError, match=f"{op_type}_0: .*{message}"):
        run_compiled(cases.model(), cases.feeds)


def test_lists_of_unknown_length_are_as_long_as_the_others():
    cases = Cases(opset=13)
    cases.add("Slice", _normal(5), Feed(np.array([0, 1]), ["k"]), const([4]))
    with pytest.raises(ExecutionError, match=r"has 2 elements along axis 0, .* need 1"):
        run_compiled(cases.model(), cases.feeds)


def test_nothing_is_joined_and_cut_along_no_axis():
    cases = Cases()
    empty = np.zeros((0, 3), np.float32)
    cases.add("Concat", Feed(empty, [0, "n"]), Feed(empty, ["m", 3]), axis=1)
    cases.add("Tile", Feed(np.zeros((0, 5, 1), np.float32), [0, "n", "m"]), const([0, 1, 3]))
    no_axes = np.zeros(0, np.int64)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    cases.add("Slice", x, no_axes, no_axes, const(no_axes), const(no_axes))
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(
    ("op_type", "inputs"),
    [
        ("ConstantOfShape", [const([2, -1])]),
        ("Expand", [_normal(2, 3), const([-1, 2, 3])]),
        ("OneHot", [np.arange(3), const(-1), const([0.0, 1.0])]),
        ("Resize", [_normal(2, 3), None, None, const([-1, 3])]),
        ("Tile", [_normal(1, 3), const([-1, 1])]),
    ],
)
def test_negative_sizes_are_refused(op_type, inputs):
    cases = Cases(opset=18)
    cases.add(op_type, *inputs)
    with pytest.raises(InvalidModelError, match=f"node '{op_type}_0'.* a size of -1"):
        import_onnx(cases.model())


def test_center_crop_pad():
    cases = Cases(opset=18)
    x = _normal(4, 7, 3)
    for shape in ([4, 7, 3], [3, 4, 6], [7, 8, 0]):
        cases.add("CenterCropPad", x, const(shape))
        cases.add("CenterCropPad", x, np.array(shape, np.int32))
        cases.add("CenterCropPad", Feed(x, ["a", "b", 3]), np.array(shape))
    cases.add("CenterCropPad", x > 0, const([2, 9]), axes=[-1, 0])
    cases.add("CenterCropPad", x.astype(np.int8), Feed(np.array([5]), [1]), axes=[1])
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()
    cases = Cases(opset=18)
    cases.add("CenterCropPad", x, const([2, 9]))
    with pytest.raises(InvalidModelError, match="2 sizes for the axes"):
        import_onnx(cases.model())
