"""NVIDIA's driver interface, as far as CUDA graphs need it: modules, memory, streams, graphs.

Names and structures are those of ``cuda.h``. The context is the device's primary one, which IREE's
runtime and other libraries share, so that they all see the same memory.
"""

import ctypes
import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .producer_stream import load_library

_UNIFIED = 4
"""``CU_MEMORYTYPE_UNIFIED``: the driver finds out from the address."""
_NON_BLOCKING = 1
"""``CU_STREAM_NON_BLOCKING``: no order with the default stream."""
_MAX_DYNAMIC_SHARED = 8
"""``CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES``."""

Pointer = int
"""An address in the device's memory, or in page-locked host memory."""


class KernelNodeParams(ctypes.Structure):
    """``CUDA_KERNEL_NODE_PARAMS_v2``."""

    _fields_ = (
        ("func", ctypes.c_void_p),
        *((f"grid_{axis}", ctypes.c_uint) for axis in "xyz"),
        *((f"block_{axis}", ctypes.c_uint) for axis in "xyz"),
        ("shared_bytes", ctypes.c_uint),
        ("arguments", ctypes.POINTER(ctypes.c_void_p)),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    )


class _MemcpyParams(ctypes.Structure):
    """``CUDA_MEMCPY3D``."""

    _fields_ = tuple(
        field
        for end in ("source", "target")
        for field in (
            *((f"{end}_{name}", ctypes.c_size_t) for name in ("x", "y", "z", "lod")),
            (f"{end}_type", ctypes.c_int),
            *((f"{end}_{name}", ctypes.c_void_p) for name in ("host", "device", "array", "unused")),
            *((f"{end}_{name}", ctypes.c_size_t) for name in ("pitch", "height")),
        )
    ) + tuple((name, ctypes.c_size_t) for name in ("width", "height", "depth"))


