"""Convolutions against ONNX Runtime, and where it lacks them the reference evaluator."""

import ml_dtypes
import numpy as np
import pytest
from numerics import (
    Cases,
    Const,
    Feed,
    build_model,
    compare,
    const,
    evaluate,
    run_compiled,
    run_onnxruntime,
)
from onnx import helper

import graphc
from graphc.errors import ExecutionError, InvalidModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)


def _floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


def _weights(*shape: int, dtype: type = np.float32) -> Const:
    return const(_floats(*shape) / np.sqrt(np.prod(shape[1:])), dtype)


def _image_cases() -> tuple[Cases, Cases]:
    """Two spatial axes: one case for each way to lower them, and what is left to resolve."""
    cases, more = Cases(opset=11), Cases(opset=11)
    x = _floats(2, 6, 9, 10)
    cases.add("Conv", x, _weights(8, 6, 3, 3), const(_floats(8)), pads=[1, 1, 1, 1])
    cases.add("Conv", x, _weights(8, 6, 2, 3), dilations=[3, 2], strides=[1, 2])
    cases.add("Conv", x, _weights(8, 6, 1, 1), const(_floats(8)))
    cases.add("Conv", x, _weights(8, 6, 1, 1), strides=[2, 2])
    cases.add("Conv", x, _weights(4, 6, 1, 5), pads=[0, 2, 0, 2])
    cases.add("Conv", x, _floats(8, 6, 3, 3))
    cases.add("Conv", _floats(1, 1, 8, 8), _weights(4, 1, 3, 3), pads=[1, 1, 1, 1])
    more.add("Conv", x, _weights(8, 6, 3, 3))
    more.add("Conv", x, _weights(8, 6, 3, 2), pads=[0, 1, 2, 3], strides=[2, 1])
    more.add("Conv", x, _weights(8, 6, 1, 1), pads=[1, 0, 0, 1])
    more.add("Conv", x, _weights(4, 6, 5, 1), strides=[1, 2])
    more.add("Conv", x, _weights(3, 6, 9, 10))
    more.add("Conv", x, _weights(8, 6, 3, 3), auto_pad="SAME_UPPER", strides=[2, 3])
    more.add("Conv", x, _weights(8, 6, 2, 4), auto_pad="SAME_LOWER", strides=[2, 1])
    more.add("Conv", x, _weights(8, 6, 2, 4), auto_pad="VALID", kernel_shape=[2, 4])
    return cases, more


