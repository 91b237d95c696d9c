"""The table of CPU models, and what the passes are told of it."""

import pytest

from graphc.compiler.driver import make_options
from graphc.cpu_model import GENERIC_CPU, CpuModel
from graphc.passes.infra.pipeline import Pipeline
from graphc.runtime import resolve_target
from graphc.runtime.targets.cpu_models import cpu_model


@pytest.mark.parametrize(
    ("target", "vector_bits", "registers"),
    [("cpu:x86-64-v3", 256, 16), ("cpu:znver4", 512, 32), ("cpu:neoverse-v2", 128, 32)],
)
def test_variants(target, vector_bits, registers):
    cpu = resolve_target(target).cpu
    assert (cpu.vector_bits, cpu.registers) == (vector_bits, registers)
    assert cpu.lanes == vector_bits // 32
    assert cpu.has_vectors


def test_targets_without_kernels_for_vectors():
    assert resolve_target("cuda").cpu == GENERIC_CPU
    assert not GENERIC_CPU.has_vectors


@pytest.mark.parametrize(
    ("flags", "vector_bits"), [("avx avx2 avx512f", 512), ("avx avx2", 256), ("sse4_2", 128)]
)
def test_the_host_is_what_linux_says(tmp_path, flags, vector_bits):
    path = tmp_path / "cpuinfo"
    path.write_text(f"flags\t\t: {flags}\n")
    assert cpu_model("host", path) == CpuModel(vector_bits)
    assert cpu_model("host", tmp_path / "nothing") == CpuModel(128)


@pytest.mark.parametrize(
    ("family", "flags", "units"),
    [(25, "avx2 avx512f", 1), (26, "avx2 avx512f", 2), (25, "avx2", 2)],
)
def test_zen_4_splits_vectors_of_512_bits(tmp_path, family, flags, units):
    path = tmp_path / "cpuinfo"
    path.write_text(f"vendor_id\t: AuthenticAMD\ncpu family\t: {family}\nflags\t\t: {flags}\n")
    assert cpu_model("host", path).fma_units == units
    assert cpu_model("znver4").fma_units == 1
    assert cpu_model("znver5").fma_units == 2


def test_pipelines_say_which_cpu_they_are_for():
    """And are read back: `gc-opt` runs the passes as the compiler did."""
    text = make_options("cpu:znver4", threads=1).pipeline
    pipeline = Pipeline.parse(text)
    assert Pipeline.parse(str(pipeline)) == pipeline
    cpus = [step.pass_.cpu for step in pipeline.steps if hasattr(step.pass_, "cpu")]
    assert set(cpus) == {CpuModel(512, fma_units=1)}
    assert len(cpus) >= 5
