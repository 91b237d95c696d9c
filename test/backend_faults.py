"""The programs that show faults of IREE, compiled and run by its own tools.

The head of a program says what is wrong, and where in IREE's sources. Some of its lines are read:

- ``TARGET``: the target of graphc whose flags are used, but not those that ``WITHOUT`` names;
- ``WITH``: a flag that is used as well, with the workaround or without it;
- ``FAILS``: part of the compiler's error;
- ``LACKS``: what should be in the code;
- ``PASS``: the workaround, if it is a pass;
- ``Workaround``: the file of a workaround, and its name there.

A line that ends in ``// FAULT`` belongs to the program without the workaround, one that begins with
``// WORKAROUND`` to the program with it.
"""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import iree.runtime
import numpy as np

from graphc.mlir import ir
from graphc.passes.infra.pipeline import run_pipeline
from graphc.runtime import resolve_target
from graphc.runtime.device import buffers
from graphc.runtime.device.device import open_device
from graphc.runtime.iree_compile.compiler import find_compiler

FOLDER = Path(__file__).parent / "passes" / "linalg" / "workarounds" / "Inputs"


@dataclass(frozen=True)
class Program:
    """A program that shows a fault, by the name of its file."""

    name: str

    @property
    def text(self) -> str:
        return (FOLDER / f"{self.name}.mlir").read_text()

    def lines(self, key: str) -> list[str]:
        """The values of `key` in the head."""
        return re.findall(rf"^// {key}: (.*)$", self.text, flags=re.MULTILINE)

    def flags(self, *, worked_around: bool) -> list[str]:
        (target,) = self.lines("TARGET")
        flags = resolve_target(target).flags(threads=1, opt_level=3, data_tiling=False)
        without = () if worked_around else tuple(self.lines("WITHOUT"))
        flags = [flag for flag in flags if not (without and flag.startswith(without))]
        return flags + self.lines("WITH")

    def compile(
        self, folder: Path, *further: str, worked_around: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run the compiler with `further` flags, and with the pass, the lines or the flags of the
        workaround if that is asked for."""
        source = folder / f"{self.name}.mlir"
        source.write_text(self._worked_around() if worked_around else self.text)
        flags = self.flags(worked_around=worked_around)
        command = [find_compiler(), source, "-o", folder / "module.vmfb", *flags, *further]
        return subprocess.run(command, capture_output=True, text=True)

    def _worked_around(self) -> str:
        text = re.sub(r"^.*// FAULT$", "", self.text, flags=re.MULTILINE)
        text = re.sub(r"^ *// WORKAROUND", "", text, flags=re.MULTILINE)
        return self._after_passes(text) if self.lines("PASS") else text

    def _after_passes(self, text: str) -> str:
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            for name in self.lines("PASS"):
                run_pipeline(module, name)
            return str(module)

    def run(
        self, folder: Path, *feeds: np.ndarray, worked_around: bool = False
    ) -> list[np.ndarray]:
        """The results of ``main`` of `feeds`, on one thread."""
        results = self.load(folder, worked_around=worked_around)(*feeds)
        return [np.asarray(each) for each in _several(results)]

    def load(self, folder: Path, *, worked_around: bool = False) -> Callable[..., Any]:
        """``main``, which runs on one thread."""
        config = iree.runtime.Config("local-sync")
        return self._load(folder, config, worked_around=worked_around)

    def load_on_device(
        self, folder: Path, *, worked_around: bool = False
    ) -> Callable[..., list[np.ndarray]]:
        """``main``, which runs on the device of the target, in each call with other buffers."""
        (target,) = self.lines("TARGET")
        device = open_device(resolve_target(target).driver)
        config = iree.runtime.Config(device=device.hal)
        main = self._load(folder, config, worked_around=worked_around)
        kept: list[Any] = []

        def call(*feeds: np.ndarray) -> list[np.ndarray]:
            views = [buffers.upload(device, each) for each in feeds]
            results = main(*(iree.runtime.DeviceArray(device.hal, each) for each in views))
            kept.append((views, results))
            return [buffers.download(device, each._buffer_view, each.dtype)
                    for each in _several(results)]  # fmt: skip

        return call

    def _load(
        self, folder: Path, config: iree.runtime.Config, *, worked_around: bool
    ) -> Callable[..., Any]:
        done = self.compile(folder, worked_around=worked_around)
        assert done.returncode == 0, done.stderr
        contents = (folder / "module.vmfb").read_bytes()
        module = iree.runtime.VmModule.copy_buffer(config.vm_instance, contents)
        return iree.runtime.load_vm_module(module, config)["main"]


def _several(results: Any) -> Any:
    return results if isinstance(results, tuple | list) else [results]
