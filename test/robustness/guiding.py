"""Runs of coverage-guided fuzzing (`guided`), each in a process of its own."""

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from graphc.errors import UsageError

from .input_outcome import InputOutcome
from .kinds import seed_models
from .robustness_results import RobustnessResults

MAX_BYTES = 20_000
"""Largest size of one input."""
LAST = "last.onnx"
"""The file with the last input of a process."""

_STRIDE = 10
"""Stride through the seeds: each process gets every tenth and runs these first."""
_SECONDS = 60
_MEMORY_MIB = 8192


def run_guided(kind: str, count: int, results: RobustnessResults, keep: Path) -> None:
    """Run `count` inputs, with a new process after each violation. Raises UsageError."""
    if importlib.util.find_spec("atheris") is None:
        raise UsageError("guided inputs need atheris: pip install 'graphc[fuzz]', or name --kinds")
    keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="graphc-robustness-") as temporary:
        folder = Path(temporary)
        corpus = folder / "corpus"
        corpus.mkdir()
        for index, data in enumerate(list(dict.fromkeys(seed_models()))[::_STRIDE]):
            (corpus / f"seed{index:05}").write_bytes(data)
        while (left := count - results.kinds[kind].inputs) > 0:
            for outcome in _run(folder, left, results.seed + results.kinds[kind].inputs):
                results.add(kind, outcome)
                if outcome.violation:
                    _keep(kind, outcome, folder, results, keep)


def _run(folder: Path, count: int, seed: int) -> Iterator[InputOutcome]:
    """The outcomes of one process."""
    written = folder / "outcomes.jsonl"
    written.unlink(missing_ok=True)
    corpus = folder / "corpus"
    seeds = len(list(corpus.iterdir()))
    flags = [
        f"-runs={count + seeds}", f"-seed={seed % 2**31 + 1}", f"-max_len={MAX_BYTES}",
        f"-timeout={_SECONDS}", f"-rss_limit_mb={_MEMORY_MIB}", "-verbosity=0", "-reload=0",
        f"-artifact_prefix={folder}/artifact-",
    ]  # fmt: skip
    module = f"{__package__}.guided"
    files = [str(written), str(folder / LAST)]
    command = [sys.executable, "-m", module, *files, str(seeds), *flags, str(corpus)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if not written.exists():
        raise UsageError(f"the fuzzer does not start: {done.stderr[-500:]}")
    outcomes = [InputOutcome(*json.loads(line)) for line in written.read_text().splitlines()]
    yield from outcomes
    if done.returncode != 0 and not (outcomes and outcomes[-1].violation):
        what = "Hang" if "timeout" in done.stderr else "Crash"
        where = f"the process ended with code {done.returncode}"
        yield InputOutcome(what, where, " ".join(done.stderr[-200:].split()))
    elif not outcomes:
        raise UsageError(f"the fuzzer ran nothing: {done.stderr[-500:]}")


def _keep(
    kind: str, outcome: InputOutcome, folder: Path, results: RobustnessResults, keep: Path
) -> None:
    path = keep / f"{kind}-{outcome.label}.onnx"
    path.write_bytes((folder / LAST).read_bytes())
    results.add_violation(kind, results.kinds[kind].inputs, outcome, path)
