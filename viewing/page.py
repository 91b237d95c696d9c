"""The HTML page of a report, and the data that it displays."""

import base64
import gzip
import html
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from ..errors import InvalidDimError
from ..passes.infra.report import Report
from .parts import parts_program
from .placement import check_placement, placement_program
from .stage import make_stage
from .timing import check_profile

STYLE = "page.css"
SCRIPTS = (
    "data.js",
    "labels.js",
    "minimap.js",
    "nodes.js",
    "picture.js",
    "legend.js",
    "panels.js",
    "tables.js",
    "accuracy.js",
    "placement.js",
    "memory.js",
    "stages.js",
    "search.js",
    "page.js",
)


def make_page(
    report: Report,
    profile: Mapping[str, Any] | None,
    sizes: Mapping[str, int],
    accuracy: Mapping[str, Any] | None = None,
    placement: Mapping[str, Any] | None = None,
) -> str:
    """The page as self-contained HTML."""
    if profile is not None:
        profile = check_profile(profile)
    data = page_data(report, profile, sizes) | {"accuracy": accuracy, "placement": None}
    if placement is not None:
        data["placement"] = checked = check_placement(placement)
        if checked["regions"]:
            data["programs"].append(placement_program(checked))
    packed = base64.b64encode(gzip.compress(json.dumps(data).encode(), 6, mtime=0)).decode()
    folder = resources.files(__name__.rpartition(".")[0])

    def source(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    return source("page.html").format(
        title=html.escape(report.title),
        style=source(STYLE),
        data=packed,
        script="\n".join(map(source, SCRIPTS)),
    )


def page_data(
    report: Report, profile: Mapping[str, Any] | None, sizes: Mapping[str, int]
) -> dict[str, Any]:
    """The data of the page, as JSON values."""
    stages: dict[str, list[Any]] = {}
    for stage in report.stages:
        stages.setdefault(stage.program, []).append(stage)
    programs = [parts_program(report.parts)] if report.parts else []
    for name, recorded in stages.items():
        made = []
        for stage in recorded:
            before = made[-1][1] if made else None
            made.append(make_stage(stage, before, profile, sizes, report.cpu))
        programs.append({"name": name, "stages": [data for data, _ in made]})
    _require_known(sizes, programs)
    return {
        "title": report.title,
        "programs": programs,
        "report": report.to_dict(),
        "profile": profile,
    }


def _require_known(sizes: Mapping[str, int], programs: Sequence[Mapping[str, Any]]) -> None:
    memories = [stage["memory"] for program in programs for stage in program["stages"]]
    known = {name for memory in memories if memory for name in memory["sizes"]}
    for name in sizes:
        if name not in known:
            listing = ", ".join(sorted(known)) or "none"
            raise InvalidDimError(f"no dimension '{name}' is symbolic (those that are: {listing})")
