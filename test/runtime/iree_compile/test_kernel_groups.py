"""Kernels of large programs, compiled by several processes: small ones that count as large."""

import logging
import os
import subprocess
import tempfile

import numpy as np
import pytest
from test_shared_kernels import NAMED, X, kernels_in, model, results_alone

import graphc
from graphc.errors import BackendTimeoutError
from graphc.runtime.cache.compile_cache import CompileCache
from graphc.runtime.iree_compile import child_process, compiler, kernel_groups

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the linker waits in a shell")


@pytest.fixture(autouse=True)
def grouped(tmp_path, monkeypatch):
    """Divide small kernels, too, on any machine; nothing must stay in the temporary folder."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(kernel_groups, "_LEAST_OPS", 1)
    monkeypatch.setattr(kernel_groups, "_count_cpus", lambda: 2)
    yield
    assert os.listdir(folder) == []


def check(compiled):
    with compiled:
        expected = results_alone("Tanh", threads=2, shape=NAMED)
        np.testing.assert_array_equal(compiled(X), expected)


@pytest.mark.parametrize("cpus", [1, 2])
def test_groups_are_compiled_beside_the_program_and_kept(cpus, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(kernel_groups, "_count_cpus", lambda: cpus)
    results_alone("Tanh", threads=2, shape=NAMED)
    runs = []

    def run(children, **options):
        arguments = (each for child in children for each in child.command)
        runs.append([os.path.basename(each) for each in arguments if each.endswith(".mlir")])
        return child_process.run_children(children, **options)

    monkeypatch.setattr(compiler, "run_children", run)
    cache = CompileCache(tmp_path / "cache")
    check(graphc.compile(model("Tanh", shape=NAMED), cache=cache, threads=2))
    assert runs == [[*["group_0.mlir", "group_1.mlir"][:cpus], "module.mlir"]]
    kernels = kernels_in(cache)
    assert (len(kernels), len({each.entry.contents for each in kernels})) == (4, cpus)
    assert caplog.text == ""


def test_a_group_that_fails_is_compiled_with_the_program(monkeypatch, caplog):
    monkeypatch.setattr(kernel_groups, "_ONLY_KERNELS", "--compile-mode=nonsense")
    with caplog.at_level(logging.WARNING, logger="graphc"):
        check(graphc.compile(model("Tanh", shape=NAMED), cache=False, threads=2))
    assert "without shared kernels, as the backend compiler failed (exit code 1)" in caplog.text


def test_a_program_that_computes_constants_links_several_times(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_groups, "export_functions", lambda contents, _: (contents, []))
    with kernel_groups.KernelGroups([[]], tmp_path) as groups:
        (tmp_path / "group_0").mkdir()
        (tmp_path / "group_0" / "kernels.o").touch()
        groups.succeeded(0)
        for _ in range(3):
            waiting = ["sh", "-c", "read -r _"]
            subprocess.run(waiting, stdin=groups.stdin, check=True, timeout=20)


def test_a_timeout_ends_groups_and_the_program_that_waits_for_them(tmp_path, monkeypatch):
    fake, pids = tmp_path / "compile", tmp_path / "pids"
    fake.write_text(
        f"#!/bin/sh\necho $$ >> {pids}\n"
        f'case "$*" in *group_*) sleep 60;; *) exec {compiler.find_compiler()} "$@";; esac\n'
    )
    fake.chmod(0o755)
    monkeypatch.setattr(compiler, "find_compiler", lambda: fake)
    with pytest.raises(BackendTimeoutError, match="did not finish within 4 s"):
        graphc.compile(model("Tanh", shape=NAMED), cache=False, threads=2, timeout=4)
    numbers = list(map(int, pids.read_text().split()))
    assert len(numbers) >= 3
    assert not any(os.path.exists(f"/proc/{pid}") for pid in numbers)
