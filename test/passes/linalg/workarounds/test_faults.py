"""Each fault of IREE that graphc works around is still there.

A test that fails here says that the installed IREE has mended a fault. Then what the head of the
program names as its workaround goes, with the program and the lines about it here.
"""

import re
import subprocess
import timeit
from pathlib import Path

import numpy as np
import pytest
from backend_faults import FOLDER, Program
from devices import needs_vulkan

import graphc
from graphc.runtime.iree_compile.compiler import find_compiler

ROOT = Path(graphc.__file__).parent
INDEX = "passes/linalg/workarounds/__init__.py"
PROGRAMS = [Program(path.stem) for path in sorted(FOLDER.glob("*.mlir"))]
RNG = np.random.default_rng(0)
WIDE = RNG.standard_normal((2, 3, 4)).astype(np.float32)
ROWS = RNG.standard_normal((3, 2)).astype(np.float32)
IMAGE = RNG.standard_normal((1, 6, 6, 4)).astype(np.float32)
TURNED = RNG.standard_normal((2, 28, 4, 4)).astype(np.float32)
EIGHT = np.arange(8, dtype=np.float32)


REJECTED = [each for each in PROGRAMS if each.lines("FAILS")]
INCOMPLETE = [each for each in PROGRAMS if each.lines("LACKS")]


def _negated_sums():
    total = -WIDE.sum((1, 2))
    return [total, WIDE - total[:, None, None]]


def _products_of_differences():
    rows = TURNED.transpose(0, 3, 2, 1).reshape(8, 4, 28)
    total = rows.sum(-1, keepdims=True)
    return [(rows - total) * (rows - total).sum(-1, keepdims=True)]


def _greatest_of_both():
    windows = np.lib.stride_tricks.sliding_window_view(np.abs(IMAGE), (3, 3), (1, 2))
    return [windows.max((-1, -2))]


MISCOMPUTED = {
    "accumulated_pools": ([IMAGE], _greatest_of_both),
    "copied_positions": ([], lambda: [np.arange(3), np.arange(3)[:, None]]),
    "equal_starts": ([EIGHT], lambda: [np.tile(EIGHT, (8, 1)), np.tile(-EIGHT, (8, 1))]),
    "pooled_splat": ([], lambda: [np.full((1, 4, 4, 8), 9)]),
    "reduced_splat": ([EIGHT[:5]], lambda: [np.array(5)]),
    "reduction_of_several_uses": ([TURNED], _products_of_differences),
    "reordered_reductions": ([ROWS], lambda: [ROWS.sum(1)[:, None] - ROWS.sum(1)]),
    "scalars_as_rows": ([WIDE[0]], lambda: [np.array([[3], [4]])]),
    "scattered_into_itself": ([EIGHT, np.arange(8)[::-1, None].copy()], lambda: [EIGHT[::-1]]),
    "unrounded_bf16": ([np.full(8, 256, np.float32)], lambda: [np.full(8, 256)]),
    "updated_argument": (
        [EIGHT, np.array([[3], [5]]), -np.ones(2, np.float32)],
        lambda: [EIGHT, np.where(np.isin(EIGHT, (3, 5)), -1, EIGHT)],
    ),
    "updated_before_read": (
        [EIGHT[:3]],
        lambda: [np.zeros(1), np.zeros(3), np.array([7, -1, -2])],
    ),
}
"""Feeds of the programs that compute wrong values, and functions that give the right ones. In bf16,
256 + 1 is 256."""


def differ(found, expected) -> bool:
    pairs = zip(found, expected, strict=True)
    return not all(np.allclose(have, wanted, rtol=1e-4, atol=1e-4) for have, wanted in pairs)


@pytest.mark.parametrize("program", REJECTED, ids=lambda each: each.name)
def test_the_compiler_rejects(program, tmp_path):
    done = program.compile(tmp_path)
    (error,) = program.lines("FAILS")
    assert done.returncode != 0
    assert error in done.stderr


@pytest.mark.parametrize("program", INCOMPLETE, ids=lambda each: each.name)
def test_the_code_lacks_something(program, tmp_path):
    assert program.compile(tmp_path).returncode == 0
    (missing,) = program.lines("LACKS")
    assert missing.encode() not in (tmp_path / "module.vmfb").read_bytes()


def test_a_type_with_an_offset_has_it_in_the_code(tmp_path):
    """The workaround of ``binding_offset``."""
    program = Program("binding_offset")
    (missing,) = program.lines("LACKS")
    typed = program.text.replace("memref<8192xf32>", "memref<8192xf32, strided<[1], offset: ?>>")
    source = tmp_path / "typed.mlir"
    source.write_text(typed)
    command = [find_compiler(), source, "-o", tmp_path / "typed.vmfb"]
    subprocess.run([*command, *program.flags(worked_around=True)], check=True)
    assert missing.encode() in (tmp_path / "typed.vmfb").read_bytes()


@pytest.mark.parametrize("name", MISCOMPUTED)
def test_values_are_wrong(name, tmp_path):
    feeds, expected = MISCOMPUTED[name]
    assert differ(Program(name).run(tmp_path, *feeds), expected())


