"""A substitute for NVIDIA's driver library: device memory is the host's, and kernels are functions
in Python. It runs graphs node by node, and checks that a node follows those it depends on."""

# ruff: noqa: N802, N815 (names of the library)

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Kernel = Callable[[list[int], list[int], tuple[int, int, int]], None]
"""Computes what a kernel does, from its pointers, its numbers, and the grid."""


@dataclass
class _Node:
    """A node of a graph: a function without arguments, and the nodes before it."""

    run: Callable[[], object]
    after: list[int]


@dataclass
class HostCuda:
    """The library. `kernels` holds, by name, the function, the number of pointers, and the number
    of 32-bit numbers."""

    kernels: Mapping[str, tuple[Kernel, int, int]]
    memory: dict[int, np.ndarray] = field(default_factory=dict[int, np.ndarray])
    objects: dict[int, Any] = field(default_factory=dict[int, Any])
    live: set[int] = field(default_factory=set[int])
    """Modules, streams and graphs that have not been freed."""
    launches: int = 0
    updates: int = 0
    _last: int = 0

    def cuDevicePrimaryCtxRetain(self, context, index):
        return self._new(context, index)

    def cuCtxPushCurrent_v2(self, context):
        return int(context.value not in self.objects)

    def cuCtxPopCurrent_v2(self, context):
        return 0

    def cuGetErrorName(self, status, name):
        name._obj.value = b"CUDA_ERROR_OUT_OF_MEMORY" if status == 2 else b"CUDA_ERROR_OF_TEST"
        return 0

    def cuModuleLoadData(self, module, image):
        return self._keep(module, image.value)

    def cuModuleUnload(self, module):
        return self._drop(module)

    def cuModuleGetFunction(self, function, module, name):
        return self._new(function, self.kernels[name.decode()])

    def cuFuncSetAttribute(self, function, attribute, value):
        return 0

    def cuMemAlloc_v2(self, pointer, size):
        if size.value >= 1 << 40:
            return 2
        block = np.full(size.value, 0xAB, np.uint8)
        pointer._obj.value = block.__array_interface__["data"][0]
        self.memory[pointer._obj.value] = block
        return 0

    def cuMemFree_v2(self, pointer):
        del self.memory[pointer.value]
        return 0

    cuMemAllocHost_v2 = cuMemAlloc_v2
    cuMemFreeHost = cuMemFree_v2

    def cuMemcpyHtoD_v2(self, target, source, size):
        ctypes.memmove(target.value, source.value, size.value)
        return 0

    def cuStreamCreate(self, stream, flags):
        return self._keep(stream, [])

    def cuStreamDestroy_v2(self, stream):
        return self._drop(stream)

    def cuStreamSynchronize(self, stream):
        return 0

    def cuGraphCreate(self, graph, flags):
        return self._keep(graph, [])

    def cuGraphDestroy(self, graph):
        return self._drop(graph)

    def cuGraphAddKernelNode_v2(self, node, graph, after, count, params):
        return self._add(node, graph, after, count, self._launch(params._obj))

    def cuGraphAddMemcpyNode(self, node, graph, after, count, params, context):
        return self._add(node, graph, after, count, self._copy(params._obj))

    def cuGraphAddMemsetNode(self, node, graph, after, count, params, context):
        target, value, size = params._obj.target, params._obj.value, params._obj.width
        dtype = {1: np.uint8, 2: np.uint16, 4: np.uint32}[params._obj.element_bytes]
        array = _array(target, size, dtype)
        return self._add(node, graph, after, count, lambda: array.fill(value))

    def cuGraphInstantiateWithFlags(self, ready, graph, flags):
        return self._keep(ready, list(self.objects[graph.value]))

    def cuGraphExecDestroy(self, ready):
        return self._drop(ready)

    def cuGraphExecKernelNodeSetParams_v2(self, ready, node, params):
        self.updates += 1
        self.objects[node.value].run = self._launch(params._obj)
        return 0

    def cuGraphExecMemcpyNodeSetParams(self, ready, node, params, context):
        self.updates += 1
        self.objects[node.value].run = self._copy(params._obj)
        return 0

    def cuGraphLaunch(self, ready, stream):
        self.launches += 1
        done: set[int] = set()
        for handle in self.objects[ready.value]:
            node = self.objects[handle]
            assert done.issuperset(node.after)
            node.run()
            done.add(handle)
        return 0

    def _new(self, out, value):
        self._last += 1
        self.objects[self._last] = value
        out._obj.value = self._last
        return 0

    def _keep(self, out, value):
        self._new(out, value)
        self.live.add(out._obj.value)
        return 0

    def _drop(self, handle):
        self.live.remove(handle.value)
        return 0

    def _add(self, out, graph, after, count, run):
        node = _Node(run, [after[n] for n in range(count.value)])
        self._new(out, node)
        self.objects[graph.value].append(out._obj.value)
        return 0

    def _launch(self, params):
        kernel, pointers, numbers = self.objects[params.func]
        places = [params.arguments[n] for n in range(pointers + numbers)]
        given = [ctypes.c_uint64.from_address(at).value for at in places[:pointers]]
        more = [ctypes.c_uint32.from_address(at).value for at in places[pointers:]]
        grid = params.grid_x, params.grid_y, params.grid_z
        return lambda: kernel(given, more, grid)

    @staticmethod
    def _copy(params):
        ends = params.target_device, params.source_device, params.width
        return lambda: ctypes.memmove(*ends)


def _array(pointer, count, dtype):
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_uint8 * size).from_address(pointer), dtype)


def floats_at(pointer: int, shape: tuple[int, ...]) -> np.ndarray:
    """The f32 array at an address, to read and write."""
    return _array(pointer, int(np.prod(shape)), np.float32).reshape(shape)