def _grouped_cases() -> tuple[Cases, Cases]:
    cases, more = Cases(opset=11), Cases(opset=11)
    x = _floats(2, 12, 7, 8)
    cases.add("Conv", x, _weights(12, 1, 3, 3), strides=[2, 2], dilations=[2, 1], group=12)
    cases.add("Conv", x, _weights(24, 1, 3, 3), pads=[1, 1, 1, 1], group=12)
    cases.add("Conv", x, _floats(12, 1, 3, 3), pads=[0, 1, 0, 1], group=12)
    cases.add("Conv", x, _weights(9, 4, 3, 3), pads=[1, 1, 1, 1], group=3)
    cases.add("Conv", x, _floats(12, 2, 2, 2), group=6)
    cases.add("Conv", _floats(1, 48, 5, 5), _weights(48, 16, 3, 3), group=3)
    for group, features in ((12, 12), (6, 6), (2, 4), (4, 20)):
        weights = _weights(features, 12 // group, 3, 3)
        more.add("Conv", x, weights, pads=[1, 1, 1, 1], group=group)
    more.add("Conv", x, _floats(12, 1, 3, 3), group=12)
    more.add("Conv", x, _weights(24, 4, 1, 1), group=3)
    return cases, more


def _other_ranks() -> tuple[Cases, Cases]:
    """One and three spatial axes."""
    cases, more = Cases(opset=11), Cases(opset=11)
    x = _floats(2, 5, 40)
    cases.add("Conv", x, _weights(7, 5, 4), strides=[3], dilations=[2], pads=[0, 2])
    cases.add("Conv", x, _weights(7, 5, 20), strides=[5])
    cases.add("Conv", x, _weights(10, 1, 3), group=5)
    more.add("Conv", x, _weights(7, 5, 3), pads=[1, 1])
    more.add("Conv", x, _weights(7, 5, 1))
    more.add("Conv", x, _weights(5, 1, 5), group=5, pads=[2, 2])
    more.add("Conv", _floats(2, 4, 20), _weights(6, 2, 3), group=2)
    x = _floats(2, 4, 5, 6, 7)
    cases.add("Conv", x, _weights(6, 4, 2, 3, 2), pads=[1, 1, 1, 1, 1, 1], strides=[2, 1, 1])
    cases.add("Conv", x, _weights(4, 1, 2, 3, 3), group=4)
    more.add("Conv", x, _weights(6, 4, 2, 3, 1), strides=[2, 1, 2], dilations=[2, 1, 1])
    more.add("Conv", x, _weights(6, 4, 1, 1, 1), strides=[2, 1, 2])
    more.add("Conv", x, _weights(6, 4, 3, 1, 1))
    more.add("Conv", x, _weights(6, 2, 2, 2, 2), group=2)
    return cases, more


def _symbolic_cases() -> tuple[Cases, Cases]:
    cases, more = Cases(opset=11), Cases(opset=11)
    x = Feed(_floats(2, 6, 9, 10), ["batch", 6, "height", "width"])
    cases.add("Conv", x, _weights(8, 6, 3, 3), const(_floats(8)), pads=[1, 0, 1, 2], strides=[2, 3])
    cases.add("Conv", x, _weights(8, 6, 1, 1))
    cases.add("Conv", x, _weights(6, 1, 3, 3), pads=[1, 1, 1, 1], group=6)
    cases.add("Conv", x, _weights(6, 3, 3, 3), group=2)
    cases.add("Conv", x, _weights(8, 6, 4, 3), auto_pad="SAME_LOWER", strides=[2, 3])
    more.add("Conv", x, _weights(8, 6, 1, 1), strides=[2, 2])
    more.add("Conv", x, _weights(12, 1, 3, 3), group=6)
    more.add("Conv", x, _weights(8, 6, 3, 3), auto_pad="SAME_UPPER")
    line = Feed(_floats(2, 5, 21), ["batch", 5, "length"])
    cases.add("Conv", line, _weights(7, 5, 3), pads=[1, 1], strides=[2])
    more.add("Conv", line, _weights(7, 5, 18))
    narrow = Feed(_floats(2, 6, 9, 3), ["batch", 6, "height", 3])
    cases.add("Conv", narrow, _weights(32, 6, 3, 3), pads=[1, 1, 1, 1], strides=[2, 1])
    return cases, more


def _transposed_cases() -> tuple[Cases, Cases]:
    cases, more = Cases(opset=11), Cases(opset=11)
    x = _floats(2, 6, 5, 4)
    cases.add(
        "ConvTranspose", _floats(1, 6, 2, 1), _floats(6, 2, 2, 1), strides=[1, 2],
        output_padding=[0, 1], group=2,
    )  # fmt: skip
    cases.add("ConvTranspose", x, _weights(6, 4, 3, 3), const(_floats(4)), pads=[1, 0, 2, 1])
    cases.add("ConvTranspose", x, _weights(6, 4, 3, 2), strides=[2, 3], output_padding=[1, 2])
    cases.add("ConvTranspose", x, _weights(6, 4, 3, 3), strides=[3, 1], dilations=[2, 3])
    cases.add("ConvTranspose", x, _weights(6, 4, 3, 3), group=2, strides=[2, 1])
    cases.add("ConvTranspose", x, _floats(6, 4, 3, 2), strides=[2, 2], pads=[0, 1, 1, 0])
    named = Feed(x, ["batch", 6, "height", "width"])
    cases.add("ConvTranspose", named, _weights(6, 4, 4, 4), strides=[2, 2], pads=[1, 1, 1, 1])
    cases.add("ConvTranspose", named, _weights(6, 1, 1, 2), const(_floats(1)), strides=[1, 2])
    more.add("ConvTranspose", x, _weights(6, 4, 3, 3))
    more.add("ConvTranspose", x, _weights(6, 4, 2, 2), strides=[2, 2])
    more.add("ConvTranspose", x, _weights(6, 4, 3, 3), dilations=[2, 1], pads=[3, 1, 5, 2])
    more.add("ConvTranspose", x, _weights(6, 1, 4, 4), group=6, strides=[2, 2])
    more.add("ConvTranspose", x, _weights(6, 2, 3, 3), group=3)
    more.add("ConvTranspose", x, _weights(6, 4, 3, 3), strides=[2, 2], output_shape=[10, 8])
    more.add(
        "ConvTranspose", x, _weights(6, 4, 3, 3), strides=[2, 2], output_shape=[10, 8],
        auto_pad="SAME_UPPER",
    )  # fmt: skip
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        more.add(
            "ConvTranspose", x, _weights(6, 4, 3, 4), strides=[2, 2], auto_pad=auto_pad,
            kernel_shape=[3, 4],
        )  # fmt: skip
    more.add("ConvTranspose", _floats(2, 3, 9), _weights(3, 2, 4), strides=[2])
    more.add("ConvTranspose", _floats(1, 3, 4, 3, 5), _weights(3, 2, 2, 3, 2), strides=[1, 2, 2])
    more.add("ConvTranspose", named, _weights(6, 4, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2])
    return cases, more


SETS = {
    "image": _image_cases,
    "grouped": _grouped_cases,
    "ranks": _other_ranks,
    "symbolic": _symbolic_cases,
    "transposed": _transposed_cases,
}


@pytest.mark.parametrize("name", SETS)
def test_compiled(name):
    cases, _ = SETS[name]()
    cases.tolerances |= dict.fromkeys(cases.outputs, 2e-5)
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize("name", SETS)
def test_evaluation(name):
    """The numpy meanings; the reference evaluator fails on groups of transposed convolutions."""
    for cases in SETS[name]():
        model, tolerances = cases.model(), dict.fromkeys(cases.outputs, 2e-5)
        expected = run_onnxruntime(model, cases.feeds)
        compare(evaluate(model, cases.feeds), expected, cases.outputs, tolerances)


def test_element_types():
    cases = Cases(opset=22)
    for dtype, tolerance in ((np.float64, 1e-11), (np.float16, 2e-3), (ml_dtypes.bfloat16, 2e-2)):
        x = _floats(1, 20, 6, 7, dtype=dtype)
        options = {"pads": [1, 1, 1, 1], "tolerance": tolerance}
        cases.add("Conv", x, _weights(8, 20, 3, 3, dtype=dtype), **options)
        cases.add("Conv", x, _weights(20, 1, 3, 3, dtype=dtype), group=20, **options)
        cases.add("Conv", x, _weights(4, 10, 1, 1, dtype=dtype), group=2, tolerance=tolerance)
        cases.add("ConvTranspose", x, _weights(20, 4, 3, 3, dtype=dtype), strides=[2, 2], **options)
    cases.compare_compiled_with_evaluation()


def test_conv_integer():
    cases = Cases(opset=10)
    x, w = (_random.integers(0, 256, s).astype(np.uint8) for s in ((1, 3, 6, 7), (4, 3, 3, 3)))
    signed = _random.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)
    zero = const(131, np.uint8)
    cases.add("ConvInteger", x, w)
    cases.add("ConvInteger", x, w, zero, const(7, np.uint8), pads=[1, 1, 1, 1])
    cases.add("ConvInteger", x, Const(signed), zero, const(-5, np.int8), strides=[2, 2])
    cases.compare_with_onnxruntime()


