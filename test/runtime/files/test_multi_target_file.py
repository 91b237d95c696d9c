"""One file for several targets: the best that is here runs."""

import subprocess
import zipfile

import numpy as np
import pytest

from graphc.errors import DeviceError, ModuleFileError, UsageError
from graphc.runtime import compile_module, load, resolve_target
from graphc.runtime.device import discovery
from graphc.runtime.device.discovery import DeviceInfo, select_targets
from graphc.runtime.device.memory import ALIGNMENT
from graphc.runtime.files.module_file import open_file
from graphc.runtime.files.multi_target_file import bundle

ONES = np.ones((2, 4), np.float32)


@pytest.fixture(scope="module")
def modules(source):
    """The model ``add``, by target."""

    def compile_for(target):
        text = source("add", target=target)
        return compile_module(text, target=resolve_target(target), threads=1, opt_level=0)

    return {name: compile_for(name) for name in ("cpu:x86-64", "cuda:sm_80", "cpu:arm64")}


@pytest.fixture
def path(modules, tmp_path):
    """A file for all of them."""
    path = tmp_path / "add.vmfb"
    path.write_bytes(bundle(modules))
    return path


def test_what_is_here_runs(path):
    for given in (path, path.read_bytes()):
        with load(given) as model:
            assert model.target == "cpu:x86-64"
            np.testing.assert_array_equal(model(ONES, ONES), 2 * ONES)


def test_the_first_is_for_irees_tools(path):
    import iree._runtime_libs

    tools = iree._runtime_libs.__path__[0]
    command = [f"{tools}/iree-run-module", f"--module={path}", "--function=main"]
    command += ["--device=local-sync", "--input=2x4xf32=1", "--input=2x4xf32=2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "2x4xf32=[3 3 3 3]" in done.stdout


def test_the_others_are_whole_and_aligned(path, modules):
    file = open_file(path)
    assert list(file.modules()) == list(modules)
    base = np.frombuffer(file.contents, np.uint8).ctypes.data
    for name, contents in list(file.modules().items())[1:]:
        assert bytes(contents) == modules[name]
        assert (np.frombuffer(contents, np.uint8).ctypes.data - base) % ALIGNMENT == 0
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


def test_a_copy_is_the_same_file(path, tmp_path):
    with load(path) as model:
        model.save(tmp_path / "copy.vmfb")
    assert (tmp_path / "copy.vmfb").read_bytes() == path.read_bytes()


def test_a_target_can_be_asked_for(path):
    with load(path, target="cpu:x86-64") as model:
        assert model.target == "cpu:x86-64"
    with pytest.raises(DeviceError, match="cuda:sm_80: cannot open device 'cuda'"):
        load(path, target="cuda")
    with pytest.raises(UsageError, match="has code for cpu:x86-64, cuda:sm_80, cpu:arm64, not for"):
        load(path, target="vulkan")
    with pytest.raises(UsageError, match="not for cpu:x86-64-v3"):
        load(path, target="cpu:x86-64-v3")


def test_a_file_for_one_target_is_asked_likewise(modules):
    with load(modules["cpu:x86-64"], target="cpu") as model:
        assert model.target == "cpu:x86-64"
    with pytest.raises(UsageError, match="has code for cpu:x86-64, not for vulkan"):
        load(modules["cpu:x86-64"], target="vulkan")


def test_none_is_here(modules):
    file = bundle({name: modules[name] for name in ("cpu:arm64", "cuda:sm_80")})
    with pytest.raises(DeviceError, match=r"(?s)no target of the file.*cuda:sm_80: .*cpu:arm64: "):
        load(file)


def test_gpus_come_first_but_those_in_software(monkeypatch):
    names = ["cpu:host", "vulkan:portable", "cuda:sm_80", "tpu:v5", "cpu:x86-64"]
    for device, order in (
        ("NVIDIA GeForce RTX 3060", ["cuda:sm_80", "vulkan:portable", "cpu:host", "cpu:x86-64"]),
        ("llvmpipe", ["cuda:sm_80", "cpu:host", "cpu:x86-64", "vulkan:portable"]),
    ):
        found = [DeviceInfo("vulkan", device, "")]
        monkeypatch.setattr(discovery, "find_devices", lambda driver, found=found: found)
        assert select_targets(names, None, "model.vmfb") == order


def test_damage_is_found_wherever_it_is(path, modules):
    contents = bytearray(path.read_bytes())
    contents[contents.index(modules["cuda:sm_80"]) + 5000] ^= 1
    with pytest.raises(ModuleFileError, match=r"damaged .*'targets/cuda:sm_80'"):
        load(bytes(contents))
    whole, last = path.read_bytes(), modules["cpu:arm64"]
    for end in (len(whole) - 40, whole.index(last) + len(last)):  # behind a module that is whole
        with pytest.raises(ModuleFileError, match="truncated or damaged"):
            load(whole[:end])
