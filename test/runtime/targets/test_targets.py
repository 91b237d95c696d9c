from dataclasses import replace

import pytest

from graphc.errors import UnknownTargetError
from graphc.runtime import compile_module, resolve_target
from graphc.runtime.targets import TARGETS


def flags(target, **options):
    options = {"threads": 1, "opt_level": 3, "data_tiling": False} | options
    return resolve_target(target).flags(**options)


def test_the_default_variant_is_this_machine():
    assert resolve_target("cpu") == resolve_target("cpu:host")
    assert "--iree-llvmcpu-target-cpu=host" in flags("cpu")
    assert resolve_target("cpu").pipeline == "cpu"


def test_a_target_prints_as_it_is_written():
    assert str(resolve_target("cpu")) == "cpu"
    assert str(resolve_target("cpu:x86-64-v3")) == "cpu:x86-64-v3"
    assert resolve_target("cpu").spelling == "cpu:host"


def test_a_resolved_target_stays():
    target = resolve_target("cpu:znver4")
    assert resolve_target(target) is target


def test_a_variant_changes_only_the_processor():
    assert set(flags("cpu:x86-64-v3")) ^ set(flags("cpu")) == {
        "--iree-llvmcpu-target-cpu=host",
        "--iree-llvmcpu-target-cpu=x86-64-v3",
        "--iree-llvmcpu-target-triple=x86_64-unknown-linux-gnu",
    }


def test_variants_of_gpus():
    assert "--iree-vulkan-target=rdna3" in flags("vulkan:rdna3")
    assert "--iree-vulkan-target=vp_android_baseline_2022" in flags("vulkan:portable")
    assert "--iree-cuda-target=sm_120" in flags("cuda:sm_120")
    assert "--iree-cuda-target=sm_89" in flags("cuda:sm_90")
    assert "--iree-rocm-target=gfx942" in flags("rocm:gfx942")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("cpv", r"no target is named 'cpv'; did you mean 'cpu'\? \(known: cpu"),
        ("CPU", r"did you mean 'cpu'"),
        ("", r"no target is named ''"),
        ("cpu:x86-64-v5", r"no variant of target 'cpu' is named 'x86-64-v5'; did you mean"),
        ("cpu:", r"no variant of target 'cpu' is named ''"),
        ("cpu:host:extra", r"is named 'host:extra'"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(target, reason):
    with pytest.raises(UnknownTargetError, match=reason):
        resolve_target(target)


@pytest.mark.parametrize("name", TARGETS)
def test_every_row_keeps_its_own_name_and_default(name):
    row = TARGETS[name]
    assert row.name == name
    assert row.variant in row.variants


@pytest.mark.parametrize("variant", ["x86-64", "x86-64-v4", "arm64", "neoverse-v2"])
def test_variants_compile_whatever_this_machine_is(source, variant):
    # The backend only warns of a CPU that it does not know, so that a typing error in the
    # table would go unnoticed.
    module = compile_module(
        source("add"), target=resolve_target(f"cpu:{variant}"), threads=1, opt_level=0
    )
    architecture = b"arm_64" if variant in ("arm64", "neoverse-v2") else b"x86_64"
    assert b"embedded-elf-" + architecture in module


@pytest.mark.parametrize("target", ["cpu", "cuda", "vulkan:portable"])
def test_plugins_for_other_devices_change_no_code(source, target, tmp_path):
    row = resolve_target(target)
    flags = tuple(flag for flag in row.backend_flags if "plugin" not in flag)
    assert len(flags) < len(row.backend_flags)
    path = tmp_path / "add.mlir"  # code has the places of ops
    path.write_bytes(source("add") + b"// compiled nowhere else, from another place\n")
    rows = (row, replace(row, backend_flags=flags))
    ours, theirs = (compile_module(path, target=each, threads=1) for each in rows)
    assert ours == theirs
