"""The choice of the next token as ONNX nodes, which are compiled into the model.

The operators are those that all opsets from 13 on have alike, because the nodes are appended to
models of any opset.
"""

from collections.abc import Mapping

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


def sampling_feeds(
    options: SearchOptions,
    seen: np.ndarray,
    allowed: np.ndarray,
    positions: Mapping[int, int],
) -> dict[str, np.ndarray]:
    """The inputs of `sampling_graph` but the logits.

    `seen` and `allowed` are bool ``[batch, vocab]``. `positions` has the lengths of sequences by
    their numbers: the random numbers depend on both.
    """
    batch, vocab = seen.shape

    def column(value: float, dtype: type) -> np.ndarray:
        return np.full((batch, 1), value, dtype)

    feeds = {
        "seen": seen,
        "allowed": allowed,
        "temperature": column(options.temperature, np.float32),
        "top_k": column(min(options.top_k or vocab, vocab), np.int64),
        "top_p": column(options.top_p, np.float32),
        "min_p": column(options.min_p, np.float32),
        "penalty": column(options.repetition_penalty, np.float32),
        "uniform": _uniform(options, positions),
        "do_sample": np.array(options.do_sample),
    }
    return {PREFIX + name: array for name, array in feeds.items()}


def _uniform(options: SearchOptions, positions: Mapping[int, int]) -> np.ndarray:
    """A number from 0 to 1 for each row, f32 ``[batch, 1]``, from its seed and its position."""
    if not options.do_sample:
        return np.zeros((len(positions), 1), np.float32)
    drawn = [
        np.random.Generator(np.random.Philox(key=options.random_seed + row, counter=position))
        for row, position in positions.items()
    ]
    return np.array([[each.random(dtype=np.float32)] for each in drawn], np.float32)
