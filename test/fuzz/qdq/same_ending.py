"""Exits with 0 if a QDQ graph is judged as it was: ``... same_ending STATUS BEGINNING FILE``.

`BEGINNING` is how the finding begins: the precision or the target, and the class of an error. The
inputs are the files ``input0.npy``, ... beside the model, in the order of its inputs. This is a
predicate for gc-reduce.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import onnx

from ..rounds import Inputs
from ..survival import LIVING_SECONDS, read_feeds
from .check_qdq import check_inputs
from .layer_evaluation import expected_outputs


def main(arguments: Sequence[str]) -> int:
    """Return 0 if the model in `arguments` ends with the status in `arguments`, otherwise 1."""
    status, beginning, path = arguments[0], arguments[1], Path(arguments[2])
    way = beginning.partition(": ")[0]
    model = onnx.load(path)
    initial = {tensor.name for tensor in model.graph.initializer}
    names = [info.name for info in model.graph.input if info.name not in initial]
    feeds = read_feeds(path, names)
    expected = expected_outputs(model, feeds)
    if expected is None:
        return 1
    found = check_inputs(model, [Inputs(feeds, expected)], LIVING_SECONDS, only=way)
    return 0 if found.status == status and found.detail.startswith(beginning) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
