"""Estimate of peak memory: the live sets that may be largest, as compiled modules carry them."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...errors import ModuleFileError
from ..cache.settings import format_size
from .size_expressions import evaluate

MOMENTS_KEY = "graphc.moments"
"""The key of the JSON in the ``iree.reflection`` dictionary of the entry function."""
NAMED = 3
"""Number of tensors that a message lists, and of nodes that it names for each."""


@dataclass(frozen=True)
class Moment:
    """A live set: the sizes in bytes of its tensors, by the nodes that compute them, largest first;
    and the nodes of tensors with data-dependent sizes."""

    tensors: Sequence[tuple[str, int]]
    unknown: Sequence[str]

    @property
    def bytes(self) -> int:
        """Total size of the tensors with known sizes."""
        return sum(size for _, size in self.tensors)


def write_moments(moments: Iterable[Iterable[tuple[str, object]]]) -> str:
    """Serialize moments to JSON: for each, its tensors with the formulas of their sizes."""
    rows = [[(name, str(size)) for name, size in moment] for moment in moments]
    return json.dumps(rows, separators=(",", ":"))


def greatest_moment(text: str, sizes: Mapping[str, int]) -> Moment | None:
    """The largest of the moments in `text`, written by `write_moments`, for the named `sizes`.

    None if there are no moments. Raises `ModuleFileError` for malformed text.
    """
    try:
        moments = [_moment(rows, sizes) for rows in json.loads(text)]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModuleFileError("the module does not say what it takes in memory") from error
    return max(moments, key=lambda moment: moment.bytes, default=None)


def _moment(rows: Sequence[tuple[str, str]], sizes: Mapping[str, int]) -> Moment:
    known: Counter[str] = Counter()
    unknown: dict[str, None] = {}
    for name, formula in rows:
        size = evaluate(formula, sizes)
        if size is None:
            unknown[name] = None
        else:
            known[name] += size
    return Moment(known.most_common(), list(unknown))


def describe(moment: Moment, sizes: Mapping[str, int]) -> str:
    """The message about the predicted memory of `moment` for the named `sizes`, with the nodes of
    the largest tensors."""
    given = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    parts = [f"{format_size(size)} for {_nodes(name)}" for name, size in moment.tensors[:NAMED]]
    if rest := moment.tensors[NAMED:]:
        parts.append(f"{format_size(sum(size for _, size in rest))} for the rest")
    text = f"with {given}, " if given else ""
    text += f"by prediction, tensors of {format_size(moment.bytes)} are alive at once"
    text += f" ({'; '.join(parts)})" if parts else ""
    if moment.unknown:
        names = ", ".join(map(_nodes, moment.unknown))
        text += f", and more for {names}, whose size the data decide"
    return text


def _nodes(name: str) -> str:
    """The nodes of a tensor or of a weight, for a message: the first ones, and the number of
    others."""
    names = name.split("+")
    listing = ", ".join(f"'{each}'" for each in names[:NAMED])
    return listing + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
