"""Errors that graphc raises.

All derive from `GraphcError`, so one ``except`` catches them; the tools print them as one
``error: ...`` line. An exception of another type is a bug in graphc.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class GraphcError(Exception):
    """Base class of all errors that graphc raises deliberately."""

    code: ClassVar[str] = "graphc"
    """Code of the error for ``--explain``: ``invalid-model`` for `InvalidModelError`."""
    remedy: ClassVar[str] = "The message says what went wrong."
    """General advice."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        words = re.findall(r"DLPack|[A-Z][a-z]+", cls.__name__.removesuffix("Error"))
        cls.code = "-".join(words).lower()


class UsageError(GraphcError):
    """An error in the call, not in the model: an unknown option, target, pass or dimension."""

    remedy = "Correct the argument that the message names; --help lists what there is."


class UnknownTargetError(UsageError):
    """An unknown target, or one that this build does not support."""

    remedy = "`gc-compile --list-targets` shows the targets and their variants."


class InvalidDimError(UsageError):
    """A ``dims=`` entry that names no dimension of the model, or has an invalid size."""

    remedy = "The message lists the dimensions that the model has."


class PipelineError(UsageError):
    """A pipeline string that does not parse. All unknown passes and options are listed."""

    remedy = (
        "`gc-opt --list-passes` shows the passes with their options; a pipeline reads like "
        "those of mlir-opt: builtin.module(func.func(graph-simplify,cse))."
    )


class OutputError(GraphcError):
    """A result that cannot be written to the requested path."""

    remedy = (
        "Look at the path, the rights on its folder, and the room that is left on the disk. "
        "TMPDIR names the folder for temporary files."
    )


class InvalidModelError(GraphcError):
    """An input that is not a valid model: unreadable, truncated, or inconsistent."""

    remedy = (
        "Export the model again, or hold it against onnx.checker.check_model; a file that was "
        "downloaded may be a page of text, or end early."
    )


class LimitError(InvalidModelError):
    """A model that exceeds a limit: nodes, nesting, bytes of constants, sizes."""

    remedy = (
        "Where a model is meant to be so large GRAPHC_LIMITS raises the limit that the message "
        "names, GRAPHC_LIMITS=nodes=1000000 for instance: docs/untrusted-input.md."
    )


class ModelFolderError(InvalidModelError):
    """A folder of a language model without a config or a tokenizer, or one that contradicts the
    model."""

    remedy = (
        "Keep genai_config.json, tokenizer.json and the model in one folder, as "
        "gc-import-gguf and the builder of onnxruntime-genai write them."
    )


class UnsupportedFormatError(GraphcError):
    """A file of weights with an architecture or a type of blocks that is not imported."""

    remedy = (
        "docs/generation.md lists the architectures and types; requantize, or take another file."
    )


class PromptError(UsageError):
    """Tokens that a language model cannot take: too many for its context, or out of range."""

    remedy = "Shorten the prompt, rewind, or raise max_length, up to the context of the model."


class MissingPackageError(GraphcError):
    """A package that an optional part of graphc needs, and that is not installed."""

    remedy = "Install the extra that the message names."

    def __init__(self, purpose: str, package: str, extra: str):
        super().__init__(f"{purpose} needs the package {package}: pip install 'graphc[{extra}]'")


class ConversionError(InvalidModelError):
    """A node whose converter fails: it violates the operator's specification in a way that no check
    covers, or it reveals a bug in graphc. The cause is chained.
    """

    remedy = (
        "Hold the model against onnx.checker.check_model(model, full_check=True). Where that "
        "finds nothing it is a bug in graphc: report the message, which names the node."
    )


class ExternalDataError(InvalidModelError):
    """External tensor data that is missing, truncated, or outside the model's folder."""

    remedy = (
        "Keep the files of external data beside the model, under the names that it gives, in "
        "its own folder or below."
    )


@dataclass(frozen=True)
class UnsupportedNode:
    """A node that cannot be imported, and the reason."""

    name: str
    domain: str
    op_type: str
    opset: int
    reason: str

    def __str__(self) -> str:
        domain = self.domain or "ai.onnx"
        return f"{domain}.{self.op_type} (opset {self.opset}) at node '{self.name}': {self.reason}"


class UnsupportedModelError(GraphcError):
    """A model with operators that graphc does not support. `nodes` lists all nodes concerned."""

    remedy = (
        "Without --no-host such nodes run on the host, between compiled parts. A converter "
        "for an operator is a few lines: CONTRIBUTING.md."
    )

    def __init__(self, nodes: Sequence[UnsupportedNode]):
        self.nodes = tuple(nodes)
        listing = "\n".join(f"  {node}" for node in self.nodes)
        super().__init__(f"{len(self.nodes)} unsupported node(s):\n{listing}")


class VerificationError(GraphcError):
    """A program that violates a rule of its dialect, or a contract between stages."""

    remedy = (
        "A program that was written or edited by hand: the message names the op and the rule. "
        "After one of graphc's own passes it is a bug in that pass: gc-bisect names it."
    )


