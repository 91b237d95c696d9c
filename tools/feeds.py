"""Inputs for the tools that run a model: from files, or drawn at random."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from ..dialects.symbolic import Dim, parse_dim
from ..errors import FeedError, InvalidDimError, UsageError
from ..runtime import CompiledModel, ValueSpec
from ..runtime.metadata import TensorSpec
from .options import parse_dims
from .values import read_value


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `feeds_for` reads; it reads ``--dim``, too."""
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=@FILE.npy",
        help="an input; sequences and maps from a .json file",
    )
    parser.add_argument("--seed", type=int, default=0, help="for random inputs (0)")


def feeds_for(model: CompiledModel, flags: argparse.Namespace) -> dict[str, Any]:
    """What the command line says that `model` is to run on; what it leaves out is random."""
    types = {spec.name: spec.type for spec in model.inputs if isinstance(spec, ValueSpec)}
    files = dict(map(binding, flags.input))
    given = {name: read_value(path, types.get(name, "")) for name, path in files.items()}
    dims = parse_dims(flags.dims)
    tensors = [spec for spec in model.inputs if isinstance(spec, TensorSpec)]
    others = {spec.name: spec for spec in model.inputs if spec not in tensors}
    check_dims(dims, tensors, model.metadata.dims)
    feeds = {name: given.pop(name) for name in (*others, *model.overridable) if name in given}
    if missing := [str(spec) for name, spec in others.items() if name not in feeds]:
        raise FeedError(f"only numbers are drawn at random; --input must give {missing[0]}")
    return feeds | make_feeds(tensors, given, dims, flags.seed)


def binding(text: str) -> tuple[str, Path]:
    """``NAME=@FILE.npy`` taken apart."""
    name, _, path = text.partition("=@")
    if not name or not path:
        raise UsageError(f"'{text}': write NAME=@FILE.npy")
    return name, Path(path)


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
