"""Time the generation of tokens by a decoder whose cache grows: graphc and ONNX Runtime, in turns.

::

    python -m graphc.benchmarks.growing_caches --threads 1

The model is written here as optimum exports one: each layer has ``Concat`` of the past and new
keys and values, matmuls and a softmax under a causal mask, in f32 with random weights. A case is
one token behind a number of others, of one sequence. ONNX Runtime has its inputs and outputs bound,
and gets the same cache for each token. Ratios are time over time; below 1, graphc is faster.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..generation import Generator, LanguageModel, load
from .measure import MeasurementPlan, in_turns, largest_difference
from .models import DEFAULT_FOLDER
from .peers import Terms, onnxruntime_options
from .turns import parser_of, report

HEADER = ("context", "/ONNX Runtime", "graphc tokens/s", "ONNX Runtime tokens/s", "difference")
CONTEXTS = (128, 2048)
LAYERS, WIDTH, HEADS, HIDDEN, VOCABULARY, CAPACITY = 8, 512, 8, 1536, 8192, 4096
_HEAD = WIDTH // HEADS
CONFIG = {
    "model_type": "llama", "vocab_size": VOCABULARY, "hidden_size": WIDTH,
    "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "max_position_embeddings": CAPACITY,
    "eos_token_id": 0,
}  # fmt: skip


class GrowingDecoderWriter:
    """Writes the model, node by node."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(0)

    def node(self, op: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """Add a node, whose result has its name."""
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name: str, value: Any, dtype: Any = np.int64) -> str:
        """Add a constant."""
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def weights(self, name: str, *shape: int) -> str:
        """Add a random matrix, whose products with rows of unit variance have that, too."""
        values = self._random.standard_normal(shape, np.float32) / np.float32(math.sqrt(shape[0]))
        return self.constant(name, values, np.float32)

    def mask(self) -> str:
        """The positions that each token sees, added to the scores."""
        shape = self.node("Shape", ["past_key_values.0.key"], "past.shape")
        past = self.node("Gather", [shape, self.constant("two", 2)], "past")
        tokens = self.node("Shape", ["input_ids"], "tokens.shape")
        one, zero = self.constant("one", 1), self.constant("zero", 0)
        total = self.node("Add", [past, self.node("Gather", [tokens, one], "tokens")], "total")
        own = self.node("Range", [past, total, one], "own")
        own = self.node("Unsqueeze", [own, self.constant("last", [1])], "own.column")
        every = self.node("Range", [zero, total, one], "every")
        before = self.node("LessOrEqual", [every, own], "before")
        given = self.node("Cast", ["attention_mask"], "given", to=onnx.TensorProto.BOOL)
        given = self.node("Unsqueeze", [given, self.constant("outer", [1, 2])], "given.rows")
        seen = self.node("And", [before, given], "seen")
        hidden = self.constant("hidden", np.finfo(np.float32).min, np.float32)
        return self.node("Where", [seen, self.constant("shown", 0, np.float32), hidden], "mask")

    def attention(self, x: str, mask: str, name: str) -> str:
        """Attention of the tokens `x` to themselves and the past."""
        parts = {}
        for part in "qkv":
            y = self.node(
                "MatMul", [x, self.weights(f"{name}.{part}.w", WIDTH, WIDTH)], f"{name}.{part}"
            )
            y = self.node("Reshape", [y, "heads"], f"{name}.{part}.heads")
            parts[part] = self.node("Transpose", [y], f"{name}.{part}.turned", perm=[0, 2, 1, 3])
        k, v = (
            self.node(
                "Concat",
                [f"past_key_values.{name}.{kind}", parts[part]],
                f"present.{name}.{kind}",
                axis=2,
            )
            for kind, part in (("key", "k"), ("value", "v"))
        )
        k = self.node("Transpose", [k], f"{name}.k.columns", perm=[0, 1, 3, 2])
        scores = self.node("MatMul", [parts["q"], k], f"{name}.products")
        scores = self.node("Mul", [scores, "scale"], f"{name}.scaled")
        scores = self.node("Add", [scores, mask], f"{name}.scores")
        weights = self.node("Softmax", [scores], f"{name}.weights", axis=-1)
        y = self.node("MatMul", [weights, v], f"{name}.mixed")
        y = self.node("Transpose", [y], f"{name}.rows", perm=[0, 2, 1, 3])
        y = self.node("Reshape", [y, "merged"], f"{name}.merged")
        return self.node("MatMul", [y, self.weights(f"{name}.o.w", WIDTH, WIDTH)], f"{name}.o")

    def layer(self, x: str, mask: str, name: str) -> str:
        """A layer: attention, and two matmuls with an activation between them."""
        y = self.node("LayerNormalization", [x, "ones"], f"{name}.first", axis=-1)
        x = self.node("Add", [x, self.attention(y, mask, name)], f"{name}.attended")
        y = self.node("LayerNormalization", [x, "ones"], f"{name}.second", axis=-1)
        y = self.node("MatMul", [y, self.weights(f"{name}.up.w", WIDTH, HIDDEN)], f"{name}.up")
        y = self.node("Relu", [y], f"{name}.relu")
        y = self.node("MatMul", [y, self.weights(f"{name}.down.w", HIDDEN, WIDTH)], f"{name}.down")
        return self.node("Add", [x, y], f"{name}.out")

    def write(self) -> onnx.ModelProto:
        """The whole model."""
        self.constant("heads", [0, 0, HEADS, _HEAD])
        self.constant("merged", [0, 0, WIDTH])
        self.constant("scale", 1 / math.sqrt(_HEAD), np.float32)
        self.constant("ones", np.ones(WIDTH), np.float32)
        mask = self.mask()
        tokens = self.node(
            "Gather", [self.weights("embedding", VOCABULARY, WIDTH), "input_ids"], "embedded"
        )
        places = self.node(
            "Gather", [self.weights("places", CAPACITY, WIDTH), "position_ids"], "placed"
        )
        x = self.node("Add", [tokens, places], "x")
        for number in range(LAYERS):
            x = self.layer(x, mask, str(number))
        self.node("MatMul", [x, self.weights("head", WIDTH, VOCABULARY)], "logits")
        info, i64, f32 = (
            helper.make_tensor_value_info,
            onnx.TensorProto.INT64,
            onnx.TensorProto.FLOAT,
        )
        caches = [f"{number}.{kind}" for number in range(LAYERS) for kind in ("key", "value")]
        inputs = [info(name, i64, ["b", "s"]) for name in ("input_ids", "position_ids")]
        inputs += [info("attention_mask", i64, ["b", "t"])]
        inputs += [
            info(f"past_key_values.{each}", f32, ["b", HEADS, "p", _HEAD]) for each in caches
        ]
        outputs = [info("logits", f32, ["b", "s", VOCABULARY])]
        outputs += [info(f"present.{each}", f32, ["b", HEADS, "t", _HEAD]) for each in caches]
        graph = helper.make_graph(self.nodes, "growing", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_folder(folder: Path) -> Path:
    """Write the model and its config to `folder`; return the model's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.onnx"
    onnx.save(GrowingDecoderWriter().write(), path)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return path


def _graphc_step(model: LanguageModel, prompt: Sequence[int]) -> Callable[[], np.ndarray]:
    """A function that generates a token behind `prompt`, and takes it back."""
    generator = Generator(model, max_length=CAPACITY, min_length=CAPACITY)
    generator.append_tokens(prompt)
    generator.get_logits()

    def step() -> np.ndarray:
        generator.rewind_to(len(prompt) - 1)
        generator.append_tokens(prompt[-1:])
        return generator.get_logits()

    return step


def _onnxruntime_step(path: Path, prompt: Sequence[int], threads: int) -> Callable[[], np.ndarray]:
    """The same by ONNX Runtime, with the cache of all tokens of `prompt` but the last."""
    import onnxruntime

    session = onnxruntime.InferenceSession(
        str(path), onnxruntime_options(Terms(threads)), providers=["CPUExecutionProvider"]
    )
    names = [each.name for each in session.get_outputs()]
    before = len(prompt) - 1
    empty = np.zeros((1, HEADS, 0, _HEAD), np.float32)
    feeds = {name.replace("present", "past_key_values"): empty for name in names[1:]}
    ids, places = np.array([prompt], np.int64), np.arange(len(prompt))[None]
    first = {"input_ids": ids[:, :before], "position_ids": places[:, :before]}
    caches = session.run(
        names[1:], {**feeds, **first, "attention_mask": np.ones_like(first["input_ids"])}
    )
    own = {
        "input_ids": ids[:, before:],
        "position_ids": places[:, before:],
        "attention_mask": np.ones_like(ids),
    }
    own |= dict(zip(feeds, caches, strict=True))
    held = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in own.items()}

    def step() -> np.ndarray:
        binding = session.io_binding()
        for name, value in held.items():
            binding.bind_ortvalue_input(name, value)
        for name in names:
            binding.bind_output(name)
        session.run_with_iobinding(binding)
        return binding.get_outputs()[0].numpy()[:, -1]

    return step


@dataclass(frozen=True)
class GrowingRow:
    """Tokens per second behind a context."""

    context: int
    to_onnxruntime: float
    tokens_per_second: Mapping[str, float]
    difference: float
    """From ONNX Runtime's logits, relative to the largest."""

    def cells(self) -> tuple[str, ...]:
        """The cells of the row, in the order of `HEADER`."""
        speeds = (f"{speed:.1f}" for speed in self.tokens_per_second.values())
        return str(self.context), f"{self.to_onnxruntime:.2f}", *speeds, f"{self.difference:.1e}"


def measure(
    path: Path, model: LanguageModel, context: int, threads: int, plan: MeasurementPlan
) -> GrowingRow:
    """Measure one token behind `context` others."""
    prompt = np.random.default_rng(context).integers(1, VOCABULARY, context + 1).tolist()
    steps = {
        "graphc": _graphc_step(model, prompt),
        "onnxruntime": _onnxruntime_step(path, prompt, threads),
    }
    difference = largest_difference(*(step() for step in steps.values()))
    timings = in_turns(steps, plan)
    speeds = {name: 1000 / timing.median for name, timing in timings.items()}
    return GrowingRow(context, timings["graphc"].ratio(timings["onnxruntime"]), speeds, difference)


def _rows(chosen: Sequence[str], threads: int, plan: MeasurementPlan) -> Iterator[GrowingRow]:
    path = write_folder(DEFAULT_FOLDER / "growing-cache")
    with load(path.parent, threads=threads) as model:
        for context in map(int, chosen or CONTEXTS):
            yield measure(path, model, context, threads, plan)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = parser_of("Time a decoder whose cache grows.").parse_args(arguments)
    plan = MeasurementPlan(rounds=options.rounds, burst_seconds=options.burst)
    rows = _rows(options.cases, options.threads, plan)
    report(HEADER, rows, {"ONNX Runtime": "to_onnxruntime"}, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
