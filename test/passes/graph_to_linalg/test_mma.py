"""Tests of the lowering to kernels for tensor cores: programs, interpreted."""

import numpy as np
import pytest
from graph_programs import build_module, main_of

from graphc.benchmarks.measure import largest_difference
from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.mlir import ir
from graphc.passes.infra.pipeline import run_pipeline
from graphc.passes.infra.report import Report
from graphc.passes.kernels import mma_tiles
from graphc.passes.kernels.mma_tiles import UNKNOWN_SIZES, TileCost
from graphc.passes.kernels.wgmma_matmul import WgmmaTile
from harness import simt

PASSES = (
    "graph-transpose-weights{tf32=3},graph-fuse-epilogue,canonicalize,"
    "convert-graph-to-linalg{gpu=true mma-sync=true tf32=3},canonicalize"
)
WARPGROUPS = PASSES.replace("mma-sync=true", "mma-sync=true warpgroups=true")
F16 = np.float16
DTYPES = {"f16": F16, "f32": np.float32}


def weights(*shape, dtype=F16):
    return graph.constant(value=(np.random.default_rng(1).standard_normal(shape) / 8).astype(dtype))


def check(body, *types, kernels=1, passes=PASSES, bound=None, uses=""):
    """Lower the program that `body` builds: it is `kernels` kernels, which compute the same, with
    instructions whose text is `uses`."""
    with ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        module = build_module(body, *types)
        shapes = [graph.type_of(value).static_shape for value in main_of(module).arguments]
        rng = np.random.default_rng(0)
        dtypes = [graph.type_of(value).dtype for value in main_of(module).arguments]
        pairs = zip(shapes, dtypes, strict=True)
        inputs = [rng.standard_normal(shape).astype(dtype) for shape, dtype in pairs]
        expected = evaluate_function(main_of(module), inputs)
        run_pipeline(module, passes)
        assert len(simt.find_all(module.operation, "flow.dispatch")) == kernels
        assert uses in str(module)
        for have, want in zip(simt.run_program(module, inputs), expected, strict=True):
            assert have.dtype == want.dtype
            bound = bound or (2e-3 if F16 in dtypes else 1e-6)
            assert largest_difference(have, want.astype(np.float64)) <= bound


@pytest.mark.parametrize(
    ("dtype", "passes"), [("f16", PASSES), ("f32", PASSES), ("f16", WARPGROUPS)]
)
def test_convolution_and_what_follows(dtype, passes, monkeypatch):
    element = DTYPES[dtype]
    uses = "wgmma" if passes == WARPGROUPS else "mma.sync"
    tile = WgmmaTile(64, 64, 64, (4, 1), 4, (False, True))
    monkeypatch.setattr(mma_tiles, "WGMMA_COSTS", {tile: TileCost(0, 0, 0, 1)})

    def body(x, r):
        y = graph.conv(
            x,
            weights(3, 3, 16, 40, dtype=element),
            strides=(2, 1),
            dilations=(1, 1),
            low=(1, 1),
            high=(1, 1),
            groups=1,
            layout="channels_last",
        )
        return graph.relu(graph.add(graph.add(y, weights(40, dtype=element)), r))

    check(body, f"2x9x8x16x{dtype}", f"2x5x8x40x{dtype}", passes=passes, uses=uses)