def test_conv_integer_zero_point_per_filter():
    cases = Cases(opset=10)
    x = _random.integers(0, 256, (1, 3, 6, 7)).astype(np.uint8)
    w = _random.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)
    points = np.array([1, -2, 0, 100], np.int8)
    cases.add("ConvInteger", x, Const(w), const(131, np.uint8), Const(points), pads=[1, 1, 1, 1])
    (actual,) = run_compiled(cases.model(), cases.feeds)
    padded = np.pad(x.astype(np.int32) - 131, [(0, 0), (0, 0), (1, 1), (1, 1)])
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    expected = np.einsum(
        "nchwij,fcij->nfhw", view, w.astype(np.int32) - points[:, None, None, None]
    )
    np.testing.assert_array_equal(actual, expected)


def test_conv_integer_of_named_channels_with_steps():
    """Differences of 16 bits, of which slices of slices are read with steps."""
    cases = Cases(opset=10)
    x = _random.integers(-128, 128, (2, 9, 1, 5)).astype(np.int8)
    w, zero = _random.integers(-128, 128, (15, 9, 1, 3)), 74
    window = {"strides": [3, 3], "dilations": [1, 2]}
    image = Feed(x, ["batch", "channels", 1, 5])
    cases.add(
        "ConvInteger", image, const(w, np.int8), const(0, np.int8), const(zero, np.int8), **window
    )
    expected = np.einsum("nchw,fchw->nf", x[..., ::2].astype(np.int32), w - zero)[..., None, None]
    compare(evaluate(cases.model(), cases.feeds), [expected.astype(np.int32)], cases.outputs)
    compare(run_compiled(cases.model(), cases.feeds), [expected.astype(np.int32)], cases.outputs)


