"""The command line."""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from graphc.errors import UsageError
from graphc.runtime.device.device import is_software
from graphc.tools.cli import run_tool
from harness import docs
from harness.isolation import default_jobs

from .batched import compile_cases
from .case_outcome import CaseOutcome
from .cases import SuiteCase, case_info, load_cases
from .environment import describe_run
from .known import Known, is_surprise, list_file, load_known, suggested_groups, surprises
from .run_cases import run_cases
from .suite_journal import SuiteJournal, SuiteRun, merge_journals
from .suite_results import results_of, sum_up, with_mended, write_results


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested cases; return 1 if the outcome of one differs from the list."""
    options = _parser().parse_args(arguments)
    return run_tool(lambda: _merge(options) if options.merge else _run(options))


def _run(options: argparse.Namespace) -> int:
    if options.results is None and (options.resume or options.retry):
        raise UsageError("--resume and --retry go on with a file: name it with --results")
    everything = load_cases()
    chosen = [case for case in everything if re.search(options.matching, case.name)]
    part = shard(chosen, options.shard)
    run = describe_run(options.target, executed=options.execute, host=options.host)
    known = load_known(run.target, run.executed)
    outcomes = {o.name: o for o in _outcomes(part, run, known, options)}
    return _conclude(run, everything, [c for c in part if c.name in outcomes], outcomes, options)


def _outcomes(
    cases: Sequence[SuiteCase],
    run: SuiteRun,
    known: Mapping[str, Known],
    options: argparse.Namespace,
) -> Iterator[CaseOutcome]:
    """Yield the outcomes that the file already has, then run the remaining cases and write theirs
    to it."""
    if options.results is None:
        yield from _shown(_fresh(cases, run, options), known, options.all)
        return
    with closing(SuiteJournal(options.results, run, options.resume or options.retry)) as journal:
        names = {case.name for case in cases}
        kept = {name: each for name, each in journal.outcomes.items() if name in names}
        if options.retry:
            kept = {name: each for name, each in kept.items() if each.passed}
        yield from kept.values()
        left = [case for case in cases if case.name not in kept]
        for outcome in _shown(_fresh(left, run, options), known, options.all):
            journal.add(outcome)
            yield outcome


def _fresh(
    cases: Sequence[SuiteCase], run: SuiteRun, options: argparse.Namespace
) -> Iterator[CaseOutcome]:
    shared: dict[str, Any] = {
        "jobs": options.jobs,
        "timeout": options.timeout,
        "target": run.variant,
        "host": run.host,
    }
    if not run.executed:
        return compile_cases(cases, **shared)
    return run_cases(
        cases,
        **shared,
        cache=options.cache,
        bounded=run.target.startswith("cpu") or not run.device or is_software(run.device),
    )


def _shown(
    outcomes: Iterable[CaseOutcome], known: Mapping[str, Known], everything: bool
) -> Iterator[CaseOutcome]:
    """Yield `outcomes` and print those that do not pass.

    Without `everything`, print only those that are not known to fail.
    """
    for outcome in outcomes:
        if not outcome.passed and (everything or is_surprise(outcome, known)):
            print(f"{outcome.status.upper():12} {outcome.name}: {outcome.detail}", flush=True)
        yield outcome


def _merge(options: argparse.Namespace) -> int:
    run, outcomes = merge_journals(options.merge)
    everything = load_cases()
    return _conclude(
        run, everything, [c for c in everything if c.name in outcomes], outcomes, options
    )


def _conclude(
    run: SuiteRun,
    everything: Sequence[SuiteCase],
    cases: Sequence[SuiteCase],
    outcomes: Mapping[str, CaseOutcome],
    options: argparse.Namespace,
) -> int:
    """Print how `cases`, a part of `everything`, ended; return 1 if one differs from the list.

    A run of all cases replaces the results of the target. With ``--mended``, newly passing cases
    are added to them.
    """
    known = load_known(run.target, run.executed)
    results = sum_up(run, map(case_info, cases), outcomes)
    print("\n".join(results.figures()))
    otherwise = [o for case in cases if is_surprise(o := outcomes[case.name], known)]
    if options.suggest:
        print("", *suggested_groups(otherwise), sep="\n")
    elif otherwise:
        print(f"{len(otherwise)} otherwise than {list_file(run.target).name} says:")
        print("\n".join(surprises(otherwise, known)))
    if options.mended:
        whole = results_of(run)
        if whole is None:
            raise UsageError(f"--mended adds to a whole run for {run.target}, and there is none")
        results = with_mended(whole, map(case_info, cases), outcomes)
    if options.mended or (len(cases) == len(everything) and run.host):
        print(f"wrote {write_results(results)}")
        docs.main()
    return 1 if otherwise else 0


def shard(cases: Sequence[SuiteCase], text: str) -> Sequence[SuiteCase]:
    """The cases of a shard. ``2/4`` takes every fourth case, from the second. Raises
    `UsageError`."""
    index, _, count = text.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise UsageError(f"--shard takes I/N, such as 2/4, not '{text}'")
    return cases[int(index) - 1 :: int(count)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m conformance",
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
    parser.add_argument(
        "--suggest", action="store_true", help="print surprises as groups for the target's list"
    )
    _add_file_options(parser)
    return parser


def _add_file_options(parser: argparse.ArgumentParser) -> None:
    files = parser.add_argument_group("long runs", "in pieces, and taken up again")
    files.add_argument(
        "--results", type=Path, metavar="FILE", help="keep each outcome, as JSON lines"
    )
    files.add_argument("--resume", action="store_true", help="what is in the file is not run again")
    files.add_argument(
        "--retry", action="store_true", help="what passed in the file is not run again"
    )
    files.add_argument(
        "--shard", default="1/1", metavar="I/N", help="every N-th case, from the I-th"
    )
    files.add_argument(
        "--mended",
        action="store_true",
        help="in the results of the last whole run, let cases pass that do now",
    )
    files.add_argument("--cache", metavar="FOLDER", help="keep what is compiled to be run")
    files.add_argument(
        "--merge", nargs="+", type=Path, metavar="FILE", help="run nothing: read shards' files"
    )


if __name__ == "__main__":
    sys.exit(main())
