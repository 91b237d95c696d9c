"""Run the passes over the benchmark models and check the claim of every rewrite.

::

    python -m harness.check_rewrites                      # the models of `make bench`
    python -m harness.check_rewrites bert gpt2 --json rewrites.json

Nothing is compiled. The program is evaluated in numpy before and after each rewrite that fires, and
before and after each pass that does not report its rewrites. A line for each model shows the number
of rewrites that fired, the number of checks, and the problem, if any. The exit status is 1 if there
was a problem.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphc.benchmarks.models import model_path
from graphc.benchmarks.table import format_table
from graphc.compiler.explain import explain
from graphc.errors import RewriteCheckError
from harness.reliability import LongRun, finished, write_run

MODELS = ("resnet50", "mobilenetv2", "bert", "vit", "gpt2", "resnet50-b8")
HEADER = ("model", "rewrites", "fired", "checked", "s", "problem")


@dataclass(frozen=True)
class RewriteFinding:
    """The result of checking one model."""

    model: str
    seconds: float
    rewrites: int = 0
    """Number of different rewrites that fired."""
    fired: int = 0
    checked: int = 0
    """Number of comparisons, including those of whole passes."""
    problem: str = ""

    def cells(self) -> list[str]:
        """The cells of the model's row in the table."""
        numbers = (self.rewrites, self.fired, self.checked)
        return [self.model, *map(str, numbers), f"{self.seconds:.0f}", self.problem]


def check(name: str, path: Path, target: str) -> RewriteFinding:
    """Run the passes for `target` over the model at `path` and check them."""
    start = time.monotonic()
    try:
        report = explain(path, target, check_rewrites=True)
    except RewriteCheckError as error:
        return RewriteFinding(name, time.monotonic() - start, problem=str(error))
    statistics = report.rewrites.values()
    reasons = sorted({reason for each in statistics for reason in each.unchecked})
    return RewriteFinding(
        name,
        time.monotonic() - start,
        sum(each.count > 0 for each in statistics),
        sum(each.count for each in statistics),
        sum(each.checked for each in statistics),
        f"not checked: {'; '.join(reasons)}" if reasons else "",
    )


def summary(findings: Sequence[RewriteFinding], target: str) -> LongRun:
    """The stored summary of a run."""
    counts: Mapping[str, float] = {
        "models": len(findings),
        "rewrites fired": sum(each.fired for each in findings),
        "comparisons": sum(each.checked for each in findings),
    }
    return finished(
        f"every rewrite on {', '.join(each.model for each in findings)} for {target}, "
        "before and after in numpy",
        "make check-rewrites", counts,
        violations=sum(bool(each.problem) for each in findings),
        seconds=sum(each.seconds for each in findings),
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Check every rewrite on the benchmark models.")
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--target", default="cpu", help="whose passes (cpu)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was counted")
    options = parser.parse_args(arguments)
    findings = []
    for name in options.models:
        findings.append(check(name, model_path(name), options.target))
        print("  ".join(findings[-1].cells()), flush=True)
    print(format_table(HEADER, [each.cells() for each in findings]))
    if options.json is not None:
        write_run(summary(findings, options.target), options.json)
    return 1 if any(each.problem for each in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
