"""A module in memory, and the contexts that its entry points run in."""

from typing import Any

from ..device.device import Device, import_runtime, setup_lock, vm_instance


class LoadedProgram:
    """A VM `module`. Sessions of its entry points on one device share a context: code is prepared
    once, and so are constants, which a device with memory of its own gets a copy of."""

    def __init__(self, module: Any):
        self.module = module
        self._contexts: dict[Device, tuple[Any, int]] = {}
        """Contexts, each with the number of its users, by device."""

    def acquire(self, device: Device) -> Any:
        """The context on `device`, to be released again. Raises IREE's errors."""
        with setup_lock:
            for lost in [each for each in self._contexts if each.lost]:
                del self._contexts[lost]
            context, users = self._contexts.get(device, (None, 0))
            if context is None:
                runtime = import_runtime()
                hal_module = runtime.create_hal_module(vm_instance(), device.hal)
                context = runtime.VmContext(vm_instance(), [hal_module, self.module])
            self._contexts[device] = context, users + 1
            return context

    def release(self, device: Device) -> None:
        """Free the context on `device` after its last user."""
        with setup_lock:
            context, users = self._contexts.pop(device, (None, 0))
            if users > 1:
                self._contexts[device] = context, users - 1
