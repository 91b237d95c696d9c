"""The garbage collector during compilations."""

import gc
import threading

import pytest

from graphc.compiler.garbage_collection import rare_collections


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_thresholds_come_back():
    def fail():
        with rare_collections():
            seen.append(gc.get_threshold())
            raise KeyError

    seen = []
    with pytest.raises(KeyError):
        fail()
    assert seen == [(50_000, 10, 10)]
    assert gc.get_threshold() == (700, 10, 10)


def test_the_last_of_several_compilations_restores_them():
    entered, ended = threading.Event(), threading.Event()

    def compile_for_long():
        with rare_collections():
            entered.set()
            ended.wait(60)

    thread = threading.Thread(target=compile_for_long)
    with rare_collections():
        thread.start()
        assert entered.wait(60)
    assert gc.get_threshold() == (50_000, 10, 10)
    ended.set()
    thread.join()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [0, 60_000], ids=["never", "rarely"])
def test_what_the_program_has_chosen_stays(chosen):
    gc.set_threshold(chosen, 10, 10)
    with rare_collections():
        assert gc.get_threshold() == (chosen, 10, 10)
    assert gc.get_threshold() == (chosen, 10, 10)


def test_what_the_program_chooses_meanwhile_stays():
    with rare_collections():
        gc.set_threshold(1000, 5, 5)
    assert gc.get_threshold() == (1000, 5, 5)