def test_empty():
    cases = Cases(opset=11)
    empty = Feed(_floats(0, 3, 6, 6), ["batch", 3, 6, 6])
    cases.add("Conv", empty, _weights(4, 3, 3, 3), const(_floats(4)), pads=[1, 1, 1, 1])
    cases.add("Conv", empty, _weights(4, 3, 1, 1))
    cases.add("ConvTranspose", empty, _weights(3, 4, 3, 3), strides=[2, 2])
    cases.compare_compiled_with_evaluation()


@pytest.mark.parametrize(
    ("weights", "attributes", "message"),
    [
        ((8, 5, 3, 3), {}, "5"),
        ((8, 6, 3, 3), {"kernel_shape": [3, 2]}, r"kernel_shape \[3, 2\].*\[3, 3\]"),
        ((8, 3, 3, 3), {"group": 4}, "6 input channels do not split into 4 groups"),
        ((7, 3, 3, 3), {"group": 2}, "7 output channels do not split into 2 groups"),
        ((8, 6, 3, 3), {"pads": [1, 1]}, r"pads \[1, 1\]"),
        ((8, 6, 3, 3), {"strides": [1]}, r"strides \[1\]"),
        ((8, 6, 3, 3), {"strides": [0, 1]}, r"strides \[0, 1\]"),
        ((8, 6, 3, 3), {"auto_pad": "SOME"}, "SOME"),
        ((8, 6, 9, 3), {}, "a window of 9 does not fit an axis of 5"),
        ((8, 6, 3), {}, "do not fit each other"),
    ],
)
def test_refused(weights, attributes, message):
    cases = Cases(opset=11)
    cases.add("Conv", _floats(1, 6, 5, 7), _weights(*weights), **attributes)
    with pytest.raises(InvalidModelError, match=f"Conv_0.*{message}"):
        import_onnx(cases.model())


@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER"])
def test_transposed_to_a_stated_size(auto_pad):
    """Images of unknown size are cropped, or padded behind the computed part."""
    cases = Cases(opset=22)
    image = Feed(_floats(2, 3, 5, 6), ["batch", 3, "height", "width"])
    known = {"auto_pad": auto_pad}
    weights = _weights(3, 4, 3, 3)
    cases.add("ConvTranspose", image, weights, strides=[2, 3], output_shape=[12, 13], **known)
    cases.add(
        "ConvTranspose", image, weights, strides=[3, 2], output_shape=[17, 10],
        output_padding=[1, 1], **known,
    )  # fmt: skip
    kernel = Feed(_floats(3, 4, 3, 3), [3, 4, "rows", "columns"])
    cases.add("ConvTranspose", image, kernel, strides=[2, 3], output_shape=[9, 20], **known)
    cases.compare_with_onnxruntime()


def _unknown_kernels() -> Cases:
    cases, x = Cases(opset=11), Feed(_floats(2, 4, 6, 7), ["batch", 4, "height", "width"])
    weights, names = _floats(4, 2, 3, 2), ["features", "depth", "rows", "columns"]
    window = {"pads": [1, 0, 2, 1], "strides": [2, 3], "dilations": [2, 1], "group": 2}
    cases.add("Conv", x, Feed(weights, names), **window)
    cases.add("Conv", x, Feed(weights, [4, 2, 3, "columns"]), auto_pad="SAME_LOWER", group=2)
    cases.add("Conv", x, Feed(weights, names), _floats(4), kernel_shape=[3, 2], group=2)
    cases.add("ConvTranspose", x, Feed(weights, names), output_padding=[1, 2], **window)
    cases.add("ConvTranspose", x, Feed(weights, ["in", "out", 3, 2]), strides=[2, 1], group=2)
    line = Feed(_floats(2, 3, 9), [2, "channels", 9])
    cases.add("Conv", line, Feed(_floats(5, 3, 4), [5, "channels", "taps"]))
    cases.add("ConvTranspose", line, Feed(_floats(3, 2, 4), [3, 2, "taps"]), _floats(2))
    column = Feed(_floats(2, 3, 1, 4, 1), [2, "channels", 1, "height", 1])
    taps = Feed(_floats(3, 1, 2, 1, 1), ["channels", 1, "taps", 1, "ones"])
    cases.add("ConvTranspose", column, taps, kernel_shape=[2, 1, 1])
    return cases


