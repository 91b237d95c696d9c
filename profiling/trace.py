"""A profile as a trace of events, in Chrome's format, which https://ui.perfetto.dev opens.

The format is "Trace Event Format", with complete events (``"ph": "X"``) and times in microseconds.
"""

from typing import Any

from .rows import Measurements


def to_trace(profile: Measurements) -> dict[str, Any]:
    """The trace of a profile; overlapping dispatches are on separate tracks."""
    tracks: list[float] = []  # end time of the last event of each
    events: list[dict[str, Any]] = []
    for event, site in profile.events:
        free = next((i for i, end in enumerate(tracks) if end <= event.start), len(tracks))
        tracks[free:] = [event.end, *tracks[free + 1 :]]
        events.append(
            {
                "name": site.nodes[0] if site.nodes else site.kernel,
                "cat": "dispatch",
                "ph": "X",
                "pid": 1,
                "tid": free + 1,
                "ts": 1e6 * event.start,
                "dur": 1e6 * (event.end - event.start),
                "args": {
                    "kernel": site.kernel,
                    "nodes": list(site.nodes),
                    "pieces": event.pieces,
                    "flops": site.cost.flops,
                    "bytes": site.cost.bytes,
                },
            }
        )
    name = {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": profile.model}}
    return {"traceEvents": [name, *events], "displayTimeUnit": "ms"}