@pytest.mark.parametrize(
    ("channels", "strides", "kernel", "low"),
    [(3, (2, 2), (7, 7), (3, 3)), (3, (1, 1), (3, 3), (1, 1)), (9, (1, 2), (2, 3), (0, 1))],
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_images_of_odd_channels(channels, strides, kernel, low, dtype):
    """They get more channels, and pairs of pixels of 16 bits where windows start at even ones."""
    element = DTYPES[dtype]

    def body(x):
        x = graph.cast(graph.max_(x, graph.constant(value=np.float32(-1))), to=np.dtype(element))
        x = graph.transpose(x, perm=[0, 2, 3, 1])
        return graph.conv(
            x,
            weights(*kernel, channels, 16, dtype=element),
            strides=strides,
            dilations=(1, 1),
            low=low,
            high=low,
            groups=1,
            layout="channels_last",
        )

    check(body, f"2x{channels}x12x11xf32", kernels=2, bound=2e-3 if dtype == "f16" else 1e-6)


@pytest.mark.parametrize("bulk", [(False, False), (False, True), (True, True)])
def test_warpgroups_compute_the_same(monkeypatch, bulk):
    tile = WgmmaTile(64, 32, 64, (4, 1), 3, bulk)
    monkeypatch.setattr(mma_tiles, "WGMMA_COSTS", {tile: TileCost(0, 0, 0, 1)})

    def body(x, r):
        y = graph.matmul(x, weights(192, 40))
        return graph.relu(graph.add(graph.add(y, weights(40)), r))

    check(body, "2x33x192xf16", "2x33x40xf16", passes=WARPGROUPS, uses="wgmma")


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("channels", [24, 6])
def test_depthwise_convolution_and_what_follows(dtype, channels):
    element = DTYPES[dtype]

    def body(x):
        y = graph.conv(
            x,
            weights(3, 3, 1, channels, dtype=element),
            strides=(2, 1),
            dilations=(1, 2),
            low=(1, 2),
            high=(1, 2),
            groups=channels,
            layout="channels_last",
        )
        return graph.relu(graph.add(y, weights(channels, dtype=element)))

    check(body, f"2x9x8x{channels}x{dtype}")


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_max_pool(dtype):
    def body(x):
        return graph.max_pool(
            x,
            kernel=(3, 2),
            strides=(2, 2),
            dilations=(1, 1),
            low=(1, 0),
            high=(1, 1),
            layout="channels_last",
        )

    check(body, f"2x9x7x16x{dtype}")


def test_matmul_and_what_follows():
    def body(x):
        y = graph.add(graph.matmul(x, weights(64, 24)), weights(24))
        return graph.cast(graph.relu(graph.mul(y, y)), to=np.dtype(np.float32))

    check(body, "2x5x64xf16")


@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul_with_a_computed_operand(dtype):
    check(graph.matmul, f"33x64x{dtype}", f"64x40x{dtype}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches_of_matmuls(dtype):
    check(graph.matmul, f"2x3x9x16x{dtype}", f"2x3x16x10x{dtype}")


def test_odd_rows_of_f32():
    check(graph.matmul, "5x7xf32", "7x3xf32")


def test_batches_of_matmuls_with_a_transposed_operand():
    def body(x, y):
        return graph.relu(graph.matmul(x, graph.transpose(y, perm=[0, 2, 1])))

    check(body, "3x9x16xf16", "3x7x16xf16")


@pytest.mark.parametrize("kind", ["transposed", "as it is"])
def test_attention_reads_the_product_of_all_three(kind):
    def body(x):
        y = graph.matmul(x, weights(32, 3 * 2 * 16))
        y = graph.reshape(y, shape=(20, 3, 2, 16))
        parts = [
            graph.slice_(y, starts=(0, n, 0, 0), sizes=(20, 1, 2, 16), steps=(1, 1, 1, 1))
            for n in range(3)
        ]
        q, k, v = (
            graph.transpose(graph.reshape(part, shape=(20, 2, 16)), perm=[1, 0, 2])
            for part in parts
        )
        y = graph.attention(q, k, v, None, scale=0.25, causal=True)
        if kind == "as it is":
            return y
        return graph.reshape(graph.transpose(y, perm=[1, 0, 2]), shape=(20, 32))

    check(body, "20x32xf16", kernels=2)


def test_the_report_says_what_the_kernels_compute():
    def body(x, y, z):
        return graph.matmul(x, y), graph.matmul(x, z), graph.matmul(z, z)

    with ir.Context(), ir.Location.name("n"):
        graph.Graph.load()
        module = build_module(body, "4x6xf16", "6x8xf16", "nx6x6xf16")
        report = Report()
        run_pipeline(module, PASSES, report=report)
    statistics = report.rewrites["mma-matmul"]
    assert statistics.count == 1
    assert statistics.declined.keys() == {UNKNOWN_SIZES}
