"""The choice of the next token as ONNX nodes, which are compiled into the model.

The operators are those that all opsets from 13 on have alike, because the nodes are appended to
models of any opset.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnx.parser

from .search_options import SearchOptions

PREFIX = "sampling_"
LOGITS, TOKENS, FINITE = f"{PREFIX}logits", f"{PREFIX}tokens", f"{PREFIX}is_finite"

_GRAPH = """
sampling (
  float[{batch}, {vocab}] logits, bool[{batch}, {vocab}] seen, bool[{batch}, {vocab}] allowed,
  float[{batch}, 1] temperature, int64[{batch}, 1] top_k, float[{batch}, 1] top_p,
  float[{batch}, 1] min_p, float[{batch}, 1] penalty, float[{batch}, 1] uniform, bool do_sample
) => (int64[{batch}] tokens, bool[{batch}] is_finite)
<int64[1] last = {{1}}, int64[1] first = {{0}}, float zero = {{0}}, int64 axis = {{1}},
 int64[1] count = {{{vocab}}}, float hidden = {{-3.4028235e38}}, int64 one = {{1}}>
{{
  is_nan = IsNaN(logits)
  is_infinite = IsInf<detect_negative = 0>(logits)
  is_wrong = Or(is_nan, is_infinite)
  wrong = Cast<to = 6>(is_wrong)
  wrong_count = ReduceSum<keepdims = 0>(wrong, last)
  none = Cast<to = 6>(zero)
  is_finite = Equal(wrong_count, none)

  is_positive = Greater(logits, zero)
  divided = Div(logits, penalty)
  multiplied = Mul(logits, penalty)
  weakened = Where(is_positive, divided, multiplied)
  penalized = Where(seen, weakened, logits)
  scores = Where(allowed, penalized, hidden)

  tokens = If(do_sample) <
    else_branch = greedy () => (int64[{batch}] most_probable) {{
      most_probable = ArgMax<axis = 1, keepdims = 0>(scores)
    }},
    then_branch = sampled () => (int64[{batch}] drawn) {{
      sorted, order = TopK<axis = 1>(scores, count)
      largest = Gather<axis = 1>(sorted, first)
      below = Sub(sorted, largest)
      scaled = Div(below, temperature)
      weights = Exp(scaled)
      sums = CumSum(weights, axis)
      within_k_sum = Sub(top_k, one)
      sum_k = GatherElements<axis = 1>(sums, within_k_sum)
      before = Sub(sums, weights)
      share = Mul(top_p, sum_k)
      in_share = Less(before, share)
      is_weak = Less(weights, min_p)
      is_strong = Not(is_weak)
      in_both = And(in_share, is_strong)
      both = Cast<to = 7>(in_both)
      both_count = ReduceSum(both, last)
      bounded = Min(both_count, top_k)
      kept = Max(bounded, one)
      last_kept = Sub(kept, one)
      kept_sum = GatherElements<axis = 1>(sums, last_kept)
      point = Mul(uniform, kept_sum)
      is_after = Greater(sums, point)
      is_before = Not(is_after)
      passed = Cast<to = 7>(is_before)
      passed_count = ReduceSum(passed, last)
      rank = Min(passed_count, last_kept)
      choice = GatherElements<axis = 1>(order, rank)
      drawn = Squeeze(choice, last)
    }}
  >
}}
"""
"""All of the tokens that remain stand first when they are sorted, so that each option is a number
of tokens, and the draw is one comparison with the sums of the weights."""


def sampling_graph(batch: int, vocab: int) -> onnx.GraphProto:
    """The graph from logits ``[batch, vocab]`` to tokens; its values begin with `PREFIX`.

    `FINITE` is false for rows with logits that are NaN or infinite.
    """
    graph = onnx.parser.parse_graph(_GRAPH.format(batch=batch, vocab=vocab))
    _add_prefix(graph)
    return graph


def _add_prefix(graph: onnx.GraphProto) -> None:
    """Rename every value; `onnx.compose.add_prefix_graph` leaves those that a branch captures."""
    for value in (*graph.input, *graph.output, *graph.initializer):
        value.name = PREFIX + value.name
    for node in graph.node:
        node.name = PREFIX + node.output[0]
        node.input[:] = [PREFIX + name for name in node.input]
        node.output[:] = [PREFIX + name for name in node.output]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _add_prefix(attribute.g)


@dataclass(frozen=True)
class RowSampling:
    """The choice of one row's next token, by `options` with the row's own seed.

    `seen` and `allowed` are bool ``[vocab]``. `position` is the length of the sequence: each
    position has a random number of its own.
    """

    options: SearchOptions
    seen: np.ndarray
    allowed: np.ndarray
    position: int


def sampling_feeds(rows: Sequence[RowSampling]) -> dict[str, np.ndarray]:
    """The inputs of `sampling_graph` but the logits, for a batch of `rows`.

    Where some rows draw, the others do so among one token, which is the most probable one.
    """
    vocab = rows[0].seen.size
    options = [row.options for row in rows]
    feeds = {
        "seen": np.stack([row.seen for row in rows]),
        "allowed": np.stack([row.allowed for row in rows]),
        "temperature": _column([each.temperature for each in options], np.float32),
        "top_k": _column([_candidates(each, vocab) for each in options], np.int64),
        "top_p": _column([each.top_p for each in options], np.float32),
        "min_p": _column([each.min_p for each in options], np.float32),
        "penalty": _column([each.repetition_penalty for each in options], np.float32),
        "uniform": _column([_uniform(row) for row in rows], np.float32),
        "do_sample": np.array(any(each.do_sample for each in options)),
    }
    return {PREFIX + name: array for name, array in feeds.items()}


def _column(values: Sequence[float], dtype: type) -> np.ndarray:
    return np.array(values, dtype)[:, None]


def _candidates(options: SearchOptions, vocab: int) -> int:
    return min(options.top_k or vocab, vocab) if options.do_sample else 1


def _uniform(row: RowSampling) -> float:
    """A number from 0 to 1, by the seed and the position."""
    if not row.options.do_sample:
        return 0.0
    bits = np.random.Philox(key=row.options.random_seed, counter=row.position)
    return np.random.Generator(bits).random(dtype=np.float32)
