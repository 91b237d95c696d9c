"""Calibration of a machine: costs of its devices, times of regions, and transfers."""

import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import OutputError, UsageError
from ..profiling.machine import this_machine
from .cost_model import CLASS_NAMES, TERMS, DeviceCosts, Sample
from .region_graph import Link

FORMAT = 2

logger = logging.getLogger("graphc")


@dataclass
class Calibration:
    """Times measured on a machine with a number of threads.

    `costs` predicts the times of regions by device. `regions` maps digests of regions to seconds by
    device, `links` pairs of memories to their latency and seconds per byte. `machine` identifies
    what the times depend on.
    """

    machine: Mapping[str, Any]
    regions: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    links: dict[tuple[str, str], Link] = field(default_factory=dict[tuple[str, str], Link])
    costs: dict[str, DeviceCosts] = field(default_factory=dict[str, DeviceCosts])
    reference_seconds: float = 0.0
    """Seconds of the matmul of `ReferenceSpeed` when the machine was as fast as these times say; 0
    if nothing was calibrated."""

    def to_json(self) -> str:
        """The text of a calibration file."""
        links = {
            f"{source} {destination}": [link.latency, link.seconds_per_byte]
            for (source, destination), link in sorted(self.links.items())
        }
        content = {
            "format": FORMAT,
            "machine": dict(self.machine),
            "reference_seconds": self.reference_seconds,
            "links": links,
            "devices": {name: _costs_to_json(each) for name, each in self.costs.items()},
            "regions": {digest: self.regions[digest] for digest in sorted(self.regions)},
        }
        return _one_line_lists(json.dumps(content, indent=1))

    @classmethod
    def from_json(cls, text: str, origin: str) -> "Calibration":
        """The calibration in a file's `text`. Raises `UsageError`, which names `origin`."""
        try:
            content = json.loads(text)
            if content["format"] != FORMAT:
                raise ValueError(f"format {content['format']!r} is not {FORMAT}")
            links = {
                _memories(key): Link(_number(latency), _number(per_byte))
                for key, (latency, per_byte) in content["links"].items()
            }
            regions = {
                str(digest): {str(name): _number(value) for name, value in seconds.items()}
                for digest, seconds in content["regions"].items()
            }
            costs = {str(n): _costs_from_json(each) for n, each in content["devices"].items()}
            reference = _number(content["reference_seconds"])
            return cls(dict(content["machine"]), regions, links, costs, reference)
        except KeyError as error:
            raise UsageError(f"'{origin}' is no calibration file: it lacks {error}") from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(f"'{origin}' is no calibration file: {error}") from error


def _costs_to_json(costs: DeviceCosts) -> dict[str, Any]:
    return {
        "call": costs.call,
        "near_bytes": costs.near_bytes,
        "classes": {name: dict(zip(TERMS, four, strict=True))
                    for name, four in sorted(costs.classes.items())},
        "samples": [{"seconds": each.seconds, "of": each.origin, "features": dict(each.features)}
                    for each in costs.samples],
    }  # fmt: skip


def _costs_from_json(content: Mapping[str, Any]) -> DeviceCosts:
    classes = {
        _class_name(name): _four([terms[term] for term in TERMS])
        for name, terms in content["classes"].items()
    }
    samples = [
        Sample(
            _number(each["seconds"]),
            {_class_name(name): _four(four, 1e18) for name, four in each["features"].items()},
            str(each["of"]),
        )
        for each in content["samples"]
    ]
    near_bytes = int(_number(content["near_bytes"], 1e12))
    return DeviceCosts(_number(content["call"]), near_bytes, classes, samples)


def _class_name(name: str) -> str:
    if name not in CLASS_NAMES:
        raise ValueError(f"{name!r} is no class of operators")
    return name


def _memories(key: str) -> tuple[str, str]:
    source, destination = key.split(" ")
    return source, destination


def _four(values: Any, limit: float = 1e6) -> tuple[float, float, float, float]:
    first, second, third, fourth = (_number(value, limit) for value in values)
    return first, second, third, fourth


def _number(value: Any, limit: float = 1e6) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < limit:
        raise ValueError(f"{value!r} is no number from 0 to {limit:g}")
    return float(value)


def _one_line_lists(text: str) -> str:
    """JSON with each list of numbers on one line."""
    return re.sub(
        r"\[\n\s+([-+0-9.e,\s]+?)\n\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text
    )


def read_calibration(path: Path | None, threads: int | None = None) -> Calibration:
    """The calibration in file `path` if it is of this machine; an empty one otherwise.

    Raises `UsageError` for a damaged file. One of another machine or version is not an error, but a
    warning: it is measured anew, as times do not carry over.
    """
    empty = Calibration(this_machine(threads))
    if path is None or not path.exists():
        return empty
    try:
        found = Calibration.from_json(path.read_text(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read '{path}': {error}") from error
    other = [name for name, fact in empty.machine.items() if found.machine.get(name) != fact]
    if other:
        logger.warning(
            "'%s' is not used: it was measured with other %s (%s, here %s)", path,
            " and ".join(other), found.machine.get(other[0]), empty.machine[other[0]],
        )  # fmt: skip
        return empty
    return found


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Write `calibration` to `path`, at once or not at all. Raises `OutputError`.

    A calibration of another machine that is there is kept beside it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(calibration.to_json() + "\n")
        if _is_of_another_machine(path, calibration):
            kept = path.with_name(f"{path.name}.old")
            path.replace(kept)
            logger.warning("'%s' was measured elsewhere, and is now '%s'", path, kept)
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write '{path}': {error.strerror}") from error


def _is_of_another_machine(path: Path, calibration: Calibration) -> bool:
    if not path.exists():
        return False
    machine = Calibration.from_json(path.read_text(), str(path)).machine
    return dict(machine) != dict(calibration.machine)
