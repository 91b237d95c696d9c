"""Launch plans in modules: the listing is printed while the backend compiles, and the plan is added
to the archive."""

import io
import logging
import zipfile
from pathlib import Path

from .hal_listing import plan_from_listing
from .launch_plan import ENTRY, LaunchPlan, NoLaunchPlan

LISTING_FLAGS = (
    "--mlir-print-ir-before=iree-vm-conversion",
    "--mlir-elide-elementsattrs-if-larger=8",
    "--mlir-elide-resource-strings-if-larger=8",
)
"""Flags of the backend that print the listing, without the data of constants."""
LISTING_FOLDER = "--mlir-print-ir-tree-dir="
"""The flag that names the folder for it."""

logger = logging.getLogger("graphc")


def add_plan(contents: bytes, listing: Path) -> bytes:
    """Add the launch plan of the module `contents` to it, or the reason why it has none.

    `listing` is the folder that the backend printed to.
    """
    archive = io.BytesIO(contents)
    with zipfile.ZipFile(archive, "a") as module:
        infos = sorted(module.infolist(), key=lambda info: info.header_offset)
        plan = _read_plan(listing, {info.filename: info.file_size for info in infos})
        module.writestr(zipfile.ZipInfo(ENTRY), plan.to_json())
    if isinstance(plan, NoLaunchPlan):
        logger.info("no launch plan: %s", plan.reason)
    return archive.getvalue()


def _read_plan(listing: Path, entries: dict[str, int]) -> LaunchPlan | NoLaunchPlan:
    printed = sorted(listing.glob("*/*.mlir"))
    if len(printed) != 1:
        return NoLaunchPlan("the backend has printed no listing of it")
    return plan_from_listing(printed[0].read_text(), entries)
