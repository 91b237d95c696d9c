"""Calibration of a machine: times of regions on its devices, and of transfers between memories."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import OutputError, UsageError
from ..profiling.machine import this_machine
from .region_graph import Link

FORMAT = 1


@dataclass
class Calibration:
    """Times measured on a machine with a number of threads.

    `regions` maps digests of regions to seconds by backend, `links` pairs of memories to their
    latency and seconds per byte. `machine` identifies what the times depend on.
    """

    machine: Mapping[str, Any]
    regions: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    links: dict[tuple[str, str], Link] = field(default_factory=dict[tuple[str, str], Link])

    def to_json(self) -> str:
        """The text of a calibration file."""
        links = {
            f"{source} {destination}": [link.latency, link.seconds_per_byte]
            for (source, destination), link in sorted(self.links.items())
        }
        regions = {digest: self.regions[digest] for digest in sorted(self.regions)}
        content = {"format": FORMAT, "machine": dict(self.machine), "links": links}
        return json.dumps({**content, "regions": regions}, indent=1)

    @classmethod
    def from_json(cls, text: str, origin: str) -> "Calibration":
        """The calibration in a file's `text`. Raises `UsageError`, which names `origin`."""
        try:
            content = json.loads(text)
            if content["format"] != FORMAT:
                raise ValueError(f"format {content['format']!r} is not {FORMAT}")
            links = {
                _memories(key): Link(_seconds(latency), _seconds(per_byte))
                for key, (latency, per_byte) in content["links"].items()
            }
            regions = {
                str(digest): {str(name): _seconds(value) for name, value in seconds.items()}
                for digest, seconds in content["regions"].items()
            }
            return cls(dict(content["machine"]), regions, links)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"'{origin}' is no calibration file: {error}") from error


def _memories(key: str) -> tuple[str, str]:
    source, destination = key.split(" ")
    return source, destination


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        raise ValueError(f"{value!r} is no time in seconds")
    return float(value)


def read_calibration(path: Path | None, threads: int | None = None) -> Calibration:
    """The calibration in file `path` if it is of this machine; an empty one otherwise.

    Raises `UsageError` for a damaged file. One of another machine or version is not an error: it
    is measured anew, as times do not carry over.
    """
    empty = Calibration(this_machine(threads))
    if path is None or not path.exists():
        return empty
    try:
        found = Calibration.from_json(path.read_text(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read '{path}': {error}") from error
    return found if dict(found.machine) == dict(empty.machine) else empty


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Write `calibration` to `path`, at once or not at all. Raises `OutputError`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(calibration.to_json() + "\n")
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write '{path}': {error.strerror}") from error
