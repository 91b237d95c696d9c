"""The table of operators that run on the host by an implementation of our own.

An entry is a factory: it takes the attributes of a node as keyword arguments, with ONNX's
defaults, and returns a function from the node's inputs to its output, or to a tuple of its outputs.
So lookup tables are built when a model is loaded, not in each call.

    @host_op("CategoryMapper", domain="ai.onnx.ml")
    def category_mapper(*, cats_strings, cats_int64s, default_string="_Unused", default_int64=-1):
        ...
        return look_up

An entry serves every opset from `since` on, up to the next entry of the same operator. Operators
without an entry use their definition in `onnx.reference`, or the function body that ONNX ships. The
table holds operators that ONNX defines in prose only, and those for which `onnx.reference` computes
other values than the prose or ONNX Runtime.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import onnx
from onnx import numpy_helper

Factory = Callable[..., Callable[..., Any]]

_table: dict[tuple[str, str], list[tuple[int, Factory]]] = {}


class HostError(Exception):
    """The reason why a node cannot run on the host, or not on these values."""


class Runner(Protocol):
    """Nodes that are ready to run."""

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name. Raises `ExecutionError`, which names the node."""
        ...


def constant(tensor: onnx.TensorProto) -> np.ndarray:
    """The elements of `tensor`, read-only: every call may return them."""
    array = numpy_helper.to_array(tensor)
    array.flags.writeable = False
    return array


def host_op(op_type: str, domain: str = "", since: int = 1) -> Callable[[Factory], Factory]:
    """Register the decorated factory for `op_type` from opset `since` on."""

    def register(factory: Factory) -> Factory:
        entries = _table.setdefault((domain, op_type), [])
        entries.append((since, factory))
        entries.sort(key=lambda entry: entry[0])
        return factory

    return register


def find_factory(domain: str, op_type: str, opset: int) -> Factory | None:
    """The entry that serves `op_type` at `opset`, or None."""
    served = [f for since, f in _table.get((domain, op_type), ()) if since <= opset]
    return served[-1] if served else None
