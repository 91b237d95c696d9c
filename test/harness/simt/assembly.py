"""Inline assembly: rules by patterns of its text, and addresses."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.mlir import ir

from .lock_step import rule
from .state import GlobalMemory, SharedBytes, UndefinedBehaviour, Values, Workgroup

AsmRule = Callable[[Workgroup, ir.Operation, re.Match[str]], Sequence[Any]]
_RULES: list[tuple[re.Pattern[str], AsmRule]] = []
SHARED_BASE = 48
"""The address of shared memory, aligned to 16 bytes only."""
_GLOBAL = 40
"""Bits of an offset in a buffer; its number is above them."""


def assembly(pattern: str) -> Callable[[AsmRule], AsmRule]:
    """Register the rule of the assembly that matches a pattern."""

    def register(function: AsmRule) -> AsmRule:
        _RULES.append((re.compile(pattern, re.DOTALL), function))
        return function

    return register


@rule("llvm.inline_asm")
def _inline_asm(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    text = ir.StringAttr(op.attributes["asm_string"]).value
    for pattern, function in _RULES:
        if (found := pattern.fullmatch(text)) is not None:
            return function(state, op, found)
    raise NotImplementedError(f"inline assembly '{text}' is not interpreted")


@rule("memref.extract_aligned_pointer_as_index")
def _pointer(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    memory = state.known[op.operands[0]]
    if isinstance(memory, SharedBytes):
        return [np.full(state.threads, SHARED_BASE)]
    assert isinstance(memory, GlobalMemory)
    number = next(n for n, value in enumerate(state.known.values()) if value is memory)
    return [np.full(state.threads, (number + 1) << _GLOBAL)]


def memory_at(state: Workgroup, pointer: int) -> tuple[GlobalMemory, int]:
    """The buffer that a pointer points into, and the offset there."""
    number = (pointer >> _GLOBAL) - 1
    memory = list(state.known.values())[number]
    assert isinstance(memory, GlobalMemory)
    return memory, pointer & ((1 << _GLOBAL) - 1)


def shared_bytes(state: Workgroup, address: Values) -> Values:
    """The bytes of shared memory at addresses."""
    (_,) = state.shared
    return address - SHARED_BASE


def one_thread(state: Workgroup, value: ir.Value) -> int:
    """The value of the only active thread."""
    if state.active.sum() != 1:
        raise UndefinedBehaviour("several threads do what one has to do")
    return int(state.known[value][state.active][0])
