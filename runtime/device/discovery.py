"""Discovery of the devices of this machine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...errors import DeviceError, UnknownTargetError, UsageError
from ..targets import Target, resolve_target
from .device import brief, import_runtime, is_software, ranked_devices, setup_lock

PREFERENCE = ("cuda", "rocm", "metal", "vulkan", "cpu")
"""Targets in order of preference, for files with code for several. Software devices come last."""


_UNWANTED = ("VK_", "path:")
"""Prefixes of lines to omit: lists of extensions, and identifiers of the individual device."""


@dataclass(frozen=True)
class DeviceInfo:
    """A device found by a driver."""

    driver: str
    name: str
    path: str


def find_devices(driver: str) -> list[DeviceInfo]:
    """The devices of `driver`; models run on the first.

    Raises `DeviceError` if the driver or its library is missing.
    """
    with setup_lock:
        try:
            found = ranked_devices(import_runtime()._binding.create_hal_driver(driver))
        except (RuntimeError, ValueError) as error:
            raise DeviceError(f"no driver for '{driver}': {brief(error)}") from error
    return [DeviceInfo(driver, each["name"], each["path"]) for each in found]


def device_details(driver: str) -> list[str]:
    """The properties that `driver` reports for its first device, such as the driver version.

    Raises `DeviceError` if there is no device.
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
    """`target`, with the variant ``host`` replaced by that of this machine's device, or by
    ``portable`` if its family is unknown."""
    if target.family_of is None or target.variant != "host":
        return target
    try:
        family, _ = _family(target)
    except DeviceError:
        family = None
    return resolve_target(f"{target.name}:{family or 'portable'}")


def _family(target: Target) -> tuple[str | None, str]:
    """The family of the first device, None if it is unknown or there is none, and its name.

    Raises `DeviceError` if the driver is missing.
    """
    assert target.family_of is not None
    devices = find_devices(target.driver)
    if not devices:
        return None, ""
    told = devices[0].name
    if target.family_property:
        given = f"- {target.family_property}: "
        lines = device_details(target.driver)
        told = next((line.removeprefix(given) for line in lines if line.startswith(given)), "")
    return target.family_of(told), devices[0].name


def require_family(target: Target, origin: str) -> None:
    """Raise `DeviceError` if `origin`, compiled for `target`, may compute wrong results on the
    device of this machine, because that is of another family."""
    if target.variant not in target.of_family:
        return
    family, name = _family(target)
    if family not in (None, target.variant):
        others = [
            f"{target.name}:{each}" for each in (family, "portable") if each in target.variants
        ]
        raise DeviceError(
            f"{origin}: the module was compiled for {target.spelling}, and the device here is "
            f"'{name}': compile it for {', or '.join(others)}"
        )


def select_targets(names: Iterable[str], wanted: str | None, origin: str) -> list[str]:
    """The targets in `names` that match `wanted` (all for None), in order of `PREFERENCE`.

    Raises `UsageError` if none matches, `UnknownTargetError` if `wanted` is no target.
    """
    rows = {name: row for name in names if (row := _known(name)) is not None}
    if wanted is not None:
        row, exact = resolve_target(wanted), ":" in wanted
        found = {n: r for n, r in rows.items() if r.name == row.name and (r == row or not exact)}
        if not found:
            raise UsageError(f"{origin} has code for {', '.join(rows)}, not for {wanted}")
        rows = found
    return sorted(rows, key=lambda name: _rank(rows[name]))


def target_here(targets: Sequence[Target]) -> Target:
    """The first of `targets`, in order of `PREFERENCE`, that has a device on this machine.

    Raises `DeviceError` if none has.
    """
    reasons = list[str]()
    for target in sorted(targets, key=_rank):
        try:
            if target.name == "cpu" or find_devices(target.driver):
                return target
            reasons.append(f"{target}: '{target.driver}' finds no device")
        except DeviceError as error:
            reasons.append(f"{target}: {error}")
    raise DeviceError("\n".join(["no device of a target is here", *reasons]))


def _known(name: str) -> Target | None:
    try:
        return resolve_target(name)
    except UnknownTargetError:
        return None  # a target of another version of graphc


def _rank(target: Target) -> int:
    return len(PREFERENCE) if _is_in_software(target) else PREFERENCE.index(target.name)


def _is_in_software(target: Target) -> bool:
    """Return whether code for `target` would run on a software device, on the CPU."""
    if target.family_of is None or target.family_property:
        return False  # what tells its compute capability is hardware
    try:
        devices = find_devices(target.driver)
    except DeviceError:
        return False
    return bool(devices) and is_software(devices[0].name)
