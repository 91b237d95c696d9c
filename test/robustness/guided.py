"""Coverage-guided fuzzing: ``... guided OUTCOMES LAST SEEDS [flags]``.

libFuzzer keeps the models that reach new code of the importer and mutates them further, with
`proto_mutations` and with mutations of its own. The file OUTCOMES has a line for each input except
the first SEEDS inputs, which are unchanged seeds. The file LAST has the last input, which is the
cause if the process ends early. libFuzzer ends the process at the first violation.
"""

import importlib
import json
import random
import sys
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

atheris: Any = importlib.import_module("atheris")  # an extra that may be missing

with atheris.instrument_imports(include=["graphc.frontend", "graphc.dialects"]):
    from .byte_mutations import damage
    from .input_outcome import outcome_of
    from .kinds import import_model, quiet
    from .proto_mutations import mutate
    from .watch import bound_memory


class ViolationError(Exception):
    """A violation, which ends the process."""


class _Target:
    def __init__(self, outcomes: Path, last: Path, seeds: int):
        self.outcomes = outcomes.open("w", buffering=1)
        self.last = last
        self.seeds = seeds
        """Number of inputs at the start that are unchanged seeds."""

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
    """A mutation of `data`."""
    draw = random.Random(seed)
    changed = _mutated(data, draw) if draw.random() < 0.8 else None
    if changed is None:
        by_us = draw.random() < 0.5
        changed = damage(data, draw) if by_us else bytes(atheris.Mutate(data, max_size))
    return changed if 0 < len(changed) <= max_size else data[:max_size]


def _mutated(data: bytes, draw: random.Random) -> bytes | None:
    """A mutation of the model `data`; None if it is not a model, or if its names are not valid
    text."""
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
