"""`DeviceTensor`: an array in the memory of a device."""

import math
from typing import Any

import numpy as np

from ...errors import DLPackError, UsageError
from ..elements import BIT_PATTERNS
from . import buffers
from .device import Device, brief, import_runtime, open_device
from .dlpack import HOST, describe, dlpack_device
from .status_errors import STATUS_ERRORS, call_error


class DeviceTensor:
    """An array in the memory of a device: an output that stayed there, or an uploaded array.

    Made by ``CompiledModel.run(..., on_device=...)`` and `CompiledModel.to_device`. Every model on
    the same device takes it as a feed without a copy, from any thread. It outlives the model it
    came from; its memory is freed when the last reference to it, and to the other outputs of the
    same run, is gone.

    graphc never changes its contents, unless it is given away: a call takes over the memory of an
    input that the model was compiled to `donate`, and the tensor cannot be used any more. It may
    share memory with other tensors, such as a feed that a
    model returns: a write to that memory through DLPack changes all of them.

    Other libraries import it by DLPack, as ``torch.from_dlpack(tensor)``: from the CPU, CUDA and
    ROCm without a copy, from other devices by ``numpy.from_dlpack(tensor, device="cpu")``.
    """

    __slots__ = ("__weakref__", "_device", "_dtype", "_pointer", "_shape", "_view")

    def __init__(self, device: Device, view: Any, dtype: np.dtype):
        self._device = device
        self._view = view
        self._dtype = dtype
        self._shape = tuple(view.shape)
        self._pointer: int | None = None

    def __del__(self) -> None:
        # A buffer is returned to its device, so it must be released first.
        self._view = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self._shape

    @property
    def dtype(self) -> np.dtype:
        """Element type, a dtype of numpy or ml_dtypes."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        """Size of the elements in bytes."""
        return self.size * self._dtype.itemsize

    @property
    def device(self) -> str:
        """Name of the device, such as ``cpu`` or ``cuda:0``, to compare with that of
        `CompiledModel.device`."""
        return str(self._device)

    def numpy(self) -> np.ndarray:
        """The elements on the host: a copy, or for the CPU a read-only view.

        Raises `ExecutionError` if that fails, `DeviceLostError` if the device is lost.
        """
        self._require_owned()
        if 0 in self._shape:
            return np.empty(self._shape, self._dtype)
        if not self._device.is_local:
            return self._download()
        array = buffers.keeping(self._device, buffers.map_array(self._view, self._dtype))
        array.flags.writeable = False
        return array

    @property
    def is_local(self) -> bool:
        """True if the memory is the host's."""
        return self._device.is_local

    def writable(self) -> np.ndarray:
        """The elements in host memory, to be changed by the one owner of this tensor.

        Raises `UsageError` if the memory is not the host's, or was given away.
        """
        self._require_owned()
        if not self.is_local:
            raise UsageError(f"{self!r} is not in memory that the host can write")
        return buffers.keeping(self._device, buffers.map_array(self._view, self._dtype))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Implement `numpy.asarray`. Raises `ValueError` if `copy` is False and one is needed."""
        same = dtype is None or np.dtype(dtype) == self._dtype
        if copy is False and not (same and self._device.is_local):
            raise ValueError(f"a tensor on {self.device} becomes no such array without a copy")
        array = self.numpy()
        if not same:
            return array.astype(dtype)
        return array.copy() if copy and not array.flags.writeable else array

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's device type and index."""
        kind, index = self._device.dlpack
        return int(kind), index

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule over this memory, or over a copy if `copy` or `dl_device` requires one.

        The work that computes a tensor has finished, so `stream` is ignored; the capsule is
        unversioned. Raises `DLPackError` if the driver cannot export memory, or DLPack lacks the
        element type.
        """
        del stream, max_version
        here = self._device.dlpack
        wanted = here if dl_device is None else dlpack_device(*dl_device)
        if wanted == here:
            tensor = self._clone() if copy else self
        elif wanted == HOST and copy is not False:
            tensor = send(open_device("local-sync"), self.numpy())
        else:
            what = "without a copy" if wanted == HOST else f"as one on {describe(wanted)}"
            raise DLPackError(f"a tensor on {self.device} cannot be given {what}")
        return tensor._export()

    def as_feed(self, element_type: int) -> Any:
        """The buffer view, retyped for an input of `element_type` on the same device.

        Raises `UsageError` if the tensor was given away.
        """
        self._require_owned()
        return _retyped(self._view, element_type)

    def donate(self, element_type: int) -> Any:
        """Like `as_feed`; the memory is given away, and this tensor has none any more."""
        view = self.as_feed(element_type)
        self._view = None
        return view

    def device_pointer(self) -> int:
        """The address of the elements in the device's memory.

        Raises `RuntimeError` if the driver does not tell it, `UsageError` if the tensor was given
        away.
        """
        self._require_owned()
        if self._pointer is None:
            try:
                self._pointer = buffers.device_pointer(self._device, self._view)
            except RuntimeError:  # as in `_capsule_or_error`
                self._view = buffers.clone(self._device, self._view)
                self._pointer = buffers.device_pointer(self._device, self._view)
        return self._pointer

    @property
    def has_memory(self) -> bool:
        """False if the memory was given away."""
        return self._view is not None

    def _require_owned(self) -> None:
        if not self.has_memory:
            raise UsageError(f"{self!r} was given to a call of a model that takes over its memory")

    def on(self, device: Device) -> bool:
        """Return whether the tensor is in the memory of `device`."""
        return self._device is device

    def require_there(self) -> None:
        """Raise `DeviceError` if the memory was lost with the device."""
        self._device.require_working()

    def __repr__(self) -> str:
        return f"DeviceTensor({self._dtype.name}{list(self._shape)}, device='{self.device}')"

    def _download(self) -> np.ndarray:
        self.require_there()
        try:
            return buffers.download(self._device, self._view, self._dtype)
        except STATUS_ERRORS as error:
            raise call_error(f"reading {self!r} failed", self._device, error) from error

    def _clone(self) -> "DeviceTensor":
        self._require_owned()
        return DeviceTensor(self._device, buffers.clone(self._device, self._view), self._dtype)

    def _export(self) -> Any:
        self._require_owned()
        if self._dtype.type in BIT_PATTERNS:
            raise DLPackError(f"{self._dtype.name} cannot be given away by DLPack: use .numpy()")
        capsule = self._capsule_or_error()
        self._device.pin()
        return capsule

    def _capsule_or_error(self) -> Any:
        try:
            return self._capsule()
        except NotImplementedError as error:
            raise _not_given_away(self._device, error) from error
        except RuntimeError:
            # CUDA memory from a stream-ordered pool cannot be exported; explicitly allocated memory
            # can.
            self._view, self._pointer = buffers.clone(self._device, self._view), None
        try:
            return self._capsule()
        except RuntimeError as error:
            raise _not_given_away(self._device, error) from error

    def _capsule(self) -> Any:
        types = import_runtime().HalElementType
        unsigned = self._dtype.kind == "u"  # integers are signless at the ABI of modules
        name = f"UINT_{8 * self._dtype.itemsize}" if unsigned else None
        element_type = int(getattr(types, name)) if name else buffers.hal_type(self._dtype)
        view = _retyped(self._view, element_type)
        return self._device.hal.create_dlpack_capsule(view, *map(int, self._device.dlpack))


def send(device: Device, array: np.ndarray) -> DeviceTensor:
    """Copy `array` to `device`. Raises `ExecutionError`."""
    device.require_working()
    try:
        view = buffers.upload(device, array)
    except STATUS_ERRORS as error:
        what = f"{array.dtype.name}{list(array.shape)}"
        raise call_error(f"bringing {what} to {device} failed", device, error) from error
    return DeviceTensor(device, view, array.dtype.newbyteorder("="))


def _retyped(view: Any, element_type: int) -> Any:
    if int(view.element_type) == element_type:
        return view
    return import_runtime().HalBufferView(view.get_buffer(), view.shape, element_type)


def _not_given_away(device: Device, error: Exception) -> DLPackError:
    return DLPackError(
        f"the driver of {device} gives no memory to other libraries: use .numpy(), or ask for a "
        f"copy on the host with dl_device=(1, 0) ({brief(error)})"
    )
