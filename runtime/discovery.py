"""What devices this machine has."""

from dataclasses import dataclass, replace

from ..errors import DeviceError
from .device import brief, import_runtime, setup_lock
from .targets import Target


@dataclass(frozen=True)
class DeviceInfo:
    """A device that a driver has found."""

    driver: str
    name: str
    path: str


def find_devices(driver: str) -> list[DeviceInfo]:
    """The devices of `driver`. `DeviceError` where the driver or its library is missing."""
    with setup_lock:
        try:
            found = import_runtime()._binding.create_hal_driver(driver).query_available_devices()
        except (RuntimeError, ValueError) as error:
            raise DeviceError(f"no driver for '{driver}': {brief(error)}") from error
    return [DeviceInfo(driver, each["name"], each["path"]) for each in found]


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
    if target.family_of is None or target.variant in ("host", "portable"):
        return
    for device in find_devices(target.driver)[:1]:
        family = target.family_of(device.name)
        if family not in (None, target.variant):
            raise DeviceError(
                f"{origin}: the module was compiled for {target.spelling}, and the device here "
                f"is '{device.name}': compile it for {target.name}:{family}, or "
                f"{target.name}:portable"
            )
