"""Time decoders with weights of few bits: graphc and the peers, in turns.

::

    python -m graphc.benchmarks.decoders                  # all cases
    python -m graphc.benchmarks.decoders llama768
    python -m graphc.benchmarks.decoders llama-1.1b-decode-level4

The models are written here, in the form of onnxruntime-genai's builder: MatMulNBits,
GroupQueryAttention with rotary embedding, RMS normalisation. Weights are random. A case is one step
with a cache of `past` positions: ``decode`` of one token, ``prefill`` of many. graphc and ONNX
Runtime keep the cache in place. Ratios are time over time; below 1, graphc is faster. ``GB/s``
counts the packed weights, once per step. ``of reading`` and ``of copying`` are its shares of what
as many threads read from memory by a loop of numpy, or read and write by one that copies, in turns
with the step.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .measure import MeasurementPlan, largest_difference
from .memory_loops import COPYING, LOOP_BYTES, READING
from .models import DEFAULT_FOLDER
from .peers import Terms
from .turns import optional, parser_of, report, take_turns

HEADER = (
    "model", "step", "level", "/best peer", "graphc ms", "peers ms", "GB/s", "of reading",
    "of copying", "difference",
)  # fmt: skip
PEERS = ("onnxruntime-in-place", "openvino")
MINE = "graphc-in-place"
_FLOAT, _INT32 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT32


@dataclass(frozen=True)
class Decoder:
    """A Llama-like decoder."""

    name: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    vocabulary: int
    block: int = 32
    bits: int = 4

    @property
    def head(self) -> int:
        return self.width // self.heads


@dataclass(frozen=True)
class CachedStep:
    """One call: `tokens` tokens behind `past` positions, of which the cache holds `capacity`."""

    name: str
    tokens: int
    past: int
    capacity: int


DECODERS = (
    Decoder("llama768", 8, 768, 12, 12, 2048, 32000),
    Decoder("smollm2-135m", 30, 576, 9, 3, 1536, 49152),
)
LARGE = (Decoder("llama-1.1b", 22, 2048, 32, 4, 5632, 32000),)
"""Decoders that take some GiB of memory and are measured if they are named."""
STEPS = (
    CachedStep("decode", 1, 255, 256),
    CachedStep("prefill", 128, 0, 256),
    CachedStep("prefill512", 512, 0, 512),
)
LEVELS = (0, 4)


class DecoderWriter:
    """Writes the nodes of a decoder, with static sizes."""

    def __init__(self, model: Decoder, step: CachedStep, level: int):
        self.model, self.step, self.level = model, step, level
        self.random = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.packed_bytes = 0

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def node(self, op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes) -> str:
        domain = "com.microsoft" if op in ("MatMulNBits", "GroupQueryAttention") else ""
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def matmul(self, x: str, name: str, k: int, n: int) -> str:
        """A matmul by packed weights without zero points."""
        bits, block = self.model.bits, self.model.block
        packed = self.random.integers(0, 256, (n, k // block, block * bits // 8), dtype=np.uint8)
        spread = 1 / (np.sqrt(k) * (1 << (bits - 1)))
        scales = self.random.uniform(spread, 2 * spread, n * (k // block)).astype(np.float32)
        scales = scales.astype(np.float16).astype(np.float32)
        self.packed_bytes += packed.nbytes + scales.nbytes // 2
        inputs = [
            x, self.constant(f"{name}.weight", packed), self.constant(f"{name}.scales", scales),
        ]  # fmt: skip
        return self.node(
            "MatMulNBits", inputs, [name], K=k, N=n, bits=bits, block_size=block,
            accuracy_level=self.level,
        )  # fmt: skip

    def norm(self, x: str, name: str) -> str:
        scale = self.random.uniform(0.5, 1.5, self.model.width).astype(np.float32)
        scale_name = self.constant(f"{name}.scale", scale)
        return self.node("SimplifiedLayerNormalization", [x, scale_name], [name], epsilon=1e-5)

    def layer(self, x: str, name: str) -> str:
        """A layer with attention to a cache and a gated MLP."""
        m, kv = self.model, self.model.kv_heads * self.model.head
        h = self.norm(x, f"{name}.norm1")
        q = self.matmul(h, f"{name}.q", m.width, m.width)
        k, v = (self.matmul(h, f"{name}.{part}", m.width, kv) for part in "kv")
        outputs = [f"{name}.attention", f"{name}.present_key", f"{name}.present_value"]
        past = [f"{name}.past_key", f"{name}.past_value"]
        attended = self.node(
            "GroupQueryAttention",
            [q, k, v, *past, "seqlens_k", "total_sequence_length", "cos", "sin"], outputs,
            num_heads=m.heads, kv_num_heads=m.kv_heads, do_rotary=1,
        )  # fmt: skip
        y = self.matmul(attended, f"{name}.o", m.width, m.width)
        x = self.node("Add", [x, y], [f"{name}.residual1"])
        h = self.norm(x, f"{name}.norm2")
        gate = self.matmul(h, f"{name}.gate", m.width, m.hidden)
        up = self.matmul(h, f"{name}.up", m.width, m.hidden)
        sigmoid = self.node("Sigmoid", [gate], [f"{name}.sigmoid"])
        silu = self.node("Mul", [gate, sigmoid], [f"{name}.silu"])
        product = self.node("Mul", [silu, up], [f"{name}.product"])
        y = self.matmul(product, f"{name}.down", m.hidden, m.width)
        return self.node("Add", [x, y], [f"{name}.residual2"])

    def write(self) -> onnx.ModelProto:
        """The model: embeddings in, logits of all tokens and the caches out."""
        m, s = self.model, self.step
        half = np.outer(np.arange(s.capacity), 10000.0 ** -(np.arange(m.head // 2) * 2 / m.head))
        self.constant("cos", np.cos(half).astype(np.float32))
        self.constant("sin", np.sin(half).astype(np.float32))
        x, caches = "embeddings", []
        for number in range(m.layers):
            x = self.layer(x, f"layer{number}")
            caches += [f"layer{number}.{{}}_{part}" for part in ("key", "value")]
        self.matmul(self.norm(x, "norm"), "logits", m.width, m.vocabulary)
        shape = [1, m.kv_heads, s.capacity, m.head]
        info = helper.make_tensor_value_info
        inputs = [
            info("embeddings", _FLOAT, [1, s.tokens, m.width]), info("seqlens_k", _INT32, [1]),
            info("total_sequence_length", _INT32, [1]),
            *(info(name.format("past"), _FLOAT, shape) for name in caches),
        ]  # fmt: skip
        outputs = [
            info("logits", _FLOAT, [1, s.tokens, m.vocabulary]),
            *(info(name.format("present"), _FLOAT, shape) for name in caches),
        ]
        graph = helper.make_graph(self.nodes, m.name, inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def write_decoder(model: Decoder, step: CachedStep, level: int) -> tuple[Path, int]:
    """The path of a decoder, which is written anew, and the bytes of its packed weights."""
    writer = DecoderWriter(model, step, level)
    DEFAULT_FOLDER.mkdir(exist_ok=True)
    path = DEFAULT_FOLDER / f"{model.name}-{step.name}-level{level}.onnx"
    onnx.save(writer.write(), path)
    return path, writer.packed_bytes


def inputs_of(path: Path, step: CachedStep) -> dict[str, np.ndarray]:
    """Random inputs of a step."""
    random, feeds = np.random.default_rng(1), {}
    for value in onnx.load(path, load_external_data=False).graph.input:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        feeds[value.name] = random.standard_normal(shape, np.float32)
    total = step.past + step.tokens
    feeds["seqlens_k"] = np.array([total - 1], np.int32)
    feeds["total_sequence_length"] = np.array([total], np.int32)
    return feeds


@dataclass(frozen=True)
class DecoderRow:
    """The times of a step in milliseconds."""

    model: str
    step: str
    level: int
    mine: float
    peers: Mapping[str, float]
    to_best_peer: float | None
    gigabytes_per_second: float
    shares: tuple[float, ...]
    """Shares of the bandwidth of a loop that only reads, and of one that copies."""
    difference: float | None
    """From ONNX Runtime's result, relative to the largest element."""

    def cells(self) -> tuple[str, ...]:
        """The cells of the row, in the order of `HEADER`."""
        peers = " ".join(f"{self.peers[name]:.4g}" for name in PEERS if name in self.peers)
        return (
            self.model, self.step, str(self.level), optional(self.to_best_peer, ".2f"),
            f"{self.mine:.4g}", peers, f"{self.gigabytes_per_second:.1f}",
            *(f"{share:.0%}" for share in self.shares),
            optional(self.difference, ".1e"),
        )  # fmt: skip


