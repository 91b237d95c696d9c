"""Search spaces of pipelines, and the order in which they are searched."""

import itertools

import pytest

from graphc.compiler.options import Options
from graphc.passes.infra.pipeline import Pipeline
from graphc.tuning.paired_test import is_faster, sign_test
from graphc.tuning.search import Search
from graphc.tuning.search_space import SearchSpace

pytest.importorskip("optuna")
PIPELINE = (
    "canonicalize,graph-winograd{vector-bits=256 tile=4},graph-direct-conv{vector-bits=256},cse"
)


def test_the_space_is_what_passes_declare():
    space = SearchSpace(PIPELINE)
    assert {knob.name: knob.values for knob in space.knobs} == {
        "graph-winograd.tile": ("0", "2", "4"),
        "graph-direct-conv.run": ("true", "false"),
    }
    assert space.default == ("4", "true")
    assert space.pipeline(space.default) == PIPELINE
    assert space.pipeline(("2", "true")) == PIPELINE.replace("tile=4", "tile=2")
    assert space.pipeline(("0", "false")) == (
        "canonicalize,graph-winograd{vector-bits=256 tile=0},cse"
    )
    assert space.changes(("4", "false")) == {"graph-direct-conv.run": "false"}
    assert space.point({"graph-winograd.tile": "2", "graph-strange.tile": "1"}) == ("2", "true")


def test_nothing_rounds_more_than_the_pipeline():
    assert not SearchSpace("graph-winograd{tile=0}").knobs
    (knob,) = SearchSpace("graph-winograd{tile=2}").knobs
    assert knob.values == ("0", "2")


@pytest.mark.parametrize("precision", ["f32", "strict"])
def test_every_point_of_the_default_pipeline_is_a_pipeline(precision):
    space = SearchSpace(Options.of("cpu:x86-64-v4", threads=2, precision=precision).pipeline)
    names = {knob.name for knob in space.knobs}
    assert {"graph-merge-matmuls.run", "cpu-fuse-depthwise.run"} <= names
    assert ("cpu-select-matmul-kernels.allow-strassen" in names) == (precision == "f32")
    for point in [space.default, *space.neighbours(space.default)]:
        text = space.pipeline(point)
        Pipeline.parse(text)
        assert (text == space.pipeline(space.default)) == (point == space.default)


def _table(space):
    """A machine on which two changes pay, together more than apart."""

    def seconds(point):
        changes = space.changes(point)
        gain = 1.0
        gain *= 0.9 if changes.get("graph-winograd.tile") == "2" else 1.0
        gain *= 0.8 if changes.get("graph-direct-conv.run") == "false" else 1.0
        return gain * (0.9 if len(changes) == 2 and gain < 0.75 else 1.0)

    return seconds


@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_best_of_a_recorded_table(seed):
    space = SearchSpace(PIPELINE)
    seconds = _table(space)
    search = Search(space, seed=seed)
    tried = []
    for point in search.points():
        tried.append(point)
        search.tell(point, seconds(point))
    assert len(set(tried)) == len(tried)
    points = itertools.product(*(knob.values for knob in space.knobs))
    assert min(map(seconds, tried)) == min(map(seconds, points))


def test_a_search_repeats_itself_and_begins_with_what_paid_before():
    space = SearchSpace(Options.of("cpu:x86-64-v4", threads=2).pipeline)
    first = space.point({"graph-winograd.tile": "0", "graph-merge-matmuls.run": "false"})

    def run():
        search, tried = Search(space, [first], seed=7), []
        for point in itertools.islice(search.points(), 20):
            search.tell(point, 1 + len(space.changes(point)) / 10)
            tried.append(point)
        return tried

    tried = run()
    assert tried[0] == first
    assert tried == run()


def test_a_space_without_knobs_has_no_points():
    assert list(Search(SearchSpace("canonicalize,cse")).points()) == []


@pytest.mark.parametrize(
    ("ratios", "faster"),
    [
        ([0.9] * 8, True),
        ([0.9] * 7 + [1.2], True),
        ([0.9] * 5 + [1.2] * 3, False),  # may be chance
        ([0.995] * 8, False),  # too little
        ([1.1] * 8, False),
        ([0.5] * 3, False),  # too few rounds to tell
    ],
)
def test_faster_is_what_chance_would_rarely_show(ratios, faster):
    assert is_faster(ratios) == faster


def test_the_sign_test_is_that_of_the_books():
    assert sign_test([0.9] * 8 + [1.1] * 2) == pytest.approx(56 / 1024)
    assert sign_test([1.0, 1.0]) == 1
