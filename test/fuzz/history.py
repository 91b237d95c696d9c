"""Exits with 0 if the results of a model depend on earlier calls: ``... history FILE``.

The inputs are the files ``input0.npy``, ... beside the model, in the order of its inputs, and
similar drawn ones. Each is given to the model repeatedly, among the others, and to a freshly loaded
model. This is a predicate for gc-reduce.
"""

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import onnx

from graphc.compiler.compile import compile_to_file
from graphc.errors import GraphcError
from graphc.runtime import CompiledModel, load
from harness.variation import order_of_calls

from .check_graph import COMPILE, ONE_THREAD
from .rounds import Feeds, other_inputs
from .survival import read_feeds

DRAWS = 4
"""Number of times that other inputs are drawn; they may show the fault without the inputs that
first showed it."""


def main(arguments: Sequence[str]) -> int:
    """Return 0 if earlier calls affect the results of the model in `arguments`, otherwise 1."""
    path = Path(arguments[0])
    model = onnx.load(path)
    initial = {tensor.name for tensor in model.graph.initializer}
    names = [info.name for info in model.graph.input if info.name not in initial]
    feeds = read_feeds(path, names)
    random = np.random.default_rng(0)
    everything: list[Feeds] = [feeds]
    for _ in range(DRAWS):
        everything += [each.feeds for each in other_inputs(model, feeds, "nodes", random)]
    return 0 if _shows(model, everything) else 1


def _shows(model: onnx.ModelProto, everything: Sequence[Feeds]) -> bool:
    contents, _ = compile_to_file(model, "cpu", extra_flags=ONE_THREAD, **COMPILE)
    alone = []
    for feeds in everything:
        with closing(load(contents, threads=1)) as fresh:
            alone.append(_results(fresh, feeds))
    with closing(load(contents, threads=1)) as compiled:
        return any(
            not _same(_results(compiled, everything[number]), alone[number])
            for number in order_of_calls(len(everything))
        )


def _results(compiled: CompiledModel, feeds: Feeds) -> list[np.ndarray] | None:
    """The results of a call; None if the call fails."""
    try:
        return compiled.run(None, dict(feeds))
    except GraphcError:
        return None


def _same(have: list[np.ndarray] | None, wanted: list[np.ndarray] | None) -> bool:
    """True if both calls gave bitwise identical arrays, or if both failed."""
    if have is None or wanted is None:
        return have is wanted  # equal only if both calls failed
    return all(
        a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
        for a, b in zip(have, wanted, strict=True)
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
