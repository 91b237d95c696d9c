"""Attention of many queries to a cache against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest
from numerics import Cases, Feed, compare, const, run_onnxruntime

import graphc
from harness.marks import long

HEADS, SHARED, SIZE, USED, ROOM = 6, 2, 32, 230, 300
TOKENS = 37
"""Queries: two vectors of 16 and a part of one; the keys are more than a block of them."""


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def operands(tokens: int, shared: int = SHARED) -> list[np.ndarray]:
    """Queries, new keys and values, and a cache, in which rows that are not in use are 0."""
    used = np.arange(ROOM).reshape(-1, 1) < USED
    cache = [np.where(used, floats(1, shared, ROOM, SIZE) + n, np.float32(0)) for n in (0, 1)]
    new = [floats(1, tokens, heads * SIZE) for heads in (HEADS, shared, shared)]
    return [*new, *cache]


def grouped(cases: Cases, given: list[Any], tokens: int, *more: Any, **attributes: Any) -> None:
    total = USED + tokens
    lengths = (np.array([total - 1], np.int32), const(np.int32(total)))
    defaults = {"num_heads": HEADS, "kv_num_heads": SHARED, "tolerance": 1e-5}
    cases.add(
        "GroupQueryAttention", *given, *lengths, None, None, None, *more,
        domain="com.microsoft", outputs=3, **{**defaults, **attributes},
    )  # fmt: skip


def check(cases: Cases, target: str) -> None:
    """Compare what the kernel computes on a target with ONNX Runtime."""
    model = cases.model()
    with graphc.compile(model, target, threads=2) as compiled:
        found = compiled.run(None, cases.feeds)
    compare(found, run_onnxruntime(model, cases.feeds), cases.outputs, cases.tolerances)


@pytest.mark.parametrize("target", ["cpu", long("cpu:x86-64-v3")])
def test_forms(target):
    """Groups, masks per query and per key, sinks, caps and windows."""
    cases = Cases(opset=21, domains={"com.microsoft": 1})
    given, total = operands(TOKENS), USED + TOKENS
    grouped(cases, given, TOKENS)
    grouped(cases, given, TOKENS, causal=0)
    grouped(cases, given, TOKENS, local_window_size=9)
    grouped(cases, given, TOKENS, None, floats(HEADS), scale=0.3)
    grouped(cases, given, TOKENS, floats(1, HEADS, TOKENS, total), softcap=3.0)
    grouped(cases, given, TOKENS, floats(1, 1, TOKENS, total), floats(HEADS), softcap=2.0)
    grouped(cases, operands(TOKENS, HEADS), TOKENS, kv_num_heads=HEADS)
    grouped(cases, operands(16, 1), 16, kv_num_heads=1)
    check(cases, target)


def test_forms_for_few_queries():
    """Sinks, caps, windows and masks of a step of decoding, which fills no vector with queries."""
    cases, tokens = Cases(opset=21, domains={"com.microsoft": 1}), 3
    given, total = operands(tokens), USED + tokens
    grouped(cases, given, tokens, None, floats(HEADS), local_window_size=9)
    grouped(cases, given, tokens, floats(1, HEADS, tokens, total), floats(HEADS), softcap=3.0)
    check(cases, "cpu")


def test_a_cache_of_16_bits():
    cases = Cases(opset=21, domains={"com.microsoft": 1})
    given = [x.astype(np.float16) for x in operands(TOKENS)]
    grouped(cases, given, TOKENS, tolerance=2e-3)
    check(cases, "cpu")


@pytest.mark.parametrize("tokens", [3, 16, TOKENS])
def test_numbers_of_queries_that_run_time_knows(tokens):
    cases = Cases(opset=21, domains={"com.microsoft": 1})
    q, k, v, *cache = operands(tokens)
    named = [Feed(x, [1, "tokens", x.shape[2]]) for x in (q, k, v)]
    grouped(cases, [*named, *cache], tokens)
    check(cases, "cpu")


def test_a_row_does_not_depend_on_its_place():
    """Queries in blocks of other sizes give the same bits, as each sees the same blocks of keys."""
    found = []
    for tokens in (32, 48):
        cases = Cases(opset=21, domains={"com.microsoft": 1})
        given = [x[:, :tokens] for x in operands(48)[:3]] + operands(48)[3:]
        grouped(cases, given, tokens)
        with graphc.compile(cases.model(), donate=["*_in3", "*_in4"], threads=2) as compiled:
            found.append(np.asarray(compiled.run(None, cases.feeds)[0]))
    np.testing.assert_array_equal(found[0], found[1][:, :32])
