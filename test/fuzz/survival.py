"""Exits with 0 where a model does not live to the end of a run: ``... survival SECONDS FILE``.

The process that compiles and runs it crashes, or is not done in time. Inputs are the files
``input0.npy``, ... beside the model, in the order of its inputs. For gc-reduce as a predicate.
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

from .checking import COMPILE, ONE_THREAD


def main(arguments: Sequence[str]) -> int:
    """0 where the model of `arguments` crashes or hangs, 1 where it does not."""
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
        return  # it lives


def read_feeds(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays for the inputs `names` of the model in `path`, from the files beside it."""
    return {name: np.load(path.with_name(f"input{i}.npy")) for i, name in enumerate(names)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
