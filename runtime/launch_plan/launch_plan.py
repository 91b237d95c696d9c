"""The launch plan of a program whose sizes are known: kernels, copies and fills in order, with the
buffers that they read and write.

A plan is an entry of the module's archive, next to the code and the constants that it names. So a
device can be given the work of a run as one graph, without IREE's runtime in between.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import ModuleFileError

ENTRY = "launch_plan.json"
"""Name of the archive entry."""
_FORMAT = 1
_MAX_SIZE = 1 << 48


@dataclass(frozen=True)
class BufferRange:
    """`length` bytes at `offset` of the buffer with the number `buffer`."""

    buffer: int
    offset: int
    length: int


@dataclass(frozen=True)
class KernelLaunch:
    """A launch of kernel number `kernel` on a `grid` of workgroups, with pointers to `bindings`
    and 32-bit `constants` as its arguments."""

    kernel: int
    grid: tuple[int, int, int]
    bindings: tuple[BufferRange, ...]
    constants: tuple[int, ...] = ()


@dataclass(frozen=True)
class BufferFill:
    """`target` filled with `value`, which has `width` bytes."""

    target: BufferRange
    value: int
    width: int


@dataclass(frozen=True)
class BufferCopy:
    """A copy of `source` to `target`, which has the same length."""

    source: BufferRange
    target: BufferRange


Command = KernelLaunch | BufferFill | BufferCopy
Stage = tuple[Command, ...]
"""Commands that do not depend on each other."""


@dataclass(frozen=True)
class ConstantData:
    """A buffer that is initialised with the archive's entry `entry`, of `length` bytes."""

    entry: str
    length: int


@dataclass(frozen=True)
class LaunchPlan:
    """The commands of a run, in `stages` that follow each other.

    Buffers are numbered: first those of the inputs, with `inputs` bytes each, then `constants`, and
    then those for intermediate results and outputs, with `transients` bytes each. `executable` is
    the archive's entry with the code of `kernels`, empty if there are none; `outputs` is where the
    results are in the end.
    """

    executable: str
    kernels: tuple[str, ...]
    inputs: tuple[int, ...]
    constants: tuple[ConstantData, ...]
    transients: tuple[int, ...]
    outputs: tuple[BufferRange, ...]
    stages: tuple[Stage, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of each buffer."""
        return (*self.inputs, *(each.length for each in self.constants), *self.transients)

    @property
    def commands(self) -> Iterator[Command]:
        return (command for stage in self.stages for command in stage)

    @staticmethod
    def ranges_of(command: Command) -> tuple[BufferRange, ...]:
        """The ranges that a command reads or writes."""
        match command:
            case KernelLaunch():
                return command.bindings
            case BufferFill():
                return (command.target,)
            case BufferCopy():
                return command.source, command.target

    def buffers_of(self, command: Command) -> set[int]:
        """The buffers that a command reads or writes."""
        return {each.buffer for each in self.ranges_of(command)}

    def to_json(self) -> str:
        """The plan as the contents of its archive entry."""
        return _dumps(
            {
                "executable": self.executable,
                "kernels": self.kernels,
                "inputs": self.inputs,
                "constants": [[each.entry, each.length] for each in self.constants],
                "transients": self.transients,
                "outputs": [_range_to_list(each) for each in self.outputs],
                "stages": [[_command_to_list(each) for each in stage] for stage in self.stages],
            }
        )


@dataclass(frozen=True)
class NoLaunchPlan:
    """The `reason` why a program has no plan."""

    reason: str

    def to_json(self) -> str:
        """As `LaunchPlan.to_json`."""
        return _dumps({"reason": self.reason})


def read_plan(text: bytes) -> LaunchPlan | NoLaunchPlan:
    """The plan in an archive entry.

    Raises `ModuleFileError` if it is damaged, or reaches beyond its buffers.
    """
    try:
        raw = json.loads(text)
        if raw["format"] != _FORMAT:
            return NoLaunchPlan(f"its plan has format {raw['format']}; this graphc reads {_FORMAT}")
        plan = NoLaunchPlan(raw["reason"]) if "reason" in raw else _from_json(raw)
    except (ValueError, TypeError, LookupError, RecursionError, AttributeError) as error:
        raise ModuleFileError(f"the module's launch plan is damaged: {error!r}") from None
    if isinstance(plan, LaunchPlan):
        _check(plan)
    return plan


def _dumps(fields: dict[str, Any]) -> str:
    return json.dumps({"format": _FORMAT, **fields}, separators=(",", ":"))


def _range_to_list(found: BufferRange) -> list[int]:
    return [found.buffer, found.offset, found.length]


def _command_to_list(command: Command) -> list[Any]:
    match command:
        case KernelLaunch():
            bindings = [_range_to_list(each) for each in command.bindings]
            return ["run", command.kernel, command.grid, bindings, command.constants]
        case BufferFill():
            return ["fill", _range_to_list(command.target), command.value, command.width]
        case BufferCopy():
            return ["copy", _range_to_list(command.source), _range_to_list(command.target)]


def _from_json(raw: dict[str, Any]) -> LaunchPlan:
    return LaunchPlan(
        str(raw["executable"]),
        tuple(map(str, raw["kernels"])),
        _integers(raw["inputs"]),
        tuple(ConstantData(str(entry), _integer(length)) for entry, length in raw["constants"]),
        _integers(raw["transients"]),
        tuple(map(_range_from_list, raw["outputs"])),
        tuple(tuple(map(_command_from_list, stage)) for stage in raw["stages"]),
    )


def _command_from_list(raw: Sequence[Any]) -> Command:
    match raw:
        case ["run", kernel, [x, y, z], bindings, constants]:
            return KernelLaunch(
                _integer(kernel),
                (_integer(x), _integer(y), _integer(z)),
                tuple(map(_range_from_list, bindings)),
                _integers(constants),
            )
        case ["fill", target, value, width]:
            return BufferFill(_range_from_list(target), _integer(value), _integer(width))
        case ["copy", source, target]:
            return BufferCopy(_range_from_list(source), _range_from_list(target))
    raise ValueError(f"an unknown command: {raw!r}")


def _range_from_list(raw: Sequence[Any]) -> BufferRange:
    buffer, offset, length = raw
    return BufferRange(_integer(buffer), _integer(offset), _integer(length))


def _integers(raw: Sequence[Any]) -> tuple[int, ...]:
    return tuple(map(_integer, raw))


def _integer(raw: Any) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int) or not 0 <= raw < _MAX_SIZE:
        raise ValueError(f"no size or number: {raw!r}")
    return raw


def _check(plan: LaunchPlan) -> None:
    """Raise `ModuleFileError` if a command reaches beyond what it uses."""
    sizes = plan.sizes
    used = [*plan.outputs, *(each for c in plan.commands for each in plan.ranges_of(c))]
    if any(r.buffer >= len(sizes) or r.offset + r.length > sizes[r.buffer] for r in used):
        raise ModuleFileError("the module's launch plan reaches beyond a buffer")
    for command in plan.commands:
        match command:
            case KernelLaunch():
                fits = command.kernel < len(plan.kernels) and 0 not in command.grid
            case BufferFill(target, value, width):
                fits = width in (1, 2, 4) and not value >> 8 * width and not target.length % width
            case BufferCopy(source, target):
                fits = source.length == target.length
        if not fits:
            raise ModuleFileError(f"the module's launch plan is damaged: {command}")
