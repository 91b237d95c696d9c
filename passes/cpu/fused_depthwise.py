"""Selection of the depthwise convolutions to fuse with adjacent matmuls, and of their row tiles."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...dialects.locations import fuse_locations, node_name
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.query import has_one_use
from ..infra.registry import register
from ..infra.report import RewriteStatistics
from ..infra.skipping import SKIPPED, op_shapes
from ..kernels.sliding_depthwise_shape import FEW_ROWS, PIXELS, WEIGHTS_SHARE, row_shares
from .depthwise_panels import share_panels

SCRATCH_SHARE = 1 / 2
"""L2 budget for one workgroup's intermediates, as a share."""
INNER_PIXELS = 48
"""Rows of a matmul that are computed at a time, if there are as many: its weights are read each
time."""
MAX_COST = 1.3
"""Maximum cost of row tiles relative to the separate ops. Fusion saves reads from the caches of
other cores or from memory, and the launches of three kernels."""
START_COST = 0.1
"""Cost of a thread that starts late, relative to a workgroup: the fewer workgroups, the longer the
other threads wait."""
MAX_ROW_BLOCKS = 2
"""Maximum number of row blocks per thread: each has its own scratch, and a cache holds few of
them."""

SHARED_WEIGHTS = "threads had better share the weights"

Root = graph.PackedMatmulOp | graph.DirectConvOp
Stage = list[graph.GraphOp]


@register
@dataclass(frozen=True)
class CpuFuseDepthwise(Pass):
    """Fuse a depthwise convolution with the matmuls before and after it, by row tiles.

    %1 = "graph.fused"() ({ packed_matmul; relu })
    %2 = "graph.fused"() ({ direct_conv of %1; relu })
    %3 = "graph.fused"() ({ packed_matmul of %2; add })
    -->
    %3 = "graph.fused_depthwise"() ({ packed_matmul; relu; direct_conv; relu; packed_matmul; add })

    The intermediates, the widest tensors of an inverted residual (Sandler et al.: MobileNetV2,
    2018), stay in the caches. Rows at the borders of row tiles are computed twice. If nothing
    follows the convolution, threads may share panels of channels instead, and no rows are. Where it
    costs less, or rows or pixels of images are not known, rows slide through a ring buffer.
    """

    name = "cpu-fuse-depthwise"
    anchor = FUNCTION
    optional = True
    skippable = ("fuse-depthwise",)
    cpu: CpuModel = GENERIC_CPU
    threads: int = 0
    """Threads that share the work; with 0 the pass does nothing."""
    skip: tuple[str, ...] = ()
    """Shapes of ops to leave alone, as `op_shapes` writes them."""

    def run(self, op: Any, state: PassState) -> None:
        if self.threads < 1:
            return
        statistics = state.statistics(self.name.removeprefix("cpu-"))
        views = map(graph.graph_op, op.regions[0].blocks[0].operations)
        for view in [view for view in views if view is not None and _is_depthwise(_stage(view)[0])]:
            self._fuse(view, statistics)

    def _fuse(self, depthwise: graph.GraphOp, statistics: RewriteStatistics) -> None:
        """Fuse `depthwise`, a convolution or its fused group, with the steps before and after."""
        node, shapes = node_name(depthwise.operation), op_shapes(_stage(depthwise)[0])
        if shapes in self.skip:
            return statistics.record_declined(node, SKIPPED)
        before, after = _before(depthwise), _after(depthwise)
        for wanted in ((before, depthwise, after), (before, depthwise), (depthwise, after)):
            ops = [op for op in wanted if op is not None]
            if len(ops) < len(wanted):
                continue
            stages = [_stage(op) for op in ops]
            first, second = _root(stages[0]), _root(stages[1])
            undo = None
            if len(ops) == 2 and isinstance(first, graph.PackedMatmulOp) and _is_depthwise(second):
                undo = share_panels(first, second, self.cpu)
            found = choose_tiling(stages, self.cpu, self.threads)
            if isinstance(found, graph.RowTiling):
                _replace(ops, found)
                return statistics.record_fired(node, shapes)
            if undo is not None:
                undo()
            statistics.record_declined(node, found)
        return None


