"""Axes that a reshape merges, splits and keeps."""

from collections.abc import Sequence

from ..symbolic import Dim

Groups = list[tuple[list[int], list[int]]]


def reassociation(source: Sequence[int | Dim], target: Sequence[int | Dim]) -> Groups:
    """Groups of axes of a reshape: runs of old and of new axes with equal element counts.

    The runs are as short as the sizes show, cover all axes in order, and have at least one axis on
    each side, except when a side has rank 0.
    """
    if not source or not target:
        return [(list(range(len(source))), list(range(len(target))))] if source or target else []
    groups: Groups = []
    i = j = 0
    while i < len(source) and j < len(target):
        end = _next_group(source, target, i, j)
        if end is None:  # the rest cannot be told apart: one group
            break
        groups.append((list(range(i, end[0])), list(range(j, end[1]))))
        i, j = end
    kept = _kept_at_end(source[i:], target[j:])
    rest = (list(range(i, len(source) - kept)), list(range(j, len(target) - kept)))
    if rest[0] and rest[1]:
        groups.append(rest)
        groups += [([len(source) - n], [len(target) - n]) for n in range(kept, 0, -1)]
    elif rest[0] or rest[1]:  # trailing unit axes join the last group
        old, new = groups.pop()
        groups.append((old + rest[0], new + rest[1]))
    return groups


def _kept_at_end(source: Sequence[int | Dim], target: Sequence[int | Dim]) -> int:
    """The number of last axes that have equal sizes; others are left on both sides."""
    most = max(min(len(source), len(target)) - 1, 0)
    pairs = zip(reversed(source), reversed(target), strict=False)
    differing = (n for n, (old, new) in enumerate(pairs) if old != new)
    return min(next(differing, most), most)


def _next_group(
    source: Sequence[int | Dim], target: Sequence[int | Dim], i: int, j: int
) -> tuple[int, int] | None:
    """The shortest runs from axes `i` and `j` on with equal element counts."""
    best: tuple[int, int] | None = None
    left: int | Dim = 1
    for a in range(i, len(source)):
        left = left * source[a]
        right: int | Dim = 1
        for b in range(j, len(target)):
            right = right * target[b]
            if left == right and (best is None or a - i + b - j < sum(best) - 2 - i - j):
                best = (a + 1, b + 1)
    return best
