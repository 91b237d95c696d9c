"""Models on the host, in turns through graphc, ONNX Runtime and `onnx.reference`.

    python -m graphc.benchmarks.host_parts [part of a name]

The table has the time of a call from Python in microseconds: with graphc's choice of engines, with
Python alone, and in the other two; and the ratios of the first. A dash is a model that the runtime
does not run.
"""

import logging
import sys
from collections.abc import Callable, Sequence

import onnxruntime
from onnx.reference import ReferenceEvaluator

import graphc

from .host_models import HostCase, host_cases
from .measure import MeasurementPlan, Timing, in_turns
from .table import format_table

BATCHES = (1, 1000)
PLAN = MeasurementPlan(rounds=9, burst_seconds=0.05)
RUNTIMES = ("graphc", "Python", "ONNX Runtime", "onnx.reference")
HEADER = ("case", "batch", *(f"{name} us" for name in RUNTIMES), "/ ORT", "reference /")

Call = Callable[[], object]


def _calls(case: HostCase) -> dict[str, Call]:
    """A call of `case` in each runtime that runs it."""
    made = {
        "graphc": lambda: _graphc(case, "auto"),
        "Python": lambda: _graphc(case, "python"),
        "ONNX Runtime": lambda: _onnxruntime(case),
        "onnx.reference": lambda: _reference(case),
    }
    calls: dict[str, Call] = {}
    for name, make in made.items():
        try:
            call = make()
            call()
        except Exception as error:  # a runtime that lacks an operator says so in its own way
            reason = str(error).strip().partition("\n")[0]
            print(f"{case.name}: {name} does not run it: {reason[:90]}", file=sys.stderr)
        else:
            calls[name] = call
    return calls


def _graphc(case: HostCase, engine: str) -> Call:
    model = graphc.compile(case.model, threads=1, host=engine)
    return lambda: model.run(None, case.feeds)


def _onnxruntime(case: HostCase) -> Call:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        case.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda: session.run(None, case.feeds)


def _reference(case: HostCase) -> Call:
    evaluator = ReferenceEvaluator(case.model)
    return lambda: evaluator.run(None, case.feeds)


def _row(case: HostCase, timings: dict[str, Timing]) -> Sequence[str]:
    times = [f"{timings[name].median * 1e3:.1f}" if name in timings else "-" for name in RUNTIMES]
    ours, theirs = timings["graphc"], timings.get("ONNX Runtime")
    reference = timings.get("onnx.reference")
    return (
        case.name, str(case.batch), *times,
        f"{ours.ratio(theirs):.2f}" if theirs else "-",
        f"{reference.ratio(ours):.1f}" if reference else "-",
    )  # fmt: skip


def main() -> None:
    logging.getLogger("graphc").setLevel(logging.ERROR)  # each model has nodes on the host
    rows: list[Sequence[str]] = []
    for case in host_cases(BATCHES):
        if all(text in case.name for text in sys.argv[1:]):
            rows.append(_row(case, in_turns(_calls(case), PLAN)))
            print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    print(format_table(HEADER, rows))


if __name__ == "__main__":
    main()
