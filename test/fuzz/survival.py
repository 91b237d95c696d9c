"""Exits with 0 if a model crashes or hangs: ``... survival SECONDS FILE``.

The model is compiled and run in a child process, which crashes or exceeds the time limit. The
inputs are the files ``input0.npy``, ... beside the model, in the order of its inputs. This is a
predicate for gc-reduce.
"""

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from graphc.compiler.compile import compile
from graphc.errors import GraphcError
from harness.isolation import Lost, call_each
from harness.variation import order_of_calls

from .check_graph import COMPILE, ONE_THREAD

LIVING_SECONDS = 20
"""Time limit for one reduced model, in seconds; a model that takes longer counts as a hang."""


def main(arguments: Sequence[str]) -> int:
    """Return 0 if the model in `arguments` crashes or hangs, otherwise 1."""
    seconds, path = float(arguments[0]), arguments[1]
    ((_, ended),) = call_each(_run, [path], jobs=1, timeout=seconds)
    return 0 if isinstance(ended, Lost) else 1


def _run(path: str) -> None:
    try:
        with closing(compile(path, extra_flags=ONE_THREAD, **COMPILE)) as compiled:
            feeds = read_feeds(Path(path), [spec.name for spec in compiled.inputs])
            for _ in order_of_calls(1):
                compiled.run(None, feeds)
    except (GraphcError, OSError):
        return  # an error, but neither a crash nor a hang


def read_feeds(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays for the inputs `names` of the model in `path`, from the files beside it."""
    return {name: np.load(path.with_name(f"input{i}.npy")) for i, name in enumerate(names)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
