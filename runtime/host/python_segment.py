"""Nodes that run one by one in Python."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from . import (  # noqa: F401  imported to fill the table
    casts,
    control_flow,
    features,
    hashing,
    ngrams,
    normalization,
    numeric,
    pictures,
    pooling,
    sequences,
    strings,
)
from .engines import is_as_fast_in_python
from .evaluator import Body, Context, make_graph, make_step
from .registry import HostError


class PythonSegment:
    """Runs the nodes of `model`. Raises `HostError` for one that cannot run in Python."""

    def __init__(self, model: onnx.ModelProto):
        self._body: Body = make_graph(model.graph, _context(model))
        # Operators on numbers warn of overflows; entering `np.errstate` takes as long as a lookup.
        self._is_quiet = all(map(is_as_fast_in_python, model.graph.node))

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name. Raises `ExecutionError`, which names the node."""
        body = self._body
        given = [feeds[name] for name in body.inputs]
        if self._is_quiet:
            results = body.run(given, None)
        else:
            with np.errstate(all="ignore"):
                results = body.run(given, None)
        return dict(zip(body.outputs, results))  # noqa: B905  one for each


def why_not_in_python(model: onnx.ModelProto) -> str | None:
    """The reason why the one node of `model` cannot run in Python; None if it can."""
    try:
        make_step(model.graph.node[0], _context(model))
    except ImportError as error:
        return str(error)
    except HostError as error:
        return f"and {error}"
    except (ValueError, TypeError, KeyError) as error:  # attributes that cannot be read
        return f"and its attributes do not fit it: {error}"
    return None


def _context(model: onnx.ModelProto) -> Context:
    return Context(
        {entry.domain: entry.version for entry in model.opset_import},
        {(f.domain, f.name, f.overload): f for f in model.functions},
        {},
    )
