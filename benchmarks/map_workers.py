"""Rows per second of `graphc.distributed.map` with two workers over one, each with one thread.

::

    python -m graphc.benchmarks.map_workers examples/digits.onnx --batch-size 32 --blocks 64
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..compiler.compile import compile_to_file
from ..debugging.random_feeds import make_feeds
from ..distributed import map
from ..distributed.artifacts import first_dims
from ..runtime import load
from ..runtime.metadata import require_tensors

WORKERS = (1, 2)


def rates(model: str, batch_size: int, blocks: int, rounds: int) -> dict[int, list[float]]:
    """Rows per second by number of workers, of `rounds` in turns; starting the workers counts."""
    found: dict[int, list[float]] = {number: [] for number in WORKERS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiled = folder / "model.vmfb"
        dims = dict.fromkeys(first_dims(model), batch_size)
        compiled.write_bytes(compile_to_file(model, "cpu", threads=1, dims=dims)[0])
        rows = _write_blocks(compiled, folder / "data", blocks)
        for turn in range(rounds):
            for number in WORKERS:
                begin = time.perf_counter()
                map(compiled, folder / "data", folder / f"{turn}-{number}", workers=number,
                    threads=1, keep=[])  # fmt: skip
                found[number].append(rows / (time.perf_counter() - begin))
    return found


def _write_blocks(compiled: Path, folder: Path, blocks: int) -> int:
    """Write random inputs, a batch in each file; return the number of rows."""
    folder.mkdir()
    rows = 0
    with load(compiled, threads=1) as model:
        for index in range(blocks):
            feeds = make_feeds(require_tensors(model.inputs), {}, {}, index)
            np.savez(folder / f"{index:06}.npz", **feeds)  # pyright: ignore[reportArgumentType]
            rows += len(next(iter(feeds.values())))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="an .onnx model")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--blocks", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rates, too")
    flags = parser.parse_args(argv)
    found = rates(flags.model, flags.batch_size, flags.blocks, flags.rounds)
    for number, each in found.items():
        print(f"{number} worker(s): {statistics.median(each):.1f} rows/s")
    pairs = zip(found[2], found[1], strict=True)
    print(f"ratio: {statistics.median(two / one for two, one in pairs):.2f}")
    if flags.json is not None:
        flags.json.write_text(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
