"""Perplexity of language models on a text, with activations of 8 bits and without.

::

    python -m graphc.benchmarks.perplexity smollm2 smollm2-level4 --text docs/benchmarks.md

The text is cut into windows, which the model reads one by one. The first folder is computed with
``precision="strict"``, the others with ``f32``; ``/first`` is the ratio of perplexities.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import graphc

from ..generation import load
from .table import format_table

HEADER = ("folder", "precision", "tokens", "perplexity", "/first")


def perplexity(folder: str, precision: str, windows: np.ndarray, threads: int) -> float:
    """The perplexity of the tokens of `windows` behind the first of each."""
    count, length = windows.shape
    dims = {"batch_size": 1, "sequence_length": length, "total_sequence_length": length}
    model = graphc.compile(
        Path(folder) / "model.onnx", precision=precision, threads=threads,
        dims={**dims, "past_sequence_length": 0},
    )  # fmt: skip
    feeds = {
        each.name: np.zeros(
            [size if isinstance(size, int) else 1 for size in each.shape], each.dtype
        )
        for each in model.inputs
    }
    feeds["attention_mask"] += 1
    total = 0.0
    for window in windows:
        logits = model.run(["logits"], {**feeds, "input_ids": window[np.newaxis]})[0][0, :-1]
        top = logits.max(-1, keepdims=True)
        norm = np.log(np.exp(logits - top).sum(-1, dtype=np.float64)) + top[:, 0]
        total += (norm - logits[np.arange(length - 1), window[1:]]).sum(dtype=np.float64)
    return float(np.exp(total / (count * (length - 1))))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Perplexity of language models on a text.")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--window", type=int, default=256)
    parser.add_argument("--windows", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    flags = parser.parse_args(arguments)
    with load(flags.folders[0]) as model:
        tokens = model.tokenizer.encode(flags.text.read_text())
    count = min(len(tokens) // flags.window, flags.windows)
    windows = np.array(tokens[: count * flags.window], np.int64).reshape(count, flags.window)
    rows, first = [], None
    for number, folder in enumerate(flags.folders):
        precision = "f32" if number else "strict"
        found = perplexity(folder, precision, windows, flags.threads)
        first = first or found
        rows.append((folder, precision, str(windows.size), f"{found:.3f}", f"{found / first:.4f}"))
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    print(format_table(HEADER, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
