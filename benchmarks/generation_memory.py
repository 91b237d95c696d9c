"""Peak memory of language models, against its prediction.

::

    python -m graphc.benchmarks.generation_memory smollm2 --tokens 400 2048 --batch 1 8

Each case is a process of its own, with compiled steps from the cache: prompts that fill the context
but for a few tokens, and these. ``MiB`` is the peak of resident memory without what Python and
the packages take before the model is loaded; ``/least`` is that over the weights in their files and
the cache of the context.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence

from ..generation import Generator, load
from .memory import peak_bytes
from .table import format_table

HEADER = ("tokens", "batch", "MiB", "predicted", "/least", "ready s")
GENERATED = 8
_MIB = 1 << 20


def measure(folder: str, tokens: int, batch: int, threads: int) -> dict[str, float]:
    """The figures of one case, in this process."""
    before, begin = peak_bytes(), time.perf_counter()
    with load(folder, threads=threads) as model:
        model.entry_points.prepare(batch)
        ready = time.perf_counter() - begin
        vocab = model.config.vocab_size
        prompts = [
            [(row + 7 * n) % vocab for n in range(tokens - GENERATED)] for row in range(batch)
        ]
        generator = Generator(model, batch_size=batch, max_length=tokens, min_length=tokens)
        generator.append_tokens(prompts if batch > 1 else prompts[0])
        for _ in range(GENERATED):
            generator.generate_next_token()
        prediction = model.predict_memory(tokens, batch)
        peak = peak_bytes() - before
        least = model.weight_bytes + prediction.cache
        return {"peak": peak, "predicted": prediction.total, "least": least, "ready": ready}


def _cells(tokens: int, batch: int, found: dict[str, float]) -> tuple[str, ...]:
    return (
        str(tokens), str(batch), f"{found['peak'] / _MIB:.0f}", f"{found['predicted'] / _MIB:.0f}",
        f"{found['peak'] / found['least']:.2f}", f"{found['ready']:.1f}",
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Peak memory of a language model.")
    parser.add_argument("folder")
    parser.add_argument("--tokens", type=int, nargs="+", default=[400, 2048])
    parser.add_argument("--batch", type=int, nargs="+", default=[1])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    flags = parser.parse_args(arguments)
    if flags.alone:
        print(json.dumps(measure(flags.folder, flags.tokens[0], flags.batch[0], flags.threads)))
        return 0
    rows = []
    for batch in flags.batch:
        with load(flags.folder, threads=flags.threads) as model:
            model.entry_points.prepare(batch)
        for tokens in flags.tokens:
            command = [
                sys.executable, "-m", "graphc.benchmarks.generation_memory", flags.folder,
                "--tokens", str(tokens), "--batch", str(batch), "--threads", str(flags.threads),
                "--alone",
            ]  # fmt: skip
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            rows.append(_cells(tokens, batch, json.loads(done.stdout)))
    print(format_table(HEADER, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