@pytest.mark.long
def test_kernels_of_unknown_size():
    cases = _unknown_kernels()
    cases.tolerances |= dict.fromkeys(cases.outputs, 2e-5)
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(
    ("kernel", "attributes", "message"),
    [((4, 2), {"kernel_shape": [3, 2]}, "kernel_shape is"), ((9, 2), {}, "negative")],
)
def test_kernels_that_turn_out_not_to_fit(kernel, attributes, message):
    cases = Cases(opset=11)
    w = Feed(_floats(4, 2, *kernel), [4, 2, "rows", "columns"])
    cases.add("Conv", _floats(1, 2, 6, 7), w, **attributes)
    with pytest.raises(ExecutionError, match=f"Conv_0.*{message}"):
        run_compiled(cases.model(), cases.feeds)


def test_result_shapes_are_symbolic():
    cases = Cases(opset=11)
    x = Feed(_floats(2, 6, 9, 10), ["batch", 6, "height", "width"])
    cases.add("Conv", x, _weights(8, 6, 3, 3), pads=[1, 0, 1, 0], strides=[2, 1])
    cases.add("ConvTranspose", x, _weights(6, 8, 4, 3), strides=[2, 1], pads=[1, 1, 1, 1])
    text = str(import_onnx(cases.model()))
    assert '"Conv_0_batch", "floordiv(Conv_0_height + 1, 2)", "Conv_0_width - 2"]' in text
    assert '"ConvTranspose_1_batch", "2*ConvTranspose_1_height", "ConvTranspose_1_width"]' in text


def test_one_window_and_elements_behind_it():
    cases = Cases(opset=21)
    random = np.random.default_rng(0)
    x = random.standard_normal((1, 8, 4, 6)).astype(np.float32)
    for group in (1, 2, 8):
        w = random.standard_normal((16, 8 // group, 3, 3)).astype(np.float32)
        cases.add("Conv", x, const(w), group=group, strides=[2, 2], tolerance=1e-5)
    cases.add("Conv", Feed(x, ["n", 8, 4, 6]), const(w), group=8, strides=[2, 2], tolerance=1e-5)
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(("features", "group"), [(4, 1), (5, 5)])
def test_one_window_of_an_image_of_bytes(features, group):
    """The backend may fail to bound the stack that a cast within such a convolution takes."""
    random = np.random.default_rng(0)
    x = random.integers(-128, 128, (2, 5, 6, 4)).astype(np.int8)
    w = random.integers(-128, 128, (features, 5 // group, 3, 2)).astype(np.int8)
    scales, zeros = np.full(features, 0.02, np.float32), np.zeros(features, np.int8)
    parameters = [np.float32(0.01), np.int8(-128), w, scales, zeros]
    rest = [*map(const, parameters), const(np.float32(0.2)), const(np.int8(3))]
    shape = {"group": group, "pads": [1, 1, 0, 0], "strides": [1, 3], "dilations": [1, 2]}
    for image in (x, Feed(x, ["n", 5, "rows", 4])):
        case = Cases(opset=21)
        case.add("QLinearConv", image, *rest, **shape)
        model, feeds = case.model(), case.feeds
        with graphc.compile(model, threads=1) as compiled:  # alone, as its user would
            compare(
                compiled.run(None, feeds),
                evaluate(model, feeds),
                [output.name for output in model.graph.output],
            )


@pytest.mark.parametrize("channels", [1, "channels"])
def test_pieces_apart_of_what_is_looked_up(channels):
    # The backend would compute all of the image anew for each window, with memory for it.
    nodes = [
        helper.make_node("Gather", ["table", "indices"], ["image"], axis=1),
        helper.make_node("Conv", ["image", "w"], ["y"], strides=[2, 1]),
    ]
    feeds = {
        "table": _floats(1, 2, 1, dtype=np.float64),
        "indices": _random.integers(0, 2, (1, 7)).astype(np.int32),
        "w": _floats(1, 1, 2, 1, dtype=np.float64),
    }
    dims = {"table": (1, 2, 1), "indices": (channels, "length"), "w": (1, 1, 2, 1)}
    inputs = {name: (array.dtype, dims[name]) for name, array in feeds.items()}
    model = build_model(nodes, inputs, ["y"])
    compare(run_compiled(model, feeds), evaluate(model, feeds), ["y"])  # ONNX Runtime lacks it
