"""The table of ONNX converters.

A converter's signature *is* the operator's schema: positional parameters are the inputs, in
order (``None`` when left out), ``*rest`` takes a variadic input, keyword-only parameters are
the attributes with ONNX's defaults. An unknown attribute or a wrong number of inputs is
therefore an error without any code. A converter returns one value, or a tuple of them.

    @onnx_op("LeakyRelu")
    def leaky_relu(x, *, alpha=0.01):
        return graph.leaky_relu(x, alpha=alpha)

A converter serves every opset from `since` on until another entry of the same operator with a
larger `since`. A new entry is made only where the meaning or the form changed; wider element
types or broadcasting do not count.

A keyword-only parameter named ``node`` receives the `Node` being converted.
"""

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....dialects.graph import LoopHistory
from ....errors import InvalidModelError
from ....mlir import ir


class UnsupportedError(Exception):
    """Raised by a converter for a form of its operator that graphc does not support."""


@dataclass
class Node:
    """The node being converted, as its converter sees it."""

    name: str
    op_type: str
    domain: str
    opset: int
    outputs: tuple[str, ...]
    """Names of the outputs, "" for unused ones."""
    fresh_name: Callable[[str], str] = field(repr=False)
    """A name for a new symbolic dimension, unique in the model."""
    import_subgraph: Callable[..., list[ir.Value]] = field(repr=False)
    """``import_subgraph(subgraph, inputs)``: import a subgraph (a GraphProto) in place of the
    node; gives its outputs. It may be called more than once."""
    loop_history: LoopHistory = field(repr=False)
    """The findings of `graph.loop` about this node, over all its imports."""
    lookup: Callable[[str], ir.Value] = field(repr=False)
    """The value of a name that an attribute gives. UnsupportedError where there is none."""
    choose: Callable[..., bool | None] = field(repr=False)
    """``choose(question, sizes)``: what is taken for the answer to a question of the node on which
    a rank depends, None while nothing is known (see `choices`). `sizes` are two, where it asks
    whether these are equal."""
    answers_told: Callable[[], int] = field(repr=False)
    """The number of answers that `choose` has given so far, to this node and to others."""
    shows_rank: Callable[[Sequence[str], int], bool] = field(repr=False)
    """``shows_rank(names, rank)``: whether something sees how many leading axes of size 1 values of
    these names have, up to `rank` axes (see `visible_ranks`)."""

    def wants(self, index: int) -> bool:
        """Return whether output `index` is used."""
        return index < len(self.outputs) and self.outputs[index] != ""


_REUSE_HINT = "consumed_inputs"
"""The attribute by which operators before opset 6 name buffers that may be overwritten."""


@dataclass(frozen=True)
class Converter:
    """One entry of the table."""

    op_type: str
    domain: str
    since: int
    function: Callable[..., Any]

    def convert(self, node: Node, inputs: list[ir.Value | None], attributes: dict[str, Any]) -> Any:
        """Call the converter. InvalidModelError when inputs or attributes do not fit it."""
        signature = _signature(self.function)
        extra = {"node": node} if "node" in signature.parameters else {}
        if node.opset < 6 and node.domain == "":
            attributes = {k: v for k, v in attributes.items() if k != _REUSE_HINT}
        positional = [p for p in signature.parameters.values() if p.kind != p.KEYWORD_ONLY]
        if not any(p.kind == p.VAR_POSITIONAL for p in positional):
            inputs = inputs[: _count_given(inputs, len(positional))]
        given = next((p.name for p in positional if p.name in attributes), None)
        if given is not None:
            raise InvalidModelError(
                f"{self.op_type} (opset {node.opset}): '{given}' is an input, not an attribute"
            )
        try:
            bound = signature.bind(*inputs, **_float_defaults(self.function) | attributes, **extra)
        except TypeError as error:
            raise InvalidModelError(f"{self.op_type} (opset {node.opset}): {error}") from None
        _require_inputs(bound)
        return self.function(*bound.args, **bound.kwargs)


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


@functools.cache
def _float_defaults(function: Callable[..., Any]) -> dict[str, float]:
    """The defaults of attributes that are floats, as an attribute holds them: in f32."""
    return {
        name: float(np.float32(parameter.default))
        for name, parameter in _signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and isinstance(parameter.default, float)
    }


def _require_inputs(bound: inspect.BoundArguments) -> None:
    """InvalidModelError for a None where the signature has no default."""
    parameters = [p for p in bound.signature.parameters.values() if p.kind != p.KEYWORD_ONLY]
    for index, value in enumerate(bound.args):
        parameter = parameters[min(index, len(parameters) - 1)]
        if value is None and parameter.default is parameter.empty:
            raise InvalidModelError(f"input {index} ('{parameter.name}') is left out")


def _count_given(inputs: list[ir.Value | None], accepted: int) -> int:
    """Trailing inputs that are left out need no parameter."""
    count = len(inputs)
    while count > accepted and inputs[count - 1] is None:
        count -= 1
    return count


_table: dict[tuple[str, str], list[Converter]] = {}


def onnx_op(op_type: str, since: int = 1, domain: str = "") -> Callable[..., Any]:
    """Register the decorated function as the converter of `op_type` from opset `since` on."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        entries = _table.setdefault((domain, op_type), [])
        entries.append(Converter(op_type, domain, since, function))
        entries.sort(key=lambda entry: entry.since)
        return function

    return register


def find_converter(domain: str, op_type: str, opset: int) -> Converter | None:
    """The entry that serves `op_type` at `opset`, or None."""
    _load_families()
    entries = [e for e in _table.get((domain, op_type), ()) if e.since <= opset]
    return entries[-1] if entries else None


def registered() -> list[Any]:
    """The functions of the entries that are known so far; imports nothing."""
    return [entry.function for entries in _table.values() for entry in entries]


def converters() -> list[Converter]:
    """Every entry, sorted by domain, operator and opset."""
    _load_families()
    return sorted(
        (e for es in _table.values() for e in es), key=lambda e: (e.domain, e.op_type, e.since)
    )


_FOLDERS = ("operators", "microsoft")
"""The folders of operator families, beside this folder."""

_loaded = False


def _load_families() -> None:
    """Import the files of families, which fill the table."""
    global _loaded
    if not _loaded:
        above = (__package__ or "").rpartition(".")[0]
        for folder in _FOLDERS:
            package = importlib.import_module(f"{above}.{folder}")
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{package.__name__}.{module.name}")
        _loaded = True
