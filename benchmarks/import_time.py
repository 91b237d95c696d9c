"""Import time of graphc, and the modules that a deployment imports to load and run a model.

::

    python -m graphc.benchmarks.import_time

Every figure comes from fresh interpreters, in turns with ``import numpy``, which graphc needs
anyway. The exit status is 1 if loading and running a compiled model imports a compiler.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from .table import format_table

MODEL = Path(__file__).resolve().parent.parent / "examples" / "digits.onnx"
HEAVY = ("numpy", "ml_dtypes", "onnx", "torch_mlir", "iree.compiler", "iree.runtime", "torch")
FORBIDDEN = frozenset({"onnx", "torch_mlir", "iree.compiler", "torch"})
STATEMENTS = ("import numpy", "import graphc", "import graphc; graphc.load")

TIMED = """
import time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""
DEPLOYED = """
import json, sys
import graphc
import numpy
model = graphc.load(sys.argv[1])
model(numpy.zeros((1, 1, 8, 8), numpy.float32))
print(json.dumps([name for name in sys.argv[2:] if name in sys.modules]))
"""


def import_seconds(runs: int) -> dict[str, list[float]]:
    """The times of `STATEMENTS` in seconds, each measured `runs` times, in turns."""
    seconds: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for _ in range(runs):
        for statement, times in seconds.items():
            times.append(float(_python(TIMED.format(statement=statement))))
    return seconds


def modules_of_a_deployment() -> tuple[str, ...]:
    """The modules in `HEAVY` that are imported after a compiled model was loaded and run."""
    import graphc

    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder, "digits.vmfb")
        graphc.compile(str(MODEL), target="cpu").save(module)
        return tuple(json.loads(_python(DEPLOYED, str(module), *HEAVY)))


def _python(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure what importing graphc costs.")
    parser.add_argument("--runs", type=int, default=11, metavar="N")
    options = parser.parse_args(arguments)
    _python("import graphc, numpy; graphc.load")  # Writes byte code, and warms the file cache.
    rows = [
        (statement, f"{median(times):.3f}", f"{min(times):.3f}", f"{max(times):.3f}")
        for statement, times in import_seconds(options.runs).items()
    ]
    print(format_table(("in a fresh interpreter", "median s", "best", "worst"), rows))
    loaded = modules_of_a_deployment()
    print(f"\nloading and running a compiled model imports: {', '.join(loaded)}")
    unwanted = [name for name in loaded if name in FORBIDDEN]
    if unwanted:
        print(f"error: it must not import {', '.join(unwanted)}", file=sys.stderr)
    return 1 if unwanted else 0


if __name__ == "__main__":
    sys.exit(main())
