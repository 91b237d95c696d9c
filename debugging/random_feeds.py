"""Inputs for a compiled model, random unless given."""

from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np

from ..dialects.symbolic import Dim
from ..dialects.symbolic_syntax import parse_dim
from ..errors import FeedError
from ..runtime.metadata import TensorSpec


def symbols(size: int | str) -> set[str]:
    """The names in a size."""
    dim = parse_dim(str(size))
    return dim.symbols() if isinstance(dim, Dim) else set()


def _extent(size: int | str, sizes: Mapping[str, int]) -> int:
    """The value of a size; names that are not in `sizes` are 1."""
    known = {name: sizes.get(name, 1) for name in symbols(size)}
    dim = parse_dim(str(size))
    extent = dim.evaluate(known) if isinstance(dim, Dim) else dim
    assert isinstance(extent, int)
    return extent


def make_feeds(
    specs: Sequence[TensorSpec], given: Mapping[str, np.ndarray], dims: Mapping[str, int], seed: int
) -> dict[str, np.ndarray]:
    """The `given` inputs, and random ones for the rest, with sizes from `dims` and `given`.

    Floats are standard normal, integers 0 or 1, so that they are valid indices and masks.
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
