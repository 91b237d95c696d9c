"""Estimate of peak memory: the live sets that may be largest, as compiled modules carry them."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...errors import ModuleFileError
from ..cache.settings import format_size
from .size_expressions import evaluate

LIVE_SETS_KEY = "graphc.moments"
"""The key of the JSON in the ``iree.reflection`` dictionary of the entry function."""
NAMED = 3
"""Number of tensors that a message lists, and of nodes that it names for each."""


@dataclass(frozen=True)
class LiveSet:
    """A live set: the sizes in bytes of its tensors, by the nodes that compute them, largest first;
    and the nodes of tensors with data-dependent sizes."""

    tensors: Sequence[tuple[str, int]]
    unknown: Sequence[str]

    @property
    def bytes(self) -> int:
        """Total size of the tensors with known sizes."""
        return sum(size for _, size in self.tensors)


def write_live_sets(live_sets: Iterable[Iterable[tuple[str, object]]]) -> str:
    """Serialize live sets to JSON: for each, its tensors with its size expressions."""
    rows = [[(name, str(size)) for name, size in live_set] for live_set in live_sets]
    return json.dumps(rows, separators=(",", ":"))


def largest_live_set(text: str, sizes: Mapping[str, int]) -> LiveSet | None:
    """The largest of the live sets in `text`, written by `write_live_sets`, for the named `sizes`.

    None if there are no live sets. Raises `ModuleFileError` for malformed text.
    """
    try:
        live_sets = [_live_set(rows, sizes) for rows in json.loads(text)]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModuleFileError("the module does not say what it takes in memory") from error
    return max(live_sets, key=lambda live_set: live_set.bytes, default=None)


def _live_set(rows: Sequence[tuple[str, str]], sizes: Mapping[str, int]) -> LiveSet:
    known: Counter[str] = Counter()
    unknown: dict[str, None] = {}
    for name, expression in rows:
        size = evaluate(expression, sizes)
        if size is None:
            unknown[name] = None
        else:
            known[name] += size
    return LiveSet(known.most_common(), list(unknown))


def describe(live_set: LiveSet, sizes: Mapping[str, int]) -> str:
    """The message about the predicted memory of `live_set` for the named `sizes`, with the nodes of
    the largest tensors."""
    given = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    parts = [f"{format_size(size)} for {_nodes(name)}" for name, size in live_set.tensors[:NAMED]]
    if rest := live_set.tensors[NAMED:]:
        parts.append(f"{format_size(sum(size for _, size in rest))} for the rest")
    text = f"with {given}, " if given else ""
    text += f"by prediction, tensors of {format_size(live_set.bytes)} are alive at once"
    text += f" ({'; '.join(parts)})" if parts else ""
    if live_set.unknown:
        names = ", ".join(map(_nodes, live_set.unknown))
        text += f", and more for {names}, whose size the data decide"
    return text


def _nodes(name: str) -> str:
    """The nodes of a tensor or of a weight, for a message: the first ones, and the number of
    others."""
    names = name.split("+")
    listing = ", ".join(f"'{each}'" for each in names[:NAMED])
    return listing + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