def test_sizes_are_wrong(tmp_path):
    """The runtime notices that a result would be larger than its memory."""
    with pytest.raises(IndexError, match="OUT_OF_RANGE"):
        Program("collapsed_broadcasts").run(tmp_path, WIDE)


@pytest.mark.parametrize(
    "name",
    [
        "shared_rows", "index_reductions", "strided_slices", "transposed_slice", "large_vectors",
        "gathered_elements", "size_as_data", "unit_axes_in_loops", "fused_padding",
        "computed_rows", "fused_reductions", "untiled_loops", "blocked_sizes", "transposed_rows",
        "broadcast_windows",
        "reduced_broadcast",
    ],
)  # fmt: skip
def test_the_workaround_makes_it_compile(name, tmp_path):
    assert Program(name).compile(tmp_path, worked_around=True).returncode == 0


@pytest.mark.parametrize(
    ("name", "feeds", "expected"),
    [
        ("collapsed_broadcasts", [WIDE], _negated_sums),
        *(
            (name, *MISCOMPUTED[name])
            for name in ("copied_positions", "reordered_reductions", "reduction_of_several_uses")
        ),
    ],
)
def test_the_workaround_makes_values_right(name, feeds, expected, tmp_path):
    assert not differ(Program(name).run(tmp_path, *feeds, worked_around=True), expected())


def test_a_reduction_is_repeated(tmp_path):
    """The time of what is computed once is not enough for it to be computed a thousand times."""
    rows = RNG.standard_normal((2000, 64)).astype(np.float32)
    program = Program("repeated_reductions")
    times = {}
    for worked_around in (False, True):
        main = program.load(tmp_path, worked_around=worked_around)
        results = [np.asarray(main(rows))]
        times[worked_around] = min(timeit.repeat(lambda: main(rows), number=1, repeat=3))  # noqa: B023
        expected = (rows - rows.sum(0)).sum(0)
        assert not differ([results[0] / 1e5], [expected / 1e5])
    assert times[False] > 5 * times[True]


@needs_vulkan
@pytest.mark.parametrize("worked_around", [False, True])
def test_a_workgroup_reads_what_others_have_not_written(worked_around, tmp_path):
    rows = RNG.standard_normal((64, 128)).astype(np.float32)
    main = Program("unfinished_reduction").load_on_device(tmp_path, worked_around=worked_around)
    assert differ(main(rows), [rows - rows.sum(0)]) != worked_around


@needs_vulkan
@pytest.mark.parametrize("worked_around", [False, True])
def test_copies_are_those_of_the_first_call(worked_around, tmp_path):
    main = Program("recorded_copies").load_on_device(tmp_path, worked_around=worked_around)
    lengths = [np.full(3, length) for length in (3, 5, 2, 9)]
    are_right = [np.array_equal(main(each)[0], each) for each in lengths]
    assert are_right[0]
    assert all(are_right) == worked_around


def test_waits_are_merged_one_by_one(tmp_path):
    """The time that a pass of the compiler takes, in seconds."""
    program = Program("many_results")
    flags = ["--compile-to=stream", "--mlir-timing", "--mlir-timing-display=list"]
    seconds = {}
    for worked_around in (False, True):
        done = program.compile(tmp_path, *flags, worked_around=worked_around)
        assert done.returncode == 0, done.stderr
        (time,) = re.findall(r"([\d.]+) \( *[\d.]+%\)  ScheduleExecutionPass$", done.stderr, re.M)
        seconds[worked_around] = float(time)
    assert seconds[False] > 5 * seconds[True]


def test_each_value_visits_what_is_live_in_each_block(tmp_path):
    """The time of the compiler behind its passes, in seconds, where it allocates registers."""
    program, seconds = Program("many_checks"), {}
    for worked_around in (False, True):
        start = timeit.default_timer()
        done = program.compile(tmp_path, "--mlir-timing", worked_around=worked_around)
        taken = timeit.default_timer() - start
        assert done.returncode == 0, done.stderr
        (passes,) = re.findall(r"Total Execution Time: ([\d.]+) seconds", done.stderr)
        seconds[worked_around] = taken - float(passes)
    assert seconds[False] > 3 * seconds[True]


def test_every_program_is_tested():
    named = {each.name for each in REJECTED + INCOMPLETE} | {*MISCOMPUTED}
    named |= {"collapsed_broadcasts", "repeated_reductions", "many_results"}
    named |= {"many_checks", "unfinished_reduction", "recorded_copies"}
    assert {each.name for each in PROGRAMS} == named


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.name)
def test_workarounds_are_where_they_are_said_to_be(program):
    workarounds_named = program.lines("Workaround")
    assert workarounds_named
    for line in workarounds_named:
        path, _, name = line.partition(", ")
        assert name in (ROOT / path).read_text()
        page = ROOT / path if program.lines("PASS") else ROOT / INDEX
        assert f"``{program.name}``" in page.read_text(), page


def test_the_index_lists_only_programs():
    listed = re.findall(r"``([a-z0-9_]+)``", (ROOT / INDEX).read_text())
    assert set(listed) <= {each.name for each in PROGRAMS}
