"""The command line."""

import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from .cases import Case, holds_tensors_only, load_cases
from .matrix import write_matrix
from .outcome import Outcome, Status
from .running import default_jobs, run_cases

NOT_PASSING = Path(__file__).with_name("not_passing.toml")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases that were asked for; 1 where one ends otherwise than the list says."""
    options = _parser().parse_args(arguments)
    cases = [case for case in load_cases() if re.search(options.matching, case.name)]
    known = tomllib.loads(NOT_PASSING.read_text(encoding="utf-8"))
    outcomes = []
    for outcome in run_cases(
        cases,
        jobs=options.jobs,
        timeout=options.timeout,
        target=options.target,
        host=options.host,
        execute=options.execute,
    ):
        outcomes.append(outcome)
        if not outcome.passed and (options.all or outcome.name not in known):
            print(f"{outcome.status.upper():12} {outcome.name}: {outcome.detail}", flush=True)
    figures, surprises = summary(cases, outcomes), _surprises(outcomes, known)
    print("\n".join([*figures, *surprises]))
    if not options.matching and options.target == "cpu":
        write_matrix(cases, outcomes, figures, known)
    return 1 if surprises else 0


def summary(cases: Sequence[Case], outcomes: Sequence[Outcome]) -> list[str]:
    """How many passed, natively above all."""
    counts = Counter(outcome.status for outcome in outcomes)
    passed = {outcome.name: outcome for outcome in outcomes if outcome.passed}
    tensors = [case.name for case in cases if holds_tensors_only(case.model())]
    native = [name for name in tensors if name in passed and passed[name].native]
    lines = [f"{_share(len(passed), len(outcomes))} pass"]
    lines += [f"{counts[status]} {status}" for status in Status if status is not Status.PASS]
    lines += [f"{_share(len(native), len(tensors))} of those on tensors alone pass, all compiled"]
    return lines


def _surprises(outcomes: Sequence[Outcome], known: Mapping[str, str]) -> list[str]:
    failed = sum(not o.passed and o.name not in known for o in outcomes)
    mended = [o.name for o in outcomes if o.passed and o.name in known]
    lines = [f"passing, but still in {NOT_PASSING.name}: {name}" for name in mended]
    return [*lines, f"{failed} not passing, and not in {NOT_PASSING.name}"] if failed else lines


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "0 of 0"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m graphc.tools.conformance",
        description="Run ONNX's test suite for backends.",
    )
    parser.add_argument(
        "-k", dest="matching", default="", metavar="REGEX", help="only cases whose names match"
    )
    parser.add_argument("-j", "--jobs", type=int, default=default_jobs(), metavar="N")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS", help="per case")
    parser.add_argument("--target", default="cpu", help="what to compile for (cpu)")
    parser.add_argument(
        "--compile-only",
        dest="execute",
        action="store_false",
        help="what is compiled passes: for targets that are not here",
    )
    parser.add_argument(
        "--no-host", dest="host", action="store_false", help="what is not compiled does not pass"
    )
    parser.add_argument(
        "--all", action="store_true", help="say why cases fail that are known to, too"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
