"""Peak memory of language models: graphc, against its prediction, and the peers.

::

    python -m graphc.benchmarks.generation_memory graphc:smollm2 graphc:smollm2:f32 \\
        onnxruntime-genai:smollm2 openvino-genai:smollm2.gguf --peers peers/bin/python

An entrant is as in `generation_speed`; the first one is graphc's. Each case is a process of its
own, with compiled steps from the cache: prompts that fill the context but for a few tokens, and
these. ``program`` is the resident memory in MiB of Python and the packages before the model is
loaded; ``loaded``, ``prefill`` and ``decode`` are the peaks beyond that: of the loaded model,
behind the prompt (for OpenVINO GenAI as for decode), and at the end. ``/least`` is the last over
the weights in graphc's files and the cache of the context in f32.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence

from ..generation import Generator, LanguageModel, load
from ..runtime import find_devices
from . import generation_peers
from .memory import peak_bytes
from .table import format_table

HEADER = (
    "entrant", "tokens", "batch", "program", "loaded", "prefill", "decode", "predicted", "/least",
)  # fmt: skip
GENERATED = 8
_MIB = 1 << 20


def measure(
    folder: str, precision: str, tokens: int, batch: int, threads: int
) -> dict[str, list[int]]:
    """The peaks of graphc in one case, in this process: of the program, and of each stage."""
    find_devices("local-task")  # which loads the runtime's library, as the peers' packages do
    peaks = [peak_bytes()]
    with load(folder, precision=precision, threads=threads) as model:
        model.entry_points.prepare(batch)
        peaks.append(peak_bytes())
        vocab = model.config.vocab_size
        prompts = [
            [(row + 7 * n) % vocab for n in range(tokens - GENERATED)] for row in range(batch)
        ]
        generator = Generator(model, batch_size=batch, max_length=tokens, min_length=tokens)
        generator.append_tokens(prompts if batch > 1 else prompts[0])
        for step in range(GENERATED):
            generator.generate_next_token()
            if step in (0, GENERATED - 1):
                peaks.append(peak_bytes())
        return {"peaks": peaks}


def _case(
    entrant: str, python: str, tokens: int, batch: int, threads: int
) -> dict[str, list[int]] | None:
    """The peaks of one case, in a process of its own; None if the entrant cannot run it."""
    runtime, path, *more = entrant.split(":")
    if runtime == "graphc":
        command = [
            sys.executable, "-m", "graphc.benchmarks.generation_memory", entrant, "--alone",
            "--tokens", str(tokens), "--batch", str(batch), "--threads", str(threads),
        ]  # fmt: skip
    elif batch == 1:
        command = [python, generation_peers.__file__, runtime, path, str(threads), *more]
    else:
        return None
    request = f"{tokens - GENERATED} {GENERATED}\n"
    done = subprocess.run(command, input=request, stdout=subprocess.PIPE, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return found[-1] if found else None


def _cells(
    entrant: str, model: LanguageModel, tokens: int, batch: int, found: Mapping[str, list[int]]
) -> tuple[str, ...]:
    """The cells of a case, in the order of `HEADER`; `model` is graphc's."""
    prediction = model.predict_memory(tokens, batch)
    program, *peaks = found["peaks"]
    least = model.weight_bytes + prediction.cache
    predicted = f"{prediction.total / _MIB:.0f}" if entrant.startswith("graphc:") else "-"
    return (
        entrant, str(tokens), str(batch), f"{program / _MIB:.0f}",
        *(f"{(each - program) / _MIB:.0f}" for each in peaks), predicted,
        f"{(peaks[-1] - program) / least:.2f}",
    )  # fmt: skip


def _loaded(entrant: str, threads: int) -> LanguageModel:
    """graphc's model of an entrant."""
    runtime, folder, *precision = entrant.split(":")
    if runtime != "graphc":
        raise SystemExit(f"the first entrant must be graphc's, not {entrant}")
    return load(folder, precision=(*precision, "strict")[0], threads=threads)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Peak memory of language models.")
    parser.add_argument("entrants", nargs="+", metavar="RUNTIME:PATH[:PRECISION]")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--tokens", type=int, nargs="+", default=[128, 512, 2048])
    parser.add_argument("--batch", type=int, nargs="+", default=[1])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    flags = parser.parse_args(arguments)
    if flags.alone:
        _, folder, *precision = flags.entrants[0].split(":")
        case = ((*precision, "strict")[0], flags.tokens[0], flags.batch[0], flags.threads)
        print(json.dumps(measure(folder, *case)))
        return 0
    rows = []
    for batch in flags.batch:
        for entrant in flags.entrants:
            mine = entrant if entrant.startswith("graphc:") else flags.entrants[0]
            with _loaded(mine, flags.threads) as model:
                model.entry_points.prepare(batch)
                for tokens in flags.tokens:
                    case = (tokens, batch, flags.threads)
                    if found := _case(entrant, flags.peers, *case):
                        rows.append(_cells(entrant, model, tokens, batch, found))
    print(format_table(HEADER, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
