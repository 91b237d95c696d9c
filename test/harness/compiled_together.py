"""Calls whose programs are compiled by few calls of the backend.

Much of the time of a small compile is spent on things that do not depend on the program, or that
programs have in common. So calls advance in rounds: each of them runs until it asks for compiled
code, the programs that they wait for are compiled as one module, and each runs on until it asks
again. What becomes of a call is what would become of it alone.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from threading import current_thread
from typing import Any
from unittest.mock import patch

from graphc.compiler import driver
from graphc.errors import BackendError, BackendTimeoutError
from graphc.runtime import compile_module as _compile_module
from graphc.runtime import load as _load
from graphc.runtime.iree_compile.input_program import InputProgram
from graphc.runtime.iree_compile.temporary_folder import temporary_folder

from .joint_program import join, joint_name
from .waiting_call import Request, SharedModule, WaitingCall

MOST = 20
"""Maximum number of programs in a module. Some passes of the backend take more than proportional
time."""

NOT_MEMOIZED = "--iree-hal-memoization=false"
"""Record command buffers in each call. Otherwise each becomes a function, an initializer and a
global, which dozens of the backend's passes visit: a third of the time of programs of many small
dispatches."""

NOT_EVALUATED = "--iree-opt-const-eval=false"
"""Compute values that depend on no input when the module is loaded. To know them before, the
backend compiles a module for them, with passes over all code before and after it: up to a sixth of
the time. Programs that are compiled alone have them evaluated."""

_FLAGS = ("--mlir-disable-threading", NOT_MEMOIZED, NOT_EVALUATED)
"""Flags of all modules of several programs. Programs may have them or not: their kernels are the
same."""
_DEFAULTS = {"opt_level": 3, "data_tiling": False, "extra_flags": ()}
_SHARED = {"target", "threads", *_DEFAULTS}
"""Options of `compile_module` that programs of one module have in common. With others set, a
program is compiled alone, but for its name and timeout."""


def run_together(calls: Sequence[WaitingCall], most: int = MOST) -> list[BackendError]:
    """Run `calls` to their ends, round by round, with at most `most` programs in a module.

    If a module fails to compile, its programs are compiled one by one, to show whose fault it is.
    The errors of modules whose programs all compile alone are returned, except for timeouts.
    """
    failed: list[tuple[BackendError, list[WaitingCall]]] = []
    waiting = list(calls)
    while waiting:
        for call in waiting:
            call.advance()
        waiting = [call for call in waiting if call.request is not None]
        for group in _groups(waiting, most):
            try:
                _compile(group)
            except BackendTimeoutError:
                continue  # time for one program may be too little for several
            except BackendError as error:
                failed.append((error, group))
    return [error for error, group in failed if not any(call.failed_alone for call in group)]


def _groups(waiting: Sequence[WaitingCall], most: int) -> Iterator[list[WaitingCall]]:
    """Calls that wait for programs of one module each."""
    alike: list[list[WaitingCall]] = []
    for call in waiting:
        options = _asked(call).options
        group = next((each for each in alike if _asked(each[0]).options == options), None)
        if group is None:
            alike.append([call])
        else:
            group.append(call)
    for group in alike:
        count = -(-len(group) // most)
        bounds = [len(group) * number // count for number in range(count + 1)]
        yield from (group[first:end] for first, end in pairwise(bounds))


def _asked(call: WaitingCall) -> Request:
    assert call.request is not None
    return call.request


def _compile(calls: Sequence[WaitingCall]) -> None:
    """Compile the programs that `calls` wait for as one module. Raises `BackendError`."""
    if len(calls) < 2:
        return
    programs, options = [_asked(call).program for call in calls], _asked(calls[0]).options
    times = [call.timeout for call in calls if call.timeout is not None]
    contents = _compile_module(
        join(programs),
        **{
            **options,
            "target": replace(options["target"], fallback=()),  # it is for single programs
            "extra_flags": (*options["extra_flags"], *_FLAGS),
            "timeout": sum(times) if len(times) == len(calls) else None,
        },
    )
    numbers = {program: number for number, program in enumerate(dict.fromkeys(programs))}
    for call, program in zip(calls, programs, strict=True):
        call.answer = SharedModule(contents, numbers[program])


def compile_module(program: bytes | Path | InputProgram, **options: Any) -> bytes | SharedModule:
    """`graphc.runtime.compile_module`, together with the programs of other calls if it is called in
    one of `run_together`."""
    call, others = current_thread(), options.keys() - _SHARED - {"name", "timeout"}
    if not isinstance(call, WaitingCall) or any(options[name] is not None for name in others):
        return _compile_module(program, **options)
    program = _contents(program)
    module = call.module(Request(program, _shared(options)), options.get("timeout"))
    if module is not None:
        return module
    try:
        return _compile_module(program, **options)
    except BackendError:
        call.failed_alone = True
        raise


def _shared(options: dict[str, Any]) -> dict[str, Any]:
    shared = {**_DEFAULTS, **{key: options[key] for key in options.keys() & _SHARED}}
    flags = tuple(flag for flag in shared["extra_flags"] if flag not in _FLAGS)
    return {**shared, "extra_flags": flags}


def _contents(program: bytes | Path | InputProgram) -> bytes:
    if isinstance(program, bytes):
        return program
    if isinstance(program, Path):
        return program.read_bytes()
    with temporary_folder() as folder:
        return program.file(folder).read_bytes()


def load(source: Any, **options: Any) -> Any:
    """`graphc.load`, also for a `SharedModule`."""
    if not isinstance(source, SharedModule):
        return _load(source, **options)
    return _load(source.contents, **options, entry=joint_name(source.number))


@contextmanager
def in_place() -> Iterator[None]:
    """A context in which `graphc.compile` uses `compile_module` and `load` of this module."""
    compiling = import_module("graphc.compiler.compile")
    with (
        patch.object(driver, "compile_module", compile_module),
        # Kernels that several programs have are found by their executables.
        patch.object(driver, "join_executables", lambda module: None),
        patch.object(compiling, "load", load),
    ):
        yield
