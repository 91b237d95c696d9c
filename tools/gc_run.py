"""gc-run: run a model, compiled or not, on given or random inputs."""

import argparse
import io
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from ..dialects.symbolic import Dim, parse_dim
from ..errors import FeedError, GraphcError, InvalidDimError, UsageError
from ..runtime.metadata import TensorSpec
from .cli import FAILED, OK, exit_with, run_tool
from .options import add_compile_options, compile_arguments, parse_dims
from .progress import ProgressLine

EPILOG = """\
examples:
  gc-run model.onnx --compare=onnxruntime
  gc-run model.vmfb --input x=@x.npy --output y=@y.npy
  gc-run model.vmfb --dim batch=8 --repeat 100
Inputs that are not given are drawn at random (see --seed); --dim also sizes these.
"""


COMPILED = (".vmfb", ".gcm")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    flags = _parser().parse_args(argv)
    return run_tool(lambda: _run(flags))


def _run(flags: argparse.Namespace) -> int:
    given = {name: _read(path) for name, path in map(_binding, flags.input)}
    targets = dict(map(_binding, flags.output))
    if flags.repeat < 1:
        raise UsageError("--repeat takes a positive number")
    if flags.compare is not None and Path(flags.model).suffix in COMPILED:
        raise UsageError("--compare needs the .onnx model, not a compiled one")
    with _open(flags) as model:
        dims = parse_dims(flags.dim)
        tensors = [spec for spec in model.inputs if isinstance(spec, TensorSpec)]
        others = {spec.name: spec for spec in model.inputs if spec not in tensors}
        check_dims(dims, tensors, model.metadata.dims)
        feeds = {name: given.pop(name) for name in others if name in given}
        if missing := [str(spec) for name, spec in others.items() if name not in feeds]:
            raise FeedError(f"only numbers are drawn at random; --input must give {missing[0]}")
        feeds |= make_feeds(tensors, given, dims, flags.seed)
        names = [spec.name for spec in model.outputs]
        unknown = sorted(set(targets) - set(names))
        if unknown:
            raise UsageError(f"no output {', '.join(unknown)} (outputs: {', '.join(names)})")
        results = dict(zip(names, model.run(None, feeds), strict=True))
        _show(results)
        for name, path in targets.items():
            _write(path, results[name])
        if flags.repeat > 1:
            print(_timing(lambda: model.run(None, feeds), flags.repeat))
    if flags.compare is None:
        return OK
    return _compare(flags, feeds, results)


def _open(flags: argparse.Namespace) -> Any:
    if Path(flags.model).suffix in COMPILED:
        from ..runtime import load

        return load(flags.model, threads=flags.threads)
    from ..driver import compile

    arguments = compile_arguments(flags)
    with ProgressLine() as line:
        return compile(flags.model, progress=line.show, **arguments)


