"""Size classes of tensors whose sizes are known only at run time.

The backend reuses memory only between tensors whose dynamic sizes are the same value. Tensors of
one class therefore get the size of the largest (`transient-size-classes`).
"""

from collections.abc import Sequence

RATIO = 4
"""The largest size of a class over its smallest: what is allocated but not used."""
ROUNDED = 1.25
"""The same the other way around: odd sizes are rounded in some layers, and not in others."""
USUAL, LARGE = 256, 4096
"""The values of named sizes for which tensors are compared: all usual, or one large."""


def size_classes(samples: Sequence[Sequence[int]]) -> list[list[int]]:
    """The tensors, by number, of each class. `samples` has the sizes of each tensor for several
    values of the named sizes: those of a class are similar for all of them."""
    left = sorted(range(len(samples)), key=lambda number: -samples[number][0])
    found = list[list[int]]()
    while left:
        largest = samples[left[0]]
        found.append([number for number in left if _belongs(samples[number], largest)])
        left = [number for number in left if number not in found[-1]]
    return found


def _belongs(samples: Sequence[int], largest: Sequence[int]) -> bool:
    """Return whether a tensor is in the class of the `largest`."""
    pairs = list(zip(samples, largest, strict=True))
    return samples is largest or all(b <= RATIO * a and a <= ROUNDED * b for a, b in pairs)
