"""Direct convolutions give the numbers of the convolutions they replace."""

import numpy as np
import onnxruntime
import pytest
from convolution_models import ConvCase, convolution_model
from onnx import helper, numpy_helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.passes.cpu.direct_convolution import MIN_FILLED
from graphc.passes.cpu.pixel_tiles import PixelTiles
from graphc.passes.kernels import direct_conv_shape
from harness.marks import long

PIPELINE = (
    "graph-convert-layout,graph-fold-constants,canonicalize,graph-direct-conv{{vector-bits={}}},"
    "graph-fuse-epilogue,canonicalize"
)

CASES = [
    ConvCase((1, 5, 9, 14), (64, 5, 3, 3), "relu", (("pads", [1, 1, 1, 1]),)),
    ConvCase((2, 3, 20, 23), (16, 3, 7, 7), "relu", (("pads", [3] * 4), ("strides", [2, 2]))),
    ConvCase((1, 8, 6, 31), (48, 8, 2, 3), "residual", (("dilations", [2, 3]),
                                                        ("pads", [1, 2, 3, 4]))),
    ConvCase((1, 32, 8, 8), (32, 32, 3, 3), "residual", (("pads", [1] * 4),)),
    ConvCase((1, 8, 7, 9), (16, 8, 1, 2), "hard_swish", (("strides", [2, 2]),)),
    ConvCase((1, 4, 4, 5), (16, 4, 3, 3), "sigmoid", (("pads", [2, 4, 2, 4]),)),
    ConvCase((2, 32, 6, 7), (64, 4, 3, 3), "relu", (("group", 8), ("pads", [1] * 4))),
    ConvCase((1, 6, 6, 7), (64, 3, 3, 1), "bias", (("group", 2),)),
    ConvCase((1, 32, 9, 14), (32, 1, 5, 5), "relu", (("group", 32), ("pads", [2] * 4))),
    ConvCase((2, 64, 11, 30), (64, 1, 4, 7), "residual", (("group", 64), ("strides", [2, 3]))),
    ConvCase((1, 16, 9, 12), (16, 1, 4, 4), "bias", (("group", 16), ("dilations", [2, 3]),
                                                    ("pads", [3, 1, 5, 4]))),
    ConvCase((2, 5, 31), (64, 5, 3), "relu", (("pads", [1, 1]),)),
    ConvCase((2, 32, 40), (32, 1, 16), "residual", (("group", 32), ("pads", [3, 9]))),
    ConvCase((3, 8, 37), (16, 8, 4), "bias", (("strides", [3]), ("dilations", [2]))),
    ConvCase((1, 5, 9, 14), (24, 5, 3, 3), "relu", (("pads", [1] * 4),)),
    ConvCase((2, 7, 9, 14), (5, 7, 3, 3), "residual", (("pads", [1] * 4),)),
    ConvCase((1, 20, 9, 14), (20, 1, 3, 3), "relu", (("group", 20), ("pads", [1] * 4))),
    ConvCase((1, 44, 7, 30), (44, 1, 3, 3), "residual", (("group", 44), ("strides", [2, 1]))),
    ConvCase((2, 16, 60), (16, 1, 24), "relu", (("group", 16), ("pads", [3, 9]))),
    ConvCase((1, 4, 2, 90), (16, 4, 1, 20), "bias", (("pads", [0, 7, 0, 9]),
                                                     ("dilations", [1, 2]))),
    ConvCase((1, 1, 9, 400), (16, 1, 2, 64), "relu", (("pads", [1, 5, 0, 60]),
                                                      ("strides", [1, 3]))),
    ConvCase((2, 5, 9, 14), (37, 5, 3, 3), "residual", (("pads", [1] * 4),)),
    ConvCase((1, 1, 400), (129, 1, 64), "relu", (("strides", [16]),)),
]  # fmt: skip
VOLUMES = [
    ConvCase((2, 16, 5, 9, 11), (32, 16, 3, 3, 3), "relu", (("pads", [1] * 6),)),
    ConvCase((1, 3, 7, 9, 13), (24, 3, 3, 2, 3), "bias",
             (("strides", [2, 1, 2]), ("dilations", [1, 2, 1]), ("pads", [2, 0, 1, 1, 1, 1]))),
    ConvCase((1, 32, 6, 8, 12), (32, 1, 3, 3, 3), "relu",
             (("group", 32), ("dilations", [2, 1, 1]), ("pads", [2, 1, 1, 5, 1, 1]))),
    ConvCase((2, 16, 5, 9, 12), (16, 8, 2, 1, 1), "skip",
             (("group", 2), ("pads", [0, 0, 0, 1, 0, 0]))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("vector_bits", "cases"),
    [long(128, CASES[::3]), long(256, CASES[1::3]), (512, [*CASES, *VOLUMES])],
)
def test_compiled(vector_bits, cases):
    """Each case with the longest vectors, and many with shorter ones."""
    model, feeds = convolution_model(cases, vector_bits)
    expected = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    ).run(None, feeds)
    compiled = graphc.compile(model, pipeline=PIPELINE.format(vector_bits))
    assert compiled.report.rewrites["direct-conv"].count == len(cases)
    for ours, theirs in zip(compiled.run(None, feeds), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


COMPUTED = [CASES[number] for number in (0, 4, 7, 8, 11, 12, 14, 16, 21)]


def test_computed_weights():
    """Weights that are inputs; those of the last convolution, of short rows, are IREE's."""
    few = ConvCase((1, 64, 6, 3), (64, 64, 3, 3), "relu", (("pads", [1] * 4),))
    model, feeds = convolution_model([*COMPUTED, few], 512)
    constants = {each.name: each for each in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Conv":
            weights = constants[node.input[1]]
            model.graph.initializer.remove(weights)
            feeds[weights.name] = numpy_helper.to_array(weights)
            model.graph.input.append(
                helper.make_tensor_value_info(weights.name, weights.data_type, weights.dims)
            )
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    compiled = graphc.compile(model, pipeline=PIPELINE.format(512))
    assert compiled.report.rewrites["direct-conv"].count == len(COMPUTED)
    for ours, theirs in zip(compiled.run(None, feeds), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


def test_long_filters_are_loops(tmp_path):
    """Their size does not change that of the program."""
    case = ConvCase((1, 16, 3000), (16, 1, 1000), "relu", (("group", 16), ("pads", [400, 500])))
    model, _ = convolution_model([case], 256)
    graphc.compile(model, pipeline=PIPELINE.format(256), save_temps=tmp_path)
    (program,) = tmp_path.glob("*.linalg.mlir")
    assert len(program.read_text().splitlines()) < 1000


NAMED_CASES = [
    *(case for case in CASES if case.epilogue != "residual"),
    ConvCase((1, 32, 8, 8), (32, 32, 3, 3), "skip", (("pads", [1] * 4),)),
    ConvCase((2, 32, 9, 14), (32, 1, 5, 5), "skip", (("group", 32), ("pads", [2] * 4))),
    ConvCase((1, 16, 19, 9), (16, 4, 3, 3), "relu", (("group", 4), ("pads", [1, 0, 0, 2]))),
]


@pytest.mark.parametrize(
    ("vector_bits", "named", "cases"),
    [
        long(512, (0, 2, 3), NAMED_CASES[::2]),
        (128, (0, 3), NAMED_CASES[1::2]),
        long(256, (0, 2, 3, 4), VOLUMES[::2]),
        long(256, (0, 2, 3, 4), VOLUMES[1::2]),
        long(256, (2,), VOLUMES),
    ],
)
def test_named_sizes(vector_bits, named, cases):
    """One program is right for sizes that grow and shrink, down to rows shorter than a tile."""
    model, _ = convolution_model(cases, vector_bits, named)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    compiled = graphc.compile(model, pipeline=PIPELINE.format(vector_bits))
    assert compiled.report.rewrites["direct-conv"].count == len(cases)
    _check_sizes(cases, named, compiled, session)


def _check_sizes(cases, named, compiled, session):
    for change in (0, 7, 1, 31, 0):
        resized = [case.resized(named, change) for case in cases]
        _, feeds = convolution_model(resized, change)
        results = zip(compiled.run(None, feeds), session.run(None, feeds), strict=True)
        for ours, theirs in results:
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


SEQUENCES = [
    ConvCase((2, 5, 201), (64, 5, 3), "relu", (("pads", [1, 1]),)),
    ConvCase((1, 16, 300), (8, 16, 7), "bias", (("pads", [3, 3]),)),
    ConvCase((3, 8, 337), (48, 8, 4), "bias", (("strides", [3]), ("dilations", [2]))),
    ConvCase((2, 32, 140), (32, 1, 16), "skip", (("group", 32), ("pads", [6, 9]))),
    ConvCase((1, 16, 300), (16, 1, 24), "relu", (("group", 16), ("pads", [3, 9]))),
    ConvCase((1, 1, 900), (16, 1, 64), "relu", (("pads", [5, 60]), ("strides", [3]))),
    ConvCase((1, 48, 160), (48, 16, 5), "skip", (("group", 3), ("pads", [2, 2]))),
]  # fmt: skip


@pytest.mark.parametrize("named", [(), (2,), (0, 2)])
def test_segments(named, monkeypatch):
    """Long rows are shared among threads, and all panels read a part of one that is in the L2."""
    for name, value in {"L2_SHARE": 1 << 40, "SEGMENT_FLOPS": 0, "MIN_SEGMENT_TILES": 2}.items():
        monkeypatch.setattr(direct_conv_shape, name, value)
    model, _ = convolution_model(SEQUENCES, 256, named)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    compiled = graphc.compile(model, pipeline=PIPELINE.format(256))
    assert compiled.report.rewrites["direct-conv"].count == len(SEQUENCES)
    _check_sizes(SEQUENCES, named, compiled, session)


ROWS = [
    ConvCase((1, 16, 3, 0), (16, 16, 3, 3), "relu", (("pads", [1] * 4),)),
    ConvCase((1, 8, 3, 0), (8, 8, 3, 5), "bias", (("pads", [1, 2, 1, 2]), ("strides", [1, 2]))),
    ConvCase((1, 1, 3, 0), (8, 1, 3, 7), "bias", (("pads", [1, 3, 1, 3]),)),
    ConvCase((1, 16, 9, 0), (16, 16, 1, 3), "bias", (("pads", [0, 6] * 2), ("dilations", [1, 6]))),
    ConvCase((1, 8, 9, 0), (24, 8, 1, 7), "bias", (("pads", [0, 6, 0, 0]),)),
    ConvCase((1, 16, 9, 0), (16, 16, 2, 1), "bias"),
    ConvCase((1, 16, 3, 0), (16, 1, 3, 3), "relu", (("group", 16), ("pads", [1] * 4))),
    ConvCase((1, 24, 3, 0), (24, 1, 5, 5), "bias", (("group", 24), ("pads", [2] * 4),
                                                    ("strides", [1, 2]))),
    ConvCase((1, 32, 3, 0), (32, 1, 5, 3), "bias", (("group", 32), ("pads", [2, 1] * 2))),
    ConvCase((1, 16, 1, 0), (16, 1, 1, 31), "bias", (("group", 16), ("pads", [0, 15] * 2))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("vector_bits", "cases"),
    [(256, ROWS), (512, [ConvCase((1, 16, 3, 0), (48, 16, 3, 3), "bias", (("pads", [1] * 4),))])],
)
def test_every_short_row(vector_bits, cases):
    """Rows of each length around those of tiles: in border tiles alone, with one interior tile,
    with some that overlap, and with some left between. With the longest vectors, interior tiles
    have nine pixels, so that one more of them is as much as a border tile."""
    model, _ = convolution_model(cases, 0, (3,))
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    compiled = graphc.compile(model, pipeline=PIPELINE.format(vector_bits))
    assert compiled.report.rewrites["direct-conv"].count == len(cases)
    for pixels in (*range(1, 37), 56, 224):
        _, feeds = convolution_model([case.resized((3,), pixels) for case in cases], pixels)
        results = zip(compiled.run(None, feeds), session.run(None, feeds), strict=True)
        for ours, theirs in results:
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("vector_bits", [128, 256, 512])
@pytest.mark.parametrize("features", [16, 32, 48, 64, 96, 112, 512])
@pytest.mark.parametrize("pixels", [4, 7, 14, 17, 56, 112])
def test_tiles(pixels, features, vector_bits):
    cpu = CpuModel(vector_bits)
    tile = PixelTiles(cpu).dense(pixels, 3 * 3 * 64, features)
    assert features % tile.features == 0
    assert (tile.vectors - 1) * cpu.lanes < tile.features <= tile.vectors * cpu.lanes
    assert tile.features >= tile.vectors * cpu.lanes * MIN_FILLED
    assert 1 <= tile.pixels <= pixels
    assert tile.pixels * tile.vectors < cpu.registers
    assert tile.pixels * tile.vectors >= 4  # fewer accumulators wait for each other


@pytest.mark.parametrize("vector_bits", [128, 256, 512])
@pytest.mark.parametrize("features", [129, 257, 37, 112, 255])
def test_tiles_that_split_features_unevenly(features, vector_bits):
    """A prime number of features fills vectors, but for a few that are computed twice."""
    lanes, most = CpuModel(vector_bits).lanes, 4
    tile = PixelTiles(CpuModel(vector_bits)).dense(56, 3 * 3 * 64, features, evenly=False)
    computed = -(-features // tile.features) * tile.vectors * lanes
    assert features <= computed < features + most * lanes