def choose_tiling(stages: list[Stage], cpu: CpuModel, threads: int) -> graph.RowTiling | str:
    """The cheapest row tiles for `stages` that `threads` of `cpu` share, or why there are none."""
    for stage in stages[:-1]:
        if not _is_per_feature(stage):
            return "what follows a step is not the same for all pixels"
    roots = list(map(_root, stages))
    if any(isinstance(size, Dim) for size in graph.type_of(roots[0].x).shape[1:]):
        return _sliding(roots, cpu, threads)
    work = _Work.of(stages, threads)
    candidates = [graph.RowTiling(1, work.window.result, 1, "channels")]
    if not graph.can_split_channels(roots):
        candidates = []
    if _reads_weights_alone(roots, cpu):
        candidates += [*work.candidates(), *work.sliding()]
    elif not candidates:
        return SHARED_WEIGHTS
    most = cpu.l2_bytes * SCRATCH_SHARE
    fitting = [tiling for tiling in candidates if work.scratch(tiling) <= most]
    best = min(fitting, key=work.cost, default=None)
    if best is None or work.cost(best) > MAX_COST:
        return "row tiles would compute too much twice, or for too few threads"
    return best


def _sliding(roots: list[Root], cpu: CpuModel, threads: int) -> graph.RowTiling | str:
    """The tiling for images whose rows or pixels are known only when the model runs."""
    if not _reads_weights_alone(roots, cpu) and not _shares_panels(roots, threads):
        return SHARED_WEIGHTS
    return graph.RowTiling(threads, 1, 1, "sliding")


