"""What devices this machine has."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...errors import DeviceError, UnknownTargetError, UsageError
from ..targets import Target, resolve_target
from .device import brief, import_runtime, is_software, ranked_devices, setup_lock

PREFERENCE = ("cuda", "rocm", "metal", "vulkan", "cpu")
"""Of several targets that can run, the first of these does. Devices in software come last."""


_UNWANTED = ("VK_", "path:")
"""Lines that name extensions one by one, or this one piece of hardware."""


@dataclass(frozen=True)
class DeviceInfo:
    """A device that a driver has found."""

    driver: str
    name: str
    path: str


def find_devices(driver: str) -> list[DeviceInfo]:
    """The devices of `driver`, of which the first is the one that is used.

    Raises `DeviceError` where the driver or its library is missing.
    """
    with setup_lock:
        try:
            found = ranked_devices(import_runtime()._binding.create_hal_driver(driver))
        except (RuntimeError, ValueError) as error:
            raise DeviceError(f"no driver for '{driver}': {brief(error)}") from error
    return [DeviceInfo(driver, each["name"], each["path"]) for each in found]


def device_details(driver: str) -> list[str]:
    """What `driver` says of the device that is used, such as the version of its own driver.

    Raises `DeviceError` where there is none.
    """
    with setup_lock:
        try:
            hal_driver = import_runtime()._binding.create_hal_driver(driver)
            found = ranked_devices(hal_driver)[0]
            text = hal_driver.dump_device_info(found["device_id"])
        except (RuntimeError, ValueError, IndexError) as error:
            raise DeviceError(f"no driver for '{driver}': {brief(error)}") from error
    lines = [line.strip() for line in text.splitlines()]
    return [
        line for line in lines if line and not line.startswith(_UNWANTED) and "uuid" not in line
    ]


def on_this_machine(target: Target) -> Target:
    """`target`; in place of ``host`` the variant of the device that is here, or ``portable``."""
    if target.family_of is None or target.variant != "host":
        return target
    try:
        devices = find_devices(target.driver)
    except DeviceError:
        devices = []
    family = target.family_of(devices[0].name) if devices else None
    return replace(target, variant=family or "portable")


def require_family(target: Target, origin: str) -> None:
    """Raises `DeviceError` where `origin`, made for `target`, may be wrong on the device here."""
    variants = target.variants
    if target.family_of is None or variants[target.variant] == variants["portable"]:
        return
    for device in find_devices(target.driver)[:1]:
        family = target.family_of(device.name)
        if family not in (None, target.variant):
            raise DeviceError(
                f"{origin}: the module was compiled for {target.spelling}, and the device here "
                f"is '{device.name}': compile it for {target.name}:{family}, or "
                f"{target.name}:portable"
            )


def select_targets(names: Iterable[str], wanted: str | None, origin: str) -> list[str]:
    """Those of the targets `names` that `wanted` names, all for None; what to try first in front.

    Raises `UsageError` where there are none of these, `UnknownTargetError` for `wanted`.
    """
    rows = {name: row for name in names if (row := _known(name)) is not None}
    if wanted is not None:
        row, exact = resolve_target(wanted), ":" in wanted
        found = {n: r for n, r in rows.items() if r.name == row.name and (r == row or not exact)}
        if not found:
            raise UsageError(f"{origin} has code for {', '.join(rows)}, not for {wanted}")
        rows = found
    return sorted(rows, key=lambda name: _rank(rows[name]))


def _known(name: str) -> Target | None:
    try:
        return resolve_target(name)
    except UnknownTargetError:
        return None  # to another version of graphc


def _rank(target: Target) -> int:
    return len(PREFERENCE) if _is_in_software(target) else PREFERENCE.index(target.name)


def _is_in_software(target: Target) -> bool:
    """Whether nothing but the processor itself would run what is compiled for `target`."""
    if target.family_of is None:
        return False
    try:
        devices = find_devices(target.driver)
    except DeviceError:
        return False
    return bool(devices) and is_software(devices[0].name)