class PassError(GraphcError):
    """A failure of the pass `pass_name`; the cause is chained.

    `reproducer` holds the program from before the pass and the rest of the pipeline: its text is
    ``str(error.reproducer)``, and ``error.reproducer.save(stem)`` writes it to a file and returns
    the command that runs it. It is None if the failure happened outside a pipeline. `rewrite` and
    `node` name the rewrite that failed, and its node; they are empty if no rewrite failed.
    """

    remedy = (
        "A bug in the pass that the message names. gc-opt --run-reproducer FILE shows it "
        "again; gc-reduce makes the model small."
    )

    rewrite = ""
    node = ""

    def __init__(self, message: str, pass_name: str = "", reproducer: Any = None):
        self.pass_name = pass_name
        self.reproducer = reproducer
        super().__init__(message)


class RewriteCheckError(PassError):
    """A rewrite that changed the results of the program. `rewrite` names it, `node` its location;
    `difference` is the change, relative to the largest value.
    """

    remedy = (
        "A bug in the rewrite that the message names, unless it is meant to be less exact: "
        "then it states a bound."
    )

    def __init__(self, message: str, *, rewrite: str, node: str, difference: float):
        self.rewrite = rewrite
        self.node = node
        self.difference = difference
        super().__init__(message)


class LoweringError(PassError):
    """A `graph` op that cannot be lowered. The message names the node and its operand types."""

    remedy = (
        "The op has no lowering for such operands. Compile without --no-host, or report the "
        "message, which names the node and the types."
    )


class BackendError(GraphcError):
    """A failure of the backend compiler.

    `command` is the command line that reproduces it, `reproducer` the folder with the input (or
    ``None``).
    """

    remedy = (
        "The folder that the message names has a command that shows it again, without the "
        "model. Another --opt-level may avoid it; gc-reduce --predicate makes the model "
        "small."
    )

    def __init__(self, message: str, command: str = "", reproducer: str | None = None):
        self.command = command
        self.reproducer = reproducer
        super().__init__(message)


class BackendTimeoutError(BackendError):
    """A backend compilation that exceeded its timeout."""

    remedy = "Give it longer with --timeout, or less to do with a smaller --opt-level."


class CompilationCancelledError(GraphcError):
    """A compilation stopped by the caller's progress callback, or by Ctrl-C."""

    remedy = "Nothing is left behind: start it again."


class ModuleFileError(GraphcError):
    """A ``.vmfb`` that is truncated, foreign, or from another version."""

    remedy = "Compile the model again with this version; a file that was copied may end early."


class FeedError(GraphcError):
    """Inputs that do not fit the model: wrong names, ranks, shapes or element types."""

    remedy = "`model.inputs` says which names, shapes and element types are taken."

    names: frozenset[str] = frozenset()
    """Names of dimensions with conflicting sizes, if that is the only problem."""


class DeviceError(GraphcError):
    """A missing device or driver for a target, or one that lacks features of the module."""

    remedy = (
        "`gc-run --list-devices` shows what is here. Install the driver that the message "
        "names, or compile for another target."
    )


class ExecutionError(GraphcError):
    """A failure of a compiled model at run time."""

    remedy = (
        'The message names the node where it is known. target="interpret" and graphc.trace '
        "show the values up to there."
    )


class OutOfMemoryError(ExecutionError):
    """Device memory exhausted by a model, its data, or its intermediate results."""

    remedy = (
        "Use smaller inputs or batches, close models and drop tensors that are no longer "
        "needed; `model.peak_memory(feeds)` and gc-view say what a run takes."
    )


class DeviceLostError(ExecutionError, DeviceError):
    """A device that stopped during this run or an earlier one; the contents of its memory are lost.

    A call without feeds in that memory is retried once before it fails.
    """

    remedy = (
        "Bring tensors to the device again (`model.to_device`), in a new process if that fails. If "
        "it happens again, look for limits on the time of a kernel, and at the driver's log."
    )


class DLPackError(GraphcError, BufferError):
    """A tensor that cannot be exported to another library by DLPack.

    It is also a `BufferError`, as the DLPack protocol requires.
    """

    remedy = "Take a copy on the host: tensor.numpy(), or dl_device=(1, 0)."


class ReferenceRunError(GraphcError):
    """A reference that cannot run the model, or is not installed."""

    remedy = (
        "Choose the other reference with --reference, install onnxruntime, or give --predicate."
    )


class ReductionError(GraphcError):
    """Nothing to bisect or to reduce: the problem does not occur."""

    remedy = "Give the inputs, the tolerance or the options under which it shows."


class QuantizationError(GraphcError):
    """A model that cannot be quantised, or cannot within the allowed loss of accuracy."""

    remedy = (
        "The message names the node, the value or the file. --exclude keeps nodes in f32, "
        "--dynamic quantises without calibration data."
    )


class PlacementError(GraphcError):
    """A part of a model that its device, or every device, refuses to run."""

    remedy = "Add a device that runs the part: `onnxruntime` or `host`, as docs/placement.md says."


class ManifestError(GraphcError):
    """The manifest of a mapped data set that is damaged, in use, or that of another job."""

    remedy = "Name another --output folder, or remove the one that the message names."


class ClusterError(GraphcError):
    """A scheduler that cannot be reached, or workers that are lost again and again."""

    remedy = (
        "Check the address, and the logs and the memory of the workers. Finished blocks are kept: "
        "the same command continues from there."
    )


class WorkerError(GraphcError):
    """A worker that cannot run the model: it has other versions, other files or another CPU."""

    remedy = (
        "Install the same versions of graphc and IREE on all machines. For several kinds of CPUs "
        "compile for one that all of them can run: --target cpu:x86-64-v3."
    )
