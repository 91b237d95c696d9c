"""Time attention to caches of keys and values: graphc and the peers, in turns.

::

    python -m graphc.benchmarks.cached_attention --threads 1
    python -m graphc.benchmarks.cached_attention mha growing

A model is one attention, a step of one token behind `PAST` others. Caches have a fixed capacity
and stay in place from call to call, or grow: a step returns a longer one. Ratios are time over
time; below 1, graphc is faster.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from .measure import MeasurementPlan, largest_difference
from .models import DEFAULT_FOLDER
from .peers import Terms
from .turns import optional, parser_of, report, take_turns

HEADER = ("attention", "/best peer", "graphc ms", "peers ms", "difference")
PAST, CAPACITY = 1000, 1024
HEADS, HEAD_SIZE = 12, 64


@dataclass(frozen=True)
class AttentionForm:
    """One operator and its attributes, `shared` heads of keys, and inputs beside those of all."""

    name: str
    op: str = "GroupQueryAttention"
    shared: int = 4
    grows: bool = False
    attributes: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Shapes of more inputs, by their positions."""
    tokens: int = 1


_SINK, _BIAS = {11: (HEADS,)}, {10: (1, 1, 1, PAST + 1)}
FORMS = (
    AttentionForm("gqa"),
    AttentionForm("gqa-sink", more=_SINK),
    AttentionForm("gqa-bias", more=_BIAS),
    AttentionForm("gqa-softcap", attributes={"softcap": 30.0}),
    AttentionForm("gqa-window", attributes={"local_window_size": 128}),
    AttentionForm("gqa-growing", grows=True),
    AttentionForm("mha-growing", "MultiHeadAttention", HEADS, True),
    AttentionForm("attention23-growing", "Attention", 4, True),
    AttentionForm("mha-growing-prefill", "MultiHeadAttention", HEADS, True, tokens=128),
)


def write_attention(form: AttentionForm) -> onnx.ModelProto:
    """A model of `form` with named sizes where the cache grows."""
    is_gqa, shared = form.op == "GroupQueryAttention", form.shared
    tokens: int | str = "tokens" if form.grows else form.tokens
    length: int | str = "past" if form.grows else CAPACITY
    cache = [1, shared, length, HEAD_SIZE]
    shapes: dict[str, list[int | str]] = {
        "q": [1, tokens, HEADS * HEAD_SIZE],
        **{name: [1, tokens, shared * HEAD_SIZE] for name in "kv"},
        **{f"past_{name}": cache for name in ("key", "value")},
    }
    names = ["q", "k", "v", "past_key", "past_value"]
    attributes: dict[str, Any] = dict(form.attributes)
    if is_gqa:
        names += ["seqlens_k", "total_sequence_length"]
        attributes |= {"num_heads": HEADS, "kv_num_heads": shared}
    elif form.op == "Attention":
        names.insert(3, "")
        attributes |= {"q_num_heads": HEADS, "kv_num_heads": shared, "is_causal": 1}
    else:
        names[3:3] = ["", "", ""]
        attributes |= {"num_heads": HEADS, "unidirectional": 1}
    for position, shape in form.more.items():
        names += [""] * (position + 1 - len(names))
        names[position] = f"input{position}"
        shapes[names[position]] = list(shape)
    domain = "" if form.op == "Attention" else "com.microsoft"
    outputs = ["y", "present_key", "present_value"]
    node = helper.make_node(form.op, names, outputs, domain=domain, **attributes)
    info = helper.make_tensor_value_info
    inputs = [info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    lengths = [name for name in names if name in ("seqlens_k", "total_sequence_length")]
    inputs += [info(name, onnx.TensorProto.INT32, [1]) for name in lengths]
    returned = [info(name, onnx.TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([node], form.name, inputs, returned)
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def inputs_of(form: AttentionForm, model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Random inputs of a step."""
    random, feeds = np.random.default_rng(0), {}
    sizes = {"past": PAST, "tokens": form.tokens}
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        shape = [d.dim_value or sizes[d.dim_param] for d in dims]
        feeds[value.name] = random.standard_normal(shape, np.float32)
    total = PAST + form.tokens
    for name, number in (("seqlens_k", total - 1), ("total_sequence_length", total)):
        if name in feeds:
            feeds[name] = np.array([number], np.int32)
    return feeds


@dataclass(frozen=True)
class AttentionRow:
    """The times of a form in milliseconds."""

    name: str
    mine: float
    peers: Mapping[str, float]
    to_best_peer: float | None
    difference: float | None
    """From ONNX Runtime's result, relative to the largest element."""

    def cells(self) -> tuple[str, ...]:
        """The cells of the row, in the order of `HEADER`."""
        peers = " ".join(f"{time:.4g}" for time in self.peers.values())
        return (
            self.name, optional(self.to_best_peer, ".2f"), f"{self.mine:.4g}", peers,
            optional(self.difference, ".1e"),
        )  # fmt: skip


def measure(form: AttentionForm, threads: int, plan: MeasurementPlan) -> AttentionRow:
    """Measure one form."""
    model = write_attention(form)
    DEFAULT_FOLDER.mkdir(exist_ok=True)
    path: Path = DEFAULT_FOLDER / f"attention-{form.name}.onnx"
    onnx.save(model, path)
    suffix = "" if form.grows else "-in-place"
    mine, peer = f"graphc{suffix}", f"onnxruntime{suffix}"
    entrants = {name: (name, path) for name in (mine, peer)}
    turns = take_turns(entrants, inputs_of(form, model), Terms(threads), plan, required=mine)
    timings, best = turns.timings, turns.best([peer])
    truth = turns.results.get(peer)
    return AttentionRow(
        form.name, timings[mine].median,
        {name: timings[name].median for name in (peer,) if name in timings},
        timings[mine].ratio(timings[best]) if best else None,
        None if truth is None else largest_difference(turns.results[mine][0], truth[0]),
    )  # fmt: skip


def _rows(chosen: Sequence[str], threads: int, plan: MeasurementPlan) -> Iterator[AttentionRow]:
    for form in FORMS:
        if not chosen or any(part in form.name for part in chosen):
            yield measure(form, threads, plan)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = parser_of("Time attention to caches of keys and values.").parse_args(arguments)
    plan = MeasurementPlan(rounds=options.rounds, burst_seconds=options.burst)
    rows = _rows(options.cases, options.threads, plan)
    report(HEADER, rows, {"best peer": "to_best_peer"}, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