class _MemsetParams(ctypes.Structure):
    """``CUDA_MEMSET_NODE_PARAMS``."""

    _fields_ = (
        ("target", ctypes.c_void_p),
        ("pitch", ctypes.c_size_t),
        ("value", ctypes.c_uint),
        ("element_bytes", ctypes.c_uint),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


@dataclass(frozen=True)
class LaunchShape:
    """How a kernel is launched: its function, the workgroups, the threads of one, and its bytes of
    shared memory."""

    function: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int


class KernelArguments:
    """The arguments of a launch: pointers, and 32-bit numbers after them."""

    def __init__(self, pointers: Sequence[Pointer], numbers: Sequence[int]):
        self.pointers = (ctypes.c_uint64 * len(pointers))(*pointers)
        self._numbers = (ctypes.c_uint32 * len(numbers))(*numbers)
        places = [ctypes.addressof(self.pointers) + 8 * n for n in range(len(pointers))]
        places += [ctypes.addressof(self._numbers) + 4 * n for n in range(len(numbers))]
        self.places = (ctypes.c_void_p * max(len(places), 1))(*places)


class CudaDriver:
    """The driver for the device number `index`. All functions raise `RuntimeError` with the name of
    CUDA's error; they must be called in `current`."""

    def __init__(self, library: Any, index: int):
        self._library = library
        self._context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), ctypes.c_int(index))

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the device's context that of the calling thread."""
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self._library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    # Code

    def load_image(self, ptx: bytes) -> int:
        """Load a module of PTX, which ends with a zero; its functions stay until `unload_image`."""
        module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(ptx))
        return module.value or 0

    def unload_image(self, module: int) -> None:
        """Free a module."""
        self._call("cuModuleUnload", ctypes.c_void_p(module))

    def find_function(self, module: int, name: str, shared_bytes: int) -> int:
        """The kernel `name` of a module, which launches may give `shared_bytes` of memory."""
        function = ctypes.c_void_p()
        handle = ctypes.c_void_p(module)
        self._call("cuModuleGetFunction", ctypes.byref(function), handle, name.encode())
        limit = ctypes.c_int(_MAX_DYNAMIC_SHARED), ctypes.c_int(shared_bytes)
        self._call("cuFuncSetAttribute", function, *limit)
        return function.value or 0

    # Memory

    def allocate(self, size: int) -> Pointer:
        """Allocate device memory, aligned to 256 bytes."""
        pointer = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        return pointer.value

    def free(self, pointer: Pointer) -> None:
        """Free device memory."""
        self._call("cuMemFree_v2", ctypes.c_uint64(pointer))

    def allocate_host(self, size: int) -> Pointer:
        """Allocate page-locked host memory."""
        pointer = ctypes.c_void_p()
        self._call("cuMemAllocHost_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        return pointer.value or 0

    def free_host(self, pointer: Pointer) -> None:
        """Free page-locked host memory."""
        self._call("cuMemFreeHost", ctypes.c_void_p(pointer))

    def upload(self, target: Pointer, source: memoryview) -> None:
        """Copy `source` to device memory, and wait for it."""
        # A read-only view has no address for ctypes, but one for numpy.
        address = np.frombuffer(source, np.uint8).__array_interface__["data"][0]
        size = ctypes.c_size_t(source.nbytes)
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(target), ctypes.c_void_p(address), size)

    # Streams and graphs

    def create_stream(self) -> int:
        """Create a stream."""
        stream = ctypes.c_void_p()
        self._call("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(_NON_BLOCKING))
        return stream.value or 0

    def destroy_stream(self, stream: int) -> None:
        """Free a stream."""
        self._call("cuStreamDestroy_v2", ctypes.c_void_p(stream))

    def create_graph(self) -> int:
        """Create an empty graph."""
        graph = ctypes.c_void_p()
        self._call("cuGraphCreate", ctypes.byref(graph), ctypes.c_uint(0))
        return graph.value or 0

    def destroy_graph(self, graph: int) -> None:
        """Free a graph; those instantiated from it stay."""
        self._call("cuGraphDestroy", ctypes.c_void_p(graph))

    def add_kernel(
        self, graph: int, after: Sequence[int], shape: LaunchShape, arguments: KernelArguments
    ) -> int:
        """Add a launch to a graph, behind the nodes `after`; return its node."""
        return self._add("Kernel_v2", graph, after, _kernel_params(shape, arguments))

    def add_copy(
        self, graph: int, after: Sequence[int], source: Pointer, target: Pointer, size: int
    ) -> int:
        """Add a copy of `size` bytes, as `add_kernel`."""
        return self._add("Memcpy", graph, after, _copy_params(source, target, size), self._context)

    def add_fill(
        self, graph: int, after: Sequence[int], target: Pointer, value: int, width: int, size: int
    ) -> int:
        """Add a fill of `size` bytes with the `width` bytes of `value`, as `add_kernel`."""
        params = _MemsetParams(target, 0, value, width, size // width, 1)
        return self._add("Memset", graph, after, params, self._context)

    def instantiate(self, graph: int) -> int:
        """The graph, ready to be launched."""
        ready = ctypes.c_void_p()
        flags = ctypes.c_uint64(0)
        handle = ctypes.c_void_p(graph)
        self._call("cuGraphInstantiateWithFlags", ctypes.byref(ready), handle, flags)
        return ready.value or 0

    def destroy_instance(self, ready: int) -> None:
        """Free an instantiated graph."""
        self._call("cuGraphExecDestroy", ctypes.c_void_p(ready))

    def set_arguments(
        self, ready: int, node: int, shape: LaunchShape, arguments: KernelArguments
    ) -> None:
        """Give a launch of an instantiated graph other arguments."""
        params = _kernel_params(shape, arguments)
        handles = ctypes.c_void_p(ready), ctypes.c_void_p(node)
        self._call("cuGraphExecKernelNodeSetParams_v2", *handles, ctypes.byref(params))

    def set_copy(self, ready: int, node: int, source: Pointer, target: Pointer, size: int) -> None:
        """Give a copy of an instantiated graph other ends."""
        params = ctypes.byref(_copy_params(source, target, size))
        handles = ctypes.c_void_p(ready), ctypes.c_void_p(node)
        self._call("cuGraphExecMemcpyNodeSetParams", *handles, params, self._context)

    def run(self, ready: int, stream: int) -> None:
        """Run an instantiated graph, and wait for its end; other threads go on."""
        self._call("cuGraphLaunch", ctypes.c_void_p(ready), ctypes.c_void_p(stream))
        self._call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def _add(self, kind: str, graph: int, after: Sequence[int], params: Any, *more: Any) -> int:
        node = ctypes.c_void_p()
        nodes = (ctypes.c_void_p * max(len(after), 1))(*after)
        count = ctypes.c_size_t(len(after))
        name, _, version = kind.partition("_")
        function = f"cuGraphAdd{name}Node{'_' + version if version else ''}"
        given = ctypes.byref(node), ctypes.c_void_p(graph), nodes, count, ctypes.byref(params)
        self._call(function, *given, *more)
        return node.value or 0

    def _call(self, function: str, *arguments: Any) -> None:
        try:
            call = getattr(self._library, function)
        except AttributeError:
            raise RuntimeError(f"NVIDIA's driver is too old: it lacks {function}") from None
        if status := call(*arguments):
            name = ctypes.c_char_p()
            self._library.cuGetErrorName(status, ctypes.byref(name))
            found = name.value.decode() if name.value else f"error {status}"
            memory = "RESOURCE_EXHAUSTED; " if found == "CUDA_ERROR_OUT_OF_MEMORY" else ""
            raise RuntimeError(f"{memory}{function}: {found}")


def _kernel_params(shape: LaunchShape, arguments: KernelArguments) -> KernelNodeParams:
    return KernelNodeParams(
        shape.function, *shape.grid, *shape.block, shape.shared_bytes, arguments.places
    )


def _copy_params(source: Pointer, target: Pointer, size: int) -> _MemcpyParams:
    params = _MemcpyParams(width=size, height=1, depth=1)
    params.source_type = params.target_type = _UNIFIED
    params.source_device, params.target_device = source, target
    return params


@functools.cache
def cuda_driver(index: int) -> CudaDriver:
    """The driver for the device number `index`. Raises `RuntimeError` if there is none."""
    return CudaDriver(load_library("cuda"), index)
