"""A launch plan as a CUDA graph: the work of a run, which the driver starts by one call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..device.cuda_driver import CudaDriver, KernelArguments, LaunchShape, Pointer
from ..launch_plan.launch_plan import (
    BufferCopy,
    BufferFill,
    BufferRange,
    Command,
    KernelLaunch,
    LaunchPlan,
)


@dataclass(frozen=True)
class Transfer:
    """A copy between a range of one of the plan's buffers and other memory."""

    range: BufferRange
    other: Pointer


class CudaGraph:
    """The graph of `plan`, whose buffers are at `pointers`: `uploads` to them, the commands, and
    `downloads` from them.

    Use it in the context of `driver`. `code` are the kernels of the plan.
    """

    def __init__(
        self,
        driver: CudaDriver,
        plan: LaunchPlan,
        code: Sequence[LaunchShape],
        pointers: Sequence[Pointer],
        uploads: Sequence[Transfer],
        downloads: Mapping[int, Transfer],
    ):
        self._driver, self._code, self._pointers = driver, code, list(pointers)
        self._launches: list[tuple[int, KernelLaunch, KernelArguments]] = []
        self._users: dict[int, list[int]] = {}
        self._downloads: dict[int, tuple[int, Transfer]] = {}
        self._graph = driver.create_graph()
        self._ready = 0
        try:
            last = [self._upload(each) for each in uploads]
            for stage in plan.stages:
                last = [self._add(command, last) for command in stage]
            for number, each in downloads.items():
                self._downloads[number] = self._download(each, last), each
            self._ready = driver.instantiate(self._graph)
        except BaseException:
            self.close()
            raise

    def move(self, buffer: int, pointer: Pointer) -> None:
        """Use memory at `pointer` for `buffer`, which only kernels use."""
        if self._pointers[buffer] == pointer:
            return
        self._pointers[buffer] = pointer
        for number in self._users.get(buffer, ()):
            node, launch, arguments = self._launches[number]
            for place, found in enumerate(launch.bindings):
                if found.buffer == buffer:
                    arguments.pointers[place] = pointer + found.offset
            self._driver.set_arguments(self._ready, node, self._shape(launch), arguments)

    def download_to(self, number: int, pointer: Pointer) -> None:
        """Let the download with that number write to `pointer`."""
        node, before = self._downloads[number]
        if before.other != pointer:
            self._downloads[number] = node, replace(before, other=pointer)
            source = self._at(before.range)
            self._driver.set_copy(self._ready, node, source, pointer, before.range.length)

    def run(self, stream: int) -> None:
        """Run it on a stream, and wait for its end."""
        self._driver.run(self._ready, stream)

    def close(self) -> None:
        """Free it."""
        if self._ready:
            self._driver.destroy_instance(self._ready)
        if self._graph:
            self._driver.destroy_graph(self._graph)
        self._ready = self._graph = 0

    def _at(self, found: BufferRange) -> Pointer:
        return self._pointers[found.buffer] + found.offset

    def _shape(self, launch: KernelLaunch) -> LaunchShape:
        return replace(self._code[launch.kernel], grid=launch.grid)

    def _upload(self, each: Transfer) -> int:
        ends = each.other, self._at(each.range)
        return self._driver.add_copy(self._graph, (), *ends, each.range.length)

    def _download(self, each: Transfer, after: Sequence[int]) -> int:
        ends = self._at(each.range), each.other
        return self._driver.add_copy(self._graph, after, *ends, each.range.length)

    def _add(self, command: Command, after: Sequence[int]) -> int:
        match command:
            case KernelLaunch():
                return self._launch(command, after)
            case BufferFill(target, value, width):
                to = self._at(target)
                return self._driver.add_fill(self._graph, after, to, value, width, target.length)
            case BufferCopy(source, target):
                ends = self._at(source), self._at(target)
                return self._driver.add_copy(self._graph, after, *ends, source.length)

    def _launch(self, launch: KernelLaunch, after: Sequence[int]) -> int:
        arguments = KernelArguments([self._at(each) for each in launch.bindings], launch.constants)
        node = self._driver.add_kernel(self._graph, after, self._shape(launch), arguments)
        for buffer in {each.buffer for each in launch.bindings}:
            self._users.setdefault(buffer, []).append(len(self._launches))
        self._launches.append((node, launch, arguments))
        return node
