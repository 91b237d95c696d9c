"""Attribution of executed dispatches to dispatches of the program."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..runtime.execution.profiler import Event
from .sites import Site


def attribute(events: Sequence[Event], groups: Sequence[Sequence[Site]]) -> list[Site]:
    """The site of each of `events`, from `dispatch_sites`.

    A command buffer is identified by the kernels that it runs. Those with the same kernels are
    assigned in turn, in program order. Events that match no group get a site with their kernel
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
            for position, group in enumerate(groups)
            if _fits([events[number].kernel for number in numbers], group)
        )
        if not fitting:
            continue
        group = groups[fitting[turns[fitting] % len(fitting)]]
        turns[fitting] += 1
        for number, position in zip(numbers, _positions(numbers, events, group), strict=True):
            sites[number] = group[position]
    return sites


def _fits(kernels: Sequence[str], group: Sequence[Site]) -> bool:
    """Return whether `kernels` are those of one or more runs of `group`."""
    times, rest = divmod(len(kernels), len(group))
    expected = Counter(site.kernel for site in group)
    return not rest and Counter(kernels) == {name: times * n for name, n in expected.items()}


def _positions(numbers: Sequence[int], events: Sequence[Event], group: Sequence[Site]) -> list[int]:
    """The positions of the events `numbers` in `group`: by their indices in the command buffer,
    or else by start order, which is program order if one thread runs it."""
    indices = sorted({events[number].index for number in numbers})
    if len(indices) == len(group):
        return [indices.index(events[number].index) for number in numbers]
    return [turn % len(group) for turn in range(len(numbers))]
