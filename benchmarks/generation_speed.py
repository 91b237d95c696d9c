"""Tokens per second of language models: graphc and the peers, in turns.

::

    python -m graphc.benchmarks.generation_speed graphc:smollm2:f32 onnxruntime-genai:smollm2 \\
        openvino-genai:smollm2.gguf llama.cpp:smollm2.gguf --peers peers/bin/python

An entrant is a runtime, a folder or a file, and for graphc a precision. Peers run in the Python of
``--peers``, which has them installed. ``prefill`` counts the tokens of a prompt, with the choice of
the token behind it; ``decode`` those that follow. ``--symmetric`` writes a folder whose weights
have no zero points, as most models of onnxruntime-genai: its texts mean nothing.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import onnx

from . import generation_peers
from .table import format_table

HEADER = ("entrant", "context", "prefill tokens/s", "decode tokens/s")
_NEW_TOKENS = 33


class _Entrant:
    """A runtime in a process of its own."""

    def __init__(self, name: str, python: str, threads: int):
        self.name = name
        runtime, path, *more = name.split(":")
        command = [python if runtime != "graphc" else sys.executable, generation_peers.__file__]
        self._process = subprocess.Popen(
            [*command, runtime, path, str(threads), *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def load(self) -> bool:
        """Return whether the model is there; what prevents it is on standard error."""
        return self._answer() == "ready"

    def measure(self, context: int, clock: int) -> tuple[float, float]:
        """Tokens per second of prefill and decode, by the wall clock or by CPU time."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{context} {_NEW_TOKENS}\n")
        self._process.stdin.flush()
        times = self._answer()
        return context / times["prefill"][clock], (_NEW_TOKENS - 1) / times["decode"][clock]

    def _answer(self):
        """The next line that is JSON: runtimes print lines of their own."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(("{", '"')):
                return json.loads(line)
        return None

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def write_symmetric(folder: Path, target: Path) -> None:
    """Write `folder` to `target` without the zero points of its weights."""
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("model.*-*.onnx"))
    model = onnx.load(target / "model.onnx", load_external_data=False)
    for node in model.graph.node:
        if node.op_type == "MatMulNBits":
            del node.input[3:]
    onnx.save(model, target / "model.onnx")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Tokens per second of language models, in turns.")
    parser.add_argument("entrants", nargs="*", metavar="RUNTIME:PATH[:PRECISION]")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--contexts", type=int, nargs="+", default=[128, 512, 2048])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu-time", action="store_true", help="beside other work, of one thread")
    parser.add_argument("--symmetric", type=Path, nargs=2, metavar=("FOLDER", "TARGET"))
    flags = parser.parse_args(arguments)
    if flags.symmetric:
        write_symmetric(*flags.symmetric)
    with ExitStack() as stack:
        started = [_Entrant(name, flags.peers, flags.threads) for name in flags.entrants]
        for entrant in started:
            stack.callback(entrant.close)
        entrants = [entrant for entrant in started if entrant.load()]
        rows = []
        for context in flags.contexts:
            rates: dict[str, list[tuple[float, float]]] = {each.name: [] for each in entrants}
            for round_ in range(flags.rounds + 1):
                for entrant in entrants:
                    rate = entrant.measure(context, int(flags.cpu_time))
                    if round_:  # the first one allocates
                        rates[entrant.name].append(rate)
            for name, found in rates.items():
                prefill, decode = (median(part) for part in zip(*found, strict=True))
                rows.append((name, str(context), f"{prefill:.0f}", f"{decode:.1f}"))
                print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    print(format_table(HEADER, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