def _binding(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=@")
    if not name or not path:
        raise UsageError(f"'{text}': write NAME=@FILE.npy")
    return name, Path(path)


def _read(path: Path) -> np.ndarray:
    try:
        return np.load(path, allow_pickle=False)
    except OSError as error:
        raise FeedError(f"cannot read '{path}': {error.strerror or error}") from error
    except ValueError as error:
        raise FeedError(f"'{path}' is not a .npy file: {error}") from error


def _write(path: Path, array: np.ndarray) -> None:
    from ..runtime.output_file import write_atomically

    buffer = io.BytesIO()
    np.save(buffer, array)
    write_atomically(path, buffer.getbuffer())


def check_dims(
    dims: Mapping[str, int], specs: Sequence[TensorSpec], fixed: Mapping[str, int]
) -> None:
    """InvalidDimError for a name that is no dimension, or one that was `fixed` at another size."""
    known = set(fixed).union(*(_symbols(size) for spec in specs for size in spec.shape))
    for name, size in dims.items():
        if name not in known:
            listing = ", ".join(sorted(known)) or "none"
            raise InvalidDimError(f"no dimension named {name}; the model has: {listing}")
        if fixed.get(name, size) != size:
            raise InvalidDimError(f"dimension '{name}' is {fixed[name]} in this model, not {size}")


def _symbols(size: int | str) -> set[str]:
    dim = parse_dim(str(size))
    return dim.symbols() if isinstance(dim, Dim) else set()


def _extent(size: int | str, sizes: Mapping[str, int]) -> int:
    """A size as a number; what is not in `sizes` is 1."""
    known = {name: sizes.get(name, 1) for name in _symbols(size)}
    dim = parse_dim(str(size))
    extent = dim.evaluate(known) if isinstance(dim, Dim) else dim
    assert isinstance(extent, int)
    return extent


def make_feeds(
    specs: Sequence[TensorSpec], given: Mapping[str, np.ndarray], dims: Mapping[str, int], seed: int
) -> dict[str, np.ndarray]:
    """`given` inputs and random ones for the rest, with sizes from `dims` and from `given`.

    Floats are normal, integers 0 or 1, so that they serve as indices and masks.
    """
    known = {spec.name: spec for spec in specs}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise FeedError(f"no input {', '.join(unknown)} (inputs: {', '.join(known)})")
    sizes = dict(dims)
    for name, array in given.items():
        for size, have in zip(known[name].shape, array.shape, strict=False):
            if isinstance(size, str):
                sizes.setdefault(size, have)
    random = np.random.default_rng(seed)
    feeds = {}
    for spec in specs:
        feeds[spec.name] = given.get(spec.name)
        if feeds[spec.name] is None:
            shape = [_extent(size, sizes) for size in spec.shape]
            feeds[spec.name] = _random(random, shape, spec.dtype)
    return feeds


def _random(random: np.random.Generator, shape: Sequence[int], dtype: str) -> np.ndarray:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if kind == np.bool_ or np.issubdtype(kind, np.integer):
        return random.integers(0, 2, shape).astype(kind)
    return random.standard_normal(shape).astype(kind)


def _show(results: Mapping[str, Any]) -> None:
    for name, array in results.items():
        if not isinstance(array, np.ndarray):
            print(f"{name}: {array}")
            continue
        print(f"{name}: {array.dtype}{list(array.shape)}")
        print(np.array2string(array, threshold=16, edgeitems=3, prefix="  "))


def _timing(call: Any, repeat: int) -> str:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    low, middle, high = (1000 * float(np.quantile(times, q)) for q in (0, 0.5, 1))
    return f"{repeat} runs: median {middle:.3f} ms (min {low:.3f}, max {high:.3f})"


def _compare(
    flags: argparse.Namespace, feeds: Mapping[str, np.ndarray], results: Mapping[str, np.ndarray]
) -> int:
    """Print the largest differences from ONNX Runtime; FAILED beyond the tolerance."""
    try:
        import onnxruntime
    except ImportError as error:
        raise GraphcError("--compare=onnxruntime needs the package onnxruntime") from error
    session = onnxruntime.InferenceSession(flags.model, providers=["CPUExecutionProvider"])
    expected = session.run(list(results), dict(feeds))
    code = OK
    for (name, ours), theirs in zip(results.items(), expected, strict=True):
        difference = relative_difference(ours, np.asarray(theirs))
        within = difference <= flags.tolerance
        code = code if within else FAILED
        verdict = "" if within else f"  > {flags.tolerance:g}"
        print(f"{name}: largest difference from ONNX Runtime {difference:.2e}{verdict}")
    return code


def relative_difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference of two arrays, relative to the largest magnitude of `theirs`.

    Infinite when shapes differ, or when one is NaN where the other is not.
    """
    if ours.shape != theirs.shape:
        return float("inf")
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    same = (a == b) | np.isnan(a)
    if same.all():
        return 0.0
    scale = np.max(np.abs(b), where=np.isfinite(b), initial=0.0)
    return float(np.max(np.abs(np.where(same, 0, a - b))) / (scale or 1.0))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-run",
        description="Run a model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="an .onnx model, or a .vmfb or .gcm that gc-compile wrote")
    parser.add_argument(
        "--input", action="append", default=[], metavar="NAME=@FILE.npy", help="an input"
    )
    parser.add_argument(
        "--output", action="append", default=[], metavar="NAME=@FILE.npy", help="keep an output"
    )
    parser.add_argument("--seed", type=int, default=0, help="for random inputs (0)")
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="run N times and time it"
    )
    parser.add_argument(
        "--compare", choices=("onnxruntime",), help="compare results; exit code 1 when they differ"
    )
    parser.add_argument(
        "--tolerance", type=float, default=1e-4, help="for --compare, relative (1e-4)"
    )
    add_compile_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
