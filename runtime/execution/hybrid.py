"""Hybrid models: parts that run on the host, between compiled parts.

The parts run one after the other. Values passed between parts are not copied: results of compiled
parts are arrays over device memory, which the next compiled part uses in place, unless a host part
or the caller needs them.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ...errors import DeviceError, FeedError, UsageError
from ..elements import ELEMENT_TYPES
from ..feeds import FeedBinder
from ..metadata import TensorSpec, format_shape
from ..values import ValueSpec, bind_value
from .execution_context import CallSpec

SHOWN_REASONS = 8
"""Maximum number of nodes that a warning names."""

logger = logging.getLogger("graphc")


@dataclass(frozen=True)
class PartSpec:
    """One part of a model: where it runs, its nodes, and the names of its inputs and outputs.

    `reasons` maps nodes on the host to the reason why they are not compiled.
    """

    native: bool
    nodes: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reasons: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{'compiled' if self.native else 'on the host'}: {len(self.nodes)} node(s)"]
        lines += [f"  {node}: {self.reasons[node]}" for node in self.nodes if node in self.reasons]
        return "\n".join(lines)


def warn_of_host(name: str, parts: Sequence[PartSpec]) -> None:
    """Warn of the nodes that are not compiled: no fallback is silent."""
    total = sum(len(part.nodes) for part in parts)
    reasons = {node: why for part in parts for node, why in part.reasons.items()}
    shown = "; ".join(f"'{node}' ({why})" for node, why in list(reasons.items())[:SHOWN_REASONS])
    more = f" and {len(reasons) - SHOWN_REASONS} more" if len(reasons) > SHOWN_REASONS else ""
    logger.warning(
        "model '%s': %d of %d nodes run on the host: %s%s", name, len(reasons), total, shown, more
    )


class Runnable(Protocol):
    """A part that is ready to run."""

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs by name."""
        ...

    def close(self) -> None:
        """Free the resources of the part."""
        ...


class HybridSession:
    """Runs the parts in order; takes the place of a `Session` in a `CompiledModel`."""

    device = None
    """None: feeds must be on the host."""

    def __init__(
        self,
        name: str,
        parts: Sequence[tuple[PartSpec, Runnable]],
        inputs: Sequence[str],
        outputs: Sequence[str],
    ):
        self._name = name
        self._parts: list[tuple[PartSpec, Runnable]] = list(parts)
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)
        self.parts = tuple(spec for spec, _ in parts)
        self._dead_after = [self._dead(index) for index in range(len(parts))]

    def invoke(self, inputs: Sequence[Any], call_spec: CallSpec) -> list[Any]:
        """Run all parts; return one value for each output of `call_spec`. `inputs` must fit the
        model."""
        if not self._parts and self.parts:
            raise UsageError(f"model '{self._name}' is closed")
        if call_spec.staying:
            raise UsageError(
                f"model '{self._name}' runs in part on the host, and so its outputs are there: "
                "on_device is for models that are compiled as a whole"
            )
        values = dict(zip(self._inputs, inputs, strict=True))
        for (spec, part), dead in zip(self._parts, self._dead_after, strict=True):
            values |= part.run({name: values[name] for name in spec.inputs})
            for name in dead:
                del values[name]
        given = {id(array) for array in _arrays(inputs)}
        return [_own(values[self._outputs[index]], given) for index in call_spec.outputs]

    def close(self) -> None:
        """Free every part."""
        for _, part in self._parts:
            part.close()
        self._parts = []

    def _dead(self, index: int) -> list[str]:
        """The values that are dead after part `index`: no later part reads them, and they are not
        outputs."""
        needed = set(self._outputs).union(*(spec.inputs for spec in self.parts[index + 1 :]))
        here = {*self.parts[index].inputs, *self.parts[index].outputs}
        return sorted((here | set(() if index else self._inputs)) - needed)


def _arrays(values: Iterable[Any]) -> Iterator[np.ndarray]:
    """The arrays in `values`, including those in sequences."""
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, list):
            yield from _arrays(value)


def _own(value: Any, given: set[int]) -> Any:
    """A result that is none of the caller's own arrays, whose ids are `given`."""
    if isinstance(value, list) and not (value and isinstance(value[0], dict)):
        return [_own(item, given) for item in value]
    return value.copy() if isinstance(value, np.ndarray) and id(value) in given else value


class HybridBinder:
    """Turns feeds by name into values in the order of the model's inputs."""

    def __init__(self, inputs: Sequence[TensorSpec | ValueSpec]):
        self._names = tuple(spec.name for spec in inputs)
        tensors = [s for s in inputs if isinstance(s, TensorSpec) and s.dtype in ELEMENT_TYPES]
        self._tensor_names = tuple(spec.name for spec in tensors)
        self._tensors = FeedBinder(tensors)
        self._others = {spec.name: _type(spec) for spec in inputs if spec not in tensors}

    def bind(self, feeds: Mapping[str, Any]) -> list[Any]:
        """One value per input. Raises `FeedError` that lists all problems."""
        if not isinstance(feeds, Mapping):
            raise FeedError(
                f"feeds must map input names to values, not be a {type(feeds).__name__}"
            )
        problems: list[str] = []
        differing: frozenset[str] = frozenset()
        bound: dict[str, Any] = {}
        try:
            arrays = self._tensors.bind({n: v for n, v in feeds.items() if n not in self._others})
            bound |= zip(self._tensor_names, arrays, strict=True)
        except FeedError as error:
            problems.append(str(error))
            differing = error.names
        for name, type_ in self._others.items():
            if name not in feeds:
                problems.append(f"input '{name}' is missing: expected {type_}")
                continue
            try:
                bound[name] = bind_value(feeds[name], type_, f"input '{name}'")
            except FeedError as error:
                problems.append(str(error))
        if problems:
            error = FeedError("\n".join(problems))
            error.names = differing if len(problems) == 1 else frozenset()
            raise error
        return [bound[name] for name in self._names]


def _type(spec: TensorSpec | ValueSpec) -> str:
    return spec.type if isinstance(spec, ValueSpec) else f"{spec.dtype}{format_shape(spec.shape)}"


def open_host_part(contents: bytes | memoryview) -> Runnable:
    """Load a host part from its bytes. Raises `DeviceError` if `onnx` is not installed."""
    return _host()(contents)


def _host() -> Callable[[bytes | memoryview], Runnable]:
    try:
        from ..host.part import HostPart
    except ImportError as error:
        raise DeviceError(
            f"a part of this model runs on the host, which needs the package onnx: {error}"
        ) from error
    return HostPart
