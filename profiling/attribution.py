"""Which dispatch that ran is which dispatch of the program."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..runtime.execution.profiler import Event
from .sites import Site


def attribute(events: Sequence[Event], stretches: Sequence[Sequence[Site]]) -> list[Site]:
    """The site of each of `events`, as `dispatch_sites` gives them.

    A command buffer is known by the kernels that it runs. Stretches that run the same ones take
    turns, in the order of the program. What fits nothing is a site of its kernel, without names.
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
    """Whether `kernels` are those of `stretch`, as often as it ran."""
    times, rest = divmod(len(kernels), len(stretch))
    expected = Counter(site.kernel for site in stretch)
    return not rest and Counter(kernels) == {name: times * n for name, n in expected.items()}


def _positions(
    numbers: Sequence[int], events: Sequence[Event], stretch: Sequence[Site]
) -> list[int]:
    """Where in `stretch` the events `numbers` stand: by their indices in the command buffer, or in
    the order they began, which is that of the program where one thread runs it."""
    indices = sorted({events[number].index for number in numbers})
    if len(indices) == len(stretch):
        return [indices.index(events[number].index) for number in numbers]
    return [turn % len(stretch) for turn in range(len(numbers))]
