"""A profile as text."""

from ..passes.linalg.merge_dispatches import MERGED
from .rows import Measurements, ProfileRow

SHOWN_NODES = 3
"""Maximum number of nodes that a line names."""
HEADER = ("share", "ms", "calls", "threads", "GFLOP/s", "of peak", "GB/s", "kernel")


def format_profile(profile: Measurements, most: int | None = None) -> str:
    """A table of the `most` slowest dispatches, followed by the totals."""
    shown = profile.rows[:most]
    lines = [HEADER, *(_cells(profile, row) for row in shown)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [_line(cells, widths) for cells in lines]
    texts[0] += "  nodes"
    for number, row in enumerate(shown, 1):
        texts[number] += f"  {_nodes(row)}"
    rest = profile.rows[len(shown) :]
    if rest:
        seconds = sum(row.seconds for row in rest)
        texts.append(f"and {len(rest)} more, {1000 * seconds:.3f} ms together")
    return "\n".join([*(text.rstrip() for text in texts), "", *_sums(profile)])


def _cells(profile: Measurements, row: ProfileRow) -> tuple[str, ...]:
    share = 100 * row.seconds / profile.seconds if profile.seconds else 0.0
    of_peak = None if row.gflops is None else 100 * row.gflops / profile.peak_gflops
    return (
        f"{share:.1f} %",
        f"{1000 * row.seconds:.3f}",
        f"{row.calls:g}",
        f"{row.workers:.1f}",
        _number(row.gflops),
        "-" if of_peak is None else f"{of_peak:.0f} %",
        _number(row.gigabytes),
        row.kernel,
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    *numbers, name = cells
    aligned = [cell.rjust(width) for cell, width in zip(numbers, widths, strict=False)]
    return "  ".join([*aligned, name.ljust(widths[-1])])


def _nodes(row: ProfileRow) -> str:
    listing = ", ".join(row.nodes[:SHOWN_NODES])
    more = len(row.nodes) - SHOWN_NODES
    return f"{listing} and {more} more" if more > 0 else listing


def _sums(profile: Measurements) -> list[str]:
    calls = sum(row.calls for row in profile.rows)
    merged = sum(row.kernel.startswith(f"{MERGED}_") for row in profile.rows)
    hint = f"dispatches that run several kernels: {merged} (--by-node shows these kernels)"
    return [
        f"model '{profile.model}', {profile.threads} threads, {profile.runs} runs:"
        f" {1000 * profile.latency:.3f} ms a run, without the profiler",
        f"{calls:g} dispatches take {1000 * profile.seconds:.3f} ms;"
        f" the threads do {profile.peak_gflops:.0f} GFLOP/s at most",
        f"{profile.peak_bytes / 2**20:.2f} MiB are allocated at once at most",
        *([hint] if merged else []),
    ]
