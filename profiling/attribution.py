"""Attribution of executed dispatches to dispatches of the program."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..runtime.execution.profiler import Event
from .sites import Site


def attribute(events: Sequence[Event], stretches: Sequence[Sequence[Site]]) -> list[Site]:
    """The site of each of `events`, from `dispatch_sites`.

    A command buffer is identified by the kernels that it runs. Stretches with the same kernels are
    assigned in turn, in program order. Events that match no stretch get a site with their kernel
    and without node names.
    """
    buffers: dict[int, list[int]] = defaultdict(list)
    for number, event in enumerate(events):
        buffers[event.command_buffer].append(number)
    turns: Counter[tuple[int, ...]] = Counter()
    sites = [Site(event.kernel) for event in events]
    for _, numbers in sorted(buffers.items()):
        fitting = tuple(
            position
            for position, stretch in enumerate(stretches)
            if _fits([events[number].kernel for number in numbers], stretch)
        )
        if not fitting:
            continue
        stretch = stretches[fitting[turns[fitting] % len(fitting)]]
        turns[fitting] += 1
        for number, position in zip(numbers, _positions(numbers, events, stretch), strict=True):
            sites[number] = stretch[position]
    return sites


def _fits(kernels: Sequence[str], stretch: Sequence[Site]) -> bool:
    """Return whether `kernels` are those of one or more runs of `stretch`."""
    times, rest = divmod(len(kernels), len(stretch))
    expected = Counter(site.kernel for site in stretch)
    return not rest and Counter(kernels) == {name: times * n for name, n in expected.items()}


def _positions(
    numbers: Sequence[int], events: Sequence[Event], stretch: Sequence[Site]
) -> list[int]:
    """The positions of the events `numbers` in `stretch`: by their indices in the command buffer,
    or else by start order, which is program order if one thread runs it."""
    indices = sorted({events[number].index for number in numbers})
    if len(indices) == len(stretch):
        return [indices.index(events[number].index) for number in numbers]
    return [turn % len(stretch) for turn in range(len(numbers))]
