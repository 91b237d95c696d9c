import functools
import platform

import pytest

from graphc.errors import DeviceError
from graphc.runtime import compile_module, load, resolve_target
from graphc.runtime.files import module_file
from graphc.runtime.targets import cpu_features

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="features of x86-64")

V2 = "fpu sse sse2 pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm"
V3 = V2 + " avx avx2 bmi1 bmi2 f16c fma abm movbe"


@pytest.fixture
def cpuinfo(tmp_path, monkeypatch):
    """``cpuinfo("sse avx")``: makes this CPU one with these features."""

    def install(flags):
        path = tmp_path / "cpuinfo"
        path.write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t:\n")
        check = functools.partial(cpu_features.missing_features, cpuinfo=path)
        monkeypatch.setattr(module_file, "missing_features", check)

    return install


@pytest.fixture(scope="module")
def for_variant(source):
    @functools.cache
    def build(variant):
        target = resolve_target(f"cpu:{variant}")
        return compile_module(source("add"), target=target, threads=1, opt_level=0)

    return build


@pytest.mark.parametrize(
    ("flags", "variant", "missing"),
    [
        (V3, "x86-64-v4", "avx512f, avx512bw, avx512cd, avx512dq, avx512vl"),
        (V2, "x86-64-v3", "movbe, lzcnt, bmi, bmi2, avx, avx2, f16c, fma"),
        (V3.replace(" fma", ""), "x86-64-v3", "fma"),
    ],
)
def test_a_lesser_processor_is_told_what_it_lacks(for_variant, cpuinfo, flags, variant, missing):
    module = for_variant(variant)
    cpuinfo(flags)
    with pytest.raises(DeviceError, match=f"compiled for a CPU with {missing}, which"):
        load(module)


@pytest.mark.parametrize(
    ("flags", "variant"), [(V3, "x86-64-v3"), (V3, "x86-64-v2"), (V2, "x86-64")]
)
def test_a_processor_that_has_enough_is_accepted(for_variant, cpuinfo, flags, variant):
    module = for_variant(variant)
    cpuinfo(flags)
    load(module).close()


def test_an_unknown_processor_is_not_refused(for_variant, tmp_path):
    code = for_variant("x86-64-v4")
    assert cpu_features.missing_features(code, tmp_path / "nothing") == []
    (tmp_path / "arm").write_text("Features\t: fp asimd\n")
    assert cpu_features.missing_features(code, tmp_path / "arm") == []


def test_the_last_mention_of_a_feature_counts(tmp_path):
    (tmp_path / "cpuinfo").write_text("flags : sse\n")
    code = b'{cpu_features = "+avx,+avx2,-avx2", x}'
    assert cpu_features.missing_features(code, tmp_path / "cpuinfo") == ["avx"]
