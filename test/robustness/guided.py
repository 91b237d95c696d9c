"""Inputs that coverage leads to: ``... guided OUTCOMES LAST SEEDS [flags]``.

libFuzzer keeps the models that reach code of the importer which none before has reached, and
changes these further, by the changes of `proto_mutations` and by its own. The file OUTCOMES has
a line for each, but for the first SEEDS inputs, which nothing was done to. LAST is the last input:
however the process ends, that is what ended it. The first violation does, as libFuzzer has it.
"""

import importlib
import json
import random
import sys
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

atheris: Any = importlib.import_module("atheris")  # an extra, which is not everywhere

with atheris.instrument_imports(include=["graphc.frontend", "graphc.dialects"]):
    from .byte_mutations import damage
    from .kinds import import_model, quiet
    from .outcome import outcome_of
    from .proto_mutations import mutate
    from .watch import bound_memory


class ViolationError(Exception):
    """What ends the process."""


class _Target:
    def __init__(self, outcomes: Path, last: Path, seeds: int):
        self.outcomes = outcomes.open("w", buffering=1)
        self.last = last
        self.seeds = seeds
        """How many inputs come first that are as they were given."""

    def __call__(self, data: bytes) -> None:
        self.last.write_bytes(data)
        outcome = outcome_of(lambda: import_model(data))
        if self.seeds > 0 and not outcome.violation:
            self.seeds -= 1
            return
        self.outcomes.write(json.dumps([outcome.name, outcome.violation, outcome.message]) + "\n")
        if outcome.violation:
            raise ViolationError(f"{outcome.name} {outcome.violation}")


def change(data: bytes, max_size: int, seed: int) -> bytes:
    """Another input from `data`."""
    draw = random.Random(seed)
    changed = _mutated(data, draw) if draw.random() < 0.8 else None
    if changed is None:
        by_us = draw.random() < 0.5
        changed = damage(data, draw) if by_us else bytes(atheris.Mutate(data, max_size))
    return changed if 0 < len(changed) <= max_size else data[:max_size]


def _mutated(data: bytes, draw: random.Random) -> bytes | None:
    """The model `data`, changed; None where it is none, or has names that are no text."""
    try:
        model = onnx.ModelProto.FromString(data)
        mutate(model, draw)
    except (DecodeError, UnicodeDecodeError):
        return None
    return model.SerializeToString()


def main() -> None:
    """Run libFuzzer."""
    outcomes, last, seeds, *flags = sys.argv[1:]
    quiet()
    bound_memory()
    target = _Target(Path(outcomes), Path(last), int(seeds))
    atheris.Setup([sys.argv[0], *flags], target, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