def _shares_panels(roots: list[Root], threads: int) -> bool:
    """Return whether threads can share the panels of channels of `roots` about evenly."""
    if not graph.can_split_channels(roots):
        return False
    panels = graph.type_of(roots[0].w).static_shape[0]
    return -(-panels // threads) * threads <= panels * MAX_COST


def _reads_weights_alone(roots: list[Root], cpu: CpuModel) -> bool:
    """Return whether each thread had better read all weights of `roots` itself."""
    weights = sum(math.prod(graph.type_of(root.w).static_shape) * 4 for root in roots)
    return weights <= cpu.l2_bytes * WEIGHTS_SHARE


@dataclass(frozen=True)
class _Work:
    """The cost of the steps, and the size of their intermediates."""

    batch: int
    """Images; one if their number is dynamic."""
    window: graph.RowWindow
    pixels: int
    """Pixels in a row of the result."""
    first: int
    """Multiplications of the step before the convolution, per row of the image."""
    others: int
    """Multiplications of the other steps, per row of the result."""
    image_row: int
    """Bytes per row between the step before the convolution and the convolution, 0 if there is no
    such step."""
    result_row: int
    """Bytes per row between the convolution and the last matmul, 0 if there is no such matmul."""
    panels: int
    """Panels of channels of the convolution."""
    threads: int

    @staticmethod
    def of(stages: list[Stage], threads: int) -> "_Work":
        roots = list(map(_root, stages))
        convolution = next(filter(_is_depthwise, roots))
        batch, *image = graph.type_of(convolution.x).shape
        _, width, input_channels = map(graph.static_size, image)
        _, pixels, features = map(graph.static_size, graph.type_of(convolution.result).shape[1:])
        before, after = roots[0] is not convolution, roots[-1] is not convolution
        first = _pixel_multiplications(roots[0]) * width if before else 0
        last = _pixel_multiplications(roots[-1]) if after else 0
        others = pixels * (_pixel_multiplications(convolution) + last)
        return _Work(
            batch if isinstance(batch, int) else 1,
            graph.RowWindow.of(convolution), pixels, first, others,
            width * input_channels * 4 if before else 0, pixels * features * 4 if after else 0,
            graph.type_of(convolution.w).static_shape[0], threads,
        )  # fmt: skip

    def candidates(self) -> Iterator[graph.RowTiling]:
        height = self.window.result
        for row_blocks in range(1, min(height, MAX_ROW_BLOCKS * self.threads) + 1):
            for rows in range(1, height // row_blocks + 1):
                enough = -(-INNER_PIXELS // self.pixels)
                inner = [n for n in range(1, rows + 1) if rows % n == 0]
                chosen = next((n for n in inner if n >= enough), rows)
                yield graph.RowTiling(row_blocks, rows, chosen)

    def sliding(self) -> Iterator[graph.RowTiling]:
        """The ring buffer of rows, if rows are enough for threads to share."""
        if self.batch * self.window.result >= FEW_ROWS * self.threads:
            yield graph.RowTiling(self.threads, 1, 1, "sliding")

    def scratch(self, tiling: graph.RowTiling) -> int:
        """Bytes of scratch memory per workgroup."""
        if tiling.split == "sliding":
            at_a_time = -(-PIXELS // self.pixels)
            new = at_a_time * self.window.stride
            read = new - -max(self.window.reach - self.window.stride, 0) // new * -new
            return read * self.image_row + at_a_time * self.result_row
        if tiling.split == "channels":
            return self.window.image * self.image_row // self.panels
        return tiling.read(self.window) * self.image_row + tiling.inner * self.result_row

    def cost(self, tiling: graph.RowTiling) -> float:
        """Cost relative to the separate ops, whose work threads are assumed to share evenly."""
        if tiling.split == "sliding":
            return self._sliding_cost()
        height, count = self.window.result, len(tiling.starts(self.window.result))
        computed = count * (tiling.read(self.window) * self.first + tiling.rows * self.others)
        plain = self.window.image * self.first + height * self.others
        workgroups = self.batch * (self.panels if tiling.split == "channels" else tiling.row_blocks)
        shares = -(-workgroups // self.threads)
        padded_height = -(-height // tiling.row_blocks) * tiling.row_blocks
        uneven = shares * self.threads / workgroups * padded_height / height
        return computed / plain * uneven * (1 + self._late(shares))

    def _sliding_cost(self) -> float:
        """The cost of the ring buffer: only rows at the edges of workgroups are computed twice."""
        rows = self.batch * self.window.result
        shares = row_shares(rows, self.threads)
        plain = self.batch * self.window.image * self.first + rows * self.others
        overlap = max(self.window.reach - self.window.stride, 0) * self.first
        computed = plain + (shares * self.threads - 1) * overlap
        return computed / plain * (1 + self._late(shares))

    def _late(self, shares: int) -> float:
        """The cost of threads that start late, where each has so many workgroups."""
        return START_COST / shares if self.threads > 1 else 0


def _pixel_multiplications(root: Root) -> int:
    """Multiplications of a matmul or a convolution per pixel of its result."""
    if isinstance(root, graph.PackedMatmulOp):
        return graph.static_size(graph.type_of(root.x).shape[-1]) * root.attrs["columns"]
    return math.prod(graph.type_of(root.w).static_shape)


def _stage(op: graph.GraphOp) -> Stage:
    """A contraction, and the elementwise ops that follow it."""
    if isinstance(op, graph.FusedOp) and op.kind == "epilogue":
        return op.ops
    return [op]


def _root(stage: Stage) -> Root:
    """The contraction that `stage` begins with."""
    root = stage[0]
    assert isinstance(root, Root)
    return root


def _is_depthwise(op: graph.GraphOp) -> TypeGuard[graph.DirectConvOp]:
    """Return whether `op` is a depthwise convolution of images."""
    return graph.is_depthwise(op) and graph.type_of(op.x).rank == 4


def _before(depthwise: graph.GraphOp) -> graph.GraphOp | None:
    """The matmul or convolution whose result only `depthwise` uses."""
    x = _root(_stage(depthwise)).x
    op = graph.graph_op(x.owner)
    if op is None or not has_one_use(x) or graph.is_depthwise(_stage(op)[0]):
        return None
    return op if isinstance(_stage(op)[0], graph.PackedMatmulOp | graph.DirectConvOp) else None


def _after(depthwise: graph.GraphOp) -> graph.GraphOp | None:
    """The matmul that is the only user of the result of `depthwise`, as its rows."""
    result = depthwise.operation.results[0]
    if not has_one_use(result):
        return None
    operation = next(iter(result.uses)).owner.operation
    while operation.parent is not None and operation.parent != depthwise.operation.parent:
        operation = operation.parent
    op = graph.graph_op(operation)
    root = None if op is None else _stage(op)[0]
    return op if isinstance(root, graph.PackedMatmulOp) and root.x == result else None


def _is_per_feature(stage: Stage) -> bool:
    """Return whether every operand of the epilogue is one number, or one per feature."""
    inside = {op.operation.results[0] for op in stage}
    features = graph.type_of(stage[0].operation.results[0]).shape[-1]
    used = [value for op in stage[1:] for value in op.operation.operands]
    beside = [graph.type_of(value) for value in used if value not in inside]
    return all(each.is_static and math.prod(each.static_shape) in (1, features) for each in beside)


def _replace(ops: list[graph.GraphOp], tiling: graph.RowTiling) -> None:
    """Build the fused op in place of the last of `ops`, and erase `ops`."""
    last = ops[-1].operation
    with ir.InsertionPoint(last), fuse_locations([op.operation.location for op in ops]):
        fused = graph.fused_depthwise(ops, tiling)
    last.results[0].replace_all_uses_with(fused)
    for op in reversed(ops):
        op.operation.erase()
