"""Memory of results that nobody holds any more, taken by later calls."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from graphc.runtime import load
from graphc.runtime.device.device import open_device
from graphc.runtime.device.memory import address

ROWS = 1 << 15
BYTES = ROWS * 16


@pytest.fixture
def model(compiled):
    """Adds two arrays of any number of rows, on the caller's thread."""
    with load(compiled("add"), threads=1) as model:
        yield model


def _ones(rows=ROWS):
    return np.ones((rows, 4), np.float32)


def _allocated():
    statistics = open_device("local-sync").hal.allocator.statistics
    return statistics["device_bytes_allocated"] - statistics["device_bytes_freed"]


def test_a_released_result_is_reused(model):
    x = _ones()
    first = address(model(x, x))
    assert [address(model(x, x)) for _ in range(8)] == [first] * 8


def test_a_result_that_is_held_is_never_overwritten(model):
    results, views = [], []
    for number in range(12):
        x = np.full((ROWS, 4), number, np.float32)
        results.append(model(x, x))
        views.append(model(x, x)[5:7, 1])  # holds the whole result
        if number % 3 == 2:
            del results[0]
    for number, view in enumerate(views):
        assert (view == 2 * number).all()
    for number, result in enumerate(results, start=12 - len(results)):
        assert (result == 2 * number).all()


def test_calls_side_by_side_share_nothing(model):
    def call(number):
        x = np.full((ROWS, 4), number, np.float32)
        result = model(x, x)
        return (result == 2 * number).all()

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(200)))


def test_a_result_outlives_the_model(compiled):
    with load(compiled("add"), threads=1) as first:
        result = first(_ones(), _ones())
    with load(compiled("add"), threads=1) as second:
        second(3 * _ones(), _ones())
    assert (result == 2).all()


def test_closing_a_model_returns_memory(compiled):
    open_device("local-sync").trim()
    before = _allocated()
    with load(compiled("add"), threads=1) as model:
        for rows in (ROWS, ROWS + 1):
            model(_ones(rows), _ones(rows))
        assert _allocated() >= before + 2 * BYTES
    assert _allocated() == before


def test_memory_of_other_sizes_is_returned_soon(model):
    open_device("local-sync").trim()
    before = _allocated()
    for rows in range(ROWS, ROWS + 40):
        model(_ones(rows), _ones(rows))
    assert _allocated() <= before + 5 * BYTES


def test_memory_of_other_models_is_returned_now_and_then(compiled, model):
    open_device("local-sync").trim()
    before = _allocated()
    model(_ones(), _ones())
    with load(compiled("add"), threads=1) as other:
        for _ in range(300):
            other(_ones(8), _ones(8))
        assert _allocated() < before + BYTES
