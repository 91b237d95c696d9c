"""Models divided among ranks: one program for all, and what each rank compiles of it."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ..dialects import graph
from ..errors import FeedError, UsageError
from ..frontend.onnx import import_onnx
from ..mlir import ir
from ..passes.graph.shard.graph_shard import Shard
from ..passes.graph.shard.graph_specialize_rank import SpecializeRank
from ..passes.graph.shard.local_values import argument_parts, result_parts
from ..passes.infra import options
from ..passes.infra.pipeline import run_pipeline
from ..passes.infra.report import Report
from ..runtime import CompiledModel, ModelMetadata, load
from ..runtime.execution.hybrid import HybridSession, PartSpec, Runnable
from ..runtime.files.output_file import write_atomically
from ..runtime.iree_compile.temporary_folder import temporary_folder
from ..runtime.metadata import model_name
from ..runtime.model import NativePart
from .driver import Compilation, describe, finish, interpreted, main_function
from .options import Options
from .segments import CollectiveStep, Segment, segment_program

FOLDED_BYTES = 1 << 16
"""Maximum size of what is folded before the weights are divided: a rank does not hold all of them
in memory."""

_BEFORE = (
    "canonicalize",  # as in the pipelines of targets: what is divided are composites
    "cse",
    "graph-refine-shapes",
    f"graph-fold-constants{{keep-quantized=true keep-blocks=true max-result-bytes={FOLDED_BYTES}}}",
    "graph-simplify",
    "graph-recognize",
    "canonicalize",
    "cse",
)
_AFTER = ("canonicalize", "cse")  # parts that several blocks take are one
ONE_SHOT_BYTES = 1 << 16
"""Maximum size of values that each rank sums as a whole; parts of larger ones are summed by one
rank each, and sent to the others then (one-shot and two-shot all-reduce of TensorRT-LLM)."""


class Communicator(Protocol):
    """The ranks of a group; all of them make the same calls in the same order."""

    @property
    def rank(self) -> int:
        """The number of this rank."""
        ...

    @property
    def size(self) -> int:
        """The number of ranks."""
        ...

    def all_gather(self, x: np.ndarray) -> np.ndarray:
        """`x` of all ranks, along a new first axis."""
        ...

    def all_to_all(self, x: np.ndarray) -> np.ndarray:
        """Row ``x[rank]`` of all ranks, along the first axis."""
        ...


@dataclass(frozen=True)
class DividedInput:
    """An input of which each rank has a part: the axis that is divided, and its sections."""

    axis: int
    sections: tuple[int, ...]
    ranks: int

    def part(self, name: str, x: np.ndarray, rank: int) -> np.ndarray:
        """The part of `x` that belongs to `rank`. Raises `FeedError` for another size."""
        if x.ndim <= self.axis or x.shape[self.axis] != sum(self.sections):
            raise FeedError(
                f"input '{name}' has shape {list(x.shape)}: axis {self.axis}, which is divided "
                f"among ranks, must have {sum(self.sections)} elements"
            )
        return graph.part_of_rank(x, self.axis, self.sections, self.ranks, rank)


@dataclass(frozen=True)
class ShardedModel:
    """A model whose weights are divided among ranks: one program, which all ranks run."""

    module: ir.Module
    name: str
    ranks: int
    report: Report
    options: Options
    carried: Mapping[str, str] = field(default_factory=dict[str, str])
    """Inputs that are outputs of the call before, by name."""

    @property
    def local_inputs(self) -> Mapping[str, DividedInput]:
        """The carried inputs of which each rank keeps its part."""
        with self.module.context:
            function = main_function(self.module)
            results = {name: form for name, _, form in result_parts(function)}
            return {
                name: DividedInput(form["axis"], form["sections"], self.ranks)
                for name, _, form in argument_parts(function)
                if name in self.carried and results.get(self.carried[name]) == form
            }

    def interpret(self) -> CompiledModel:
        """All ranks in this process, in numpy."""
        whole = replace(self.options, pipeline="")
        model = interpreted(Compilation(self._copy(), self.name, whole))
        model.report = self.report
        return model

    @property
    def weight_bytes(self) -> int:
        """Bytes of the constants of one rank."""
        with self.module.context:
            operations = main_function(self.module).entry_block.operations
            return sum(_bytes_on_rank(op) for op in operations)

    def compile(self, communicator: Communicator) -> CompiledModel:
        """The model of one rank, which calls the others at collectives.

        Only the rank's own part of the weights is copied and compiled. It takes and returns its own
        part of the `local_inputs`. Raises `UsageError` for another number of ranks, and as
        `graphc.compile` does.
        """
        if communicator.size != self.ranks:
            raise UsageError(
                f"the model is divided among {self.ranks} ranks, not {communicator.size}"
            )
        module, local = self._copy(), self.local_inputs
        names = (*local, *(self.carried[name] for name in local))
        own = options.render(SpecializeRank(communicator.rank, names))
        run_pipeline(module, f"graph-specialize-rank{{{own}}},canonicalize,cse")
        return _compiled(module, self, communicator)

    def _copy(self) -> Any:
        with self.module.context:
            return self.module.operation.clone(ip=False)


def shard(
    model: Any, ranks: int, *, axis: str = "tensor", gather_bytes: int = 1 << 20,
    carried: Mapping[str, str] | None = None, **given: Any
) -> ShardedModel:  # fmt: skip
    """Divide the weights of `model`, as `graphc.compile` takes it, among `ranks`.

    `axis` names the ranks in the program; weights of `gather_bytes` at least are divided even where
    the results have to be gathered. `carried` names inputs that are outputs of the call before,
    such as caches: ``{"past_key_values.*": "present.*"}``. Each rank keeps its part of those that
    come from divided weights.

    Other arguments are those of `graphc.compile`; with ``check_rewrites`` the program is compared
    with the undivided one. Raises as that does, and `UsageError` for names that are not there.
    """
    if ranks < 1:
        raise UsageError(f"ranks must be positive, not {ranks}")
    chosen = Options.of(given.pop("target", "cpu"), **given)
    if chosen.donate:
        raise UsageError("inputs of a model that is divided among ranks cannot be donated")
    start = time.perf_counter()
    module = import_onnx(
        model, dims=chosen.dims, outputs=chosen.outputs, assume=chosen.assume,
        overridden=chosen.overridden, independent_dims=chosen.independent_dims,
    )  # fmt: skip
    report = Report(title=model_name(model))
    report.record_stage("import", time.perf_counter() - start)
    pairs = _carried(describe(module, report.title, chosen), carried or {})
    division = options.render(Shard(ranks, axis, gather_bytes, tuple(pairs.values())))
    run_pipeline(
        module, ",".join((*_BEFORE, f"graph-shard{{{division}}}", *_AFTER)), report=report,
        check_rewrites=chosen.check_rewrites,
    )  # fmt: skip
    return ShardedModel(module, report.title, ranks, report, chosen, pairs)


def _carried(metadata: ModelMetadata, patterns: Mapping[str, str]) -> dict[str, str]:
    """The inputs that match `patterns`, and the outputs of which they are the next values.

    A ``*`` stands for the same text in both. Raises `UsageError`.
    """
    inputs, outputs = (
        [spec.name for spec in specs] for specs in (metadata.inputs, metadata.outputs)
    )
    found: dict[str, str] = {}
    for pattern, result in patterns.items():
        form = re.compile("(.*)".join(map(re.escape, pattern.split("*"))))
        matches = [match for match in map(form.fullmatch, inputs) if match]
        if not matches:
            raise UsageError(f"carried: no input matches '{pattern}' ({', '.join(inputs)})")
        for match in matches:
            texts = iter(match.groups())
            name = "".join(next(texts, "*") if part == "*" else part
                           for part in re.split(r"(\*)", result))  # fmt: skip
            if name not in outputs:
                raise UsageError(f"carried: there is no output '{name}' ({', '.join(outputs)})")
            found[match.string] = name
    return found


def _bytes_on_rank(operation: Any) -> int:
    """Bytes of what a rank has of a constant; 0 for other ops."""
    op = graph.graph_op(operation)
    if not isinstance(op, graph.ConstantOp):
        return 0
    users = [graph.graph_op(use.owner) for use in op.result.uses]
    parts = [user.result for user in users if isinstance(user, graph.AllSliceOp)]
    held = parts if len(parts) == len(users) else [*parts, op.result]
    return sum(graph.known_bytes(graph.type_of(value)) for value in held)


def _compiled(module: ir.Module, sharded: ShardedModel, comm: Communicator) -> CompiledModel:
    """The program `module` of one rank, in parts between which the ranks exchange values."""
    chosen = replace(sharded.options, dims={})
    metadata = describe(module, sharded.name, chosen)
    program = segment_program(module)
    parts: list[tuple[PartSpec, Runnable]] = []
    for number, step in enumerate(program.steps):
        if isinstance(step, Segment):
            name = f"{sharded.name}.rank{comm.rank}.segment{number}"
            spec = PartSpec(True, step.nodes, step.inputs, step.outputs)
            compilation = Compilation(step.module, name, chosen)
            parts.append((spec, NativePart(_ready(compilation))))
        else:
            reason = f"{step.kind.OPERATION_NAME} of {sharded.ranks} ranks"
            spec = PartSpec(False, (step.node,), (step.input,), (step.output,), {step.node: reason})
            parts.append((spec, CollectivePart(step, comm)))
    session = HybridSession(sharded.name, parts, program.inputs, program.outputs)
    report = replace(sharded.report, parts=[spec for spec, _ in parts])
    return CompiledModel(session, metadata, None, report)


def _ready(compilation: Compilation) -> CompiledModel:
    if not compilation.options.target.is_compiled:
        return interpreted(compilation)
    with temporary_folder() as folder:  # what is mapped need not be in memory
        path = folder / "segment.vmfb"
        write_atomically(path, finish(compilation))
        return load(path, threads=compilation.options.threads)


class CollectivePart:
    """A collective, between compiled segments."""

    def __init__(self, step: CollectiveStep, communicator: Communicator):
        self._step, self._communicator = step, communicator
        self.engines: Mapping[str, str] = {}
        self.owns_results = False

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The result by name, the same bits on all ranks."""
        x, step = feeds[self._step.input], self._step
        if issubclass(step.kind, graph.AllReduceOp):
            return {step.output: all_reduce(x, self._communicator, step.attrs["reduction"])}
        parts = self._communicator.all_gather(x)
        return {step.output: graph.join_parts(parts, step.attrs["axis"], step.attrs["sections"])}

    def close(self) -> None:
        """Nothing: the ranks outlive their models."""


def all_reduce(x: np.ndarray, communicator: Communicator, reduction: str = "sum") -> np.ndarray:
    """`x` of all ranks combined in their order: the same bits on all of them."""
    ranks = communicator.size
    if ranks <= 2 or x.nbytes <= ONE_SHOT_BYTES:
        return graph.reduce_in_rank_order(communicator.all_gather(x), reduction)
    rows = np.zeros((ranks, -(-x.size // ranks)), x.dtype)
    rows.reshape(-1)[: x.size] = x.reshape(-1)
    mine = graph.reduce_in_rank_order(communicator.all_to_all(rows), reduction)
    return communicator.all_gather(mine).reshape(-1)[: x.size].reshape(x.shape)
