"""Search spaces of pipelines, and the order in which they are searched."""

import itertools

import numpy as np
import pytest

from graphc.compiler.options import Options
from graphc.passes.infra.pipeline import Pipeline
from graphc.tuning.paired_test import is_faster, noise_of, sign_test
from graphc.tuning.search import PATIENCE, Search
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


SHAPES = "1x24x24x16xf32+3x3x16x16xf32>1x24x24x16xf32"


def test_shapes_are_knobs_of_the_passes_that_may_skip_them():
    space = SearchSpace(PIPELINE, {"graph-winograd": {SHAPES: ["a", "b"]}, "other": {"x": ["c"]}})
    name = f"graph-winograd.skip@{SHAPES}"
    assert [knob.name for knob in space.knobs][-1] == name
    point = space.point({name: "true", "graph-winograd.tile": "2"})
    text = space.pipeline(point)
    assert text == PIPELINE.replace("tile=4", f"tile=2 skip={SHAPES}")
    Pipeline.parse(text)
    assert space.changes(point) == {name: "true", "graph-winograd.tile": "2"}
    alike = SearchSpace.of_changes(PIPELINE, space.changes(point))
    assert alike.pipeline(alike.point(space.changes(point))) == text


def test_several_shapes_are_skipped_together():
    shapes = {"graph-winograd": {f"{n}x8>8": ["a"] for n in ("1", "n", "f(n,2)*")}}
    space = SearchSpace(PIPELINE, shapes)
    point = space.point({knob.name: "true" for knob in space.knobs if "@" in knob.option})
    winograd = Pipeline.parse(space.pipeline(point)).steps[1].pass_
    assert set(winograd.skip) == set(shapes["graph-winograd"])


def test_options_of_a_pass_that_does_not_run_are_not_combined():
    space = SearchSpace("graph-fused-attention", {"graph-fused-attention": {"8>8": ["a"]}})
    search = Search(space)
    tried = []
    for point in search.points():
        tried.append(space.changes(point))
        search.tell(point, 0.9 ** len(tried))
    run, skip = "graph-fused-attention.run", "graph-fused-attention.skip@8>8"
    assert tried == [{run: "false"}, {skip: "true"}]


def test_a_large_space_is_sampled():
    shapes = {"graph-winograd": {f"{n}x8>8": ["a"] for n in range(16)}}
    space = SearchSpace(PIPELINE, shapes)
    good = {f"graph-winograd.skip@{n}x8>8" for n in (3, 5, 7)}
    search, tried = Search(space), {}
    for point in itertools.islice(search.points(), 40):
        found = good & space.changes(point).keys()
        tried[point] = 0.95 ** len(found) * 1.02 ** (len(space.changes(point)) - len(found))
        search.tell(point, tried[point])
    assert min(tried.values()) == pytest.approx(0.95**3)


def test_a_search_without_success_ends():
    """Though the space is large, and every combination might have gained."""
    shapes = {"graph-winograd": {f"{n}x8>8": ["a"] for n in range(20)}}
    space = SearchSpace(PIPELINE, shapes)
    search, tried = Search(space), 0
    for point in search.points():
        tried += 1
        search.tell(point, 1.0, noise=0.02)
    assert tried == 20 + 3 + PATIENCE


def test_noise_is_the_standard_error_of_a_median():
    assert noise_of([0.9]) == 0
    assert noise_of([0.9] * 8) == 0
    random = np.random.default_rng(0)
    rounds = np.exp(0.1 * random.standard_normal((4000, 9)))
    medians = np.log(np.median(rounds, axis=1))
    assert np.mean([noise_of(each) for each in rounds]) == pytest.approx(medians.std(), rel=0.1)
