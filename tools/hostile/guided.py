"""Inputs that coverage leads to: ``python -m graphc.tools.hostile.guided STATE SEEDS [flags]``.

libFuzzer keeps the models that reach code of the importer which none before has reached, and
changes these further, by the changes of `proto_mutations` and by its own. Outcomes are counted in
the file STATE, but for those of the first SEEDS inputs, which nothing was done to; the first
violation ends the process, as libFuzzer has it, and leaves the input in a file.
"""

import importlib
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

atheris: Any = importlib.import_module("atheris")  # an extra, which is not everywhere

with atheris.instrument_imports(include=["graphc.frontend", "graphc.dialects"]):
    from .byte_mutations import damage
    from .kinds import import_model, quiet
    from .outcome import Outcome, outcome_of
    from .proto_mutations import mutate
    from .watch import bound_memory

_WRITE_EVERY = 50
"""Inputs; of the first so many each is: libFuzzer does not say when it ends, and where so few are
left, all count."""


class ViolationError(Exception):
    """What ends the process."""


class _Target:
    def __init__(self, state: Path, seeds: int):
        self.state = state
        self.seeds = seeds
        """How many inputs come first that are as they were given."""
        self.outcomes: Counter[str] = Counter()

    def __call__(self, data: bytes) -> None:
        outcome = outcome_of(lambda: import_model(data))
        if self.seeds > 0 and not outcome.violation:
            self.seeds -= 1
            return
        self.outcomes[outcome.name] += 1
        total = self.outcomes.total()
        if outcome.violation or total <= _WRITE_EVERY or total % _WRITE_EVERY == 0:
            self.write(outcome)
        if outcome.violation:
            raise ViolationError(f"{outcome.name} {outcome.violation}")

    def write(self, last: Outcome | None = None) -> None:
        """Write what was counted, and the violation that `last` is."""
        violation = None
        if last is not None and last.violation:
            violation = [last.name, last.violation, last.message]
        self.state.write_text(json.dumps({"outcomes": self.outcomes, "violation": violation}))


def change(data: bytes, max_size: int, seed: int) -> bytes:
    """Another input from `data`."""
    draw = random.Random(seed)
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError:
        model = None
    if model is not None and draw.random() < 0.8:
        mutate(model, draw)
        changed = model.SerializeToString()
    elif draw.random() < 0.5:
        changed = damage(data, draw)
    else:
        changed = bytes(atheris.Mutate(data, max_size))
    return changed if 0 < len(changed) <= max_size else data[:max_size]


def main() -> None:
    """Run libFuzzer."""
    state, seeds, *flags = sys.argv[1:]
    quiet()
    bound_memory()
    target = _Target(Path(state), int(seeds))
    target.write()
    atheris.Setup([sys.argv[0], *flags], target, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
