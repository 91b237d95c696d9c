"""Tests of kernels for the units that multiply 8-bit integers: the passes that lead to these
kernels, alone, and operands."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from graphc.runtime.targets import cpu_features
from harness.marks import long

NEEDED = {
    "amx": {"amx_tile", "amx_int8", "avx512_vnni"},
    "avx512vnni": {"avx512_vnni"},
    "avxvnni": {"avx_vnni"},
    "avx2": {"avx2"},
}
"""Features of a CPU with each unit."""
HALF = {"amx": 0, "avx512vnni": 1, "avxvnni": 1, "avx2": 0}
"""Which half of the cases a unit computes where they are of what does not depend on the unit. CPUs
with AVX-512 have both halves."""
each_unit = pytest.mark.parametrize("unit", list(NEEDED))
own_unit = pytest.mark.parametrize(
    "unit",
    [unit if unit == cpu_features.int8_unit("host") else long(unit) for unit in NEEDED],
)
"""The unit of which kernels are chosen for this CPU; the others in long runs."""


def each_unit_with(
    names: str, first: Any, second: Any, both: Sequence[str] = ()
) -> pytest.MarkDecorator:
    """Parametrize a test by a unit and `names`: units of one half get the values `first`, those of
    the other `second`, and units in `both` get both. Units that this CPU does not choose are for
    long runs."""
    halves = {unit: (first, second)[half] for unit, half in HALF.items()}
    pairs = [
        (unit, *(values if isinstance(values, tuple) else (values,)))
        for unit in NEEDED
        for values in ((first, second) if unit in both else (halves[unit],))
    ]
    own = cpu_features.int8_unit("host")
    sets = [pair if pair[0] == own else long(*pair) for pair in pairs]
    return pytest.mark.parametrize(f"unit,{names}", sets)


PIPELINE = (
    "graph-fold-constants{{keep-quantized=true}},graph-simplify,"
    "cpu-integer-contractions{{unit={0} exact={2}}},graph-convert-layout,graph-simplify,"
    "graph-fold-constants,canonicalize,cse,cpu-select-int8-kernels{{vector-bits={1} unit={0}}},"
    "int8-matmul-to-f32,graph-fuse-epilogue,canonicalize"
)


def pipeline_of(unit: str, exact: bool = False) -> str:
    """The text of the pipeline."""
    bits = 256 if unit in ("avxvnni", "avx2") else 512
    return PIPELINE.format(unit, bits, str(exact).lower())


def require(unit: str) -> None:
    """Skip the test if this machine lacks the unit. No fixture: see `_may_begin_early`."""
    if not NEEDED[unit] <= set(cpu_features.host_features()):
        pytest.skip(f"this CPU lacks {unit}")
    if unit == "amx" and not cpu_features.request_tiles():
        pytest.skip("the system does not let this process use tiles")


def extreme_bytes(random: np.random.Generator, dtype: type, shape: tuple[int, ...]) -> np.ndarray:
    """Random integers, many of them at the ends of the range."""
    limits = np.iinfo(dtype)
    x = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    x[random.random(shape) < 0.3] = limits.max
    return x
