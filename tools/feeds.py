"""Inputs for the tools that run a model: from files, or drawn at random."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..debugging.random_feeds import make_feeds, symbols
from ..errors import FeedError, InvalidDimError, UsageError
from ..runtime import CompiledModel, ValueSpec
from ..runtime.metadata import TensorSpec
from .cli_options import parse_dims
from .value_files import read_value


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
    """The feeds of `model` from the command line; inputs that it omits are random."""
    return feeds_of(model.inputs, flags, model.metadata.dims, model.overridable)


def feeds_of(
    inputs: Sequence[TensorSpec | ValueSpec],
    flags: argparse.Namespace,
    fixed: Mapping[str, int],
    overridable: Sequence[str] = (),
) -> dict[str, Any]:
    """Feeds for `inputs` from the command line; tensors that it omits are random.

    `fixed` has the dimensions whose size the model fixes, `overridable` the inputs with defaults.
    """
    types = {spec.name: spec.type for spec in inputs if isinstance(spec, ValueSpec)}
    files = dict(map(binding, flags.input))
    given = {name: read_value(path, types.get(name, "")) for name, path in files.items()}
    dims = parse_dims(flags.dims)
    tensors = [spec for spec in inputs if isinstance(spec, TensorSpec)]
    others = {spec.name: spec for spec in inputs if spec not in tensors}
    check_dims(dims, tensors, fixed)
    feeds = {name: given.pop(name) for name in (*others, *overridable) if name in given}
    if missing := [str(spec) for name, spec in others.items() if name not in feeds]:
        raise FeedError(f"only numbers are drawn at random; --input must give {missing[0]}")
    return feeds | make_feeds(tensors, given, dims, flags.seed)


def binding(text: str) -> tuple[str, Path]:
    """Parse ``NAME=@FILE.npy``. Raises UsageError."""
    name, _, path = text.partition("=@")
    if not name or not path:
        raise UsageError(f"'{text}': write NAME=@FILE.npy")
    return name, Path(path)


def check_dims(
    dims: Mapping[str, int], specs: Sequence[TensorSpec], fixed: Mapping[str, int]
) -> None:
    """Raise InvalidDimError for an unknown dimension, or one that was `fixed` at another size."""
    known = set(fixed).union(*(symbols(size) for spec in specs for size in spec.shape))
    for name, size in dims.items():
        if name not in known:
            listing = ", ".join(sorted(known)) or "none"
            raise InvalidDimError(f"no dimension named {name}; the model has: {listing}")
        if fixed.get(name, size) != size:
            raise InvalidDimError(f"dimension '{name}' is {fixed[name]} in this model, not {size}")
