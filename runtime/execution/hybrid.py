"""Hybrid models: parts that run on the host, between compiled parts.

The parts run one after the other. Values passed between parts are not copied: results of compiled
parts are arrays over device memory, which the next compiled part uses in place, unless a host part
or the caller needs them.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ...errors import DeviceError, FeedError, UsageError
from ..elements import ELEMENT_TYPES
from ..feeds import FeedBinder
from ..host.engine_choice import AUTO
from ..metadata import TensorSpec, format_shape
from ..threads.usable_cpus import usable_cpus
from ..values import ValueSpec, binder_of
from .execution_context import CallSpec

SHOWN_REASONS = 8
"""Maximum number of nodes that a warning names."""

logger = logging.getLogger("graphc")


@dataclass(frozen=True)
class PartSpec:
    """One part of a model: where it runs, its nodes, and the names of its inputs and outputs.

    `reasons` maps nodes on the host to the reason why they are not compiled, `engines` to what runs
    them in this process: ``ONNX Runtime`` or ``Python``, with the reason where that is slower.
    """

    native: bool
    nodes: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reasons: Mapping[str, str] = field(default_factory=dict)
    engines: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        lines = [f"{'compiled' if self.native else 'on the host'}: {len(self.nodes)} node(s)"]
        lines += [f"  {node}: {self.reasons[node]}" for node in self.nodes if node in self.reasons]
        for engine in dict.fromkeys(self.engines.values()):
            nodes = ", ".join(node for node, each in self.engines.items() if each == engine)
            lines.append(f"  run by {engine}: {nodes}")
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

    engines: Mapping[str, str]
    """Engine of each node of a part on the host."""
    owns_results: bool
    """True if no output shares memory with an input, a constant or another output."""

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
        self.parts = tuple(replace(spec, engines=part.engines) for spec, part in parts)
        self._dead_after = [self._dead(index) for index in range(len(parts))]
        self._is_closed = False
        self._owns_results = all(part.owns_results for _, part in parts) and not (
            set(outputs) & set(inputs)
        )
        self._is_one_part = len(parts) == 1 and (
            set(inputs) == set(self.parts[0].inputs) and set(outputs) <= set(self.parts[0].outputs)
        )

    def invoke(self, inputs: Sequence[Any], call_spec: CallSpec) -> list[Any]:
        """Run all parts; return one value for each output of `call_spec`. `inputs` must fit the
        model."""
        if self._is_closed:
            raise UsageError(f"model '{self._name}' is closed")
        if call_spec.staying:
            raise UsageError(
                f"model '{self._name}' runs in part on the host, and so its outputs are there: "
                "on_device is for models that are compiled as a whole"
            )
        values = dict(zip(self._inputs, inputs))  # noqa: B905  the binder gives as many
        if self._is_one_part:
            values = self._parts[0][1].run(values)
        else:
            self._run_parts(values)
        if self._owns_results:
            return [values[self._outputs[index]] for index in call_spec.outputs]
        given: set[int] = set()
        for value in inputs:
            _add_memory(value, given)
        return [_own(values[self._outputs[index]], given) for index in call_spec.outputs]

    def _run_parts(self, values: dict[str, Any]) -> None:
        """Run the parts one after the other, on `values` by name, which the outputs join."""
        for (spec, part), dead in zip(self._parts, self._dead_after, strict=True):
            values.update(part.run({name: values[name] for name in spec.inputs}))
            for name in dead:
                del values[name]

    def close(self) -> None:
        """Free every part."""
        for _, part in self._parts:
            part.close()
        self._parts = []
        self._is_closed = bool(self.parts)

    def _dead(self, index: int) -> list[str]:
        """The values that are dead after part `index`: no later part reads them, and they are not
        outputs."""
        needed = set(self._outputs).union(*(spec.inputs for spec in self.parts[index + 1 :]))
        here = {*self.parts[index].inputs, *self.parts[index].outputs}
        return sorted((here | set(() if index else self._inputs)) - needed)


def _add_memory(value: Any, memory: set[int]) -> None:
    """Add the identities of what holds the elements of the arrays in `value`: for a view, that of
    the array that it is a view of."""
    if isinstance(value, np.ndarray):
        memory.add(id(value if value.base is None else value.base))
    elif isinstance(value, list):
        for item in value:
            _add_memory(item, memory)


def _own(value: Any, given: set[int]) -> Any:
    """A result that shares no memory with constants, which are read-only, with the caller's arrays,
    whose identities are `given`, or with the results before it, whose identities are added."""
    if isinstance(value, np.ndarray):
        memory = id(value if value.base is None else value.base)
        if memory in given or not value.flags.writeable:
            return value.copy()
        given.add(memory)
        return value
    if isinstance(value, list) and not (value and isinstance(value[0], dict)):
        return [_own(item, given) for item in value]
    return value


class HybridBinder:
    """Turns feeds by name into values in the order of the model's inputs."""

    def __init__(self, inputs: Sequence[TensorSpec | ValueSpec]):
        self._names = tuple(spec.name for spec in inputs)
        tensors = [s for s in inputs if isinstance(s, TensorSpec) and s.dtype in ELEMENT_TYPES]
        self._tensor_names = tuple(spec.name for spec in tensors)
        self._tensors = FeedBinder(tensors)
        self._others = {
            spec.name: (binder_of(_type(spec)), f"input '{spec.name}'", _type(spec))
            for spec in inputs
            if spec not in tensors
        }

    def bind(self, feeds: Mapping[str, Any]) -> list[Any]:
        """One value per input. Raises `FeedError` that lists all problems."""
        if type(feeds) is dict and len(feeds) == len(self._names):
            try:
                return self._bind_all(feeds)
            except (KeyError, FeedError):
                pass  # `_check` raises with all problems
        return self._check(feeds)

    def _bind_all(self, feeds: Mapping[str, Any]) -> list[Any]:
        """One value per input, for feeds with the right names. Raises KeyError, `FeedError`."""
        if not self._others:
            return self._tensors.bind(feeds)
        if not self._tensor_names:
            values = []
            for name, (bind, where, _) in self._others.items():
                values.append(bind(feeds[name], where))
            return values
        bound = {n: bind(feeds[n], where) for n, (bind, where, _) in self._others.items()}
        tensors = self._tensors.bind({name: feeds[name] for name in self._tensor_names})
        bound.update(zip(self._tensor_names, tensors, strict=True))
        return [bound[name] for name in self._names]

    def _check(self, feeds: Mapping[str, Any]) -> list[Any]:
        if not isinstance(feeds, Mapping):
            raise FeedError(
                f"feeds must map input names to values, not be a {type(feeds).__name__}"
            )
        problems: list[str] = []
        differing: frozenset[str] = frozenset()
        bound: dict[str, Any] = {}
        tensors = {n: v for n, v in feeds.items() if n not in self._others}
        if tensors or self._tensor_names:
            try:
                bound.update(zip(self._tensor_names, self._tensors.bind(tensors), strict=True))
            except FeedError as error:
                problems.append(str(error))
                differing = error.names
        for name, (bind, where, type_) in self._others.items():
            if name not in feeds:
                problems.append(f"input '{name}' is missing: expected {type_}")
                continue
            try:
                bound[name] = bind(feeds[name], where)
            except FeedError as error:
                problems.append(str(error))
        if problems:
            error = FeedError("\n".join(problems))
            error.names = differing if len(problems) == 1 else frozenset()
            raise error
        return [bound[name] for name in self._names]


def _type(spec: TensorSpec | ValueSpec) -> str:
    return spec.type if isinstance(spec, ValueSpec) else f"{spec.dtype}{format_shape(spec.shape)}"


def open_host_part(
    contents: bytes | memoryview, engine: str = AUTO, threads: int | None = None
) -> Runnable:
    """Load a host part from its bytes; `engine` runs it, on as many as `threads`.

    Raises `DeviceError` if `onnx` is not installed.
    """
    try:
        from ..host.part import HostPart
    except ImportError as error:
        raise DeviceError(
            f"a part of this model runs on the host, which needs the package onnx: {error}"
        ) from error
    return HostPart(contents, engine, threads or usable_cpus())
