"""The launch plan of a program, read from IREE's listing of it before its conversion to the VM.

A program whose sizes are known records one command buffer when it is loaded, and a run submits that
with the buffers of the run. Whatever else a program does is a reason against a plan.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .hal_ops import NoPlanError, PrintedBody, PrintedOp, PrintedProgram, read_program
from .launch_plan import (
    BufferCopy,
    BufferFill,
    BufferRange,
    Command,
    ConstantData,
    KernelLaunch,
    LaunchPlan,
    NoLaunchPlan,
)

_ENTRY = "main"
_AT_LOAD = re.compile(
    r"block|cf\.\w+|arith\.\w+|util\.(initializer|global\.(load|store)|buffer\.constant|null|cmp\.eq"
    r"|status\.check_ok|call|return)|hal\.(memory_type|buffer_usage|fence\.\w+|ex\.file\.from_memory"
    r"|devices\.\w+|device\.(query|allocator|queue\.read)|allocator\.\w+|executable\.create)"
)
"""Ops of an initializer that opens the device, loads the code and uploads constants."""
_WITHOUT_EFFECT = re.compile(
    r"arith\.constant|util\.(global\.load|null|status\.check_ok|return)|hal\.(memory_type"
    r"|buffer_usage|element_type|encoding_type|fence\.\w+|devices\.get"
    r"|device\.(allocator|queue\.dealloca)"
    r"|buffer_view\.assert|buffer\.assert|command_buffer\.(create|finalize))"
)
"""Ops of a function that a plan has no need of."""
_NAME = r"(%[\w#-]+)"
_REFERENCE = re.compile(rf"\({_NAME} : (index|!hal\.buffer)\)\[{_NAME}, {_NAME}\]")


@dataclass(frozen=True)
class _Part:
    """A range of a buffer, which is an ``input``, ``constant`` or ``transient`` with a number."""

    kind: str
    number: int
    offset: int = 0
    length: int = 0


@dataclass
class _Buffers:
    """The buffers of a program: bytes of its inputs and transients, and its constants by name."""

    inputs: list[int] = field(default_factory=list[int])
    transients: list[int] = field(default_factory=list[int])
    constants: dict[str, ConstantData] = field(default_factory=dict[str, ConstantData])

    def range_of(self, part: _Part) -> BufferRange:
        """`part` with the number of its buffer in the plan."""
        counts = {"input": 0, "constant": len(self.inputs)}
        counts["transient"] = len(self.inputs) + len(self.constants)
        return BufferRange(counts[part.kind] + part.number, part.offset, part.length)


def plan_from_listing(text: str, entries: Mapping[str, int]) -> LaunchPlan | NoLaunchPlan:
    """The plan of the program with the listing `text`; `entries` are the entries of its archive, in
    order, and their sizes in bytes."""
    try:
        return _plan(read_program(text), entries)
    except NoPlanError as reason:
        return NoLaunchPlan(str(reason))


def _plan(program: PrintedProgram, entries: Mapping[str, int]) -> LaunchPlan:
    if len(program.executables) > 1:
        raise NoPlanError(f"it has {len(program.executables)} executables")
    executable = "".join("_".join(names) + ".fb" for names in program.executables)
    recorded = [name for name in program.functions if name != _ENTRY]
    if executable not in ("", *entries) or _ENTRY not in program.functions:
        raise NoPlanError("its archive lacks its code")
    if len(recorded) != 1:
        raise NoPlanError(f"it records {len(recorded)} command buffers when it is loaded")
    buffers = _Buffers(constants=_read_constants(program.initializers, entries))
    entry = _Entry(program.functions[_ENTRY], buffers)
    commands = _Commands(program.functions[recorded[0]], entry.bindings, buffers)
    return LaunchPlan(
        executable,
        tuple(commands.kernels),
        tuple(buffers.inputs),
        tuple(buffers.constants.values()),
        tuple(buffers.transients),
        tuple(map(buffers.range_of, entry.outputs)),
        tuple(map(tuple, commands.stages)),
    )


def _read_constants(
    initializers: Sequence[PrintedBody], entries: Mapping[str, int]
) -> dict[str, ConstantData]:
    """The data that is uploaded when the program is loaded, by the name of the global."""
    names: list[str] = []
    sizes: list[int] = []
    for body in initializers:
        for op in body.ops:
            if not _AT_LOAD.fullmatch(op.name):
                raise NoPlanError(f"it computes when it is loaded ({op.name})")
            if op.name == "hal.device.queue.read":
                *starts, length = op.find(
                    rf"source\(.*?\)\[{_NAME}\] target\(.*?\)\[{_NAME}\] length\({_NAME}\)"
                )
                if any(map(body.integer, starts)):
                    raise NoPlanError("a constant is a part of another one")
                sizes.append(body.integer(length))
            elif op.name == "util.global.store" and op.text.endswith(": !hal.buffer"):
                names += op.find(r"@(\w+)")
    data = [ConstantData(*each) for each in entries.items() if each[0].endswith(".bin")]
    if len(names) != len(data) or [each.length for each in data] != sizes:
        raise NoPlanError("its constants are not all entries of its archive")
    return dict(zip(names, data, strict=True))


class _Entry:
    """The entry function: `bindings` of the commands, and `outputs`."""

    def __init__(self, body: PrintedBody, buffers: _Buffers):
        self.bindings: list[_Part] = []
        self.outputs: list[_Part] = []
        self._body, self._buffers = body, buffers
        self._parts: dict[str, _Part] = {}
        known: dict[str, Callable[[PrintedOp], None]] = {
            "hal.buffer_view.buffer": self._input,
            "hal.device.queue.alloca": self._transient,
            "hal.device.queue.execute.indirect": self._submit,
            "hal.buffer.subspan": self._part,
            "util.optimization_barrier": self._same,
            "hal.buffer_view.create": self._view,
            "util.return": self._return,
        }
        for op in body.ops:
            if op.name in known:
                known[op.name](op)
            elif not _WITHOUT_EFFECT.fullmatch(op.name):
                raise NoPlanError(f"a run does more than to submit its commands ({op.name})")

    def _input(self, op: PrintedOp) -> None:
        number = int(op.find(r"<%arg(\d+) :")[0])
        sizes = self._buffers.inputs
        sizes += [0] * (number + 1 - len(sizes))
        self._parts[op.results[0]] = _Part("input", number)

    def _transient(self, op: PrintedOp) -> None:
        (size,) = op.find(rf"!hal\.buffer\{{{_NAME}\}}")
        self._parts[op.results[0]] = _Part("transient", len(self._buffers.transients))
        self._buffers.transients.append(self._body.integer(size))

    def _submit(self, op: PrintedOp) -> None:
        if self.bindings:
            raise NoPlanError("a run submits several command buffers")
        for name, _, offset, length in _REFERENCE.findall(op.text.partition(" bindings(")[2]):
            self.bindings.append(self._range(name, offset, length))
        for part in self.bindings:
            if part.kind == "input":
                sizes = self._buffers.inputs
                sizes[part.number] = max(sizes[part.number], part.offset + part.length)

    def _part(self, op: PrintedOp) -> None:
        name, *ends = op.find(rf"<{_NAME} : !hal\.buffer>\[{_NAME}, {_NAME}\]")
        self._parts[op.results[0]] = self._range(name, ends[0], ends[1])

    def _same(self, op: PrintedOp) -> None:
        if not op.text.endswith(" : !hal.buffer"):
            raise NoPlanError("a run computes on the host between its commands")
        (name,) = op.find(rf"barrier {_NAME} :")
        self._parts[op.results[0]] = self._whole(name)

    def _view(self, op: PrintedOp) -> None:
        found = op.find(rf"buffer\({_NAME} : !hal\.buffer\)\[{_NAME}, {_NAME}\]")
        self._parts[op.results[0]] = self._range(*found)

    def _return(self, op: PrintedOp) -> None:
        for name in re.findall(r"%[\w#-]+", op.text):
            if name not in self._parts:
                raise NoPlanError("an output is an input as it is")
            self.outputs.append(self._parts[name])

    def _range(self, name: str, offset: str, length: str) -> _Part:
        whole = self._whole(name)
        at = whole.offset + self._body.integer(offset)
        return _Part(whole.kind, whole.number, at, self._body.integer(length))

    def _whole(self, name: str) -> _Part:
        if name not in self._parts:
            raise NoPlanError("a run takes a buffer that it has not allocated")
        return self._parts[name]


class _Commands:
    """The function that records the commands: `kernels` by name, and `stages` of commands."""

    def __init__(self, body: PrintedBody, bindings: Sequence[_Part], buffers: _Buffers):
        self.kernels: list[str] = []
        self.stages: list[list[Command]] = [[]]
        self._body, self._bindings, self._buffers = body, bindings, buffers
        self._numbers: dict[str, int] = {}
        self._constants: dict[str, _Part] = {}
        known: dict[str, Callable[[PrintedOp], None]] = {
            "util.global.load": self._load,
            "hal.executable.lookup.function": self._look_up,
            "hal.command_buffer.dispatch": self._launch,
            "hal.command_buffer.fill_buffer": self._fill,
            "hal.command_buffer.copy_buffer": self._copy,
            "hal.command_buffer.execution_barrier": self._wait,
        }
        for op in body.ops:
            if op.name in known:
                known[op.name](op)
            elif not _WITHOUT_EFFECT.fullmatch(op.name):
                raise NoPlanError(f"a command is neither kernel, copy nor fill ({op.name})")
        self.stages = [stage for stage in self.stages if stage]

    def _load(self, op: PrintedOp) -> None:
        (name,) = op.find(r"@(\w+)")
        if name in self._buffers.constants:
            number = list(self._buffers.constants).index(name)
            self._constants[op.results[0]] = _Part("constant", number)

    def _look_up(self, op: PrintedOp) -> None:
        (name,) = op.find(r"@([^@()]+)\) : i64$")
        if name not in self.kernels:
            self.kernels.append(name.strip('"'))
        self._numbers[op.results[0]] = self.kernels.index(name.strip('"'))

    def _launch(self, op: PrintedOp) -> None:
        kernel, grid = op.find(rf"!hal\.executable\)\[{_NAME}\] workgroups\(\[(.*?)\]\)")
        constants = re.search(r" constants\(\[(.*?)\]\)", op.text)
        x, y, z = self._integers(grid)
        self.stages[-1].append(
            KernelLaunch(
                self._numbers[kernel],
                (x, y, z),
                tuple(self._references(op.text.partition(" bindings(")[2])),
                tuple(n % (1 << 32) for n in self._integers(constants[1] if constants else "")),
            )
        )

    def _fill(self, op: PrintedOp) -> None:
        value, bits = op.find(rf"pattern\({_NAME} : i(\d+)\)")
        (target,) = self._references(op.text.partition(" target")[2].partition(" pattern")[0])
        number = self._body.integer(value) % (1 << int(bits))
        self.stages[-1].append(BufferFill(target, number, int(bits) // 8))

    def _copy(self, op: PrintedOp) -> None:
        reference = rf"\({_NAME} : [^)]*\)\[{_NAME}\]"
        source, start, target, to, length = op.find(
            rf"source{reference} target{reference} length\({_NAME}\)"
        )
        ends = self._reference(source, start, length), self._reference(target, to, length)
        self.stages[-1].append(BufferCopy(*ends))

    def _wait(self, op: PrintedOp) -> None:
        del op
        self.stages.append([])

    def _integers(self, names: str) -> list[int]:
        return [self._body.integer(name) for name in re.findall(_NAME, names)]

    def _references(self, text: str) -> list[BufferRange]:
        return [self._reference(name, at, size) for name, _, at, size in _REFERENCE.findall(text)]

    def _reference(self, name: str, offset: str, length: str) -> BufferRange:
        """The range of a constant, or of the run's binding with the number `name`."""
        at, size = self._body.integer(offset), self._body.integer(length)
        if name in self._constants:
            whole = self._constants[name]
        else:
            whole = self._bindings[self._body.integer(name)]
        return self._buffers.range_of(_Part(whole.kind, whole.number, whole.offset + at, size))
