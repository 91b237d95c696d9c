"""Every error a user of graphc can meet.

All derive from `GraphcError`, so one ``except`` catches them; the tools print them as one
``error: ...`` line. An exception of another type is a bug in graphc.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class GraphcError(Exception):
    """Base of every error that graphc raises on purpose."""


class UsageError(GraphcError):
    """The call is at fault, not the model: an unknown option, target, pass or dimension."""


class UnknownTargetError(UsageError):
    """No such target, or a target that this build cannot serve."""


class InvalidDimError(UsageError):
    """A ``dims=`` entry that names no dimension of the model, or gives it an impossible size."""


class PipelineError(UsageError):
    """A pipeline text that does not parse: unknown passes or options, all of them listed."""


class OutputError(GraphcError):
    """A result cannot be written to the path asked for."""


class InvalidModelError(GraphcError):
    """The input is not a model: unreadable, truncated, or at odds with itself."""


class ExternalDataError(InvalidModelError):
    """External tensor data is missing, truncated, or lies outside the model's folder."""


@dataclass(frozen=True)
class UnsupportedNode:
    """One node that cannot be imported, and why."""

    name: str
    domain: str
    op_type: str
    opset: int
    reason: str

    def __str__(self) -> str:
        domain = self.domain or "ai.onnx"
        return f"{domain}.{self.op_type} (opset {self.opset}) at node '{self.name}': {self.reason}"


class UnsupportedModelError(GraphcError):
    """The model uses operators that graphc does not support. `nodes` lists all of them."""

    def __init__(self, nodes: Sequence[UnsupportedNode]):
        self.nodes = tuple(nodes)
        listing = "\n".join(f"  {node}" for node in self.nodes)
        super().__init__(f"{len(self.nodes)} unsupported node(s):\n{listing}")


class VerificationError(GraphcError):
    """A program breaks a rule of its dialect, or a contract between stages."""


class PassError(GraphcError):
    """A pass failed. `pass_name` says which; the cause is chained.

    `reproducer` holds the program from before the pass and the rest of the pipeline: its text is
    ``str(error.reproducer)``, and ``error.reproducer.save(stem)`` writes it to a file and returns
    the command that runs it. None when the failure happened outside a pipeline. `rewrite` and
    `node` say which rewrite failed and where; they are empty where none did.
    """

    rewrite = ""
    node = ""

    def __init__(self, message: str, pass_name: str = "", reproducer: Any = None):
        self.pass_name = pass_name
        self.reproducer = reproducer
        super().__init__(message)


class RewriteCheckError(PassError):
    """A rewrite changed what the program computes. `rewrite` and `node` say which one, and where;
    `difference` is how much, relative to the largest value.
    """

    def __init__(self, message: str, *, rewrite: str, node: str, difference: float):
        self.rewrite = rewrite
        self.node = node
        self.difference = difference
        super().__init__(message)


class LoweringError(PassError):
    """A `graph` op could not be lowered. The message names the node and its operand types."""


class BackendError(GraphcError):
    """The backend compiler failed.

    `command` is the line that reproduces it, `reproducer` the folder it runs in (or ``None``).
    """

    def __init__(self, message: str, command: str = "", reproducer: str | None = None):
        self.command = command
        self.reproducer = reproducer
        super().__init__(message)


class BackendTimeoutError(BackendError):
    """The backend compiler did not finish in the time allowed."""


class CompilationCancelledError(GraphcError):
    """The caller's progress callback, or Ctrl-C, stopped the compilation."""


class ModuleFileError(GraphcError):
    """A ``.vmfb`` that is truncated, foreign, or from another version."""


class FeedError(GraphcError):
    """Inputs that do not fit the model: wrong names, ranks, shapes or element types."""


class DeviceError(GraphcError):
    """No device or driver for a target, or one that lacks what the module needs."""


class ExecutionError(GraphcError):
    """A compiled model failed while it ran."""


class OutOfMemoryError(ExecutionError):
    """A device has no memory for a model, its data, or what it computes."""


class DeviceLostError(ExecutionError, DeviceError):
    """A device stopped in mid-run, or has stopped before; what was in its memory is gone."""


class DLPackError(GraphcError, BufferError):
    """A tensor cannot be handed to another library by DLPack.

    It is a `BufferError`, too, which DLPack asks for.
    """


class ReferenceRunError(GraphcError):
    """What a model is compared with cannot run it, or is not installed."""


class ReductionError(GraphcError):
    """There is nothing to bisect or to reduce: what was asked for does not show."""
