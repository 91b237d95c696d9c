"""The inputs that candidates are measured on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..debugging.random_feeds import make_feeds
from ..errors import FeedError
from ..runtime import TensorSpec, ValueSpec

Feeds = Mapping[str, Any] | Callable[[Sequence[TensorSpec | ValueSpec]], Mapping[str, Any]]
"""An array for each input, or a function that makes them from the specs of the inputs."""


def feeds_of(
    inputs: Sequence[TensorSpec | ValueSpec], feeds: Feeds | None, seed: int = 0
) -> dict[str, Any]:
    """The `feeds` of a model with these `inputs`; random ones if there are none.

    Raises `FeedError` for inputs that are no tensors, which cannot be random.
    """
    if callable(feeds):
        return dict(feeds(inputs))
    return random_feeds(inputs, seed) if feeds is None else dict(feeds)


def random_feeds(inputs: Sequence[TensorSpec | ValueSpec], seed: int = 0) -> dict[str, Any]:
    """Random feeds for `inputs`, with 1 for sizes that have a name. Raises `FeedError`."""
    tensors = [spec for spec in inputs if isinstance(spec, TensorSpec)]
    if others := [str(spec) for spec in inputs if not isinstance(spec, TensorSpec)]:
        raise FeedError(f"only numbers are random: give feeds for {others[0]}")
    return dict(make_feeds(tensors, {}, {}, seed))