def measure(
    model: Decoder, step: CachedStep, level: int, threads: int, plan: MeasurementPlan
) -> DecoderRow:
    """Measure one step."""
    path, packed = write_decoder(model, step, level)
    loops = (READING, COPYING)
    entrants = {name: (name, path) for name in (MINE, *PEERS, *loops)}
    turns = take_turns(entrants, inputs_of(path, step), Terms(threads), plan, required=MINE)
    timings, best = turns.timings, turns.best(PEERS)
    mine, truth = timings[MINE], turns.results.get(PEERS[0])
    return DecoderRow(
        model.name, step.name, level, mine.median,
        {name: timings[name].median for name in PEERS if name in timings},
        mine.ratio(timings[best]) if best else None,
        packed / mine.median / 1e6,
        tuple(packed / mine.median * timings[each].median / LOOP_BYTES[each] for each in loops),
        None if truth is None else largest_difference(turns.results[MINE][0], truth[0]),
    )  # fmt: skip


def _rows(chosen: Sequence[str], threads: int, plan: MeasurementPlan) -> Iterator[DecoderRow]:
    for model in (*DECODERS, *LARGE):
        for step in STEPS:
            for level in LEVELS:
                name = f"{model.name}-{step.name}-level{level}"
                if any(part in name for part in chosen) or (not chosen and model not in LARGE):
                    yield measure(model, step, level, threads, plan)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = parser_of("Time decoders with weights of few bits.").parse_args(arguments)
    plan = MeasurementPlan(rounds=options.rounds, burst_seconds=options.burst)
    rows = _rows(options.cases, options.threads, plan)
    report(HEADER, rows, {"best peer": "to_best_peer"}, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
