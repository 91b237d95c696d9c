"""Memory for the intermediate results of calls, which lives from call to call."""

from collections.abc import Sequence
from typing import Any

from ..device.buffers import LOCAL, allocate
from ..device.device import Device, import_runtime
from ..files.module_file import TransientsSize

_SURPLUS = 4
"""A buffer of more than so many times the size that a call needs is replaced by a smaller one."""


class Transients:
    """The buffer of a program that takes one from its caller, as `size` tells."""

    def __init__(self, device: Device, size: TransientsSize):
        self._device, self._query = device, size.query
        self.size = size.constant
        """The size of the buffer, 0 if it is not known yet."""
        self._made: list[Any] = []
        self._shapes: list[tuple[int, ...]] | None = None

    def buffers(self) -> list[Any]:
        """The buffer, if the program takes one, allocated on first use."""
        if not self._made and (self.size or self._query is not None):
            self._made = [allocate(self._device, max(self.size, 1), LOCAL, "DEFAULT|MAPPING")]
        return self._made

    def release(self) -> None:
        """Free the buffer. The next call that needs it allocates another."""
        self._made = []

    def fit(self, vm_context: Any, shapes: list[tuple[int, ...]], arguments: Sequence[Any]) -> bool:
        """Make the buffer fit inputs of `shapes`, which `arguments` begins with. Returns whether it
        is another one than before."""
        if self._query is None or shapes == self._shapes:
            return False
        results = import_runtime().VmVariantList(1)
        vm_context.invoke(self._query, arguments, results)
        needed = max(int(results.get_variant(0)), 1)
        self._shapes = shapes
        if needed <= self.size <= _SURPLUS * needed:
            return False
        self._made, self.size, self._shapes = [], 0, None  # freed before the next is allocated
        self._made = [allocate(self._device, needed, LOCAL, "DEFAULT|MAPPING")]
        self.size, self._shapes = needed, shapes
        return True
