"""The pass `graph-minimize-peak-memory`."""

from dataclasses import dataclass
from typing import Any

from ...cpu_model import GENERIC_CPU, CpuModel
from ...mlir import ir
from ..analysis.liveness import liveness
from ..analysis.scheduling import as_it_stands, best_order, make_problem
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register


@register
@dataclass(frozen=True)
class Schedule(Pass):
    """Compute tensors in an order in which fewer of them are alive at once.

        %a = graph.matmul(%x, %v)                %a = graph.matmul(%x, %v)
        %b = graph.matmul(%x, %w)       -->      %c = graph.reduce_max(%a)
        %c = graph.reduce_max(%a)                %b = graph.matmul(%x, %w)
        %d = graph.reduce_max(%b)                %d = graph.reduce_max(%b)

    By the predicted peak (`passes.analysis.liveness`), where `size` stands for every named size.
    Nothing
    moves where no order is found that takes less. Ops in the bodies of control flow stay where
    they are.
    """

    name = "graph-minimize-peak-memory"
    anchor = FUNCTION
    size: int = 128
    cpu: CpuModel = GENERIC_CPU

    def run(self, op: Any, state: PassState) -> None:
        block = op.regions[0].blocks[0]
        problem = make_problem(block, liveness(op, assumed=self.size, cpu=self.cpu))
        before = problem.peak(as_it_stands(problem))
        order, peak = best_order(problem)
        statistics = state.statistics("schedule")
        name = f"@{ir.StringAttr(op.attributes['sym_name']).value}"
        if peak >= before:
            statistics.record_declined(name, f"no order takes less than {before:,} bytes")
            return
        terminator = list(block.operations)[-1].operation
        for number in order:
            problem.ops[number].move_before(terminator)
        statistics.record_fired(name)
        state.report.add_size("peak bytes before graph-minimize-peak-memory", before)
        state.report.add_size("peak bytes after graph-minimize-peak-memory", peak)
